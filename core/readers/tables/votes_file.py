"""A file of votes as it lies there: numbers that may be votes, and what may name the rows."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from core.arrays import Float
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.contents import Contents, Entry, FileBytes, id_text, is_text, is_whole
from core.readers.predictions.roles import IDS, words_of

PEOPLE = {
    "annotator", "rater", "judge", "worker", "coder", "user", "participant", "labeller", "labeler",
}  # fmt: skip
ANSWERS = {"label", "answer", "choice", "vote", "judgement", "judgment", "class", "category"}
MOST_LABELS = 1_000
MAX_ENTRIES = 2_000  # columns that are looked at


@dataclass(frozen=True)
class VoteFile:
    """What a file of votes holds.

    Attributes
    ----------
    numbers : mapping of str to (M,) or (M, K) float64
        Columns and arrays of numbers, in the order of the file.
    names : mapping of str to tuple of M str
        Columns that may name the rows: most of their values are distinct.
    notices : tuple of Notice
        What was assumed in reading.
    name, digest : str
        The file's name and the digest of its bytes.
    judgements : bool
        Whether `numbers` are counts of labels, of which a class that nobody chose is none.
    """

    numbers: Mapping[str, Float]
    names: Mapping[str, tuple[str, ...]]
    notices: tuple[Notice, ...] = ()
    name: str = ""
    digest: str = ""
    judgements: bool = False

    @property
    def distinct(self) -> frozenset[str]:
        """Those of `names` that hold no value twice."""
        return frozenset(key for key, names in self.names.items() if len(set(names)) == len(names))


def count_judgements(contents: Contents) -> VoteFile | None:
    """Return the votes of a file with one judgement a line; None where it is no such file.

    It has one column called like people, one like what they said, and one like what they said it
    of, or no other; and some rows come several times. Empty cells say nothing.

    Raises
    ------
    Refused
        VOTES: one of them judged a row twice.
    """
    left = [name for name, entry in contents.entries.items() if entry.ndim == 1]
    chosen = []
    for known in (PEOPLE, ANSWERS, IDS):
        called = [name for name in left if known & set(words_of(name))]
        if known is IDS and len(left) == 1:
            called = left
        if len(called) != 1:
            return None
        chosen.append(called[0])
        left = [name for name in left if name != called[0]]
    if len({contents.entries[name].size for name in chosen}) > 1:
        return None
    people, answer, judged = chosen
    seen: set[tuple[str, str]] = set()
    rows: dict[str, int] = {}
    cells: list[tuple[int, str]] = []
    for person, row, label in zip(
        *(_cells(contents.entries[name]) for name in (people, judged, answer)), strict=True
    ):
        if not (row and label):
            continue
        if (person, row) in seen:
            what = f"{people} {person} judged {judged} {row} twice"
            raise Refused("VOTES", what, "keep one judgement of each", "file of votes")
        seen.add((person, row))
        cells.append((rows.setdefault(row, len(rows)), label))
    # Whole numbers by value, before words by the alphabet.
    words = sorted({label for _, label in cells})
    numbers = sorted((word for word in words if word.isdecimal()), key=int)
    labels = [*numbers, *(word for word in words if not word.isdecimal())]
    if len(rows) == len(cells) or len(labels) > MOST_LABELS:
        return None
    counts = {label: np.zeros(len(rows)) for label in labels}
    for place, label in cells:
        counts[label][place] += 1.0
    text = f"{answer} was counted as one vote of each {people} for {judged}"
    notices = (*contents.notices, Notice(NoticeCode.KEYS_GUESSED, text))
    return VoteFile(counts, {judged: tuple(rows)}, notices, judgements=True)


def _cells(entry: Entry) -> list[str]:
    """Return cells as text, empty where a number is missing."""
    there = ~np.isnan(entry) if entry.dtype.kind == "f" else np.ones(entry.size, dtype=bool)
    out = np.full(entry.size, "", dtype=object)
    out[there] = id_text(entry[there])
    return [str(cell).strip() for cell in out.tolist()]


def read_votes_file(source: FileBytes) -> VoteFile:
    """Return the numbers and names of rows in a file of any format that scores may have.

    Judgements that come one a line are counted.

    Raises
    ------
    Refused
        VOTES: it holds no numbers, or two judgements of one person on a row. Any code of a reader
        of `core.readers.formats`.
    """
    from core.readers.formats.archive import unpacked
    from core.readers.formats.parse import read_contents  # the child's own

    contents = read_contents(unpacked(source))
    judged = count_judgements(contents)
    if judged is not None:
        return judged
    entries = dict(list(contents.entries.items())[:MAX_ENTRIES])
    numbers = {
        name: entry.astype(np.float64)
        for name, entry in entries.items()
        if not is_text(entry) and entry.ndim in (1, 2) and entry.dtype.kind in "fiu"
    }
    if not numbers:
        what = f"No numbers in the file (it holds {', '.join(entries) or 'nothing'})"
        what += "".join(f"; {notice.text}" for notice in contents.notices)
        raise Refused("VOTES", what[:300], "give a number of votes for each class of each row")
    # Columns that may name rows: texts or whole numbers, most of them distinct.
    names = {}
    for name, entry in contents.entries.items():
        if entry.ndim != 1 or not (is_text(entry) or is_whole(entry)):
            continue
        values = [str(value).strip() for value in id_text(entry).tolist()]
        if len(values) > 1 and len(set(values)) > len(values) / 2:
            names[name] = tuple(values)
    return VoteFile(numbers, names, contents.notices)
