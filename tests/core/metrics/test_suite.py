"""The audit as a whole: what is in it, what is said, and that every door leads to one number."""

import csv
import gc
import os
import weakref
from dataclasses import astuple, fields, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

from core.configs import AuditConfig, BinRule
from core.errors import UsageError
from core.metrics import METRICS, clinical, suite
from core.metrics.classwise import AnswersOfRows, class_sums
from core.metrics.notices import notices
from core.metrics.null_test import NullTest
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import BinTable, ClassCell, Floor, Gap, Score
from core.metrics.verdict import (
    bin_sentence,
    classes_words,
    costly_bin,
    costly_class_sentence,
    mixed_ends,
    places,
    points,
    share,
    shown_words,
    verdict,
    would_show,
)
from core.predictions import Outcomes, Predictions, ScoreKind, Task
from core.reports.document import CAVEATS
from core.screens.kit.sentences import verdict_sentence

SHARED = Path(os.environ.get("CANDOR_SHARED", Path(__file__).parents[3].parent / "shared"))
QUICK = AuditConfig(n_resamples=60)
RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(400, 3)) * 4
WARMER = np.exp(LOGITS / 2)
ANSWERS = np.array([RNG.choice(3, p=row / row.sum()) for row in WARMER])
P = RNG.random(400)
POSITIVE = (RNG.random(400) < P**2).astype(np.int64)
SCORES = RNG.random((400, 2))
LABELS = (RNG.random((400, 2)) < SCORES * [1.0, 0.5]).astype(np.int64)


def multiclass(logits=LOGITS, labels=ANSWERS, **more):
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, np.asarray(labels), **more)


def binary():
    return Predictions(Task.BINARY, ScoreKind.SIGMOID, P, POSITIVE, class_names=("well", "ill"))


def multilabel():
    return Predictions(
        Task.MULTILABEL, ScoreKind.SIGMOID, SCORES, LABELS, class_names=("mass", "nodule")
    )


def top_label():
    return Predictions(
        Task.TOP_LABEL, ScoreKind.CONFIDENCE, P, POSITIVE, predicted=np.ones(400, dtype=np.int64)
    )


FILES = {
    "multiclass": multiclass,
    "binary": binary,
    "multilabel": multilabel,
    "top_label": top_label,
}


def codes(audit):
    return [notice.code for notice in audit.notices]


def equal_tables(first, second):
    for field in fields(BinTable):
        np.testing.assert_array_equal(getattr(first, field.name), getattr(second, field.name))


@pytest.mark.parametrize("task", FILES)
def test_audit_holds_every_metric_or_says_why_not(task):
    audit = suite.audit(FILES[task](), QUICK)
    assert (audit.task, audit.n) == (task, 400)
    assert set(audit.main.metrics) | set(audit.unavailable) == set(suite.DEFAULT)
    assert not set(audit.main.metrics) & set(audit.unavailable)
    for target in (audit.main, *audit.labels):
        for name, score in target.metrics.items():
            assert (score.metric, score.level) == (name, 0.95)
            assert score.n == 400 or name == "s99_accuracy"
            if score.value is None or name == "spiegelhalter_z":
                assert score.reason
                assert score.low is score.high is None
            elif score.low is None:
                assert name in {"mce", "ace", "brier_skill"}
                assert score.high is None
                assert score.reason
            else:
                assert score.low <= score.value <= score.high, name
                assert {"interval"} <= set(score.settings)
        assert target.direction.low <= target.direction.gap <= target.direction.high
        assert target.verdict.text.endswith(".")


@pytest.mark.parametrize("task", FILES)
def test_every_number_is_a_plain_python_number(task):
    audit = suite.audit(FILES[task](), QUICK)
    for target in (audit.main, *audit.labels):
        for score in target.metrics.values():
            assert {type(score.value), type(score.low), type(score.high)} <= {float, type(None)}
            assert {type(v) for v in score.settings.values()} <= {str, int, float, type(None)}
        for floor in target.noise_floor.values():
            assert type(floor.mean) is type(floor.q95) is float
        assert {type(v) for v in vars(target.direction).values()} == {float}


def test_values_are_those_of_the_registry():
    rows = multiclass()
    found = suite.audit(rows, QUICK).main.metrics
    ranked = SortedOutcomes.of(rows.outcomes(None))
    for name, score in found.items():
        metric = METRICS[name]
        assert score.value == metric.function(rows if metric.needs == "scores" else ranked), name


@pytest.mark.parametrize("rule", list(BinRule))
@pytest.mark.parametrize("task", ["multiclass", "binary", "top_label"])
def test_slider_and_audit_show_the_same_numbers(task, rule):
    rows = FILES[task]()
    audit = suite.audit(rows, AuditConfig(n_resamples=60, bins=rule)).main
    ready = suite.prepare(rows, rows.default_target, n_resamples=60, seed=0)
    drawn = suite.diagram(ready, n_bins=15, rule=rule, level=0.95)
    (metric,) = drawn.metrics
    assert metric == {"equal_width": "ece", "equal_mass": "ece_em"}[rule]
    assert drawn.metrics[metric] == audit.metrics[metric]
    assert drawn.noise_floor[metric] == audit.noise_floor[metric]
    assert (drawn.direction, drawn.verdict, drawn.name) == (
        audit.direction,
        audit.verdict,
        audit.name,
    )
    equal_tables(drawn.bins, audit.bins)


def test_slider_shows_the_numbers_of_each_label():
    rows = multilabel()
    for index, label in enumerate(suite.audit(rows, QUICK).labels):
        ready = suite.prepare(rows, index, n_resamples=60, seed=0)
        drawn = suite.diagram(ready, n_bins=15, level=0.95)
        assert drawn.metrics["ece"] == label.metrics["ece"]
        assert (drawn.name, drawn.target, drawn.verdict) == (label.name, index, label.verdict)
        equal_tables(drawn.bins, label.bins)


def test_leaving_metrics_out_changes_no_other():
    rows = multiclass()
    everything = suite.audit(rows, QUICK).main
    for chosen in (("nll", "brier"), ("smece", "ks"), ("classwise_ece",), ("aurc", "accuracy")):
        some = suite.audit(rows, AuditConfig(n_resamples=60, metrics=chosen)).main
        assert dict(some.metrics) == {m: everything.metrics[m] for m in METRICS if m in chosen}


def test_unknown_metric_is_refused_with_the_list():
    with pytest.raises(UsageError, match=r"'ecee' is unknown.*accuracy, error, nll"):
        suite.audit(multiclass(), AuditConfig(metrics=("ece", "ecee")))


def test_bins_of_the_diagram_recompute_the_ece():
    for rule, metric in ((BinRule.EQUAL_WIDTH, "ece"), (BinRule.EQUAL_MASS, "ece_em")):
        main = suite.audit(multiclass(), AuditConfig(n_resamples=60, bins=rule)).main
        bins = main.bins
        gaps = np.nan_to_num(np.abs(bins.confidence - bins.accuracy))
        ece = (gaps * bins.count).sum() / bins.count.sum()
        assert main.metrics[metric].value == pytest.approx(ece, rel=1e-12)
        np.testing.assert_array_equal(bins.low[1:], bins.high[:-1])
        assert (bins.low[0], bins.high[-1], bins.count.sum()) == (0.0, 1.0, 400)
        full = bins.count > 0
        assert np.isnan(bins.accuracy[~full]).all()
        assert np.isnan(bins.band_low[~full]).all()
        for low, middle, high in (
            (bins.ci_low, bins.accuracy, bins.ci_high),
            (bins.low, bins.confidence, bins.high),
            (bins.band_low, bins.band_low, bins.band_high),
        ):
            assert (low[full] <= middle[full]).all()
            assert (middle[full] <= high[full]).all()


@pytest.mark.parametrize(("level", "z"), [(0.8, 1.2816), (0.95, 1.96)])
def test_consistency_band_is_the_binomial_one(level, z):
    # 300 rows say 0.8: of a calibrated model 226.1 to 253.6 (normal) would be right
    rows = Predictions(
        Task.TOP_LABEL,
        ScoreKind.CONFIDENCE,
        np.full(300, 0.8),
        np.arange(300) % 2,
        predicted=np.ones(300, dtype=np.int64),
    )
    found = suite.audit(rows, AuditConfig(level=level, n_resamples=4_000, metrics=("ece",)))
    bins = found.main.bins
    at = int(np.argmax(bins.count))
    half = z * np.sqrt(0.8 * 0.2 / 300)
    assert bins.band_low[at] == pytest.approx(0.8 - half, abs=0.006)
    assert bins.band_high[at] == pytest.approx(0.8 + half, abs=0.006)


def test_binary_bins_speak_of_the_positive_class_and_accuracy_of_the_answers():
    main = suite.audit(binary(), QUICK).main
    assert (main.name, main.target) == ("ill", 1)
    assert main.direction.gap == pytest.approx(P.mean() - POSITIVE.mean(), rel=1e-12)
    assert main.metrics["accuracy"].value == ((P > 0.5) == POSITIVE).mean()
    assert main.metrics["ece"].settings["of"] == "positive_class"
    assert main.metrics["aurc"].settings["of"] == "top_label"
    assert main.metrics["brier"].value == pytest.approx(2 * np.mean((P - POSITIVE) ** 2))
    assert main.metrics["auroc"].value == pytest.approx(roc_auc_score(POSITIVE, P), abs=1e-12)


def test_multilabel_is_the_mean_of_its_labels():
    audit = suite.audit(multilabel(), QUICK)
    assert [label.name for label in audit.labels] == ["mass", "nodule"]
    for name, score in audit.main.metrics.items():
        parts = [label.metrics[name].value for label in audit.labels]
        assert score.value == pytest.approx(np.mean(parts)), name
        assert (score.settings["average"], score.settings["labels"]) == ("macro", 2)
    assert audit.main.bins.count.size == 0
    gaps = [label.direction.gap for label in audit.labels]
    assert audit.main.direction.gap == pytest.approx(np.mean(gaps))
    # the second label is present half as often as said
    assert audit.labels[1].verdict.code == "overestimates"
    assert "Of 2 labels: 1 overestimated" in audit.main.verdict.text
    np.testing.assert_allclose(
        [label.metrics["auroc"].value for label in audit.labels],
        roc_auc_score(LABELS, SCORES, average=None),
        atol=1e-12,
    )


def test_label_without_positives_leaves_its_ranks_undefined():
    labels = LABELS.copy()
    labels[:, 0] = 0
    rows = Predictions(
        Task.MULTILABEL, ScoreKind.SIGMOID, SCORES, labels, class_names=("mass", "nodule")
    )
    audit = suite.audit(rows, QUICK)
    assert audit.labels[0].metrics["auroc"].value is None
    assert "0 of 400 rows are positive" in audit.labels[0].metrics["auroc"].reason
    assert audit.main.metrics["auroc"].value == audit.labels[1].metrics["auroc"].value
    assert audit.main.metrics["auroc"].settings["labels"] == 1
    assert "CLASS_ABSENT" in codes(audit)


def test_infinite_nll_is_undefined_and_said():
    logits = LOGITS.copy()
    logits[0] = [-np.inf, 1.0, 2.0]
    labels = ANSWERS.copy()
    labels[0] = 0
    audit = suite.audit(multiclass(logits, labels), QUICK)
    nll = audit.main.metrics["nll"]
    assert (nll.value, nll.low, nll.high) == (None, None, None)
    assert nll.reason.startswith("NLL_INFINITE: 1 row")
    assert audit.main.metrics["brier"].value is not None
    assert {"NLL_INFINITE", "ZERO_PROBABILITY"} <= set(codes(audit))
    clipped = suite.audit(multiclass(logits, labels), AuditConfig(n_resamples=60, nll_clip=1e-6))
    assert clipped.main.metrics["nll"].settings["clip"] == 1e-6
    assert clipped.main.metrics["nll"].value < np.inf
    assert "NLL_INFINITE" not in codes(clipped)


def test_sound_data_has_no_notices():
    assert codes(suite.audit(multiclass(), QUICK)) == []


def test_few_rows_are_said_to_be_few():
    def at(n):
        return codes(suite.audit(multiclass(LOGITS[:n], ANSWERS[:n]), QUICK))

    assert "SMALL_N" in at(29)
    assert "SMALL_N" not in at(30)


def test_a_model_that_never_changes_its_answer_is_called_useless():
    same = np.tile([[2.0, 1.0, 0.0]], (60, 1))
    found = suite.audit(multiclass(same, [0] * 40 + [1] * 20), QUICK)
    (constant,) = [notice for notice in found.notices if notice.code == "CONSTANT"]
    assert "useless" in constant.text
    assert constant.code in CAVEATS  # the board's one page has it, too


def test_tied_answers_are_counted():
    logits = LOGITS.copy()
    logits[:7] = 1.0
    (ties,) = [n for n in suite.audit(multiclass(logits), QUICK).notices if n.code == "TIES"]
    assert ties.text.startswith("7 rows share their largest score")
    logits[1:7] = LOGITS[1:7]
    (ties,) = [n for n in suite.audit(multiclass(logits), QUICK).notices if n.code == "TIES"]
    assert ties.text.startswith("1 row shares its largest score")


def test_absent_classes_are_named():
    rows = multiclass(
        np.column_stack([LOGITS, LOGITS[:, :1] - 9]), class_names=("cat", "dog", "owl", "yak")
    )
    (absent,) = [n for n in suite.audit(rows, QUICK).notices if n.code == "CLASS_ABSENT"]
    assert absent.text == "1 of 4 classes has no row in this file: yak."


def test_accuracy_at_chance_asks_for_the_class_order():
    mixed = suite.audit(multiclass(labels=(LOGITS.argmax(1) + 1) % 3), QUICK)
    (notice,) = [n for n in mixed.notices if n.code == "BELOW_CHANCE"]
    assert "class order" in notice.text
    assert "0.0 %" in notice.text
    at_chance = suite.audit(multiclass(np.tile([[2.0, 1.0, 0.0]], (60, 1)), [0, 1, 2] * 20), QUICK)
    assert "BELOW_CHANCE" in codes(at_chance)


def table(*rows):
    """Bins from (count, confidence, accuracy, band_low, band_high)."""
    count, confidence, accuracy, low, high = map(np.array, zip(*rows, strict=True))
    edges = np.linspace(0, 1, len(rows) + 1)
    interval = accuracy - 0.01, accuracy + 0.01
    return BinTable(edges[:-1], edges[1:], count, confidence, accuracy, *interval, low, high)


OVER, UNDER = (79, 0.9, 0.8, 0.85, 0.95), (21, 0.5, 0.6, 0.45, 0.55)
FLOOR = Floor(0.01, 0.02)


def judged(
    gap,
    bins,
    *p_values,
    ece=0.05,
    power=0.0,
    steepness=0.0,
    wrong=0.01,
    level=0.95,
    event=None,
    **more,
):
    """The verdict for adjusted p-values of gap, slope and ECE, and one for every bin."""
    each = np.full(bins.count.size, wrong)
    test = NullTest(min(p_values), *p_values, steepness, power, each, **more)
    error = Score(metric="ece", value=ece, low=None, high=None, level=level, n=100), FLOOR
    return verdict(gap, bins, error, test, mixed_ends(bins, bins, each), event=event)


def test_verdict_follows_the_test_of_the_gap():
    apart = Gap(0.1, 0.05, 0.15)
    assert judged(apart, table(OVER), 0.01, 0.5, 0.5).code == "over_confident"
    assert judged(Gap(-0.1, -0.15, -0.05), table(UNDER), 0.05, 0.5, 0.5).code == "under_confident"
    assert judged(apart, table(OVER), 0.051, 0.5, 0.5).code == "could_be_chance"
    assert judged(apart, table(OVER), 0.03, 0.5, 0.5).p_value == 0.03
    wide = judged(Gap(0.1, -0.01, 0.2), table(OVER), 0.01, 0.5, 0.5, level=0.999).text
    assert "(-1.0 to 20.0), beyond 0 at 95 %." in wide


def slope(value, low, high):
    return Score(metric="slope", value=value, low=low, high=high, level=0.95, n=100)


def test_no_direction_is_named_where_the_interval_of_the_mean_holds_0():
    gap, shown = Gap(0.01, -0.002, 0.02), {"sided": False, "event": "ill"}
    steep = judged(gap, table(OVER), 0.01, 0.2, 0.5, fit=slope(0.75, 0.6, 0.9), **shown)
    assert steep.code == "too_extreme"
    assert [one.statistic for one in steep.evidence] == ["gap", "slope"]
    assert (steep.evidence[1].value, steep.evidence[1].high) == (0.75, 0.9)
    fair = judged(gap, table(OVER), 0.01, 0.2, 0.5, fit=slope(0.95, 0.8, 1.1), **shown)
    assert (fair.code, fair.reading) == ("mixed", "unsettled")
    assert fair.text.startswith(
        "Mixed for “ill”: the signed gap is 1.0 points (-0.2 to 2.0); the model is off by "
        "more than a calibrated model shows, though the intervals of gap and slope do not say "
        "which way."
    )
    alone = judged(gap, table(OVER), 0.4, 0.01, 0.5, fit=slope(0.95, 0.8, 1.1), **shown)
    assert (alone.code, alone.reading) == ("mixed", "unsettled")
    assert [one.statistic for one in alone.evidence] == ["slope"]  # what the test found
    waves = judged(gap, table(OVER), 0.01, 0.2, 0.02, fit=slope(0.95, 0.8, 1.1), **shown)
    assert (waves.code, waves.reading) == ("mixed", "uneven")


def test_a_slope_is_off_only_where_the_fitted_one_is():
    gap = Gap(0.12, 0.11, 0.13)
    shifted = judged(gap, table(OVER), 0.01, 0.01, 0.01, event="ill", fit=slope(1.01, 0.92, 1.1))
    assert (shifted.code, shifted.reading) == ("overestimates", None)
    assert "slope" not in {one.statistic for one in shifted.evidence}
    flat = judged(gap, table(OVER), 0.01, 0.01, 0.01, event="ill", fit=slope(1.4, 1.2, 1.6))
    assert (flat.code, flat.reading) == ("overestimates", "too_moderate")


def test_outcomes_that_follow_the_claims_without_exception_make_them_too_moderate():
    """The fitted slope has no value then; the score statistic has a sign."""
    gap, fit = Gap(0.005, -0.025, 0.035), slope(None, None, None)
    for steepness, code in ((-2.0, "too_moderate"), (2.0, "too_extreme")):
        shown = judged(gap, table(OVER), 0.6, 0.01, 0.01, event="ill", fit=fit, steepness=steepness)
        assert shown.code == code


def test_a_power_is_never_rounded_up_nor_a_hundredth_lost():
    """Nor is it ever all of 100: what is simulated cannot show that."""
    for often, times in ((0.29, 29), (0.58, 58), (0.999, 99), (1.0, 99)):
        assert f"at least {times} times in 100" in shown_words(often, None)
        assert f"about {times} times in 100" in shown_words(often, None, grouped=True)
    assert shown_words(0.004, None) == "odds off by a fifth would be found less than once in 100"
    assert shown_words(None, None) == ""


@pytest.mark.parametrize(
    ("risks", "words"),
    [
        # odds of the risk, times 1.2 and over 1.2
        ([0.1], "a true average of 8.5 or 12 % in place of 10 %"),
        ([0.5], "a true average of 45 or 55 % in place of 50 %"),
        ([0.0005], "a true average of 0.04 or 0.06 % in place of 0.05 %"),
        ([2e-6], "a true average of 0.00017 or 0.00024 % in place of 0.00020 %"),
        ([0.99], "a true average of 98.8 or 99.2 % in place of 99.0 %"),
        ([0.02, 0.98], "odds off by a fifth"),  # averages of 49.6 and 50.4 % for 50 %
        ([1e-6] * 999 + [0.98], "odds off by a fifth"),
        ([0.0, 1.0], "odds off by a fifth"),
        ([0.0], "odds off by a fifth"),
        ([0.1, 0.9], "a true average of 48 or 52 % in place of 50 %"),
    ],
)
def test_averages_that_would_have_shown_are_told_apart_or_said_in_odds(risks, words):
    rows = np.array(risks)
    bins = BinTable(rows, rows, np.ones(rows.size, int), *[rows] * 6)
    assert would_show(0.9, None, bins) == f"{words} would have shown"


def test_a_shift_of_the_log_odds_is_not_called_too_extreme():
    rng = np.random.default_rng(6)
    logits = rng.normal(-2.2, 1.3, 6_000)
    labels = (rng.random(logits.size) < 1 / (1 + np.exp(-logits))).astype(np.int64)
    rows = Predictions(Task.BINARY, ScoreKind.LOGITS, logits + 1.0, labels, ("well", "ill"))
    audit = suite.audit(rows, replace(QUICK, metrics=("slope",)))
    fitted = audit.main.metrics["slope"]
    assert fitted.low < 1.0 < fitted.high
    assert (audit.main.verdict.code, audit.main.verdict.reading) == ("overestimates", None)
    assert "extreme" not in audit.main.verdict.text
    # of the answers: "ill" is said too surely, "well" not surely enough
    answers = audit.answers.verdict
    assert (answers.code, answers.reading) == ("mixed", "by_class")
    assert [cell.name for cell in answers.classes] == ["ill", "well"]
    assert answers.text.startswith("Mixed by class: answers “ill” are over-confident by ")
    assert "“well” under-confident by " in answers.text


def test_rows_at_one_half_that_the_classes_leave_out_are_said_to_be():
    p = np.repeat([0.3, 0.5, 0.7], [600, 50, 600])
    labels = np.concatenate([np.arange(600) < 60, np.arange(50) < 25, np.arange(600) < 300]) * 1
    for kept, words in (
        (p > 0.0, " (rows at 50 % left out)"),
        (p != 0.5, " points, “1” over-confident by 20.0"),
    ):
        rows = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, p[kept], labels[kept])
        answers = suite.audit(rows, replace(QUICK, metrics=("ece",))).answers.verdict
        assert answers.reading == "by_class"
        assert classes_words(answers.classes).endswith(words)


def test_a_class_that_the_mean_does_not_tell_of_is_named_in_the_verdict():
    rng = np.random.default_rng(3)
    z = rng.normal(size=(6_000, 4)) * 2.5
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    labels = (p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1)
    names = ("cat", "dog", "cow", "sheep")
    for raised, code in ((0.0, "could_be_chance"), (1.5, "mixed")):
        moved = z.copy()
        moved[:, 3] += raised
        rows = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, moved, labels, names)
        verdict = suite.audit(rows, replace(QUICK, metrics=("ece",))).main.verdict
        assert (verdict.code, bool(verdict.classes)) == (code, raised > 0.0)
    furthest = verdict.classes[0]
    own = moved.argmax(axis=1) == 3
    stated = (np.exp(moved) / np.exp(moved).sum(axis=1, keepdims=True)).max(axis=1)[own].mean()
    assert (furthest.name, furthest.n) == ("sheep", own.sum())
    assert_allclose(furthest.gap, stated - (labels[own] == 3).mean())
    assert verdict.text.startswith("Mixed by class: answers “sheep” are over-confident by ")


def test_a_class_is_unlike_the_mean_only_beyond_chance():
    # 4 classes of 400 answers that say .8: right 280, 300, 300 and 260 times, 285 on average
    labels = np.repeat(np.arange(4), 400)
    right = np.concatenate([np.arange(400) < hits for hits in (280, 300, 300, 260)])
    p = np.full((1_600, 4), 0.2 / 3)
    p[np.arange(1_600), labels] = 0.8
    rows = Predictions(
        Task.MULTICLASS, ScoreKind.PROBABILITIES, p, np.where(right, labels, (labels + 1) % 4)
    )
    sums = class_sums(rows)
    (furthest,), rarer = sums.furthest()
    assert (furthest.name, rarer) == ("3", 0.0)
    assert_allclose(furthest.gap, 0.15)  # .8 said, 260 of 400 right
    # its error is sqrt(.65 * .35 / 400) = .0238, and 2.50 of them are .0596
    assert not sums.unlike(furthest, 0.0875)  # not twice as far off
    assert sums.unlike(furthest, 0.07)
    assert not sums.unlike(replace(furthest, true=0.76), 0.019)  # .021 is within 2.5 of .0214
    assert sums.unlike(furthest, -0.07)  # which its mean does not tell of, however near


@pytest.mark.parametrize("last", [15_500, 15_700])
def test_the_class_that_is_furthest_off_is_named_under_a_small_error(last):
    # 4 classes of 20,000 answers that say .8: off by 1.5 points, and one by 2.5; or all alike
    labels = np.repeat(np.arange(4), 20_000)
    right = np.concatenate([np.arange(20_000) < hits for hits in (15_700, 15_700, 15_700, last)])
    p = np.full((80_000, 4), 0.2 / 3)
    p[np.arange(80_000), labels] = 0.8
    truth = np.where(right, labels, (labels + 1 + np.arange(80_000) % 3) % 4)
    rows = Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, truth)
    verdict = suite.audit(rows, replace(QUICK, metrics=("ece",))).main.verdict
    named = last < 15_700
    assert (verdict.code, [cell.name for cell in verdict.classes]) == (
        "off_but_small",
        ["3"] * named,
    )
    words = " By class, furthest off: answers “3” are over-confident by 2.5 points. "
    assert (words in verdict.text) == named


def test_every_class_that_is_far_off_beside_the_mean_is_unlike_it():
    # 10 classes of 400 answers that say .8: two far below, one less than half as far as the first
    hits = (325, 325, 325, 200, 325, 325, 325, 220, 325, 270)
    labels = np.repeat(np.arange(10), 400)
    right = np.concatenate([np.arange(400) < k for k in hits])
    p = np.full((4_000, 10), 0.2 / 9)
    p[np.arange(4_000), labels] = 0.8
    rows = Predictions(
        Task.MULTICLASS, ScoreKind.PROBABILITIES, p, np.where(right, labels, (labels + 1) % 10)
    )
    sums = class_sums(rows)
    assert [cell.name for cell in sums.all_unlike(0.04)] == ["3", "7"]
    assert_allclose([cell.gap for cell in sums.all_unlike(0.04)], [0.3, 0.25])
    verdict = suite.audit(rows, replace(QUICK, metrics=("ece",))).main.verdict
    assert [cell.name for cell in verdict.classes] == ["3", "7"]
    assert "“3” are over-confident by 30.0 points, “7” over-confident by 25.0" in verdict.text


@pytest.mark.parametrize(
    ("right", "line"),
    [
        (
            (30, 80, 80, 80),
            "There, answers “0” (100 rows) say 80 % and are right 30 times in 100; all others say "
            "80 % and are right 80.",
        ),
        ((50, 50, 50, 50), ""),  # every class
        ((30, 60, 80, 80), ""),  # two of them: the others are not calibrated
        ((71, 80, 80, 80), ""),  # 9 of 100, which among four classes is chance
    ],
)
def test_a_bin_that_one_class_puts_off_speaks_of_that_class(right, line):
    # 100 answers of each of four classes at .8, and as many at .5 of which half are right
    answered = np.tile(np.repeat(np.arange(4), 100), 2)
    hits = np.concatenate([np.arange(100) < k for k in (*right, 50, 50, 50, 50)])
    p = np.full((800, 4), 0.2 / 3)
    p[400:] = 0.5 / 3
    p[np.arange(800), answered] = np.repeat([0.8, 0.5], 400)
    labels = np.where(hits, answered, (answered + 1) % 4)
    rows = Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, labels)
    prepared = suite.prepare(rows, None, n_resamples=60, seed=0)
    own = prepared.answers.costly(0.75, 0.85)
    assert ("" if own is None else costly_class_sentence(own)) == line
    target = suite.audit(rows, replace(QUICK, metrics=("ece",))).main
    if line:
        assert target.verdict.text.endswith(line)
        assert verdict_sentence(target).second.endswith(line)


@pytest.mark.parametrize(
    ("cells", "line"),  # answers of a class, what they say, and how many are right
    [
        # the class that is off is right more often than the others, of which less is said
        (
            ((400, 0.97, 344), (1_200, 0.82, 984)),
            "There, answers “0” (400 rows) say 97 % and are right 86 times in 100; all others say "
            "82 % and are right 82.",
        ),
        (((1_000, 0.9, 800), (2, 0.9, 2)), ""),  # hardly any others
        (((1_000, 0.9, 850), (100, 0.9, 85)), ""),  # off alike
        (((1_000, 0.9, 850), (100, 0.9, 90)), ""),  # by 5 points: z = 1.6, and 2.2 would do
        (
            ((1_000, 0.9, 800), (400, 0.9, 360)),
            "“0” (1,000 rows) say 90 % and are right 80 times",
        ),  # z = 5
    ],
)
def test_one_class_alone_is_off_only_where_others_differ_from_it(cells, line):
    answered = np.repeat([0, 1], [n for n, _, _ in cells])
    said = np.concatenate([np.full(n, stated) for n, stated, _ in cells])
    right = np.concatenate([np.arange(n) < hits for n, _, hits in cells])
    own = AnswersOfRows(Outcomes(said, right), answered, ("0", "1")).costly(0.8, 1.0)
    assert (own is None) == (not line)
    if own is not None:
        assert line in costly_class_sentence(own)


def test_event_and_answers_are_prepared_for_each_other_without_the_scores_kept():
    scores = np.random.default_rng(0).uniform(0.6, 0.9, 300)
    rows = Predictions(Task.BINARY, ScoreKind.SIGMOID, scores, (scores > 0.7).astype(np.int64))
    both = [suite.prepare(rows, target, n_resamples=60, seed=0) for target in (None, 1)]
    known = weakref.ref(rows)
    del rows
    gc.collect()
    assert known() is None
    for own, other in zip(both, both[::-1], strict=True):
        assert own.mirror.target == other.target
        assert_allclose(own.mirror.ranked.confidence, other.ranked.confidence)
        assert_allclose(own.mirror.resamples.floor_hits, other.resamples.floor_hits)


def test_verdict_is_mixed_where_bins_of_both_sides_are_decided_however_few_their_rows():
    gap, detected = Gap(0.1, 0.05, 0.15), (0.01, 0.5, 0.01)
    bins = table((9999, *OVER[1:]), (1, *UNDER[1:]))
    mixed = judged(gap, bins, *detected)
    assert (mixed.code, mixed.reading) == ("mixed", "opposite")
    assert judged(gap, bins, *detected, wrong=0.06).code == "over_confident"
    wide = replace(bins, ci_high=np.array([0.89, 0.91]), ci_low=np.array([0.7, 0.49]))
    each = np.array([0.01, 0.01])
    assert mixed_ends(wide, wide, each) == ()  # the second one's interval holds what it says
    low, high = mixed_ends(bins, bins, each)
    assert (low.over, low.bins, low.low, low.high) == (True, 1, 0.0, 0.5)
    assert (high.over, high.bins, high.low, high.high) == (False, 1, 0.5, 1.0)


def test_an_end_is_the_mean_of_its_bins_by_rows():
    bins = table((30, 0.5, 0.4, 0, 1), (10, 0.7, 0.5, 0, 1), (60, 0.9, 0.95, 0, 1))
    low, high = mixed_ends(bins, bins, np.full(3, 0.01))
    assert (low.bins, high.bins) == (2, 1)
    assert_allclose(astuple(low.gap), (0.125, 0.115, 0.135))  # (30 * 0.1 + 10 * 0.2) / 40
    assert_allclose(astuple(high.gap), (-0.05, -0.06, -0.04))
    words = judged(Gap(-0.1, -0.2, 0.0), bins, 0.01, 0.5, 0.5).text
    assert words.startswith(
        "Mixed: over-confident by 12.5 points (at least 11.5) in 2 bins from 0 to 67 %, "
        "under-confident by 5.0 points (at least 4.0) in 1 bin from 67 to 100 %; bounds hold "
        "jointly. On average"
    )


def test_an_end_of_bins_that_do_not_touch_is_named_by_its_parts():
    over, under = (50, 0.5, 0.4, 0, 1), (50, 0.5, 0.6, 0, 1)
    bins = table(over, over, under, (0, np.nan, np.nan, 0, 1), under, over, (50, 0.5, 0.5, 0, 1))
    high, low = mixed_ends(bins, bins, np.array([0.01, 0.01, 0.01, np.nan, 0.01, 0.01, 0.6]))
    assert_allclose(high.spans, [(0, 2 / 7), (5 / 7, 6 / 7)])
    assert_allclose(low.spans, [(2 / 7, 5 / 7)])  # no rows lie between
    assert places(high) == "0 to 29 and 71 to 86"
    assert places(high, joint=" or ") == "0 to 29 or 71 to 86"


@pytest.mark.nightly
def test_a_model_that_is_off_on_one_side_or_nowhere_is_called_mixed_in_at_most_5_of_100_sets():
    rng = np.random.default_rng(5)
    claims = rng.uniform(0.5, 1.0, 600) ** 0.3
    for error in (0.0, 0.06):
        ends = 0
        for _ in range(200):
            right = rng.uniform(size=claims.size) < claims - error
            rows = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, claims, right * 1)
            prepared = suite.prepare(rows, 1, n_resamples=200, seed=0)
            ends += bool(suite.diagram(prepared, n_bins=15, level=0.95).verdict.ends)
        assert ends <= 10 + 2 * 3.1  # two standard errors above 5 %


def test_the_file_whose_mean_gap_hides_five_bins_is_mixed_and_says_both_ends():
    rng = np.random.default_rng(0)
    claims = np.concatenate([rng.uniform(0.53, 0.87, 600), rng.uniform(0.93, 1.0, 9_400)])
    right = rng.uniform(size=claims.size) < np.where(claims < 0.9, claims - 0.2, claims + 0.02)
    rows = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, claims, right * 1)
    # of the answers: every claim is above one half, so the answer is always class 1
    answers = suite.prepare(rows, None, n_resamples=200, seed=0)
    opened = suite.diagram(answers, n_bins=15, level=0.95)
    assert opened.direction.high < 0  # under-confident on average
    low, high = opened.verdict.ends
    assert opened.verdict.code == "mixed"
    assert (low.over, low.bins) == (True, 5)
    assert_allclose((low.low, low.high), (8 / 15, 13 / 15))
    assert (high.over, high.bins) == (False, 1)


def test_a_risk_whose_bins_change_sides_more_than_once_is_mixed_and_no_slope():
    # both answers too sure where they are sure and not sure enough elsewhere: four changes in all
    rng = np.random.default_rng(21)
    sure = rng.uniform(0.5, 1.0, 6_000)
    right = rng.random(6_000) < np.where(sure > 0.75, sure - 0.08, np.minimum(sure + 0.08, 1.0))
    present = rng.random(6_000) < 0.5
    claims = np.where(present, sure, 1.0 - sure)
    for slope, code in ((None, "mixed"), (0.6, "too_extreme")):
        labels = np.where(right, present, ~present)
        if slope:
            odds = slope * np.log(claims / (1.0 - claims))
            labels = rng.random(6_000) < 1.0 / (1.0 + np.exp(-odds))
        rows = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, claims, labels * 1)
        verdict = suite.audit(rows, replace(QUICK, metrics=("ece",))).main.verdict
        assert verdict.code == code
        if slope is None:
            assert verdict.text.startswith("Mixed for “1”: underestimates by ")
            assert [len(end.spans) for end in verdict.ends] == [2, 2]


def test_with_equal_mass_the_sentence_quotes_the_surest_bin():
    bins = table((100, 0.5, 0.5, 0, 1), (101, 0.7, 0.7, 0, 1), (99, 0.9, 0.9, 0, 1))
    assert bin_sentence(bins, "it is right").startswith("Where it says 90 % (99 rows)")
    fuller = table((100, 0.5, 0.5, 0, 1), (400, 0.7, 0.7, 0, 1), (99, 0.9, 0.9, 0, 1))
    assert bin_sentence(fuller, "it is right").startswith("Where it says 70 % (400 rows)")


def test_a_mixed_verdict_says_what_is_off():
    gap, both = Gap(0.001, -0.01, 0.012), table(OVER, UNDER)
    extreme = judged(gap, both, 0.6, 0.04, 0.3, steepness=2.0)
    assert (extreme.code, extreme.reading) == ("mixed", "too_extreme")
    assert "the signed gap is 0.1 points (-1.0 to 1.2)" in extreme.text
    assert "but its claims rise faster than the share that comes true." in extreme.text
    even = judged(gap, table(OVER), 0.6, 0.04, 0.3, steepness=2.0)
    assert even.text.startswith("Its claims rise faster than the share that comes true. On average")
    moderate = judged(gap, both, 0.6, 0.04, 0.3, steepness=-2.0)
    assert moderate.reading == "too_moderate"
    assert "but its claims rise more slowly than the share that comes true." in moderate.text
    shown = {"values": {"cumulative": 0.04}, "chance": {"cumulative": 0.031}}
    cell = ClassCell(part="stated", name="", bounds=(0.1, 0.2), n=90, stated=0.1, true=0.3)
    for cumulative, reading in ((0.04, "uneven"), (0.3, "by_class")):
        off = {"cumulative": cumulative, "classes": 0.01, "deviant": cell}
        test = NullTest(0.01, 0.6, 0.3, 0.3, 0.0, np.nan, np.ones(1), **off, **shown)
        error = Score(metric="ece", value=0.05, low=None, high=None, level=0.95, n=100), FLOOR
        classes = verdict(gap, table(OVER), error, test)
        assert classes.reading == reading
        assert ("range over 4.0 points" in classes.text) == (reading == "uneven")
    apart = judged(Gap(0.1, 0.01, 0.19), table(OVER), 0.6, 0.3, 0.04)
    assert apart.text.startswith("Off: the signed gap is 10.0 points (1.0 to 19.0), and ECE is ")
    cancel = judged(gap, both, 0.6, 0.3, 0.04)
    assert cancel.reading == "cancel"
    assert (
        "so errors of both signs cancel, but ECE is 5.0 points "
        "where chance alone explains up to 2.0." in cancel.text
    )
    for bins, wrong in ((both, 0.06), (table(OVER, OVER), 0.01)):
        uneven = judged(gap, bins, 0.6, 0.3, 0.04, wrong=wrong)
        assert (uneven.code, uneven.reading) == ("mixed", "uneven")
        assert "cancel" not in uneven.text


def test_sound_needs_that_a_material_miscalibration_would_have_shown():
    gap = Gap(0.001, -0.01, 0.012)
    kept = {"power_odds": 0.99, "power_spread": 0.94}
    sound = judged(gap, table(OVER), 0.6, 0.3, 0.4, ece=0.02, power=0.95, **kept)
    assert sound.code == "sound"
    kept["power_spread"] = None  # claims so alike that it would be immaterial
    narrow = judged(gap, table(OVER), 0.6, 0.3, 0.4, ece=0.02, power=0.95, **kept)
    assert "; odds off by a fifth would have shown. Tested:" in narrow.text
    kept["power_spread"] = 0.94
    assert (
        "within what chance explains (up to 2.0); odds off by a fifth, or logits that "
        "spread 15 % too far, would have shown." in sound.text
    )
    assert "Tested: mean gap, slope, ECE and cumulative differences." in sound.text
    assert not sound.each_class  # no class was tested here
    between = judged(gap, table(OVER), 0.6, 0.3, 0.4, ece=0.02, power=0.94, **kept)
    assert between.code == "could_be_chance"
    assert between.text.startswith("No error beyond chance: ")
    assert (
        "; odds off by a fifth would be found at least 99 times in 100, logits that "
        "spread 15 % too far at least 94 times." in between.text
    )
    kept = {"power_odds": 0.96, "power_spread": 0.3}  # many rows for the one, few for the other
    unlike = judged(gap, table(OVER), 0.6, 0.3, 0.4, ece=0.02, power=0.3, **kept)
    assert unlike.text.startswith("No error beyond chance: ")
    assert not unlike.too_few
    kept = {"power_odds": 0.49, "power_spread": 0.3}
    chance = judged(gap, table(OVER), 0.6, 0.3, 0.4, ece=0.02, power=0.3, **kept)
    assert chance.code == "could_be_chance"
    assert chance.too_few
    assert (
        "too few rows to tell: odds off by a fifth would be found at least 49 times" in chance.text
    )


def test_a_verdict_within_chance_explains_what_alone_looks_beyond_it():
    gap = Gap(0.011, 0.001, 0.02)
    text = judged(gap, table(OVER), 0.08, 0.3, 0.4, ece=0.03, power=1.0).text
    assert "ECE of 3.0 points is beyond 2.0, which 5 of 100 calibrated sets exceed;" in text
    alone = "The gap’s own interval excludes 0; allowing for all tests, that could be chance."
    assert alone in text
    text = judged(Gap(0.011, -0.001, 0.02), table(OVER), 0.08, 0.3, 0.4, ece=0.01).text
    assert alone not in text


def test_the_example_is_the_bin_that_costs_most_on_the_side_of_the_verdict():
    exact, low = (500, 0.55, 0.55, 0, 1), (200, 0.7, 0.6, 0, 1)
    other = (400, 0.9, 0.99, 0, 1)
    bins = table(exact, low, (40, 0.8, 0.6, 0, 1), other)
    every = np.full(4, 0.01)
    # 500 x 0, 200 x .1 = 20, 40 x .2 = 8, and 400 x .09 = 36 on the other side
    assert costly_bin(bins, every, over=True) == 1
    assert costly_bin(bins, every, over=False) == 3
    assert costly_bin(bins, every) == 3
    assert costly_bin(bins, np.full(4, 0.2)) is None
    wide = replace(bins, ci_high=np.array([0.6, 0.71, 0.79, 1.0]))
    assert costly_bin(wide, every, over=True) == 2  # the interval of the first holds its claim
    assert costly_bin(replace(bins, ci_high=np.ones(4)), every, over=True) == 1


def test_verdict_sentence():
    bins = table((100, 0.5, 0.5, 0.4, 0.6), (7412, 0.992, 0.961, 0.98, 1.0))
    found = judged(Gap(0.043, 0.038, 0.049), bins, 0.01, 0.01, 0.01)
    assert found.text == (
        "Over-confident by 4.3 points (3.8 to 4.9). Where it says 99 % (7,412 rows), "
        "it is right 96 times in 100 (95.1 to 97.1)."
    )
    found = judged(Gap(-0.043, -0.049, -0.038), table(UNDER), 0.01, 0.01, 0.01)
    assert found.text == (
        "Under-confident by 4.3 points (3.8 to 4.9). Where it says 50 % (21 rows), "
        "it is right 60 times in 100 (59.0 to 61.0)."
    )


def test_numbers_in_words_never_round_to_certainty():
    assert [points(v) for v in (0.043, 0.0004, 0.0, -0.0004)] == ["4.3", "0.04", "0.0", "-0.04"]
    assert [share(v) for v in (0.99, 0.998, 0.99999, 1.0, 0.0312, 0.003, 0.0)] == [
        "99",
        "99.8",
        "almost 100",
        "100",
        "3.1",
        "0.3",
        "0",
    ]
    assert "(1 row)" in bin_sentence(table((1, 0.5, 1.0, 0.0, 1.0)), "it is right")


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_rows_are_audited(n):
    audit = suite.audit(multiclass(LOGITS[:n], ANSWERS[:n]), QUICK)
    assert "SMALL_N" in codes(audit)
    assert audit.main.bins.count.sum() == n


@pytest.mark.nightly
def test_chest_aurocs_agree_with_scikit_learn():
    folder = SHARED / "data" / "predictions"
    scores = folder / "chexnet_reproduction_preds.csv"
    labels = folder / "chexnet_reproduction_labels.txt"
    if not scores.exists():
        pytest.skip("needs the chest predictions of the shared folder (CANDOR_SHARED)")
    with scores.open() as lines:
        stated = {row[0]: row[1:] for row in csv.reader(lines)}
    truth = [line.split() for line in labels.read_text().splitlines()]
    names = [name for name, *_ in truth if name in stated]
    assert len(names) > 20_000
    p = np.array([stated[name] for name in names], dtype=np.float64)
    y = np.array([row[1:] for row in truth if row[0] in stated], dtype=np.int64)
    rows = Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, p, y)
    for index in range(14):
        ranked = SortedOutcomes.of(rows.outcomes(index))
        expected = roc_auc_score(y[:, index], p[:, index])
        assert METRICS["auroc"].function(ranked) == pytest.approx(expected, abs=1e-12)


def rescaled(threshold=0.024, n=40_000):
    """A rare finding, perfectly calibrated, and its score with the operating point at one half."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.35, 10.5, size=n)  # 3.2 in 100 have it
    present = (rng.random(n) < p).astype(int)
    mapped = np.where(
        p < threshold, p / (2 * threshold), 0.5 + (p - threshold) / (2 * (1 - threshold))
    )
    return p, mapped, present


def test_score_rescaled_to_its_operating_point_is_pointed_out():
    p, mapped, present = rescaled()

    def told(scores, labels=present, task=Task.BINARY, kind=ScoreKind.PROBABILITIES):
        return [n.text for n in audit_of(scores, labels, task, kind) if n.code == "NOT_PROBABILITY"]

    def audit_of(scores, labels, task, kind):
        return notices(Predictions(task, kind, scores, labels))

    (text,) = told(mapped)
    assert f"the score says {100 * mapped.mean():.1f} % on average" in text
    assert f"it is there in {100 * present.mean():.1f} %" in text
    assert told(p) == []
    both = np.column_stack([p, mapped])
    labels = np.column_stack([present, present])
    (text,) = told(both, labels, Task.MULTILABEL, ScoreKind.SIGMOID)
    assert text.startswith("1: ")
    shuffled = np.random.default_rng(1).permutation(mapped)  # says too much, but ranks nothing
    assert told(shuffled) == []
    assert told(1.0 - mapped, 1 - present) == []  # says too little


def test_log_loss_of_many_labels_is_undefined_where_one_is_infinite():
    labels = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    p = np.array([[0.9, 0.2], [0.2, 0.7], [0.8, 0.6], [0.1, 0.3]])
    whole = suite.audit(Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, p, labels)).main
    each = -np.log(np.where(labels == 1, p, 1 - p)).mean(axis=0)
    assert whole.metrics["nll"].value == pytest.approx(each.mean(), abs=1e-12)
    p[0, 0] = 0.0
    found = suite.audit(Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, p, labels)).main
    assert found.metrics["nll"].value is None
    assert found.metrics["nll"].reason == "NLL_INFINITE: infinite for 1 of 2 labels"
    assert found.metrics["brier"].value is not None


CLINICAL = ("citl", "slope", "intercept", "ici", "e50", "e90", "emax", "spiegelhalter_z")
CLINICAL += ("brier_skill",)
NO_MEAN = {"citl", "slope", "intercept", "spiegelhalter_z"}


def test_each_label_has_its_clinical_numbers_and_no_mean_hides_their_signs():
    audit = suite.audit(multilabel(), QUICK)
    assert set(CLINICAL) & set(audit.unavailable) == NO_MEAN
    assert not NO_MEAN & set(audit.main.metrics)
    for index, label in enumerate(audit.labels):
        assert set(CLINICAL) <= set(label.metrics)
        own = clinical.recalibration(SCORES[:, index], LABELS[:, index] == 1)
        for name, score in (
            ("citl", own.in_the_large),
            ("slope", own.slope),
            ("intercept", own.intercept),
        ):
            found = label.metrics[name]
            assert (found.value, found.low, found.high) == (score.value, score.low, score.high)
            assert found.settings["of"] == "label"
    mean = np.mean([label.metrics["ici"].value for label in audit.labels])
    assert audit.main.metrics["ici"].value == pytest.approx(mean)
    assert audit.labels[1].metrics["ici"].value > audit.labels[1].noise_floor["ici"].q95


def test_clinical_numbers_are_asked_for_like_others_and_change_no_other():
    everything = suite.audit(binary(), QUICK).main
    for chosen in (("slope",), ("ici", "emax"), ("ece", "citl", "brier_skill")):
        some = suite.audit(binary(), AuditConfig(n_resamples=60, metrics=chosen)).main
        assert dict(some.metrics) == {m: everything.metrics[m] for m in METRICS if m in chosen}


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("present", [0, 1])
def test_rows_of_one_outcome_leave_reasons_not_errors(n, present):
    p, y = np.array([0.0, 0.7])[:n], np.full(n, present)
    two = Predictions(Task.BINARY, ScoreKind.SIGMOID, p, y, class_names=("well", "ill"))
    many = Predictions(
        Task.MULTILABEL, ScoreKind.SIGMOID, p[:, None], y[:, None], class_names=("ill",)
    )
    audit = suite.audit(many, QUICK)
    for target in (suite.audit(two, QUICK).main, *audit.labels):
        for name in ("citl", "slope", "intercept", "brier_skill"):
            assert target.metrics[name].value is None
            assert target.metrics[name].reason.startswith("only one outcome is present")
        assert target.metrics["ici"].value == pytest.approx(np.abs(p - present).mean())
    assert audit.main.metrics["brier_skill"].value is None


@pytest.mark.parametrize("side", [OVER, UNDER])
def test_bins_of_one_side_are_no_mixture(side):
    bins = table(side, side)
    assert mixed_ends(bins, bins, np.full(2, 0.01)) == ()


def test_event_and_answers_of_the_same_rows_are_as_many():
    rng = np.random.default_rng(0)
    risk = rng.beta(0.6, 60.0, 20_000)  # never above a half: every answer is 0
    labels = (rng.random(risk.size) < risk).astype(np.int64)
    assert risk.max() < 0.5
    rows = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, risk, labels)
    found = suite.audit(rows, AuditConfig(metrics=("ece",)))
    event, answers = found.main.verdict, found.answers.verdict
    for power in ("power", "power_odds", "power_spread"):
        assert getattr(event, power) == getattr(answers, power)
    assert event.code == answers.code == "could_be_chance"
    assert ("too few rows" in event.text) == ("too few rows" in answers.text)
    ready = suite.prepare(rows, 1, n_resamples=1_000, seed=0)
    assert suite.diagram(ready, n_bins=15, level=0.95).verdict == event  # of the page's slider


def test_what_is_too_little_to_matter_is_a_setting():
    rng = np.random.default_rng(12)
    logits = rng.normal(0.0, 2.0, 100_000)
    labels = (rng.random(logits.size) < 1 / (1 + np.exp(-logits / 1.05))).astype(np.int64)
    rows = Predictions(Task.BINARY, ScoreKind.LOGITS, logits, labels)
    default = suite.audit(rows, replace(QUICK, metrics=("ece",)))
    assert default.main.verdict.code == "off_but_small"
    assert default.main.verdict.small == 0.025
    assert default.main.verdict.text.startswith("Off by less than 2.5 points on average for “1”, ")
    assert (
        "2.5 points on average for “1”, Candor’s usual limit for errors that matter: "
        in default.main.verdict.text
    )
    wider = suite.audit(rows, replace(QUICK, metrics=("ece",), small_gap=0.03)).main.verdict
    assert (wider.code, wider.small, wider.own_limit) == ("off_but_small", 0.03, True)
    assert "on average for “1”, the limit that you set for errors that matter: " in wider.text
    strict = replace(QUICK, metrics=("ece",), small_gap=0.002, small_slope=0.01)
    assert suite.audit(rows, strict).main.verdict.code == "too_extreme"


def test_what_a_fitted_temperature_leaves_is_small():
    rng = np.random.default_rng(13)
    claims = rng.uniform(0.3, 0.9, 40_000)
    right = rng.random(claims.size) < claims
    too_many = round(right.sum() - (claims.sum() - 600))  # 1.5 points too few are to be right
    right[rng.choice(np.flatnonzero(right), too_many, replace=False)] = False
    rows = Predictions(
        Task.TOP_LABEL,
        ScoreKind.CONFIDENCE,
        claims,
        right.astype(np.int64),
        predicted=np.ones(claims.size, dtype=np.int64),
    )
    config = replace(QUICK, metrics=("ece",))
    assert suite.audit(rows, config).main.verdict.code == "off_but_small"
    narrow = suite.audit(rows, replace(config, small_gap=0.017)).main.verdict
    assert narrow.code == "over_confident"  # the interval of 1.5 points goes beyond 1.7


@pytest.mark.parametrize("risk", [0.003, 0.01])  # .997^400 is .30, .99^400 is .018
def test_a_rare_event_that_did_not_come_by_chance_casts_no_doubt_on_the_labels(risk):
    rows = Predictions(Task.BINARY, ScoreKind.SIGMOID, np.full(400, risk), np.zeros(400, int))
    found = suite.audit(rows, QUICK)
    assert "CLASS_ABSENT" in codes(found)
    assert ("ALWAYS_RIGHT" in codes(found)) == (risk == 0.01)
    assert ("the labels the truth" in found.main.verdict.text) == (risk == 0.01)


@pytest.mark.parametrize("name", ["multiclass", "binary", "top_label", "multilabel"])
def test_what_only_papers_print_is_computed_where_it_is_named(name):
    of_print = ("ece_debiased_l1", "ece_sweep_ew")
    rows = FILES[name]()
    assert not set(of_print) & set(suite.audit(rows, QUICK).main.metrics)
    named = suite.audit(rows, replace(QUICK, metrics=of_print, n_bins=30))
    if name == "multilabel":
        assert not set(of_print) & set(named.main.metrics)
        assert set(of_print) <= set(named.unavailable)
        return
    ranked = SortedOutcomes.of(rows.outcomes(rows.default_target))
    debiased, sweep = (named.main.metrics[metric] for metric in of_print)
    assert debiased.value == METRICS["ece_debiased_l1"].function(ranked, n_bins=30)
    assert sweep.value == METRICS["ece_sweep_ew"].function(ranked)
    assert debiased.settings["n_bins"] == 30
    for metric, score in named.main.metrics.items():
        floor = named.main.noise_floor[metric]
        assert score.low <= max(0.0, score.value - floor.q95)
        assert score.value <= score.high
