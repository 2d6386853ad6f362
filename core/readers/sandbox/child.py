"""The confined process that reads one file: `main` is run by `core.readers.sandbox.limits`.

It has left the network before this module is imported. Everything needed is imported before
privileges are dropped, because a private home may hold the interpreter. The input arrives as open
descriptors: no path of the user's is needed or known.
"""

import codecs
import errno
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.errors import Refused
from core.readers.formats.contents import FileBytes
from core.readers.predictions.result import ReadOptions
from core.readers.sandbox.limits import drop_privileges, limit_resources
from core.readers.sandbox.readers import READERS
from core.readers.sandbox.wire import NOTHING, Exchange, write_refusal

# Codecs are modules that are imported at first use.
CODECS = ("ascii", "cp437", "cp1252", "latin-1", "utf-8", "utf-16", "utf-16-le", "utf-16-be")
OUT_OF_MEMORY, NO_ROOM = 13, 14  # exit codes: none of Python's own
EXITS = {errno.ENOMEM: OUT_OF_MEMORY, errno.ENOSPC: NO_ROOM, errno.EDQUOT: NO_ROOM}


def main() -> int:
    """Read the job from the file that is named, leave the result in the working folder."""
    job = json.loads(Path(sys.argv[1]).read_bytes())
    os.chdir(job["folder"])  # while it can be reached: another user may not pass the way there
    folder = Path()
    tempfile.tempdir = os.curdir  # where large arrays are put together
    os.umask(0o077)
    # Imports first, limits and rights after: the interpreter's own files may be out of reach then.
    import_early(job["reader"])
    limit_resources(job["memory_bytes"], job["seconds"])
    drop_privileges(nobody=job["nobody"])
    try:
        answer(job, folder)
    except MemoryError:
        return OUT_OF_MEMORY
    except OSError as error:  # mapping a file beyond the limit, or writing on a full disk
        if error.errno not in EXITS:
            raise
        return EXITS[error.errno]
    return 0


def import_early(reader: str) -> None:
    """Import what would be looked for at first use, when the interpreter may be out of reach."""
    READERS[reader].import_early()
    for name in CODECS:
        codecs.lookup(name)
    importlib.import_module("numpy.ma")  # NumPy's functions of sets import it
    sys.modules["pandas"] = None  # type: ignore[assignment]  # Arrow would try; it does without


def answer(job: Mapping[str, Any], folder: Path) -> None:
    """Read what a job names, and leave the result or the refusal in a folder."""
    reader, sources = READERS[job["reader"]], {}
    try:
        for role, file in job["files"].items():
            # A descriptor; a path where descriptors cannot be handed over (Windows).
            handle = file["input"]
            descriptor = handle if isinstance(handle, int) else os.open(handle, os.O_RDONLY)
            sources[role] = FileBytes.of_file(file["name"], os.fdopen(descriptor, "rb"))
        content = reader.read(sources, ReadOptions.from_json(job["options"]))
        reader.write(Exchange(folder, sources if job.get("in_place") else NOTHING), content)
    except Refused as refusal:
        write_refusal(folder, refusal)
