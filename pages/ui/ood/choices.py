"""What is chosen on the page Out of distribution: sets, score, temperature, threshold."""

import streamlit as st

from core.codes import NoticeCode
from core.errors import Notice
from core.ood.scores import DEFAULT, SCORES, unavailable
from core.screens.kit.text import short
from core.studies import ood as study
from pages.ui import cache, controls, frame, live_slider, state
from pages.ui.escape import esc
from pages.ui.live_slider import Dragged
from pages.ui.ood import drop, sources
from pages.ui.ood.sources import Offer, Sets, SplitSource

ALARMS = 5.0  # percent of ordinary pictures stopped, at first
STEPS = [0.5 * step for step in range(101)]
AS_READ, FITTED = "read", "fitted"
SCALINGS = {AS_READ: "As read", FITTED: "After temperature"}
NONE_YET = {  # in the full view, in plain words
    False: "No out-of-distribution images to compare with yet.",
    True: "No unfamiliar images to compare with yet.",
}
FOREIGN = (
    "comes from another run. If that is another model, the scores separate the models, not the "
    "inputs"
)


def sets(inside: SplitSource, offers: Offer) -> tuple[Sets, list[Notice]]:
    """Return the sets beside the run; those that cannot be told from its rows are refused."""
    if not offers:
        return Sets({}, {}, []), []
    names = sources.names(offers, inside.owner)
    with st.container(horizontal=True, vertical_alignment="bottom", key="sets"):
        chosen = sources.picker(offers, names, inside.owner)
        drop.door(inside.owner)
    drop.outcome()
    sound: list[str] = []
    notices: list[Notice] = []
    for reference in chosen:
        pair_notices, refusal = sources.checked(inside, offers[reference], names[reference].label)
        if refusal is not None:
            frame.refusal(refusal)
            continue
        sound.append(reference)
        if offers[reference].owner.id not in sources.dropped():
            cache.note(offers[reference].owner)
        notices += pair_notices
        if sources.foreign(offers[reference], inside.owner):
            notices.append(Notice(NoticeCode.OTHER_MODEL, f"“{names[reference].label}” {FOREIGN}"))
    return Sets(offers, names, sound), notices


def focus(sets: Sets) -> str:
    """Return the set that the page speaks of; a file of this session has no link."""
    shown = sets.shown
    linked, remembered = st.query_params.get("set"), st.session_state.get("set.set")
    chosen = next((reference for reference in (linked, remembered) if reference in shown), shown[0])
    assert chosen is not None
    _keep_focus(chosen, sets)
    if len(shown) > 1:
        st.session_state["widget.set"] = chosen
        st.segmented_control(
            "Set",
            shown,
            required=True,
            format_func=lambda reference: esc(short(sets.names[reference].label, 36)),
            key="widget.set",
            on_change=lambda: _keep_focus(st.session_state["widget.set"], sets),
        )
    return chosen


def _keep_focus(reference: str, sets: Sets) -> None:
    st.session_state["set.set"] = reference
    if reference == sets.shown[0] or sets.offers[reference].draft:
        st.query_params.pop("set", None)
    else:
        st.query_params["set"] = reference


def score_settings(inside: SplitSource, outside: SplitSource) -> tuple[str, float | None]:
    """Return the score and the temperature; plain words take the defaults."""
    why = study.offered(inside.rows, outside.rows)
    offered = [key for key in SCORES if not why[key]]
    default = DEFAULT if DEFAULT in offered else offered[0]
    if state.plain():
        return default, None
    with st.popover("Score settings", key="ood.score"):
        missing = "; ".join(f"{SCORES[key].label}: {text}" for key, text in why.items() if text)
        score = controls.segments(
            "Score",
            "score",
            offered,
            default,
            {key: entry.label for key, entry in SCORES.items()},
            f"Higher is more out-of-distribution. {missing}".strip(),
        )
        fitted, why_not = sources.temperature(inside)
        if "entropy" in unavailable(inside.rows):
            return score, None
        if fitted is None:
            st.caption(f"No temperature: {esc(why_not)}.", width=200)
            return score, None
        text = f"T = {fitted:.3g}, fitted on the labelled validation part alone."
        if score == "max_logit":
            text += (
                " It divides all largest logits by the same number, so it changes no ranking here."
            )
        heat = controls.segments("Temperature", "heat", list(SCALINGS), AS_READ, SCALINGS, text)
        return score, fitted if heat == FITTED else None


def scaling(temperature: float | None) -> str:
    """Return how the scores were changed, in words."""
    if temperature is None:
        return "scores as read"
    return f"after T = {temperature:.3g}, fitted on val"


def alarms() -> float:
    """Return the threshold, in percent of false alarms."""
    return live_slider.chosen("alarms", STEPS, ALARMS)


def threshold(alarms: float, moved: Dragged) -> None:
    """Draw the slider of the threshold, and what it moves."""
    live_slider.slider(
        "False alarms, at most",
        "alarms",
        STEPS,
        alarms,
        ALARMS,
        moved,
        "Moves the threshold. Whatever scores above it is flagged.",
    )
