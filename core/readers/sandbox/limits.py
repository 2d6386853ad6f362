"""Limits on the process that reads: memory, time, files, network, user; set from inside it.

``python -m core.readers.sandbox.limits MODULE NOBODY [ARGUMENT ...]`` leaves the network, then
runs `main` of a module.

What holds where: on Linux memory, processor time, written bytes and core dumps are limited. The
process leaves the network by a namespace of its own where the kernel allows it (as root, or with
unprivileged user namespaces), and on x86-64 and ARM, in containers too, a filter of system calls
lets it make no socket and trace no other process. As root it also becomes the user nobody,
where root may: in a container it may lack the capabilities, or the namespace may hold no other
user. Off Linux only the parent's time limit holds.
"""

import ctypes
import errno
import importlib
import os
import re
import signal
import struct
import sys
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import resource

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
NO_NEW_PRIVILEGES = 38  # prctl
PARENT_DEATH_SIGNAL = 1  # prctl
SET_FILTER, BY_PROGRAM = 22, 2  # prctl, as linux/seccomp.h has them
# Calls that are refused, by their numbers in Linux: socket; ptrace, process_vm_readv,
# process_vm_writev, kcmp; unshare, setns; mount, umount2, pivot_root, chroot; name_to_handle_at,
# open_by_handle_at; add_key, request_key, keyctl; bpf, userfaultfd, perf_event_open.
X86 = (41, 101, 310, 311, 312, 272, 308, 165, 166, 155, 161, 303, 304, 248, 249, 250, 321, 323, 298)
ARM = (198, 117, 270, 271, 272, 97, 268, 40, 39, 41, 51, 264, 265, 217, 218, 219, 280, 282, 241)
# On both: io_uring_setup, as a ring of requests makes sockets without a call; open_tree to fspick
# and pidfd_open; pidfd_getfd, mount_setattr, open_tree_attr.
BOTH = (425, *range(428, 435), 438, 442, 467)
# With names in linux/audit.h, and clone, whose flags of namespaces are refused. Those of clone3 lie
# where no filter can look: the C library takes clone where there is no clone3.
CALLS = {"x86_64": (0xC000003E, 56, X86 + BOTH), "aarch64": (0xC00000B7, 220, ARM + BOTH)}
CLONE3 = 435
NAMESPACES = 0x7E020000
OTHER_CALLS = 0x40000000  # of x86-64: from here on, the same calls with pointers of 32 bits
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # linux/bpf_common.h
NUMBER_OF_CALL, MACHINE, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
ALLOW, FAIL, UNKNOWN = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
NOBODY = 65_534
PROCESSES_OF_NOBODY = 512
STATUS = Path("/proc/self/status")
NEEDED = 1 << 0 | 1 << 6 | 1 << 7  # capabilities CHOWN, SETGID, SETUID


def allow_handles(count: int) -> bool:
    """Let this process, and what it starts, hold so many files open; return whether it may."""
    if sys.platform == "win32":
        return True
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        return False
    if soft != resource.RLIM_INFINITY and soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    return True


def may_become_nobody(status: Path = STATUS) -> bool:
    """Whether this process is root and may hand files and itself to another user."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return False
    try:
        bits = re.search(r"^CapEff:\s*([0-9a-f]+)$", status.read_text(), re.MULTILINE)
    except OSError:
        return False
    return bits is not None and int(bits[1], 16) & NEEDED == NEEDED


def give_to_nobody(folder: Path) -> None:
    """Give a folder to nobody, where a child of this process may become nobody."""
    if may_become_nobody():
        with suppress(OSError):  # a namespace of a single user, or a disk that keeps no owners
            os.chown(folder, NOBODY, NOBODY)


def is_nobodys(folder: Path) -> bool:
    """Whether root has given a folder to nobody, as whom its child then works."""
    root = sys.platform != "win32" and os.geteuid() == 0
    return root and folder.stat().st_uid == NOBODY


def command(module: str, *arguments: str, nobody: bool) -> list[str]:
    """Return the command that runs `main` of a module outside the network."""
    return [sys.executable, "-m", __name__, module, str(int(nobody)), *arguments]


def main() -> int:
    """Leave the network, then run `main` of the module that is named.

    In this order: the kernel gives a plain user a network of its own only while the process has
    one thread, and a thread that is there before stays in the old one. NumPy, Arrow and
    onnxruntime start theirs when they are imported.
    """
    module, nobody = sys.argv[1], sys.argv[2] == "1"
    del sys.argv[1:3]
    leave_network(nobody=nobody)
    status: int = importlib.import_module(module).main()
    return status


def leave_network(*, nobody: bool) -> bool:
    """Move to an empty network, make no sockets and gain no privileges from now on.

    False where the process is still in its old network: the kernel refuses, or a plain user's
    process has a second thread.
    """
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None)
    libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)  # handed on to the threads to come
    left = os.geteuid() == 0 and libc.unshare(CLONE_NEWNET) == 0
    # A namespace of users of its own would hold no nobody.
    left = left or (not nobody and libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0)
    refuse_calls()
    return left


def refuse_calls() -> bool:
    """Refuse calls to this thread and those it starts (EPERM); return whether that holds.

    No sockets, no look into other processes, no namespaces or mounts, and nothing of the parts of
    the kernel that are attacked most and that no reader needs. Takes no privileges once none can be
    gained, and so holds in containers without namespaces, beside a filter of theirs.
    """
    machine = os.uname().machine
    if machine not in CALLS or sys.maxsize < 2**32:
        return False
    audited, clone, refused = CALLS[machine]
    fail = len(refused) + 8  # where the first of the three ends stands
    # A program for the kernel's filter (seccomp BPF): machine, number of the call, then the list.
    steps = [  # operation, steps to skip if so and if not, operand
        (LOAD, 0, 0, MACHINE),
        (EQUAL, 0, fail - 2, audited),
        (LOAD, 0, 0, NUMBER_OF_CALL),
        (AT_LEAST, fail - 4, 0, OTHER_CALLS),
        *((EQUAL, fail - 5 - k, 0, call) for k, call in enumerate(refused)),
        (EQUAL, 4, 0, CLONE3),
        (EQUAL, 0, 4, clone),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (ANY_BIT, 0, 2, NAMESPACES),
        (RETURN, 0, 0, FAIL),
        (RETURN, 0, 0, UNKNOWN),
        (RETURN, 0, 0, ALLOW),
    ]
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    described = struct.pack("@HP", len(steps), ctypes.addressof(program))
    return bool(ctypes.CDLL(None).prctl(SET_FILTER, BY_PROGRAM, described, 0, 0) == 0)


def limit_resources(memory_bytes: int, seconds: int) -> None:
    """Limit address space, processor time, the size of written files and core dumps."""
    if not sys.platform.startswith("linux"):
        return
    for what, amount in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, memory_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        top = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
        resource.setrlimit(what, (top, top))


def open_no_more() -> None:
    """Keep what is open and open nothing else, whatever is named; every module is imported."""
    if sys.platform.startswith("linux"):
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def drop_privileges(*, nobody: bool) -> None:
    """Become nobody, as root may, for good; every module that is needed must be imported by now."""
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None)
    if nobody:
        resource.setrlimit(resource.RLIMIT_NPROC, (PROCESSES_OF_NOBODY, PROCESSES_OF_NOBODY))
        os.setgroups([])
        # The group first: after the user is gone, no right is left to change it.
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    # After the change of user, which clears it: a reader does not outlive who waits for it.
    libc.prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main())
