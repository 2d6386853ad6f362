"""Runs beside the papers' numbers: what they are, and one metric of each, computed once."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import streamlit as st

from core.errors import LibraryError
from core.library import StoredSplit
from core.published import definition
from core.screens.kit.run_marks import marks
from core.screens.published.own import OwnRun, RunFacts, TrainedRun
from core.studies.published import OwnNumbers, own_numbers
from core.studies.reliability import Source
from pages.ui import cache, papers, steps
from pages.ui.escape import esc
from pages.ui.scoped import Results, cached
from pages.ui.visitor import open_library

LISTED = 200  # runs that are looked at; the Runs page lists all
HEAVY_CELLS = 400_000  # scores; fewer are read and resampled in a second or two


@dataclass(frozen=True)
class OwnStep:
    """A metric of the papers, of a run."""

    run: cache.Run
    metric: str

    @property
    def validation(self) -> bool:
        """Whether there is a split that a temperature can be fitted on."""
        return "val" in self.run.splits and self.run.split != "val"


@st.cache_resource(max_entries=1, show_spinner=False)
def _library_results() -> Results[OwnStep, OwnNumbers]:
    return Results(256)


@st.cache_resource(scope="session", show_spinner=False)
def _draft_results() -> Results[OwnStep, OwnNumbers]:
    return Results(64)


def _results(run: cache.Run) -> Results[OwnStep, OwnNumbers]:
    return _draft_results() if run.draft else _library_results()


def _call(step: OwnStep) -> tuple[object, ...]:
    validation = _source(step.run, "val") if step.validation else None
    return (_source(step.run, step.run.split), validation, definition(step.metric))


def _source(run: cache.Run, split: str) -> Source:
    """Return the scores of a draft, and where those of a stored run lie."""
    if run.draft:
        return cache.predictions(run, split)
    return StoredSplit(run.id, split, run.n(split) * len(run.class_names))


def _heavy(step: OwnStep) -> bool:
    splits = (step.run.split, "val") if step.validation else (step.run.split,)
    return sum(map(step.run.n, splits)) * len(step.run.class_names) > HEAVY_CELLS


KIND: steps.StepKind[OwnStep, OwnNumbers] = steps.StepKind(
    name=lambda step: esc(step.run.name),
    known=lambda step: _results(step.run).get(step),
    keep=lambda step, result: _results(step.run).put(step, result),
    heavy=_heavy,
    call=lambda step: (own_numbers, _call(step)),
)


def own_runs(runs: Sequence[cache.Run], metric: str) -> tuple[OwnRun, ...]:
    """Return the runs whose numbers are known."""
    known = {
        step.run: result for step, result in steps.computed(_steps(runs, metric), KIND).items()
    }
    return tuple(
        OwnRun(id=run.id, name=run.name, mark=mark, facts=_facts(run), numbers=known[run])
        for run, mark in zip(runs, marks([run.id for run in runs]), strict=True)
        if run in known
    )


def _steps(runs: Sequence[cache.Run], metric: str) -> list[OwnStep]:
    return [OwnStep(run, metric) for run in runs]


def _facts(run: cache.Run) -> RunFacts:
    n = run.n(run.split)
    if run.draft:
        return RunFacts(n=n)
    manifest = open_library().get(run.id)
    config = manifest.config
    weights = (config or {}).get("weights")
    if isinstance(weights, dict):  # an evaluation: of the training that it names
        try:
            config = open_library().get(weights["run"]).config if weights["run"] else None
        except LibraryError:
            config = None
    return RunFacts.of(config, manifest.source.file, n)


def trained() -> tuple[TrainedRun, ...]:
    """Return the runs of the library that trained what papers print numbers of."""
    runs = []
    for row in cache.openable(LISTED):
        with suppress(LibraryError):  # deleted meanwhile
            runs.append(_trained(cache.look_up(row.id)))
    return tuple(run for run in runs if run is not None)


@cached(library=1024, draft=1, keys=cache.KEYS)
def _trained(run: cache.Run) -> TrainedRun | None:
    setting = papers.setting(run)
    if setting is None:
        return None
    summary = open_library().get(run.id).metrics.get(run.split)
    return TrainedRun(id=run.id, name=run.name, setting=setting, summary=summary)
