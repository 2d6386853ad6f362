"""The benchmark of the engine runs."""

import pytest

from tests.benchmarks import bench_training


@pytest.mark.slow
def test_benchmark_compares_the_engine_with_a_plain_loop():
    lines = bench_training.table(128, 1)
    assert len(lines) == 5
    assert lines[-1].startswith("| engine, bf16 |")
