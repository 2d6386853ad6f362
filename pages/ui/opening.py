"""Opening a run: what a page without one offers, and the way to its audit."""

from collections.abc import Callable

import streamlit as st

from core.errors import LibraryError
from pages.ui import cache, frame, pieces, site, state
from pages.ui.escape import esc

OFFERED = (
    "digits-fair",
    "digits-overconfident",
    "digits-traits",
    "cifar10-ce",
    "cifar10-adafocal",
)


def samples() -> None:
    """Offer a few sample runs, one button each; the list below has all of them."""
    rows = {row.id: row for row in cache.rows(kind="sample", sort="name", descending=False)}
    with st.container(horizontal=True, key="samples"):
        for row in (rows[name] for name in OFFERED if name in rows):
            if st.button(esc(row.name), icon=":material/play_arrow:", key=f"sample.{row.id}"):
                open_in_reliability(row.id)


def open_run(why: str, offer: Callable[[], None] = samples) -> cache.Run:
    """Return the run that a page speaks of; without one, say what to do and stop the page.

    What runs are offered then is drawn by `offer`.
    """
    try:
        run = state.current_run()
    except LibraryError as gone:
        frame.refusal(gone)
        state.open_run(None)
        run = None
    if run is None:
        _nothing_open(why, offer)
        st.stop()
    assert run is not None
    frame.title(run.name)
    return run


def _nothing_open(why: str, offer: Callable[[], None]) -> None:
    """Say what to do on a page that needs a run, with buttons that do it."""
    pieces.draw("headline", "No run is open yet.")
    st.markdown(why)
    offer()
    st.page_link(site.HOME.script, label="Drop a file of your own", icon=site.HOME.icon)


def open_in_reliability(run_id: str) -> None:
    """Open a run or a draft on the reliability page."""
    run = cache.find(run_id)
    state.open_run(run)
    st.switch_page(site.RELIABILITY.script, query_params=state.linked(run))
