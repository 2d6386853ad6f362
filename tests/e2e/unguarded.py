"""app.py without its guard."""

import streamlit as st

app = st.App("../../app.py")
