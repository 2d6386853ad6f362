"""Refusals: what they say elsewhere, and with another remedy."""

import errno
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.__main__ import main
from core.commands import shared
from core.disk import open_file
from core.errors import LostWorker, Notice, Refused, UsageError, about, lacking, sentence
from core.jobs.failures import NAME, Follower, tail
from core.readers.predictions.result import undecided


@pytest.mark.parametrize(
    "error",
    [Refused("A", "what", "do", "row 1"), LostWorker("A", "what", "do", "row 1", "a.csv")],
)
def test_a_refusal_says_the_same_of_another_place_or_with_another_remedy(error):
    before = error.to_json()
    assert error.with_location("row 2").to_json() == before | {"where": "row 2"}
    assert error.with_remedy("do not").to_json() == before | {"remedy": "do not"}
    assert error.to_json() == before


def test_a_question_that_is_moved_asks_nothing_any_more():
    question = undecided("either", location="column a")
    moved = question.with_location("column b")
    assert type(moved) is Refused
    assert (moved.code, moved.location) == ("UNDECIDED", "column b")


def test_the_file_being_read_is_named_once_and_the_inner_one_wins():
    with pytest.raises(Refused) as caught, about("scores.csv"), about("labels.csv"):
        raise Refused("A", "Row 2 is empty", "fill it")
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.named() == "labels.csv: Row 2 is empty"
    assert error.named(titled="labels.csv") == "Row 2 is empty"
    assert error.named("film 3") == "film 3: Row 2 is empty"
    assert error.to_json()["file"] == error.with_remedy("do").file == "labels.csv"
    assert Refused("A", "a.csv cannot be opened", "", "", "a.csv").named() == (
        "a.csv cannot be opened"
    )
    assert Refused("A", "Any row", "", "", "a").named() == "a: Any row"


@pytest.mark.parametrize(
    ("clause", "whole"),
    [
        ("choose another file", "Choose another file."),
        ("not used: a, b", "Not used: a, b."),
        ("is it 3?", "Is it 3?"),
        ("Save it again.", "Save it again."),
        ("labels.npy was taken for the labels", "labels.npy was taken for the labels."),
        ("n_train is 3", "n_train is 3."),
        ("", ""),
    ],
)
def test_remedies_and_notices_are_shown_as_sentences(clause, whole):
    assert sentence(clause) == Notice("A", clause).sentence == whole


@pytest.mark.parametrize(
    ("remedy", "options"),
    [
        (
            "name one with --scores-key, and its labels with --labels-key",
            ("--scores-key", "--labels-key"),
        ),
        ("write 0 for -1, or say --classes=-1,1", ("--classes",)),
        ("name the column (--id-column)", ("--id-column",)),
        ("give one label for each row -- or none", ()),
        ("", ()),
    ],
)
def test_a_refusal_knows_the_options_that_its_remedy_names(remedy, options):
    assert Refused("AMBIGUOUS_KEYS", "which are the labels?", remedy).options == options


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [
        (MemoryError(), "LOST_WORKER", "memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "LOST_WORKER", "memory"),
        (ImportError("x.so: failed to map segment from shared object"), "LOST_WORKER", "memory"),
        (
            BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"),
            "LOST_WORKER",
            "process",
        ),
        (RuntimeError("can't start new thread"), "LOST_WORKER", "process"),
        (OSError(errno.ENOSPC, "No space left on device"), "DISK_FULL", "disk"),
        (OSError(errno.EFBIG, "File too large"), "DISK_FULL", "large"),
        (OSError(errno.EMFILE, "Too many open files"), "LOST_WORKER", "file"),
        (OSError(errno.ENAMETOOLONG, "File name too long"), "OUTPUT", "too long"),
    ],
)
def test_what_the_machine_lacks_is_said_and_is_no_bug(error, code, word, monkeypatch, capsys):
    lack = lacking(error)
    assert lack.code == code
    assert word in lack.what

    def fail(_):
        raise error

    monkeypatch.setattr("core.commands.runs._list", fail)
    assert main(["runs", "list"]) == lack.exit_code
    assert capsys.readouterr().err.startswith(f"{code}: {lack.what}; ")


def test_a_home_of_nobody_is_said(monkeypatch, capsys):
    monkeypatch.setenv("CANDOR_HOME", "~nobody-of-this-name/candor")
    assert main(["runs", "list"]) == UsageError.exit_code
    assert capsys.readouterr().err.startswith("OUTPUT: ~nobody-of-this-name/candor begins with")


def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path):
    path = tmp_path / NAME
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(lambda: (tail(tmp_path, 5), Follower(tmp_path).new()))
        try:
            assert reading.result(60) == ([], [])
        finally:
            writer = os.open(path, os.O_RDWR)  # a reader that waits waits no more
    os.close(writer)
    with pytest.raises(OSError, match="Not a file"):
        open_file(path)


def test_what_cannot_be_opened_as_a_file_leaves_nothing_open(tmp_path):
    held = len([*Path("/proc/self/fd").iterdir()])
    for _ in range(3):
        with pytest.raises(OSError, match="Not a file"):
            open_file(tmp_path)
    assert len([*Path("/proc/self/fd").iterdir()]) == held


def test_a_library_that_was_not_mapped_is_a_lack_of_memory_in_the_words_of_its_loader_too():
    error = OSError("Could not find/load shared object file")  # as of llvmlite
    error.__context__ = OSError("libllvmlite.so: failed to map segment from shared object")
    assert "memory" in lacking(error).what


@pytest.mark.parametrize("error", [ValueError("x"), RuntimeError("x"), OSError(errno.EACCES, "x")])
def test_a_bug_stays_one(error):
    assert lacking(error) is None


def test_an_output_is_whole_or_what_was_there_stays(tmp_path, monkeypatch):
    path, link = tmp_path / "report.html", tmp_path / "link.html"
    path.write_text("before")
    path.chmod(0o600)
    link.symlink_to(path)
    shared.write(link, "after, half \ud800")
    assert link.is_symlink()
    assert path.read_text() == "after, half \\ud800"
    assert path.stat().st_mode & 0o777 == 0o600

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for out in (path, tmp_path / "new.html"):
        with pytest.raises(UsageError, match="No space left"):
            shared.write(out, "half")
    assert path.read_text() == "after, half \\ud800"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link.html", "report.html"]


def test_what_is_no_character_is_printed_as_its_code():
    assert shared.printable("a\udce9\u202eb") == "a\\udce9 b"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
@pytest.mark.parametrize(("megabytes", "codes"), [(60, {4}), (100, {4}), (200, {4}), (280, {0, 4})])
def test_with_too_little_memory_a_command_ends_with_a_code_and_no_signal(
    tmp_path, megabytes, codes
):
    """Libraries crash as they are loaded, or once the interpreter ends if loaded by half."""
    limited = f"ulimit -v {megabytes * 1024}; exec {sys.executable} -m core runs list --json -"
    done = subprocess.run(
        ["sh", "-c", limited],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"CANDOR_HOME": str(tmp_path / "home"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
    )
    assert done.returncode in codes
    if done.returncode:
        assert done.stderr.startswith(b"LOST_WORKER: ")
        assert json.loads(done.stdout)["error"]["code"] == "LOST_WORKER"
