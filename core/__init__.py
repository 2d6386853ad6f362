"""Candor's domain: everything but the screen. Nothing in here may import Streamlit."""
