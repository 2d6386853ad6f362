"""Whether a reading bears its assumptions out: better than chance, and no rival far better.

Without the compiled loops of `core.metrics`: the sealed child cannot load them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import numpy.typing as npt

from core.arrays import Bool, Float, Int, empty, row_chunks, sigmoid
from core.defaults import N_BINS
from core.errors import Refused
from core.metrics.binning import bin_index, equal_width_edges
from core.predictions import ScoreKind, Task
from core.readers.predictions.kinds import could_be_twice
from core.readers.predictions.labels import ANOTHER, RIGHT, WRONG
from core.readers.predictions.names import listed, words_of
from core.readers.predictions.result import (
    AnswersPerRow,
    Question,
    ReadChoice,
    ReadOptions,
    Units,
    classes_text,
    undecided,
)
from core.readers.predictions.validate import JudgedSplit, answers

ENOUGH = 20  # rows below which nothing is concluded from how often answers are right
FAR = 0.1  # by which another reading is better, at least
UNSURE = 0.2  # by which a softmax of a softmax says less than it is right, at least
MOST_CLASSES = 1_000  # of stated answers, for which another numbering is looked for
MOST_LABELS = 40  # for which every pair of columns is looked at
MOST_ROWS = 20_000  # of which the columns of many labels are compared
MOST_RANKED = 1_000_000  # rows by which classes and labels are ranked
RARE = 10  # rows with a label below which its AUROC says little
CLEAR = 0.65  # mean AUROC from which columns are in their order
MOSTLY = 0.5  # accuracy from which another reading is no accident
ABOUT_ONE = 0.25  # how far from one thing a row logits of findings that happen alone may be
HEAD = 1_000  # rows looked at to tell such logits
SHOWN = 3  # labels named in the example of a row


@dataclass(frozen=True)
class AnswerSkill:
    """How well answers agree with labels, and what blind answers would reach."""

    value: float  # accuracy; of one class or many labels, the (mean) AUROC
    chance: float  # what the same answers would reach on rows in a random order
    error: float  # standard error of `value` under chance
    n: int  # rows

    @property
    def plausible(self) -> bool:
        """Whether answers are better than blind ones; few rows are given the benefit."""
        return self.n < ENOUGH or self.beats_chance

    @property
    def beats_chance(self) -> bool:
        """Whether answers are better than blind ones, however few the rows."""
        return self.value > self.chance + 3.0 * self.error

    @property
    def reversed(self) -> bool:
        """Whether answers are worse than blind ones."""
        return self.n >= ENOUGH and self.value < self.chance - 3.0 * self.error

    def far_below(self, other: "AnswerSkill") -> bool:
        """Whether another reading of the same rows is better by more than noise explains."""
        return bool(other.value - self.value > max(FAR, 2.0 / sqrt(self.n)))


def skill(ready: JudgedSplit) -> AnswerSkill | None:
    """Return how well a part's answers agree with its labels; None where that says nothing."""
    if not ready.labelled or ready.task is Task.TOP_LABEL:
        return None
    if ready.task is Task.MULTICLASS:
        return _accuracy(ready)
    scores, labels = ready.prepared.scores, ready.labels
    # A random row of each stretch: files are often sorted, and
    # every step-th row could be of one class.
    step = -(-len(scores) // MOST_RANKED)
    if step > 1:
        n = len(scores) // step
        rows = np.arange(n) * step + np.random.default_rng(0).integers(step, size=n)
        scores, labels = scores[rows], labels[rows]
    # What ranks the rows, and the truth, for one class or for each label.
    if ready.task is Task.MULTILABEL:
        judged = labels >= 0
        columns = [
            (scores[judged[:, k], k].astype(np.float64), labels[judged[:, k], k] == 1)
            for k in range(scores.shape[1])
        ]
    elif scores.ndim == 1:
        columns = [(scores.astype(np.float64), labels == 1)]
    else:
        wide = scores.astype(np.float64)
        columns = [(wide[:, 1] - wide[:, 0], labels == 1)]
    ranked = [_auroc(scores, truth) for scores, truth in columns]
    known = [estimate for estimate in ranked if estimate is not None]
    if not known:
        return None
    values, errors = zip(*known, strict=True)
    error = float(np.sqrt(np.mean(np.square(errors)) / len(errors)))
    return AnswerSkill(float(np.mean(values)), 0.5, error, max(len(t) for _, t in columns))


def _agreement(table: Int) -> AnswerSkill:
    """Return the accuracy of a table of labels and answers beside that of shuffled rows."""
    n = table.sum()
    chance = float((table.sum(axis=1) * table.sum(axis=0)).sum()) / float(n) ** 2
    error = float(np.sqrt(chance * (1.0 - chance) / n))
    return AnswerSkill(float(np.trace(table)) / float(n), chance, error, int(n))


def _accuracy(ready: JudgedSplit) -> AnswerSkill:
    """Return the accuracy beside that of shuffled rows, without a table of all pairs of classes."""
    scores, k = ready.prepared.scores, len(ready.class_names)
    best = _by_rows(np.argmax, scores)
    n = len(best)
    shares = np.bincount(best, minlength=k) / n, np.bincount(ready.labels, minlength=k) / n
    chance = float((shares[0] * shares[1]).sum())
    right = float((best == ready.labels).mean())
    return AnswerSkill(right, chance, sqrt(chance * (1.0 - chance) / n), n)


def _by_rows(choose: Callable[..., Int], scores: npt.NDArray[np.floating]) -> Int:
    """Return the column that is chosen in each row; NumPy would copy a mapped matrix whole."""
    blocks = row_chunks(*scores.shape)
    return np.concatenate([choose(scores[rows], axis=1) for rows in blocks])


def _auroc(scores: Float, truth: Bool) -> tuple[float, float] | None:
    present = int(truth.sum())
    absent = truth.size - present
    if present == 0 or absent == 0:
        return None
    error = np.sqrt((present + absent + 1) / (12.0 * present * absent))
    of_score = np.unique(scores, return_inverse=True)[1]
    positives = np.bincount(of_score, truth)
    negatives = np.bincount(of_score) - positives
    below = np.cumsum(negatives) - 0.5 * negatives  # equal scores count one half
    return float(positives @ below) / (present * absent), float(error)


def ask_one_hot(ready: JudgedSplit, options: ReadOptions) -> None:
    """Ask whether logits beside rows of one 1 each are of one answer, or of one finding a row.

    Columns of labels in a table are findings as often as classes; an array is called one-hot
    unless its logits, each by itself, say about one thing a row.
    """
    labels = ready.prepared.labels
    open_kind = ready.verdict.kind is ScoreKind.LOGITS and labels.one_hot
    if not open_kind or options.answers is not None or ready.prepared.units is not None:
        return
    scores = ready.prepared.scores
    named = "onehot" in words_of(ready.prepared.part.labels_name.replace("_", ""))
    separately = float(sigmoid(scores[:HEAD].astype(np.float64)).sum(axis=1).mean())
    if named or not (ready.prepared.part.contents.table or abs(separately - 1.0) < ABOUT_ONE):
        return
    raise undecided(
        "Each row of labels holds one 1: one class out of several, or findings that happen alone",
        ReadChoice("one class is true in each row (softmax)", {"answers": AnswersPerRow.ONE}),
        ReadChoice("any number of findings may be true (sigmoid)", {"answers": AnswersPerRow.MANY}),
    )


def mapping_question(ready: JudgedSplit) -> Question | None:
    """Return the question which column means which label, where their order reads badly.

    Only where nothing but the order of columns pairs them with labels.
    """
    labels = ready.prepared.labels
    if ready.labelled and ready.task is Task.TOP_LABEL:
        # Answers and labels may number or name the same classes in different ways.
        predicted, truth = ready.prepared.predicted, ready.labels
        assert predicted is not None
        k = int(max(predicted.max(), truth.max())) + 1
        judged = {ANOTHER, WRONG} & set(ready.class_names)  # labels that say right or wrong only
        if judged or len(predicted) < ENOUGH or k > MOST_CLASSES:
            return None
        rival = _rival(predicted, truth, k)
        if rival is None or rival[0].plausible:
            return None
        own, other, _, _ = rival
        what = (
            f"Answers and labels are the same in {100 * own.value:.0f} % of rows, and would be in"
            f" {100 * other.value:.0f} % if classes were numbered or named alike"
        )
        location = ready.prepared.part.labels_name
        return Question(Refused("CLASSES", what, "write both alike", location), ())
    if not labels.texts or not ready.labelled:
        return None
    if ready.task is Task.MULTICLASS and not labels.by_name:
        texts = ready.prepared.labels.texts
        if len(ready.prepared.scores) < ENOUGH or len(texts) > MOST_CLASSES:
            return None
        scores = ready.prepared.scores
        best = _by_rows(np.argmax, scores)
        # The order assumed is compared with the one under which answers and labels agree best.
        rival = _shifted(best, ready.labels, texts) or _rival(best, ready.labels, len(texts))
        if rival is None:
            return None
        own, other, columns, table = rival
        # The label that each column stands for where they are assigned as they agree best.
        names = [""] * len(texts)
        for label, column in enumerate(columns.tolist()):
            names[column] = texts[label]
        present = np.flatnonzero(table.sum(axis=1) > 0)
        counted_from_0 = texts == tuple(str(k) for k in range(len(texts)))
        if counted_from_0 and np.all(columns[present] == present - 1):
            names = [str(k + 1) for k in range(len(texts))]
        taken, better = classes_text(texts), classes_text(tuple(names))
        what = (
            f"Labels in the order of the columns are right in {100 * own.value:.0f} % of rows,"
            f" in another order in {100 * other.value:.0f} %"
        )
        return undecided(
            what,
            ReadChoice(f"columns stand for {listed(texts)}", {"classes": taken}),
            ReadChoice(f"columns stand for {listed(names)}", {"classes": better}),
        )
    single = ready.prepared.scores.ndim == 1  # its name may say something else than its class
    if ready.task is not Task.BINARY or (labels.by_name and not single):
        return None
    reached = skill(ready)
    if reached is None or not reached.reversed or reached.value > 0.5 - 0.5 * FAR:
        return None
    if answers(ready).correct.mean() >= 0.5:  # the other way round, more answers were wrong
        return None
    first, second = labels.texts
    return undecided(
        f"Scores of {second} are lower where rows are labelled {second}",
        ReadChoice(
            f"{first}, then {second}: mostly wrong", {"classes": classes_text((first, second))}
        ),
        ReadChoice(f"{second}, then {first}", {"classes": classes_text((second, first))}),
    )


def _shifted(
    answers: Int, labels: Int, texts: tuple[str, ...]
) -> tuple[AnswerSkill, AnswerSkill, Int, Int] | None:
    """Return what `_rival` does where labels count from 1 and no row has the last class.

    One order alone is tried, so all rows may judge it.
    """
    k = len(texts)
    if labels.min() < 1 or texts != tuple(str(n) for n in range(k)):
        return None
    table = np.bincount(labels * k + answers, minlength=k * k).reshape(k, k)
    columns = np.roll(np.arange(k), 1)
    own, other = _agreement(table), _agreement(table[:, columns])
    return (own, other, columns, table) if own.far_below(other) and other.beats_chance else None


def _rival(answers: Int, labels: Int, k: int) -> tuple[AnswerSkill, AnswerSkill, Int, Int] | None:
    """Return the skill of answers as they are and in the order that suits them, if far better.

    Half of the rows choose that order and the others judge it, as the best of K! orders agrees
    with the rows that chose it by luck.
    """
    half = np.arange(len(answers)) % 2 == 0
    whole, first, second = (
        np.bincount(labels[rows] * k + answers[rows], minlength=k * k).reshape(k, k)
        for rows in (slice(None), half, ~half)
    )
    present = whole.sum(axis=1) > 0
    if np.all(whole.argmax(axis=1)[present] == np.flatnonzero(present)):
        return None
    own, other = _agreement(second), _agreement(second[:, _partners(first)])
    if not own.far_below(other) or not other.beats_chance:
        return None
    columns = _partners(whole)
    return _agreement(whole), _agreement(whole[:, columns]), columns, whole


def _partners(table: Int) -> Int:
    """Return for each label the column that answers it most often, each column once.

    The largest counts choose first; labels and columns that are left over pair in their order.
    """
    partners = np.full(len(table), -1, dtype=np.int64)
    taken = np.zeros(len(table), dtype=np.bool_)
    cells = np.flatnonzero(table)
    for cell in cells[np.argsort(-table.ravel()[cells], kind="stable")].tolist():
        label, column = divmod(cell, len(table))
        if partners[label] < 0 and not taken[column]:
            partners[label], taken[column] = column, True
    partners[partners < 0] = np.flatnonzero(~taken)
    return partners


def turned_question(ready: JudgedSplit) -> Question | None:
    """Return the refusal of scores that read far better turned, or with the other sign."""
    scores, labels = ready.prepared.scores, ready.labels
    if (
        not ready.labelled
        or ready.task is not Task.MULTICLASS
        or ready.prepared.part.contents.table
    ):
        return None
    own, name = _accuracy(ready), ready.prepared.part.scores_name
    if own.value >= MOSTLY:
        return None
    if scores.shape[0] == scores.shape[1]:
        turned = replace(own, value=float((scores.argmax(axis=0) == labels).mean()))
        if turned.value > MOSTLY and own.far_below(turned):
            what = f"{name} is square, and right far more often with columns as samples"
            remedy = "transpose it, so that each row is a sample"
            return Question(Refused("CLASSES", what, remedy, name), ())
    negated = replace(own, value=float((_by_rows(np.argmin, scores) == labels).mean()))
    if negated.value > MOSTLY and own.far_below(negated):
        what = f"{name} is smallest, not largest, for the true class"
        remedy = "negate it: energies, distances and losses are not logits"
        return Question(Refused("CLASSES", what, remedy, name), ())
    return None


def crossed_question(ready: JudgedSplit) -> Question | None:
    """Return the refusal of many labels whose columns agree far better in another order."""
    scores, labels = ready.prepared.scores, ready.labels
    unnamed = not ready.prepared.part.contents.table
    if not (unnamed and ready.labelled and ready.task is Task.MULTILABEL):
        return None
    if (labels < 0).any():  # each finding is known in other rows
        return None
    frequent = (labels.sum(axis=0) >= RARE) & ((1 - labels).sum(axis=0) >= RARE)
    at = np.flatnonzero(frequent)[:MOST_LABELS]
    rows = slice(None, None, max(1, len(scores) // MOST_ROWS))
    ranks: Float = scores[rows][:, at].astype(np.float64)
    truth: Bool = labels[rows][:, at] == 1
    if len(at) < 2 or _mean_auroc(ranks, truth) > CLEAR:
        return None
    half = np.arange(len(ranks)) % 2 == 0  # one half chooses partners, the other judges them
    # The AUROC of every column for every label; the best partners
    # of one half must also win on the other.
    first = [
        [_rank(ranks[half, j], truth[half, i]) for j in range(len(at))] for i in range(len(at))
    ]
    partners = _partners(np.round(1e6 * np.array(first)).astype(np.int64))
    own = _mean_auroc(ranks[~half], truth[~half])
    best = _mean_auroc(ranks[~half][:, partners], truth[~half])
    if best - own <= FAR + FAR:
        return None
    what = (
        f"Scores agree with other columns of labels (AUROC {best:.2f}) than their own ({own:.2f})"
    )
    remedy = "bring the columns of labels into the order of the scores"
    return Question(Refused("CLASSES", what, remedy, ready.prepared.part.labels_name), ())


def _mean_auroc(scores: Float, labels: Bool) -> float:
    return float(np.mean([_rank(scores[:, k], labels[:, k]) for k in range(scores.shape[1])]))


def _rank(scores: Float, truth: Bool) -> float:
    ranked = _auroc(scores, truth)
    return 0.5 if ranked is None else ranked[0]


def twice_question(ready: JudgedSplit) -> Question | None:
    """Return the question whether softmax was taken twice, where no row is sure of anything."""
    prepared, verdict = ready.prepared, ready.verdict
    plain = verdict.kind is ScoreKind.PROBABILITIES and prepared.units is None
    if not plain or prepared.scores.ndim != 2 or ready.task is Task.MULTILABEL:
        return None
    if len(prepared.scores) < ENOUGH or not could_be_twice(prepared.scores):
        return None
    stated = answers(ready)
    if stated.correct.mean() - stated.confidence.mean() < UNSURE:
        return None
    name = prepared.part.scores_name
    surest = f"{100 * float(stated.confidence.max()):.0f} %"
    return undecided(
        f"No row of {name} is more confident than {surest}, as after a softmax taken twice",
        ReadChoice("softmax taken twice", {"units": Units.SOFTMAX_TWICE}),
        ReadChoice("probabilities as given", {"scores": ScoreKind.PROBABILITIES}),
    )


def consequences(ready: JudgedSplit) -> tuple[float, float, str]:
    """Return accuracy and ECE of a reading, both fractions, and what the ECE is of.

    It is the ECE that opens the audit of the file: of the event of one score, of the answers of
    two columns; of labels the mean.
    """
    stated = answers(ready)
    right = float(stated.correct.mean())
    if ready.task is Task.MULTILABEL:
        claims, present, known = _claims(ready), ready.labels == 1, ready.labels >= 0
        errors = [
            _error(claims[known[:, k], k], present[known[:, k], k]) for k in range(known.shape[1])
        ]
        return right, float(np.mean(errors)), "mean over labels"
    if ready.task is not Task.BINARY:
        return right, _error(stated.confidence, stated.correct), ""
    if ready.prepared.scores.ndim == 1:
        return right, _error(_claims(ready), ready.labels == 1), "of the event"
    correct, tied = stated.correct.copy(), np.flatnonzero(stated.confidence == 0.5)
    correct[tied] = np.arange(tied.size) % 2 == 0  # as in `core.metrics.top_label.answers`
    return right, _error(stated.confidence, correct), "of the answers"


def _claims(ready: JudgedSplit) -> Float:
    """Return the probability of the event, (N,), or of each label, (N, L)."""
    several = ready.labels.ndim == 2
    claims = empty(ready.prepared.scores.shape)
    for rows in row_chunks(len(claims), ready.prepared.shape.columns):
        probabilities = ready.probabilities(rows)
        claims[rows] = probabilities if several else probabilities[:, 1]
    return claims


def _error(claims: Float, came_true: Bool) -> float:
    bins = bin_index(claims, equal_width_edges(N_BINS))
    gaps = np.bincount(bins, claims - came_true)
    return float(np.abs(gaps).sum() / claims.size)


def example(ready: JudgedSplit) -> str:
    """Return what the first row says, in words."""
    names, scores = [_called(name) for name in ready.class_names], ready.prepared.scores
    if ready.task is Task.TOP_LABEL:
        predicted, own = ready.prepared.predicted, ready.prepared.class_names
        assert predicted is not None
        answer = int(predicted[0])
        answer_name = _called(own[answer] if own else str(answer))
        verdict = ", correct" if answer == int(ready.labels[0]) else ", wrong"
        name = "" if answer_name == RIGHT else f" {answer_name}"
        sure = f"{100.0 * float(scores[0]):.0f} %"
        return f"first row: answers{name} at {sure}{verdict if ready.labelled else ''}"
    probabilities = ready.probabilities(slice(0, 1))[0]
    if ready.task is Task.MULTILABEL:
        percents = [
            f"{names[k]} {100 * probabilities[k]:.0f} %" for k in range(min(SHOWN, len(names)))
        ]
        true = [names[k] for k in np.flatnonzero(ready.labels[0] == 1).tolist()]
        return f"first row: says {', '.join(percents)}; labelled {listed(true) or 'with none'}"
    best = 1 if scores.ndim == 1 else int(probabilities.argmax())
    text = f"first row: says {names[best]} with {100 * probabilities[best]:.0f} %"
    return f"{text}, labelled {names[int(ready.labels[0])]}" if ready.labelled else text


def _called(name: str) -> str:
    """Return a class's name for a sentence, where a bare number would read as a count."""
    return f"class {name}" if name.isdecimal() else name[:60]
