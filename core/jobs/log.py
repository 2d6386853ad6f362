"""What a job's process prints: bounded on the disk, read from its end, harmless to show."""

import os
import re
from pathlib import Path
from typing import Final
from unicodedata import category

NAME: Final = "log.txt"
EARLIER: Final = "log.1.txt"
LIMIT: Final = 2 * 2**20  # bytes of each of the two files
CHUNK: Final = 64 * 1024
TAIL: Final = 64 * 1024  # bytes that are looked at for the last lines
WIDTH: Final = 2_000  # characters of a line
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)")


class Log:
    """The log of one job; beyond the limit the older half goes.

    Parameters
    ----------
    folder : Path
        Of the job.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._earlier = folder / EARLIER
        self._file = self._path.open("ab", buffering=0)
        self._size = self._path.stat().st_size

    def write(self, data: bytes) -> None:
        """Keep what was printed, at most `CHUNK` bytes; on a full disk it is let go."""
        try:
            if self._size + len(data) > LIMIT:
                self._file.close()
                self._path.replace(self._earlier)
                self._file, self._size = self._path.open("ab", buffering=0), 0
            self._size += self._file.write(data)
        except OSError:
            return

    def follow(self, pipe: int) -> None:
        """Write all that comes through a pipe until its last writer closes it."""
        while data := os.read(pipe, CHUNK):
            self.write(data)
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Follower:
    """Reads the lines of a log as they come.

    Parameters
    ----------
    folder : Path
        Of the job.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._at = 0
        self._rest = b""

    def new(self) -> list[str]:
        """Return the whole lines since the last call; a log begun anew is read from its start."""
        try:
            with self._path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(self._at if self._at <= size else 0)
                data = file.read(CHUNK)
                self._at = file.tell()
        except OSError:
            return []
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [_clean(line.decode("utf-8", "replace")) for line in lines]


def tail(folder: Path, n_lines: int) -> list[str]:
    """Return the last lines that a job printed, without control characters.

    A carriage return begins its line anew, as on a terminal.
    """
    data = _end(folder / NAME, TAIL)
    if len(data) < TAIL:
        data = _end(folder / EARLIER, TAIL - len(data)) + data
    lines = data.decode("utf-8", "replace").split("\n")
    if not lines[-1]:
        lines.pop()
    return [_clean(line) for line in lines[-n_lines:]]


def _end(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - size))
            return file.read(size)
    except OSError:
        return b""


def _clean(line: str) -> str:
    shown = _ESCAPES.sub("", line.rstrip("\r").rsplit("\r", 1)[-1]).replace("\t", "    ")
    kept = "".join(mark for mark in shown if category(mark) not in {"Cc", "Cf", "Cs", "Co"})
    return kept if len(kept) <= WIDTH else f"{kept[:WIDTH]} …"
