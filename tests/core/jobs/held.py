"""``python -m tests.core.jobs.held FOLDER``: a real training whose first start does not end.

It waits in its fourth epoch, of two batches one done, or after its third until it is asked to stop,
so a cluster may take its time to end it. CANDOR_TESTS_HOLD says which: ``epoch`` or ``warning``.
"""

import os
import sys
import time
from pathlib import Path

from core.training import __main__ as training
from core.training import loop
from core.training.folder import stop_requested

HOLD = "CANDOR_TESTS_HOLD"
LOOK_S = 0.1
EPOCHS, BATCHES = 3, 7
step, is_asked = loop.step, stop_requested


def main() -> int:
    if os.environ.get("SLURM_RESTART_COUNT", "0") == "0":
        if os.environ[HOLD] == "epoch":
            loop.step = step_or_wait
        else:
            loop.stop_requested = wait_until_asked  # type: ignore[attr-defined]
    return training.main()


def step_or_wait(parts, *rest: object) -> None:
    while parts.n_batches == BATCHES:
        time.sleep(LOOK_S)
    step(parts, *rest)


def wait_until_asked(folder: Path) -> bool:
    n_epochs = len((folder / "events.jsonl").read_text().splitlines())
    while n_epochs == EPOCHS and not is_asked(folder):
        time.sleep(LOOK_S)
    return is_asked(folder)


if __name__ == "__main__":
    sys.exit(main())
