"""What is said of jobs: times, places in the queue, sentences and numbers."""

from dataclasses import replace

import pytest

from core.jobs.records import Job, JobState
from core.screens.kit.numbers import about, duration
from core.screens.train import words
from core.screens.train.words import JobProgress
from core.training.folder import Progress

JOB = Job("a1", "train", "AdaFocal on digits", "g", "d" * 8, created=0.0)
HALF = Progress(
    epoch=5, n_epochs=10, batch=2, n_batches=4, images_per_second=999.6, memory=3 * 2**29,
    seconds=9.0, left=42.0,
)  # fmt: skip
COURSE = JobProgress(5, 10, {"val_error": 0.021, "val_ece": 0.034, "images_per_second": 500.0})


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (200, "3 min 20 s"),
        (3_600, "1 h"),
        (7_500, "2 h 5 min"),
        (86_400, "1 day"),
        (200_000, "2 days 7 h"),
    ],
)
def test_durations(seconds, said):
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "about 5 s"),
        (42.0, "about 40 s"),
        (98.0, "about 1 min 40 s"),
        (1_000, "about 17 min"),
        (9_000, "about 2 h"),
        (2_007_078, "about 23 days"),
    ],
)
def test_estimates_have_no_more_digits_than_they_deserve(seconds, said):
    assert about(seconds) == said


def test_share_done_counts_batches():
    assert words.share_done(HALF) == pytest.approx(5.5 / 10)
    assert words.share_done(replace(HALF, epoch=10, batch=0)) == 1.0
    assert words.share_done(replace(HALF, epoch=0, batch=0, n_batches=0)) == 0.0


def test_the_queue_is_ordered_by_priority_then_place():
    first, second, urgent = (
        replace(JOB, id=i, place=place, priority=priority)
        for i, place, priority in (("x", 1, 0), ("y", 2, 0), ("z", 3, 1))
    )
    jobs = [urgent, second, first, replace(JOB, id="r", state=JobState.RUNNING)]
    assert [words.before(job, jobs) for job in (urgent, first, second)] == [0, 1, 2]
    assert words.state_words(second, 2) == "waiting, 2 before it"
    assert words.state_words(urgent, 0) == "waiting, next in line"
    assert "paused" in words.state_words(urgent, 0, paused=True)


def test_every_state_has_a_word_and_stopping_is_said():
    assert {words.state_words(replace(JOB, state=state)) for state in JobState} == set(
        words.STATES.values()
    )
    assert words.state_words(replace(JOB, state=JobState.RUNNING, asked="cancel")) == "stopping"
    assert words.state_words(replace(JOB, state=JobState.CANCELLED, asked="cancel")) == "stopped"


def test_jobs_of_one_submission_stand_together():
    jobs = [replace(JOB, id=i, group=g) for i, g in (("a", "1"), ("b", "2"), ("c", "1"))]
    assert [[job.id for job in group] for group in words.grouped(jobs)] == [["a", "c"], ["b"]]


def said(state, course=COURSE, edition=words.TECHNICAL, *, paused=False, **changes):
    job = replace(JOB, state=state, started=10.0, ended=62.0, **changes)
    found = words.sentence(job, course, "waiting, next in line", edition, paused=paused)
    return found.text, found.second
