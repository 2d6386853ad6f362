"""The form of the Train page: few things first, the rest folded; a config in, out, submitted."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import streamlit as st

from core.datasets.catalogue import DATASETS, TEXT_DATA, data_entry
from core.datasets.texts.corpus import NEWSGROUPS
from core.disk import JsonError, parse_json
from core.errors import AuditError, UsageError
from core.fields import Field, JsonObject, declared
from core.jobs.devices import CPU
from core.jobs.local import LocalJobs
from core.jobs.records import Job
from core.losses.catalogue import LOSSES, Setting
from core.models.catalogue import BERT, MODELS, TEXT_MODELS
from core.screens.kit.numbers import MINUS, count, three
from core.training.config import DEVICES, RECIPES, TrainConfig, advice, from_json
from core.training.submission import (
    BERT_BASE,
    FIRST,
    NO_FOLDER,
    check_folder,
    folder_remedy,
    seeds,
    sweep,
    trainings,
)
from pages.ui import frame, open_runs, server, site, state, widgets
from pages.ui.form import NARROW, SESSION, WIDE, Form
from pages.ui.jobs import machine
from pages.ui.jobs import watch as job_watch
from pages.ui.markup import esc
from pages.ui.streamlit_internals import drop_bytes

BY_NAME: Final = "by_name"  # of timm or torchvision
OWN: Final = "own"
NUMBER: Final = "number"
TEXT_RECIPE: Final = "newsgroups"
BERT_RECIPE: Final = "newsgroups_bert"
WORDS: Final = ("vocabulary", "taken", "dimension", "embeddings", "fixed")  # not of BERT
LEARNING: Final = ("epochs", "batch_size", "optimizer", "schedule", "keep")
FORM: Final = Form(
    "train",
    {key: field for key, field in declared(TrainConfig).items() if key != "seed"}
    | {
        "seeds": Field("Seeds", "One training per seed: 0, or 0, 1, 2.", length=2_000),
        "sweep": Field(
            "Sweep",
            "One training per value, such as loss.gamma = 1, 2, 3; optimizer.lr = 0.1, 0.05.",
            length=1_000,
        ),
        "priority": Field("Priority", "Higher ones start first.", low=-100, high=100, kind=int),
        "minutes": Field(
            "Time limit, minutes",
            "Stops the training; empty for no limit.",
            low=1,
            high=527_040,
            step=10,
            kind=float | None,
        ),
    },
)
key, value, put = FORM.key, FORM.value, FORM.put
WIDTHS = {"optimizer": NARROW, "schedule": NARROW, "drops": 200}
OF_SCHEDULE = {
    "step": ("drops", "factor"),
    "plateau": ("factor", "patience"),
    "linear": ("warmup",),
}


def begin() -> None:
    """Fill the form when it is drawn first in a session."""
    if key("data") not in st.session_state:
        fill(from_json(FIRST))


def fill(config: TrainConfig, job: Job | None = None) -> None:
    """Set every widget to a config, and to how its job was submitted; no other losses.

    UsageError SETTING: a widget cannot hold what is given as it is; the form stays as it was.
    """
    own = config.model in MODELS or config.of_texts
    pinned = job is not None and ":" in job.wants
    limit = job.time_limit if job else None
    values = FORM.of(config.to_json()) | {
        "model": config.model if own else BY_NAME,
        "network": None if own else config.model,
        "loss": config.loss["name"],
        # A name that only says loss, network and data would be wrong once these are changed.
        "name": "" if config.name == replace(config, name="").name else config.name,
        "seeds": str(config.seed),
        "device": job.wants if job and pinned else config.device,
        "others": [],
        "sweep": "",
        "priority": job.priority if job else 0,
        "minutes": None if limit is None else limit / 60,
        "preset": config.preset or OWN,
    }
    for name in values.keys() & FORM.widgets.keys():
        FORM.check(name, values[name])
    if config.data_root == "":
        raise UsageError("SETTING", "data_root is empty", "name the folder, or give null")
    for name, what in values.items():
        put(name, what)
    fill_loss(str(config.loss["name"]), config.loss)


def fill_recipe(settings: Mapping[str, Any]) -> None:
    """Set the widgets that a recipe speaks of."""
    for name, what in FORM.of(settings).items():
        put(name, what)


def fill_loss(loss: str, settings: Mapping[str, Setting]) -> None:
    """Set the widgets of a loss's parameters; those not given have their defaults."""
    for parameter, field in LOSSES[loss].parameters.items():
        set_parameter(loss, parameter, settings.get(parameter, field.default))


def set_parameter(loss: str, parameter: str, what: Setting) -> None:
    """Set the widgets of one parameter."""
    name, field = f"loss.{loss}.{parameter}", LOSSES[loss].parameters[parameter]
    if field.choices:
        put(f"{name}.word", what if isinstance(what, str) else NUMBER)
        if isinstance(what, str):
            return
    put(name, float(what) if field.kind is float else what)


def setting(loss: str, parameter: str) -> Setting:
    """Return what a parameter is set to."""
    name = f"loss.{loss}.{parameter}"
    word = value(f"{name}.word") if LOSSES[loss].parameters[parameter].choices else None
    current: Setting = value(name) if word in (None, NUMBER) else word
    return current


def loss_settings(loss: str) -> dict[str, Setting]:
    """Return the settings of a loss as they stand."""
    return {parameter: setting(loss, parameter) for parameter in LOSSES[loss].parameters}


def preset_of(loss: str) -> str:
    """Return which of a loss's presets its settings are, else OWN."""
    entry, current = LOSSES[loss], loss_settings(loss)
    defaults = {parameter: field.default for parameter, field in entry.parameters.items()}
    matching = (
        name
        for name, preset in entry.presets.items()
        if defaults | dict(preset.settings) == current
    )
    return next(matching, OWN)


def base() -> TrainConfig:
    """Return the config with its first seed; UsageError SETTING, SEEDS or FOLDER."""
    loss, own = value("loss"), value("model") != BY_NAME
    if not own and not value("network"):
        raise UsageError("SETTING", "No network is picked", "search for one in timm or torchvision")
    data = FORM.settings(TrainConfig) | {
        "model": value("model") if own else value("network"),
        "loss": {"name": loss, **loss_settings(loss)},
        "name": "",
        "seed": seeds(value("seeds") or "")[0],
        "device": "auto" if machine.in_cluster() else str(value("device")).split(":")[0],
        "preset": None if value("preset") == OWN else value("preset"),
    }
    if of_texts():
        data["pretrained"] = False
        unused = WORDS if value("model") == BERT else ("bert",)  # what stands there waits
        data["text"] = {key: of for key, of in data["text"].items() if key not in unused}
    else:
        del data["text"]  # what stands there waits for data of texts
    if value("model") == BERT and of_texts() and not value("bert"):
        raise UsageError("FOLDER", NO_FOLDER, f"enter the folder of BERT, such as {BERT_BASE}")
    config = from_json(data)
    entry = data_entry(config.data)
    if entry.needs_root and config.data_root is None:
        raise UsageError("FOLDER", NO_FOLDER, folder_remedy(config.data, entry.label))
    check_folder(config.data_root)
    check_folder(config.text.embeddings)
    check_folder(config.text.bert)
    return config


def of_texts() -> bool:
    """Whether the data in the form are texts."""
    return value("data") in TEXT_DATA


def data_changed() -> None:
    """Give texts a network that reads them and the papers' recipe for them, images one of theirs.

    Nothing changes between two sets of images, or of texts.
    """
    if of_texts() == (value("model") in TEXT_MODELS):
        return
    texts = of_texts()
    put("model", next(iter(TEXT_MODELS)) if texts else FIRST["model"])
    put("preset", TEXT_RECIPE if texts else OWN)
    first = from_json(FIRST).to_json()
    fill_recipe(_of_texts() if texts else {key: first[key] for key in LEARNING})


def model_changed() -> None:
    """Give BERT its recipe, whose rates and texts are not those of other networks, and back."""
    if value("model") == BERT:
        put("preset", BERT_RECIPE)
        fill_recipe(RECIPES[BERT_RECIPE].settings)
    elif value("preset") == BERT_RECIPE:
        put("preset", TEXT_RECIPE)
        fill_recipe(_of_texts())


def _of_texts() -> JsonObject:
    """Return the papers' recipe for texts, with the texts' own settings that BERT's changes."""
    first = from_json(FIRST).to_json()["text"]
    text = {key: first[key] for key in RECIPES[BERT_RECIPE].settings["text"]}
    return {**RECIPES[TEXT_RECIPE].settings, "text": text}


def submitted() -> tuple[TrainConfig, ...]:
    """Return every training that the form asks for; errors as of `base`."""
    name = (value("name") or "").strip()
    config = base()
    values = sweep(value("sweep") or "", str(config.loss["name"]))
    return trainings(config, name, value("others") or [], seeds(value("seeds") or ""), values)


def draw(jobs: LocalJobs) -> None:
    """Draw the choices."""
    _draw_data_model_and_loss()
    place, line = st.container(), st.container()
    with st.expander("Loss, epochs, seeds and device", key="train.few"):
        _draw_loss_settings(str(value("loss")))
        with st.container(horizontal=True, vertical_alignment="top", key="train.second"):
            FORM.draw("epochs")
            FORM.draw("seeds", width=NARROW)
            machine.choose()
            if not machine.in_cluster():
                gpus = [device.slot for device in machine.devices() if device.slot != CPU]
                options = ["auto", "cpu", *(["cuda"] if gpus else []), *(gpus if gpus[1:] else [])]
                now = str(value("device"))
                options += [] if now in options else [now]
                FORM.select("device", options, lambda name: DEVICES.get(name, name), width=NARROW)
    machine.ask(jobs)
    with st.expander("More settings", key="train.more"):
        recipe = value("preset")
        st.selectbox(
            "Recipe",
            [OWN, *RECIPES],
            key=key("preset"),
            persist_state=SESSION,
            format_func=lambda name: "My own" if name == OWN else RECIPES[name].label,
            on_change=_take_recipe,
        )
        if recipe in RECIPES:
            widgets.caption(f"{RECIPES[recipe].source}.")
        widgets.title("Learning")
        with st.container(horizontal=True, vertical_alignment="top", key="train.steps"):
            names = ["batch_size", "optimizer", "lr"]
            names += ["momentum"] if value("optimizer") == "sgd" else []
            names += ["weight_decay"]
            names += ["vectors_lr"] if value("optimizer") == "adagrad" and of_texts() else []
            names += ["schedule", *OF_SCHEDULE.get(str(value("schedule")), ())]
            names += ["keep", "last_batch", "reduction", "clip_norm", "precision"]
            names += [] if of_texts() else ["augment"]
            for name in names:
                FORM.draw(name, width=WIDTHS.get(name))
        widgets.title("Texts" if of_texts() else "Images")
        with st.container(horizontal=True, vertical_alignment="top", key="train.images"):
            FORM.draw("n_train")
            FORM.draw("split_seed")
            if of_texts():
                _texts()
            elif not DATASETS[str(value("data"))].needs_root:
                with st.container(width=WIDE, key="train.box.folder"):
                    FORM.draw("data_root")
            if str(value("data")).startswith("cifar"):
                FORM.draw("changed_files")
        _submission()
    # Settings that make no config are refused where they are submitted
    with place, suppress(UsageError):
        for notice in advice(base()):
            widgets.caveat("May not learn", notice.sentence)
    with line:  # once the fields have the values that they begin with
        widgets.caption(_standing())


def _standing() -> str:
    """Return what the first fold holds, so that a first training can leave it folded."""
    epochs, loss = value("epochs"), str(value("loss"))
    typed = (value("seeds") or "").strip()
    entry, preset = LOSSES[loss], LOSSES[loss].presets.get(preset_of(loss))
    words = [
        f"{entry.parameters[name].label} {_setting(entry.parameters[name], entered)}"
        for name, entered in loss_settings(loss).items()
    ]
    settings = [f"preset “{preset.label}”"] if preset else words
    length = f"{count(epochs)} epoch{'s' * (epochs != 1)}"
    named = f"seed{'s' * (',' in typed)} {typed}" if typed else "no seed"
    return f"{length}, {named}. {', '.join([entry.label, *settings])}."


def _setting(field: Field, value: Setting) -> str:
    """Return what a parameter is set to, as its help writes what it may be."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return f"every {value}" if field.low is not None else field.choices.get(value, value)
    number = f"{value:,.10g}".replace("-", MINUS)
    return f"every {number} batch{'es' * (value != 1)}" if field.choices else number


def _draw_data_model_and_loss() -> None:
    """Draw the three choices that make a training, side by side."""
    data, model_place, loss = st.columns(3, gap="small")
    with data:
        options = [*DATASETS, *TEXT_DATA]
        FORM.select("data", options, lambda name: data_entry(name).label, changed=data_changed)
        entry = data_entry(str(value("data")))
        widgets.caption(entry.plain)
        if entry.needs_root:
            FORM.draw("data_root")
    with model_place:
        known = TEXT_MODELS if of_texts() else MODELS
        FORM.select(
            "model",
            [*known] if of_texts() else [*known, BY_NAME],
            lambda name: (
                "Another, from timm or torchvision"
                if name == BY_NAME
                else (MODELS | TEXT_MODELS)[name].label
            ),
            changed=model_changed,
        )
        model = str(value("model"))
        if model in known:
            widgets.caption(f"{known[model].plain} {known[model].millions:g} million weights.")
            if model == BERT:
                FORM.draw("bert")
        else:
            network_names, chosen = machine.networks() or (), value("network")
            others = () if chosen is None or chosen in network_names else (chosen,)
            st.selectbox(
                "Search",
                [*others, *network_names],
                index=None,
                key=key("network"),
                persist_state=SESSION,
                placeholder="resnet18, vit, convnext",
                filter_mode="contains",
            )
            FORM.draw("pretrained")
    with loss:
        FORM.select("loss", list(LOSSES), lambda name: LOSSES[name].label, changed=_loss_changed)
        widgets.caption(LOSSES[str(value("loss"))].plain)


def _loss_changed() -> None:
    """Give a loss that is picked for the first time its defaults."""
    loss = str(value("loss"))
    if any(setting(loss, parameter) is None for parameter in LOSSES[loss].parameters):
        fill_loss(loss, {})


def _draw_loss_settings(loss: str) -> None:
    """Draw the settings of the loss, with the papers' values to pick from."""
    entry = LOSSES[loss]
    if not entry.parameters:
        return
    with st.container(horizontal=True, vertical_alignment="top", key="train.parameters"):
        if entry.presets:
            put(f"values.{loss}", preset_of(loss))
            st.selectbox(
                "Preset",
                [OWN, *entry.presets],
                key=key(f"values.{loss}"),
                format_func=lambda name: "My own" if name == OWN else entry.presets[name].label,
                on_change=_take_preset,
                args=(loss,),
                width=180,
            )
        for parameter, field in entry.parameters.items():
            _draw_parameter(f"loss.{loss}.{parameter}", field)
    preset = entry.presets.get(preset_of(loss))
    widgets.caption(f"{preset.source if preset else entry.source}.")


def _draw_parameter(name: str, field: Field) -> None:
    numeric = field.low is not None
    if field.low is None or field.high is None:
        allowed = " or ".join(field.choices) or "on or off"
    else:
        low, high = (
            count(int(end)) if end == int(end) else three(end) for end in (field.low, field.high)
        )
        ends = f"{'above ' if field.open_low else ''}{low} to {high}".replace("-", MINUS)
        allowed = " or ".join([*field.choices, f"every {ends} batches" if field.choices else ends])
    help_text = f"{field.help} Allowed: {allowed}. Default: {field.default}."
    if field.kind is bool:
        st.toggle(field.label, key=key(name), persist_state=SESSION, help=help_text)
        return
    if field.choices:
        options = [*field.choices, NUMBER] if numeric else list(field.choices)
        word = value(f"{name}.word")
        options += [] if word is None or word in options else [word]  # a schedule
        st.selectbox(
            field.label,
            options,
            key=key(f"{name}.word"),
            persist_state=SESSION,
            help=help_text,
            width=NARROW,
            format_func=lambda word: "every N batches" if word == NUMBER else word,
            accept_new_options=field.allows is not None,
        )
        if not numeric or value(f"{name}.word") != NUMBER:
            return
        if value(name) is None:
            put(name, field.low)
    assert field.low is not None
    assert field.high is not None
    number = float if field.kind is float else int
    st.number_input(
        "Batches" if field.choices else field.label,
        number(field.low),
        number(field.high),
        step=number(field.step),
        format="%g" if number is float else "%d",
        key=key(name),
        persist_state=SESSION,
        help=help_text,
        width=96,
    )


def _take_preset(loss: str) -> None:
    preset = LOSSES[loss].presets.get(str(value(f"values.{loss}")))
    if preset is not None:
        fill_loss(loss, preset.settings)


def _take_recipe() -> None:
    recipe = RECIPES.get(str(value("preset")))
    if recipe is not None:
        fill_recipe(recipe.settings)


def _texts() -> None:
    of_bert = value("model") == BERT
    own = () if of_bert else ("vocabulary", "taken", "dimension")
    for name in ("length", "test_length", *own):
        FORM.draw(name)
    if value("data") == NEWSGROUPS:
        FORM.draw("strip", width=WIDE)
    for name in ("left_out",) if of_bert else ("embeddings", "left_out"):
        with st.container(width=WIDE, key=f"train.box.{name}"):
            FORM.draw(name)
    if value("embeddings") and not of_bert:
        FORM.draw("fixed")


def _submission() -> None:
    widgets.title("Submission")
    with st.container(horizontal=True, vertical_alignment="top", key="train.submission"):
        FORM.draw("name", width=WIDE)
        FORM.draw("sweep", width=330)
        st.multiselect(
            "Also train with",
            list(LOSSES),
            key=key("others"),
            persist_state=SESSION,
            format_func=lambda name: LOSSES[name].label,
            placeholder="None",
            width=330,
            help="Adds one training with each loss, at its defaults, to the same submission.",
        )
        for name in ("priority", "minutes", "devices", "deterministic", "compile", "test_curves",
                     "checkpoint_every", "sync_batch_norm"):  # fmt: skip
            FORM.draw(name)


# Submission.
MAX_CONFIG_BYTES: Final = 64 * 1024
NOT_LOADED: Final = "train.not_loaded"
LOADS: Final = "train.loads"  # files taken in; after each the uploader is a new one
TITLE: Final = '<h1 class="c-sentence">Train a model and watch its calibration as it learns.</h1>'
PLAIN_TITLE: Final = (
    '<h1 class="c-sentence">Let a small program learn from examples, and see how sure it says it '
    "is.</h1>"
)
PLAIN: Final = (
    "What comes out is a run: its answers on examples it never learned from, and how sure it said "
    "it was of each. One click shows it on handwritten digits, in about a minute."
)


def title() -> None:
    """Draw the title, and in plain words what comes out."""
    st.html(PLAIN_TITLE if state.plain() else TITLE)
    if state.plain():
        widgets.second(PLAIN)


def one_click(jobs: LocalJobs) -> None:
    """Offer the training of a first visitor."""
    with st.container(horizontal=True, vertical_alignment="center", key="train.one"):
        st.button(
            "Teach it digits" if state.plain() else "Train AdaFocal on digits",
            type="primary",
            icon=":material/play_arrow:",
            key="train.first_one",
            on_click=job_watch.submit,
            args=(jobs, (from_json(FIRST),)),
        )
        st.markdown("About a minute on two cores; nothing is downloaded.")


def configs() -> tuple[TrainConfig, ...]:
    """Return what the form asks for; none, and why, where it is refused."""
    try:
        machine.request()
        return submitted()
    except UsageError as refused:
        frame.refusal(refused)
        return ()


def buttons(jobs: LocalJobs, configs: Sequence[TrainConfig], listed: Sequence[Job]) -> None:
    """Draw the buttons that train, and those that save and load a config."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="train.actions"):
        device, minutes = str(value("device")), value("minutes")
        request = machine.request() if configs else None
        st.button(
            f"Train {len(configs)}" if len(configs) > 1 else "Train",
            type="primary" if listed else "secondary",
            disabled=not configs,
            key="train.submit",
            on_click=job_watch.submit,
            args=(jobs, configs),
            kwargs={
                "wants": device if ":" in device and request is None else "auto",
                "priority": value("priority") or 0,
                "time_limit": None if minutes is None else 60 * minutes,
                "request": request,
            },
        )
        if configs:
            first = configs[0]
            widgets.download(
                "Save config" if len(configs) == 1 else f"Save the first of {len(configs)} configs",
                lambda: json.dumps(first.to_json(), indent=1, allow_nan=False),
                "candor_train.json",
                "application/json",
                key="train.save",
                explanation="python -m core train takes the file as it is.",
            )
        with st.popover("Load config", key="train.load"):
            not_loaded: AuditError | None = st.session_state.pop(NOT_LOADED, None)
            if not_loaded is not None:  # the popover would hide it elsewhere
                frame.refusal(not_loaded)
            server.drop_zone(
                "A config as `python -m core train` takes it",
                type="json",
                key=f"train.file.{st.session_state.get(LOADS, 0)}",
                on_change=_load,
                max_upload_size=1,
            )


def _load() -> None:
    """Fill the form from a file; one that is refused leaves the form as it was."""
    count = st.session_state.get(LOADS, 0)
    file = st.session_state.get(f"train.file.{count}")
    if file is None:
        return
    st.session_state[LOADS] = count + 1
    data = file.getvalue()
    refused: UsageError | None = None
    drop_bytes(file)
    if len(data) > MAX_CONFIG_BYTES:
        what = f"{file.name} has {len(data)} bytes"
        refused = UsageError("SETTING", what, f"a config has at most {MAX_CONFIG_BYTES}")
    else:
        try:
            fill(from_json(parse_json(data)))
        except JsonError as error:
            remedy = "give a JSON object, each key once"
            refused = UsageError("SETTING", f"{file.name} {error}", remedy)
        except UsageError as error:
            refused = error
    if refused is not None:
        st.session_state[NOT_LOADED] = refused


def earlier(jobs: LocalJobs, configs: Sequence[TrainConfig], listed: Sequence[Job]) -> None:
    """Link the job of the same config and data whose run is still there, if any."""
    if not configs:
        return
    config = configs[0]
    job: Job | None = None
    for candidate in listed:
        if job is None and candidate.digest == config.digest and candidate.run:
            with suppress(AuditError):  # its run or its folder is gone
                open_runs.find(candidate.run)
                before = jobs.config(candidate.id)
                # Data that need a folder may be other data in another one
                same = before.data_root == config.data_root
                job = candidate if same or not data_entry(config.data).needs_root else None
    if job is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="train.known"):
        st.markdown("Trained before with these settings: open it, or train again.")
        st.page_link(
            site.TRAIN.script,
            label=esc(job.name),
            icon=":material/check_circle:",
            query_params={"job": job.id},
        )
