"""``python -m core.inference.worker``: a process that keeps torch and a few models warm.

It reads one request a line from its standard input, {"id", "call", "asked"}, and answers each on
its standard output in order: a line {"id", "found", "arrays"} and the arrays' bytes, or a line
{"id", "error"}. One call at a time, so nothing of one can reach another. It ends when its input
does, or when nobody has asked for a while.
"""

import json
import os
import select
import sys
from typing import Any, BinaryIO, Final

import numpy as np

from core.errors import AuditError

IDLE_S: Final = 600.0


def main() -> int:
    """Answer until there is nothing more to answer."""
    # What libraries print must not stand between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    requests = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)
    if hasattr(os, "nice"):
        os.nice(5)  # pages stay quick beside it
    from core.inference.calls import CALLS

    while select.select([requests], [], [], IDLE_S)[0]:
        line = _line(requests)
        if not line:
            break
        request = json.loads(line)
        try:
            found, arrays = CALLS[request["call"]](request["asked"])
        except AuditError as error:
            _answer(answers, {"id": request["id"], "error": error.to_json() | _kind(error)}, {})
        else:
            _answer(answers, {"id": request["id"], "found": found}, arrays)
    return 0


def _kind(error: AuditError) -> dict[str, int]:
    return {"exit_code": error.exit_code}


def _line(requests: BinaryIO) -> bytes:
    """Return the next line; unbuffered, so that what waits is seen by select."""
    found = bytearray()
    while piece := requests.readline():
        found += piece
        if piece.endswith(b"\n"):
            return bytes(found)
    return b""


def _answer(out: BinaryIO, said: dict[str, Any], arrays: dict[str, Any]) -> None:
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    said["arrays"] = [[name, str(a.dtype), list(a.shape)] for name, a in whole.items()]
    out.write(json.dumps(said).encode() + b"\n")
    for array in whole.values():
        out.write(array.tobytes())
    out.flush()


if __name__ == "__main__":
    sys.exit(main())
