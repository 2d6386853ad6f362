"""Private folders that carry their process's number, so that what a crash leaves is found again."""

import os
import re
import shutil
import tempfile
import time
from pathlib import Path

PREFIX = "candor-"
STALE_S = 24 * 3600.0  # where processes cannot be looked up, a folder this old is nobody's
_NAMED = re.compile(rf"{PREFIX}(\d+)-\w+-.+", re.ASCII)


def make(kind: str) -> Path:
    """Return a new folder of this process, which nobody else may enter (mode 0700)."""
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-{kind}-"))


def remove(folder: Path) -> None:
    """Remove a folder and all in it; one that is gone already is fine."""
    shutil.rmtree(folder, ignore_errors=True)


def sweep() -> list[Path]:
    """Remove the folders of processes that are gone, and return them."""
    found = (p for p in Path(tempfile.gettempdir()).glob(f"{PREFIX}*") if _NAMED.fullmatch(p.name))
    gone = [p for p in found if p.is_dir() and not p.is_symlink() and _orphaned(p)]
    for folder in gone:
        remove(folder)
    return gone


def _orphaned(folder: Path) -> bool:
    match = _NAMED.fullmatch(folder.name)
    assert match is not None
    if Path("/proc/self").exists():
        return not Path("/proc", match[1]).exists()
    return time.time() - folder.stat().st_mtime > STALE_S
