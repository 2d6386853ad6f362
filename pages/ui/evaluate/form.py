"""The form of the Evaluate page: weights and their network, images, and what it is shown."""

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Final

import streamlit as st

from core import codec
from core.checkpoints.guess import shipped
from core.checkpoints.names import Match
from core.codes import RefusalCode
from core.datasets.catalogue import DATASETS
from core.datasets.shifts import CORRUPTIONS, KINDS, OFFICIAL, OWN, SEVERITIES
from core.datasets.splits import SPLIT_NAMES
from core.errors import AuditError, UsageError
from core.inference.config import MOMENTS, Preprocessing
from core.jobs.records import Job
from core.models.catalogue import ONNX, OURS
from core.readers.formats.archive import PictureFiles
from core.readers.sandbox import scratch
from core.screens import evaluate
from core.screens.evaluate import PART_WORDS, PLAIN_PARTS, TITLES
from core.screens.kit.numbers import count
from core.training.submission import IMPORT
from pages.ui import frame, inference, session, site, state, weights_source, widgets
from pages.ui.evaluate import state as form
from pages.ui.evaluate.state import FORM, SHOWN, Pictures, key, pictures, pictures_home
from pages.ui.form import NARROW, SESSION, WIDE
from pages.ui.intake import FileReading, Intake, SealedFile, server_paths
from pages.ui.jobs import machine
from pages.ui.jobs import watch as job_watch
from pages.ui.markup import esc
from pages.ui.weights_source import OpenedWeights

LABELS: Final = {
    "data_root": "A ZIP of pictures, one folder for each class",
    "folder_root": "A ZIP of pictures of none of the classes",
}


@dataclass(kw_only=True, eq=False)
class PicturesReading(FileReading[PictureFiles]):
    """A zip that is being unpacked into a folder."""

    folder: Path


def folder(setting: str, *, dropped: bool) -> None:
    """Draw the ways to name a folder of pictures: a zip, where it may be `dropped`, or a path."""
    now = pictures(setting) if dropped else None
    if now is not None:
        # Say what was dropped, with the way to take it back
        files = now.files
        inside = f" in {files.n_classes} folders" if files.n_classes > 1 else ""
        word = "file" if files.skipped == 1 else "files"
        others = f"; {count(files.skipped)} other {word} left out" if files.skipped else ""
        with st.container(
            horizontal=True, vertical_alignment="center", key=f"evaluate.{setting}.row"
        ):
            st.markdown(f"**{esc(now.name)}**: {count(len(files.files))} pictures{inside}{others}")
            st.button(
                "Remove",
                key=f"evaluate.{setting}.remove",
                type="tertiary",
                on_click=_remove,
                args=(setting,),
            )
        widgets.caption("Deleted when you leave, and after the evaluation.")
        return
    if dropped:
        intake: Intake[PicturesReading] = Intake(f"evaluate.{setting}")
        if intake.keep_readings(partial(_keep, setting)):
            st.rerun()
        intake.refused()
        if intake.reading is not None:
            intake.progress(partial(_stop, intake))
        else:
            intake.zone(LABELS[setting], partial(_take, intake), name="zip")
    if os.environ.get(IMPORT):
        FORM.draw(setting)
    elif setting != "svhn_root":  # which is downloaded
        instead = " instead" if dropped else ""
        widgets.caption(
            f"To read a folder of the server{instead}, restart it with {IMPORT}=FOLDER."
        )


def _take(intake: Intake[PicturesReading], file: SealedFile) -> None:
    pictures_home().mkdir(mode=0o700, exist_ok=True)
    into = pictures_home() / secrets.token_hex(8)  # another zip is another folder
    user = session.room().browser.user
    read, files = partial(_read, file, into, user), (file.path,)
    intake.start(PicturesReading(name=file.name, read=read, files=files, once=True, folder=into))


def _read(file: SealedFile, into: Path, user: str, cancel: Event) -> PictureFiles:
    """Unpack a zip in a sealed process; runs in a thread, without Streamlit."""
    from core.readers.sandbox import read as sandbox  # not before there is a file to be read

    try:
        files = sandbox.read_pictures(file.path, into=into, name=file.name, cancel=cancel)
        session.check_room(user, 0)  # what was unpacked counts as uploaded
    except (AuditError, OSError):
        scratch.remove(into)
        raise
    return files


def _keep(setting: str, reading: PicturesReading) -> None:
    now = Pictures(reading.name, reading.result(), reading.folder)
    st.session_state[f"evaluate.{setting}.pictures"] = now


def _stop(intake: Intake[PicturesReading]) -> None:
    now = intake.reading
    intake.stop()
    if now is not None:
        now.future.add_done_callback(lambda _: scratch.remove(now.folder))


def _remove(setting: str) -> None:
    now = st.session_state.pop(f"evaluate.{setting}.pictures", None)
    if now is not None:
        scratch.remove(now.folder)


PLAIN_KINDS: Final = {
    "svhn": "House numbers (SVHN)",
    "cifar10c": "Damaged photographs (CIFAR-10-C)",
    "corrupted": "The test pictures, damaged",
    "folder": "A folder of pictures",
}
SPLITS: Final = (
    "A temperature is fitted on the validation part; headline numbers come from the test part."
)
PLAIN_SPLITS: Final = (
    "Corrections are learned from the part for checking; what is shown first is of the test part."
)
SETS: Final = "Predictions on shifted images, or on images of none of the classes."
PLAIN_SETS: Final = "Its answers on damaged pictures, or on pictures of none of the classes."
MOMENT_WORDS: Final = {
    form.OF_DATA: "of the data",
    "imagenet": "of ImageNet",
    "half": "of one half (timm): pixels from −1 to 1",
    "unit": "none: pixels from 0 to 1",
    "bytes": "none: pixels from 0 to 255",
    "cifar10": "of CIFAR-10, released code",
    "cifar100": "of CIFAR-100, released code",
    form.OWN: "of my own",
}
LIBRARIES: Final = "of the catalogue, timm or torchvision"
WIDTHS: Final = {"name": WIDE, "device": NARROW, "data_root": WIDE}
MORE_THAN: Final = 12  # sets from which their number is said


def images() -> None:
    """Draw which data, parts and sets are looked at."""
    plain = state.plain()
    unit = "pictures" if plain else "images"
    widgets.title(unit.capitalize(), "the test data, and further sets")
    left, right = st.columns(2, gap="small")
    data = str(form.value("data"))
    with left:
        FORM.select("data", list(DATASETS), lambda name: DATASETS[name].label)
        widgets.caption(DATASETS[data].plain)
    with right:
        st.multiselect(
            "Parts",
            list(SPLIT_NAMES),
            key=key("splits"),
            persist_state=SESSION,
            format_func=lambda part: (PLAIN_PARTS if plain else PART_WORDS)[part][0],
            help=PLAIN_SPLITS if plain else SPLITS,
        )
    if DATASETS[data].needs_root:
        folder("data_root", dropped=data == "folder")
    # Draw the sets beside the data, and what each of them needs
    words = PLAIN_KINDS if plain else KINDS
    offered = [kind for kind in KINDS if kind != "cifar10c" or data == "cifar10"]
    offered = [kind for kind in offered if kind != data]
    kinds = [kind for kind in form.value("kinds") or [] if kind in offered]
    if kinds != form.value("kinds"):
        form.put("kinds", kinds)
    st.multiselect(
        "Further sets",
        offered,
        key=key("kinds"),
        persist_state=SESSION,
        format_func=words.__getitem__,
        placeholder=f"None. Add damaged or unfamiliar {unit}",
        help=PLAIN_SETS if plain else SETS,
    )
    if {"corrupted", "cifar10c"} & set(kinds):
        own = "corrupted" in kinds
        st.multiselect(
            "Corruptions",
            list(OWN if own else OFFICIAL),
            key=key("corruptions"),
            persist_state=SESSION,
            format_func=lambda name: CORRUPTIONS[name].label,
            help="Those of CIFAR-10-C (Hendrycks and Dietterich 2019).",
        )
        st.pills(
            "Severity",
            list(SEVERITIES),
            selection_mode="multi",
            key=key("severities"),
            persist_state=SESSION,
            help="1 is mild, 5 is strong.",
        )
        with suppress(UsageError):  # said at the button
            n = len(form.sets())
            if n > MORE_THAN:
                widgets.caption(f"{n} sets; each corrupted one is as large as the test part.")
    for kind in kinds:
        if kind != "corrupted":
            folder(f"{kind}_root", dropped=kind == "folder")


def shown() -> None:
    """Draw what is done to an image before the network sees it."""
    try:
        preprocessing = form.preprocessing()
    except UsageError:
        summary = "see below"
    else:
        crops = f", {preprocessing.crops} crops" if preprocessing.crops > 1 else ""
        moments = MOMENT_WORDS[str(form.value("moments"))]
        height, width = preprocessing.size
        summary = f"{height} x {width}{crops}; mean and std {moments}"
    onnx = form.model() == ONNX
    with st.expander(f"Input of the network: {summary}", expanded=onnx, key="evaluate.shown"):
        if onnx:
            widgets.caption("The file does not say mean and std: choose those of its training.")
        fixed = not shipped().takes_any(form.model() or "")
        help_text = "Input size of the network, in pixels."
        help_text = "This network takes one size only." if fixed else help_text
        with st.container(horizontal=True, vertical_alignment="top", key="evaluate.sizes"):
            for name in ("height", "width"):
                SHOWN.draw(name, help_text=help_text, disabled=fixed, changed=_edited)
            SHOWN.draw("crop", changed=_edited)
            SHOWN.draw("interpolation", width=NARROW, changed=_edited)
            SHOWN.draw("cover", changed=_edited)
        with st.container(horizontal=True, vertical_alignment="top", key="evaluate.box.moments"):
            st.selectbox(
                "Mean and std",
                [form.OF_DATA, *MOMENTS, form.OWN],
                key=key("moments"),
                persist_state=SESSION,
                format_func=lambda name: MOMENT_WORDS[name][0].upper() + MOMENT_WORDS[name][1:],
                on_change=_edited,
                width=WIDE,
            )
            if form.value("moments") == form.OWN:
                for name in ("mean", "std"):
                    SHOWN.draw(name, width=WIDE, changed=_edited)
        if form.value("moments") in MOMENTS:
            mean, std = MOMENTS[str(form.value("moments"))]
            numbers = (", ".join(f"{number:g}" for number in part) for part in (mean, std))
            widgets.caption(" ± ".join(numbers))
        with st.container(horizontal=True, vertical_alignment="top", key="evaluate.box.crops"):
            SHOWN.draw("crops", width=360, changed=_edited)
            if form.value("crops") != 1:
                SHOWN.draw("average", width=360, changed=_edited)
        if st.session_state.get(form.EDITED):
            st.button(
                "Use the network’s own settings",
                key="evaluate.refill",
                type="tertiary",
                icon=":material/undo:",
                on_click=_refill,
            )


def _edited() -> None:
    st.session_state[form.EDITED] = True


def _refill() -> None:
    st.session_state[form.EDITED] = False
    st.session_state[form.SHOWN_FOR] = None


def more(opened: OpenedWeights) -> None:
    """Draw what matters less, and a temperature that the file states."""
    stated = opened.file.group(str(form.value("group"))).temperature
    if stated is not None and form.value("temperature") != stated:
        with st.container(horizontal=True, vertical_alignment="center", key="evaluate.stated"):
            widgets.caption(f"The file states a temperature of {stated:.4g}.")
            st.button(
                f"Divide logits by {stated:.4g}",
                key="evaluate.temper",
                on_click=form.put,
                args=("temperature", stated),
            )
    with (
        st.expander("More settings", key="evaluate.more"),
        st.container(horizontal=True, vertical_alignment="top", key="evaluate.rest"),
    ):
        data = str(form.value("data"))
        names = ["name", "limit", "temperature", "batch_size", "device", "split_seed", "shift_seed"]
        names += [] if DATASETS[data].needs_root else ["data_root"]
        names += ["changed_files"] if data.startswith("cifar") else []
        for name in names:
            FORM.draw(name, width=WIDTHS.get(name))


def network(opened: OpenedWeights, known: tuple[str, ...] | None) -> None:
    """Draw which network the weights are taken for."""
    candidates = opened.looks_like[str(form.value("group"))][: form.OFFERED]
    if candidates and form.model() != ONNX:
        st.radio(
            "Detected network",
            [*(candidate.model for candidate in candidates), form.OTHER],
            key=key("pick"),
            persist_state=SESSION,
            format_func=model_name,
            captions=None
            if state.plain()
            else [*(esc(candidate.why) for candidate in candidates), LIBRARIES],
            on_change=_picked,
            args=(opened,),
        )
    if form.value("pick") == form.OTHER:
        chosen = form.value("network")
        options = [*OURS, *(known or ())]
        others = () if chosen is None or chosen in options else (chosen,)
        st.selectbox(
            "Network",
            [*others, *options],
            index=None,
            key=key("network"),
            persist_state=SESSION,
            format_func=model_name,
            placeholder="resnet50, vit, densenet121",
            filter_mode="contains",
        )


def model_name(model: str) -> str:
    """Return a network's name with the library that has it."""
    if model == form.OTHER:
        return "Another network"
    return OURS[model].label if model in OURS else model


def _picked(opened: OpenedWeights) -> None:
    for candidate in opened.looks_like[str(form.value("group"))]:
        if candidate.model == form.value("pick"):
            form.take_candidate(candidate)


def shape() -> None:
    """Draw how many outputs and channels the network has."""
    with st.container(horizontal=True, vertical_alignment="top", key="evaluate.shape"):
        FORM.draw("n_outputs")
        FORM.draw("channels")
        if form.model() == ONNX:
            FORM.draw("layout", width=WIDE)
            FORM.draw("outputs", width=WIDE)


# Weights.
CONVERTER: Final = Path(__file__).parents[3] / "assets" / "convert_checkpoint.py"
OF_OTHERS: Final = (  # what no network here can be loaded from
    *(RefusalCode.FORMAT_UNKNOWN, RefusalCode.TORCHSCRIPT),
    *(RefusalCode.MODEL_INPUT, RefusalCode.MODEL_OUTPUT),
)
CONVERTED: Final = (RefusalCode.PICKLE_GLOBAL, RefusalCode.TORCHSCRIPT)  # to plain weights
SCRIPT: Final = CONVERTER.parent / "predict_to_file.py"
READ: Final = "PT, PTH, PTH.TAR, CKPT, safetensors or ONNX"
TITLE: Final = (
    '<h1 class="c-sentence">Evaluate a model on images and keep its predictions as a run.</h1>'
)
WHAT: Final = (
    "We load your weights safely, run them on the images you choose, and add the result to your "
    "runs."
)
PLAIN_TITLE: Final = (
    '<h1 class="c-sentence">Show a model pictures and see how far its answers can be trusted.</h1>'
)
PLAIN: Final = (
    "Choose a trained model and pictures, damaged or unfamiliar ones too. Its answers are added to "
    "your runs."
)
MATCHING = "matching"
WHOLE = "every tensor must fit"


def title(*, explained: bool) -> None:
    """Draw the title, and what is done here, unless that has begun."""
    st.html(PLAIN_TITLE if state.plain() else TITLE)
    if explained:
        widgets.second(PLAIN if state.plain() else WHAT)


def refused() -> None:
    """Show why the last file was refused, or the last submission; what was open is still there."""
    with st.container():  # keeps what follows in its place, whatever is in it
        job_watch.refused()
        intake = weights_source.intake()
        intake.refused()
        if any(refusal.error.code in CONVERTED for refusal in intake.refusals):
            widgets.download(
                "Download the converter",
                lambda: CONVERTER.read_text("utf-8"),
                CONVERTER.name,
                "text/x-python",
                key="evaluate.converter",
                explanation="Run it only if you trust the file: it executes the code inside.",
            )
        if any(refusal.error.code in OF_OTHERS for refusal in intake.refusals):
            script()


def script() -> None:
    """Offer what runs a network that Candor cannot make, where its code is."""
    widgets.download(
        "Script that writes predictions",
        lambda: SCRIPT.read_text("utf-8"),
        SCRIPT.name,
        "text/x-python",
        key="evaluate.script",
        explanation="Run it beside your own code, then upload the file under Runs.",
    )


def training(trained: Sequence[Job]) -> None:
    """Offer the finished trainings, the newest at once; without one, to train."""
    with st.container(key="evaluate.at_once"):
        if not trained:
            widgets.title("No training has finished here yet")
            st.page_link(site.TRAIN.script, label="Train AdaFocal on digits", icon=site.TRAIN.icon)
            return
        widgets.title("A training that has finished")
        names = state.distinct_names({job.id: job.name for job in trained})
        with st.container(horizontal=True, vertical_alignment="bottom", key="evaluate.trained"):
            chosen = st.selectbox(
                "Training",
                list(names),
                key="evaluate.training",
                format_func=lambda job_id: names.get(job_id, job_id),
                width="stretch",
            )
            st.button(
                "Choose pictures" if state.plain() else "Choose images",
                type="primary",
                icon=":material/play_arrow:",
                key="evaluate.take",
                on_click=_take_training,
                args=(chosen,),
            )


def file() -> None:
    """Draw the drop zone, and what it takes."""
    weights_source.intake().zone(
        "A file of weights", weights_source.take, label_visibility="collapsed"
    )
    if not state.plain():
        widgets.caption(f"{READ}.")
    if not session.sealed():
        st.markdown("On this system files are read with a time limit only.")


def _take_training(job_id: str) -> None:
    weights_source.intake().refusals.clear()
    st.query_params[weights_source.LINK] = job_id


def path() -> None:
    """Draw the way to a file that lies on the server, where that is allowed."""
    paths = server_paths("evaluate")
    if paths:
        weights_source.take_path(*paths)
        st.rerun()


def match(opened: OpenedWeights) -> Match | None:
    """Draw the weights and the choice of a network; return how they fit, None before that."""
    form.begin(opened)
    file = opened.file
    with st.container(horizontal=True, vertical_alignment="center", key="evaluate.file"):
        st.markdown(f":material/draft: **{esc(file.name)}**", width="stretch")
        st.button("Change weights", key="evaluate.close", type="tertiary", on_click=_close)
    if not state.plain():
        group = file.group(str(form.value("group")))
        widgets.caption(f"{evaluate.file_words(file)}. {evaluate.group_words(group)}.")
    frame.notices(file.notices)
    if not state.plain():
        _inside(opened)
    explanation = "what the weights belong to" if state.plain() else WHOLE
    if opened.file.format == ONNX:
        explanation = "as the file holds it"
    widgets.title("Network", explanation)
    known = machine.networks() if form.value("pick") == form.OTHER else None
    network(opened, known)
    if not state.plain():
        shape()
    # Say whether the weights fit, once that is known
    question = form.question(opened)
    if question is None:
        st.markdown("Choose a network to match with the weights. If none fits, run your own:")
        script()
        return None
    text = f"Matching with {esc(evaluate.model_label(question['model']))}."
    task = inference.query(
        "evaluate.matching", MATCHING, question, text, program=question["model"] == ONNX
    )
    answer = task.wait()
    if answer is None:
        return None
    # Take over what the network wants to be shown, unless that was changed by hand
    about = repr([question[key] for key in ("model", "channels", "size", "folder")])
    if not st.session_state.get(form.EDITED) and st.session_state.get(form.SHOWN_FOR) != about:
        settings = codec.read(Preprocessing, answer.values["settings"], "preprocessing")
        form.fill_shown(settings)
        st.session_state[form.SHOWN_FOR] = about
    fit = codec.read(Match, answer.values["match"])
    if fit.ok:
        fit_words = evaluate.plain_fit_words if state.plain() else evaluate.fit_words
        st.markdown(f":material/check_circle: {esc(fit_words(fit))}")
        if fit.left and not state.plain():
            _list(fit, "left")
        return fit
    # Say what did not fit, with what may be meant
    other = fit.other_outputs
    remedy = "choose the network that the weights were made for"
    if other is not None:
        remedy = f"use {other} classes: that is how many outputs the file’s last layer has"
    frame.refusal(AuditError("STATE_DICT", evaluate.fit_words(fit), remedy), opened.file.name)
    with st.container(horizontal=True, vertical_alignment="center", key="evaluate.misfit"):
        if other is not None:
            st.button(
                f"Use {other} classes",
                key="evaluate.outputs",
                type="primary",
                on_click=form.put,
                args=("n_outputs", other),
            )
        widgets.save(evaluate.all_names(fit), "tensors", "All of them, CSV")
        script()
    for listed in evaluate.lists(fit):
        _list(fit, listed)
    return fit


def _close() -> None:
    weights_source.forget()
    st.query_params.pop(weights_source.LINK, None)


def _inside(opened: OpenedWeights) -> None:
    """Draw the groups, one of which is evaluated, and what was saved beside them."""
    file = opened.file
    groups = {group.key: group for group in file.groups}
    if len(groups) > 1:
        st.radio(
            "Weights",
            list(groups),
            key=form.key("group"),
            persist_state=SESSION,
            format_func=lambda key: esc(evaluate.group_label(groups[key])),
            captions=[evaluate.group_words(group) for group in file.groups],
            on_change=form.take_group,
            args=(opened,),
            horizontal=True,
            help="Averages over the last steps (EMA) are what most papers report.",
        )
    if file.hints:
        title = "In the file" if file.format == ONNX else "Saved beside the weights"
        with st.expander(f"{title}: {len(file.hints)}", key="evaluate.hints"):
            widgets.table(evaluate.hints(file), key="evaluate.hints.table")


def _list(fit: Match, key: str) -> None:
    """Draw the first names of a list, folded."""
    tensor_names = evaluate.lists(fit)[key]
    title, explanation = TITLES[key]
    with st.expander(f"{title}: {len(tensor_names)}, {explanation}", key=f"evaluate.list.{key}"):
        st.code(evaluate.shown(tensor_names), language=None)
