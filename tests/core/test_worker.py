"""python -m core.worker: one call elsewhere, with its result or what it raised."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from core.calibrators.posthoc import cut
from core.errors import UsageError
from core.predictions import Predictions, ScoreKind, Task

ROWS = Predictions(
    Task.MULTICLASS,
    ScoreKind.LOGITS,
    np.random.default_rng(0).normal(size=(9, 3)),
    np.arange(9) % 3,
)


def call(function, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "core.worker"],
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
        "what": "the share is 5",
        "where": "",
        "remedy": "use 0.1 to 0.9",
    }
