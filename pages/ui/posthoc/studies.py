"""What is chosen on the post-hoc page, and computed: methods one by one, temperature by gamma."""

from collections.abc import Mapping, Sequence

import streamlit as st

from core import defaults
from core.arrays import Float
from core.calibrators import CALIBRATORS
from core.calibrators.search import PROTOCOLS
from core.configs import OTHER_NAMES
from core.defaults import SEED
from core.predictions import Task
from core.published import PAPERS, FitProtocol, published
from core.screens.kit.methods import IN_SENTENCE, fitted_as
from core.screens.kit.numbers import count
from core.screens.kit.text import clean
from core.screens.kit.words import with_row_noun
from core.screens.posthoc.view import ON_REQUEST
from core.screens.posthoc.words import NAMES, OBJECTIVES
from core.studies import posthoc
from core.studies.posthoc import (
    CUT,
    NONE,
    SHARE,
    EvaluatedMethod,
    MethodReport,
    PosthocRows,
    RowChoice,
    default_methods,
    fit_default,
    methods_of_task,
)
from core.studies.precomputed import methods_of
from core.studies.published import protocols
from core.studies.temperatures import (
    FocalPoint,
    InnateCalibration,
    TemperatureMap,
    TemperatureMaps,
    TemperatureWalk,
    gamma_walk,
    innate_of_splits,
    temperature_curve,
    temperature_map,
    temperature_walk,
)
from pages.ui import audits, open_runs, state, widgets
from pages.ui.caching import cached
from pages.ui.compute import Computation, Rows, computed, step
from pages.ui.markup import esc
from pages.ui.widgets import SPLIT_NAMES

_MAPPING = "Trying every γ and T"
AT_ONCE = 4  # methods that take long and are begun without being asked: as many as by default


def parts(run: open_runs.Run, row_choice: RowChoice) -> PosthocRows:
    """Return the rows to fit on and to report; those of a cut are not copied before they are used.

    Of a large run, what a process of its own has read and checked: so once it is computed with.
    """
    names = [part.split for part in _rows(run, row_choice)]
    # What is kept beside a run was computed another day: of such a run nobody checked the rows.
    for name in names:
        if audits.large(run, name) and not stored_methods(run):
            open_runs.adopt_row_stats(run, name, None)
    splits = {name: open_runs.predictions(run, name) for name in names}
    return posthoc.parts(
        splits, row_choice.fit_on, row_choice.test, share=row_choice.share, seed=row_choice.seed
    )


def stored_methods(run: open_runs.Run) -> Mapping[str, EvaluatedMethod]:
    """Return methods, and none, as the page shows them at first: kept beside the run, restored."""
    return {} if audits.stored(run) is None else _restored(run)


@cached(32)
def _restored(run: open_runs.Run) -> Mapping[str, EvaluatedMethod]:
    kept = audits.stored(run)
    assert kept is not None
    return methods_of(kept)


def _rows(run: open_runs.Run, row_choice: RowChoice) -> tuple[Rows, ...]:
    """Return the splits that are fitted on or reported; a cut is none."""
    names = {row_choice.fit_on, row_choice.test}
    return tuple(Rows(run, name) for name in run.splits if name in names)


def first(run: open_runs.Run) -> RowChoice:
    """Return the rows that the page takes at first."""
    return RowChoice(fit_default(run.splits, run.split), run.split, SHARE, SEED)


def method_step(
    run: open_runs.Run,
    row_choice: RowChoice,
    method: str,
    protocol: FitProtocol = FitProtocol(),  # noqa: B008 (frozen)
    reported: str = "nll",
) -> Computation[EvaluatedMethod]:
    """Return the step that fits a method, or none, and judges it."""
    of = "Scoring the uncorrected predictions"
    if method != NONE:
        of = f"Fitting {IN_SENTENCE[method]} to the predictions"
    at_first = (row_choice, protocol, reported) == (first(run), FitProtocol(), "nll")
    return step(
        posthoc.evaluate_splits,
        method,
        _rows(run, row_choice),
        row_choice,
        protocol.objective,
        protocol.search,
        reported,
        words=f"{of} of {esc(run.name)}",
        stored=lambda: stored_methods(run).get(method) if at_first else None,
    )


def uncalibrated(run: open_runs.Run, row_choice: RowChoice, objective: str) -> MethodReport | None:
    """Return the report of the scores as they were read, once there is one."""
    results = method_step(run, row_choice, NONE, reported=_reported(objective)).computed()
    return results.judged if results else None


def _reported(objective: str) -> str:
    """Return the objective where it is a metric that is not shown otherwise."""
    return objective if objective in ON_REQUEST else "nll"


def evaluated(
    run: open_runs.Run, row_choice: RowChoice, methods: Mapping[str, FitProtocol], objective: str
) -> dict[str, EvaluatedMethod]:
    """Return what is known of these methods, each with how it is fitted, as `computed`.

    The objective is reported of all. Many that take long are begun only once somebody has read what
    they cost.
    """
    reported = _reported(objective)
    steps = {
        method: method_step(run, row_choice, method, protocol, reported)
        for method, protocol in methods.items()
    }
    left = [step for step in steps.values() if step.heavy and step.known is None]
    place, agreed = "app.fits_agreed", (run.id, row_choice)
    if len(left) > AT_ONCE and st.session_state.get(place) != agreed:
        rows = sum(run.n(part.split) for part in _rows(run, row_choice))
        size = f"{count(rows)} rows of {count(len(run.class_names))} classes"
        st.markdown(f"{len(left)} fits on {size}, one after another. Some take minutes each.")
        if st.button(f"Fit {len(left)} methods", type="primary", key="posthoc.fit_many"):
            st.session_state[place] = agreed
        else:
            steps = {method: step for method, step in steps.items() if step.known is not None}
    results = computed(list(steps.values()))
    return {method: results[step] for method, step in steps.items() if step in results}


@cached(64, spinner=_MAPPING)
def landscape(
    run: open_runs.Run, row_choice: RowChoice, objective: str, label: int
) -> TemperatureMap:
    """Return the criterion over gamma and temperature, on some rows where there are many."""
    kept = _maps(run, row_choice, objective, label)
    if kept is not None:
        return kept.landscape
    return temperature_map(parts(run, row_choice), objective, label)


@cached(64, spinner=_MAPPING)
def curve(run: open_runs.Run, row_choice: RowChoice, objective: str, label: int) -> Float:
    """Return the best temperature for each of GAMMAS, on the rows of `landscape`."""
    kept = _maps(run, row_choice, objective, label)
    if kept is not None:
        return kept.curve
    return temperature_curve(parts(run, row_choice), objective, label)


@cached(64, spinner="Trying every T")
def walk(
    run: open_runs.Run,
    row_choice: RowChoice,
    fitted: tuple[str, float] | None,
    focal: FocalPoint | None,
    gamma: float = 0.0,
) -> TemperatureWalk:
    """Return the reported rows at many temperatures, those that were fitted among them."""
    return temperature_walk(parts(run, row_choice), fitted, focal, gamma)


@cached(64, spinner="Trying every γ")
def gammas(
    run: open_runs.Run, row_choice: RowChoice, focal: FocalPoint | None, temperature: float
) -> TemperatureWalk:
    """Return the reported rows at many gammas and one temperature."""
    return gamma_walk(parts(run, row_choice), focal, temperature)


def _maps(
    run: open_runs.Run, row_choice: RowChoice, objective: str, label: int
) -> TemperatureMaps | None:
    """Return what is kept beside the run: of what the page shows at first."""
    at_first = row_choice == first(run) and (objective, label) == ("nll", 0)
    kept = audits.stored(run) if at_first else None
    return None if kept is None else kept.maps


def innate_calibrations(
    runs: Mapping[open_runs.Run, RowChoice], *, begin: bool
) -> dict[open_runs.Run, InnateCalibration]:
    """Return runs before and after temperature scaling, both of which are known, as `computed`.

    What takes long is begun only where `begin`: nothing else is under way then.
    """
    steps = {
        run: step(
            innate_of_splits,
            _rows(run, choice),
            choice,
            *(method_step(run, choice, method) for method in (NONE, "ts")),
            words=f"Comparing the temperatures of {esc(run.name)}",
            most=64,
        )
        for run, choice in runs.items()
    }
    results = computed([of for of in steps.values() if begin or of.known or not of.heavy])
    return {run: results[of] for run, of in steps.items() if of in results}


# What is chosen.
# Searches of one's own, and papers that set more than that
BY = {search: PROTOCOLS[search].label for search in ("exact", "grid", "line")} | PAPERS


def rows(run: open_runs.Run, test: str) -> RowChoice:
    """Return the rows to fit on, and those of the split that is reported."""
    options = [*run.splits, CUT]
    default = fit_default(run.splits, test)
    words = {**SPLIT_NAMES, CUT: f"Part of the {test} set"}
    fit_on = widgets.segments(
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


def fit_settings(task: Task) -> tuple[FitProtocol, str]:
    """Return how fits are made, and the paper that says so, empty for none.

    Plain words take the defaults.
    """
    if state.plain() or task is Task.TOP_LABEL:
        return FitProtocol(), ""
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
            objective = widgets.segments(
                "Fitted by", "objective", known, known[0], OBJECTIVES, words
            )
        widgets.caption(fitted_as(paper, of_paper) if paper else PROTOCOLS[search].words)
        return FitProtocol(objective, search), paper


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


def label(run: open_runs.Run) -> int:
    """Return the label whose landscape is shown."""
    options = {str(k): clean(name) for k, name in enumerate(run.class_names)}
    return int(widgets.select("Finding", "of", options, "0", width=260))


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
