"""Reading a file in the test's own process, as the sealed child does and without its walls."""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any

from core.errors import Refused
from core.readers.formats.contents import FileBytes
from core.readers.predictions.result import ReadOptions
from core.readers.sandbox.child_process import OpenFile
from core.readers.sandbox.readers import READERS
from core.readers.sandbox.wire import NOTHING, RESULT, Exchange, write_refusal


def read_here(
    job: Mapping[str, Any], _: Iterable[OpenFile], __: float, cancel: Event | None
) -> None:
    """Leave the result or the refusal where a child would, in place of `child_process.run`."""
    if cancel is not None and cancel.is_set():
        raise Refused("CANCELLED", "Reading was cancelled", "start it again when you like")
    job = json.loads(json.dumps(job))  # as it crosses to the child
    folder, reader = Path(job["folder"]), READERS[job["reader"]]
    with ExitStack() as stack:
        sources = {}
        for role, file in job["files"].items():
            opened = stack.enter_context(os.fdopen(os.dup(file["input"]), "rb"))
            sources[role] = FileBytes.of_file(file["name"], opened)
        try:
            content = reader.read(sources, ReadOptions.from_json(job["options"]))
            reader.write(Exchange(folder, sources if job["in_place"] else NOTHING), content)
        except Refused as refusal:
            write_refusal(folder, refusal)
    assert (folder / RESULT).is_file()
