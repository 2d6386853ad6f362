"""The focal calibration map: golden values, 60 digits, its properties, its inverse, its theory.

`order_preservation` of the golden file counts rows of an experiment whose rows are not stored;
its two statements, the arg max is kept and the binary map ascends, are properties here.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.arrays import log_softmax, softmax
from core.calibrators.focal_map import (
    binary_focal_map,
    focal_loss,
    focal_map,
    gamma_star,
    gradient_factor,
    inverse_focal_map,
    log_focal_map,
    properised_loss,
)
from core.calibrators.theory import (
    closest_temperature,
    line_fit,
    logit_grid,
    temperature_bounds,
)
from core.errors import UsageError
from tests.reference import slow_calibrators

GOLDEN = {
    entry["id"]: entry
    for entry in json.loads((Path(__file__).parent / "golden_posthoc.json").read_text())
}
TABLES = sorted(name for name in GOLDEN if name.startswith("fcmap/"))
GAMMAS = (-0.95, -0.5, 0.05, 0.37, 1.0, 2.0, 5.0, 7.0)


def binary(p):
    return np.log([[1.0 - p, p]])


def test_map_has_the_golden_probabilities_and_logarithms():
    for name in TABLES:
        entry = GOLDEN[name]
        logits = np.array(entry["input"]["logits"], dtype=float)
        log_p = log_focal_map(log_softmax(logits), entry["params"]["gamma"])
        p, exact = np.array(entry["value"]["exact"], float), entry["value"]["exact_log"]
        np.testing.assert_allclose(np.exp(log_p), p, 1e-10, 1e-12, err_msg=name)
        np.testing.assert_allclose(log_p, np.array(exact, float), 0, 5e-13, err_msg=name)


def test_map_of_saturated_rows_with_different_winners_stays_a_distribution():
    entry = GOLDEN["sla_overflow_bug"]  # the released code puts 0.99999 into several columns
    p = np.exp(log_focal_map(log_softmax(np.array(entry["input"]["logits"])), 1.0))
    np.testing.assert_allclose(p, entry["value"]["authors_float64"], rtol=1e-10, atol=1e-15)


def test_binary_table_and_paper_example():
    for row in GOLDEN["fcmap_binary_table"]["value"]:
        q = float(row["q"])
        p = focal_map(np.array([1.0 - q, q]), float(row["gamma"]))[1]
        np.testing.assert_allclose(p, float(row["p"]), rtol=1e-12, atol=1e-12)
    example = GOLDEN["paper_example"]["value"]
    q = np.exp(inverse_focal_map(binary(0.8), 2.0))[0, 1]
    np.testing.assert_allclose(q, float(example["q"]), rtol=1e-12)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_map_agrees_with_sixty_digits(gamma):
    rng = np.random.default_rng(7)
    rows = [rng.normal(size=k) * scale for k in (2, 3, 10) for scale in (0.5, 4, 40, 150)]
    rows += [np.array([400.0, 0.0, -3.0]), np.array([0.0, 0.0, 0.0, 400.0]), np.zeros(5)]
    rows += [np.array([1.0, 1.0, -2.0]), np.array([0.0, 1e-12]), np.array([0.0, 400.0, 400.0])]
    for row in rows:
        expected = slow_calibrators.focal_map_logs(row, gamma)
        found = log_focal_map(log_softmax(row), gamma)
        np.testing.assert_allclose(found, expected, rtol=0, atol=5e-13)


def test_gamma_zero_changes_no_bit_and_minus_one_is_refused():
    log_q = log_softmax(np.array([[3.0, -1.0, 900.0], [0.0, 0.0, -np.inf]]))
    assert np.array_equal(log_focal_map(log_q, 0.0), log_q)
    for gamma in (-1.0, -1.5, np.nan, np.inf):
        with pytest.raises(UsageError, match="Gamma is"):
            log_focal_map(log_q, gamma)


def test_ruled_out_classes_stay_ruled_out():
    p = focal_map(np.array([[0.0, 1.0, 0.0], [0.25, 0.75, 0.0]]), 2.0)
    assert p[0].tolist() == [0.0, 1.0, 0.0]
    np.testing.assert_allclose(p[1, :2], focal_map(np.array([0.25, 0.75]), 2.0), rtol=1e-14)


@given(
    st.lists(st.integers(-400, 400), min_size=2, max_size=12, unique=True),
    st.floats(-0.95, 7.0),
    st.sampled_from([0.01, 0.3, 1.0]),
)
@settings(max_examples=150)
def test_map_keeps_the_order_of_classes(logits, gamma, scale):
    row = np.array(logits) * scale
    log_p = log_focal_map(log_softmax(row), gamma)
    assert log_p.argmax() == row.argmax()
    assert abs(np.exp(log_p).sum() - 1.0) < 1e-12


@pytest.mark.parametrize("gamma", GAMMAS)
def test_binary_map_ascends_and_is_odd(gamma):
    s = np.linspace(-50.0, 50.0, 4001)
    mapped = binary_focal_map(s, gamma)
    assert (np.diff(mapped) > 0.0).all()
    np.testing.assert_allclose(mapped, -mapped[::-1], rtol=0, atol=1e-12)


def test_confidence_rises_for_two_classes_but_can_fall_for_more():
    """Proposition 5 is published for every K; its counter-examples are golden."""
    s = np.linspace(0.01, 30.0, 500)
    assert (binary_focal_map(s, 0.5) > s).all()
    for row in GOLDEN["prop5_counterexamples"]["value"]:
        top = focal_map(np.array(row["q"]), float(row["gamma"])).max()
        np.testing.assert_allclose(top, float(row["max_after"]), rtol=1e-9)


def test_binary_inverse_and_properised_loss():
    for entry in GOLDEN["fcmap_inverse_binary"]["value"]:
        gamma, log_p = float(entry["gamma"]), binary(float(entry["p"]))
        q = np.exp(inverse_focal_map(log_p, gamma))[0, 1]
        losses = [float(entry["properized_loss_y0"]), float(entry["properized_loss_y1"])]
        np.testing.assert_allclose(q, float(entry["q"]), rtol=1e-10, err_msg=str(entry))
        np.testing.assert_allclose(
            properised_loss(log_p, gamma)[0], losses, rtol=1e-10, err_msg=str(entry)
        )


@pytest.mark.parametrize("entry", GOLDEN["fcmap_inverse_multiclass"]["value"], ids=str)
def test_multiclass_inverse_and_properised_loss(entry):
    p = np.array([entry["p"]])
    q = np.exp(inverse_focal_map(np.log(p), entry["gamma"]))[0]
    loss = properised_loss(np.log(p), entry["gamma"])[0]
    np.testing.assert_allclose(q, np.array(entry["q"], float), rtol=1e-9)
    np.testing.assert_allclose(loss, np.array(entry["loss"], float), rtol=1e-9)
    np.testing.assert_allclose(p[0] @ loss, float(entry["cond_risk"]), rtol=1e-9)


@pytest.mark.parametrize("gamma", [-0.9, -0.3, 0.0, 0.05, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("n_classes", [2, 3, 30])
def test_inverse_undoes_the_map(gamma, n_classes):
    rng = np.random.default_rng(n_classes)
    scale = rng.choice([0.5, 3.0, 30.0], (40, 1))
    log_q = log_softmax(rng.normal(size=(40, n_classes)) * scale)
    if n_classes > 2 and gamma < 0.0:
        with pytest.raises(UsageError, match="classes"):
            inverse_focal_map(log_q, gamma)
        return
    back = inverse_focal_map(log_focal_map(log_q, gamma), gamma)
    np.testing.assert_allclose(back, log_q, rtol=0, atol=1e-11)


def test_properised_loss_is_smallest_at_the_truth_and_focal_loss_is_not():
    truth = np.array([0.6, 0.3, 0.1])
    rng = np.random.default_rng(3)
    others = np.log(rng.dirichlet([2.0, 2.0, 2.0], 400))
    assert (
        properised_loss(others, 3.0) @ truth > properised_loss(np.log([truth]), 3.0) @ truth
    ).all()
    assert (focal_loss(others, 3.0) @ truth).min() < focal_loss(np.log(truth), 3.0) @ truth


@pytest.mark.parametrize("gamma", ["0.25", "0.5", "1", "2", "3", "4", "5", "10"])
def test_binary_map_lies_between_the_corrected_bounds(gamma):
    """The printed proposition 3 has the exponents the wrong way round."""
    golden = GOLDEN["prop3"]["value"][gamma]
    sharp, soft = temperature_bounds(float(gamma))
    np.testing.assert_allclose([sharp, soft], [golden["T_sharp"], golden["T_soft"]], rtol=1e-12)
    s = np.linspace(0.001, 20.0, 2000)
    mapped = binary_focal_map(s, float(gamma))
    assert (s / soft < mapped).all()
    assert (mapped < s / sharp).all()
    ratio = [(mapped / s).min(), (mapped / s).max()]
    np.testing.assert_allclose(ratio, [golden["min_ratio"], golden["max_ratio_on_0_20"]], rtol=1e-6)


GRIDS = {"binary": (2, 20.0, 0.02), "three": (3, 10.0, 0.1), "four": (4, 10.0, 0.25)}
GAMMA_STEPS = {"binary": 0.1, "three": 0.25, "four": 0.5}


@pytest.mark.parametrize("case", ["binary", "three"])
@pytest.mark.parametrize("gamma", ["0.5", "2", "9"])
def test_closest_temperature_and_residual(case, gamma):
    n_classes, spread, step = GRIDS[case]
    golden = GOLDEN["linear_fits"]["value"][case]["points"][gamma]
    found = closest_temperature(logit_grid(n_classes, spread=spread, step=step), float(gamma))
    np.testing.assert_allclose(found.temperature, golden["T"], rtol=1e-4)
    np.testing.assert_allclose(found.residual, golden["max_dev"], rtol=1e-2)


@pytest.mark.parametrize(
    "case", ["binary", *(pytest.param(c, marks=pytest.mark.nightly) for c in ("three", "four"))]
)
def test_line_of_inverse_temperature_against_gamma(case):
    n_classes, spread, step = GRIDS[case]
    rows = logit_grid(n_classes, spread=spread, step=step)
    gammas = np.arange(0.0, 5.01, GAMMA_STEPS[case])
    found = [closest_temperature(rows, g) for g in gammas]
    for end in (2, 3, 5):
        golden = GOLDEN["linear_fits"]["value"][case][f"gamma_in_[0,{end}]"]
        within = [one for one, gamma in zip(found, gammas, strict=True) if gamma < end + 0.01]
        temperatures = np.array([one.temperature for one in within])
        line = line_fit(gammas[: len(within)], temperatures)
        np.testing.assert_allclose(line, golden["fit"], rtol=1e-2)
        worst = max(one.residual for one in within)
        np.testing.assert_allclose(worst, golden["max_abs_deviation"], rtol=1e-2)


def test_logit_grid_holds_each_row_once_up_to_order_and_shift():
    rows = logit_grid(3, spread=1.0, step=0.5)
    expected = {(0, 0, 0), (0.5, 0, 0), (0.5, 0.5, 0), (1, 0, 0), (1, 0.5, 0), (1, 1, 0)}
    assert {tuple(row) for row in rows.tolist()} == expected
    assert len(rows) == len(expected)


def test_gradient_factor_and_where_it_crosses_one():
    values = GOLDEN["g_values"]["value"]
    arguments = {"g(0.19,5)": (0.19, 5), "g(0.2,5)": (0.2, 5), "g(0.25,3)": (0.25, 3)}
    for name, (p, gamma) in {**arguments, "g(0.5,2)": (0.5, 2)}.items():
        np.testing.assert_allclose(gradient_factor(p, gamma), values[name], rtol=1e-9)
    for gamma, p in GOLDEN["g_crossings"]["value"].items():
        np.testing.assert_allclose(gradient_factor(p, float(gamma)), 1.0, rtol=1e-9)
    assert gradient_factor([0.0, 1.0], 2.0).tolist() == [1.0, 0.0]
    assert gradient_factor([0.0, 0.5, 1.0], 0.0).tolist() == [1.0, 1.0, 1.0]


def test_weight_is_probability_over_gradient_factor():
    q = softmax(np.array([0.3, 1.1, -0.4, 2.0]))
    weights = q / gradient_factor(q, 2.5)
    np.testing.assert_allclose(focal_map(q, 2.5), weights / weights.sum(), rtol=1e-13)


def test_gamma_star_solves_its_equation_and_is_zero_from_one_half():
    for row in GOLDEN["gamma_star"]["value"]:
        wanted = float(row["mpmath"]) if float(row["p0"]) < 0.5 else 0.0
        np.testing.assert_allclose(gamma_star(float(row["p0"])), wanted, rtol=1e-11)
    assert gamma_star([0.5, 0.9]).tolist() == [0.0, 0.0]
    with pytest.raises(UsageError):
        gamma_star(1.0)
