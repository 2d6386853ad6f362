"""A folder of shards, read as the one file that they are pieces of.

Numbered .npy files are one .npz: ``logits-00000.npy``, ``logits-00001.npy`` and so on hold the rows
of its array ``logits``. Parquet files are one table. Torch files and pickles are what each process
of a run saved. Large arrays are put together, a shard at a time, in files that are mapped.
"""

import math
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np

from core import defaults
from core.arrays import empty
from core.codes import NoticeCode
from core.errors import Notice, Refused, about
from core.readers.formats.contents import Contents, Entry, FileBytes, id_text, is_text, is_whole
from core.readers.formats.parse import read_batches, read_contents, tree_of
from core.readers.formats.sniff import sniff
from core.readers.formats.table_file import parquet_rows
from core.readers.formats.tree import settled
from core.readers.predictions.names import counted, words_of

MOST_SHARDS = 4_000
COPIES = 2  # of what is put together: while it is written for the parent
OBJECTS = (".pt", ".pth", ".pkl")  # that hold what a process of a run saved
SUFFIXES = (".npy", ".parquet", *OBJECTS)
NUMBERED = re.compile(
    r"(.*?)[-_. ]?(\d{1,18})(?:[-_]of[-_](\d{1,18}))?\.(?:npy|parquet|pth?|pkl)", re.I | re.A
)
INDICES = {"indices", "index", "idx", "ids", "id"}
UNNAMED = "array"  # as the array of a single .npy file is called
AGAIN = "add the shard that is missing, or save all of them again"
ALIKE = "save all shards by the same program"


@dataclass(frozen=True)
class Shards:
    """The files of a folder, in their order."""

    files: tuple[FileBytes, ...]

    @property
    def name(self) -> str:
        """What a message calls them: by the first."""
        return self.files[0].name


@dataclass(frozen=True)
class _Piece:
    """The same rows of all that the shards hold."""

    n_rows: int  # how many, as the headers of the files say
    files: Mapping[str, FileBytes]  # by the name of the array; a Parquet file under no name

    def parts(self) -> Iterator[Contents]:
        """Yield what these shards hold: all rows, or of a table some at a time."""
        if "" in self.files:
            with about(self.files[""].name):
                yield from read_batches(self.files[""])
            return
        each = {name: _read(file) for name, file in self.files.items()}
        alone = list(each) == [UNNAMED]
        arrays = {name: contents.entries[UNNAMED] for name, contents in each.items()}
        yield each[UNNAMED] if alone else Contents("npz", arrays)

    @property
    def largest(self) -> str:
        """Return the name of the file that most of the rows' numbers lie in."""
        return max(self.files.values(), key=lambda file: file.size).name

    def file_of(self, key: str) -> str:
        """Return the name of the file that holds an array or a column."""
        return self.files[key if key in self.files else next(iter(self.files))].name


def shard_files(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the shards of a folder in natural order, and the names of other files in it.

    Only names are looked at. Files whose name begins with a dot or an underscore do not count; a
    link that leads nowhere does, so that opening it is refused and no shard is left out.

    Raises Refused EMPTY: there are none. AMBIGUOUS_KEYS: of both kinds. ARCHIVE_COUNT: too many.
    FORMAT_UNKNOWN: the folder cannot be opened.
    """
    try:
        paths = [
            path
            for path in folder.iterdir()
            if path.name[0] not in "._"
            and (path.is_file() or (path.is_symlink() and not path.exists()))
        ]
    except OSError as error:
        what = f"{folder.name} cannot be opened ({error.strerror})"
        raise Refused("FORMAT_UNKNOWN", what, "check the path and the permissions") from error
    # Shard 2 before shard 10.
    pieces = {p: re.split(r"([0-9]+)", p.name) for p in paths if p.suffix.lower() in SUFFIXES}
    shards = sorted(pieces, key=lambda p: [(int(s) if s.isdecimal() else -1, s) for s in pieces[p]])
    kinds = {path.suffix.lower() for path in shards}
    if not shards:
        what = f"The folder {folder.name} holds neither .npy, .parquet nor .pt files"
        remedy = "name a folder of shards, such as logits-00000.npy and labels-00000.npy"
        raise Refused("EMPTY", what, remedy)
    if len(kinds) > 1:
        what = f"The folder {folder.name} holds {' and '.join(sorted(kinds))} files"
        raise Refused("AMBIGUOUS_KEYS", what, "put those of one kind into a folder of their own")
    if len(shards) > MOST_SHARDS:
        what = f"The folder holds {len(shards)} shards; at most {MOST_SHARDS} are read"
        raise Refused("ARCHIVE_COUNT", what, "save fewer and larger shards")
    return shards, sorted(path.name for path in paths if path not in shards)


def read_shards(shards: Shards) -> Contents:
    """Return what the shards hold together, as the contents of one .npz or Parquet file.

    Raises Refused: any code of a format, with the name of the shard; LENGTH_MISMATCH, CLASSES or
    DTYPE where one is missing or differs from the others; TABLE_SIZE where they are too large
    together.
    """
    if f".{shards.files[0].suffix}" in OBJECTS:
        return _of_ranks(shards.files)
    if shards.files[0].suffix == "parquet":
        # Of names that differ by a number only, none may be missing.
        for name, numbered in _by_number(shards.files).items():
            if len(numbered) > 1 or _totals(numbered):
                _check_numbers(name, numbered)
        pieces = []
        for file in shards.files:
            with about(file.name):
                sniff(file)
                pieces.append(_Piece(parquet_rows(file), {"": file}))
    else:
        pieces = _pieces(_numbered(shards.files))
    pieces = [piece for piece in pieces if piece.n_rows]
    if not pieces:
        raise Refused("EMPTY", "The shards hold no rows", "give at least one row of scores")
    first = next(pieces[0].parts(), None)
    if first is None:
        raise _miscounted(pieces[0])
    # Room for all rows once, filled shard by shard: joined arrays would need twice the memory.
    joined = _room(first.entries, sum(piece.n_rows for piece in pieces))
    notices, starts, start = list[Notice](), list[tuple[int, str]](), 0
    for piece in pieces:
        starts.append((start, piece.largest))
        end = start + piece.n_rows
        for contents in piece.parts():
            n_rows = _check_alike(first.entries, contents.entries, piece, end - start)
            for key, entry in contents.entries.items():
                joined[key][start : start + n_rows] = entry
            notices += contents.notices
            start += n_rows
        if start < end:
            raise _miscounted(piece)
    return replace(
        first, entries=joined, notices=tuple(dict.fromkeys(notices)), shards=tuple(starts)
    )


def _of_ranks(files: Sequence[FileBytes]) -> Contents:
    """Return what the processes of a run saved, one after the other, each row once.

    A distributed sampler gives some rows to several processes, so that all have as many. They are
    told by ids, or by files of indices as Lightning's writer saves them; rows that these number
    from 0 are put into their order.
    """
    by_name = _numbered(files)
    ranks = sorted({number for numbered in by_name.values() for number in numbered})
    first: Contents | None = None
    pieces: list[dict[str, Entry]] = []
    for rank in ranks:
        entries: dict[str, Entry] = {}
        for name, numbered in by_name.items():
            if rank not in numbered:
                raise Refused("LENGTH_MISMATCH", f"There is no {name} of rank {rank}", AGAIN)
            # Lightning's writer saves which rows a rank had in a file of its own.
            if len(by_name) > 1 and INDICES & set(words_of(name)):
                with about(numbered[rank].name):
                    numbers = list(_whole_numbers(settled(tree_of(numbered[rank]))))
                entries["id"] = np.array(numbers, np.int64)
                continue
            contents = _read(numbered[rank])
            first = first or contents
            own = contents.batches or contents.entries
            alone = len(own) == 1 < len(by_name)  # as scores and labels in files of their own
            entries |= {name: next(iter(own.values()))} if alone else own
        file = numbered[rank]  # a file of the rank, to name
        lengths = {len(entry) if entry.ndim else 0 for entry in entries.values()}
        if len(lengths) > 1:
            what = f"Arrays of one shard differ in length: {', '.join(map(str, sorted(lengths)))}"
            raise Refused("LENGTH_MISMATCH", what, "give one label for each row", file=file.name)
        shapes = [
            {key: (e.shape[1:], is_text(e)) for key, e in p.items()} for p in (entries, *pieces)
        ]
        if shapes[0] != shapes[-1]:
            what = "The arrays of this shard are unlike those of the first"
            raise Refused("CLASSES", what, ALIKE, file=file.name)
        pieces.append(entries)
    assert first is not None
    joined = {key: np.concatenate([piece[key] for piece in pieces]) for key in pieces[0]}
    keys = [k for k, e in joined.items() if e.ndim == 1 and INDICES & set(words_of(k))]
    keys = [k for k in keys if is_text(joined[k]) or is_whole(joined[k])]
    if keys:  # each row once, by its id
        key = keys[0]
        # The first row of each id stays: the sampler's repeats are the same rows again.
        ids, at = np.unique(id_text(joined[key]).astype(str), return_index=True)
        twice = len(joined[key]) - len(ids)
        text = f"{counted(twice, 'row')} that several of them hold by {key} counted once"
        first_ids = joined[key][at]
        if not is_text(first_ids) and np.array_equal(np.sort(first_ids), np.arange(len(ids))):
            at = at[np.argsort(first_ids)]
            text += ", in the order of their numbers"
        else:
            at = np.sort(at)
        joined = {name: entry[at] for name, entry in joined.items()}
    else:
        most = f"up to {len(ranks) - 1} rows that a distributed sampler repeats"
        text = f"they hold no ids, so {most} cannot be told"
    text = f"{len(ranks)} shards were put together; {text}"
    notices = (*first.notices, Notice(NoticeCode.KEYS_GUESSED, text))
    named = first.named or len(by_name) > 1
    return replace(first, entries=joined, batches=None, named=named, notices=notices)


def _whole_numbers(node: object) -> Iterator[int]:
    if isinstance(node, np.ndarray) and node.dtype.kind in "iu":
        yield from (int(value) for value in node.reshape(-1))
    elif isinstance(node, int) and not isinstance(node, bool) and abs(node) < 2**63:
        yield node
    elif isinstance(node, list | tuple):
        for item in node:
            yield from _whole_numbers(item)
    else:
        what = "Indices of rows that are no lists of whole numbers"
        raise Refused("PICKLE_SHAPE", what, "leave the file out of the folder")


def _room(entries: Mapping[str, Entry], n_rows: int) -> dict[str, Entry]:
    """Return arrays to be filled with all rows; those of a table's columns lie side by side.

    Raises Refused TABLE_SIZE, or QUOTA where the temporary folder has too little room.
    """
    numbers = {key: entry for key, entry in entries.items() if not is_text(entry)}
    n_bytes = n_rows * sum(e.itemsize * math.prod(e.shape[1:]) for e in numbers.values())
    if n_bytes > defaults.MAX_MAPPED_BYTES:
        most = defaults.MAX_MAPPED_BYTES
        what = f"The shards together need {n_bytes:,} bytes; at most {most:,} are read"
        raise Refused("TABLE_SIZE", what, "audit some of the shards, or save float32 or float16")
    room = shutil.disk_usage(tempfile.gettempdir()).free
    if COPIES * n_bytes > room:  # `empty` would take memory in its place
        need = COPIES * n_bytes
        what = f"The shards need {need:,} bytes of the temporary folder, which has {room:,}"
        raise Refused("QUOTA", what, "free space there, or set TMPDIR to another folder")
    texts = {key: entry for key, entry in entries.items() if is_text(entry)}
    out = {key: np.empty((n_rows, *entry.shape[1:]), object) for key, entry in texts.items()}
    kinds = {(entry.dtype, entry.shape[1:]) for entry in numbers.values()}
    for dtype, width in kinds:
        keys = [k for k, e in numbers.items() if (e.dtype, e.shape[1:]) == (dtype, width)]
        out |= dict(zip(keys, empty((len(keys), n_rows, *width), dtype), strict=True))
    return {key: out[key] for key in entries}


def _check_alike(
    first: Mapping[str, Entry], entries: Mapping[str, Entry], piece: _Piece, most: int
) -> int:
    """Return the number of rows; refuse those that are not like the first, or more than `most`."""
    odd = sorted(first.keys() ^ entries.keys())
    if odd:
        has = "has" if odd[0] in entries else "lacks"
        what = f"This shard {has} the column {odd[0]}, unlike the first"
        raise Refused("CLASSES", what, ALIKE, file=piece.file_of(odd[0]))
    for key, entry in entries.items():
        if entry.shape[1:] != first[key].shape[1:]:
            what = f"Rows have {_width(entry)}, those of the first shard {_width(first[key])}"
            raise Refused("CLASSES", what, ALIKE, file=piece.file_of(key))
        if entry.dtype != first[key].dtype:
            what = f"{key} holds {_kind(entry)}, in the first shard {_kind(first[key])}"
            raise Refused("DTYPE", what, ALIKE, file=piece.file_of(key))
    n_rows = len(next(iter(entries.values()), ()))
    if n_rows > most:
        raise _miscounted(piece)
    return n_rows


def _miscounted(piece: _Piece) -> Refused:
    what = f"The shard does not hold the {piece.n_rows} rows its header states"
    return Refused("FORMAT_UNKNOWN", what, "save this shard again", file=piece.file_of(""))


def _width(entry: Entry) -> str:
    width = math.prod(entry.shape[1:])
    return "1 value" if width == 1 else f"{width} values"


def _kind(entry: Entry) -> str:
    return "text" if is_text(entry) else str(entry.dtype)


def _read(file: FileBytes) -> Contents:
    with about(file.name):
        return read_contents(file)


def _numbered(files: Sequence[FileBytes]) -> dict[str, dict[int, FileBytes]]:
    """Return files by name and number, of which every one has one and none is missing."""
    for file in files:
        if _match(file) is None:
            remedy = "number all shards, as in logits-00000.npy; give a file of labels by --labels"
            raise Refused("AMBIGUOUS_KEYS", f"{file.name} has no number", remedy)
    by_name = _by_number(files)
    for name, numbered in by_name.items():
        _check_numbers(name, numbered)
    return by_name


def _match(file: FileBytes) -> re.Match[str] | None:
    return NUMBERED.fullmatch(file.name)


def _by_number(files: Sequence[FileBytes]) -> dict[str, dict[int, FileBytes]]:
    """Return the files that have a number, by what precedes it, and by the number."""
    by_name: dict[str, dict[int, FileBytes]] = {}
    for file in files:
        match = _match(file)
        if match is None:
            continue
        other = by_name.setdefault(match[1] or UNNAMED, {}).setdefault(int(match[2]), file)
        if other is not file:
            what = f"{other.name} and {file.name} have the same number"
            raise Refused("AMBIGUOUS_KEYS", what, "keep one of them")
    return by_name


def _totals(numbered: Mapping[int, FileBytes]) -> set[int]:
    """Return how many shards there are, as their names say."""
    return {int(m[3]) for file in numbered.values() if (m := _match(file)) and m[3]}


def _check_numbers(name: str, numbered: Mapping[int, FileBytes]) -> None:
    """Refuse numbers that leave one out, or are other than as many as the names say."""
    totals, first = _totals(numbered), min(numbered)
    if totals - {len(numbered)}:
        stated = " and ".join(map(str, sorted(totals)))
        what = f"There are {len(numbered)} shards of {name}, but their names say {stated}"
        raise Refused("LENGTH_MISMATCH", what, AGAIN)
    start = first if totals or first == 1 else 0
    missing = next(number for number in count(start) if number not in numbered)
    if missing < max(numbered):
        what = f"No shard of {name} has the number {missing}"
        raise Refused("LENGTH_MISMATCH", what, AGAIN)


def _pieces(by_name: Mapping[str, Mapping[int, FileBytes]]) -> list[_Piece]:
    every = sorted({number for numbered in by_name.values() for number in numbered})
    pieces = []
    for number in every:
        files = {name: files[number] for name, files in by_name.items() if number in files}
        some = next(iter(files.values())).name
        missing = by_name.keys() - files.keys()
        if missing:
            what = f"There is no shard of {min(missing)} to go with {some}"
            raise Refused("LENGTH_MISMATCH", what, AGAIN)
        lengths = {}
        for file in files.values():
            (entry,) = _read(file).entries.values()
            if entry.ndim == 0:
                what = "A single number, where rows were expected"
                remedy = "save the array again with np.save"
                raise Refused("HEADER_SHAPE", what, remedy, file=file.name)
            lengths[file.name] = len(entry)
        if len(set(lengths.values())) > 1:
            rows = ", ".join(f"{n} in {name}" for name, n in lengths.items())
            what = f"Shards with the same number differ in their number of rows: {rows}"
            raise Refused("LENGTH_MISMATCH", what, "give one label for each row")
        pieces.append(_Piece(lengths[some], files))
    return pieces
