"""The figures of the Theory page, and what print says beside what numbers say."""

from collections.abc import Sequence

import streamlit as st

from core.calibrators.theory import GRIDS, Sweep, sweep
from core.screens.kit.records import FigureCard
from core.screens.theory.claims import Claim
from pages.ui import widgets

CARD_WIDTH = 466  # two fit beside each other at 1,280 px


def draw(cards: tuple[FigureCard, ...]) -> None:
    """Draw figures two abreast, one on a phone, each with its source under it."""
    with st.container(horizontal=True, gap="medium", key="figures"):
        for card in cards:
            with st.container(key=f"half.{card.key}", width=CARD_WIDTH):
                widgets.figure(card)
                widgets.caption(card.caption)


def draw_claims(claims: Sequence[Claim]) -> None:
    """Draw statements two abreast, each with what was computed under it."""
    with st.container(horizontal=True, gap="medium", key="figures"):
        for i, claim in enumerate(claims):
            with st.container(key=f"half.claim{i}", width=CARD_WIDTH):
                widgets.caveat(claim.title, claim.printed)
                widgets.second(claim.computed)
                if claim.card is not None:
                    widgets.figure(claim.card)


@st.cache_resource(max_entries=1, show_spinner="Searching the closest temperatures")
def sweeps() -> dict[int, Sweep]:
    """Search once for all gammas; nothing the user sets changes it."""
    return {n_classes: sweep(n_classes) for n_classes in GRIDS}
