"""Films as pictures: enlarged, with boxes and words inside them, and as a sheet to save; Pillow.

What must not be lost is drawn inside the picture, so that a copy or a crop keeps it.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final
from unicodedata import combining, normalize

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from core.xray import heat
from core.xray.heat import Frame, Map, Pixels, colours

SIDE: Final = 640  # pixels of a film's longer side on a page
THUMB: Final = 200
SHEET: Final = 1_200  # width of a sheet
INK, PAPER, QUIET, LINE, ALARM = "#1B1F24", "#FFFFFF", "#667080", "#E5E7EB", "#B3261E"
DASH: Final = 10
EDGE: Final = 36  # of a sheet
RAMP: Final = 180  # pixels of the scale of the colours, where a panel is wide
WRITTEN: Final = str.maketrans({"γ": "gamma", "λ": "lambda", "−": "-", "–": "-", "×": "x"})
MISSING: Final = "\uffff"  # no font has it, so it is drawn as what a font lacks is
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


@dataclass(frozen=True)
class DrawnBox:
    """A box on a film, in fractions of it, and who drew it."""

    box: Frame
    text: str


@dataclass(frozen=True)
class FilmPanel:
    """One film, (H, W, 3), on a sheet: words over it, and under it what its colours say."""

    pixels: Pixels
    title: str
    legend: str = ""


@dataclass(frozen=True)
class PictureSheet:
    """A picture to save, with all that must go with it."""

    banner: tuple[str, ...]
    heading: str
    panels: tuple[FilmPanel, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Saliency:
    """A map of one finding, raw, of a frame of the film; it is drawn on a scale to `top`."""

    coarse: Map
    frame: Frame
    top: float


@dataclass(frozen=True)
class SaliencyStyle:
    """How heat is drawn: not at all (``film``), as an ``overlay`` or as a ``contour``.

    `opacity`, in [0, 1], is that of the strongest places of an overlay.
    """

    kind: str
    opacity: float = 0.6


def painted(film: Pixels, saliency: Saliency | None, look: SaliencyStyle) -> Pixels:
    """Return a film, enlarged to SIDE, with its heat, (H, W, 3)."""
    large = enlarged(film)
    if saliency is None or look.kind == "film":
        return coloured(large)
    share = heat.shares(heat.on_film(saliency.coarse, saliency.frame, large.shape), saliency.top)
    if look.kind == "contour":
        return heat.contours(large, share)
    return heat.overlay(large, share, look.opacity)


def enlarged(film: Pixels, side: int = SIDE) -> Pixels:
    """Return a grey film whose longer side has `side` pixels, smooth."""
    height, width = film.shape
    factor = side / max(height, width)
    size = max(1, round(width * factor)), max(1, round(height * factor))
    resampling = Image.Resampling.BICUBIC if factor > 1 else Image.Resampling.BOX
    return np.asarray(Image.fromarray(film).resize(size, resampling))


def shrunk(pixels: Pixels, side: int = THUMB) -> Pixels:
    """Return a picture whose longer side has `side` pixels."""
    image = Image.fromarray(pixels)
    image.thumbnail((side, side), Image.Resampling.BOX)
    return np.asarray(image)


def coloured(film: Pixels) -> Pixels:
    """Return a grey film as (H, W, 3)."""
    return np.repeat(film[..., None], 3, axis=2)


def marked(pixels: Pixels, marks: Sequence[DrawnBox], tag: str = "") -> Pixels:
    """Return a picture with boxes, dashed white on a dark outline, and a tag in two corners."""
    image = Image.fromarray(pixels)
    draw = ImageDraw.Draw(image)
    font = _font(max(10, round(max(image.size) / 42)))
    for mark in marks:
        left, top, right, bottom = (
            share * side for share, side in zip(mark.box, 2 * image.size, strict=True)
        )
        draw.rectangle((left, top, right, bottom), outline="#111111", width=4)
        # Dashes by hand: Pillow draws no dashed lines.
        for x in np.arange(left, right, DASH):
            for y in (top, bottom - 3):
                draw.rectangle((x, y + 1, min(x + 0.6 * DASH, right), y + 2), fill="white")
        for y in np.arange(top, bottom, DASH):
            for x in (left, right - 3):
                draw.rectangle((x + 1, y, x + 2, min(y + 0.6 * DASH, bottom)), fill="white")
        if mark.text:
            _label(draw, (left, top), mark.text, font, image.size)
    if tag:
        width = draw.textlength(tag, font)
        _label(draw, (0, 0), tag, font, image.size)
        _label(draw, (image.size[0] - width, image.size[1]), tag, font, image.size)
    return np.asarray(image)


def png(pixels: Pixels) -> bytes:
    """Return a picture as PNG, without any metadata, packed quickly."""
    return _png(Image.fromarray(pixels), 1)


def thumb(film: Pixels) -> bytes:
    """Return a grey film as a small JPEG: to tell films apart, not to judge one."""
    buffer = io.BytesIO()
    Image.fromarray(enlarged(film, THUMB)).save(buffer, "JPEG", quality=80)
    return buffer.getvalue()


def sheet(page: PictureSheet) -> bytes:
    """Return a sheet as PNG: banner, heading, panels beside one another, and what they say."""
    inner = SHEET - 2 * EDGE
    # Drawn on a sheet that is tall enough for anything, and cut off below what was written.
    tall = 40 * 60 + max(panel.pixels.shape[0] for panel in page.panels) + SHEET
    image = Image.new("RGB", (SHEET, tall), PAPER)
    draw = ImageDraw.Draw(image)
    first, *rest = page.banner
    y = _text(draw, first, (EDGE + 20, EDGE + 4), _font(24), INK, inner - 20)
    for line in rest:
        y = _text(draw, line, (EDGE + 20, y + 6), _font(19), QUIET, inner - 20)
    draw.rectangle((EDGE, EDGE, EDGE + 5, y + 6), fill=ALARM)
    y = _text(draw, page.heading, (EDGE, y + 30), _font(30), INK, inner) + 18
    # Panels beside one another, each with the scale of its colours
    n, gap = len(page.panels), 24
    width = (inner - gap * (n - 1)) // n
    starts = [EDGE + i * (width + gap) for i in range(n)]
    small = _font(19)
    # Titles first, each in its column: the pictures begin below the longest one.
    below = max(
        _text(draw, panel.title, (x, y), small, INK, width)
        for x, panel in zip(starts, page.panels, strict=True)
    )
    end = below
    for x, panel in zip(starts, page.panels, strict=True):
        film = Image.fromarray(panel.pixels)
        factor = min(width / film.width, SHEET / film.height)
        film = film.resize((round(film.width * factor), round(film.height * factor)))
        image.paste(film, (x, below + 8))
        bottom = below + 8 + film.height + 12
        if panel.legend:
            long = min(RAMP, width // 4)
            ramp = colours(np.tile(np.linspace(0, 1, long, dtype=np.float32), (14, 1)))
            draw.text((x, bottom), "weak", fill=QUIET, font=small)
            start = x + round(draw.textlength("weak", small)) + 10
            image.paste(Image.fromarray(ramp), (start, bottom + 5))
            after = start + long + 10
            at, room = (after, bottom), width - (after - x)
            bottom = _text(draw, panel.legend, at, small, QUIET, room)
        end = max(end, bottom)
    y = end + 8
    for line in page.lines:
        y = _text(draw, line, (EDGE, y + 10), small, INK, inner)
    return _png(image.crop((0, 0, SHEET, y + EDGE)), 6)


def _png(image: Image.Image, level: int) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=level)
    return out.getvalue()


@cache
def _font(size: int) -> Font:
    """Return the font that comes with Pillow: the same on every machine."""
    return ImageFont.load_default(size)


def _label(
    draw: ImageDraw.ImageDraw,
    corner: tuple[float, float],
    text: str,
    font: Font,
    size: tuple[int, int],
) -> None:
    """Write white words on dark above a corner, or as near as the picture has room."""
    left, top, right, bottom = draw.textbbox((0, 0), text, font)
    width, height = right - left + 12, bottom - top + 10
    x = min(max(0.0, corner[0]), size[0] - width)
    y = min(max(0.0, corner[1] - height), size[1] - height)
    draw.rectangle((x, y, x + width, y + height), fill="#111111")
    draw.text((x + 6 - left, y + 5 - top), text, fill="white", font=font)


def _text(
    draw: ImageDraw.ImageDraw, text: str, at: tuple[int, int], font: Font, colour: str, width: int
) -> int:
    """Write words in lines of a width; return where they end."""
    x, y = at
    step = round(1.3 * sum(abs(end) for end in draw.textbbox((0, 0), "Ag", font)[3:]))
    for line in _lines(draw, text, font, width):
        draw.text((x, y), line, fill=colour, font=font)
        y += step
    return y


def _lines(draw: ImageDraw.ImageDraw, text: str, font: Font, width: int) -> list[str]:
    """Return words in lines of a width; a word that is wider than one goes on in the next."""
    lines = [""]
    # In letters that the font has: spelled, without accents, or as "?"
    plain = "".join(c if _has(c) else normalize("NFKD", c) for c in text.translate(WRITTEN))
    written = "".join(c if _has(c) or c.isspace() else "?" for c in plain if not combining(c))
    for word in written.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and draw.textlength(longer, font) > width:
            lines.append(word)
        else:
            lines[-1] = longer
        while len(lines[-1]) > 1 and draw.textlength(lines[-1], font) > width:
            line = lines[-1]
            fits = [n for n in range(1, len(line)) if draw.textlength(line[:n], font) <= width]
            n = max(fits, default=1)
            lines[-1:] = [line[:n], line[n:]]
    return lines


@cache
def _has(letter: str) -> bool:
    """Whether the font has a letter."""
    font = _font(19)
    lacking, drawn = font.getmask(MISSING), font.getmask(letter)
    return drawn.size != lacking.size or bytes(drawn) != bytes(lacking)
