"""What users and groups are called: a small file each, written when somebody logs in.

Only pages read it; runs, jobs, links, logs and the audit trail hold ids. Imports our files.
"""

import json
from pathlib import Path
from typing import Final

from core.disk import parse_json, replace_text, writing
from core.library.sharing import NAME, checked

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
        data = parse_json(path.read_text("utf-8"))
    except (OSError, ValueError):
        return ""
    name = data.get("name") if isinstance(data, dict) else None
    return name if isinstance(name, str) else ""
