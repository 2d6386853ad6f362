"""Read a file in a confined child process, and leave nothing behind."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from core import defaults
from core.readers.films.film import Film
from core.readers.predictions.options import ReadOptions
from core.readers.predictions.result import ReadResult
from core.readers.sandbox.child_process import (
    GIB,
    OpenFile,
    digest_of,
    job_of,
    opened,
    private_folder,
    run,
)
from core.readers.sandbox.wire import (
    read_left_boxes,
    read_left_columns,
    read_left_film,
    read_left_history,
    read_left_weights,
    read_result,
)
from core.readers.tables.boxes import BoxList
from core.readers.tables.columns import TextColumns
from core.readers.tables.history_file import HistoryFile
from core.readers.weights.named_tensors import WeightsFile

Table = tuple[Path, str]  # a file, and the name the user knows it by
FILM_BYTES = 3 * GIB  # a film of 50 million pixels in colour, twice, and the decoders themselves
FILM_TIMEOUT_S = 60.0


def read(  # noqa: PLR0913  each is a separate wish of a page or the command line
    path: Path,
    *,
    name: str | None = None,
    labels: Path | None = None,
    labels_name: str | None = None,
    tables: Mapping[str, Table] | None = None,
    options: ReadOptions | None = None,
    timeout_s: float = defaults.READ_TIMEOUT_S,
    cancel: threading.Event | None = None,
    memory_bytes: int | None = None,
) -> ReadResult:
    """Read a prediction file in a child process of its own.

    Parameters
    ----------
    path : Path
        The file; opened here, read only, and handed over as a descriptor.
    name : str, optional
        The name the user knows it by; its suffix is a claim that the content must meet.
    labels, labels_name : optional
        A second file that holds the labels.
    tables : mapping of str to Table, optional
        By ``group`` and ``weight``: tables that say which rows belong together, and what they
        count as; the option of that name names their column.
    options : ReadOptions, optional
        The user's choices.
    timeout_s : float
        Seconds until the child is ended.
    cancel : threading.Event, optional
        Ends the child when set.
    memory_bytes : int, optional
        Address space of the child; by default sized to the files.

    Returns
    -------
    ReadResult
        Predictions by split, with notices and inspection.

    Raises
    ------
    Refused
        Any code of the readers; LIMIT_TIME, LIMIT_MEMORY; CANCELLED when `cancel` was set.
    LostWorker
        The child died, or left no valid result.
    """
    with ExitStack() as stack:
        inputs = [opened(stack, path, name)]
        if labels is not None:
            inputs.append(opened(stack, labels, labels_name))
        lists = {key: opened(stack, *table) for key, table in (tables or {}).items()}
        every = [*inputs, *lists.values()]
        limit = memory_bytes or GIB + sum(item.memory_bytes for item in every)
        folder = stack.enter_context(private_folder())
        job = job_of("predictions", inputs, options or ReadOptions(), folder, limit, timeout_s)
        job["tables"] = {
            key: {"input": table.handle, "name": table.name} for key, table in lists.items()
        }
        inputs = every
        run(job, inputs, timeout_s, cancel)
        return replace(read_result(folder), digest=digest_of(inputs))


def read_bin_history(
    path: Path,
    *,
    name: str | None = None,
    timeout_s: float = defaults.READ_TIMEOUT_S,
    cancel: threading.Event | None = None,
) -> HistoryFile:
    """Read a history of bins and gammas by epoch in a child process of its own.

    Parameters
    ----------
    path, name, timeout_s, cancel
        As of `read`.

    Returns
    -------
    HistoryFile
        Bins by epoch, what was assumed, and the digest of the bytes.

    Raises
    ------
    Refused
        Any code of `core.readers.tables.history_file`; LIMIT_TIME, LIMIT_MEMORY, CANCELLED.
    LostWorker
        The child died, or left no valid result.
    """
    with ExitStack() as stack:
        inputs = [opened(stack, path, name)]
        folder = stack.enter_context(private_folder())
        job = job_of("history", inputs, ReadOptions(), folder, None, timeout_s)
        run(job, inputs, timeout_s, cancel)
        return replace(read_left_history(folder), digest=digest_of(inputs))


def read_weights(
    path: Path,
    *,
    into: Path,
    name: str | None = None,
    timeout_s: float = defaults.READ_TIMEOUT_S,
    cancel: threading.Event | None = None,
    memory_bytes: int | None = None,
) -> WeightsFile:
    """Read a file of weights in a child process of its own.

    Parameters
    ----------
    path, name, timeout_s, cancel, memory_bytes
        As of `read`.
    into : Path
        Folder that the tensors are put into, a safetensors file for each group; made where it is
        missing, and best new: a file of such a name is never written over. This process never
        loads them.

    Returns
    -------
    WeightsFile
        Groups, hints, notices, and the digest of the bytes.

    Raises
    ------
    Refused
        Any code of `core.readers.weights.weights_file`; LIMIT_TIME, LIMIT_MEMORY, CANCELLED.
    LostWorker
        The child died, or left no valid result.
    LibraryError
        LIBRARY_WRITE: `into` cannot be written.
    """
    with ExitStack() as stack:
        inputs = [opened(stack, path, name)]
        folder = stack.enter_context(private_folder())
        # Storages are never compressed and are read one by one; the largest may be copied.
        limit = memory_bytes or GIB + 3 * inputs[0].size
        job = job_of("weights", inputs, ReadOptions(), folder, limit, timeout_s)
        run(job, inputs, timeout_s, cancel)
        return replace(read_left_weights(folder, into), digest=digest_of(inputs))


def read_film(
    path: Path,
    *,
    name: str,
    timeout_s: float = FILM_TIMEOUT_S,
    cancel: threading.Event | None = None,
) -> Film:
    """Read a film (PNG, JPEG or DICOM) in a child process of its own; only pixels come back.

    Parameters
    ----------
    path, timeout_s, cancel
        As of `read`; the content decides what the file is, never its name.
    name : str
        What messages call it, such as "film 3": never the user's file name, which may be that of
        a patient.

    Returns
    -------
    Film
        Greys, upright, white = dense.

    Raises
    ------
    Refused
        Any code of `core.readers.films.film_file`, none of which repeats a word of the file;
        LIMIT_TIME, LIMIT_MEMORY, CANCELLED.
    LostWorker
        The child died, or left no valid result.
    """
    with ExitStack() as stack:
        inputs = [opened(stack, path, name)]
        folder = stack.enter_context(private_folder())
        limit = FILM_BYTES + 3 * inputs[0].size
        run(
            job_of("film", inputs, ReadOptions(), folder, limit, timeout_s),
            inputs,
            timeout_s,
            cancel,
        )
        return read_left_film(folder)


def read_columns(path: Path, *, name: str, cancel: threading.Event | None = None) -> TextColumns:
    """Read a table of what is known of the rows of a run, in a child process of its own.

    Parameters
    ----------
    path, name, cancel
        As of `read_film`.

    Returns
    -------
    TextColumns
        All columns as text; `core.readers.tables.columns.match` finds the rows of a run in them.

    Raises
    ------
    Refused
        Any code of `core.readers.tables.columns.read_columns_file`; LIMIT_TIME, LIMIT_MEMORY,
        CANCELLED.
    LostWorker
        The child died, or left no valid result.
    """
    with _left_by("columns", path, name, cancel) as (folder, inputs):
        return replace(read_left_columns(folder), digest=digest_of(inputs))


def read_boxes(path: Path, *, name: str, cancel: threading.Event | None = None) -> BoxList:
    """Read a list of boxes around lesions in a child process of its own.

    Parameters
    ----------
    path, name, cancel
        As of `read_film`.

    Raises
    ------
    Refused
        Any code of `core.readers.tables.boxes.read_boxes_file`; LIMIT_TIME, LIMIT_MEMORY,
        CANCELLED.
    LostWorker
        The child died, or left no valid result.
    """
    with _left_by("boxes", path, name, cancel) as (folder, inputs):
        return replace(read_left_boxes(folder), digest=digest_of(inputs))


@contextmanager
def _left_by(
    reader: str, path: Path, name: str, cancel: threading.Event | None
) -> Iterator[tuple[Path, list[OpenFile]]]:
    """Have a table read, and yield the folder with what was left."""
    with ExitStack() as stack:
        inputs = [opened(stack, path, name)]
        folder = stack.enter_context(private_folder())
        timeout_s = defaults.READ_TIMEOUT_S
        run(
            job_of(reader, inputs, ReadOptions(), folder, None, timeout_s),
            inputs,
            timeout_s,
            cancel,
        )
        yield folder, inputs
