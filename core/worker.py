"""``python -m core.worker``: one function call in a process of its own; standard library only.

The caller writes the pickled function and arguments, and reads the pickled result or exception.
Both ends are Candor itself; what users give is read elsewhere, without pickle.
"""

import os
import pickle
import sys


def main() -> None:
    """Answer one call."""
    if hasattr(os, "nice"):
        os.nice(5)  # pages stay quick beside it
    function, arguments = pickle.loads(sys.stdin.buffer.read())  # noqa: S301  from our own process
    answer: tuple[object, Exception | None]
    try:
        answer = (function(*arguments), None)
    except Exception as error:  # noqa: BLE001  raised again where the result is wanted
        answer = (None, error)
    sys.stdout.buffer.write(pickle.dumps(answer))


if __name__ == "__main__":
    main()
