"""TrainConfig: everything that decides a training run, checked and strict JSON; no torch.

The recipes of the papers stand first.
"""

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


@dataclass(frozen=True)
class Recipe:
    """Training settings of a paper.

    Attributes
    ----------
    label : str
    settings : mapping
        Values of a config that stand where a user gives none.
    source : str
        Papers and places; what no paper's text says is named.
    """

    label: str
    settings: Mapping[str, Any]  # Any: values of a config
    source: str


def _sgd(epochs: int, batch_size: int, drops: list[float]) -> dict[str, Any]:
    return {
        "epochs": epochs,
        "batch_size": batch_size,
        "optimizer": {"name": "sgd", "lr": 0.1, "momentum": 0.9, "weight_decay": 5e-4},
        "schedule": {"name": "step", "drops": drops, "factor": 0.1},
        "reduction": "sum",
        "clip_norm": 2.0,
        "augment": True,
        "precision": "32",
    }


_SOURCE: Final = (
    "Mukhoti et al. 2020, appendix C and D; Komisarenko and Kull 2024, section 5.1; Ghosh et al. "
    "2022, appendix D. Losses are summed over the batch (the Brier score is averaged) and "
    "gradients clipped in their released code only"
)
PHRASES: Final = 37  # of a sentence of SST
_TEXTS: Final[dict[str, Any]] = {
    "epochs": 50,
    "batch_size": 128,
    "optimizer": {"name": "adam", "lr": 0.001, "weight_decay": 0.0},
    "schedule": {"name": "constant"},
    "keep": "val_error",
}
_WORDS: Final[dict[str, Any]] = {
    "vocabulary": 19_999,
    "length": 1_000,
    "taken": "last",
    "dimension": 100,
    "fixed": True,
}
RECIPES: Final[dict[str, Recipe]] = {
    "cifar": Recipe(
        "The papers' CIFAR recipe: 350 epochs, rate 0.1, 0.01, 0.001 with drops at 150 and 250, "
        "losses summed over batches of 128, gradients clipped to norm 2",
        _sgd(350, 128, [150 / 350, 250 / 350]),
        _SOURCE,
    ),
    "tiny_imagenet": Recipe(
        "The papers' Tiny-ImageNet recipe: 100 epochs, drops at 40 and 60, batches of 64",
        _sgd(100, 64, [0.4, 0.6]),
        "Komisarenko and Kull 2024, section 5.1; Ghosh et al. 2022, appendix D. Losses are "
        "summed over the batch (the Brier score is averaged) and gradients clipped in released "
        "code only",
    ),
    "imagenet": Recipe(
        "The ImageNet recipe of Ghosh et al.: 90 epochs, rate 0.01, 0.001, 0.0001 with drops at 30 "
        "and 60, batches of 128, random parts of the images",
        {
            "epochs": 90,
            "batch_size": 128,
            "optimizer": {"name": "sgd", "lr": 0.01, "momentum": 0.9, "weight_decay": 1e-4},
            "schedule": {"name": "step", "drops": [30 / 90, 60 / 90], "factor": 0.1},
            "augment": True,
            "precision": "32",
        },
        "Ghosh et al. 2022, appendix D. The mean over the batch is PyTorch's default, which they "
        "use where nothing is stated; random parts are those of PyTorch's own ImageNet example, "
        "since the paper states no augmentation and its ImageNet code is not released",
    ),
    "chexnet": Recipe(
        "CheXNet's recipe: Adam at 0.001, batches of 16, the rate divided by 10 where the "
        "validation loss stops falling, the epoch with the lowest validation loss kept. CheXNet "
        "starts from pretrained weights: turn those on as well",
        {
            "epochs": 100,
            "batch_size": 16,
            "optimizer": {"name": "adam", "lr": 0.001, "weight_decay": 0.0},
            "schedule": {"name": "plateau", "factor": 0.1, "patience": 5},
            "keep": "val_loss",
        },
        "Rajpurkar et al. 2017. Its betas are 0.9 and 0.999, its weights pretrained; 100 epochs "
        "and a patience of 5 are those of Focal calibration loss 2024",
    ),
    "chexnet_fcl": Recipe(
        "The recipe of Focal calibration loss for CheXNet: Adam at 0.0001, batches of 32, the rate "
        "divided by 10 where the validation loss stops falling",
        {
            "epochs": 100,
            "batch_size": 32,
            "optimizer": {"name": "adam", "lr": 0.0001, "weight_decay": 0.0},
            "schedule": {"name": "plateau", "factor": 0.1, "patience": 5},
            "keep": "val_loss",
        },
        "Focal calibration loss 2024, section 5, which has a weight decay that it does not state "
        "and no epoch that is kept; the factor and that epoch are CheXNet's",
    ),
    "newsgroups": Recipe(
        "The papers' 20 Newsgroups recipe: 50 epochs, Adam at 0.001, batches of 128, the epoch "
        "with the lowest validation error kept",
        _TEXTS,
        "Mukhoti et al. 2020, appendix D; Focal calibration loss 2024, section 5, for the batch. "
        "Ghosh et al. 2022 keep the last epoch",
    ),
    "newsgroups_released": Recipe(
        "The papers' 20 Newsgroups recipe with the words of the released code: the last 1,000 that "
        "the vocabulary of 19,999 has, quotes and footers kept, GloVe's vectors not trained",
        {**_TEXTS, "text": {**_WORDS, "strip": "headers"}},
        "As above; released code of Mukhoti et al. 2020, which takes its vocabulary from all "
        "messages, here from those of the training part. Name glove.6B.100d.txt as word vectors",
    ),
    "newsgroups_bert": Recipe(
        "BERT on 20 Newsgroups: 10 epochs, AdamW at 0.00002, batches of 32, a rate that rises for "
        "a fifth of an epoch and then falls to 0, 128 pieces of a text in training and 512 in "
        "tests, the epoch with the lowest validation error kept",
        {
            "epochs": 10,
            "batch_size": 32,
            "optimizer": {"name": "adamw", "lr": 2e-5, "weight_decay": 0.01},
            "schedule": {"name": "linear", "warmup": 0.2},
            "keep": "val_error",
            "text": {"length": 128, "test_length": 512, "strip": "headers"},
        },
        "Ghosh et al. 2022, appendix D. Not stated, and taken here: the rate falls in a line, "
        "validation reads as much as tests, all weights decay as by PyTorch's default, and "
        "headers are stripped, as for the CNN. Name a folder of bert-base-uncased",
    ),
    **{
        data: Recipe(
            f"{label} as 20 Newsgroups: 50 epochs, Adam at 0.001, batches of 128, the last 1,000 "
            "words, the epoch with the lowest validation error kept",
            {**_TEXTS, "text": _WORDS},
            "Focal calibration loss 2024, section 5, states batches of 128 for all texts and the "
            f"rest for 20 Newsgroups alone, by the code of Mukhoti et al.; {label} is taken to be "
            "trained alike. Name glove.6B.100d.txt as word vectors",
        )
        for data, label in (("finsen", "FinSen"), ("ag_news", "AG News"))
    },
    "sst": Recipe(
        "The papers' SST recipe: 25 epochs, Adagrad at 0.05, batches of the phrases of about 25 "
        "sentences, the epoch with the lowest validation error kept",
        {
            "epochs": 25,
            "batch_size": 25 * PHRASES,
            "optimizer": {
                "name": "adagrad",
                "lr": 0.05,
                "weight_decay": 1e-4 / PHRASES,
                "vectors_lr": 0.1 * PHRASES,
            },
            "schedule": {"name": "constant"},
            "keep": "val_error",
            "text": {
                "vocabulary": 20_000,
                "length": 400,
                "taken": "first",
                "dimension": 300,
                "fixed": False,
            },
        },
        "Mukhoti et al. 2020, appendix D; Tai et al. 2015, section 5.3, for batches of 25 "
        "sentences and plain steps of 0.1 for word vectors. Both add up the losses of a "
        f"sentence's phrases, {PHRASES} on average, where a row here is one phrase: the same sum "
        f"with the weight decay of 1e-4 and that rate for losses {PHRASES} times as small. Name "
        "glove.840B.300d.txt as word vectors",
    ),
}


# The config.
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
        # Completed by its defaults, so that the digest does not depend on what somebody typed.
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
        # In this order the message names what to change first:
        # the network, then what only it needs.
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
        # As `loop.batched` cuts: batch norm needs two rows on each device.
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
        # What a form keeps of another optimiser or schedule decides nothing.
        optimizer, schedule = self.optimizer, self.schedule
        if optimizer.name != "adagrad":
            optimizer = replace(optimizer, vectors_lr=None)
        if schedule.name != "linear":
            schedule = replace(schedule, warmup=0.0)
        return replace(
            self, optimizer=optimizer, schedule=schedule, name="", data_root=None, device="auto",
            devices=1 if self.sync_batch_norm or self.of_texts else self.devices, preset=None,
            sync_batch_norm=False, deterministic=False, compile="auto", test_curves=False,
            checkpoint_every=1, changed_files=False,
        )  # fmt: skip

    @property
    def digest(self) -> str:
        """Digest of all that decides the numbers; a name or a folder does not."""
        decides = {key: v for key, v in self.to_json().items() if key not in NOT_DECIDING}
        # A setting that came later must not change the digest of trainings from before it, which
        # are found by it: at its default it is left out.
        decides = _without(decides, LATER | {"text": codec.to_json(TextConfig())})
        for section, later in (
            ("optimizer", LATER_OPTIMIZER),
            ("schedule", LATER_SCHEDULE),
            ("text", LATER_TEXT),
        ):
            if section in decides:
                decides[section] = _without(decides[section], later)
        if self.optimizer.name != "adagrad":  # as in `canonical`
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

    Raises UsageError SETTING: an unknown key, a value of the wrong type or out of range, or no
    data, model or loss.
    """
    if not isinstance(data, dict):
        return codec.read(TrainConfig, data)
    preset, name = data.get("preset"), data.get("data")
    recipe = RECIPES[preset].settings if isinstance(preset, str) and preset in RECIPES else {}
    if not (isinstance(name, str) and name in TEXT_DATA):
        recipe = {key: value for key, value in recipe.items() if key != "text"}
    # What is given beats the preset, section by section: an
    # optimiser's rate alone keeps the preset's momentum.
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
    # A sum over the batch has gradients as many times those of a mean as the batch has rows.
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
