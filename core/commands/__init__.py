"""The verbs of ``python -m core``, and what they share."""

import json
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from core.errors import LostWorker

if sys.platform != "win32":
    import resource

LEAST_MB: Final = 256  # of address space, for a command to load what it imports


def wants_json(argv: Sequence[str]) -> bool:
    """Whether the command prints JSON, and so errors as JSON, too."""
    return "--json=-" in argv or ("--json", "-") in set(pairwise(argv))


# Libraries that find no memory as they are loaded end the process in words of their own.
if sys.platform != "win32":
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < LEAST_MB * 2**20:
        allowed = f"ulimit -v allows {limit // 2**20} MB"
        what = f"Commands need {LEAST_MB} MB of memory to start, and {allowed}"
        error = LostWorker("LOST_WORKER", what, "raise it, best to 8 GB")
        print(error, file=sys.stderr)
        if wants_json(sys.argv):
            print(json.dumps({"error": error.to_json()}))
        sys.exit(error.exit_code)
