"""Predictions that wait in files come back as they were."""

import numpy as np
import pytest

from core.inference.job import Spool
from tests.core.library.builders import small, unlabelled


def test_what_is_put_in_comes_back_in_its_order(tmp_path):
    spool = Spool(tmp_path / "parts")
    for name, found in (("test", small()), ("svhn", unlabelled(3))):
        spool.put(name, found)
    assert list(spool) == ["test", "svhn"]
    assert {name: found.digest for name, found in spool.items()} == {
        "test": small().digest, "svhn": unlabelled(3).digest,
    }  # fmt: skip
    assert spool["test"].row_ids == small().row_ids
    assert not spool["svhn"].labelled
    assert len(spool) == 2


def test_scores_are_not_held(tmp_path):
    spool = Spool(tmp_path / "parts")
    spool.put("test", small())
    np.save(tmp_path / "parts" / "test.npy", np.zeros((7, 3), np.float32))
    np.testing.assert_array_equal(spool["test"].scores, 0)
    with pytest.raises(KeyError):
        spool["val"]
