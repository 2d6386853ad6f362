"""Every calibrator against a second, slow implementation: what it fits, and what it predicts."""

import numpy as np
import pytest

from core.calibrators import CALIBRATORS
from tests.core.calibrators.cases import drawn
from tests.reference import slow_calibrators as slow

ROWS = {
    "ts": slow.temperature_row,
    "focal_map": slow.focal_map_only_row,
    "focal_ts": slow.focal_temperature_row,
    "ets": slow.ensemble_row,
    "vector": slow.vector_row,
    "matrix": slow.matrix_row,
    "dirichlet": slow.dirichlet_row,
    "isotonic": slow.isotonic_row,
    "isotonic_ordered": slow.isotonic_ordered_row,
    "histogram": slow.histogram_row,
    "spline": slow.spline_row,
    "beta": slow.beta_row,
}
DESCENTS = {
    "ts": slow.fit_temperature,
    "focal_map": slow.fit_focal_map,
    "focal_ts": slow.fit_focal_temperature,
    "ets": slow.fit_ensemble,
    "vector": slow.fit_vector,
    "beta": slow.fit_beta,
}
COUNTS = {
    "isotonic": slow.fit_isotonic,
    "isotonic_ordered": slow.fit_isotonic_ordered,
    "histogram": slow.fit_histogram,
}


def test_every_calibrator_has_a_reference():
    assert set(ROWS) == set(CALIBRATORS)
    assert {*DESCENTS, *COUNTS, "matrix", "dirichlet", "spline"} == set(CALIBRATORS)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_predictions_are_those_of_the_reference(name, n_classes):
    z, y = drawn(60, n_classes, seed=11)
    fitted = CALIBRATORS[name]().fit(z, y)
    rows = [*z[:15].tolist(), [30.0] + [0.0] * (n_classes - 1)]
    expected = [ROWS[name](row, fitted.parameters()) for row in rows]
    np.testing.assert_allclose(fitted.predict_proba(np.array(rows)), expected, atol=1e-10)


def check_descent(name, z, y, found, settings):
    """No value of the reference is lower, and its probabilities are the same."""
    fitted = CALIBRATORS[name](**settings).fit(z, y)
    expected = [ROWS[name](row, found) for row in z.tolist()]
    np.testing.assert_allclose(fitted.predict_proba(z), expected, rtol=0, atol=1e-4)
    if not settings:
        assert fitted.report_.after <= slow.mean_nll(expected, y.tolist()) + 1e-9


@pytest.mark.parametrize("name", DESCENTS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_descents_end_where_the_reference_does(name, n_classes):
    z, y = drawn(30, n_classes, scale=2.0, seed=3)
    check_descent(name, z, y, DESCENTS[name](z.tolist(), y.tolist()), {})


@pytest.mark.parametrize(
    ("name", "reference"), [("matrix", slow.fit_matrix), ("dirichlet", slow.fit_dirichlet)]
)
@pytest.mark.parametrize("penalty", [0.05, pytest.param(5.0, marks=pytest.mark.nightly)])
def test_penalised_maps_are_those_of_the_reference(name, reference, penalty):
    z, y = drawn(30, 3, scale=2.0, seed=13)
    found = reference(z.tolist(), y.tolist(), penalty)
    check_descent(name, z, y, found, {"penalty": penalty})


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_counting_fits_are_those_of_the_reference(name, n_classes):
    z, y = drawn(40, n_classes, seed=12)
    z = np.round(z)  # ties
    expected = COUNTS[name](z.tolist(), y.tolist())
    np.testing.assert_allclose(CALIBRATORS[name]().fit(z, y).predict_proba(z), expected, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_spline_scores_are_those_of_the_reference(n_classes):
    z, y = drawn(40, n_classes, scale=4.0, seed=14)
    at = np.ones(40, dtype=int) if n_classes == 2 else z.argmax(axis=1)
    found = CALIBRATORS["spline"]().fit(z, y).predict_proba(z)[np.arange(40), at]
    expected = slow.fit_spline(z.tolist(), y.tolist())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
