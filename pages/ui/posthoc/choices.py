"""What is chosen on the post-hoc page: rows, how fits are made, methods, the label."""

from collections.abc import Sequence

import streamlit as st

from core import defaults
from core.calibrators import CALIBRATORS
from core.calibrators.protocols import PROTOCOLS
from core.configs import OTHER_NAMES
from core.predictions import Task
from core.screens.kit import row_noun
from core.screens.kit.text import clean
from core.screens.posthoc.words import NAMES, OBJECTIVES
from core.studies.posthoc import (
    CUT,
    SHARE,
    MethodReport,
    RowChoice,
    default_methods,
    fit_default,
    methods_of_task,
)
from pages.ui import cache, controls, state, widgets
from pages.ui.controls import SPLIT_NAMES

SEARCHES = {search: protocol.label for search, protocol in PROTOCOLS.items()}


def rows(run: cache.Run, test: str) -> RowChoice:
    """Return the rows to fit on, and those of the split that is reported."""
    options = [*run.splits, CUT]
    default = fit_default(run.splits, test)
    words = {**SPLIT_NAMES, CUT: f"Part of the {test} set"}
    fit_on = controls.segments(
        "Fitted on",
        "fit",
        options,
        default,
        words,
        row_noun.with_row_noun(
            "Calibrators must be fitted on images that are not reported. The last option draws "
            "images at random and reports the others."
        ),
    )
    if fit_on != CUT:
        return RowChoice(fit_on, test, SHARE, defaults.SEED)
    percent = _number("Share fitted on, %", "share", (10, 90), 50)
    seed = _number("Seed", "seed", (0, 9999), defaults.SEED)
    return RowChoice(CUT, test, percent / 100, seed)


def fit_settings(task: Task) -> tuple[str, str]:
    """Return what fits minimise, and how they search; plain words take the defaults."""
    if state.plain() or task is Task.TOP_LABEL:
        return "nll", "exact"
    with st.popover("Fit settings", key="fit.settings"):
        objective = controls.segments(
            "Fitted by",
            "objective",
            list(OBJECTIVES),
            "nll",
            OBJECTIVES,
            "What the fit minimises. Temperature, the focal map and focal temperature can use any "
            "of these. Every other method has its own.",
        )
        linked = st.query_params.get("search", "")
        if linked in OTHER_NAMES:
            st.query_params["search"] = OTHER_NAMES[linked]
        search = controls.segments(
            "Search",
            "search",
            list(SEARCHES),
            "exact",
            SEARCHES,
            "Used for both temperature and focal temperature.",
        )
        widgets.caption(PROTOCOLS[search].words)
        return objective, search


def methods(task: Task, none: MethodReport | None) -> list[str]:
    """Return the methods, of those that have a form for the task.

    Plain words take those of the link, else few, chosen for the reader by what `none`, the scores
    as they were read, are off by.
    """
    offered = methods_of_task(task)
    defaults_of_task = default_methods(task, None if none is None else none.compared.audit)
    linked = _of(offered, st.query_params.get("methods", ""))
    if state.plain():
        return linked or list(defaults_of_task)
    chosen = linked or _of(offered, st.session_state.get("set.methods", ""))
    chosen = chosen or list(defaults_of_task)
    _keep_methods(chosen, defaults_of_task)
    st.session_state["widget.methods"] = chosen
    *first, last = (NAMES[name] for name in offered if not CALIBRATORS[name].keeps_accuracy)
    changing = f"{', '.join(first)} and {last}" if first else last
    st.multiselect(
        "Methods",
        offered,
        key="widget.methods",
        format_func=lambda name: NAMES[name] + (" (Platt)" if name == "vector" else ""),
        placeholder="Pick methods",
        on_change=lambda: _keep_methods(
            st.session_state["widget.methods"] or defaults_of_task, defaults_of_task
        ),
        help=f"Compared with none, the scores as they were read. {changing} may change answers.",
    )
    return chosen


def _of(offered: Sequence[str], text: str) -> list[str]:
    """Return the methods that a text names, of those on offer."""
    return [name for name in dict.fromkeys(text.split(",")) if name in offered]


def label(run: cache.Run) -> int:
    """Return the label whose landscape is shown."""
    options = {str(k): clean(name) for k, name in enumerate(run.class_names)}
    return int(controls.select("Finding", "of", options, "0", width=260))


def _keep_methods(methods: Sequence[str], defaults_of_task: Sequence[str]) -> None:
    text = ",".join(methods)
    if text == ",".join(defaults_of_task):  # another run may have other defaults
        st.session_state.pop("set.methods", None)
        st.query_params.pop("methods", None)
    else:
        st.session_state["set.methods"] = st.query_params["methods"] = text


def _number(label: str, name: str, ends: tuple[int, int], default: int) -> int:
    """Draw a whole number that lives in the link."""
    text = st.query_params.get(name, str(st.session_state.get(f"set.{name}", default)))
    low, high = ends
    whole = text.isdecimal() and len(text) <= len(str(high))
    value = int(text) if whole and low <= int(text) <= high else default
    st.session_state[f"widget.{name}"] = value
    st.number_input(
        label,
        low,
        high,
        key=f"widget.{name}",
        on_change=state.pick,
        args=(name, str(default)),
        width=130,
    )
    return value
