"""Runs are studied in the background once they are kept, so that their pages open at once.

A thread of the server looks for runs that came lately, whether from a page, a training or a
command. A process that gives way to all others studies them, a few at a time.
"""

import logging
import time
from collections import Counter
from threading import Thread
from typing import Final

from core.metrics.comparison import MOST_RUNS
from core.studies import background
from pages.ui import server
from pages.ui.caching import once
from pages.ui.task import in_background

LOOK_S: Final = 2.0  # how often runs are looked for
AGAIN_S: Final = 30.0  # how long to wait after a failure
TRIES: Final = 2
AT_ONCE: Final = 4  # runs that a process studies: one that comes meanwhile is the next
LOG: Final = logging.getLogger("candor")


def begin() -> None:
    """Look for runs to study from now on, where this is a server and no test of a page."""
    if server.serves():
        _begin()


@once
def _begin() -> None:
    Thread(target=_look, name="studies", daemon=True).start()


def _look() -> None:
    tried: Counter[str] = Counter()
    before = 0
    while True:
        before = study_changed(tried, before)
        time.sleep(LOOK_S)


def study_changed(tried: Counter[str], before: int) -> int:
    """Have runs studied if some came or went since a change; return the one that was seen to."""
    changed = background.last_change()
    try:
        while changed != before and study_newest(tried):
            pass
    except Exception:  # of the list, or of a process that died: it is gone on with a while later
        LOG.warning("runs could not be studied", exc_info=True)
        time.sleep(AGAIN_S)
        return before
    return changed


def study_newest(tried: Counter[str]) -> bool:
    """Have the newest runs studied but those that were tried, and note there how often.

    They are as many as can be compared; of older ones pages compute what they need. Those whose
    process died, perhaps because of one of them, are tried once more, each alone.

    Returns
    -------
    bool
        Whether there were any.
    """
    newest = background.newest(MOST_RUNS)
    new = [run for run in newest if not tried[run]][:AT_ONCE]
    run_ids = new or [run for run in newest if tried[run] < TRIES][:1]
    tried.update(run_ids)
    if run_ids:
        in_background(background.study_missing, run_ids)
        tried.update(dict.fromkeys(run_ids, TRIES))
    return bool(run_ids)
