"""The cached part of the post-hoc page, method by method; keys and scopes as in `cache`."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.arrays import Float, Int
from core.calibrators import landscape as maps
from core.calibrators import posthoc
from core.calibrators.innate import Innate
from core.calibrators.innate import innate as before_and_after
from core.calibrators.posthoc import Fit, Judged, Parts
from core.predictions import Predictions, Task
from pages.ui import cache

MAP_CELLS = 50_000  # scores that the landscape is computed from; about a second
_SPINNER = "Fitting"


@dataclass(frozen=True)
class Where:
    """Which rows of a run are fitted on and which are reported; see `core.calibrators.posthoc`."""

    fit_on: str
    test: str
    share: float
    seed: int


@dataclass(frozen=True)
class How:
    """A method with its settings."""

    method: str
    objective: str
    search: str


def parts(run: cache.Run, where: Where) -> Parts:
    """Return the rows to fit on and to report."""
    names = [name for name in run.splits if name in {where.fit_on, where.test}]
    splits = {name: cache.predictions(run, name) for name in names}
    return posthoc.parts(splits, where.fit_on, where.test, share=where.share, seed=where.seed)


def fit(run: cache.Run, where: Where, how: How) -> Fit:
    """Return a method fitted on a run."""
    found = _draft_fit if run.draft else _library_fit
    return found(run, where, how)


def _fit(run: cache.Run, where: Where, how: How) -> Fit:
    rows = parts(run, where).fit
    return posthoc.fit(how.method, rows, objective=how.objective, search=how.search)


_library_fit = st.cache_resource(max_entries=128, show_spinner=_SPINNER)(_fit)
_draft_fit = st.cache_resource(scope="session", max_entries=32, show_spinner=_SPINNER)(_fit)


def judged(run: cache.Run, where: Where, how: How | None) -> Judged | None:
    """Return what a method, or none, does to the reported rows; None where it refused."""
    found = _draft_judged if run.draft else _library_judged
    return found(run, where, how)


def _judged(run: cache.Run, where: Where, how: How | None) -> Judged | None:
    calibrator = None
    if how is not None:
        calibrator = fit(run, where, how).calibrator
        if calibrator is None:
            return None
    return posthoc.judge(parts(run, where).test, calibrator)


_JUDGING = "Drawing the same resamples for every method"
_library_judged = st.cache_resource(max_entries=128, show_spinner=_JUDGING)(_judged)
_draft_judged = st.cache_resource(scope="session", max_entries=32, show_spinner=_JUDGING)(_judged)


@dataclass(frozen=True)
class Map:
    """A landscape, the rows it was computed on, and the rows there are."""

    landscape: maps.Landscape
    used: int
    rows: int


def landscape(run: cache.Run, where: Where, objective: str, label: int) -> Map:
    """Return the criterion over gamma and temperature on at most MAP_CELLS scores."""
    found = _draft_landscape if run.draft else _library_landscape
    return found(run, where, objective, label)


def _landscape(run: cache.Run, where: Where, objective: str, label: int) -> Map:
    rows = parts(run, where).fit
    logits, labels = _some(rows, label)
    return Map(maps.landscape(logits, labels, objective=objective), len(labels), rows.n)


_MAPPING = "Trying every γ and T"
_library_landscape = st.cache_resource(max_entries=64, show_spinner=_MAPPING)(_landscape)
_draft_landscape = st.cache_resource(scope="session", max_entries=16, show_spinner=_MAPPING)(
    _landscape
)


def curve(run: cache.Run, where: Where, objective: str, label: int) -> Float:
    """Return the best temperature for each gamma, on the rows of `landscape`."""
    found = _draft_curve if run.draft else _library_curve
    return found(run, where, objective, label)


def _curve(run: cache.Run, where: Where, objective: str, label: int) -> Float:
    logits, labels = _some(parts(run, where).fit, label)
    return maps.temperature_curve(logits, labels, objective=objective)


_library_curve = st.cache_resource(max_entries=64, show_spinner=_MAPPING)(_curve)
_draft_curve = st.cache_resource(scope="session", max_entries=16, show_spinner=_MAPPING)(_curve)


def _some(rows: Predictions, label: int) -> tuple[npt.NDArray[np.floating], Int]:
    """Return logits and labels of some rows, drawn at random where there are many."""
    n = min(rows.n, max(500, MAP_CELLS // rows.n_classes))
    at = np.sort(np.random.default_rng(0).permutation(rows.n)[:n])
    logits = posthoc.logits_of(rows)
    if rows.task is Task.MULTILABEL:
        return logits[at, label], rows.labels[at, label]
    return logits[at], rows.labels[at]


def innate(run: cache.Run, where: Where) -> Innate:
    """Return a run before and after temperature scaling."""
    found = _draft_innate if run.draft else _library_innate
    return found(run, where)


def _innate(run: cache.Run, where: Where) -> Innate:
    rows = parts(run, where)
    return before_and_after(rows.fit, rows.test)


_library_innate = st.cache_resource(max_entries=64, show_spinner=_JUDGING)(_innate)
_draft_innate = st.cache_resource(scope="session", max_entries=16, show_spinner=_JUDGING)(_innate)
