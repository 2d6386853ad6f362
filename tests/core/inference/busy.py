"""The real worker, but its one call takes for ever: no torch, and nobody reads its input."""

import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

from core.inference import worker


def last(asked):
    Path(asked["path"]).write_text(str(os.getpid()))
    time.sleep(600)


if __name__ == "__main__":
    sys.modules["core.inference.calls"] = SimpleNamespace(CALLS={"last": last})
    sys.exit(worker.main())
