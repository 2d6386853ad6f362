"""Router: page settings, start-up self-test, navigation and the sidebar."""

import streamlit as st

from pages.ui import frame, inference, login, selftest, session, sidebar, site, tour

st.set_page_config(
    page_title="Candor", page_icon="assets/logo.svg", layout="wide", initial_sidebar_state="auto"
)
frame.enter()
page = site.navigation()
selftest.guard()
with frame.caught():
    login.guard()
    session.remember()
    sidebar.draw()
    tour.draw(page.url_path)
try:
    page.run()
finally:  # a page that stops half-way has been drawn too
    inference.warm_up()
