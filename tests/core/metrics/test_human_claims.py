"""Intervals of human truth hold the truth about as often as they say.

The small form of `tests.benchmarks.claims.people`, whose rates stand in docs/coverage.md.
"""

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from core.metrics.human import judged_rows
from tests.benchmarks.claims import people
from tests.benchmarks.claims.designs import generator, softmax

ROUNDED = "T 2, K 3, 10 votes"


@pytest.fixture
def fewer(monkeypatch):
    monkeypatch.setattr(people, "POPULATION", 60_000)
    monkeypatch.setattr(people, "STEP", 20_000)
    monkeypatch.setattr(people, "truth", cache(people.truth.__wrapped__))


def test_the_truth_of_a_design_is_that_of_its_shares(fewer):
    """Votes are drawn from the true shares, whose expectations need no votes."""
    design = people.DESIGNS[ROUNDED]
    true, stated, *_ = design.draw(generator(7, 0), 100_000)
    shares, p = softmax(true), softmax(stated)
    top = p.argmax(axis=1)[:, None]
    truth = people.truth(ROUNDED, 0)
    gap = (np.take_along_axis(p - shares, top, axis=1)).mean()
    assert truth.values[people.GAP] == pytest.approx(gap, abs=0.006)
    soft_nll = -(shares * np.log(p)).sum(axis=1).mean()
    assert truth.values["soft_nll"] == pytest.approx(soft_nll, abs=0.015)


def test_a_group_of_rows_is_held_against_its_own_disagreement(fewer):
    truth = people.truth(ROUNDED, 0)
    judged = judged_rows(people.rows_of(people.DESIGNS[ROUNDED], generator(8, 0), 40_000))
    inside = (judged.votes_entropy > 0.2) & (judged.votes_entropy < 0.5)
    gap = (judged.confidence - judged.agreement)[inside].mean()
    assert truth.gap_between(0.2, 0.5) == pytest.approx(gap, abs=0.012)


def test_an_interval_that_lies_elsewhere_is_counted_as_a_miss(fewer, monkeypatch):
    rows = people.rows_of(people.DESIGNS[ROUNDED], generator(0, 0), 400)
    assert sum(people.held(ROUNDED, rows, 0).values()) >= 9
    values = dict.fromkeys(people.truth(ROUNDED, 0).values, 5.0)
    away = people.Truth(values, np.full(15, 5.0), np.zeros(1), np.array([0.0, 5.0]))
    monkeypatch.setattr(people, "truth", lambda *_: away)
    monkeypatch.setattr(people.Truth, "gap_between", lambda *_: 5.0)
    assert not any(people.held(ROUNDED, rows, 0).values())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.nightly] * (name != ROUNDED))
        for name in people.DESIGNS
    ],
)
def test_intervals_hold_the_truth(name, fewer):
    sets, n = 40, 500
    for row in people.cell(name, n, sets, 1):
        if row.claim == people.MORE_SURE:
            assert row.rate * sets <= binom.ppf(0.999, sets, 0.05)
        elif not row.note:
            assert row.rate * sets >= binom.ppf(0.001, sets, 0.93), row
