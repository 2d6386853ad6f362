"""A job's folder: events line by line, logits beside them, what is forgotten, how it ended."""

import errno
import json
import math
import os
import resource
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from core.errors import LibraryError, UsageError
from core.jobs.records import BEAT, silence
from core.training import checkpoint
from core.training.config import from_json
from core.training.folder import Epoch, JobFolder

CONFIG = from_json({"data": "digits", "model": "small_cnn", "loss": {"name": "adafocal"}})
BIN = {"bin": 0, "lower": 0.0, "upper": 1.0, "count": 0, "confidence": None, "gamma": 1.0}


def epoch(n: int, **metrics: float) -> Epoch:
    return Epoch(n, {"val_nll": 1.0 / (1 + n)} | metrics, [])


def logits(n: int) -> np.ndarray:
    return np.arange(6, dtype=np.float32).reshape(3, 2) + 10 * n


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    return JobFolder.make(tmp_path / "jobs" / "a1", CONFIG)


@pytest.fixture
def trained(folder: JobFolder) -> JobFolder:
    """Three epochs, with logits."""
    for n in range(3):
        folder.record(epoch(n), logits(n))
    return folder


def epochs(folder: JobFolder) -> list[int]:
    return [line["epoch"] for line in folder.events()]


# The config -------------------------------------------------------------------------------------


def test_the_config_is_kept_and_comes_back(folder):
    assert folder.config() == CONFIG
    assert JobFolder(folder.path).config() == CONFIG
    assert folder.path.stat().st_mode & 0o777 == 0o700


def test_a_folder_is_made_once(folder):
    with pytest.raises(LibraryError) as caught:
        JobFolder.make(folder.path, CONFIG)
    assert caught.value.code == "LIBRARY_WRITE"


@pytest.mark.parametrize(
    ("error", "words"),
    [(errno.EACCES, "may not be read"), (errno.ENOENT, "is not a job's folder")],
)
def test_settings_that_cannot_be_reached_are_not_called_damaged(folder, monkeypatch, error, words):
    def fail(_):
        raise OSError(error, "x")

    monkeypatch.setattr("core.training.folder.read_json", fail)
    with pytest.raises(UsageError, match=words):
        folder.spec()


def test_a_file_in_place_of_the_folder_is_no_job(tmp_path):
    (tmp_path / "a1").touch()
    with pytest.raises(UsageError, match="a1 is not a job's folder"):
        JobFolder(tmp_path / "a1").spec()
    assert JobFolder(tmp_path / "a1").lines() == []


def test_a_pipe_in_place_of_events_or_a_beat_is_not_waited_for(folder):
    for name in ("events.jsonl", BEAT):
        os.mkfifo(folder.path / name)
    errors = []

    def read():
        try:
            assert silence(folder.path) is None
            folder.lines()
        except UsageError as error:
            errors.append(error.what)

    reading = Thread(target=read, daemon=True)  # which pytest does not wait for either
    reading.start()
    reading.join(60)
    assert errors == [f"The epochs of job {folder.path.name} (events.jsonl) cannot be read"]


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff\xfe{}", b"[" * 100_000])
def test_a_folder_without_a_config_is_no_job(content, tmp_path):
    if content is not None:
        (tmp_path / "spec.json").write_bytes(content)
    with pytest.raises(UsageError) as caught:
        JobFolder(tmp_path).config()
    assert caught.value.code == "JOB"
    assert tmp_path.name in caught.value.what


def test_a_config_that_was_changed_to_nonsense_is_refused(folder):
    spec = json.loads((folder.path / "spec.json").read_text())
    (folder.path / "spec.json").write_text(json.dumps(spec | {"epochs": 0}))
    with pytest.raises(UsageError, match="epochs is 0"):
        folder.config()


# Events -----------------------------------------------------------------------------------------


def test_an_epoch_is_one_line_of_plain_json(folder):
    folder.record(Epoch(0, {"lr": 0.1, "val_nll_wrong": math.nan, "x": math.inf}, [BIN]), None)
    (line,) = (folder.path / "events.jsonl").read_text().splitlines()
    assert json.loads(line) == {
        "event": "epoch",
        "epoch": 0,
        "metrics": {"lr": 0.1, "val_nll_wrong": None, "x": None},
        "bins": [BIN],
    }
    assert folder.events() == [json.loads(line)]
    assert folder.lines() == [line]


def test_a_new_job_has_no_events_no_logits_no_state_and_no_end(folder):
    assert (folder.lines(), folder.events()) == ([], [])
    assert folder.validation() is None
    assert checkpoint.of_job(folder) is None
    assert folder.result() is None


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_a_last_line_cut_anywhere_is_left_out_and_dropped_before_going_on(share, folder):
    for n in range(2):
        folder.record(Epoch(n, {"val_nll": 0.25}, [BIN]), None)
    events = folder.path / "events.jsonl"
    first, second = events.read_bytes().splitlines(keepends=True)
    events.write_bytes(first + second[: int(share * (len(second) - 2))])
    assert epochs(folder) == [0]
    folder.forget_after(1)
    folder.record(epoch(1), None)
    assert epochs(folder) == [0, 1]
    assert len(folder.lines()) == 2


@pytest.mark.parametrize("rubbish", [b"\0" * 40, b'{"event": "epoch"', b"\n"])
def test_what_follows_a_damaged_line_is_not_believed(rubbish, trained):
    events = trained.path / "events.jsonl"
    lines = events.read_bytes().splitlines(keepends=True)
    events.write_bytes(lines[0] + rubbish + b"\n" + lines[2])
    assert epochs(trained) == [0]


# Going on ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_epochs_that_will_be_trained_again_are_forgotten(n, trained):
    kept = trained.lines()[:n]
    trained.forget_after(n)
    assert trained.lines() == kept
    assert epochs(trained) == list(range(n))
    for again in range(n, 3):
        trained.record(epoch(again, val_nll=9.0), logits(again) + 0.5)
    assert [line["metrics"]["val_nll"] == 9.0 for line in trained.events()] == [
        e >= n for e in range(3)
    ]
    wanted = [(logits(e) + 0.5 * (e >= n)).tolist() for e in range(3)]
    assert trained.validation().tolist() == wanted


def test_numbers_of_epochs_that_stay_are_not_rounded(folder):
    exact = {"a": 0.1 + 0.2, "b": 5e-324, "c": 1.7976931348623157e308, "d": -0.0}
    folder.record(epoch(0, **exact), None)
    before = folder.lines()
    folder.record(epoch(1), None)
    folder.forget_after(1)
    assert folder.lines() == before
    found = folder.events()[0]["metrics"]
    assert {key: found[key].hex() for key in exact} == {k: v.hex() for k, v in exact.items()}


@pytest.mark.parametrize(
    "lost", [lambda lines: lines[:2], lambda lines: lines[1:], lambda lines: lines[::-1]]
)
def test_a_history_with_holes_is_not_gone_on_from(lost, trained):
    events = trained.path / "events.jsonl"
    text = "\n".join(lost(trained.lines())) + "\n"
    events.write_text(text)
    with pytest.raises(UsageError) as caught:
        trained.forget_after(3)
    assert caught.value.code == "JOB"
    assert events.read_text() == text


# Logits -----------------------------------------------------------------------------------------


def test_logits_of_all_epochs_are_stacked_in_order(trained):
    found = trained.validation()
    assert found.dtype == np.float32
    assert found.tolist() == [logits(n).tolist() for n in range(3)]


def test_logits_are_kept_as_they_read_not_as_they_lie(folder):
    transposed = np.arange(6.0).reshape(2, 3).T
    folder.record(epoch(0), transposed)
    assert folder.validation()[0].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_logits_of_one_epoch_missing_leaves_none(trained):
    (trained.path / "validation" / "epoch-00001.safetensors").unlink()
    assert trained.validation() is None


def test_logits_of_forgotten_epochs_are_not_read(trained):
    trained.forget_after(2)
    assert len(trained.validation()) == 2


def test_an_epoch_that_does_not_fit_is_said_and_leaves_those_before(trained):
    large = np.zeros((1000, 10), np.float32)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        with pytest.raises(LibraryError) as caught:
            trained.record(epoch(3), large)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.code == "DISK_FULL"
    assert caught.value.what.startswith("Epoch 4 cannot be written")
    assert epochs(trained) == [0, 1, 2]
    assert len(trained.validation()) == 3
    assert len(list((trained.path / "validation").iterdir())) == 3


# The end ----------------------------------------------------------------------------------------


def test_how_a_job_ended_is_written_and_forgotten_when_it_begins_again(folder):
    done = {"state": "succeeded", "run": "r1", "seconds": 1.5, "notices": []}
    folder.finish(done)
    assert folder.result() == done
    folder.finish(done | {"run": "r2"})
    assert folder.result()["run"] == "r2"
    folder.begin()
    assert folder.result() is None
    folder.begin()


@pytest.mark.parametrize("content", [b"", b'{"state": "succ', b"[]", b'"done"', b"\xff", b"NaN"])
def test_an_end_that_cannot_be_read_is_none(content, folder):
    (folder.path / "result.json").write_bytes(content)
    assert folder.result() is None


def test_the_state_is_kept_by_epoch(folder):
    checkpoint.save(folder.checkpoints, 1, {"epoch": 1})
    checkpoint.save(folder.checkpoints, 2, {"epoch": 2})
    assert checkpoint.of_job(folder) == {"epoch": 2}
    assert (folder.path / "checkpoint" / "epoch-00002.pt").exists()


def test_a_job_is_trained_by_one_process_at_a_time(tmp_path):
    folder = JobFolder.make(tmp_path / "home" / "jobs" / "one", CONFIG)
    assert (tmp_path / "home").stat().st_mode & 0o077 == 0
    held = folder.lock()
    with pytest.raises(UsageError, match="Job one is running"):
        JobFolder(folder.path).lock()
    held.close()
    folder.lock().close()
