"""The figures of the post-hoc page: diagrams of the methods, the landscape of T and γ."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from core.calibrators.landscape import GAMMAS
from core.errors import Refused, sentence
from core.predictions import Task
from core.screens.kit.differences import NamedRun
from core.screens.kit.records import FigureCard
from core.screens.kit.run_marks import marks
from core.screens.posthoc import view as views
from core.screens.reliability.view import KEY
from core.studies.posthoc import CUT, RowChoice
from pages.ui import cache, widgets
from pages.ui.posthoc import beside, choices
from pages.ui.posthoc import cache as cache_posthoc

SMALL_WIDTH = 229  # four fit beside each other at 1,280 px


def diagrams(cards: Sequence[tuple[str, str, FigureCard]]) -> None:
    """Draw a small diagram of each method, where there are any."""
    if not cards:
        return
    widgets.small_figures(((None, *named) for named in cards), SMALL_WIDTH)
    widgets.key(KEY)


def temperatures(run: cache.Run, row_choice: RowChoice, objective: str, task: Task) -> None:
    """Draw temperature against gamma, and other runs beside this one, where that can be done."""
    try:
        _temperatures(run, row_choice, objective, task)
    except Refused as refusal:
        widgets.caption(f"No picture of T and γ: {refusal.what}. {sentence(refusal.remedy)}")


def _temperatures(run: cache.Run, row_choice: RowChoice, objective: str, task: Task) -> None:
    """Draw the landscape, the best temperatures, and runs before and after their temperature."""
    many = task is Task.MULTILABEL
    label = choices.label(run) if many else 0
    place = st.container()
    others, more = ([], None) if many else beside.picker(run, task)
    runs = {run: row_choice} | {curve_run: cache_posthoc.first(curve_run) for curve_run in others}
    with place:
        left, right = st.columns(2, gap="medium")
    line = cache_posthoc.curve(run, row_choice, objective, label)
    with left:
        computed = cache_posthoc.landscape(run, row_choice, objective, label)
        fit_on = f"part of {row_choice.test}" if row_choice.fit_on == CUT else row_choice.fit_on
        named = NamedRun(run.id, run.name, fit_on, run.file_digest)
        rows = computed.used, computed.rows
        widgets.figure(views.landscape_card(computed.landscape, line, rows, named))
    with right:
        lines = [
            (curve_run.name, mark, cache_posthoc.curve(curve_run, choice, objective, label))
            for (curve_run, choice), mark in zip(
                runs.items(), marks([r.id for r in runs]), strict=True
            )
        ]
        widgets.figure(views.curves_card(lines, np.array(GAMMAS), objective))
    if more is not None and more.open:
        with more:
            beside.draw(runs)
