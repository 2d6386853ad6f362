"""The cached part of the post-hoc page, method by method; keys and scopes as in `cache`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.arrays import Float, Int
from core.calibrators import landscape as maps
from core.defaults import SEED
from core.predictions import Predictions, Task
from core.screens.posthoc.view import ON_REQUEST
from core.screens.posthoc.words import NAMES
from core.studies import posthoc
from core.studies.innate import InnateCalibration
from core.studies.innate import innate_calibration as before_and_after
from core.studies.posthoc import (
    NONE,
    SHARE,
    EvaluatedMethod,
    MethodReport,
    PosthocRows,
    RowChoice,
    fit_default,
)
from pages.ui import audits, cache, run_studies, steps
from pages.ui.escape import esc
from pages.ui.scoped import Results, cached

MAP_CELLS = 50_000  # scores that the landscape is computed from; about a second
MAP_ROWS = 1_000  # at least, where they are there: then on a coarser grid
_MAPPING = "Trying every γ and T"
HEAVY_CELLS = 400_000  # scores; a method on fewer is fitted and judged in a second or two


@dataclass(frozen=True)
class MethodChoice:
    """A method, or none, with its settings."""

    method: str
    objective: str = "nll"
    search: str = "exact"


@dataclass(frozen=True)
class PosthocStep:
    """One thing to compute: a method on a run."""

    run: cache.Run
    row_choice: RowChoice
    method_choice: MethodChoice


def parts(run: cache.Run, row_choice: RowChoice) -> PosthocRows:
    """Return the rows to fit on and to report; those of a cut are not copied before they are used.

    Of a large run, what a process of its own has read and checked: so once it is computed with.
    """
    splits = {name: _rows(run, name) for name in _names(run, row_choice)}
    return posthoc.parts(
        splits, row_choice.fit_on, row_choice.test, share=row_choice.share, seed=row_choice.seed
    )


def _rows(run: cache.Run, split: str) -> Predictions:
    if audits.large(run, split):
        cache.take_over(run, split, None)
    return cache.predictions(run, split)


def _names(run: cache.Run, row_choice: RowChoice) -> list[str]:
    """Return the splits that are fitted on or reported; a cut is none."""
    return [name for name in run.splits if name in {row_choice.fit_on, row_choice.test}]


@st.cache_resource(max_entries=1, show_spinner=False)
def _library_results() -> Results[PosthocStep, EvaluatedMethod]:
    return Results(256)


@st.cache_resource(scope="session", show_spinner=False)
def _draft_results() -> Results[PosthocStep, EvaluatedMethod]:
    return Results(64)


def results(run: cache.Run) -> Results[PosthocStep, EvaluatedMethod]:
    """Return where a run's results are kept; those of a draft belong to its session."""
    return _draft_results() if run.draft else _library_results()


def call(step: PosthocStep) -> tuple[object, ...]:
    """Return the arguments of `core.studies.posthoc.evaluate_splits`."""
    run, choice = step.run, step.method_choice
    source = audits.source if heavy(step) else cache.predictions
    sources = {name: source(run, name) for name in _names(run, step.row_choice)}
    return (choice.method, sources, step.row_choice, choice.objective, choice.search)


def heavy(step: PosthocStep) -> bool:
    """Whether computing it would keep a page waiting: then a process of its own does it."""
    n_rows = sum(step.run.n(name) for name in _names(step.run, step.row_choice))
    return n_rows * len(step.run.class_names) > HEAVY_CELLS


def first(run: cache.Run) -> RowChoice:
    """Return the rows that the page takes at first."""
    return RowChoice(fit_default(run.splits, run.split), run.split, SHARE, SEED)


def known(step: PosthocStep) -> EvaluatedMethod | None:
    """Return what was computed before, or is kept beside the run."""
    result = results(step.run).get(step)
    choice = step.method_choice
    if (
        result is None
        and step.row_choice == first(step.run)
        and (choice.objective, choice.search) == ("nll", "exact")
    ):
        result = run_studies.methods(step.run).get(choice.method)
        if result is not None:
            results(step.run).put(step, result)
    return result


KIND: steps.StepKind[PosthocStep, EvaluatedMethod] = steps.StepKind(
    name=lambda step: f"{NAMES[step.method_choice.method]}, {esc(step.run.name)}",
    known=known,
    keep=lambda step, result: results(step.run).put(step, result),
    heavy=heavy,
    call=lambda step: (posthoc.evaluate_splits, call(step)),
)


def computed(posthoc_steps: Sequence[PosthocStep]) -> dict[PosthocStep, EvaluatedMethod]:
    """Return what is known of these steps; what is not is under way, or stopped, and said so."""
    return steps.computed(posthoc_steps, KIND)


def uncalibrated(run: cache.Run, row_choice: RowChoice, objective: str) -> MethodReport | None:
    """Return the report of the scores as they were read, once there is one.

    The objective is reported where it is a metric that is not shown otherwise.
    """
    choice = MethodChoice(NONE, objective) if objective in ON_REQUEST else MethodChoice(NONE)
    step = PosthocStep(run, row_choice, choice)
    return next((result.judged for result in computed([step]).values()), None)


def evaluated(
    run: cache.Run, row_choice: RowChoice, methods: Sequence[str], objective: str, search: str
) -> dict[str, EvaluatedMethod]:
    """Return what is known of these methods, as `computed`."""
    choices = [MethodChoice(method, objective, search) for method in methods]
    results = computed([PosthocStep(run, row_choice, choice) for choice in choices])
    return {step.method_choice.method: result for step, result in results.items()}


@dataclass(frozen=True)
class ComputedLandscape:
    """A landscape, the rows it was computed on, and the rows there are."""

    landscape: maps.Landscape
    used: int
    rows: int


@cached(library=64, draft=16, spinner=_MAPPING, keys=cache.KEYS)
def landscape(
    run: cache.Run, row_choice: RowChoice, objective: str, label: int
) -> ComputedLandscape:
    """Return the criterion over gamma and temperature, on some rows where there are many."""
    rows = parts(run, row_choice)
    logits, labels, weights = _some(rows, label)
    step = 1 if logits.size <= MAP_CELLS else 2
    grid = maps.landscape(
        logits,
        labels,
        weights=weights,
        objective=objective,
        gammas=maps.GAMMAS[step - 1 :: step],  # with 0 either way
        temperatures=maps.TEMPERATURES[::step],
    )
    return ComputedLandscape(grid, len(labels), rows.n_fit)


@cached(library=64, draft=16, spinner=_MAPPING, keys=cache.KEYS)
def curve(run: cache.Run, row_choice: RowChoice, objective: str, label: int) -> Float:
    """Return the best temperature for each of GAMMAS, on the rows of `landscape`."""
    logits, labels, weights = _some(parts(run, row_choice), label)
    return maps.temperature_curve(logits, labels, weights=weights, objective=objective)


def _some(rows: PosthocRows, label: int) -> tuple[npt.NDArray[np.floating], Int, Float | None]:
    """Return logits, labels and weights of some fitting rows, drawn at random where many count."""
    weights = rows.fit_weights
    row_numbers = np.arange(rows.n_fit) if weights is None else np.flatnonzero(weights)
    n = min(row_numbers.size, max(MAP_ROWS, MAP_CELLS // rows.fit_from.n_classes))
    at = row_numbers[np.sort(np.random.default_rng(0).permutation(row_numbers.size)[:n])]
    some = rows.some_fit(at)
    own = None if weights is None else weights[at]
    logits = posthoc.logits_of(some)
    if some.task is Task.MULTILABEL:
        return logits[:, label], some.labels[:, label], own
    return logits, some.labels, own


def innate_calibration(run: cache.Run, row_choice: RowChoice) -> InnateCalibration:
    """Return a run before and after temperature scaling, both computed before."""
    computed = results(run)
    before, scaled = (
        computed.get(PosthocStep(run, row_choice, MethodChoice(method))) for method in (NONE, "ts")
    )
    assert before is not None
    assert before.judged is not None
    assert scaled is not None
    return before_and_after(parts(run, row_choice).test, before.judged, scaled)
