"""What is kept of a sample beside it, read once for all sessions: its page need not compute it."""

import streamlit as st

from core.metrics.comparison import Compared
from core.studies.human import HumanStudy
from core.studies.posthoc import NONE, EvaluatedMethod
from core.studies.precomputed import SampleStudies, methods_of, studies_of
from pages.ui import cache
from pages.ui.visitor import open_library


def compared(run: cache.Run, split: str) -> Compared | None:
    """Return what a comparison needs of a sample's test part; None of anything else."""
    kept = _kept(run) if split == "test" else None
    return None if kept is None else kept.none.compared


def human(run: cache.Run, split: str) -> HumanStudy | None:
    """Return a sample's test part held against votes; None of anything else, or without votes."""
    kept = _kept(run) if split == "test" else None
    return None if kept is None else kept.human


def methods(run: cache.Run) -> dict[str, EvaluatedMethod]:
    """Return the methods, and none, of a sample: fitted on val by NLL, and judged on test."""
    kept = _kept(run)
    if kept is None:
        return {}
    return {NONE: EvaluatedMethod(None, kept.none), **_methods(run.id, run.digests, _kept=kept)}


def _kept(run: cache.Run) -> SampleStudies | None:
    return _read(run.id, run.digests) if run.kind == "sample" else None


@st.cache_resource(max_entries=32, show_spinner=False)
def _read(run_id: str, digests: tuple[str, ...]) -> SampleStudies | None:
    del digests  # part of the key only: a sample that was replaced is read again
    return studies_of(open_library(), run_id)


@st.cache_resource(max_entries=32, show_spinner=False)
def _methods(
    run_id: str, digests: tuple[str, ...], *, _kept: SampleStudies
) -> dict[str, EvaluatedMethod]:
    del run_id, digests
    return methods_of(_kept)
