"""Likeness of maps: the ends of the scale, and a second implementation in loops."""

import numpy as np
import pytest

from core.xray.gradcam import C1, C2, SIDE, WINDOW, ssim

RNG = np.random.default_rng(2)


def in_loops(a, b):
    """Wang et al. 2004, equation 13, window by window; maps of SIDE x SIDE with maximum 1."""
    found = []
    for row in range(SIDE - WINDOW + 1):
        for column in range(SIDE - WINDOW + 1):
            x = a[row : row + WINDOW, column : column + WINDOW].ravel()
            y = b[row : row + WINDOW, column : column + WINDOW].ravel()
            shared = ((x - x.mean()) * (y - y.mean())).mean()
            found.append(
                (2 * x.mean() * y.mean() + C1) * (2 * shared + C2)
                / ((x.mean() ** 2 + y.mean() ** 2 + C1) * (x.var() + y.var() + C2))
            )  # fmt: skip
    return np.mean(found)


def test_as_a_loop_over_windows():
    a, b = RNG.random((2, SIDE, SIDE))
    a, b = a / a.max(), b / b.max()
    assert ssim(a, b) == pytest.approx(in_loops(a, b), abs=1e-9)
    assert ssim(a, a**2) == pytest.approx(in_loops(a, a**2), abs=1e-9)


def test_the_ends_of_the_scale():
    a = RNG.random((7, 7))
    assert ssim(a, a) == pytest.approx(1.0)
    assert ssim(a, 250.0 * a) == pytest.approx(1.0)  # each is scaled to its own largest value
    assert ssim(a, RNG.random((7, 7))) < 0.9
    blank = np.zeros((7, 7))
    assert ssim(blank, blank) == 1.0
    assert ssim(a, blank) == ssim(blank, a) == 0.0


def test_maps_of_other_sizes_can_be_compared():
    coarse = RNG.random((7, 7))
    assert ssim(coarse, np.kron(coarse, np.ones((2, 2)))) > 0.6
    assert ssim(coarse, RNG.random((14, 14))) < 0.5
