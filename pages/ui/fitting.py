"""Computing what the post-hoc page needs: at once where it is quick, else watched and stoppable."""

from collections.abc import Sequence

import streamlit as st

from core.calibrators.posthoc import Evaluated, evaluate
from core.errors import AuditError
from core.views.posthoc_words import NAMES
from pages.ui import cache_posthoc, frame
from pages.ui.cache_posthoc import Step
from pages.ui.escape import esc
from pages.ui.work import Work

AT_WORK = "posthoc.work"
STOPPED = "posthoc.stopped"


def computed(steps: Sequence[Step]) -> dict[Step, Evaluated]:
    """Return what is known of these steps; what is not is under way, or stopped, and said so.

    Quick ones are computed at once. The others are computed one after another in a process of
    their own; the page is drawn again when one is done.
    """
    _take_in()
    bar, found, left = st.empty(), {}, []
    for i, step in enumerate(steps):
        kept = cache_posthoc.results(step.run)
        known = kept.get(step)
        if known is None and cache_posthoc.heavy(step):
            left.append(step)
            continue
        if known is None:
            bar.progress(i / len(steps), text=f"{i + 1} of {len(steps)}: {_name(step)}")
            known = evaluate(*cache_posthoc.call(step))
            kept.put(step, known)
        found[step] = known
    bar.empty()
    if left:
        _under_way(left, len(steps))
    return found


def _stopped() -> set[Step]:
    """Return the steps of this session that were stopped or failed, and wait for a word."""
    found: set[Step] = st.session_state.setdefault(STOPPED, set())
    return found


def _name(step: Step) -> str:
    return f"{NAMES[step.how.method]}, {esc(step.run.name)}"


def _take_in() -> None:
    """Keep the answer of the step at work, once it is there."""
    at_work: tuple[Step, Work] | None = st.session_state.get(AT_WORK)
    if at_work is None or not at_work[1].done:
        return
    del st.session_state[AT_WORK]
    step, work = at_work
    _stopped().add(step)  # so that what fails is not started again and again
    try:
        cache_posthoc.results(step.run).put(step, work.result())
    except AuditError as error:
        frame.refusal(error)
    else:
        _stopped().discard(step)


def _under_way(left: Sequence[Step], total: int) -> None:
    """Have the first of what is left computed, and show it; or say that it was stopped."""
    at_work: tuple[Step, Work] | None = st.session_state.get(AT_WORK)
    if at_work is not None and at_work[0] not in left:  # the choice has changed
        at_work[1].stop()
        at_work = None
    if at_work is None and left[0] in _stopped():
        with st.container(horizontal=True, vertical_alignment="center", key="stopped"):
            st.markdown(f"Stopped; {len(left)} of {total} are left.")
            st.button("Go on", key="fitting.go_on", type="primary", on_click=_stopped().clear)
        return
    if at_work is None:
        at_work = left[0], Work.start(evaluate, *cache_posthoc.call(left[0]))
    st.session_state[AT_WORK] = at_work
    _watch(total - len(left), total)


@st.fragment(run_every=0.5)
def _watch(done: int, total: int) -> None:
    """Say what is being computed and for how long, with a way to stop it."""
    at_work: tuple[Step, Work] | None = st.session_state.get(AT_WORK)
    if at_work is None or at_work[1].done:
        st.rerun()
    assert at_work is not None
    step, work = at_work
    with st.container(border=True, key="fitting"):
        st.markdown(f"{done + 1} of {total}: {_name(step)}, {work.seconds:.0f} s")
        st.progress(done / total)
        if st.button("Stop", key="fitting.stop", on_click=_stop):
            st.rerun()


def _stop() -> None:
    at_work: tuple[Step, Work] | None = st.session_state.pop(AT_WORK, None)
    if at_work is not None:
        at_work[1].stop()
        _stopped().add(at_work[0])
