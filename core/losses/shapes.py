"""Losses as functions of the probability of what is true, and Brier's isolines; numpy."""

import numpy as np

from core.arrays import Float

RAYS = 180  # of a closed line
ACROSS = np.array([1.0, -1.0, 0.0]) / np.sqrt(2.0)
UP = np.array([1.0, 1.0, -2.0]) / np.sqrt(6.0)


def inverse_focal(p: Float, gamma: float) -> Float:
    """Return -(1 + p)^gamma log p; Ghosh et al. 2022, equation 1."""
    return np.asarray(-((1.0 + p) ** gamma) * np.log(p))


def calfocal(p: Float, accuracy: float, rate: float) -> Float:
    """Return focal loss with gamma = exp(rate (p - accuracy)); Ghosh et al. 2022, equation 2."""
    gamma = np.exp(rate * (p - accuracy))
    return np.asarray(-np.exp(gamma * np.log1p(-p)) * np.log(p))


def brier_isolines(truth: Float, shares: Float) -> tuple[Float, Float]:
    """Return lines of equal expected Brier score over three classes.

    Parameters
    ----------
    truth : (3,) float64
        How often each class is there; above 0, sum 1.
    shares : (S,) float64 in (0, 1)
        Shares of the triangle's area that the lines enclose.

    Returns
    -------
    levels : (S,) float64
        The score on each line.
    lines : (S, RAYS + 1, 3) float64
        Circles around the truth, cut where they leave the triangle.

    Notes
    -----
    The expected score is 1 - |truth|^2 + |p - truth|^2.
    """
    angle = np.linspace(0.0, 2.0 * np.pi, RAYS + 1)[:, None]
    ray = np.cos(angle) * ACROSS + np.sin(angle) * UP
    with np.errstate(divide="ignore"):
        reach = np.where(ray < 0.0, truth / -ray, np.inf).min(axis=1)
    tried = np.linspace(0.0, reach.max(), 2_000)
    cut = np.minimum(tried[:, None], reach[:-1])
    area = 0.5 * (cut**2).sum(axis=1) * 2.0 * np.pi / RAYS / (np.sqrt(3.0) / 2.0)
    radius = np.interp(shares, area, tried)
    lines = truth + np.minimum(radius[:, None], reach)[..., None] * ray
    return 1.0 - truth @ truth + radius**2, np.maximum(lines, 0.0)
