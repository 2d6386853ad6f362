"""The benchmark of out-of-distribution numbers runs on its smallest size; nothing is timed here."""

import pytest

from tests.benchmarks import bench_ood


def test_every_peer_gives_a_line_and_the_same_numbers():
    data = bench_ood.make("S")
    mine = bench_ood.ours(*data)
    for name, peer in bench_ood.peers().items():
        for key, value in peer(*data).items():  # pytorch-ood joins precision by straight lines
            within = 1e-3 if (name, key[:4]) == ("pytorch-ood", "aupr") else 1e-9
            assert value == pytest.approx(mine[key], abs=within), (name, key)
    lines = bench_ood.table("S", repeats=1)
    assert len(lines) == 4 + len(bench_ood.peers())
    assert all(line.startswith("|") and line.endswith("|") for line in lines)
