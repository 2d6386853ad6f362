"""The samples to audit first: small models of handwritten digits, trained in seconds.

Imports torch and scikit-learn, so only the command line may import this module.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

from core.arrays import Float, Int, digest
from core.codes import NoticeCode
from core.configs import AuditConfig
from core.disk import writing
from core.errors import Notice
from core.library import Manifest, RunSource, summarise
from core.library.files import describe, write_run
from core.metrics.suite import audit
from core.predictions import Predictions, ScoreKind, Task, Votes

CREATED: Final = "2025-11-20T00:00:00.000+00:00"  # rebuilding a sample does not make it newer
SEED: Final = 0
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


def build(sample_id: str, out: Path) -> None:
    """Train the model of a sample and write its run below `out`, in place of what was there.

    Raises LibraryError LIBRARY_WRITE when the disk is full or read-only.
    """
    digits = _load()
    sample = SAMPLES[sample_id]
    test, val = digits.take(slice(N_TEST)), digits.take(slice(N_TEST, N_TEST + N_VAL))
    rest = digits.take(slice(N_TEST + N_VAL, None))
    model, rng = _train(sample, rest), np.random.default_rng(SEED)
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
    with writing():
        shutil.rmtree(out / sample_id, ignore_errors=True)
    write_run(out, _manifest(sample_id, splits, digits), splits)


def _load() -> Digits:
    source = load_digits()
    order = np.random.default_rng(SEED).permutation(source.target.size)
    names = tuple(f"digit-{i:04d}" for i in order)
    return Digits(source.data[order] / 16.0, source.target[order].astype(np.int64), names)


def _manifest(sample_id: str, splits: dict[str, Predictions], digits: Digits) -> Manifest:
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
        rows = rng.permutation(known.digit.size)[:VOTER_IMAGES]
        own = known.digit[rows]
        means = np.stack([known.pixels[rows[own == k]].mean(axis=0) for k in range(len(_NAMES))])
        seen = images.pixels + VOTER_NOISE * rng.normal(size=images.pixels.shape)
        apart = ((seen[:, None] - means) ** 2).sum(axis=2)
        votes[np.arange(images.digit.size), apart.argmin(axis=1)] += 1.0
    return Votes.of(f"{n_voters} simulated voters", votes)


def _train(sample: Sample, digits: Digits) -> nn.Module:
    loss = _LOSSES[sample.task]
    digits = digits.take(slice(sample.n_train))
    pixels = torch.from_numpy(digits.pixels).float()
    targets = torch.from_numpy(sample.targets(digits.digit))
    if sample.task is Task.MULTILABEL:
        targets = targets.float()
    with torch.random.fork_rng(devices=[]):  # the caller's random state stays as it was
        torch.manual_seed(SEED)
        outputs = len(sample.class_names)
        model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, outputs))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003, weight_decay=sample.weight_decay)
    for _ in range(sample.n_epochs):
        optimizer.zero_grad(set_to_none=True)
        loss(model(pixels), targets).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model
