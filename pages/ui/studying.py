"""Runs are studied in the background once they are kept, so that their pages open at once.

A thread of the server looks for runs that came lately, whether from a page, a training or a
command. A process that gives way to all others studies them, a few at a time.
"""

import logging
import time
from threading import Thread
from typing import Final

from core.metrics.comparison import MOST_RUNS
from core.studies import background
from pages.ui import server
from pages.ui.caching import once
from pages.ui.task import in_background

LOOK_S: Final = 2.0  # how often runs are looked for
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
    tried: set[str] = set()
    before = 0
    while True:
        changed = background.last_change()
        if changed != before:
            before = changed
            try:
                while study_newest(tried):
                    pass
            except Exception:  # of the list of runs: it is looked at again
                LOG.warning("runs could not be listed", exc_info=True)
        time.sleep(LOOK_S)


def study_newest(tried: set[str]) -> bool:
    """Have the newest runs studied but those that were tried, and note them there.

    They are as many as can be compared; of older ones pages compute what they need.

    Returns
    -------
    bool
        Whether there were any.
    """
    run_ids = [run for run in background.newest(MOST_RUNS) if run not in tried][:AT_ONCE]
    tried.update(run_ids)
    if run_ids:
        try:
            in_background(background.study_missing, run_ids)
        except Exception:  # the process died: others come after
            LOG.warning("runs could not be studied", exc_info=True)
    return bool(run_ids)
