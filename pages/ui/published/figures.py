"""What the Published page draws: nothing to show, the runs beside, the table."""

import streamlit as st

from core.screens.published.view import PublishedView
from pages.ui import pieces, widgets
from pages.ui.published import choices


def empty() -> None:
    """Say that nothing fits, and offer the way back."""
    widgets.eyebrow("Published")
    pieces.draw("headline", "No published number fits these filters.")
    st.button("Clear filters", key="published.clear", type="primary", on_click=choices.clear)


def beside(view: PublishedView) -> None:
    """Draw own runs compared with published values, and what is open about the metric."""
    for mark, text in view.beside:
        pieces.draw("beside", mark, text)
    if view.remark:
        widgets.caption(view.remark)


def table(view: PublishedView) -> None:
    """Draw the table and offer every number as a file."""
    widgets.title("In the papers")
    widgets.scores("Published numbers", view.table.heads, view.table.written())
    widgets.save(view.file, "published", "All numbers, CSV")
    widgets.caption(view.caption)


def settings(view: PublishedView) -> None:
    """Draw, folded, the hyper-parameters that the papers state for what was asked for."""
    rows = view.settings.rows
    if not rows:
        return
    with st.expander(f"Hyper-parameters in the papers: {len(rows)}", key="published.settings"):
        widgets.table(view.settings, key="table.settings")
        widgets.save(view.settings, "published_settings")
