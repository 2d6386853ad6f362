"""Records to plain JSON and back, checked by their types: what users write, and what is stored."""

import sys
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from enum import StrEnum
from types import NoneType
from typing import Any, TypeVar, get_args

from core.errors import UsageError
from core.fields import REQUIRED, Field, JsonObject, fields_of, is_record

T = TypeVar("T")


def to_json(record: Any) -> JsonObject:  # noqa: ANN401  any dataclass
    """Return a record as plain JSON; `read` gives an equal one back."""
    return {name: _plain(getattr(record, name)) for name in fields_of(type(record))}


def _plain(value: Any) -> Any:  # noqa: ANN401  plain JSON values
    if is_dataclass(value):
        return to_json(value)
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


def read(record: type[T], data: object, section: str = "", *, stored: bool = False) -> T:
    """Return a record from its plain JSON.

    Parameters
    ----------
    record : type
        A dataclass or a typed dictionary.
    data : object
        What `to_json` gives, or a user wrote; what is left out has its default.
    section : str
        Key of the object that holds it; empty for the outermost.
    stored : bool
        A program wrote it: nothing may be left out, and every value is checked here, also those of
        records that do not check themselves.

    Raises
    ------
    UsageError
        SETTING: no object, an unknown or missing key, or a value of the wrong type; and what the
        record refuses.
    """
    return record(**read_fields(fields_of(record), data, section, stored=stored))


def read_fields(
    known: Mapping[str, Field], data: object, section: str = "", *, stored: bool = False
) -> JsonObject:
    """Return the values of some fields, in their order; as `read` does of a record."""
    if not isinstance(data, dict):
        name = section or "The config"
        raise UsageError("SETTING", f"{name} is a {type(data).__name__}", "give a JSON object")
    for key in data:
        if key not in known:
            what = f"{section or 'Config'} has unknown key {key!r:.60}"
            raise UsageError("SETTING", what, f"use {', '.join(known)}")
    needed = [key for key, field in known.items() if stored or field.default is REQUIRED]
    keys = {key: f"{section}.{key}".lstrip(".") for key in known}
    missing = [keys[key] for key in needed if key not in data]
    if missing:
        names = " and ".join(filter(None, (", ".join(needed[:-1]), needed[-1])))
        raise UsageError("SETTING", f"{', '.join(missing)} is missing", f"name {names}")
    values = {key: field.default for key, field in known.items()}
    for key, value in data.items():
        values[key] = _convert(keys[key], known[key], value, stored=stored)
        if stored:
            known[key].check(keys[key], values[key])
    return values


def _convert(
    key: str,
    field: Field,
    value: Any,  # noqa: ANN401  checked against the field
    *,
    stored: bool,
    remedy: str = "",
) -> Any:  # noqa: ANN401  of the field's kind
    _check_type(key, field, value, remedy)
    if field.words is not None and isinstance(value, str):
        field.check(key, value)
        return field.words(value)
    if Any in field.kinds or not isinstance(value, dict | list):
        whole = type(value) is int and float in field.json_types and int not in field.json_types
        # A whole number that a user wrote stays one: the digest of a config is of what it says.
        return float(value) if stored and whole else value
    if isinstance(value, list):
        return _items(key, field, value, stored=stored)
    kind = next(kind for kind in field.kinds if kind is not NoneType)
    if is_record(kind):
        return read(kind, value, key, stored=stored)
    item = replace(field, kind=get_args(kind)[1])
    return {
        name: _convert(f"{key}.{name:.60}", item, entry, stored=stored)
        for name, entry in value.items()
    }


def _items(key: str, field: Field, values: list[Any], *, stored: bool) -> tuple[Any, ...]:
    """Return the values of a list: any number of one type, or so many as the type has."""
    kinds = get_args(field.kind)
    if kinds[-1] is ...:
        kinds = kinds[:1] * len(values)
    if len(values) != len(kinds):
        raise UsageError("SETTING", f"{key} is {values!r:.60}", field.remedy)
    out = []
    for n, (kind, value) in enumerate(zip(kinds, values, strict=True)):
        item = field.items[kind]
        converted = _convert(f"{key}[{n}]", item, value, stored=stored, remedy=field.remedy)
        out.append(float(converted) if kind is float else converted)
    return tuple(out)


def _check_type(key: str, field: Field, value: Any, remedy: str) -> None:  # noqa: ANN401
    """Refuse a value of another type, and a number that is not finite; true is no number."""
    if Any in field.kinds:
        return
    allowed = field.json_types
    number = float in allowed and type(value) in (int, float)
    if number and abs(value) <= sys.float_info.max:
        return
    if number or type(value) not in allowed:
        use = "give a finite number" if number else f"give {field.type_words}"
        raise UsageError("SETTING", f"{key} is {value!r:.60}", remedy or use)
