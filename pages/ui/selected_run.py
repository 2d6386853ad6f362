"""Opening a run: the sample that a page shows until one is chosen, and the way to an audit."""

import streamlit as st

from core.errors import LibraryError
from pages.ui import cache, frame, html_macros, site, state
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


def open_run(sample: str = site.SAMPLE) -> cache.Run:
    """Return the run that a page speaks of: the one that is chosen, else a sample, named as one.

    A run that is gone is refused, and others are offered in its place.
    """
    try:
        chosen = state.current_run()
        run = chosen or cache.find(sample)
    except LibraryError as gone:
        frame.refusal(gone)
        state.open_run(None)
        _another()
        st.stop()
    frame.title(run.name)
    frame.set_row_noun(run.data)
    if chosen is None:
        your_own()
    return run


def your_own() -> None:
    """Link to where runs of one's own are opened, over a sample that nobody chose."""
    with st.container(key="own", width="content"):
        st.page_link(site.HOME.script, label="Open your own run", icon=site.HOME.icon)


def _another() -> None:
    """Offer other runs in place of one that is gone."""
    html_macros.draw("headline", "Open another run.")
    samples()
    your_own()


def open_in_reliability(run_id: str) -> None:
    """Open a run or a draft on the reliability page."""
    run = cache.find(run_id)
    state.open_run(run)
    st.switch_page(site.RELIABILITY.script, query_params=state.linked(run))
