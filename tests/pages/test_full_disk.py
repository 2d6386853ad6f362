"""A disk that is full while a file is uploaded or kept: said, and nothing is left behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCENE = """
import contextlib, json, resource, signal, sys
sys.argv = ["app.py", "--i-know"]
import numpy as np
from core.library import SAMPLES, Library, home
from pages.ui import session
from tests import hostile_cases as made
from tests.pages.seen import fine, opened, said, until

@contextlib.contextmanager
def full(size):
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))

def upload(test):
    rng = np.random.default_rng(0)
    data = made.npz(logits=rng.normal(size=(2000, 4)), labels=rng.integers(0, 4, 2000))
    test.file_uploader[0].set_value([("a.npz", data, "application/octet-stream")])
    return test.run()

def bytes_left():
    return sum(path.stat().st_size for room in session._ROOMS.values()
               for path in room.folder.rglob("*") if path.is_file())

def own():
    return [row.name for row in Library(home(), SAMPLES).rows() if row.kind != "sample"]

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
seen = {}
test = fine(opened())
with full(8192):
    test = upload(test)
seen["upload"] = [error.value for error in test.error]
seen["left"] = bytes_left()
test = upload(test)
until(fine(test), lambda: any(b.label == "Keep" for b in test.button))
seen["refused no more"] = not test.error
def keep():
    (button,) = [button for button in test.button if button.label == "Keep"]
    return button.click().run()
with full(8192):
    test = keep()
seen["keep"] = [error.value for error in test.error]
seen["kept"] = own()
test = keep()
seen["kept later"] = own()
print(json.dumps(seen))
"""


@pytest.mark.nightly
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits sizes of files")
def test_an_upload_and_a_run_that_find_no_room(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", SCENE],
        cwd=ROOT,
        env=os.environ | {"CANDOR_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    seen = json.loads(ended.stdout.splitlines()[-1])
    assert [
        ("could not be stored" in text, "ree disk space" in text) for text in seen["upload"]
    ] == [(True, True)]
    assert (seen["left"], seen["refused no more"]) == (0, True)
    assert ["library cannot be written" in text for text in seen["keep"]] == [True]
    assert seen["kept"] == []
    assert seen["kept later"] == ["a"]
