"""Threads of a training: recorded each epoch, and said where a resume changes them."""

import logging
import os

import pytest
import torch

from core.library import open_library
from core.library.history import from_events
from core.screens.train.words import threads_words
from core.training import job as job_module
from core.training import threads
from core.training.config import from_json
from core.training.folder import JobFolder
from core.training.job import run
from core.training.threads import by_epoch, expected, notices, usual
from tests.core.training.conftest import SMALL

CHANGED = "until then with 1: from there on the numbers may differ in the last bits"


@pytest.fixture
def computing(monkeypatch):
    """Return a function that sets how many threads torch takes; put back afterwards."""
    before = torch.get_num_threads()
    monkeypatch.setenv(threads.CHOSEN, "1")  # else each training sets its own
    yield torch.set_num_threads
    torch.set_num_threads(before)


def counts(folder):
    return by_epoch(from_events(folder.lines())[0])


def warned(caplog):
    return [one.message for one in caplog.records if one.levelno == logging.WARNING]


def test_threads_are_recorded_each_epoch_and_a_change_is_in_the_log(trainer, computing, caplog):
    computing(1)
    trainer(seconds=0.0)
    trainer(seconds=0.0)
    assert warned(caplog) == []
    computing(2)
    trainer(seconds=0.0)
    assert warned(caplog) == [f"Resumed after epoch 2 with 2 threads, {CHANGED}."]
    _, folder, trained = trainer()
    assert trained.finished  # never refused
    assert len(warned(caplog)) == 1
    assert counts(folder) == [1, 1, 2, 2]


def test_a_change_is_kept_with_the_run_and_in_the_result(tmp_path, monkeypatch, computing):
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    folder = JobFolder.make(tmp_path / "job", from_json({**SMALL, "epochs": 2}))
    computing(1)
    assert run(folder, seconds=0.0) is None
    computing(2)
    result = run(folder)
    said = f"resumed after epoch 1 with 2 threads, {CHANGED}"
    assert result["notices"] == [{"code": "THREADS", "text": said}]
    manifest = open_library().get(result["run"])
    assert [(note.code, note.text) for note in manifest.notices] == [("THREADS", said)]
    assert by_epoch(open_library().history(result["run"])) == [1, 2]


def test_of_a_gpu_nothing_is_said(trainer, computing):
    computing(1)
    trainer(seconds=0.0)
    computing(2)
    parts, folder, _ = trainer(seconds=0.0)
    assert len(job_module._notices(folder, parts)) == 1
    assert job_module._notices(folder, _OnGpu(parts)) == ()


class _OnGpu:
    """The parts of a training as a GPU would have them, as far as notices look."""

    def __init__(self, parts):
        self.config, self.data, self.uncompiled = parts.config, parts.data, ()
        self.fabric = type("Fabric", (), {"device": torch.device("cuda")})()


def test_notices_name_every_change_and_skip_what_is_not_known():
    assert notices([2, 2, 2]) == ()
    assert notices([]) == notices([None, 4]) == notices([4, None, 2]) == ()
    first, second = notices([2, 4, 4, 1])
    assert first.text.startswith("resumed after epoch 1 with 4 threads, until then with 2:")
    assert second.text.startswith("resumed after epoch 3 with 1 thread, until then with 4:")


def test_history_without_threads_leaves_them_unknown():
    line = '{"event": "epoch", "epoch": %d, "metrics": {"lr": 0.1%s}, "bins": []}'
    history, _ = from_events([line % (0, ""), line % (1, ', "threads": 4'), line % (2, "")])
    assert by_epoch(history) == [None, 4, None]


def test_page_says_before_a_resume_that_it_would_take_other_threads():
    assert threads_words([2, 2], 4) == (
        "Trained with 2 threads so far; resumed here it uses 4. The last digits of later epochs "
        "may differ."
    )
    assert threads_words([2], 2) == threads_words([], 2) == threads_words([None], 2) == ""
    assert threads_words([2], None) == ""


@pytest.mark.parametrize(
    ("chosen", "found"), [("3", 3), ("4,2", None), ("", None), (None, usual(1))]
)
def test_expected_threads_are_those_that_were_chosen(monkeypatch, chosen, found):
    monkeypatch.delenv(threads.CHOSEN, raising=False)
    if chosen is not None:
        monkeypatch.setenv(threads.CHOSEN, chosen)
    assert expected(1) == found


def test_half_of_the_cores_is_usual(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    assert (usual(1), usual(2), usual(8)) == (4, 2, 1)
