"""Progress of long computations: loops report it, one listener for each thread receives it.

Nobody listens unless `listen` was called, as in a process that computes for a page. Standard
library only.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

Listener = Callable[[float, str], None]


@dataclass
class Stage:
    """A part of the work: what is done in it, from which share to which, over how many cells."""

    words: str
    start: float
    end: float
    cells: int
    passed: int = 0

    current: ClassVar["Stage | None"] = None
    listener: ClassVar[Listener | None] = None

    def tell(self) -> None:
        """Say how far it is."""
        if Stage.listener is not None:
            inner = min(1.0, self.passed / max(1, self.cells))
            Stage.listener(self.start + (self.end - self.start) * inner, self.words)


def on_progress(listener: Listener | None) -> None:
    """Call a function, or none, with the share that is done and with what is, from now on."""
    Stage.listener = listener


@contextmanager
def stage(words: str, start: float, end: float, cells: int) -> Iterator[None]:
    """Say what is done in the body.

    `words`: what is done, for the page; `start`, `end`: shares of the whole that are done before
    and after it; `cells`: how many `passed` will have counted at its end.
    """
    before, Stage.current = Stage.current, Stage(words, start, end, cells)
    Stage.current.tell()
    try:
        yield
    finally:
        Stage.current = before


def advance(cells: int) -> None:
    """Say that so many more cells are done."""
    if Stage.current is not None:
        Stage.current.passed += cells
        Stage.current.tell()
