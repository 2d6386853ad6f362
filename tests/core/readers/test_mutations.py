"""Files changed at random places are read or refused; nothing else ever leaves a reader."""

import numpy as np
import pytest

from core.errors import Refused
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import InterpretedFile, read_source
from core.readers.predictions.result import ReadOptions
from tests.core.readers.test_refusals import VALID, labels_of

MUTATIONS = 150


def changed(data: bytes, rng: np.random.Generator) -> bytes:
    """Flip, insert, remove or repeat a few bytes, mostly near the two ends."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        reach = len(out) if rng.random() < 0.5 else min(len(out), 200)
        at = (
            int(rng.integers(reach))
            if rng.random() < 0.7
            else len(out) - 1 - int(rng.integers(reach))
        )
        how = rng.integers(4)
        if how == 0:
            out[at] = int(rng.integers(256))
        elif how == 1:
            out[at:at] = rng.bytes(int(rng.integers(1, 9)))
        elif how == 2:
            del out[at : at + int(rng.integers(1, 9))]
        else:
            out[at:at] = out[at : at + 16]
        if not out:
            return b""
    return bytes(out)


@pytest.mark.parametrize("name", VALID)
def test_a_changed_file_is_read_or_refused(name: str) -> None:
    rng = np.random.default_rng(20 + len(name))
    labels = labels_of(name)
    outcomes = {"read": 0, "refused": 0}
    for _ in range(MUTATIONS):
        data = changed(VALID[name], rng)
        try:
            found = read_source(FileBytes.of_bytes(name, data), labels, ReadOptions())
        except Refused:
            outcomes["refused"] += 1
        else:
            check(found)
            outcomes["read"] += 1
    assert outcomes["refused"] > 0


def check(found: InterpretedFile) -> None:
    """What is read is fit to be audited."""
    for ready in found.splits.values():
        try:
            got = ready.predictions()
        except Refused:
            continue
        assert not np.isnan(got.scores).any()
        assert not np.isposinf(got.scores.astype(np.float64)).any()
