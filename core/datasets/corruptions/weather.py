"""Snow, frost and fog; spatter has its own module."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.random import Generator

from core.arrays import Float
from core.datasets.corruptions.sampling import luma, streaked, tinted, zoomed

# By severity, of make_cifar_c.py in hendrycks/robustness (ImageNet-C/create_c).
# Flakes' mean and deviation, their zoom, the least that shows, streak's radius and deviation, and
# the share of the image that is not whitened.
SNOW: Final = (
    (0.1, 0.2, 1.0, 0.6, 8, 3.0, 0.95),
    (0.1, 0.2, 1.0, 0.5, 10, 4.0, 0.9),
    (0.15, 0.3, 1.75, 0.55, 10, 4.0, 0.9),
    (0.25, 0.3, 2.25, 0.6, 12, 6.0, 0.85),
    (0.3, 0.3, 1.25, 0.65, 14, 12.0, 0.8),
)
FROST: Final = ((1.0, 0.2), (1.0, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45))  # image, frost
FOG: Final = ((0.2, 3.0), (0.5, 3.0), (0.75, 2.5), (1.0, 2.0), (1.5, 1.75))  # fog, decay
# Ours, chosen by eye: how often a crystal begins, how long its needles are, and their colours.
SEEDS, NEEDLE, HAZE_DECAY = 0.04, (6, 3.0), 2.0
HAZE: Final = (0.42, 0.55, 0.70)
ICE: Final = (0.90, 0.96, 1.0)


def snow(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Whiten the image and lay smeared flakes over it, twice: as drawn and upside down."""
    mean, deviation, zoom, least, radius, sigma, own_share = SNOW[place]
    shape = (1, *light.shape[2:])
    flakes = np.stack([rng.normal(mean, deviation, shape) for rng in draws])
    flakes = zoomed(flakes, zoom)
    flakes[flakes < least] = 0
    degrees = np.array([rng.uniform(-135, -45) for rng in draws])
    # the script's flakes go through two pictures of 256 greys
    greys = np.floor(np.clip(flakes, 0, 1) * 255)
    fallen = np.floor(streaked(greys, radius, sigma, degrees)) / 255
    whitened = np.maximum(light, luma(light) * 1.5 + 0.5)
    return own_share * light + (1 - own_share) * whitened + fallen + fallen[:, :, ::-1, ::-1]


def fog(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Add clouds, then scale so that the brightest value an image can have stays."""
    thickness, decay = FOG[place]
    top = light.max(axis=(1, 2, 3), keepdims=True)
    return np.asarray((light + thickness * _clouds(light, decay, draws)) * top / (top + thickness))


def frost_procedural(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Mix in a haze with needles of ice along three directions, 60 degrees apart."""
    own_share, frost = FROST[place]
    shape = (1, *light.shape[2:])
    haze = _clouds(light, HAZE_DECAY, draws)
    seeds = np.stack([rng.random(shape) < SEEDS for rng in draws]).astype(np.float64)
    turn = np.array([rng.uniform(0, 60) for rng in draws])
    ice = np.zeros_like(seeds)
    for degrees in range(0, 360, 60):
        needles = streaked(seeds, *NEEDLE, turn + degrees)
        ice = np.maximum(ice, needles / needles.max(initial=1e-9, axis=(1, 2, 3), keepdims=True))
    channels = light.shape[1]
    texture = haze * tinted(HAZE, channels)
    texture = texture + ice * (tinted(ICE, channels) - texture)
    return own_share * light + frost * texture


def _clouds(light: Float, decay: float, draws: Sequence[Generator]) -> Float:
    """Return (n, 1, H, W) clouds, cut from a map of the next power of two."""
    height, width = light.shape[2:]
    side = 1 << (max(height, width) - 1).bit_length()
    uniform = np.stack([rng.uniform(-1, 1, (side, side)) for rng in draws])
    return plasma(uniform, decay)[:, None, :height, :width]


def plasma(uniform: Float, decay: float) -> Float:
    """Return the diamond-square fractals of uniform draws.

    Parameters
    ----------
    uniform : (n, S, S) float64 in -1..1
        The draw of each point; S is a power of two. The first corner takes none.
    decay : float
        By which the displacements shrink, each time that the step is halved.

    Returns
    -------
    (n, S, S) float64
        From 0 to 1 in each; opposite edges continue one another.
    """
    field = np.zeros_like(uniform)
    step, reach = uniform.shape[-1], 100.0
    while step >= 2:
        half = step // 2
        corners = field[:, ::step, ::step]
        pairs = corners + np.roll(corners, -1, axis=1)
        middle = (slice(None), slice(half, None, step), slice(half, None, step))
        _displace(field, middle, pairs + np.roll(pairs, -1, axis=2), uniform, reach)
        centres = field[middle]
        top = (slice(None), slice(None, None, step), slice(half, None, step))
        left = (slice(None), slice(half, None, step), slice(None, None, step))
        above = centres + np.roll(centres, 1, axis=1) + corners + np.roll(corners, -1, axis=2)
        beside = centres + np.roll(centres, 1, axis=2) + corners + np.roll(corners, -1, axis=1)
        _displace(field, top, above, uniform, reach)
        _displace(field, left, beside, uniform, reach)
        step, reach = half, reach / decay
    field -= field.min(axis=(1, 2), keepdims=True)
    return np.asarray(field / field.max(axis=(1, 2), keepdims=True))


def _displace(
    field: Float, points: tuple[slice, ...], four: Float, uniform: Float, reach: float
) -> None:
    """Set points to the mean of four, displaced by up to reach squared, as the script does."""
    field[points] = four / 4 + reach**2 * uniform[points]
