"""Small files and folders on the disk: whole or not there, and said when they cannot be.

Imports the standard library and our errors only.
"""

import errno
import json
import math
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final

from core.errors import LibraryError, Refused

PART: Final = ".part"  # end of the name of a file that is being written
FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def writing(*also: type[Exception]) -> Iterator[None]:
    """Turn what a full disk or a read-only folder throws, and `also`, into a LibraryError."""
    caught: tuple[type[Exception], ...] = (OSError, *also)
    try:
        yield
    except caught as error:
        reason = getattr(error, "strerror", None) or "the disk refused the data"
        raise LibraryError(
            "LIBRARY_WRITE",
            f"The library cannot be written ({reason}); nothing was changed",
            "free some space, or set CANDOR_HOME to a folder you may write to",
        ) from error


@contextmanager
def storing(what: str) -> Iterator[None]:
    """Turn what a full disk or a read-only folder throws into a LibraryError."""
    try:
        yield
    except OSError as error:
        full = error.errno in FULL
        raise LibraryError(
            "DISK_FULL" if full else "LIBRARY_WRITE",
            f"{what} cannot be written ({error.strerror}); the checkpoint before it is untouched",
            "free some space, then resume" if full else "make the folder writable, then resume",
        ) from error


def make_private(path: Path, *, exist_ok: bool = False) -> None:
    """Make a folder and what is missing above it for this user alone."""
    for folder in reversed(path.parents):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=exist_ok)


def replace_text(path: Path, text: str) -> None:
    """Replace a small file in one step, or leave it as it was."""
    replace_bytes(path, text.encode())


def replace_bytes(path: Path, data: bytes | memoryview, mode: int | None = None) -> None:
    """Replace a file in one step, or leave it as it was; it is on the disk when this returns.

    It has the usual permissions, or those of `mode`.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            if mode is not None:
                part.chmod(stat.S_IMODE(mode))
            os.fsync(file.fileno())
        part.replace(path)
        sync(path.parent)
    finally:
        part.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Force a file or folder to the disk; Windows cannot open folders and syncs them itself."""
    if path.is_dir() and os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_file(path: Path) -> IO[bytes]:
    """Open a file to be read; OSError for a folder, a pipe or a device, which may never answer."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with ExitStack() as unless_opened:
        unless_opened.callback(os.close, handle)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Not a file", str(path))
        file = os.fdopen(handle, "rb")
        unless_opened.pop_all()
    return file


_PASSING: Final = {
    getattr(errno, name)
    for name in ("EMFILE", "ENFILE", "ENOMEM", "EAGAIN", "EINTR", "ENOBUFS", "ESTALE")
    if hasattr(errno, name)  # Windows lacks some
}


def may_pass(error: BaseException | None) -> bool:
    """Whether a file could not be read for now, as under load, and may be read a moment later."""
    return isinstance(error, OSError) and error.errno in _PASSING


class JsonError(ValueError):
    """Some text is not the JSON that is read; its words follow the name of the text."""


def parse_json(text: str | bytes) -> object:
    """Return JSON in UTF-8 without NaN, infinities and keys that are given twice.

    Raises JsonError: it is anything else. Of a key that is given twice nobody can say which value
    is meant.
    """
    try:
        plain = text if isinstance(text, str) else text.decode("utf-8")
        return json.loads(
            plain, parse_float=_finite, parse_constant=_finite, object_pairs_hook=_object
        )
    except JsonError:
        raise
    except (ValueError, RecursionError) as error:
        raise JsonError("is not JSON") from error


def read_json(path: Path) -> object:
    """Return the JSON of a file of ours; OSError, or JsonError as of `parse_json`."""
    with open_file(path) as file:
        return parse_json(file.read())


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text[:60])
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    data: dict[str, object] = {}
    for key, value in pairs:
        if key in data:
            raise JsonError(f"gives the key {key!r:.60} twice")
        data[key] = value
    return data


def utf8_name(name: str) -> str:
    """Return the name of a file of data as it is.

    Raises Refused DATA_ROOT: it is not UTF-8.
    """
    try:
        name.encode()
    except UnicodeEncodeError as error:
        printable = name.encode(errors="backslashreplace").decode()
        raise Refused("DATA_ROOT", f"The name of {printable} is not UTF-8", "rename it") from error
    return name
