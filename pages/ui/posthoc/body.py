"""The post-hoc page: its controls, the table, the diagrams, the landscape and the downloads."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from core import defaults
from core.calibrators import CALIBRATORS
from core.calibrators.base import Json
from core.calibrators.export import code
from core.calibrators.landscape import GAMMAS
from core.calibrators.protocols import PROTOCOLS
from core.calibrators.stored import to_json
from core.codes import NoticeCode
from core.configs import OTHER_NAMES
from core.errors import Notice, Refused
from core.library.export import npz_bytes
from core.predictions import Task
from core.screens.kit.differences import NamedRun
from core.screens.kit.methods import parameters
from core.screens.kit.records import Phrase, Sentence
from core.screens.kit.run_marks import marks
from core.screens.posthoc import view as views
from core.screens.posthoc.view import PosthocView
from core.screens.posthoc.words import MEANINGS, NAMES, OBJECTIVES
from core.screens.reliability.view import KEY
from core.studies.posthoc import (
    CUT,
    DEFAULT_METHODS,
    NONE,
    SHARE,
    Fit,
    MethodReport,
    PosthocRows,
    calibrated_splits,
    fit_default,
    provenance,
)
from pages.ui import cache, controls, drafts, frame, pieces, state, widgets
from pages.ui.posthoc import beside
from pages.ui.posthoc import cache as cache_posthoc
from pages.ui.posthoc.cache import MethodChoice, PosthocStep, RowChoice

SMALL_WIDTH = 246
SPLIT_NAMES = controls.SPLIT_NAMES
RECALIBRATE = ("isotonic", "beta")  # for scores that are no probabilities
SAID_ELSEWHERE = (NoticeCode.CUT,)  # over the sentence
SEARCHES = {search: protocol.label for search, protocol in PROTOCOLS.items()}


def draw(run: cache.Run) -> None:
    """Draw the page."""
    rows = cache.predictions(run, run.split)
    if rows.task is Task.TOP_LABEL:
        raise Refused(
            "CLASSES",
            "this run holds the confidence of the answer only; calibrators need every class",
            "upload a file with the scores of every class",
        )
    top = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        row_choice = _choose_rows(run)
        objective, search = ("nll", "exact") if state.plain() else _choose_fit_settings()
    if not state.plain():
        widgets.caption(PROTOCOLS[search].words)
    place = st.container()
    baseline = cache_posthoc.computed([PosthocStep(run, row_choice, _as_read(objective))])
    none = next((evaluated.judged for evaluated in baseline.values()), None)
    odd = none is not None and _rescaled(none)
    with place:
        methods = _plain_methods(odd=odd) if state.plain() else _methods(rows.task)
    if none is None:
        with top:
            widgets.sentence(Sentence((Phrase(f"Looking at “{run.name}”."),)))
        return
    steps = [
        PosthocStep(run, row_choice, MethodChoice(method, objective, search)) for method in methods
    ]
    results = cache_posthoc.computed(steps)
    fits = [evaluated.fit for evaluated in results.values() if evaluated.fit is not None]
    judged = {NONE: none}
    judged |= {
        s.method_choice.method: evaluated.judged
        for s, evaluated in results.items()
        if evaluated.judged is not None
    }
    parts = cache_posthoc.parts(run, row_choice)
    named = NamedRun(run.id, run.name, parts.test_name, run.file_digest)
    draw_view = views.plain_view if state.plain() else views.posthoc_view
    view = draw_view(named, parts, fits, judged)
    if not results:
        view = replace(view, sentence=Sentence((Phrase("Fitting the first method."),)))
    with top:
        _head(run, view, (*parts.notices, *none.compared.audit.notices))
        if odd and not state.plain() and tuple(methods) != RECALIBRATE:
            _offer_recalibration()
    _diagrams(view)
    widgets.scores("Scores of the methods", view.table.heads, view.table.written())
    widgets.save(view.table.file, "posthoc", "All numbers, CSV")
    widgets.caption(view.caption)
    if not state.plain() and len(results) == len(steps):
        _more(run, row_choice, objective, fits, parts)


def _more(
    run: cache.Run, row_choice: RowChoice, objective: str, fits: Sequence[Fit], parts: PosthocRows
) -> None:
    """Draw what follows once every method is there."""
    try:
        _pictures(run, row_choice, objective, parts.fit.task)
    except Refused as refusal:
        widgets.caption(f"No picture of T and γ: {refusal.what}; {refusal.remedy}.")
    _take_away(run, fits, provenance(parts))
    _meanings([fit.method for fit in fits])


def _as_read(objective: str) -> MethodChoice:
    """Return none, with the objective where it is a metric that is not shown otherwise."""
    return MethodChoice(NONE, objective) if objective in views.ON_REQUEST else MethodChoice(NONE)


def _rescaled(none: MethodReport) -> bool:
    return NoticeCode.NOT_PROBABILITY in {note.code for note in none.compared.audit.notices}


def _plain_methods(*, odd: bool) -> list[str]:
    """Return what plain words speak of: few methods, chosen for the reader."""
    return list(RECALIBRATE if odd else DEFAULT_METHODS)


def _head(run: cache.Run, view: PosthocView, notices: Sequence[Notice]) -> None:
    widgets.eyebrow(view.eyebrow, controls.chip(run))
    widgets.sentence(view.sentence)
    drafts.bar(run)
    frame.notices(tuple(note for note in notices if note.code not in SAID_ELSEWHERE))


def _offer_recalibration() -> None:
    st.button(
        "Recalibrate these scores",
        type="primary",
        key="posthoc.recalibrate",
        on_click=_keep_methods,
        args=(RECALIBRATE,),
    )


def _choose_rows(run: cache.Run) -> RowChoice:
    """Draw the choice of the rows to fit on and to report."""
    test = run.split
    if len(run.splits) > 1:
        test = controls.segments("Reported on", "test", run.splits, run.split, SPLIT_NAMES)
    options = [*run.splits, CUT]
    default = fit_default(run.splits, test)
    words = {**SPLIT_NAMES, CUT: "Part of it" if len(run.splits) == 1 else "Part of the reported"}
    fit_on = controls.segments(
        "Fitted on",
        "fit",
        options,
        default,
        words,
        "Calibrators must be fitted on rows that are not reported. Part of it: rows drawn at "
        "random; the others are reported.",
    )
    if fit_on != CUT:
        return RowChoice(fit_on, test, SHARE, defaults.SEED)
    percent = _number("Share fitted on, %", "share", (10, 90), 50)
    seed = _number("Seed", "seed", (0, 9999), defaults.SEED)
    return RowChoice(CUT, test, percent / 100, seed)


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


def _choose_fit_settings() -> tuple[str, str]:
    """Draw the choice of what fits minimise, and how they search."""
    objective = controls.segments(
        "Fitted by",
        "objective",
        list(OBJECTIVES),
        "nll",
        OBJECTIVES,
        "What the fit makes small on its own rows; temperature, the focal map and both together "
        "can be fitted by any of them, the other methods have one of their own.",
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
        "One for temperature and focal temperature alike: what it tries stands below.",
    )
    return objective, search


def _methods(task: Task) -> list[str]:
    """Draw the choice of methods; those without a form for the task are not offered."""
    offered = [name for name, kind in CALIBRATORS.items() if task in kind.tasks]
    default = ",".join(DEFAULT_METHODS)
    text = st.query_params.get("methods") or st.session_state.get("set.methods", default)
    chosen = [name for name in dict.fromkeys(text.split(",")) if name in offered]
    chosen = chosen or list(DEFAULT_METHODS)
    _keep_methods(chosen)
    st.session_state["widget.methods"] = chosen
    st.multiselect(
        "Methods",
        offered,
        key="widget.methods",
        format_func=_method_name,
        placeholder="Pick methods",
        on_change=lambda: _keep_methods(st.session_state["widget.methods"] or DEFAULT_METHODS),
        help="Compared with none, the scores as they were read.",
    )
    return chosen


def _method_name(method: str) -> str:
    mark = "" if CALIBRATORS[method].keeps_accuracy else " · may change answers"
    return f"{NAMES[method]}{mark}"


def _keep_methods(methods: Sequence[str]) -> None:
    text = ",".join(methods)
    st.session_state["set.methods"] = text
    if text == ",".join(DEFAULT_METHODS):
        st.query_params.pop("methods", None)
    else:
        st.query_params["methods"] = text


def _diagrams(view: PosthocView) -> None:
    if not view.diagrams:
        return
    with st.container(horizontal=True, key="small"):
        for name, words, card in view.diagrams:
            with st.container(key=f"small.{card.key}", width=SMALL_WIDTH, gap="xsmall"):
                pieces.draw("small_title", None, name, words)
                widgets.figure(card, titled=False)
    widgets.key(KEY)


def _finding(run: cache.Run) -> int:
    """Draw the choice of the label whose landscape is shown."""
    options = [str(k) for k in range(len(run.class_names))]
    label = state.choice("of", options, "0")
    st.selectbox(
        "Finding",
        options,
        key="widget.of",
        format_func=lambda k: run.class_names[int(k)],
        on_change=state.pick,
        args=("of", "0"),
        width=260,
    )
    return int(label)


def _pictures(run: cache.Run, row_choice: RowChoice, objective: str, task: Task) -> None:
    """Draw the landscape, the best temperatures, and runs before and after their temperature."""
    many = task is Task.MULTILABEL
    label = _finding(run) if many else 0
    place = st.container()
    others = [] if many else beside.picker(run, task)
    runs = {run: row_choice} | {curve_run: _own(curve_run) for curve_run in others}
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
    if not many:
        beside.draw(runs)


def _own(run: cache.Run) -> RowChoice:
    """Return the rows that another run is fitted and reported on by default."""
    return RowChoice(fit_default(run.splits, run.split), run.split, SHARE, defaults.SEED)


def _take_away(run: cache.Run, fits: Sequence[Fit], fitted_on: dict[str, Json]) -> None:
    """Offer a fitted method as parameters, as code, and the predictions after it."""
    fitted = {fit.method: fit.calibrator for fit in fits if fit.calibrator is not None}
    if not fitted:
        return
    widgets.title("Take it with you", "python -m core apply reads the parameters")
    with st.container(horizontal=True, vertical_alignment="bottom", key="take"):
        method = st.segmented_control(
            "Method",
            list(fitted),
            default=next(iter(fitted)),
            required=True,
            format_func=NAMES.__getitem__,
            key=f"take.{'.'.join(fitted)}",
        )
        calibrator = fitted[method]
        # Read here: a download is made outside the session, which alone can read its drafts.
        splits = {name: cache.predictions(run, name) for name in run.splits}
        st.download_button(
            "Parameters, JSON",
            lambda: json.dumps(to_json(calibrator, fitted_on), allow_nan=False),
            f"candor_{method}.json",
            "application/json",
            key="take.json",
            on_click="ignore",
        )
        st.download_button(
            "Code, Python",
            lambda: code(calibrator),
            f"candor_{method}.py",
            "text/x-python",
            key="take.code",
            on_click="ignore",
        )
        st.download_button(
            "Calibrated predictions, NPZ",
            lambda: npz_bytes(calibrated_splits(calibrator, splits)),
            f"candor_{method}.npz",
            "application/octet-stream",
            key="take.npz",
            on_click="ignore",
        )
    chosen = next(fit for fit in fits if fit.method == method)
    by = f", which count by {fitted_on['weights']}" if "weights" in fitted_on else ""
    summary = f"{parameters(chosen)}; fitted on {fitted_on['rows']} rows{by}."
    widgets.caption(f"{NAMES[method]}: {summary}")


def _meanings(methods: Sequence[str]) -> None:
    with st.expander("What these methods do", key="details.words"):
        widgets.meanings(
            (NAMES[method], f"{MEANINGS[method]} {CALIBRATORS[method].source}.")
            for method in methods
        )
