"""Gammas replayed from validation logits: golden, by hand, and beside the slow reference."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import Refused
from core.losses.bins import AdaFocalRule, CalFocalRule, replay
from core.predictions import Task
from tests.core.losses.cases import GOLDEN, drawn, golden_validation
from tests.reference import slow_losses


def stated(confidence, correct, n_classes=12):
    """Logits that state confidences; the answer is class 0, which is true, or class 1."""
    confidence, correct = np.asarray(confidence, np.float64), np.asarray(correct)
    logits = np.empty((len(confidence), n_classes))
    with np.errstate(divide="ignore"):  # a confidence of 1 rules the others out
        logits[:] = np.log((1 - confidence) / (n_classes - 1))[:, None]
    logits[np.arange(len(confidence)), np.where(correct, 0, 1)] = np.log(confidence)
    return logits


FIVE = stated([0.9, 0.5, 0.7, 0.8, 0.6], [True, True, False, True, True])
TRUE = np.zeros(5, np.int64)


def grid(history, name):
    return getattr(history, name).reshape(history.n_epochs, history.n_bins)


@pytest.mark.parametrize("name", [name for name in GOLDEN if name.startswith("adafocal/")])
def test_golden_trajectories_are_replayed_from_logits(name):
    params, steps = GOLDEN[name]["params"], GOLDEN[name]["value"][1:]
    rule = AdaFocalRule(
        rate=params.get("adafocal_lambda", 1.0), s_th=params.get("adafocal_switch_pt", 0.2)
    )
    parts = [golden_validation(name.removeprefix("adafocal/"), s["step"]) for s in steps]
    logits = np.stack([stated(*part) for part in parts])
    labels = np.zeros(logits.shape[1], np.int64)
    found = replay(logits, labels, task=Task.MULTICLASS, rule=rule, n_bins=params["num_bins"])
    assert found.n_epochs == len(steps)
    for epoch, step in enumerate(steps):
        for field in {"gamma", "lower", "upper", "gap"} & step.keys():
            wanted, tolerance = step[field], GOLDEN[name]["tol"]
            np.testing.assert_allclose(
                grid(found, field)[epoch], wanted, tolerance["rtol"], tolerance["atol"]
            )


def test_adafocal_by_hand():
    """Bins of the five: gap 0.15 and -0.15 in each epoch, edges 0.5, 0.75, 0.9."""
    found = replay(
        np.stack([FIVE] * 3), TRUE, task=Task.MULTICLASS, rule=AdaFocalRule(2.0), n_bins=2
    )
    np.testing.assert_allclose(grid(found, "lower"), [[0.5, 0.75]] * 3)
    np.testing.assert_allclose(grid(found, "upper"), [[0.75, 0.9]] * 3)
    assert found.count.tolist() == [2] * 6
    np.testing.assert_allclose(grid(found, "confidence"), [[0.65, 0.85]] * 3)
    np.testing.assert_allclose(grid(found, "accuracy"), [[0.5, 1.0]] * 3)
    np.testing.assert_allclose(grid(found, "gap"), [[0.15, -0.15]] * 3)
    np.testing.assert_allclose(
        grid(found, "gamma"), np.exp([[0.3, -0.3], [0.6, -0.6], [0.9, -0.9]])
    )
    assert found.epoch.tolist() == [0, 0, 1, 1, 2, 2]
    assert np.isnan(found.train_confidence).all()


def test_calfocal_by_hand():
    """The gamma of an epoch is that of its gap, whatever it was before."""
    turned = stated([0.9, 0.5, 0.7, 0.8, 0.6], [False, True, True, True, True])
    found = replay(
        np.stack([FIVE, turned]), TRUE, task=Task.MULTICLASS, rule=CalFocalRule(10.0), n_bins=2
    )
    gap = [[0.15, -0.15], [0.65 - 1.0, 0.85 - 0.5]]
    np.testing.assert_allclose(grid(found, "gap"), gap)
    np.testing.assert_allclose(grid(found, "gamma"), np.exp(10 * np.array(gap)))


def test_many_labels_are_one_answer_each_by_hand():
    """Logits of +-log 4, +-log 9: certain by 0.8 or 0.9 that the label is there, or is not.

    Four answers; the two least certain are in no bin. Of the others, one is that there is none.
    """
    four, nine = math.log(4), math.log(9)
    logits = np.array([[[four, -nine], [-four, nine]]])
    labels = np.array([[0, 0], [0, 1]])
    found = replay(logits, labels, task=Task.MULTILABEL, rule=CalFocalRule(1.0), n_bins=1)
    assert found.count.tolist() == [2]
    np.testing.assert_allclose(found.confidence, [0.9])
    np.testing.assert_allclose(found.accuracy, [1.0])
    np.testing.assert_allclose(found.gamma, [math.exp(-0.1)])


def test_ties_leave_bins_empty_and_their_gammas_as_they_were():
    same = np.stack([stated([0.8] * 7, [False] * 7)] * 2)
    found = replay(same, np.zeros(7, np.int64), task=Task.MULTICLASS, rule=AdaFocalRule(), n_bins=3)
    assert found.count.tolist() == [0] * 6
    assert np.isnan(found.confidence).all()
    assert (found.gap.tolist(), found.gamma.tolist()) == ([0.0] * 6, [1.0] * 6)


def test_a_diverged_epoch_is_named():
    broken = np.stack([FIVE, np.full_like(FIVE, np.nan)])
    with pytest.raises(Refused, match="NONFINITE") as excinfo:
        replay(broken, TRUE, task=Task.MULTICLASS, rule=AdaFocalRule(), n_bins=2)
    assert excinfo.value.location == "epoch 1"


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 999),
    n_bins=st.integers(1, 7),
    rate=st.floats(0.1, 9),
    dtype=st.sampled_from([np.float16, np.float32, np.float64]),
)
def test_a_replay_is_that_of_the_slow_reference(seed, n_bins, rate, dtype):
    parts = [drawn(Task.MULTICLASS, n_rows=60, seed=seed + epoch)[0] for epoch in range(3)]
    labels = drawn(Task.MULTICLASS, n_rows=60, seed=seed)[1]
    logits = np.stack(parts).astype(dtype)
    rule = AdaFocalRule(rate, gamma_max=5.0, gamma_min=-1.0, s_th=0.3)
    found = replay(logits, labels, task=Task.MULTICLASS, rule=rule, n_bins=n_bins)
    limits = {"gamma_max": 5.0, "gamma_min": -1.0, "s_th": 0.3}
    wanted = slow_losses.replayed(logits.tolist(), labels.tolist(), n_bins, rate=rate, **limits)
    for name in ("lower", "upper", "count", "confidence", "accuracy", "gap", "gamma"):
        column = [row[name] for rows in wanted for row in rows]
        np.testing.assert_allclose(getattr(found, name), column, rtol=1e-9, atol=1e-12)


def test_a_replay_is_what_the_loss_learned(torch, made):
    loss = made("adafocal", n_bins=6, **{"lambda": 3.0})
    labels = drawn("multiclass", n_rows=200)[1]
    epochs = np.stack([drawn("multiclass", n_rows=200, seed=seed)[0] for seed in range(5)])
    found = replay(epochs, labels, task=Task.MULTICLASS, rule=AdaFocalRule(3.0), n_bins=6)
    for epoch, logits in enumerate(epochs):
        loss.update(*loss.answers(torch.from_numpy(logits), torch.from_numpy(labels)))
        np.testing.assert_allclose(grid(found, "gamma")[epoch], loss.gamma, rtol=1e-12)
    many, answers = drawn(Task.MULTILABEL, n_rows=80)
    loss = made("adafocal", task=Task.MULTILABEL, n_bins=6)
    update = loss.update(*loss.answers(torch.from_numpy(many), torch.from_numpy(answers)))
    found = replay(many[None], answers, task=Task.MULTILABEL, rule=AdaFocalRule(), n_bins=6)
    np.testing.assert_allclose(found.gamma, update.gamma, rtol=1e-12)
    np.testing.assert_array_equal(found.count, update.bins.count)
