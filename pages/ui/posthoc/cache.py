"""The cached part of the post-hoc page, method by method; keys and scopes as in `cache`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.arrays import Float
from core.defaults import SEED
from core.predictions import Predictions
from core.screens.kit.methods import IN_SENTENCE
from core.screens.posthoc.view import ON_REQUEST
from core.studies import posthoc
from core.studies.innate import InnateCalibration, innate_of_splits
from core.studies.posthoc import (
    NONE,
    SHARE,
    EvaluatedMethod,
    MethodReport,
    PosthocRows,
    RowChoice,
    fit_default,
)
from core.studies.temperatures import (
    TemperatureMap,
    TemperatureMaps,
    temperature_curve,
    temperature_map,
)
from pages.ui import audits, cache, run_studies, steps
from pages.ui.escape import esc
from pages.ui.scoped import Results, cached

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
    # What is kept beside a run was computed another day: of such a run nobody checked the rows.
    if audits.large(run, split) and not run_studies.methods(run):
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
    choice = step.method_choice
    return (choice.method, *_where(step), choice.objective, choice.search)


def _where(step: PosthocStep) -> tuple[dict[str, posthoc.Source], RowChoice]:
    """Return the scores, or where those lie that another process is to load, and the choice."""
    source = audits.source if heavy(step) else cache.predictions
    names = _names(step.run, step.row_choice)
    return {name: source(step.run, name) for name in names}, step.row_choice


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


def _task(method: str) -> str:
    """Return what is being done, as the line over the bar says it."""
    if method == NONE:
        return "Scoring the uncorrected predictions"
    return f"Fitting {IN_SENTENCE[method]} to the predictions"


KIND: steps.StepKind[PosthocStep, EvaluatedMethod] = steps.StepKind(
    name=lambda step: f"{_task(step.method_choice.method)} of {esc(step.run.name)}",
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


@cached(library=64, draft=16, spinner=_MAPPING, keys=cache.KEYS)
def landscape(run: cache.Run, row_choice: RowChoice, objective: str, label: int) -> TemperatureMap:
    """Return the criterion over gamma and temperature, on some rows where there are many."""
    kept = _maps(run, row_choice, objective, label)
    if kept is not None:
        return kept.landscape
    return temperature_map(parts(run, row_choice), objective, label)


@cached(library=64, draft=16, spinner=_MAPPING, keys=cache.KEYS)
def curve(run: cache.Run, row_choice: RowChoice, objective: str, label: int) -> Float:
    """Return the best temperature for each of GAMMAS, on the rows of `landscape`."""
    kept = _maps(run, row_choice, objective, label)
    if kept is not None:
        return kept.curve
    return temperature_curve(parts(run, row_choice), objective, label)


def _maps(
    run: cache.Run, row_choice: RowChoice, objective: str, label: int
) -> TemperatureMaps | None:
    """Return what is kept beside the run: of what the page shows at first."""
    at_first = row_choice == first(run) and (objective, label) == ("nll", 0)
    return run_studies.maps(run) if at_first else None


@dataclass(frozen=True)
class InnateStep:
    """A run before and after temperature scaling, on rows where both are known."""

    run: cache.Run
    row_choice: RowChoice

    def of(self, method: str) -> PosthocStep:
        """Return the step that fits and judges a method on the same rows."""
        return PosthocStep(self.run, self.row_choice, MethodChoice(method))


@st.cache_resource(max_entries=1, show_spinner=False)
def _library_innate() -> Results[InnateStep, InnateCalibration]:
    return Results(64)


@st.cache_resource(scope="session", show_spinner=False)
def _draft_innate() -> Results[InnateStep, InnateCalibration]:
    return Results(16)


def _innate(step: InnateStep) -> Results[InnateStep, InnateCalibration]:
    return _draft_innate() if step.run.draft else _library_innate()


def _innate_call(step: InnateStep) -> tuple[object, ...]:
    before, scaled = (results(step.run).get(step.of(method)) for method in (NONE, "ts"))
    assert before is not None
    return (*_where(step.of("ts")), before.judged, scaled)


INNATE: steps.StepKind[InnateStep, InnateCalibration] = steps.StepKind(
    name=lambda step: f"Comparing the temperatures of {esc(step.run.name)}",
    known=lambda step: _innate(step).get(step),
    keep=lambda step, result: _innate(step).put(step, result),
    heavy=lambda step: heavy(step.of("ts")),
    call=lambda step: (innate_of_splits, _innate_call(step)),
)


def innate_calibrations(
    runs: Mapping[cache.Run, RowChoice], *, begin: bool
) -> dict[cache.Run, InnateCalibration]:
    """Return runs before and after temperature scaling, both of which are known, as `computed`.

    What takes long is begun only where `begin`: nothing else is under way then.
    """
    innate_steps = [InnateStep(run, choice) for run, choice in runs.items()]
    if not begin:
        innate_steps = [
            step for step in innate_steps if INNATE.known(step) or not INNATE.heavy(step)
        ]
    return {step.run: found for step, found in steps.computed(innate_steps, INNATE).items()}
