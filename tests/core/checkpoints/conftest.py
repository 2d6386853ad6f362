"""torch, imported when a test first needs it; and the way from a saved object to a network."""

from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def torch() -> ModuleType:
    """Imported here, so that a process that only collects tests need not; one thread."""
    import torch

    torch.set_num_threads(1)
    return torch


@pytest.fixture
def parsed(torch, tmp_path):
    """Reads what torch.save writes of a value as the sealed process does, without the process.

    Returns the file's description and its folder of safetensors.
    """
    import numpy as np

    from core.readers.formats.contents import FileBytes
    from core.readers.sandbox.wire import Exchange, copy_tensors, load_weights, write_weights
    from core.readers.weights.weights_file import read_weights_file

    def read(value, name="net.pt"):
        path = tmp_path / "saved"
        path.write_bytes(value) if isinstance(value, bytes) else torch.save(value, path)
        left, into = tmp_path / f"left{np.random.default_rng().integers(2**60)}", tmp_path / "into"
        left.mkdir()
        write_weights(
            Exchange(left), read_weights_file(FileBytes.of_bytes(name, path.read_bytes()))
        )
        for old in into.glob("*"):
            old.unlink()
        weights = load_weights(Exchange(left))
        copy_tensors(weights, left, into)
        return weights, into

    return read


@pytest.fixture
def filled(torch):
    """Gives a network biases and statistics that are not new, in evaluation: answers differ."""

    def fill(net, channels=3, size=(32, 32)):
        draw = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for one in net.state_dict().values():
                if one.is_floating_point() and one.ndim < 2:
                    one.add_(0.1 * torch.randn(one.shape, generator=draw))
            norms = [layer for layer in net.modules() if hasattr(layer, "momentum")]
            kept = [layer.momentum for layer in norms]
            for layer in norms:
                layer.momentum = 1.0
            net.train()(torch.randn(4, channels, *size, generator=draw))
        for layer, momentum in zip(norms, kept, strict=True):
            layer.momentum = momentum
        return net.eval()

    return fill


@pytest.fixture
def same(torch):
    """Whether two networks answer random images alike to 1e-6."""

    def compare(one, other, channels=3, size=(32, 32)):
        images = torch.randn(3, channels, *size, generator=torch.Generator().manual_seed(5))
        with torch.no_grad():
            wanted, found = one(images), other(images)
        assert wanted.shape == found.shape
        assert (wanted[0] - wanted[1]).abs().max() > 1e-4
        torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)

    return compare
