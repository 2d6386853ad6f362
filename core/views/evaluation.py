"""What an evaluation found, split by split, and whether it can be right at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from core.arrays import row_chunks
from core.configs import AuditConfig
from core.datasets.catalogue import DATASETS
from core.datasets.shifts import parse_name
from core.defaults import LEVEL
from core.figures.numbers import MISSING, count, in_hundred, percent, span, three, three_span
from core.inference.config import EvaluationConfig
from core.metrics import METRICS
from core.metrics.intervals import wilson
from core.metrics.ranked import Ranked
from core.metrics.records import Score
from core.metrics.suite import audit
from core.predictions import Predictions, Task
from core.published import MODELS as PRINTED
from core.published import PAPERS, PublishedNumber, published, subject
from core.views.records import CellWords, Column, ScoreRow, Table

PART_WORDS: Final = {
    "train": ("Training part", "training images"),
    "val": ("Validation part", "validation images"),
    "test": ("Test part", "test images"),
}
ORDER: Final = ("test", "val", "train")  # which part a sanity line speaks of
HALF: Final = 0.5  # AUROC of guessing
FAR: Final = 0.1  # above guessing: an interval that reaches so far leaves all open
NO_ROOM: Final = "its rows have no labels"
COLUMNS: Final = (
    Column("split", "split"),
    Column("role", "role"),
    Column("n", "images", "count"),
    Column("accuracy", "accuracy", "share"),
    Column("auroc", "AUROC", "number"),
    Column("ece", "ECE", "share"),
    Column("confidence", "mean confidence", "share"),
)


@dataclass(frozen=True)
class SplitResult:
    """What was found on one split or set.

    Attributes
    ----------
    split, role : str
        As in the manifest of the run.
    n : int
    score : Score
        Accuracy, or of many labels the mean AUROC; no value without labels.
    ece : Score
    confidence : float or None
        Mean of what it states; None for many labels.
    """

    split: str
    role: str
    n: int
    score: Score
    ece: Score
    confidence: float | None

    @property
    def label(self) -> str:
        """Printed name."""
        return label(self.split)

    @property
    def images(self) -> str:
        """What its rows are called."""
        return PART_WORDS.get(self.split, ("", "images"))[1]


def label(split: str) -> str:
    """Return the printed name of a split or set."""
    if split in PART_WORDS:
        return PART_WORDS[split][0]
    found = parse_name(split)
    return split if found is None else found.label


def line(split: str, role: str, predictions: Predictions) -> SplitResult:
    """Return what was found on one split.

    The parts of the data get intervals by the audit, as on every page; of a shifted set, of which
    there may be a hundred, the accuracy gets one and the rest stands alone.
    """
    if not predictions.labelled:
        none = Score("accuracy", None, None, None, LEVEL, predictions.n, reason=NO_ROOM)
        sure = None if predictions.task is Task.MULTILABEL else _certainty(predictions)
        return SplitResult(split, role, predictions.n, none, none, sure)
    many = predictions.task is Task.MULTILABEL
    if role == "shifted" and not many:
        return _shifted(split, role, predictions)
    name = "auroc" if many else "accuracy"
    found = audit(predictions, AuditConfig(metrics=(name, "ece"))).main
    sure = None if many else float(predictions.outcomes(None).confidence.mean())
    return SplitResult(split, role, predictions.n, found.metrics[name], found.metrics["ece"], sure)


def _certainty(predictions: Predictions) -> float:
    chunks = row_chunks(predictions.n, predictions.n_classes)
    return sum(float(predictions.probabilities(r).max(axis=1).sum()) for r in chunks) / (
        predictions.n
    )


def _shifted(split: str, role: str, predictions: Predictions) -> SplitResult:
    ranked = Ranked.of(predictions.outcomes(None))
    low, high = (float(end) for end in wilson(np.array(ranked.hits), np.array(ranked.n), LEVEL))
    return SplitResult(
        split,
        role,
        ranked.n,
        Score("accuracy", ranked.hits / ranked.n, low, high, LEVEL, ranked.n),
        Score("ece", METRICS["ece"].function(ranked), None, None, LEVEL, ranked.n),
        float(ranked.sum_confidence[-1] / ranked.n),
    )


@dataclass(frozen=True)
class Plausibility:
    """Whether an evaluation can be right: one part of the data, against chance and the papers.

    Attributes
    ----------
    line : SplitResult
    guessed : bool
        Its score is within chance of guessing.
    against, worst, papers : str
        A sentence each; `worst` is of the shifted set with the fewest right answers, `papers` is
        empty where none prints a number for this.
    """

    line: SplitResult
    guessed: bool
    against: str
    worst: str
    papers: str

    @property
    def text(self) -> str:
        """All of them."""
        return " ".join(one for one in (self.against, self.worst, self.papers) if one)


def judged(
    config: EvaluationConfig,
    lines: Sequence[SplitResult],
    trained: Mapping[str, Any] | None = None,
    *,
    plain: bool = False,
) -> Plausibility | None:
    """Return the sanity line of an evaluation.

    Parameters
    ----------
    config : EvaluationConfig
    lines : sequence of SplitResult
    trained : mapping, optional
        Config of the training that made the weights: then the papers' numbers are those of its
        loss.
    plain : bool
        Speak of times in 100, and not of papers.
    """
    named = {one.split: one for one in lines if one.score.value is not None}
    found = next((named[split] for split in ORDER if split in named), None)
    if found is None:
        return None
    chance = HALF if found.score.metric == "auroc" else 1 / config.n_outputs
    said = f"{chance:g}" if found.score.metric == "auroc" else _right(chance, plain=plain)
    value, low, high = found.score.value, found.score.low, found.score.high
    assert value is not None
    guessed = (value if low is None else low) <= chance
    if guessed and (value if high is None else high) > chance + FAR:
        against = f"So few images do not tell that from guessing ({said.removeprefix('for ')})."
    elif guessed:
        against = (
            f"That is no better than guessing ({said.removeprefix('for ')}). Mean and standard "
            "deviation, the size of the images, the order of the classes or the network may be "
            "wrong."
        )
    else:
        verb = "has" if found.score.metric == "auroc" else "would be right"
        against = f"Guessing {verb} {said}."
    papers = "" if plain else _papers(config, found, trained)
    return Plausibility(found, guessed, against, _worst(lines, plain=plain), papers)


def _right(share: float, *, plain: bool) -> str:
    return f"{in_hundred(share)} times in 100" if plain else f"for {percent(share)}"


def _worst(lines: Sequence[SplitResult], *, plain: bool) -> str:
    """Say which shifted set has the fewest right answers, and what the model says there."""
    shifted = [
        (one.score.value, one.confidence, one.label)
        for one in lines
        if one.role == "shifted" and one.score.value is not None and one.confidence is not None
    ]
    if not shifted:
        return ""
    right, says, name = min(shifted)
    sure = f"{in_hundred(says)} in 100" if plain else percent(says)
    return f"Least on {name}: right {_right(right, plain=plain)}, while it says {sure} on average."


def _papers(config: EvaluationConfig, found: SplitResult, trained: Mapping[str, Any] | None) -> str:
    """Return what papers print for the network and data; nothing for part of the test images."""
    whole = found.split == "test" and config.limit is None and found.score.value is not None
    if not whole or config.model not in PRINTED:
        return ""
    rows = published(metric="error", dataset=config.data, model=PRINTED[config.model])
    of = subject(trained)
    if of is not None and of.dataset == config.data:
        rows = tuple(row for row in rows if row.method in of.methods)
    if not rows:
        return ""
    assert found.score.value is not None
    loss = ", data and loss" if of is not None else " and data, over all losses"
    return (
        f"Its error is {percent(1 - found.score.value)}; papers print {_ends(rows)} for this "
        f"network{loss} ({'; '.join(dict.fromkeys(PAPERS[row.paper] for row in rows))})."
    )


def _ends(rows: Sequence[PublishedNumber]) -> str:
    low, high = min(row.value for row in rows), max(row.value for row in rows)
    return percent(low) if low == high else f"{percent(low)} to {percent(high)}"


def heads(lines: Sequence[SplitResult], *, plain: bool = False) -> tuple[str, ...]:
    """Return the heads of the table of splits and sets."""
    many = any(one.score.metric == "auroc" for one in lines)
    if plain and not many:
        return ("Images of", "Images", "Right", "Off by, on average", "Says, on average")
    score = "AUROC, mean of labels" if many else "Right"
    return ("Split or set", "Images", score, "ECE", "Mean confidence")


def rows(lines: Sequence[SplitResult], *, plain: bool = False) -> tuple[ScoreRow, ...]:
    """Return the table of splits and sets; those of the data are shaded."""
    return tuple(
        ScoreRow(
            one.label,
            (CellWords(count(one.n)), *_cells(one)),
            notes=() if plain or one.split in PART_WORDS else (one.split,),
            shaded=one.split in PART_WORDS,
        )
        for one in lines
    )


def _cells(one: SplitResult) -> tuple[CellWords, CellWords, CellWords]:
    score, ece = one.score, one.ece
    if score.metric == "auroc":
        first = CellWords(three(score.value), three_span(score.value, score.low, score.high))
    else:
        first = _share(score)
    sure = MISSING if one.confidence is None else percent(one.confidence)
    return first, _share(ece), CellWords(sure)


def _share(score: Score) -> CellWords:
    return CellWords(percent(score.value), span(score.low, score.high), score.reason)


def table(lines: Sequence[SplitResult]) -> Table:
    """Return the same as a table of plain numbers, for a file."""
    return Table(
        COLUMNS,
        tuple(
            (
                one.split,
                one.role,
                one.n,
                one.score.value if one.score.metric == "accuracy" else None,
                one.score.value if one.score.metric == "auroc" else None,
                one.ece.value,
                one.confidence,
            )
            for one in lines
        ),
    )


def caption(config: EvaluationConfig, lines: Sequence[SplitResult], digest: str) -> str:
    """Return what the numbers rest on."""
    how = config.preprocessing
    crops = f", {how.crops} crops" if how.crops > 1 else ""
    first = f", {count(config.limit)} of each at most" if config.limit else ""
    return (
        f"{DATASETS[config.data].label}, seed of the split {config.split_seed}{first}; images of "
        f"{how.size[0]} x {how.size[1]}{crops}. {len(lines)} splits and sets; ECE of 15 bins of "
        f"equal width; intervals at 95 %. Config {digest[:8]}, weights {config.weights.digest[:8]}."
    )
