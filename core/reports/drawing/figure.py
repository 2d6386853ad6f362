"""A plotly figure as still SVG.

Only what our figures use is known: scatter and bar traces, lines and rectangles, annotations
without arrows, legends in a row. Anything else raises, and a test draws every figure of a report.
"""

from base64 import b64decode
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.reports.drawing import traces as draw_traces
from core.reports.drawing.marks import Drawing, Mark, line, rectangle, text, width_of
from core.reports.drawing.traces import Scale, Settings, scale, squared, ticks

Scales = dict[str, Scale]
ANCHORS = {"left": "start", "center": "middle", "right": "end"}
TICK_GAP = 7.0
CLOSE = 6.0  # pixels between two labels of an axis
Box = tuple[float, float, float, float]  # left, top, right, bottom


def drawn(figure: "go.Figure", width: float) -> Drawing:
    """Return a figure as marks.

    Parameters
    ----------
    figure : go.Figure
        With a height, and axes in the house style.
    width : float
        In CSS pixels.
    """
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
        values = [v for t in of_axis for v in draw_traces.values(t, letter)]
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
    drawings = [mark for t, x, y in upright for mark in draw_traces.bars(t, x, y)]
    for layer in (draw_traces.areas, draw_traces.strokes, draw_traces.dots, draw_traces.words):
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
