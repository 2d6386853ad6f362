"""What stands in the form of the Train page: filled from a config, read into one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import streamlit as st

from core.datasets.catalogue import DATASETS
from core.errors import UsageError
from core.losses.catalogue import LOSSES, Parameter, Setting
from core.models.catalogue import MODELS
from core.training.config import TrainConfig, from_json
from core.training.submission import FIRST, check_folder, seeds, trainings

BY_NAME: Final = "by_name"  # of timm or torchvision
OWN: Final = "own"
NUMBER: Final = "number"
RECIPE_KEYS: Final = (
    "epochs",
    "batch_size",
    "optimizer",
    "schedule",
    "reduction",
    "clip_norm",
    "augment",
    "precision",
)
Json = dict[str, Any]  # Any: plain JSON values


def key(name: str) -> str:
    """Return the key of a widget."""
    return f"train.{name}"


def value(name: str) -> Any:  # noqa: ANN401  whatever the widget holds
    """Return what a widget holds."""
    return st.session_state.get(key(name))


def put(name: str, what: object) -> None:
    """Set a widget that is not drawn yet in this run."""
    st.session_state[key(name)] = what


def begin() -> None:
    """Fill the form when it is drawn first in a session."""
    if key("data") not in st.session_state:
        fill(from_json(FIRST))


def fill(config: TrainConfig) -> None:
    """Set every widget to a config; one training, no other losses."""
    own = config.model in MODELS
    put("data", config.data)
    put("model", config.model if own else BY_NAME)
    put("network", None if own else config.model)
    put("loss", config.loss["name"])
    fill_loss(str(config.loss["name"]), config.loss)
    # A name that only says loss, network and data would be wrong once these are changed.
    put("name", "" if config.name == replace(config, name="").name else config.name)
    put("data_root", config.data_root or "")
    put("n_train", config.n_train)
    put("seeds", str(config.seed))
    put("split_seed", config.split_seed)
    put("device", config.device)
    put("devices", config.devices)
    put("deterministic", config.deterministic)
    put("others", [])
    put("priority", 0)
    put("minutes", None)
    fill_recipe(config.to_json())
    put("preset", config.preset or OWN)


def fill_recipe(settings: Mapping[str, Any]) -> None:
    """Set the widgets that a recipe speaks of."""
    for name in ("epochs", "batch_size", "reduction", "augment", "precision"):
        put(name, settings[name])
    put("clip_norm", None if settings["clip_norm"] is None else float(settings["clip_norm"]))
    optimizer, schedule = settings["optimizer"], settings["schedule"]
    put("optimizer", optimizer["name"])
    for name in ("lr", "momentum", "weight_decay"):
        put(name, float(optimizer[name]))
    put("schedule", schedule["name"])
    put("drops", ", ".join(_short(drop) for drop in schedule["drops"]))
    put("factor", float(schedule["factor"]))


def _short(number: float) -> str:
    """Return a number in few digits where they give it back exactly."""
    return f"{number:g}" if float(f"{number:g}") == number else repr(number)


def fill_loss(loss: str, settings: Mapping[str, Setting]) -> None:
    """Set the widgets of a loss's parameters; those not given have their defaults."""
    for one in LOSSES[loss].parameters:
        set_parameter(loss, one, settings.get(one.name, one.default))


def parameter_key(loss: str, one: Parameter, part: str = "") -> str:
    """Return the name of a parameter's widget; `part` of one that is a word or a number."""
    return f"loss.{loss}.{one.name}{part}"


def set_parameter(loss: str, one: Parameter, what: Setting) -> None:
    """Set the widgets of one parameter."""
    name = parameter_key(loss, one)
    if one.words:
        put(f"{name}.word", what if isinstance(what, str) else NUMBER)
        if isinstance(what, str):
            return
    if isinstance(what, int | float) and not isinstance(what, bool):
        what = what if isinstance(one.low, int) else float(what)
    put(name, what)


def parameter(loss: str, one: Parameter) -> Setting:
    """Return what a parameter is set to."""
    name = parameter_key(loss, one)
    word = value(f"{name}.word") if one.words else None
    found: Setting = value(name) if word in (None, NUMBER) else word
    return found


def loss_settings(loss: str) -> dict[str, Setting]:
    """Return the settings of a loss as they stand."""
    return {one.name: parameter(loss, one) for one in LOSSES[loss].parameters}


def preset_of(loss: str) -> str:
    """Return which of a loss's presets its settings are, else OWN."""
    entry, now = LOSSES[loss], loss_settings(loss)
    defaults = {one.name: one.default for one in entry.parameters}
    found = (name for name, one in entry.presets.items() if defaults | dict(one.settings) == now)
    return next(found, OWN)


def base() -> TrainConfig:
    """Return the config that stands in the form, with its first seed.

    Raises
    ------
    UsageError
        SETTING, SEEDS or FOLDER.
    """
    loss, own = value("loss"), value("model") != BY_NAME
    if not own and not value("network"):
        raise UsageError("SETTING", "no network is picked", "search one of timm or torchvision")
    data: Json = {
        "data": value("data"),
        "model": value("model") if own else value("network"),
        "loss": {"name": loss, **loss_settings(loss)},
        "data_root": (value("data_root") or "").strip() or None,
        "optimizer": {"name": value("optimizer")}
        | {name: value(name) for name in ("lr", "momentum", "weight_decay")},
        "schedule": {
            "name": value("schedule"),
            "drops": _drops(value("drops") or ""),
            "factor": value("factor"),
        },
        "seed": seeds(value("seeds") or "")[0],
        "device": str(value("device")).split(":")[0],
        "preset": None if value("preset") == OWN else value("preset"),
    }
    same = (*RECIPE_KEYS, "n_train", "split_seed", "devices", "deterministic")
    data |= {name: value(name) for name in same if name not in data}
    config = from_json(data)
    if DATASETS[config.data].needs_root and config.data_root is None:
        raise UsageError(
            "FOLDER", f"{DATASETS[config.data].label} is read from a folder", "name the folder"
        )
    check_folder(config.data_root)
    return config


def submitted() -> tuple[TrainConfig, ...]:
    """Return every training that the form asks for; errors as of `base`."""
    named = (value("name") or "").strip()
    return trainings(base(), named, value("others") or [], seeds(value("seeds") or ""))


def _drops(text: str) -> list[float]:
    try:
        return [float(one) for one in text.replace(";", ",").split(",") if one.strip()]
    except ValueError:
        raise UsageError(
            "SETTING", f"schedule.drops are {text[:60]!r}", "give ascending numbers between 0 and 1"
        ) from None
