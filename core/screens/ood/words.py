"""The words of the page Out of distribution: what a set is called, sentences, meanings."""

from dataclasses import dataclass

from core.datasets.shifts import CORRUPTIONS, OutsideSet, parse_name
from core.metrics.records import Score
from core.ood.thresholds import Counts
from core.screens.kit.numbers import count, in_hundred, percent, weight
from core.screens.kit.records import Phrase, Sentence
from core.studies.ood import ScoreSeparation

POSITIVE = "positive class: out-of-distribution"
FAMILIAR = ("max_logit", "energy")  # scores that say nothing of certainty
HELP = {
    "auroc": "Shown one ordinary and one strange input, how often the strange one scores higher. "
    "A half is guessing.",
    "aupr_out": "Average precision with out-of-distribution positive. A guess scores the share of "
    "such rows, so it depends on how many there are.",
    "aupr_in": "Average precision with in-distribution positive, by the score negated.",
    "fpr95": "Share of in-distribution rows flagged where 95 % of the others are.",
    "fpr95_in": "Share of out-of-distribution rows that pass where 95 % of the others do: the "
    "sentence's number at 5 %.",
    "detection_error": "The smallest mean of missed share and false alarms at any threshold.",
}
LABELS = {  # of each number, and its positive class
    "auroc": ("AUROC", "OOD positive"),
    "aupr_out": ("AUPR", "OOD positive"),
    "aupr_in": ("AUPR", "ID positive"),
    "fpr95": ("FPR at 95 % TPR", "OOD positive"),
    "fpr95_in": ("FPR at 95 % TPR", "ID positive"),
    "detection_error": ("Detection error", ""),
}


@dataclass(frozen=True)
class SetName:
    """What a set is called.

    Attributes
    ----------
    label : str
        Short, for curves and tables.
    things : str
        Its members in the plural, as they stand in a sentence.
    shift : OutsideSet or None
        What its name says it holds.
    """

    label: str
    things: str
    shift: OutsideSet | None = None

    @property
    def shifted(self) -> bool:
        """Whether it holds corrupted in-distribution images."""
        return self.shift is not None and self.shift.role == "shifted"


def set_name(split: str, owner: str = "") -> SetName:
    """Return what a split is called; `owner` is the run or file it comes from, if another."""
    outside_set = parse_name(split)
    suffix = f" · {owner}" if owner else ""
    if outside_set is None:
        label = owner if owner and split in ("test", "scores") else f"{split}{suffix}"
        return SetName(label, f"inputs of “{label}”")
    if outside_set.kind == "svhn":
        return SetName(f"{outside_set.label}{suffix}", "street numbers", outside_set)
    if outside_set.corruption:
        kind = CORRUPTIONS[outside_set.corruption].noun
        things = f"pictures with {kind} of severity {outside_set.severity}"
        return SetName(f"{outside_set.label}{suffix}", things, outside_set)
    return SetName(f"{outside_set.label}{suffix}", f"pictures of “{outside_set.root}”", outside_set)


def sentence(
    name: SetName, judged: ScoreSeparation, counts: Counts, auroc: Score | None
) -> Sentence:
    """Return how many of a hundred pass, and at which threshold; in plain words without AUROC."""
    alike = "as familiar as" if judged.score in FAMILIAR else "as certain as"
    times = in_hundred(counts.missed)
    look = "looks" if times == "1" else "look"
    first = f"Of 100 {name.things}, {times} {look} {alike} ordinary pictures. "
    threshold = threshold_words(counts, weighted=judged.separation.weighted)
    if auroc is None:
        return Sentence((Phrase(first),), threshold)
    parts = Phrase(first), Phrase(auroc_words(auroc), "quiet")
    return Sentence(parts, f"{threshold} {worth_words(judged)}".strip())


def auroc_words(auroc: Score) -> str:
    """Return "AUROC 0.915 (0.909 to 0.921)"."""
    return f"AUROC {auroc.value:.3f} ({share_span(auroc)})"


def share_span(score: Score) -> str:
    """Return the interval of a share with three decimals."""
    if score.low is None or score.high is None:
        return ""
    return f"{score.low:.3f} to {score.high:.3f}"


def threshold_words(counts: Counts, *, weighted: bool = False) -> str:
    """Return where the threshold stands, in counts of ordinary pictures, or in shares of weight."""
    unflagged = in_hundred(1.0 - counts.false_alarms)
    passed = f"{weight(counts.passed_out)} of the"
    total = f"{weight(counts.passed_out + counts.flagged_out)} strange ones"
    if weighted:
        passed, total = f"by weight {percent(counts.missed)} of the", "strange ones"
    return (
        f"The threshold keeps {unflagged} of 100 ordinary pictures; {passed} {total} lie on their "
        "side of it."
    )


def rows_words(judged: ScoreSeparation, side: int) -> str:
    """Return "200 of 40 groups (patient), worth about 87 independent ones"; else the number."""
    n = count((judged.separation.n_in, judged.separation.n_out)[side])
    groups, weights = judged.groups[side], judged.weights[side]
    if groups is not None:
        own = f"{n} of {count(groups.n)} groups ({groups.column})"
        return f"{own}, worth about {count(round(groups.effective_n))} independent ones"
    if weights is not None:
        return f"{n}, worth about {count(round(weights.effective_n))} of equal weight"
    return n


def worth_words(judged: ScoreSeparation) -> str:
    """Return what rows that belong together are worth; empty where each stands for itself."""
    texts = []
    for groups, n, rows in zip(
        judged.groups,
        (judged.separation.n_in, judged.separation.n_out),
        ("ordinary", "strange"),
        strict=True,
    ):
        if groups is not None:
            own = f"The {count(n)} {rows} rows of {count(groups.n)} groups ({groups.column})"
            texts.append(
                f"{own} are worth about {count(round(groups.effective_n))} independent ones."
            )
    return " ".join(texts)


def alike_words(judged: ScoreSeparation) -> str:
    """Return in plain words what pictures that belong together tell; empty where none do."""
    texts = [
        f"The {rows} ones come in {count(groups.n)} groups ({groups.column}) and tell as much as "
        f"about {count(round(groups.effective_n))} unrelated ones."
        for rows, groups in zip(("ordinary", "strange"), judged.groups, strict=True)
        if groups is not None
    ]
    if judged.separation.weighted:
        texts.append("Each picture counts by its weight.")
    return " ".join(texts)


def weight_words(judged: ScoreSeparation) -> str:
    """Return which rows count by which column; empty where each counts once."""
    sides = zip(judged.weights, ("in-distribution rows", "rows of the set"), strict=True)
    columns = [(weights.column, rows) for weights, rows in sides if weights is not None]
    if len({column for column, _ in columns}) == 1 and len(columns) == len(judged.weights):
        return f"rows count by {columns[0][0]}"
    return "; ".join(f"{rows} count by {column}" for column, rows in columns)


def plainly(auroc: Score) -> str:
    """Return the AUROC as a sentence."""
    return (
        f"Shown one ordinary and one strange picture, it is more alarmed by the strange one "
        f"{in_hundred(auroc.value, auroc.low, auroc.high)} times in 100."
    )
