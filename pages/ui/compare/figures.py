"""The figures and the table of the Compare page."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core.reports import compare_text
from core.screens.compare.view import FEW, CompareView
from core.screens.kit.records import FigureCard
from core.screens.kit.run_marks import RunMark
from pages.ui import widgets

HALF_WIDTH = 466
SMALL_WIDTH = 172
FILES = {  # label, ending, type
    "csv": ("CSV", "csv", "text/csv"),
    "markdown": ("Markdown", "md", "text/markdown"),
    "latex": ("LaTeX", "tex", "application/x-tex"),
}


def abreast(*cards: FigureCard | None) -> None:
    """Draw large figures side by side."""
    with st.container(horizontal=True, gap="medium", key="figures"):
        for card in filter(None, cards):
            with st.container(key=f"half.{card.key}", width=HALF_WIDTH):
                widgets.figure(card)


def diagrams(cards: Sequence[tuple[RunMark, FigureCard]]) -> None:
    """Draw a small diagram of each run, where there are any."""
    if not cards:
        return
    widgets.title("Reliability on common bins", "dots as on the Reliability page")
    widgets.small_figures(((mark, card.title, "", card) for mark, card in cards), SMALL_WIDTH)


def scores(view: CompareView) -> None:
    """Draw the table; many rows scroll by themselves, under heads that stay."""
    if not view.listed.rows:
        st.markdown("No run’s name contains that.")
        return
    many = len(view.table.rows) > FEW
    with st.container(key="many" if many else "few"):
        widgets.scores("Scores of the runs", view.table.heads, view.listed.written())
    if len(view.listed.rows) < len(view.table.rows):
        widgets.caption(f"{len(view.listed.rows)} of {len(view.table.rows)} runs.")


def exports(view: CompareView) -> None:
    """Offer the table as a file: with all digits, or as it is printed."""
    with st.popover("Download table", type="tertiary", key="compare.exports"):
        for kind, (label, ending, mime) in FILES.items():
            widgets.download(
                label,
                partial(compare_text.FORMATS[kind], view),
                f"candor_compare.{ending}",
                mime,
                key=f"compare.export.{kind}",
            )
