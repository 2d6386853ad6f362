"""Read a file in a confined child process, and leave nothing behind.

Every function raises, beside the codes of its own reader,

- Refused LIMIT_TIME, LIMIT_MEMORY, QUOTA, CHANGED, or CANCELLED when `cancel` was set;
- LostWorker where the child died, or left no valid result.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic

from core.codes import NoticeCode
from core.errors import Notice, Refused, about
from core.readers.films.film import Film
from core.readers.formats.archive import PictureFiles
from core.readers.formats.shards import shard_files
from core.readers.predictions.names import listed
from core.readers.predictions.result import ReadOptions, ReadResult
from core.readers.sandbox.child_process import (
    digest_of,
    job_of,
    memory_for,
    opened,
    private_folder,
    refuse_changed,
    run,
)
from core.readers.sandbox.limits import allow_handles
from core.readers.sandbox.readers import (
    BOXES,
    COLUMNS,
    FILE,
    FILM,
    HISTORY,
    PICTURES,
    PREDICTIONS,
    SHARD,
    VOTES,
    WEIGHTS,
    Reader,
    Result,
)
from core.readers.sandbox.wire import NOTHING, Exchange, copy_pictures, copy_tensors
from core.readers.tables.strict_tables import BoxList, HistoryFile, TextColumns
from core.readers.tables.votes import VoteFile
from core.readers.weights.named_tensors import WeightsFile

HANDLES = 3  # that the child holds for a shard
OTHER_HANDLES = 200  # of the server or command that reads
Table = tuple[Path, str]  # a file, and the name the user knows it by


@dataclass(frozen=True)
class ReadLimits:
    """What a caller sets of the limits; None stands for the reader's own."""

    timeout_s: float | None = None  # seconds until the child is ended
    memory_bytes: int | None = None  # address space of the child
    cancel: threading.Event | None = None  # ends the child when set


@dataclass(frozen=True)
class Response(Generic[Result]):
    """What the child left: the folder, what was loaded of it, the digest of the files' bytes."""

    folder: Path
    result: Result
    digest: str


@contextmanager
def read_sealed(
    reader: Reader[Any, Result],
    files: Mapping[str, tuple[Path, str | None]],
    limits: ReadLimits,
    options: ReadOptions | None = None,
    *,
    in_place: bool = False,
) -> Iterator[Response[Result]]:
    """Have files read by a child of their own, and yield what it left until the body ends."""
    with ExitStack() as stack:
        # What a message calls them: the file, or the folder of shards.
        path, name = next(iter(files.values()))
        stack.enter_context(about(name or path.name if FILE in files else path.parent.name))
        # Opened here once, and handed over open: a path could name another file a moment later.
        inputs = {role: opened(stack, path, name) for role, (path, name) in files.items()}
        opened_files = list(inputs.values())
        memory_bytes = limits.memory_bytes or memory_for(reader, inputs)
        timeout_s = reader.timeout_s if limits.timeout_s is None else limits.timeout_s
        folder = stack.enter_context(private_folder())
        job = job_of(reader, inputs, options or ReadOptions(), folder, memory_bytes, timeout_s)
        run(job | {"in_place": in_place}, opened_files, timeout_s, limits.cancel)
        whole = {role: item for role, item in inputs.items() if not role.startswith(SHARD)}
        mapped = {role: item.bytes for role, item in whole.items()} if in_place else NOTHING
        result = reader.load(Exchange(folder, mapped))
        # The digest is of the bytes that were read; a file that changed meanwhile is refused below.
        response = Response(folder, result, digest_of(opened_files))
        refuse_changed(opened_files)
        yield response


def read(  # noqa: PLR0913  each is a separate wish of a page or the command line
    path: Path,
    *,
    name: str | None = None,
    labels: Path | None = None,
    labels_name: str | None = None,
    tables: Mapping[str, Table] | None = None,
    options: ReadOptions | None = None,
    timeout_s: float | None = None,
    cancel: threading.Event | None = None,
    memory_bytes: int | None = None,
    in_place: bool = False,
) -> ReadResult:
    """Read a prediction file in a child process of its own.

    Parameters
    ----------
    path : Path
        The file, or a folder of shards; opened here, read only, and handed over as descriptors.
    name : str, optional
        The name the user knows it by; its suffix is a claim that the content must meet.
    labels, labels_name : optional
        A second file that holds the labels.
    tables : mapping of str to Table, optional
        By ``group`` and ``weight``: tables that say which rows belong together, and what they
        count as; the option of that name names their column.
    timeout_s : float
        Seconds until the child is ended.
    memory_bytes : int, optional
        Address space of the child; by default sized to the files.
    in_place : bool
        Leave large scores in the file they came from, mapped: for a file that nobody else changes
        meanwhile. Without it they are copied to the temporary folder.

    Returns
    -------
    ReadResult
        Predictions by split, with notices and inspection.
    """
    # The file by its role, or the shards of a folder.
    files: dict[str, tuple[Path, str | None]] = {FILE: (path, name)}
    notices: tuple[Notice, ...] = ()
    # Every shard is a descriptor of this process and of the child.
    if path.is_dir():
        shards, others = shard_files(path)
        if not allow_handles(HANDLES * len(shards) + OTHER_HANDLES):
            what = f"The folder holds {len(shards)} shards, more than this process may open at once"
            remedy = "save fewer and larger shards, or raise the limit (ulimit -Hn)"
            raise Refused("ARCHIVE_COUNT", what, remedy)
        files = {f"{SHARD} {i}": (shard, shard.name) for i, shard in enumerate(shards)}
        if others:
            text = f"left out because they are not shards: {listed(others)}"
            notices = (Notice(NoticeCode.FILES_SKIPPED, text),)
    if labels is not None:
        files["labels"] = (labels, labels_name)
    limits = ReadLimits(timeout_s, memory_bytes, cancel)
    files |= tables or {}
    with read_sealed(PREDICTIONS, files, limits, options, in_place=in_place) as response:
        own = response.result
        result = replace(own, notices=(*notices, *own.notices), digest=response.digest)
    for part in result.splits.values():
        part.digest  # noqa: B018  taken here, while the page still says that it reads
    return result


def read_bin_history(
    path: Path, *, name: str | None = None, cancel: threading.Event | None = None
) -> HistoryFile:
    """Read a history of bins and gammas by epoch; see `core.readers.tables.strict_tables`.

    Returns
    -------
    HistoryFile
        Bins by epoch, what was assumed, and the digest of the bytes.
    """
    with read_sealed(HISTORY, {FILE: (path, name)}, ReadLimits(cancel=cancel)) as response:
        return replace(response.result, digest=response.digest)


def read_weights(
    path: Path,
    *,
    into: Path,
    name: str | None = None,
    cancel: threading.Event | None = None,
    memory_bytes: int | None = None,
) -> WeightsFile:
    """Read a file of weights; see `core.readers.weights.weights_file`.

    `path`, `name`, `cancel`, `memory_bytes`: as of `read`; `into`: folder that the tensors are put
    into, a safetensors file for each group; made where it is missing, and best new: a file of such
    a name is never written over. This process never loads them.

    Returns
    -------
    WeightsFile
        Groups, hints, notices, and the digest of the bytes.

    Raises
    ------
    LibraryError
        LIBRARY_WRITE: `into` cannot be written.
    """
    limits = ReadLimits(memory_bytes=memory_bytes, cancel=cancel)
    with read_sealed(WEIGHTS, {FILE: (path, name)}, limits) as response:
        # From the child's folder to the reader's: opened without
        # following links, and never over a file.
        copy_tensors(response.result, response.folder, into)
        return replace(response.result, name=name or path.name, digest=response.digest)


def read_pictures(
    path: Path, *, into: Path, name: str, cancel: threading.Event | None = None
) -> PictureFiles:
    """Unpack a zip of pictures into a new folder; see `core.readers.formats.archive`.

    `path`, `name`, `cancel`: as of `read`; `into`: made here; it is whole, or not there.

    Raises LibraryError LIBRARY_WRITE: it cannot be written.
    """
    with read_sealed(PICTURES, {FILE: (path, name)}, ReadLimits(cancel=cancel)) as response:
        copy_pictures(response.result, response.folder, into)
        return response.result


def read_film(path: Path, *, name: str, cancel: threading.Event | None = None) -> Film:
    """Read a film (PNG, JPEG or DICOM); only pixels come back. See `core.readers.films.film_file`.

    `path`, `cancel`: as of `read`; the content decides what the file is, never its name; `name`:
    what messages call it, such as "film 3": never the user's file name, which may be that of a
    patient. No refusal repeats a word of the file.

    Returns
    -------
    Film
        Greys, upright, white = dense.
    """
    with read_sealed(FILM, {FILE: (path, name)}, ReadLimits(cancel=cancel)) as response:
        return response.result


def read_columns(path: Path, *, name: str, cancel: threading.Event | None = None) -> TextColumns:
    """Read a table of what is known of the rows of a run; see `core.readers.tables.strict_tables`.

    Returns
    -------
    TextColumns
        All columns as text; `strict_tables.match` finds the rows of a run in them.
    """
    with read_sealed(COLUMNS, {FILE: (path, name)}, ReadLimits(cancel=cancel)) as response:
        return replace(response.result, digest=response.digest)


def read_boxes(path: Path, *, name: str, cancel: threading.Event | None = None) -> BoxList:
    """Read a list of boxes around lesions; see `core.readers.tables.strict_tables`."""
    with read_sealed(BOXES, {FILE: (path, name)}, ReadLimits(cancel=cancel)) as response:
        return replace(response.result, digest=response.digest)


def read_votes(
    path: Path, *, name: str, timeout_s: float | None = None, cancel: threading.Event | None = None
) -> VoteFile:
    """Read a file of votes; see `core.readers.tables.votes`.

    Returns
    -------
    VoteFile
        Numbers that may be votes, and names of rows; `core.readers.tables.votes.attach_votes`
        brings them to the rows of a run.
    """
    limits = ReadLimits(timeout_s=timeout_s, cancel=cancel)
    with read_sealed(VOTES, {FILE: (path, name)}, limits) as response:
        return replace(response.result, name=name, digest=response.digest)
