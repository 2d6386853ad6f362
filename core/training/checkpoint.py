"""Checkpoints: whole or not there, the last two kept, nothing but tensors and plain values; torch.

Written beside and renamed once they are on the disk, so a process that is killed at any moment
leaves the one before untouched.
"""

import copy
import ctypes
import io
import os
import re
import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from threading import RLock, Thread
from typing import Any, Final, Self

import numpy as np
import torch

from core.disk import PART, replace_bytes, storing
from core.errors import LibraryError
from core.training import ranks
from core.training.folder import JobFolder

KEPT: Final = 2
PLAIN: Final = (str, int, float, bool, type(None))
_NAME: Final = re.compile(r"epoch-(\d{5})\.pt")
State = dict[str, Any]  # Any: state dicts of torch


def save(folder: Path, epoch: int, state: State) -> None:
    """Write the state after so many epochs, and remove all but the last two up to it.

    Later ones, which were damaged and not gone on from, are removed too.

    Raises
    ------
    TypeError
        The state holds more than tensors and plain values, which could not be read again.
    LibraryError
        DISK_FULL, or LIBRARY_WRITE; the checkpoints before it are untouched.
    """
    buffer = io.BytesIO()
    torch.save({"sum": checksum(state), "state": state}, buffer)
    path = folder / f"epoch-{epoch:05d}.pt"
    with storing(f"The checkpoint of epoch {epoch}"):
        folder.mkdir(parents=True, exist_ok=True)
        replace_bytes(path, buffer.getbuffer())
    # Later ones than this are of a run that was damaged and begun again further back.
    kept = [file for file in _saved(folder) if file.name <= path.name][-KEPT:]
    for file in set(_saved(folder)) - set(kept):
        file.unlink(missing_ok=True)


class CheckpointWriter:
    """Saves states in a thread, one at a time, so that training goes on meanwhile.

    Leaving it waits for the last one and raises what `save` raised. Where training fails, or its
    process gets SIGTERM, the newest state is saved before the end, however long a step takes.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: Future[None] | None = None
        self._newest: tuple[int, State] | None = None  # until it is on the disk
        self._writing = RLock()

    def keep(self, epoch: int, state: State) -> None:
        """Keep a copy of the state after so many epochs in memory, in place of the one before."""
        self.wait()
        copied = on_host(state)
        with self._writing:  # for ever once the process ends: what is saved then is the newest
            self._newest = epoch, copied

    def save(self, epoch: int, state: State) -> None:
        """Begin to save the state after so many epochs, as it is now."""
        self.keep(epoch, state)
        self._pending = self._thread.submit(self._write)

    def wait(self) -> None:
        """Wait until what was begun is on the disk; errors as of `save`."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def _write(self) -> None:
        with self._writing:
            if self._newest is not None:
                save(self._folder, *self._newest)
                self._newest = None

    def __enter__(self) -> Self:
        # Python runs handlers between two steps of its own only, but writes to this pipe at once.
        ended, signalled = os.pipe()
        os.set_blocking(signalled, False)
        self._pipe_before = signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
        self._before = signal.signal(signal.SIGTERM, lambda *_: None)
        self._signalled, self._parent = signalled, os.getppid()
        Thread(target=self._end_by_signal, args=(ended,), daemon=True).start()
        return self

    def _end_by_signal(self, ended: int) -> None:
        """Save the newest state and end the process, once that gets SIGTERM."""
        with open(ended, "rb", buffering=0) as signals:
            while (number := signals.read(1)) and number[0] != signal.SIGTERM:
                continue
        if not number:
            return
        # Not released: what the thread of training would save from here on is no newer.
        with self._writing:
            with suppress(Exception):  # whatever it is, the process ends
                self._write()
            if not ranks.leads():
                # The first rank is to save and end, too, if this one alone got the signal. It
                # started this one, but for srun, and Fabric would kill it as it saves for an exit
                # code here.
                if not ranks.by_srun() and os.getppid() == self._parent:
                    os.kill(self._parent, signal.SIGTERM)
                os._exit(0)
            # the default; Python asks for the main thread
            ctypes.CDLL(None).signal(signal.SIGTERM, 0)
            os.kill(os.getpid(), signal.SIGTERM)

    def __exit__(self, kind: object, *_: object) -> None:
        self._thread.shutdown()
        try:
            if kind is None:
                self.wait()
            else:
                with suppress(Exception):  # what failed comes first
                    self._write()
        finally:
            signal.signal(signal.SIGTERM, self._before)
            signal.set_wakeup_fd(self._pipe_before)
            os.close(self._signalled)


def on_host(value: Any) -> Any:  # noqa: ANN401  a state, or what stands in one
    """Return a copy whose tensors lie on the host and are no longer trained."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, list | tuple):
        return type(value)(map(on_host, value))
    if not isinstance(value, Mapping):
        return value
    copied: Any = copy.copy(value)  # with the versions that torch notes beside a network's tensors
    for key, inner in value.items():
        copied[key] = on_host(inner)
    return copied


def newest(folder: Path) -> State | None:
    """Return the last state that is whole, or None; unfinished files are removed.

    A checkpoint whose numbers are not those that were written is passed over.
    """
    for unfinished in folder.glob(f".*{PART}"):
        unfinished.unlink(missing_ok=True)
    # From the newest back to one whose checksum holds: torch.load
    # alone does not notice a changed weight.
    for path in reversed(_saved(folder)):
        state = _read(path)
        if state is not None:
            return state
    return None


def of_job(folder: JobFolder) -> State | None:
    """Return the last state of a job that is whole, or None where none was saved yet.

    Raises LibraryError DAMAGED: there are checkpoints, and none can be read. Nothing is trained
    over them.
    """
    state = newest(folder.checkpoints)
    if state is None and _saved(folder.checkpoints):
        raise LibraryError(
            "DAMAGED",
            f"No checkpoint of job {folder.path.name} can be read",
            "restore one, or delete its folder `checkpoint` to train from the start",
        )
    return state


def _read(path: Path) -> State | None:
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        state: State = content["state"]
        return state if checksum(state) == content["sum"] else None
    except Exception:  # noqa: BLE001  one changed byte can make unpickling raise anything
        return None


def _saved(folder: Path) -> list[Path]:
    """Return the checkpoints, the oldest first."""
    return sorted(path for path in folder.glob("*.pt") if _NAME.fullmatch(path.name))


def checksum(state: Mapping[str, object]) -> str:
    """Return a digest over the names, types, shapes and bytes of all that a state holds.

    TypeError when it holds something other than mappings, lists, tuples, tensors, plain values.
    """
    # Over names, types and shapes too: the same bytes as another shape are another state.
    total = blake2b(digest_size=16)
    for line in _lines("", state):
        total.update(line)
    return total.hexdigest()


def _lines(location: str, value: object) -> Iterator[bytes]:
    if isinstance(value, Mapping | list | tuple):
        kind = "mapping" if isinstance(value, Mapping) else type(value).__name__
        yield f"{location} {kind} {len(value)}\n".encode()
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _lines(f"{location}/{key!r}", inner)
    elif isinstance(value, torch.Tensor):
        plain = value.detach().cpu().contiguous()
        yield f"{location} {plain.dtype} {tuple(plain.shape)}\n".encode()
        yield np.ascontiguousarray(plain.view(-1).view(torch.uint8).numpy()).tobytes()
    elif type(value) in PLAIN:
        yield f"{location} {value!r}\n".encode()
    else:
        raise TypeError(f"{location} of a checkpoint is a {type(value).__name__}")
