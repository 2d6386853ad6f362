"""What is kept of a run beside it, read once for all sessions: its page need not compute it."""

import streamlit as st

from core.metrics.comparison import Compared
from core.studies.human import HumanStudy
from core.studies.posthoc import EvaluatedMethod
from core.studies.precomputed import RunStudies, methods_of, studies_of
from core.studies.temperatures import TemperatureMaps
from pages.ui import cache, caching
from pages.ui.caching import Results
from pages.ui.visitor import open_library


def compared(run: cache.Run, split: str) -> Compared | None:
    """Return what a comparison needs of the split that a page shows; None of any other."""
    kept = _kept(run) if split == run.split else None
    return None if kept is None else kept.none.compared


def methods(run: cache.Run) -> dict[str, EvaluatedMethod]:
    """Return methods, and none, as Post-hoc shows them at first: fitted by NLL, and judged."""
    kept = _kept(run)
    return {} if kept is None else _methods(run.id, run.digests, _kept=kept)


def maps(run: cache.Run) -> TemperatureMaps | None:
    """Return temperature and gamma of the rows that Post-hoc fits on at first, by NLL."""
    kept = _kept(run)
    return None if kept is None else kept.maps


def human(run: cache.Run, split: str) -> HumanStudy | None:
    """Return the split that a page shows held against votes; None of any other, or without."""
    kept = _kept(run) if split == run.split else None
    return None if kept is None else kept.human


def _kept(run: cache.Run) -> RunStudies | None:
    if run.draft:
        return None
    key = run.id, run.digests  # a run that was replaced is read again
    results: Results[tuple[str, tuple[str, ...]], RunStudies]
    results = caching.results("studies", draft=False, most=64)
    kept = results.get(key)
    if kept is None:
        kept = studies_of(open_library(), run.id)
        if kept is not None:  # else it may be there the next time
            results.put(key, kept)
    return kept


@st.cache_resource(max_entries=32, show_spinner=False)
def _methods(
    run_id: str, digests: tuple[str, ...], *, _kept: RunStudies
) -> dict[str, EvaluatedMethod]:
    del run_id, digests
    return methods_of(_kept)
