"""The per-class table: whose rows each number counts, and the interval of a class's gap."""

import numpy as np
import pytest
from scipy import stats

from core.configs import AuditConfig
from core.metrics import METRICS, classwise, suite
from core.metrics.classwise import ClassCells
from core.metrics.records import BEYOND_CHANCE, Partition
from core.metrics.verdict import ONE_SIDED
from core.predictions import Predictions, ScoreKind, Task
from core.screens.reliability.classes import gap_tone

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(400, 3)) * 4
ANSWERS = np.array([RNG.choice(3, p=row / row.sum()) for row in np.exp(LOGITS / 2)])


def multiclass(logits, class_names=()):
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, ANSWERS, class_names=class_names)


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


@pytest.mark.parametrize(
    ("right", "ties", "says", "accuracy", "tone"),
    # beside answers "n" that say .9: 40 ties, and 10 of 10; 20 ties, and 60 of 100
    [((10, 10), 40, 0.58, 0.2, "few"), ((60, 100), 20, 100 / 120, 0.5, "over")],
)
def test_ties_of_two_classes_are_in_every_number_of_the_class_they_are_given_to(
    right, ties, says, accuracy, tone
):
    labels = np.repeat([0, 1], [right[0], right[1] - right[0] + ties])
    risk = np.repeat([0.1, 0.5], [right[1], ties])
    rows = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, risk, labels, ("n", "y"))
    first, second = suite.class_gaps(rows, 0.95)
    assert (first.n, first.labelled, second.n) == (right[1] + ties, right[0], 0)
    assert (first.confidence, first.accuracy) == pytest.approx((says, accuracy))
    assert first.gap.gap == pytest.approx(says - accuracy)
    assert gap_tone(first) == tone  # ties alone make no class off
    assert (first.gap.low <= 0.0) == (tone == "few")
    tile = suite.audit(rows, AuditConfig(n_resamples=200)).main.metrics["accuracy"]
    assert tile.value == pytest.approx(accuracy)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_class_whose_ties_outweigh_its_errors_is_off_in_neither_table_nor_verdict(swapped):
    """Ten answers "n" that say .9 are wrong; 40 ties, were they its answers, are right."""
    labels, risk = np.repeat([1, 0], [10, 40]), np.repeat([0.1, 0.5], [10, 40])
    if swapped:
        labels, risk = 1 - labels, 1.0 - risk
    names = ("y", "n") if swapped else ("n", "y")
    rows = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, risk, labels, names)
    judged = suite.audit(rows, AuditConfig(metrics=("ece",), n_resamples=200))
    table = suite.class_gaps(rows, 0.95, p_joint=judged.p_joint)
    assert {gap_tone(row) for row in table} == {"few"}
    assert (judged.answers or judged.main).verdict.classes == ()


def test_ties_are_answers_of_both_classes_in_p_value_and_interval():
    """Nine answers "y" that say .79, four right; 34 ties, of which 30 are "n"."""
    labels, risk = np.repeat([1, 0, 1, 0], [4, 5, 4, 30]), np.repeat([0.79, 0.5], [9, 34])
    rows = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, risk, labels, ("n", "y"))
    alone = 2 * stats.binom.cdf(4, 9, 0.79)
    second = suite.class_gaps(rows, 0.95)[1]
    assert alone < 0.05 < 2 * alone
    assert second.p_value == pytest.approx(2 * alone)
    assert second.gap.low < 0.0 < second.gap.high


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
        assert row.gap.gap == pytest.approx(confidence - 8 / row.n)
        # both hold together: 8 or more, and 8 or fewer, in .0125 of sets at the exact ends
        low, high = confidence - row.gap.high, confidence - row.gap.low
        assert stats.binom.sf(7, row.n, low) == pytest.approx(0.0125)
        assert stats.binom.cdf(8, row.n, high) == pytest.approx(0.0125)


@pytest.mark.parametrize("p_joint", [0.0, 0.07, 0.3])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("seed", range(4))
def test_interval_and_p_value_of_a_class_are_of_one_test_at_any_level(seed, level, p_joint):
    rng = np.random.default_rng(seed)
    predicted = np.repeat(np.arange(20), rng.integers(5, 200, 20))
    says = rng.uniform(0.6, 0.99, 20)[predicted]
    right = rng.random(predicted.size) < says - 0.2 * rng.random(20)[predicted]
    rows = top_label(says, predicted, np.where(right, predicted, (predicted + 1) % 20))
    table = suite.class_gaps(rows, level, p_joint=p_joint)
    for row in table:
        assert (not row.gap.low <= 0.0 <= row.gap.high) == (row.p_value <= 1.0 - level)
        assert (row.p_value <= 0.05) == (gap_tone(row) != "few")  # as verdicts, at any level
        assert row.p_value >= p_joint
    assert any(gap_tone(row) != "few" for row in table) == (p_joint == 0.0)


def test_a_class_that_is_only_answered_has_its_line():
    rows = top_label([0.9, 0.8, 0.7, 0.6], [0, 3, 1, 3], [0, 1, 1, 0])
    assert rows.n_classes == 4
    table = suite.class_gaps(rows, 0.95)
    counts = [(row.index, row.labelled, row.n) for row in table]
    assert counts == [(0, 2, 1), (1, 2, 1), (2, 0, 0), (3, 0, 2)]
    assert (table[3].confidence, table[3].accuracy) == (pytest.approx(0.7), 0.0)


def test_p_values_are_exact_and_corrected_for_the_classes_answered():
    # class 0: 20 answers at 0.9, 14 right; class 1: 20 at 0.9, 18 right; class 2: none
    predicted = np.repeat([0, 1], 20)
    labels = np.where(np.tile(np.arange(20), 2) < np.repeat([14, 18], 20), predicted, 2)
    table = suite.class_gaps(top_label(np.full(40, 0.9), predicted, labels), 0.95)
    alone = 2 * stats.binom.cdf(14, 20, 0.9)
    assert table[0].p_value == pytest.approx(2 * alone)  # two classes
    assert table[1].p_value == pytest.approx(1.0)
    assert table[2].p_value is None


def test_one_error_among_almost_certain_answers_is_no_wonder():
    predicted, labels = np.zeros(50, dtype=int), np.zeros(50, dtype=int)
    labels[0] = 1
    table = suite.class_gaps(top_label(np.full(50, 0.999), predicted, labels), 0.95)
    assert table[0].gap.low < 0  # though Wilson's interval leaves 0 out
    assert table[0].p_value == pytest.approx(2 * (1 - 0.999**50), rel=1e-9)  # 0.0976


def test_cells_put_together_in_parts_are_those_put_together_at_once(monkeypatch):
    rng = np.random.default_rng(7)
    rows = Predictions(
        Task.MULTICLASS,
        ScoreKind.LOGITS,
        rng.normal(size=(70_000, 3)).astype(np.float32),
        rng.integers(0, 3, 70_000),
    )
    whole = ClassCells.of(rows)
    monkeypatch.setattr(classwise, "JOINED", 100_000)
    parts = ClassCells.of(rows)
    for column in ("row", "cell", "gap"):
        np.testing.assert_array_equal(getattr(parts, column), getattr(whole, column))
    assert whole.row.size > 3 * 70_000 - 70_000


def drawn_classes(seed):
    """Several classes, up to three of them too likely or too rarely expected."""
    rng = np.random.default_rng(seed)
    k, n = int(rng.choice([3, 5, 10, 20])), int(rng.choice([400, 1000, 3000]))
    logits = 2.0 * rng.normal(size=(n, k))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    logits[:, rng.integers(0, k, 3)] += 0.7 * rng.normal(size=3) * (rng.random(3) < 0.5)
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, labels)


@pytest.mark.parametrize("seed", [132, 141, 148, *range(20)])
def test_table_and_verdict_call_the_same_classes_off(seed):
    rows = drawn_classes(seed)
    judged = suite.audit(rows, AuditConfig(metrics=("ece",), n_resamples=200))
    told, side = judged.headline.verdict, np.sign(judged.headline.direction.gap)
    table = suite.class_gaps(rows, 0.95, p_joint=judged.p_joint)
    off = {row.name: np.sign(row.gap.gap) for row in table if gap_tone(row) != "few"}
    named = {cell.name: np.sign(cell.gap) for cell in told.classes}
    assert named.items() <= off.items()
    if told.deviant is not None and told.deviant.part == Partition.ANSWERS:
        assert told.deviant.name in off
    if off:
        assert told.code in BEYOND_CHANCE
    if told.code not in ONE_SIDED:  # whose mean tells of the classes on its side
        side = 0
    if told.code in BEYOND_CHANCE:  # one on each side stands for the others there
        assert set(off.values()) - {side} == set(named.values()) - {side}
