"""Five blurs."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.random import Generator
from scipy import ndimage

from core.arrays import Float
from core.datasets.corruptions.sampling import bell, streaked, zoomed

# By severity, of make_cifar_c.py in hendrycks/robustness (ImageNet-C/create_c).
GAUSSIAN: Final = (0.4, 0.6, 0.7, 0.8, 1.0)  # standard deviation in pixels
GLASS: Final = ((0.05, 1), (0.25, 1), (0.4, 1), (0.25, 2), (0.4, 2))  # deviation, rounds
DEFOCUS: Final = ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1.0, 0.2), (1.5, 0.1))  # radius, deviation
MOTION: Final = ((6, 1.0), (6, 1.5), (6, 2.0), (8, 2.0), (9, 2.5))  # radius, deviation
ZOOM_ENDS: Final = (1.06, 1.11, 1.16, 1.21, 1.26)  # not reached, but for rounding
ZOOM_STEP: Final = 0.01


def gaussian_blur(light: Float, place: int, _draws: Sequence[Generator]) -> Float:
    """Spread every pixel over a normal bell, cut at four deviations."""
    return bell(light, GAUSSIAN[place])


def glass_blur(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Let pixels take the colour of a neighbour above, left or both, between two blurs.

    The script means to swap the two, but its arrays are views, so the neighbour keeps its own
    colour. It goes through the pixels from the last to the first, so no colour travels further
    than one step in a round. Its two first rows and columns are never changed.
    """
    sigma, rounds = GLASS[place]
    n, _, height, width = light.shape
    moved = np.floor(bell(light, sigma) * 255)
    rows, columns = np.meshgrid(np.arange(2, height), np.arange(2, width), indexing="ij")
    steps = np.stack([rng.integers(-1, 1, (rounds, 2, *rows.shape)) for rng in draws])
    image = np.arange(n)[:, None, None]
    for turn in range(rounds):
        neighbours = moved[image, :, rows + steps[:, turn, 0], columns + steps[:, turn, 1]]
        moved[:, :, 2:, 2:] = np.moveaxis(neighbours, -1, 1)
    return bell(moved / 255, sigma)


def defocus_blur(light: Float, place: int, _draws: Sequence[Generator]) -> Float:
    """Spread every pixel over a small disk with soft edges."""
    kernel = disk(*DEFOCUS[place])[None, None]
    return np.asarray(ndimage.correlate(light, kernel, mode="mirror"))


def disk(radius: float, sigma: float) -> Float:
    """Return a disk's pixels, softened by a normal bell of three pixels; they sum to one."""
    reach = int(radius) + 1
    down, across = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    inside = (down**2 + across**2 <= radius**2).astype(np.float64)
    soft = np.exp(-(np.arange(-1, 2) ** 2) / (2 * sigma**2))
    soft /= soft.sum()
    for axis in (0, 1):
        inside = ndimage.correlate1d(inside, soft, axis, mode="constant")
    return np.asarray(inside / inside.sum())


def motion_blur(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Smear the image to one side, within 45 degrees of the horizontal."""
    degrees = np.array([rng.uniform(-45, 45) for rng in draws])
    return streaked(light, *MOTION[place], degrees)


def zoom_blur(light: Float, place: int, _draws: Sequence[Generator]) -> Float:
    """Average the image with itself enlarged in steps of one in a hundred."""
    factors = np.arange(1, ZOOM_ENDS[place], ZOOM_STEP)
    total = light.copy()
    for factor in factors:
        total += zoomed(light, float(factor))
    return total / (len(factors) + 1)
