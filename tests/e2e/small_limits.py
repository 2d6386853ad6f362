"""app.py with limits of uploads that a test can reach."""

import streamlit as st
from starlette.middleware import Middleware

from core import defaults
from pages.ui import server

defaults.UPLOADS_SESSION_MB = 3
defaults.UPLOADS_MB = 5
app = st.App("../../app.py", middleware=[Middleware(server.Guard)], lifespan=server.lifespan)
