"""Rows that stand for several: a fit with weights is the fit on rows repeated that often."""

import numpy as np
import pytest

from core.calibrators import CALIBRATORS, vector_matrix
from core.calibrators.margins import OBJECTIVES, LogitMargins
from core.calibrators.one_vs_rest import Beta
from core.calibrators.per_label import PerLabel
from core.calibrators.search import best_on_grid, landscape, scan, temperature_curve
from core.calibrators.spline import spline_map
from core.calibrators.temperature import FINE_GRID, Temperature
from core.configs import SEARCHES
from core.errors import Refused
from core.predictions import Task
from tests.core.calibrators.cases import drawn

METHODS = sorted(CALIBRATORS)
FOLDED = ("matrix", "dirichlet")  # choose a penalty by cross-validation
GAMMAS = (-0.5, 0.0, 1.0)


def settings_of(name, searches=("exact",)):
    """Every objective a method offers, and of its searches those that are named."""
    kind = CALIBRATORS[name]
    for objective in kind.choices.get("objective", (None,)):
        for search in searches if "search" in kind.choices else (None,):
            given = {"objective": objective, "search": search}
            given = {key: value for key, value in given.items() if value}
            # The choice of a penalty has a test of its own.
            yield {"penalty": 0.1} if name in FOLDED else given


def variants(searches=("exact",), marks=()):
    return [
        pytest.param(name, settings, id="-".join([name, *map(str, settings.values())]), marks=marks)
        for name in METHODS
        for settings in settings_of(name, searches)
        if searches == ("exact",) or "search" in settings
    ]


def by_rank(name, settings):
    """Whether a fit goes by ranks, which weights count in rows."""
    return name == "spline" or settings.get("objective") in ("ece_em", "ada_ece")


VARIANTS = variants()
MEANS = [one for one in VARIANTS if not by_rank(*one.values)]
GRIDS = variants(tuple(search for search in SEARCHES if search != "exact"), pytest.mark.nightly)


def weighed(n_rows=120, n_classes=4, seed=0):
    """Logits and labels, and weights from 0 to 3 that are larger where the answer is wrong."""
    logits, labels = drawn(n_rows, n_classes, scale=3.0, seed=seed)
    weights = np.random.default_rng([seed, 1]).integers(0, 4, n_rows)
    wrong = logits.argmax(axis=1) != labels
    return logits, labels, np.where(wrong, np.maximum(weights, 1), weights // 2).astype(float)


def repeated(logits, labels, weights):
    """The same rows, each as often as its weight says."""
    again = np.repeat(np.arange(len(labels)), weights.astype(int))
    return logits[again], labels[again]


def check_same(one, other, logits, tolerance=1e-6):
    """Two fits say the same of new rows, and of themselves."""
    np.testing.assert_allclose(
        one.predict_proba(logits), other.predict_proba(logits), rtol=0, atol=tolerance
    )
    first, second = one.report_, other.report_
    for value, again in ((first.before, second.before), (first.after, second.after)):
        assert (value is None) == (again is None)
        assert value is None or value == pytest.approx(again, rel=1e-9, abs=1e-9)
    assert (first.at_bound, first.worse) == (second.at_bound, second.worse)
    assert first.message == second.message


def new_rows(logits):
    return drawn(50, logits.shape[1], scale=4.0, seed=99)[0]


@pytest.mark.parametrize(("name", "settings"), VARIANTS + GRIDS)
def test_weights_are_rows_repeated(name, settings):
    logits, labels, weights = weighed()
    kind = CALIBRATORS[name]
    found = kind(**settings).fit(logits, labels, weights)
    check_same(found, kind(**settings).fit(*repeated(logits, labels, weights)), new_rows(logits))
    plain = kind(**settings).fit(logits, labels)
    moved = found.predict_proba(new_rows(logits)) - plain.predict_proba(new_rows(logits))
    assert np.abs(moved).max() > 1e-4


@pytest.mark.parametrize("name", METHODS)
def test_weights_are_rows_repeated_of_two_classes_and_of_a_binary_logit(name):
    logits, labels, weights = weighed(n_classes=2)
    settings = next(settings_of(name))
    again = CALIBRATORS[name](**settings).fit(*repeated(logits, labels, weights))
    found = CALIBRATORS[name](**settings).fit(logits, labels, weights)
    check_same(found, again, new_rows(logits))
    single = CALIBRATORS[name](**settings).fit(logits[:, 1] - logits[:, 0], labels, weights)
    check_same(single, again, new_rows(logits))


@pytest.mark.parametrize("name", ["histogram", "isotonic", "isotonic_ordered"])
def test_maps_of_counts_are_those_of_repeated_rows_to_the_last_bit(name):
    logits, labels, weights = weighed()
    found = CALIBRATORS[name]().fit(logits, labels, weights)
    again = CALIBRATORS[name]().fit(*repeated(logits, labels, weights))
    assert found.parameters() == again.parameters()


@pytest.mark.parametrize("seed", [3, 5])
@pytest.mark.parametrize("name", FOLDED)
def test_penalty_is_chosen_as_with_copies_of_a_row_in_its_fold(name, seed, monkeypatch):
    """Folds are drawn by row: drawn among copies they would hold out what was fitted on.

    So the repeated rows are given the folds of the rows that they repeat; one fold weighs most.
    """
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(150, 4)) * 2.0
    mixed = logits @ (np.eye(4) + 0.3 * rng.normal(size=(4, 4)))
    labels = (mixed + rng.gumbel(size=logits.shape)).argmax(axis=1)
    folds = vector_matrix._folds(np.arange(150))
    weights = np.where(folds == 0, 12.0, 1.0)
    unseen = np.where(np.arange(170) < 150, 1.0, 0.0)  # rows of weight 0 are in no fold
    filled = np.vstack([logits, logits[:20]]), np.append(labels, labels[:20])
    found = CALIBRATORS[name]().fit(*filled, unseen * np.append(weights, weights[:20]))
    copies = np.repeat(folds, weights.astype(int))
    monkeypatch.setattr(vector_matrix, "_folds", lambda _: copies)
    again = CALIBRATORS[name]().fit(*repeated(logits, labels, weights))
    check_same(found, again, new_rows(logits), tolerance=1e-5)


def test_held_out_rows_count_by_weight(monkeypatch):
    """Half of the rows mix classes and half do not: the heavy half chooses the penalty."""
    rng = np.random.default_rng(4)
    logits = rng.normal(size=(600, 4)) * 2.0
    mixed = logits @ (np.eye(4) + 0.8 * rng.normal(size=(4, 4)))
    mixes = np.arange(600) % 2 == 0
    noise = rng.gumbel(size=logits.shape)
    labels = (np.where(mixes[:, None], mixed, logits) + noise).argmax(axis=1)
    said = [
        CALIBRATORS["matrix"]().fit(logits, labels, np.where(mixes, heavy, light)).report_.message
        for heavy, light in ((50.0, 1.0), (1.0, 50.0))
    ]
    penalties = [float(text.removeprefix("penalty ").partition(";")[0]) for text in said]
    assert penalties[0] < penalties[1]


def test_many_rows_whose_first_steps_are_taken_on_some_of_them():
    logits, labels, weights = weighed(n_rows=5000, seed=3)
    found = Temperature().fit(logits, labels, weights)
    again = Temperature().fit(*repeated(logits, labels, weights))
    assert found.temperature_ == pytest.approx(again.temperature_, rel=1e-9)


def test_rows_of_several_blocks_keep_their_own_weights():
    logits, labels, weights = weighed(n_rows=12_000, seed=4)
    weights[6_000:] *= 5.0  # later blocks weigh more than the first
    margins = LogitMargins.of(logits, labels, weights)
    assert len(margins.blocks) > 1
    again = LogitMargins.of(*repeated(logits, labels, weights))
    np.testing.assert_allclose(margins.nll(1.3, GAMMAS), again.nll(1.3, GAMMAS), rtol=1e-10)
    found = Temperature().fit(logits, labels, weights)
    expected = Temperature().fit(*repeated(logits, labels, weights))
    assert found.temperature_ == pytest.approx(expected.temperature_, rel=1e-9)
    assert found.report_.after == pytest.approx(expected.report_.after, rel=1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_weights_of_one_change_nothing_to_the_last_bit(name):
    logits, labels, _ = weighed()
    plain = CALIBRATORS[name]().fit(logits, labels)
    for weight in (1.0, 0.4):  # in units of rows both are 1
        found = CALIBRATORS[name]().fit(logits, labels, np.full(len(labels), weight))
        assert found.parameters() == plain.parameters()
        before, after = found.report_.before, found.report_.after
        assert (before, after) == (plain.report_.before, plain.report_.after)


@pytest.mark.parametrize(("name", "settings"), MEANS)
def test_equal_weights_change_no_mean(name, settings):
    """Errors of equal mass and splines go by ranks: there weight 2 is two rows, not one."""
    logits, labels, _ = weighed()
    plain = CALIBRATORS[name](**settings).fit(logits, labels)
    found = CALIBRATORS[name](**settings).fit(logits, labels, np.full(len(labels), 2.0))
    check_same(found, plain, new_rows(logits))


@pytest.mark.parametrize(("name", "settings"), VARIANTS)
def test_the_scale_of_weights_changes_nothing(name, settings):
    """Where ranks matter whole weights are rows as they stand; others are scaled to the rows."""
    logits, labels, weights = weighed()
    if by_rank(name, settings):
        weights *= 0.7
    found, scaled = (
        CALIBRATORS[name](**settings).fit(logits, labels, scale * weights) for scale in (1.0, 0.5)
    )
    check_same(found, scaled, new_rows(logits))


@pytest.mark.parametrize("name", METHODS)
def test_rows_of_weight_0_are_absent(name):
    """Even where their logits or labels are such as no fit takes."""
    logits, labels, weights = weighed()
    kept = weights > 0
    logits[~kept], labels[~kept] = np.nan, -1
    found = CALIBRATORS[name]().fit(logits, labels, np.where(kept, 2.5, 0.0))
    plain = CALIBRATORS[name]().fit(logits[kept], labels[kept])
    assert found.parameters() == plain.parameters()


@pytest.mark.parametrize("name", METHODS)
def test_what_is_left_must_be_enough_to_fit_on(name):
    logits, labels, _ = weighed()
    few = np.where(np.arange(len(labels)) < 9, 5.0, 0.0)
    with pytest.raises(Refused, match="9 rows are too few"):
        CALIBRATORS[name]().fit(logits, labels, few)
    with pytest.raises(Refused, match="Every row to fit on has the label 2"):
        CALIBRATORS[name]().fit(logits, labels, (labels == 2) * 1.0)


def test_class_without_weight_is_missing():
    logits, labels, _ = weighed()
    weights = np.where(labels == 3, 0.0, 2.0)
    beta = Beta().fit(logits, labels, weights)
    assert (beta.a_[3], beta.b_[3], beta.c_[3]) == (1.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("weights", "code"),
    [
        (np.ones(159), "LENGTH_MISMATCH"),
        (np.ones((120, 4)), "LENGTH_MISMATCH"),
        (np.zeros(120), "WEIGHTS"),
        (np.where(np.arange(120) == 3, -1.0, 1.0), "WEIGHTS"),
        (np.where(np.arange(120) == 3, np.nan, 1.0), "WEIGHTS"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(weights, code):
    logits, labels, _ = weighed()
    with pytest.raises(Refused) as caught:
        CALIBRATORS["ts"]().fit(logits, labels, weights)
    assert caught.value.code == code
    with pytest.raises(Refused) as caught:
        PerLabel(CALIBRATORS["ts"]).fit(logits, np.tile([0, 1, 0, 1], (120, 1)), weights)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "name", [name for name in METHODS if Task.MULTILABEL in CALIBRATORS[name].tasks]
)
def test_labels_are_fitted_by_weight(name):
    logits, _, weights = weighed(n_classes=3)
    rng = np.random.default_rng(2)
    labels = (rng.random(logits.shape) < 1.0 / (1.0 + np.exp(-0.4 * logits))).astype(int)
    labels[:, 2] = (weights == 0) & (np.arange(120) % 2 == 0)  # present in no row that counts
    found = PerLabel(CALIBRATORS[name]).fit(logits, labels, weights)
    again = PerLabel(CALIBRATORS[name]).fit(*repeated(logits, labels, weights))
    assert found.members_[2] is None
    check_same(found, again, new_rows(logits))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", [3, 19, 23, 40])
def test_stretches_are_skipped_by_the_weighted_bound(objective, seed):
    """Wrong answers that weigh much: the unweighted accuracy would bound the error too high."""
    logits, labels = drawn(200, 4, scale=4.0, sharpness=2.0, seed=seed)
    wrong = logits.argmax(axis=1) != labels
    weights = np.where(wrong, 9.0, 1.0) + np.random.default_rng(seed).integers(0, 3, 200)
    margins = LogitMargins.of(logits, labels, weights)
    values = scan(margins, objective, (0.0,), FINE_GRID)[0]
    found = best_on_grid(margins, objective, (0.0,), FINE_GRID)
    assert found.value == pytest.approx(values.min(), rel=1e-9)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_landscape_and_its_curve_are_those_of_repeated_rows(objective):
    logits, labels, weights = weighed()
    more = {"objective": objective, "gammas": GAMMAS}
    found = landscape(logits, labels, weights=weights, **more)
    again = landscape(*repeated(logits, labels, weights), **more)
    np.testing.assert_allclose(found.values, again.values, rtol=1e-9, atol=1e-12)
    curve = temperature_curve(logits, labels, weights=weights, **more)
    np.testing.assert_array_equal(
        curve, temperature_curve(*repeated(logits, labels, weights), **more)
    )


def test_spline_of_heavy_rows_does_not_repeat_them():
    """A weight of a billion a row would be no array; a thousand times fewer is the same curve."""
    rng = np.random.default_rng(6)
    score, correct = rng.random(300), rng.random(300) < 0.5
    heavy = rng.integers(1, 5, 300) * 1e9
    places, found = spline_map(score, correct, heavy)
    again, expected = spline_map(score, correct, heavy / 1e6)
    np.testing.assert_array_equal(places, again)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("seed", [24, 35])
def test_rows_that_the_adaptive_error_leaves_out_count_by_weight(seed):
    """Equal rows with the lowest confidence lie in no bin; here two rows stand for many."""
    rng = np.random.default_rng(seed)
    logits, labels = drawn(40, 3, seed=seed)
    logits[:2] = np.array([0.3, 0.0, -1.0]) * rng.uniform(0.2, 2.0)
    labels = np.where(rng.random(40) < 0.7, logits.argmax(axis=1), labels)
    labels[:2] = 0, 1
    weights = np.ones(40)
    weights[:2] = rng.integers(8, 30, 2)
    margins = LogitMargins.of(logits, labels, weights)
    values = scan(margins, "ada_ece", (0.0,), FINE_GRID)[0]
    found = best_on_grid(margins, "ada_ece", (0.0,), FINE_GRID)
    assert found.value == pytest.approx(values.min(), rel=1e-9)
