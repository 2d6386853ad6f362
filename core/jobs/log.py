"""What a job's process prints: bounded on the disk, read from its end, harmless to show."""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final
from unicodedata import category

from core.disk import open_file

NAME: Final = "log.txt"
EARLIER: Final = "log.1.txt"
LIMIT: Final = 2 * 2**20  # bytes of each of the two files
CHUNK: Final = 64 * 1024
TAIL: Final = 64 * 1024  # bytes that are looked at for the last lines
WIDTH: Final = 2_000  # characters of a line
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)")


class Log:
    """The log of one job; beyond the limit the older half goes."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._earlier = folder / EARLIER
        self._end = b""

    def write(self, data: bytes) -> None:
        """Keep what was printed, at most `CHUNK` bytes; on a full disk only its end, in memory."""
        self._end = (self._end + data)[-TAIL:]
        with suppress(OSError):
            if self._path.exists() and self._path.stat().st_size + len(data) > LIMIT:
                self._path.replace(self._earlier)
            with self._path.open("ab", buffering=0) as file:
                file.write(data)

    def follow(self, pipe: int) -> None:
        """Write all that comes through a pipe until its last writer closes it."""
        while data := os.read(pipe, CHUNK):
            self.write(data)

    def last(self, n_lines: int) -> list[str]:
        """Return the last lines, whether the disk took them or not."""
        return _lines(self._end, n_lines)


class Follower:
    """Reads the lines of a log as they come."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._file = 0  # its number in the file system: another one was begun anew
        self._at = 0
        self._rest = b""

    def new(self) -> list[str]:
        """Return the whole lines since the last call; a new log is read from its start."""
        try:
            with open_file(self._path) as file:
                status = os.fstat(file.fileno())
                if status.st_ino != self._file:
                    self._file, self._at, self._rest = status.st_ino, 0, b""
                file.seek(self._at)
                data = file.read(LIMIT)
                self._at = file.tell()
        except OSError:
            return []
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [_clean(line.decode("utf-8", "replace")) for line in lines]

    def rest(self) -> list[str]:
        """Return what is left at the end, its last line too where no newline ends it."""
        lines = self.new()
        return [*lines, *_lines(self._rest, 1)] if self._rest else lines


def tail(folder: Path, n_lines: int) -> list[str]:
    """Return the last lines that a job printed, without control characters.

    A carriage return begins its line anew, as on a terminal.
    """
    data = _end(folder / NAME, TAIL)
    if len(data) < TAIL:
        data = _end(folder / EARLIER, TAIL - len(data)) + data
    return _lines(data, n_lines)


def _lines(data: bytes, n_lines: int) -> list[str]:
    lines = data.decode("utf-8", "replace").split("\n")
    if not lines[-1]:
        lines.pop()
    return [_clean(line) for line in lines[-n_lines:]]


def _end(path: Path, size: int) -> bytes:
    try:
        with open_file(path) as file:
            file.seek(max(0, path.stat().st_size - size))
            return file.read(size)
    except OSError:
        return b""


def _clean(line: str) -> str:
    text = _ESCAPES.sub("", line.rstrip("\r").rsplit("\r", 1)[-1]).replace("\t", "    ")
    printable = "".join(mark for mark in text if category(mark) not in {"Cc", "Cf", "Cs", "Co"})
    return printable if len(printable) <= WIDTH else f"{printable[:WIDTH]} …"
