"""The cached part of the clinical views, question by question; keys and scopes as in `cache`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from core import defaults
from core.arrays import Int
from core.calibrators import posthoc
from core.calibrators.posthoc import CUT, SHARE, PosthocRows, fit_default
from core.predictions import Predictions, ScoreKind, Task
from core.views import clinic_study
from pages.ui import cache, steps
from pages.ui.cache_posthoc import Results
from pages.ui.escape import esc

HEAVY_CELLS = 20_000  # scores whose resampling would keep a page waiting
AS_READ = "none"  # for the method of recalibration
Call = tuple[Callable[..., Any], tuple[object, ...]]


@dataclass(frozen=True)
class ClinicQuery:
    """One thing to compute: what, of which rows, and for which finding if for one.

    `detail` is what else the answer depends on, in the form that its maker reads.
    """

    run: cache.Run
    split: str
    what: str
    label: int | None = None
    detail: tuple[object, ...] = ()


def rows(run: cache.Run, split: str) -> Predictions:
    """Return the rows of a split."""
    return cache.predictions(run, split)


def parts(run: cache.Run, split: str) -> PosthocRows:
    """Return the rows that calibrators of a split are fitted on, and those that are reported."""
    fit_on = fit_default(run.splits, split)
    names = {name for name in (fit_on, split) if name != CUT}
    splits = {name: cache.predictions(run, name) for name in run.splits if name in names}
    return posthoc.parts(splits, fit_on, split, share=SHARE, seed=defaults.SEED)


def shown_rows(run: cache.Run, split: str, *, recalibrated: bool) -> Int:
    """Return which rows of a split are shown: all, or those that were not fitted on."""
    whole = rows(run, split)
    n = whole.n
    if not recalibrated or fit_default(run.splits, split) != CUT:
        return np.arange(n)
    empty = np.zeros(n, dtype=np.int64)
    numbered = Predictions(
        Task.BINARY,
        ScoreKind.SIGMOID,
        empty.astype(np.float64),
        empty,
        row_ids=tuple(map(str, range(n))),
        groups=whole.groups,
    )
    _, rest = posthoc.cut(numbered, SHARE, defaults.SEED)
    return np.array([int(row) for row in rest.row_ids])


def _findings(ask: ClinicQuery) -> Call:
    return clinic_study.findings, (rows(ask.run, ask.split),)


def _heated(ask: ClinicQuery) -> Call:
    assert ask.label is not None
    found = parts(ask.run, ask.split)
    pair = (clinic_study.one(part, ask.label) for part in (found.fit, found.test))
    return clinic_study.heated, tuple(pair)


def _one(ask: ClinicQuery) -> Call:
    """Return what computes one finding; the detail is how it is recalibrated and the smoother."""
    label, (method, smoother) = ask.label or 0, ask.detail
    if method == AS_READ:
        shown = clinic_study.one(rows(ask.run, ask.split), label)
        return clinic_study.one_finding, (shown, None, "", smoother)
    numbers = parts(ask.run, ask.split)
    test, fit = (clinic_study.one(part, label) for part in (numbers.test, numbers.fit))
    return clinic_study.one_finding, (test, fit, method, smoother)


def _groups(ask: ClinicQuery) -> Call:
    """Return what computes subgroups; the detail ends with the grouping of the rows shown."""
    *detail, grouping = ask.detail
    found = known(replace(ask, what="one", detail=tuple(detail)))
    return clinic_study.groups, (found.p, found.y, grouping, found.extents)


MAKERS: dict[str, Callable[[ClinicQuery], Call]] = {
    "findings": _findings,
    "heated": _heated,
    "one": _one,
    "groups": _groups,
}
NAMES = {
    "findings": "Intervals and the noise floor of every finding",
    "heated": "Temperatures",
    "one": "Intervals, curve and decision curve",
    "groups": "Subgroups",
}


@st.cache_resource(max_entries=1, show_spinner=False)
def _library_results() -> Results[ClinicQuery, Any]:
    return Results(256)


@st.cache_resource(scope="session", show_spinner=False)
def _draft_results() -> Results[ClinicQuery, Any]:
    return Results(64)


def results(ask: ClinicQuery) -> Results[ClinicQuery, Any]:
    """Return where answers are kept; of a draft, and by a table that was dropped, for a session."""
    own = ask.run.draft or ask.what == "groups"
    return _draft_results() if own else _library_results()


def heavy(ask: ClinicQuery) -> bool:
    """Whether computing it would keep a page waiting: then a process of its own does it."""
    found = rows(ask.run, ask.split)
    return found.n * (1 if ask.label is not None else found.n_classes) > HEAVY_CELLS


def _name(ask: ClinicQuery) -> str:
    if ask.label is None or ask.label >= len(ask.run.class_names):
        return NAMES[ask.what]
    return f"{NAMES[ask.what]}: {esc(ask.run.class_names[ask.label])}"


KIND: steps.StepKind[ClinicQuery, Any] = steps.StepKind(
    name=_name,
    known=lambda ask: results(ask).get(ask),
    keep=lambda ask, found: results(ask).put(ask, found),
    heavy=heavy,
    call=lambda ask: MAKERS[ask.what](ask),
)


def known(ask: ClinicQuery) -> Any:  # noqa: ANN401  whatever its maker's function returns
    """Return an answer that is there already, or None."""
    return KIND.known(ask)


def answers(asked: Sequence[ClinicQuery]) -> dict[ClinicQuery, Any]:
    """Return the answers that are there; the others are computed one after another, and shown."""
    return steps.computed(asked, KIND)


def answer(ask: ClinicQuery) -> Any:  # noqa: ANN401  whatever its maker's function returns
    """Return one answer, or None while it is computed or stopped, which the page then says."""
    return answers([ask]).get(ask)
