"""The figures of the page Out of distribution: what a threshold does, and corrupted images."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.datasets.shifts import OutsideSet, parse_name
from core.ood.scores import SCORES
from core.screens.kit.differences import NamedRun
from core.screens.kit.run_marks import DASHES, marks
from core.screens.ood import view as views
from core.screens.ood.shifts import shift_view
from core.screens.ood.view import AtThreshold, OodView, ShownCurve, at_thresholds
from core.screens.ood.words import SetName, ShiftPair, icon_arrays, plain_view
from core.studies.ood import ShiftEffect
from pages.ui import html_macros, state, widgets
from pages.ui.live_slider import Dragged, Filled, MovedFigure, columns
from pages.ui.ood import choices, sources
from pages.ui.ood.sources import OodQuestion, Sets, SplitSource

HALF_WIDTH = 470
MAP_WIDTH = 229  # four stand beside each other at 1,280 px
COUNTS = "What the threshold does"
HUNDREDS = ("ood_flagged", "ood_mistaken")
CROSSED, FLAGGED = "found-quiet", "!"


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
    named, plain = _named(questions[focus].inside), state.plain()
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
        choices.threshold(alarms, moved(name, steps))
    with right:
        if plain:
            pictures = plain_view(name, judged, view.tally)
            widgets.title("What the alarm flags")
            for key, hundred in zip(HUNDREDS, pictures.hundreds, strict=True):
                with st.container(key=key):
                    html_macros.draw(
                        "hundred", hundred.text, hundred.crossed, CROSSED, FLAGGED, True
                    )
            widgets.caveat("What this does not say", pictures.limits)
            widgets.caveat("What helps", pictures.helps, helpful=True)
        widgets.scores(COUNTS, view.counts.heads, view.counts.written())
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
    if question.outside.owner != owner or question.outside.split not in sources.shifted(owner):
        return None
    intact = replace(question, outside=question.inside)
    return sources.shift(question), sources.shift(intact)


def _curves(
    questions: dict[str, OodQuestion], names: dict[str, SetName], focus: str
) -> dict[str, ShownCurve]:
    """Return every curve, each with a dash of its own; the set in focus with every number."""
    set_marks = marks(list(questions))
    return {
        reference: ShownCurve(
            names[reference].label,
            replace(mark, dash=dash),
            sources.judged(question, full=reference == focus),
        )
        for (reference, question), mark, dash in zip(
            questions.items(), set_marks, DASHES, strict=False
        )
    }


def corruptions(question: OodQuestion, scaling: str) -> None:
    """Draw the maps of every kind of corruption that the run was evaluated on."""
    named = _named(question.inside)
    owner = question.inside.owner
    splits = sources.shifted(owner)
    bar, effects = st.empty(), dict[OutsideSet, ShiftEffect]()
    for i, split in enumerate(splits):
        corruption = parse_name(split)
        if corruption is not None:
            if i % 10 == 0:
                bar.progress(i / len(splits), text=f"{i} of {len(splits)} corruptions")
            part = replace(question, outside=SplitSource(owner, split))
            effects[corruption] = sources.shift(part)
    bar.empty()
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


def _named(inside: SplitSource) -> NamedRun:
    run = inside.owner
    return NamedRun(run.id, run.name, inside.split, run.file_digest)


def moved(name: SetName, steps: Sequence[AtThreshold]) -> Dragged:
    """Return what the page says and draws at each step."""
    texts = {
        "h1.c-sentence": [step.sentence.parts[0].text for step in steps],
        "h1.c-sentence + .c-second": [step.sentence.second for step in steps],
        **_cells(steps),
    }
    filled = {}
    if state.plain():
        pictures = [icon_arrays(name, step.tally) for step in steps]
        for key, picture in zip(HUNDREDS, zip(*pictures, strict=True), strict=True):
            texts[f".st-key-{key} .c-said"] = [hundred.text for hundred in picture]
            values = [[hundred.crossed] for hundred in picture]
            filled[f".st-key-{key} .c-icons"] = Filled(values=values, kinds={CROSSED: FLAGGED})
    return Dragged(
        written=[step.written for step in steps],
        said=[step.said for step in steps],
        texts=texts,
        filled=filled,
        figures=(
            MovedFigure(figure="density", layout=columns([step.line for step in steps])),
            MovedFigure(figure="roc", last=columns([step.spot for step in steps])),
        ),
    )


def _cells(steps: Sequence[AtThreshold]) -> dict[str, list[str]]:
    """Return the cells of the table of counts, numbers and what stands under them."""
    tables, found = [step.counts.written() for step in steps], {}
    for i, row in enumerate(tables[0]):
        for j in range(len(row.cells) - 1):  # the last holds all rows, whatever the threshold
            cells = [table[i].cells[j] for table in tables]
            place = f'[aria-label="{COUNTS}"] tbody tr:nth-of-type({i + 1}) td:nth-of-type({j + 1})'
            found[place] = [cell.value for cell in cells]
            found[f"{place} small"] = [cell.interval for cell in cells]
    return found
