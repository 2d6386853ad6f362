"""The sidebar: brand, sections of pages, the run picker and the Plain-words switch."""

import streamlit as st

from core.errors import LibraryError
from pages.ui import cache, frame, login, session, site, state

LISTED = 200  # runs in the picker; the Runs page lists and searches all


def draw() -> None:
    """Draw the sidebar of every page."""
    with st.sidebar:
        st.html(frame.brand())
        query = _query()
        for section, entries in site.SECTIONS.items():
            st.html(f'<p class="c-section">{section}</p>')
            for entry in entries:
                st.page_link(entry.script, label=entry.title, icon=entry.icon, query_params=query)
        st.html('<hr class="c-rule">')
        _picker()
        st.toggle(
            "Plain words",
            key="plain",
            bind="query-params",
            persist_state="session",
            help="The same numbers without technical terms, out of 100.",
        )
        login.panel()


def _query() -> dict[str, str]:
    """Return what a link to another page of the same run carries."""
    run = st.session_state.get("app.run")
    if not run:
        return {}
    return {state.DRAFT if run in session.drafts() else state.RUN: run}


def _picker() -> None:
    names = {draft.id: f"{draft.name} (draft)" for draft in session.drafts().values()}
    names |= {row.id: row.name for row in cache.openable(LISTED)}
    current = _current_id(names)
    if not names:
        return
    names = state.distinct_names(names)
    st.session_state["app.picked"] = current
    st.selectbox(
        "Run",
        list(names),
        key="app.picked",
        index=None,
        format_func=lambda run_id: names.get(run_id, run_id),
        placeholder="Pick a run",
        on_change=_open_picked,
    )


def _current_id(names: dict[str, str]) -> str | None:
    """Return the open run, adding it to the names when the picker's list is too short for it."""
    try:
        run = state.current_run()
    except LibraryError:
        return None
    if run is None:
        return None
    names.setdefault(run.id, run.name)
    return run.id


def _open_picked() -> None:
    """Open what was picked; a run that was deleted meanwhile is said, not raised."""
    picked = st.session_state.get("app.picked")
    try:
        state.open_run(cache.find(picked) if picked else None)
    except LibraryError as gone:
        state.open_run(None)
        state.say(f"{gone.what}. It was deleted.")
