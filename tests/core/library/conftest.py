"""A library in a temporary home."""

from pathlib import Path

import pytest

from core.library import Library
from tests.core.library.builders import SOURCE, headline, small


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def library(home: Path, tmp_path: Path) -> Library:
    return Library(home, tmp_path / "samples")


@pytest.fixture
def keep(library: Library):
    """Keep a small run under a name and return its id."""

    def keep(name: str, *, tags: tuple[str, ...] = (), seed: int = 0, ece: float | None = 0.05):
        kept = library.keep(
            name, {"test": small(seed)}, source=SOURCE, summary={"test": headline(ece)}, tags=tags
        )
        return kept.id

    return keep
