"""Private folders that carry who made them, so that what a killed process leaves is found again.

A name is ``candor-PID-PROCESS-PLACE-KIND-RANDOM``. PROCESS stands for the boot and the moment the
process started, because pids are used again; PLACE for the machine and its namespace of pids,
because elsewhere, in a container that shares the folder for example, a pid says nothing.
"""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from core.process_identity import boot_id, identity, pid_namespace, this_boot, this_host

PREFIX = "candor-"
STALE_S = 14 * 24 * 3600.0  # where a process cannot be looked up; a page may stay open for days
_NAMED = re.compile(rf"{PREFIX}(\d+)-([0-9a-f]{{8}})-([0-9a-f]{{8}})-\w+-.+", re.ASCII)


def make(kind: str) -> Path:
    """Return a new folder of this process, which nobody else may enter (mode 0700)."""
    pid = os.getpid()
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{pid}-{_process(pid)}-{_place()}-{kind}-"))


def remove(folder: Path) -> None:
    """Remove a folder and all in it; one that is gone already is fine."""
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def folder(kind: str) -> Iterator[Path]:
    """Make a folder that is gone after the body."""
    path = make(kind)
    try:
        yield path
    finally:
        remove(path)


def sweep() -> list[Path]:
    """Remove the folders of processes that are gone, and return them."""
    try:
        with os.scandir(tempfile.gettempdir()) as entries:
            paths = [Path(entry.path) for entry in entries if entry.name.startswith(PREFIX)]
    except OSError:  # no temporary folder, or none that may be looked at
        return []
    gone = [path for path in paths if _orphaned(path)]
    for path in gone:
        remove(path)
    return gone


def _orphaned(path: Path) -> bool:
    """Whether a path is a folder of ours whose process is gone."""
    match = _NAMED.fullmatch(path.name)
    if match is None or path.is_symlink() or not path.is_dir():
        return False
    pid, process, place = match.groups()
    with suppress(OSError):  # where nobody can tell it stays
        if place == _place() and this_boot():
            return _process(int(pid)) != process
        return time.time() - path.stat().st_mtime > STALE_S
    return False


def _process(pid: int) -> str:
    """Return what tells a process from another of the same pid; of nobody, and off Linux, zeros."""
    who = identity(pid)
    return "0" * 8 if who is None else _digest(boot_id(), str(who.start))


def _place() -> str:
    return _digest(this_host(), pid_namespace())


def _digest(*words: str) -> str:
    return blake2b("\n".join(words).encode(), digest_size=4).hexdigest()
