"""The benchmark of the losses runs, and what it compares with computes the same."""

import pytest

from core.losses.build import build
from core.losses.catalogue import LOSSES
from tests.benchmarks import bench_losses


@pytest.mark.slow
def test_benchmark_times_every_loss():
    lines = bench_losses.table("S")
    assert len(lines) == 2 + 1 + len(LOSSES) + 1


def test_the_peer_computes_the_same_loss():
    ours = bench_losses.step(build({"name": "adafocal"}, 10), 128, 10)
    assert bench_losses.step(bench_losses.published_adafocal, 128, 10) == pytest.approx(ours, 1e-5)
