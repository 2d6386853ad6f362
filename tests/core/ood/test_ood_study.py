"""A run beside inputs it never saw: what is refused and warned about, shifts, runs compared."""

import tracemalloc

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from core.configs import AuditConfig
from core.errors import Refused, UsageError
from core.metrics.suite import audit
from core.ood.scores import SCORES, ood_scores
from core.predictions import Predictions, ScoreKind, Task
from core.studies import ood as study
from core.studies.ood import OodPair

RNG = np.random.default_rng(0)
K = 5
LABELS = RNG.integers(0, K, 400)
LOGITS = RNG.normal(size=(400, K)) + 3 * np.eye(K)[LABELS]
STRANGE = 1.5 * RNG.normal(size=(300, K))


def inside(logits=LOGITS, labels=LABELS, **other):
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, labels, **other)


def outside(logits=STRANGE, **other):
    labels = np.full(len(logits), -1)
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, labels, labelled=False, **other)


def stated(values, predicted=None):
    values = np.asarray(values, dtype=np.float64)
    return Predictions(
        Task.TOP_LABEL,
        ScoreKind.CONFIDENCE,
        values,
        np.full(values.size, -1),
        predicted=predicted,
        labelled=False,
    )


def test_every_score_at_a_temperature_is_judged_as_scikit_learn_does():
    truth = np.r_[np.zeros(400), np.ones(300)]
    for key in SCORES:
        for temperature in (1.0, 2.2):
            found = study.judge(inside(), outside(), key, temperature, full=False)
            scores = [ood_scores(one, key, temperature) for one in (inside(), outside())]
            area = roc_auc_score(truth, np.concatenate(scores))
            assert found.numbers["auroc"].value == pytest.approx(area, abs=1e-12)
            assert list(found.numbers) == ["auroc"]
    full = study.judge(inside(), outside(), "msp", config=AuditConfig(n_resamples=50))
    assert (
        full.numbers["auroc"]
        == study.judge(inside(), outside(), "msp", full=False).numbers["auroc"]
    )
    assert full.numbers["fpr95"].settings["resamples"] == 50


def test_temperature_leaves_the_order_of_the_largest_logit_and_of_two_classes_alone():
    for temperature in (0.5, 4.0):
        warm = study.judge(inside(), outside(), "max_logit", temperature, full=False)
        assert warm.numbers == study.judge(inside(), outside(), "max_logit", full=False).numbers
    two, strange = inside(LOGITS[:, :2], LABELS % 2), outside(STRANGE[:, :2])
    found = {
        study.judge(two, strange, key, t, full=False).numbers["auroc"].value
        for key in ("msp", "entropy")
        for t in (1.0, 3.0)
    }
    assert len(found) == 1


def test_the_set_itself_is_refused():
    with pytest.raises(Refused, match="OOD_SAME: again has the same scores as the in-distribution"):
        study.check(inside(), inside(), "again")
    with pytest.raises(Refused, match="OOD_SAME"):
        study.check(inside(), outside(LOGITS[::-1]), "reversed")
    with pytest.raises(Refused, match="OOD_SAME"):
        study.check(
            inside(LOGITS.astype(np.float32)), outside(LOGITS.astype(np.float32)[:7]), "few"
        )


def test_a_corruption_that_changes_nothing_is_said_and_not_refused():
    """Saturate leaves grey digits as they are: no alarm can be raised, and that is a finding."""
    (notice,) = study.check(inside(), inside(), "saturate", shifted=True)
    assert notice.code == "UNCHANGED"
    assert "every row of saturate" in notice.text
    assert "this corruption changed nothing" in notice.text
    mixed = inside(np.concatenate([STRANGE[:5], LOGITS[5:]]))
    (notice,) = study.check(inside(), mixed, "snow", shifted=True)
    assert "395 of the 400 rows of snow" in notice.text
    assert study.check(inside(), outside(), "fog", shifted=True) == ()
    for key in SCORES:
        found = study.judge(inside(), inside(), key, full=False).numbers["auroc"]
        assert found.value == 0.5
        assert found.low <= 0.5 <= found.high


def test_rows_that_are_in_both_are_said():
    assert study.check(inside(), outside(), "svhn") == ()
    mixed = np.concatenate([STRANGE, LOGITS[[3, 3, 8]]])
    (notice,) = study.check(inside(), outside(mixed), "mixed")
    assert notice.code == "OVERLAP"
    assert "3 of 303 rows of mixed" in notice.text
    lone = np.concatenate([STRANGE, LOGITS[[3]]])
    (notice,) = study.check(inside(), outside(lone), "mixed")
    assert "1 of 301 rows of mixed scores exactly as" in notice.text


def test_certain_probabilities_repeat_by_nature():
    one_hot = np.eye(3)
    shares = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.6, 0.3, 0.1]])
    own = Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, shares, np.zeros(3, dtype=np.int64))
    other = Predictions(
        Task.MULTICLASS, ScoreKind.PROBABILITIES, one_hot, np.full(3, -1), labelled=False
    )
    assert study.overlap(own, other) == 0
    assert study.overlap(own, own) == 3
    part = Predictions(
        Task.MULTICLASS, ScoreKind.PROBABILITIES, shares[:2], np.full(2, -1), labelled=False
    )
    assert study.overlap(own, part) == 1


def test_stated_confidences_count_as_the_same_only_as_a_whole():
    assert study.overlap(stated([0.9, 0.8]), stated([0.9, 0.7])) == 0
    assert study.overlap(stated([0.9, 0.8]), stated([0.9, 0.8])) == 2


def softmax(logits):
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def test_the_same_rows_in_another_form_or_order_are_refused():
    order = np.random.default_rng(5).permutation(400)
    written = np.round(softmax(LOGITS[order]), 6)
    as_shares = Predictions(
        Task.MULTICLASS, ScoreKind.PROBABILITIES, written, np.full(400, -1), labelled=False
    )
    with pytest.raises(Refused, match="OOD_SAME"):
        study.check(inside(), as_shares, "shares")
    with pytest.raises(Refused, match="OOD_SAME"):
        study.check(inside(), outside(LOGITS[order].astype(np.float32)), "rounded")
    others = Predictions(
        Task.MULTICLASS, ScoreKind.PROBABILITIES, softmax(STRANGE), np.full(300, -1), labelled=False
    )
    assert study.check(inside(), others, "shares") == ()
    sure = np.random.default_rng(6).random(50)
    with pytest.raises(Refused, match="OOD_SAME"):
        study.check(stated(sure), stated(sure[::-1]), "reversed")
    assert study.overlap(stated([0.9] * 40), stated([0.9] * 40 + [0.8])) == 0
    assert study.overlap(stated([0.9] * 39 + [0.8]), stated([0.8] + [0.9] * 39)) == 0


def test_other_parts_of_the_run_are_no_set():
    val = inside(STRANGE, np.arange(300) % K)
    parts = {"val": val}
    with pytest.raises(Refused, match="OOD_SAME: strange has the same scores as the part val"):
        study.check(inside(), outside(STRANGE[::-1]), "strange", parts=parts)
    some = outside(np.concatenate([STRANGE[:7], -STRANGE]))
    (notice,) = study.check(inside(), some, "some", parts=parts)
    assert notice.code == "OVERLAP"
    assert "7 of 307 rows of some" in notice.text
    assert "a row of val" in notice.text
    assert study.check(inside(), some, "some") == ()
    of_both = outside(np.concatenate([STRANGE[:7], LOGITS[:2], -STRANGE]))
    (notice,) = study.check(inside(), of_both, "some", parts=parts)
    assert "2 of 309 rows of some score exactly as an in-distribution row, " in notice.text
    assert "7 as a row of val" in notice.text


@pytest.mark.parametrize(
    ("name", "corrupted"),
    [
        ("cifar10c-fog-5", True),
        ("CIFAR-10-C: Fog", True),
        ("cifar10c", True),
        ("cifar_10_c_fog.npz", True),
        ("corrupted", True),
        ("CIFAR-10-C: Gaussian noise, severity 5", True),
        ("Corrupted labels 40 %", False),  # what a model was trained on
        ("CIFAR-10", False),
        ("cifar10ce", False),
        ("corruptedly", False),
        ("not corrupted", False),
    ],
)
def test_corrupted_inputs_are_known_by_what_they_are_called(name, corrupted):
    assert study.is_shifted(name) is corrupted


def test_the_same_labels_in_the_same_order_are_the_same_inputs():
    anew = RNG.normal(size=(400, K))
    with pytest.raises(Refused, match="OOD_SAME: other has the labels of the in-distribution rows"):
        study.check(inside(), inside(anew), "other")
    assert study.check(inside(), inside(anew), "corrupted-fog", shifted=True) == ()
    by_class = np.sort(LABELS)  # folders are read class by class, whatever their images
    assert study.check(inside(labels=by_class), inside(anew, by_class), "other") == ()
    assert study.check(inside(), inside(anew, LABELS[::-1]), "other") == ()
    named = [tuple(f"{of}{k}" for k in range(400)) for of in ("a", "b")]
    pair = inside(row_ids=named[0]), inside(anew, row_ids=named[1])
    assert study.check(*pair, "other") == ()
    # CIFAR-10-C of the same rows, labelled and named anew, of the same model.
    shifted = inside(another_model(LOGITS), row_ids=named[1])
    assert study.check(inside(row_ids=named[0]), shifted, "fog 5") == ()


def another_model(logits, seed=3):
    """Logits of a model that learned the same and errs elsewhere."""
    return logits + np.random.default_rng(seed).normal(size=logits.shape)


def test_another_models_scores_of_the_same_inputs_are_said_without_labels_or_names():
    (notice,) = study.check(inside(), outside(another_model(LOGITS)), "other")
    assert notice.code == "OVERLAP"
    assert "“other” looks like the in-distribution inputs again" in notice.text
    agree = (LOGITS.argmax(axis=1) == another_model(LOGITS).argmax(axis=1)).mean()
    assert f"agree in {100 * agree:.0f} of 100 rows" in notice.text


def test_other_inputs_that_come_in_the_same_order_of_classes_are_not_taken_for_the_same():
    rng = np.random.default_rng(7)
    own, other = (
        np.sort(rng.integers(0, K, 400))[:, None] == np.arange(K) for _ in range(2)
    )  # folders, class by class
    noise = rng.normal(size=(2, 400, K))
    assert study.check(inside(4.0 * own + noise[0]), outside(4.0 * other + noise[1]), "cars") == ()
    assert study.check(inside(), outside(another_model(LOGITS)[::-1]), "reversed") == ()


def test_rows_of_one_name_are_said_but_numbers_are_no_names():
    names = tuple(f"cat_{k}.png" for k in range(400))
    (notice,) = study.check(inside(row_ids=names), outside(row_ids=names[:300]), "cats")
    assert (notice.code, notice.text[:27]) == ("OVERLAP", "300 rows of cats have the n")
    numbers = tuple(f"{k:05}.png" for k in range(400))
    assert study.check(inside(row_ids=numbers), outside(row_ids=numbers[:300]), "svhn") == ()


def test_classes_of_other_names_are_of_another_model():
    pets, cars = ("cat", "dog", "hen", "cow", "pig"), ("audi", "bmw", "fiat", "kia", "seat")
    (notice,) = study.check(inside(class_names=pets), outside(class_names=cars), "cars")
    assert notice.code == "OTHER_MODEL"
    assert "“cars” has a class audi" in notice.text
    assert study.check(inside(class_names=pets), outside(class_names=pets[::-1]), "pets") == ()
    assert study.check(inside(class_names=pets), outside(), "unnamed") == ()


def test_other_numbers_of_classes_and_many_labels_are_refused():
    with pytest.raises(Refused, match="svhn has scores of 3 classes, the run of 5"):
        study.check(inside(), outside(STRANGE[:, :3]), "svhn")
    many = Predictions(
        Task.MULTILABEL, ScoreKind.LOGITS, np.zeros((2, 5)), np.zeros((2, 5), dtype=np.int64)
    )
    with pytest.raises(Refused, match="no single answer"):
        study.check(many, outside(), "svhn")
    assert study.check(inside(), stated([0.3, 0.4]), "stated") == ()


def test_what_is_offered_is_what_both_parts_support():
    assert study.offered(inside(), outside()) == dict.fromkeys(SCORES, "")
    found = study.offered(inside(), stated([0.3]))
    assert [key for key, why in found.items() if not why] == ["msp"]


def test_a_shift_is_what_the_audit_says():
    worse = inside(0.5 * LOGITS + RNG.normal(size=LOGITS.shape))
    for temperature in (1.0, 1.8):
        found = study.shift(inside(), worse, "entropy", temperature)
        own = audit(inside(worse.scores / temperature))
        assert found.n == 400
        assert found.accuracy == own.main.metrics["accuracy"].value
        assert found.ece == pytest.approx(own.main.metrics["ece"].value, abs=1e-12)
        assert found.confidence - found.accuracy == pytest.approx(own.main.direction.gap, abs=1e-12)
        auroc = study.judge(inside(), worse, "entropy", temperature, full=False).numbers["auroc"]
        assert found.auroc == auroc.value


def test_the_most_certain_rows_come_first():
    names = tuple("abcde")
    part = outside(class_names=names)
    found = study.most_certain(part, "msp", 2.0, most=4)
    p = np.exp(STRANGE / 2) / np.exp(STRANGE / 2).sum(axis=1, keepdims=True)
    best = np.argsort(-p.max(axis=1), kind="stable")[:4]
    np.testing.assert_array_equal(found.rows, best)
    np.testing.assert_allclose(found.confidence, p.max(axis=1)[best])
    assert found.answers == tuple(names[k] for k in p[best].argmax(axis=1))
    short = study.most_certain(part, "energy", most=1000)
    assert short.rows.size == 300


def test_stated_confidences_have_no_probability_beyond_one():
    found = study.most_certain(stated([0.3, 9.0, 2.0]), "msp", most=2)
    assert found.rows.tolist() == [1, 2]
    assert np.isnan(found.confidence).all()
    assert found.answers == ("", "")
    named = study.most_certain(stated([0.3, 0.9], np.array([1, 0])), "msp", most=2)
    assert named.confidence.tolist() == [0.9, 0.3]
    assert named.answers == ("0", "1")


def test_runs_on_the_same_rows_are_compared():
    one, other = OodPair(inside(), outside()), OodPair(inside(2 * LOGITS), outside(STRANGE**3))
    found = study.difference(one, other, "entropy")
    areas = [
        study.judge(pair.inside, pair.outside, "entropy", full=False).numbers["auroc"].value
        for pair in (one, other)
    ]
    assert found.value == pytest.approx(areas[0] - areas[1], abs=1e-12)
    assert found.low < found.value < found.high
    back = study.difference(other, one, "entropy")
    assert (back.value, back.low, back.high) == pytest.approx(
        (-found.value, -found.high, -found.low)
    )


def test_other_rows_are_not_compared():
    base = OodPair(inside(), outside())
    names = ("A", "B")
    assert study.why_unpaired(base, base, names) == ""
    turned = OodPair(inside(LOGITS, LABELS[::-1]), outside())
    assert "different labels" in study.why_unpaired(base, turned, names)
    fewer = OodPair(inside(), outside(STRANGE[:-1]))
    assert "300 rows in one run and 299" in study.why_unpaired(base, fewer, names)
    ids = [OodPair(inside(), outside(row_ids=tuple(f"{p}{i}" for i in range(300)))) for p in "ab"]
    assert "differently" in study.why_unpaired(*ids, names)
    assert study.why_unpaired(base, ids[0], names) == ""
    worse = [OodPair(inside(), inside(LOGITS, labels)) for labels in (LABELS, LABELS[::-1])]
    assert "different labels" in study.why_unpaired(*worse, names)
    with pytest.raises(UsageError, match="compare runs on the same rows"):
        study.difference(base, fewer, "msp")


def test_no_copy_of_the_scores_is_made_wherever_they_begin():
    """Large scores are mapped from files, whose arrays may begin at any byte."""
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(2):
        logits = rng.normal(size=(4_000, 2_000)).astype(np.float32)
        data = np.frombuffer(b"x" + logits.tobytes(), np.uint8)[1:]
        rows = np.frombuffer(data.data, np.float32).reshape(logits.shape)
        assert not rows.flags.aligned
        parts.append(outside(rows))
    study.check(outside(LOGITS[:40]), outside(STRANGE[:40]), "other")  # loads compiled loops
    tracemalloc.start()
    try:
        study.check(parts[0], parts[1], "other")
        study.judge(parts[0], parts[1], "entropy", full=False)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < parts[0].scores.nbytes / 2
