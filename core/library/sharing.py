"""Whom a run is shared with: a small file in its folder, beside the manifest.

It lies there so that the index can be rebuilt from folders, and apart from the manifest so that
runs that earlier versions kept stay as they are. Imports the standard library and our errors.
"""

import errno
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

from core.disk import read_json, replace_text, writing
from core.errors import LibraryError
from core.library.files import MANIFEST, damaged, stored_manifest

SHARING: Final = "sharing.json"
MAX_BYTES: Final = 64 * 1024
NOBODY: Final = (errno.ENOENT, errno.ENOTDIR, errno.EINVAL, errno.ELOOP)  # there is no such file
KEPT: Final = 4_096  # owners of runs
NAME: Final = re.compile(r"[ug]-[0-9a-f]{32}", re.ASCII)


def read(run: Path) -> tuple[str, ...]:
    """Return the users and groups that a run is shared with; nobody where that makes no sense.

    LibraryError DAMAGED where it cannot be read: names that are not seen must not be overwritten.
    """
    try:
        if (run / SHARING).stat().st_size > MAX_BYTES:
            return ()
        data = read_json(run / SHARING)
    except OSError as error:
        if error.errno in NOBODY:
            return ()
        raise damaged(run, f"{SHARING} cannot be read") from error
    except ValueError:
        return ()
    names = data.get("shared_with") if isinstance(data, dict) else None
    if not isinstance(names, list):
        return ()
    return tuple(name for name in names if isinstance(name, str) and NAME.fullmatch(name))


def write(run: Path, names: Iterable[str]) -> None:
    """Say whom a run is shared with from now on."""
    data = {"schema_version": 1, "shared_with": sorted(set(names))}
    replace_text(run / SHARING, json.dumps(data, indent=1))


def checked(name: str) -> str:
    """Return the id of a user or group, or refuse any other text."""
    if not NAME.fullmatch(name):
        raise LibraryError(
            "PERSON_UNKNOWN",
            f"{name[:60]!r} is neither a user nor a group",
            "pick one from the list",
        )
    return name


def owner_of(run: Path) -> str:
    """Return who owns a run; "" where its manifest cannot be read."""
    try:
        state = (run / MANIFEST).stat()
        return _owner(run, state.st_mtime_ns, state.st_size, state.st_ino)
    except (OSError, ValueError, LibraryError):
        return ""


@lru_cache(KEPT)  # what is raised is not kept: it may pass
def _owner(run: Path, changed_ns: int, size: int, inode: int) -> str:
    del changed_ns, size, inode  # part of the key only
    return stored_manifest(run).owner


FOLDER: Final = "people"
MAX_NAME: Final = 120


def remember(home: Path, person: str, name: str) -> None:
    """Keep what a user or group is called; nothing is written where that is known already."""
    path = home / FOLDER / f"{checked(person)}.json"
    if _name(path) == name[:MAX_NAME]:
        return
    with writing():
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.parent.mkdir(exist_ok=True, mode=0o700)
        replace_text(path, json.dumps({"name": name[:MAX_NAME]}))


def name_of(home: Path, person: str) -> str:
    """Return what a user or group is called; "" where nobody knows."""
    return _name(home / FOLDER / f"{checked(person)}.json")


def known(home: Path) -> dict[str, str]:
    """Return what every user and group that was here is called, by id."""
    names = {path.stem: _name(path) for path in (home / FOLDER).glob("*.json")}
    return {person: name for person, name in names.items() if NAME.fullmatch(person) and name}


def _name(path: Path) -> str:
    try:
        data = read_json(path)
    except (OSError, ValueError):
        return ""
    name = data.get("name") if isinstance(data, dict) else None
    return name if isinstance(name, str) else ""
