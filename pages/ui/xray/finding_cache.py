"""The cached part of the clinical views, question by question; keys and scopes as in `cache`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from core import defaults
from core.arrays import Int
from core.configs import AuditConfig
from core.predictions import Predictions
from core.studies import clinic as clinic_study
from core.studies import posthoc
from core.studies.posthoc import CUT, SHARE, PosthocRows, fit_default
from pages.ui import cache, steps
from pages.ui.escape import esc
from pages.ui.scoped import Results

HEAVY_CELLS = 20_000  # scores whose resampling would keep a page waiting
AS_READ = "none"  # for the method of recalibration
Call = tuple[Callable[..., Any], tuple[object, ...]]


@dataclass(frozen=True, kw_only=True)
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


def shown_rows(run: cache.Run, split: str, label: int, *, recalibrated: bool) -> Int:
    """Return the rows of a finding that are shown: all with a label, or those not fitted on."""
    whole = rows(run, split)
    known = whole.labelled_rows(label)
    known = np.arange(whole.n) if known is None else known
    if not recalibrated or fit_default(run.splits, split) != CUT:
        return known
    return np.intersect1d(known, posthoc.cut_rows(whole, SHARE, defaults.SEED)[1])


def _findings(query: ClinicQuery) -> Call:
    return clinic_study.findings, (rows(query.run, query.split),)


def _temperatures(query: ClinicQuery) -> Call:
    assert query.label is not None
    split_rows = parts(query.run, query.split)
    pair = (
        clinic_study.binary_rows(part, query.label) for part in (split_rows.fit, split_rows.test)
    )
    return clinic_study.temperature_scaled, tuple(pair)


def _one_finding(query: ClinicQuery) -> Call:
    """Return what computes one finding; the detail is how it is recalibrated and the smoother."""
    label, (method, smoother) = query.label or 0, query.detail
    config = AuditConfig(smoother=str(smoother))
    if method == AS_READ:
        finding_rows = clinic_study.binary_rows(rows(query.run, query.split), label)
        return clinic_study.one_finding, (finding_rows, None, "", config)
    split_rows = parts(query.run, query.split)
    test, fit = (
        clinic_study.binary_rows(part, label) for part in (split_rows.test, split_rows.fit)
    )
    return clinic_study.one_finding, (test, fit, method, config)


def _groups(query: ClinicQuery) -> Call:
    """Return what computes subgroups; the detail ends with the grouping of the rows shown."""
    *detail, grouping = query.detail
    statistics = known(replace(query, what="one", detail=tuple(detail)))
    return clinic_study.groups, (statistics.p, statistics.y, grouping, statistics.extents)


MAKERS: dict[str, Callable[[ClinicQuery], Call]] = {
    "findings": _findings,
    "heated": _temperatures,
    "one": _one_finding,
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


def results(query: ClinicQuery) -> Results[ClinicQuery, Any]:
    """Return where answers are kept; of a draft, and by a table that was dropped, for a session."""
    own = query.run.draft or query.what == "groups"
    return _draft_results() if own else _library_results()


def heavy(query: ClinicQuery) -> bool:
    """Whether computing it would keep a page waiting: then a process of its own does it."""
    predictions = rows(query.run, query.split)
    return predictions.n * (1 if query.label is not None else predictions.n_classes) > HEAVY_CELLS


def _name(query: ClinicQuery) -> str:
    if query.label is None or query.label >= len(query.run.class_names):
        return NAMES[query.what]
    return f"{NAMES[query.what]}: {esc(query.run.class_names[query.label])}"


KIND: steps.StepKind[ClinicQuery, Any] = steps.StepKind(
    name=_name,
    known=lambda query: results(query).get(query),
    keep=lambda query, result: results(query).put(query, result),
    heavy=heavy,
    call=lambda query: MAKERS[query.what](query),
)


def known(query: ClinicQuery) -> Any:  # noqa: ANN401  whatever its maker's function returns
    """Return an answer that is there already, or None."""
    return KIND.known(query)


def answers(queries: Sequence[ClinicQuery]) -> dict[ClinicQuery, Any]:
    """Return the answers that are there; the others are computed one after another, and shown."""
    return steps.computed(queries, KIND)


def answer(query: ClinicQuery) -> Any:  # noqa: ANN401  whatever its maker's function returns
    """Return one answer, or None while it is computed or stopped, which the page then says."""
    return answers([query]).get(query)
