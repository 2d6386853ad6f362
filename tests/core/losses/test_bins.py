"""Bins of validation answers and the gammas that follow, by hand and beside the slow reference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from core.errors import Refused
from core.losses.bins import (
    AdaFocalRule,
    CalFocalRule,
    UpdateSchedule,
    ValidationBins,
    is_schedule,
    validation_bins,
)
from core.predictions import Outcomes
from tests.core.losses.cases import drawn
from tests.reference import slow_losses


def bins_of(gaps):
    """Bins with given gaps; NaN for an empty one."""
    confidence = np.array(gaps) + 0.5
    count = np.where(np.isnan(confidence), 0, 9)
    accuracy = np.where(np.isnan(confidence), np.nan, 0.5)
    return ValidationBins(np.linspace(0, 1, len(gaps) + 1), count, confidence, accuracy)


def test_bins_by_hand():
    """Edges at ranks 0, 2.5, 5: 0.5, 0.75, 0.9; the least confident answer is in no bin."""
    outcomes = Outcomes(np.array([0.9, 0.5, 0.7, 0.8, 0.6]), np.array([1, 1, 0, 1, 1], dtype=bool))
    found = validation_bins(outcomes, 2)
    np.testing.assert_allclose(found.edges, [0.5, 0.75, 0.9], rtol=1e-15)
    assert found.count.tolist() == [2, 2]
    np.testing.assert_allclose(found.confidence, [0.65, 0.85], rtol=1e-15)
    np.testing.assert_allclose(found.accuracy, [0.5, 1.0])
    np.testing.assert_allclose(found.gap, [0.15, -0.15], rtol=1e-14)


def test_equal_confidences_leave_every_bin_empty_and_gamma_as_it_was():
    outcomes = Outcomes(np.full(7, 0.8), np.zeros(7, dtype=bool))
    bins = validation_bins(outcomes, 3)
    assert bins.count.tolist() == [0, 0, 0]
    assert np.isnan(bins.accuracy).all()
    found = AdaFocalRule().update(np.array([3.0, 1.0, -0.5]), bins)
    assert found.gamma.tolist() == [3.0, 1.0, -0.5]
    assert found.frozen.all()
    assert not found.switched.any()
    assert CalFocalRule(10.0).update(found.gamma, bins).gamma.tolist() == [1.0, 1.0, 1.0]


tied = st.integers(0, 12).map(lambda n: n / 12)
answers = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        hnp.arrays(np.float64, n, elements=st.one_of(tied, st.floats(0, 1))),
        hnp.arrays(np.bool_, n),
    )
)


@settings(max_examples=50)
@given(rows=answers, n_bins=st.integers(1, 9), rate=st.floats(0.1, 9))
def test_bins_and_gammas_are_those_of_the_slow_reference(rows, n_bins, rate):
    confidence, correct = rows
    bins = validation_bins(Outcomes(confidence, correct), n_bins)
    edges, table = slow_losses.equal_mass_bins(confidence.tolist(), correct.tolist(), n_bins)
    np.testing.assert_allclose(bins.edges, edges, rtol=0, atol=1e-15)
    inner = np.isin(np.concatenate([bins.edges, edges]), confidence)
    if inner.all():  # else the last bit of an interpolated edge may decide a tie with a row
        assert bins.count.tolist() == [count for count, _, _ in table]
        means = np.array([bins.confidence, bins.accuracy])
        np.testing.assert_allclose(means, np.array(table)[:, 1:].T, rtol=0, atol=1e-12)
    gamma = np.resize([1.0, -1.0, 0.25, 12.0], n_bins)
    found = AdaFocalRule(rate).update(gamma, bins)
    for b in range(n_bins):
        wanted, switched = slow_losses.adafocal_gamma(gamma[b], bins.gap[b], rate=rate)
        assert found.gamma[b] == pytest.approx(wanted, rel=1e-12)
        assert found.switched[b] == switched


def test_update_by_hand():
    """S_th 0.2: 0.25 e^-0.5 = 0.152 changes sides, and so does -0.25 when confidence is too high.

    -1 under-confident by 0.5 becomes -e^0.5; bounds 2 and -1.2 hold.
    """
    rule = AdaFocalRule(gamma_max=2.0, gamma_min=-1.2)
    found = rule.update(
        np.array([1.0, 0.25, -0.25, -1.0, 1.9, 0.3]), bins_of([0.5, -0.5, 0.5, -0.5, 0.5, np.nan])
    )
    np.testing.assert_allclose(found.gamma, [np.exp(0.5), -0.2, 0.2, -1.2, 2.0, 0.3])
    assert found.switched.tolist() == [False, True, True, False, False, False]
    assert found.frozen.tolist() == [False] * 5 + [True]


def test_a_gamma_that_has_just_switched_stays_while_its_bin_is_empty_or_calibrated():
    found = AdaFocalRule().update(np.array([0.2, -0.2]), bins_of([np.nan, 0.0]))
    assert found.gamma.tolist() == [0.2, -0.2]
    assert not found.switched.any()


def test_gamma_of_zero_moves_to_the_focal_side():
    found = AdaFocalRule(gamma_min=0.0).update(np.zeros(1), bins_of([0.1]))
    assert found.gamma.tolist() == [0.2]


def test_the_gamma_of_calfocal_is_bounded_where_float32_would_end():
    found = CalFocalRule(1000.0).update(np.ones(2), bins_of([0.5, -0.5]))
    assert found.gamma[0] == pytest.approx(np.exp(69.0))
    assert 0.0 <= found.gamma[1] < 1e-200


# In a loss --------------------------------------------------------------------------------------


def test_an_update_takes_the_place_of_edges_gammas_and_accuracies(torch, made):
    confidence, correct = np.linspace(0.3, 0.9, 61), np.arange(61) % 3 == 0
    loss = made("adafocal", n_bins=4, **{"lambda": 2.0})
    found = loss.update(torch.from_numpy(confidence).float(), torch.from_numpy(correct))
    edges, table = slow_losses.equal_mass_bins(confidence.tolist(), correct.tolist(), 4)
    np.testing.assert_allclose(loss.edges, edges, atol=1e-7)
    np.testing.assert_allclose(loss.gamma, found.gamma)
    for b, (_, claimed, right) in enumerate(table):
        wanted, _ = slow_losses.adafocal_gamma(1.0, claimed - right, rate=2.0)
        assert found.gamma[b] == pytest.approx(wanted, rel=1e-6)
        assert loss.accuracy[b].item() == pytest.approx(right)


def test_training_probabilities_outside_all_validation_go_to_the_outer_bins(torch, made):
    loss = made("adafocal", n_bins=3)
    loss.edges.copy_(torch.tensor([0.4, 0.6, 0.6, 0.9], dtype=torch.float64))
    p = [0.0, 0.4, 0.5999, 0.6, 0.7, 0.9, 1.0]
    found = loss.bin_of(torch.tensor(p, dtype=torch.float64)).tolist()
    assert found == [0, 0, 0, 2, 2, 2, 2]
    assert found == [slow_losses.bin_of(one, loss.edges.tolist()) for one in p]


def test_gammas_replayed_from_validation_logits_are_those_of_training(torch, made):
    loss = made("adafocal", n_bins=6)
    gamma, rule = np.ones(6), AdaFocalRule()
    for epoch in range(5):
        logits, labels = drawn("multiclass", n_rows=200, seed=epoch)
        found = loss.update(*loss.answers(torch.from_numpy(logits), torch.from_numpy(labels)))
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        outcomes = Outcomes(p.max(axis=1), p.argmax(axis=1) == labels)
        gamma = rule.update(gamma, validation_bins(outcomes, 6)).gamma
        np.testing.assert_allclose(found.gamma, gamma, rtol=1e-12)
        np.testing.assert_allclose(loss.gamma, gamma, rtol=1e-12)


def test_answers_of_a_diverged_model_are_refused(torch, made):
    loss = made("adafocal")
    confidence = torch.tensor([0.5, torch.nan, 0.7])
    with pytest.raises(Refused, match="NONFINITE: 1 of 3 validation confidences"):
        loss.update(confidence, torch.ones(3, dtype=torch.bool))
    assert loss.gamma.tolist() == [1.0] * 15


def test_a_schedule_as_of_the_papers_svhn():
    """Figure 53: 25 epochs by their ends, to epoch 40 every 100 batches, then after each."""
    schedule = UpdateSchedule.of("epoch, 100 from 25, 1 from 40")
    every = [schedule.every(epoch) for epoch in (0, 24, 25, 39, 40, 49)]
    assert every == [None, None, 100, 100, 1, 1]
    # 516 batches: 12,900 are trained before epoch 25, 13,416 after it
    assert [schedule.n_updates(epoch, 516) for epoch in (24, 25, 40)] == [1, 134 - 129, 516]


@pytest.mark.parametrize("setting", ["epoch", 50, "50", "3, epoch from 2", "epoch,1 from 9"])
def test_what_is_a_schedule(setting):
    assert is_schedule(setting)


@pytest.mark.parametrize(
    "setting",
    [
        "1000001",
        "",
        "never",
        "1 from 3",
        "epoch, 5",
        "epoch, 5 from 4, 2 from 4",
        "0",
        "epoch,",
        "1.5",
    ],
)
def test_what_is_none(setting):
    assert not is_schedule(setting)
