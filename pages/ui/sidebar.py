"""The way about: the sidebar with its destinations, and the views of one in a row."""

import streamlit as st

from core.errors import LibraryError
from pages.ui import cache, frame, login, session, site, state

LISTED = 200  # runs in the picker; the Runs page lists and searches all


def draw(current: site.Entry) -> None:
    """Draw the sidebar of every page, and over the page the views that it is one of."""
    query = _query()
    with st.sidebar:
        st.html(frame.brand())
        for destination in site.DESTINATIONS:
            views = destination.entries
            entry = current if current in views else views[0]
            title, icon = destination.title, destination.icon
            st.page_link(entry.script, label=title, icon=icon, query_params=query)
        st.html('<hr class="c-rule">')
        _picker(current)
        st.toggle(
            "Plain words",
            key="plain",
            bind="query-params",
            persist_state="session",
            help="The same numbers without technical terms, out of 100.",
        )
        login.panel()
    views = site.destination_of(current).entries
    if len(views) > 1:
        with st.container(horizontal=True, key="views"):
            for view in views:
                title = (state.plain() and view.plain) or view.title
                key = "views.current" if view is current else f"views.{view.name}"
                with st.container(key=key, width="content"):
                    st.page_link(view.script, label=title, query_params=query)


def _query() -> dict[str, str]:
    """Return what a link to another page of the same run carries."""
    run = st.session_state.get("app.run")
    if not run:
        return {}
    return {state.DRAFT if run in session.drafts() else state.RUN: run}


def _picker(entry: site.Entry) -> None:
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
        placeholder=f"{names[entry.sample]} (sample)" if entry.sample in names else "Pick a run",
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
