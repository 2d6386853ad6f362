"""The per-class table: whose rows each number counts, and the interval of a class's gap."""

import numpy as np
import pytest

from core.metrics import METRICS, suite
from core.predictions import Predictions, ScoreKind, Task

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(400, 3)) * 4
ANSWERS = np.array([RNG.choice(3, p=row / row.sum()) for row in np.exp(LOGITS / 2)])


def multiclass(logits, class_names=()):
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, ANSWERS, class_names)


def top_label(confidence, predicted, labels):
    return Predictions(
        Task.TOP_LABEL,
        ScoreKind.CONFIDENCE,
        np.asarray(confidence),
        np.asarray(labels),
        predicted=np.asarray(predicted),
    )


def test_rows_of_the_table_are_those_answered_with_the_class():
    rows = multiclass(LOGITS, ("cat", "dog", "owl"))
    table = suite.class_gaps(rows, 0.95)
    predicted, right = LOGITS.argmax(1), LOGITS.argmax(1) == ANSWERS
    confidence = np.exp(rows.log_probabilities()).max(1)
    for index, row in enumerate(table):
        mine = predicted == index
        assert (row.name, row.n) == (("cat", "dog", "owl")[index], np.sum(mine))
        assert row.labelled == np.sum(index == ANSWERS)
        assert row.accuracy == pytest.approx(right[mine].mean())
        assert row.gap.gap == pytest.approx(confidence[mine].mean() - right[mine].mean())
        assert row.gap.low < row.gap.gap < row.gap.high
    mean = np.mean([row.ece for row in table])
    assert mean == pytest.approx(METRICS["classwise_ece"].function(rows))


def test_a_class_never_answered_has_no_gap():
    rows = multiclass(np.column_stack([LOGITS, LOGITS[:, 0] - 99]))
    last = suite.class_gaps(rows, 0.95)[-1]
    assert (last.n, last.confidence, last.accuracy, last.gap) == (0, None, None, None)


def test_the_gap_interval_is_as_wide_as_the_answers_are_few():
    # labelled 1 forty times and answered ten, eight of them right; class 0 the other way round
    labels = np.repeat([1, 1, 0, 0], [8, 32, 2, 8])
    predicted = np.repeat([1, 0, 1, 0], [8, 32, 2, 8])
    rows = top_label(np.where(predicted == 1, 0.9, 0.6), predicted, labels)
    table = suite.class_gaps(rows, 0.95)
    assert [(row.labelled, row.n) for row in table] == [(10, 40), (40, 10)]
    for row, confidence in zip(table, (0.6, 0.9), strict=True):
        # Wilson's ends p solve n (8/n - p)^2 = z^2 p (1 - p)
        z2 = 1.959964**2
        low, high = sorted(np.roots([row.n + z2, -(16 + z2), 64 / row.n]))
        assert row.gap.gap == pytest.approx(confidence - 8 / row.n)
        assert row.gap.low == pytest.approx(confidence - high, abs=1e-6)
        assert row.gap.high == pytest.approx(confidence - low, abs=1e-6)


def test_a_class_that_is_only_answered_has_its_line():
    rows = top_label([0.9, 0.8, 0.7, 0.6], [0, 3, 1, 3], [0, 1, 1, 0])
    assert rows.n_classes == 4
    table = suite.class_gaps(rows, 0.95)
    counts = [(row.index, row.labelled, row.n) for row in table]
    assert counts == [(0, 2, 1), (1, 2, 1), (2, 0, 0), (3, 0, 2)]
    assert (table[3].confidence, table[3].accuracy) == (pytest.approx(0.7), 0.0)
