"""What an evaluation found, split by split, and whether it can be right at all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from core.arrays import row_chunks
from core.configs import AuditConfig
from core.datasets.catalogue import DATASETS
from core.datasets.shifts import parse_name
from core.defaults import LEVEL
from core.inference.config import EvaluationConfig
from core.losses.papers import subject
from core.metrics import METRICS
from core.metrics.intervals import wilson
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import Score
from core.metrics.suite import audit
from core.predictions import Predictions, Task
from core.published import PAPERS, compared, networks_of, published
from core.screens.kit.numbers import count, in_hundred, percent, points
from core.screens.kit.records import Column
from core.screens.kit.tables import PageColumn, ScoreTable, TableRow, estimate

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
LABEL_HEADS: Final = ("Split or set", "Images", "AUROC, mean of labels", "ECE", "Mean confidence")


@dataclass(frozen=True, kw_only=True)
class EvaluationWords:
    """How one edition of the pages speaks of an evaluation."""

    showing: str  # of one under way
    result: tuple[Callable[[float | None], str], str]  # share of right answers, of which images
    share: Callable[[float], str]
    right: str  # before a share of right answers
    sure: Callable[[float], str]
    heads: tuple[str, ...]
    details: bool  # numbers of papers, and names of sets as files have them


TECHNICAL: Final = EvaluationWords(
    showing="",
    result=(lambda share: f"on {percent(share)}", "of the"),
    share=percent,
    right="right on",
    sure=percent,
    heads=("Split or set", "Images", "Right", "ECE", "Mean confidence"),
    details=True,
)
PLAIN: Final = EvaluationWords(
    showing="For each image the model says what it shows and how sure it is.",
    result=(lambda share: f"{points(share)} times in 100", "on the"),
    share=lambda share: f"{in_hundred(share)} times in 100",
    right="right",
    sure=lambda share: f"{in_hundred(share)} in 100",
    heads=("Images of", "Images", "Right", "Off by, on average", "Says, on average"),
    details=False,
)


@dataclass(frozen=True, kw_only=True)
class SplitResult:
    """What was found on one split or set, named as in the manifest of the run.

    `score` is the accuracy, or of many labels the mean AUROC, without a value where there are no
    labels; `confidence` the mean of what it states, None for many labels.
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
    outside_set = parse_name(split)
    return split if outside_set is None else outside_set.label


def line(split: str, role: str, predictions: Predictions) -> SplitResult:
    """Return what was found on one split.

    The parts of the data get intervals by the audit, as on every page; of a shifted set, of which
    there may be a hundred, the accuracy gets one and the rest stands alone.
    """
    multilabel, n = predictions.task is Task.MULTILABEL, predictions.n
    name, sure = "auroc" if multilabel else "accuracy", None
    bare = partial(Score, low=None, high=None, level=LEVEL, n=n)
    if not predictions.labelled:
        score = ece = bare(metric="accuracy", value=None, reason=NO_ROOM)
        if not multilabel:
            chunks = row_chunks(n, predictions.n_classes)
            largest = (predictions.probabilities(rows).max(axis=1) for rows in chunks)
            sure = sum(float(part.sum()) for part in largest) / n
    elif role == "shifted" and not multilabel:
        ranked = SortedOutcomes.of(predictions.outcomes(None))
        ends = wilson(np.array(ranked.hits), np.array(n), LEVEL)
        low, high = (float(end) for end in ends)
        score = replace(bare(metric=name, value=ranked.hits / n), low=low, high=high)
        ece = bare(metric="ece", value=METRICS["ece"].function(ranked))
        sure = float(ranked.sum_confidence[-1] / n)
    else:
        main = audit(predictions, AuditConfig(metrics=(name, "ece"))).main
        score, ece = main.metrics[name], main.metrics["ece"]
        sure = None if multilabel else float(predictions.outcomes(None).confidence.mean())
    return SplitResult(split=split, role=role, n=n, score=score, ece=ece, confidence=sure)


@dataclass(frozen=True, kw_only=True)
class Plausibility:
    """Whether an evaluation can be right: one part of the data, against chance and the papers.

    `guessed` says that its score is within chance of guessing. The others are a sentence each:
    `worst` is of the shifted set with the fewest right answers, `papers` empty without numbers.
    """

    line: SplitResult
    guessed: bool
    against: str
    worst: str
    papers: str

    @property
    def text(self) -> str:
        """All of them."""
        return " ".join(
            sentence for sentence in (self.against, self.worst, self.papers) if sentence
        )


def judged(
    config: EvaluationConfig,
    results: Sequence[SplitResult],
    words: EvaluationWords,
    trained: Mapping[str, Any] | None = None,
    class_names: Sequence[str] = (),
) -> Plausibility | None:
    """Return the sanity line of an evaluation.

    With `trained`, the config of the training as `compared` returns it, the papers' numbers are
    those of its loss. By `class_names` data that were once called ImageNet are known to be others.
    """
    named = {result.split: result for result in results if result.score.value is not None}
    judged_split = next((named[split] for split in ORDER if split in named), None)
    if judged_split is None:
        return None
    chance = HALF if judged_split.score.metric == "auroc" else 1 / config.n_outputs
    chance_text = f"{chance:g}" if judged_split.score.metric == "auroc" else words.share(chance)
    value, low, high = judged_split.score.value, judged_split.score.low, judged_split.score.high
    assert value is not None
    guessed = (value if low is None else low) <= chance
    if guessed and (value if high is None else high) > chance + FAR:
        against = f"On so few images that could be guessing ({chance_text})."
    elif guessed:
        against = (
            f"That is no better than guessing ({chance_text}). The mean and standard deviation, "
            "the image size, the class order or the network may be wrong."
        )
    else:
        verb = "has" if judged_split.score.metric == "auroc" else f"would be {words.right}"
        against = f"Guessing {verb} {chance_text}."
    # The shifted set with the fewest right answers, and what the model says there
    shifted = [
        (result.score.value, result.confidence, result.label)
        for result in results
        if result.role == "shifted"
        and result.score.value is not None
        and result.confidence is not None
    ]
    worst = ""
    if shifted:
        right, says, name = min(shifted)
        sure = f"while it says {words.sure(says)} on average"
        worst = f"Worst on {name}: {words.right} {words.share(right)}, {sure}."
    papers = _papers(config, judged_split, trained, class_names) if words.details else ""
    return Plausibility(
        line=judged_split, guessed=guessed, against=against, worst=worst, papers=papers
    )


def _papers(
    config: EvaluationConfig,
    result: SplitResult,
    trained: Mapping[str, Any] | None,
    class_names: Sequence[str],
) -> str:
    """Return what papers print for the network and data; nothing for part of the test images."""
    whole = result.split == "test" and config.limit is None and result.score.value is not None
    data = str((compared({"data": config.data}, class_names) or {}).get("data"))
    network = networks_of(data).get(config.model)
    if not whole or network is None:
        return ""
    rows = published(metric="error", dataset=data, model=network)
    setting = subject(trained)
    if setting is not None and setting.dataset == data:
        rows = tuple(row for row in rows if row.method in setting.methods)
    if not rows:
        return ""
    assert result.score.value is not None
    loss = ", data and loss" if setting is not None else " and data, over all losses"
    low, high = min(row.value for row in rows), max(row.value for row in rows)
    ends = percent(low) if low == high else f"{percent(low)} to {percent(high)}"
    return (
        f"Its error is {percent(1 - result.score.value)}; papers report {ends} for this "
        f"network{loss} ({'; '.join(dict.fromkeys(PAPERS[row.paper] for row in rows))})."
    )


def heads(results: Sequence[SplitResult], words: EvaluationWords) -> tuple[str, ...]:
    """Return the heads of the table of splits and sets."""
    return LABEL_HEADS if _multilabel(results) else words.heads


def _multilabel(results: Sequence[SplitResult]) -> bool:
    return any(result.score.metric == "auroc" for result in results)


def table(results: Sequence[SplitResult], words: EvaluationWords) -> ScoreTable:
    """Return the table of splits and sets; on the page those of the data are shaded."""
    split, images, score, ece, confidence = heads(results, words)
    shown = (
        PageColumn("n", images, "count"),
        PageColumn("auroc", score, "decimals")
        if _multilabel(results)
        else PageColumn("accuracy", score, "share"),
        PageColumn("ece", ece, "share"),
        PageColumn("confidence", confidence, "share"),
    )
    rows = [
        TableRow(
            name=result.label,
            cells={
                "split": result.split,
                "role": result.role,
                "n": result.n,
                result.score.metric: estimate(result.score),
                "ece": estimate(result.ece),
                "confidence": result.confidence,
            },
            notes=(result.split,) if words.details and result.split not in PART_WORDS else (),
            shaded=result.split in PART_WORDS,
        )
        for result in results
    ]
    return ScoreTable(split, shown, COLUMNS, tuple(rows))


def caption(config: EvaluationConfig, results: Sequence[SplitResult], digest: str) -> str:
    """Return what the numbers rest on."""
    preprocessing = config.preprocessing
    crops = f", {preprocessing.crops} crops" if preprocessing.crops > 1 else ""
    first = f", at most {count(config.limit)} of each" if config.limit else ""
    return (
        f"{DATASETS[config.data].label}, split seed {config.split_seed}{first}; images of "
        f"{preprocessing.size[0]} x {preprocessing.size[1]}{crops}. {len(results)} splits and "
        "sets; ECE of 15 bins of equal width; intervals at 95 %. Config "
        f"{digest[:8]}, weights {config.weights.digest[:8]}."
    )
