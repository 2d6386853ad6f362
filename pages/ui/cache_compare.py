"""The cached part of a comparison, run by run; keys and scopes as in `cache`."""

import streamlit as st

from core.metrics import comparison
from core.metrics.comparison import Compared
from pages.ui import cache

_SPINNER = "Drawing the same resamples for every run"


def compared(run: cache.Run, split: str) -> Compared:
    """Return one run's audit and its draws on the resamples that all runs share."""
    compute = _draft_compared if run.draft else _library_compared
    return compute(run, split)


def _compared(run: cache.Run, split: str) -> Compared:
    return comparison.compared(cache.predictions(run, split))


_library_compared = st.cache_resource(max_entries=64, show_spinner=_SPINNER)(_compared)
_draft_compared = st.cache_resource(scope="session", max_entries=16, show_spinner=_SPINNER)(
    _compared
)
