"""Fields of a config: each declared once, for its checks, its JSON, its form and its docs."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, is_dataclass, replace
from enum import StrEnum
from functools import cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints, is_typeddict

from core.errors import UsageError

JsonObject = dict[str, Any]  # Any: plain JSON values
REQUIRED: Final = object()  # the default of a field that has none
WORDS: Final[dict[type, str]] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
    NoneType: "null",
}


@dataclass(frozen=True)
class Field:
    """What may stand in a field, and what a form says of it.

    A record declares it beside the type, ``epochs: Annotated[int, Field("Epochs", low=1)] = 40``.

    Parameters
    ----------
    label, help : str
        Printed name, and one sentence.
    low, high : float, optional
        Range of a number, both ends included unless they are open.
    choices : mapping
        Printed name of each value, where only some are allowed; beside a range, of each word.
    length : int, optional
        Most characters of a text that must not be blank.
    allows : callable, optional
        Any other rule, beside choices for other words; it needs a `remedy`.
    remedy : str
        What to do about a wrong value, where `allowed` does not say it.
    step : float
        Of a number's widget.
    kind, default
        Type and default, which `fields_of` takes from the record where it has them.
    """

    label: str = ""
    help: str = ""
    low: float | None = None
    high: float | None = None
    open_low: bool = False
    open_high: bool = False
    choices: Mapping[Any, str] = dataclasses.field(default_factory=dict)  # Any: of the field's kind
    length: int | None = None
    allows: Callable[[Any], bool] | None = None
    remedy: str = ""
    step: float = 1
    kind: Any = str  # Any: a type or a union of some
    default: Any = REQUIRED

    @cached_property
    def kinds(self) -> tuple[Any, ...]:
        """The types it may have."""
        return get_args(self.kind) if isinstance(self.kind, UnionType) else (self.kind,)

    @cached_property
    def words(self) -> type[StrEnum] | None:
        """The enum among its types."""
        return next((kind for kind in self.kinds if _is_enum(kind)), None)

    @cached_property
    def values(self) -> tuple[Any, ...]:  # Any: of the field's kind
        """The values it may have, where only some are allowed."""
        return tuple(self.choices or self.words or ())

    @cached_property
    def json_types(self) -> tuple[type, ...]:
        """The types it may have in JSON."""
        return tuple(_json_type(kind) for kind in self.kinds)

    @cached_property
    def items(self) -> dict[Any, "Field"]:  # Any: a type
        """What stands in a tuple: a field for each of its types."""
        return {kind: replace(self, kind=kind) for kind in get_args(self.kind) if kind is not ...}

    @property
    def type_words(self) -> str:
        """The types it may have, as a remedy says them."""
        return " or ".join(WORDS.get(kind, "an array") for kind in self.json_types)

    @property
    def optional(self) -> bool:
        """Whether null may stand here."""
        return NoneType in self.kinds

    @property
    def is_list(self) -> bool:
        """Whether several values stand here."""
        return get_origin(self.kind) is tuple

    @property
    def allowed(self) -> str:
        """What may stand here, as a remedy and the docs say it."""
        null = ", or null" if self.optional else ""
        if self.values:
            words = ", ".join(map(str, self.values))
            return f"one of {words}{null}" if self.low is None else f"{words}, or {self._range}"
        if self.length is not None:
            return f"1 to {self.length} characters of ordinary text"
        return self.type_words if self.low is None else f"{self._range}{null}"

    @property
    def _range(self) -> str:
        if self.high is None:
            return f"a whole number from {self.low}"
        if self.open_low:
            return f"above {self.low}, at most {self.high}"
        if self.open_high:
            return f"{self.low} or more, below {self.high}"
        return f"{self.low} to {self.high}"

    def check(self, key: str, value: Any) -> None:  # noqa: ANN401  of the field's kind
        """Refuse a value of the right type that must not stand here; UsageError SETTING."""
        if value is None or self._may_be(value):
            return
        if self.length is not None:
            what = f"{key} has {len(value)} characters"
        else:
            shown = list(value) if isinstance(value, tuple) else value
            what = f"{key} is {shown!r:.60}"
        remedy = self.remedy or f"{'use' if self.values else 'give'} {self.allowed}"
        raise UsageError("SETTING", what, remedy)

    def _may_be(self, value: Any) -> bool:  # noqa: ANN401  of the field's kind
        if self.values and (self.low is None or isinstance(value, str)):
            return value in self.values or (self.allows is not None and bool(self.allows(value)))
        if self.length is not None:
            return value.strip() != "" and len(value) <= self.length and is_text(value)
        if self.allows is not None:
            return bool(self.allows(value))
        if self.low is None:
            return True
        above = value > self.low if self.open_low else value >= self.low
        high = value if self.high is None else self.high
        below = value < high if self.open_high else value <= high
        return bool(above and below)


def is_text(value: str) -> bool:
    """Whether UTF-8 can hold it: file names may carry lone surrogates, which SQLite refuses."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def is_path(value: str) -> bool:
    """Whether a text can be a path."""
    return is_text(value) and "\0" not in value


def is_record(kind: object) -> bool:
    """Whether a type has fields: a dataclass or a typed dictionary."""
    return is_dataclass(kind) or is_typeddict(kind)


def _is_enum(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, StrEnum)


def fields_of(record: Any) -> dict[str, Field]:  # noqa: ANN401  a record's type
    """Return the fields of a record with their types and defaults; bare where not declared."""
    if record not in _FIELDS:
        defaults = _defaults(record) if is_dataclass(record) else {}
        out = {}
        hints = get_type_hints(record, include_extras=True)
        # A base class may annotate what is no field of the record.
        names = (
            [field.name for field in dataclasses.fields(record)] if is_dataclass(record) else hints
        )
        for name in names:
            hint = hints[name]
            kind, *extra = get_args(hint) if get_origin(hint) is Annotated else (hint,)
            field: Field = extra[0] if extra else Field()
            out[name] = replace(field, kind=kind, default=defaults.get(name, field.default))
        _FIELDS[record] = out
    return _FIELDS[record]


_FIELDS: Final[dict[Any, dict[str, Field]]] = {}  # Any: a record's type


def _defaults(record: Any) -> JsonObject:  # noqa: ANN401  a dataclass
    out = {}
    for entry in dataclasses.fields(record):
        if entry.default_factory is not MISSING:
            out[entry.name] = entry.default_factory()
        elif entry.default is not MISSING:
            out[entry.name] = entry.default
    return out


def declared(record: Any) -> dict[str, Field]:  # noqa: ANN401  any dataclass
    """Return all fields of a record, those of its sections as ``section.field``."""
    out: dict[str, Field] = {}
    for name, field in fields_of(record).items():
        if is_dataclass(field.kind):
            out |= {f"{name}.{key}": inner for key, inner in declared(field.kind).items()}
        else:
            out[name] = field
    return out


def check(record: Any, section: str = "") -> None:  # noqa: ANN401  any dataclass
    """Refuse a record that has a value out of range; UsageError SETTING."""
    for name, field in fields_of(type(record)).items():
        value = getattr(record, name)
        field.check(f"{section}{name}", value)
        if is_dataclass(value):
            check(value, f"{section}{name}.")


def _json_type(kind: Any) -> type:  # noqa: ANN401  a type as annotated
    """Return the type that a kind has in JSON."""
    if is_record(kind) or get_origin(kind) in (Mapping, dict):
        return dict
    if _is_enum(kind):
        return str
    origin = get_origin(kind)
    return list if origin is tuple else origin or kind  # an array's type names its dtype, too
