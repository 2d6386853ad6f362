"""Verdicts of many labels together: each is corrected for looking at all of them."""

from dataclasses import replace

import numpy as np
import pytest

from core.configs import AuditConfig
from core.metrics import suite
from core.metrics.macro import corrected_codes, over_labels
from core.metrics.records import Verdict
from core.predictions import Predictions, ScoreKind, Task


@pytest.fixture(scope="module")
def labels():
    rng = np.random.default_rng(0)
    p = rng.random((300, 3))
    rows = Predictions(
        Task.MULTILABEL, ScoreKind.SIGMOID, p, (rng.random((300, 3)) < p).astype(np.int64)
    )
    return suite.audit(rows, AuditConfig(n_resamples=60, metrics=("ece",))).labels


def with_verdicts(labels, *verdicts):
    return tuple(
        replace(label, verdict=Verdict(code, ".", p))
        for label, (code, p) in zip(labels, verdicts, strict=True)
    )


def test_what_one_label_alone_shows_may_be_chance_among_three(labels):
    seen = with_verdicts(labels, ("mixed", 0.02), ("over_confident", 0.01), ("sound", 0.9))
    # Holm: 0.01 x 3 and 0.02 x 2 hold
    assert corrected_codes(seen) == ("mixed", "over_confident", "sound")
    seen = with_verdicts(labels, ("mixed", 0.04), ("over_confident", 0.01), ("sound", 0.9))
    assert corrected_codes(seen) == ("could_be_chance", "over_confident", "sound")
    assert over_labels(seen, 0.95).verdict.text == (
        "Of 3 labels: 1 over-confident, 1 sound, 1 could be chance, corrected for looking at 3 "
        "labels (Holm)."
    )


def test_little_that_one_label_is_off_by_may_be_chance_among_three(labels):
    seen = with_verdicts(labels, ("off_but_small", 0.02), ("sound", 0.6), ("sound", 0.9))
    assert corrected_codes(seen) == ("could_be_chance", "sound", "sound")
    seen = with_verdicts(labels, ("off_but_small", 0.016), ("sound", 0.6), ("sound", 0.9))
    assert corrected_codes(seen) == ("off_but_small", "sound", "sound")


@pytest.mark.parametrize(
    ("codes", "together"),
    [
        ("overestimates could_be_chance could_be_chance", "overestimates"),
        ("sound too_extreme overestimates", "mixed"),
        ("sound sound could_be_chance", "could_be_chance"),
        ("sound off_but_small could_be_chance", "off_but_small"),
        ("sound sound sound", "sound"),
        ("too_extreme off_but_small too_extreme", "too_extreme"),
    ],
)
def test_the_code_of_many_labels_is_that_of_the_worst(labels, codes, together):
    seen = [(code, 0.9 if code in {"sound", "could_be_chance"} else 1e-6) for code in codes.split()]
    assert over_labels(with_verdicts(labels, *seen), 0.95).verdict.code == together


def test_one_label_needs_no_correction(labels):
    seen = with_verdicts(labels[:1], ("mixed", 0.04))
    assert over_labels(seen, 0.95).verdict.text == "Of 1 label: 1 mixed."


def test_a_mean_over_labels_counts_the_rows_of_all_where_labels_count_their_own():
    # The first label is sure of 2 rows (.995 and .001), the second of 3; the third of none.
    p = np.array([[0.995, 0.999, 0.4], [0.001, 0.995, 0.4], [0.5, 0.002, 0.6], [0.5, 0.5, 0.6]])
    labels = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1], [0, 1, 1]])
    rows = Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, p, labels)
    found = suite.audit(rows, AuditConfig(n_resamples=20, metrics=("s99_accuracy", "ece")))
    own = [label.metrics["s99_accuracy"].n for label in found.labels]
    assert found.main.metrics["s99_accuracy"].n == sum(own)
    assert len(set(own)) > 1
    assert found.main.metrics["ece"].n == 4
