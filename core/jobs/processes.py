"""Who a process is, who descends from it, and how all of them are ended; Linux's /proc.

A pid alone names nobody: pids are used again. A process is named by the boot it runs in, its pid
and the clock tick it started at.
"""

import ctypes
import os
import platform
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

MARK: Final = "CANDOR_JOB"  # environment variable that every process of a job inherits
PROC: Final = Path("/proc")
LOOK_S: Final = 0.05
KILL_S: Final = 10.0  # how long killed processes may take to go, in a driver for example
_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER of linux/prctl.h


@dataclass(frozen=True)
class ProcessIdentity:
    """One process of one boot.

    Attributes
    ----------
    boot : str
        Identifier of the boot, and of the namespace that the pid belongs to.
    pid : int
    start : int
        Clock ticks from the boot to its start.
    host : str
        Name of the machine.
    """

    boot: str
    pid: int
    start: int
    host: str


@cache
def this_boot() -> str:
    """Return what names this boot and this namespace of pids; empty off Linux."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{(PROC / 'self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


def this_host() -> str:
    """Return the name of this machine."""
    return platform.node()


def identity(pid: int) -> ProcessIdentity | None:
    """Return who has a pid now; None when nobody does, or only a dead process does."""
    stat = _stat(pid)
    if stat is None or stat[0] in "ZX":
        return None
    return ProcessIdentity(this_boot(), pid, stat[2], this_host())


def alive(who: ProcessIdentity) -> bool:
    """Whether this very process runs in this boot."""
    current = identity(who.pid) if who.boot == this_boot() else None
    return current is not None and current.start == who.start


def descendants(pid: int) -> list[int]:
    """Return all that descend from a process, dead ones not yet taken leave of among them."""
    children: dict[int, list[int]] = {}
    for other in _pids():
        stat = _stat(other)
        if stat is not None:
            children.setdefault(stat[1], []).append(other)
    reached, pending = [], [pid]
    while pending:
        for child in children.get(pending.pop(), ()):
            reached.append(child)
            pending.append(child)
    return reached


def marked(mark: str) -> list[int]:
    """Return the processes of this user that inherited a job's mark, this one left out."""
    variable = f"{MARK}={mark}".encode()
    pids = []
    for pid in _pids():
        try:
            words = (PROC / str(pid) / "environ").read_bytes().split(b"\0")
        except OSError:  # gone, or another user's
            continue
        if variable in words and pid != os.getpid() and identity(pid) is not None:
            pids.append(pid)
    return pids


def become_reaper() -> None:
    """Become the parent of every descendant whose own parent ends, also in other sessions."""
    ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)


def end(find: Callable[[], list[int]], grace_s: float) -> bool:
    """End processes: ask them to, and kill those left after the grace; tell whether all went.

    Parameters
    ----------
    find : callable
        Returns those that are still there; asked again and again, as they may start others.
    grace_s : float
        Seconds between asking and killing; 0 kills at once.
    """
    now = time.monotonic()
    killed_from, until = now + grace_s, now + grace_s + KILL_S
    terminated: set[int] = set()
    while remaining := find():
        now = time.monotonic()
        if now > until:
            return False
        for pid in remaining:
            if now >= killed_from:
                _send(pid, signal.SIGKILL)
            elif pid not in terminated:
                terminated.add(pid)
                _send(pid, signal.SIGTERM)
        time.sleep(LOOK_S)
    return True


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


def _pids() -> list[int]:
    try:
        return [int(entry.name) for entry in os.scandir(PROC) if entry.name.isdigit()]
    except OSError:
        return []


def _stat(pid: int) -> tuple[str, int, int] | None:
    """Return state, parent and start of a process; its name may hold any character."""
    try:
        text = (PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return fields[0], int(fields[1]), int(fields[19])
