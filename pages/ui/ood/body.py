"""The page Out of distribution: its controls, what a threshold does, and what follows below."""

from dataclasses import dataclass, replace

import streamlit as st

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.ood.scores import DEFAULT, SCORES, unavailable
from core.predictions import Task
from core.screens.kit.differences import NamedRun
from core.screens.kit.run_marks import DASHES, marks
from core.screens.kit.text import short
from core.screens.ood import view as views
from core.screens.ood.plain import PlainOod, plain_view
from core.screens.ood.view import OodView, ShownCurve
from core.screens.ood.words import SetName
from core.studies import ood as study
from pages.ui import cache, controls, drafts, frame, pieces, site, state, widgets
from pages.ui.escape import esc
from pages.ui.ood import (
    below,
    beside,
    drop,
)
from pages.ui.ood import (
    cache as cache_ood,
)
from pages.ui.ood import (
    sets as ood_sets,
)
from pages.ui.ood.cache import OodQuestion, SplitSource
from pages.ui.ood.sets import Offer

ALARMS = 5.0  # percent of ordinary pictures stopped, at first
MOST_ALARMS = 50.0
AS_READ, FITTED = "read", "fitted"
SCALINGS = {AS_READ: "As read", FITTED: "After temperature"}
FOREIGN = (
    "belongs to another run: unless both are of the same model, the alarm tells the models apart, "
    "not the inputs"
)
HALF_WIDTH = 470


@dataclass(frozen=True)
class OodChoice:
    """What the controls say: the set in focus, the score, and the temperature, if any."""

    reference: str
    score: str
    temperature: float | None

    @property
    def scaling(self) -> str:
        """How the scores were changed, in words."""
        if self.temperature is None:
            return "scores as read"
        return f"after T = {self.temperature:.3g}, fitted on val"


@dataclass(frozen=True)
class Sets:
    """The sets beside the run: what is offered, what each is called, and those that are shown."""

    offers: Offer
    names: dict[str, SetName]
    shown: list[str]


def draw(run: cache.Run) -> None:
    """Draw the page of one run."""
    inside = SplitSource(run, run.split)
    if inside.rows.task is Task.MULTILABEL:
        raise Refused(
            "CLASSES",
            "this run has many labels and no single answer; nothing is told from it here",
            "open a run with one answer a row",
        )
    drop.settle()
    offers = ood_sets.offered(run)
    top = st.container()
    sets, notices = _sets(inside, offers) if offers else (Sets({}, {}, []), [])
    if not sets.shown:
        with top:
            _nothing(run)
        if not offers:
            drop.outcome()
            drop.zone(run)
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        choice = _controls(inside, sets)
    questions = {
        reference: OodQuestion(inside, offers[reference], choice.score, choice.temperature or 1.0)
        for reference in sets.shown
    }
    view = _threshold(sets, choice, questions)
    judged = cache_ood.judged(questions[choice.reference], full=True)
    notices += study.extent_notices(judged, sets.names[choice.reference].label)
    with top:
        widgets.eyebrow(view.eyebrow, controls.chip(run))
        widgets.sentence(view.sentence)
        drafts.bar(run)
        for draft in cache_ood.dropped().values():
            drop.bar(draft)
        frame.notices(tuple(dict.fromkeys(notices)))
    widgets.caption(view.caption)
    if state.plain():
        return
    beside.draw(inside, offers, sets.names, sets.shown, questions[choice.reference])
    below.shifts(inside, _named(run), choice.score, choice.temperature, choice.scaling)
    below.certain(questions[choice.reference], sets.names[choice.reference])
    below.meanings(view.numbers)


def _named(run: cache.Run) -> NamedRun:
    return NamedRun(run.id, run.name, run.split, run.file_digest)


def _sets(inside: SplitSource, offers: Offer) -> tuple[Sets, list[Notice]]:
    """Draw the choice of sets; those that cannot be told from the run's rows are refused."""
    names = ood_sets.names(offers, inside.owner)
    with st.container(horizontal=True, vertical_alignment="bottom", key="sets"):
        chosen = ood_sets.picker(offers, names, inside.owner)
        drop.door(inside.owner)
    drop.outcome()
    sound: list[str] = []
    notices: list[Notice] = []
    for reference in chosen:
        pair_notices, refusal = cache_ood.checked(inside, offers[reference], names[reference].label)
        if refusal is not None:
            frame.refusal(refusal)
            continue
        sound.append(reference)
        notices += pair_notices
        if ood_sets.foreign(offers[reference], inside.owner):
            notices.append(Notice(NoticeCode.OTHER_MODEL, f"{names[reference].label} {FOREIGN}"))
    return Sets(offers, names, sound), notices


def _threshold(sets: Sets, choice: OodChoice, questions: dict[str, OodQuestion]) -> OodView:
    """Draw the numbers, the figures with the threshold under the densities, and its counts."""
    question = questions[choice.reference]
    name = sets.names[choice.reference]
    curves = _curves(questions, sets.names, choice.reference)
    strip = st.container()
    with st.container(horizontal=True, gap="medium", key="figures"):
        left = st.container(width=HALF_WIDTH, key="ood.left")
        right = st.container(key="beside")
    with left if state.plain() else right:
        densities = st.container()
        alarms = _alarms()
    run = question.inside.owner
    view = views.ood_view(
        _named(run),
        name,
        curves[choice.reference],
        list(curves.values()),
        alarms,
        choice.scaling,
        plain=state.plain(),
    )
    with densities:
        widgets.figure(view.density)
    with right:
        if state.plain():
            _plain(plain_view(name, curves[choice.reference], alarms))
        widgets.scores("What the threshold does", view.counts.heads, view.counts.written())
        widgets.caption(view.reading)
        widgets.save(view.counts.file, "threshold", "Counts, CSV")
    if not state.plain():
        with strip:
            widgets.strip(view.numbers)
        with left:
            widgets.figure(view.roc)
    return view


def _plain(view: PlainOod) -> None:
    """Draw the pictures of 100, and the words beside them."""
    widgets.title("For which the alarm rings", "each mark is one of a hundred")
    for hundred in view.hundreds:
        pieces.draw("hundred", hundred.text, hundred.crossed, "found-quiet", True)
    widgets.caveat("What this does not say", view.limits)
    widgets.caveat("What helps", view.helps, helpful=True)


def _alarms() -> float:
    """Draw the threshold, in false alarms."""
    with st.container(key="ood.threshold"):
        percent = st.slider(
            "Ordinary pictures stopped by mistake, at most, %",
            0.0,
            MOST_ALARMS,
            ALARMS,
            step=0.5,
            format="%.1f",
            key="alarms",
            bind="query-params",
            persist_state="session",
            help="Moves the threshold: what scores above it is flagged.",
        )
    return float(percent) / 100.0


def _curves(
    questions: dict[str, OodQuestion], names: dict[str, SetName], focus: str
) -> dict[str, ShownCurve]:
    """Return every curve, each with a dash of its own; the set in focus with every number."""
    set_marks = marks(list(questions))
    return {
        reference: ShownCurve(
            names[reference].label,
            replace(mark, dash=dash),
            cache_ood.judged(question, full=reference == focus),
        )
        for (reference, question), mark, dash in zip(
            questions.items(), set_marks, DASHES, strict=False
        )
    }


def _controls(inside: SplitSource, sets: Sets) -> OodChoice:
    """Draw the choice of set, score and temperature."""
    focus = _focus(sets.offers, sets.names, sets.shown)
    score = _score(inside, sets.offers[focus])
    return OodChoice(focus, score, _temperature(inside, score))


def _focus(offers: Offer, names: dict[str, SetName], sound: list[str]) -> str:
    """Draw the choice of the set that the page speaks of; a file of this session has no link."""
    linked, remembered = st.query_params.get("set"), st.session_state.get("set.set")
    focus = next((reference for reference in (linked, remembered) if reference in sound), sound[0])
    assert focus is not None
    _keep_focus(focus, offers, sound)
    if len(sound) > 1:
        st.session_state["widget.set"] = focus
        st.segmented_control(
            "Set",
            sound,
            required=True,
            format_func=lambda reference: esc(short(names[reference].label, 36)),
            key="widget.set",
            on_change=lambda: _keep_focus(st.session_state["widget.set"], offers, sound),
        )
    return focus


def _keep_focus(reference: str, offers: Offer, sound: list[str]) -> None:
    st.session_state["set.set"] = reference
    if reference == sound[0] or offers[reference].draft:
        st.query_params.pop("set", None)
    else:
        st.query_params["set"] = reference


def _score(inside: SplitSource, outside: SplitSource) -> str:
    """Draw the choice of the score; those that a part does not support are not offered."""
    why = study.offered(inside.rows, outside.rows)
    offered = [key for key in SCORES if not why[key]]
    default = DEFAULT if DEFAULT in offered else offered[0]
    if state.plain():
        return default
    missing = "; ".join(f"{SCORES[key].label}: {text}" for key, text in why.items() if text)
    return controls.segments(
        "Score",
        "score",
        offered,
        default,
        {key: score.label for key, score in SCORES.items()},
        f"Higher is more out-of-distribution. {missing}".strip(),
    )


def _temperature(inside: SplitSource, score: str) -> float | None:
    """Draw the choice of the temperature, where one can be fitted."""
    temperature, why = cache_ood.temperature(inside.owner)
    if state.plain() or "entropy" in unavailable(inside.rows):
        return None
    if temperature is None:
        st.caption(f"No temperature: {esc(why)}.", width=200)
        return None
    help_text = f"T = {temperature:.3g}, fitted on the labelled validation part alone."
    if score == "max_logit":
        help_text += " It divides all largest logits alike, so it changes no rank here."
    scaling = controls.segments("Temperature", "heat", list(SCALINGS), AS_READ, SCALINGS, help_text)
    return temperature if scaling == FITTED else None


def _nothing(run: cache.Run) -> None:
    """Say what is needed beside the run's own rows, with the ways to it."""
    widgets.eyebrow(f"Out of distribution · {run.name}", controls.chip(run))
    pieces.draw("headline", "Nothing strange stands beside this run yet.")
    widgets.second(
        "How sure is the model of inputs that belong to none of its classes? That takes its "
        "scores on such inputs: drop a file of them, or have the model evaluated on street "
        "numbers, corrupted images or a folder of your own."
    )
    st.page_link(
        site.EVALUATE.script, label="Evaluate a model on other images", icon=site.EVALUATE.icon
    )
