"""``python -m tests.core.jobs.supervise_on_node HOME JOB...``: the tests' trainer on a node."""

import os
import sys
from pathlib import Path

from core.jobs import supervisor as local
from core.jobs.slurm import supervisor
from tests.core.jobs.trainer import GRACE_S

local.GRACE_S = GRACE_S
HELD = "CANDOR_TESTS_HOLD" in os.environ
supervisor.STOP_S = 600.0 if HELD else 1.0  # after the cluster's warning
if "CANDOR_TESTS_DEAF" in os.environ:  # nothing of the cluster's own words arrives
    supervisor.OWN_OUTPUT = Path("/nowhere")

if __name__ == "__main__":
    trainer = "tests.core.jobs.held" if HELD else "tests.core.jobs.trainer"
    programs = {"train": trainer, "audit": "tests.core.jobs.trainer"}
    sys.exit(supervisor.main(Path(sys.argv[1]), sys.argv[2:], programs))
