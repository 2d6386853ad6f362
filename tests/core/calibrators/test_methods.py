"""Golden values of the other methods, and scikit-learn's and scipy's answers."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from core.arrays import log_softmax, sigmoid, softmax
from core.calibrators import CALIBRATORS, vector_matrix
from core.calibrators.one_vs_rest import Beta, Histogram, Isotonic, IsotonicOrdered
from core.calibrators.search import descend
from core.calibrators.spline import Spline, knot_spline
from core.calibrators.temperature import Ensemble, Temperature
from core.calibrators.vector_matrix import Dirichlet, Matrix, Vector
from core.errors import UsageError
from core.metrics import METRICS
from core.metrics.ranked import SortedOutcomes
from core.predictions import Predictions, ScoreKind, Task
from tests.core.calibrators.cases import GOLDEN, drawn, golden_input

TEN_CLASSES = ("noisy512x10", "mc512x10")
# The golden names of metrics; equal-width edges there are float32.
METRIC_OF = {"ece_ew15": "ece", "ece_em15_exact": "ece_em", "nll": "nll", "brier_sum": "brier"}


def halves(name):
    logits, labels = golden_input(name)
    return logits[:256], labels[:256], logits[256:], labels[256:]


def check_metrics(p, labels, golden, *, rtol, skip=()):
    rows = Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, labels)
    ranked = SortedOutcomes.of(rows.outcomes(None))
    assert (p.argmax(axis=1) == labels).mean() == pytest.approx(golden["accuracy"], abs=1e-12)
    for key, name in METRIC_OF.items():
        if key not in skip:
            argument = rows if METRICS[name].needs == "scores" else ranked
            expected = float(golden[key])
            assert METRICS[name].function(argument) == pytest.approx(expected, rel=rtol), key


@pytest.mark.parametrize("name", TEN_CLASSES)
def test_ensemble_by_brier_has_the_released_temperature_weights_and_metrics(name):
    z, y, test_z, test_y = halves(name)
    golden = GOLDEN[f"ets_mse/{name}"]["value"]
    fitted = Ensemble("brier").fit(z, y)
    np.testing.assert_allclose(
        fitted.temperature_, GOLDEN[f"ts_mse/{name}"]["value"]["T_mse"], 1e-3
    )
    np.testing.assert_allclose(fitted.weights_, golden["w"], rtol=1e-3, atol=2e-4)
    check_metrics(fitted.predict_proba(test_z), test_y, golden["test"], rtol=1e-3)


@pytest.mark.parametrize("name", TEN_CLASSES)
def test_ensemble_by_nll_has_the_released_variant_and_is_no_worse_than_temperature(name):
    z, y, _, _ = halves(name)
    golden = GOLDEN[f"ets_mse/{name}"]["value"]["w_ce_variant"]
    fitted = Ensemble().fit(z, y)
    np.testing.assert_allclose(fitted.temperature_, golden["T"], rtol=1e-3)
    np.testing.assert_allclose(fitted.weights_, golden["w"], rtol=2e-3, atol=2e-4)
    assert fitted.report_.after <= Temperature().fit(z, y).report_.after


@pytest.mark.parametrize("name", TEN_CLASSES)
@pytest.mark.parametrize(("key", "kind"), [("irm", IsotonicOrdered), ("irova", Isotonic)])
def test_isotonic_maps_have_the_released_metrics(name, key, kind):
    z, y, test_z, test_y = halves(name)
    p = kind().fit(z, y).predict_proba(test_z)
    golden = GOLDEN[f"{key}/{name}"]["value"]["test_normalised"]
    check_metrics(p, test_y, golden, rtol=1e-6)


@pytest.mark.parametrize("name", TEN_CLASSES)
def test_histogram_has_the_released_frequencies_but_keeps_empty_bins(name):
    z, y, test_z, test_y = halves(name)
    golden = GOLDEN[f"hist_binning/{name}"]["value"]
    fitted = Histogram().fit(z, y)
    filled = np.bincount(np.ceil(softmax(z)[:, 0] * 15).astype(int) - 1, minlength=15) > 0
    np.testing.assert_allclose(
        fitted.frequencies_[0], np.where(filled, golden["conf_class0"], np.arange(0.5, 15) / 15)
    )
    released = Histogram.from_parameters(fitted.parameters())
    for k, row in enumerate(released.frequencies_):
        index = np.ceil(softmax(z)[:, k] * 15).astype(int) - 1
        row[np.bincount(index, minlength=15) == 0] = 0.0
    p = released.predict_proba(test_z)
    # The golden equal-mass bins split ties, which frequencies are full of.
    check_metrics(p, test_y, golden["test_normalised"], rtol=1e-6, skip=("ece_em15_exact",))


def test_vector_scaling_is_the_golden_optimum():
    z, y, test_z, test_y = halves("mc512x10")
    golden = GOLDEN["vector_scaling/mc512x10"]["value"]
    fitted = Vector(centred=False).fit(z, y)  # as released: of the logits as they are
    np.testing.assert_allclose(fitted.weights_, golden["w"], rtol=1e-4)
    np.testing.assert_allclose(fitted.bias_, golden["b_centred"], rtol=1e-4, atol=1e-5)
    assert abs(fitted.bias_.mean()) < 1e-12
    assert fitted.report_.after == pytest.approx(golden["fit_nll"], rel=1e-9)
    check_metrics(fitted.predict_proba(test_z), test_y, golden["test"], rtol=1e-3)


def test_dirichlet_with_odir_is_the_golden_optimum():
    z, y, test_z, test_y = halves("mc512x10")
    golden = GOLDEN["dirichlet_odir/mc512x10"]["value"]
    fitted = Dirichlet(penalty=0.01).fit(z, y)
    assert fitted.report_.after == pytest.approx(golden["fit_nll"], rel=1e-4)
    off = fitted.weights_[~np.eye(10, dtype=bool)]
    objective = fitted.report_.after + 0.01 * (off**2).mean() + 0.01 * (fitted.bias_**2).mean()
    assert objective == pytest.approx(golden["objective"], rel=1e-7)
    check_metrics(fitted.predict_proba(test_z), test_y, golden["test"], rtol=5e-3)


@pytest.mark.parametrize("kind", [Vector, Matrix, Dirichlet])
def test_logits_and_their_probabilities_give_the_same_fit(kind):
    z, y = drawn(300, 4, scale=2.0)
    fitted = kind().fit(z + np.linspace(-3, 5, 300)[:, None], y)
    again = kind().fit(np.log(softmax(z)), y)
    np.testing.assert_allclose(again.predict_proba(z), fitted.predict_proba(z), atol=1e-6)


@pytest.mark.parametrize("kind", [Matrix, Dirichlet])
def test_rows_that_belong_together_are_held_out_together(kind, monkeypatch):
    z, y = drawn(120, 4, scale=2.0)
    groups = np.arange(120) // 4
    seen = []
    choose = vector_matrix._choose_penalty

    def watched(rows, fold):
        seen.append(fold)
        return choose(rows, fold)

    monkeypatch.setattr(vector_matrix, "_choose_penalty", watched)
    kind().fit(z, y, groups=groups)
    kind().fit(z, y, np.where(groups < 3, 0.0, 1.0), groups)
    assert [fold.size for fold in seen] == [120, 108]
    for fold, own in zip(seen, (groups, groups[12:]), strict=True):
        assert set(np.bincount(fold)) <= {32, 36, 40}
        assert all(np.unique(fold[own == g]).size == 1 for g in np.unique(own))


def test_three_copies_of_every_row_choose_the_penalty_of_the_rows_where_they_are_groups():
    """Copies that were fitted on would be held out otherwise, and no penalty too small for them."""
    rng = np.random.default_rng(2)
    z, y = rng.normal(size=(60, 8)), rng.integers(0, 8, 60)
    often = np.repeat(np.arange(60), 3)
    chosen = [
        float(Matrix().fit(z[often], y[often], groups=own).report_.message.split()[1].strip(";"))
        for own in (None, often)
    ]
    assert chosen[0] < chosen[1]


@pytest.mark.parametrize("name", ["vector", "matrix", "dirichlet", "isotonic", "histogram"])
def test_a_class_without_a_fitting_row_is_said(name):
    z, y = drawn(200, 4, scale=2.0)
    few = y != 2
    assert "class 2 has no fitting row" in CALIBRATORS[name]().fit(z[few], y[few]).report_.message
    assert "fitting row" not in CALIBRATORS[name]().fit(z, y).report_.message
    assert "fitting row" not in CALIBRATORS["ts"]().fit(z[few], y[few]).report_.message


def test_matrix_scaling_without_penalty_is_multinomial_regression():
    z, y = drawn(400, 3, scale=2.0)
    fitted = Matrix(penalty=0.0).fit(z, y)
    centred = z - z.mean(axis=1, keepdims=True)
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=2000).fit(centred, y)
    np.testing.assert_allclose(fitted.predict_proba(z), model.predict_proba(centred), atol=1e-5)


def test_matrix_without_features_of_other_classes_is_vector_scaling():
    z, y = drawn(300, 4, scale=2.0)
    stiff = Matrix(penalty=1e9).fit(z, y)
    off = stiff.weights_[~np.eye(4, dtype=bool)]
    assert np.abs(off).max() < 1e-6
    assert np.abs(stiff.bias_).max() < 1e-6


def test_penalty_is_chosen_by_cross_validation_and_said():
    z, y = drawn(120, 8, scale=2.0)
    fitted = Matrix().fit(z, y)
    assert fitted.report_.message.startswith("penalty ")
    chosen = float(fitted.report_.message.removeprefix("penalty ").split(";")[0])
    same = Matrix(penalty=chosen).fit(z, y)
    assert np.array_equal(same.weights_, fitted.weights_)
    with pytest.raises(UsageError, match="Penalty"):
        Matrix(penalty=-1.0)


@pytest.mark.parametrize("mixing", [0.0, 0.3])
def test_chosen_penalty_is_as_good_on_new_rows_as_the_best_of_all(mixing):
    """Labels from logits that are only too sharp, and from logits that mix the classes."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=(2400, 6)) * 3.0
    truth = z @ (0.5 * np.eye(6) + mixing * rng.normal(size=(6, 6))) + rng.gumbel(size=z.shape)
    y = truth.argmax(axis=1)

    def new_rows_nll(calibrator):
        log_p = calibrator.fit(z[:800], y[:800]).predict_log_proba(z[800:])
        return -log_p[np.arange(1600), y[800:]].mean()

    tried = [new_rows_nll(Matrix(penalty)) for penalty in (1e4, 1e3, 100.0, 10.0, 1.0, 0.1, 0.01)]
    assert new_rows_nll(Matrix()) < min(tried) + 0.005
    assert max(tried) > min(tried) + 0.01


@pytest.mark.parametrize(("seed", "expected"), [(1, 0.1), (5, 1.0)])
def test_chosen_penalty_is_the_best_on_each_third_of_the_rows_left_out(seed, expected):
    rng = np.random.default_rng(seed)
    z = 2.0 * rng.normal(size=(240, 4))
    truth = z @ (0.5 * np.eye(4) + 0.35 * rng.normal(size=(4, 4))) + rng.gumbel(size=z.shape)
    y = truth.argmax(axis=1)
    fold = np.random.default_rng(vector_matrix.FOLD_SEED).permutation(240) % 3

    def held_out_nll(penalty):
        total = 0.0
        for k in range(3):
            log_p = Matrix(penalty).fit(z[fold != k], y[fold != k]).predict_log_proba(z[fold == k])
            total -= log_p[np.arange(80), y[fold == k]].sum()
        return total

    assert min(vector_matrix.PENALTIES, key=held_out_nll) == expected
    assert Matrix().fit(z, y).report_.message == f"penalty {expected:g}"


@pytest.mark.parametrize(
    ("limit", "expected"), [("CROSS_CELLS", None), ("HELD_OUT_CELLS", "penalty 16")]
)
def test_penalty_of_a_file_too_large_for_cross_validation(limit, expected, monkeypatch):
    monkeypatch.setattr(vector_matrix, limit, 0)
    z, y = drawn(200, 4, scale=3.0)
    report = Matrix().fit(z, y).report_
    assert not report.worse
    assert report.message == expected or expected is None


def logit(p):
    return np.log(p) - np.log1p(-p)


def test_vector_scaling_of_a_binary_logit_is_platt_scaling():
    p, y = golden_input("bin400")
    golden = GOLDEN["platt_binary/bin400"]["value"]
    fitted = Vector().fit(logit(p)[:200], y[:200])
    found = fitted.predict_proba(logit(np.array(golden["grid"])))[:, 1]
    # The released fit stops at scikit-learn's default tolerance, 2e-4 short of the optimum.
    np.testing.assert_allclose(found, golden["pred"], rtol=5e-4)
    model = LogisticRegression(C=np.inf, tol=1e-12, max_iter=2000).fit(
        logit(p)[:200, None], y[:200]
    )
    exact = model.predict_proba(logit(np.array(golden["grid"]))[:, None])[:, 1]
    np.testing.assert_allclose(found, exact, rtol=1e-6)


def test_isotonic_of_a_binary_score_is_the_golden_one_and_scikit_learns():
    p, y = golden_input("bin400")
    golden = GOLDEN["isotonic_binary/bin400"]["value"]
    grid = np.clip(np.array(golden["grid"]), 1e-12, 1.0 - 1e-12)
    fitted = Isotonic().fit(logit(p)[:200], y[:200])
    np.testing.assert_allclose(fitted.predict_proba(logit(grid))[:, 1], golden["pred"], rtol=1e-7)
    rest = fitted.predict_proba(logit(p)[200:])[:, 1]
    assert np.mean((rest - y[200:]) ** 2) == pytest.approx(golden["brier_rest"], rel=1e-7)
    tied = np.round(p, 1).clip(0.05, 0.95)
    ours = Isotonic().fit(logit(tied), y).predict_proba(logit(tied))[:, 1]
    theirs = IsotonicRegression(out_of_bounds="clip").fit_transform(tied, y)
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_spline_has_the_golden_knots_and_scores():
    p, y = golden_input("bin400")
    golden = GOLDEN["spline/bin400"]["value"]
    order = np.argsort(p)
    x = np.linspace(0.0, 1.0, 400)
    spline = knot_spline(x, np.cumsum(y[order] - p[order]) / 400)
    knots = np.linspace(0.0, 1.0, 6)
    np.testing.assert_allclose(spline(knots), golden["knot_values"], rtol=1e-8)
    np.testing.assert_allclose(spline(knots, 2), golden["second_derivatives"], rtol=1e-7, atol=1e-9)
    fitted = Spline().fit(logit(p), y)
    found = fitted.predict_proba(logit(p))[order, 1]
    np.testing.assert_allclose(found[:5], golden["recalibrated_first5_sorted"], rtol=1e-8)
    np.testing.assert_allclose(found[-5:], golden["recalibrated_last5_sorted"], rtol=1e-8)


def test_spline_interpolates_linearly_between_scores_and_is_constant_outside():
    p, y = golden_input("bin400")
    fitted = Spline().fit(logit(p), y)
    low, high = fitted.scores_[100:102]
    between = low + 0.25 * (high - low)
    expected = 0.75 * fitted.recalibrated_[100] + 0.25 * fitted.recalibrated_[101]
    found = fitted.predict_proba(logit(np.array([between, 1e-9, 1.0 - 1e-9])))[:, 1]
    ends = fitted.recalibrated_[[0, -1]]
    np.testing.assert_allclose(found, [expected, *ends], rtol=1e-9)


def test_spline_of_many_rows_keeps_points_at_even_ranks_from_the_first_to_the_last():
    s, _ = drawn(6000, 1)
    s = np.sort(s[:, 0])
    y = (np.random.default_rng(4).random(6000) < sigmoid(0.5 * s)).astype(int)
    fitted = Spline().fit(s, y)
    assert fitted.scores_.size == 2001
    np.testing.assert_allclose(fitted.scores_[[0, 1000, -1]], sigmoid(s[[0, 3000, -1]]), rtol=1e-3)
    spline = knot_spline(np.linspace(0, 1, 6000), np.cumsum(y - sigmoid(s)) / 6000)
    expected = np.clip(sigmoid(s) + spline(np.linspace(0, 1, 6000), 1), 0.0, 1.0)
    np.testing.assert_allclose(fitted.predict_proba(s)[:, 1], expected, rtol=0, atol=5e-4)


def test_spline_of_many_classes_moves_the_winner_and_shares_the_rest():
    z, y = drawn(500, 4, scale=5.0)
    before, after = softmax(z), Spline().fit(z, y).predict_proba(z)
    at = z.argmax(axis=1)
    rows = np.arange(500)
    ratio = after / before
    ratio[rows, at] = np.nan
    spread = np.nanmax(ratio, axis=1) - np.nanmin(ratio, axis=1)
    assert (spread <= 1e-9 * np.nanmax(ratio, axis=1) + 1e-15).all()
    assert after[rows, at].mean() == pytest.approx((at == y).mean(), abs=0.02)


def test_descent_that_meets_no_number_stays_where_it_was():
    def objective(x):
        return (0.5, np.ones(1)) if x[0] == 1.0 else (np.nan, np.full(1, np.nan))

    point, value, message = descend(objective, np.ones(1), steps=5)
    assert (point.tolist(), value) == ([1.0], 0.5)
    assert "before it settled" in message


def test_beta_is_the_optimum_of_its_likelihood_and_recovers_its_maker():
    rng = np.random.default_rng(0)
    s = rng.normal(size=20_000) * 2.0
    log_p, log_u = log_softmax(np.stack([s * 0, s], axis=1)).T[::-1]
    y = (rng.random(s.size) < sigmoid(0.5 * log_p - 1.5 * log_u + 0.3)).astype(int)
    fitted = Beta().fit(s, y)
    found = [fitted.a_[0], fitted.b_[0], fitted.c_[0]]
    np.testing.assert_allclose(found, [0.5, 1.5, 0.3], atol=0.1)
    best = fitted.report_.after

    def nll(x):
        return -np.log(sigmoid(np.where(y, 1, -1) * (x[0] * log_p - x[1] * log_u + x[2]))).mean()

    assert best <= minimize(nll, found, method="Nelder-Mead").fun + 1e-9
    assert best <= fitted.report_.before


@pytest.mark.parametrize(("answer", "at_bound"), [(-1.0, True), (1.0, False)])
def test_beta_says_that_its_slopes_reached_zero(answer, at_bound):
    """A score that points the wrong way: no slope of at least 0 fits it."""
    s, _ = drawn(200, 1)
    noise = np.random.default_rng(3).logistic(size=200)
    fitted = Beta().fit(s[:, 0], (answer * s[:, 0] + noise > 0.0).astype(int))
    assert (fitted.a_[0] == fitted.b_[0] == 0.0) == at_bound
    assert fitted.report_.at_bound == at_bound


def test_beta_leaves_a_class_that_never_occurs_as_it_is():
    z, y = drawn(200, 4)
    fitted = Beta().fit(z, np.minimum(y, 2))
    assert (fitted.a_[3], fitted.b_[3], fitted.c_[3]) == (1.0, 1.0, 0.0)
