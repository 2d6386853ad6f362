"""`python -m tests.benchmarks.modules_passed`: modules from a dropped file to its drawn diagram.

A file of 977 rows is dropped on the first page, in a test of the page, and read in this process.
Until the page of its draft is drawn two sets of our modules are counted: those in which a function
is called, and those in which one is given the file, an array of its rows, or what is made of them:
contents, predictions, an audit, bins, a view, a figure. Functions that run while a module is
imported do not count.
"""

import io
import os
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

import numpy as np

ROOT = Path(__file__).parents[2]
ROWS = 977  # as no other array has
MADE = {
    "Audit", "BinSums", "BinTable", "Contents", "Draft", "Figure", "FigureCard", "FileBytes",
    "FileLayout", "InterpretedFile", "OpenFile", "Outcomes", "Predictions", "Prepared",
    "PreparedTarget", "ReadResult", "ReliabilityView", "SortedOutcomes", "SplitArrays",
    "TargetAudit", "UploadedFile",
}  # fmt: skip


def of_the_file(value: object) -> bool:
    """Whether a value is of the file, or was made of it."""
    rows = isinstance(value, np.ndarray) and ROWS in value.shape
    return rows or type(value).__name__ in MADE


class Trace:
    """Modules of ours that were passed."""

    def __init__(self) -> None:
        self.called: set[str] = set()
        self.given: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call of a function of ours; what `sys.setprofile` calls."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith((f"{ROOT}/core/", f"{ROOT}/pages/")):
            return
        if code.co_name in ("<module>", "__init_subclass__") or self._imported(frame):
            return
        name = str(Path(code.co_filename).relative_to(ROOT))
        self.called.add(name)
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if any(of_the_file(frame.f_locals.get(argument)) for argument in arguments):
            self.given.add(name)

    def _imported(self, frame: FrameType) -> bool:
        """Whether a module is being imported, whose own code calls the function."""
        caller = frame.f_back
        while caller is not None and caller.f_code.co_filename.startswith(f"{ROOT}/core/"):
            if caller.f_code.co_name == "<module>":
                return True
            caller = caller.f_back
        return False


def main() -> None:
    """Drop a file, follow it, and print the modules."""
    home = tempfile.mkdtemp()
    os.environ["CANDOR_HOME"], sys.argv = home, ["app.py", "--i-know"]
    from core.readers.sandbox import read
    from pages.ui import intake
    from tests.pages.seen import html, opened, until
    from tests.reading import read_here

    vars(read)["run"] = read_here
    intake.FIRST_WAIT_S = 600
    rng = np.random.default_rng(0)
    logits, file = 3 * rng.normal(size=(ROWS, 4)), io.BytesIO()
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    np.savez(file, logits=logits, labels=labels)
    test = opened()
    trace = Trace()
    threading.setprofile(trace)
    sys.setprofile(trace)
    zone = test.file_uploader[0]
    one = ("rows.npz", file.getvalue(), "")
    test = zone.set_value([one] if zone.multiple_files else one).run()
    until(test, lambda: 'aria-label="Scores' in html(test) or "Reliability" in html(test))
    sys.setprofile(None)
    threading.setprofile(None)
    assert not test.exception
    assert test.get("bidi_component"), "no figure was drawn"
    for title, names in (("called", trace.called), ("given the data", trace.given)):
        print(f"{title}: {len(names)} modules")
        print(*sorted(names), sep="\n")


if __name__ == "__main__":
    main()
