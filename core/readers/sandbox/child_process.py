"""A confined child process, seen from the parent: start it, wait for it, end it, judge its end."""

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from io import FileIO
from pathlib import Path
from typing import Any

from core.arrays import Stamp, stamp_of
from core.errors import LostWorker, Refused, changed
from core.readers.formats.archive import GZIP_MAGIC
from core.readers.formats.contents import FileBytes
from core.readers.formats.sniff import FileFormat
from core.readers.predictions.result import ReadOptions
from core.readers.sandbox import scratch
from core.readers.sandbox.limits import command, give_to_nobody, is_nobodys
from core.readers.sandbox.readers import GIB, Reader
from core.readers.sandbox.wire import NEW, RESULT, open_left

log = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[3]
WINDOWS = sys.platform == "win32"
POLL_S = 0.02
DIGEST_BLOCK = 2**20
PACKED = (GZIP_MAGIC, *(start for form in FileFormat if form.packed for start in form.starts))
OUT_OF_MEMORY, NO_ROOM = 13, 14  # exit codes of the child; see core.readers.sandbox.child
CHILD = "core.readers.sandbox.child"
ERRORS = "stderr.txt"
JOB = "job.json"
AGAIN = "try again with a smaller file, or save it as .npz, .npy or .safetensors"


@dataclass(frozen=True)
class OpenFile:
    """One open file with the name a user knows it by, and its stamp when it was opened."""

    file: FileIO
    name: str
    stamp: Stamp = field(init=False)

    def __post_init__(self) -> None:
        """Look at the file as it was opened."""
        object.__setattr__(self, "stamp", stamp_of(self.file.fileno()))

    @property
    def size(self) -> int:
        """Number of bytes."""
        return os.fstat(self.file.fileno()).st_size

    @property
    def packed(self) -> bool:
        """Whether its bytes may become many more in memory."""
        self.file.seek(0)
        return self.file.read(max(map(len, PACKED))).startswith(PACKED)

    @property
    def handle(self) -> int | str:
        """What the child opens: the descriptor, or the path on Windows."""
        return str(Path(self.file.name).resolve()) if WINDOWS else self.file.fileno()

    @property
    def bytes(self) -> FileBytes:
        """The bytes, mapped."""
        return FileBytes.of_file(self.name, self.file)

    def digest_into(self, state: blake2b) -> None:
        """Add the bytes to a digest, block by block."""
        self.file.seek(0)
        while block := self.file.read(DIGEST_BLOCK):
            state.update(block)


def digest_of(inputs: Iterable[OpenFile]) -> str:
    """Return the digest of all bytes, 32 hexadecimal digits."""
    state = blake2b(digest_size=16)
    for item in inputs:
        item.digest_into(state)
    return state.hexdigest()


def refuse_changed(inputs: Iterable[OpenFile]) -> None:
    """Refuse files that somebody wrote to since they were opened: CHANGED."""
    for item in inputs:
        if stamp_of(item.file.fileno()) != item.stamp:
            raise changed(item.name)


def opened(stack: ExitStack, path: Path, name: str | None) -> OpenFile:
    """Open a file until the stack ends; FORMAT_UNKNOWN where it cannot be."""
    try:
        # Unbuffered: the child shares the position, which a buffer of ours would not notice.
        file = stack.enter_context(path.open("rb", buffering=0))
    except OSError as error:
        what = f"{name or path.name} cannot be opened ({error.strerror})"
        raise Refused("FORMAT_UNKNOWN", what, "check the path and the permissions") from error
    return OpenFile(file, name or path.name)


@contextmanager
def private_folder() -> Iterator[Path]:
    """Make a folder that only the child and we can enter, gone afterwards whatever happens."""
    try:
        folder = scratch.make("read")
    except OSError as error:
        raise _no_room(f"it cannot be written ({error.strerror})") from error
    try:
        give_to_nobody(folder)
        yield folder
    finally:
        scratch.remove(folder)


def memory_for(reader: Reader[Any, Any], inputs: Mapping[str, OpenFile]) -> int:
    """Return the address space that reading these files may take; shards count as one file."""
    packed = {role: item.packed and reader.unpacks for role, item in inputs.items()}
    unpacked_files = {role.partition(" ")[0] for role in packed if packed[role]}
    sizes = (item.size * (8 if packed[role] else 3) for role, item in inputs.items())
    return reader.base_bytes + GIB * len(unpacked_files) + sum(sizes)


def job_of(
    reader: Reader[Any, Any],
    inputs: Mapping[str, OpenFile],
    options: ReadOptions,
    folder: Path,
    memory_bytes: int,
    timeout_s: float,
) -> dict[str, object]:
    """Return what the child is told, as plain JSON."""
    return {
        "reader": reader.name,
        "files": {role: {"name": f.name, "input": f.handle} for role, f in inputs.items()},
        "options": options.to_json(),
        "folder": str(folder),
        "nobody": is_nobodys(folder),
        "memory_bytes": memory_bytes,
        "seconds": int(timeout_s) + 1,
    }


def environment() -> dict[str, str]:
    """Nothing of ours but what a quiet, single-threaded interpreter needs."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    inherited = {key: os.environ[key] for key in ("SYSTEMROOT", "PATH") if key in os.environ}
    return {
        **inherited,
        **dict.fromkeys(threads, "1"),
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "ORT_DISABLE_TELEMETRY": "1",  # else ONNX Runtime keeps a number of the machine at home
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "random",
    }


def run(
    job: Mapping[str, object],
    inputs: Iterable[OpenFile],
    timeout_s: float,
    cancel: threading.Event | None,
) -> None:
    """Start the child and wait for its result, the clock, or the user."""
    folder = Path(str(job["folder"]))
    # O_EXCL: a file or link that somebody put there first is not written through.
    with os.fdopen(os.open(folder / JOB, NEW, 0o600), "wb") as file:
        file.write(json.dumps(job).encode())  # of many shards too long for an argument
    with os.fdopen(os.open(folder / ERRORS, NEW, 0o600), "wb") as errors:
        try:
            # Descriptors of the inputs and no paths: the child needs no right to their folders.
            child = subprocess.Popen(
                command(CHILD, str(folder / JOB), nobody=bool(job["nobody"])),
                cwd=ROOT,
                env=environment(),
                pass_fds=() if WINDOWS else [item.file.fileno() for item in inputs],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            what = f"The reading process could not be started ({error.strerror})"
            remedy = "free memory, or raise the limits of memory and processes"
            raise LostWorker("LOST_WORKER", what, f"{remedy} (ulimit -v, ulimit -u)") from error
    deadline = time.monotonic() + timeout_s
    try:
        while not _exited(child):
            if cancel is not None and cancel.is_set():
                raise Refused("CANCELLED", "Reading was cancelled", "start it again when you like")
            if time.monotonic() > deadline:
                what = f"Reading took longer than {timeout_s:g} seconds"
                raise Refused("LIMIT_TIME", what, AGAIN)
            time.sleep(POLL_S)
    finally:  # killed, with whatever it started, and reaped
        if WINDOWS:
            child.kill()
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    # A child that ends with 0 and leaves no result has not read the file.
    code = child.returncode
    if code == 0 and (folder / RESULT).exists():
        return
    if code == -getattr(signal, "SIGXCPU", 0):
        raise Refused("LIMIT_TIME", "Reading took too much CPU time", AGAIN)
    if code == OUT_OF_MEMORY:
        what = "Reading needs more memory than the file's size allows"
        raise Refused("LIMIT_MEMORY", what, AGAIN)
    if code == NO_ROOM:
        raise _no_room("there is no room in it")
    if code == -signal.SIGABRT:
        what = "A decoder gave the file up: it is damaged, or memory is short"
        raise Refused("FORMAT_UNKNOWN", what, "write or download it again, or save it as .npz")
    log.error("reading child ended with %d: %s", code, last_line(folder))
    died = f"signal {-code}" if code < 0 else f"code {code}"
    raise LostWorker("LOST_WORKER", f"The reading process ended with {died}", "read the file again")


def _exited(child: subprocess.Popen[bytes]) -> bool:
    """Whether the child ended; it is not reaped yet, so that its group's number stays taken."""
    if WINDOWS:
        return child.poll() is not None
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def _no_room(why: str) -> Refused:
    what = f"The result of reading goes through the temporary folder, and {why}"
    return Refused("QUOTA", what, "free space there, or set TMPDIR to another folder")


def last_line(folder: Path) -> str:
    """Where the child failed, for the server's log: the place, not the values it met."""
    try:
        with open_left(folder / ERRORS) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 4_000))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return "no trace"
    return next((line.strip() for line in reversed(lines) if line.startswith("  File")), "no trace")
