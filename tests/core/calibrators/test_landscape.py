"""The criterion over gamma and temperature: its points, its optimum, its ridge."""

import numpy as np
import pytest

from core.arrays import log_softmax
from core.calibrators.focal_map import log_focal_map
from core.calibrators.focal_temperature import FocalTemperature
from core.calibrators.margins import OBJECTIVES, LogitMargins, objective_of
from core.calibrators.search import (
    GAMMAS,
    TEMPERATURES,
    TRACE,
    landscape,
    scan,
    temperature_curve,
)
from core.calibrators.temperature import Temperature
from core.errors import Refused, UsageError
from tests.core.calibrators.cases import drawn, hard_runs

FEW_GAMMAS, FEW_TEMPERATURES = (-0.5, 0.0, 1.0), (0.5, 2.0, 4.0)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_landscape_is_the_objective_at_each_point(objective):
    logits, labels = drawn(400, 5, scale=5.0)
    found = landscape(
        logits, labels, objective=objective, gammas=FEW_GAMMAS, temperatures=FEW_TEMPERATURES
    )
    assert found.objective == objective
    assert found.values.shape == (3, 3)
    for i, gamma in enumerate(FEW_GAMMAS):
        for j, temperature in enumerate(FEW_TEMPERATURES):
            log_p = log_focal_map(log_softmax(logits / temperature), gamma)
            expected = objective_of(log_p, labels, objective)
            assert found.values[i, j] == pytest.approx(expected, abs=1e-12)


def test_optimum_and_ridge_are_those_of_the_table():
    found = landscape(*drawn(400, 5, scale=5.0), gammas=FEW_GAMMAS, temperatures=FEW_TEMPERATURES)
    row, column = np.unravel_index(found.values.argmin(), found.values.shape)
    assert found.best.value == found.values.min()
    assert (found.best.gamma, found.best.temperature) == (
        FEW_GAMMAS[row],
        FEW_TEMPERATURES[column],
    )
    assert found.ridge.tolist() == [FEW_TEMPERATURES[j] for j in found.values.argmin(axis=1)]


def test_first_of_several_lowest_points_is_the_optimum():
    right = np.eye(3)[np.arange(30) % 3] * 1e4
    found = landscape(right, np.arange(30) % 3, objective="ece")
    assert (found.values[:, 0] == 0.0).all()
    assert (found.best.value, found.best.gamma, found.best.temperature) == (
        0.0,
        GAMMAS[0],
        TEMPERATURES[0],
    )


def test_row_of_gamma_zero_is_temperature_scaling():
    logits, labels = drawn(800, 4, scale=5.0, seed=4)
    found = landscape(logits, labels)
    row = found.gammas.tolist().index(0.0)
    for temperature, value in list(zip(TEMPERATURES, found.values[row], strict=True))[::9]:
        expected = objective_of(log_softmax(logits / temperature), labels, "nll")
        assert value == pytest.approx(expected, rel=1e-12)
    best = Temperature().fit(logits, labels)
    step = TEMPERATURES[1] / TEMPERATURES[0]
    assert 1.0 / step < found.ridge[row] / best.temperature_ < step
    assert best.report_.after <= found.values[row].min()


def test_exact_fit_lies_at_or_below_the_landscape():
    logits, labels = drawn(500, 4, scale=4.0, seed=6)
    best = FocalTemperature().fit(logits, labels).report_.after
    assert best <= landscape(logits, labels).values.min()


def test_ridge_is_nearly_a_line():
    """The claim of Komisarenko and Kull 2024, figure 8: the best T grows with gamma, linearly."""
    temperatures = tuple(np.geomspace(2.0, 15.0, 80).tolist())
    found = landscape(
        *drawn(3000, 3, scale=5.0, seed=1), gammas=tuple(range(6)), temperatures=temperatures
    )
    line = np.polyfit(found.gammas, found.ridge, 1)
    assert line[0] > 0.5
    assert np.abs(found.ridge - np.polyval(line, found.gammas)).max() < 0.1 * np.ptp(found.ridge)


def test_temperature_curve_rises_with_gamma_and_holds_temperature_scaling():
    logits, labels = drawn(1500, 5, scale=5.0)
    curve = temperature_curve(logits, labels, gammas=(0.0, 1.0, 2.0))
    assert (np.diff(curve) > 0.0).all()
    assert curve[0] == pytest.approx(Temperature().fit(logits, labels).temperature_, rel=0.01)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    "run",
    [pytest.param(1, marks=pytest.mark.nightly), pytest.param(4, marks=pytest.mark.nightly), 14],
)
def test_temperature_curve_is_what_trying_all_finds(objective, run):
    logits, labels = hard_runs()[run]
    gammas = (-0.75, 0.0, 3.0)
    values = scan(LogitMargins.of(logits, labels), objective, gammas, TRACE)
    found = temperature_curve(logits, labels, objective=objective, gammas=gammas)
    chosen = [row[TRACE.index(t)] for row, t in zip(values, found.tolist(), strict=True)]
    np.testing.assert_allclose(chosen, values.min(axis=1), rtol=1e-12)


def test_landscape_of_a_binary_logit_is_that_of_its_two_columns():
    logits, labels = drawn(200, 2, scale=5.0)
    single = landscape(logits[:, 1] - logits[:, 0], labels, gammas=FEW_GAMMAS)
    double = landscape(logits, labels, gammas=FEW_GAMMAS)
    np.testing.assert_allclose(single.values, double.values, rtol=1e-12)


@pytest.mark.parametrize(
    "points",
    [
        {"gammas": (-1.0,)},
        {"gammas": (0.0, np.nan)},
        {"gammas": ()},
        {"temperatures": (0.0, 1.0)},
        {"temperatures": (1.0, np.inf)},
        {"temperatures": ()},
        {"objective": "brier"},
    ],
    ids=str,
)
def test_landscape_refuses_points_outside_their_range(points):
    with pytest.raises(UsageError, match="SETTING"):
        landscape(*drawn(50, 3), **points)


def test_landscape_refuses_rows_that_no_fit_takes():
    logits, labels = drawn(50, 3)
    with pytest.raises(Refused, match="FIT"):
        landscape(logits[:5], labels[:5])
    with pytest.raises(Refused, match="FIT"):
        temperature_curve(logits, labels * 0)
