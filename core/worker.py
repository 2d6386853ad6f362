"""``python -m core.worker PID [FILE]``: one function call in a process of its own.

The caller writes the pickled function and arguments, and reads the pickled result or exception.
Both ends are Candor itself; what users give is read elsewhere, without pickle. PID is the caller's:
on Linux the process does not outlive it. How far it is stands in FILE, an open one. Standard
library only.
"""

import ctypes
import os
import pickle
import signal
import sys
from functools import partial
from typing import Final

from core import progress

PARENT_DEATH_SIGNAL: Final = 1  # prctl
LINE: Final = 200  # bytes of a line of progress, written over by the next one


def main() -> None:
    """Answer one call."""
    if sys.platform.startswith("linux"):
        _end_with(int(sys.argv[1]))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what is half done is tidied up
    if hasattr(os, "nice"):
        os.nice(5)  # pages stay quick beside it
    for file in sys.argv[2:]:
        progress.on_progress(partial(_write, int(file)))
    function, arguments = pickle.loads(sys.stdin.buffer.read())  # noqa: S301  from our own process
    answer: tuple[object, Exception | None]
    try:
        answer = (function(*arguments), None)
    except Exception as error:  # noqa: BLE001  raised again where the result is wanted
        answer = (None, error)
    pickle.dump(answer, sys.stdout.buffer, protocol=pickle.HIGHEST_PROTOCOL)


def _write(file: int, share: float, words: str) -> None:
    """Write how far it is over what was written before."""
    line = f"{share:.4f} {words}".encode()[:LINE]
    os.pwrite(file, line.ljust(LINE), 0)


def _end_with(parent: int) -> None:
    """Be killed when the thread that waits for this process ends, as by the end of its process."""
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before that was said
        os._exit(1)


if __name__ == "__main__":
    main()
