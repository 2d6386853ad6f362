"""Computing what a page needs, step by step: at once where quick, else watched and stoppable."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import streamlit as st

from pages.ui.task import Task, Work, in_process

SLOT: Final = "fitting"
Step = TypeVar("Step", bound=Hashable)
Result = TypeVar("Result")


@dataclass(frozen=True)
class StepKind(Generic[Step, Result]):
    """How steps of one kind are called, kept and computed.

    Attributes
    ----------
    name : callable
        What is computed, in words that are safe in Markdown.
    known, keep : callable
        The result that is kept, or None; keep a result.
    heavy : callable
        Whether computing it would keep a page waiting: then a process of its own does it.
    call : callable
        A function of a module and its arguments, as `in_process` takes them.
    """

    name: Callable[[Step], str]
    known: Callable[[Step], Result | None]
    keep: Callable[[Step, Result], None]
    heavy: Callable[[Step], bool]
    call: Callable[[Step], tuple[Callable[..., Result], tuple[object, ...]]]


def computed(steps: Sequence[Step], kind: StepKind[Step, Result]) -> dict[Step, Result]:
    """Return what is known of these steps; what is not is under way, or stopped, and said so.

    Quick ones are computed at once. The others are computed one after another in a process of
    their own; the page is drawn again when one is done.
    """
    bar, results, left = st.empty(), {}, []
    for i, step in enumerate(steps):
        result = kind.known(step)
        if result is None and kind.heavy(step):
            left.append(step)
            continue
        if result is None:
            bar.progress(i / len(steps), text=_text(i, len(steps), kind.name(step)))
            function, arguments = kind.call(step)
            result = function(*arguments)
            kind.keep(step, result)
        results[step] = result
    bar.empty()
    left.sort(key=lambda step: not _task(step, kind).running)  # it goes on, whatever was added
    for step in left:
        result = _task(step, kind, len(results), len(steps)).wait()
        if result is None:
            break
        kind.keep(step, result)
        results[step] = result
    return {step: results[step] for step in steps if step in results}


def _task(step: Step, kind: StepKind[Step, Result], done: int = 0, total: int = 1) -> Task[Result]:
    def start() -> Work[Result]:
        function, arguments = kind.call(step)
        work = in_process(function, *arguments)
        work.share = done / total if total > 1 else None
        return work

    return Task(SLOT, step, _text(done, total, kind.name(step)), start)


def _text(done: int, total: int, name: str) -> str:
    return f"{done + 1} of {total}: {name}" if total > 1 else name
