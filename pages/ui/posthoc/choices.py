"""What is chosen on the post-hoc page: rows, how fits are made, methods, the label."""

from collections.abc import Sequence

import streamlit as st

from core import defaults
from core.calibrators import CALIBRATORS
from core.calibrators.search import PROTOCOLS
from core.configs import OTHER_NAMES
from core.predictions import Task
from core.published import PAPERS, Protocol, published
from core.screens.kit.methods import fitted_as
from core.screens.kit.text import clean
from core.screens.kit.words import with_row_noun
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
from core.studies.published import protocols
from pages.ui import cache, controls, state, widgets
from pages.ui.controls import SPLIT_NAMES

# Searches of one's own, and papers that set more than that
BY = {search: PROTOCOLS[search].label for search in ("exact", "grid", "line")} | PAPERS


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
        with_row_noun(
            "Calibrators must be fitted on images that are not reported. The last option draws "
            "images at random and reports the others."
        ),
    )
    if fit_on != CUT:
        return RowChoice(fit_on, test, SHARE, defaults.SEED)
    percent = _number("Share fitted on, %", "share", (10, 90), 50)
    seed = _number("Seed", "seed", (0, 9999), defaults.SEED)
    return RowChoice(CUT, test, percent / 100, seed)


def fit_settings(task: Task) -> tuple[Protocol, str]:
    """Return how fits are made, and the paper that says so, empty for none.

    Plain words take the defaults.
    """
    if state.plain() or task is Task.TOP_LABEL:
        return Protocol(), ""
    if older := st.query_params.pop("search", ""):  # of older links
        st.query_params["by"] = OTHER_NAMES.get(older, older)
    with st.popover("Fit settings", key="fit.settings"):
        # A link that names another paper than before sets all that it does not name
        linked = st.query_params.get("by")
        if linked in PAPERS and linked != st.session_state.get("set.by"):
            for name in ("objective", "methods"):
                st.session_state.pop(f"set.{name}", None)
        # Those of the papers with an objective of one's own come by a link alone
        offered = BY | ({linked: PROTOCOLS[linked].label} if linked in PROTOCOLS else {})
        by, key = state.choice("by", list(offered), "exact"), state.widget_key("by")
        st.selectbox(
            "Search",
            list(offered),
            format_func=offered.__getitem__,
            key=key,
            on_change=_take_by,
            args=(key,),
            help="Used for both temperature and focal temperature. A paper sets the methods and "
            "what they are fitted by, too.",
        )
        paper = by if by in PAPERS else ""
        of_paper = protocols(published(paper=paper))
        if paper:
            search, known = of_paper["ts"][0].search, [one.objective for one in of_paper["ts"]]
        else:
            tried = _picked(task) or default_methods(task, None)
            fitted_by = {
                one for name in tried for one in CALIBRATORS[name].choices.get("objective", ())
            }
            search, known = by, [one for one in OBJECTIVES if one in fitted_by] or ["nll"]
        objective = known[0]
        if len(known) > 1:
            words = "What the fit minimises. A method that has no such fit keeps its own."
            objective = controls.segments(
                "Fitted by", "objective", known, known[0], OBJECTIVES, words
            )
        widgets.caption(fitted_as(paper, of_paper) if paper else PROTOCOLS[search].words)
        return Protocol(objective, search), paper


def _take_by(key: str) -> None:
    """Take over how fits are made; the methods of a paper and its objective take the place."""
    state.pick("by", "exact", key)
    if st.session_state[key] in PAPERS:
        for name in ("objective", "methods"):
            st.session_state.pop(f"set.{name}", None)
            st.query_params.pop(name, None)


def methods(task: Task, none: MethodReport | None, paper: str) -> list[str]:
    """Return the methods, of those that have a form for the task.

    At first those of the paper, where one is named. Plain words take those of the link, else few,
    chosen for the reader by what `none`, the scores as they were read, are off by.
    """
    offered = methods_of_task(task)
    of_paper = [name for name in protocols(published(paper=paper)) if name in offered]
    defaults_of_task = of_paper or default_methods(
        task, None if none is None else none.compared.audit
    )
    if state.plain():
        return _of(offered, st.query_params.get("methods", "")) or list(defaults_of_task)
    chosen = _picked(task) or list(defaults_of_task)
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


def _picked(task: Task) -> list[str]:
    """Return the methods of the link, else those that were picked before."""
    texts = st.query_params.get("methods", ""), st.session_state.get("set.methods", "")
    return next((of for text in texts if (of := _of(methods_of_task(task), text))), [])


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
