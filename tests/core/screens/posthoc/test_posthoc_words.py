"""Which correction plain words may name: one that helps and leaves every answer as it is."""

import re

import numpy as np
import pytest

from core.calibrators import CALIBRATORS
from core.metrics.comparison import Comparison
from core.metrics.paired import Difference
from core.predictions import Predictions, ScoreKind, Task
from core.screens.posthoc.words import PLAIN_MEANINGS, plain_best, plain_sentence
from core.studies.posthoc import NONE, MethodReport, calibrated, judge
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


def test_what_helps_but_changes_answers_is_named_with_how_many(judged):
    only = {NONE: judged[NONE], "isotonic": judged["isotonic"]}
    said = plain_sentence(only, Comparison("", 0, 0.95, ({}, HELPS)))
    assert said.second == (
        "No correction that keeps every answer makes it better beyond chance. Isotonic regression "
        f"brings it to {ece(judged['isotonic']):.1f} points, changing 3 of 300 answers."
    )


def test_plain_words_of_a_correction_name_no_term():
    assert set(PLAIN_MEANINGS) == set(CALIBRATORS)
    for meaning in PLAIN_MEANINGS.values():
        assert not re.search("γ|focal loss|logit|probabilit|diagonal|rows", meaning)


def test_a_class_that_a_temperature_leaves_off_is_named():
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(6_000, 4)) * 2.5
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    logits[:, 3] += 1.5  # of one class alone
    rows = Predictions(
        Task.MULTICLASS, ScoreKind.LOGITS, logits, labels, ("cat", "dog", "cow", "sheep")
    )
    fit, test = rows.take(np.arange(3_000)), rows.take(np.arange(3_000, 6_000))
    scaled = calibrated(fitted("ts", fit).calibrator, test)
    reports = {NONE: judge(test, None), "ts": judge(scaled, None)}
    difference = Comparison("", 0, 0.95, ({}, HELPS))
    said = plain_sentence(reports, difference).second
    assert "Classes still differ: answers “sheep” are over-confident by " in said
    assert "; before: “sheep” +" in said
    even = {NONE: reports[NONE], "ts": MethodReport(compared(1.0), 0)}
    assert "differ" not in plain_sentence(even, difference).second.removeprefix("The correction")
    assert plain_best(reports, difference) == "ts"
    vector = judge(calibrated(fitted("vector", fit).calibrator, test), None)
    both = reports | {"vector": MethodReport(vector.compared, 700)}
    mends = Comparison("", 0, 0.95, ({}, HELPS, HELPS))
    assert plain_best(both, mends) == "vector"  # no temperature brings classes together
    assert "It changes 700 of 3,000 answers" in plain_sentence(both, mends).text
