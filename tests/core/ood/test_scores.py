"""Scores of rows: the golden values, a second implementation, and what must not change them."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import entropy as scipy_entropy

from core.errors import Refused, UsageError
from core.ood.scores import SCORES, ood_scores, temperature_scaled, unavailable
from core.predictions import Predictions, ScoreKind, Task
from tests.reference import slow_ood

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE / "golden_ood.json").read_text())
INPUTS = np.load(HERE / "golden_inputs.npz")
RNG = np.random.default_rng(3)


def outside(scores, kind=ScoreKind.LOGITS, task=Task.MULTICLASS):
    scores = np.asarray(scores, dtype=np.float64)
    return Predictions(task, kind, scores, np.full(len(scores), -1), labelled=False)


def test_golden_entropies():
    found = ood_scores(outside(INPUTS["ood_logits"]), "entropy")
    first = ood_scores(outside(INPUTS["in_logits"]), "entropy")
    assert any(
        np.allclose(rows[:3], GOLDEN["entropy_first3"], rtol=1e-9) for rows in (found, first)
    )
    saturated = ood_scores(outside([[800.0, 0.0, 0.0]]), "entropy")
    assert saturated == pytest.approx(GOLDEN["entropy_row5_logit800"], abs=1e-12)


ROWS = st.lists(st.floats(-60, 60), min_size=2, max_size=6)


@given(ROWS, st.floats(0.05, 20))
def test_a_second_implementation_agrees(row, temperature):
    rows = outside([row])
    for key, slow in (
        ("entropy", slow_ood.entropy),
        ("msp", slow_ood.one_minus_largest),
        ("energy", slow_ood.energy),
    ):
        found = ood_scores(rows, key, temperature)[0]
        assert found == pytest.approx(slow(row, temperature), rel=1e-9, abs=1e-12)
    assert ood_scores(rows, "max_logit", temperature)[0] == -max(row) / temperature


def test_scipy_agrees_at_every_temperature():
    z = 5 * RNG.normal(size=(500, 7))
    for temperature in (0.3, 1.0, 2.5):
        p = np.exp(z / temperature - logsumexp(z / temperature, axis=1, keepdims=True))
        found = {key: ood_scores(outside(z), key, temperature) for key in SCORES}
        np.testing.assert_allclose(
            found["entropy"], scipy_entropy(p, axis=1), rtol=1e-9, atol=1e-13
        )
        np.testing.assert_allclose(found["msp"], 1 - p.max(axis=1), rtol=1e-9, atol=1e-14)
        energy = -temperature * logsumexp(z / temperature, axis=1)
        np.testing.assert_allclose(found["energy"], energy, rtol=1e-12)


def test_by_hand():
    rows = outside([[0.0, 0.0], [np.log(3.0), 0.0]])
    assert ood_scores(rows, "entropy") == pytest.approx(
        [np.log(2), -0.75 * np.log(0.75) - 0.25 * np.log(0.25)]
    )
    assert ood_scores(rows, "msp") == pytest.approx([0.5, 0.25])
    assert ood_scores(rows, "max_logit") == pytest.approx([0.0, -np.log(3)])
    assert ood_scores(rows, "energy") == pytest.approx([-np.log(2), -np.log(4)])


def test_rows_are_told_apart_where_the_largest_probability_rounds_to_one():
    rows = outside([[0.0, 45.0], [0.0, 50.0], [0.0, 700.0]])
    assert (rows.probabilities().max(axis=1) == 1.0).all()
    for key in ("entropy", "msp"):
        found = ood_scores(rows, key)
        assert found[0] > found[1] > found[2] > 0.0
    assert ood_scores(rows, "msp")[0] == pytest.approx(np.exp(-45.0), rel=1e-12)


def test_a_class_that_is_ruled_out_adds_nothing():
    two, three = outside([[1.0, 2.0]]), outside([[1.0, 2.0, -np.inf]])
    for key in SCORES:
        assert ood_scores(two, key)[0] == pytest.approx(ood_scores(three, key)[0], rel=1e-15)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_small_types_are_read_in_float64(dtype):
    z = (4 * RNG.normal(size=(50, 5))).astype(dtype)
    narrow = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, z, np.full(50, -1), labelled=False)
    for key in SCORES:
        np.testing.assert_array_equal(
            ood_scores(narrow, key, 1.7), ood_scores(outside(z.astype(np.float64)), key, 1.7)
        )


def test_probabilities_stand_for_their_logarithms():
    z = 3 * RNG.normal(size=(40, 4))
    p = np.exp(z - logsumexp(z, axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    rows = outside(p, ScoreKind.PROBABILITIES)
    for key in ("entropy", "msp"):
        for temperature in (1.0, 2.0):
            np.testing.assert_allclose(
                ood_scores(rows, key, temperature),
                ood_scores(outside(z), key, temperature),
                rtol=1e-9,
            )
    one_hot = outside([[1.0, 0.0]], ScoreKind.PROBABILITIES)
    assert ood_scores(one_hot, "entropy")[0] == 0.0
    assert ood_scores(one_hot, "msp")[0] == 0.0


def test_a_binary_logit_is_scored_as_two_classes():
    single = outside([0.7, -2.0], task=Task.BINARY)
    both = outside([[-0.35, 0.35], [1.0, -1.0]])
    for key in ("entropy", "msp"):
        np.testing.assert_allclose(ood_scores(single, key), ood_scores(both, key), rtol=1e-12)


def test_what_scores_need():
    assert unavailable(outside([[1.0, 2.0]])) == {}
    shares = outside([[0.3, 0.7]], ScoreKind.PROBABILITIES)
    assert set(unavailable(shares)) == {"max_logit", "energy"}
    stated = outside([4.0, -3.0], ScoreKind.CONFIDENCE, Task.TOP_LABEL)
    assert set(unavailable(stated)) == set(SCORES) - {"msp"}
    assert ood_scores(stated, "msp").tolist() == [-3.0, 4.0]
    with pytest.raises(Refused, match="OOD_SCORE: Energy: needs the logits of every class"):
        ood_scores(shares, "energy")
    with pytest.raises(UsageError, match="confidences alone"):
        ood_scores(stated, "msp", 2.0)
    with pytest.raises(UsageError, match="There is no score 'odin'"):
        ood_scores(shares, "odin")
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(UsageError, match="use one above 0"):
            ood_scores(shares, "msp", wrong)


def test_many_labels_have_no_single_answer():
    rows = Predictions(
        Task.MULTILABEL, ScoreKind.LOGITS, np.zeros((2, 3)), np.zeros((2, 3), dtype=np.int64)
    )
    assert set(unavailable(rows)) == set(SCORES)


def test_heated_rows_keep_what_they_are():
    rows = outside([[1.0, 4.0], [2.0, 0.0]])
    assert temperature_scaled(rows, 1.0) is rows
    found = temperature_scaled(rows, 2.0)
    np.testing.assert_allclose(found.scores, rows.scores / 2.0)
    assert not found.labelled
    shares = temperature_scaled(outside([[0.2, 0.8]], ScoreKind.PROBABILITIES), 0.5)
    np.testing.assert_allclose(shares.probabilities(), [[0.04 / 0.68, 0.64 / 0.68]])
