"""What stands in the form of the Train page: filled from a config, read into one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import streamlit as st

from core.datasets.catalogue import TEXT_DATA, data_entry
from core.errors import UsageError
from core.fields import Field, JsonObject, declared
from core.jobs.records import Job
from core.losses.catalogue import LOSSES, Setting
from core.models.catalogue import BERT, MODELS, TEXT_MODELS
from core.training.config import TrainConfig, from_json
from core.training.recipes import RECIPES
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
from pages.ui.form import Form
from pages.ui.jobs import launcher

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
        "device": "auto" if launcher.in_cluster() else str(value("device")).split(":")[0],
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
