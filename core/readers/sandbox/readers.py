"""The table of readers: what the sealed child can read, and how each kind crosses to the parent.

Both sides import this module. What only the child needs is imported there: the packages that
decode films, and the modules that make sense of predictions and weights.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from core import defaults
from core.readers.films.film import Film
from core.readers.formats.archive import MOST_BYTES, PackedPictures, PictureFiles, read_pictures
from core.readers.formats.contents import FileBytes
from core.readers.predictions.result import ReadOptions, ReadResult
from core.readers.sandbox import wire
from core.readers.tables.strict_tables import (
    BoxList,
    HistoryFile,
    TextColumns,
    read_boxes_file,
    read_columns_file,
    read_history,
)
from core.readers.tables.votes import VoteFile, read_votes_file
from core.readers.weights.named_tensors import WeightsFile

if TYPE_CHECKING:
    from core.readers.predictions.interpret import InterpretedFile
    from core.readers.weights.weights_file import StoredWeights

GIB: Final = 2**30
FILE: Final = "file"  # the role of the file that is read, among those that come with it
SHARD: Final = "shard"  # how the roles of shards begin, which stand in place of one file
Sources = Mapping[str, FileBytes]  # by role: file, or shards in their order; labels, group, weight
Content = TypeVar("Content")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Reader(Generic[Content, Result]):
    """One kind of thing that the sealed child reads.

    Attributes
    ----------
    name : str
        What a job calls it.
    read : callable
        In the child: sources and options to the content.
    write : callable
        In the child: leaves the content for the parent.
    load : callable
        In the parent: what was left to the result, every type and shape checked.
    import_early : callable
        In the child, before privileges are dropped: imports what `read` would at first use.
    base_bytes : int
        Memory that reading may take, beside three bytes for each of the input.
    unpacks : bool
        Whether a packed input gets more, because it may become many more bytes in memory.
    timeout_s : float
        Seconds until the child is ended.
    """

    name: str
    read: Callable[[Sources, ReadOptions], Content]
    write: Callable[[wire.Exchange, Content], None]
    load: Callable[[wire.Exchange], Result]
    import_early: Callable[[], object] = lambda: None  # all is imported with this module
    base_bytes: int = GIB
    unpacks: bool = True
    timeout_s: float = defaults.READ_TIMEOUT_S


def _read_predictions(sources: Sources, options: ReadOptions) -> "InterpretedFile":
    from core.readers.formats.shards import Shards
    from core.readers.predictions.interpret import read_source

    tables = {role: sources[role] for role in ("group", "weight") if role in sources}
    shards = tuple(source for role, source in sources.items() if role.startswith(SHARD))
    source = Shards(shards) if shards else sources[FILE]
    return read_source(source, sources.get("labels"), options, tables)


def _read_weights(sources: Sources, _: ReadOptions) -> "StoredWeights":
    from core.readers.weights.weights_file import read_weights_file

    return read_weights_file(sources[FILE])


def _import_decoders() -> None:
    """Import what decodes films: a quarter of a second, which no other reader pays."""
    sys.modules["requests"] = None  # type: ignore[assignment]  # pydicom would, to download
    importlib.import_module("core.readers.films.film_file").import_early()


def _read_film(sources: Sources, _: ReadOptions) -> Film:
    from core.readers.films.film_file import read_film_file

    return read_film_file(sources[FILE])


PREDICTIONS: Final = Reader["InterpretedFile", ReadResult](
    "predictions",
    _read_predictions,
    wire.write_predictions,
    wire.load_predictions,
    import_early=partial(importlib.import_module, "core.readers.predictions.interpret"),
)
HISTORY: Final = Reader[HistoryFile, HistoryFile](
    "history", lambda sources, _: read_history(sources[FILE]), wire.write_history, wire.load_history
)
COLUMNS: Final = Reader[TextColumns, TextColumns](
    "columns",
    lambda sources, _: read_columns_file(sources[FILE]),
    wire.write_columns,
    wire.load_columns,
)
VOTES: Final = Reader[VoteFile, VoteFile](
    "votes",
    lambda sources, _: read_votes_file(sources[FILE]),
    wire.write_votes,
    wire.load_votes,
    import_early=partial(importlib.import_module, "core.readers.predictions.interpret"),
)
BOXES: Final = Reader[BoxList, BoxList](
    "boxes", lambda sources, _: read_boxes_file(sources[FILE]), wire.write_boxes, wire.load_boxes
)
WEIGHTS: Final = Reader["StoredWeights", WeightsFile](
    "weights",
    _read_weights,
    wire.write_weights,
    wire.load_weights,
    import_early=partial(importlib.import_module, "core.readers.weights.weights_file"),
    unpacks=False,  # storages are never compressed and are read one by one
)
FILM: Final = Reader[Film, Film](
    "film",
    _read_film,
    wire.write_film,
    wire.load_film,
    import_early=_import_decoders,
    base_bytes=3 * GIB,  # 50 million pixels in colour, twice, and the decoders themselves
    unpacks=False,
    timeout_s=60.0,
)
PICTURES: Final = Reader[PackedPictures, PictureFiles](
    "pictures",
    lambda sources, _: read_pictures(sources[FILE]),
    wire.write_pictures,
    wire.load_pictures,
    base_bytes=MOST_BYTES + 2 * GIB,  # written to one file
    unpacks=False,
    timeout_s=300.0,
)
READERS: Final[Mapping[str, Reader[Any, Any]]] = {  # Any: each has its own content
    reader.name: reader
    for reader in (PREDICTIONS, HISTORY, COLUMNS, VOTES, BOXES, WEIGHTS, FILM, PICTURES)
}
