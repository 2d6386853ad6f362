"""Calls to a warm process that holds torch: one at a time, within a time, never mixed up; no torch.

A call that crashes, hangs or eats the memory takes only that process with it: the caller is told,
and the next call finds a new one.
"""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Lock, Thread
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt
import psutil

from core.errors import AuditError, LostWorker, Refused

ROOT: Final = Path(__file__).parents[2]
WORKER: Final = "core.inference.worker"
TIMEOUT_S: Final = 300.0
LOOK_S: Final = 0.2
MEMORY_SHARE: Final = 0.75  # of the machine's, that the process may hold
SMALLER: Final = "try a smaller batch size, or evaluate in the background"
Json = dict[str, Any]  # Any: plain JSON values
Arrays = dict[str, npt.NDArray[Any]]  # Any: numbers of several types
log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Answer:
    """What a call found: plain values, and arrays by name."""

    values: Json
    arrays: Arrays


@dataclass(frozen=True)
class CallLimits:
    """Until when a call may take, and what stops it before."""

    deadline: float
    timeout_s: float
    cancel: Event | None


class Client:
    """A warm process and the means to ask it; threads wait for one another.

    Parameters
    ----------
    module : str
        What is run: it speaks as `core.inference.worker` does.
    memory_bytes : int, optional
        Resident memory beyond which the process is ended; three quarters of the machine's by
        default.
    sibling : Client, optional
        With whom it shares that memory. Once both hold more together, an idle process is ended
        first, else the larger.
    """

    def __init__(
        self, module: str = WORKER, memory_bytes: int | None = None, sibling: "Client | None" = None
    ) -> None:
        self._module = module
        self._memory = memory_bytes or int(MEMORY_SHARE * _machine_memory())
        self._lock = Lock()
        self._ids = count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: Queue[tuple[Json, Arrays] | None] = Queue()
        self._answered = False
        self._sibling = sibling
        if sibling is not None:
            sibling._sibling = self

    @property
    def warm(self) -> bool:
        """Whether the process runs and has answered: its first answer waits for its imports."""
        process = self._process
        return self._answered and process is not None and process.poll() is None

    def call(
        self,
        name: str,
        question: Mapping[str, Any],
        *,
        timeout_s: float = TIMEOUT_S,
        cancel: Event | None = None,
    ) -> Answer:
        """Ask, and wait for the answer.

        `name`: one of `core.inference.calls.CALLS`; `timeout_s`: seconds until the process is
        ended; waiting for other calls is not counted.

        Raises
        ------
        AuditError
            What the call refused; LIMIT_TIME, LIMIT_MEMORY, CANCELLED.
        LostWorker
            The process died, or answered something else.
        """
        # In steps, so that a call that is cancelled does not wait for its turn first.
        while not self._lock.acquire(timeout=LOOK_S):
            if cancel is not None and cancel.is_set():
                raise _cancelled()
        try:
            if cancel is not None and cancel.is_set():
                raise _cancelled()
            limits, number = (
                CallLimits(time.monotonic() + timeout_s, timeout_s, cancel),
                next(self._ids),
            )
            message = {"id": number, "call": name, "asked": dict(question)}
            request = json.dumps(message).encode() + b"\n"
            answer = self._next_answer(request, limits)
            if answer is None:  # it had just ended for want of work
                answer = self._next_answer(request, limits)
            if answer is None:
                raise _lost("code 0")
            reply, arrays = answer
            # An answer to another question: the pipe is out of step, and
            # the process cannot be trusted any more.
            if reply.get("id") != number:
                self._end()
                raise _lost("it answered something else")
            if "error" not in reply:
                return Answer(reply["found"], arrays)
            error = reply["error"]
            refusal = AuditError(*(str(error[key]) for key in ("code", "what", "remedy", "where")))
            refusal.exit_code = int(error["exit_code"])
            raise refusal
        finally:
            self._lock.release()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _next_answer(self, request: bytes, limits: "CallLimits") -> tuple[Json, Arrays] | None:
        """Send a request and return the next answer, or None where the process ended in peace.

        Another thread sends: the process may not read before its imports are done.
        """
        if self._process is None or self._process.poll() is not None:
            self._end()
            # Half of the cores, no GPU: pages are served from the
            # same machine, and jobs have the GPUs.
            threads = str(max(1, (os.cpu_count() or 1) // 2))
            self._process = subprocess.Popen(
                [sys.executable, "-m", self._module, str(os.getpid())],
                cwd=ROOT,
                env=os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": threads},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            self._answers = Queue()
            self._answered = False
            assert self._process.stdout is not None
            reading = Thread(target=_read, args=(self._process.stdout, self._answers), daemon=True)
            reading.start()
        process = self._process
        Thread(target=_send, args=(process.stdin, request), daemon=True).start()
        while True:
            try:
                answer = self._answers.get(timeout=LOOK_S)
            except Empty:
                self._check(process, limits)
                continue
            if answer is not None:
                self._answered = True
                return answer
            with suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_S)  # its output ends a moment before it does
            # No answer and an end: code 0 is a process that nobody
            # needed for a while, all else a crash.
            code = process.poll()
            self._end()
            if code == 0:
                return None
            if code is None:
                raise _lost("no valid answer")
            if code == -signal.SIGKILL:
                what = "The model's process was killed; memory may have run out"
                raise Refused("LIMIT_MEMORY", what, SMALLER)
            raise _lost(f"signal {-code}" if code < 0 else f"code {code}")

    def _check(self, process: "subprocess.Popen[bytes]", limits: "CallLimits") -> None:
        """End the process where it must not go on, and say why."""
        refusal: Refused | None = None
        if limits.cancel is not None and limits.cancel.is_set():
            refusal = _cancelled()
        elif time.monotonic() > limits.deadline:
            what = f"The model gave no answer within {limits.timeout_s:g} seconds"
            refusal = Refused("LIMIT_TIME", what, SMALLER)
        elif self._exceeds(process.pid):
            what = f"Models that run here took more than {self._memory / 2**30:.1f} GiB of memory"
            refusal = Refused("LIMIT_MEMORY", what, SMALLER)
        if refusal is not None:
            self._end()
            raise refusal

    def _exceeds(self, pid: int) -> bool:
        """Whether the process must end for want of memory; frees that of an idle sibling first."""
        own, sibling = _resident(pid), self._sibling
        process = sibling._process if sibling is not None else None
        if own > self._memory or sibling is None or process is None:
            return own > self._memory
        other = _resident(process.pid)
        if own + other <= self._memory:
            return False
        # Idle, if nobody holds its lock: it costs a few seconds to
        # start again, a call costs its answer.
        if sibling._lock.acquire(blocking=False):
            try:
                sibling._end()
            finally:
                sibling._lock.release()
            return False
        return own >= other

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:  # else its number may be another's by now
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        assert process.stdin is not None
        with suppress(OSError):  # what was not sent yet
            process.stdin.close()
        process.wait()


def shared(*, programs: bool = False) -> Client:
    """Return the client that all sessions of this server share, or that of models as programs."""
    return _OF_PROGRAMS if programs else _SHARED


def _send(requests: IO[bytes], request: bytes) -> None:
    """Hand a request over; of a process that is gone the other end tells."""
    with suppress(OSError, ValueError):
        requests.write(request)
        requests.flush()


def _read(out: IO[bytes], answers: "Queue[tuple[Json, Arrays] | None]") -> None:
    """Put answers into the queue as they come, and None when there are no more."""
    try:
        while line := out.readline():
            reply: Json = json.loads(line)
            arrays = {}
            for name, dtype, shape in reply.pop("arrays"):
                n_bytes = int(np.dtype(dtype).itemsize * np.prod(shape, dtype=np.int64))
                arrays[name] = np.frombuffer(_read_exactly(out, n_bytes), dtype).reshape(shape)
            answers.put((reply, arrays))
    except (OSError, ValueError, KeyError, TypeError):
        log.exception("a warm process left no valid answer")
    finally:
        out.close()
        answers.put(None)


def _read_exactly(out: IO[bytes], n_bytes: int) -> bytes:
    content = out.read(n_bytes)
    if len(content) != n_bytes:
        raise ValueError("an answer is cut short")
    return content


def _cancelled() -> Refused:
    return Refused("CANCELLED", "It was stopped", "start it again when you like")


def _lost(reason: str) -> LostWorker:
    what = f"The model's process ended ({reason})"
    return LostWorker("LOST_WORKER", what, f"nothing else was touched; {SMALLER}")


def _machine_memory() -> int:
    """Return the bytes of memory of the machine, or of the container if it has fewer."""
    installed = psutil.virtual_memory().total
    try:
        return min(installed, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # "max" is no number: there is no limit
        return installed


def _resident(pid: int) -> int:
    """Return the bytes of memory that a process holds; 0 where that is not known."""
    try:
        return psutil.Process(pid).memory_info().rss
    except psutil.Error:
        return 0


# Each starts its process with the first call. An ONNX model is a program, which may never end:
# whoever waits for another network does not wait for it.
_SHARED: Final = Client()
_OF_PROGRAMS: Final = Client(sibling=_SHARED)
