"""One split as it lies in a file: scores, labels and what belongs to them, not yet judged."""

from dataclasses import dataclass, replace

import numpy as np

from core.errors import Notice, Refused
from core.predictions import Dates, Groups, Members, ScoreKind, Votes, Weights
from core.readers.formats.contents import Contents, Entry
from core.readers.predictions.options import Question

DEFAULT_SPLIT = "test"  # a lone part is what results are reported on
OF_ROWS = ("groups", "weights", "votes", "dates", "members")  # what each row may have besides


@dataclass(frozen=True)
class SplitArrays:
    """One split before its numbers are judged.

    Parameters
    ----------
    split : str
        train, val or test.
    scores, labels : array
        As they lie in the file; labels are None where a second file must bring them.
    scores_name, labels_name : str
        Keys or columns, for messages.
    contents : Contents
        Where they come from, for row names, printed digits and coarse dtypes.
    kind : ScoreKind or None
        What a key or header says the scores are.
    predicted : array or None
        The stated answers of a top-label file.
    ids : array or None
        Names of the rows, text.
    class_names : tuple of str
        Names of the columns; empty when there are none.
    guesses : tuple of Question
        What was assumed about columns, keys and rows, and must be borne out by the answers.
    stated : str
        Of a single column of scores: the word in its name that may say which class it states.
    """

    split: str
    scores: Entry
    scores_name: str
    contents: Contents
    labels: Entry | None = None
    labels_name: str = ""
    kind: ScoreKind | None = None
    predicted: Entry | None = None
    ids: Entry | None = None
    class_names: tuple[str, ...] = ()
    stated: str = ""
    guesses: tuple[Question, ...] = ()
    rows: Entry | None = None  # rows of the file, when a split column picked some
    label_rows: Entry | None = None  # rows of the label file, when they come in another order
    groups: Groups | None = None
    weights: Weights | None = None
    votes: Votes | None = None
    dates: Dates | None = None
    members: Members | None = None

    def row(self, index: int) -> str:
        """Return how a message names a row of this part."""
        return self.contents.row(index if self.rows is None else int(self.rows[index]))

    def take(self, split: str, rows: Entry) -> "SplitArrays":
        """Return the rows of one split."""

        def cut(array: Entry | None) -> Entry | None:
            return None if array is None else array[rows]

        of_rows = {key: getattr(self, key) for key in OF_ROWS}
        kept = {k: replace(c, of_row=c.of_row[rows]) for k, c in of_rows.items() if c is not None}
        return replace(
            self,
            split=split,
            scores=self.scores[rows],
            labels=cut(self.labels),
            predicted=cut(self.predicted),
            ids=cut(self.ids),
            rows=rows if self.rows is None else self.rows[rows],
            label_rows=cut(self.label_rows),
            **kept,
        )


@dataclass(frozen=True)
class FileLayout:
    """The parts of a file, the roles of its entries, and what had to be guessed."""

    parts: tuple[SplitArrays, ...]
    roles: dict[str, str]
    notices: tuple[Notice, ...] = ()


def ambiguous(what: str, remedy: str, location: str = "") -> Refused:
    """Return the refusal for want of a choice."""
    return Refused("AMBIGUOUS_KEYS", what, remedy, location)


def listed(names: list[str] | tuple[str, ...]) -> str:
    """Return a short list of names for a sentence."""
    shown = ", ".join(name[:60] for name in names[:6])
    return f"{shown} and {len(names) - 6} more" if len(names) > 6 else shown


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def label_like(entry: Entry, n_rows: set[int]) -> bool:
    """Whether values could be labels of that many rows: whole numbers or text in one column."""
    flat = entry.ndim == 1 or (entry.ndim == 2 and 1 in entry.shape)
    if not flat or entry.size not in n_rows:
        return False
    if entry.dtype.kind == "f":
        return bool(np.all(np.isfinite(entry)) and np.all(entry == np.floor(entry)))
    return True
