"""The ways to a heatmap, and from a map to colours on a film: place, scale, contours; numpy.

A map is in the units of the logit and is never scaled to its own largest value unless that is
asked for: a weak map stays weak beside a strong one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from core.arrays import Bool


@dataclass(frozen=True)
class Method:
    """One way to weigh the maps of a layer: its printed name, what it does, and the paper.

    Where it does all findings `at_once`, they come from one forward pass; else one is asked for.
    `unit` is what a map's values are: the ``logit``, or the method's ``own`` weights.
    """

    label: str
    plain: str
    source: str
    at_once: bool = True
    unit: str = "logit"


METHODS: Final[dict[str, Method]] = {
    "gradcam": Method(
        "Grad-CAM",
        "Each map of the layer is weighted by its mean gradient on the finding's logit.",
        "Selvaraju et al. 2017",
    ),
    "gradcam++": Method(
        "Grad-CAM++",
        "As Grad-CAM, but places with a strong gradient count more: for several lesions.",
        "Chattopadhay et al. 2018",
        unit="own",
    ),
    "hirescam": Method(
        "HiResCAM",
        "Each place in each map is weighted by its own gradient, not averaged over the film.",
        "Draelos and Carin 2020",
    ),
    "xgradcam": Method(
        "XGrad-CAM",
        "As Grad-CAM, with gradients weighted by the map's activation.",
        "Fu et al. 2020",
    ),
    "eigencam": Method(
        "EigenCAM",
        "The strongest pattern of the layer, whatever the finding is; its sign is arbitrary.",
        "Muhammad and Yeasin 2020",
        at_once=False,
        unit="own",
    ),
    "scorecam": Method(
        "ScoreCAM",
        "Each map is weighted by the logit of the film masked with it: one pass per map, slow.",
        "Wang et al. 2020",
        at_once=False,
        unit="own",
    ),
}
DEFAULT: Final = "gradcam"


# From a map to colours.
Map = npt.NDArray[np.float32]
Pixels = npt.NDArray[np.uint8]  # (H, W) grey, or (H, W, 3)
Frame = tuple[float, float, float, float]  # left, top, right, bottom: fractions of the film
WHOLE: Final[Frame] = (0.0, 0.0, 1.0, 1.0)
BLANK: Final = 1e-6  # a map that stays below says nothing
LEVELS: Final = (0.25, 0.5, 0.75)  # contours, as shares of the scale
STRONG: Final = 0.4  # share of the scale from which the colour covers as much as it may
# Ten stops of inferno (Smith and van der Walt, CC0), perceptually uniform, from weak to strong.
STOPS: Final = (
    "#000004",
    "#1b0c41",
    "#4a0c6b",
    "#781c6d",
    "#a52c60",
    "#cf4446",
    "#ed6925",
    "#fb9b06",
    "#f7d13d",
    "#fcffa4",
)


def on_film(coarse: Map, frame: Frame, shape: tuple[int, int]) -> Map:
    """Put a coarse map where it belongs on a film.

    Parameters
    ----------
    coarse : (h, w) float32
        Covers exactly the frame.
    frame : (left, top, right, bottom)
        Fractions of the film that the network saw.
    shape : (int, int)
        Height and width of the film, in pixels.

    Returns
    -------
    (H, W) float32
        Bilinear between the centres of the cells, constant beyond the outer ones, 0 outside of
        the frame: the network did not look there.
    """
    left, top, right, bottom = frame
    # Bilinear interpolation is linear in each axis: two matrices in
    # place of a resize, exact at the frame's edge.
    down = _weights(coarse.shape[0], top, bottom, shape[0])
    across = _weights(coarse.shape[1], left, right, shape[1])
    return np.asarray(down @ coarse @ across.T, np.float32)


def _weights(n_cells: int, start: float, end: float, n_pixels: int) -> Map:
    """Return (n_pixels, n_cells): how much of each cell a pixel takes."""
    centres = (np.arange(n_pixels) + 0.5) / n_pixels
    at = np.clip((centres - start) / (end - start) * n_cells - 0.5, 0, n_cells - 1)
    cells = np.arange(n_cells)
    weights = np.clip(1.0 - np.abs(at[:, None] - cells[None, :]), 0.0, 1.0)
    weights[(centres < start) | (centres > end)] = 0.0
    return np.asarray(weights, np.float32)


def blank(saliency: Map) -> bool:
    """Whether nothing in a map speaks for the finding: a saturated head, or no influence."""
    return not float(saliency.max(initial=0.0)) > BLANK


def top_of(maps: Iterable[Map]) -> float:
    """Return the largest value of all maps: the end of the scale that they share."""
    return max((float(saliency.max(initial=0.0)) for saliency in maps), default=0.0)


def shares(saliency: Map, top: float) -> Map:
    """Return a map as shares of the scale, in [0, 1]; all 0 where the scale has no end."""
    if not top > BLANK:
        return np.zeros_like(saliency, np.float32)
    return np.asarray(np.clip(saliency / top, 0.0, 1.0), np.float32)


def colours(share: Map) -> Pixels:
    """Return (H, W, 3) colours of shares in [0, 1], from dark to bright."""
    return _TABLE[np.round(share * (len(_TABLE) - 1)).astype(np.intp)]


def overlay(film: Pixels, share: Map, opacity: float) -> Pixels:
    """Return a grey film with colours over it, (H, W, 3).

    Weak places stay grey: the colour covers in proportion, up to STRONG of the scale, and at most
    `opacity` (in [0, 1]) of the film.
    """
    cover = np.float32(opacity) * np.minimum(1.0, share / np.float32(STRONG))[..., None]
    grey = film[..., None].astype(np.float32)
    mixed = grey + (colours(share) - grey) * cover
    return np.asarray(np.round(mixed), np.uint8)


def contours(film: Pixels, share: Map, levels: tuple[float, ...] = LEVELS) -> Pixels:
    """Return a grey film with a line where each level is crossed, (H, W, 3), in its colour."""
    pixels = np.repeat(film[..., None], 3, axis=2)
    width = max(1, round(max(film.shape) / 320))
    for level in levels:
        # Dark beside bright, so that a line shows on black lungs and white bone alike.
        line = _edge(share >= level, width)
        pixels[_edge(share >= level, 2 * width) & ~line] //= 3
        pixels[line] = _TABLE[round((0.35 + 0.65 * level) * (len(_TABLE) - 1))]
    return pixels


def _edge(inside: Bool, width: int) -> Bool:
    """Return the pixels of a region within `width` of its end; the film's end is none."""
    from scipy import ndimage  # every command reads METHODS, and needs no SciPy for it

    least = ndimage.minimum_filter(inside.astype(np.uint8), size=2 * width + 1, mode="nearest")
    return np.asarray(inside & (least == 0))


def _table() -> Pixels:
    """Return 256 colours, linear between the stops."""
    stops = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in STOPS])
    places = np.linspace(0, len(STOPS) - 1, 256)
    columns = [np.interp(places, np.arange(len(STOPS)), stops[:, i]) for i in range(3)]
    return np.asarray(np.round(np.stack(columns, axis=1)), np.uint8)


_TABLE: Final = _table()
