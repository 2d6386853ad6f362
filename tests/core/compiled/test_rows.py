"""Compiled loops over logits agree with their plain numpy form, at every edge of their input."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from core.compiled import rows
from core.predictions import Predictions, ScoreKind, Task
from tests.reference.slow_metrics import logit_rows

LOCATOR = "UserProvidedCacheLocator"  # only the folder named, which cannot be made
TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}


def read(logits, labels):
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, np.asarray(labels)).rows


def assert_agree(logits, labels):
    seen = read(logits, labels)
    confidence, answers, log_p, brier = logit_rows(logits, labels)
    np.testing.assert_allclose(seen.confidence, confidence, **TOLERANCE)
    np.testing.assert_array_equal(seen.predicted, answers)
    np.testing.assert_allclose(seen.log_p_true, log_p, **TOLERANCE)
    np.testing.assert_allclose(seen.brier, brier, **TOLERANCE)


def test_exponential_keeps_thirteen_digits_and_ends_at_0():
    x = np.concatenate([-np.geomspace(1e-300, 707.9, 20_000), [-0.0]])
    ours = np.array([rows.exp_below(value) for value in x])
    np.testing.assert_allclose(ours, np.exp(x), rtol=1e-13)
    assert rows.exp_below(0.0) == 1.0
    assert [rows.exp_below(v) for v in (-709.0, -1e300, -np.inf)] == [0.0, 0.0, 0.0]
    assert np.isnan(rows.exp_below(np.nan))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4", ">f8"])
@pytest.mark.parametrize("n_classes", [2, 3, 7, 8, 32, 33, 1000])
def test_rows_agree_for_every_dtype_and_width(dtype, n_classes):
    rng = np.random.default_rng(n_classes)
    logits = (rng.standard_normal((150, n_classes)) * 5).astype(dtype)
    assert_agree(logits, rng.integers(0, n_classes, 150))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_rows_agree_for_any_finite_logits(data):
    shape = data.draw(st.tuples(st.integers(1, 5), st.integers(2, 20)))
    values = st.one_of(st.floats(-30, 30), st.sampled_from([0.0, 1.0, -800.0, 800.0]))
    logits = data.draw(hnp.arrays(np.float64, shape, elements=values))
    assert_agree(
        logits,
        np.array(
            data.draw(st.lists(st.integers(0, shape[1] - 1), min_size=shape[0], max_size=shape[0]))
        ),
    )


def test_classes_ruled_out_and_huge_logits_stay_exact():
    inf = np.inf
    logits = np.array([[0.0, -inf, 0.0], [1e300, -1e300, 0.0], [-inf, 2.0, -inf]])
    seen = read(logits, [1, 0, 1])
    assert seen.confidence.tolist() == [0.5, 1.0, 1.0]
    assert seen.log_p_true.tolist() == [-inf, 0.0, 0.0]
    assert seen.brier.tolist() == [1.5, 0.0, 0.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("row", [[1.0, np.nan, 2.0], [np.nan] * 3, [np.inf, 0.0, 0.0]])
def test_what_no_reader_accepts_is_no_number_here(row, dtype):
    seen = read(np.array([row, [0.0, 0.0, 1.0]], dtype=dtype), [1, 2])
    assert np.isnan([seen.confidence[0], seen.log_p_true[0], seen.brier[0]]).all()
    assert np.isfinite(seen.brier[1])


def test_whole_numbers_are_read_as_float64():
    assert_agree(np.array([[1, 2], [4, 3]]), [1, 1])


def test_tied_rows_are_counted_and_answered_by_the_first():
    logits = np.array([[1, 3, 3], [3, 1, 3], [3, 2, 1], [5, 5, 5]], dtype=np.float32)
    seen = read(logits, [2, 2, 0, 1])
    assert seen.tied == 3
    assert seen.predicted.tolist() == [1, 0, 0, 0]
    assert seen.correct.tolist() == [False, False, True, False]


@pytest.mark.parametrize("places", [[63], [64], [0, 64], [129], [5, 70, 71, 140], range(141)])
def test_ties_are_seen_wherever_they_lie(places):
    logits = np.zeros((1, 141), dtype=np.float32)
    logits[0, list(places)] = 2.0
    for label in (0, 63, 140):
        seen = read(logits, [label])
        assert (seen.tied, seen.predicted[0]) == (len(places) > 1, min(places))
        assert_agree(logits, np.array([label]))


@pytest.mark.parametrize("n_classes", [17, 40])
def test_rows_do_not_depend_on_those_beside_them(n_classes):
    rng = np.random.default_rng(3)
    logits = rng.standard_normal((200, n_classes)).astype(np.float32)
    labels = rng.integers(0, n_classes, 200)
    whole, part = read(logits, labels), read(logits[50:90], labels[50:90])
    assert (whole.confidence[50:90] == part.confidence).all()
    assert (whole.brier[50:90] == part.brier).all()


def test_softmax_states_the_confidence_of_the_rows():
    logits = np.random.default_rng(1).standard_normal((50, 21)) * 9
    made = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, np.zeros(50, dtype=np.int64))
    p = made.probabilities()
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.testing.assert_allclose(p, powers / powers.sum(axis=1, keepdims=True), rtol=1e-13)
    np.testing.assert_allclose(p.max(axis=1), made.rows.confidence, rtol=1e-14)


@pytest.mark.parametrize("inverse", [0.05, 1.0, 3.0, 100.0])
def test_tempered_rows_agree(inverse):
    rng = np.random.default_rng(5)
    logits, labels = rng.standard_normal((40, 11)) * 3, rng.integers(0, 11, 40)
    logits[0, 1:] = -1e200
    sums = np.empty((5, 40))
    rows.read_tempered_rows(logits, labels, inverse, sums)
    gaps = logits - logits.max(axis=1, keepdims=True)
    powers = np.exp(gaps * inverse)
    p = powers / powers.sum(axis=1, keepdims=True)
    near = np.maximum(gaps, -1e100)
    np.testing.assert_allclose(sums[0], powers.sum(axis=1), **TOLERANCE)
    np.testing.assert_allclose(sums[1], (p * near).sum(axis=1), **TOLERANCE)
    np.testing.assert_allclose(sums[2], (p * near**2).sum(axis=1), **TOLERANCE)
    np.testing.assert_allclose(sums[3], (p * near**3).sum(axis=1), **TOLERANCE)
    np.testing.assert_array_equal(sums[4], gaps[np.arange(40), labels])


def test_nothing_is_compiled_before_it_is_needed():
    code = (
        "import sys, core.metrics, core.calibrators, core.readers, core.studies.posthoc;"
        "print('numba' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


def test_loops_run_where_nothing_can_be_kept():
    code = (
        "import numpy as np; from core.compiled.sorting import merge;"
        "one, two = np.zeros(1), np.ones(1);"
        "print(merge(one, two, np.empty(2), np.empty((2, 2), np.int64)))"
    )
    nowhere = {"NUMBA_CACHE_DIR": "/dev/null/x", "NUMBA_CACHE_LOCATOR_CLASSES": LOCATOR}
    output = subprocess.check_output(
        [sys.executable, "-c", code], text=True, env=os.environ | nowhere
    )
    assert output == "2\n"
