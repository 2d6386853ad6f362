"""Axes of a plotly figure in pixels, and its traces as marks: lines, areas, dots, words, bars."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from core.reports.drawing.marks import Mark, line, path, rectangle, short, text

Settings = dict[str, Any]  # Any: plotly's nested settings
TICKS = 6  # about so many where nobody says
PAD = 0.06  # of the span, around data without a range
SI = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
Places = list[tuple[float, float]]
ANCHORS = {"left": "end", "center": "middle", "right": "start"}
TEXT_GAP = 4.0  # between a dot and its words
S, T = 0.89, 0.4  # half the side of a square, and half the width of a cross's arm
CORNERS = {  # in radii of the circle of about the same area
    "square": ((-S, -S), (S, -S), (S, S), (-S, S)),
    "diamond": ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    "cross": (
        *((-T, -1.2), (T, -1.2), (T, -T), (1.2, -T), (1.2, T), (T, T)),
        *((T, 1.2), (-T, 1.2), (-T, T), (-1.2, T), (-1.2, -T), (-T, -T)),
    ),
}


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
    if axis.get("range") is not None:
        least, most = axis["range"]
        first, last = float(least), float(most)
    else:
        known = np.array([value for value in values if value is not None], dtype=np.float64)
        known = known[np.isfinite(known)]
        least, most = float(known.min(initial=0.0)), float(known.max(initial=1.0))
        if known.size and axis.get("rangemode") != "tozero":
            least, most = float(known.min()), float(known.max())
        pad = PAD * (most - least or 1.0)
        from_zero = axis.get("rangemode") == "tozero" and least == 0.0
        first, last = least if from_zero else least - pad, most + pad
    return Scale(
        low=first,
        high=last,
        start=start + low * (end - start),
        end=start + high * (end - start),
        log=axis.get("type") == "log",
    )


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


def bars(trace: Settings, x: Scale, y: Scale) -> list[Mark]:
    """Return upright bars with their whiskers, cut at the axes; a hatched one is striped."""
    marker = trace["marker"]
    outline = marker.get("line") or {}
    base = trace.get("base")
    marks = []
    for i, (middle, height) in enumerate(zip(trace["x"], trace["y"], strict=True)):
        foot = 0.0 if base is None else float(base if np.ndim(base) == 0 else base[i])
        if y.log:  # its foot is the axis
            foot = 10.0**y.low
        half = float(_of(trace["width"], i)) / 2
        corners = (
            x.within(middle - half),
            y.within(foot),
            x.within(middle + half),
            y.within(height if base is None else foot + height),
        )
        colour = str(_of(outline.get("color") or "none", i))
        stroke = (colour, float(_of(outline.get("width") or 0, i)))
        marks.append(rectangle(corners, str(_of(marker["color"], i)), stroke))
        if marker.get("pattern"):
            # Slanted lines inside the rectangle, cut at its edges.
            colour = marker["pattern"]["fgcolor"]
            left, right = sorted(corners[::2])
            top, bottom = sorted(corners[1::2])
            steps, offset = [], left - (bottom - top)
            while offset < right:
                start, end = max(offset, left), min(offset + bottom - top, right)
                if end > start:
                    steps.append(
                        f"M{short(start)} {short(bottom - (start - offset))}"
                        f"L{short(end)} {short(bottom - (end - offset))}"
                    )
                offset += 6.0
            marks.append(path("".join(steps) or "M0 0", colour, 2.0))
    return [*marks, *_whiskers(trace, x, y)]


def areas(trace: Settings, x: Scale, y: Scale) -> list[Mark]:
    """Return what a line of points fills: its own inside, or down to zero."""
    fill = trace.get("fill")
    if fill not in ("toself", "tozeroy"):
        return []
    steps = ""
    for run in _runs(trace, x, y):
        if fill == "tozeroy":
            foot = y.at(0.0)
            run = [(run[0][0], foot), *run, (run[-1][0], foot)]
        outline = _cut(_cut(run, min(y.start, y.end), 1.0), max(y.start, y.end), -1.0)
        if outline:
            steps += "M" + "L".join(f"{short(a)} {short(b)}" for a, b in outline) + "Z"
    return [path(steps, "", 0.0, fill=trace["fillcolor"])] if steps else []


def _cut(outline: Places, edge: float, side: float) -> Places:
    """Return what of an outline lies below a height in pixels (side 1), or above it (side -1)."""
    kept: Places = []
    for (a, b), (c, d) in zip(outline, [*outline[1:], *outline[:1]], strict=True):
        here, there = side * (b - edge) >= 0, side * (d - edge) >= 0
        if here:
            kept.append((a, b))
        if here != there:
            kept.append((a + (c - a) * (edge - b) / (d - b), edge))
    return kept


def strokes(trace: Settings, x: Scale, y: Scale) -> list[Mark]:
    """Return the line through the points, broken where one is missing."""
    setting = trace.get("line") or {}
    width = float(setting.get("width", 2))
    if "lines" not in trace["mode"] or not width:
        return []
    return [
        line(run, setting["color"], width, setting.get("dash") or "")
        for run in _runs(trace, x, y)
        if len(run) > 1
    ]


def _runs(trace: Settings, x: Scale, y: Scale) -> list[Places]:
    """Return the unbroken runs of points, in pixels; with steps where the line has them."""
    runs: list[Places] = [[]]
    for a, b in zip(trace["x"], trace["y"], strict=True):
        if a is None or b is None or not math.isfinite(a) or not math.isfinite(b):
            runs.append([])
        else:
            runs[-1].append((x.at(a), y.at(b)))
    runs = [run for run in runs if run]
    if (trace.get("line") or {}).get("shape") != "hv":
        return runs
    return [
        [run[0], *(place for (_, b), (a, c) in pairwise(run) for place in ((a, b), (a, c)))]
        for run in runs
    ]


def dots(trace: Settings, x: Scale, y: Scale) -> list[Mark]:
    """Return the whiskers of the points, then the points."""
    if "markers" not in trace["mode"]:
        return []
    marker, marks = trace["marker"], _whiskers(trace, x, y)
    outline = marker.get("line") or {}
    for i, (a, b) in enumerate(zip(trace["x"], trace["y"], strict=True)):
        if a is None or b is None or not math.isfinite(b):
            continue
        radius = float(_of(marker["size"], i)) / 2
        fill = str(_of(marker.get("color") or "none", i))
        width = float(_of(outline.get("width") or 0, i))
        marks.append(
            _symbol(
                (x.at(a), y.at(b)),
                radius,
                fill,
                (str(_of(outline.get("color") or "none", i)), width),
                str(_of(marker.get("symbol") or "circle", i)),
            )
        )
    return marks


def _symbol(
    place: tuple[float, float], radius: float, fill: str, outline: tuple[str, float], symbol: str
) -> Mark:
    (x, y), (colour, width) = place, outline
    if symbol == "triangle-down":
        steps = (
            f"M{short(x - radius)} {short(y - radius / 2)}H{short(x + radius)}"
            f"L{short(x)} {short(y + radius)}Z"
        )
        return path(steps, colour, width, fill=fill)
    if symbol == "line-ew":  # level
        return line([(x - radius, y), (x + radius, y)], colour, width)
    if symbol in CORNERS:
        corners = [(x + radius * dx, y + radius * dy) for dx, dy in CORNERS[symbol]]
        steps = "M" + "L".join(f"{short(px)} {short(py)}" for px, py in corners) + "Z"
        return path(steps, colour, width, fill=fill)
    if symbol != "circle":
        raise ValueError(f"no way to draw a {symbol}")
    attributes = {"cx": short(x), "cy": short(y), "r": short(radius), "fill": fill}
    if width:
        attributes |= {"stroke": colour, "stroke-width": short(width)}
    return Mark("circle", attributes)


def _whiskers(trace: Settings, x: Scale, y: Scale) -> list[Mark]:
    """Return the intervals of points or bars, upright and across, cut at the axes."""
    marks = []
    for key in ("error_x", "error_y"):
        setting = trace.get(key)
        if not setting or setting.get("array") is None:
            continue
        down = setting["arrayminus"]
        for i, (a, b) in enumerate(zip(trace["x"], trace["y"], strict=True)):
            low, high = float(down[i]), float(setting["array"][i])
            if key == "error_x":
                ends = [(x.within(a - low), y.at(b)), (x.within(a + high), y.at(b))]
            else:
                ends = [(x.at(a), y.within(b - low)), (x.at(a), y.within(b + high))]
            if all(math.isfinite(part) for end in ends for part in end):
                marks.append(line(ends, setting["color"], float(setting["thickness"])))
    return marks


def words(trace: Settings, x: Scale, y: Scale) -> list[Mark]:
    """Return the words at the points."""
    if "text" not in trace["mode"]:
        return []
    marks = []
    size = (trace.get("marker") or {}).get("size") or 0
    for i, (a, b) in enumerate(zip(trace["x"], trace["y"], strict=True)):
        label = str(_of(trace["text"], i))
        if not label:
            continue
        upright, _, across = str(_of(trace.get("textposition") or "middle center", i)).partition(
            " "
        )
        gap = float(_of(size, i)) / 2 + TEXT_GAP
        side = {"left": -gap, "center": 0.0, "right": gap}[across]
        lift = {"top": -gap, "middle": 0.0, "bottom": gap}[upright]
        block = {"top": "bottom", "middle": "middle", "bottom": "top"}[upright]
        place = (x.at(a) + side, y.at(b) + lift)
        marks.append(text(label, place, trace["textfont"], (ANCHORS[across], block)))
    return marks


def values(trace: Settings, axis: str) -> list[float]:
    """Return what a trace needs room for on an axis: its points, and the ends of their whiskers."""
    at = list(trace[axis])
    setting = trace.get(f"error_{axis}")
    if setting and setting.get("array") is not None:
        known = [i for i, value in enumerate(at) if value is not None]
        at += [at[i] - float(setting["arrayminus"][i]) for i in known]
        at += [at[i] + float(setting["array"][i]) for i in known]
    return [value for value in at if value is not None]


def _of(value: Any, i: int) -> Any:  # noqa: ANN401  a setting of all points, or of each
    if isinstance(value, str) or np.ndim(value) == 0:
        return value
    return value[i]
