"""Private folders are private, and those of dead processes are swept."""

import subprocess
import sys
from pathlib import Path

import pytest

from core.readers import scratch


@pytest.fixture(autouse=True)
def own_temp(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_only_we_may_enter():
    assert scratch.make("read").stat().st_mode & 0o777 == 0o700


def test_a_dead_process_leaves_nothing_after_a_sweep(tmp_path):
    mine = scratch.make("session")
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    left = tmp_path / f"candor-{done.pid}-session-abc"
    (left / "upload").mkdir(parents=True)
    assert scratch.sweep() == [left]
    assert not left.exists()
    assert mine.exists()


@pytest.mark.parametrize("name", ["candor-notes", "candor-x-read-1", "other-1-read-1", "candor-1"])
def test_folders_that_are_not_ours_stay(tmp_path, name):
    (tmp_path / name).mkdir()
    assert scratch.sweep() == []
    assert (tmp_path / name).exists()


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "precious").mkdir()
    link = tmp_path / "candor-999999999-read-x"
    link.symlink_to(tmp_path / "precious", target_is_directory=True)
    assert scratch.sweep() == []
    assert Path(tmp_path / "precious").exists()
