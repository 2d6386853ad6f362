"""Arrays in files in place of memory: the same numbers, little memory, and nothing left behind.

In processes of their own: NumPy keeps its handler for good.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="arrays lie in files on Linux alone")
ROWS = 200_000
AUDIT = f"""
import json, sys
from pathlib import Path
import numpy as np
from core.reports.study_json import audit_json
from core.metrics.suite import audit
from core.configs import AuditConfig
from core.predictions import Predictions, ScoreKind, Task

def anonymous():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024

classes, files = int(sys.argv[1]), sys.argv[2] == "files"
rng = np.random.default_rng(3)
logits = rng.normal(size=({ROWS}, classes)).astype(np.float32)
labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
task = Task.BINARY if classes == 2 else Task.MULTICLASS
predictions = Predictions(task, ScoreKind.LOGITS, logits, labels)
audit(predictions.take(np.arange(2_000)), AuditConfig())  # loads what is used at all
if files:
    from core.compiled.memory import keep_large_in_files
    keep_large_in_files(2**19)
before, peak = anonymous(), 0.0
import threading, time
def watch():
    global peak
    while True:
        peak = max(peak, anonymous() - before)
        time.sleep(0.002)
threading.Thread(target=watch, daemon=True).start()
found = audit_json("", "", {{}}, "test", (), audit(predictions, AuditConfig(n_resamples=50)))
print(json.dumps([found, peak]))
"""
LIFE = """
import os, sys, tempfile
import numpy as np
from numpy._core.multiarray import get_handler_name
from core.compiled.memory import keep_large_in_files
tempfile.tempdir = sys.argv[1]
keep_large_in_files(2**20)

def files():
    return sum(sys.argv[1] in line for line in open("/proc/self/maps"))

assert get_handler_name(np.zeros(10)) == "candor_files"
assert files() == 0, "a small array"
some = np.arange(2**18, dtype=np.int64)
zeros = np.zeros(2**18)
assert files() == 2
assert not zeros.any()
some.resize(2**19, refcheck=False)  # from file to file
assert files() == 2
assert some[2**18 - 1] == 2**18 - 1 and not some[2**18:].any()
some.resize(5, refcheck=False)  # to memory
assert files() == 1
some.resize(2**18, refcheck=False)  # and back
assert files() == 2
assert some[:5].tolist() == [0, 1, 2, 3, 4] and not some[5:].any()
many = [np.full(2**17, float(i)) for i in range(1_100)]  # more than there are places for
assert 1_000 < files() <= 1_024
assert all(array[0] == array[-1] == i for i, array in enumerate(many))
assert os.listdir(sys.argv[1]) == []
last = many[0]
del many, some, zeros
assert files() == 1
tempfile.tempdir = sys.argv[1] + "/none"
keep_large_in_files(2**20)
assert np.arange(2**18).sum() == 2**17 * (2**18 - 1), "without a folder in memory"
os.kept = last  # freed when modules are, at the end
print("done")
"""


def python(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize("classes", [pytest.param(2, marks=pytest.mark.nightly), 3])
def test_an_audit_in_files_finds_the_same_and_takes_little_memory(classes):
    (found, of_memory), (in_files, of_files) = (
        json.loads(python(AUDIT, str(classes), where)) for where in ("memory", "files")
    )
    assert in_files == found
    assert of_files < of_memory / 2
    assert of_files < 20.0  # MiB: 100 bytes for each row


@LINUX
def test_arrays_go_to_files_and_leave_nothing(tmp_path):
    assert python(LIFE, str(tmp_path)) == "done\n"
