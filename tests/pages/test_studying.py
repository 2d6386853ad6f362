"""Studying in the background: the newest runs, a few at a time, each of them once."""

import os

import numpy as np
import pytest

from core.library import SAMPLES, Library, RunSource
from core.predictions import Predictions, ScoreKind, Task
from core.studies import background
from core.studies.precomputed import studies_of
from pages.ui import studying


@pytest.fixture
def keep(home):
    def kept(name):
        rng = np.random.default_rng(0)
        rows = Predictions(
            Task.MULTICLASS, ScoreKind.LOGITS, rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
        )
        source = RunSource("f.npz", "0" * 32)
        return Library(home, SAMPLES).keep(name, {"test": rows}, source=source, summary={}).id

    return kept


def test_a_run_is_studied_by_a_process(home, keep):
    run, tried = keep("one"), set()
    assert studying.study_newest(tried)
    assert studies_of(Library(home, SAMPLES), run) is not None
    assert tried == {run}  # and no sample, which comes with what is kept of it
    assert not studying.study_newest(tried)


def test_the_newest_runs_come_first_and_none_comes_twice(keep, monkeypatch):
    given = []
    monkeypatch.setattr(studying, "AT_ONCE", 2)
    monkeypatch.setattr(studying, "MOST_RUNS", 3)
    monkeypatch.setattr(studying, "in_background", lambda _function, ids: given.append(ids))
    runs, tried = [keep(f"run {i}") for i in range(4)], set()
    while studying.study_newest(tried):
        pass
    assert given == [[runs[3], runs[2]], [runs[1]]]
    late = keep("late")
    assert studying.study_newest(tried)
    assert given[2:] == [[late]]


def test_a_run_that_comes_or_goes_is_noticed(home, keep):
    assert background.last_change() == 0
    run = keep("one")
    os.utime(home / "runs", (0, 0))
    keep("another")
    with_two = background.last_change()
    assert with_two > 0
    os.utime(home / "runs", (0, 0))
    Library(home, SAMPLES).delete(run)
    assert background.last_change() >= with_two
