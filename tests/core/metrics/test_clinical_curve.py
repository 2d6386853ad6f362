"""The flexible curve against statsmodels and its definition; its band; ICI, E50, E90, Emax."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.nonparametric.smoothers_lowess import lowess
from statsmodels.stats.proportion import proportion_confint

from core.configs import AuditConfig
from core.errors import UsageError
from core.metrics import clinical, suite
from core.metrics.clinical.curve import ClaimCells, Loess, Lowess, cell_errors, curve_errors
from core.metrics.estimates import curve_estimates
from core.metrics.ranked import SortedOutcomes
from core.predictions import Outcomes, Predictions, ScoreKind, Task
from tests.reference import slow_metrics


def rows(seed, n, decimals=None, power=1.4):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 2.0, n)
    p = p if decimals is None else np.round(p, decimals)
    return p, rng.random(n) < p**power


def ranked(p, y):
    return SortedOutcomes.of(Outcomes(np.asarray(p, dtype=np.float64), np.asarray(y, dtype=bool)))


def peer(p, y):
    return lowess(y.astype(float), p, frac=2 / 3, it=0, delta=0.0, return_sorted=False)


@pytest.mark.parametrize("decimals", [None, 3, 2, 1])
@pytest.mark.parametrize("n", [9, 40, 400, 1_500])
def test_curve_is_the_lowess_of_statsmodels_ties_or_not(n, decimals):
    p, y = rows(n, n, decimals)
    fitted = Lowess(ClaimCells.of(ranked(p, y)))
    found = np.interp(p, fitted.cells.claim, fitted.fit(fitted.cells.rows, fitted.cells.events))
    np.testing.assert_allclose(found, peer(p, y), atol=1e-8)
    curve = clinical.flexible(p, y)
    np.testing.assert_allclose(
        np.interp(p, curve.at, curve.observed), np.clip(peer(p, y), 0, 1), atol=1e-8
    )
    assert curve.settings["exact"] == "yes"


@pytest.mark.nightly
def test_neighbours_merged_beyond_2000_distinct_risks_stay_close_and_say_so():
    p, y = rows(1, 6_000)
    curve = clinical.flexible(p, y)
    assert curve.settings["exact"].startswith("no")
    assert curve.at.size < 1_100
    exact = np.clip(peer(p, y), 0, 1)
    np.testing.assert_allclose(np.interp(p, curve.at, curve.observed), exact, atol=5e-4)
    off = np.abs(exact - p)
    found, _ = curve_errors(ranked(p, y))
    expected = (off.mean(), np.median(off), np.quantile(off, 0.9), off.max())
    assert tuple(found.values()) == pytest.approx(expected, abs=2e-4)


def test_cells_hold_every_row_once():
    p, y = rows(2, 6_000)
    cells = ClaimCells.of(ranked(p, y))
    assert (cells.rows.sum(), cells.events.sum()) == (6_000, y.sum())
    assert cells.rows @ cells.claim == pytest.approx(p.sum())
    assert np.all(np.diff(cells.claim) > 0)


def test_weights_are_what_the_fit_does_and_rows_of_them_sum_to_one():
    p, y = rows(3, 300, 2)
    fitted = Lowess(ClaimCells.of(ranked(p, y)))
    cells = fitted.cells
    np.testing.assert_allclose(fitted.weights.sum(axis=1), 1.0)
    np.testing.assert_allclose(
        fitted.weights @ (cells.events / cells.rows), fitted.fit(cells.rows, cells.events)
    )
    # a local line follows a straight line exactly
    np.testing.assert_allclose(fitted.weights @ cells.claim, cells.claim, atol=1e-12)


def test_band_is_the_delta_method_on_the_logit_row_by_row():
    p, y = rows(4, 120, 2, power=0.7)
    curve = clinical.flexible(p, y, 0.9)
    order = np.argsort(p, kind="stable")
    p, y = p[order], y[order]
    f = np.clip(peer(p, y), 0, 1)
    unit = np.eye(p.size)
    weights = np.stack([peer(p, unit[i]) for i in range(p.size)], axis=1)  # what each row adds
    for at in (40, 60, 100):
        l2 = weights[at] ** 2
        assert min(f[at], 1 - f[at]) / l2.sum() > 0.5
        error = np.sqrt(l2 @ (f * (1 - f))) / (f[at] * (1 - f[at]))
        centre = np.log(f[at] / (1 - f[at]))
        ends = 1 / (1 + np.exp(-(centre + np.array([-1.6448536, 1.6448536]) * error)))
        k = np.searchsorted(curve.at, p[at])
        assert (curve.low[k], curve.high[k]) == pytest.approx(tuple(ends), abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]) | st.floats(0, 1), st.booleans()
        ),
        min_size=1,
        max_size=30,
    )
)
def test_curve_and_band_stay_within_0_and_1_and_in_order(pairs):
    p, y = map(np.array, zip(*pairs, strict=True))
    curve = clinical.flexible(p, y)
    assert np.all((curve.low >= 0) & (curve.low <= curve.observed))
    assert np.all((curve.observed <= curve.high) & (curve.high <= 1))
    assert curve.rows.sum() == p.size
    at = np.searchsorted(curve.at, p)
    np.testing.assert_allclose(curve.observed[at], slow_metrics.lowess(p, y), atol=3e-8)


@pytest.mark.parametrize("outcome", [False, True])
def test_one_outcome_only_has_a_flat_curve_with_a_band_to_one_side(outcome):
    p = np.linspace(0.05, 0.95, 40)
    curve = clinical.flexible(p, np.full(40, outcome))
    np.testing.assert_allclose(curve.observed, float(outcome), atol=1e-12)
    unit = np.eye(40)[0]
    effective = 1 / (np.stack([peer(p, np.roll(unit, i)) for i in range(40)]) ** 2).sum(axis=0)
    far = proportion_confint(np.zeros(40), effective, method="wilson")[1]
    expected = (1 - far, np.ones(40)) if outcome else (np.zeros(40), far)
    np.testing.assert_allclose((curve.low, curve.high), expected, atol=1e-9)
    found, _ = curve_errors(ranked(p, np.full(40, outcome)))
    assert found["ici"] == pytest.approx(np.abs(p - outcome).mean(), abs=1e-12)


def test_one_stated_risk_has_one_point():
    curve = clinical.flexible(np.full(50, 0.3), np.arange(50) < 20)
    assert (curve.at.tolist(), curve.rows.tolist()) == ([0.3], [50])
    assert curve.observed[0] == pytest.approx(0.4)
    # 20 of 50: normal on the logit scale
    half = 1.959964 / np.sqrt(50 * 0.4 * 0.6)
    ends = 1 / (1 + np.exp(-(np.log(0.4 / 0.6) + np.array([-half, half]))))
    assert (curve.low[0], curve.high[0]) == pytest.approx(tuple(ends), abs=1e-6)


def test_two_rows_are_joined_by_a_line():
    found, _ = curve_errors(ranked([0.2, 0.6], [False, True]))
    assert list(found.values()) == pytest.approx([0.3, 0.3, 0.38, 0.4])


def prepared(p, y, n_resamples=400):
    binary = Predictions(Task.BINARY, ScoreKind.SIGMOID, p, y.astype(np.int64))
    return suite.prepare(binary, 1, n_resamples=n_resamples, seed=0)


METRICS = ("ici", "e50", "e90", "emax")


@pytest.mark.nightly
def test_resampled_errors_are_those_of_resampled_rows():
    """The cells and the reach kept from the sample, against smoothing every resample anew."""
    p, y = rows(6, 800, power=2.0)
    rng = np.random.default_rng(0)
    slow = []
    for _ in range(200):
        drawn = rng.integers(0, p.size, p.size)
        slow.append(list(curve_errors(ranked(p[drawn], y[drawn]))[0].values()))
    low, high = np.quantile(slow, [0.025, 0.975], axis=0)
    scores = curve_estimates(prepared(p, y, 1_000), level=0.95)
    apart = 0.0
    for at, metric in enumerate(METRICS):
        score, floor = scores[metric]
        basic = (2 * score.value - high[at], 2 * score.value - low[at])
        expected = (
            max(0.0, min(low[at], basic[0], score.value - floor.q95)),
            max(high[at], basic[1], score.value + (high[at] - low[at]) / 2),
        )
        room = 0.2 * (high[at] - low[at])
        assert (score.low, score.high) == pytest.approx(expected, abs=room), metric
        apart = max(apart, (high[at] - basic[1]) / room)
    assert apart > 1  # one of them tells the two bootstraps apart


def test_errors_of_resampled_cells_by_hand():
    cells = ClaimCells(
        np.array([0.1, 0.5, 0.9]), np.array([6, 3, 1]), np.array([0, 0, 0]), exact=True
    )
    shares = np.array([[0.2, 0.3, 0.5], [0.1, 0.5, 0.9]])
    found = cell_errors(cells, np.array([[6, 3, 1], [6, 4, 0]]), shares)
    assert found["ici"] == pytest.approx([0.1 * 0.6 + 0.2 * 0.3 + 0.4 * 0.1, 0.0])
    assert found["e50"] == pytest.approx([0.1, 0.0])
    assert found["e90"] == pytest.approx([0.2, 0.0])
    assert found["emax"] == pytest.approx([0.4, 0.0])
    without = cell_errors(cells, np.array([[6, 4, 0]]), shares[:1])
    assert without["emax"] == pytest.approx([0.2])  # a cell without rows counts for nothing


def test_calibrated_rows_lie_within_the_floor_and_others_beyond():
    rng = np.random.default_rng(5)
    p = rng.beta(0.8, 2.0, 3_000)
    fine = curve_estimates(prepared(p, rng.random(3_000) < p), level=0.95)
    off = curve_estimates(prepared(p, rng.random(3_000) < p**2), level=0.95)
    for metric in ("ici", "e50", "e90"):
        score, floor = fine[metric]
        assert score.low == 0.0 < score.value < 1.5 * floor.q95
        score, floor = off[metric]
        assert score.low > 0.0
        assert score.value > floor.q95
        assert score.low < score.value < score.high


# Loess -------------------------------------------------------------------------------------------


def parabolas(p, y, span=0.75):
    """R's loess of degree 2 with surface "direct": a least-squares parabola at every row."""
    near = min(max(int(span * p.size + 1e-10), 2), p.size)
    found = []
    for here in p:
        away = np.abs(p - here)
        reach = np.sort(away)[near - 1]
        weight = (
            np.sqrt((1 - np.minimum(away / reach, 1) ** 3) ** 3) if reach else 1.0 * (away == 0)
        )
        terms = np.vander(p - here, 3, increasing=True)
        kept = weight > 0
        degree = min(np.unique(p[kept]).size, 3)  # fewer claims bear a line, or a share
        design, outcome = (terms * weight[:, None])[:, :degree], y * weight
        found.append(np.linalg.lstsq(design, outcome, rcond=None)[0][0])
    return np.array(found)


@pytest.mark.parametrize("decimals", [None, 3, 2, 1])
@pytest.mark.parametrize("n", [9, 40, 400])
def test_loess_is_a_parabola_by_least_squares_at_every_row(n, decimals):
    p, y = rows(n, n, decimals)
    fitted = Loess(ClaimCells.of(ranked(p, y)))
    found = np.interp(p, fitted.cells.claim, fitted.fit(fitted.cells.rows, fitted.cells.events))
    expected = parabolas(p, y)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    curve = clinical.flexible(p, y, smoother="loess")
    np.testing.assert_allclose(
        np.interp(p, curve.at, curve.observed), np.clip(expected, 0, 1), atol=1e-6
    )
    off = np.abs(np.clip(expected, 0, 1) - p)
    errors, how = curve_errors(ranked(p, y), "loess")
    assert errors["ici"] == pytest.approx(off.mean(), abs=1e-6)
    assert (how["smoother"], how["fraction"], how["degree"]) == ("loess", 0.75, 2)


def test_weights_of_loess_are_what_it_does_and_follow_a_parabola():
    p, y = rows(3, 300, 2)
    fitted = Loess(ClaimCells.of(ranked(p, y)))
    cells = fitted.cells
    np.testing.assert_allclose(fitted.weights.sum(axis=1), 1.0)
    np.testing.assert_allclose(
        fitted.weights @ (cells.events / cells.rows), fitted.fit(cells.rows, cells.events)
    )
    np.testing.assert_allclose(fitted.weights @ cells.claim**2, cells.claim**2, atol=1e-9)
    drawn = np.random.default_rng(0).multinomial(300, cells.rows / 300, size=4)
    hits = np.random.default_rng(1).binomial(drawn, 0.3)
    each = [fitted.fit(n, k) for n, k in zip(drawn, hits, strict=True)]
    np.testing.assert_allclose(fitted.fit(drawn, hits), each)


@pytest.mark.parametrize("claims", [[0.3], [0.2, 0.7], [0.0, 1.0]])
def test_fewer_than_three_claims_get_a_line_or_their_share(claims):
    p = np.repeat(claims, 30)
    y = np.tile(np.arange(30) < 12, len(claims)) & (p < 0.9)
    curve = clinical.flexible(p, y, smoother="loess")
    shares = [y[p == claim].mean() for claim in claims]
    np.testing.assert_allclose(curve.observed, shares, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]) | st.floats(0, 1), st.booleans()
        ),
        min_size=1,
        max_size=30,
    )
)
def test_loess_and_its_band_stay_within_0_and_1_and_in_order(pairs):
    p, y = map(np.array, zip(*pairs, strict=True))
    curve = clinical.flexible(p, y, smoother="loess")
    assert np.all((curve.low >= 0) & (curve.low <= curve.observed))
    assert np.all((curve.observed <= curve.high) & (curve.high <= 1))


def test_an_audit_says_which_smoother_it_used():
    p, y = rows(6, 500)
    binary = Predictions(Task.BINARY, ScoreKind.SIGMOID, p, y.astype(np.int64))
    found = {
        kind: suite.audit(
            binary, AuditConfig(n_resamples=20, metrics=("ici",), smoother=kind)
        ).main.metrics["ici"]
        for kind in ("lowess", "loess")
    }
    assert found["lowess"].value != found["loess"].value
    for kind, score in found.items():
        assert score.settings["smoother"] == kind
        assert score.value == curve_errors(ranked(p, y), kind)[0]["ici"]
    with pytest.raises(UsageError, match="smoother is 'spline'"):
        AuditConfig(smoother="spline")
