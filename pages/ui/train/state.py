"""What stands in the form of the Train page: filled from a config, read into one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import streamlit as st

from core.datasets.catalogue import DATASETS
from core.errors import UsageError
from core.jobs.records import Job
from core.losses.catalogue import LOSSES, Parameter, Setting
from core.models.catalogue import MODELS
from core.training.config import (
    MAX_BATCH,
    MAX_DEVICES,
    MAX_EPOCHS,
    MAX_NAME,
    TrainConfig,
    from_json,
)
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
EXACT: Final = 2**53 - 1  # what a browser counts exactly
ENDS: Final[dict[str, tuple[float, float]]] = {  # of the widgets
    "epochs": (1, MAX_EPOCHS),
    "batch_size": (1, MAX_BATCH),
    "n_train": (1, EXACT),
    "split_seed": (0, EXACT),
    "devices": (1, MAX_DEVICES),
    "lr": (0.0, 1000.0),
    "momentum": (0.0, 1.0),
    "weight_decay": (0.0, 10.0),
    "factor": (0.0, 1.0),
    "clip_norm": (0.0, 1e6),
    "priority": (-100, 100),
    "minutes": (1.0, 527_040.0),
}
LENGTHS: Final = {"name": MAX_NAME, "data_root": 4_000, "seeds": 2_000, "drops": 4_000}
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


def fill(config: TrainConfig, job: Job | None = None) -> None:
    """Set every widget to a config, and to how its job was submitted; no other losses.

    Raises
    ------
    UsageError
        SETTING: a widget cannot hold what is given as it is; the form stays as it was.
    """
    own = config.model in MODELS
    pinned = job is not None and ":" in job.wants
    limit = job.time_limit if job else None
    values: Json = {
        "data": config.data,
        "model": config.model if own else BY_NAME,
        "network": None if own else config.model,
        "loss": config.loss["name"],
        # A name that only says loss, network and data would be wrong once these are changed.
        "name": "" if config.name == replace(config, name="").name else config.name,
        "data_root": "" if config.data_root is None else config.data_root,
        "n_train": config.n_train,
        "seeds": str(config.seed),
        "split_seed": config.split_seed,
        "device": job.wants if job and pinned else config.device,
        "devices": config.devices,
        "deterministic": config.deterministic,
        "others": [],
        "priority": job.priority if job else 0,
        "minutes": None if limit is None else limit / 60,
        "preset": config.preset or OWN,
    } | _of_recipe(config.to_json())
    for name, what in values.items():
        _check_fits(name, what)
    if config.data_root == "":
        raise UsageError("SETTING", "data_root is empty", "name the folder, or give null")
    for name, what in values.items():
        put(name, what)
    fill_loss(str(config.loss["name"]), config.loss)


def _check_fits(name: str, what: object) -> None:
    """Refuse what a widget would change: a number off its range, text off its one line."""
    if name in ENDS and isinstance(what, int | float):
        low, high = ENDS[name]
        if not low <= what <= high:
            problem = f"{name} is {what!r:.60}, which this form cannot hold"
            raise UsageError(
                "SETTING", problem, f"give {low} to {high}, or use python -m core train"
            )
    if name in LENGTHS and isinstance(what, str):
        line = what.strip() == what and not any(ord(character) < ord(" ") for character in what)
        if not line or len(what) > LENGTHS[name]:
            problem = f"{name} is {what!r:.60}, which this form cannot hold"
            use = f"give one line of at most {LENGTHS[name]} characters, no space at its ends"
            raise UsageError("SETTING", problem, f"{use}, or use python -m core train")


def fill_recipe(settings: Mapping[str, Any]) -> None:
    """Set the widgets that a recipe speaks of."""
    for name, what in _of_recipe(settings).items():
        put(name, what)


def _of_recipe(settings: Mapping[str, Any]) -> Json:
    optimizer, schedule, clip_norm = (
        settings[name] for name in ("optimizer", "schedule", "clip_norm")
    )
    same = ("epochs", "batch_size", "reduction", "augment", "precision")
    return {name: settings[name] for name in same} | {
        "clip_norm": None if clip_norm is None else float(clip_norm),
        "optimizer": optimizer["name"],
        **{name: float(optimizer[name]) for name in ("lr", "momentum", "weight_decay")},
        "schedule": schedule["name"],
        "drops": ", ".join(_short(drop) for drop in schedule["drops"]),
        "factor": float(schedule["factor"]),
    }


def _short(number: float) -> str:
    """Return a number in few digits where they give it back exactly."""
    return f"{number:g}" if float(f"{number:g}") == number else repr(number)


def fill_loss(loss: str, settings: Mapping[str, Setting]) -> None:
    """Set the widgets of a loss's parameters; those not given have their defaults."""
    for parameter in LOSSES[loss].parameters:
        set_parameter(loss, parameter, settings.get(parameter.name, parameter.default))


def parameter_key(loss: str, parameter: Parameter, part: str = "") -> str:
    """Return the name of a parameter's widget; `part` of one that is a word or a number."""
    return f"loss.{loss}.{parameter.name}{part}"


def set_parameter(loss: str, parameter: Parameter, what: Setting) -> None:
    """Set the widgets of one parameter."""
    name = parameter_key(loss, parameter)
    if parameter.words:
        put(f"{name}.word", what if isinstance(what, str) else NUMBER)
        if isinstance(what, str):
            return
    if isinstance(what, int | float) and not isinstance(what, bool):
        what = what if isinstance(parameter.low, int) else float(what)
    put(name, what)


def setting(loss: str, parameter: Parameter) -> Setting:
    """Return what a parameter is set to."""
    name = parameter_key(loss, parameter)
    word = value(f"{name}.word") if parameter.words else None
    current: Setting = value(name) if word in (None, NUMBER) else word
    return current


def loss_settings(loss: str) -> dict[str, Setting]:
    """Return the settings of a loss as they stand."""
    return {parameter.name: setting(loss, parameter) for parameter in LOSSES[loss].parameters}


def preset_of(loss: str) -> str:
    """Return which of a loss's presets its settings are, else OWN."""
    entry, current = LOSSES[loss], loss_settings(loss)
    defaults = {parameter.name: parameter.default for parameter in entry.parameters}
    matching = (
        name
        for name, preset in entry.presets.items()
        if defaults | dict(preset.settings) == current
    )
    return next(matching, OWN)


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
    name = (value("name") or "").strip()
    return trainings(base(), name, value("others") or [], seeds(value("seeds") or ""))


def _drops(text: str) -> list[float]:
    try:
        return [float(part) for part in text.replace(";", ",").split(",") if part.strip()]
    except ValueError:
        raise UsageError(
            "SETTING", f"schedule.drops are {text[:60]!r}", "give ascending numbers between 0 and 1"
        ) from None
