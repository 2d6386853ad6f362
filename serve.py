"""What `streamlit run serve.py` serves: app.py, behind our limits and headers."""

import streamlit as st
from starlette.middleware import Middleware

from pages.ui import server

app = st.App("app.py", middleware=[Middleware(server.Guard)], lifespan=server.lifespan)
