"""What the post-hoc page computes: methods one by one, and temperature against gamma."""

from collections.abc import Mapping

import streamlit as st

from core.arrays import Float
from core.defaults import SEED
from core.published import Protocol
from core.screens.kit.methods import IN_SENTENCE
from core.screens.kit.numbers import count
from core.screens.posthoc.view import ON_REQUEST
from core.studies import posthoc
from core.studies.posthoc import (
    NONE,
    SHARE,
    EvaluatedMethod,
    MethodReport,
    PosthocRows,
    RowChoice,
    fit_default,
)
from core.studies.precomputed import methods_of
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
from pages.ui import audits, cache
from pages.ui.caching import cached
from pages.ui.compute import Computation, Rows, computed, step
from pages.ui.escape import esc

_MAPPING = "Trying every γ and T"
AT_ONCE = 4  # methods that take long and are begun without being asked: as many as by default


def parts(run: cache.Run, row_choice: RowChoice) -> PosthocRows:
    """Return the rows to fit on and to report; those of a cut are not copied before they are used.

    Of a large run, what a process of its own has read and checked: so once it is computed with.
    """
    names = [part.split for part in _rows(run, row_choice)]
    # What is kept beside a run was computed another day: of such a run nobody checked the rows.
    for name in names:
        if audits.large(run, name) and not stored_methods(run):
            cache.adopt_row_stats(run, name, None)
    splits = {name: cache.predictions(run, name) for name in names}
    return posthoc.parts(
        splits, row_choice.fit_on, row_choice.test, share=row_choice.share, seed=row_choice.seed
    )


def stored_methods(run: cache.Run) -> Mapping[str, EvaluatedMethod]:
    """Return methods, and none, as the page shows them at first: kept beside the run, restored."""
    return {} if audits.stored(run) is None else _restored(run)


@cached(32)
def _restored(run: cache.Run) -> Mapping[str, EvaluatedMethod]:
    kept = audits.stored(run)
    assert kept is not None
    return methods_of(kept)


def _rows(run: cache.Run, row_choice: RowChoice) -> tuple[Rows, ...]:
    """Return the splits that are fitted on or reported; a cut is none."""
    names = {row_choice.fit_on, row_choice.test}
    return tuple(Rows(run, name) for name in run.splits if name in names)


def first(run: cache.Run) -> RowChoice:
    """Return the rows that the page takes at first."""
    return RowChoice(fit_default(run.splits, run.split), run.split, SHARE, SEED)


def method_step(
    run: cache.Run,
    row_choice: RowChoice,
    method: str,
    protocol: Protocol = Protocol(),  # noqa: B008 (frozen)
    reported: str = "nll",
) -> Computation[EvaluatedMethod]:
    """Return the step that fits a method, or none, and judges it."""
    of = "Scoring the uncorrected predictions"
    if method != NONE:
        of = f"Fitting {IN_SENTENCE[method]} to the predictions"
    at_first = (row_choice, protocol, reported) == (first(run), Protocol(), "nll")
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


def uncalibrated(run: cache.Run, row_choice: RowChoice, objective: str) -> MethodReport | None:
    """Return the report of the scores as they were read, once there is one."""
    results = method_step(run, row_choice, NONE, reported=_reported(objective)).computed()
    return results.judged if results else None


def _reported(objective: str) -> str:
    """Return the objective where it is a metric that is not shown otherwise."""
    return objective if objective in ON_REQUEST else "nll"


def evaluated(
    run: cache.Run, row_choice: RowChoice, methods: Mapping[str, Protocol], objective: str
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
def landscape(run: cache.Run, row_choice: RowChoice, objective: str, label: int) -> TemperatureMap:
    """Return the criterion over gamma and temperature, on some rows where there are many."""
    kept = _maps(run, row_choice, objective, label)
    if kept is not None:
        return kept.landscape
    return temperature_map(parts(run, row_choice), objective, label)


@cached(64, spinner=_MAPPING)
def curve(run: cache.Run, row_choice: RowChoice, objective: str, label: int) -> Float:
    """Return the best temperature for each of GAMMAS, on the rows of `landscape`."""
    kept = _maps(run, row_choice, objective, label)
    if kept is not None:
        return kept.curve
    return temperature_curve(parts(run, row_choice), objective, label)


@cached(64, spinner="Trying every T")
def walk(
    run: cache.Run,
    row_choice: RowChoice,
    fitted: tuple[str, float] | None,
    focal: FocalPoint | None,
    gamma: float = 0.0,
) -> TemperatureWalk:
    """Return the reported rows at many temperatures, those that were fitted among them."""
    return temperature_walk(parts(run, row_choice), fitted, focal, gamma)


@cached(64, spinner="Trying every γ")
def gammas(
    run: cache.Run, row_choice: RowChoice, focal: FocalPoint | None, temperature: float
) -> TemperatureWalk:
    """Return the reported rows at many gammas and one temperature."""
    return gamma_walk(parts(run, row_choice), focal, temperature)


def _maps(
    run: cache.Run, row_choice: RowChoice, objective: str, label: int
) -> TemperatureMaps | None:
    """Return what is kept beside the run: of what the page shows at first."""
    at_first = row_choice == first(run) and (objective, label) == ("nll", 0)
    kept = audits.stored(run) if at_first else None
    return None if kept is None else kept.maps


def innate_calibrations(
    runs: Mapping[cache.Run, RowChoice], *, begin: bool
) -> dict[cache.Run, InnateCalibration]:
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
