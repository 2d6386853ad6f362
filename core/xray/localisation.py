"""Whether heatmaps point at lesions: pointing game, overlap and energy, with intervals; numpy."""

from collections.abc import Hashable, Sequence
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
SaliencyArray = npt.NDArray[np.floating]


def hit(saliency: SaliencyArray, boxes: Sequence[Box]) -> bool:
    """Whether the strongest place of a map lies in one of the boxes: the pointing game.

    Parameters
    ----------
    saliency : (H, W) float
        At film size, at least 0.
    boxes : sequence of (left, top, right, bottom)
        Of one finding, in pixels; a pixel lies inside when its middle does.

    Returns
    -------
    bool
        False where the map is blank. Of several strongest places the middle one in reading order
        counts, so that a plateau neither wins nor loses by its order.

    References
    ----------
    Zhang et al. 2018, section 4.1, without its margin.
    """
    top = saliency.max()
    if top <= 0:
        return False
    places = np.argwhere(saliency == top)
    row, column = places[len(places) // 2]
    return bool(inside(saliency.shape, boxes)[row, column])


def iou(saliency: SaliencyArray, boxes: Sequence[Box], threshold: float = HALF) -> float:
    """Return intersection over union of the boxes and what reaches a share of the largest value."""
    top = saliency.max()
    if top <= 0:
        return 0.0
    hot, within = saliency >= threshold * top, inside(saliency.shape, boxes)
    either = int((hot | within).sum())
    return float((hot & within).sum() / either) if either else 0.0


def energy(saliency: SaliencyArray, boxes: Sequence[Box]) -> float:
    """Return the share of a map's sum that lies in the boxes; 0 for a blank map."""
    total = float(saliency.sum(dtype=np.float64))
    if total <= 0:
        return 0.0
    return float(saliency[inside(saliency.shape, boxes)].sum(dtype=np.float64) / total)


def inside(shape: tuple[int, ...], boxes: Sequence[Box]) -> Bool:
    """Return the pixels, (H, W) bool, whose middles lie in at least one of the boxes."""
    x, y = np.arange(shape[1]) + 0.5, np.arange(shape[0]) + 0.5
    within = np.zeros(shape, bool)
    for left, top, right, bottom in boxes:
        within |= ((y >= top) & (y < bottom))[:, None] & ((x >= left) & (x < right))[None, :]
    return within


@dataclass(frozen=True)
class MeanOverFilms:
    """A mean over films with its interval; fractions."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Localisation:
    """How well the maps of `n` films point at their boxes.

    `pointing` is the pointing game with Wilson's interval, the others are means with percentile
    bootstrap intervals over films.
    """

    n: int
    pointing: MeanOverFilms
    iou: MeanOverFilms
    energy: MeanOverFilms


def localise(
    maps: Sequence[SaliencyArray],
    boxes: Sequence[Sequence[Box]],
    *,
    films: Sequence[Hashable] | None = None,
    threshold: float = HALF,
    level: float = LEVEL,
    seed: int = 0,
) -> Localisation:
    """Return how well maps, each at its film's size, point at the boxes of a finding each.

    Parameters
    ----------
    maps : sequence of (H, W) float
    boxes : sequence of sequence of (left, top, right, bottom)
        As many, in pixels; those of one map count as one place.
    films : sequence of hashable, optional
        Which film each map is of, where a film has maps of several findings: a film then counts
        once, with the mean over its maps, and intervals are over films. By default every map is
        of its own film.
    threshold : float
        Of `iou`, a share of each map's largest value.
    """
    pairs = list(zip(maps, boxes, strict=True))
    film_ids = range(len(pairs)) if films is None else films
    # A film with three findings is not three films: intervals are over films.
    hits = _by_film([hit(saliency, at) for saliency, at in pairs], film_ids)
    overlaps = _by_film([iou(saliency, at, threshold) for saliency, at in pairs], film_ids)
    shares = _by_film([energy(saliency, at) for saliency, at in pairs], film_ids)
    return Localisation(
        hits.size,
        pointed(hits, level),
        mean_over_films(overlaps, level, seed),
        mean_over_films(shares, level, seed),
    )


def _by_film(values: Sequence[float], films: Sequence[Hashable]) -> Float:
    """Return the mean value of each film."""
    by_film: dict[Hashable, list[float]] = {}
    for film, value in zip(films, values, strict=True):
        by_film.setdefault(film, []).append(value)
    return np.array([np.mean(of_film) for of_film in by_film.values()], dtype=np.float64)


def pointed(hits: Bool | Float, level: float = LEVEL) -> MeanOverFilms:
    """Return the share of hits with Wilson's interval.

    A film's share of hits may lie between 0 and 1; it varies less than hits of the same mean, so
    the interval is then too wide rather than too narrow.
    """
    low, high = wilson(np.array(hits.sum()), np.array(hits.size), level)
    return MeanOverFilms(float(hits.mean()), float(low), float(high))


def mean_over_films(values: Float, level: float, seed: int) -> MeanOverFilms:
    """Return the mean with its percentile bootstrap interval over films."""
    low, high = mean_interval(values, N_RESAMPLES, level, np.random.default_rng(seed))
    return MeanOverFilms(float(values.mean()), low, high)
