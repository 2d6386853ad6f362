"""A part of a file as predictions: shapes, labels, kind of scores; every assumption is said."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from core.arrays import Int, row_chunks
from core.errors import Notice, Refused
from core.predictions import Predictions, ScoreKind, Task
from core.readers.contents import Entry, is_text
from core.readers.kinds import Shape, Verdict, decide
from core.readers.labels import ANY_CLASS, Labels, read_labels
from core.readers.options import ReadOptions
from core.readers.parts import Part, counted
from core.readers.survey import Survey, survey


@dataclass(frozen=True)
class Prepared:
    """A part whose shapes and labels are settled; only the kind of scores is open.

    Attributes
    ----------
    part : Part
        Where it comes from.
    scores : (N, K), (N, L) or (N,) float
        Oriented so that rows are samples.
    labels : Labels
        As numbers.
    predicted : (N,) int64 or None
        Stated answers of a top-label file.
    class_names : tuple of str
        Names of the classes; empty when nothing names them.
    seen : Survey
        Range and sums of the scores.
    shape : Shape
        What the rule about kinds needs.
    notices : tuple of Notice
        What was assumed so far.
    """

    part: Part
    scores: npt.NDArray[np.floating]
    labels: Labels
    predicted: Int | None
    class_names: tuple[str, ...]
    seen: Survey
    shape: Shape
    notices: tuple[Notice, ...]

    def decide(self, declared: ScoreKind | None) -> Verdict:
        """Return what the scores are; see `core.readers.kinds.decide`."""
        return decide(declared, self.part.kind, self.seen, self.shape, self.part.scores_name)

    def task(self, kind: ScoreKind) -> Task:
        """Return what kind of answer a row holds, once the kind of scores is known."""
        if self.shape.top_label:
            return Task.TOP_LABEL
        if self.shape.multilabel or (self.labels.one_hot and kind is ScoreKind.SIGMOID):
            return Task.MULTILABEL
        return Task.BINARY if self.shape.columns in (1, 2) else Task.MULTICLASS


def prepare(part: Part, options: ReadOptions) -> Prepared:
    """Settle orientation and labels of a part and survey its scores.

    Raises
    ------
    Refused
        DTYPE, EMPTY, CLASSES, LENGTH_MISMATCH, LABEL_..., NONFINITE, AMBIGUOUS_KEYS.
    """
    if options.unlabelled:
        part = _without_labels(part)
    assert part.labels is not None
    scores, labels, notices = _oriented(part, part.labels)
    _check_shape(scores, options, part)
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    columns = 1 if scores.ndim == 1 else scores.shape[1]
    if part.predicted is not None:
        predicted, found, names = _top_label(part, labels)
    else:
        predicted = None
        names = part.class_names if len(part.class_names) == columns else ()
        found = read_labels(labels, n_columns=columns, class_names=names, row_name=part.row)
        names = names or found.names
    _check_lengths(scores, found.values, part)
    numbers = _floats(scores)
    coarse = part.contents.coarse.get(part.scores_name, 0.0)
    seen = survey(numbers, row_name=part.row, printed=part.contents.printed, coarse=coarse)
    shape = Shape(
        columns, found.values.ndim == 2, found.one_hot, predicted is not None, options.unlabelled
    )
    said = () if options.unlabelled else (*notices, *found.notices)
    return Prepared(part, numbers, found, predicted, names, seen, shape, said)


def _without_labels(part: Part) -> Part:
    """Return a part whose labels are of no interest: any that would do stand in their place."""
    stand_in = np.zeros(len(part.scores) if part.scores.ndim else 0, np.int64)
    return replace(part, labels=stand_in if part.predicted is None else part.predicted)


def _oriented(part: Part, labels: Entry) -> tuple[Entry, Entry, tuple[Notice, ...]]:
    """Make rows samples: an array with one column for each label was stored the other way."""
    scores = part.scores
    if labels.ndim == 2 and labels.shape[0] == 1 and labels.size == scores.shape[0] > 1:
        labels = labels.reshape(-1)
    if part.contents.table or scores.ndim != 2 or labels.ndim == 0:
        return scores, labels, ()
    rows, columns = scores.shape
    if rows != len(labels) == columns:
        text = (
            f"{part.scores_name} is {rows} x {columns} with {columns} labels: columns are samples"
        )
        return scores.T, labels, (Notice("ORIENTATION", f"{text}; it was transposed"),)
    if rows == columns:
        text = f"{part.scores_name} is {rows} x {columns}: rows were taken as samples"
        return scores, labels, (Notice("ORIENTATION", text),)
    return scores, labels, ()


def _check_shape(scores: Entry, options: ReadOptions, part: Part) -> None:
    where = part.scores_name
    if is_text(scores) or scores.dtype.kind == "b":
        what = f"{'text' if is_text(scores) else 'truth values'} where scores were expected"
        raise Refused("DTYPE", what, "give logits or probabilities, not decisions", where)
    if scores.ndim not in (1, 2):
        what = f"scores of shape {scores.shape}, expected (rows, classes)"
        raise Refused("CLASSES", what, "give one row of scores for each sample", where)
    if scores.size == 0:
        what = f"no scores: shape {scores.shape}"
        raise Refused("EMPTY", what, "give at least one row of scores", where)
    if scores.ndim == 2 and scores.shape[1] == 1 and options.scores is None:
        what = f"one column of scores (shape {scores.shape}), expected at least 2"
        remedy = "give all classes, or declare a binary score with --scores"
        raise Refused("CLASSES", what, remedy, where)


def _check_lengths(scores: Entry, labels: Int, part: Part) -> None:
    if len(scores) != len(labels):
        what = f"{counted(len(scores), 'row')} of scores and {counted(len(labels), 'label')}"
        where = f"{part.scores_name} and {part.labels_name}"
        raise Refused("LENGTH_MISMATCH", what, "give one label for each row", where)
    if labels.ndim == 2 and labels.shape != scores.shape:
        what = f"scores are {scores.shape} and labels {labels.shape}"
        where = f"{part.scores_name} and {part.labels_name}"
        raise Refused("LENGTH_MISMATCH", what, "give one 0/1 label for each score", where)


def _floats(scores: Entry) -> npt.NDArray[np.floating]:
    """Whole numbers become floats that hold them exactly; floats stay as they are."""
    if scores.dtype.kind == "f":
        return scores  # type: ignore[return-value]
    return scores.astype(np.float32 if scores.dtype.itemsize <= 2 else np.float64)


def _top_label(part: Part, labels: Entry) -> tuple[Int, Labels, tuple[str, ...]]:
    """Answers and labels share one set of classes: numbers, or names in alphabetical order."""
    assert part.predicted is not None
    if part.predicted.size != labels.size:
        what = f"{counted(part.predicted.size, 'answer')} and {counted(labels.size, 'label')}"
        raise Refused("LENGTH_MISMATCH", what, "give one label for each row", part.labels_name)
    both = [part.predicted.reshape(-1), labels.reshape(-1)]
    if any(is_text(column) for column in both):
        cells = [[str(v).strip() for v in column.tolist()] for column in both]
        names = tuple(sorted({*cells[0], *cells[1]}))
        at = {name: index for index, name in enumerate(names)}
        predicted, truth = (np.array([at[c] for c in column], dtype=np.int64) for column in cells)
        return predicted, Labels(truth), names
    values = [
        read_labels(column, n_columns=ANY_CLASS, class_names=(), row_name=part.row).values
        for column in both
    ]
    return values[0], Labels(values[1]), ()


def united(parts: list[Prepared]) -> list[Prepared]:
    """Give parts that state answers one set of classes, as each alone may lack some."""
    if not all(part.shape.top_label for part in parts):
        return parts
    found = sorted({name for part in parts for name in part.class_names})
    if found:  # a single class cannot be told from another one
        names = tuple(found) if len(found) > 1 else (*found, "other")
        return [_renumbered(part, names) if part.class_names else part for part in parts]
    highest = max(int(column.max()) for part in parts for column in _stated(part))
    names = tuple(str(k) for k in range(max(2, highest + 1)))
    return [replace(part, class_names=names) for part in parts]


def _stated(part: Prepared) -> tuple[Int, Int]:
    """Answers and labels of a top-label part."""
    assert part.predicted is not None
    return part.predicted, part.labels.values


def _renumbered(part: Prepared, names: tuple[str, ...]) -> Prepared:
    """Return a top-label part with its classes in the order of `names`."""
    at = {name: index for index, name in enumerate(names)}
    place = np.array([at[name] for name in part.class_names], dtype=np.int64)
    predicted, labels = (place[column] for column in _stated(part))
    moved = replace(part.labels, values=labels)
    return replace(part, predicted=predicted, labels=moved, class_names=names)


@dataclass(frozen=True)
class Ready:
    """A part with the verdict about its scores: all that predictions need."""

    prepared: Prepared
    verdict: Verdict

    @property
    def task(self) -> Task:
        """What kind of answer a row holds."""
        return self.prepared.task(self.verdict.kind)

    @property
    def labels(self) -> Int:
        """(N,) classes, or (N, L) 0/1 for multilabel; -1 where there are none."""
        values = self.prepared.labels.values
        if not self.labelled:
            return np.full_like(values, -1)
        if self.task is Task.MULTILABEL and self.prepared.labels.one_hot:
            return np.eye(self.prepared.scores.shape[1], dtype=np.int64)[values]
        return values

    @property
    def labelled(self) -> bool:
        """Whether the rows belong to classes."""
        return not self.prepared.shape.unlabelled

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes: those of the file, else their numbers."""
        count = max(2, self.prepared.shape.columns)
        return self.prepared.class_names or tuple(str(k) for k in range(count))

    @property
    def row_ids(self) -> tuple[str, ...]:
        """Names of the rows; empty when there are none."""
        ids = self.prepared.part.ids
        return () if ids is None else tuple(str(i) for i in ids.tolist())

    def predictions(self) -> Predictions:
        """Return the predictions, checked and copied."""
        return Predictions(
            self.task,
            self.verdict.kind,
            self.prepared.scores,
            self.labels,
            class_names=self.prepared.class_names,
            predicted=self.prepared.predicted,
            row_ids=self.row_ids,
            renormalise=self.verdict.renormalise,
            labelled=self.labelled,
        )


@dataclass(frozen=True)
class Consequence:
    """What follows from a reading: share of right answers, if known, and mean confidence."""

    accuracy: float | None
    mean_confidence: float


def consequence(prepared: Prepared, verdict: Verdict) -> Consequence:
    """Return accuracy and mean confidence under a verdict, without keeping a copy of the scores."""
    found = _consequence(prepared, verdict)
    return replace(found, accuracy=None) if prepared.shape.unlabelled else found


def _consequence(prepared: Prepared, verdict: Verdict) -> Consequence:
    scores, labels = prepared.scores, prepared.labels.values
    if prepared.predicted is not None:
        right = float(np.mean(prepared.predicted == labels))
        return Consequence(right, float(scores.astype(np.float64).mean()))
    if verdict.kind is ScoreKind.SIGMOID and prepared.labels.one_hot:
        labels = np.eye(scores.shape[1], dtype=np.int64)[labels]
    right, sure = 0.0, 0.0
    wide = scores.reshape(len(scores), -1)
    for rows in row_chunks(*wide.shape):
        correct, confidence = _answers(wide[rows], labels[rows], verdict)
        right += float(correct.mean(axis=-1).sum() if correct.ndim == 2 else correct.sum())
        sure += float(confidence.mean(axis=-1).sum() if confidence.ndim == 2 else confidence.sum())
    return Consequence(right / len(scores), sure / len(scores))


def _answers(
    block: npt.NDArray[np.floating], labels: Int, verdict: Verdict
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
    """Return whether each answer is right, and how sure it is."""
    logits = verdict.kind is ScoreKind.LOGITS
    wide = block.astype(np.float64)
    if labels.ndim == 2 or wide.shape[1] == 1:
        each = 0.5 * (1.0 + np.tanh(0.5 * wide)) if logits else wide
        each = each if labels.ndim == 2 else each[:, 0]
        return (each > 0.5) == (labels == 1), np.maximum(each, 1.0 - each)
    top = wide.max(axis=1)
    right = block.argmax(axis=1) == labels
    if logits:
        return right, 1.0 / np.exp(wide - top[:, None]).sum(axis=1)
    return right, top / wide.sum(axis=1) if verdict.renormalise else top


def renamed(prepared: Prepared, several: bool) -> tuple[Notice, ...]:
    """Return the notices of a part, with its name in front when there are several."""
    if not several:
        return prepared.notices
    return tuple(replace(n, text=f"{prepared.part.split}: {n.text}") for n in prepared.notices)
