"""What the published statements are checked with: golden values and slow second computations."""

import json
from pathlib import Path

import numpy as np
import pytest

from core.arrays import log_softmax
from core.calibrators import theory
from core.calibrators.focal_map import (
    focal_loss,
    focal_map,
    gamma_star,
    gradient_factor,
    inverse_focal_map,
    properised_loss,
)
from core.calibrators.theory import line_fit, temperature_bounds, tightest_bounds
from core.errors import UsageError

GOLDEN = {
    entry["id"]: entry["value"]
    for entry in json.loads((Path(__file__).parent / "golden_posthoc.json").read_text())
}
FCL = {  # golden/fcl_minimisers: (gamma, lambda, true share) to what minimises the loss
    (2.0, 0.5, 0.8): 0.674416098300503,
    (3.0, 0.5, 0.8): 0.6587413718366347,
    (4.0, 1.5, 0.8): 0.714230483244524,
    (5.0, 4.5, 0.8): 0.7615251588992233,
    (0.0, 1.0, 0.8): 0.8,
    (2.0, 0.5, 0.95): 0.8270101655876578,
}


@pytest.mark.parametrize("gamma", GOLDEN["g_crossings"])
def test_crossing_is_golden(gamma):
    expected = GOLDEN["g_crossings"][gamma]
    assert theory.unit_crossing(float(gamma)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("gamma", [0.01, 0.5, 4.0, 100.0, 1000.0])
def test_crossing_is_where_gamma_star_is_gamma(gamma):
    p = theory.unit_crossing(gamma)
    assert float(gamma_star(p)) == pytest.approx(gamma, rel=1e-8)
    assert gradient_factor(p * 0.9, gamma) > 1 > gradient_factor(p * 1.1, gamma)


def test_the_principal_branch_gives_the_root_zero():
    assert np.abs(theory.principal_root([0.05, 0.1, 0.25, 0.4, 0.49])).max() < 1e-10


@pytest.mark.parametrize("case", FCL, ids=str)
def test_fcl_minimiser_is_golden(case):
    gamma, weight, truth = case
    assert theory.fcl_minimiser(truth, gamma, weight) == pytest.approx(FCL[case], abs=1e-8)


@pytest.mark.parametrize(("gamma", "weight"), [(2.0, 0.5), (0.3, 4.0), (7.0, 0.0)])
def test_no_value_of_a_fine_grid_beats_the_fcl_minimiser(gamma, weight):
    """The loss as it is written, searched without any derivative."""
    truth = np.array([0.05, 0.5, 0.62, 0.9])
    q = np.linspace(1e-4, 1 - 1e-4, 20_001)
    losses = focal_loss(log_softmax(np.log(np.stack([1 - q, q], 1))), gamma)
    brier = np.stack([2 * q**2, 2 * (1 - q) ** 2], 1)
    risk = np.stack([1 - truth, truth], 1) @ (losses + weight * brier).T
    best = q[risk.argmin(axis=1)]
    np.testing.assert_allclose(theory.fcl_minimiser(truth, gamma, weight), best, atol=1e-4)


def test_fcl_without_weight_is_focal_loss():
    truth = np.array([0.2, 0.8, 0.97])
    q = np.exp(inverse_focal_map(np.log(np.stack([1 - truth, truth], 1)), 2.0))[:, 1]
    np.testing.assert_allclose(theory.fcl_minimiser(truth, 2.0, 0.0), q, rtol=1e-9)


@pytest.mark.parametrize(("truth", "weight"), [(0.0, 1.0), (1.0, 1.0), (0.5, -1.0), (0.5, np.nan)])
def test_fcl_refuses_what_has_no_minimiser(truth, weight):
    with pytest.raises(UsageError):
        theory.fcl_minimiser(truth, 2.0, weight)


@pytest.mark.parametrize("gamma", [0.0, -1.0, 1001.0, np.nan])
def test_crossing_refuses_gammas_without_one(gamma):
    with pytest.raises(UsageError, match="Gamma is"):
        theory.unit_crossing(gamma)


def test_temperature_divides_logits():
    logits = np.array([[1.0, -2.0, 0.5]])
    expected = np.exp(log_softmax(logits / 0.4))
    found = theory.temperature_scaled(log_softmax(logits), 0.4)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("n_classes", "case"),
    [
        (2, "binary"),
        pytest.param(3, "three", marks=pytest.mark.nightly),
        pytest.param(4, "four", marks=pytest.mark.nightly),
    ],
)
def test_sweep_has_the_golden_line_and_temperatures(n_classes, case):
    found = theory.sweep(n_classes)
    golden = GOLDEN["linear_fits"][case]
    for gamma, point in golden.get("points", {}).items():
        i = int(np.argmin(np.abs(found.gammas - float(gamma))))
        assert found.temperatures[i] == pytest.approx(point["T"], rel=1e-4)
        assert found.residuals[i] == pytest.approx(point["max_dev"], rel=1e-2)
    low = found.gammas <= 5.0
    fit = line_fit(found.gammas[low], found.temperatures[low])
    assert fit == pytest.approx(golden["gamma_in_[0,5]"]["fit"], rel=1e-2)
    assert found.residuals[low].max() == pytest.approx(
        golden["gamma_in_[0,5]"]["max_abs_deviation"], rel=1e-2
    )
    assert (found.temperatures[0], found.residuals[0]) == pytest.approx((1.0, 0.0), abs=1e-6)
    assert (found.gammas[0], found.gammas[-1]) == (0.0, 9.0)


SHARES = np.array([0.03, 0.2, 0.5])


@pytest.mark.parametrize("gamma", [0.05, 2.0, 10.0])
@pytest.mark.parametrize("truth", [(0.55, 0.3, 0.15), (0.9, 0.06, 0.04), (0.2, 0.2, 0.6)])
def test_isolines_have_one_risk_and_enclose_their_share(gamma, truth):
    """The risk through the inverse map, and the area by counting points of a lattice."""
    truth = np.array(truth)
    centre = np.exp(inverse_focal_map(np.log(truth[None]), gamma))[0]
    levels, lines = theory.risk_isolines(
        lambda q: focal_loss(np.log(q), gamma) @ truth,
        centre,
        lambda q: focal_map(q, gamma),
        SHARES,
    )
    for level, line in zip(levels, lines, strict=True):
        np.testing.assert_allclose(properised_loss(np.log(line[::10]), gamma) @ truth, level, 1e-8)
    rng = np.random.default_rng(0)
    points = rng.dirichlet([1, 1, 1], 1500)
    risk = properised_loss(np.log(points), gamma) @ truth
    within = (risk[:, None] <= levels).mean(axis=0)
    np.testing.assert_allclose(within, SHARES, atol=0.05)  # four standard errors and more


def test_isolines_of_cross_entropy_lie_around_the_truth():
    truth = np.array([0.5, 0.3, 0.2])
    levels, lines = theory.risk_isolines(lambda p: -np.log(p) @ truth, truth, lambda p: p, SHARES)
    assert (np.diff(levels) > 0).all()
    for level, line in zip(levels, lines, strict=True):
        np.testing.assert_allclose(-np.log(line) @ truth, level, rtol=1e-9)
        np.testing.assert_allclose(line[0], line[-1])


@pytest.mark.parametrize("gamma", [0.3, 1.0, 2.0, 5.0])
def test_focal_loss_stays_above_its_bound(gamma):
    q = np.linspace(0.001, 0.999, 999)
    for p in (0.02, 0.5, 0.8):
        loss = -p * (1 - q) ** gamma * np.log(q) - (1 - p) * q**gamma * np.log(1 - q)
        divergence = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
        entropy_p = -p * np.log(p) - (1 - p) * np.log(1 - p)
        entropy_q = -q * np.log(q) - (1 - q) * np.log(1 - q)
        bound = theory.focal_lower_bound(p, q, gamma)
        np.testing.assert_allclose(bound, divergence + entropy_p - gamma * entropy_q, atol=1e-12)
        assert (loss > bound).all()


@pytest.mark.parametrize("gamma", [0.5, 4.0, 9.0])
def test_the_tightest_bounds_hold_and_touch_the_map(gamma):
    sharp, soft = tightest_bounds(gamma)
    assert temperature_bounds(gamma)[0] < sharp < soft < temperature_bounds(gamma)[1]
    s = np.arange(0.01, 20.005, 0.01)
    q, rest = 1 / (1 + np.exp(-s)), 1 / (1 + np.exp(s))
    # proposition 4 for both classes, with 1 - q as it is known best
    own = q / (rest**gamma - gamma * q * rest ** (gamma - 1) * np.log1p(-rest))
    other = rest / (q**gamma - gamma * rest * q ** (gamma - 1) * np.log(rest))
    factor = np.log(own / other) / s  # of the map on the logit
    assert factor.max() == pytest.approx(1 / sharp, rel=1e-5)
    assert factor.min() == pytest.approx(1 / soft, rel=1e-5)
