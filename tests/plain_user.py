"""A process that is no root, whoever runs the tests, and what the kernel says of its children."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.readers.sandbox.child_process import ROOT

# In a namespace of one user who is 65534 there: files remain this user's, capabilities go by exec.
SCRIPT = """
import ctypes, os, sys
user, group = os.getuid(), os.getgid()
if ctypes.CDLL(None).unshare(0x10000000):
    sys.exit(77)
maps = {"setgroups": "deny", "uid_map": f"65534 {user} 1", "gid_map": f"65534 {group} 1"}
for name, text in maps.items():
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
MAY_LEAVE = "import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x50000000) and 77)"


def start(*arguments):
    """Start Python as a plain user; skip where such a user may not leave the network."""
    if not sys.platform.startswith("linux"):
        pytest.skip("namespaces are Linux's")
    command = [sys.executable, "-c", SCRIPT]
    if subprocess.run([*command, "-c", MAY_LEAVE], cwd=ROOT, check=False).returncode:
        pytest.skip("this kernel lets no plain user leave the network")
    return subprocess.Popen(
        [*command, *arguments], cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def networks(pid):
    """Return the networks that the threads of a process are in, by the kernel's names."""
    return {str((thread / "ns/net").readlink()) for thread in Path(f"/proc/{pid}/task").iterdir()}


def limited_child(process):
    """Return the child of a process once its memory is limited, as it is before it reads."""
    while process.poll() is None:
        for tasks in Path(f"/proc/{process.pid}/task").glob("*/children"):
            for pid in tasks.read_text().split():
                if _space(pid) != _space("self"):
                    return int(pid)
        time.sleep(0.001)
    pytest.fail(f"it ended with {process.returncode} before its child was limited")


def _space(pid):
    limits = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return next(line for line in limits if line.startswith("Max address space"))
