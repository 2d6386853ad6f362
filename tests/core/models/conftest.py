"""torch, imported when a test first needs it."""

from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def torch() -> ModuleType:
    """Imported here, so that a process that only collects tests need not; one thread."""
    import torch

    torch.set_num_threads(1)
    return torch
