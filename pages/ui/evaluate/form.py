"""The form of the Evaluate page: images, sets beside them, and what the network is shown."""

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Final

import streamlit as st

from core.checkpoints.guess import shipped
from core.datasets.catalogue import DATASETS
from core.datasets.shifts import CORRUPTIONS, KINDS, OFFICIAL, OWN, SEVERITIES
from core.datasets.splits import SPLIT_NAMES
from core.errors import AuditError, UsageError
from core.inference.preprocessing import MOMENTS
from core.models.catalogue import ONNX, OURS
from core.readers.formats.pictures import PictureFiles
from core.readers.sandbox import scratch
from core.screens.evaluate import PART_WORDS
from core.screens.kit.numbers import count
from core.training.submission import IMPORT
from pages.ui import session, state, widgets
from pages.ui.escape import esc
from pages.ui.evaluate import state as form
from pages.ui.evaluate.state import FORM, SHOWN, Pictures, key, pictures, pictures_home
from pages.ui.form import NARROW, SESSION, WIDE
from pages.ui.intake import FileReading, Intake, SealedFile
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
        if intake.settle(partial(_keep, setting)):
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
    "corrupted": "The test images, damaged",
    "folder": "A folder of pictures",
}
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
    widgets.title("Images", "the test data, and further sets")
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
            format_func=lambda part: PART_WORDS[part][0],
            help="A temperature is fitted on the validation part; headline numbers come from the "
            "test part.",
        )
    if DATASETS[data].needs_root:
        folder("data_root", dropped=data == "folder")
    # Draw the sets beside the data, and what each of them needs
    words = PLAIN_KINDS if state.plain() else KINDS
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
        placeholder="None. Add damaged or unfamiliar images",
        help="Predictions on shifted images, or on images of none of the classes.",
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
                "Use the network's own settings",
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
