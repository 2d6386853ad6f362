"""The confined process that reads one file: `python -m core.readers.sandbox.child`, never imported.

Everything needed is imported before privileges are dropped, because a private home may hold the
interpreter. The input arrives as open descriptors: no path of the user's is needed or known.
"""

import codecs
import errno
import importlib
import json
import os
import sys
from pathlib import Path

from core.errors import Refused
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import read_source
from core.readers.predictions.options import ReadOptions
from core.readers.sandbox.limits import drop_privileges, leave_network, limit_resources
from core.readers.sandbox.wire import (
    write_boxes,
    write_columns,
    write_film,
    write_history,
    write_refusal,
    write_result,
    write_weights,
)
from core.readers.tables.boxes import read_boxes_file
from core.readers.tables.columns import read_columns_file
from core.readers.tables.history_file import read_history
from core.readers.weights.weights_file import read_weights_file

# Codecs are modules that are imported at first use.
CODECS = ("ascii", "cp437", "cp1252", "latin-1", "utf-8", "utf-16", "utf-16-le", "utf-16-be")
OUT_OF_MEMORY, NO_ROOM = 13, 14  # exit codes: none of Python's own
EXITS = {errno.ENOMEM: OUT_OF_MEMORY, errno.ENOSPC: NO_ROOM, errno.EDQUOT: NO_ROOM}


def main() -> int:
    """Read the job from the first argument, leave the result in the working folder."""
    job = json.loads(sys.argv[1])
    os.chdir(job["folder"])  # while it can be reached: another user may not pass the way there
    folder = Path()
    os.umask(0o077)
    import_early(str(job["reader"]))
    leave_network()
    limit_resources(int(job["memory_bytes"]), int(job["seconds"]))
    drop_privileges()
    try:
        _answer(job, folder)
    except MemoryError:
        return OUT_OF_MEMORY
    except OSError as error:  # mapping a file beyond the limit, or writing on a full disk
        if error.errno not in EXITS:
            raise
        return EXITS[error.errno]
    return 0


def import_early(reader: str) -> None:
    """Import what would be looked for at first use, when the interpreter may be out of reach."""
    if reader == "film":  # its packages take a quarter of a second, which no other reader pays
        sys.modules["requests"] = None  # type: ignore[assignment]  # pydicom would, to download
        importlib.import_module("core.readers.films.film_file").import_early()
    for name in CODECS:
        codecs.lookup(name)
    importlib.import_module("numpy.ma")  # NumPy's functions of sets import it
    sys.modules["pandas"] = None  # type: ignore[assignment]  # Arrow would try; it does without


def _answer(job: dict[str, object], folder: Path) -> None:
    try:
        _read(job, folder)
    except Refused as refusal:
        write_refusal(folder, refusal)


def _read(job: dict[str, object], folder: Path) -> None:
    source = _source(str(job["name"]), job["input"])
    if job["reader"] == "history":
        write_history(folder, read_history(source))
        return
    if job["reader"] == "columns":
        write_columns(folder, read_columns_file(source))
        return
    if job["reader"] == "boxes":
        write_boxes(folder, read_boxes_file(source))
        return
    if job["reader"] == "weights":
        write_weights(folder, source.name, read_weights_file(source))
        return
    if job["reader"] == "film":
        from core.readers.films.film_file import read_film_file

        write_film(folder, read_film_file(source))
        return
    options = ReadOptions.from_json(job["options"])  # type: ignore[arg-type]
    labels = None
    if job["labels"] is not None:
        labels = _source(str(job["labels_name"]), job["labels"])
    tables = {
        option: _source(str(table["name"]), table["input"])
        for option, table in job.get("tables", {}).items()  # type: ignore[attr-defined]
    }
    write_result(folder, read_source(source, labels, options, tables))


def _source(name: str, handle: object) -> FileBytes:
    """Open a descriptor; a path where descriptors cannot be handed over (Windows)."""
    descriptor = handle if isinstance(handle, int) else os.open(str(handle), os.O_RDONLY)
    return FileBytes.of_file(name, os.fdopen(descriptor, "rb"))


if __name__ == "__main__":
    sys.exit(main())
