"""What must be said about the data itself, whatever the scores; numpy only."""

import math
from collections.abc import Sequence

import numpy as np

from core.arrays import row_chunks
from core.codes import NoticeCode
from core.defaults import FALSE_ALARMS, SMALL_N
from core.errors import Notice
from core.metrics.ranked import SortedOutcomes
from core.metrics.ranking import auroc
from core.metrics.records import GroupSummary, WeightSummary
from core.metrics.units import RowUnits
from core.predictions import COPIES, Predictions, ScoreKind, Task, Weights, group_nouns

FEW_GROUPS = 30  # fewer groups make rough intervals
# Of a sum: rows that rule more of it tell as little as few groups. So many equal ones, which stand
# exactly there, are not few, however their sums are rounded.
CONCENTRATED = (1.0 + 1e-9) / FEW_GROUPS
NAMES_SHOWN = 5
ROUNDING = 1e-12  # of a share
MANY_ROWS = 20  # that no model of use gets right without a single slip
FEW_HOLDERS = 10  # groups that hold all rows with an event
RESCALED_GAP = 0.1  # by which a score says more than there is, at least
RESCALED_RATIO = 2.0
RESCALED_AUROC = 0.7


def notices(predictions: Predictions, *, nll_clip: float | None = None) -> tuple[Notice, ...]:
    """Return what a reader of the audit must know about the rows.

    `nll_clip`: when given, zero probabilities do not make the NLL infinite.

    Returns
    -------
    tuple of Notice
        SMALL_N, TIES, CONSTANT, NLL_INFINITE, ZERO_PROBABILITY, CLASS_ABSENT, BELOW_CHANCE,
        ALWAYS_RIGHT, NOT_PROBABILITY
        where they apply, one sentence each.

    Examples
    --------
    >>> p = np.array([[1.0, 0.0], [0.5, 0.5]])
    >>> of_two = Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, np.array([1, 0]))
    >>> [notice.code.value for notice in notices(of_two)]  # one in two is right, and one is a tie
    ['SMALL_N', 'ZERO_PROBABILITY', 'TIES', 'BELOW_CHANCE', 'NLL_INFINITE']
    """
    out: list[Notice | None] = []
    if predictions.n < SMALL_N:
        few = f"Only {_rows(predictions.n)}: read the intervals, not the values alone."
        out.append(Notice(NoticeCode.SMALL_N, few))
    out += [_zero(predictions), _absent(predictions), _rescaled(predictions)]
    useless = "can look calibrated and still be useless, because it does not distinguish rows."
    if predictions.task is Task.MULTILABEL:
        flat = np.ptp(predictions.scores, axis=0) == 0
        if predictions.n > 1 and flat.any():
            names = _names([predictions.class_names[k] for k in np.flatnonzero(flat)])
            text = f"Every row has the same score for {names}: such a score {useless}"
            out.append(Notice(NoticeCode.CONSTANT, text))
        return tuple(notice for notice in out if notice)
    stats = predictions.rows
    if stats.tied:
        text = (
            f"{_rows(stats.tied, 'shares its', 'share their')} largest score between classes. "
            "The class with the lowest index counts as the answer."
        )
        out.append(Notice(NoticeCode.TIES, text))
    same = bool(np.all(stats.predicted == stats.predicted[0]))
    if predictions.n > 1 and same and not np.ptp(stats.confidence) > 0.0:
        text = f"Every row has the same answer and the same confidence: such a model {useless}"
        out.append(Notice(NoticeCode.CONSTANT, text))
    # Ask for the class order where answers are no better than blind ones
    weights, classes = predictions.sampling.weights, predictions.n_classes
    right = float(np.average(stats.correct, weights=weights))
    if right * classes <= 1.0 + ROUNDING:
        largest = float(np.bincount(predictions.labels, weights).max()) / predictions.total
        text = (
            f"Accuracy is {100 * right:.1f} %, at or below chance "
            f"({100 / classes:.1f} % for {classes} classes; always naming the most frequent class "
            f"is right in {100 * largest:.1f} %). "
            "Is the class order of scores and labels the same?"
        )
        out.append(Notice(NoticeCode.BELOW_CHANCE, text))
    # Ask for the truth where labels could be the model's own answers; not where the claims say
    # that all may be right by chance, as of a rare event that did not come.
    all_right = predictions.n >= MANY_ROWS and bool(stats.correct.all())
    if all_right and float(np.log(stats.confidence).sum()) <= math.log(FALSE_ALARMS):
        text = (
            f"All {predictions.n:,} answers are right: are the labels the truth, or the model's "
            "own answers?"
        )
        out.append(Notice(NoticeCode.ALWAYS_RIGHT, text))
    infinite = 0 if nll_clip else infinite_rows(predictions)
    if infinite:
        text = (
            f"{_rows(infinite, 'gives', 'give')} the true class a probability of 0: the NLL is "
            "infinite and left out."
        )
        out.append(Notice(NoticeCode.NLL_INFINITE, text))
    return tuple(notice for notice in out if notice)


def _names(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _rows(count: int, singular: str = "", plural: str = "") -> str:
    """Return a number of rows, with the verb that agrees with it."""
    return f"1 row {singular}".rstrip() if count == 1 else f"{count:,} rows {plural}".rstrip()


def _zero(predictions: Predictions) -> Notice | None:
    """Count rows that give some class a probability of exactly 0."""
    if predictions.task is Task.TOP_LABEL:
        return None
    impossible = -np.inf if predictions.kind is ScoreKind.LOGITS else 0.0
    scores = predictions.scores.reshape(predictions.n, -1)
    masked = predictions.task is Task.MULTILABEL and predictions.labelled
    rows = 0
    for chunk in row_chunks(*scores.shape):
        zero = scores[chunk] == impossible
        if masked:  # a score without a label enters no number
            zero &= predictions.labels[chunk] >= 0
        rows += int(np.count_nonzero(zero.any(axis=1)))
    if not rows:
        return None
    return Notice(
        NoticeCode.ZERO_PROBABILITY,
        f"{_rows(rows, 'gives', 'give')} some class a probability of exactly 0. Nothing was "
        "clipped.",
    )


def infinite_rows(predictions: Predictions) -> int:
    """Return the number of rows whose true class has probability 0."""
    return int(np.count_nonzero(np.isneginf(predictions.rows.log_p_true)))


def nll_reason(rows: int) -> str:
    """Return why the NLL of a part has no value, given its rows whose true class has 0."""
    return f"{NoticeCode.NLL_INFINITE}: {_rows(rows, 'gives', 'give')} the true class 0"


def _absent(predictions: Predictions) -> Notice | None:
    """Name classes without rows; of a top-label file the classes are not known."""
    if predictions.task is Task.TOP_LABEL:
        return None
    names = predictions.class_names
    if predictions.task is Task.MULTILABEL:
        labels = predictions.labels
        one_sided = np.flatnonzero(~((labels == 1).any(axis=0) & (labels == 0).any(axis=0)))
        rows = "labelled row" if (labels < 0).any() else "row"
        is_there = (labels[:, one_sided] == 1).any()
        many = one_sided.size > 1
        words = f"labels {'occur' if many else 'occurs'} in no {rows}"
        if is_there:
            words = f"labels {'are' if many else 'is'} the same in every {rows}"
        words += f", so {'they have' if many else 'it has'} no AUROC"
    else:
        present = np.bincount(predictions.labels, minlength=len(names))
        one_sided = np.flatnonzero(present == 0)
        words = f"classes {'has' if one_sided.size == 1 else 'have'} no row in this file"
    if not one_sided.size:
        return None
    listed = _names([names[k] for k in one_sided])
    return Notice(NoticeCode.CLASS_ABSENT, f"{one_sided.size} of {len(names)} {words}: {listed}.")


def _rescaled(predictions: Predictions) -> Notice | None:
    """Point out scores that rank rows well but say far more than there is.

    A rare finding's score is often rescaled so that the operating point lies at one half.
    """
    targets = {Task.BINARY: [1], Task.MULTILABEL: range(predictions.n_classes)}
    if predictions.kind is ScoreKind.LOGITS or predictions.task not in targets:
        return None
    rescaled = []
    for k in targets[predictions.task]:
        outcomes = predictions.outcomes(k)
        says, share = (
            float(np.average(column, weights=outcomes.weights))
            for column in (outcomes.confidence, outcomes.correct)
        )
        # Far too high and yet well ranked, as scores are that were rescaled.
        far = share > 0.0 and says - share >= RESCALED_GAP and says >= RESCALED_RATIO * share
        if far and auroc(SortedOutcomes.of(outcomes)) >= RESCALED_AUROC:
            rescaled.append((predictions.class_names[k], says, share))
    if not rescaled:
        return None
    name, says, share = max(rescaled, key=lambda entry: entry[1] - entry[2])
    more = f" (and {len(rescaled) - 1} more)" if len(rescaled) > 1 else ""
    return Notice(
        NoticeCode.NOT_PROBABILITY,
        f"{name}{more}: the score says {100 * says:.1f} % on average, but it is there in "
        f"{100 * share:.1f} %. A rescaled score or fewer events than in training can do that, "
        "among other causes; recalibrating may mend it.",
    )


def _events_of_few(groups: GroupSummary, predictions: Predictions) -> list[Notice]:
    """Say which event is seen in few groups alone, though there are many."""
    of_row, several = predictions.sampling.groups, predictions.task is Task.MULTILABEL
    if of_row is None or groups.n < FEW_GROUPS or not (several or predictions.task is Task.BINARY):
        return []
    names = predictions.class_names if several else predictions.class_names[1:]
    few = []
    for name, labels in zip(names, predictions.labels.reshape(predictions.n, -1).T, strict=True):
        events = of_row[labels == 1]
        holders = np.unique(events).size
        if holders < min(FEW_HOLDERS, events.size):
            few.append((holders, events.size, name))
    if not few:
        return []
    holders, events, name = min(few)
    more = f" ({len(few) - 1} more labels in fewer than {FEW_HOLDERS})" if len(few) > 1 else ""
    text = (
        f"“{name}” is seen in {events:,} rows of {holders} {group_nouns(groups.column)[1]} "
        f"alone{more}: what is said of it hangs on these few."
    )
    return [Notice(NoticeCode.FEW_GROUPS, text)]


def extent_notices(groups: GroupSummary | None, predictions: Predictions) -> tuple[Notice, ...]:
    """Return what belongs together and what it is worth, and whether groups or weights are few."""
    out = []
    n = (
        predictions.n
        if predictions.weights is None
        else np.count_nonzero(predictions.weights.of_row)
    )
    if groups is not None:
        unit, units = group_nouns(groups.column)
        by = f" ({groups.column})" if units == "groups" else ""
        each = " for one label, on average" if predictions.task is Task.MULTILABEL else ""
        whole, allow = round(groups.effective_n), "Intervals, noise floors and verdicts"
        effective_n = min(round(whole, min(0, 3 - len(str(whole)))), int(n))  # three digits
        text = f"{n:,} rows of {groups.n:,} {units}{by}"
        if groups.largest == 1:
            text += ", one row each: each counts for itself."
        elif effective_n < n:
            alike = ":" if groups.column == COPIES else f". Rows of one {unit} may be alike:"
            text += f"{alike} they {groups.count_as} {effective_n:,}{each}. {allow} allow for it."
        elif groups.column == COPIES:
            text += f". {allow} draw the copies together."
        elif groups.n < FEW_GROUPS:
            text += f", too few to tell how alike rows of one {unit} are. {allow} draw by {unit}."
        else:
            text += (
                f". Rows of one {unit} look no more alike than others. {allow} were drawn by "
                f"{unit} all the same."
            )
        out.append(Notice(NoticeCode.GROUPED, text))
        if groups.n < FEW_GROUPS:
            few = f"{groups.n} {units}{by} are few: intervals are rough."
            out.append(Notice(NoticeCode.FEW_GROUPS, few))
        if predictions.sampling.groups is not None:
            # Where groups of equal size would have to be few to be as uneven
            concentration = RowUnits.of(predictions.n, predictions.sampling).concentration
            if concentration > CONCENTRATED and groups.n >= FEW_GROUPS:
                large = (
                    f"a few large groups by {groups.column} hold much of the weight: "
                    f"{groups.n:,} groups count like {1.0 / concentration:.0f} of equal size. "
                    "Intervals may be too short."
                )
                out.append(Notice(NoticeCode.FEW_GROUPS, large))
            out += _events_of_few(groups, predictions)
    summary = weight_summary(predictions.weights)
    if summary is not None and predictions.weights is not None:
        text = (
            f"rows count by {summary.column}: {n:,} rows count as about "
            f"{round(summary.effective_n):,} of equal weight."
        )
        out.append(Notice(NoticeCode.WEIGHTED, text))
        if weight_concentration(predictions.weights) > CONCENTRATED:
            ruled = f"a few rows carry much of the weight by {summary.column}"
            out.append(Notice(NoticeCode.FEW_WEIGH, f"{ruled}: intervals and verdicts are rough."))
    return tuple(out)


def summary_of(column: str, ranked: SortedOutcomes) -> GroupSummary:
    """Return what the groups of sorted rows make of them."""
    sizes, weights = np.bincount(ranked.units.of_row), ranked.row_weights
    effective_n = ranked.effective_n(ranked.confidence - ranked.correct)
    kish = float(weights.sum() ** 2 / (weights @ weights))  # as many rows of equal weight
    return GroupSummary(
        column=column,
        n=sizes.size,
        largest=int(sizes.max()),
        design_effect=kish / effective_n,
        effective_n=effective_n,
    )


def weight_concentration(weights: Weights) -> float:
    """Return the concentration of the weights: sum w^3 / (sum w sum w^2), 1 / n to 1."""
    shares = weights.of_row / weights.of_row.sum()
    return float((shares**3).sum() / (shares @ shares))


def weight_summary(weights: Weights | None) -> WeightSummary | None:
    """Return what weights make of the rows."""
    if weights is None:
        return None
    of_row = weights.of_row
    return WeightSummary(weights.name, float(of_row.sum() ** 2 / (of_row @ of_row)))
