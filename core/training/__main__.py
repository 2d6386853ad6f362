"""``python -m core.training FOLDER``: the process that trains one job, and goes on where it was.

Exit codes as of ``python -m core``; 75 when time was up before the end.
"""

import argparse
import os
import sys

from core.library import home
from core.training import ranks
from core.training.folder import TIME_IS_UP, JobFolder, forget_stop, job_main


def main() -> int:
    """Train, keep the run, and write how it went."""
    seconds = {"type": float, "help": "stop after the first epoch beyond this"}
    return job_main("python -m core.training", _train, {"--seconds": seconds}, leads=ranks.leads())


def _train(folder: JobFolder, arguments: argparse.Namespace) -> int:
    # Compiled networks lie in a temporary folder else, where programs often may not run. Before
    # torch: it settles on its own when it is imported.
    for name in ("TORCHINDUCTOR", "TRITON"):
        os.environ.setdefault(f"{name}_CACHE_DIR", str(home() / "cache" / name.lower()))
    from core.training.job import run

    if ranks.leads():  # the others share its lock
        forget_stop(folder.path)
    late = run(folder, seconds=arguments.seconds) is None
    # The others are done while the first one still writes: an exit code would have it killed.
    return TIME_IS_UP if late and ranks.leads() else 0


if __name__ == "__main__":
    sys.exit(main())
