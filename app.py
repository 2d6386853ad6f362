"""What `streamlit run app.py` serves: as a module the server, as a script of a session the router.

The router sets up the page, tests the server's settings, and draws navigation, sidebar and page.
"""

import streamlit as st

if __name__ == "__main__":
    from core.errors import lacking

    try:
        from pages.ui import (
            compute,
            frame,
            inference,
            login,
            selftest,
            session,
            site,
            state,
            tour,
        )
    except (ImportError, MemoryError, OSError) as error:
        lack = lacking(error)
        if lack is None:
            raise
        st.error(f"**{lack.what}**  \n{lack.remedy}  \n`{lack.code}`", icon=":material/block:")
        st.stop()

    st.set_page_config(
        page_title="Candor",
        page_icon="assets/logo.svg",
        layout="wide",
        initial_sidebar_state="auto",
    )
    with frame.caught():
        frame.enter()
        page, entry = site.navigation()
        selftest.guard()
        login.guard()
        session.remember()
        # The sidebar of every page, and over the page the views that it is one of
        query = state.carried()
        with st.sidebar:
            st.html(frame.brand())
            for destination in site.DESTINATIONS:
                views = destination.entries
                to = entry if entry in views else views[0]
                title, icon = destination.title, destination.icon
                st.page_link(to.script, label=title, icon=icon, query_params=query)
            st.html('<hr class="c-rule">')
            st.toggle(
                "Plain words",
                key="plain",
                bind="query-params",
                persist_state="session",
                help="The same numbers without technical terms, out of 100.",
            )
            login.panel()
        views = site.destination_of(entry).entries
        if len(views) > 1:
            with st.container(horizontal=True, key="views"):
                for view in views:
                    title = (state.plain() and view.plain) or view.title
                    key = "views.current" if view is entry else f"views.{view.name}"
                    with st.container(key=key, width="content"):
                        st.page_link(view.script, label=title, query_params=query)
        tour.draw(page.url_path)
    try:
        with frame.caught():  # a page's own imports, too, where memory is short
            page.run()
    finally:  # a page that stops half-way has been drawn too
        session.leave_garbage()
        with frame.caught():
            inference.warm_up()
            compute.begin_studies()
else:  # imported by the server: Streamlit takes what it wraps around this script
    from starlette.middleware import Middleware

    from pages.ui import server

    app = st.App(
        __file__,
        routes=server.links(),
        middleware=[Middleware(server.Guard)],
        lifespan=server.lifespan,
    )
