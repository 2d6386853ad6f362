"""The processes of jobs: starting supervisors, what descends from one or carries its mark."""

import ctypes
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Thread
from typing import IO, Final

import psutil

from core.errors import lacking
from core.jobs.devices import UNSEEN, slots
from core.jobs.records import JobState
from core.jobs.store import JobStore, assigned
from core.process_identity import PROC, identity

MARK: Final = "CANDOR_JOB"  # environment variable that every process of a job inherits
LOOK_S: Final = 0.05
KILL_S: Final = 10.0  # how long killed processes may take to go, in a driver for example
_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER of linux/prctl.h
_PARENT_DEATH: Final = 1  # PR_SET_PDEATHSIG


def descendants(pid: int) -> list[int]:
    """Return all that descend from a process, dead ones not yet taken leave of among them."""
    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def marked(mark: str) -> list[int]:
    """Return the processes of this user that inherited a job's mark, this one left out."""
    # By environment, which children inherit and keep in sessions of their own,
    # where no process tree shows to whom they belong.
    return [
        process.pid
        for process in psutil.process_iter(["environ"])  # None of another user's
        if (process.info["environ"] or {}).get(MARK) == mark
        and process.pid != os.getpid()
        and identity(process.pid) is not None
    ]


def become_reaper() -> None:
    """Become the parent of every descendant whose own parent ends, also in other sessions."""
    ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)


def die_with(parent: int) -> None:
    """Let this process be killed when its parent ends; for use between fork and exec."""
    ctypes.CDLL(None, use_errno=True).prctl(_PARENT_DEATH, signal.SIGKILL, 0, 0, 0)
    # It may have ended before the call, and then nothing would ever be sent.
    if os.getppid() != parent:
        os._exit(1)


def end(find: Callable[[], list[int]], grace_s: float) -> bool:
    """End processes: ask them to, and kill those left after the grace; tell whether all went.

    `find`: returns those that are still there; asked again and again, as they may start others.
    Where it has no file left to look with (OSError) they count as still there. `grace_s`: seconds
    between asking and killing; 0 kills at once.
    """
    now = time.monotonic()
    killed_from, until = now + grace_s, now + grace_s + KILL_S
    terminated: set[int] = set()
    # Looked for again each time: a process that is asked to end may start another on its way out.
    while True:
        try:
            remaining = find()
        except OSError:
            remaining = []
        else:
            if not remaining:
                return True
        now = time.monotonic()
        if now > until:
            return False
        # SIGTERM once to each, that a checkpoint may be written;
        # after the grace SIGKILL, again and again.
        for pid in remaining:
            if now >= killed_from:
                _send(pid, signal.SIGKILL)
            elif pid not in terminated:
                terminated.add(pid)
                _send(pid, signal.SIGTERM)
        time.sleep(LOOK_S)


def reap(pids: list[int]) -> None:
    """Take leave of dead children, so that they do not stay as zombies."""
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue


def step_back(pid: int) -> None:
    """Let a process yield to others: pages stay quick beside it."""
    try:
        os.setpriority(os.PRIO_PROCESS, pid, 10)
        (PROC / str(pid) / "autogroup").write_text("10")  # a session of its own weighs as such
    except OSError:
        return


def _send(pid: int, which: signal.Signals) -> None:
    try:
        os.kill(pid, which)
    except ProcessLookupError:
        return


ROOT: Final = Path(__file__).parents[2]
SUPERVISOR: Final = "core.jobs.supervisor"
MAX_WORDS: Final = 64 * 1024
LOG: Final = logging.getLogger("candor")


def start_what_can(home: Path) -> None:
    """Start a supervisor for each job that can start.

    One that finds its job taken by another meanwhile ends at once.
    """
    store = JobStore(home)
    jobs = store.all()
    if any(job.state is JobState.QUEUED for job in jobs) and not store.paused:
        available = slots()
        # As many supervisors as jobs fit; which job each gets is
        # settled when it claims one in the table.
        for _ in assigned(jobs, available):
            _start(home)
        if UNSEEN in available:
            warn("NVIDIA's driver does not answer")


def _start(home: Path) -> None:
    # A session of its own: neither the end of this process nor Ctrl-C in its terminal reaches it.
    try:
        with _words(home) as words:
            process = subprocess.Popen(
                [sys.executable, "-m", SUPERVISOR, str(home)],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                start_new_session=True,
            )
    except OSError as error:  # no memory or no process left: whoever looks next tries again
        warn(str(lacking(error) or error))
        return
    warn.cache_clear()
    with suppress(RuntimeError):  # no thread left: it stays as a zombie until this process ends
        Thread(target=process.wait, daemon=True).start()


@cache
def warn(why: str) -> None:
    """Say once why jobs wait, though they are looked at every second."""
    LOG.warning("Jobs wait, as none can be started. %s", why)


def _words(home: Path) -> IO[bytes]:
    """Return where supervisors write what they should never have to say."""
    path = home / "jobs" / "supervisors.log"
    with suppress(OSError):
        if path.stat().st_size > MAX_WORDS:
            path.unlink()
    return path.open("ab")
