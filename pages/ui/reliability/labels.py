"""The summary that a file of many labels opens on; a row of its table opens the label."""

from collections.abc import Sequence

import streamlit as st

from core.metrics.records import Audit
from core.screens.kit.records import Table
from core.screens.reliability.classes import labels_view
from pages.ui import cache, frame, state, widgets
from pages.ui.reliability.choices import ALL

TABLE = "labels.table"
TITLES = {
    False: ("Labels", "what is off first, by ECE; choose a row to open its label"),
    True: ("Findings", "what is furthest off first; choose a row to open it"),
}


def draw(run: cache.Run, audit: Audit) -> None:
    """Draw how many labels are off, and the table from which one is opened."""
    view = labels_view(audit, plain=state.plain())
    widgets.sentence(view.sentence)
    if view.numbers:
        widgets.strip(view.numbers)
        frame.verdict_notices(tuple(dict.fromkeys((*run.notices, *audit.notices))))


def table(run: cache.Run, split: str, audit: Audit) -> None:
    """Draw every label, what is off first, as a figure and as a table."""
    view = labels_view(audit, plain=state.plain())
    widgets.figure(view.figure)
    widgets.title(*TITLES[state.plain()])
    _rows(view.shown, view.order)
    widgets.save(view.table, "parts")
    frame.read_notes(run.notices)
    widgets.caption(f"{split} split, file digest {run.file_digest[:8]}")


def _rows(contents: Table, order: Sequence[int]) -> None:
    columns = [column.label for column in contents.columns]
    st.dataframe(
        [dict(zip(columns, row, strict=True)) for row in contents.written()],
        hide_index=True,
        width="stretch",
        height="content",
        key=TABLE,
        on_select=lambda: _open(order),
        selection_mode="single-row",
    )


def _open(order: Sequence[int]) -> None:
    rows = st.session_state[TABLE]["selection"]["rows"]
    if rows:
        st.session_state["widget.of"] = str(order[rows[0]])
        state.pick("of", ALL)
