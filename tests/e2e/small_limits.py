"""app.py with limits of uploads that a test can reach."""

import streamlit as st
from starlette.middleware import Middleware

from core import defaults
from pages.ui import inference, server

defaults.UPLOADS_SESSION_MB = 3
defaults.UPLOADS_MB = 5
inference.AFTER_S = 1e6  # no network is asked here
app = st.App("../../app.py", middleware=[Middleware(server.Guard)], lifespan=server.lifespan)
