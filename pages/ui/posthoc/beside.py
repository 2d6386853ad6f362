"""Other runs beside the open one on the post-hoc page: before and after their temperature."""

from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

from core.errors import LibraryError
from core.predictions import Task
from core.screens.kit.run_marks import marks
from core.screens.posthoc import innate
from core.studies.posthoc import NONE, RowChoice
from pages.ui import cache, picked_runs, session, state, widgets
from pages.ui.compute import computed
from pages.ui.posthoc import cache as cache_posthoc
from pages.ui.posthoc.cache import MethodChoice, method_step

MOST = 11  # beside the open one
LISTED = 200


def picker(run: cache.Run, task: Task) -> tuple[list[cache.Run], ExpanderContainer]:
    """Draw the choice of other runs of the same task; return them, and where it is folded.

    Drafts stay out of the link.
    """
    drafts = session.drafts().values()
    names = {
        draft.id: f"{draft.name} (draft)"
        for draft in drafts
        if draft.result.splits[draft.result.chosen_split].task is task
    }
    names |= {row.id: row.name for row in cache.openable(LISTED) if row.task == task}
    names.pop(run.id, None)
    names = state.distinct_names(names)
    remembered = [run_id for run_id in st.session_state.get("set.beside", []) if run_id in names]
    linked = [run_id for run_id in st.query_params.get("beside", "").split(",") if run_id in names]
    same = linked == [run_id for run_id in remembered if run_id not in session.drafts()]
    chosen = remembered if same or not linked else linked
    _keep(chosen)
    st.session_state["widget.beside"] = chosen
    more = st.expander(
        "Trained for calibration, or calibrated afterwards: this run and others",
        key="posthoc.beside",
        expanded=bool(chosen),
        on_change="rerun",
    )
    more.multiselect(
        "Other runs beside it",
        list(names),
        key="widget.beside",
        format_func=lambda run_id: names.get(run_id, run_id),
        max_selections=MOST,
        placeholder="Pick runs trained with other losses",
        on_change=lambda: _keep(st.session_state["widget.beside"]),
        help="Each is fitted on its own validation split; a run with one split, on half of it.",
    )
    return [other for other in map(_find_run, chosen) if other is not None], more


def _keep(ids: Sequence[str]) -> None:
    picked_runs.keep("set.beside", "beside", ids)


def _find_run(run_id: str) -> cache.Run | None:
    """Return a run, or None for one that was deleted meanwhile."""
    try:
        return cache.find(run_id)
    except LibraryError:
        return None


def draw(runs: Mapping[cache.Run, RowChoice]) -> None:
    """Draw the table of runs before and after their temperature."""
    steps = [
        method_step(run, row_choice, MethodChoice(method))
        for run, row_choice in runs.items()
        for method in (NONE, "ts")
    ]
    known = computed(steps)
    judged: dict[cache.Run, RowChoice] = {}
    for run, row_choice in runs.items():
        scaled = known.get(method_step(run, row_choice, MethodChoice("ts")))
        if scaled is None:
            continue
        if scaled.judged is None:
            widgets.caption(f"{run.name}: {scaled.fit.refusal if scaled.fit else ''}.")
        else:
            judged[run] = row_choice
    calibrations = cache_posthoc.innate_calibrations(judged, begin=len(known) == len(steps))
    if not calibrations:
        return
    badges = dict(zip(runs, marks([run.id for run in runs]), strict=True))
    widgets.second(
        innate.summary({run.name: run_calibration for run, run_calibration in calibrations.items()})
    )
    table = innate.innate_table(
        [(run.name, badges[run], calibration) for run, calibration in calibrations.items()]
    )
    widgets.scores("Runs before and after their temperature", table.heads, table.written())
    widgets.save(table.file, "before_and_after")
    widgets.caption(innate.CAPTION)
