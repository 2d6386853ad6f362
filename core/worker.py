"""``python -m core.worker PID``: one function call in a process of its own; standard library only.

The caller writes the pickled function and arguments, and reads the pickled result or exception.
Both ends are Candor itself; what users give is read elsewhere, without pickle. PID is the caller's:
on Linux the process does not outlive it.
"""

import ctypes
import os
import pickle
import signal
import sys
from typing import Final

PARENT_DEATH_SIGNAL: Final = 1  # prctl


def main() -> None:
    """Answer one call."""
    if sys.platform.startswith("linux"):
        _end_with(int(sys.argv[1]))
    if hasattr(os, "nice"):
        os.nice(5)  # pages stay quick beside it
    function, arguments = pickle.loads(sys.stdin.buffer.read())  # noqa: S301  from our own process
    answer: tuple[object, Exception | None]
    try:
        answer = (function(*arguments), None)
    except Exception as error:  # noqa: BLE001  raised again where the result is wanted
        answer = (None, error)
    sys.stdout.buffer.write(pickle.dumps(answer))


def _end_with(parent: int) -> None:
    """Be killed when the thread that waits for this process ends, as by the end of its process."""
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before that was said
        os._exit(1)


if __name__ == "__main__":
    main()
