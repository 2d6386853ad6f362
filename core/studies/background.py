"""Studying runs in a process of its own; imports nothing heavy before it is called."""

import logging
import os
from collections.abc import Sequence
from typing import Final

from core.errors import AuditError
from core.library import home, open_library

LOWEST: Final = 19  # niceness
LOG: Final = logging.getLogger("candor")


def last_change() -> int:
    """Return when a run came or went last, in nanoseconds, as the folder of runs says."""
    try:
        return (home() / "runs").stat().st_mtime_ns
    except OSError:
        return 0


def newest(most: int) -> list[str]:
    """Return the newest runs that hold predictions, but for samples, which are studied already."""
    rows = open_library().rows(limit=most)
    return [row.id for row in rows if row.splits and row.kind != "sample"]


def study_missing(run_ids: Sequence[str]) -> None:
    """Study the runs of this process's library that lack it, giving way to all other processes.

    One that cannot be studied is left as it is: its pages compute what they need, and say what is
    wrong with it.
    """
    from core.studies.precomputed import keep_studies, studies_of

    if hasattr(os, "nice"):
        os.nice(LOWEST)
    library = open_library()
    for run_id in run_ids:
        try:
            if studies_of(library, run_id) is None:
                keep_studies(library, run_id)
        except AuditError:
            continue
        except Exception:  # a bug: the next run is studied all the same
            LOG.warning("run %s could not be studied", run_id, exc_info=True)
