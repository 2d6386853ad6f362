"""A rule replayed on the validation logits that a run of the library keeps; no torch."""

from core.histories import BinHistory
from core.library import open_library
from core.losses.replay import replay
from core.predictions import Task
from core.screens.gamma.rule import Rule


def replay_run(run_id: str, rule: Rule, n_bins: int) -> BinHistory:
    """Return what a rule would have asked for, had it seen a run's validation answers.

    Raises
    ------
    LibraryError
        RUN_UNKNOWN, SPLIT_UNKNOWN, DAMAGED, or NO_HISTORY when no logits were kept.
    Refused
        NONFINITE.
    """
    library = open_library()
    rows = library.load(run_id, "val")
    logits = library.validation_logits(run_id)
    return replay(logits, rows.labels, task=Task(rows.task), rule=rule, n_bins=n_bins)


def replay_cells(run_id: str) -> int:
    """Return how many logits a replay reads."""
    return open_library().validation_logits(run_id).size
