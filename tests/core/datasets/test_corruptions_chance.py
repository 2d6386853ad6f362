"""Noise beside its closed forms, on flat grey images.

Every comparison allows 4.5 standard errors, which a right implementation exceeds by chance in 7 of
1,000,000; there are fewer than 100, so a new seed raises a false alarm in fewer than 7 of 10,000.
"""

import numpy as np
import pytest
from scipy import stats

from core.datasets.corruptions import corrupt
from core.datasets.shifts import SEVERITIES

ALLOWED = 4.5
N = 80
GREY = np.full((N, 3, 32, 32), 128, np.uint8)
SIZE = GREY.size


def made(name: str, severity: int) -> np.ndarray:
    return corrupt(GREY, name, severity, seed=11, rows=np.arange(N)).astype(float)


def agree(found: np.ndarray, mean: float, variance: float, fourth: float) -> None:
    """Compare mean and variance of independent values; `fourth` is their fourth central moment."""
    assert abs(found.mean() - mean) < ALLOWED * np.sqrt(variance / SIZE)
    error = np.sqrt((fourth - variance**2) / SIZE)
    assert abs(((found - mean) ** 2).mean() - variance) < ALLOWED * error


def independent(found: np.ndarray) -> None:
    """No correlation with the pixel beside or below, the next channel, or the next image."""
    centred = (found - found.mean()) / found.std()
    for axis in range(4):
        first, second = (np.take(centred, r, axis) for r in _neighbours(found.shape[axis]))
        assert abs((first * second).mean()) < ALLOWED / np.sqrt(first.size)


def _neighbours(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(n - 1), np.arange(1, n)


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize(
    ("name", "deviations"),
    [
        ("gaussian_noise", [0.04, 0.06, 0.08, 0.09, 0.10]),
        ("speckle_noise", [d * 128 / 255 for d in (0.06, 0.1, 0.12, 0.16, 0.2)]),
    ],
)
def test_normal_noise(name: str, deviations: list[float], severity: int) -> None:
    """Cutting to whole numbers takes half a level off, and adds a twelfth to the variance."""
    found = made(name, severity)
    variance = (255 * deviations[severity - 1]) ** 2 + 1 / 12
    agree(found, 127.5, variance, 3 * variance**2)
    independent(found)


@pytest.mark.parametrize("severity", SEVERITIES)
def test_photons(severity: int) -> None:
    white = [500, 250, 100, 75, 50][severity - 1]
    counts = np.arange(4 * white)
    share = stats.poisson.pmf(counts, 128 / 255 * white)
    level = np.floor(np.minimum(counts / white, 1) * 255)
    mean = share @ level
    found = made("shot_noise", severity)
    agree(found, mean, share @ (level - mean) ** 2, share @ (level - mean) ** 4)
    independent(found)


@pytest.mark.parametrize("severity", SEVERITIES)
def test_impulses(severity: int) -> None:
    amount = [0.01, 0.02, 0.03, 0.05, 0.07][severity - 1]
    found = made("impulse_noise", severity)
    assert set(np.unique(found)) == {0, 128, 255}
    for level in (0, 255):
        error = np.sqrt(amount / 2 * (1 - amount / 2) / SIZE)
        assert abs((found == level).mean() - amount / 2) < ALLOWED * error
    independent(found)


@pytest.mark.parametrize("severity", SEVERITIES)
def test_glass_takes_each_of_four_pixels_equally_often(severity: int) -> None:
    """Where no blur mixes them: severity 1; of others the mean is kept, and each image differs."""
    down, across = np.mgrid[:32, :32]
    image = np.broadcast_to((10 * (down % 5) + 50 * (across % 5)).astype(np.uint8), (N, 3, 32, 32))
    found = corrupt(np.ascontiguousarray(image), "glass_blur", severity, seed=4, rows=np.arange(N))
    if severity > 1:
        inner = found[..., 7:27, 7:27].mean()
        assert abs(inner - 120) < 3
        assert found[..., 7:27, 7:27].std(axis=0).mean() > 5
        return
    inner = found[:, 0, 2:, 2:].astype(int)
    for step_down in (0, 1):
        for step_across in (0, 1):
            source = image[0, 0, 2 - step_down : 32 - step_down, 2 - step_across : 32 - step_across]
            share = (np.abs(inner - source) <= 1).mean()
            assert abs(share - 0.25) < ALLOWED * np.sqrt(0.25 * 0.75 / inner.size)
    np.testing.assert_allclose(found[:, :, :2], image[:, :, :2], atol=1)


def test_mud_covers_what_is_liquid_enough() -> None:
    """Mud turns nothing brighter than the larger of image and mud."""
    white = np.full((N, 3, 32, 32), 255, np.uint8)
    found = corrupt(white, "spatter", 5, seed=0, rows=np.arange(N)).astype(int)
    assert (found[:, 0] >= 63 - 1).all()
    assert (found[:, 2] >= 20 - 1).all()
    muddy = found[:, 2] < 255
    assert 0.01 < muddy.mean() < 0.5
    assert (found[:, 0][muddy] > found[:, 2][muddy]).all()
