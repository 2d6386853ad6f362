"""The figures of the Reliability page in plain words."""

import streamlit as st

from core.screens.reliability.plain import PlainView
from pages.ui import html_macros, widgets


def draw(view: PlainView) -> None:
    """Draw the figures of the page in plain words, and what they do not say."""
    left, right = st.columns([6, 5], gap="medium")
    with left:
        widgets.figure(view.dumbbells)
        widgets.key(view.key)
    with right:
        if view.icons:
            # Draw two arrays of 100: what was promised and what was found
            icons = view.icons
            widgets.title(icons.title, icons.note)
            for text, count, kind in (
                (icons.promised_text, icons.promised, "promised"),
                (icons.observed_text, icons.observed, f"found-{icons.tone}"),
            ):
                html_macros.draw("hundred", text, count, kind, icons.mark, False)
        widgets.caveat(view.limits.title, view.limits.text)
        widgets.caveat(view.helps.title, view.helps.text, helpful=True)
    widgets.caption(view.caption)
