"""Who a process is: what is stored of running jobs keeps its meaning."""

import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from core import process_identity
from core.jobs import processes
from core.process_identity import alive, identity
from tests.no_files import no_file_left

linux = pytest.mark.skipif(sys.platform != "linux", reason="boots and ticks are those of Linux")
SLEEPER = "import time; print(flush=True); time.sleep(600)"


@pytest.fixture
def child():
    command = [sys.executable, "-c", SLEEPER]
    environment = os.environ | {processes.MARK: "this-test"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as started:
        started.stdout.readline()
        yield started
        started.kill()


@linux
def test_the_start_is_the_tick_of_proc_whatever_the_clock_says(child, monkeypatch):
    fields = Path(f"/proc/{child.pid}/stat").read_text().rsplit(") ", 1)[1].split()
    who = identity(child.pid)
    assert (who.pid, who.start) == (child.pid, int(fields[19]))
    monkeypatch.setattr(psutil, "boot_time", lambda: 0.0)
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: 0.0)
    assert alive(who)
    assert not alive(replace(who, start=who.start + 1))


@linux
def test_the_boot_names_the_namespace_too():
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert process_identity.this_boot() == f"{boot}:{Path('/proc/self/ns/pid').stat().st_ino}"


@linux
def test_a_dead_process_is_nobody_though_nobody_has_waited_for_it(child):
    who = identity(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert identity(child.pid) is None
    assert not alive(who)
    assert child.pid in processes.descendants(os.getpid())  # it still waits to be reaped
    assert processes.marked("this-test") == []


@linux
def test_the_marked_are_those_of_this_very_mark(child):
    assert processes.marked("this-test") == [child.pid]
    assert processes.marked("this") == []


@linux
def test_where_nobody_can_tell_a_process_is_not_taken_for_a_dead_one(child):
    who = identity(child.pid)
    with no_file_left(), pytest.raises(OSError, match="open files"):
        alive(who)


@linux
def test_who_cannot_look_at_once_ends_processes_all_the_same(child):
    look = iter([no_file_left()])

    def find():
        with next(look, nullcontext()):
            return processes.marked("this-test")

    assert processes.end(find, 0.0)
    assert child.wait() == -signal.SIGKILL


def test_a_pid_of_nobody_is_nobody():
    assert identity(2**22 + 1) is None
    assert identity(-1) is None
    assert processes.descendants(2**22 + 1) == []
