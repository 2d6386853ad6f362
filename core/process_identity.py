"""Who a process is: a pid alone names nobody, because pids are used again.

A process is named by the boot it runs in, its pid and the clock tick it started at. psutil tells
what runs; the tick and the boot are read from Linux's /proc. psutil gives the start as a time of
day, counted from a moment of booting that moves when the clock is set, so that the time of one
process would not stay the same.
"""

import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")


@dataclass(frozen=True)
class ProcessIdentity:
    """One process of one boot."""

    boot: str  # identifier of the boot, and of the namespace that the pid belongs to
    pid: int
    start: int  # clock ticks from the boot to its start
    host: str  # name of the machine


@cache
def boot_id() -> str:
    """Return what names this boot; empty off Linux."""
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


@cache
def pid_namespace() -> str:
    """Return what names this namespace of pids; empty off Linux."""
    try:
        return str((PROC / "self/ns/pid").stat().st_ino)
    except OSError:
        return ""


def this_boot() -> str:
    """Return what names this boot and this namespace of pids; empty off Linux."""
    boot, namespace = boot_id(), pid_namespace()
    return f"{boot}:{namespace}" if boot and namespace else ""


def this_host() -> str:
    """Return the name of this machine."""
    return platform.node()


def identity(pid: int) -> ProcessIdentity | None:
    """Return who has a pid now; None off Linux, and when nobody or only a dead process has it.

    Raises OSError: nobody can tell: no file or memory is left to look with.
    """
    import psutil  # here alone: what never asks needs none

    try:
        if psutil.Process(pid).status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return None
        # The 22nd field; the second, the name, may hold any character
        text = (PROC / str(pid) / "stat").read_text("utf-8", "replace")
        return ProcessIdentity(
            this_boot(), pid, int(text[text.rindex(")") + 2 :].split()[19]), this_host()
        )
    except (psutil.Error, ProcessLookupError, FileNotFoundError, ValueError):  # no process's number
        return None


def alive(who: ProcessIdentity) -> bool:
    """Whether this very process runs in this boot; OSError as of `identity`."""
    current = identity(who.pid) if who.boot == this_boot() else None
    return current is not None and current.start == who.start
