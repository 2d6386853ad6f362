import json
import math

import numpy as np
import pytest

from core.configs import AuditConfig
from core.errors import Notice
from core.metrics.suite import audit
from core.predictions import Predictions, ScoreKind, Task
from core.reports.study_json import audit_json

RNG = np.random.default_rng(11)
NUMBER = (int, float, type(None))
TOP = {
    "schema": int,
    "file": str,
    "digest": str,
    "task": str,
    "scores": str,
    "n": int,
    "n_classes": int,
    "splits": dict,
    "split": str,
    "notices": list,
    "unavailable": dict,
    "metrics": dict,
    "noise_floor": dict,
    "direction": dict,
    "verdict": dict,
    "bins": list,
}
SCORE = dict.fromkeys(("value", "low", "high"), NUMBER) | {"level": float, "n": int}
BIN = dict.fromkeys(("low", "high", "confidence", "accuracy", "ci_low", "ci_high"), NUMBER)

QUICK = AuditConfig(n_resamples=40)


def softmax_rows(n=60, k=4):
    p = RNG.dirichlet(np.ones(k), n)
    return Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, RNG.integers(0, k, n))


def multilabel(n=80):
    p = RNG.random((n, 3))
    labels = (RNG.random((n, 3)) < p).astype(np.int64)
    labels[:, 2] = 0
    return Predictions(
        Task.MULTILABEL, ScoreKind.SIGMOID, p, labels, class_names=("a", "b", "never")
    )


def binary(n=70):
    return Predictions(Task.BINARY, ScoreKind.LOGITS, RNG.normal(size=n), RNG.integers(0, 2, n))


def top_label(n=50):
    return Predictions(
        Task.TOP_LABEL,
        ScoreKind.CONFIDENCE,
        RNG.random(n),
        RNG.integers(0, 3, n),
        predicted=RNG.integers(0, 3, n),
    )


def one_row():
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, np.array([[1.0, 0, 0]]), np.array([0]))


def zero_probability():
    p = np.array([[1.0, 0.0], [0.3, 0.7], [0.6, 0.4]])
    return Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, np.array([1, 1, 0]))


def typed(value, schema):
    for key, kind in schema.items():
        assert isinstance(value[key], kind), key
        assert not isinstance(value[key], bool), key


def explained(value):
    """Every object with a null says why."""
    if isinstance(value, dict):
        numbers = {k: v for k, v in value.items() if k not in {"settings", "reason"}}
        if any(v is None for v in numbers.values()):
            assert value["reason"]
        for v in numbers.values():
            explained(v)
    elif isinstance(value, list):
        for v in value:
            explained(v)


@pytest.mark.parametrize(
    "make", [softmax_rows, multilabel, binary, top_label, one_row, zero_probability]
)
def test_every_key_is_present_typed_and_strict_json(make):
    predictions = make()
    made = audit_json("f.npz", "ab", {"test": predictions.n}, "test", (), audit(predictions, QUICK))
    plain = json.loads(json.dumps(made, allow_nan=False))
    assert plain == made
    multi = predictions.task is Task.MULTILABEL
    more = {"labels"} if multi else set()
    if predictions.task is Task.BINARY:
        more = {"event", "bins_of", "answer_bins", "answers"}
    assert set(plain) == set(TOP) | more
    typed(plain, TOP)
    for part in [plain, *plain.get("labels", [])]:
        typed(part["verdict"], {"code": str, "text": str, "of": str, "p_value": NUMBER})
    typed(plain["direction"], dict.fromkeys(("gap", "low", "high"), NUMBER) | {"of": str})
    for part in [plain, *plain.get("labels", [])]:
        for score in part["metrics"].values():
            typed(score, SCORE | {"settings": dict})
        for floor in part["noise_floor"].values():
            typed(floor, dict.fromkeys(("mean", "q95"), NUMBER))
        for row in part["bins"]:
            typed(row, BIN | {"count": int})
    explained(plain)


def test_two_classes_have_both_verdicts_and_the_headline_follows_the_columns():
    score, labels = np.repeat([0.1, 0.9], 300), (np.arange(600) % 300 < 150) * 1
    both = np.column_stack([1.0 - score, score])
    for scores, head, other in ((score, "event", "answers"), (both, "answer", "event_audit")):
        rows = Predictions(
            Task.BINARY, ScoreKind.PROBABILITIES, scores, labels, class_names=("bad", "good")
        )
        made = audit_json("f", "ab", {"test": 600}, "test", (), audit(rows, QUICK))
        assert (made["schema"], made["event"], made["bins_of"]) == (2, "good", "event")
        assert made["direction"]["of"] == made["verdict"]["of"] == head
        codes = {made[part]["of"]: made[part]["code"] for part in ("verdict",)}
        codes[made[other]["verdict"]["of"]] = made[other]["verdict"]["code"]
        assert codes == {"answer": "over_confident", "event": "too_extreme"}
        assert "“good”" in (made if head == "event" else made[other])["verdict"]["text"]
        # both of .4 here: .1 and .9 against .5, and .9 against .5
        assert made["metrics"]["ece"]["value"] == pytest.approx(0.4)
        assert made["metrics"]["ece_answer"]["value"] == pytest.approx(0.4)
        for bins in (made["bins"], made["answer_bins"]):
            off = (b["count"] * abs(b["confidence"] - b["accuracy"]) for b in bins if b["count"])
            assert sum(off) / 600 == pytest.approx(0.4)
        assert len([b for b in made["answer_bins"] if b["count"]]) == 1


def test_labels_have_one_entry_each_with_their_own_bins():
    predictions = multilabel()
    made = audit_json("f", "ab", {"test": 80}, "test", (), audit(predictions, QUICK))
    assert [label["name"] for label in made["labels"]] == ["a", "b", "never"]
    assert [label["event"] for label in made["labels"]] == ["a", "b", "never"]
    assert all(sum(row["count"] for row in label["bins"]) == 80 for label in made["labels"])
    assert made["bins"] == []
    assert made["labels"][2]["metrics"]["auroc"]["value"] is None


def test_a_label_that_could_be_chance_among_all_is_so_in_the_json_with_its_own_beside():
    n, rng = 400, np.random.default_rng(0)
    p = np.full((n, 40), 0.5) + rng.uniform(-0.2, 0.2, (n, 40))
    labels = (rng.random(p.shape) < p).astype(np.int64)
    labels[:, 0] = rng.random(n) < p[:, 0] - 0.07  # off, and detected where it stands alone
    names = tuple(f"f{k}" for k in range(40))
    found = audit(
        Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, p, labels, class_names=names),
        QUICK,
    )
    first, *others = audit_json("f", "ab", {"test": n}, "test", (), found)["labels"]
    verdict = first["verdict"]
    assert verdict["code"] == first["corrected_verdict"] == "could_be_chance"
    assert verdict["text"].startswith("Could be chance among 40 labels (p = ")
    assert (verdict["evidence"], verdict["p_holm"] > 0.05) == ([], True)
    assert verdict["alone"]["code"] == "overestimates"
    assert 0.05 / 40 < verdict["alone"]["p_value"] < 0.05
    for label in others:  # one decision for sentence and entries
        assert ("alone" in label["verdict"]) == ("p_holm" in label["verdict"])


def test_an_infinite_loss_is_null_beside_its_reason():
    made = audit_json("f", "ab", {"test": 3}, "test", (), audit(zero_probability(), QUICK))
    nll = made["metrics"]["nll"]
    assert nll["value"] is None
    assert "NLL_INFINITE" in nll["reason"]
    assert not any(
        isinstance(v, float) and not math.isfinite(v)
        for score in made["metrics"].values()
        for v in score.values()
    )


def test_empty_bins_are_null_and_said_to_be_empty():
    made = audit_json("f", "ab", {"test": 1}, "test", (), audit(one_row(), QUICK))
    empty = [row for row in made["bins"] if row["count"] == 0]
    assert len(empty) == 14
    assert {row["accuracy"] for row in empty} == {None}
    assert {row["reason"] for row in empty} == {"no rows in this bin"}


def test_notices_of_reader_and_audit_travel_once():
    said = Notice("SCORES_GUESSED", "taken for probabilities")
    predictions = one_row()
    found = audit(predictions, QUICK)
    made = audit_json("f", "ab", {"test": 1}, "test", (said, *found.notices), found)
    codes = [note["code"] for note in made["notices"]]
    assert codes[0] == "SCORES_GUESSED"
    assert len(codes) == len(set(codes)) == 1 + len(found.notices)


def test_a_verdict_lists_what_its_test_found():
    rng = np.random.default_rng(4)
    p = rng.uniform(0.5, 1.0, 4000)
    right = rng.random(4000) < p - 0.1
    scores = np.column_stack([p, 1.0 - p])
    labels = np.where(right, 0, 1)
    rows = Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, scores, labels, ("a", "b"))
    verdict = audit_json("f", "ab", {"test": 4000}, "test", (), audit(rows, QUICK))["verdict"]
    assert verdict["code"] == "over_confident"
    found = {one["statistic"]: one for one in verdict["evidence"]}
    assert found["gap"] == {"statistic": "gap"}  # its size stands under direction
    assert found["ece"]["value"] == pytest.approx(0.1, abs=0.02)
    assert 0 < found["ece"]["q95"] < 0.05
    assert "small" not in verdict
    assert ("deviant" in verdict) == ("classes" in found)
    if "deviant" in verdict:
        assert set(verdict["deviant"]) == {"part", "name", "bounds", "n", "stated", "true"}
    json.dumps(verdict, allow_nan=False)
    p = rng.uniform(0.5, 1.0, 40_000)
    labels = np.where(rng.random(40_000) < p - 0.01, 0, 1)  # off by 1 point, where 2.5 matter
    scores = np.column_stack([p, 1.0 - p])
    rows = Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, scores, labels, ("a", "b"))
    small = audit_json("f", "ab", {"test": 40_000}, "test", (), audit(rows, QUICK))["verdict"]
    assert (small["code"], small["small"]) == ("off_but_small", 0.025)
    honest = rng.random(40_000) < p
    rows = Predictions(
        Task.MULTICLASS, ScoreKind.PROBABILITIES, scores, np.where(honest, 0, 1), ("a", "b")
    )
    calm = audit_json("f", "ab", {"test": 40_000}, "test", (), audit(rows, QUICK))["verdict"]
    assert calm["evidence"] == []
