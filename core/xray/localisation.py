"""Whether heatmaps point at lesions: pointing game, overlap and energy, with intervals; numpy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from core.arrays import Bool, Float
from core.defaults import LEVEL
from core.metrics.intervals import mean_interval, wilson

Box = tuple[float, float, float, float]  # left, top, right, bottom, in pixels
HALF: Final = 0.5  # of a map's largest value: what lies above it is compared with the box
N_RESAMPLES: Final = 1_000
Heat = npt.NDArray[np.floating]


def hit(heat: Heat, box: Box) -> bool:
    """Whether the strongest place of a map lies in the box: the pointing game.

    Parameters
    ----------
    heat : (H, W) float
        At film size, at least 0.
    box : (left, top, right, bottom)
        In pixels; a pixel lies inside when its middle does.

    Returns
    -------
    bool
        False where the map is blank. Of several strongest places the middle one in reading order
        counts, so that a plateau neither wins nor loses by its order.

    References
    ----------
    Zhang et al. 2018, section 4.1, without its margin.
    """
    top = heat.max()
    if top <= 0:
        return False
    places = np.argwhere(heat == top)
    row, column = places[len(places) // 2]
    return bool(inside(heat.shape, box)[row, column])


def iou(heat: Heat, box: Box, threshold: float = HALF) -> float:
    """Return intersection over union of the box and what reaches a share of the largest value."""
    top = heat.max()
    if top <= 0:
        return 0.0
    hot, within = heat >= threshold * top, inside(heat.shape, box)
    either = int((hot | within).sum())
    return float((hot & within).sum() / either) if either else 0.0


def energy(heat: Heat, box: Box) -> float:
    """Return the share of a map's sum that lies in the box; 0 for a blank map."""
    total = float(heat.sum(dtype=np.float64))
    if total <= 0:
        return 0.0
    return float(heat[inside(heat.shape, box)].sum(dtype=np.float64) / total)


def inside(shape: tuple[int, ...], box: Box) -> Bool:
    """Return the pixels, (H, W) bool, whose middles lie in a box."""
    left, top, right, bottom = box
    x, y = np.arange(shape[1]) + 0.5, np.arange(shape[0]) + 0.5
    return np.asarray(
        ((y >= top) & (y < bottom))[:, None] & ((x >= left) & (x < right))[None, :], dtype=bool
    )


@dataclass(frozen=True)
class Share:
    """A mean over films with its interval; fractions."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Localisation:
    """How well some maps point at their boxes.

    Attributes
    ----------
    n : int
        Maps.
    pointing : Share
        Pointing game, with Wilson's interval.
    iou, energy : Share
        Means, with percentile bootstrap intervals over films.
    """

    n: int
    pointing: Share
    iou: Share
    energy: Share


def localise(
    heats: Sequence[Heat],
    boxes: Sequence[Box],
    *,
    threshold: float = HALF,
    level: float = LEVEL,
    seed: int = 0,
) -> Localisation:
    """Return how well maps, each at its film's size, point at one box each.

    Parameters
    ----------
    heats : sequence of (H, W) float
    boxes : sequence of (left, top, right, bottom)
        As many, in pixels.
    threshold : float
        Of `iou`, a share of each map's largest value.
    level : float
        Of the intervals.
    seed : int
        Of the resamples.
    """
    pairs = list(zip(heats, boxes, strict=True))
    hits = np.array([hit(heat, box) for heat, box in pairs])
    overlaps = np.array([iou(heat, box, threshold) for heat, box in pairs])
    shares = np.array([energy(heat, box) for heat, box in pairs])
    return Localisation(
        len(pairs), pointed(hits, level), _mean(overlaps, level, seed), _mean(shares, level, seed)
    )


def pointed(hits: Bool, level: float = LEVEL) -> Share:
    """Return the share of hits with Wilson's interval."""
    low, high = wilson(np.array(hits.sum()), np.array(hits.size), level)
    return Share(float(hits.mean()), float(low), float(high))


def _mean(values: Float, level: float, seed: int) -> Share:
    low, high = mean_interval(values, N_RESAMPLES, level, np.random.default_rng(seed))
    return Share(float(values.mean()), low, high)
