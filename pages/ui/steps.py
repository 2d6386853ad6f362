"""Computing what a page needs, step by step: at once where quick, else watched and stoppable."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st

from core.errors import AuditError
from pages.ui import frame
from pages.ui.work import BackgroundWork

AT_WORK = "steps.work"
STOPPED = "steps.stopped"
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
        A function of a module and its arguments, as `Work.start` takes them.
    """

    name: Callable[[Step], str]
    known: Callable[[Step], Result | None]
    keep: Callable[[Step, Result], None]
    heavy: Callable[[Step], bool]
    call: Callable[[Step], tuple[Callable[..., Result], tuple[object, ...]]]


@dataclass(frozen=True)
class RunningStep:
    """The step that a process computes."""

    step: Hashable
    work: BackgroundWork
    kind: StepKind[Any, Any]


def computed(steps: Sequence[Step], kind: StepKind[Step, Result]) -> dict[Step, Result]:
    """Return what is known of these steps; what is not is under way, or stopped, and said so.

    Quick ones are computed at once. The others are computed one after another in a process of
    their own; the page is drawn again when one is done.
    """
    _take_in()
    bar, results, left = st.empty(), {}, []
    for i, step in enumerate(steps):
        result = kind.known(step)
        if result is None and kind.heavy(step):
            left.append(step)
            continue
        if result is None:
            bar.progress(i / len(steps), text=f"{i + 1} of {len(steps)}: {kind.name(step)}")
            function, arguments = kind.call(step)
            result = function(*arguments)
            kind.keep(step, result)
        results[step] = result
    bar.empty()
    if left:
        _under_way(left, len(steps), kind)
    return results


def _stopped() -> set[Hashable]:
    """Return the steps of this session that were stopped or failed, and wait for a word."""
    stopped: set[Hashable] = st.session_state.setdefault(STOPPED, set())
    return stopped


def _at_work() -> RunningStep | None:
    running: RunningStep | None = st.session_state.get(AT_WORK)
    return running


def _take_in() -> None:
    """Keep the answer of the step at work, once it is there."""
    at_work = _at_work()
    if at_work is None or not at_work.work.done:
        return
    del st.session_state[AT_WORK]
    _stopped().add(at_work.step)  # so that what fails is not started again and again
    try:
        at_work.kind.keep(at_work.step, at_work.work.result())
    except AuditError as error:
        frame.refusal(error)
    else:
        _stopped().discard(at_work.step)


def _under_way(left: Sequence[Step], total: int, kind: StepKind[Step, Result]) -> None:
    """Have the first of what is left computed, and show it; or say that it was stopped."""
    at_work = _at_work()
    if at_work is not None and at_work.step not in left:  # the choice has changed
        at_work.work.stop()
        at_work = None
    if at_work is None and left[0] in _stopped():
        with st.container(horizontal=True, vertical_alignment="center", key="stopped"):
            st.markdown(f"Stopped; {len(left)} of {total} are left.")
            st.button("Go on", key="fitting.go_on", type="primary", on_click=_stopped().clear)
        return
    if at_work is None:
        function, arguments = kind.call(left[0])
        at_work = RunningStep(left[0], BackgroundWork.start(function, *arguments), kind)
    st.session_state[AT_WORK] = at_work
    _watch(total - len(left), total)


@st.fragment(run_every=0.5)
def _watch(done: int, total: int) -> None:
    """Say what is being computed and for how long, with a way to stop it."""
    at_work = _at_work()
    if at_work is None or at_work.work.done:
        st.rerun()
    assert at_work is not None
    with st.container(border=True, key="fitting"):
        position = f"{done + 1} of {total}: " if total > 1 else ""
        name = at_work.kind.name(at_work.step)
        st.markdown(f"{position}{name}, {at_work.work.seconds:.0f} s")
        st.progress(done / total)
        if st.button("Stop", key="fitting.stop", on_click=_stop):
            st.rerun()


def _stop() -> None:
    at_work = st.session_state.pop(AT_WORK, None)
    if at_work is not None:
        at_work.work.stop()
        _stopped().add(at_work.step)
