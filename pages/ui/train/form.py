"""The form of the Train page: few things first, the rest folded; `state` keeps what is set."""

from contextlib import suppress

import streamlit as st

from core.datasets.catalogue import DATASETS, TEXT_DATA, data_entry
from core.datasets.texts.corpus import NEWSGROUPS
from core.errors import UsageError
from core.fields import Field
from core.jobs.devices import CPU
from core.jobs.local import LocalJobs
from core.losses.catalogue import LOSSES, Setting
from core.models.catalogue import BERT, MODELS, TEXT_MODELS
from core.screens.kit.numbers import MINUS, count, three
from core.training.config import DEVICES, advice
from core.training.recipes import RECIPES
from pages.ui import widgets
from pages.ui.form import NARROW, SESSION, WIDE
from pages.ui.jobs import cache as cache_train
from pages.ui.jobs import launcher
from pages.ui.train import state as form
from pages.ui.train.state import BY_NAME, FORM, NUMBER, OWN, key

OF_SCHEDULE = {"step": ("factor",), "plateau": ("factor", "patience"), "linear": ("warmup",)}


def draw(jobs: LocalJobs) -> None:
    """Draw the choices."""
    _draw_data_model_and_loss()
    place, line = st.container(), st.container()
    with st.expander("Loss, epochs, seeds and device", key="train.few"):
        _draw_loss_settings(str(form.value("loss")))
        with st.container(horizontal=True, vertical_alignment="top", key="train.second"):
            FORM.draw("epochs")
            FORM.draw("seeds", width=NARROW)
            launcher.choose()
            if not launcher.in_cluster():
                gpus = [device.slot for device in cache_train.devices() if device.slot != CPU]
                options = ["auto", "cpu", *(["cuda"] if gpus else []), *(gpus if gpus[1:] else [])]
                now = str(form.value("device"))
                options += [] if now in options else [now]
                FORM.select("device", options, lambda name: DEVICES.get(name, name), width=NARROW)
    launcher.ask(jobs)
    with st.expander("More settings", key="train.more"):
        recipe = form.value("preset")
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
            FORM.draw("batch_size")
            FORM.draw("optimizer", width=NARROW)
            FORM.draw("lr")
            if form.value("optimizer") == "sgd":
                FORM.draw("momentum")
            FORM.draw("weight_decay")
            if form.value("optimizer") == "adagrad" and form.of_texts():
                FORM.draw("vectors_lr")
            FORM.draw("schedule", width=NARROW)
            if form.value("schedule") == "step":
                FORM.draw("drops", width=200)
            of_schedule = OF_SCHEDULE.get(str(form.value("schedule")), ())
            for name in (*of_schedule, "keep", "last_batch", "reduction", "clip_norm", "precision"):
                FORM.draw(name)
            if not form.of_texts():
                FORM.draw("augment")
        widgets.title("Texts" if form.of_texts() else "Images")
        with st.container(horizontal=True, vertical_alignment="top", key="train.images"):
            FORM.draw("n_train")
            FORM.draw("split_seed")
            if form.of_texts():
                _texts()
            elif not DATASETS[str(form.value("data"))].needs_root:
                with st.container(width=WIDE, key="train.box.folder"):
                    FORM.draw("data_root")
            if str(form.value("data")).startswith("cifar"):
                FORM.draw("changed_files")
        _submission()
    # Settings that make no config are refused where they are submitted
    with place, suppress(UsageError):
        for notice in advice(form.base()):
            widgets.caveat("May not learn", notice.sentence)
    with line:  # once the fields have the values that they begin with
        widgets.caption(_standing())


def _standing() -> str:
    """Return what the first fold holds, so that a first training can leave it folded."""
    epochs, loss = form.value("epochs"), str(form.value("loss"))
    seeds = (form.value("seeds") or "").strip()
    entry, preset = LOSSES[loss], LOSSES[loss].presets.get(form.preset_of(loss))
    words = [
        f"{entry.parameters[name].label} {_setting(entry.parameters[name], value)}"
        for name, value in form.loss_settings(loss).items()
    ]
    settings = [f"preset “{preset.label}”"] if preset else words
    length = f"{count(epochs)} epoch{'s' * (epochs != 1)}"
    named = f"seed{'s' * (',' in seeds)} {seeds}" if seeds else "no seed"
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
        FORM.select("data", options, lambda name: data_entry(name).label, changed=form.data_changed)
        entry = data_entry(str(form.value("data")))
        widgets.caption(entry.plain)
        if entry.needs_root:
            FORM.draw("data_root")
    with model_place:
        known = TEXT_MODELS if form.of_texts() else MODELS
        FORM.select(
            "model",
            [*known] if form.of_texts() else [*known, BY_NAME],
            lambda name: (
                "Another, from timm or torchvision"
                if name == BY_NAME
                else (MODELS | TEXT_MODELS)[name].label
            ),
            changed=form.model_changed,
        )
        model = str(form.value("model"))
        if model in known:
            widgets.caption(f"{known[model].plain} {known[model].millions:g} million weights.")
            if model == BERT:
                FORM.draw("bert")
        else:
            network_names = cache_train.networks()
            chosen = form.value("network")
            others = (
                () if chosen is None or (network_names and chosen in network_names) else (chosen,)
            )
            st.selectbox(
                "Search",
                [*others, *(network_names or ())],
                index=None,
                key=key("network"),
                persist_state=SESSION,
                placeholder="resnet18, vit, convnext",
                filter_mode="contains",
            )
            FORM.draw("pretrained")
    with loss:
        FORM.select("loss", list(LOSSES), lambda name: LOSSES[name].label, changed=_loss_changed)
        widgets.caption(LOSSES[str(form.value("loss"))].plain)


def _loss_changed() -> None:
    """Give a loss that is picked for the first time its defaults."""
    loss = str(form.value("loss"))
    if any(form.setting(loss, parameter) is None for parameter in LOSSES[loss].parameters):
        form.fill_loss(loss, {})


def _draw_loss_settings(loss: str) -> None:
    """Draw the settings of the loss, with the papers' values to pick from."""
    entry = LOSSES[loss]
    if not entry.parameters:
        return
    with st.container(horizontal=True, vertical_alignment="top", key="train.parameters"):
        if entry.presets:
            form.put(f"values.{loss}", form.preset_of(loss))
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
    preset = entry.presets.get(form.preset_of(loss))
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
        word = form.value(f"{name}.word")
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
        if not numeric or form.value(f"{name}.word") != NUMBER:
            return
        if form.value(name) is None:
            form.put(name, field.low)
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
    preset = LOSSES[loss].presets.get(str(form.value(f"values.{loss}")))
    if preset is not None:
        form.fill_loss(loss, preset.settings)


def _take_recipe() -> None:
    recipe = RECIPES.get(str(form.value("preset")))
    if recipe is not None:
        form.fill_recipe(recipe.settings)


def _texts() -> None:
    of_bert = form.value("model") == BERT
    own = () if of_bert else ("vocabulary", "taken", "dimension")
    for name in ("length", "test_length", *own):
        FORM.draw(name)
    if form.value("data") == NEWSGROUPS:
        FORM.draw("strip", width=WIDE)
    for name in ("left_out",) if of_bert else ("embeddings", "left_out"):
        with st.container(width=WIDE, key=f"train.box.{name}"):
            FORM.draw(name)
    if form.value("embeddings") and not of_bert:
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
