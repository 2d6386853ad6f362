"""Typed fields of a manifest's JSON, refused where they are something else; standard library."""

import sys
from collections.abc import Collection
from datetime import datetime
from typing import Any, Final, TypeVar

from core.errors import LibraryError
from core.fields import is_text

JsonObject = dict[str, Any]  # Any: JSON as it came, checked field by field
T = TypeVar("T")
MOST: Final = 2**63 - 1


def bad(what: str) -> LibraryError:
    """Return the refusal of a manifest."""
    return LibraryError("MANIFEST", f"the manifest is not one: {what}", "restore it from a backup")


def same_keys(record: type, data: JsonObject, name: str) -> None:
    """Refuse an object whose keys are not the fields of a record."""
    keys = record.__annotations__.keys()
    odd = sorted(keys ^ data.keys())
    if odd:
        raise bad(f"{name} has unknown or missing keys {', '.join(odd)[:200]}")


def typed(data: JsonObject, key: str, kind: type[T]) -> T:
    """Return a value of one type; true is no number."""
    value = data[key]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise bad(f"{key} is a {type(value).__name__}, expected {kind.__name__}")
    return value


def text_of(data: JsonObject, key: str) -> str:
    """Return a text that can be stored."""
    value = typed(data, key, str)
    if not is_text(value):
        raise bad(f"{key} is not valid text")
    return value


def object_of(data: JsonObject, key: str) -> JsonObject:
    """Return an object."""
    return typed(data, key, dict)


def optional_object(data: JsonObject, key: str) -> JsonObject | None:
    """Return an object, or None for null."""
    return None if data[key] is None else object_of(data, key)


def texts_of(data: JsonObject, key: str) -> tuple[str, ...]:
    """Return a list of texts."""
    values = typed(data, key, list)
    if not all(isinstance(value, str) for value in values):
        raise bad(f"{key} holds something other than text")
    return tuple(values)


def count_of(data: JsonObject, key: str) -> int:
    """Return a whole number, at least 1, that SQLite can hold."""
    value = typed(data, key, int)
    if not 1 <= value <= MOST:
        raise bad(f"{key} is {value!r:.60}")
    return value


def one_of(options: Collection[str], data: JsonObject, key: str) -> str:
    """Return a text that is one of some."""
    value = text_of(data, key)
    if value not in set(options):
        raise bad(f"{key} is {value[:60]!r}")
    return value


def number_of(data: JsonObject, key: str) -> float | None:
    """Return a finite number, or None for null."""
    value = data[key]
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise bad(f"{key} is a {type(value).__name__}, expected a number")
    if not -sys.float_info.max <= value <= sys.float_info.max:
        raise bad(f"{key} is {value!r:.60}, expected a finite number")
    return float(value)


def moment_of(data: JsonObject, key: str) -> str:
    """Return a text that is a moment in ISO 8601 with its time zone."""
    value = text_of(data, key)
    try:
        zoned = datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        zoned = False
    if not zoned:
        raise bad(f"{key} is {value!r:.60}, expected a date with time and zone")
    return value
