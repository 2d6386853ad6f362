"""A score of one half is a tie and goes to class 0, in the preview as in the audit."""

import numpy as np
import pytest

from core.metrics.suite import audit
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import read_source
from core.readers.predictions.result import ReadOptions


@pytest.mark.parametrize("kind", ["sigmoid", "logits"])
def test_preview_and_audit_agree_on_even_scores(tmp_path, kind):
    p = np.array([0.5, 0.5, 0.9, 0.1])
    scores = p if kind == "sigmoid" else np.log(p) - np.log1p(-p)
    np.savez(path := tmp_path / "even.npz", **{kind: scores}, labels=np.array([1, 1, 1, 0]))
    source = FileBytes.of_bytes("even.npz", path.read_bytes())
    found = read_source(source, None, ReadOptions())
    previewed = {str(r.kind): r.accuracy for r in found.inspection.readings}[kind]
    audited = audit(found.splits["test"].predictions()).main.metrics["accuracy"].value
    assert previewed == audited == 0.5  # the two ties count as class 0, and both are wrong
