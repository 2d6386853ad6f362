"""Private folders are private, and those of dead processes are swept."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from core.__main__ import main
from core.readers.sandbox import scratch
from tests.no_files import next_process_unseen

ROOT = Path(__file__).parents[3]
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looked up in /proc")
PATIENCE_S = 120


@pytest.fixture(autouse=True)
def own_temp(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_only_we_may_enter():
    assert scratch.make("read").stat().st_mode & 0o777 == 0o700


def test_a_folder_is_gone_after_its_use():
    with scratch.folder("read") as folder:
        (folder / "arrays").touch()
    assert not folder.exists()


MAKER = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from core.readers.sandbox import scratch
(scratch.make("session") / "upload").mkdir()
print(flush=True)
sys.stdin.read()
"""


@linux
def test_a_dead_process_leaves_nothing_after_a_sweep(tmp_path):
    mine = scratch.make("session")
    command = [sys.executable, "-c", MAKER, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as made:
        made.stdout.readline()
        (other,) = set(tmp_path.iterdir()) - {mine}
        assert scratch.sweep() == []
        made.kill()
        until(lambda: state(made.pid) == "Z")
        assert scratch.sweep() == [other]  # though nobody has taken leave of it
    assert not other.exists()
    assert mine.exists()


@linux
def test_a_folder_stays_where_its_process_cannot_be_seen(monkeypatch):
    mine = scratch.make("session")
    with next_process_unseen(monkeypatch):
        assert scratch.sweep() == []
    assert mine.exists()


@linux
def test_another_process_with_the_same_pid_keeps_nothing_alive(tmp_path):
    mine = scratch.make("read")
    pid, process, place = mine.name.split("-")[1:4]
    assert (int(pid), process) != (os.getpid(), "ffffffff")
    (old := tmp_path / f"candor-{pid}-ffffffff-{place}-read-x").mkdir()
    assert scratch.sweep() == [old]
    assert mine.exists()


def test_a_folder_of_another_machine_or_container_stays_for_two_weeks(tmp_path):
    (new := tmp_path / "candor-999999999-01234567-01234567-read-new").mkdir()
    (old := tmp_path / "candor-999999999-01234567-01234567-read-old").mkdir()
    os.utime(new, (time.time() - 13 * 24 * 3600,) * 2)
    os.utime(old, (time.time() - 15 * 24 * 3600,) * 2)
    assert scratch.sweep() == [old]
    assert new.exists()


@pytest.mark.parametrize(
    "name",
    ["candor-notes", "candor-x-read-1", "other-1-read-1", "candor-1", "candor-1-00000000-read-1"],
)
def test_folders_that_are_not_ours_stay(tmp_path, name):
    (tmp_path / name).mkdir()
    assert scratch.sweep() == []
    assert (tmp_path / name).exists()


def test_a_link_is_not_followed_and_a_file_stays(tmp_path):
    (tmp_path / "precious").mkdir()
    name = scratch.make("read").name.replace(str(os.getpid()), "999999999")
    link = tmp_path / name
    link.symlink_to(tmp_path / "precious", target_is_directory=True)
    (tmp_path / f"{name}2").touch()
    assert scratch.sweep() == []
    assert (tmp_path / "precious").exists()


def test_a_temporary_folder_that_is_gone_is_no_error(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    assert scratch.sweep() == []


SLOW = """
import sys, time
from core.__main__ import main
from core.readers.sandbox import read as sandbox
read = sandbox.run
def slowly(*arguments):
    read(*arguments)
    print(flush=True)
    time.sleep(600)
sandbox.run = slowly
main(sys.argv[1:])
"""


@linux
@pytest.mark.parametrize("later", [["jobs"], ["runs", "list"]])
def test_what_a_killed_command_left_is_gone_after_the_next_start_of_anything(tmp_path, later):
    """Killed between the reader's last array and the first that it would have read."""
    np.savez(tmp_path / "a.npz", logits=np.zeros((40, 3)), labels=np.arange(40) % 3)
    (temp := tmp_path / "temp").mkdir()
    environment = os.environ | {"TMPDIR": str(temp), "CANDOR_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-c", SLOW, "audit", str(tmp_path / "a.npz")]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE) as audit:
        audit.stdout.readline()
        audit.kill()
    assert [path for path in temp.rglob("*.npy") if path.stat().st_size > 40 * 3]
    command = [sys.executable, "-m", "core", *later]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    assert list(temp.iterdir()) == []


def test_a_sweep_that_fails_stops_no_command(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", None)
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: [str(tmp_path / "none")])
    assert main(["jobs"]) == 0


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0]


def until(there) -> None:
    end = time.monotonic() + PATIENCE_S
    while not there():
        assert time.monotonic() < end
        time.sleep(0.005)
