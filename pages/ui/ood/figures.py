"""The figures of the page Out of distribution: what a threshold does, and corrupted images."""

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.datasets.shifts import OutsideSet, parse_name
from core.ood.scores import SCORES
from core.screens.kit.differences import NamedRun
from core.screens.kit.run_marks import DASHES, marks
from core.screens.ood import view as views
from core.screens.ood.plain import PlainOod, plain_view
from core.screens.ood.shifts import shift_view
from core.screens.ood.threshold import at_thresholds
from core.screens.ood.view import OodView, ShownCurve
from core.screens.ood.words import SetName, ShiftPair
from core.studies.ood import ShiftEffect
from pages.ui import cache, pieces, state, widgets
from pages.ui.ood import cache as cache_ood
from pages.ui.ood import choices, moving, sets
from pages.ui.ood.cache import OodQuestion, SplitSource
from pages.ui.ood.sets import Sets

HALF_WIDTH = 470
MAP_WIDTH = 229  # four stand beside each other at 1,280 px


def threshold(
    chosen: Sets,
    focus: str,
    questions: dict[str, OodQuestion],
    scaling: str,
    strip: DeltaGenerator,
) -> OodView:
    """Draw the figures with the threshold under the densities, its counts, and numbers above."""
    name = chosen.names[focus]
    curves = _curves(questions, chosen.names, focus)
    with st.container(horizontal=True, gap="medium", key="figures"):
        left = st.container(width=HALF_WIDTH, key="ood.left")
        right = st.container(key="beside")
    alarms, effects = choices.alarms(), _effects_of(questions[focus])
    named, plain = _named(questions[focus].inside.owner), state.plain()
    judged = curves[focus].judged
    view = views.ood_view(
        named,
        name,
        curves[focus],
        list(curves.values()),
        alarms / 100.0,
        scaling,
        effects=effects,
        plain=plain,
    )
    shares = [step / 100.0 for step in choices.STEPS]
    steps = at_thresholds(named, name, judged, shares, effects=effects, plain=plain)
    with left if plain else right:
        widgets.figure(view.density)
        choices.threshold(alarms, moving.moved(name, steps))
    with right:
        if plain:
            _plain(plain_view(name, judged, view.tally))
        widgets.scores(moving.COUNTS, view.counts.heads, view.counts.written())
        widgets.noted(view.reading, view.counts.file, "threshold", "Counts, CSV")
    if not plain:
        with strip:
            widgets.strip(view.numbers)
        with left:
            widgets.figure(view.roc)
    return view


def _effects_of(question: OodQuestion) -> ShiftPair | None:
    """Return what a shift of the run's own images does, beside the intact ones."""
    owner = question.inside.owner
    if question.outside.owner != owner or question.outside.split not in sets.shifted(owner):
        return None
    intact = replace(question, outside=question.inside)
    return cache_ood.shift(question), cache_ood.shift(intact)


def _plain(view: PlainOod) -> None:
    """Draw the pictures of 100, and the words beside them."""
    widgets.title("What the alarm flags")
    for key, hundred in zip(moving.HUNDREDS, view.hundreds, strict=True):
        with st.container(key=key):
            pieces.draw(
                "hundred", hundred.text, hundred.crossed, moving.CROSSED, moving.FLAGGED, True
            )
    widgets.caveat("What this does not say", view.limits)
    widgets.caveat("What helps", view.helps, helpful=True)


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


def corruptions(question: OodQuestion, scaling: str) -> None:
    """Draw the maps of every kind of corruption that the run was evaluated on."""
    named = _named(question.inside.owner)
    effects = _effects(question)
    for kind in ("cifar10c", "corrupted"):
        own = {
            outside_set: shift for outside_set, shift in effects.items() if outside_set.kind == kind
        }
        if not own:
            continue
        scoring = f"{SCORES[question.score].label.lower()}, {scaling}"
        switch = f"ood.every.{kind}"
        view = shift_view(named, kind, own, scoring, every=st.session_state.get(switch, False))
        with st.container(horizontal=True, vertical_alignment="bottom", key=f"every.{kind}"):
            widgets.title(view.title, view.explanation)
            if view.more:
                st.toggle(view.more, key=switch, width="content", persist_state="session")
        with st.container(horizontal=True, gap="small", key=f"maps.{kind}"):
            for card in view.maps:
                with st.container(width=MAP_WIDTH, key=f"map.{card.key}"):
                    widgets.figure(card)
        widgets.caption(view.caption)


def _effects(question: OodQuestion) -> dict[OutsideSet, ShiftEffect]:
    """Return what each corruption does, counting them while any is new."""
    owner = question.inside.owner
    splits = sets.shifted(owner)
    bar, effects = st.empty(), {}
    for i, split in enumerate(splits):
        named = parse_name(split)
        if named is None:
            continue
        if i % 10 == 0:
            bar.progress(i / len(splits), text=f"{i} of {len(splits)} corruptions")
        effects[named] = cache_ood.shift(replace(question, outside=SplitSource(owner, split)))
    bar.empty()
    return effects


def _named(run: cache.Run) -> NamedRun:
    return NamedRun(run.id, run.name, run.split, run.file_digest)
