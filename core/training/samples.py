"""The sample runs that come with the program: the first ones, and the trained ones by loss.

The first ones are small models of handwritten digits, trained in seconds. A trained sample is a job
of the engine in a folder of its own: a build that is stopped goes on where it was. Imports torch,
so only the command line may import this module.
"""

import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import save_file
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

from core.arrays import Float, Int, digest
from core.codes import NoticeCode
from core.configs import AuditConfig
from core.datasets.base import DatasetRequest, DatasetSplit, SplitDataset
from core.datasets.load import SEED, digits
from core.datasets.outside import OutsideDataset, fitted, open_outside, resident, unlabelled
from core.datasets.pictures import Pixels
from core.datasets.shifts import SEVERITIES, OutsideSet
from core.datasets.texts.dataset import TextDataset
from core.disk import writing
from core.errors import Notice, UsageError
from core.library import Manifest, RunSource, summarise
from core.library.files import describe, read_manifest, write_run
from core.library.history import Tables, from_events
from core.losses.catalogue import LOSSES
from core.metrics.suite import audit
from core.predictions import Predictions, ScoreKind, Task, Votes
from core.training.config import TrainConfig, from_json
from core.training.folder import JobFolder, environment
from core.training.job import recipe_of, trained
from core.training.parts import TrainingSetup, predict
from core.xray.phantom import SIDE, draw

Json = dict[str, Any]  # Any: plain JSON values


# The first ones: small models of handwritten digits, trained in seconds.
CREATED: Final = "2025-11-20T00:00:00.000+00:00"  # rebuilding a sample does not make it newer
FIRST_SEED: Final = 0
N_TEST: Final = 899  # half of the 1,797 images; a sixth for validation, the rest to train on
N_VAL: Final = 299
VOTER_IMAGES: Final = 200
VOTER_NOISE: Final = 0.2  # standard deviation, of pixels from 0 to 1
SIMULATED: Final = "the votes are simulated by small programs; no people were asked"
Logits = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Digits:
    """The 1,797 images, (N, 64) in 0..1, and their digits, in a fixed shuffled order."""

    pixels: Float
    digit: Int
    row_ids: tuple[str, ...]

    def take(self, rows: slice) -> "Digits":
        """Return some of the images."""
        return Digits(self.pixels[rows], self.digit[rows], self.row_ids[rows])


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One model and how it is trained."""

    # name, description: what the library shows
    name: str
    description: str
    task: Task  # multiclass or multilabel
    targets: Callable[[Int], Int]  # digits, (N,) in 0..9, to labels: (N,) classes, or (N, L) of 0/1
    class_names: tuple[str, ...]  # names of the outputs
    n_train: int  # images trained on, at most 599
    n_epochs: int  # passes over them, each one step on all images at once
    weight_decay: float = 0.0  # of AdamW
    tags: tuple[str, ...] = ("digits",)
    n_voters: int = 0  # simulated people who vote on every image


def _traits(digit: Int) -> Int:
    """Return (N, 3) of 0/1: even, drawn with a closed loop, five or more."""
    return np.column_stack([digit % 2 == 0, np.isin(digit, (0, 6, 8, 9)), digit >= 5]).astype(
        np.int64
    )


def _digit(digit: Int) -> Int:
    return digit


_LOSSES: Final[dict[Task, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]]] = {
    Task.MULTICLASS: functional.cross_entropy,
    Task.MULTILABEL: functional.binary_cross_entropy_with_logits,
}
_NAMES: Final = tuple(str(k) for k in range(10))
SAMPLES: Final = {
    "digits-overconfident": Sample(
        name="Over-confident digits",
        description=(
            "A small network that learned 40 handwritten digits by heart and says it is sure more "
            "often than it is right. Images: scikit-learn's handwritten digits, 8 by 8 pixels."
        ),
        task=Task.MULTICLASS,
        targets=_digit,
        class_names=_NAMES,
        n_train=40,
        n_epochs=1000,
    ),
    "digits-fair": Sample(
        name="Fair digits",
        description=(
            "The same network, trained on 599 handwritten digits and held back by weight decay; "
            "its certainty is not off by more than chance explains. Images: scikit-learn's "
            "handwritten digits, 8 by 8 pixels."
        ),
        task=Task.MULTICLASS,
        targets=_digit,
        class_names=_NAMES,
        n_train=599,
        n_epochs=400,
        weight_decay=0.3,
    ),
    "digits-crowd": Sample(
        name="Fair digits, simulated votes",
        description=(
            "The network of Fair digits, compared with 50 simulated voters. No people were asked: "
            "each voter knows the mean picture of every digit in 200 training images of its own, "
            "looks at an image through noise, and votes for the digit whose mean is nearest. "
            "Images: scikit-learn's handwritten digits, 8 by 8 pixels."
        ),
        task=Task.MULTICLASS,
        targets=_digit,
        class_names=_NAMES,
        n_train=599,
        n_epochs=400,
        weight_decay=0.3,
        n_voters=50,
    ),
    "digits-traits": Sample(
        name="Traits of digits",
        description=(
            "A small network that answers three questions about each handwritten digit at once: is "
            "it even, is it drawn with a loop (0, 6, 8, 9), is it five or more. It learned from 80 "
            "images of scikit-learn's handwritten digits, 8 by 8 pixels."
        ),
        task=Task.MULTILABEL,
        targets=_traits,
        class_names=("even", "loop", "five or more"),
        n_train=80,
        n_epochs=400,
    ),
}


# The trained ones: jobs of the engine.
@dataclass(frozen=True)
class TrainedSample:
    """One loss on one data set."""

    data: str  # ``digits``, ``cifar10``, ``phantom`` or ``tickets``
    loss: Json  # as in a config
    replayable: bool = False  # keep the validation logits of every epoch
    weights: bool = False  # keep the network's weights beside the run
    outside: bool = False  # keep what it says of corrupted and out-of-distribution images


TITLES: Final = {
    "digits": "Digits",
    "cifar10": "CIFAR-10 (JPEG)",
    "phantom": "Phantom films",
    "tickets": "Help-desk messages",
}
IMAGES: Final = {
    "digits": "scikit-learn's handwritten digits, 8 by 8 pixels",
    "cifar10": "CIFAR-10 (JPEG), 32 by 32 pixels",
    "phantom": "synthetic chest films, 128 by 128 pixels, of no person",
    "tickets": "messages to five desks of a shop, written by a program",
}
NETS: Final = {
    "small_cnn": "A small convolutional network",
    "resnet50_cifar": "A ResNet-50",
    "densenet_small": "A small DenseNet",
    "text_mean": "A bag of words",
}
BUILT: Final = "built"
WEIGHTS: Final = "weights.safetensors"  # beside the manifest
FOCAL_3: Final = {"name": "focal", "gamma": 3.0}
FCL: Final = {"name": "fcl", "gamma": 4.0, "lambda": 1.5}
TRAINED: Final = {
    "digits-ce": TrainedSample("digits", {"name": "ce"}),
    "digits-focal-3": TrainedSample("digits", FOCAL_3),
    "digits-adafocal": TrainedSample("digits", {"name": "adafocal"}, replayable=True),
    "digits-fcl": TrainedSample("digits", FCL),
    "cifar10-ce": TrainedSample("cifar10", {"name": "ce"}, outside=True),
    "cifar10-focal-3": TrainedSample("cifar10", FOCAL_3),
    "cifar10-flsd-53": TrainedSample("cifar10", {"name": "flsd_53"}),
    "cifar10-adafocal": TrainedSample("cifar10", {"name": "adafocal"}, outside=True),
    "cifar10-fcl": TrainedSample("cifar10", FCL),
    "cifar10-brier": TrainedSample("cifar10", {"name": "brier"}),
    "phantom-ce": TrainedSample("phantom", {"name": "ce"}, weights=True),
    "phantom-focal-3": TrainedSample("phantom", FOCAL_3, weights=True),
    "phantom-fcl": TrainedSample("phantom", FCL, weights=True),
    "tickets-ce": TrainedSample("tickets", {"name": "ce"}),
    "tickets-adafocal": TrainedSample("tickets", {"name": "adafocal"}),
}
NAMES: Final = (*SAMPLES, *TRAINED)
SMALL: Final[Json] = {
    "model": "small_cnn",
    "n_train": 10_000,
    "epochs": 30,
    "batch_size": 64,
    "optimizer": {"name": "sgd", "lr": 0.1, "momentum": 0.9, "weight_decay": 5e-4},
    "schedule": {"name": "step", "drops": [3 / 7, 5 / 7], "factor": 0.1},
    "augment": False,
}
FILMS: Final[Json] = {
    "data": "phantom",
    "model": "densenet_small",
    "epochs": 14,
    "batch_size": 64,
    "optimizer": {"name": "sgd", "lr": 0.1, "momentum": 0.9, "weight_decay": 5e-4},
    "schedule": {"name": "cosine"},
    "device": "cpu",
}
TEXTS: Final[Json] = {
    "data": "tickets",
    "model": "text_mean",
    "epochs": 40,
    "batch_size": 64,
    "optimizer": {"name": "adam", "lr": 0.01, "weight_decay": 0.0},
    "schedule": {"name": "constant"},
    "device": "cpu",
    "text": {"vocabulary": 2_000, "dimension": 50, "left_out": ["jobs"]},
}
LARGE: Final[Json] = {
    "model": "resnet50_cifar",
    "preset": "cifar",
    "epochs": 70,
    "schedule": {"name": "step", "drops": [3 / 7, 5 / 7], "factor": 0.1},
    "precision": "bf16",
}


def build(
    out: Path,
    only: str | None = None,
    *,
    work: Path,
    images: Path | None = None,
    minutes: float | None = None,
) -> list[tuple[str, str]]:
    """Build samples below `out`, and say of each what became of it.

    Parameters
    ----------
    out : Path
        Folder of run folders; runs of the same ids are replaced unless they are larger.
    only : str, optional
        Build this one alone.
    work : Path
        Folder of the jobs; what is there already is gone on with.
    images : Path, optional
        Folder of CIFAR-10 as JPEGs, with train/<class> and test/<class>.
    minutes : float, optional
        Stop at the end of the first epoch after so long; the next build goes on from there.

    Raises
    ------
    UsageError
        SAMPLE when there is no such sample, or its images are not named.
    LibraryError
        LIBRARY_WRITE or DISK_FULL.
    """
    if only is not None and only not in NAMES:
        raise UsageError("SAMPLE", f"No sample {only!r}", f"use one of {', '.join(NAMES)}")
    ends = None if minutes is None else time.monotonic() + 60 * minutes
    outcomes = []
    for sample_id in [only] if only else NAMES:
        # Samples are built in a fixed order, each with what the ones before have left of the time.
        seconds_left = None if ends is None else max(0.0, ends - time.monotonic())
        if seconds_left == 0.0:
            outcomes.append((sample_id, "not begun, time is up"))
        elif sample_id in TRAINED:
            outcomes.append((sample_id, _build_trained(sample_id, out, work, images, seconds_left)))
        else:
            _build_first(sample_id, out)
            outcomes.append((sample_id, BUILT))
    return outcomes


def config_of(sample_id: str, images: Path | None, *, seed: int = 0) -> TrainConfig:
    """Return how a sample is trained: small on a CPU, as the papers do on a GPU."""
    sample = TRAINED[sample_id]
    plain: Json = {"loss": sample.loss, "seed": seed}
    if sample.data == "digits":
        return from_json({**plain, "data": "digits", "model": "small_cnn", "device": "cpu"})
    if sample.data == "phantom":
        return from_json({**plain, **FILMS})
    if sample.data == "tickets":
        return from_json({**plain, **TEXTS})
    large = torch.cuda.is_available()
    size = LARGE if large else SMALL
    root = None if images is None else str(images)
    device = "cuda" if large else "cpu"
    return from_json({**plain, **size, "data": "folder", "data_root": root, "device": device})


def _build_trained(
    sample_id: str, out: Path, work: Path, images: Path | None, seconds: float | None
) -> str:
    if TRAINED[sample_id].data == "cifar10" and images is None:
        return "left out: name the folder of CIFAR-10 images with --images"
    config = config_of(sample_id, images)
    run = out / sample_id
    # A sample made on a GPU is larger than a CPU can build, and is not replaced by a smaller one.
    existing = read_manifest(run).config if run.exists() else None
    if existing is not None and _work_in(existing) > _work_in(config.to_json()):
        return "kept, a larger one is there"
    # The digest of the config names the job: other settings begin a new one, the same ones go on.
    path = work / f"{sample_id}-{config.digest}"
    folder = JobFolder(path) if path.exists() else JobFolder.make(path, config)
    folder.specify(config)  # the images may lie elsewhere now
    training = trained(folder, seconds=seconds)
    if training is None:
        return f"stopped after epoch {len(folder.events())} of {config.epochs}, build again"
    parts, _, splits = training
    sample, data = TRAINED[sample_id], parts.data
    known = data.vocabulary if isinstance(data, TextDataset) else ()
    # float16 halves what comes with the program, where no printed digit changes.
    stored = {  # texts are opened by the names of their rows, images by their order
        name: lightest(part if known else replace(part, row_ids=()))
        for name, part in splits.items()
    }
    if sample.outside:
        stored |= outside_splits(parts)
    history, bins = from_events(folder.lines())
    validation = folder.validation() if sample.replayable else None
    tables = Tables(history, bins, validation, known)
    manifest = replace(_manifest(sample_id, parts, stored), history=tables.entry())
    with writing():  # the old run stays until the new one has been trained and audited
        shutil.rmtree(out / sample_id, ignore_errors=True)
    write_run(out, manifest, stored, tables)
    if sample.weights:
        with writing():
            state = parts.net.state_dict()
            weights = {name: tensor.detach().cpu().contiguous() for name, tensor in state.items()}
            save_file(weights, out / sample_id / WEIGHTS)
    return BUILT


def _work_in(config: Json) -> float:
    """Return how much training a config is: epochs, images and size of the network, by rank."""
    images = config["n_train"] or 45_000
    return float(config["epochs"]) * images * (1 if config["model"] == "small_cnn" else 100)


def _manifest(sample_id: str, parts: TrainingSetup, splits: dict[str, Predictions]) -> Manifest:
    sample, config, data = TRAINED[sample_id], parts.config, parts.data
    label = LOSSES[str(sample.loss["name"])].label
    gamma = f" γ = {sample.loss['gamma']:g}" if sample.loss["name"] == "focal" else ""
    name = TITLES[sample.data]
    manifest = describe(
        f"{name}, {label}{gamma}",
        splits,
        source=RunSource(name, data.digest, recipe_of(data)),
        summary={"test": summarise(audit(splits["test"], AuditConfig()))},
    )
    return replace(
        manifest,
        id=sample_id,
        kind="sample",
        created=CREATED,
        description=description(sample, config, len(parts.data.train)),
        tags=(sample.data, "training"),
        config={**config.to_json(), "data_root": None, "name": manifest.name},
        environment=environment(parts.fabric.device, parts.fabric.world_size),
    )


def description(sample: TrainedSample, config: TrainConfig, n_train: int) -> str:
    """Say in words what was trained on what."""
    images, net = IMAGES[sample.data], NETS[config.model]
    rows = config.n_train or n_train
    share = f"{rows:,} of the {n_train:,}" if rows < n_train else f"all {n_train:,}"
    things = "texts" if config.of_texts else "images"
    text = f"{net}, {config.epochs} epochs on {share} training {things}, seed {config.seed}."
    if rows < n_train:
        text += " It fits so few images, none of them shifted or mirrored, better than new ones."
    if config.preset:
        text += " The papers' recipe, its 350 epochs and drops scaled down."
    if sample.outside:
        text += (
            " It was also shown corrupted test images, and handwritten digits and synthetic chest "
            "films, which belong to none of its classes."
        )
    if config.of_texts:
        left_out = " and ".join(f"“{name}”" for name in config.text.left_out)
        text += f" Messages to the desk {left_out} were left out, and are a set of their own."
    return f"{text} {things.capitalize()}: {images}."


def lightest(predictions: Predictions) -> Predictions:
    """Return the scores in float16 where no digit that is shown changes, else as they are.

    Rows without labels have no numbers of their own, and stay as they are.
    """
    if not predictions.labelled:
        return predictions
    half = replace(predictions, scores=predictions.scores.astype(np.float16))
    return half if _digits(half) == _digits(predictions) else predictions


def _digits(predictions: Predictions) -> str:
    """Return every number of an audit with the four decimals that the command line prints."""
    return repr(_rounded(asdict(audit(predictions, AuditConfig()))))


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return _rounded(value.tolist())
    if isinstance(value, list | tuple):
        return [_rounded(inner) for inner in value]
    return f"{value:.4f}" if isinstance(value, float) else value


# What is shown beside the test part of CIFAR-10: corrupted images, and sets of none of its classes.
ROWS: Final = 2_000  # of each set
CORRUPTIONS: Final = ("fog", "gaussian_noise", "motion_blur", "contrast")
DIGITS_SET: Final = "folder-handwritten-digits"
FILMS_SET: Final = "folder-synthetic-chest-films"


def outside_splits(parts: TrainingSetup) -> dict[str, Predictions]:
    """Return what a trained network says of every set, by the name of its split.

    Logits are kept in half precision: they are looked at beside those of the test part, and
    several dozen sets shall stay small.
    """
    splits, data = {}, parts.data
    assert isinstance(data, SplitDataset)
    # Corruptions keep their labels: accuracy falls with severity, and confidence should.
    for corruption in CORRUPTIONS:
        for severity in SEVERITIES:
            outside_set = OutsideSet("corrupted", corruption=corruption, severity=severity)
            outside = open_outside(outside_set, data, download=False)
            splits[outside_set.name] = _predictions(parts, outside.split, labelled=True)
    films = np.empty((ROWS, SIDE, SIDE), np.uint8)
    for row in range(ROWS):
        films[row] = draw(SEED, row).pixels
    # Rows of none of the classes have no label, and only how sure the network is of them is kept.
    for name, pixels in ((DIGITS_SET, _digit_images()), (FILMS_SET, films)):
        # Grey images in the size and the channels of the training's data.
        colours = np.repeat(pixels[:, None], 3, axis=1)
        outside = OutsideDataset(
            split=resident(colours, unlabelled(len(colours))),
            labelled=False,
            class_names=(),
            notices=(),
            digest="",
        )
        foreign = fitted(outside, pixels.shape[1:], 3, data).split
        splits[name] = _predictions(parts, foreign, labelled=False)
    return splits


def _predictions(parts: TrainingSetup, split: DatasetSplit, *, labelled: bool) -> Predictions:
    n = min(ROWS, len(split))
    rows = torch.arange(n) * len(split) // n  # at even distances: folders hold class after class
    return Predictions(
        parts.data.task,
        ScoreKind.LOGITS,
        predict(parts, split, rows).cpu().numpy().astype(np.float16),
        split.targets[rows].cpu().numpy().astype(np.int64),
        class_names=parts.data.class_names,
        labelled=labelled,
    )


def _digit_images() -> Pixels:
    """Return scikit-learn's handwritten digits, (1797, 8, 8)."""
    data = digits(DatasetRequest(root=None, split_seed=0))
    splits = (data.train, data.val, data.test)
    cpu = torch.device("cpu")
    batches = [batch for part in splits for batch in part.images([torch.arange(len(part))], cpu)]
    return np.concatenate([batch.numpy()[:, 0] for batch in batches])


# How the first ones are trained.
def _build_first(sample_id: str, out: Path) -> None:
    """Train the model of a sample and write its run below `out`, in place of what was there.

    Raises LibraryError LIBRARY_WRITE when the disk is full or read-only.
    """
    digits = _load()
    sample = SAMPLES[sample_id]
    # One shuffled order, cut three times: no image is in two parts.
    test, val = digits.take(slice(N_TEST)), digits.take(slice(N_TEST, N_TEST + N_VAL))
    rest = digits.take(slice(N_TEST + N_VAL, None))
    # The generator serves voters of val and then of test; the order is part of what the sample is.
    model, rng = _train(sample, rest), np.random.default_rng(FIRST_SEED)
    splits = {}
    for name, split in (("val", val), ("test", test)):
        with torch.no_grad():
            logits: Logits = model(torch.from_numpy(split.pixels).float()).numpy()
        splits[name] = Predictions(
            sample.task,
            ScoreKind.LOGITS,
            logits,
            sample.targets(split.digit),
            class_names=sample.class_names,
            row_ids=split.row_ids,
            votes=simulated_votes(split, rest, sample.n_voters, rng) if sample.n_voters else None,
        )
    manifest = _first_manifest(sample_id, splits, digits)
    with writing():
        shutil.rmtree(out / sample_id, ignore_errors=True)
    write_run(out, manifest, splits)


def _load() -> Digits:
    source = load_digits()
    order = np.random.default_rng(FIRST_SEED).permutation(source.target.size)
    names = tuple(f"digit-{i:04d}" for i in order)
    return Digits(source.data[order] / 16.0, source.target[order].astype(np.int64), names)


def _first_manifest(sample_id: str, splits: dict[str, Predictions], digits: Digits) -> Manifest:
    sample = SAMPLES[sample_id]
    manifest = describe(
        sample.name,
        splits,
        source=RunSource("sklearn.datasets.load_digits", digest(digits.pixels, digits.digit)),
        summary={"test": summarise(audit(splits["test"], AuditConfig()))},
        notices=(Notice(NoticeCode.VOTES_SIMULATED, SIMULATED),) if sample.n_voters else (),
    )
    return replace(
        manifest,
        id=sample_id,
        kind="sample",
        created=CREATED,
        description=sample.description,
        tags=sample.tags,
    )


def simulated_votes(
    images: Digits, known: Digits, n_voters: int, rng: np.random.Generator
) -> Votes:
    """Return how many of a simulated crowd vote for each digit.

    Parameters
    ----------
    images : Digits
        What is voted on.
    known : Digits
        What voters learn from, `VOTER_IMAGES` of them each.
    n_voters : int
        Votes an image.
    rng : Generator
        Which images a voter learns from, and the noise through which it sees others.
    """
    votes = np.zeros((images.digit.size, len(_NAMES)))
    for _ in range(n_voters):
        # Nearest class mean, of other training images for each voter:
        # they disagree where a digit is hard.
        rows = rng.permutation(known.digit.size)[:VOTER_IMAGES]
        own = known.digit[rows]
        means = np.stack([known.pixels[rows[own == k]].mean(axis=0) for k in range(len(_NAMES))])
        seen = images.pixels + VOTER_NOISE * rng.normal(size=images.pixels.shape)
        distances = ((seen[:, None] - means) ** 2).sum(axis=2)
        votes[np.arange(images.digit.size), distances.argmin(axis=1)] += 1.0
    return Votes.of(f"{n_voters} simulated voters", votes)


def _train(sample: Sample, digits: Digits) -> nn.Module:
    loss = _LOSSES[sample.task]
    digits = digits.take(slice(sample.n_train))
    pixels = torch.from_numpy(digits.pixels).float()
    targets = torch.from_numpy(sample.targets(digits.digit))
    if sample.task is Task.MULTILABEL:
        targets = targets.float()
    with torch.random.fork_rng(devices=[]):  # the caller's random state stays as it was
        torch.manual_seed(FIRST_SEED)
        outputs = len(sample.class_names)
        model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, outputs))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003, weight_decay=sample.weight_decay)
    for _ in range(sample.n_epochs):
        optimizer.zero_grad(set_to_none=True)
        loss(model(pixels), targets).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model
