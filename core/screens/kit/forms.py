"""How the numbers of tables are written, by kind: a value, and its interval quiet beside it."""

from collections.abc import Callable, Sequence
from typing import Literal

from core.screens.kit.numbers import (
    MINUS,
    MISSING,
    THIN,
    count,
    hundred_span,
    in_hundred,
    known,
    percent,
    points,
    points_alike,
    span,
    three,
    three_alike,
    three_span,
    two,
    two_span,
    weight,
)

Kind = Literal[
    "text",
    "count",  # 10,000
    "weight",  # 12.5, of weighted rows
    "share",  # 97.6 %
    "percent",  # 97.6 %, with as many decimals as its interval needs
    "unsigned_points",  # 4.0
    "points",  # +4.0
    "number",  # 0.257, three digits of the largest of value and ends
    "change",  # +0.257
    "three_alone",  # 0.257, three digits of the largest value of the column
    "decimals",  # 0.900, three decimals
    "two",  # 0.99; a fit without an interval is not shown
    "signed_two",  # +0.02
    "hundred",  # 98, of 100
    "hundred_alone",
]
Ends = float | None
Form = Callable[[float, Ends, Ends], tuple[str, str]]


def _two(value: float, low: Ends, high: Ends, *, signed: bool = False) -> tuple[str, str]:
    if low is None or high is None:
        return MISSING, ""
    return two(value, signed=signed), two_span(low, high, signed=signed)


def _decimals(value: float, low: Ends, high: Ends) -> tuple[str, str]:
    ends = f"{low:z.3f} to {high:z.3f}" if known(low) and known(high) else ""
    return f"{value:z.3f}".replace("-", MINUS), ends.replace("-", MINUS)


def _change(value: float, low: Ends, high: Ends) -> tuple[str, str]:
    text, start, end = (
        _with_sign(number, three(number, value, low, high)) for number in (value, low, high)
    )
    return text, f"{start} to {end}" if known(low) else ""


def _with_sign(number: float | None, text: str) -> str:
    plain = not known(number) or text.startswith(MINUS) or not text.strip("0.")
    return text if plain else f"+{text}"


FORMS: dict[Kind, Form] = {
    "text": lambda value, *_: (str(value), ""),
    "count": lambda value, *_: (count(int(value)), ""),
    "weight": lambda value, *_: (weight(value), ""),
    "share": lambda value, low, high: (percent(value), span(low, high)),
    "percent": lambda value, low, high: (f"{points(value, low, high)}{THIN}%", span(low, high)),
    "unsigned_points": lambda value, low, high: (points(value, low, high), span(low, high)),
    "points": lambda value, low, high: (
        points(value, low, high, signed=True),
        span(low, high, signed=True),
    ),
    "number": lambda value, low, high: (three(value, low, high), three_span(value, low, high)),
    "change": _change,
    "three_alone": lambda value, *_: (three(value), ""),
    "decimals": _decimals,
    "two": _two,
    "signed_two": lambda value, low, high: _two(value, low, high, signed=True),
    "hundred": lambda value, low, high: (in_hundred(value, low, high), hundred_span(low, high)),
    "hundred_alone": lambda value, *_: (in_hundred(value), ""),
}


def alike(rows: Sequence[tuple[float, Ends, Ends]], kind: Kind) -> list[tuple[str, str]]:
    """Return values and intervals of a column as `FORMS` writes them, with equal decimals."""
    every = [number for row in rows for number in row]
    if kind == "three_alone":
        return [(text, "") for text in three_alike([value for value, *_ in rows])]
    if kind in {"points", "unsigned_points", "percent"}:
        texts = points_alike(every, signed=kind == "points")
    elif kind == "number":
        texts = three_alike(every)
    elif kind == "change":
        texts = list(map(_with_sign, every, three_alike(every)))
    else:
        return [FORMS[kind](*row) for row in rows]
    unit = f"{THIN}%" if kind == "percent" else ""
    return [
        (f"{texts[i]}{unit}", f"{texts[i + 1]} to {texts[i + 2]}" if known(every[i + 1]) else "")
        for i in range(0, len(texts), 3)
    ]
