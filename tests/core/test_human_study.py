"""Temperatures fitted on votes: what they minimise, and what they do to rows not fitted on."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from core.arrays import log_softmax
from core.calibrators.temperature import nll_temperature
from core.metrics import human
from core.metrics.votes import soft_nll_rows, vote_shares
from core.predictions import Groups, Predictions, ScoreKind, Task, Votes, Weights
from core.studies import human as study


def too_sure(n=600, k=3, people=30, seed=0, by=3.0):
    """A model whose logits are `by` times those of people, answered by a clear majority."""
    rng = np.random.default_rng(seed)
    true = 1.2 * rng.normal(size=(n, k))
    p = np.exp(log_softmax(true))
    votes = np.array([rng.multinomial(people, row) for row in p]).astype(float)
    task = Task.BINARY if k == 2 else Task.MULTICLASS
    return Predictions(
        task, ScoreKind.LOGITS, by * true, votes.argmax(axis=1), votes=Votes.of("votes", votes)
    )


def test_a_temperature_on_votes_minimises_the_soft_nll():
    run = too_sure()
    rows = study.soft_rows(run, study.VOTES)
    temperature, _, after = nll_temperature(rows.scores, rows.labels, rows.weights.of_row)
    shares = vote_shares(run.votes.of_row)

    def loss(inverse):
        return soft_nll_rows(log_softmax(inverse * run.scores), shares).mean()

    best = minimize_scalar(loss, bounds=(0.05, 5.0), method="bounded", options={"xatol": 1e-9})
    assert 1.0 / temperature == pytest.approx(best.x, rel=1e-6)
    assert after == pytest.approx(best.fun, abs=1e-9)
    assert temperature == pytest.approx(3.0, rel=0.1)


def test_one_vote_a_row_fits_what_its_labels_do():
    run = too_sure(people=1)
    votes = study.soft_rows(run, study.VOTES)
    labels = study.soft_rows(run, study.LABELS)
    assert np.array_equal(votes.labels, run.labels)
    assert np.array_equal(votes.labels, labels.labels)
    assert (votes.weights.of_row == 1.0).all()


def test_classes_tied_for_the_most_votes_share_the_row():
    run = too_sure(3)
    votes = np.array([[2.0, 2.0, 1.0], [5.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    rows = study.soft_rows(replace(run, votes=Votes.of("votes", votes)), study.LABELS)
    assert rows.labels.tolist() == [0, 1, 0, 0, 1, 2]
    shares = rows.weights.of_row / rows.weights.of_row[2]
    assert shares == pytest.approx([0.5, 0.5, 1.0, 1 / 3, 1 / 3, 1 / 3], abs=1e-6)


@pytest.mark.parametrize("k", [2, 3, 10])
def test_votes_mend_what_majority_labels_leave(k):
    fits = study.human_fits({"test": too_sure(k=k)}, "test")
    assert (fits.fit_rows, fits.test_rows, fits.fit_name) == (300, 300, "test")
    by = {(method.method, method.target): method for method in fits.methods}
    assert next(iter(by)) == ("", "")
    none, labels, votes = by["", ""], by["ts", "labels"], by["ts", "votes"]
    assert votes.parameters["temperature"] == pytest.approx(3.0, rel=0.15)
    assert labels.parameters["temperature"] < 0.5 * votes.parameters["temperature"]
    for name in ("ece_votes", "tvd", "soft_nll"):
        assert votes.values[name] < labels.values[name]
        assert votes.differences[name].high < 0.0
    # sure of the majority is what a majority label rewards
    assert labels.values["ece"] < votes.values["ece"]
    assert votes.differences["ece"].value == votes.values["ece"] - none.values["ece"]
    focal = by["focal_ts", "votes"]
    assert focal.values["soft_nll"] == pytest.approx(votes.values["soft_nll"], abs=0.02)


def test_an_infinite_value_of_weight_0_adds_nothing():
    run = too_sure(n=120)
    p = np.exp(log_softmax(run.scores))
    weights = np.ones(run.n)
    for row in range(40):
        p[row], weights[row] = np.eye(3)[int(run.votes.of_row[row].argmin())], 0.0
    run = replace(run, kind=ScoreKind.PROBABILITIES, scores=p)
    run = replace(run, weights=Weights("w", weights))
    none, *others = study.human_fits({"test": run}, "test").methods
    assert none.values["soft_nll"] is not None
    assert all(other.differences["soft_nll"].value is not None for other in others)


def test_rows_that_are_judged_are_not_fitted_on_under_another_name():
    run = too_sure(80)
    fits = study.human_fits({"val": run, "test": run}, "test")
    assert (fits.fit_name, fits.fit_rows, fits.test_rows) == ("test", 40, 40)


def test_a_validation_part_with_votes_is_fitted_on():
    fits = study.human_fits({"val": too_sure(80, seed=1), "test": too_sure(50)}, "test")
    assert (fits.fit_name, fits.fit_rows, fits.test_rows) == ("val", 80, 50)


def test_groups_are_not_cut_in_two():
    run = replace(too_sure(60), groups=Groups("person", np.arange(60) // 6))
    fits = study.human_fits({"test": run}, "test")
    assert (fits.fit_rows, fits.test_rows) == (30, 30)
    assert fits.methods[1].differences["tvd"].settings["resampled_by"] == "group"


def test_too_few_rows_are_not_cut():
    fits = study.human_fits({"test": too_sure(12)}, "test")
    assert not fits.methods
    assert "12 rows with votes" in fits.refusal


def test_rows_furthest_apart_come_first():
    run = too_sure(40)
    far = study.human_study({"test": run}, "test").far
    judged = human.judged_rows(run)
    assert far.tvd[0] == judged.tvd.max()
    assert np.all(np.diff(far.tvd) <= 0.0)
    assert np.array_equal(judged.tvd[far.rows], far.tvd)
    assert np.array_equal(far.choice, run.votes.of_row[far.rows].argmax(axis=1))


def test_the_choice_of_people_is_that_of_the_row_where_others_have_no_votes():
    run = too_sure(40)
    votes = run.votes.of_row.copy()
    votes[:11] = 0.0
    far = study.far_rows(replace(run, votes=Votes("votes", votes)))
    assert far.rows.min() == 11
    assert np.array_equal(far.choice, run.labels[far.rows])
    assert np.array_equal(far.answer, run.scores[far.rows].argmax(axis=1))


def test_a_row_of_weight_3_is_fitted_as_three_rows():
    run = replace(too_sure(4), weights=Weights("w", np.array([3.0, 1.0, 1.0, 0.0])))
    rows = study.soft_rows(run, study.VOTES)
    of_row = [rows.weights.of_row[(rows.scores == z).all(axis=1)].sum() for z in run.scores]
    assert np.array(of_row) / of_row[1] == pytest.approx([3.0, 1.0, 1.0, 0.0], abs=1e-6)
