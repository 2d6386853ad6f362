"""The benchmark of the losses runs, and what it compares with computes the same."""

import pytest

from core.losses.build import build
from core.losses.catalogue import LOSSES
from tests.benchmarks import bench_losses


def test_benchmark_times_every_loss():
    lines = bench_losses.table("S", rounds=1, least_s=0.0)
    assert len(lines) == 2 + 1 + len(LOSSES) + 1
    names = [line.split(" | ")[0].removeprefix("| ") for line in lines[2:]]
    assert names[1:-1] == [entry.label for entry in LOSSES.values()]


def test_the_peer_computes_the_same_loss():
    ours = bench_losses.stepper(build({"name": "adafocal"}, 10), 128, 10)()
    peer = bench_losses.stepper(bench_losses.published_adafocal, 128, 10)()
    assert peer.item() == pytest.approx(ours.item(), 1e-5)
