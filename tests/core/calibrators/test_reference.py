"""Every calibrator against a second, slow implementation: what it fits, and what it predicts."""

import numpy as np
import pytest

from core.calibrators import CALIBRATORS
from tests.core.calibrators.cases import drawn
from tests.reference import slow_calibrators as slow

COUNTED = ("isotonic", "isotonic_ordered", "histogram")  # whose fits are shares of rows
PENALISED = ("matrix", "dirichlet")
DESCENTS = sorted(set(CALIBRATORS) - {*COUNTED, *PENALISED, "spline"})


def reference_rows(name, rows, found):
    """Each row as the reference of the method maps it."""
    return [getattr(slow, f"{name}_row")(row, found) for row in rows]


@pytest.mark.parametrize("name", CALIBRATORS)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_predictions_are_those_of_the_reference(name, n_classes):
    z, y = drawn(60, n_classes, seed=11)
    fitted = CALIBRATORS[name]().fit(z, y)
    rows = [*z[:15].tolist(), [30.0] + [0.0] * (n_classes - 1)]
    expected = reference_rows(name, rows, fitted.parameters())
    np.testing.assert_allclose(fitted.predict_proba(np.array(rows)), expected, atol=1e-10)


def check_descent(name, z, y, found, settings):
    """No value of the reference is lower, and its probabilities are the same."""
    fitted = CALIBRATORS[name](**settings).fit(z, y)
    expected = reference_rows(name, z.tolist(), found)
    np.testing.assert_allclose(fitted.predict_proba(z), expected, rtol=0, atol=1e-4)
    if not settings:
        assert fitted.report_.after <= slow.mean_nll(expected, y.tolist()) + 1e-9


@pytest.mark.parametrize("name", DESCENTS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_descents_end_where_the_reference_does(name, n_classes):
    z, y = drawn(30, n_classes, scale=2.0, seed=3)
    check_descent(name, z, y, getattr(slow, f"fit_{name}")(z.tolist(), y.tolist()), {})


@pytest.mark.parametrize("name", PENALISED)
@pytest.mark.parametrize("penalty", [0.05, pytest.param(5.0, marks=pytest.mark.nightly)])
def test_penalised_maps_are_those_of_the_reference(name, penalty):
    z, y = drawn(30, 3, scale=2.0, seed=13)
    found = getattr(slow, f"fit_{name}")(z.tolist(), y.tolist(), penalty)
    check_descent(name, z, y, found, {"penalty": penalty})


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_counting_fits_are_those_of_the_reference(name, n_classes):
    z, y = drawn(40, n_classes, seed=12)
    z = np.round(z)  # ties
    expected = getattr(slow, f"fit_{name}")(z.tolist(), y.tolist())
    np.testing.assert_allclose(CALIBRATORS[name]().fit(z, y).predict_proba(z), expected, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_spline_scores_are_those_of_the_reference(n_classes):
    z, y = drawn(40, n_classes, scale=4.0, seed=14)
    at = np.ones(40, dtype=int) if n_classes == 2 else z.argmax(axis=1)
    found = CALIBRATORS["spline"]().fit(z, y).predict_proba(z)[np.arange(40), at]
    expected = slow.fit_spline(z.tolist(), y.tolist())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
