"""The demonstration: samples to look at, and nothing that anybody could leave behind."""

import os
import shutil
import tempfile
from functools import cache, partial
from typing import Final

from pages.ui import server

DEMO: Final = "CANDOR_DEMO"
OFF: Final = {
    "upload": "This demo takes no files. Install Candor to audit your own.",
    "runs": "This demo renames, tags and deletes nothing.",
    "pages/train.py": "This demo trains nothing. Install Candor to train your own models.",
    "pages/evaluate.py": "This demo evaluates nothing. Install Candor to evaluate your own models.",
}


def on() -> bool:
    """Return whether this server only shows the samples."""
    return os.environ.get(DEMO) == "1"


@cache
def enter() -> None:
    """Once a process: look away from the user's own runs, to a library that holds none."""
    if on():
        home = tempfile.mkdtemp(prefix="candor-demo-")
        os.environ["CANDOR_HOME"] = home
        server.at_end(partial(shutil.rmtree, home, ignore_errors=True))
