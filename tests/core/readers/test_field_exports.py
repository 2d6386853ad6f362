"""Files in the forms that tools of the field export: right numbers or a question, none wrong."""

from pathlib import Path

import numpy as np
import pytest

from core.errors import Refused
from core.metrics.ranked import SortedOutcomes
from core.metrics.ranking import auroc
from core.predictions import Predictions, ScoreKind, Task
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import InterpretedFile, read_source
from core.readers.predictions.result import ReadOptions, choose_split
from tests.field_exports import EXPORTS, Export, Truth

ROUNDED = 0.01  # of the NLL of numbers that were printed to few digits and then divided out


def read(
    export: Export, folder: Path, options: ReadOptions | None = None
) -> InterpretedFile | Refused:
    paths = export.write(folder)
    sources = [FileBytes.of_bytes(path.name, path.read_bytes()) for path in paths]
    labels = sources[1] if len(sources) > 1 else None
    try:
        return read_source(sources[0], labels, options or ReadOptions())
    except Refused as refusal:
        return refusal


def agrees(got: Predictions, truth: Truth) -> bool:
    """Whether the numbers are those of the arrays that the file was written from."""
    if (str(got.task), got.n) != (truth.task, truth.n):
        return False
    if got.task is Task.MULTILABEL:
        each = [auroc(SortedOutcomes.of(got.outcomes(k))) for k in range(got.n_classes)]
        return len(each) == len(truth.auroc_each) and np.allclose(each, truth.auroc_each, atol=0.01)
    right = abs(float(got.rows.correct.mean()) - truth.accuracy) < 1e-9
    if truth.nll is None or got.kind is ScoreKind.CONFIDENCE:
        return right
    return right and abs(-float(got.rows.log_p_true.mean()) - truth.nll) < ROUNDED


@pytest.mark.parametrize("export", EXPORTS, ids=[e.name for e in EXPORTS])
def test_an_export_is_read_right_or_asked_about(export, tmp_path):
    found = read(export, tmp_path)
    if isinstance(found, Refused):
        assert found.what
        assert found.remedy
        return
    got = found.splits[choose_split(found.splits)].predictions()
    assert any(agrees(got, truth) for truth in export.truths)
    again = read(export, tmp_path, found.recipe)
    assert not isinstance(again, Refused)
    assert again.splits[choose_split(again.splits)].predictions().digest == got.digest
