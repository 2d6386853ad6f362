"""A run at many temperatures, and what is kept of it after a fitted one."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

from core.access import UserRole, Visitor, user_id
from core.errors import LibraryError, Refused
from core.library import SAMPLES, Library, RunSource
from core.predictions import Predictions, ScoreKind, Task, Weights
from core.screens.kit.differences import NamedRun
from core.screens.kit.theme import LIGHT
from core.screens.posthoc.view import at_gammas, at_temperatures, walk_card
from core.studies.posthoc import (
    CONFIDENCE_METHODS,
    CUT,
    RowChoice,
    calibrated,
    fit,
    fitted_temperature,
    judge,
    keep_calibrated,
    parts,
)
from core.studies.temperatures import WALK_CELLS, FocalPoint, gamma_walk, temperature_walk


def softmax(z):
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def answers(n=600, classes=4, seed=0, weights=None):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, classes))
    labels = np.array([rng.choice(classes, p=row) for row in softmax(z)])
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, 2.0 * z, labels, weights=weights)


def event(n=400, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(-1.0, 1.5, size=n)
    labels = (rng.random(n) < 1.0 / (1.0 + np.exp(-z))).astype(np.int64)
    return Predictions(Task.BINARY, ScoreKind.PROBABILITIES, 1.0 / (1.0 + np.exp(-2.0 * z)), labels)


def weighted():
    of_row = np.random.default_rng(3).integers(0, 4, 600).astype(np.float64)
    return answers(weights=Weights("seen", of_row))


def shifted():
    """Joint log-probabilities: far below 0, and no less the same model."""
    whole = answers()
    return replace(whole, scores=whole.scores - 1000.0)


@pytest.mark.parametrize("whole", [answers(), event(), weighted(), shifted()])
def test_the_ends_of_a_walk_are_what_the_table_of_methods_says(whole):
    rows = parts({"test": whole}, CUT, "test", share=0.5, seed=0)
    method_fit = fit("ts", rows.fit)
    walk = temperature_walk(rows, ("nll", method_fit.calibrator.temperature_))
    steps = {step.temperature: step for step in walk.steps}
    assert list(steps) == sorted(steps)
    for temperature, calibrator in ((1.0, None), (walk.marks["nll"], method_fit.calibrator)):
        scores = judge(rows.test, calibrator).compared.audit.main.metrics
        assert steps[temperature].ece == pytest.approx(scores["ece"].value, abs=1e-12)
        assert steps[temperature].nll == pytest.approx(scores["nll"].value, abs=1e-12)
    assert ("ece" in walk.marks) == (whole.task is Task.MULTICLASS)


@pytest.mark.parametrize("whole", [answers(), event(), weighted()])
def test_a_fitted_gamma_and_temperature_are_what_the_table_of_methods_says(whole):
    rows = parts({"test": whole}, CUT, "test", share=0.5, seed=0)
    calibrator = fit("focal_ts", rows.fit).calibrator
    focal = FocalPoint(calibrator.gamma_, calibrator.temperature_)
    scores = judge(rows.test, calibrator).compared.audit.main.metrics
    by_gamma = gamma_walk(rows, focal, focal.temperature)
    by_temperature = temperature_walk(rows, None, focal, focal.gamma)
    for walk, of in ((by_gamma, "gamma"), (by_temperature, "temperature")):
        places = [getattr(step, of) for step in walk.steps]
        assert places == sorted(places)
        step = walk.steps[places.index(getattr(focal, of))]
        assert step.ece == pytest.approx(scores["ece"].value, abs=1e-9)
        assert step.nll == pytest.approx(scores["nll"].value, abs=1e-9)
    marked = [step.written for step in at_gammas(by_gamma) if step.marked]
    assert len(marked) == 1
    assert marked[0].endswith(f"fitted with T = {focal.temperature:.3g}")
    marked = [step.written for step in at_temperatures(by_temperature) if step.marked]
    assert "fitted with γ" in marked[0]


def test_a_probability_of_zero_is_lost_at_no_temperature_and_said_as_in_the_table():
    whole = answers()
    p = softmax(whole.scores)
    p[0] = np.eye(4)[(whole.labels[0] + 1) % 4]
    rows = parts(
        {"a": replace(whole, kind=ScoreKind.PROBABILITIES, scores=p)}, "a", "a", share=0.5, seed=0
    )
    walk = temperature_walk(rows, None)
    assert [np.isinf(step.nll) for step in walk.steps] == [
        step.temperature == 1.0 for step in walk.steps
    ]
    (sentence,) = [at.sentence for at in at_temperatures(walk) if at.written == "1, as trained"]
    assert "NLL –" in sentence


def test_the_gap_of_a_step_is_mean_confidence_less_the_share_that_is_right():
    whole = answers()
    walk = temperature_walk(parts({"a": whole}, "a", "a", share=0.5, seed=0), ("nll", 2.0))
    step = next(step for step in walk.steps if step.temperature == 2.0)
    p = softmax(whole.scores / 2.0)
    right = p.argmax(axis=1) == whole.labels
    assert step.gap == pytest.approx(p.max(axis=1).mean() - right.mean(), abs=1e-12)
    losses = -np.log(p[np.arange(whole.n), whole.labels])
    assert step.nll == pytest.approx(losses.mean(), abs=1e-12)


def test_some_rows_stand_for_many():
    classes = WALK_CELLS // 1_000
    whole = answers(1_200, 3)
    scores = np.zeros((1_200, classes))
    scores[:, :3] = whole.scores + 9.0
    many = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, scores, whole.labels)
    walk = temperature_walk(parts({"a": many}, "a", "a", share=0.5, seed=0), None)
    assert (walk.used, walk.rows) == (1_000, 1_200)
    assert all(step.bins.count.sum() == 1_000 for step in walk.steps)


def test_a_step_is_drawn_as_the_slider_moves_it():
    walk = temperature_walk(parts({"a": answers()}, "a", "a", share=0.5, seed=0), ("nll", 1.9))
    steps = at_temperatures(walk)
    for i in (0, len(steps) - 1):
        card = walk_card(walk, walk.steps[i], NamedRun("id", "name", "a", "0" * 64))
        last = card.draw(LIGHT).data[-1]
        assert list(last.x) == steps[i].dots["x"]
        assert list(last.y) == steps[i].dots["y"]
        assert list(last.marker.size) == steps[i].dots["marker.size"]
        assert steps[i].sentence in card.alt
    written = [step.written for step in steps]
    assert "1, as trained" in written
    assert "1.9, fitted by NLL" in written


@pytest.fixture
def library(tmp_path):
    return Library(tmp_path / "home", SAMPLES)


def kept(library, **splits):
    source = RunSource("scores.npz", "a" * 64, None)
    return library.keep("Mine", splits, source=source, summary={}, tags=("knee",)).id


def test_a_kept_correction_holds_its_scores_and_says_where_they_come_from(library):
    val, test = answers(seed=1), answers(seed=2)
    parent = kept(library, val=val, test=test)
    choice = RowChoice("val", "test", 0.5, 0)
    method_fit = fit("ts", val)
    run = keep_calibrated(library, "Mended", parent, method_fit, {"val": val, "test": test}, choice)
    temperature = method_fit.calibrator.temperature_
    for name, rows in (("val", val), ("test", test)):
        stored = library.load(run.id, name)
        assert stored.probabilities() == pytest.approx(softmax(rows.scores / temperature))
        assert np.array_equal(stored.labels, rows.labels)
    origin = json.loads(json.dumps(library.get(run.id).source.recipe))["calibrated"]
    assert (origin["run"], origin["name"], origin["method"]) == (parent, "Mine", "ts")
    assert origin["parameters"] == {"temperature": temperature}
    assert (origin["fitted_on"]["split"], origin["fitted_on"]["rows"]) == ("val", 600)
    (notice,) = run.notices
    assert notice.code == "CALIBRATED"
    assert "“Mine” after temperature scaling, fitted on 600 rows of val" in notice.text
    assert run.tags == ("knee",)
    assert run.metrics["test"]["accuracy"] == pytest.approx(
        (test.scores.argmax(axis=1) == test.labels).mean()
    )


def test_rows_of_a_cut_that_were_fitted_on_are_not_reported(library):
    test = answers(seed=2)
    parent = kept(library, test=test)
    choice = RowChoice(CUT, "test", 0.5, 7)
    rows = parts({"test": test}, CUT, "test", share=0.5, seed=7)
    run = keep_calibrated(library, "Mended", parent, fit("ts", rows.fit), {"test": test}, choice)
    assert library.get(run.id).held_since == library.get(parent).created
    assert {name: entry.n for name, entry in run.splits.items()} == {
        "val": rows.n_fit,
        "test": rows.n_test,
    }
    assert np.array_equal(library.load(run.id, "test").labels, rows.test.labels)
    assert [notice.code for notice in run.notices] == ["CALIBRATED", "CUT"]


def test_what_was_cut_can_be_cut_again(library):
    splits = {"test": answers(seed=2)}
    for names in ({"val"}, {"val", "fit"}, {"val", "fit", "fit2"}):
        parent = kept(library, **splits)
        choice = RowChoice(CUT, "test", 0.5, 7)
        rows = parts(splits, CUT, "test", share=0.5, seed=7)
        run = keep_calibrated(library, "Mended", parent, fit("ts", rows.fit), splits, choice)
        splits = {name: library.load(run.id, name) for name in run.splits}
        assert set(splits) == {"test", *names}


def test_what_somebody_else_shares_is_not_kept(tmp_path):
    anna, bert = (
        Visitor(user_id("https://login.example", name), UserRole.AUDITOR)
        for name in ("anna", "bert")
    )
    ours, theirs = (Library(tmp_path / "home", SAMPLES, visitor) for visitor in (anna, bert))
    test = answers(seed=2)
    parent = kept(ours, test=test)
    ours.share(parent, bert.user)
    choice = RowChoice("test", "test", 0.5, 0)
    with pytest.raises(LibraryError) as caught:
        keep_calibrated(theirs, "Mine now", parent, fit("ts", test), {"test": test}, choice)
    assert caught.value.code == "ROLE"


@pytest.mark.parametrize("method", CONFIDENCE_METHODS)
def test_confidences_alone_are_fitted_to_whether_the_answer_is_right(library, method):
    rng = np.random.default_rng(4)
    stated = rng.uniform(0.55, 0.99, 4_000)
    right = rng.random(4_000) < 0.3 + 0.6 * (stated - 0.5)  # says far more than it should
    answers = rng.integers(0, 3, 4_000)
    labels = np.where(right, answers, (answers + 1) % 3)
    top = Predictions(Task.TOP_LABEL, ScoreKind.CONFIDENCE, stated, labels, predicted=answers)
    fitted = fit(method, top).calibrator
    after = calibrated(fitted, top)
    assert after.task is Task.TOP_LABEL
    assert np.array_equal(after.rows.predicted, answers)
    claimed = after.rows.confidence
    assert abs(claimed.mean() - right.mean()) < 0.002  # each has an intercept, or means of blocks
    if method == "isotonic":
        second = IsotonicRegression(out_of_bounds="clip").fit(stated, right)
        assert np.allclose(claimed, second.predict(stated), atol=2e-3)
    else:
        log_odds = np.log(stated) - np.log1p(-stated)
        columns = [log_odds] if method == "vector" else [np.log(stated), -np.log1p(-stated)]
        x = np.column_stack([*columns, np.ones(4_000)])

        def loss(w):
            return np.mean(np.logaddexp(0.0, x @ w) - right * (x @ w))

        second = minimize(loss, np.zeros(x.shape[1]), method="BFGS")
        assert np.allclose(claimed, 1.0 / (1.0 + np.exp(-x @ second.x)), atol=2e-3)
    with pytest.raises(Refused, match="no form for top_label"):
        fitted_temperature(top)
    run = kept(library, test=top)
    child = keep_calibrated(
        library, "mended", run, fit(method, top), {"test": top}, RowChoice(CUT, "test", 0.5, 0)
    )
    assert library.load(child.id, "test").task is Task.TOP_LABEL
