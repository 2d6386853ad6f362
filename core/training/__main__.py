"""``python -m core.training FOLDER``: the process that trains one job, and goes on where it was.

Exit codes as of ``python -m core``; 75 when time was up before the end.
"""

import argparse
import logging
import sys
from pathlib import Path

from core.codes import RefusalCode
from core.errors import AuditError
from core.training import progress, ranks
from core.training.folder import JobFolder


def main() -> int:
    """Train, keep the run, and write how it went."""
    parser = argparse.ArgumentParser(prog="python -m core.training")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, help="stop after the first epoch beyond this")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
    folder, lock = JobFolder(arguments.folder), None
    try:
        from core.training.job import run

        if ranks.leads():  # the others share its lock
            lock = folder.lock()
            folder.begin()
            progress.forget(folder.path)
        result = run(folder, seconds=arguments.seconds)
    except AuditError as error:
        # Of ranks the first that failed.
        if error.code != RefusalCode.RUNNING and folder.result() is None:
            folder.fail(error)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    finally:
        if lock is not None:
            lock.close()
    return progress.TIME_IS_UP if result is None else 0


if __name__ == "__main__":
    sys.exit(main())
