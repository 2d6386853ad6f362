"""How a reading crosses from the child to the parent: .npy buffers and JSON, checked on arrival.

A large array that lies in the input as it is wanted crosses as its place in it.
"""

import errno
import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import astuple
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from core import codec
from core.arrays import MAPPED_BYTES, PASS_BYTES, Float, Int, copied_unless_large, row_chunks
from core.disk import parse_json, writing
from core.errors import LostWorker, Notice, Refused, UsageError
from core.histories import COLUMNS, BinHistory
from core.predictions import Dates, Groups, Members, Predictions, ScoreKind, Task, Votes, Weights
from core.readers.films.film import MAX_PIXELS, MIN_SIDE, Film, Pixels
from core.readers.formats.archive import PictureFiles, plain_path
from core.readers.formats.contents import Entry, FileBytes
from core.readers.formats.numpy_file import array_of
from core.readers.predictions.result import (
    SPLIT_NAME,
    Inspection,
    NeedsChoice,
    ReadOptions,
    ReadResult,
)
from core.readers.tables.strict_tables import Box, BoxList, HistoryFile, TextColumns
from core.readers.tables.votes import VoteFile
from core.readers.weights.named_tensors import WeightsFile, open_safetensors, write_safetensors

if TYPE_CHECKING:  # the child's own
    from core.readers.formats.archive import PackedPictures
    from core.readers.predictions.interpret import InterpretedFile
    from core.readers.weights.weights_file import StoredWeights

RESULT = "result.json"
FILM = "film.npy"
PICTURES = "pictures.bin"  # the bytes of all, one after another
MAX_JSON = 2**30
COPIED = 2**20  # bytes at a time
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
BROKEN = UsageError, ValueError, KeyError, TypeError, AttributeError, OSError, OverflowError
FLOATS = {"float16", "float32", "float64"}
Json = dict[str, Any]  # Any: plain JSON values of several types
NOTHING: Mapping[str, FileBytes] = MappingProxyType({})
OF_ROWS: dict[str, tuple[Any, set[str]]] = {  # Any: records of several types
    "groups": (Groups, {"int64"}),
    "weights": (Weights, {"float64"}),
    "votes": (Votes, {"float64"}),
    "dates": (Dates, {"int64"}),
    "members": (Members, FLOATS),
}  # what each row may have besides, and of which type


class Exchange(NamedTuple):
    """Where child and parent meet: the folder of what the child leaves, and files of both.

    Both have `inputs` open, by role, and nobody should change them: their large arrays are mapped.
    """

    folder: Path
    inputs: Mapping[str, FileBytes] = NOTHING


def write_predictions(exchange: Exchange, result: "InterpretedFile") -> None:
    """Write arrays first and the JSON last: a result that can be read is complete."""
    splits: dict[str, Json] = {}
    for name, ready in result.splits.items():
        prepared, scores = ready.prepared, ready.prepared.scores
        place: Json | None = None
        # Large scores stay where they are in the input, and only their place is sent.
        if scores.nbytes >= MAPPED_BYTES and scores.flags.c_contiguous:
            starts = {role: source.offset_of(scores) for role, source in exchange.inputs.items()}
            role = next((role for role, start in starts.items() if start is not None), None)
            if role is not None:  # it lies in that input, row after row
                place = {"input": role, "at": starts[role], "shape": scores.shape}
                place["dtype"] = scores.dtype.str
        arrays = {"labels": ready.labels} | ({} if place else {"scores": scores})
        if prepared.predicted is not None:
            arrays["predicted"] = prepared.predicted
        columns = {key: getattr(prepared.part, key) for key in OF_ROWS}
        arrays |= {key: column.of_row for key, column in columns.items() if column is not None}
        for key, array in arrays.items():
            _save(exchange.folder / f"{name}.{key}.npy", array)
        splits[name] = {
            "scores": place,
            "task": str(ready.task),
            "kind": str(ready.verdict.kind),
            "class_names": list(prepared.class_names),
            "row_ids": list(ready.row_ids),
            "renormalise": ready.verdict.renormalise,
            "predicted": prepared.predicted is not None,
            "labelled": ready.labelled,
            **{key: None if column is None else column.name for key, column in columns.items()},
        }
    more = {"inspection": codec.to_json(result.inspection), "recipe": result.recipe.to_json()}
    _write_json(exchange.folder, {"splits": splits} | more, result.notices)


def write_history(exchange: Exchange, history: HistoryFile) -> None:
    """Write the columns of a history, and the JSON last."""
    for name in COLUMNS:
        _save(exchange.folder / f"{name}.npy", getattr(history.bins, name))
    _write_json(exchange.folder, {}, history.notices)


def write_film(exchange: Exchange, film: Film) -> None:
    """Write the pixels of a film, and the JSON last."""
    _save(exchange.folder / FILM, film.pixels)
    _write_json(exchange.folder, {}, film.notices)


def write_pictures(exchange: Exchange, pictures: "PackedPictures") -> None:
    """Write the bytes of all pictures into one file, and their paths and lengths last."""
    listed = []
    with os.fdopen(os.open(exchange.folder / PICTURES, NEW, 0o600), "wb") as file:
        for path, data in pictures.contents():
            file.write(data)
            listed.append([path, len(data)])
    _write_json(exchange.folder, {"pictures": listed, "skipped": pictures.skipped})


def write_columns(exchange: Exchange, table: TextColumns) -> None:
    """Write a table of text."""
    _write_json(exchange.folder, {"columns": {**table.columns}}, table.notices)


def write_votes(exchange: Exchange, file: VoteFile) -> None:
    """Write the numbers of a file of votes, and the JSON last."""
    for k, numbers in enumerate(file.numbers.values()):
        _save(exchange.folder / f"{k}.npy", numbers)
    named = {"numbers": list(file.numbers), "names": dict(file.names)}
    _write_json(exchange.folder, named | {"judgements": file.judgements}, file.notices)


def write_boxes(exchange: Exchange, box_list: BoxList) -> None:
    """Write a list of boxes."""
    boxes = [astuple(box) for box in box_list.boxes]
    _write_json(exchange.folder, {"boxes": boxes}, box_list.notices)


def write_weights(exchange: Exchange, weights: "StoredWeights") -> None:
    """Write each group as a safetensors file, tensor by tensor, and the JSON last."""
    for stored in weights.groups:
        try:
            write_safetensors(
                exchange.folder / stored.group.file, stored.group.tensors, stored.numbers
            )
        except OSError as error:
            raise OSError(error.errno or errno.ENOSPC, "no room for tensors") from error
    groups = tuple(stored.group for stored in weights.groups)
    file = WeightsFile(
        name="",
        digest="",
        format=weights.format,
        groups=groups,
        hints=weights.hints,
        notices=weights.notices,
    )
    _write_json(exchange.folder, codec.to_json(file))


def write_refusal(folder: Path, refusal: Refused) -> None:
    """Write a refusal, with the inspection if there is one."""
    inspection = codec.to_json(refusal.inspection) if isinstance(refusal, NeedsChoice) else None
    _write_json(folder, {"refused": refusal.to_json(), "inspection": inspection})


def _write_json(folder: Path, data: Json, notices: tuple[Notice, ...] | None = None) -> None:
    more = {} if notices is None else {"notices": [notice.to_json() for notice in notices]}
    partial = folder / f"{RESULT}.partial"
    partial.write_text(json.dumps(data | more), encoding="ascii")
    partial.rename(folder / RESULT)


def _save(path: Path, array: Entry) -> None:
    """Write an array row after row, whatever its order in the file it came from."""
    header = np.lib.format.header_data_from_array_1_0(array) | {"fortran_order": False}
    try:
        with path.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            for rows in row_chunks(len(array), max(1, array[:1].size), PASS_BYTES):
                np.ascontiguousarray(array[rows]).tofile(file)
    except OSError as error:  # NumPy tells of a write cut short, but not why
        raise OSError(error.errno or errno.ENOSPC, "no room for an array") from error


def load_predictions(exchange: Exchange) -> ReadResult:
    """Return what the child wrote, after checking every type and shape.

    Raises
    ------
    Refused
        The child's own refusal.
    LostWorker
        The child wrote something that no reader writes.
    """
    with _arrived(exchange) as data:
        return ReadResult(
            {name: _split(exchange, name, item) for name, item in data["splits"].items()},
            _notices(data),
            _inspection(data),
            ReadOptions.from_json(data["recipe"]),
        )


def load_history(exchange: Exchange) -> HistoryFile:
    """Return the history that the child wrote; raises as `load_predictions` does."""
    with _arrived(exchange) as data:
        columns: dict[str, Any] = {  # Any: int64 and float64, which the record turns as it needs
            name: _array(exchange.folder / f"{name}.npy", {"int64", "float64"}) for name in COLUMNS
        }
        return HistoryFile(BinHistory(**columns), _notices(data))


def load_film(exchange: Exchange) -> Film:
    """Return the film that the child read, copied to memory; raises as `load_predictions` does."""
    with _arrived(exchange) as data:
        stored_pixels = cast("Pixels", _array(exchange.folder / FILM, {"uint8"}))
        height, width = stored_pixels.shape  # a ValueError where there are not two sides
        if stored_pixels.size > MAX_PIXELS or min(height, width) < MIN_SIDE:
            raise ValueError(stored_pixels.shape)
        pixels = np.array(stored_pixels, order="C")
        pixels.flags.writeable = False
        return Film(pixels, _notices(data))


def load_columns(exchange: Exchange) -> TextColumns:
    """Return the table that the child wrote; raises as `load_predictions` does."""
    with _arrived(exchange) as data:
        columns = {str(k): tuple(map(str, cells)) for k, cells in data["columns"].items()}
        if len({len(cells) for cells in columns.values()}) != 1:
            raise ValueError("columns")
        return TextColumns(columns, _notices(data))


def load_votes(exchange: Exchange) -> VoteFile:
    """Return the file of votes that the child read; raises as `load_predictions` does."""
    with _arrived(exchange) as data:
        numbers = {
            str(name): cast("Float", _array(exchange.folder / f"{k}.npy", {"float64"}))
            for k, name in enumerate(data["numbers"])
        }
        names = {str(name): tuple(map(str, cells)) for name, cells in data["names"].items()}
        if {entry.ndim for entry in numbers.values()} - {1, 2}:
            raise ValueError("numbers")
        judged = bool(data["judgements"])
        return VoteFile(numbers, names, _notices(data), judgements=judged)


def load_boxes(exchange: Exchange) -> BoxList:
    """Return the boxes that the child wrote; raises as `load_predictions` does."""
    with _arrived(exchange) as data:
        boxes = tuple(
            Box(str(image), str(finding), *(float(number) for number in sides))
            for image, finding, *sides in data["boxes"]
        )
        return BoxList(boxes, _notices(data))


def load_weights(exchange: Exchange) -> WeightsFile:
    """Return the names that the child left, held against its tensors; see `load_predictions`."""
    with _arrived(exchange) as data:
        weights = codec.read(WeightsFile, data, "weights", stored=True)
        for group in weights.groups:
            with open_left(exchange.folder / group.file) as file:
                if open_safetensors(FileBytes.of_file(group.file, file))[0] != group.tensors:
                    raise ValueError(group.file)
        return weights


def load_pictures(exchange: Exchange) -> PictureFiles:
    """Return the paths and lengths that the child left, each judged; see `load_predictions`."""
    with _arrived(exchange) as data:
        files = {str(path): int(size) for path, size in data["pictures"]}
        with open_left(exchange.folder / PICTURES) as file:
            whole = os.fstat(file.fileno()).st_size
        plain = all(plain_path(path) and size > 0 for path, size in files.items())
        if not plain or len(files) != len(data["pictures"]) or sum(files.values()) != whole:
            raise ValueError(PICTURES)
        return PictureFiles(files, int(data["skipped"]))


def copy_pictures(pictures: PictureFiles, folder: Path, into: Path) -> None:
    """Copy the pictures that the child left, unseen, to a new folder of this user alone.

    Raises LibraryError LIBRARY_WRITE; nothing is left in `into`.
    """
    with writing(), ExitStack() as undo:
        into.mkdir(mode=0o700)
        undo.callback(shutil.rmtree, into, ignore_errors=True)
        with open_left(folder / PICTURES) as file:
            for path, size in pictures.files.items():
                (into / path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with os.fdopen(os.open(into / path, NEW, 0o600), "wb") as target:
                    target.write(file.read(size))
        undo.pop_all()


def copy_tensors(weights: WeightsFile, folder: Path, into: Path) -> None:
    """Copy the tensors that the child left, unseen, to a folder of this user alone.

    Raises LibraryError LIBRARY_WRITE; nothing is left in `into`.
    """
    with writing(), ExitStack() as undo:
        into.mkdir(mode=0o700, parents=True, exist_ok=True)
        for group in weights.groups:
            target = os.fdopen(os.open(into / group.file, NEW, 0o600), "wb")
            undo.callback((into / group.file).unlink)
            with target, open_left(folder / group.file) as file:
                shutil.copyfileobj(file, target, COPIED)
        undo.pop_all()


@contextmanager
def _arrived(exchange: Exchange) -> Iterator[Json]:
    """Yield the JSON that the child wrote, or raise its refusal."""
    try:
        with open_left(exchange.folder / RESULT) as file:
            data = parse_json(file.read(MAX_JSON))
        if not isinstance(data, dict):
            raise TypeError(RESULT)
        if "refused" in data:
            refused = data["refused"]
            refusal = Refused(*(str(refused[key]) for key in ("code", "what", "remedy", "where")))
            refusal.file = str(refused.get("file", ""))
            more = data.get("inspection") is not None
            raise NeedsChoice(refusal, _inspection(data)) if more else refusal
        yield data
    except BROKEN as error:
        what = "The reading process left no valid result"
        raise LostWorker("LOST_WORKER", what, "read the file again") from error


def _notices(data: Json) -> tuple[Notice, ...]:
    return tuple(codec.read(Notice, n, "notice", stored=True) for n in data["notices"])


def _inspection(data: Json) -> Inspection:
    return codec.read(Inspection, data["inspection"], "inspection", stored=True)


def open_left(path: Path) -> BinaryIO:
    """Open what the child left: a plain file, never a link to another one or a pipe.

    Raises OSError: there is none, or it is something else.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    file = os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb")
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        file.close()
        raise OSError(f"{path.name} is not a plain file")
    return file


def _split(exchange: Exchange, name: str, item: Mapping[str, Any]) -> Predictions:
    # The child is not trusted: it has read a stranger's file. Every
    # name, type and length is checked again.
    if not SPLIT_NAME.fullmatch(name):
        raise ValueError(name)
    folder, place = exchange.folder, item["scores"]
    if place is None:
        stored = _array(folder / f"{name}.scores.npy", FLOATS)
    else:
        # The child found the scores in an input, where they are mapped.
        if str(np.dtype(place["dtype"])) not in FLOATS:
            raise ValueError(place["dtype"])
        stored = copied_unless_large(
            exchange.inputs[place["input"]].array(
                place["at"], np.dtype(place["dtype"]), place["shape"]
            )
        )
    scores = cast("npt.NDArray[np.floating]", stored)
    labels = cast("Int", _array(folder / f"{name}.labels.npy", {"int64"}))
    predicted = None
    if item["predicted"]:
        predicted = cast("Int", _array(folder / f"{name}.predicted.npy", {"int64"}))
    rows = len(scores)
    if scores.ndim not in (1, 2) or len(labels) != rows or len(item["row_ids"]) not in (0, rows):
        raise ValueError(name)
    columns: dict[str, Any] = {}  # Any: records of several types, each by its own name
    for key, (record, dtypes) in OF_ROWS.items():
        if item[key] is None:
            continue
        of_row = cast("Float", _array(folder / f"{name}.{key}.npy", dtypes))
        # What `Predictions` does not check itself: groups from 0 without a
        # gap, weights that are no negative numbers.
        sound = of_row.ndim == {"votes": 2, "members": 3}.get(key, of_row.ndim)
        if key == "groups":
            whole = np.arange(int(of_row.max(initial=-1)) + 1)
            sound = np.array_equal(np.unique(of_row), whole)
        elif key in ("weights", "votes"):
            sound = sound and bool(np.all(np.isfinite(of_row) & (of_row >= 0.0)))
        if not sound:
            raise ValueError(key)
        columns[key] = record(str(item[key]), of_row)
    return Predictions(
        Task(item["task"]),
        ScoreKind(item["kind"]),
        scores,
        labels,
        class_names=tuple(str(n) for n in item["class_names"]),
        predicted=predicted,
        row_ids=tuple(str(n) for n in item["row_ids"]),
        renormalise=bool(item["renormalise"]),
        labelled=bool(item["labelled"]),
        **columns,
    )


def _array(path: Path, dtypes: set[str]) -> Entry:
    """Return an array of a file, whose file may go; a copy unless it is large.

    Our own parser judges its header as any other's.
    """
    with open_left(path) as file:
        array = array_of(FileBytes.of_file(path.name, file).data, path.name)
    if str(array.dtype) not in dtypes:
        raise ValueError(path.name)
    return copied_unless_large(array)
