"""The figures of the Compare page, and the audits that they are drawn from."""

from collections.abc import Sequence

import streamlit as st

from core.metrics.comparison import Compared
from core.screens.kit.records import FigureCard
from core.screens.kit.run_marks import RunMark
from pages.ui import cache, pieces, widgets
from pages.ui.escape import esc

HALF_WIDTH = 500
SMALL_WIDTH = 172


def audited(runs: list[cache.Run], splits: list[str]) -> list[Compared]:
    """Return what is needed of every run, counting them while any is new to this session."""
    known_digests: set[str] = st.session_state.setdefault("compare.seen", set())
    bar, ready = st.empty(), []
    for i, (run, split) in enumerate(zip(runs, splits, strict=True)):
        if run.digest(split) not in known_digests:
            bar.progress(i / len(runs), text=f"{i + 1} of {len(runs)}: {esc(run.name)}")
        ready.append(cache.compared(run, split))
        known_digests.add(run.digest(split))
    bar.empty()
    return ready


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
    with st.container(horizontal=True, key="small"):
        for mark, card in cards:
            with st.container(key=f"small.{mark.letter}", width=SMALL_WIDTH, gap="xsmall"):
                pieces.draw("small_title", mark, card.title, "")
                widgets.figure(card, titled=False)
