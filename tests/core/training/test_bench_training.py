"""The benchmark of the loops runs, and they train what they are compared on."""

import pytest
import torch

from core.training.parts import assemble, connect
from tests.benchmarks import bench_training


@pytest.mark.slow
def test_benchmark_compares_the_engine_with_other_loops():
    lines = bench_training.table("small_cnn", 128, 1)
    names = [line.split(" | ")[0] for line in lines[2:]]
    assert names[0] == "| plain, float32"
    assert names[-2:] == ["| engine, float32", "| engine, bfloat16"]
    assert lines[2].endswith("| 1.00 |")


def test_channels_first_is_the_same_training_in_another_layout():
    config = bench_training.config_of("small_cnn", 1, "cpu")
    data = bench_training.data_of(16, 4)
    parts = assemble(config, data, connect(config))
    images = next(iter(parts.data.train.images([torch.arange(4)], torch.device("cpu"))))
    inputs = parts.normalise(images)
    first = bench_training.with_channels_first(parts)
    assert inputs.is_contiguous(memory_format=torch.channels_last)
    assert first.normalise(images).is_contiguous()
    assert torch.equal(first.normalise(images), inputs)
    kernel = next(p for p in first.net.parameters() if p.ndim == 4)
    assert kernel.is_contiguous()
