"""``python -m tests.core.jobs.supervise HOME``: the supervisor, with the trainer of the tests."""

import sys
from pathlib import Path

from core.jobs import processes, supervisor
from tests.core.jobs.trainer import GRACE_S

supervisor.GRACE_S = GRACE_S
processes.SUPERVISOR = "tests.core.jobs.supervise"  # of those that it starts in turn

if __name__ == "__main__":
    sys.exit(supervisor.main(Path(sys.argv[1]), {"train": "tests.core.jobs.trainer"}))
