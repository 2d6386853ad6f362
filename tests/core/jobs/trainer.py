"""``python -m tests.core.jobs.trainer FOLDER``: a job's process that does what its name says.

It takes the place of training where that would only cost time: the job's name is a list of words,
carried out in turn. What it did is appended to `truth.txt` beside all jobs.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from core.access import of_process

GRACE_S = 3.0  # that supervisors give: nothing here has anything to write


def main() -> int:
    folder = Path(sys.argv[1])
    in_cluster = folder.name if "SLURM_JOB_ID" in os.environ else ""
    slot = os.environ.get("CUDA_VISIBLE_DEVICES") or in_cluster or "cpu"
    alone = (folder.parent / f".slot-{slot}").open("w")
    fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)  # a slot taken twice, or a job, ends here
    tell(folder, "began", slot)
    for word in json.loads((folder / "spec.json").read_text())["name"].split():
        act, _, value = word.partition(":")
        code = ACTS[act](folder, value)
        if code is not None:
            return code
    return finish(folder)


def finish(folder: Path) -> int:
    part = folder / ".result.part"
    part.write_text(json.dumps({"state": "succeeded", "run": folder.name}))
    part.replace(folder / "result.json")
    tell(folder, "succeeded")
    return 0


def tell(folder: Path, *words: str) -> None:
    with (folder.parent / ".truth.txt").open("a") as file:
        file.write(" ".join((folder.name, *words)) + "\n")


def sleep(folder: Path, value: str) -> None:
    time.sleep(float(value))


def step(folder: Path, value: str) -> None:
    """Epochs of a twentieth of a second, each printed."""
    for n in range(int(value)):
        print(f"epoch {n + 1}", flush=True)
        time.sleep(0.05)


def owner(folder: Path, value: str) -> None:
    """Say who owns what is kept."""
    print(of_process().owner, flush=True)


def wait(folder: Path, value: str) -> None:
    """Wait until a file of that name lies beside the jobs."""
    while not (folder.parent / f".{value}").exists():
        time.sleep(0.02)


def stubborn(folder: Path, value: str) -> None:
    """Ignore SIGTERM, start a child and a grandchild in a session of its own that do too."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    grandchild = "import signal,time; signal.signal(15, 1); time.sleep(600)"
    child = (
        "import signal, subprocess, sys, time; signal.signal(15, 1);"
        f"p = subprocess.Popen([sys.executable, '-c', {grandchild!r}], start_new_session=True);"
        "time.sleep(600)"
    )
    subprocess.Popen([sys.executable, "-c", child])


def polite(folder: Path, value: str) -> None:
    """End with exit code 0 when asked to."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))


def orphan(folder: Path, value: str) -> None:
    """Leave a process behind."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)


def flood(folder: Path, value: str) -> None:
    """Print so many mebibytes."""
    block = (b"x" * 1023 + b"\n") * 1024
    for _ in range(int(value)):
        sys.stdout.buffer.write(block)
    sys.stdout.buffer.write(b"\x1b[31mred\x1b[0m <b>bold</b> nul\0 **end**\n")
    sys.stdout.buffer.flush()


def raise_(folder: Path, value: str) -> None:
    raise {
        "exception": ValueError("three is not two"),
        "memory": MemoryError(),
        "disk": OSError(28, "No space left on device"),
        "import": ModuleNotFoundError("No module named 'nothing'"),
        "cuda": RuntimeError("CUDA error: invalid device ordinal"),
    }[value]


class OutOfMemoryError(RuntimeError):
    """As torch names it."""


def oom(folder: Path, value: str) -> None:
    raise OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")


def deep(folder: Path, value: str) -> None:
    """Run out of memory below so many calls of two kinds, which a traceback does not shorten."""
    deeper(folder, int(value))


def deeper(folder: Path, left: int) -> None:
    if left:
        (lambda: deeper(folder, left - 1))()
    oom(folder, "")


def kill(folder: Path, value: str) -> None:
    os.kill(os.getpid(), getattr(signal, value))
    time.sleep(60)


ACTS = {
    "sleep": sleep,
    "step": step,
    "owner": owner,
    "wait": wait,
    "stubborn": stubborn,
    "polite": polite,
    "orphan": orphan,
    "flood": flood,
    "raise": raise_,
    "oom": oom,
    "deep": deep,
    "kill": kill,
    "exit": lambda folder, value: int(value),
}

if __name__ == "__main__":
    sys.exit(main())
