"""The benchmark of calibrators runs, on a small file; nothing is timed here."""

import numpy as np
import pytest

from core.calibrators.focal_map import focal_map
from core.metrics import METRICS
from core.metrics.ranked import SortedOutcomes
from tests.benchmarks import bench_calibrators
from tests.benchmarks.peers.data import Data
from tests.core.calibrators.cases import drawn

DATA = Data(*drawn(120, 4, scale=4.0))
WORKLOADS = bench_calibrators.workloads(DATA)


@pytest.mark.nightly
@pytest.mark.parametrize("name", WORKLOADS)
def test_no_point_of_the_peer_is_lower(name):
    assert WORKLOADS[name].ours() <= WORKLOADS[name].peer() + 1e-6


def test_peer_measures_the_same_map():
    q = bench_calibrators.softmax(DATA.logits)
    np.testing.assert_allclose(bench_calibrators.peer_map(q, 0.75), focal_map(q, 0.75), rtol=1e-6)


def test_peers_judge_by_the_same_errors():
    outcomes = DATA.predictions().outcomes(None)
    for metric, peer in (
        ("ece", bench_calibrators.peer_ece),
        ("ece_em", bench_calibrators.peer_equal_mass),
    ):
        ours = METRICS[metric].function(SortedOutcomes.of(outcomes))
        assert peer(outcomes.confidence, outcomes.correct) == pytest.approx(ours, abs=1e-9)


def test_peer_is_timed_on_points_that_stand_for_all():
    points, times = bench_calibrators.some([(0.0, t) for t in range(1, 4501)])
    assert len(points) * times == 4500
    assert points[0] == (0.0, 1)


@pytest.mark.nightly
def test_every_workload_gives_a_line():
    lines = bench_calibrators.table(DATA, "small")
    assert len(lines) == 2 + len(WORKLOADS)
    assert all(line.startswith("|") and line.endswith("|") for line in lines)
