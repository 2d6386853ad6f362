"""Rows that belong together, and rows that stand for several: the metrics honour both."""

import json

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from scipy.stats import f_oneway, t, zscore

from core.arrays import sigmoid
from core.compiled.resamples import add_alike
from core.configs import AuditConfig
from core.metrics import METRICS, clinical, estimates
from core.metrics.binning import equal_width_cuts, sums
from core.metrics.classwise import class_bins, redrawn_ece
from core.metrics.clinical.fit import recalibration, spiegelhalter_z
from core.metrics.clinical.groups import grouping, subgroups
from core.metrics.comparison import compare, compared
from core.metrics.notices import summary_of
from core.metrics.paired import difference, draws
from core.metrics.ranked import SortedOutcomes
from core.metrics.ranking import auroc_error
from core.metrics.resampling import (
    GroupCells,
    Resamples,
    centring_left,
    outcomes_alike,
    shares_by_weight,
    variance_around,
)
from core.metrics.suite import audit, prepare
from core.metrics.units import (
    RowUnits,
    degrees_of_freedom,
    design_effect,
    intraclass_correlation,
    mean_squares,
    row_draws,
)
from core.predictions import (
    COPIES,
    Groups,
    Outcomes,
    Predictions,
    SamplingDesign,
    ScoreKind,
    Task,
    Weights,
)
from core.reports.study_json import audit_json
from core.screens.kit.marks import shares
from core.screens.kit.sentences import effective_n_words


def sample(n=300, seed=0, decimals=3):
    """Stated risks with ties, and events that follow them too timidly."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 2.0, n).round(decimals)
    return p, rng.random(n) < sigmoid(0.3 + 0.7 * np.log((p + 1e-3) / (1.001 - p)))


def binary(p, y, **more):
    return Predictions(Task.BINARY, ScoreKind.PROBABILITIES, p, y.astype(int), **more)


def multiclass(n=240, k=4, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, k)).round(1) * 2, rng.integers(0, k, n)


def patients(n_groups, rows, seed, within=0.5):
    """Films of patients: risks and residuals that the films of one patient share."""
    rng = np.random.default_rng(seed)
    p = np.repeat(rng.uniform(0.1, 0.9, n_groups), rows)
    shared = np.repeat(rng.random(n_groups), rows)
    own = rng.random(n_groups * rows)
    together = rng.random(n_groups * rows) < within
    return p, np.where(together, shared, own) < p, np.repeat(np.arange(n_groups), rows)


# Weights ---------------------------------------------------------------------------------------

NOT_MEANS = {"spiegelhalter_z"}  # a test statistic is no mean of rows


@pytest.mark.parametrize("metric", sorted(set(METRICS) - NOT_MEANS))
def test_weight_two_is_the_row_twice(metric):
    entry = METRICS[metric]
    times = np.random.default_rng(3).integers(0, 4, 300)
    p, y = sample()
    again = np.repeat(np.arange(300), times)
    weights = Weights.of("w", times)
    if entry.needs == "scores":
        logits, labels = multiclass(300)
        kinds = Task.MULTICLASS, ScoreKind.LOGITS
        weighted = Predictions(*kinds, logits, labels, weights=weights)
        repeated = Predictions(*kinds, logits[again], labels[again])
    else:
        weighted = SortedOutcomes.of(Outcomes(p, y, None, weights.of_row))
        repeated = SortedOutcomes.of(Outcomes(p[again], y[again]))
    assert entry.function(weighted) == pytest.approx(
        entry.function(repeated), rel=1e-9, abs=1e-12, nan_ok=True
    )


@pytest.mark.parametrize("metric", ["ece", "ece_em", "ada_ece", "aurc", "auroc", "smece", "ici"])
def test_the_scale_of_weights_does_not_matter(metric):
    p, y = sample()
    raw = np.random.default_rng(4).uniform(0.2, 3.0, 300)
    values = [
        METRICS[metric].function(
            SortedOutcomes.of(Outcomes(p, y, None, Weights.of("w", scale * raw).of_row))
        )
        for scale in (1.0, 0.013, 40.0)
    ]
    assert values == pytest.approx([values[0]] * 3, rel=1e-9)


def test_rows_of_weight_0_change_nothing_but_their_number():
    p, y = sample()
    weights = np.where(np.arange(300) < 200, 1.5, 0.0)
    kept = audit(binary(p[:200], y[:200]), AuditConfig(n_resamples=50)).main
    found = audit(binary(p, y, weights=Weights.of("w", weights)), AuditConfig(n_resamples=50)).main
    for metric in ("accuracy", "ece", "auroc", "nll", "slope", "aurc"):
        assert found.metrics[metric].value == pytest.approx(kept.metrics[metric].value, rel=1e-9)


# Groups ----------------------------------------------------------------------------------------


def test_groups_change_no_point_estimate():
    p, y, groups = patients(60, 5, seed=2)
    alone = audit(binary(p, y), AuditConfig(n_resamples=50))
    named = Groups.of("patient", [f"p{g:02}" for g in groups])
    found = audit(binary(p, y, groups=named), AuditConfig(n_resamples=50))
    for metric, score in alone.main.metrics.items():
        if score.value is not None and metric != "spiegelhalter_z":
            assert found.main.metrics[metric].value == pytest.approx(score.value, rel=1e-12), metric


def test_films_of_a_patient_widen_every_interval():
    p, y, groups = patients(120, 8, seed=5, within=0.9)
    alone = audit(binary(p, y), AuditConfig(n_resamples=300)).main
    named = Groups.of("patient", groups.astype(str))
    found = audit(binary(p, y, groups=named), AuditConfig(n_resamples=300)).main
    for metric in ("accuracy", "nll", "brier", "auroc", "slope", "citl", "aurc", "brier_skill"):
        one, other = alone.metrics[metric], found.metrics[metric]
        assert other.high - other.low > 1.3 * (one.high - one.low), metric
    assert found.noise_floor["ece"].q95 > 1.3 * alone.noise_floor["ece"].q95
    assert found.direction.high - found.direction.low > 1.5 * (
        alone.direction.high - alone.direction.low
    )
    assert np.nanmean(found.bins.ci_high - found.bins.ci_low) > np.nanmean(
        alone.bins.ci_high - alone.bins.ci_low
    )


@pytest.mark.parametrize("times", [2, 5])
def test_rows_that_are_copies_in_a_group_are_worth_one(times):
    p, y = sample(400)
    groups = np.repeat(np.arange(400), times)
    copies = SortedOutcomes.of(Outcomes(np.repeat(p, times), np.repeat(y, times), groups))
    once = SortedOutcomes.of(Outcomes(p, y))
    assert copies.effective_n(copies.correct) == pytest.approx(400, rel=0.003)
    assert auroc_error(copies) == pytest.approx(auroc_error(once), rel=0.01)
    summary = summary_of("patient", copies)
    assert (summary.n, summary.largest) == (400, times)
    assert summary.design_effect == pytest.approx(times, rel=0.01)
    assert summary.effective_n == pytest.approx(400, rel=0.01)
    wide, plain = (Resamples.of(r, 2_000, 0) for r in (copies, once))
    assert wide.signed_gap.size or wide.floor_hits.dtype == np.float64
    assert plain.floor_hits.dtype == np.int32
    widths = [np.subtract(*one.gap_interval(0.95)) for one in (wide, plain)]
    assert widths[0] == pytest.approx(widths[1], rel=0.1)


@pytest.mark.parametrize("scale", [1.0, 1e-300])
def test_the_design_effect_knows_no_scale(scale):
    values = np.array([0.0, 0.0, 1.0, 1.0, 0.0, 1.0]) * scale
    sampling = SamplingDesign(np.array([0, 0, 1, 1, 2, 2]), None)
    # mean 1/2; squares between groups 1 of 2, within 1/2 of 3: F = 3, rho = 2 / (3 + 2 - 1)
    assert design_effect(values, sampling) == pytest.approx(1.0 + 0.5 * (12 / 6 - 1))


def test_scores_that_saturate_are_audited_with_weights():
    p, y = np.array([0.0, 1e-200, 1e-180, 0.0]), np.zeros(4, dtype=bool)
    weights = Weights.of("w", np.array([1.0, 2.0, 1.0, 3.0]))
    found = audit(binary(p, y, weights=weights), AuditConfig(n_resamples=20))
    assert found.main.metrics["ece"].value == pytest.approx(0.0, abs=1e-150)


def test_groups_of_one_row_give_what_no_groups_give():
    p, y = sample(112)
    files = binary(p, y), binary(p, y, groups=Groups("eye", np.arange(112)[::-1]))
    alone, single = (audit(file, AuditConfig(n_resamples=50)).main for file in files)
    assert single.metrics == alone.metrics
    assert (single.noise_floor, single.direction) == (alone.noise_floor, alone.direction)
    assert single.verdict == alone.verdict
    assert single.groups.effective_n == 112
    drawn = [draws(file, alone.noise_floor, ("ece", "nll"), n_resamples=40) for file in files]
    for metric, one in drawn[0].items():
        assert difference(drawn[1][metric], one, 0.95).high == 0.0


@pytest.mark.parametrize("counted", [1, 2])
def test_rows_of_weight_0_leave_groups_as_if_they_were_not_there(counted):
    """One row of each patient counts, or of the first patient two."""
    p, y = sample(120)
    film = np.arange(120)
    weights = ((film % 2 == 0) | (film < counted)).astype(float)
    kept = weights > 0.0
    whole = SortedOutcomes.of(Outcomes(p, y, film // 2, weights))
    alone = SortedOutcomes.of(Outcomes(p[kept], y[kept], film[kept] // 2, weights[kept]))
    assert (whole.groups is None) == (alone.groups is None) == (counted == 1)
    config, patient = AuditConfig(n_resamples=50), Groups("patient", film // 2)
    file = binary(p, y, groups=patient, weights=Weights.of("w", weights))
    summary = audit(file, config).main.groups
    assert (summary.n, summary.largest) == (60, counted)


def test_alike_is_what_the_analysis_of_variance_says():
    rng = np.random.default_rng(5)
    sizes = np.array([1, 2, 9, 30, 4])
    groups = np.repeat(np.arange(5), sizes)
    values = rng.normal(size=5)[groups] + rng.normal(size=46)
    ratio = f_oneway(*(values[groups == g] for g in range(5))).statistic  # larger than by sums
    rows = (46 - (sizes @ sizes) / 46) / 4
    expected = (ratio - 1) / (ratio + rows - 1)
    assert intraclass_correlation(values, groups) == pytest.approx(expected)
    effect = 1 + expected * ((sizes @ sizes) / 46 - 1)
    assert design_effect(values, SamplingDesign(groups)) == pytest.approx(effect)
    assert degrees_of_freedom(SamplingDesign(groups)) == pytest.approx(46**2 / (sizes @ sizes) - 1)
    assert degrees_of_freedom(SamplingDesign(np.arange(46))) == np.inf


def test_large_groups_may_be_alike_though_small_ones_vary_little():
    # 50 groups of eight, six against two, and 400 rows alone that are nearly right: the squares
    # between groups are fewer than those within, yet the large ones move the mean
    eight = np.array([1.0] * 6 + [-1.0] * 2)
    values = np.r_[np.tile(np.r_[eight, -eight], 25), np.tile([0.1, -0.1], 200)]
    sampling = SamplingDesign(np.r_[np.repeat(np.arange(50), 8), 50 + np.arange(400)])
    sums, squares = 50 * 4.0**2 + 400 * 0.1**2, 400 + 400 * 0.1**2
    assert design_effect(values, sampling) == pytest.approx(450 / 449 * sums / squares)


def test_events_that_the_largest_patients_share_do_not_count_for_themselves():
    # of 18 films of six patients six show it: 4 of 7, none of 4, 1 of 3, 1 of 2, none of 1 and 1
    groups = np.repeat(np.arange(6), [7, 4, 3, 2, 1, 1])
    events = np.isin(np.arange(18), [0, 1, 2, 3, 11, 14])
    ratio, _, _ = mean_squares(events - 1 / 3, groups)
    assert ratio < 1.0  # by mean squares films of a patient are not alike
    # sums less 1/3 a film: 5, -4, 0, 1, -1 and -1 thirds; squares 4; 80 of 324 pairs in a patient
    effect = (44 / 9) / (4 * (1 - 80 / 324) + (44 / 9) / 18)
    assert design_effect(events, SamplingDesign(groups)) == pytest.approx(effect)


def test_a_group_that_rules_the_mean_is_not_taken_for_many():
    """Two hundred patients, one of whom has half of all films: about three patients' worth."""
    rng, worth, gaps = np.random.default_rng(3), [], []
    groups = np.r_[np.zeros(600, int), np.repeat(np.arange(1, 201), 3)]
    for _ in range(200):
        y = np.where(rng.random(1200) < 0.9, rng.random(201)[groups], rng.random(1200)) < 0.5
        ranked = SortedOutcomes.of(Outcomes(np.full(1200, 0.5), y, groups))
        worth.append(summary_of("patient", ranked).effective_n)
        gaps.append(ranked.gap)
    assert np.median(worth) == pytest.approx(0.25 / np.var(gaps), rel=0.35)


def test_calibrated_patients_are_not_called_off_because_their_events_clump():
    """100 patients of 20 films, events of 5 % that vary by patient: signs called 4 in 10 off."""
    rng, called = np.random.default_rng(4), 0
    for _ in range(12):
        risk = sigmoid(rng.normal(-3.2, 0.8, 100))
        own = rng.beta(risk * 7 / 3, (1 - risk) * 7 / 3)  # rho 0.3
        patient = np.repeat(np.arange(100), 20)
        p = risk[patient] * rng.uniform(0.999, 1.001, 2_000)
        file = binary(p, rng.random(2_000) < own[patient], groups=Groups("patient", patient))
        ready = prepare(file, 1, n_resamples=200, seed=0)
        called += ready.null.test(equal_width_cuts(ready.ranked, 15)).p_value <= 0.05
    assert called <= 2


def test_redrawn_outcomes_keep_their_claims_and_are_alike_within_groups():
    claims = np.array([0.2, 0.2, 0.6, 0.6])
    ranked = SortedOutcomes.of(Outcomes(claims, np.ones(4, bool), np.array([0, 1, 0, 1])))
    place = np.array([[0, 0, 2, 2], [0, 2, 1, 3]])
    uniform = np.random.default_rng(2).random((40_000, 2, 4))
    drawn = np.zeros((40_000, 4))
    theta = np.full(40_000, 1.0 / 0.3 - 1.0)
    add_alike(place, np.stack([claims[[0, 2, 1, 3]], np.ones(4)]), theta, uniform, drawn)
    assert drawn.mean(axis=0) == pytest.approx(claims, abs=0.01)
    together = (drawn[:, 0] * drawn[:, 2]).mean()  # rho of the time they share a number
    assert together == pytest.approx(0.3 * 0.2 + 0.7 * 0.2 * 0.6, abs=0.01)
    assert np.cov(drawn[:, 0], drawn[:, 1])[0, 1] == pytest.approx(0.0, abs=0.005)
    hits = outcomes_alike(ranked, np.array([0, 2, 4]), 4_000, np.random.default_rng(0))
    assert hits.mean(axis=0) == pytest.approx([0.4, 1.2], abs=0.03)


def test_rows_of_weight_0_add_nothing_to_a_variance():
    values, groups = np.array([3.0, -1.0, 9.0, -2.0]), np.array([4, 4, 7, 8])
    weights = np.array([1.0, 1.0, 0.0, 2.0])
    some, counted = RowUnits.of(4, SamplingDesign(groups, weights)), weights > 0.0
    own = RowUnits.of(3, SamplingDesign(groups[counted], weights[counted]))
    assert some.sum_variance(values) == own.sum_variance(values[counted]) == 2 * (2.0**2 + 2.0**2)
    assert some.mean_variance(values) == own.mean_variance(values[counted])


def test_groups_that_few_of_them_rule_are_said():
    p, y = sample(600)
    codes = {}
    for name, groups in (
        ("even", np.arange(600) // 10),
        ("ruled", np.r_[np.zeros(300, int), np.arange(1, 301)]),
    ):
        found = audit(binary(p, y, groups=Groups("patient", groups)), AuditConfig(n_resamples=50))
        codes[name] = {note.code: note.text for note in found.notices}
    assert "FEW_GROUPS" not in codes["even"]
    # 360,000 over 90,300
    assert "301 groups count like 4 of equal size" in codes["ruled"]["FEW_GROUPS"]


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_thirty_groups_of_equal_weight_are_not_few_however_it_is_rounded(seed):
    sizes = np.r_[np.random.default_rng(seed).integers(1, 20, 30), np.full(5, 10)]
    groups = np.repeat(np.arange(35), sizes)
    p, y = sample(groups.size)
    weights = Weights.of("w", np.where(groups < 30, 1.0 / sizes[groups], 0.0))
    file = binary(p, y, groups=Groups("patient", groups), weights=weights)
    found = audit(file, AuditConfig(n_resamples=50))
    assert "FEW_GROUPS" not in {note.code for note in found.notices}


def test_worth_by_hand():
    # two groups of two rows, all right and all wrong: no row tells more than its group
    ranked = SortedOutcomes.of(
        Outcomes(np.full(4, 0.5), np.array([1, 1, 0, 0], bool), np.array([0, 0, 1, 1]))
    )
    assert ranked.effective_n(ranked.correct) == pytest.approx(2.0)
    # the other way about: each group half right has no variance at all; Kish's bound holds
    mixed = SortedOutcomes.of(
        Outcomes(np.full(4, 0.5), np.array([1, 0, 1, 0], bool), np.array([0, 0, 1, 1]))
    )
    assert mixed.effective_n(mixed.correct) == pytest.approx(4.0)
    # all came true: nothing tells how alike they are, so the groups count
    sure = SortedOutcomes.of(Outcomes(np.full(4, 0.5), np.ones(4, bool), np.array([0, 0, 1, 1])))
    assert sure.effective_n(sure.correct) == pytest.approx(2.0)


def test_events_of_patients_whose_risk_the_model_knows_count_for_themselves():
    rng = np.random.default_rng(6)
    groups = np.arange(300).repeat(20)
    known = rng.beta(0.2, 0.8, 300).repeat(20)  # patients are at very different risks
    ranked = SortedOutcomes.of(Outcomes(known, rng.random(6_000) < known, groups))
    alike = ranked.hits * ranked.effective_n(ranked.correct) / ranked.total
    assert alike < 0.15 * ranked.hits
    assert ranked.effective_rarer > 0.8 * ranked.hits
    # of a model that says the same of everyone the same films tell little
    blind = SortedOutcomes.of(Outcomes(np.full(6_000, 0.2), ranked.correct, ranked.groups))
    assert blind.effective_rarer < 0.15 * ranked.hits


@pytest.mark.slow
@pytest.mark.parametrize(
    "weigh",
    [
        pytest.param(lambda rng, n: rng.lognormal(0.0, 1.0, n), marks=pytest.mark.nightly),
        pytest.param(lambda rng, n: rng.lognormal(0.0, 2.0, n), marks=pytest.mark.nightly),
        lambda rng, n: np.append(1e9, np.ones(n - 1)),
    ],
    ids=["lognormal", "heavy", "one rules"],
)
def test_calibrated_rows_are_not_called_off_because_few_of_them_weigh_most(weigh):
    rng, alarms = np.random.default_rng(3), 0
    for seed in range(60):
        p = rng.beta(3, 2, 300)
        rows = binary(p, rng.random(300) < p, weights=Weights.of("w", weigh(rng, 300)))
        ready = prepare(rows, 1, n_resamples=150, seed=seed)
        cuts = estimates.BINNED["ece"].cuts(ready.ranked, 15)
        alarms += ready.null.test(cuts).p_value <= 0.05
    assert alarms <= 9  # of 60 three are expected; more than nine in 1 of 500


def test_the_floor_of_weighted_rows_redraws_each_outcome_from_its_claim():
    # sums of independent outcomes: central moments sum w^k times those of one outcome
    p, weights = np.array([0.02, 0.1, 0.3, 0.6]), np.array([50.0, 8.0, 1.0, 2.0])
    ranked = SortedOutcomes.of(Outcomes(p, np.array([0, 0, 1, 1], bool), None, weights))
    drawn = Resamples.of(ranked, 60_000, 0).floor(np.array([0, 2, 4]))
    np.testing.assert_allclose(drawn.count, [58.0, 3.0])
    for at, rows in ((0, slice(0, 2)), (1, slice(2, 4))):
        q, w = p[rows], weights[rows]
        hits = drawn.hits[:, at]
        assert set(np.unique(hits)) == {0.0, w[0], w[1], w.sum()}
        off = hits - hits.mean()
        assert hits.mean() == pytest.approx(w @ q, rel=0.05)
        assert (off**2).mean() == pytest.approx(w**2 @ (q * (1 - q)), rel=0.05)
        third = w**3 @ (q * (1 - q) * (1 - 2 * q))
        assert (off**3).mean() == pytest.approx(third, rel=0.1, abs=0.05)


def test_the_classwise_floor_counts_every_redrawn_class_by_weight():
    # two rows of two classes in one bin: the gap of a class is 0.3 + 3 * 0.4 less its hits
    p = np.array([[0.3, 0.7], [0.4, 0.6]])
    weights = Weights.of("w", [1, 3])
    kinds = Task.MULTICLASS, ScoreKind.PROBABILITIES
    rows = Predictions(*kinds, p, np.array([0, 1]), weights=weights)
    bins = class_bins(rows, n_bins=1).bins
    drawn = redrawn_ece(rows, bins, 20_000, np.random.default_rng(0))
    of_hits = {abs(1.5 - hits) / 4.0 for hits in (0.0, 1.0, 3.0, 4.0)}
    assert set(drawn.round(12)) == {round(value, 12) for value in of_hits}
    chances = {0.0: 0.7 * 0.6, 1.0: 0.3 * 0.6, 3.0: 0.7 * 0.4, 4.0: 0.3 * 0.4}
    mean = sum(chance * abs(1.5 - hits) / 4.0 for hits, chance in chances.items())
    assert drawn.mean() == pytest.approx(mean, rel=0.02)


def sampled_by_outcome(seed, n=2_000):
    """All of rare events and a tenth of the others: calibrated where those weigh 10."""
    rng = np.random.default_rng(seed)
    p = sigmoid(rng.normal(-3.0, 1.0, 5 * n))
    y = rng.random(p.size) < p
    kept = y | (rng.random(p.size) < 0.1)
    return p[kept], y[kept], np.where(y[kept], 1.0, 10.0)


def heavy_rows_at_risk(seed, n=4_000):
    """Few rows weigh 20 and carry three times the risk; with the others claims are calibrated."""
    rng = np.random.default_rng(seed)
    p, much = 0.25 * rng.beta(2.0, 4.0, n), rng.random(n) < 0.02
    share = 0.4 / (0.4 + 0.98)  # of the weight
    others = (1.0 - 3.0 * share) / (1.0 - share)
    return p, rng.random(n) < p * np.where(much, 3.0, others), np.where(much, 20.0, 1.0)


def heavy_rows_too_extreme(seed, n=2_000):
    """Claims of few rows that weigh 20 are too extreme; with the others claims are calibrated."""
    rng = np.random.default_rng(seed)
    p, much = sigmoid(rng.normal(0.0, 2.0, n)), rng.random(n) < 0.02
    share = 0.4 / (0.4 + 0.98)
    off = np.minimum(np.minimum(p, 1.0 - p) * 0.9 * (1.0 - share) / share, np.abs(p - 0.5))
    high = p + np.where(p < 0.5, off, -off)
    others = (p - share * high) / (1.0 - share)
    return p, rng.random(n) < np.where(much, high, others), np.where(much, 20.0, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "draw",
    [
        sampled_by_outcome,
        pytest.param(heavy_rows_at_risk, marks=pytest.mark.nightly),
        pytest.param(heavy_rows_too_extreme, marks=pytest.mark.nightly),
    ],
)
def test_calibrated_rows_are_not_called_off_where_weights_tell_of_outcomes(draw):
    alarms, held, widths, slopes = 0, 0, [], []
    for seed in range(60):
        p, y, weights = draw(seed)
        rows = binary(p, y, weights=Weights.of("w", weights))
        ready = prepare(rows, 1, n_resamples=150, seed=seed)
        cuts = estimates.BINNED["ece"].cuts(ready.ranked, 15)
        alarms += ready.null.test(cuts).p_value <= 0.05
        slope = recalibration(p, y, sampling=SamplingDesign(None, weights)).slope
        held += slope.low <= 1.0 <= slope.high
        widths.append(slope.high - slope.low)
        slopes.append(slope.value)
    assert alarms <= 9  # of 60 three are expected; more than nine in 1 of 500
    assert held >= 51
    assert np.median(widths) == pytest.approx(2 * 1.96 * np.std(slopes), rel=0.3)


def test_shares_by_weight_are_those_of_a_penalised_logistic_regression():
    """By a general optimiser; columns are standardised and the last three have a unit prior."""
    p, y, weights = heavy_rows_at_risk(1)
    ranked = SortedOutcomes.of(Outcomes(p, y, None, weights))
    logit = zscore(np.log(ranked.confidence) - np.log1p(-ranked.confidence))
    heavy = zscore(np.log(ranked.weights))
    design = np.stack([np.ones(logit.size), logit, heavy, heavy * logit, heavy**2], axis=1)
    events = ranked.correct * 1.0

    def loss(beta):
        eta = design @ beta
        return np.logaddexp(0.0, eta).sum() - events @ eta + 0.5 * (beta[2:] ** 2).sum()

    fitted = minimize(loss, np.zeros(5), method="BFGS").x
    np.testing.assert_allclose(shares_by_weight(ranked), sigmoid(design @ fitted), rtol=2e-3)


@pytest.mark.parametrize("claim", [0.3, 0.5, (0.3, 0.7)])
@pytest.mark.parametrize("n", [52, 1000])
def test_claims_that_tell_nothing_of_as_many_events_as_others_are_taken_as_they_are(claim, n):
    """The regression has nothing to climb: a search for a better point must end all the same."""
    p, y = np.resize(claim, n), np.arange(n) // 2 % 2 == 0
    assert shares_by_weight(SortedOutcomes.of(Outcomes(p, y, None, np.ones(n)))) is None
    assert (
        shares_by_weight(SortedOutcomes.of(Outcomes(p, y, None, np.resize([1.0, 2.0], n)))) is None
    )


def test_weights_that_tell_nothing_mostly_leave_the_claims():
    p, y = sample()
    for equal in (None, np.full(300, 3.0)):
        assert shares_by_weight(SortedOutcomes.of(Outcomes(p, y, None, equal))) is None
    rng = np.random.default_rng(8)
    drawn = [
        shares_by_weight(SortedOutcomes.of(Outcomes(p, y, None, rng.lognormal(0, 1, 300))))
        for _ in range(40)
    ]
    assert sum(shares is None for shares in drawn) >= 20


def test_weights_that_split_the_outcomes_tell_nearly_all_of_them():
    p, y, weights = sampled_by_outcome(2)
    ranked = SortedOutcomes.of(Outcomes(p, y, None, weights))
    shares = shares_by_weight(ranked)
    assert np.abs(shares - ranked.correct).mean() < 0.02


def test_the_floor_varies_as_weights_tell():
    p, y, weights = heavy_rows_at_risk(3)
    ranked = SortedOutcomes.of(Outcomes(p, y, None, weights))
    ends, shares = np.array([0, ranked.n]), shares_by_weight(ranked)
    drawn = Resamples.of(ranked, 4_000, 0).floor(ends)
    rest = shares * (1 - shares) + (shares - ranked.confidence) ** 2
    assert drawn.gap.mean() == pytest.approx(0.0, abs=0.05 * drawn.gap.std())
    assert drawn.gap.var() == pytest.approx(ranked.weights**2 @ rest, rel=0.07)
    assert variance_around(np.array([0.2]), np.array([0.5])) == pytest.approx([0.25 + 0.09])


def test_equal_weights_leave_spiegelhalters_z_as_it_is():
    p, y = sample()
    equal = SortedOutcomes.of(Outcomes(p, y, None, np.full(300, 2.5)))
    assert spiegelhalter_z(equal) == pytest.approx(
        spiegelhalter_z(SortedOutcomes.of(Outcomes(p, y)))
    )


def test_a_subgroup_that_weighs_nothing_is_left_out():
    p, y = sample()
    sides = grouping(["left", "right"] * 150)
    weights = np.where(np.arange(300) % 2, 1.0, 0.0)
    found = subgroups(p, y, sides, n_resamples=20, sampling=SamplingDesign(None, weights))
    assert [group.name for group in found] == ["right"]


def test_equal_weights_leave_the_classwise_floor_as_it_is():
    logits, labels = multiclass()
    kinds = Task.MULTICLASS, ScoreKind.LOGITS
    floors = []
    for more in ({}, {"weights": Weights.of("w", np.full(240, 0.2))}):
        file = Predictions(*kinds, logits, labels, **more)
        ready = prepare(file, None, n_resamples=100, seed=0)
        floors.append(estimates.classwise(ready, file, n_bins=15, level=0.95)[1])
    assert floors[1].mean == pytest.approx(floors[0].mean, rel=1e-9)
    assert floors[1].q95 == pytest.approx(floors[0].q95, rel=1e-9)


def test_a_few_rows_that_rule_the_weight_are_said():
    p, y = sample(300)
    codes = {}
    for name, values in (
        ("even", np.arange(1.0, 301.0)),
        ("ruled", np.append(900.0, np.ones(299))),
    ):
        found = audit(binary(p, y, weights=Weights.of("w", values)), AuditConfig(n_resamples=50))
        codes[name] = {note.code for note in found.notices}
    assert "FEW_WEIGH" in codes["ruled"]
    assert "FEW_WEIGH" not in codes["even"]


def test_centring_is_given_back_as_the_share_of_the_variance_that_it_took():
    # one bin, weights 1, 1, 2: 1 - 2 * 10 / (4 * 6) + 6 / 16; three of equal weight: 1 - 1 / 3
    bins = GroupCells(
        cell=np.array([0, 0, 0, 1, 1, 1]),
        group=np.arange(6),
        rows=np.array([1.0, 1.0, 2.0, 3.0, 3.0, 3.0]),
        confidence=np.zeros(6),
        hits=np.zeros(6),
        n_cells=2,
        n_groups=6,
    )
    np.testing.assert_allclose(centring_left(bins), [1 - 20 / 24 + 6 / 16, 2 / 3], rtol=1e-12)


def test_draws_that_differ_by_rounding_alone_call_nothing_off():
    rng = np.random.default_rng(4)
    p = rng.beta(3, 2, 300)
    groups = Groups("patient", np.arange(300) // 150)
    weights = Weights.of("w", (np.arange(300) >= 150) * 1.0)
    found = audit(binary(p, rng.random(300) < p, groups=groups, weights=weights)).main
    assert found.verdict.code == "could_be_chance"
    assert found.verdict.p_value == 1.0


@pytest.mark.parametrize("weighted", [False, True])
def test_slope_and_intercepts_agree_with_statsmodels(weighted):
    p, y, groups = patients(120, 4, seed=7, within=0.6)
    p = np.clip(p + np.random.default_rng(8).normal(size=p.size) * 0.05, 0.02, 0.98)
    rows = np.random.default_rng(9).integers(1, 4, p.size) if weighted else np.ones(p.size, int)
    logit = np.log(p / (1 - p))
    given = SamplingDesign(groups, rows.astype(float) if weighted else None)
    found = recalibration(p, y, sampling=given)
    kinds = {"cov_type": "cluster", "cov_kwds": {"use_correction": False}}
    kinds["cov_kwds"]["groups"] = np.repeat(groups, rows)
    factor, family = np.sqrt(120 / 119), sm.families.Binomial()
    events, line = np.repeat(y * 1.0, rows), np.repeat(logit, rows)
    joint = sm.GLM(events, sm.add_constant(line), family=family).fit(**kinds)
    large = sm.GLM(events, np.ones(events.size), family=family, offset=line).fit(**kinds)
    expected = [
        (found.intercept, joint.params[0], joint.bse[0]),
        (found.slope, joint.params[1], joint.bse[1]),
        (found.in_the_large, large.params[0], large.bse[0]),
    ]
    for score, value, error in expected:
        assert score.value == pytest.approx(value, rel=1e-6, abs=1e-9)
        rarer = SortedOutcomes.of(Outcomes(p, y, *given)).effective_rarer
        df = 1 / (1 / degrees_of_freedom(given) + 1 / rarer)  # 119 without weights, and few events
        half = t.ppf(0.975, df) * error * factor
        assert score.high - score.value == pytest.approx(half, rel=1e-5)


def test_equal_weights_leave_the_intervals_of_a_slope_as_they_are():
    p, y = sample()
    plain = recalibration(p, y)
    equal = recalibration(
        p, y, sampling=SamplingDesign(None, Weights.of("w", np.full(300, 0.37)).of_row)
    )
    for name in ("slope", "intercept", "in_the_large"):
        one, other = getattr(plain, name), getattr(equal, name)
        assert (other.value, other.low, other.high) == pytest.approx(
            (one.value, one.low, one.high), rel=1e-9, abs=1e-12
        )
        assert other.settings["interval"].startswith("Wald")
        assert "groups" not in other.settings["interval"]


def test_the_slope_of_weighted_rows_varies_as_independent_outcomes_do():
    rng = np.random.default_rng(5)
    p, weights = rng.uniform(0.1, 0.9, 400), rng.lognormal(0.0, 1.0, 400)
    logit, sampling = np.log(p / (1 - p)), SamplingDesign(None, weights)
    slopes, errors = [], []
    for _ in range(400):
        slope = recalibration(p, rng.random(400) < p, sampling=sampling).slope
        slopes.append(slope.value)
        errors.append((slope.high - slope.low) / (2 * 1.959964))
    assert np.mean(errors) == pytest.approx(np.std(slopes), rel=0.1)
    y = rng.random(400) < p
    design, found = sm.add_constant(logit), recalibration(p, y, sampling=sampling)
    fit = sm.GLM(y * 1.0, design, family=sm.families.Binomial(), freq_weights=weights).fit()
    vary = weights**2 * fit.mu * (1 - fit.mu)
    spread = fit.cov_params() @ (design.T * vary @ design) @ fit.cov_params()
    for score, at in ((found.intercept, 0), (found.slope, 1)):
        assert score.value == pytest.approx(fit.params[at], rel=1e-6)
        half = 1.959964 * np.sqrt(spread[at, at])
        assert score.high - score.value == pytest.approx(half, rel=1e-5)


def test_draws_do_not_depend_on_the_order_of_rows_or_on_how_groups_are_called():
    p, y, groups = patients(50, 3, seed=11)
    order = np.random.default_rng(1).permutation(p.size)
    names = np.array([f"patient {g:03}" for g in groups])
    one = binary(p, y, groups=Groups.of("patient", names))
    other = binary(p[order], y[order], groups=Groups.of("patient", names[order]))
    first, second = (audit(file, AuditConfig(n_resamples=60)).main for file in (one, other))
    for metric, score in first.metrics.items():
        if score.low is not None and metric not in {"nll", "brier"}:
            assert second.metrics[metric].low == pytest.approx(score.low, rel=1e-9), metric
    assert first.verdict == second.verdict


# Two runs on the same rows ---------------------------------------------------------------------


def runs(times=1, groups=False, weights=None):
    """Two runs of three classes on 150 rows, each row as often as that."""
    rng = np.random.default_rng(12)
    labels = np.repeat(rng.integers(0, 3, 150), times)
    own = Groups.of("g", np.repeat(np.arange(150) // (2 if times == 1 else 1), times).astype(str))
    sampling = {"groups": own} if groups else {}
    if weights is not None:
        sampling["weights"] = Weights.of("w", weights)
    kinds = Task.MULTICLASS, ScoreKind.LOGITS
    scores = [np.repeat(rng.normal(size=(150, 3)) * scale, times, axis=0) for scale in (1, 3)]
    return [compared(Predictions(*kinds, one, labels, **sampling)) for one in scores]


@pytest.fixture(scope="module")
def once():
    return runs()


def test_copies_in_a_group_narrow_no_difference(once):
    copied = compare(runs(3, groups=True), ["a", "b"], 0).differences[1]
    for metric, plain in compare(once, ["a", "b"], 0).differences[1].items():
        found = copied[metric]
        assert found.value == pytest.approx(plain.value, abs=0.02 if "smece" in metric else 1e-9)
        assert found.settings["resampled_by"] == "group"
        if metric in {"accuracy", "nll", "brier"}:
            assert found.high - found.low == pytest.approx(plain.high - plain.low, rel=0.15), metric
        assert found.high - found.low > 0.7 * (plain.high - plain.low), metric


def test_differences_count_weights(once):
    weighted = compare(runs(weights=np.full(150, 2.0)), ["a", "b"], 0).differences[1]
    for metric, plain in compare(once, ["a", "b"], 0).differences[1].items():
        assert weighted[metric].value == pytest.approx(plain.value, abs=1e-9), metric


def test_runs_that_differ_in_their_groups_are_not_ranked(once):
    reason = compare([once[0], runs(groups=True)[1]], ["a", "b"], 0).reason
    assert reason.startswith("“a” and “b” do not say the same of which rows belong together")


# What is said of them --------------------------------------------------------------------------


def test_an_audit_says_what_the_rows_are_worth():
    p, y, groups = patients(40, 6, seed=3)
    file = binary(
        p,
        y,
        groups=Groups.of("patient", groups.astype(str)),
        weights=Weights.of("w", np.where(np.arange(240) % 2, 1.0, 3.0)),
    )
    found = audit(file, AuditConfig(n_resamples=50))
    texts = {note.code: note.text for note in found.notices}
    assert texts["GROUPED"].startswith("240 rows of 40 patients. Rows of one patient may be alike")
    assert "FEW_GROUPS" not in texts
    # (120 + 360)^2 / (120 + 1080) = 192
    assert texts["WEIGHTED"] == "rows count by w: 240 rows count as about 192 of equal weight."
    out = audit_json("f", "d", {"all": 240}, "all", (), found)
    assert set(out["groups"]) == {"column", "n", "largest", "design_effect", "effective_n"}
    assert (out["groups"]["column"], out["groups"]["n"], out["groups"]["largest"]) == (
        "patient",
        40,
        6,
    )
    assert out["weights"] == {"column": "w", "effective_n": pytest.approx(192)}
    assert "groups" not in audit_json("f", "d", {}, "all", (), audit(binary(p, y)))


def test_rows_that_count_for_themselves_are_not_called_alike():
    """Residuals add up to the same in every pair: one a patient is right, and one is not."""
    p, y = np.full(40, 0.6), np.tile([0, 1], 20)
    found = audit(
        binary(p, y, groups=Groups.of("patient", np.repeat(np.arange(20), 2).astype(str)))
    )
    assert found.main.groups.effective_n == 40.0
    (text,) = (note.text for note in found.notices if note.code == "GROUPED")
    assert text.startswith("40 rows of 20 patients, too few to tell how alike rows of one patient")
    told = effective_n_words(found.main)
    assert told.endswith("of 20 patients count as 40 independent ones for “1”.")
    for rows, name, words in (
        (1, "patient", "40 rows of 40 patients, one row each: each counts for itself."),
        (2, COPIES, "40 rows of 20 sets of copies. Intervals, noise floors and verdicts draw the "),
    ):
        groups = Groups(name, np.arange(40) // rows)
        notices = audit(binary(p, y, groups=groups)).notices
        assert any(note.text.startswith(words) for note in notices)
    p, y = np.full(80, 0.6), np.tile([0, 1], 40)
    pairs = Groups.of("patient", np.repeat(np.arange(40), 2).astype(str))
    notices = audit(binary(p, y, groups=pairs)).notices
    (text,) = (note.text for note in notices if note.code == "GROUPED")
    assert text.startswith("80 rows of 40 patients. Rows of one patient look no more alike than ")
    assert text.endswith("floors and verdicts were drawn by patient all the same.")


def test_few_groups_are_said():
    p, y, groups = patients(12, 6, seed=3)
    found = audit(binary(p, y, groups=Groups.of("site", groups.astype(str))))
    assert any(note.text == "12 sites are few: intervals are rough." for note in found.notices)


@pytest.mark.parametrize("task", [Task.MULTICLASS, Task.BINARY, Task.MULTILABEL])
@pytest.mark.parametrize("weighted", [False, True])
def test_no_interval_leaves_what_its_metric_can_be(task, weighted):
    rng = np.random.default_rng(0)
    labels = np.repeat([1, 0, 1, 0], 3)
    p = np.where(np.arange(12) < 6, 0.99, 0.03)  # two of four patients are sure and wrong
    rows = p, labels
    if task is not Task.BINARY:
        rows = np.column_stack([1.0 - p, p]), labels
    if task is Task.MULTILABEL:
        rows = rows[0], np.column_stack([1 - labels, labels])
    weights = Weights("w", rng.uniform(0.5, 1.5, 12)) if weighted else None
    groups = Groups.of("patient", np.repeat(list("abcd"), 3))
    file = Predictions(task, ScoreKind.SIGMOID, *rows, groups=groups, weights=weights)
    found = audit(file, AuditConfig(n_resamples=40))
    for target in (found.main, *found.labels, *filter(None, [found.answers])):
        for key, score in target.metrics.items():
            least, most = METRICS[key].range
            assert score.low is None or least <= score.low <= score.value, key
            assert score.high is None or score.value <= score.high <= most, key


def test_an_event_that_few_groups_hold_is_said():
    patients = np.repeat(np.arange(100), 3)
    labels = np.column_stack([patients < 6, patients % 5 == 0]).astype(np.int64)  # 6, and 20
    rows = Predictions(
        Task.MULTILABEL,
        ScoreKind.SIGMOID,
        np.full((300, 2), 0.2),
        labels,
        class_names=("Cardiomegaly", "Mass"),
        groups=Groups.of("patient", [str(p) for p in patients]),
    )
    texts = [note.text for note in audit(rows, AuditConfig(n_resamples=20)).notices]
    assert (
        "“Cardiomegaly” is seen in 18 rows of 6 patients alone: what is said of it hangs on these "
        "few." in texts
    )


def test_labels_have_their_own_worth_and_the_mean_has_the_mean():
    p, y, groups = patients(50, 4, seed=6, within=0.9)
    own, other, _ = patients(50, 4, seed=7, within=0.0)
    file = Predictions(
        Task.MULTILABEL,
        ScoreKind.SIGMOID,
        np.stack([p, own], axis=1),
        np.stack([y, other], axis=1).astype(int),
        groups=Groups.of("patient", groups.astype(str)),
    )
    found = audit(file, AuditConfig(n_resamples=50))
    first, second = (label.groups.design_effect for label in found.labels)
    assert first > 2.0 > second
    assert found.main.groups.design_effect == pytest.approx((first + second) / 2)


# The clinic ------------------------------------------------------------------------------------


def test_weight_two_is_the_row_twice_in_the_clinic():
    p, y = sample()
    times = np.random.default_rng(3).integers(0, 4, 300)
    again, weights = np.repeat(np.arange(300), times), SamplingDesign(None, times.astype(float))
    one, other = (p, y), (p[again], y[again])
    at = [0.1, 0.3, 0.5]
    first = clinical.net_benefit(*one, at, sampling=weights)
    second = clinical.net_benefit(*other, at)
    for name in ("model", "treat_all"):
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), rtol=1e-12)
    assert np.all(first.high - first.low > second.high - second.low)  # not twice as many rows
    tens, tens_again = clinical.bands(*one, sampling=weights), clinical.bands(*other)
    np.testing.assert_allclose(tens.share, tens_again.share, rtol=1e-12)
    np.testing.assert_allclose(tens.mean, tens_again.mean, rtol=1e-12)
    called = clinical.classified(*one, 0.3, sampling=weights), clinical.classified(*other, 0.3)
    for name in ("sensitivity", "specificity", "ppv", "npv"):
        values = [getattr(found, name).value for found in called]
        assert values[0] == pytest.approx(values[1], rel=1e-12)
    curves = clinical.flexible(*one, sampling=weights), clinical.flexible(*other)
    np.testing.assert_allclose(curves[0].observed, curves[1].observed, rtol=1e-9)
    fits = recalibration(*one, sampling=weights), recalibration(*other)
    for name in ("observed_expected", "difference", "slope"):
        values = [getattr(found, name).value for found in fits]
        assert values[0] == pytest.approx(values[1])


def test_films_of_a_patient_widen_bands_and_subgroups():
    p, y, groups = patients(120, 8, seed=5, within=0.9)
    sampling = SamplingDesign(groups)
    for make in (
        lambda **more: clinical.flexible(p, y, **more),
        lambda **more: clinical.net_benefit(p, y, [0.3, 0.5], **more),
    ):
        alone, grouped = make(), make(sampling=sampling)
        assert np.mean(grouped.high - grouped.low) > 1.2 * np.mean(alone.high - alone.low)
    sides = grouping(np.where(np.arange(p.size) % 2, "left", "right").tolist())
    for one, other in zip(
        subgroups(p, y, sides, n_resamples=100),
        subgroups(p, y, sides, n_resamples=100, sampling=sampling),
        strict=True,
    ):
        widths = [group.fit.slope.high - group.fit.slope.low for group in (one, other)]
        assert widths[1] > 1.2 * widths[0]
        assert other.floor.q95 > 1.2 * one.floor.q95


def test_a_resample_of_groups_weighs_as_much_as_the_data():
    sizes = np.random.default_rng(2).integers(1, 12, 40)
    groups = np.repeat(np.arange(40), sizes)
    p, y = sample(groups.size)
    resamples = Resamples.of(SortedOutcomes.of(Outcomes(p, y, groups)), 200, 0)
    np.testing.assert_allclose(resamples.count[:, -1], groups.size, rtol=1e-12)
    assert np.std(np.diff(resamples.count[:, [0, resamples.count.shape[1] // 2]])) > 0


def test_an_error_of_the_model_does_not_widen_its_floor():
    """One bin that states .3 of what comes true .9 of the time: variance .09 a row, not .45."""
    n = 2_000
    y = np.repeat(np.arange(n // 2) % 10 > 0, 2)
    ranked = SortedOutcomes.of(Outcomes(np.full(n, 0.3), y, np.arange(n) // 2))
    resamples = Resamples.of(ranked, 4_000, 0)
    drawn = np.abs(resamples.floor(np.array([0, n])).gap[:, 0]) / n
    assert drawn.mean() == pytest.approx(np.sqrt(2 / np.pi * 0.09 / (n // 2)), rel=0.05)


def test_rows_that_do_not_differ_are_worth_their_groups_by_size():
    alike = SortedOutcomes.of(Outcomes(np.full(4, 0.5), np.ones(4, bool), np.array([0, 1, 1, 1])))
    assert alike.effective_n(alike.correct) == pytest.approx(16 / 10)  # 4^2 / (1 + 9)


# At the edges ----------------------------------------------------------------------------------


def test_weighted_rows_that_a_risk_splits_have_no_slope():
    p = np.array([0.1, 0.26, 0.42, 0.58, 0.74, 0.9])
    weights = Weights.of("w", [1.4, 1.5, 2.2, 2.8, 0.2, 0.5]).of_row
    fit = recalibration(p, p > 0.5, sampling=SamplingDesign(None, weights))
    assert fit.slope.reason == "separated: one stated risk splits events from non-events"


@pytest.mark.parametrize("seed", range(20))
def test_where_all_rows_came_true_so_did_all_of_their_weight(seed):
    rng = np.random.default_rng(seed)
    weights = Weights.of("w", rng.uniform(0.01, 5.0, 60)).of_row
    p, y = rng.random(60), np.ones(60, bool)
    ranked = SortedOutcomes.of(Outcomes(p, y, None, weights))
    cuts = np.array([0, 7, 30, 60])
    own = sums(ranked, cuts)
    assert own.hits.tolist() == own.count.tolist()


def test_averages_of_the_bins_are_weighted():
    rng = np.random.default_rng(2)
    p = np.r_[rng.uniform(0.0, 0.4, 200), rng.uniform(0.6, 1.0, 200)]
    y = rng.random(400) < np.r_[p[:200], p[200:] ** 2]
    weights = Weights.of("w", np.where(np.arange(400) < 200, 1.0, 19.0))
    found = audit(binary(p, y, weights=weights), AuditConfig(n_resamples=50)).main
    says, came = shares(found.bins)
    assert says - came == pytest.approx(found.direction.gap, rel=1e-12)
    assert says == pytest.approx(np.average(p, weights=weights.of_row), rel=1e-12)


def one_patient():
    """Two patients, of whom one counts nothing."""
    p, y = sample(40)
    groups = Groups.of("patient", np.repeat(["a", "b"], 20))
    return binary(p, y, groups=groups, weights=Weights.of("w", np.repeat([1.0, 0.0], 20)))


def test_one_group_that_is_left_tells_of_no_spread():
    found = audit(one_patient(), AuditConfig(n_resamples=50))
    out = audit_json("f", "d", {"all": 40}, "all", (), found)
    assert json.loads(json.dumps(out, allow_nan=False))["groups"]["effective_n"] == 1.0
    for metric in ("nll", "brier", "aurc", "citl", "slope"):
        score = found.main.metrics[metric]
        assert (score.low, score.high) == (None, None), metric
        assert "group" in score.reason
    assert found.main.direction.high - found.main.direction.low > 0.5
    drawn = draws(one_patient(), found.main.noise_floor, n_resamples=20)
    for metric in ("accuracy", "ece"):
        assert difference(drawn[metric], drawn[metric], 0.95).low is None


def test_rows_of_weight_0_are_never_drawn():
    weights = np.array([1.0, 2.0, 0, 0, 0, 0, 0, 0])
    rng = np.random.default_rng(0)
    for counts in row_draws(8, SamplingDesign(None, weights), 200, rng):
        assert counts.sum() == pytest.approx(3.0)
        assert not counts[2:].any()


def test_an_impossible_truth_of_weight_0_leaves_the_difference_defined():
    p = np.array([[0.0, 1.0], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8]])
    weights = Weights.of("w", [0.0, 1.0, 1.0, 2.0])
    kinds = Task.MULTICLASS, ScoreKind.PROBABILITIES
    file = Predictions(*kinds, p, np.array([0, 1, 0, 1]), weights=weights)
    found = audit(file, AuditConfig(n_resamples=20)).main
    drawn = draws(file, found.noise_floor, n_resamples=20)
    assert drawn["nll"].value == pytest.approx(found.metrics["nll"].value)
    assert np.isfinite(drawn["nll"].draws).all()


def test_few_groups_widen_the_interval_of_a_slope():
    """Calibrated rows in five groups: the normal quantile held the truth in 89 of 100 sets."""
    held = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        p = rng.uniform(0.05, 0.95, 100)
        sampling = SamplingDesign(np.arange(100) % 5)
        slope = recalibration(p, rng.random(100) < p, sampling=sampling).slope
        held += slope.low <= 1.0 <= slope.high
    assert held >= 135


def ruled(seed, alike, n=1_000):
    """Films of patients, three of whom have seven in sixteen of all; calibrated."""
    rng = np.random.default_rng(seed)
    sizes = [n // 4, n // 8, n // 16, *[4] * ((n - 7 * n // 16) // 4)]
    patient = np.repeat(np.arange(len(sizes)), sizes)
    p = sigmoid(rng.normal(-1.0, 1.2, len(sizes))[patient] + rng.normal(0.0, 0.6, patient.size))
    shared, own = rng.random(len(sizes))[patient], rng.random(patient.size)
    return p, np.where(rng.random(patient.size) < alike**0.5, shared, own) < p, patient


def test_a_patient_with_many_films_does_not_make_the_slope_certain():
    """The sandwich held the truth in 77 of 100 sets."""
    fits = []
    for seed in range(150):
        p, y, patient = ruled(seed, 0.3)
        fits.append(recalibration(p, y, sampling=SamplingDesign(patient)))
    slopes, large = [fit.slope for fit in fits], [fit.in_the_large for fit in fits]
    assert sum(slope.low <= 1.0 <= slope.high for slope in slopes) >= 136
    assert sum(found.low <= 0.0 <= found.high for found in large) >= 136


def test_the_slope_of_uneven_groups_varies_as_alike_residuals_do():
    p, y, patient = ruled(3, 0.2, 160)
    found = recalibration(p, y, sampling=SamplingDesign(patient))
    design = sm.add_constant(np.log(p / (1 - p)))
    share = sm.GLM(y * 1.0, design, family=sm.families.Binomial()).fit().predict()
    spread, rho = np.sqrt(share * (1 - share)), intraclass_correlation(y - share, patient)
    alike = np.where(patient[:, None] == patient, rho, 0.0) + (1 - rho) * np.eye(p.size)
    covariance = alike * np.outer(spread, spread)
    covariance *= max(1.0, ((y - share) ** 2).sum() / (spread**2).sum())
    bread = np.linalg.inv(design.T @ (design * (spread**2)[:, None]))
    errors = np.sqrt(np.diag(bread @ design.T @ covariance @ design @ bread))
    wide = t.ppf(0.975, degrees_of_freedom(SamplingDesign(patient)))
    for score, error in zip((found.intercept, found.slope), errors, strict=True):
        assert score.high - score.value == pytest.approx(wide * error, rel=1e-5)


def test_a_total_just_under_one_row_has_a_bin():
    weights = Weights.of("w", [0.013, 0.0, 0.0]).of_row
    ranked = SortedOutcomes.of(Outcomes(np.array([0.2, 0.5, 0.9]), np.ones(3, bool), None, weights))
    assert METRICS["ece_em"].function(ranked) == pytest.approx(0.8)


def test_a_bin_that_one_group_rules_is_not_centred():
    """20 groups of 79 rows, 60 of them of one group, are worth 79^2 / 3,619 = 1.7 groups."""
    low = [(0.2, group) for group in range(40) for _ in range(200)]
    high = [(0.9, 40)] * 60 + [(0.9, group) for group in range(41, 60)]
    confidence, groups = (np.array(column) for column in zip(*low, *high, strict=True))
    correct = np.arange(confidence.size) % 5 == 0
    correct[len(low) :] = False  # each of these rows is 0.9 too sure
    resamples = Resamples.of(SortedOutcomes.of(Outcomes(confidence, correct, groups)), 500, 0)
    drawn = np.abs(resamples.floor(np.array([0, len(low), confidence.size])).gap[:, 1])
    assert drawn.min() > 0.9 * (60 - 19) - 1e-9
    assert drawn.max() > 0.9 * 60
