"""What is said of jobs: times, places in the queue, sentences and numbers."""

from dataclasses import replace

import pytest

from core.jobs.devices import Device
from core.jobs.records import Job, JobState
from core.screens.kit.numbers import about, duration, memory
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


def test_progress_in_a_line():
    assert words.progress_words(HALF, words.TECHNICAL) == "Epoch 6 of 10, about 40 s left"
    ended = replace(HALF, epoch=10, left=None)
    assert words.progress_words(ended, words.TECHNICAL) == "Epoch 10 of 10"
    prepares = replace(HALF, epoch=0, left=None, stage="Preparing 900 pictures: 7%")
    assert words.progress_words(prepares, words.PLAIN) == "Preparing 900 pictures: 7%"


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


def test_the_sentence_of_each_state():
    assert said(JobState.RUNNING)[0] == "Training “AdaFocal on digits”."
    assert said(JobState.RUNNING, asked="cancel")[0].startswith("Stopping")
    assert said(JobState.QUEUED)[0] == "“AdaFocal on digits” is waiting, next in line."
    assert said(JobState.QUEUED)[1] == "It starts by itself."
    assert said(JobState.QUEUED, paused=True)[1] == "It starts when the queue resumes."
    assert said(JobState.QUEUED, paused=True, asked="cancel")[1] == ""
    assert said(JobState.CANCELLED)[0] == "“AdaFocal on digits” was stopped after epoch 5 of 10."
    assert "was lost after epoch 5" in said(JobState.LOST)[0]
    none = said(JobState.FAILED, JobProgress(0, 10, {}))[0]
    assert none == "“AdaFocal on digits” failed before the end of its first epoch."
    done, second = said(JobState.SUCCEEDED)
    assert done == "Trained “AdaFocal on digits” in 52 s."
    assert "error 2.1\u202f%, ECE 3.4\u202f%" in second


def test_plain_words_hold_no_jargon():
    for state in (JobState.RUNNING, JobState.SUCCEEDED):
        text = " ".join(said(state, edition=words.PLAIN))
        for word in ("ECE", "validation", "epoch", "error"):
            assert word not in text
    assert "wrong 2.1 times in 100" in said(JobState.SUCCEEDED, edition=words.PLAIN)[1]


def by_label(tiles):
    return {tile.label: tile for tile in tiles}


def test_numbers_of_a_running_job():
    job = replace(JOB, state=JobState.RUNNING, started=1.0)
    found = by_label(words.TECHNICAL.tiles(job, HALF, COURSE))
    assert (found["Epochs"].value, found["Epochs"].unit) == ("5", "of 10")
    assert found["Time left"].value == "about 40 s"
    assert found["Examples per second"].value == "1,000"
    assert found["Memory"].value == "1.5 GiB"
    assert found["Error, validation"].value == "2.1"


def test_numbers_before_anything_is_known_are_dashes():
    job = replace(JOB, state=JobState.STARTING)
    found = by_label(words.TECHNICAL.tiles(job, None, JobProgress(0, 10, {})))
    assert found["Time left"].value == "–"
    assert found["Error, validation"].value == "–"
    assert found["Error, validation"].unit == ""


def test_numbers_of_an_ended_job():
    job = replace(JOB, state=JobState.SUCCEEDED, started=10.0, ended=62.0)
    assert by_label(words.TECHNICAL.tiles(job, None, COURSE))["Took"].value == "52 s"
    plain = words.PLAIN.tiles(job, None, COURSE)
    assert [tile.label for tile in plain][2:] == ["Wrong, in 100", "Off by, points"]
    assert [tile.unit for tile in plain][2:] == ["", ""]
    assert words.progress_words(HALF, words.PLAIN).startswith("Round 6 of 10")


def test_devices_say_what_is_free_and_who_is_on_them():
    gpu = Device(slot="cuda:0", name="H100", free=60 * 2**30, total=80 * 2**30)
    assert words.device_words(gpu) == "cuda:0: H100, 60.0 GiB of 80.0 GiB free"
    assert words.device_words(Device(slot="cpu", name="CPU"), "“x”") == "CPU, busy with “x”"
    assert memory(5 * 2**20) == "5 MiB"
    assert words.device_words(Device(slot="cpu", name="cpu")) == "CPU"
    assert words.device_words(Device(slot="cuda:1", name="cuda:1")) == "cuda:1"
