"""TrainConfig: everything that decides a training run, checked and strict JSON; no torch."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Final

from core import codec, fields
from core.arrays import digest
from core.codes import NoticeCode
from core.datasets.catalogue import TEXT_DATA, data_entry
from core.datasets.texts.words import FIRST, TextConfig
from core.defaults import SEED_MAX
from core.errors import Notice, UsageError
from core.fields import Field, JsonObject, is_path
from core.losses.catalogue import LOSSES, REDUCTIONS, checked
from core.models.catalogue import (
    BERT,
    MODELS,
    ONNX,
    PUBLIC,
    TEXT_MODELS,
    TREE_LSTM,
    checked_model,
    checked_text_model,
)
from core.predictions import Task
from core.training.recipes import RECIPES

PRECISIONS: Final = {
    "32": "float32: float32 throughout, as on GPUs without TF32.",
    "tf32": "TF32: products of float32 numbers rounded to 10 bits, for GPUs that have it.",
    "bf16": "bfloat16: bfloat16 where it is safe, float32 elsewhere; halves memory on recent GPUs.",
    "16": "float16: float16 where it is safe, with gradients scaled; for GPUs without bfloat16.",
}
LAST_BATCH: Final = {"keep": "Keep", "drop": "Drop"}
COMPILE: Final = {"auto": "Automatic", "on": "On", "off": "Off"}
DEVICES: Final = {"auto": "Automatic", "cpu": "CPU", "cuda": "GPU"}
KEEP: Final = {
    "last": "Last",
    "val_loss": "Lowest loss",
    "val_nll": "Lowest NLL",
    "val_error": "Lowest error",
    "val_ece": "Lowest ECE",
}  # of the validation set
# Fields that came later, with the default under which older configs keep their digest.
LATER: Final[JsonObject] = {
    "pretrained": False,
    "keep": "last",
    "compile": "auto",
    "test_curves": False,
    "last_batch": "keep",
    "sync_batch_norm": False,
}
NOT_DECIDING: Final = frozenset({"name", "data_root", "checkpoint_every", "changed_files"})
LATER_OPTIMIZER: Final[JsonObject] = {"vectors_lr": None}
LATER_SCHEDULE: Final[JsonObject] = {"patience": 5, "warmup": 0.0}
LATER_TEXT: Final[JsonObject] = {"taken": FIRST, "test_length": None, "bert": None}
MAX_NAME, MAX_BATCH = 300, 65_536
ChangedFiles = Annotated[
    bool, Field("Changed CIFAR files", "Read although their MD5 sums are not the published ones.")
]


def _rise(drops: tuple[float, ...]) -> bool:
    return all(a < b for a, b in pairwise((0.0, *drops, 1.0)))


@dataclass(frozen=True)
class OptimizerConfig:
    """Which optimiser steps, and how far."""

    name: Annotated[
        str,
        Field(
            "Optimiser",
            choices={"sgd": "SGD", "adam": "Adam", "adamw": "AdamW", "adagrad": "Adagrad"},
        ),
    ] = "sgd"
    lr: Annotated[
        float,
        Field(
            "Learning rate",
            "At the start.",
            low=0,
            high=1000,
            open_low=True,
            remedy="give above 0, to 1000",
            step=0.01,
        ),
    ] = 0.05
    momentum: Annotated[float, Field("Momentum", low=0, high=1, open_high=True, step=0.05)] = 0.9
    weight_decay: Annotated[float, Field("Weight decay", low=0, high=10, step=0.0001)] = 5e-4
    vectors_lr: Annotated[
        float | None,
        Field(
            "Rate of word vectors",
            "Of Adagrad: by plain steps, without decay. Empty to train them like the rest.",
            low=0,
            high=1000,
            open_low=True,
            remedy="give a number above 0, or null",
            step=0.1,
        ),
    ] = None


@dataclass(frozen=True)
class ScheduleConfig:
    """How the learning rate falls from epoch to epoch."""

    name: Annotated[
        str,
        Field(
            "LR schedule",
            choices={
                "step": "Steps",
                "cosine": "Cosine",
                "plateau": "Plateau",
                "linear": "Linear",
                "constant": "Constant",
            },
        ),
    ] = "step"
    drops: Annotated[
        tuple[float, ...],
        Field(
            "Drops",
            "Shares of the epochs, such as 0.43, 0.71.",
            allows=_rise,
            remedy="give ascending numbers between 0 and 1",
        ),
    ] = (0.43, 0.71)
    factor: Annotated[
        float,
        Field(
            "Decay factor",
            "The learning rate is multiplied by this at each drop.",
            low=0,
            high=1,
            open_low=True,
            step=0.1,
        ),
    ] = 0.1
    patience: Annotated[
        int,
        Field(
            "Patience",
            "Epochs without a lower validation loss before the rate drops.",
            low=0,
            high=10_000,
        ),
    ] = 5
    warmup: Annotated[
        float,
        Field(
            "Warm-up",
            "Epochs, or a share of one, in which a linear rate rises from 0 before it falls.",
            low=0,
            high=10_000,
            step=0.1,
        ),
    ] = 0.0

    def share(self, trained: float, n_epochs: int) -> float:
        """Return the rate after so many epochs, 0 to n_epochs, as a share of the highest.

        Only a linear one changes within an epoch. A plateau is told by the training as it goes
        (`core.training.parts.Plateau`), not by the epoch.
        """
        if self.name == "linear":
            if trained < self.warmup:
                return trained / self.warmup
            return (n_epochs - trained) / (n_epochs - self.warmup)
        epoch = math.floor(trained)
        if self.name == "cosine":
            return 0.5 * (1.0 + math.cos(math.pi * epoch / n_epochs))
        if self.name in {"constant", "plateau"}:
            return 1.0
        drops = (max(1, round(drop * n_epochs)) for drop in self.drops)
        return self.factor ** sum(epoch >= drop for drop in drops)


@dataclass(frozen=True)
class TrainConfig:
    """Everything that decides a training run; its fields are explained in docs/training.md."""

    kind: ClassVar = "train"

    data: Annotated[str, Field("Data")]
    model: Annotated[str, Field("Network")]
    loss: Annotated[Mapping[str, Any], Field("Loss")]  # Any: checked by core.losses
    name: Annotated[str, Field("Name", "Empty for loss, network and data.", length=MAX_NAME)] = ""
    data_root: Annotated[
        str | None,
        Field(
            "Data folder",
            "On the training machine. Built-in data need none; texts may be one file.",
            allows=is_path,
            remedy="give the path of a folder, or null",
        ),
    ] = None
    n_train: Annotated[int | None, Field("Rows to train on", "Empty for all.", low=1)] = None
    epochs: Annotated[
        int, Field("Epochs", "Passes over the training part.", low=1, high=10_000)
    ] = 40
    batch_size: Annotated[
        int, Field("Batch size", "Images or texts per step.", low=1, high=MAX_BATCH)
    ] = 128
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    reduction: Annotated[
        str,
        Field(
            "Loss over a batch",
            " ".join(REDUCTIONS.values()),
            choices={"mean": "Mean", "sum": "Sum"},
        ),
    ] = "mean"
    clip_norm: Annotated[
        float | None,
        Field(
            "Clip gradients to",
            "Norm; empty for none.",
            low=0,
            high=1_000_000,
            open_low=True,
            remedy="give a number above 0, or null",
            step=0.5,
        ),
    ] = None
    augment: Annotated[
        bool, Field("Shift and mirror images", "If the data allow it; ImageNet: random parts.")
    ] = True
    precision: Annotated[
        str,
        Field(
            "Precision",
            " ".join(PRECISIONS.values()),
            choices={name: words.partition(":")[0] for name, words in PRECISIONS.items()},
        ),
    ] = "32"
    seed: Annotated[int, Field("Seed", low=0, high=SEED_MAX)] = 0
    split_seed: Annotated[
        int, Field("Seed of the split", "For the validation part.", low=0, high=SEED_MAX)
    ] = 0
    device: Annotated[str, Field("Device", choices=DEVICES)] = "auto"
    devices: Annotated[
        int, Field("Devices at once", "GPUs that share each batch.", low=1, high=64)
    ] = 1
    deterministic: Annotated[
        bool, Field("Deterministic", "Bit-identical results on a GPU, but slower.")
    ] = False
    preset: Annotated[
        str | None, Field("Recipe", choices={name: r.label for name, r in RECIPES.items()})
    ] = None
    pretrained: Annotated[
        bool, Field("Pretrained weights", "ImageNet weights, for networks of timm or torchvision.")
    ] = False
    keep: Annotated[
        str, Field("Epoch kept", "The epoch whose weights the run keeps.", choices=KEEP)
    ] = "last"
    text: TextConfig = field(default_factory=TextConfig)
    compile: Annotated[
        str,
        Field("Compile", "Automatic: on a GPU, from 5,000 steps of images on.", choices=COMPILE),
    ] = "auto"
    test_curves: Annotated[
        bool,
        Field(
            "Test set by epoch", "Measured for curves as in the papers; nothing is chosen by it."
        ),
    ] = False
    last_batch: Annotated[
        str,
        Field(
            "Last batch",
            "An epoch's, where it is smaller: papers keep it for images.",
            choices=LAST_BATCH,
        ),
    ] = "keep"
    checkpoint_every: Annotated[
        int,
        Field(
            "Checkpoint interval",
            "Epochs. One that is cancelled or out of time writes its last epoch as well.",
            low=1,
            high=10_000,
        ),
    ] = 1
    sync_batch_norm: Annotated[
        bool, Field("Batch norm over devices", "Normalises by a batch's rows on all GPUs.")
    ] = False
    changed_files: ChangedFiles = False

    def __post_init__(self) -> None:
        """Refuse settings outside their range, naming the value."""
        task = data_entry(self.data).task
        self._check_model()
        object.__setattr__(self, "loss", {"name": self.loss.get("name"), **checked(self.loss)})
        if self.pretrained and (self.model in MODELS or self.of_texts):
            what = f"{self.model} has no pretrained weights"
            raise UsageError("SETTING", what, "use timm:NAME or torchvision:NAME, or new weights")
        entry = LOSSES[str(self.loss["name"])]
        own = [  # else the same loss with another gamma has the same name
            f"{key} = {value:g}" if isinstance(value, float) else f"{key} = {value}"
            for key, value in self.loss.items()
            if key != "name" and value != entry.parameters[key].default
        ]
        loss = entry.label + (f" ({', '.join(own)})" if own else "")
        name = self.name or f"{loss}, {self.model} on {self.data}"[:MAX_NAME]
        object.__setattr__(self, "name", name)
        fields.check(self)
        if task not in entry.tasks:
            what = f"{entry.label} cannot train {task} data such as {self.data}"
            fitting = ", ".join(name for name, other in LOSSES.items() if task in other.tasks)
            raise UsageError("SETTING", what, f"use a loss for {task}: {fitting}")

    @property
    def of_texts(self) -> bool:
        """Whether the data are texts."""
        return self.data in TEXT_DATA

    def _check_model(self) -> None:
        """Refuse a network that cannot read the data, and settings of texts for images."""
        if self.of_texts:
            checked_text_model(self.model)
            if self.model == BERT and TEXT_DATA[self.data].trees:
                what = f"{self.model} reads plain texts, and {self.data} holds trees of phrases"
                raise UsageError("SETTING", what, "use sst2, or another network")
            if self.model == TREE_LSTM and not TEXT_DATA[self.data].trees:
                what = f"{self.model} reads trees, and {self.data} holds none"
                trees = ", ".join(name for name, entry in TEXT_DATA.items() if entry.trees)
                raise UsageError("SETTING", what, f"use {trees}, or another network")
            if self.model == BERT and self.text.bert is None:
                what = "The network bert needs a folder with its weights"
                raise UsageError("SETTING", what, "name that folder with text.bert")
            if self.model != BERT and self.text.bert is not None:
                what = f"text.bert names a folder of BERT, and the network is {self.model}"
                raise UsageError("SETTING", what, "set model to bert, or leave text.bert out")
            return
        if self.model in TEXT_MODELS:
            what = f"{self.model} reads texts, and {self.data} holds images"
            raise UsageError("SETTING", what, f"use one of {', '.join(MODELS)}")
        checked_model(self.model)
        if self.model in PUBLIC or self.model == ONNX:
            what = f"{self.model} is evaluated only"
            raise UsageError("SETTING", what, f"use one of {', '.join(MODELS)}")
        if self.text != TextConfig():
            what = f"Settings of texts are given, and {self.data} holds images"
            raise UsageError("SETTING", what, f"leave text out, or use {', '.join(TEXT_DATA)}")

    def lr(self, trained: float) -> float:
        """Return the learning rate after so many epochs, 0 to `epochs`."""
        return self.optimizer.lr * self.schedule.share(trained, self.epochs)

    def n_batches(self, n_rows: int) -> int:
        """Return how many batches so many rows make; a few last rows join the batch before."""
        n_whole, rest = divmod(n_rows, self.batch_size)
        if self.last_batch == "drop" or (n_whole and rest < 2 * self.devices):
            return max(1, n_whole)
        return n_whole + 1

    def to_json(self) -> JsonObject:
        """Return plain JSON; `from_json` gives an equal config back."""
        return codec.to_json(self)

    def canonical(self) -> "TrainConfig":
        """Return the config of every training of the same mathematics and seeds.

        Several devices compute what one does where batch norm sees a batch's rows on all of them
        (`sync_batch_norm`), or for texts, whose networks have none; else each normalises by its
        own rows.
        """
        return replace(
            self, name="", data_root=None, device="auto", sync_batch_norm=False, preset=None,
            devices=1 if self.sync_batch_norm or self.of_texts else self.devices,
            deterministic=False, compile="auto", test_curves=False, checkpoint_every=1,
            changed_files=False,
        )  # fmt: skip

    @property
    def digest(self) -> str:
        """Digest of all that decides the numbers; a name or a folder does not."""
        decides = {key: v for key, v in self.to_json().items() if key not in NOT_DECIDING}
        decides = _without(decides, LATER | {"text": codec.to_json(TextConfig())})
        for section, later in (
            ("optimizer", LATER_OPTIMIZER),
            ("schedule", LATER_SCHEDULE),
            ("text", LATER_TEXT),
        ):
            if section in decides:
                decides[section] = _without(decides[section], later)
        # What a form keeps of another optimiser or schedule decides nothing.
        if self.optimizer.name != "adagrad":
            decides["optimizer"].pop("vectors_lr", None)
        if self.schedule.name != "linear":
            decides["schedule"].pop("warmup", None)
        return digest(repr(sorted(decides.items())))


def _without(values: JsonObject, defaults: JsonObject) -> JsonObject:
    """Return the values less those that are as in the defaults."""
    return {
        key: value for key, value in values.items() if key not in defaults or value != defaults[key]
    }


def from_json(data: object) -> TrainConfig:
    """Return the config in plain JSON; what is left out has its default, or its preset's value.

    Raises
    ------
    UsageError
        SETTING: an unknown key, a value of the wrong type or out of range, or no data, model or
        loss.
    """
    if not isinstance(data, dict):
        return codec.read(TrainConfig, data)
    preset, name = data.get("preset"), data.get("data")
    recipe = RECIPES[preset].settings if isinstance(preset, str) and preset in RECIPES else {}
    if not (isinstance(name, str) and name in TEXT_DATA):
        recipe = {key: value for key, value in recipe.items() if key != "text"}
    merged = {**recipe, **data}
    for key in ("optimizer", "schedule", "text"):
        if key in recipe and isinstance(data.get(key), dict):
            merged[key] = {**recipe[key], **data[key]}
    return codec.read(TrainConfig, merged)


HEAVY: Final = 1.0  # weight of the distance in FCL from which its first steps overshoot
CALM: Final = 0.02  # a learning rate at which they do not


def advice(config: TrainConfig) -> tuple[Notice, ...]:
    """Return what to know of a config's settings.

    Notes
    -----
    Focal calibration loss adds two losses, so its gradients are two to three times those of
    cross-entropy in the first epoch, and a rate that suits the one is too much for the other. The
    papers' recipe clips gradients. The numbers said are in docs/training.md.
    """
    rate = config.optimizer.lr * (config.batch_size if config.reduction == "sum" else 1)
    weight = config.loss.get("lambda", 0.0)
    overshoots = (
        config.loss["name"] == "fcl"
        and float(weight) >= HEAVY
        and config.clip_norm is None
        and config.optimizer.name == "sgd"
        and rate > CALM
        and data_entry(config.data).task is not Task.MULTILABEL
    )
    if not overshoots:
        return ()
    text = (
        f"FCL with λ = {weight:g} can overshoot in its first steps and then barely learn: of ten "
        "trainings on digits with γ = 4, λ = 1.5 and a rate of 0.05, four ended with 14 to 19 % "
        "of answers wrong, cross-entropy with 1 to 2 %. Clip gradients to norm 2, as the papers' "
        f"recipe does, or start at a rate of {CALM:g}"
    )
    return (Notice(NoticeCode.OVERSHOOT, text),)
