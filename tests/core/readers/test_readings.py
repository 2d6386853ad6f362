"""The shared folder of real-life files: right numbers, or a question; never a wrong headline."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import Notice, Refused
from core.metrics.ranked import SortedOutcomes
from core.metrics.ranking import auroc
from core.predictions import Predictions, Task
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import read_source
from core.readers.predictions.result import NeedsChoice, ReadOptions, choose_split

SHARED = Path(os.environ.get("CANDOR_SHARED", Path(__file__).parents[3].parent / "shared"))
MANIFEST = SHARED / "hostile" / "readings" / "manifest.json"
CASES = json.loads(MANIFEST.read_text())["cases"] if MANIFEST.exists() else []
absent = pytest.mark.skipif(not CASES, reason="needs the shared folder (CANDOR_SHARED)")
WITH_NOTICE = {"c_dup_ids.csv": "ROWS_REPEATED", "c_dup_rows.csv": "ROWS_REPEATED"}


def outcome(case: dict[str, Any]) -> tuple[Predictions, tuple[Notice, ...]] | Refused:
    """What the reader makes of a case: predictions of the audited part, or a refusal."""
    files = [str(case["file"]), *(a for a in case["args"] if not a.startswith("--"))]
    sources = [FileBytes.of_bytes(name, (MANIFEST.parent / name).read_bytes()) for name in files]
    try:
        found = read_source(sources[0], sources[1] if len(sources) > 1 else None, ReadOptions())
    except Refused as refusal:
        return refusal
    return found.splits[choose_split(found.splits)].predictions(), found.notices


def is_right(got: Predictions, check: dict[str, Any]) -> bool:
    """Whether the numbers are those of the right reading."""
    right = [got.n == check.get("n", got.n), got.task == check.get("task", got.task)]
    if "auroc_each" in check:
        each = [auroc(SortedOutcomes.of(got.outcomes(k))) for k in range(got.n_classes)]
        right.append(min(each) >= 0.7)
    if "accuracy" in check:
        right.append(bool(np.isclose(got.rows.correct.mean(), check["accuracy"], atol=1e-9)))
    if "nll" in check:
        right.append(bool(np.isclose(-got.rows.log_p_true.mean(), check["nll"], atol=1e-4)))
    return all(right)


@absent
@pytest.mark.parametrize("case", CASES, ids=[f"{c['file']}-{len(c['args'])}" for c in CASES])
def test_no_headline_comes_from_an_undecided_reading(case):
    got = outcome(case)
    if isinstance(got, Refused):
        assert case["expect"] != "ok"
        assert got.what
        assert got.remedy
        if got.code == "UNDECIDED":
            assert isinstance(got, NeedsChoice)
            assert got.inspection.candidates
            assert all(c.option.startswith("--") for c in got.inspection.candidates)
        return
    predictions, notices = got
    assert case["expect"] != "refuse"
    assert is_right(predictions, case["check"])
    if case["file"] in WITH_NOTICE:
        assert WITH_NOTICE[case["file"]] in {n.code for n in notices}
    if not case["check"]:
        assert predictions.task in set(Task)
