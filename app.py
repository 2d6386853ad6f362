"""What `streamlit run app.py` serves: as a module the server, as a script of a session the router.

The router sets up the page, tests the server's settings, and draws navigation, sidebar and page.
"""

import streamlit as st

if __name__ == "__main__":
    from core.errors import lacking

    try:
        from pages.ui import (
            frame,
            inference,
            login,
            selftest,
            session,
            sidebar,
            site,
            studying,
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
        sidebar.draw(entry)
        tour.draw(page.url_path)
    try:
        with frame.caught():  # a page's own imports, too, where memory is short
            page.run()
    finally:  # a page that stops half-way has been drawn too
        session.leave_garbage()
        with frame.caught():
            inference.warm_up()
            studying.begin()
else:  # imported by the server: Streamlit takes what it wraps around this script
    from starlette.middleware import Middleware

    from pages.ui import server

    app = st.App(
        __file__,
        routes=server.links(),
        middleware=[Middleware(server.Guard)],
        lifespan=server.lifespan,
    )
