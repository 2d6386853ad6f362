"""A form over declared fields: a widget for each, filled from plain JSON and read into it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from core.errors import UsageError
from core.fields import REQUIRED, Field, JsonObject, declared

SESSION: Final = "session"  # values outlive a change of page
NARROW, WIDE = 132, 250
EXACT: Final = 2**53 - 1  # what a browser counts exactly
LINE: Final = 4_000  # characters of a text that has no limit of its own


@dataclass(frozen=True)
class Form:
    """Widgets of one page, over `fields` as `core.fields.declared` gives them.

    `prefix` begins their keys. A widget has its field's own name, and that of a section where it
    names the section: ``optimizer.lr`` is lr, ``optimizer.name`` optimizer.
    """

    prefix: str
    fields: Mapping[str, Field]

    @property
    def widgets(self) -> dict[str, tuple[str, Field]]:
        """Key and field by the name of the widget."""
        return {_widget(key): (key, field) for key, field in self.fields.items()}

    def key(self, name: str) -> str:
        """Return the key of a widget."""
        return f"{self.prefix}.{name}"

    def value(self, name: str) -> Any:  # noqa: ANN401  whatever the widget holds
        """Return what a widget holds."""
        return st.session_state.get(self.key(name))

    def put(self, name: str, what: object) -> None:
        """Set a widget that is not drawn yet in this run."""
        st.session_state[self.key(name)] = what

    def draw(
        self,
        name: str,
        *,
        width: int | None = None,
        help_text: str = "",
        disabled: bool = False,
        changed: Callable[[], None] | None = None,
    ) -> None:
        """Draw the widget of a field: what kind it is follows from the field."""
        field, key = self.widgets[name][1], self.key(name)
        common = self._common(name, changed) | ({"help": help_text} if help_text else {})
        if field.choices:
            self.select(
                name, list(field.choices), field.choices.__getitem__, width=width, changed=changed
            )
        elif field.kind is bool:
            st.toggle(key=key, **common)
        elif field.low is not None:
            st.number_input(
                key=key,
                value=None if field.optional else "min",
                disabled=disabled,
                width=NARROW,
                **_ends(field),
                **common,
            )
        else:
            st.text_input(
                key=key, max_chars=field.length or LINE, width=width or "stretch", **common
            )

    def select(
        self,
        name: str,
        options: Sequence[Any],
        words: Callable[[Any], str],
        *,
        width: int | None = None,
        changed: Callable[[], None] | None = None,
    ) -> None:
        """Draw the choice of one of some options."""
        st.selectbox(
            key=self.key(name),
            options=options,
            format_func=words,
            width=width or "stretch",
            **self._common(name, changed),
        )

    def _common(self, name: str, changed: Callable[[], None] | None) -> JsonObject:
        field = self.widgets[name][1]
        return {
            "label": field.label,
            "persist_state": SESSION,
            "help": field.help or None,
            "on_change": changed or "rerun",
        }

    def of(self, settings: Mapping[str, Any]) -> JsonObject:
        """Return what the widgets hold for the settings of a config; objects are its sections."""
        out: JsonObject = {}
        for name, (key, field) in self.widgets.items():
            section, _, inner = key.rpartition(".")
            holder = settings.get(section, {}) if section else settings
            if inner in holder:
                out[name] = _held(field, holder[inner])
        return out

    def initial(self) -> JsonObject:
        """Return what the widgets hold at the fields' defaults."""
        return {
            name: _held(field, field.default)
            for name, (_, field) in self.widgets.items()
            if field.default is not REQUIRED
        }

    def check(self, name: str, what: object) -> None:
        """Refuse what a widget would change: a number off its range, text off its one line."""
        _, field = self.widgets[name]
        problem = f"{name} is {what!r:.60}, which this form cannot hold"
        if isinstance(what, int | float) and field.low is not None:
            ends = _ends(field)
            low, high = ends["min_value"], ends["max_value"]
            if not low <= what <= high:
                use = f"give {low} to {high}, or use python -m core {self.prefix}"
                raise UsageError("SETTING", problem, use)
        elif isinstance(what, str) and not field.choices:
            most = field.length or LINE
            line = what.strip() == what and not any(character < " " for character in what)
            if not line or len(what) > most:
                use = f"give one line of at most {most} characters, no space at its ends"
                raise UsageError("SETTING", problem, f"{use}, or use python -m core {self.prefix}")

    def settings(self, record: type) -> JsonObject:
        """Return the settings of a config that stand in the form; UsageError SETTING."""
        out: JsonObject = {}
        for key in filter(self.fields.__contains__, declared(record)):
            section, _, inner = key.rpartition(".")
            holder = out.setdefault(section, {}) if section else out
            holder[inner] = self.setting(_widget(key))
        return out

    def setting(self, name: str) -> Any:  # noqa: ANN401  of the field's kind
        """Return what a field is set to; UsageError SETTING where a list holds no numbers."""
        key, field = self.widgets[name]
        entered = self.value(name)
        if field.is_list:
            parts = [part.strip() for part in (entered or "").replace(";", ",").split(",")]
            parts = [part for part in parts if part]
            if str in field.items:
                return parts
            try:
                return [float(part) for part in parts]
            except ValueError:
                problem = f"{key} is {(entered or '')[:60]!r}"
                raise UsageError("SETTING", problem, field.remedy) from None
        if str in field.kinds and not field.choices:
            text = (entered or "").strip()
            return text or None if field.optional else text
        return entered


def _widget(key: str) -> str:
    section, _, name = key.rpartition(".")
    return section if section and name == "name" else name


def _ends(field: Field) -> JsonObject:
    """Return what a number's widget allows; whole numbers only where the field has only those."""
    number = float if float in field.kinds else int
    assert field.low is not None
    high = EXACT if field.high is None else min(field.high, EXACT)
    ends = {"min_value": number(field.low), "max_value": number(high), "step": number(field.step)}
    return ends | ({"format": "%g"} if number is float else {})


def _held(field: Field, value: Any) -> Any:  # noqa: ANN401  what the field's widget holds
    if field.is_list:
        return ", ".join(item if isinstance(item, str) else _short(item) for item in value)
    if value is None:
        return "" if str in field.kinds and not field.choices else None
    return float(value) if float in field.kinds else value


def _short(number: float) -> str:
    """Return a number in few digits where they give it back exactly."""
    return f"{number:g}" if float(f"{number:g}") == number else repr(number)
