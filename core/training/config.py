"""TrainConfig: everything that decides a training run, checked and strict JSON; no torch."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Final

from core.arrays import digest
from core.datasets.catalogue import DATASETS, checked_data
from core.defaults import SEED_MAX
from core.errors import UsageError
from core.library.strict_json import is_text
from core.losses.catalogue import LOSSES, REDUCTIONS, Setting, checked
from core.models.catalogue import checked_model
from core.training.recipes import RECIPES

PRECISIONS: Final = {
    "32": "float32 throughout.",
    "bf16": "bfloat16 where it is safe, float32 elsewhere; halves memory on recent GPUs.",
    "16": "float16 where it is safe, with gradients scaled; for GPUs without bfloat16.",
}
OPTIMIZERS: Final = ("sgd", "adamw")
SCHEDULES: Final = ("step", "cosine", "constant")
DEVICES: Final = ("auto", "cpu", "cuda")
MAX_EPOCHS, MAX_BATCH, MAX_DEVICES, MAX_NAME = 10_000, 65_536, 64, 300
JsonObject = dict[str, Any]  # Any: plain JSON values


@dataclass(frozen=True)
class OptimizerConfig:
    """Which optimiser steps, and how far.

    Parameters
    ----------
    name : str
        ``sgd`` or ``adamw``.
    lr : float
        Learning rate before any drop, above 0.
    momentum : float
        Of sgd, in [0, 1).
    weight_decay : float
        Of all parameters, at least 0.
    """

    name: str = "sgd"
    lr: float = 0.05
    momentum: float = 0.9
    weight_decay: float = 5e-4


@dataclass(frozen=True)
class ScheduleConfig:
    """How the learning rate falls from epoch to epoch.

    Parameters
    ----------
    name : str
        ``step``, ``cosine`` (to 0) or ``constant``.
    drops : tuple of float
        Of step: ascending shares of the epochs, in (0, 1), after which the rate falls.
    factor : float
        Of step: what the rate is multiplied by at each drop, in (0, 1].
    """

    name: str = "step"
    drops: tuple[float, ...] = (0.43, 0.71)
    factor: float = 0.1

    def share(self, epoch: int, n_epochs: int) -> float:
        """Return the rate of an epoch, 0..n_epochs-1, as a share of the first."""
        if self.name == "cosine":
            return 0.5 * (1.0 + math.cos(math.pi * epoch / n_epochs))
        if self.name == "constant":
            return 1.0
        drops = (max(1, round(drop * n_epochs)) for drop in self.drops)
        return self.factor ** sum(epoch >= drop for drop in drops)


@dataclass(frozen=True)
class TrainConfig:
    """Everything that decides a training run.

    Parameters
    ----------
    data, model : str
        See `core.datasets.catalogue` and `core.models.catalogue`.
    loss : mapping
        ``name`` and settings of a loss, see `core.losses.catalogue`.
    name : str
        What the run is called; model, loss and data when empty.
    data_root : str or None
        Folder of the data; None is the data folder of the library.
    n_train : int or None
        Train on so many images of the training part, drawn with `split_seed`; None takes all.
    epochs, batch_size : int
        Passes over the training part, and images a step on all devices together.
    reduction : str
        ``mean`` or ``sum`` of the loss over a batch.
    clip_norm : float or None
        Largest norm of the gradient of a step.
    augment : bool
        Shift, and where the data allows it mirror, the training images.
    precision : str
        ``32``, ``bf16`` or ``16``.
    seed, split_seed : int
        Of weights, order and augmentation; of the validation part.
    device : str
        ``auto``, ``cpu`` or ``cuda``.
    devices : int
        How many of them train together.
    deterministic : bool
        On a GPU: only kernels that give the same bits each time, slower. A CPU does so anyway.
    preset : str or None
        A recipe whose values stood in for those not given.
    """

    kind: ClassVar = "train"

    data: str
    model: str
    loss: Mapping[str, Setting]
    name: str = ""
    data_root: str | None = None
    n_train: int | None = None
    epochs: int = 40
    batch_size: int = 128
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    reduction: str = "mean"
    clip_norm: float | None = None
    augment: bool = True
    precision: str = "32"
    seed: int = 0
    split_seed: int = 0
    device: str = "auto"
    devices: int = 1
    deterministic: bool = False
    preset: str | None = None

    def __post_init__(self) -> None:
        """Refuse settings outside their range, naming the value found."""
        checked_data(self.data)
        checked_model(self.model)
        object.__setattr__(self, "loss", {"name": self.loss.get("name"), **checked(self.loss)})
        name = self.name or f"{LOSSES[str(self.loss['name'])].label}, {self.model} on {self.data}"
        object.__setattr__(self, "name", name)
        for ok, what, remedy in (*self._words(), *self._numbers()):
            if not ok:
                raise UsageError("SETTING", what, remedy)

    def _words(self) -> tuple[tuple[bool, str, str], ...]:
        entry, task = LOSSES[str(self.loss["name"])], DATASETS[self.data].task
        return (
            (
                self.name.strip() != "" and len(self.name) <= MAX_NAME and is_text(self.name),
                f"name has {len(self.name)} characters",
                f"give 1 to {MAX_NAME} characters of ordinary text",
            ),
            (
                self.data_root is None or (is_text(self.data_root) and "\0" not in self.data_root),
                f"data_root is {self.data_root!r:.60}",
                "give the path of a folder, or null",
            ),
            (
                task in entry.tasks,
                f"{entry.label} cannot train {task} data such as {self.data}",
                f"use a loss for {task}: {_fitting(task)}",
            ),
            _one_of("reduction", self.reduction, REDUCTIONS),
            _one_of("precision", self.precision, PRECISIONS),
            _one_of("device", self.device, DEVICES),
            _one_of("optimizer.name", self.optimizer.name, OPTIMIZERS),
            _one_of("schedule.name", self.schedule.name, SCHEDULES),
            (
                self.preset is None or self.preset in RECIPES,
                f"preset is {self.preset!r}",
                f"use one of {', '.join(RECIPES)}, or null",
            ),
        )

    def _numbers(self) -> tuple[tuple[bool, str, str], ...]:
        optimizer, schedule = self.optimizer, self.schedule
        drops = schedule.drops
        rising = all(a < b for a, b in zip((0.0, *drops), (*drops, 1.0), strict=True))
        return (
            (
                self.n_train is None or self.n_train >= 1,
                f"n_train is {self.n_train}",
                "give a whole number from 1, or null",
            ),
            _between("epochs", self.epochs, 1, MAX_EPOCHS),
            _between("batch_size", self.batch_size, 1, MAX_BATCH),
            _between("devices", self.devices, 1, MAX_DEVICES),
            _between("seed", self.seed, 0, SEED_MAX),
            _between("split_seed", self.split_seed, 0, SEED_MAX),
            (0 < optimizer.lr <= 1000, f"optimizer.lr is {optimizer.lr}", "give above 0, to 1000"),
            (
                0 <= optimizer.momentum < 1,
                f"optimizer.momentum is {optimizer.momentum}",
                "give 0 or more, below 1",
            ),
            _between("optimizer.weight_decay", optimizer.weight_decay, 0, 10),
            (
                0 < schedule.factor <= 1,
                f"schedule.factor is {schedule.factor}",
                "give above 0, at most 1",
            ),
            (rising, f"schedule.drops are {list(drops)}", "give ascending numbers between 0 and 1"),
            (
                self.clip_norm is None or 0 < self.clip_norm <= 1e6,
                f"clip_norm is {self.clip_norm}",
                "give a number above 0, or null",
            ),
        )

    def lr(self, epoch: int) -> float:
        """Return the learning rate of an epoch, 0..epochs-1."""
        return self.optimizer.lr * self.schedule.share(epoch, self.epochs)

    def to_json(self) -> JsonObject:
        """Return plain JSON; `from_json` gives an equal config back."""
        data = asdict(self)
        data["loss"] = dict(self.loss)
        data["schedule"]["drops"] = list(self.schedule.drops)
        return data

    @property
    def digest(self) -> str:
        """Digest of all that decides the numbers; a name or a folder does not."""
        decides = {key: v for key, v in self.to_json().items() if key not in {"name", "data_root"}}
        return digest(repr(sorted(decides.items())))


def from_json(data: object) -> TrainConfig:
    """Return the config in plain JSON; what is left out has its default, or its preset's value.

    Raises
    ------
    UsageError
        SETTING: an unknown key, a value of the wrong type or out of range, or no data, model or
        loss.
    """
    given = _object("the config", data)
    known = {name: kind for name, kind in _TYPES.items() if "." not in name}
    _refuse_unknown_keys("config", given, known)
    missing = [key for key in ("data", "model", "loss") if key not in given]
    if missing:
        raise UsageError("SETTING", f"{', '.join(missing)} is missing", "name data, model and loss")
    preset = _typed("preset", given.get("preset"))
    if preset is not None and preset not in RECIPES:
        use = f"use one of {', '.join(RECIPES)}, or null"
        raise UsageError("SETTING", f"preset is {preset!r}", use)
    recipe = RECIPES[preset].settings if preset is not None else {}
    values = {key: _typed(key, value) for key, value in {**recipe, **given}.items()}
    for key, kind in (("optimizer", OptimizerConfig), ("schedule", ScheduleConfig)):
        if key in values:
            values[key] = _section(key, kind, {**recipe.get(key, {}), **given.get(key, {})})
    return TrainConfig(**values)


_NUMBER: Final = (int, float)
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "name": (str,),
    "data": (str,),
    "data_root": (str, type(None)),
    "model": (str,),
    "loss": (dict,),
    "n_train": (int, type(None)),
    "epochs": (int,),
    "batch_size": (int,),
    "optimizer": (dict,),
    "optimizer.name": (str,),
    "optimizer.lr": _NUMBER,
    "optimizer.momentum": _NUMBER,
    "optimizer.weight_decay": _NUMBER,
    "schedule": (dict,),
    "schedule.name": (str,),
    "schedule.drops": (list,),
    "schedule.factor": _NUMBER,
    "reduction": (str,),
    "clip_norm": (int, float, type(None)),
    "augment": (bool,),
    "precision": (str,),
    "seed": (int,),
    "split_seed": (int,),
    "device": (str,),
    "devices": (int,),
    "deterministic": (bool,),
    "preset": (str, type(None)),
}
_WORDS: Final[dict[type, str]] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
    type(None): "null",
}


def _typed(key: str, value: object) -> Any:  # noqa: ANN401  checked against the table
    kinds = _TYPES[key]
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        named_kinds = [kind for kind in kinds if kind is not int or float not in kinds]
        expected = " or ".join(_WORDS[kind] for kind in named_kinds)
        raise UsageError("SETTING", f"{key} is {value!r:.60}", f"give {expected}")
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError("SETTING", f"{key} is {value}", "give a finite number")
    return value


def _section(key: str, kind: type, given: Mapping[str, object]) -> Any:  # noqa: ANN401  of that kind
    _refuse_unknown_keys(key, given, kind.__annotations__)
    values = {name: _typed(f"{key}.{name}", value) for name, value in given.items()}
    if "drops" in values:
        values["drops"] = tuple(_drop(drop) for drop in values["drops"])
    return kind(**values)


def _drop(value: object) -> float:
    if not isinstance(value, float):
        what = f"schedule.drops has {value!r:.60}"
        raise UsageError("SETTING", what, "give ascending numbers between 0 and 1")
    return value


def _object(what: str, data: object) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise UsageError("SETTING", f"{what} is a {type(data).__name__}", "give a JSON object")
    return data


def _refuse_unknown_keys(
    section: str, given: Mapping[str, object], known: Mapping[str, object]
) -> None:
    strangers = [key for key in given if key not in known]
    if strangers:
        raise UsageError(
            "SETTING", f"{section} has unknown key {strangers[0]!r:.60}", f"use {', '.join(known)}"
        )


def _one_of(key: str, value: str, words: Any) -> tuple[bool, str, str]:  # noqa: ANN401
    return value in words, f"{key} is {value!r}", f"use one of {', '.join(words)}"


def _between(key: str, value: float, low: float, high: float) -> tuple[bool, str, str]:
    return low <= value <= high, f"{key} is {value}", f"give {low} to {high}"


def _fitting(task: str) -> str:
    return ", ".join(name for name, entry in LOSSES.items() if task in entry.tasks)
