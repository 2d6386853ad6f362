"""Turning every claim round (1 - confidence, and the opposite outcome) changes no smooth error."""

import numpy as np
import pytest

from core.metrics.ranked import SortedOutcomes
from core.metrics.smooth import smece
from core.predictions import Outcomes


@pytest.mark.parametrize("near", [0.0, 0.0004, 0.02])
def test_smooth_error_is_the_same_from_both_ends(near):
    rng = np.random.default_rng(7)
    confidence = 1.0 - near * rng.random(60)  # all of it beside the upper end
    correct = rng.random(60) < 0.6
    ahead = smece(SortedOutcomes.of(Outcomes(confidence, correct)))
    turned = smece(SortedOutcomes.of(Outcomes(1.0 - confidence, ~correct)))
    assert ahead == pytest.approx(turned, rel=1e-9)
    assert ahead == pytest.approx(abs(confidence.mean() - correct.mean()), rel=0.05)
