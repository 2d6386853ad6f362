"""torch, imported when a test first needs it; losses by name."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from core.predictions import Task


@pytest.fixture(scope="session")
def torch() -> ModuleType:
    """Imported here, so that a process that only collects tests need not; one thread."""
    import torch

    torch.set_num_threads(1)
    return torch


@pytest.fixture(scope="session")
def made(torch: ModuleType) -> Callable[..., Any]:
    """Makes a loss: made("focal", gamma=2.0, task=..., reduction=...)."""
    from core.losses.build import build

    def make(name: str, *, task: Task = Task.MULTICLASS, reduction: str = "mean", **settings: Any):
        return build({"name": name, **settings}, 4, task, reduction=reduction)

    return make
