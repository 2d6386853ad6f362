"""The Theory page: its choices of gamma, example and part, its figures, and the glossary."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from core.calibrators.theory import GRIDS, Sweep, sweep
from core.metrics import METRICS
from core.screens.kit.records import FigureCard
from core.screens.theory.claims import Claim
from core.screens.theory.view import written
from pages.ui import state, widgets
from pages.ui.caching import cached

PARTS = {
    "map": "The map",
    "temperature": "Closest temperature",
    "classes": "Three classes",
    "loss": "Losses",
    "gradient": "Gradients",
    "print": "Errors in the papers",
    "words": "Glossary",
}
GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"
ALSO = ("-0.5", "0.5", "1", "3", "5", "7")
TRUTHS = {"paper": (0.55, 0.3, 0.15), "sure": (0.9, 0.06, 0.04), "even": (1 / 3, 1 / 3, 1 / 3)}
CARD_WIDTH = 466  # two fit beside each other at 1,280 px
TRUTH_WORDS = {"paper": "55, 30, 15", "sure": "90, 6, 4", "even": "a third each"}


def gamma() -> float:
    """Return gamma."""
    return _slider("Strength" if state.plain() else "γ", "knob", (0.05, 10.0, 2.0, 0.05))


def share() -> float:
    """Return how often the answer of the example is right."""
    return _slider("True share in the example", "share", (0.5, 0.99, 0.8, 0.01))


def p0() -> float:
    """Return where the switching gamma is read."""
    return _slider("p0", "p0", (0.1, 0.6, 0.2, 0.01), "Where γ* is read.")


def weight() -> float:
    """Return lambda of the focal calibration loss."""
    return _slider("λ of focal calibration loss", "weight", (0.0, 10.0, 0.5, 0.1))


def part() -> str:
    """Return the part of the page that is shown; none in plain words."""
    return "" if state.plain() else state.choice("part", list(PARTS), "map")


def topic() -> None:
    """Draw the choice of the part."""
    st.segmented_control(
        "Topic",
        list(PARTS),
        required=True,
        format_func=PARTS.__getitem__,
        key="widget.part",
        on_change=state.pick,
        args=("part", "map"),
        wrap=True,
    )


def truths() -> tuple[float, float, float]:
    """Return the true shares of the three classes."""
    label = "True shares of the three classes, in 100"
    return TRUTHS[widgets.segments(label, "truth", list(TRUTHS), "paper", TRUTH_WORDS)]


def also() -> tuple[float, ...]:
    """Return the gammas whose maps are drawn beside."""
    chosen = st.pills(
        "Also show γ",
        ALSO,
        selection_mode="multi",
        default=("-0.5", "0.5", "5"),
        format_func=lambda gamma: written(float(gamma)),
        key="also",
        bind="query-params",
        persist_state="session",
    )
    return tuple(float(gamma) for gamma in ALSO if gamma in chosen)


def _slider(
    label: str, key: str, ends: tuple[float, float, float, float], help_text: str | None = None
) -> float:
    """Draw a number from the first to the second end, of a start and a step; it is in the link."""
    kept: dict[str, Any] = {"bind": "query-params", "persist_state": "session"}
    return float(st.slider(label, *ends, key=key, width=200, help=help_text, **kept))


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


def glossary() -> None:
    """Draw the words that pages, commands and docs share, and what each metric means."""
    _, sections = GLOSSARY.read_text(encoding="utf-8").split("\n## ", 1)
    metrics = "".join(f"| {metric.label} | {metric.plain} |\n" for metric in METRICS.values())
    st.markdown(f"## {sections}\n## Metrics\n\n| metric | meaning |\n|---|---|\n{metrics}")


@cached(1, spinner="Searching the closest temperatures")
def sweeps() -> dict[int, Sweep]:
    """Search once for all gammas; nothing the user sets changes it."""
    return {n_classes: sweep(n_classes) for n_classes in GRIDS}
