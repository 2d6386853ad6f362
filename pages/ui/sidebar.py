"""The way about: the sidebar with its destinations, and the views of one in a row."""

import streamlit as st

from pages.ui import frame, login, site, state


def draw(current: site.Entry) -> None:
    """Draw the sidebar of every page, and over the page the views that it is one of."""
    query = state.carried()
    with st.sidebar:
        st.html(frame.brand())
        for destination in site.DESTINATIONS:
            views = destination.entries
            entry = current if current in views else views[0]
            title, icon = destination.title, destination.icon
            st.page_link(entry.script, label=title, icon=icon, query_params=query)
        st.html('<hr class="c-rule">')
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
