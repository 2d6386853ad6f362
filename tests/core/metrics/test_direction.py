"""What over- and under-confidence are said of: answers; a risk over- or underestimates."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.configs import AuditConfig
from core.metrics import suite
from core.metrics.records import Gap
from core.predictions import Predictions, ScoreKind, Task
from core.screens.kit.sentences import plain_sentence, verdict_sentence
from tests.core.metrics.test_suite import OVER, UNDER, judged, table

QUICK = AuditConfig(metrics=("ece", "ece_answer", "brier", "brier_event"), n_resamples=100)
ANSWERS = {"over_confident", "under_confident", "mixed", "sound", "could_be_chance"}
RISKS = {"overestimates", "underestimates", "too_extreme", "too_moderate"}


def sigmoid(logit):
    return 1.0 / (1.0 + np.exp(-logit))


def two_classes(scores, labels, kind=ScoreKind.PROBABILITIES, names=("bad", "good")):
    return Predictions(Task.BINARY, kind, np.asarray(scores), np.asarray(labels), names)


def renamed(rows):
    """The same file with its classes the other way round."""
    scores = rows.scores[:, ::-1].copy()
    return two_classes(scores, 1 - rows.labels, rows.kind, rows.class_names[::-1])


def off(seed, n=900, kind=ScoreKind.LOGITS):
    """A random file of two columns: any rate, any error, ties at one half among its rows."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(rng.normal(0.0, 1.5), 1.5, n)
    labels = rng.random(n) < sigmoid(logit * rng.choice([0.5, 1.0, 2.0]) + rng.normal(0.0, 0.5))
    logit[: rng.integers(0, n // 3)] = 0.0
    scores = np.column_stack([np.zeros(n), logit]) + rng.normal(size=(n, 1)).round(2)
    if kind is ScoreKind.PROBABILITIES:
        scores = np.column_stack([sigmoid(-logit), sigmoid(logit)])
    return two_classes(scores, labels * 1, kind)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([ScoreKind.LOGITS, ScoreKind.PROBABILITIES]))
def test_the_verdict_on_answers_does_not_depend_on_which_class_is_called_1(seed, kind):
    rows = off(seed, kind=kind)
    one, other = suite.audit(rows, QUICK), suite.audit(renamed(rows), QUICK)
    assert one.headline is one.answers
    assert other.headline.verdict.code == one.headline.verdict.code
    assert one.headline.verdict.code in ANSWERS
    assert other.headline.direction.gap == pytest.approx(one.headline.direction.gap, abs=1e-12)
    for key in ("ece_answer", "brier", "brier_event"):
        assert other.main.metrics[key].value == pytest.approx(one.main.metrics[key].value)


def test_a_model_that_says_98_and_is_right_91_times_is_over_confident_whatever_the_class():
    says, right = np.full(2_000, 0.98), np.arange(2_000) % 100 < 91
    rows = two_classes(np.column_stack([says, 1.0 - says]), 1 - right)
    for file, code in ((rows, "underestimates"), (renamed(rows), "overestimates")):
        audit = suite.audit(file, QUICK)
        assert audit.headline.verdict.code == "over_confident"
        assert audit.headline.verdict.text.startswith("Over-confident by 7.0 points (")
        assert audit.headline.direction.gap == pytest.approx(0.07)
        assert audit.second is audit.main
        assert (audit.main.of, audit.main.event) == ("event", file.class_names[1])
        assert audit.main.verdict.code == code
        assert audit.main.verdict.text.startswith(f"{code.capitalize()} “{audit.main.event}” by 7")
        assert audit.main.metrics["ece_answer"].value == pytest.approx(0.07)


def test_all_zero_scores_say_the_same_of_both_classes():
    labels = (np.arange(2_000) % 1_000 < 784) * 1
    rows = two_classes(np.zeros((2_000, 2)), labels, ScoreKind.LOGITS)
    one, other = suite.audit(rows, QUICK), suite.audit(renamed(rows), QUICK)
    assert one.headline.verdict == other.headline.verdict
    assert one.headline.direction.gap == 0.0  # a tie is right as often as a coin
    assert one.main.verdict.text.startswith("Underestimates “good” by 28.4 points")
    assert other.main.verdict.text.startswith("Overestimates “bad” by 28.4 points")
    assert "): on average it says 50 %, and 22 % came true. " in other.main.verdict.text


def test_one_score_of_an_event_opens_with_the_event_and_names_it():
    rows = off(3)
    score = sigmoid(rows.scores[:, 1] - rows.scores[:, 0])
    audit = suite.audit(two_classes(score, rows.labels), QUICK)
    assert audit.headline is audit.main
    assert audit.second is audit.answers
    assert audit.answers.of == "answer"
    assert audit.answers.event is None
    both = suite.audit(rows, QUICK)
    assert both.headline.verdict.code == audit.answers.verdict.code
    assert both.main.verdict.code == audit.main.verdict.code
    assert "good" in audit.main.verdict.text


def test_the_ece_of_two_classes_is_of_the_event_and_ece_answer_of_the_answer():
    risk = np.repeat([0.2, 0.9], 50)
    labels = np.concatenate([np.arange(50) < 20, np.arange(50) < 40]) * 1
    metrics = suite.audit(two_classes(risk, labels), QUICK).main.metrics
    # of the event: .2 against .4 and .9 against .8; of the answer: .8 against .6 and .9 against .8
    assert metrics["ece"].value == pytest.approx(0.5 * 0.2 + 0.5 * 0.1)
    assert metrics["ece_answer"].value == pytest.approx(0.5 * 0.2 + 0.5 * 0.1)
    other = suite.audit(two_classes(np.repeat([0.2, 0.8], 50), labels), QUICK).main.metrics
    # of the answer both bins say .8, and 30 and 40 of 50 are right
    assert other["ece"].value == pytest.approx(0.5 * 0.2)
    assert other["ece_answer"].value == pytest.approx(0.1)
    # (p - y)^2: 30 rows of .04 and 20 of .64; 40 of .04 and 10 of .64
    assert other["brier_event"].value == pytest.approx((70 * 0.04 + 30 * 0.64) / 100)
    assert other["brier"].value == pytest.approx(2 * other["brier_event"].value)
    assert other["brier_event"].high == pytest.approx(other["brier"].high / 2)


def test_logits_that_were_divided_leave_risks_too_extreme_and_not_under_confident():
    rng = np.random.default_rng(0)
    logits = rng.normal(-1.5, 1.3, (8_000, 2))
    labels = (rng.random(logits.shape) < sigmoid(logits)) * 1
    for factor, code in ((0.7, "too_extreme"), (1 / 0.7, "too_moderate")):
        rows = Predictions(Task.MULTILABEL, ScoreKind.LOGITS, logits / factor, labels, ("a", "b"))
        audit = suite.audit(rows, QUICK)
        for label in audit.labels:
            assert label.verdict.code == code
            assert (label.of, label.event) == ("event", label.name)
        assert audit.main.verdict.text.startswith(f"Of 2 labels: 2 {code.replace('_', ' ')}")
        assert (audit.main.of, audit.main.event) == ("event", None)
    shifted = Predictions(Task.MULTILABEL, ScoreKind.LOGITS, logits + 0.5, labels, ("a", "b"))
    assert {label.verdict.code for label in suite.audit(shifted, QUICK).labels} == {"overestimates"}


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_a_risk_that_ranks_the_wrong_way_is_said_to(shift):
    z = np.repeat(np.linspace(-2, 2, 41), 100)
    events = np.tile(np.arange(100) / 100 + 0.005, 41) < sigmoid(
        -z
    )  # exactly as often as the other
    risks = sigmoid(z + shift)
    target = suite.audit(two_classes(risks, events.astype(int)), QUICK).main
    assert "its claims rise where the share that comes true falls" in target.verdict.text
    assert "its claims rise where the share that comes true falls" in verdict_sentence(target).text
    first = "The higher the chance this model gives “good”, the less often it is there."
    assert plain_sentence(target).text.startswith(first)


def test_a_risk_has_words_of_its_own():
    gap, none = Gap(0.1, 0.05, 0.15), Gap(0.001, -0.01, 0.012)
    over = judged(gap, table(OVER), 0.01, 0.5, 0.5, event="good")
    assert (over.code, over.reading, over.of) == ("overestimates", None, "event")
    both = judged(gap, table(OVER), 0.01, 0.01, 0.5, event="good", steepness=-1.0)
    assert (both.code, both.reading) == ("overestimates", "too_moderate")
    assert "It is also too moderate" in both.text
    under = judged(Gap(-0.1, -0.15, -0.05), table(UNDER), 0.01, 0.5, 0.5, event="good")
    assert under.text.startswith("Underestimates “good” by 10.0 points (5.0 to 15.0): ")
    extreme = judged(none, table(OVER, UNDER), 0.6, 0.01, 0.5, event="good", steepness=1.0)
    assert (extreme.code, extreme.reading, extreme.ends) == ("too_extreme", None, ())
    assert extreme.text.startswith(
        "Too extreme for “good”: its claims rise faster than the share that comes true."
    )
    mixed = judged(gap, table(OVER, UNDER), 0.01, 0.5, 0.01, event="good")
    assert mixed.text.startswith("Mixed for “good”: overestimates by 10.0 points")
    sloped = judged(gap, table(OVER, UNDER), 0.01, 0.01, 0.01, event="good", steepness=1.0)
    assert (sloped.code, sloped.reading, len(sloped.ends)) == ("overestimates", "too_extreme", 2)
    assert "By bins: overestimates by 10.0 points" in sloped.text
    assert sloped.text.index("overestimates by 10.0") < sloped.text.index("underestimates by 10.0")
    for verdict in (over, both, under, extreme, mixed, sloped):
        assert "confident" not in verdict.text
    chance = judged(none, table(OVER), 0.6, 0.5, 0.5, event="good")
    assert chance.text.startswith("Could be chance for “good”: ")
    assert judged(none, table(OVER), 0.6, 0.01, 0.5, steepness=1.0).code == "mixed"  # of answers


def test_sound_rules_out_an_average_error_that_matters():
    verdicts = []
    for n in (4_000, 40_000):
        rng = np.random.default_rng(1)
        risk = rng.uniform(0.0, 1.0, n)
        rows = two_classes(risk, (rng.random(n) < risk) * 1)
        verdicts.append(suite.audit(rows, replace(QUICK, metrics=("ece",))).main.verdict)
    few, many = verdicts
    assert (few.code, many.code) == ("could_be_chance", "sound")
    assert few.power >= 0.95
    assert "; an average error of 2.5 points is not ruled out." in few.text
    assert "ruled out" not in many.text


def test_the_same_claims_of_event_and_answers_have_the_same_verdict():
    opposite = {"overestimates": "under_confident"}
    for seed, events in itertools.product((0, 3, 5), (2, 3, 4)):  # where 10 to 12 are claimed
        risk = sigmoid(np.random.default_rng(seed).normal(-4.0, 1.0, 400))
        assert risk.max() < 0.5
        labels = np.zeros(400, dtype=np.int64)
        labels[np.argsort(-risk)[[0, 8, 100, 30][:events]]] = 1
        found = suite.audit(two_classes(risk, labels), replace(QUICK, metrics=("ece",)))
        event, answers = found.main.verdict.code, found.answers.verdict.code
        assert answers == opposite.get(event, event), (seed, events)
