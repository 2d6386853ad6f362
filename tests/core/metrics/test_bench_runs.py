"""The benchmark of metrics runs on its smallest size; nothing is timed here."""

import pytest

from core.metrics import METRICS
from core.metrics.ranked import Ranked
from tests.benchmarks import bench_metrics


@pytest.mark.slow
def test_every_workload_gives_a_line():
    data = bench_metrics.make("S")
    lines = bench_metrics.table("S", repeats=1)
    assert len(lines) == 2 + len(bench_metrics.workloads(data)) + 1
    assert all(line.startswith("|") and line.endswith("|") for line in lines)


def test_peers_measure_the_same_quantity():
    data = bench_metrics.make("S")
    confidence, correct = bench_metrics.peer_top(data)
    rows = data.predictions()
    ranked = Ranked.of(rows.outcomes(None))
    top = (confidence, correct)
    for ours, peer, tolerance in (
        (METRICS["ece"].function(ranked), bench_metrics.peer_ece(*top), 1e-6),
        (METRICS["ece_em"].function(ranked), bench_metrics.peer_equal_mass(*top), 1e-6),
        (METRICS["classwise_ece"].function(rows), bench_metrics.peer_classwise(data), 1e-6),
        (METRICS["smece"].function(ranked), bench_metrics.peer_smece(*top), 1e-2),
    ):
        assert abs(ours - peer) < tolerance
