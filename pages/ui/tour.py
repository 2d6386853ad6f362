"""The tour: a few steps over the samples, each a card above the page that shows it.

The step stands in the link, so a reload or the Back button keeps it; whoever leaves for another
page has left the tour.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import streamlit as st

from core.errors import LibraryError
from core.screens import runs as words
from core.screens.runs import Stop
from pages.ui import markup, open_runs, site, state, visitor
from pages.ui.caching import cached

STEP: Final = "tour"  # in the link
PLAIN_BEFORE: Final = "tour.plain"  # whether words were plain before the tour
SURE, FILMS = "digits-overconfident", "phantom-ce"  # samples


@dataclass(frozen=True)
class Step:
    """A step: its page, what is opened there, and how to read what it says."""

    entry: site.Entry
    query: Mapping[str, str]
    read: Callable[[], Stop]


def steps() -> list[Step]:
    """Return the steps that the samples at hand can show."""
    samples = {row.id: row for row in open_runs.rows(kind="sample")}
    found = []
    if SURE in samples:
        fix = {"run": SURE, "methods": "focal_ts"}
        found = [
            Step(site.RELIABILITY, {"run": SURE}, lambda: _sure(open_runs.find(SURE))),
            Step(site.POSTHOC, fix, lambda: _mended(open_runs.find(SURE))),
        ]
    if FILMS in samples:
        found.append(Step(site.XRAY, {"run": FILMS}, lambda: _film(open_runs.find(FILMS))))
    return found


def offer() -> None:
    """Draw the way into the tour."""
    n = len(steps())
    if n and st.button(
        "Take the tour",
        type="primary",
        icon=":material/tour:",
        key="tour.start",
        on_click=_enter,
        help=f"{n} steps, about two minutes, in plain words.",
    ):
        _go(1)


def _enter() -> None:
    st.session_state[PLAIN_BEFORE] = state.plain()
    st.session_state["plain"] = True


def _leave() -> None:
    st.session_state["plain"] = st.session_state.pop(PLAIN_BEFORE, False)


def _go(number: int) -> None:
    """Show a step on its page."""
    step = steps()[number - 1]
    if "run" in step.query:
        state.open_run(open_runs.find(step.query["run"]))
    st.switch_page(step.entry.script, query_params={**step.query, STEP: str(number)})


def draw(path: str) -> None:
    """Draw the card of the step in the link, if the page of that path is its page."""
    linked = st.query_params.get(STEP, "")
    if not linked.isdecimal():
        return
    all_steps, number = steps(), int(linked)
    if not 1 <= number <= len(all_steps) or all_steps[number - 1].entry.name != path:
        return
    try:
        stop = all_steps[number - 1].read()
    except LibraryError:  # a sample that is damaged, which the list of runs says
        return
    with st.container(border=True, key="tour"):
        markup.draw("stop", f"Tour, step {number} of {len(all_steps)}", stop)
        with st.container(horizontal=True, vertical_alignment="center", key="tour.buttons"):
            last = len(all_steps)
            if number < last:
                if st.button("Next", type="primary", key="tour.next"):
                    _go(number + 1)
            elif st.button(
                "Finish" if visitor.is_demo() else "Drop your own file",
                type="primary",
                key="tour.next",
                on_click=_leave,
            ):
                st.switch_page(site.HOME.script)
            if st.button("Back", key="tour.back", disabled=number == 1):
                _go(number - 1)
            if number < last and st.button(
                "Skip tour", key="tour.skip", type="tertiary", on_click=_leave
            ):
                st.switch_page(site.HOME.script)


# What is computed is computed once a process: the samples do not change.


@cached(4)
def _sure(run: open_runs.Run) -> Stop:
    from core.studies import tour  # not before somebody takes it

    rows = open_runs.predictions(run, run.split)
    group = tour.surest_gap(rows)
    assert group is not None  # the sample was made so; a test looks
    return words.confidence_stop(tour.overall(rows), group)


@cached(4)
def _mended(run: open_runs.Run) -> Stop:
    from core.studies import tour

    fit_rows, rows = open_runs.predictions(run, "val"), open_runs.predictions(run, run.split)
    return words.mended_stop(tour.mended(fit_rows, rows), fit_rows.n)


@cached(4)
def _film(run: open_runs.Run) -> Stop:
    from core.screens.xray.words import PLAIN
    from core.studies import tour

    band = tour.widest_band(open_runs.predictions(run, run.split))
    return words.film_stop(run.name, band, PLAIN.label(band.finding))
