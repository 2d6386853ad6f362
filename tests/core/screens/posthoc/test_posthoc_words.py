"""Which correction plain words may name: one that helps and leaves every answer as it is."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from core.codes import NoticeCode
from core.configs import AuditConfig
from core.errors import Notice
from core.metrics.comparison import Comparison, compare
from core.metrics.paired import Difference
from core.metrics.records import Gap, Score
from core.predictions import Predictions, ScoreKind, Task
from core.screens.kit.methods import IN_SENTENCE
from core.screens.posthoc.words import (
    any_helps,
    helpful_methods,
    mended,
    plain_best,
    plain_sentence,
    sentence,
)
from core.studies.posthoc import (
    NONE,
    MethodReport,
    calibrated,
    default_methods,
    judge,
)
from core.studies.posthoc import fit as fitted

RNG = np.random.default_rng(4)
TRUE = RNG.normal(size=(300, 3))
LABELS = (TRUE + RNG.gumbel(size=TRUE.shape)).argmax(axis=1)
HELPS = {"ece": Difference(metric="ece", value=-0.1, low=-0.12, high=-0.08, level=0.95, n=300)}


def compared(scale):
    rows = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, scale * TRUE, LABELS)
    return judge(rows, None).compared


@pytest.fixture(scope="module")
def judged():
    """Isotonic regression goes lowest and changes answers; the others change none."""
    return {
        NONE: MethodReport(compared(4.0), 0),
        "ts": MethodReport(compared(2.0), 0),
        "isotonic": MethodReport(compared(1.0), 3),
    }


def ece(one):
    return 100 * one.compared.audit.main.metrics["ece"].value


def test_plain_words_name_the_best_correction_that_changes_no_answer(judged):
    assert ece(judged["isotonic"]) < ece(judged["ts"])
    said = plain_sentence(judged, Comparison("", 0, 0.95, ({}, HELPS, HELPS)))
    floor = 100 * judged["ts"].compared.audit.main.noise_floor["ece"].q95
    assert said.text.endswith(
        f"to {ece(judged['ts']):.1f}, without changing any answer. A perfect model would show up "
        f"to {floor:.1f}."
    )
    assert f"{ece(judged['isotonic']):.1f}" not in said.text


@pytest.mark.parametrize(
    ("scale", "beside", "off", "chance"),
    [
        (1.0, (0.0, 1.0), "looks off by", "chance alone shows up to"),
        (1.6, (1.0, 2.0), "looks off by", "chance alone shows up to"),
        (4.0, (2.0, 100.0), "is off by", "chance: up to"),
    ],
)
def test_an_error_that_is_half_chance_looks_like_one(scale, beside, off, chance):
    one = MethodReport(compared(scale), 0)
    floor = 100 * one.compared.audit.main.noise_floor["ece"].q95
    assert beside[0] * floor < ece(one) <= beside[1] * floor
    said = plain_sentence({NONE: one}, Comparison("", 0, 0.95, ({},))).text
    assert f"this model {off} {ece(one):.1f} points on average (" in said
    assert f"; {chance} {floor:.1f})" in said


def one_class_off(shift):
    """Half of the rows to fit on and half to judge; the fourth class is too likely by `shift`."""
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(6_000, 4)) * 2.5
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    logits[:, 3] += shift
    rows = Predictions(
        Task.MULTICLASS, ScoreKind.LOGITS, logits, labels, ("cat", "dog", "cow", "sheep")
    )
    return rows.take(np.arange(3_000)), rows.take(np.arange(3_000, 6_000))


def test_classes_that_a_correction_puts_further_off_are_counted_in_the_headline():
    fit, test = one_class_off(1.5)
    both = {NONE: judge(test, None), "ts": judge(test, fitted("ts", fit).calibrator)}
    gaps = []
    for rows in (test, calibrated(fitted("ts", fit).calibrator, test)):
        off = rows.rows.confidence - rows.rows.correct
        gaps.append([off[rows.rows.predicted == k].mean() for k in range(4)])
    further = [k for k in range(4) if abs(gaps[1][k]) > abs(gaps[0][k])]
    assert further == [0, 1, 2]  # temperature lowers all, and only sheep says too much
    assert both["ts"].further_off(both[NONE]) == 3
    both["vector"] = judge(test, fitted("vector", fit).calibrator)
    assert both["vector"].further_off(both[NONE]) == 0
    cat = both[NONE].classes[0]
    was = replace(both[NONE], classes=(replace(cat, gap=Gap(0.058, 0.010, 0.106)),))
    for gap, further in (
        (Gap(-0.080, -0.130, -0.030), 0),  # to the other side, where 2.2 points could be chance
        (Gap(-0.200, -0.250, -0.150), 1),
        (Gap(0.070, 0.022, 0.118), 1),  # on one side it moves by what is known
    ):
        now = replace(was, classes=(replace(cat, gap=gap, p_value=0.001),))
        assert now.further_off(was) == further
    said = plain_sentence(both, Comparison("", 0, 0.95, ({}, HELPS, HELPS)))
    assert "may mend" not in said.second


def test_vector_scaling_is_tried_where_classes_are_unlike_and_few_scores():
    even, odd = (judge(one_class_off(shift)[1], None).compared.audit for shift in (0.0, 1.5))
    usual = default_methods(Task.MULTICLASS)
    assert default_methods(Task.MULTICLASS, even) == usual
    assert default_methods(Task.MULTICLASS, odd) == (*usual, "vector")
    assert default_methods(Task.MULTICLASS, replace(odd, n=1_000_000)) == usual
    doubt = (Notice(NoticeCode.NOT_PROBABILITY, "rescaled"),)
    assert default_methods(Task.BINARY, replace(even, notices=doubt)) == ("beta", "isotonic")


@pytest.mark.parametrize(
    ("now", "named"),
    [
        (Gap(-0.09, -0.17, -0.015), False),  # off on the other side by as much
        (Gap(0.0, -0.02, 0.02), True),
    ],
)
@pytest.mark.parametrize("low", [-0.01, 0.05])
def test_only_what_was_off_and_is_clearly_less_off_is_mended(judged, now, named, low):
    (row,) = judge(one_class_off(1.5)[1], None).classes[:1]
    was = replace(row, gap=Gap(0.1, low, 0.21))
    both = {
        NONE: replace(judged[NONE], classes=(was,)),
        "vector": replace(judged["ts"], classes=(replace(row, gap=now),)),
    }
    assert bool(mended(both)) == (named and low > 0.0)


def errors_of_labels(values):
    """Return a report of as many labels, each ECE with an interval of spread 1 at 95 %."""
    errors = [
        Score(metric="ece", value=v, low=v - 1.96, high=v + 1.96, level=0.95, n=1) for v in values
    ]
    labels = [SimpleNamespace(name="a", metrics={"ece": error}) for error in errors]
    headline = SimpleNamespace(verdict=SimpleNamespace(classes=()))
    audit = SimpleNamespace(
        labels=labels, headline=headline, task=Task.MULTILABEL, n=1, n_classes=len(labels)
    )
    compared = SimpleNamespace(audit=audit, config=AuditConfig())
    return SimpleNamespace(compared=compared, classes=(), changed=0)


@pytest.mark.parametrize(("labels", "methods"), [(1, 1), (14, 3), (40, 5)])
@pytest.mark.parametrize("opposite", [False, True])
def test_no_label_is_mended_by_chance_however_many_labels_and_methods(labels, methods, opposite):
    """Errors before and after vary independently, or as badly as can be: in opposite directions."""
    rng, sets = np.random.default_rng(labels), 200
    hits = 0
    for _ in range(sets):
        before = rng.normal(20.0, 1.0, labels)
        after = rng.normal(20.0, 1.0, (methods, labels))
        if opposite:
            after[:] = 40.0 - before
        both = {NONE: errors_of_labels(before)}
        tried = list(IN_SENTENCE)[:methods]
        both |= {m: errors_of_labels(row) for m, row in zip(tried, after, strict=True)}
        hits += mended(both) != ""
    assert hits <= binom.isf(0.001, sets, 0.05)


def test_no_method_that_gives_one_answer_to_all_is_preferred_to_one_that_tells_them_apart():
    """Scores the wrong way round: a monotone map puts all in one bin, vector scaling turns them."""
    rng = np.random.default_rng(5)
    logits = rng.normal(-0.4, 1.5, 1_200)
    labels = (rng.random(1_200) < 1 / (1 + np.exp(logits))).astype(np.int64)
    rows = Predictions(Task.BINARY, ScoreKind.LOGITS, logits, labels)
    fit, test = rows.take(np.arange(600)), rows.take(np.arange(600, 1_200))
    both = {NONE: judge(test, None)} | {
        method: judge(test, fitted(method, fit).calibrator) for method in ("isotonic", "vector")
    }
    assert plain_best(both, Comparison("", 0, 0.95, ({}, HELPS, HELPS))) == "vector"


def test_what_lowers_the_likelihood_loss_beyond_chance_is_no_correction_without_help():
    rng = np.random.default_rng(9)
    logits = rng.normal(-0.3, 1.8, 3_000)
    labels = (rng.random(3_000) < 1 / (1 + np.exp(-0.75 * logits))).astype(np.int64)
    rows = Predictions(Task.BINARY, ScoreKind.LOGITS, logits, labels)
    fit, test = rows.take(np.arange(1_500)), rows.take(np.arange(1_500, 3_000))
    both = {NONE: judge(test, None), "ts": judge(test, fitted("ts", fit).calibrator)}
    table = compare([each.compared for each in both.values()], list(both), 0)
    ece, nll = (table.differences[1][metric] for metric in ("ece", "nll"))
    assert ece.tie
    assert nll.high < 0.0
    assert any_helps(both, table)
    raised = {"ece": replace(ece, value=0.02, low=0.01, high=0.03), "nll": nll}
    assert not any_helps(both, Comparison("", 0, 0.95, ({}, raised)))


def drawn(seed):
    """A set of any task that is off in one of several ways, or not at all, and how."""
    rng = np.random.default_rng(seed)
    k, n = 3 if seed % 3 == 0 else int(rng.choice([3, 6, 10])), int(rng.choice([300, 1_500]))
    logits = 2.0 * rng.normal(size=(n, k))
    if seed % 3 == 0:
        labels = (rng.random((n, k)) < 1 / (1 + np.exp(-logits))).astype(np.int64)
        logits = logits * rng.choice([1.0, 1.5]) + rng.choice([0.0, 0.5]) * (np.arange(k) == 0)
        return Predictions(Task.MULTILABEL, ScoreKind.LOGITS, logits, labels)
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    logits = logits * rng.choice([1.0, 1.5]) + rng.choice([0.0, 1.2]) * (np.arange(k) == 0)
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, labels)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_said_of_corrections_is_what_their_table_shows(seed):
    rows = drawn(seed)
    half, config = rows.n // 2, AuditConfig(n_resamples=100)
    fit, test = rows.take(np.arange(half)), rows.take(np.arange(half, rows.n))
    methods = ("beta", "isotonic") if seed % 2 else ("beta", "vector", "ts")
    fits = {NONE: None} | {name: fitted(name, fit).calibrator for name in methods}
    judged = {name: judge(test, fit, config=config) for name, fit in fits.items()}
    table = compare([each.compared for each in judged.values()], list(judged), 0)
    helping = {
        name
        for name, of in zip(judged, table.differences, strict=True)
        if of and of["ece"].high < 0.0
    }
    fitting = {
        name
        for name, of in zip(judged, table.differences, strict=True)
        if of and of["nll"].high is not None and of["nll"].high < 0.0 and of["ece"].low <= 0.0
    }
    for words in (plain_sentence, sentence):
        said = words(judged, table)
        text = f"{said.text} {said.second}"
        helps_none = re.search("None of these|No method lowers", text)
        assert bool(helps_none) == (not helping and not fitting)
        if not helping:
            assert bool(re.search("fit better beyond|By NLL", text)) == bool(fitting)
            continue
        named = {name for name in helping if IN_SENTENCE[name].lower() in text.lower()}
        assert named
        if all(judged[name].changed for name in helping):
            assert any(f"{judged[name].changed:,} of " in text for name in named)
    assert set(helpful_methods(judged, table)) == helping


def test_where_classes_differ_a_method_that_changes_answers_may_be_best():
    fit, test = one_class_off(1.5)
    scaled = calibrated(fitted("ts", fit).calibrator, test)
    reports = {NONE: judge(test, None), "ts": MethodReport(judge(scaled, None).compared, 0)}
    difference = Comparison("", 0, 0.95, ({}, HELPS))
    assert plain_best(reports, difference) == "ts"
    vector = judge(calibrated(fitted("vector", fit).calibrator, test), None)
    both = reports | {"vector": MethodReport(vector.compared, 700)}
    mends = Comparison("", 0, 0.95, ({}, HELPS, HELPS))
    assert plain_best(both, mends) == "vector"  # no temperature brings classes together
