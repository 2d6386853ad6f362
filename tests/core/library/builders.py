"""Small predictions and headline numbers to put into a library."""

from dataclasses import fields, replace

import numpy as np

from core.histories import BinHistory, History
from core.library import Library, RunSource, Summary
from core.library.history import Tables
from core.predictions import Predictions, ScoreKind, Task

SOURCE = RunSource("scores.npz", "0f" * 16, {"scores": "logits"})


def small(seed: int = 0, n: int = 7) -> Predictions:
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((n, 3)).astype(np.float32)
    return Predictions(
        Task.MULTICLASS,
        ScoreKind.LOGITS,
        scores,
        rng.integers(0, 3, n),
        class_names=("cat", "dog", "hen"),
        row_ids=tuple(f"image-{i}" for i in range(n)),
    )


def unlabelled(seed: int = 0, n: int = 5) -> Predictions:
    """Scores of inputs that belong to none of the classes."""
    inside = small(seed, n)
    return replace(inside, labels=np.full(n, -1), labelled=False)


def headline(ece: float | None = 0.05) -> Summary:
    return Summary(
        accuracy=0.9,
        ece={"value": ece, "low": 0.04, "high": 0.07},
        floor_q95=0.02,
        gap={"gap": 0.05, "low": 0.03, "high": 0.08},
        verdict="over_confident",
    )


def small_bins(n_epochs: int = 3, n_bins: int = 4, seed: int = 0) -> BinHistory:
    """Bins with an empty one in every epoch, and train confidences in some rows."""
    rng = np.random.default_rng(seed)
    shape = (n_epochs, n_bins)
    edges = np.sort(rng.random((n_epochs, n_bins + 1)), axis=1)
    confidence = rng.uniform(edges[:, :-1], edges[:, 1:])
    accuracy, count = rng.random(shape), rng.integers(1, 99, shape)
    empty = np.arange(n_bins) == rng.integers(n_bins, size=(n_epochs, 1))
    confidence[empty], accuracy[empty], count[empty] = np.nan, np.nan, 0
    return BinHistory(
        epoch=np.repeat(np.arange(n_epochs), n_bins),
        bin=np.tile(np.arange(n_bins), n_epochs),
        lower=edges[:, :-1].ravel(),
        upper=edges[:, 1:].ravel(),
        count=count.ravel(),
        confidence=confidence.ravel(),
        accuracy=accuracy.ravel(),
        gap=np.nan_to_num(confidence - accuracy).ravel(),
        gamma=rng.uniform(-2, 20, n_epochs * n_bins),
        train_confidence=np.where(empty, np.nan, rng.random(shape)).ravel(),
    )


def small_history(n_epochs: int = 3) -> History:
    """Two metrics by epoch, one of them without a value at first."""
    value = np.array([[0.5 / (epoch + 1), epoch or np.nan] for epoch in range(n_epochs)])
    return History(
        np.repeat(np.arange(n_epochs), 2), ("val_loss", "val_ece") * n_epochs, value.ravel()
    )


def same_columns(one: History | BinHistory, two: History | BinHistory) -> bool:
    """Whether two histories agree in every bit."""
    pairs = [(getattr(one, f.name), getattr(two, f.name)) for f in fields(one)]
    return all(
        a == b if isinstance(a, tuple) else a.dtype == b.dtype and a.tobytes() == b.tobytes()
        for a, b in pairs
    )


def answers(n: int = 90) -> Predictions:
    """Logits of three classes that have nothing to do with the labels."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(n, 3)) * 3
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, rng.integers(0, 3, n))


def keep_trained(
    library: Library,
    run_id: str,
    splits: dict[str, Predictions] | None = None,
    *,
    name: str = "a run",
    config: dict[str, object] | None = None,
    **tables: object,
) -> str:
    """Keep a run as a training leaves it, with these tables in place of small ones."""
    splits = splits or {"test": answers(), "val": answers()}
    return library.keep(
        name,
        splits,
        source=RunSource("digits", "0" * 32),
        summary={"test" if "test" in splits else next(iter(splits)): headline()},
        config=config or {"epochs": 3},
        environment={},
        kind="train",
        tables=Tables(**{"metrics": small_history(), "bins": small_bins()} | tables),
        run_id=run_id,
    ).id


def keep_history(library: Library, name: str, bins: BinHistory, source: RunSource = SOURCE) -> str:
    """Keep gammas from elsewhere, and return the run's id."""
    parts = {"kind": "history", "tables": Tables(bins=bins)}
    return library.keep(name, {}, source=source, summary={}, **parts).id
