"""Small trainings for the tests: digits, few images, one thread."""

from dataclasses import replace

import pytest
import torch

from core.datasets.load import load
from core.training.config import from_json
from core.training.folder import JobFolder
from core.training.loop import train
from core.training.parts import assemble, connect

SMALL = {
    "data": "digits",
    "model": "small_cnn",
    "loss": {"name": "adafocal", "n_bins": 5},
    "n_train": 150,
    "batch_size": 32,
    "epochs": 4,
    "device": "cpu",
}


@pytest.fixture(autouse=True)
def _own_random_numbers():
    """Leave torch's random numbers as they were: a training seeds the global generators."""
    with torch.random.fork_rng(devices=[]):
        yield


@pytest.fixture(scope="session")
def digits():
    return load("digits", root=None, split_seed=0)


@pytest.fixture
def trainer(tmp_path, digits):
    """Return a function that trains a config in a folder, from where it was left."""

    def run(name="job", *, data=digits, net=None, seconds=None, **changes):
        config = from_json({**SMALL, **changes})
        path = tmp_path / name
        folder = JobFolder(path) if path.exists() else JobFolder.make(path, config)
        parts = assemble(config, data, connect(config))
        if net is not None:
            parts = swapped(parts, net())
        trained = train(parts, folder, seconds=seconds)
        return parts, folder, trained

    return run


def swapped(parts, net):
    """Return the parts with another network, in the place of that of the config."""
    net = net.to(memory_format=torch.channels_last)
    given = parts.config.optimizer
    optimizer = torch.optim.SGD(net.parameters(), lr=given.lr, momentum=given.momentum)
    model, optimizer = parts.fabric.setup(net, optimizer)
    return replace(parts, net=net, model=model, optimizer=optimizer)
