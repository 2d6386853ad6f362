"""A file of votes as it lies there: numbers that may be votes, and what may name the rows."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from core.arrays import Float
from core.errors import Notice, Refused
from core.readers.formats.contents import Contents, Entry, FileBytes, id_text, is_text, is_whole
from core.readers.tables.judgements import count_judgements

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


def read_votes_file(source: FileBytes) -> VoteFile:
    """Return the numbers and names of rows in a file of any format that scores may have.

    Judgements that come one a line are counted.

    Raises
    ------
    Refused
        VOTES: it holds no numbers, or two judgements of one person on a row. Any code of a reader
        of `core.readers.formats`.
    """
    from core.readers.formats.gunzip import unpacked
    from core.readers.formats.parse import read_contents  # the child's own

    contents = read_contents(unpacked(source))
    judged = count_judgements(contents)
    if judged is not None:
        notices = (*contents.notices, judged.notice)
        return VoteFile(judged.counts, {judged.column: judged.rows}, notices, judgements=True)
    entries = dict(list(contents.entries.items())[:MAX_ENTRIES])
    numbers = {name: entry.astype(np.float64) for name, entry in entries.items() if _counts(entry)}
    if not numbers:
        what = f"No numbers in the file (it holds {', '.join(entries) or 'nothing'})"
        what += "".join(f"; {notice.text}" for notice in contents.notices)
        raise Refused("VOTES", what[:300], "give a number of votes for each class of each row")
    return VoteFile(numbers, _row_names(contents), contents.notices)


def _counts(entry: Entry) -> bool:
    return not is_text(entry) and entry.ndim in (1, 2) and entry.dtype.kind in "fiu"


def _row_names(contents: Contents) -> dict[str, tuple[str, ...]]:
    """Return the columns that may name rows: texts or whole numbers, most of them distinct."""
    names = {}
    for name, entry in contents.entries.items():
        if entry.ndim != 1 or not (is_text(entry) or is_whole(entry)):
            continue
        values = [str(value).strip() for value in id_text(entry).tolist()]
        if len(values) > 1 and len(set(values)) > len(values) / 2:
            names[name] = tuple(values)
    return names
