"""Axes of a plotly figure in pixels: where a value lies, and where ticks stand."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Settings = dict[str, Any]  # Any: plotly's nested settings
TICKS = 6  # about so many where nobody says
PAD = 0.06  # of the span, around data without a range
SI = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, kw_only=True)
class Scale:
    """One axis: from `low` at pixel `start` to `high` at `end`; both logarithms where `log`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        place = math.log10(value) if self.log and value > 0 else float(value)
        return self.start + (place - self.low) / (self.high - self.low) * (self.end - self.start)

    def within(self, value: float) -> float:
        """Return the pixel of a value, or of the end of the axis that it lies beyond."""
        return min(max(self.at(value), min(self.start, self.end)), max(self.start, self.end))

    def share(self, share: float) -> float:
        """Return the pixel of a share of the axis."""
        return self.start + share * (self.end - self.start)

    @property
    def per_unit(self) -> float:
        """Pixels of one unit."""
        return abs((self.end - self.start) / (self.high - self.low))


def scale(axis: Settings, ends: tuple[float, float], values: Sequence[float]) -> Scale:
    """Return the scale of an axis.

    Parameters
    ----------
    axis : dict
        Plotly's settings of it.
    ends : two floats
        Pixels of the start and the end of the plot; a domain takes a part of it.
    values : sequence of float
        What is drawn, which decides where no range is set.
    """
    start, end = ends
    low, high = axis.get("domain") or (0.0, 1.0)
    first, last = _range(axis, values)
    return Scale(
        low=first,
        high=last,
        start=start + low * (end - start),
        end=start + high * (end - start),
        log=axis.get("type") == "log",
    )


def _range(axis: Settings, values: Sequence[float]) -> tuple[float, float]:
    if axis.get("range") is not None:
        low, high = axis["range"]
        return float(low), float(high)
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    known = known[np.isfinite(known)]
    low, high = float(known.min(initial=0.0)), float(known.max(initial=1.0))
    if known.size and axis.get("rangemode") != "tozero":
        low, high = float(known.min()), float(known.max())
    pad = PAD * (high - low or 1.0)
    return (low if axis.get("rangemode") == "tozero" and low == 0.0 else low - pad), high + pad


def squared(x: Scale, y: Scale, *, toward: str) -> tuple[Scale, Scale]:
    """Return both scales with units of the same length; the longer one gives way."""
    if x.per_unit > y.per_unit:
        length = y.per_unit * abs(x.high - x.low)
        spare = (x.end - x.start) - length
        return replace(x, start=x.start + spare / 2, end=x.end - spare / 2), y
    length = x.per_unit * abs(y.high - y.low)
    spare = (y.start - y.end) - length  # pixels count down from the top
    below = 0.0 if toward == "bottom" else spare / 2
    return x, replace(y, start=y.start - below, end=y.end + spare - below)


def ticks(axis: Settings, drawn: Scale) -> list[tuple[float, str]]:
    """Return the values and texts of the ticks that lie on an axis."""
    if axis.get("tickvals") is not None:
        values = [float(value) for value in axis["tickvals"]]
        texts = axis.get("ticktext")
        named = list(map(str, texts)) if texts is not None else _texts(values, axis)
        both = list(zip(values, named, strict=True))
    else:
        low, high = sorted((drawn.low, drawn.high))
        if axis.get("dtick") is not None:
            step = float(axis["dtick"])
        else:
            rough = (high - low) / max(1, int(axis.get("nticks") or TICKS) - 1)
            power = 10.0 ** math.floor(math.log10(rough))
            step = next(k * power for k in (1, 2, 5, 10) if k * power >= rough * (1 - 1e-9))
        count = math.floor(high / step + 1e-9) - math.ceil(low / step - 1e-9) + 1
        values = [step * (math.ceil(low / step - 1e-9) + i) for i in range(count)]
        both = list(zip(values, _texts(values, axis), strict=True))
    low, high = sorted((drawn.low, drawn.high))
    slack = 1e-9 * (high - low)

    def inside(value: float) -> bool:
        place = math.log10(value) if drawn.log and value > 0 else value
        return low - slack <= place <= high + slack

    return [(value, text) for value, text in both if inside(value)]


def _texts(values: Sequence[float], axis: Settings) -> list[str]:
    form = str(axis.get("tickformat") or "")
    if form.endswith("p"):
        return [f"{100 * value:.3g}%" for value in values]
    if form.endswith("s"):
        return [_si(value) for value in values]
    return [f"{value:.6g}".replace("-", "−") for value in values]


def _si(value: float) -> str:
    for size, letter in SI:
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
