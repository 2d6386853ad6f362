"""Noise of four kinds, each value drawn on its own."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.random import Generator

from core.arrays import Float

# By severity, of make_cifar_c.py in hendrycks/robustness (ImageNet-C/create_c).
GAUSSIAN: Final = (0.04, 0.06, 0.08, 0.09, 0.10)  # standard deviation
PHOTONS: Final = (500, 250, 100, 75, 50)  # that white counts
IMPULSES: Final = (0.01, 0.02, 0.03, 0.05, 0.07)  # share of the values
SPECKLE: Final = (0.06, 0.1, 0.12, 0.16, 0.2)  # standard deviation, relative


def gaussian_noise(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Add normal noise."""
    return light + _normal(light, draws) * GAUSSIAN[place]


def shot_noise(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Count photons, whose expected number is proportional to the light."""
    photons = PHOTONS[place]
    counts = [rng.poisson(image * photons) for rng, image in zip(draws, light, strict=True)]
    return np.stack(counts) / photons


def impulse_noise(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Set a share of the values, channels apart, to 0 or 1 with equal chances."""
    uniform = np.stack([rng.random(light.shape[1:]) for rng in draws])
    half = IMPULSES[place] / 2
    return np.where(uniform < half, 0.0, np.where(uniform < 2 * half, 1.0, light))


def speckle_noise(light: Float, place: int, draws: Sequence[Generator]) -> Float:
    """Add normal noise in proportion to the light."""
    return light + light * _normal(light, draws) * SPECKLE[place]


def _normal(light: Float, draws: Sequence[Generator]) -> Float:
    return np.stack([rng.standard_normal(light.shape[1:]) for rng in draws])
