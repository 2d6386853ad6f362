"""Other runs beside the open one on the post-hoc page: before and after their temperature."""

from collections.abc import Mapping

import streamlit as st

from core.calibrators.innate import InnateCalibration
from core.calibrators.posthoc import NONE
from core.errors import LibraryError
from core.figures.runs import marks
from core.predictions import Task
from core.views import innate as views
from core.views.records import ScoreRow
from pages.ui import cache, cache_posthoc, fitting, session, state, widgets
from pages.ui.cache_posthoc import MethodChoice, PosthocStep, RowChoice

MOST = 11  # beside the open one
LISTED = 200


def picker(run: cache.Run, task: Task) -> list[cache.Run]:
    """Draw the choice of other runs of the same task; drafts stay out of the link."""
    drafts = session.drafts().values()
    names = {
        draft.id: f"{draft.name} (draft)"
        for draft in drafts
        if draft.result.splits[draft.result.chosen_split].task is task
    }
    names |= {row.id: row.name for row in cache.openable(LISTED) if row.task == task}
    names.pop(run.id, None)
    names = state.apart(names)
    kept = [one for one in st.session_state.get("set.beside", []) if one in names]
    linked = [one for one in st.query_params.get("beside", "").split(",") if one in names]
    same = linked == [one for one in kept if one not in session.drafts()]
    chosen = kept if same or not linked else linked
    _keep(chosen)
    st.session_state["widget.beside"] = chosen
    st.multiselect(
        "Other runs beside it",
        list(names),
        key="widget.beside",
        format_func=lambda run_id: names.get(run_id, run_id),
        max_selections=MOST,
        placeholder="Pick runs trained with other losses",
        on_change=lambda: _keep(st.session_state["widget.beside"]),
        help="Each is fitted on its own validation split, or on half of its only one.",
    )
    return [found for found in map(_found, chosen) if found is not None]


def _keep(ids: list[str]) -> None:
    st.session_state["set.beside"] = list(ids)
    linked = [one for one in ids if one not in session.drafts()]
    if linked:
        st.query_params["beside"] = ",".join(linked)
    else:
        st.query_params.pop("beside", None)


def _found(run_id: str) -> cache.Run | None:
    """Return a run, or None for one that was deleted meanwhile."""
    try:
        return cache.find(run_id)
    except LibraryError:
        return None


def draw(runs: Mapping[cache.Run, RowChoice]) -> None:
    """Draw the table of runs before and after their temperature."""
    widgets.title("Trained for calibration, or calibrated afterwards", "each run with its own T")
    steps = [
        PosthocStep(run, where, MethodChoice(method))
        for run, where in runs.items()
        for method in (NONE, "ts")
    ]
    known = fitting.computed(steps)
    found: dict[cache.Run, InnateCalibration] = {}
    for run, where in runs.items():
        scaled = known.get(PosthocStep(run, where, MethodChoice("ts")))
        if scaled is None:
            continue
        if scaled.judged is None:
            widgets.caption(f"{run.name}: {scaled.fit.refusal if scaled.fit else ''}.")
        else:
            found[run] = cache_posthoc.innate(run, where)
    if not found:
        return
    badges = dict(zip(runs, marks([run.id for run in runs]), strict=True))
    named = [(run.name, one) for run, one in found.items()]
    widgets.second(views.summary(dict(named)))
    rows = [
        ScoreRow(run.name, views.innate_cells(one), mark=badges[run]) for run, one in found.items()
    ]
    widgets.scores("Runs before and after their temperature", views.HEADS, rows)
    widgets.save(views.innate_table(named), "before_and_after")
    widgets.caption(views.CAPTION)
