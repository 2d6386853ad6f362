"""Predictions: what a file says, checked once and frozen; and Outcomes, what is audited.

Imports numpy and our arrays, configs and errors only.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from core.arrays import (
    PASS_BYTES,
    Bool,
    Float,
    Int,
    digest,
    empty,
    frozen,
    log_sigmoid,
    log_softmax,
    row_chunks,
    shared,
    texts_as_arrays,
    wide_enough,
)
from core.errors import Refused

MOST_ROWS = 1e12  # that whole weights may stand for, and votes for a class of a row
SHARES_OFF = 0.02  # from 1, that shares of votes written with few digits may sum to
DIGEST = "2-"  # the version of what `Predictions.digest` is taken of; the first says none
DIGEST_MORE = "3-"  # of rows with dates or members, which the version before took no part of
NO_DATE: Final = -(2**63)  # NaT of NumPy
BLANK_DATES: Final = {"", "-", "nat", "nan", "na", "n/a", "<na>", "null", "none"}
DATE: Final = re.compile(
    r"(?:(?P<year>\d{4})(?P<by>[-/.])(?P<month>\d\d?)(?P=by)(?P<day>\d\d?)"
    r"|(?P<first>\d\d?)(?P<sep>[-/.])(?P<second>\d\d?)(?P=sep)(?P<last>\d{4}))"
    r"(?P<time>[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)?"
)
# What rows may belong to, with its plural; what comes first is offered first.
GROUP_NOUNS: Final = {
    "patient": "patients", "subject": "subjects", "participant": "participants",
    "person": "persons", "user": "users", "speaker": "speakers", "author": "authors",
    "case": "cases", "study": "studies", "series": "series", "image": "images", "film": "films",
    "document": "documents", "question": "questions", "site": "sites", "hospital": "hospitals",
    "centre": "centres", "center": "centers", "clinic": "clinics", "scanner": "scanners",
    "annotator": "annotators", "rater": "raters", "reader": "readers",
}  # fmt: skip
COPIES: Final = "copies"  # name of groups that are copies of one row, which no column says
GRAINS = 2.0**30  # parts of a row that weights are kept to; 8,000,000 rows sum exactly


class Task(StrEnum):
    """What kind of answer a row holds."""

    MULTICLASS = "multiclass"
    BINARY = "binary"
    MULTILABEL = "multilabel"
    TOP_LABEL = "top_label"


class ScoreKind(StrEnum):
    """What the numbers of a score matrix are."""

    LOGITS = "logits"
    PROBABILITIES = "probabilities"
    SIGMOID = "sigmoid"
    CONFIDENCE = "confidence"


def group_nouns(column: str) -> tuple[str, str]:
    """Return what one and what several groups of a column are called: patient, patients."""
    if column == COPIES:
        return "set of copies", "sets of copies"
    words = [word.lower() for word in re.findall("[A-Z]+(?![a-z])|[A-Z]?[a-z]+", column[:300])]
    named = [word for word in GROUP_NOUNS if word in words or GROUP_NOUNS[word] in words]
    return (named[0], GROUP_NOUNS[named[0]]) if named else ("group", "groups")


@dataclass(frozen=True)
class Groups:
    """Which rows belong together: films of a patient, rows of a site, crops of an image."""

    name: str  # column that says so, for example ``patient``
    of_row: Int  # (N,), number of each row's group, 0..G-1, every one of them in use

    @classmethod
    def of(cls, name: str, values: Sequence[str]) -> Self:
        """Return the groups of a column, numbered.

        Parameters
        ----------
        name : str
            The column.
        values : (N,) sequence of str
            Group of each row.

        Raises
        ------
        Refused
            GROUPS: a row without a group, or one group only.
        """
        missing = next((row for row, value in enumerate(values) if not value.strip()), None)
        if missing is not None:
            what, remedy = f"row {missing} has no {name}", "give every row a group"
            raise Refused("GROUPS", what, remedy, f"row {missing}")
        names, of_row = np.unique(np.asarray(values, dtype=np.str_), return_inverse=True)
        if names.size < 2:
            what = f"Every row has the same {name}"
            remedy = "rows of one group say nothing about others; leave the column out"
            raise Refused("GROUPS", what, remedy)
        return cls(name, of_row.astype(np.int64))

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.of_row.max(initial=-1)) + 1

    @property
    def single(self) -> bool:
        """Whether every group has one row, which is as good as no groups."""
        return self.count == self.of_row.size and bool(np.bincount(self.of_row).all())

    def take(self, rows: Int) -> Self:
        """Return the groups of some rows, renumbered."""
        _, of_row = np.unique(self.of_row[rows], return_inverse=True)
        return type(self)(self.name, of_row.astype(np.int64))


@dataclass(frozen=True)
class Weights:
    """How many rows each row stands for."""

    name: str  # column that says so
    # (N,), at least 0, in units of rows: whole numbers stay as they are, so that weight 2 is the
    # row twice; others are scaled to sum to the number of rows above 0, and kept to a billionth, so
    # that their sums are exact: where all rows came true, so did all of their weight
    of_row: Float

    @classmethod
    def of(cls, name: str, values: Float) -> Self:
        """Check the weights of a column, and bring them to units of rows.

        Parameters
        ----------
        name : str
            The column.
        values : (N,) float64
            As they were read.

        Raises
        ------
        Refused
            WEIGHTS: one is negative, missing or infinite, all are 0, or they stand for more rows
            than can be counted.
        """
        weights = np.asarray(values, dtype=np.float64)
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
        if bad.size:
            row = int(bad[0])
            what = f"Weight {weights[row]:g} in column {name}"
            remedy = "give every row a number that is not negative"
            raise Refused("WEIGHTS", what, remedy, f"row {row}")
        with np.errstate(over="ignore"):
            total = float(weights.sum())
        if total == 0.0:
            what = f"Every weight in column {name} is 0"
            raise Refused("WEIGHTS", what, "give at least one row a weight above 0")
        whole = bool(np.all(weights == np.round(weights)))
        if total > MOST_ROWS and (whole or np.isinf(total)):
            what = f"Weights in column {name} stand for {total:.3g} rows"
            remedy = f"divide them, so that they stand for at most {MOST_ROWS:.0e}"
            raise Refused("WEIGHTS", what, remedy, f"row {int(weights.argmax())}")
        if whole:
            return cls(name, weights)
        weights = weights / weights.max()  # so that no scale is too small to be divided by
        scaled = weights * (np.count_nonzero(weights) / weights.sum())
        return cls(name, np.round(scaled * GRAINS) / GRAINS)

    def take(self, rows: Int) -> Self:
        """Return the weights of some rows, in units of these rows."""
        taken = self.of_row[rows]
        return self.of(self.name, taken) if taken.any() else type(self)(self.name, taken)


@dataclass(frozen=True)
class Votes:
    """What people said of each row."""

    name: str  # column or file that says so
    # (N, K), votes for each class: whole numbers, or shares that sum to 1 in each row. A row of
    # zeros was put to nobody.
    of_row: Float

    @classmethod
    def of(cls, name: str, values: Float, class_names: Sequence[str] = ()) -> Self:
        """Check the votes of a file; shares are brought to sum to 1.

        Parameters
        ----------
        name : str
            Column or file, for messages.
        values : (N, K) float64
            As they were read; a row of NaN was put to nobody.
        class_names : sequence of K str
            For messages.

        Raises
        ------
        Refused
            VOTES: some are negative, infinite or missing, there are none at all, or they are
            neither whole numbers nor shares of 1.
        """
        votes = np.array(values, dtype=np.float64)
        votes[np.isnan(votes).all(axis=1)] = 0.0
        bad = np.argwhere(~(np.isfinite(votes) & (votes >= 0.0)))
        if bad.size:
            row, column = bad[0].tolist()
            called = class_names[column] if class_names else column
            what = f"{votes[row, column]:g} votes for class {called} in {name}"
            remedy = "give every class a number of votes that is not negative"
            if np.isnan(votes[row, column]):
                what = f"No number of votes for class {called} in {name}"
                remedy = "write 0 for a class that nobody chose"
            raise Refused("VOTES", what, remedy, f"row {row}")
        many = np.flatnonzero(votes.max(axis=1, initial=0.0) > MOST_ROWS)
        if many.size:
            row = int(many[0])
            what = f"{votes[row].max():g} votes for a class in {name}"
            raise Refused("VOTES", what, f"give at most {MOST_ROWS:g} votes a class", f"row {row}")
        total = votes.sum(axis=1)
        if not total.any():
            what = f"Every row of {name} is without votes"
            raise Refused("VOTES", what, "give at least one row that people voted on")
        if np.array_equal(votes, np.round(votes)):
            return cls(name, votes)
        odd = np.flatnonzero((total > 0.0) & (np.abs(total - 1.0) > SHARES_OFF))
        if odd.size:
            row = int(odd[0])
            what = f"Votes in {name} are fractions that sum to {total[row]:g}"
            remedy = "give whole numbers of votes, or shares that sum to 1 in each row"
            raise Refused("VOTES", what, remedy, f"row {row}")
        return cls(name, votes / np.where(total > 0.0, total, 1.0)[:, None])

    @property
    def counted(self) -> bool:
        """Whether these are numbers of votes; shares do not tell how many people were asked."""
        return bool(np.array_equal(self.of_row, np.round(self.of_row)))

    @property
    def totals(self) -> Float:
        """Votes of each row, or the sum of its shares, (N,)."""
        return np.asarray(self.of_row.sum(axis=1))

    @property
    def voted(self) -> Int:
        """Numbers of the rows that people voted on."""
        return np.flatnonzero(self.totals > 0.0)

    def take(self, rows: Int) -> Self:
        """Return the votes of some rows."""
        return type(self)(self.name, self.of_row[rows])


@dataclass(frozen=True)
class Dates:
    """When each row is of; no number is taken of it."""

    name: str  # column that says so
    # (N,), microseconds since 1970, in UTC where the file names zones; NO_DATE where nothing is
    # said
    of_row: Int

    @classmethod
    def of(cls, name: str, cells: Sequence[str]) -> Self | None:
        """Return the dates in (N,) cells; None where one is none, or may be of two days.

        3/4/2021 is the third of April only where another cell shows it, as 13/4/2021 does.
        """
        matches = {
            cell: DATE.fullmatch(cell) for cell in set(cells) if cell.lower() not in BLANK_DATES
        }
        known = {cell: match for cell, match in matches.items() if match is not None}
        short = [match for match in known.values() if match["first"] and match["sep"] != "."]
        beyond = [any(int(match[part]) > 12 for match in short) for part in ("first", "second")]
        if not known or len(known) < len(matches) or (short and beyond[0] == beyond[1]):
            return None
        try:
            moments = {cell: _moment(match, month_first=beyond[1]) for cell, match in known.items()}
            start = datetime(1970, 1, 1, tzinfo=next(iter(moments.values())).tzinfo and UTC)
            since = {
                cell: (at - start) // timedelta(microseconds=1) for cell, at in moments.items()
            }
        except (ValueError, TypeError):  # no such day; or a zone is named in some cells only
            return None
        return cls(name, np.array([since.get(cell, NO_DATE) for cell in cells], dtype=np.int64))

    @property
    def texts(self) -> npt.NDArray[np.str_]:
        """Dates in ISO 8601, (N,), as short as all of them allow; empty where there is none."""
        known = self.of_row[self.of_row != NO_DATE]
        step = next((step for step in (86_400_000_000, 1_000_000) if not (known % step).any()), 1)
        unit = {86_400_000_000: "D", 1_000_000: "s"}.get(step, "us")
        stamps = self.of_row.view("datetime64[us]").astype(f"datetime64[{unit}]")
        texts = stamps.astype(np.str_)
        return np.where(self.of_row == NO_DATE, "", texts)

    def take(self, rows: Int) -> Self:
        """Return the dates of some rows."""
        return type(self)(self.name, self.of_row[rows])


def _moment(match: re.Match[str], *, month_first: bool) -> datetime:
    """Return what a text means that `DATE` matches."""
    if match["year"]:
        year, month, day = match["year"], match["month"], match["day"]
    elif month_first and match["sep"] != ".":
        year, month, day = match["last"], match["first"], match["second"]
    else:
        year, day, month = match["last"], match["first"], match["second"]
    time = (match["time"] or "").replace(" ", "T", 1).replace(" ", "")
    return datetime.fromisoformat(f"{year}-{month:0>2}-{day:0>2}{time}")


@dataclass(frozen=True)
class Members:
    """What each member of an ensemble, or each pass of dropout, says; its mean is audited."""

    name: str  # the array that says so
    of_row: npt.NDArray[np.floating]  # (N, M, K), as the file has them: of the kind of the scores


class SamplingDesign(NamedTuple):
    """How rows were drawn: which belong together, and how many each stands for; (N,) or None."""

    groups: Int | None = None
    weights: Float | None = None

    @property
    def independent(self) -> bool:
        """Whether every row counts once and for itself."""
        return self.groups is None and self.weights is None

    def take(self, rows: Bool | Int | slice) -> "SamplingDesign":
        """Return groups and weights of some of the rows."""
        groups, weights = self
        return SamplingDesign(
            None if groups is None else groups[rows], None if weights is None else weights[rows]
        )


INDEPENDENT = SamplingDesign()


@dataclass(frozen=True)
class Outcomes:
    """Claims and what became of them: the input of every reliability metric."""

    # (N,) in [0, 1], the claim: top-label confidence, or the probability of one class or label
    confidence: Float
    # (N,), whether the claim came true: the answer was right, or the class or label was present
    correct: Bool
    # (N,), number of each row's group; without it every row is independent of the others
    groups: Int | None = None
    weights: Float | None = None  # (N,), how many rows each stands for; without it one

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.confidence.size)

    @property
    def sampling(self) -> SamplingDesign:
        """Groups and weights."""
        return SamplingDesign(self.groups, self.weights)


@dataclass(frozen=True, kw_only=True)
class RowStats:
    """Everything one pass over the score matrix yields for each row."""

    # (N,), probability of the predicted class (its largest; the lowest index on ties)
    confidence: Float
    predicted: Int  # (N,), predicted class
    correct: Bool  # (N,), predicted class equals label
    log_p_true: Float  # (N,), natural logarithm of the true class's probability; -inf where it is 0
    brier: Float  # (N,), sum over classes of (p - onehot)^2, in [0, 2]
    tied: int  # rows whose largest score is shared by several classes


@dataclass(frozen=True)
class Predictions:
    """Scores and labels of one split.

    Raises
    ------
    Refused
        LENGTH_MISMATCH, CLASSES, LABEL_RANGE, EMPTY, VOTES: the invariants that all readers share.

    Notes
    -----
    Arrays are shared, not copied, and read-only here: who hands them over no longer writes into
    them. Scores keep their dtype; computation is float64.
    """

    task: Task  # multiclass, binary, multilabel or top_label
    kind: ScoreKind  # what the scores are. Declared by the reader, never guessed here.
    # (N, K) for multiclass; (N, 2) or (N,) for binary, the latter being the score of class 1; (N,
    # L) for multilabel; (N,) confidences for top_label
    scores: npt.NDArray[np.floating]
    # (N,) in 0..K-1; (N, L) of 0/1 for multilabel, -1 where nobody knows whether the label is
    # present: such a row counts in no number of that label
    labels: Int
    class_names: tuple[str, ...] = ()  # K names (L for multilabel); empty means "0", "1", ..
    predicted: Int | None = None  # (N,), the predicted class; given for top_label only
    row_ids: tuple[str, ...] = ()  # (N,), what the file calls each row
    # Divide each row of probabilities by its sum, because the reader said so in a notice
    renormalise: bool = False
    # False for inputs that belong to none of the classes: all labels are -1 then, and nothing that
    # needs the truth can be asked. Stated confidences may be any finite numbers then, the larger
    # the more familiar, and need no `predicted`.
    labelled: bool = True
    groups: Groups | None = None  # which rows belong together; intervals and verdicts honour it
    weights: Weights | None = None  # how many rows each stands for; every number honours it
    # What people said of each row, for each class; of one answer a row with every class's score
    votes: Votes | None = None
    dates: Dates | None = None  # when each row is of
    # What the scores are the mean of; of a whole split only, no other scores or fewer rows
    members: Members | None = None

    def __post_init__(self) -> None:
        """Check, and see to it that nobody writes into the arrays through this."""
        put = object.__setattr__
        put(self, "scores", shared(self.scores))
        put(self, "labels", shared(self.labels.astype(np.int64, copy=False)))
        if self.predicted is not None:
            put(self, "predicted", shared(self.predicted.astype(np.int64, copy=False)))
        names = tuple(self.class_names) or tuple(str(k) for k in range(self._column_count()))
        put(self, "class_names", names)
        put(self, "row_ids", tuple(self.row_ids))
        if self.groups is not None:
            put(self, "groups", Groups(self.groups.name, shared(self.groups.of_row)))
        if self.weights is not None:
            put(self, "weights", Weights(self.weights.name, shared(self.weights.of_row)))
        if self.votes is not None:
            put(self, "votes", Votes(self.votes.name, shared(self.votes.of_row)))
        if self.dates is not None:
            put(self, "dates", Dates(self.dates.name, shared(self.dates.of_row)))
        if self.members is not None:
            put(self, "members", Members(self.members.name, shared(self.members.of_row)))
        _check(self)

    @cached_property
    def digest(self) -> str:
        """Digest of scores, labels, names and all that is known of the rows; what caches go by.

        It begins with `DIGEST` or `DIGEST_MORE`, the version of what it is taken of.
        """
        parts: list[npt.NDArray[np.generic] | str] = [self.task, self.kind, str(self.renormalise)]
        parts += [str(len(self.class_names)), *self.class_names, self.scores, self.labels]
        if self.predicted is not None:
            parts += ["predicted", self.predicted]
        if self.row_ids:
            parts += ["row ids", *texts_as_arrays(self.row_ids)]
        columns = (("groups", self.groups), ("weights", self.weights), ("votes", self.votes))
        for kind, column in columns:
            if column is not None:
                parts += [kind, column.name, column.of_row]
        version = DIGEST
        for kind, more in (("dates", self.dates), ("members", self.members)):
            if more is not None:
                version, parts = DIGEST_MORE, [*parts, kind, more.name, more.of_row]
        return version + digest(*parts)

    def digest_as(self, stated: str) -> str:
        """Return the digest in the version of another that a file states, to be held against it."""
        if stated.startswith(DIGEST):
            return replace(self, dates=None, members=None).digest
        return self.digest if stated.startswith(DIGEST_MORE) else self.first_digest

    @cached_property
    def first_digest(self) -> str:
        """Digest as runs and reports of versions before state it.

        Row ids and the names of columns are no part of it, and class names are joined by ``|``.
        """
        arrays = [self.scores, self.labels]
        flags = f"{self.task}|{self.kind}|{self.renormalise}|{'|'.join(self.class_names)}"
        if self.predicted is not None:
            arrays.append(self.predicted)
        columns = (("groups", self.groups), ("weights", self.weights), ("votes", self.votes))
        for name, column in columns:
            if column is not None:
                arrays.append(column.of_row)
                flags = f"{flags}|{name}"
        return digest(flags, *arrays)

    def holds_rows_of(self, other: "Predictions") -> bool:
        """Whether scores, labels and answers are those of another split, to the bit."""
        pairs = [(self.scores, other.scores), (self.labels, other.labels)]
        if self.predicted is not None and other.predicted is not None:
            pairs.append((self.predicted, other.predicted))
        return all(_equal(own, others) for own, others in pairs)

    def _column_count(self) -> int:
        if self.task is Task.TOP_LABEL:
            answers = self.labels if self.predicted is None else self.predicted
            highest = max(self.labels.max(initial=0), answers.max(initial=0))
            return max(2, int(highest) + 1)
        return 2 if self.scores.ndim == 1 else self.scores.shape[1]

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.scores.shape[0])

    @cached_property
    def sampling(self) -> SamplingDesign:
        """Groups and weights of the rows, as arrays; no groups where each has one row."""
        together = self.groups is not None and not self.groups.single
        groups = self.groups.of_row if self.groups is not None and together else None
        return SamplingDesign(groups, None if self.weights is None else self.weights.of_row)

    def labelled_rows(self, label: int) -> Int | None:
        """Return the numbers of the rows in which one of many labels is known; None for all.

        Raises Refused EMPTY: it is known in none, or in none of any weight.
        """
        if self.task is not Task.MULTILABEL or not self.labelled:
            return None
        known = self.labels[:, label] >= 0
        if known.all():
            return None
        weighted = known if self.weights is None else known & (self.weights.of_row > 0.0)
        if not weighted.any():
            rows = "row" if self.weights is None else "row with a weight"
            what = f"No {rows} of this part has a label of {self.class_names[label]}"
            raise Refused("EMPTY", what, "leave the finding out, or give rows that are labelled")
        return np.flatnonzero(known)

    def sampling_of(self, rows: Int) -> SamplingDesign:
        """Return groups and weights of some rows, as arrays."""
        groups = None if self.groups is None else self.groups.take(rows)
        weights = None if self.weights is None else self.weights.take(rows).of_row
        return SamplingDesign(None if groups is None or groups.single else groups.of_row, weights)

    @property
    def total(self) -> float:
        """Weight of all rows: their number where nothing is weighted."""
        return self.n if self.weights is None else float(self.weights.of_row.sum())

    @property
    def n_classes(self) -> int:
        """Number of classes; of labels for multilabel."""
        return len(self.class_names)

    @property
    def softmax_of_logits(self) -> bool:
        """Whether the probabilities are the softmax of each row of a matrix of logits."""
        one_answer = self.task in {Task.MULTICLASS, Task.BINARY}
        return one_answer and self.kind is ScoreKind.LOGITS and self.scores.ndim == 2

    @property
    def default_target(self) -> int | None:
        """What is audited first: the positive class of a binary task, else the answer given."""
        return {Task.BINARY: 1, Task.MULTILABEL: 0}.get(self.task)

    def take(self, rows: Int) -> Self:
        """Return some rows, by their numbers, with all that is known of them but members."""
        scores = empty((len(rows), *self.scores.shape[1:]), self.scores.dtype)
        for part in row_chunks(len(rows), scores[:1].size):  # as a whole it might be copied first
            scores[part] = self.scores[rows[part]]
        return replace(
            self,
            scores=scores,
            labels=self.labels[rows],
            predicted=None if self.predicted is None else self.predicted[rows],
            row_ids=tuple(self.row_ids[row] for row in rows.tolist()) if self.row_ids else (),
            groups=None if self.groups is None else self.groups.take(rows),
            weights=None if self.weights is None else self.weights.take(rows),
            votes=None if self.votes is None else self.votes.take(rows),
            dates=None if self.dates is None else self.dates.take(rows),
            members=None,
        )

    def column(self, index: int) -> Float:
        """Return the probability of one class or label, (N,) float64."""
        if self.task is Task.TOP_LABEL:
            raise Refused(
                "CLASSES", "The file holds top-label confidences only", "add full class scores"
            )
        if self.scores.ndim == 1 or self.task is Task.MULTILABEL:
            raw = self.scores if self.scores.ndim == 1 else self.scores[:, index]
            flip = self.scores.ndim == 1 and index == 0
            if self.kind is ScoreKind.LOGITS:
                signed = raw.astype(np.float64)
                return np.asarray(np.exp(log_sigmoid(-signed if flip else signed)))
            positive = raw.astype(np.float64)
            return 1.0 - positive if flip else positive
        out = np.empty(self.n)
        for rows in row_chunks(self.n, self.n_classes):
            out[rows] = self.probabilities(rows)[:, index]
        return out

    def probabilities(self, rows: slice = slice(None)) -> Float:
        """Return class probabilities, (n, K) float64; per-label ones, (n, L), for multilabel."""
        scores = self.scores[rows]
        if self.task is Task.TOP_LABEL:
            raise Refused(
                "CLASSES", "The file holds top-label confidences only", "add full class scores"
            )
        if self.kind is ScoreKind.LOGITS:
            if scores.ndim == 1:
                signed = np.column_stack([-scores.astype(np.float64), scores])
                return np.asarray(np.exp(log_sigmoid(signed)))
            if self.task is Task.MULTILABEL:
                return np.asarray(np.exp(log_sigmoid(scores)))
            return _softmax(scores)
        wide = scores.astype(np.float64)
        if wide.ndim == 1:
            return np.column_stack([1.0 - wide, wide])
        if self.renormalise:
            wide /= wide.sum(axis=1, keepdims=True)
        return wide

    def log_probabilities(self, rows: slice = slice(None)) -> Float:
        """Return natural logarithms of `probabilities`, exact for logits; -inf where p is 0."""
        scores = self.scores[rows]
        if self.kind is ScoreKind.LOGITS and scores.ndim == 2:
            return log_sigmoid(scores) if self.task is Task.MULTILABEL else log_softmax(scores)
        if self.kind is ScoreKind.LOGITS:
            return log_sigmoid(np.column_stack([-scores.astype(np.float64), scores]))
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities(rows))

    @cached_property
    def rows(self) -> RowStats:
        """Top-label statistics of each row, computed in one pass and kept."""
        self._need_labels()
        if self.task is Task.MULTILABEL:
            raise Refused("CLASSES", "A multi-label file has no single answer", "pick a label")
        if self.task is Task.TOP_LABEL:
            # Such files state confidence and answer; the rest is unknown
            assert self.predicted is not None
            unknown = np.full(self.n, np.nan)
            return RowStats(
                confidence=frozen(self.scores.astype(np.float64)),
                predicted=self.predicted,
                correct=frozen(self.predicted == self.labels),
                log_p_true=frozen(unknown),
                brier=frozen(unknown),
                tied=0,
            )
        return _logit_rows(self) if self.softmax_of_logits else _probability_rows(self)

    def set_row_stats(self, rows: RowStats) -> None:
        """Take the top-label statistics that another process computed of the same scores."""
        self.__dict__["rows"] = rows  # where `cached_property` keeps it

    def outcomes(self, target: int | None) -> Outcomes:
        """Return what is audited.

        Parameters
        ----------
        target : int or None
            None: the answer given (top label). A number: that class or label, one against rest.

        Returns
        -------
        Outcomes
            Confidence and whether it came true, (N,) each; of a label that is not known in every
            row, only the `labelled_rows`.
        """
        self._need_labels()
        if target is None:
            return Outcomes(self.rows.confidence, self.rows.correct, *self.sampling)
        claims, known = self.column(target), self.labelled_rows(target)
        if self.task is not Task.MULTILABEL:
            return Outcomes(frozen(claims), frozen(self.labels == target), *self.sampling)
        present = self.labels[:, target] == 1
        if known is None:
            return Outcomes(frozen(claims), frozen(present), *self.sampling)
        return Outcomes(frozen(claims[known]), frozen(present[known]), *self.sampling_of(known))

    def _need_labels(self) -> None:
        if not self.labelled:
            raise Refused(
                "NO_LABELS",
                "These inputs belong to none of the classes, so no answer is right or wrong",
                "audit a labelled part, or open them on the Out of distribution page",
            )


def _check(predictions: Predictions) -> None:
    """Refuse what no reader may hand over."""
    scores, labels, task = predictions.scores, predictions.labels, predictions.task
    if scores.shape[0] == 0:
        raise Refused("EMPTY", "The file holds no rows", "give at least one row of scores")
    if labels.shape[0] != scores.shape[0]:
        raise Refused(
            "LENGTH_MISMATCH",
            f"The scores have {scores.shape[0]} rows, the labels {labels.shape[0]}",
            "give one label for each row",
        )
    if predictions.n_classes < (1 if task is Task.MULTILABEL else 2):
        raise Refused("CLASSES", "One class only", "give at least two columns, or a binary score")
    columns, exact = predictions._column_count(), task is not Task.TOP_LABEL
    if predictions.n_classes < columns or (exact and predictions.n_classes != columns):
        what = (
            f"There are {predictions.n_classes} names of classes for {columns} columns or answers"
        )
        raise Refused("CLASSES", what, "name every class, and no others")
    if task is Task.MULTILABEL and labels.shape != scores.shape:
        raise Refused(
            "LENGTH_MISMATCH",
            f"Scores are {scores.shape} and labels {labels.shape}",
            "give one 0/1 label for each score",
        )
    for column in (predictions.groups, predictions.weights, predictions.dates):
        if column is not None and column.of_row.shape != (scores.shape[0],):
            rows = column.of_row.size
            what = f"The scores have {scores.shape[0]} rows, {column.name} has {rows}"
            raise Refused("LENGTH_MISMATCH", what, f"give one {column.name} for each row")
    members = predictions.members
    if members is not None and (members.of_row.ndim != 3 or len(members.of_row) != len(scores)):
        what = f"The scores are {scores.shape}, those of members {members.of_row.shape}"
        raise Refused("LENGTH_MISMATCH", what, "give every member a score for each row and class")
    if predictions.votes is not None:
        _check_votes(predictions, predictions.votes)
    low = 0 if predictions.labelled and task is not Task.MULTILABEL else -1
    top = (2 if task is Task.MULTILABEL else predictions.n_classes) if predictions.labelled else 0
    bad = np.argwhere((labels < low) | (labels >= top))
    if bad.size:
        row = int(bad[0, 0])
        raise Refused(
            "LABEL_RANGE",
            f"Label {labels[tuple(bad[0])]} outside 0..{top - 1}",
            "number labels from 0",
            location=f"row {row}",
        )


def _check_votes(predictions: Predictions, votes: Votes) -> None:
    """Refuse votes for other classes or rows than there are scores."""
    if predictions.task not in {Task.MULTICLASS, Task.BINARY}:
        what = f"Votes are for classes, and the file holds {predictions.task.value} scores"
        raise Refused("VOTES", what, "give scores of every class, of which one is the answer")
    shape = predictions.n, predictions.n_classes
    if votes.of_row.shape != shape:
        rows, classes = votes.of_row.shape
        what = f"The scores have {shape[0]} rows of {shape[1]} classes, {votes.name} has"
        what += f" {rows} rows of {classes}"
        raise Refused("VOTES", what, "give one number of votes for each class of each row")


def _equal(first: npt.NDArray[np.generic], second: npt.NDArray[np.generic]) -> bool:
    """Whether two arrays are equal; of large ones that are not, the first rows say so."""
    if first is second or first.shape != second.shape:
        return first is second
    chunks = row_chunks(first.shape[0], first[:1].size)
    return all(np.array_equal(first[rows], second[rows]) for rows in chunks)


def _softmax(logits: npt.NDArray[np.floating]) -> Float:
    from core.compiled.rows import write_softmax

    out = np.empty(logits.shape)
    write_softmax(wide_enough(logits), out)
    return out


def _logit_rows(predictions: Predictions) -> RowStats:
    """One pass over a matrix of logits."""
    from core.compiled.rows import read_rows

    n = predictions.n
    real, predicted, tied = np.empty((3, n)), np.empty(n, dtype=np.int64), 0
    for rows in row_chunks(n, predictions.n_classes, PASS_BYTES):
        scores, labels = wide_enough(predictions.scores[rows]), predictions.labels[rows]
        total, log_p_true, brier = real[:, rows]
        tied += read_rows(scores, labels, total, log_p_true, brier, predicted[rows])
        log_p_true -= np.log(total)
        np.divide(1.0, total, out=total)
    return _kept_rows(predictions, real, predicted, tied)


def _probability_rows(predictions: Predictions) -> RowStats:
    """Return the same from probabilities, or from one logit a row, in chunks that fit the cache."""
    n = predictions.n
    real, predicted, tied = np.empty((3, n)), np.empty(n, dtype=np.int64), 0
    for rows in row_chunks(n, predictions.n_classes):
        truth, p = predictions.labels[rows], predictions.probabilities(rows)
        best, real[:, rows] = _probability_block(predictions, rows, p, truth)
        predicted[rows] = best
        top = p[np.arange(best.size), best]
        tied += int(np.count_nonzero((p == top[:, None]).sum(axis=1) > 1))
    return _kept_rows(predictions, real, predicted, tied)


def _kept_rows(predictions: Predictions, real: Float, predicted: Int, tied: int) -> RowStats:
    """Return, frozen, confidence, log p of the truth and Brier, (3, N), with the answers."""
    confidence, log_p_true, brier = (shared(row) for row in real)
    return RowStats(
        confidence=confidence,
        predicted=shared(predicted),
        correct=shared(predicted == predictions.labels),
        log_p_true=log_p_true,
        brier=brier,
        tied=tied,
    )


def _probability_block(
    predictions: Predictions, rows: slice, p: Float, truth: Int
) -> tuple[Int, Float]:
    """Return answers, and confidence, log p of the truth and Brier, (3, n), of some rows.

    The log p of a binary logit stays exact.
    """
    at = np.arange(truth.size)
    best = p.argmax(axis=1)
    log_p = predictions.log_probabilities(rows)[at, truth]
    brier = np.einsum("ij,ij->i", p, p) - 2.0 * p[at, truth] + 1.0
    return best, np.stack([p[at, best], log_p, np.maximum(brier, 0.0)])
