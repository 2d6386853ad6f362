"""Logins that are good: a small file each, which goes when somebody logs out.

A browser's cookie holds a key alone, and the file what the provider said: whose login it is, the
role and the groups, however many. It is named by a digest of the key, so that whoever reads the
folder cannot log in. Names are in `people`, addresses nowhere. Standard library and our files only.
"""

import json
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from core import codec
from core.access import UserRole
from core.disk import make_private, read_json, replace_text
from core.errors import UsageError

FOLDER: Final = "logins"
# Of this process: a full disk keeps nobody out, and one that is read-only nobody in.
_UNWRITTEN: Final[dict[Path, "Login"]] = {}
_ENDED: Final[set[Path]] = set()


@dataclass(frozen=True)
class Login:
    """A user who logged in."""

    user: str  # as `core.access.user_id` names them
    role: str  # name of a `UserRole`; empty for a user without one
    groups: tuple[str, ...]  # as `core.access.group_id` names them
    issued: float  # seconds since 1970, as the provider says

    @property
    def known_role(self) -> UserRole | None:
        """The role, if it has one."""
        return UserRole.__members__.get(self.role)


def begin(home: Path, login: Login, lifetime_s: float) -> str:
    """Keep a login and return its key; those that are older than a lifetime go."""
    key = secrets.token_urlsafe(32)
    path = _path(home, key)
    try:
        make_private(home, exist_ok=True)
        make_private(path.parent, exist_ok=True)
        replace_text(path, json.dumps(codec.to_json(login)))
    except OSError:
        _UNWRITTEN[path] = login
    oldest = time.time() - lifetime_s
    for other in path.parent.glob("*.json"):
        with suppress(OSError):
            if other.stat().st_mtime < oldest:
                other.unlink()
    for other, kept in list(_UNWRITTEN.items()):
        if kept.issued < oldest:
            _UNWRITTEN.pop(other, None)
    return key


def read(home: Path, key: str) -> Login | None:
    """Return the login of a key; None where it has ended."""
    path = _path(home, key)
    login: Login | None
    try:
        data = read_json(path)
        login = codec.read(Login, data, "login", stored=True)
    except (OSError, ValueError, UsageError):  # JsonError is a ValueError, and so is no UTF-8
        login = _UNWRITTEN.get(path)
    return None if path in _ENDED else login


def end(home: Path, key: str) -> None:
    """End a login: whoever shows its key again is not logged in."""
    path = _path(home, key)
    _UNWRITTEN.pop(path, None)
    try:
        path.unlink(missing_ok=True)
    except OSError:
        _ENDED.add(path)


def _path(home: Path, key: str) -> Path:
    return home / FOLDER / f"{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"
