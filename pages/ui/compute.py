"""What a page computes, step by step: at once where that is quick, else elsewhere, watched."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Generic, TypeVar

import streamlit as st

from pages.ui.caching import Results, results
from pages.ui.task import BackgroundTask, Shared, Work, in_process

SLOT: Final = "fitting"
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Computation(Generic[Result]):
    """One thing to compute.

    Attributes
    ----------
    function : callable
        Of a module: what computes it, here or in a process of its own.
    key : tuple of hashable
        What the result depends on beside the function; it begins with the id of a run or draft.
    words : str
        What is computed, safe in Markdown.
    arguments : callable
        Returns what the function is called with, as `in_process` takes it.
    draft : bool
        It belongs to this session only.
    heavy : bool
        To compute it here would keep a page waiting: a process of its own does it.
    shared : bool
        Sessions that want it at the same time wait for one process together.
    large : bool
        The result is as large as a file: that of the library goes when nobody is there.
    slot : str
        Of its task; to begin another step of a slot stops the one that runs.
    most : int
        Results of the function that are kept of the library.
    stored : callable
        Returns what is kept beside the run, or None.
    """

    function: Callable[..., Result]
    key: tuple[Hashable, ...]
    words: str = field(compare=False)
    arguments: Callable[[], tuple[object, ...]] = field(compare=False)
    draft: bool = field(compare=False)
    heavy: bool = field(default=True, compare=False)
    shared: bool = field(default=False, compare=False)
    large: bool = field(default=False, compare=False)
    slot: str = field(default=SLOT, compare=False)
    most: int = field(default=256, compare=False)
    stored: Callable[[], Result | None] = field(default=lambda: None, compare=False)

    @property
    def results(self) -> Results[tuple[Hashable, ...], Result]:
        """Where its result is kept."""
        name, most = self.function.__name__, self.most
        return results(name, draft=self.draft, most=most, large=self.large)

    @property
    def known(self) -> Result | None:
        """What was computed before, or is kept beside the run; else None."""
        result = self.results.get(self.key)
        if result is None:
            result = self.stored()
            if result is not None:
                self.keep(result)
        return result

    def keep(self, result: Result) -> None:
        """Keep what was computed."""
        self.results.put(self.key, result)

    def computed(self) -> Result | None:
        """Return the result; None while it is under way or stopped, which the page then says."""
        return computed([self]).get(self)

    def task(self, done: int = 0, total: int = 1) -> BackgroundTask[Result]:
        """Return the task that computes it elsewhere, the next after so many of so many."""

        def start() -> Work[Result]:
            keep = partial(self.results.put, self.key)  # its thread has no session to ask
            shared: Shared[Result] | None = None
            if self.shared:
                shared = Shared((self.function, self.key), keep)
            work = in_process(self.function, *self.arguments(), shared=shared)
            work.share = done / total if total > 1 else None
            return work

        return BackgroundTask(
            self.slot, (self.function, *self.key), _text(self, done, total), start
        )


def computed(steps: Sequence[Computation[Result]]) -> dict[Computation[Result], Result]:
    """Return what is known of these steps; what is not is under way, or stopped, and said so.

    Quick ones are computed at once. The others are computed one after another in a process of
    their own; the page is drawn again when one is done.
    """
    bar, known, left = st.empty(), {}, []
    for i, step in enumerate(steps):
        result = step.known
        if result is None and step.heavy:
            left.append(step)
            continue
        if result is None:
            bar.progress(i / len(steps), text=_text(step, i, len(steps)))
            result = step.function(*step.arguments())
            step.keep(result)
        task = step.task()
        if task.running:  # another session was faster
            task.stop()
        task.forget()  # it is kept: a session need not hold it, too
        known[step] = result
    bar.empty()
    left.sort(key=lambda step: not step.task().running)  # it goes on, whatever was added
    for step in left:
        result = step.task(len(known), len(steps)).wait()
        if result is None:
            break
        step.keep(result)
        known[step] = result
    return {step: known[step] for step in steps if step in known}


def _text(step: Computation[Any], done: int, total: int) -> str:
    return f"{done + 1} of {total}: {step.words}" if total > 1 else step.words
