"""python -m core.worker: one call elsewhere, with its result or what it raised."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from core import process_identity
from core.arrays import pickle_with_mappings
from core.errors import UsageError
from core.predictions import Predictions, ScoreKind, Task
from core.studies.posthoc import cut
from pages.ui import task
from tests.core.jobs.conftest import until

ROWS = Predictions(
    Task.MULTICLASS,
    ScoreKind.LOGITS,
    np.random.default_rng(0).normal(size=(9, 3)),
    np.arange(9) % 3,
)


def call(function, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "core.worker", str(os.getpid())],
        input=pickle.dumps((function, arguments)),
        capture_output=True,
        cwd=Path(__file__).parents[2],
        check=True,
    )
    return pickle.loads(done.stdout)


@pytest.mark.slow
def test_result_comes_back_as_it_was_made():
    (first, second), error = call(cut, ROWS, 0.5, 3)
    assert error is None
    here = cut(ROWS, 0.5, 3)
    assert (first.digest, second.digest) == (here[0].digest, here[1].digest)


def test_refusal_comes_back_with_code_what_where_and_remedy():
    found, error = call(cut, ROWS, 5.0, 3)
    assert found is None
    assert isinstance(error, UsageError)
    assert error.to_json() == {
        "code": "SETTING",
        "what": "The share is 5",
        "where": "",
        "remedy": "use 0.1 to 0.9",
    }


PARENT = """
import sys, time
from threading import Event, Thread
from core.arrays import pickle_with_mappings
from pages.ui import task
call = f"import os, time; open({sys.argv[1]!r}, 'w').write(str(os.getpid())); time.sleep(600)"
Thread(target=task._run, args=(pickle_with_mappings(exec, (call,)), Event(), print)).start()
time.sleep(600)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends it")
def test_a_call_ends_with_the_process_that_waits_for_it(tmp_path):
    said = tmp_path / "pid"
    command = [sys.executable, "-c", PARENT, str(said)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2]) as parent:
        until(lambda: said.exists() and said.read_text())
        worker = process_identity.identity(int(said.read_text()))
        assert process_identity.alive(worker)
        parent.kill()
    until(lambda: not process_identity.alive(worker))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends it")
def test_a_call_whose_caller_is_gone_already_is_not_begun():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    done = subprocess.run(
        [sys.executable, "-m", "core.worker", str(gone.pid)],
        input=pickle.dumps((print, ("begun",))),
        capture_output=True,
        cwd=Path(__file__).parents[2],
    )
    assert (done.returncode, done.stdout) == (1, b"")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Windows ends it at once")
def test_a_call_that_is_told_to_end_tidies_up(tmp_path):
    half, ending = tmp_path / "half", Event()
    call = f"import os, time\ntry:\n open({str(half)!r}, 'w').close()\n time.sleep(600)\n"
    request = pickle_with_mappings(exec, (call + f"finally:\n os.remove({str(half)!r})",))
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(task._run, request, ending, print)
        until(half.exists)
        ending.set()
        assert answer.result() == (1, None)
    assert not half.exists()
