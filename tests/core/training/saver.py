"""A process that saves checkpoints, to be killed while it does; and one that fills a small disk.

`python -m tests.core.training.saver loop` reads folders from stdin, a line each. For each it forks
a child that goes on from the newest checkpoint there and saves one after another. Printed are the
child's pid, then every epoch whose saving has returned, then "dead". `threaded` in the place of
`loop` saves in a thread, and prints an epoch once the next is begun. `stuck FOLDER` keeps epochs
and then hangs; with a second folder it is the first of two ranks, and prints the pid of the other.
`keep FOLDER` prints an epoch and keeps it, one after another, and saves slowly.
Torch is imported once, and never used before a fork.
"""

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import torch

from core.errors import LibraryError
from core.training import checkpoint

FLOATS = 50_000  # 200 kB: a killed process can leave half a file


def state_of(epoch: int) -> checkpoint.State:
    """The state after so many epochs; no two are alike."""
    generator = torch.Generator().manual_seed(epoch)
    return {
        "epoch": epoch,
        "net": {"weight": torch.randn(FLOATS, generator=generator)},
        "optimizer": {"state": {0: {"step": torch.tensor(float(epoch))}}, "lr": 1.0 / (1 + epoch)},
    }


def loop(save_for_ever: Callable[[Path], None]) -> None:
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            save_for_ever(Path(line.strip()))
        os.waitpid(pid, 0)
        say("dead")


def save_for_ever(folder: Path) -> None:
    say(os.getpid())
    epoch = last_epoch(folder)
    while True:
        epoch += 1
        checkpoint.save(folder, epoch, state_of(epoch))
        say(epoch)


def save_in_a_thread_for_ever(folder: Path) -> None:
    say(os.getpid())
    first = epoch = last_epoch(folder)
    with checkpoint.CheckpointWriter(folder) as writer:
        while True:
            epoch += 1
            writer.save(epoch, state_of(epoch))
            if epoch - 1 > first:
                say(epoch - 1)


def be_stuck(folder: Path) -> None:
    """Save an epoch, keep two more, and never come back from a call, as some drivers' do."""
    with checkpoint.CheckpointWriter(folder) as writer:
        writer.save(1, state_of(1))
        for epoch in (2, 3):
            writer.keep(epoch, state_of(epoch))
        say("kept")
        locked = (ctypes.c_long * 16)()  # a mutex; the second lock waits for ever
        for _ in range(2):
            ctypes.CDLL(None).pthread_mutex_lock(locked)


def keep_for_ever(folder: Path) -> None:
    save = checkpoint.save

    def save_slowly(*of: Any) -> None:
        save(*of)
        time.sleep(0.5)

    checkpoint.save = save_slowly
    with checkpoint.CheckpointWriter(folder) as writer:
        for epoch in count(1):
            say(epoch)
            writer.keep(epoch, state_of(epoch))


def last_epoch(folder: Path) -> int:
    found = checkpoint.newest(folder)
    return found["epoch"] if found else 0


def say(what: object) -> None:
    os.write(1, f"{what}\n".encode())


def fill(folder: Path) -> None:
    """Save until the disk is full, and print what was said and what is left."""
    epoch, code = 0, None
    while code is None and epoch < 99:
        epoch += 1
        try:
            checkpoint.save(folder, epoch, state_of(epoch))
            (folder / f"ballast-{epoch}").write_bytes(bytes(4 * FLOATS))
        except LibraryError as error:
            code = error.code
        except OSError:
            continue  # the ballast found no room; the next checkpoint will not either
    left = checkpoint.newest(folder)
    print(
        json.dumps(
            {
                "code": code,
                "failed": epoch,
                "left": left["epoch"] if left else None,
                "whole": left is not None
                and checkpoint.checksum(left) == checkpoint.checksum(state_of(left["epoch"])),
                "files": sorted(path.name for path in folder.iterdir() if "epoch" in path.name),
            }
        )
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1] == "loop":
        loop(save_for_ever)
    elif sys.argv[1] == "threaded":
        loop(save_in_a_thread_for_ever)
    elif sys.argv[1] == "stuck":
        for folder in sys.argv[3:]:  # started as Fabric starts it
            command = [sys.executable, "-m", "tests.core.training.saver", "stuck", folder]
            say(subprocess.Popen(command, env=os.environ | {"LOCAL_RANK": "1"}).pid)
        be_stuck(Path(sys.argv[2]))
    elif sys.argv[1] == "keep":
        keep_for_ever(Path(sys.argv[2]))
    else:
        fill(Path(sys.argv[2]))
