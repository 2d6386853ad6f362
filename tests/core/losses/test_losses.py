"""Every loss: against the slow reference, gradients, symmetries, extremes, precision, state."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from core.losses.catalogue import LOSSES
from core.predictions import Task
from tests.core.losses.cases import (
    ACCURACY,
    ANY_TASK,
    EDGES,
    GAMMA,
    SETTINGS,
    SINGLE_ANSWER,
    drawn,
    trained,
)
from tests.reference import slow_losses

BINS = {"edges": EDGES.tolist(), "gamma": GAMMA.tolist(), "accuracy": ACCURACY.tolist()}
KERNEL = ("mmce", "mmce_weighted")
STATEFUL = ("fls_532", "fls_531", "calfocal_1", "calfocal_2", "adafocal")

# Quarters: shifts by whole numbers are exact, and ties are common.
quarters = st.integers(-80, 80).map(lambda n: n / 4)
any_rows = st.tuples(st.integers(1, 6), st.integers(2, 5)).flatmap(
    lambda shape: st.tuples(
        hnp.arrays(np.float64, shape, elements=quarters),
        hnp.arrays(np.int64, shape[0], elements=st.integers(0, shape[1] - 1)),
    )
)


def value(loss, logits, targets):
    """The loss of arrays, as a float."""
    import torch

    return loss(torch.from_numpy(np.array(logits)), torch.from_numpy(np.array(targets))).item()


def test_settings_of_these_tests_name_every_loss():
    assert list(SETTINGS) == list(LOSSES)


@pytest.mark.parametrize(("name", "task"), ANY_TASK)
def test_loss_is_that_of_the_slow_reference(torch, made, name, task):
    loss = trained(torch, made(name, task=task, **SETTINGS[name]))
    for seed in range(3):
        logits, targets = drawn(task, n_rows=9, seed=seed)
        wanted = slow_losses.batch_loss(
            name, SETTINGS[name], logits, targets, multilabel=task is Task.MULTILABEL, bins=BINS
        )
        assert value(loss, logits, targets) == pytest.approx(wanted, rel=1e-11)


@pytest.mark.parametrize(
    ("name", "task"), [(name, task) for name, task in ANY_TASK if name != "calfocal_1"]
)
def test_gradient_is_the_slope(torch, made, name, task):
    loss = trained(torch, made(name, task=task, **SETTINGS[name]))
    logits, targets = drawn(task)
    rows = torch.tensor(logits, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: loss(z, torch.from_numpy(targets)), rows)


def test_no_gradient_flows_through_the_gamma_of_calfocal(torch, made):
    """dL/dz = g (p - onehot) with g of a constant gamma, Mukhoti et al. 2020, proposition 1."""
    loss = trained(torch, made("calfocal_1", reduction="sum", **SETTINGS["calfocal_1"]))
    logits, targets = drawn(Task.MULTICLASS)
    rows = torch.tensor(logits, requires_grad=True)
    loss(rows, torch.from_numpy(targets)).backward()
    for z, y, found in zip(logits, targets, rows.grad, strict=True):
        p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
        t = p[y]
        gamma = slow_losses._gamma("calfocal_1", SETTINGS["calfocal_1"], t, BINS)
        g = (1 - t) ** gamma - gamma * t * (1 - t) ** (gamma - 1) * math.log(t)
        np.testing.assert_allclose(found, g * (p - (np.arange(4) == y)), rtol=1e-9, atol=1e-15)


def test_a_second_derivative_is_refused_and_not_wrong(torch, made):
    logits = torch.zeros((1, 3), requires_grad=True)
    loss = made("focal", gamma=2.0)(logits, torch.tensor([0]))
    (slope,) = torch.autograd.grad(loss, logits, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_classes_that_share_the_place_below_share_the_gradient_of_dual_focal(torch, made):
    logits = torch.tensor([[2.0, 1.0, 1.0, 0.0]], requires_grad=True)
    made("dual_focal", gamma=2.0)(logits, torch.tensor([0])).backward()
    assert logits.grad[0, 1] == logits.grad[0, 2]


# Symmetries -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["focal", "inverse_focal", "dual_focal", "fcl", "fcl_l1"])
@settings(max_examples=40)
@given(rows=any_rows)
def test_gamma_of_zero_is_cross_entropy(made, name, rows):
    only = {"lambda": 0.0} if name.startswith("fcl") else {}
    found = value(made(name, gamma=0.0, **only), *rows)
    assert found == pytest.approx(value(made("ce"), *rows), rel=1e-12, abs=1e-15)


@settings(max_examples=40)
@given(rows=any_rows)
def test_adafocal_with_gammas_of_zero_is_cross_entropy(made, rows):
    loss = made("adafocal")
    loss.gamma.zero_()
    assert value(loss, *rows) == pytest.approx(value(made("ce"), *rows), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", SETTINGS)
@settings(max_examples=20)
@given(rows=any_rows, seed=st.integers(0, 99))
def test_loss_forgets_the_order_of_rows_and_a_shift_of_logits(torch, made, name, rows, seed):
    loss = trained(torch, made(name, **SETTINGS[name]))
    logits, targets = rows
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(targets))
    moved = logits[order] + rng.integers(-9, 9, (len(targets), 1))
    # near 0 the root of the weighted MMCE turns rounding of 1e-17 into 3e-9
    close = {"rel": 1e-12, "abs": 1e-7 if name in KERNEL else 1e-15}
    assert value(loss, moved, targets[order]) == pytest.approx(
        value(loss, logits, targets), **close
    )


@pytest.mark.parametrize(("name", "task"), ANY_TASK)
def test_sum_is_the_number_of_rows_times_the_mean(torch, made, name, task):
    rows = drawn(task)
    mean, total = (
        value(trained(torch, made(name, task=task, reduction=how, **SETTINGS[name])), *rows)
        for how in ("mean", "sum")
    )
    assert total == pytest.approx(7 * mean, rel=1e-14)


@pytest.mark.parametrize("name", [name for name in SETTINGS if name not in SINGLE_ANSWER])
def test_one_label_is_two_classes(torch, made, name):
    logits, targets = drawn(Task.MULTILABEL, n_columns=1)
    columns = np.hstack([np.zeros_like(logits), logits])
    both = {"two_sided": True} if name.startswith("fcl") else {}
    label = trained(torch, made(name, task=Task.MULTILABEL, **SETTINGS[name], **both))
    classes = trained(torch, made(name, task=Task.BINARY, **SETTINGS[name]))
    factor = 2 if name == "brier" else 1  # both outcomes of a label are counted
    wanted = value(classes, columns, targets[:, 0])
    assert factor * value(label, logits, targets) == pytest.approx(wanted, rel=1e-12)


def test_answers_of_one_label_are_those_of_two_classes(torch, made):
    logits, targets = drawn(Task.MULTILABEL, n_columns=1)
    logits[0] = 0.0  # a tie: no, as class 0
    columns = np.hstack([np.zeros_like(logits), logits])
    one = made("ce", task=Task.MULTILABEL).answers(
        torch.from_numpy(logits), torch.from_numpy(targets)
    )
    two = made("ce").answers(torch.from_numpy(columns), torch.from_numpy(targets[:, 0]))
    np.testing.assert_allclose(one[0], two[0], rtol=1e-15)
    assert one[1].tolist() == two[1].tolist()
    assert one[1].tolist() == ((logits > 0) == targets)[:, 0].tolist()


# Extremes, precision, devices -------------------------------------------------------------------

EXTREME = [
    [1e4, -1e4, -1e4, -1e4],
    [-1e4, 1e4, 1e4, 1e4],
    [1e4, 1e4, 1e4, 1e4],
    [1e4, 0.0, -1e4, 30.0],
    [0.0, 1e4, -1e4, 90.0],
    [0.0, 0.0, 0.0, 0.0],
]
STRONGEST = {
    "calfocal_1": {"lambda": 1000.0, "n_bins": 5},
    "calfocal_2": {"lambda": 1000.0, "n_bins": 5},
    "inverse_focal": {"gamma": 20.0},
    "focal": {"gamma": 0.5},
    "mmce_weighted": {"lambda": 2.0, "normalisation": "released"},
}


def strongest(torch, made, name, task):
    """The loss with the settings that are hardest on the numbers, AdaFocal with its own."""
    loss = made(name, task=task, **STRONGEST.get(name, SETTINGS[name]))
    if name in ("calfocal_1", "calfocal_2"):
        loss.update(torch.linspace(0.9, 1.0, 50), torch.zeros(50, dtype=torch.bool))
    if name == "adafocal":
        loss.gamma.copy_(torch.tensor([1e6, 0.01, 20.0, -0.2, -20.0], dtype=torch.float64))
    return loss


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize(("name", "task"), ANY_TASK)
def test_extreme_logits_give_finite_losses_and_gradients(torch, made, name, task, dtype):
    loss = strongest(torch, made, name, task)
    logits = torch.tensor(EXTREME, dtype=getattr(torch, dtype), requires_grad=True)
    targets = torch.tensor([0, 0, 1, 2, 1, 3])
    if task is Task.MULTILABEL:
        targets = torch.nn.functional.one_hot(targets, 4)
    found = loss(logits, targets)
    found.backward()
    assert found.isfinite()
    assert logits.grad.isfinite().all()
    assert found.dtype == (torch.float64 if dtype == "float64" else torch.float32)


def test_focal_loss_of_a_saturated_row_is_exact_where_one_minus_p_rounds_to_zero(torch, made):
    """p = 1 - 3 e^-60, so the loss is (3 e^-60)^0.5 3 e^-60."""
    logits = torch.tensor([[60.0, 0.0, 0.0, 0.0]], requires_grad=True)
    found = made("focal", gamma=0.25)(logits, torch.tensor([0]))
    assert found.item() == pytest.approx((3 * math.exp(-60)) ** 1.25, rel=1e-4)


def test_equal_confidences_that_cancel_leave_mmce_a_finite_slope(torch, made):
    logits = torch.zeros((4, 2), requires_grad=True)
    loss = made("mmce_weighted", **{"lambda": 2.0})(logits, torch.tensor([0, 0, 1, 1]))
    loss.backward()
    assert loss.item() == pytest.approx(math.log(2), abs=1e-6)
    assert logits.grad.isfinite().all()


def test_one_hit_and_one_miss_by_hand(torch, made):
    """k = e^-(0.3 / 0.4); (0.1^2 + 0.6^2 - 2 0.1 0.6 k), as released / (1 + 1e-5) + 1e-10."""
    confidence, correct = torch.tensor([[0.9, 0.6], [1.0, 0.0]], dtype=torch.float64)
    square = 0.37 - 0.12 * math.exp(-0.75)
    error = made("mmce_weighted").error(confidence, correct)
    assert error.item() == pytest.approx(math.sqrt(square), rel=1e-12)
    error = made("mmce_weighted", normalisation="released").error(confidence, correct)
    assert error.item() == pytest.approx(math.sqrt(square / 1.00001 + 1e-10), rel=1e-9)


@pytest.mark.parametrize("name", SETTINGS)
def test_half_precision_is_computed_in_single_precision(torch, made, name):
    loss = trained(torch, made(name, **SETTINGS[name]))
    logits, targets = map(torch.from_numpy, drawn(Task.MULTICLASS, n_rows=33))
    for dtype in (torch.bfloat16, torch.float16):
        half = logits.to(dtype)
        assert loss(half, targets).item() == loss(half.float(), targets).item()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert loss(half, targets).item() == loss(half.float(), targets).item()
    wanted = loss(logits, targets).item()
    assert loss(logits.float(), targets).item() == pytest.approx(wanted, rel=2e-5)


@pytest.mark.parametrize(("name", "task"), ANY_TASK)
def test_a_step_asks_the_device_for_no_value(torch, made, name, task):
    """Tensors of the meta device have none: any number or shape that depends on one is refused."""
    loss = made(name, task=task, **SETTINGS[name]).to("meta")
    logits, targets = (torch.from_numpy(rows).to("meta") for rows in drawn(task))
    logits.requires_grad_()
    with pytest.raises(RuntimeError):
        logits.sum().item()
    loss.epoch_start(3, 7)
    found = loss(logits, targets)
    found.backward()
    assert found.shape == ()
    assert logits.grad.shape == logits.shape


# State ------------------------------------------------------------------------------------------


def advanced(torch, loss, seed):
    """The loss some way into a run."""
    rng = np.random.default_rng(seed)
    loss.epoch_start(40 + seed, 100)
    loss.update(
        torch.from_numpy(rng.uniform(size=90)), torch.from_numpy(rng.uniform(size=90) < 0.4)
    )
    return loss


@pytest.mark.parametrize("name", SETTINGS)
def test_a_checkpoint_restores_the_loss_in_the_middle_of_a_run(torch, made, name):
    rows = drawn(Task.MULTICLASS, n_rows=40)
    loss = advanced(torch, made(name, **SETTINGS[name]), seed=1)
    fresh = made(name, **SETTINGS[name])
    changed = value(fresh, *rows) != value(loss, *rows)
    assert changed == (name in STATEFUL)
    fresh.load_state_dict({key: kept.clone() for key, kept in loss.state_dict().items()})
    assert value(fresh, *rows) == value(loss, *rows)
    for one in (fresh, loss):
        rng = np.random.default_rng(2)
        one.update(torch.from_numpy(rng.uniform(size=90)), torch.ones(90, dtype=torch.bool))
    assert value(fresh, *rows) == value(loss, *rows)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_tensor_of_a_loss_is_a_buffer(torch, made, name):
    loss = advanced(torch, made(name, **SETTINGS[name]), seed=1)
    assert not [key for key, kept in vars(loss).items() if isinstance(kept, torch.Tensor)]
    assert list(loss.parameters()) == []


def test_losses_without_bins_learn_nothing(torch, made):
    for name in SETTINGS:
        loss = made(name, **SETTINGS[name])
        binned = name in ("calfocal_1", "calfocal_2", "adafocal")
        assert loss.needs_update(1, epoch_ends=True) == binned
        assert (loss.update(torch.rand(9), torch.ones(9, dtype=torch.bool)) is not None) == binned


@pytest.mark.parametrize(
    ("n_epochs", "drops"), [(350, (100, 250)), (7, (2, 5)), (40, (12, 29)), (1, (1, 1))]
)
def test_schedule_drops_after_two_and_five_sevenths(made, n_epochs, drops):
    for name, last in (("fls_532", 2.0), ("fls_531", 1.0)):
        loss = made(name)
        assert loss.gamma.item() == 5.0
        found = []
        for epoch in range(n_epochs):
            loss.epoch_start(epoch, n_epochs)
            found.append(loss.gamma.item())
        first, second = drops
        assert found == [5.0] * first + [3.0] * (second - first) + [last] * (n_epochs - second)


def test_schedule_trains_with_the_gamma_of_the_epoch(made):
    rows = drawn(Task.MULTICLASS)
    loss = made("fls_531")
    for epoch, gamma in ((0, 5.0), (3, 3.0), (6, 1.0)):
        loss.epoch_start(epoch, 7)
        assert value(loss, *rows) == value(made("focal", gamma=gamma), *rows)


def test_updates_are_due_at_the_end_of_epochs_or_every_few_batches(made):
    by_epoch, by_batch = made("adafocal"), made("calfocal_2", update_every=3)
    assert [by_epoch.needs_update(n, epoch_ends=n == 4) for n in (1, 3, 4)] == [False, False, True]
    assert [by_batch.needs_update(n, epoch_ends=n == 4) for n in (1, 3, 4)] == [False, True, False]
