"""What the page Out of distribution draws: a threshold, corruptions, the most ordinary rows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.datasets.shifts import OutsideSet, parse_name
from core.ood.scores import SCORES
from core.screens.kit.differences import NamedRun
from core.screens.kit.marks import DASHES, marks
from core.screens.kit.numbers import percent
from core.screens.ood import view as views
from core.screens.ood.tables import certain_table, shift_view
from core.screens.ood.view import AtThreshold, OodView, ShownCurve, at_thresholds
from core.screens.ood.words import SetName, icon_arrays, plain_view
from core.studies.ood import ShiftEffect
from pages.ui import frame, html_macros, row_pictures, state, widgets
from pages.ui.escape import esc
from pages.ui.live_slider import Dragged, Filled, MovedFigure, columns
from pages.ui.ood import choices, sources
from pages.ui.ood.sources import OodQuestion, Sets, SplitSource

HALF_WIDTH = 470
ROWS_SHOWN = 50
MAP_WIDTH = 229  # four stand beside each other at 1,280 px
COUNTS = "What the threshold does"
HUNDREDS = ("ood_flagged", "ood_mistaken")
CROSSED, FLAGGED = "found-quiet", "!"


def threshold(
    chosen: Sets, focus: str, questions: dict[str, OodQuestion], scaling: str, strip: DeltaGenerator
) -> OodView:
    """Draw the figures with the threshold under the densities, its counts, and numbers above."""
    name, question = chosen.names[focus], questions[focus]
    # Every curve has a dash of its own; the set in focus has every number
    curves = {
        reference: ShownCurve(
            chosen.names[reference].label,
            replace(mark, dash=dash),
            sources.judged(asked, full=reference == focus),
        )
        for (reference, asked), mark, dash in zip(
            questions.items(), marks(list(questions)), DASHES, strict=False
        )
    }
    with st.container(horizontal=True, gap="medium", key="figures"):
        left = st.container(width=HALF_WIDTH, key="ood.left")
        right = st.container(key="beside")
    alarms, named, plain = choices.alarms(), _named(question.inside), state.plain()
    owner, effects = question.inside.owner, None
    if question.outside.owner == owner and question.outside.split in sources.shifted(owner):
        # What a shift of the run's own images does stands beside the intact ones
        intact = replace(question, outside=question.inside)
        effects = sources.shift(question), sources.shift(intact)
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
        widgets.figure(view.figures["density"])
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
        for key, card in view.figures.items():
            if key != "density":
                widgets.figure(card)
    return view


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


@frame.fragment
def most_ordinary(question: OodQuestion, name: SetName) -> None:
    """Draw what of the set looks most like ordinary ones; without pictures, folded."""
    outside = question.outside
    opened = row_pictures.source(outside.owner.id, outside.split)
    fold = st.expander(
        f"{esc(name.label)}: lowest scores, which look most in-distribution",
        key="ood.certain",
        expanded=opened is not None,
        on_change="rerun",
    )
    if not fold.open:
        return
    with fold:
        ordinary = sources.certain(question, ROWS_SHOWN)
        if opened is not None:
            captions = [
                answer + ("" if np.isnan(sure) else f", {percent(sure)}")
                for answer, sure in zip(ordinary.answers, ordinary.confidence, strict=True)
            ]
            first = ordinary.rows[: row_pictures.SHOWN].tolist()
            row_pictures.draw("ood.pictures", opened, outside.split, outside.rows, first, captions)
        table = certain_table(ordinary, outside.rows.row_ids, question.score)
        widgets.table(table, key="ood.certain.rows")
        widgets.save(table, "most_ordinary")
        if np.isnan(ordinary.confidence).any():
            widgets.caption("These scores are not probabilities.")


def _named(inside: SplitSource) -> NamedRun:
    run = inside.owner
    return NamedRun(run.id, run.name, inside.split, run.file_digest)


def moved(name: SetName, steps: Sequence[AtThreshold]) -> Dragged:
    """Return what the page says and draws at each step."""
    texts = {
        "h1.c-sentence": [step.sentence.parts[0].text for step in steps],
        "h1.c-sentence + .c-second": [step.sentence.second for step in steps],
    }
    # The cells of the table of counts: numbers, and what stands under them
    tables = [step.counts.written() for step in steps]
    for i, row in enumerate(tables[0]):
        for j in range(len(row.cells) - 1):  # the last holds all rows, whatever the threshold
            cells = [table[i].cells[j] for table in tables]
            place = f'[aria-label="{COUNTS}"] tbody tr:nth-of-type({i + 1}) td:nth-of-type({j + 1})'
            texts[place] = [cell.value for cell in cells]
            texts[f"{place} small"] = [cell.interval for cell in cells]
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
