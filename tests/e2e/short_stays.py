"""app.py that gives up what was left after a second, not after a minute."""

import streamlit as st
from starlette.middleware import Middleware

from pages.ui import inference, server, session

server.EXPIRE_S = session.LINGER_S = 1.0
inference.AFTER_S = 1e6  # no network is asked here
app = st.App("../../app.py", middleware=[Middleware(server.Guard)], lifespan=server.lifespan)
