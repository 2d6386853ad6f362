"""Deleted runs: folders `<id>@<when>` that stay a while; imports our files only."""

import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from core import defaults
from core.disk import PART
from core.library import files

GONE = f".gone{PART}"  # end of the name of a folder that is being removed for good
_WHEN = "%Y%m%dT%H%M%SZ"
_TRASHED = re.compile(r"([a-z0-9-]+)@([0-9]{8}T[0-9]{6}Z)")


@dataclass(frozen=True)
class TrashedRun:
    """A deleted run that can still be restored; `deleted` is UTC in ISO 8601."""

    id: str
    name: str
    deleted: str


def place(trash: Path, run_id: str) -> Path:
    """Return where a run that is deleted now goes."""
    return trash / f"{run_id}@{datetime.now(UTC).strftime(_WHEN)}"


def newest(trash: Path, run_id: str) -> Path | None:
    """Return where the last deleted run of an id lies, if there is one."""
    folders = [path for path, trashed, _ in _entries(trash) if trashed == run_id]
    return folders[-1] if folders else None


def listed(trash: Path, visible: Callable[[Path], bool]) -> list[TrashedRun]:
    """Return the deleted runs whose folders are visible, the last deleted first."""
    return [
        TrashedRun(run_id, files.name_of(path) or "(damaged)", when.isoformat())
        for path, run_id, when in reversed(_entries(trash))
        if visible(path)
    ]


def too_old(trash: Path) -> list[Path]:
    """Return the folders of the runs that were deleted over TRASH_DAYS ago."""
    oldest = datetime.now(UTC) - timedelta(days=defaults.TRASH_DAYS)
    return [path for path, _, when in _entries(trash) if when < oldest]


def sweep(runs: Path) -> None:
    """Remove what a process that died left half-written among the runs, a day later."""
    yesterday = (datetime.now(UTC) - timedelta(days=1)).timestamp()
    parts: list[Path] = []
    for folder in (runs, *runs.glob("*")):
        with suppress(OSError):  # deleted meanwhile
            parts += folder.glob(f".*{PART}")
    for part in parts:
        if part.name.endswith(GONE) or _changed(part) >= yesterday:
            continue
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            with suppress(OSError):
                part.unlink()


def _entries(trash: Path) -> list[tuple[Path, str, datetime]]:
    """Return (folder, id, when) of deleted runs, the oldest first."""
    matches = ((path, _TRASHED.fullmatch(path.name)) for path in trash.glob("*@*"))
    entries = [
        (path, match[1], datetime.strptime(match[2], _WHEN).replace(tzinfo=UTC))
        for path, match in matches
        if match
    ]
    return sorted(entries, key=lambda entry: (entry[2], entry[1]))


def _changed(part: Path) -> float:
    """Return when a path last changed; one that is gone or hidden by now changed never."""
    try:
        return part.stat().st_mtime
    except OSError:
        return float("inf")
