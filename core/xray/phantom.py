"""Synthetic chest films with lesions whose place is known; numpy only.

They look a little like films of a chest and are none: thorax, lungs, ribs and heart are drawn from
random numbers, and every finding is drawn where its box says. Each part has its own stream of
random numbers, so the same film can be drawn again without one of its lesions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from core.arrays import Bool, Float

SIDE: Final = 128  # pixels
MEAN, STD = 0.445, 0.222  # of pixels / 255 over many films, three digits
PREVALENCE: Final = {"Nodule": 0.25, "Consolidation": 0.2, "Effusion": 0.15, "Cardiomegaly": 0.15}
FINDINGS: Final = tuple(PREVALENCE)
MOST_SIDE: Final = 0.2  # of a lesion's box, as a share of the film's: at most 4 % of its area
MARK: Final = (  # SYNTHETIC in letters of 3 x 5 pixels, so that a copy of the film keeps the word
    "### # # ##  ### # # ### ### ### ###",
    "#   # # # #  #  # # #    #   #  #  ",
    "###  #  # #  #  ### ##   #   #  #  ",
    "  #  #  # #  #  # # #    #   #  #  ",
    "###  #  # #  #  # # ###  #  ### ###",
)
Box = tuple[float, float, float, float]  # left, top, right, bottom
Oval = tuple[float, float, float, float]  # middle x, y, half width, half height


@dataclass(frozen=True, eq=False)
class Phantom:
    """One synthetic film and the truth about it."""

    # (128, 128), white is dense, as on a film; SYNTHETIC is written at the lower left
    pixels: npt.NDArray[np.uint8]
    present: Mapping[str, bool]  # which findings it has
    boxes: Mapping[str, Box]  # of the findings it has, in pixels
    lungs: Bool  # (128, 128), where the lungs are


@dataclass(frozen=True, kw_only=True)
class Body:
    """The anatomy of one film, in shares of its side; drawn before anything is painted."""

    centre: float
    width: float
    top: float
    diaphragm: tuple[float, float]
    heart: Oval
    usual_heart: Oval
    rib_spacing: float
    rib_phase: float


def draw(
    seed: int,
    index: int,
    *,
    without: str | None = None,
    frequencies: Mapping[str, float] = PREVALENCE,
) -> Phantom:
    """Draw a film.

    `seed`, `index`: at least 0; the same two give the same film; `without`: a finding that is left
    out; all else on the film stays as it was, to the last grain; `frequencies`: how likely each
    finding is, in [0, 1].
    """
    streams = np.random.SeedSequence([seed, index]).spawn(2 + len(FINDINGS))
    anatomy, grain, *finding_rngs = (np.random.default_rng(stream) for stream in streams)
    # A stream of random numbers for each part: leaving a finding out changes no other number, so
    # that two films differ by the finding alone.
    present = {
        finding: bool(rng.random() < frequencies[finding])
        for finding, rng in zip(FINDINGS, finding_rngs, strict=True)
    }
    centre, width, top = anatomy.normal(0.5, 0.012), anatomy.normal(0.4, 0.015), 0.12
    left, right = anatomy.normal(0.79, 0.02), anatomy.normal(0.77, 0.02)
    # Both hearts are drawn, whichever is shown: otherwise a large one would shift later numbers.
    usual, large = anatomy.normal(0.145, 0.012), finding_rngs[3].normal(0.2, 0.02)
    level = anatomy.normal(0.66, 0.012)
    spacing, phase = anatomy.normal(0.085, 0.004), anatomy.random()
    small, wide = (
        (centre + 0.35 * half, level, half, 0.8 * half + 0.02) for half in (usual, large)
    )
    body = Body(
        centre=centre,
        width=width,
        top=top,
        diaphragm=(left, right),
        heart=wide if present["Cardiomegaly"] else small,
        usual_heart=small,
        rib_spacing=spacing,
        rib_phase=phase,
    )
    lungs = _lungs(body)  # lesions stay in their place also where a large heart is left out
    present = {name: here and name != without for name, here in present.items()}
    drawn_body = body if without != "Cardiomegaly" else replace(body, heart=body.usual_heart)
    film = _anatomy(drawn_body, _lungs(drawn_body))
    boxes: dict[str, Box] = {}
    for name, rng, paint in (
        ("Nodule", finding_rngs[0], _nodule),
        ("Consolidation", finding_rngs[1], _consolidation),
        ("Effusion", finding_rngs[2], _effusion),
    ):
        if present[name]:
            added, boxes[name] = paint(rng, body, lungs)
            film = film + added
    # Painted with the anatomy already; only its box is missing.
    if present["Cardiomegaly"]:
        x, y, half_width, half_height = body.heart
        boxes["Cardiomegaly"] = _around(x, y, half_width, half_height)
    return Phantom(_exposed(film, grain), present, boxes, lungs)


def findings_of(seed: int, index: int) -> list[bool]:
    """Return which of `FINDINGS` a film has that is drawn with the usual frequencies."""
    streams = np.random.SeedSequence([seed, index]).spawn(2 + len(FINDINGS))[2:]
    firsts = (np.random.default_rng(stream).random() for stream in streams)
    return [first < share for first, share in zip(firsts, PREVALENCE.values(), strict=True)]


# Middles of the pixels, 0 to 1 from the upper left.
X = ((np.arange(SIDE) + 0.5) / SIDE)[None, :]
Y = X.T


def _soft(distance: Float, edge: float) -> Float:
    """Return 1 inside (negative distance), 0 outside, with a soft edge."""
    return np.asarray(1.0 / (1.0 + np.exp(np.clip(distance / edge, -40.0, 40.0))))


def _ellipse(x: float, y: float, half_width: float, half_height: float) -> Float:
    """Return a distance-like number, below 0 inside the ellipse."""
    radius = np.sqrt(((X - x) / half_width) ** 2 + ((Y - y) / half_height) ** 2)
    return np.asarray((radius - 1.0) * min(half_width, half_height))


def _lungs(body: Body) -> Bool:
    """Return where air is: two ovals over the diaphragm, beside the middle and the heart."""
    air = np.zeros((SIDE, SIDE), dtype=bool)
    for sign, floor in zip((-1.0, 1.0), body.diaphragm, strict=True):
        x = body.centre + sign * 0.52 * body.width
        oval = _ellipse(x, 0.52, 0.4 * body.width, 0.4) < 0
        dome = floor + 0.35 * (X - x) ** 2 / body.width**2 - 0.02
        air |= oval & (dome > Y)
    middle = np.abs(X - body.centre) < 0.06
    below_skin = body.top + 0.9 * (X - body.centre) ** 2 + 0.03 < Y
    return np.asarray(air & below_skin & ~middle & (_ellipse(*body.heart) > 0))


def _anatomy(body: Body, lungs: Bool) -> Float:
    """Return density, (128, 128): body, air, middle, heart, ribs, collar bones."""
    trunk = _soft(np.abs(X - body.centre) - body.width - 0.08 * np.sqrt(np.clip(Y, 0, 1)), 0.012)
    shoulders = _soft(body.top + 0.9 * (X - body.centre) ** 2 - Y, 0.015)
    neck = _soft(np.abs(X - body.centre) - 0.11, 0.015)
    film = 0.12 + 0.5 * trunk * np.maximum(shoulders, neck)
    film = film - 0.34 * _blurred(lungs)
    film = film + 0.1 * _soft(np.abs(X - body.centre) - 0.045, 0.012)  # spine and great vessels
    film = film + 0.16 * _soft(_ellipse(*body.heart), 0.012)
    cage = _soft(_ellipse(body.centre, 0.52, body.width, 0.46), 0.015)
    bow = 0.9 * (np.abs(X - body.centre) - 0.2) ** 2 + 0.25 * np.abs(X - body.centre)
    wave = np.cos(2 * np.pi * ((Y - bow) / body.rib_spacing + body.rib_phase))
    film = film + 0.075 * cage * np.clip(wave - 0.55, 0.0, None) / 0.45
    collar = np.abs(Y - 0.17 - 0.25 * np.abs(X - body.centre)) - 0.012
    return np.asarray(film + 0.07 * _soft(collar, 0.006) * trunk)


def _blurred(mask: Bool) -> Float:
    """Return a mask with soft edges: the mean over 5 x 5 pixels, twice."""
    soft = mask.astype(np.float64)
    for _ in range(2):
        for axis in (0, 1):
            soft = _mean([np.roll(soft, shift, axis) for shift in range(-2, 3)])
    return soft


def _place(rng: np.random.Generator, lungs: Bool) -> tuple[float, float]:
    """Return a point that is uniform over the lungs."""
    rows, columns = np.nonzero(lungs)
    at = int(rng.integers(rows.size))
    return float((columns[at] + rng.random()) / SIDE), float((rows[at] + rng.random()) / SIDE)


def _around(x: float, y: float, half_width: float, half_height: float) -> Box:
    """Return a box in pixels, within the film."""
    sides = (x - half_width, y - half_height, x + half_width, y + half_height)
    left, top, right, bottom = (float(np.clip(side, 0.0, 1.0)) * SIDE for side in sides)
    return left, top, right, bottom


def _nodule(rng: np.random.Generator, _body: Body, lungs: Bool) -> tuple[Float, Box]:
    """Return a round lesion; the faintest drown in the grain, as on films."""
    x, y = _place(rng, lungs)
    radius = rng.uniform(0.035, 0.075)
    strength = rng.uniform(0.05, 0.3)
    reach = 1.25 * radius
    return strength * _soft(_ellipse(x, y, radius, radius), 0.012), _around(x, y, reach, reach)


def _consolidation(rng: np.random.Generator, _body: Body, lungs: Bool) -> tuple[Float, Box]:
    """Return a patch with ragged borders: blots scattered within a box."""
    x, y = _place(rng, lungs)
    half_width, half_height = rng.uniform(0.06, MOST_SIDE / 2, 2)
    strength = rng.uniform(0.07, 0.3)
    patch = np.zeros((SIDE, SIDE))
    for _ in range(7):
        dx, dy = rng.uniform(-0.6, 0.6, 2)
        size = rng.uniform(0.25, 0.4)
        blot = _ellipse(
            x + dx * half_width, y + dy * half_height, size * half_width, size * half_height
        )
        patch += _soft(blot, 0.01) * rng.uniform(0.5, 1.0)
    painted = strength * np.minimum(patch, 1.0)
    return painted, _around(x, y, half_width, half_height)


def _effusion(rng: np.random.Generator, body: Body, lungs: Bool) -> tuple[Float, Box]:
    """Return fluid that fills one lung from below, higher at the wall."""
    sign = rng.choice([-1.0, 1.0])
    level = rng.uniform(0.03, 0.16)
    strength = rng.uniform(0.12, 0.3)
    side = lungs & ((X - body.centre) * sign > 0)
    floor = float(np.nonzero(side.any(axis=1))[0].max() + 1) / SIDE
    outward = np.clip((X - body.centre) * sign / body.width, 0.0, 1.0)
    surface = floor - level - 0.5 * level * outward
    wet = side & (surface < Y)
    rows, columns = np.nonzero(wet)
    box = (float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1))
    return strength * _blurred(wet), box


def _exposed(film: Float, grain: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Return the film as it would be stored: uneven light, contrast, grain, 8 bits, the mark."""
    tilt_x, tilt_y = grain.normal(0.0, 0.04, 2)
    contrast, brightness = grain.normal(1.0, 0.06), grain.normal(0.0, 0.02)
    small = grain.normal(0.0, 0.022, (SIDE, SIDE))
    coarse = grain.normal(0.0, 0.018, (SIDE // 4, SIDE // 4)).repeat(4, axis=0).repeat(4, axis=1)
    # Contrast and uneven light before grain: the detector's noise
    # is not scaled by the tube's settings.
    lit = contrast * film + tilt_x * (X - 0.5) + tilt_y * (Y - 0.5) + brightness
    smooth = _mean([np.roll(coarse, shift, axis) for axis in (0, 1) for shift in (-2, 2)])
    exposed = np.clip(np.rint(255.0 * (lit + small + smooth)), 0.0, 255.0)
    pixels: npt.NDArray[np.uint8] = exposed.astype(np.uint8)
    mark = np.array([[letter == "#" for letter in row] for row in MARK])
    height, width = mark.shape
    pixels[SIDE - height - 2 : SIDE - 2, 2 : 2 + width][mark] = 230
    return pixels


def _mean(images: list[Float]) -> Float:
    return np.asarray(np.mean(images, axis=0))
