"""The theory page: one knob and its parts; every choice lives in the link."""

from typing import NamedTuple

import streamlit as st

from core.calibrators.theory import GRIDS, Sweep, sweep
from core.screens.kit.records import FigureCard
from core.screens.theory import view as views
from core.screens.theory.claims import Claim, claims, claims_table
from core.screens.theory.curves import gradient_cards, temperature_cards
from core.screens.theory.triangle import loss_cards, simplex_cards
from pages.ui import state, widgets

PARTS = {
    "map": "The map",
    "temperature": "Closest temperature",
    "classes": "Three classes",
    "loss": "Losses",
    "gradient": "Gradients",
    "print": "Where print is wrong",
}
ALSO = ("-0.5", "0.5", "1", "3", "5", "7")
TRUTHS = {
    "paper": (0.55, 0.3, 0.15),
    "sure": (0.9, 0.06, 0.04),
    "even": (1 / 3, 1 / 3, 1 / 3),
}
TRUTH_WORDS = {"paper": "55, 30, 15", "sure": "90, 6, 4", "even": "a third each"}
CARD_WIDTH = 500


class SliderRange(NamedTuple):
    """What a slider spans, where it starts and its step."""

    low: float
    high: float
    start: float
    step: float


def draw() -> None:
    """Draw the page."""
    top, plain = st.container(), state.plain()
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        gamma = _slider(
            "The knob" if plain else "γ, the knob", "knob", SliderRange(0.05, 10.0, 2.0, 0.05)
        )
        truth = _slider("True share in the example", "share", SliderRange(0.5, 0.99, 0.8, 0.01))
        part = "" if plain else _part()
    view = (views.theory_top if part else views.plain_top)(gamma, truth)
    with top:
        widgets.eyebrow(view.eyebrow)
        widgets.sentence(view.sentence)
        widgets.second(view.plain)
        if view.numbers:
            widgets.strip(view.numbers)
    if part:
        DRAWN[part](gamma, truth)
    else:
        _cards((views.plain_card(gamma, truth),))


def _part() -> str:
    part = state.choice("part", list(PARTS), "map")
    st.segmented_control(
        "Part",
        list(PARTS),
        required=True,
        format_func=PARTS.__getitem__,
        key="widget.part",
        on_change=state.pick,
        args=("part", "map"),
        wrap=True,
    )
    return part


def _slider(label: str, key: str, span: SliderRange, help_text: str | None = None) -> float:
    value = st.slider(
        label,
        span.low,
        span.high,
        span.start,
        span.step,
        key=key,
        bind="query-params",
        persist_state="session",
        width=200,
        help=help_text,
    )
    return float(value)


def _also() -> tuple[float, ...]:
    chosen = st.pills(
        "Beside it, γ =",
        ALSO,
        selection_mode="multi",
        default=("-0.5", "0.5", "5"),
        format_func=lambda gamma: views.written(float(gamma)),
        key="also",
        bind="query-params",
        persist_state="session",
    )
    return tuple(float(gamma) for gamma in ALSO if gamma in chosen)


def _cards(cards: tuple[FigureCard, ...]) -> None:
    """Draw figures two abreast, one on a phone, each with its source under it."""
    with st.container(horizontal=True, gap="medium", key="figures"):
        for card in cards:
            with st.container(key=f"half.{card.key}", width=CARD_WIDTH):
                _card(card)


def _card(card: FigureCard) -> None:
    widgets.figure(card)
    widgets.caption(f"Source: {card.caption}")


def _map(gamma: float, truth: float) -> None:
    _cards(views.map_cards(gamma, truth, _also()))


def _temperature(gamma: float, truth: float) -> None:
    del truth  # the example does not change what is drawn here
    _cards(temperature_cards(gamma, _sweeps()))


def _classes(gamma: float, truth: float) -> None:
    del truth
    _cards(simplex_cards(gamma))


def _loss(gamma: float, truth: float) -> None:
    del truth
    chosen = state.choice("truth", list(TRUTHS), "paper")
    st.segmented_control(
        "True shares of the three classes, in 100",
        list(TRUTHS),
        required=True,
        format_func=TRUTH_WORDS.__getitem__,
        key="widget.truth",
        on_change=state.pick,
        args=("truth", "paper"),
    )
    _cards(loss_cards(gamma, TRUTHS[chosen]))


def _gradient(gamma: float, truth: float) -> None:
    del truth
    with st.container(horizontal=True, vertical_alignment="bottom", key="more.controls"):
        p0 = _slider("p0", "p0", SliderRange(0.1, 0.6, 0.2, 0.01), "Where γ* is read.")
        also = _also()
    _cards(gradient_cards(gamma, p0, also))


def _print(gamma: float, truth: float) -> None:
    weight = _slider("λ of focal calibration loss", "weight", SliderRange(0.0, 10.0, 0.5, 0.1))
    all_claims = claims(gamma, truth, weight, _sweeps())
    with st.container(horizontal=True, gap="medium", key="figures"):
        for i, claim in enumerate(all_claims):
            with st.container(key=f"half.claim{i}", width=CARD_WIDTH):
                _claim(claim)
    widgets.save(claims_table(all_claims), "claims", "All statements, CSV")


def _claim(claim: Claim) -> None:
    widgets.caveat(claim.title, claim.printed)
    widgets.second(claim.computed)
    if claim.card is not None:
        _card(claim.card)


@st.cache_resource(max_entries=1, show_spinner="Searching the closest temperatures")
def _sweeps() -> dict[int, Sweep]:
    """Search once for all gammas; nothing the user sets changes it."""
    return {n_classes: sweep(n_classes) for n_classes in GRIDS}


DRAWN = {
    "map": _map,
    "temperature": _temperature,
    "classes": _classes,
    "loss": _loss,
    "gradient": _gradient,
    "print": _print,
}
