"""``python -m core.inference.worker PID``: a process that keeps torch and a few models warm.

It reads one request a line from its standard input, {"id", "call", "asked"}, and answers each on
its standard output in order: a line {"id", "found", "arrays"} and the arrays' bytes, or a line
{"id", "error"}. One call at a time, so nothing of one can reach another. It ends when its input
does, when the process PID that started it does, or when nobody has asked for a while.
"""

import json
import os
import select
import sys
import time
from collections.abc import Iterator
from threading import Thread
from typing import Any, BinaryIO, Final

import numpy as np

from core.errors import AuditError, LostWorker

IDLE_S: Final = 600.0
LOOK_S: Final = 1.0
PIECE: Final = 2**16


def main() -> int:
    """Answer until there is nothing more to answer."""
    Thread(target=_end_with, args=(int(sys.argv[1]),), daemon=True).start()
    # What libraries print must not stand between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    if hasattr(os, "nice"):
        os.nice(5)  # pages stay quick beside it
    from core.inference.calls import CALLS

    for line in _lines(sys.stdin.fileno()):
        request = json.loads(line)
        try:
            values, arrays = CALLS[request["call"]](request["asked"])
        except AuditError as error:
            _refuse(answers, request["id"], error)
        except Exception as error:  # noqa: BLE001  whatever a model raises, others still ask
            what = f"The model failed ({type(error).__name__}: {str(error)[:200]})"
            lost = LostWorker("LOST_WORKER", what, "choose another network or other settings")
            _refuse(answers, request["id"], lost)
        else:
            _answer(answers, {"id": request["id"], "found": values}, arrays)
    return 0


def _end_with(parent: int) -> None:
    """End this process once its parent has ended, also in the middle of a call.

    Not by a signal of the kernel: that comes when the parent's thread ends which made the first
    call, and others may still ask.
    """
    while os.getppid() == parent:
        time.sleep(LOOK_S)
    os._exit(0)


def _lines(requests: int) -> Iterator[bytes]:
    """Yield lines of a descriptor until it ends, or nothing comes for a while."""
    rest = b""
    while select.select([requests], [], [], IDLE_S)[0]:
        piece = os.read(requests, PIECE)
        if not piece:
            return
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines


def _refuse(out: BinaryIO, number: int, error: AuditError) -> None:
    refusal = error.to_json() | {"exit_code": error.exit_code}
    _answer(out, {"id": number, "error": refusal}, {})


def _answer(out: BinaryIO, reply: dict[str, Any], arrays: dict[str, Any]) -> None:
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    reply["arrays"] = [[name, str(a.dtype), list(a.shape)] for name, a in contiguous.items()]
    out.write(json.dumps(reply).encode() + b"\n")
    for array in contiguous.values():
        out.write(array.tobytes())
    out.flush()


if __name__ == "__main__":
    sys.exit(main())
