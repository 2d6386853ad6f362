"""Large files are read without compiled loops: the sealed child may be unable to load them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from core.arrays import SORTED_BY_DIGITS
from core.metrics.ranked import SortedOutcomes
from core.metrics.ranking import auroc
from core.predictions import Outcomes
from core.readers.predictions import plausibility

ROOT = Path(__file__).parents[3]
ROWS = SORTED_BY_DIGITS + 500
READ = """
import sys
from pathlib import Path
sys.modules["numba"] = None  # cannot be imported
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import read_source
from core.readers.predictions.result import ReadOptions
from core.readers.predictions.result import NeedsChoice
path = Path(sys.argv[1])
with path.open("rb") as file:
    try:
        reading = read_source(FileBytes.of_file(path.name, file), None, ReadOptions(), {})
        print(next(iter(reading.splits.values())).task.value)
    except NeedsChoice as refusal:
        print(refusal.code)
"""
RNG = np.random.default_rng(8)
BINARY = RNG.normal(size=(ROWS, 2)).astype(np.float32)
MANY = RNG.normal(size=(ROWS, 4)).astype(np.float32)
ONE = (BINARY + RNG.gumbel(size=BINARY.shape)).argmax(axis=1)
SHARES = np.exp(MANY[:, :2]) / np.exp(MANY[:, :2]).sum(axis=1, keepdims=True)
FILES = {
    "binary": {"scores": BINARY, "labels": ONE},
    "multilabel": {
        "scores": MANY,
        "labels": (MANY + RNG.logistic(size=MANY.shape) > 0).astype(int),
    },
    "PROB_RANGE": {"scores": 100.0 * SHARES, "labels": np.where(ONE, "yes", "no")},
}


@pytest.mark.parametrize("expected", FILES)
def test_many_rows_are_read_without_them(tmp_path, expected):
    np.savez(tmp_path / "file.npz", **FILES[expected])
    read = [sys.executable, "-c", READ, str(tmp_path / "file.npz")]
    done = subprocess.run(read, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"{expected}\n", "")


def test_ranks_of_rows_are_those_of_the_metric():
    scores, truth = np.round(RNG.random(3_000), 2), RNG.random(3_000) < 0.3
    assert plausibility._auroc(scores, truth)[0] == pytest.approx(
        auroc(SortedOutcomes.of(Outcomes(scores, truth))), abs=1e-12
    )
