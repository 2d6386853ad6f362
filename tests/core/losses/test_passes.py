"""Losses in one pass, float32 through loops and float64 through torch, and what they mean."""

import numpy as np
import pytest

from core.predictions import Task
from tests.core.losses.cases import SETTINGS, trained

WIDTH = 0.4  # of the kernel of MMCE


def ties(n_rows, n_columns, seed=0):
    """Logits of which some are equal, and targets at both ends."""
    rng = np.random.default_rng(seed)
    logits = np.round(8 * rng.normal(size=(n_rows, n_columns))) / 4  # differences are exact
    logits[0] = 0.0
    targets = rng.integers(0, n_columns, n_rows)
    targets[:4] = 0, n_columns - 1, 0, n_columns - 1
    return logits, targets


def stepped(torch, loss, logits, targets, dtype):
    rows = torch.tensor(logits, dtype=dtype, requires_grad=True)
    value = loss(rows, torch.from_numpy(targets))
    value.backward()
    return value.item(), rows.grad.double().numpy()


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("n_columns", [2, 130])
def test_single_precision_is_double_precision_rounded(torch, made, name, n_columns):
    loss = trained(torch, made(name, **SETTINGS[name]))
    logits, targets = ties(40, n_columns)
    value, gradient = stepped(torch, loss, logits.astype(np.float32), targets, torch.float32)
    exact, slope = stepped(torch, loss, logits.astype(np.float32), targets, torch.float64)
    assert value == pytest.approx(exact, rel=3e-6)
    np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_squared_distance_is_its_definition(torch, made, dtype):
    logits, targets = ties(30, 70, seed=1)
    rows = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
    onehot = torch.nn.functional.one_hot(torch.from_numpy(targets), 70)
    plain = (rows.softmax(-1) - onehot).square().sum(-1).mean()
    plain.backward()
    value, gradient = stepped(torch, made("brier"), logits, targets, getattr(torch, dtype))
    assert value == pytest.approx(plain.item(), rel=1e-6 if dtype == "float32" else 1e-14)
    np.testing.assert_allclose(gradient, rows.grad, atol=1e-8 if dtype == "float32" else 1e-16)


def pairs(torch, values, other, confidence):
    """The sum over all pairs, which autograd takes apart."""
    kernel = torch.exp((confidence[:, None] - confidence).abs() / -WIDTH)
    return (values[:, None] * other * kernel).sum()


@pytest.mark.parametrize("name", ["mmce", "mmce_weighted"])
def test_cross_entropy_of_logits_far_from_zero_is_exact(torch, made, name):
    logits, targets = ties(40, 3)
    loss = made(name, **{"lambda": 0.0})
    value, _ = stepped(torch, loss, logits + 1000.0, targets, torch.float32)
    exact = torch.nn.functional.cross_entropy(torch.tensor(logits), torch.from_numpy(targets))
    assert value == pytest.approx(exact.item(), rel=3e-7)


@pytest.mark.parametrize("name", ["mmce", "mmce_weighted"])
def test_sums_in_order_of_confidence_are_those_over_all_pairs(torch, made, name):
    """Also where confidences are equal: there |c - c'| has no slope."""
    rng = np.random.default_rng(3)
    stated = torch.tensor(np.round(rng.uniform(size=200), 2), requires_grad=True)
    correct = torch.tensor(rng.uniform(size=200) < stated.detach().numpy()).double()
    error = made(name).error(stated, correct)
    (slope,) = torch.autograd.grad(error, stated)
    if name == "mmce":
        gap = correct - stated
        plain = pairs(torch, gap, gap, stated) / 200**2
    else:
        hit, miss = (1 - stated) * correct, stated * (1 - correct)
        n_hits = correct.sum()
        n_misses = 200 - n_hits
        plain = (
            pairs(torch, hit, hit, stated) / n_hits**2
            + pairs(torch, miss, miss, stated) / n_misses**2
            - 2 * pairs(torch, hit, miss, stated) / (n_hits * n_misses)
        ).sqrt()
    (plain_slope,) = torch.autograd.grad(plain, stated)
    assert error.item() == pytest.approx(plain.item(), rel=1e-12)
    np.testing.assert_allclose(slope, plain_slope, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("target", [-1, 3])
def test_a_target_that_is_no_class_is_an_error(torch, made, dtype, target):
    logits = torch.zeros((4, 3), dtype=getattr(torch, dtype))
    with pytest.raises((IndexError, RuntimeError), match=r"none of the classes|out of bounds"):
        made("focal", gamma=2.0)(logits, torch.tensor([0, 1, target, 2]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_targets", [3, 5])
def test_targets_for_other_than_all_rows_are_an_error(torch, made, dtype, n_targets):
    logits = torch.zeros((4, 3), dtype=getattr(torch, dtype))
    with pytest.raises(ValueError, match=rf"shape \({n_targets},\) for logits \(4, 3\)"):
        made("brier")(logits, torch.zeros(n_targets, dtype=torch.int64))


@pytest.mark.parametrize("name", ["adafocal", "dual_focal", "fcl", "mmce"])
def test_what_is_not_a_number_stays_so(torch, made, name):
    """A training that diverged is seen by its loss."""
    logits = torch.tensor([[0.0, torch.nan, 1.0], [0.0, 1.0, 2.0]])
    assert made(name)(logits, torch.tensor([0, 1])).isnan()


def test_logits_that_do_not_lie_row_by_row_are_read_as_they_are(torch, made):
    logits, targets = ties(9, 5)
    loss = made("dual_focal", gamma=2.0)
    rows = torch.tensor(logits.T.copy(), dtype=torch.float32, requires_grad=True)
    value = loss(rows.T, torch.from_numpy(targets))
    value.backward()
    direct, gradient = stepped(torch, loss, logits, targets, torch.float32)
    assert value.item() == direct
    np.testing.assert_array_equal(rows.grad.T, gradient)


def test_single_precision_of_labels_is_untouched(torch, made):
    """Many labels have no other classes."""
    logits = torch.tensor([[0.3, -2.0]], requires_grad=True)
    made("focal", task=Task.MULTILABEL, gamma=0.0)(logits, torch.tensor([[1, 0]])).backward()
    expected = [-1 / (1 + np.exp(0.3)), 1 / (1 + np.exp(2.0))]
    np.testing.assert_allclose(logits.grad[0], expected, rtol=1e-6)
