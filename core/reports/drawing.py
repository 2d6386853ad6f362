"""A plotly figure as still SVG: elements with attributes, and text in pieces.

Only what our figures use is known: scatter and bar traces, lines and rectangles, annotations
without arrows, legends in a row. Anything else raises, and a test draws every figure of a report.
"""

import math
import re
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import unescape
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go

Attributes = dict[str, Any]  # Any: numbers and text, as SVG takes them
WIDTH_OF_LETTER = 0.6  # of the size of the type, on average over Latin text in a wide font
_MARKUP = re.compile(r"<(/?)(b|br|span)(?:\s+style='color:(#[0-9A-Fa-f]{6})')?\s*/?>")


@dataclass(frozen=True)
class Piece:
    """A run of letters in one weight and colour; the colour is empty for that of the text."""

    text: str
    bold: bool = False
    colour: str = ""


@dataclass(frozen=True)
class Mark:
    """One element; only a text has lines, each of several pieces."""

    tag: str
    attributes: Attributes
    lines: tuple[tuple[Piece, ...], ...] = ()


@dataclass(frozen=True)
class Drawing:
    """A figure as elements in the order they are painted, in CSS pixels."""

    width: float
    height: float
    marks: tuple[Mark, ...]


def short(number: float) -> str:
    """Return a place in pixels to a hundredth, as short as it can be written."""
    return f"{number:.2f}".rstrip("0").rstrip(".") if number else "0"


def pieces(text: str) -> tuple[tuple[Piece, ...], ...]:
    """Return the lines of a text of plotly's: bold, coloured spans and line breaks are known."""
    lines: list[list[Piece]] = [[]]
    bold, colour, start = False, "", 0
    for match in [*_MARKUP.finditer(text), None]:
        end = len(text) if match is None else match.start()
        if end > start:
            lines[-1].append(Piece(unescape(text[start:end]), bold, colour))
        if match is None:
            break
        start = match.end()
        closing, tag = bool(match[1]), match[2]
        if tag == "br":
            lines.append([])
        elif tag == "b":
            bold = not closing
        else:
            colour = "" if closing else match[3] or ""
    return tuple(map(tuple, lines))


def width_of(text: str, size: float) -> float:
    """Return about how wide the longest line of a text is, in pixels."""
    lines = ("".join(piece.text for piece in line) for line in pieces(text))
    return WIDTH_OF_LETTER * size * max(map(len, lines))


def line(places: list[tuple[float, float]], colour: str, width: float, dash: str = "") -> Mark:
    """Return one line through several places."""
    return path("M" + "L".join(f"{short(x)} {short(y)}" for x, y in places), colour, width, dash)


def path(steps: str, colour: str, width: float, dash: str = "", fill: str = "none") -> Mark:
    """Return a path; a width of 0 leaves its outline away."""
    attributes: Attributes = {"d": steps, "fill": fill}
    if width:
        attributes |= {"stroke": colour, "stroke-width": short(width)}
        attributes |= {"stroke-dasharray": DASHES[dash]} if DASHES.get(dash) else {}
    return Mark("path", attributes)


DASHES = {
    "dash": "8 5",
    "dot": "2 3.5",
    "dashdot": "8 4 2 4",
    "longdash": "13 6",
    "longdashdot": "13 4 2 4",
}


def rectangle(
    corners: tuple[float, float, float, float], fill: str, outline: tuple[str, float] = ("", 0.0)
) -> Mark:
    """Return a rectangle between two corners (x0, y0, x1, y1)."""
    x0, y0, x1, y1 = corners
    attributes: Attributes = {
        "x": short(min(x0, x1)),
        "y": short(min(y0, y1)),
        "width": short(abs(x1 - x0)),
        "height": short(abs(y1 - y0)),
        "fill": fill,
    }
    colour, width = outline
    return Mark(
        "rect", attributes | ({"stroke": colour, "stroke-width": short(width)} if width else {})
    )


def text(
    words: str,
    place: tuple[float, float],
    font: dict[str, Any],
    anchors: tuple[str, str] = ("middle", "middle"),
    angle: float = 0.0,
) -> Mark:
    """Return words, as plotly takes them, at a place (x, y) in pixels.

    The anchors are SVG's text-anchor, and which part of the block stands at the place: top, middle
    or bottom. The angle is in degrees clockwise.
    """
    size, (x, y), lines = float(font["size"]), place, pieces(words)
    block = 1.25 * size * (len(lines) - 1)
    first = {"top": 0.85 * size, "middle": 0.35 * size - block / 2, "bottom": -0.25 * size - block}
    attributes: Attributes = {
        "x": short(x),
        "y": short(y + first[anchors[1]]),
        "fill": font["color"],
        "font-size": short(size),
        "text-anchor": anchors[0],
    }
    if angle:
        attributes["transform"] = f"rotate({short(angle)} {short(x)} {short(y)})"
    return Mark("text", attributes, lines)


Settings = dict[str, Any]  # Any: plotly's nested settings
TICKS = 6  # about so many where nobody says
PAD = 0.06  # of the span, around data without a range
SI = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
Places = list[tuple[float, float]]
WORD_ANCHORS = {"left": "end", "center": "middle", "right": "start"}
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
    """Return the scale of an axis between two pixels, or of its domain's part of them.

    Where no range is set, the values that are drawn decide.
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
        marks.append(text(label, place, trace["textfont"], (WORD_ANCHORS[across], block)))
    return marks


def extent(trace: Settings, axis: str) -> list[float]:
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


Scales = dict[str, Scale]
ANCHORS = {"left": "start", "center": "middle", "right": "end"}
TICK_GAP = 7.0
CLOSE = 6.0  # pixels between two labels of an axis
Box = tuple[float, float, float, float]  # left, top, right, bottom


def drawn(figure: "go.Figure", width: float) -> Drawing:
    """Return a figure in the house style, which has a height, as marks; the width in CSS pixels."""
    content = _decoded(figure.to_plotly_json())
    layout, traces = content["layout"], content["data"]
    margin = layout["margin"]
    # What the named ticks of the first upright axis need, in whatever font there is
    axis = layout["yaxis"]
    widest = max(
        (width_of(str(label), axis["tickfont"]["size"]) for label in axis.get("ticktext") or ()),
        default=0.0,
    )
    room_left = widest + TICK_GAP + float(axis.get("ticklabelstandoff") or 0)
    box = (
        max(float(margin["l"]), room_left),
        float(margin["t"]),
        width - float(margin["r"]),
        float(layout["height"]) - float(margin["b"]),
    )
    # The axes in pixels, each with room for what is drawn on it.
    left, top, right, bottom = box
    scales = {}
    for key in sorted(key for key in layout if key[1:].startswith("axis")):
        letter, number = key[0], key.removeprefix(f"{key[0]}axis")
        of_axis = [t for t in traces if t.get(f"{letter}axis", letter) == f"{letter}{number}"]
        values = [v for t in of_axis for v in extent(t, letter)]
        ends = (left, right) if letter == "x" else (bottom, top)
        scales[f"{letter}{number}"] = scale(layout[key], ends, values)
    if layout["yaxis"].get("scaleanchor"):
        toward = layout["yaxis"].get("constraintoward", "")
        scales["x"], scales["y"] = squared(scales["x"], scales["y"], toward=toward)
    shapes = layout.get("shapes") or ()
    below = [_shape(s, scales, box) for s in shapes if s.get("layer") == "below"]
    above = [_shape(s, scales, box) for s in shapes if s.get("layer") != "below"]
    labels = []
    for name, own in scales.items():
        write = _across if name[0] == "x" else _upright
        labels += write(layout[f"{name[0]}axis{name[1:]}"], own, scales)
    # Bars, then areas, lines, dots and words, as plotly stacks them.
    both = [(t, scales[t.get("xaxis", "x")], scales[t.get("yaxis", "y")]) for t in traces]
    unknown = {t["type"] for t in traces} - {"bar", "scatter"}
    if unknown:
        raise ValueError(f"no way to draw {', '.join(sorted(unknown))}")
    upright = [(t, x, y) for t, x, y in both if t["type"] == "bar"]
    points = [(t, x, y) for t, x, y in both if t["type"] == "scatter"]
    drawings = [mark for t, x, y in upright for mark in bars(t, x, y)]
    for layer in (areas, strokes, dots, words):
        drawings += [mark for t, x, y in points for mark in layer(t, x, y)]
    marks = [
        *below,
        *_grids(layout, scales),
        *drawings,
        *above,
        *labels,
        *(m for a in layout.get("annotations") or () for m in _annotation(a, scales, box, layout)),
        *(_legend(layout["legend"], traces, box) if layout.get("showlegend") else ()),
    ]
    return Drawing(width, float(layout["height"]), tuple(marks))


def _decoded(value: Any) -> Any:  # noqa: ANN401  plotly's nested settings
    """Return settings with the arrays that plotly packs as lists."""
    if isinstance(value, dict):
        if value.keys() >= {"bdata", "dtype"}:
            return np.frombuffer(b64decode(value["bdata"]), dtype=value["dtype"]).tolist()
        return {key: _decoded(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_decoded(item) for item in value]
    return value


def _grids(layout: Settings, scales: Scales) -> list[Mark]:
    """Return the lines of the grid, a pixel wide."""
    marks = []
    for name, own in scales.items():
        axis = layout[f"{name[0]}axis{name[1:]}"]
        if axis.get("showgrid") is False:
            continue
        for value, _ in ticks(axis, own):
            at = own.at(value)
            if name[0] == "y":
                x = scales["x"]
                marks.append(line([(x.start, at), (x.end, at)], axis["gridcolor"], 1))
            else:
                marks += [
                    line([(at, y.start), (at, y.end)], axis["gridcolor"], 1)
                    for key, y in scales.items()
                    if key[0] == "y"
                ]
    return marks


def _across(axis: Settings, own: Scale, scales: Scales) -> list[Mark]:
    """Return the words under the plot; a label that would touch the one before is left out."""
    lowest = max(y.start for key, y in scales.items() if key[0] == "y")
    marks: list[Mark] = []
    taken = -float("inf")
    for value, label in sorted(ticks(axis, own), key=lambda tick: own.at(tick[0])):
        half = width_of(label, axis["tickfont"]["size"]) / 2
        if own.at(value) - half < taken + CLOSE:
            continue
        taken = own.at(value) + half
        marks.append(text(label, (own.at(value), lowest + TICK_GAP), axis["tickfont"], TOP))
    title = axis["title"]["text"]
    if title:
        middle = (own.start + own.end) / 2
        marks.append(text(title, (middle, lowest + 26), axis["title"]["font"], TOP))
    return marks


TOP = ("middle", "top")


def _upright(axis: Settings, own: Scale, scales: Scales) -> list[Mark]:
    """Return the words left of the plot."""
    x, marks = scales["x"], []
    gap = TICK_GAP + float(axis.get("ticklabelstandoff") or 0)
    for value, label in ticks(axis, own):
        place = (x.start - gap, own.at(value))
        marks.append(text(label, place, axis["tickfont"], ("end", "middle")))
    title = axis["title"]["text"]
    if title:
        place = (float(axis["title"]["font"]["size"]), (own.start + own.end) / 2)
        marks.append(text(title, place, axis["title"]["font"], angle=-90.0))
    return marks


def _shape(shape: Settings, scales: Scales, box: Box) -> Mark:
    left, top, right, bottom = box
    xref, yref = shape.get("xref", "x"), shape.get("yref", "y")
    x0, x1 = (_place(shape[key], xref, scales, (left, right)) for key in ("x0", "x1"))
    y0, y1 = (_place(shape[key], yref, scales, (bottom, top)) for key in ("y0", "y1"))
    outline = shape.get("line") or {}
    if shape["type"] == "line":
        return line(
            [(x0, y0), (x1, y1)],
            outline["color"],
            float(outline["width"]),
            outline.get("dash") or "",
        )
    if shape["type"] != "rect":
        raise ValueError(f"no way to draw a shape {shape['type']}")
    return rectangle((x0, y0, x1, y1), shape["fillcolor"])


def _place(value: float, reference: str, scales: Scales, ends: tuple[float, float]) -> float:
    """Return the pixel of a place on an axis, in its domain, or in the whole plot."""
    name, _, domain = reference.partition(" ")
    if name == "paper":
        return ends[0] + value * (ends[1] - ends[0])
    return scales[name].share(value) if domain else scales[name].at(value)


def _annotation(note: Settings, scales: Scales, box: Box, layout: Settings) -> list[Mark]:
    """Return words at a place, on their own ground where they have one."""
    left, top, right, bottom = box
    xref, yref = note.get("xref", "x"), note.get("yref", "y")
    x = _place(note["x"], xref, scales, (left, right))
    y = _place(note["y"], yref, scales, (bottom, top))
    x, y = x + float(note.get("xshift") or 0), y - float(note.get("yshift") or 0)
    font = {"size": layout["font"]["size"], "color": layout["font"]["color"]} | note.get("font", {})
    across = note.get("xanchor") or "center"
    upright = note.get("yanchor") or "middle"
    size = float(font["size"])
    marks = []
    if note.get("bgcolor"):
        pad = float(note.get("borderpad") or 1)
        wide = float(note.get("width") or width_of(note["text"], size)) + 2 * pad
        high = 1.35 * size + 2 * pad
        start = {"left": x, "center": x - wide / 2, "right": x - wide}[across]
        over = {"top": y, "middle": y - high / 2, "bottom": y - high}[upright]
        marks.append(rectangle((start, over, start + wide, over + high), note["bgcolor"]))
        if note.get("width"):  # a badge: its letter stands in the middle
            x, across = start + wide / 2, "center"
    angle = float(note.get("textangle") or 0)
    marks.append(text(note["text"], (x, y), font, (ANCHORS[across], upright), angle))
    return marks


def _legend(legend: Settings, traces: Sequence[Settings], box: Box) -> list[Mark]:
    """Return the names of lines in rows over the plot, the last row next to it."""
    left, top, right, _ = box
    size = float(legend["font"]["size"])
    rows: list[list[tuple[float, Settings]]] = [[]]
    x = left
    for trace in traces:
        if trace.get("showlegend") is False:
            continue
        wide = 34 + width_of(trace["name"], size) + 14
        if x + wide > right and rows[-1]:
            rows.append([])
            x = left
        rows[-1].append((x, trace))
        x += wide
    height = 1.5 * size
    marks = []
    for i, row in enumerate(rows):
        y = top - (float(legend["y"]) - 1) * 150 - 6 - height * (len(rows) - 1 - i)
        for at, trace in row:
            setting = trace["line"]
            marks.append(
                line(
                    [(at, y), (at + 26, y)],
                    setting["color"],
                    setting["width"],
                    setting.get("dash") or "",
                )
            )
            marks.append(text(trace["name"], (at + 32, y), legend["font"], ("start", "middle")))
    return marks
