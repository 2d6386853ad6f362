"""Studying in the background: the newest runs, a few at a time, each of them once."""

import os
from collections import Counter

import numpy as np
import pytest

from core.errors import LostWorker
from core.library import SAMPLES, Library, RunSource
from core.predictions import Predictions, ScoreKind, Task
from core.studies import background
from core.studies.precomputed import studies_of
from pages.ui import compute
from tests.no_files import no_file_left


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
    run, tried = keep("one"), Counter()
    assert compute.study_newest(tried)
    assert studies_of(Library(home, SAMPLES), run) is not None
    assert set(tried) == {run}  # and no sample, which comes with what is kept of it
    assert not compute.study_newest(tried)


def test_the_newest_runs_come_first_and_none_comes_twice(keep, monkeypatch):
    given = []
    monkeypatch.setattr(compute, "AT_ONCE", 2)
    monkeypatch.setattr(compute, "MOST_RUNS", 3)
    monkeypatch.setattr(compute, "in_background", lambda _function, ids: given.append(ids))
    runs, tried = [keep(f"run {i}") for i in range(4)], Counter()
    while compute.study_newest(tried):
        pass
    assert given == [[runs[3], runs[2]], [runs[1]]]
    late = keep("late")
    assert compute.study_newest(tried)
    assert given[2:] == [[late]]


def test_runs_whose_process_died_are_tried_once_more_each_alone(keep, monkeypatch):
    given, first, second = [], keep("one"), keep("another")

    def dies(_function, run_ids):
        given.append(run_ids)
        if first in run_ids:
            raise LostWorker("LOST_WORKER", "The process died", "try again")

    monkeypatch.setattr(compute, "AGAIN_S", 0.0)
    monkeypatch.setattr(compute, "in_background", dies)
    tried, seen = Counter(), 0
    for _ in range(3):
        seen = compute.study_changed(tried, seen)
    assert seen == background.last_change()
    assert given == [[second, first], [second], [first]]


def test_runs_that_could_not_be_listed_once_are_studied_all_the_same(home, keep, monkeypatch):
    run = keep("one")
    monkeypatch.setattr(compute, "AGAIN_S", 0.0)
    monkeypatch.setattr(compute, "in_background", lambda function, run_ids: function(run_ids))
    monkeypatch.setattr(os, "nice", lambda _: None)
    tried = Counter()
    with no_file_left():
        assert compute.study_changed(tried, -1) == -1
    assert compute.study_changed(tried, -1) == background.last_change()
    assert studies_of(Library(home, SAMPLES), run) is not None


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
