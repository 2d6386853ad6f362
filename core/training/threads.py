"""How many threads a training computes with, and what is said where a resume changes it; no torch.

On a CPU threads share the sums over rows and pixels, and another number of them adds up in another
order: the last bits differ. It is recorded and said, never refused.
"""

import math
import os
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from core.codes import NoticeCode
from core.errors import Notice
from core.histories import History

METRIC: Final = "threads"  # its name among the metrics of an epoch
CHOSEN: Final = "OMP_NUM_THREADS"


def usual(n_devices: int) -> int:
    """Return the threads of a training that nobody chose any for.

    Half of the cores: pages and other jobs need the rest.
    """
    return max(1, len(os.sched_getaffinity(0)) // 2 // n_devices)


def expected(n_devices: int) -> int | None:
    """Return the threads that a training started here would take; None where that is not known."""
    chosen = os.environ.get(CHOSEN)
    if chosen is None:
        return usual(n_devices)
    return int(chosen) if chosen.isascii() and chosen.isdecimal() else None


def by_epoch(history: History) -> list[int | None]:
    """Return the threads of each epoch in their order; None where they were not recorded."""
    rows = zip(history.epoch.tolist(), history.metric, history.value.tolist(), strict=True)
    known = {e: int(n) for e, metric, n in rows if metric == METRIC and math.isfinite(n)}
    return [known.get(epoch) for epoch in sorted(set(history.epoch.tolist()))]


def notices(counts: Sequence[int | None]) -> tuple[Notice, ...]:
    """Return what is said of a training on a CPU whose number of threads changed on the way.

    `counts`: of each epoch, as of `by_epoch`.
    """
    return tuple(
        Notice(
            NoticeCode.THREADS,
            f"resumed after epoch {done} with {words(now)}, until then with {before}: from "
            "there on the numbers may differ in the last bits",
        )
        for done, (before, now) in enumerate(pairwise(counts), start=1)
        if before is not None and now is not None and before != now
    )


def words(count: int) -> str:
    """Return a number of threads: 1 thread, 4 threads."""
    return f"{count} thread{'s' * (count != 1)}"
