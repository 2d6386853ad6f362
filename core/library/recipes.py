"""How a user said that files of one layout are to be read; small JSON files under the home."""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from core.disk import make_private, read_json, replace_text, writing
from core.errors import UsageError

FINGERPRINT = re.compile(r"[0-9a-f]{8,64}", re.ASCII)
MAX_BYTES = 64 * 1024


def save_recipe(home: Path, fingerprint: str, recipe: dict[str, Any]) -> None:
    """Remember a recipe, in place of an earlier one.

    `fingerprint`: hex digest of format, keys and dtypes of the files that the recipe fits.

    Raises LibraryError LIBRARY_WRITE when the disk is full or read-only.
    """
    path = _path(home, fingerprint)
    with writing():
        make_private(path.parent, exist_ok=True)
        replace_text(path, json.dumps(recipe))


def load_recipe(home: Path, fingerprint: str) -> dict[str, Any] | None:
    """Return the recipe of a fingerprint, or None: an unreadable one is asked for again."""
    path = _path(home, fingerprint)
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        recipe = read_json(path)
    except (OSError, ValueError):
        return None
    return recipe if isinstance(recipe, dict) else None


def forget_recipe(home: Path, fingerprint: str) -> None:
    """Remove the recipe of a fingerprint; without one nothing happens."""
    with writing():
        _path(home, fingerprint).unlink(missing_ok=True)


def forget_before(home: Path, moment: float) -> int:
    """Remove the recipes of all users that were saved before a moment; return how many.

    They name columns of files.

    `moment`: seconds since 1970.

    Raises LibraryError LIBRARY_WRITE.
    """
    n_recipes = 0
    with writing():
        for path in (*home.glob("recipes/*.json"), *home.glob("users/*/recipes/*.json")):
            with suppress(FileNotFoundError):  # forgotten meanwhile
                if path.stat().st_mtime < moment:
                    path.unlink()
                    n_recipes += 1
    return n_recipes


def _path(home: Path, fingerprint: str) -> Path:
    if not FINGERPRINT.fullmatch(fingerprint):
        raise UsageError(
            "FINGERPRINT", f"{fingerprint[:60]!r} is not a fingerprint", "give 8 to 64 hex digits"
        )
    return home / "recipes" / f"{fingerprint}.json"
