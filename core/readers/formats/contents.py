"""The nouns between bytes and predictions: a source of bytes, and the arrays found in it."""

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from core.arrays import FileMap, address_of, empty, row_chunks
from core.errors import Notice, Refused
from core.predictions import Dates, Groups, Members, ScoreKind, Votes, Weights
from core.readers.predictions.result import Question

# Any dtype: text is an object array of str that a reader of ours made, never one that was loaded.
Entry = npt.NDArray[np.generic]

FIRST_ARRAY = "scores"  # names given to the parts of a tuple, which has none of its own
SECOND_ARRAY = "labels"
STACK_ROWS = 512
COPY_AGAIN = "copy or download it again"


def cut_off(size: int) -> str:
    """Say that a file ends, after `size` bytes, before what it announced; goes with COPY_AGAIN."""
    return f"The file is cut off after {size:,} bytes"


@dataclass(frozen=True)
class FileBytes:
    """The bytes of one file and the name it came with; `data` is read-only.

    `records` names the list or sheet to be read, where there are several.
    """

    name: str
    data: memoryview
    file: BinaryIO
    records: str | None = None

    @classmethod
    def of_bytes(cls, name: str, data: bytes) -> "FileBytes":
        """Return a source over bytes in memory."""
        return cls(name, memoryview(data), io.BytesIO(data))

    @classmethod
    def of_file(cls, name: str, file: BinaryIO) -> "FileBytes":
        """Return a source over an open file, mapped and not copied."""
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        if size == 0:
            return cls(name, memoryview(b""), file)
        return cls(name, memoryview(FileMap.of(file.fileno())), file)

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.data.nbytes

    def offset_of(self, array: Entry) -> int | None:
        """Return at which byte the memory of an array begins here; None where it is elsewhere."""
        if self.size == 0:
            return None
        start = address_of(array) - address_of(np.frombuffer(self.data, np.uint8))
        return start if 0 <= start <= self.size - array.nbytes else None

    def array(self, start: int, dtype: np.dtype[np.generic], shape: Sequence[int]) -> Entry:
        """Return numbers that lie here, row after row, without a copy; ValueError where none do."""
        if min(start, *shape) < 0:
            raise ValueError(shape)
        return np.frombuffer(self.data, dtype, math.prod(shape), start).reshape(shape)

    @property
    def suffix(self) -> str:
        """Last suffix of the name in lower case, without the dot."""
        stem, dot, last = self.name.rpartition(".")
        return last.lower() if dot and stem else ""


@dataclass(frozen=True)
class Contents:
    """What a file holds before anybody says what it means."""

    format: str  # name of the format, for example ``npz``
    # Arrays by key, or the columns of a table, in the order of the file
    entries: Mapping[str, Entry]
    # Whether the entries are columns of one table: (N,), or (N, K) where cells hold lists
    table: bool = False
    headed: bool = True  # whether the columns have names of their own
    printed: bool = False  # whether numbers were written as text, and so rounded to some digits
    # Line of the file that holds row 0, for messages; 0 when rows have no lines
    first_line: int = 0
    # Rounding step near 1 of entries whose dtype here is finer than in the file
    coarse: Mapping[str, float] = field(default_factory=dict)
    # Whether the keys are the file's own; positions in a tuple have names of ours
    named: bool = True
    notices: tuple[Notice, ...] = ()  # what was accepted, but must be said
    # First row and name of each shard that was put together, for messages
    shards: tuple[tuple[int, str], ...] = ()
    # The entries if the parts, or rows, of this file are batches of one part: a list of two or
    # three pairs may be either. None where nothing speaks for it.
    batches: Mapping[str, Entry] | None = None
    # The entry that says which rows belong together, where the format does; empty where not
    group: str = ""
    # At which the file holds the same rows, where the rows of one were taken
    epochs: tuple[str, ...] = ()
    # Entries whose names say percent, of which no value is above 1
    below_one: frozenset[str] = frozenset()
    # Why columns are left out that hold no numbers, texts or lists of one length
    unread: Mapping[str, Refused] = field(default_factory=dict)

    def row(self, index: int) -> str:
        """Return how a message names a row: its number from 0, and its line or shard if any."""
        if self.shards:
            start, name = next(shard for shard in reversed(self.shards) if shard[0] <= index)
            return f"row {index} (row {index - start} of {name})"
        return (
            f"row {index} (line {self.first_line + index})" if self.first_line else f"row {index}"
        )

    def fingerprint(self, evidence: str = "") -> str:
        """Return a digest of format, keys, dtypes, dimensions and what values say of themselves.

        Where it is the same, a recipe fits again.
        """
        state = blake2b(f"{self.format}|{self.headed}|{evidence}".encode(), digest_size=8)
        for name, entry in self.entries.items():
            state.update(f"{len(name)}:{name}|{entry.dtype.kind}|{entry.ndim};".encode())
        return state.hexdigest()


DEFAULT_SPLIT = "test"  # a lone part is what results are reported on
OF_ROWS = ("groups", "weights", "votes", "dates", "members")  # what each row may have besides


@dataclass(frozen=True)
class SplitArrays:
    """One split before its numbers are judged."""

    split: str  # train, val or test
    # scores, labels: as they lie in the file; labels are None where a second file must bring them
    scores: Entry
    # scores_name, labels_name: keys or columns, for messages
    scores_name: str
    contents: Contents  # where they come from, for row names, printed digits and coarse dtypes
    labels: Entry | None = None
    labels_name: str = ""
    kind: ScoreKind | None = None  # what a key or header says the scores are
    predicted: Entry | None = None  # the stated answers of a top-label file
    ids: Entry | None = None  # names of the rows, text
    class_names: tuple[str, ...] = ()  # names of the columns; empty when there are none
    # Of a single column of scores: the word in its name that may say which class it states
    stated: str = ""
    # What was assumed about columns, keys and rows, and must be borne out by the answers
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


def text_array(values: list[str]) -> Entry:
    """Return strings as an object array: one long string does not widen all others."""
    out = np.empty(len(values), dtype=object)
    # What is no character cannot be written anywhere later: half a character is shown as its code,
    # which keeps names apart, and a number beyond all characters, which a .npy may hold, as a mark.
    out[:] = [
        v if v.isascii() else v.encode("utf-8", "backslashreplace").decode("utf-8", "replace")
        for v in values
    ]
    return out


def id_text(entry: Entry) -> Entry:
    """Return names of rows as text; 7.0 and 7 are one name, and a list in a row is one too."""
    if entry.ndim > 1 and entry.size != len(entry):
        return text_array([str(row) for row in entry.tolist()])
    flat = entry.reshape(-1)
    if is_text(flat):
        return flat
    if is_whole(flat):
        flat = flat.astype(np.int64) if flat.dtype.kind == "f" else flat
    return text_array([str(value) for value in flat.tolist()])


def is_whole(entry: Entry) -> bool:
    """Whether numbers are whole, also those written as fractions."""
    if entry.dtype.kind != "f":
        return entry.dtype.kind in "biu"
    values = entry.astype(np.float64)
    return bool(np.all((np.abs(values) < 2**53) & (values == np.floor(values))))


def is_binary(entry: Entry) -> bool:
    """Whether every number is 0 or 1; no more is read than up to the first other one."""
    if is_text(entry):
        return False
    values = np.atleast_1d(entry)
    blocks = (values[rows] for rows in row_chunks(len(values), values[:1].size))
    return all(bool(np.all((block == 0) | (block == 1))) for block in blocks)


def stacked(columns: list[Entry]) -> Entry:
    """Return columns as a matrix, filled block by block of rows so that writes stay in cache.

    A column that is a matrix itself gives all of its columns.
    """
    rows, dtype = len(columns[0]), np.result_type(*columns)
    flat = [part for column in columns for part in np.atleast_2d(column.T)]
    out = empty((rows, len(flat)), dtype)
    for start in range(0, rows, STACK_ROWS):
        for index, column in enumerate(flat):
            out[start : start + STACK_ROWS, index] = column[start : start + STACK_ROWS]
    return out


def is_text(entry: Entry) -> bool:
    """Whether an entry holds strings."""
    return entry.dtype.kind == "O"


def native(entry: Entry) -> Entry:
    """Return an array in the machine's byte order with strings as objects."""
    if entry.dtype.kind == "U":
        return text_array(entry.reshape(-1).tolist()).reshape(entry.shape)
    if not entry.dtype.isnative:
        return entry.astype(entry.dtype.newbyteorder("="))
    return entry


def check_dtype(dtype: np.dtype[np.generic], location: str) -> None:
    """Refuse element types that are neither numbers, truth values nor text."""
    if dtype.hasobject:
        what = "The array holds Python objects, which only an unsafe reader can load"
        remedy = "save it as numbers or text, for example with astype(float) or astype(str)"
        raise Refused("OBJECT_DTYPE", what, remedy, location)
    if (
        dtype.kind not in "biufU"
        or dtype.itemsize == 0
        or (dtype.kind == "f" and dtype.itemsize > 8)
    ):
        named = {"c": "complex", "V": "structured", "M": "dates", "m": "durations", "S": "bytes"}
        what = named.get(dtype.kind, str(dtype))
        what = f"The values are {what} ({dtype}), not real numbers"
        remedy = "save scores as float16, float32 or float64 and labels as integers"
        raise Refused("DTYPE", what, remedy, location)
