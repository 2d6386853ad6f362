"""The cached part of the Evaluate page: what was found on each split of a run."""

import streamlit as st

from core.library import open_library
from core.views import evaluation
from core.views.evaluation import SplitResult


def lines(run_id: str) -> tuple[SplitResult, ...]:
    """Return what was found on every split of a run; LibraryError where it is gone."""
    manifest = open_library().get(run_id)
    return tuple(
        _line(run_id, split, entry.role, entry.digest) for split, entry in manifest.splits.items()
    )


@st.cache_data(max_entries=1_024, show_spinner="Computing intervals")
def _line(run_id: str, split: str, role: str, digest: str) -> SplitResult:
    del digest  # part of the key only: a run that was replaced is read again
    return evaluation.line(split, role, open_library().load(run_id, split))
