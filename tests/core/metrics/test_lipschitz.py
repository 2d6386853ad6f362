"""smCE and its resamples against each other, where both are exact."""

import numpy as np
import pytest

from core.metrics.ranked import SortedOutcomes
from core.metrics.smooth import MOST, SLOPE_NODES, _Residuals, smce, smce_draws, to_nodes
from core.predictions import Outcomes


@pytest.mark.parametrize("seed", range(5))
def test_resamples_search_what_the_linear_program_does(seed):
    rng = np.random.default_rng(seed)
    node, n = rng.integers(0, SLOPE_NODES + 1, 400), 400
    claims, true = node / SLOPE_NODES, rng.random(n) < 0.5
    gaps = np.zeros((1, SLOPE_NODES + 1))
    np.add.at(gaps[0], node, claims - true)
    exact = smce(SortedOutcomes.of(Outcomes(claims, true)))
    np.testing.assert_allclose(smce_draws(gaps, n), [exact], rtol=1e-9)


def test_many_claims_stand_at_the_mean_of_their_cell():
    rng = np.random.default_rng(0)
    claims = np.sort(rng.random(4 * MOST))
    found = _Residuals.of(SortedOutcomes.of(Outcomes(claims, claims > 0.5)))
    cell = np.ceil(claims * MOST)
    means = [claims[cell == one].mean() for one in np.unique(cell)]
    np.testing.assert_allclose(found.position, means, rtol=1e-12)


def test_cells_move_to_the_nearest_node_and_share_it():
    confidence = np.array([0.4, 0.6, 4.4, 4.6, 5.4, SLOPE_NODES - 0.4]) / SLOPE_NODES
    cells = np.array([[1.0, 2.0, 4.0, 8.0, 16.0, 32.0], np.zeros(6)])
    expected = np.zeros((2, SLOPE_NODES + 1))
    expected[0, [0, 1, 4, 5, SLOPE_NODES]] = [1.0, 2.0, 4.0, 24.0, 32.0]
    np.testing.assert_array_equal(to_nodes(cells, confidence), expected)
