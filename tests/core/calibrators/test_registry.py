"""Every calibrator of the registry is asked the same questions."""

import json
from functools import cache

import numpy as np
import pytest

from core import codec
from core.arrays import log_softmax, sigmoid
from core.calibrators import CALIBRATORS
from core.calibrators.per_label import PerLabel
from core.calibrators.stored import from_json, make, to_json
from core.errors import AuditError, Refused, UsageError
from core.predictions import Predictions, ScoreKind, Task
from core.studies import posthoc
from tests.core.calibrators.cases import drawn

METHODS = sorted(CALIBRATORS)
MULTILABEL = [name for name in METHODS if Task.MULTILABEL in CALIBRATORS[name].tasks]
KEEPING = [name for name in METHODS if CALIBRATORS[name].keeps_accuracy]
IMPROVING = [name for name in METHODS if CALIBRATORS[name].improves_nll]


def saturated(n_rows=60, n_classes=4):
    """Logits of -1e4, 0 or 1e4, a tenth of the rows wrong."""
    rng = np.random.default_rng(8)
    labels = np.arange(n_rows) % n_classes
    logits = rng.choice([-1e4, 0.0], (n_rows, n_classes))
    logits[np.arange(n_rows), (labels + (np.arange(n_rows) % 10 == 0)) % n_classes] = 1e4
    return logits, labels


def missing_class():
    """The last of four classes has no row."""
    logits, labels = drawn(80, 4, scale=4.0, seed=3)
    return logits, labels % 3


def tied():
    """Whole logits: winners tie, and rows repeat."""
    logits, labels = drawn(120, 3, scale=2.0, seed=4)
    return np.round(logits), labels


CASES = {
    "plain": drawn(150, 5, scale=4.0),
    "sharp": drawn(150, 3, sharpness=5.0, seed=1),
    "binary": drawn(90, 2, scale=6.0, seed=2),
    "missing class": missing_class(),
    "saturated": saturated(),
    "saturated binary": saturated(n_classes=2),
    "tied": tied(),
    "few rows": drawn(12, 6, seed=5),
    "spline of 0": drawn(100, 4, sharpness=0.3, seed=7),  # where the true class occurs
    "single precision": tuple(
        a.astype(t) for a, t in zip(drawn(80, 3, scale=30.0), "fi", strict=True)
    ),
}


@pytest.fixture(params=METHODS)
def name(request):
    return request.param


@pytest.fixture(params=CASES)
def case(request):
    return request.param


@cache
def fit(name, case):
    """A method fitted on a case; nothing changes it afterwards."""
    return CALIBRATORS[name]().fit(*CASES[case])


def nll(log_p, labels):
    return -log_p[np.arange(len(labels)), labels].mean()


def check_distribution(p, shape):
    assert p.shape == shape
    assert p.dtype == np.float64
    assert ((p >= 0.0) & (p <= 1.0)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_fit_gives_distributions_and_leaves_its_input_alone(name, case):
    given = CASES[case]
    logits, labels = (array.copy() for array in given)
    for array in (logits, labels):
        array.setflags(write=False)
    fitted = CALIBRATORS[name]()
    assert fitted.fit(logits, labels) is fitted
    check_distribution(fitted.predict_proba(logits), logits.shape)
    assert all(np.array_equal(a, b) for a, b in zip((logits, labels), given, strict=True))
    others = drawn(25, logits.shape[1], scale=50.0, seed=9)[0]
    check_distribution(fitted.predict_proba(others), others.shape)


def test_log_probabilities_are_those_of_the_probabilities(name, case):
    logits, _ = CASES[case]
    log_p = fit(name, case).predict_log_proba(logits)
    assert (log_p <= 1e-12).all()
    np.testing.assert_allclose(np.exp(log_p), fit(name, case).predict_proba(logits), 0, 1e-12)


@pytest.mark.parametrize("name", KEEPING)
def test_predicted_class_never_changes_where_that_is_promised(name, case):
    fitted, given = fit(name, case), CASES[case][0]
    others = np.round(drawn(200, given.shape[1], scale=2.0, seed=10)[0])
    nearly_tied = np.eye(given.shape[1]) * 1e-18  # equal after any map, and yet there is a winner
    for logits in (given, others, nearly_tied):
        p = fitted.predict_proba(logits)
        assert np.array_equal(p.argmax(axis=1), logits.argmax(axis=1))
        assert np.array_equal(fitted.predict_log_proba(logits).argmax(axis=1), p.argmax(axis=1))


@pytest.mark.parametrize("name", sorted(set(METHODS) - set(KEEPING)))
def test_predicted_class_can_change_where_it_is_not_promised(name):
    logits = drawn(2000, 5, scale=1.0, seed=11)[0]
    p = fit(name, "plain").predict_proba(logits)
    assert (p.argmax(axis=1) != logits.argmax(axis=1)).any()


@pytest.mark.parametrize("name", IMPROVING)
def test_nll_of_the_fitting_rows_never_rises_where_that_is_promised(name, case):
    logits, labels = CASES[case]
    fitted = fit(name, case)
    before = nll(log_softmax(logits), labels)
    assert nll(fitted.predict_log_proba(logits), labels) <= before * (1.0 + 1e-12)
    assert not fitted.report_.worse


@pytest.mark.parametrize("name", ["histogram", "spline"])
def test_nll_that_rose_is_reported(name):
    """Labels drawn from the model's own probabilities: nothing to mend, only to spoil."""
    report = CALIBRATORS[name]().fit(*drawn(2000, 3, scale=5.0, sharpness=5.0, seed=1)).report_
    assert report.after > report.before
    assert report.worse
    assert "made nll on its own rows worse" in report.message


def test_report_says_what_was_fitted(name, case):
    logits, labels = CASES[case]
    fitted = fit(name, case)
    report = fitted.report_
    assert report.parameters == fitted.parameters()
    assert report.objective == "nll"
    before = nll(log_softmax(logits), labels)
    after = nll(fitted.predict_log_proba(logits), labels)
    assert report.before == pytest.approx(before, rel=1e-11, abs=1e-11)
    assert report.after == (pytest.approx(after, rel=1e-9, abs=1e-9) if after < np.inf else None)
    assert report.worse == ("worse" in report.message) == (after > before + 1e-12)
    assert report.at_bound == ("end of its range" in report.message)
    assert 0.0 < report.seconds < 600.0
    written = codec.to_json(report)
    assert json.loads(json.dumps(written, allow_nan=False)) == written


def test_stored_calibrator_predicts_the_same_to_the_last_bit(name, case):
    fitted, given = fit(name, case), CASES[case][0]
    again = from_json(json.loads(json.dumps(to_json(fitted), allow_nan=False)))
    assert type(again) is type(fitted)
    assert again.settings() == fitted.settings()
    for logits in (given, drawn(50, given.shape[1], scale=30.0, seed=12)[0]):
        assert np.array_equal(again.predict_proba(logits), fitted.predict_proba(logits))
        assert np.array_equal(again.predict_log_proba(logits), fitted.predict_log_proba(logits))


def test_fit_is_repeatable(name):
    again = CALIBRATORS[name]().fit(*CASES["plain"])
    assert again.parameters() == fit(name, "plain").parameters()


@pytest.mark.parametrize("tied", [False, True])
def test_order_of_rows_and_names_of_classes_do_not_matter(name, tied):
    logits, labels = drawn(150, 4, scale=4.0, seed=6)
    if tied:  # equal rows; each has one winner, whose place does not change with the names
        logits = np.round(logits / 6.0) + np.eye(4)[logits.argmax(axis=1)]
    settings = {"penalty": 1.0} if name in ("matrix", "dirichlet") else {}  # folds follow the rows
    expected = CALIBRATORS[name](**settings).fit(logits, labels).predict_proba(logits)
    rows = np.random.default_rng(0).permutation(150)
    shuffled = CALIBRATORS[name](**settings).fit(logits[rows], labels[rows])
    np.testing.assert_allclose(shuffled.predict_proba(logits), expected, rtol=0, atol=2e-5)
    classes = np.array([2, 0, 3, 1])
    renamed = CALIBRATORS[name](**settings).fit(logits[:, classes], np.argsort(classes)[labels])
    found = renamed.predict_proba(logits[:, classes])
    np.testing.assert_allclose(found, expected[:, classes], rtol=0, atol=2e-5)


def test_binary_logit_stands_for_two_columns(name):
    logits, labels = drawn(90, 2, scale=6.0, seed=7)
    s = logits[:, 1] - logits[:, 0]
    single = CALIBRATORS[name]().fit(s, labels)
    double = CALIBRATORS[name]().fit(np.stack([np.zeros(90), s], axis=1), labels)
    assert single.parameters() == double.parameters()
    check_distribution(single.predict_proba(s), (90, 2))


def test_ruled_out_classes_are_read_as_very_unlikely(name):
    logits, labels = drawn(80, 4, scale=3.0, seed=8)
    logits[5:30, 3] = -np.inf
    labels[labels == 3] = 0
    fitted = CALIBRATORS[name]().fit(logits, labels)
    check_distribution(fitted.predict_proba(logits), (80, 4))
    if fitted.keeps_accuracy:
        far = fitted.predict_log_proba(np.array([[1e4, 0.0, 1.0, -np.inf]]))[0]
        assert far[3] <= far[1] <= far[2] <= far[0]


MATRICES = ("matrix", "dirichlet")  # what they fit grows with the square of the classes


@pytest.mark.parametrize(
    ("name", "n_classes"),
    [
        *[pytest.param(name, 30, marks=pytest.mark.nightly) for name in MATRICES],
        *[pytest.param(name, 1000, marks=pytest.mark.soak) for name in MATRICES],
        *[(name, 1000) for name in METHODS if name not in MATRICES],
    ],
)
def test_many_classes(name, n_classes):
    logits, labels = drawn(40, n_classes, scale=4.0, seed=13)
    fitted = CALIBRATORS[name]().fit(logits, labels)
    check_distribution(fitted.predict_proba(logits), (40, n_classes))
    again = CALIBRATORS[name].from_parameters(json.loads(json.dumps(fitted.parameters())))
    assert np.array_equal(again.predict_proba(logits), fitted.predict_proba(logits))
    if fitted.improves_nll:
        assert not fitted.report_.worse


def refusal(call):
    with pytest.raises(AuditError) as caught:
        call()
    assert caught.value.what
    assert caught.value.remedy
    return caught.value.code


def test_what_cannot_be_fitted_is_refused_with_a_reason(name):
    logits, labels = drawn(30, 3)
    spoiled, infinite = logits.copy(), logits.copy()
    spoiled[3, 1], infinite[3] = np.nan, -np.inf
    huge = np.sign(logits) * 1e308  # twice as far apart as float64 goes
    codes = {
        "FIT": [(logits[:9], labels[:9]), (logits, labels * 0 + 1)],
        "NONFINITE": [
            (spoiled, labels),
            (infinite, labels),
            (logits + np.inf, labels),
            (huge, labels),
        ],
        "LENGTH_MISMATCH": [(logits, labels[:-1])],
        "LABEL_RANGE": [(logits, labels + 1), (logits, labels - 1)],
        "CLASSES": [(logits[:, :1], labels)],
        "HEADER_SHAPE": [(logits[None], labels), (logits[:0], labels[:0])],
    }
    for code, inputs in codes.items():
        for rows in inputs:
            assert refusal(lambda rows=rows: CALIBRATORS[name]().fit(*rows)) == code


def test_use_before_the_fit_is_refused(name):
    fresh = CALIBRATORS[name]()
    for call in (lambda: fresh.predict_proba(np.zeros((2, 3))), fresh.parameters):
        assert refusal(call) == "NOT_FITTED"


def test_scores_of_another_number_of_classes_are_refused_where_it_matters(name):
    fitted = CALIBRATORS[name]().fit(*drawn(60, 3))
    if fitted.n_classes is None:
        check_distribution(fitted.predict_proba(np.eye(5)), (5, 5))
    else:
        assert refusal(lambda: fitted.predict_proba(np.eye(5))) == "CLASSES"


def test_registry_entry_describes_itself(name):
    kind = CALIBRATORS[name]
    assert kind.name == name
    assert kind.label
    assert kind.source
    assert kind.words.name
    assert kind.words.meaning.endswith(".")  # what becomes of answers is said after it
    assert set(kind.marks) <= set(kind.stored)
    assert set(kind.tasks) >= {Task.MULTICLASS, Task.BINARY}
    for setting, allowed in kind.choices.items():
        assert kind().settings()[setting] == allowed[0]
        with pytest.raises(UsageError, match=setting):
            kind(**{setting: "other"})


# Many labels ------------------------------------------------------------------------------------


def labelled(n_rows=120, n_labels=3, seed=0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n_rows, n_labels)) * 4.0
    return logits, (rng.random(logits.shape) < sigmoid(logits / 3.0)).astype(np.int64)


@pytest.mark.parametrize("name", MULTILABEL)
def test_labels_are_calibrated_each_by_itself(name):
    logits, labels = labelled()
    fitted = make(name, Task.MULTILABEL).fit(logits, labels)
    p = fitted.predict_proba(logits)
    for k in range(3):
        alone = CALIBRATORS[name]().fit(logits[:, k], labels[:, k])
        assert np.array_equal(p[:, k], alone.predict_proba(logits[:, k])[:, 1])
    again = from_json(json.loads(json.dumps(to_json(fitted), allow_nan=False)))
    assert isinstance(again, PerLabel)
    assert np.array_equal(again.predict_proba(logits), p)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(logits)), p, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", MULTILABEL)
def test_label_that_cannot_be_fitted_keeps_its_probabilities_and_is_named(name):
    logits, labels = labelled()
    labels[:, 1] = 0
    fitted = make(name, Task.MULTILABEL).fit(logits, labels)
    np.testing.assert_allclose(fitted.predict_proba(logits)[:, 1], sigmoid(logits[:, 1]))
    assert "label 1 is left as it is" in fitted.report_.message
    named = Predictions(
        Task.MULTILABEL, ScoreKind.LOGITS, logits, labels, tuple("abcdefgh"[: logits.shape[1]])
    )
    assert "“b” is left as it is" in posthoc.fit(name, named).report.message
    again = from_json(json.loads(json.dumps(to_json(fitted))))
    assert np.array_equal(again.predict_proba(logits), fitted.predict_proba(logits))


@pytest.mark.parametrize("name", MULTILABEL)
def test_report_of_labels_is_the_mean_over_those_fitted(name):
    logits, labels = labelled()
    labels[:, 2] = 1
    report = make(name, Task.MULTILABEL).fit(logits, labels).report_
    alone = [CALIBRATORS[name]().fit(logits[:, k], labels[:, k]).report_ for k in (0, 1)]
    assert report.before == pytest.approx(np.mean([one.before for one in alone]))
    known = all(one.after is not None for one in alone)
    assert report.after == (pytest.approx(np.mean([a.after for a in alone])) if known else None)
    assert report.worse == any(one.worse for one in alone)
    assert report.at_bound == any(one.at_bound for one in alone)
    written = codec.to_json(report)
    assert json.loads(json.dumps(written, allow_nan=False)) == written


def test_mean_over_labels_is_unknown_where_a_label_has_an_infinite_one():
    """The spline gives 0 to a class that occurs, for the first of these two labels."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(40, 2))
    labels = (rng.random((40, 2)) < sigmoid(logits)).astype(np.int64)
    alone = [CALIBRATORS["spline"]().fit(logits[:, k], labels[:, k]).report_ for k in (0, 1)]
    assert alone[0].after is None
    assert alone[1].after is not None
    report = make("spline", Task.MULTILABEL).fit(logits, labels).report_
    assert report.after is None
    assert report.before == pytest.approx(np.mean([one.before for one in alone]))


@pytest.mark.parametrize("name", sorted(set(METHODS) - set(MULTILABEL)))
def test_method_without_a_form_for_labels_is_refused(name):
    with pytest.raises(UsageError, match="no form for multilabel"):
        make(name, Task.MULTILABEL)


def test_labels_refuse_what_does_not_fit():
    logits, labels = labelled()
    fresh = make("ts", Task.MULTILABEL)
    assert refusal(lambda: fresh.predict_proba(logits)) == "NOT_FITTED"
    assert refusal(fresh.parameters) == "NOT_FITTED"
    assert refusal(lambda: fresh.fit(logits, labels[:, :2])) == "LENGTH_MISMATCH"
    assert refusal(lambda: fresh.fit(logits, labels * 0)) == "FIT"
    assert refusal(lambda: fresh.fit(logits * np.nan, labels)) == "NONFINITE"
    fitted = fresh.fit(logits, labels)
    assert refusal(lambda: fitted.predict_proba(logits[:, :2])) == "CLASSES"


def test_settings_reach_the_methods_that_have_them():
    made = {name: make(name, Task.MULTICLASS, objective="ece", search="line") for name in METHODS}
    assert made["focal_ts"].settings() == {"objective": "ece", "search": "line"}
    assert made["ts"].settings() == {"objective": "ece", "search": "line"}
    assert made["focal_map"].settings() == {"objective": "ece"}
    assert made["ets"].settings() == {"objective": "nll"}
    for name in ("ts", "focal_ts"):
        paper = make(name, Task.MULTILABEL, search="paper")
        assert paper.settings() == {"objective": "nll", "search": "komisarenko"}
    with pytest.raises(UsageError, match="Method"):
        make("platt", Task.BINARY)
    with pytest.raises(Refused, match="CALIBRATOR"):
        from_json({})
