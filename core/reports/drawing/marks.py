"""What a drawing is made of: elements with attributes, and text in pieces."""

import re
from dataclasses import dataclass
from html import unescape
from typing import Any

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
    """Return a text at a place.

    Parameters
    ----------
    words : str
        As plotly takes them.
    place : (x, y)
        In pixels.
    font : dict
        Size and color.
    anchors : two str
        SVG's text-anchor; and which part of the block stands at the place: top, middle or bottom.
    angle : float
        Degrees clockwise.
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
