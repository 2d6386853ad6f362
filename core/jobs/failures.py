"""What a job's process prints, bounded on the disk, and why it ended as it did; no package."""

import os
import re
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final
from unicodedata import category

from core.disk import open_file
from core.jobs.records import Failure, JobState, Json, Outcome

NAME: Final = "log.txt"
EARLIER: Final = "log.1.txt"
LIMIT: Final = 2 * 2**20  # bytes of each of the two files
CHUNK: Final = 64 * 1024
TAIL: Final = 64 * 1024  # bytes that are looked at for the last lines
WIDTH: Final = 2_000  # characters of a line
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)")


class Log:
    """The log of one job; beyond the limit the older half goes."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._earlier = folder / EARLIER
        self._end = b""

    def write(self, data: bytes) -> None:
        """Keep what was printed, at most `CHUNK` bytes; on a full disk only its end, in memory."""
        self._end = (self._end + data)[-TAIL:]
        with suppress(OSError):
            if self._path.exists() and self._path.stat().st_size + len(data) > LIMIT:
                self._path.replace(self._earlier)
            with self._path.open("ab", buffering=0) as file:
                file.write(data)

    def follow(self, pipe: int) -> None:
        """Write all that comes through a pipe until its last writer closes it."""
        while data := os.read(pipe, CHUNK):
            self.write(data)

    def last(self, n_lines: int) -> list[str]:
        """Return the last lines, whether the disk took them or not."""
        return _lines(self._end, n_lines)


class Follower:
    """Reads the lines of a log as they come."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._file = 0  # its number in the file system: another one was begun anew
        self._at = 0
        self._rest = b""

    def new(self) -> list[str]:
        """Return the whole lines since the last call; a new log is read from its start."""
        try:
            with open_file(self._path) as file:
                status = os.fstat(file.fileno())
                if status.st_ino != self._file:
                    self._file, self._at, self._rest = status.st_ino, 0, b""
                file.seek(self._at)
                data = file.read(LIMIT)
                self._at = file.tell()
        except OSError:
            return []
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [_clean(line.decode("utf-8", "replace")) for line in lines]

    def rest(self) -> list[str]:
        """Return what is left at the end, its last line too where no newline ends it."""
        lines = self.new()
        return [*lines, *_lines(self._rest, 1)] if self._rest else lines


def tail(folder: Path, n_lines: int) -> list[str]:
    """Return the last lines that a job printed, without control characters.

    A carriage return begins its line anew, as on a terminal.
    """
    data = _end(folder / NAME, TAIL)
    if len(data) < TAIL:
        data = _end(folder / EARLIER, TAIL - len(data)) + data
    return _lines(data, n_lines)


def _lines(data: bytes, n_lines: int) -> list[str]:
    lines = data.decode("utf-8", "replace").split("\n")
    if not lines[-1]:
        lines.pop()
    return [_clean(line) for line in lines[-n_lines:]]


def _end(path: Path, size: int) -> bytes:
    try:
        with open_file(path) as file:
            file.seek(max(0, path.stat().st_size - size))
            return file.read(size)
    except OSError:
        return b""


def _clean(line: str) -> str:
    text = _ESCAPES.sub("", line.rstrip("\r").rsplit("\r", 1)[-1]).replace("\t", "    ")
    printable = "".join(mark for mark in text if category(mark) not in {"Cc", "Cf", "Cs", "Co"})
    return printable if len(printable) <= WIDTH else f"{printable[:WIDTH]} …"


_RAISED: Final = re.compile(r"^(?:[\w<>]+\.)*[A-Z_]\w*(?:: .*)?$")
AFTER: Final = 4  # lines of a message after its first, as NCCL's, which ends with the cause
_RANK: Final = re.compile(r"^\[rank\d+\]: ?")
_GROUPS: Final = Path("/sys/fs/cgroup")
NEAR_END: Final = 50  # lines; what was raised before them did not get the process killed
HALVE: Final = "halve the batch size{half}, or take a smaller model or lower precision"
FEWER_ROWS: Final = "audit some of the shards, or run it where there is more memory"

# What the line of an exception means; the first pattern that fits counts.
KNOWN: Final = (
    (
        r"OutOfMemoryError|CUDA out of memory|CUDA error: out of memory|STATUS_ALLOC_FAILED"
        r"|Cuda failure (2 )?'out of memory'",
        Failure("DEVICE_MEMORY", "The GPU's memory ran out", HALVE),
    ),
    (
        r"^[\w.]*MemoryError|can't allocate memory|Cannot allocate memory|std::bad_alloc"
        r"|DataLoader worker .* killed by signal: Killed",
        Failure("HOST_MEMORY", "The machine's memory ran out", HALVE),
    ),
    (
        r"No space left on device|Disk quota exceeded|File too large",
        Failure("DISK_FULL", "The disk is full", "free some space, then resume"),
    ),
    (
        r"^(ModuleNotFoundError|ImportError)",
        Failure(
            "IMPORT",
            "A package that it needs cannot be loaded",
            "install the requirements again, then retry",
        ),
    ),
    (
        r"driver on your system is too old|driver version is insufficient",
        Failure(
            "DEVICE",
            "The NVIDIA driver is too old for this PyTorch",
            "update the driver, or install a PyTorch for an older CUDA, then retry",
        ),
    ),
    (
        r"no kernel image is available",
        Failure(
            "DEVICE",
            "This PyTorch was not built for this GPU",
            "install a PyTorch that supports it, or choose another device, then retry",
        ),
    ),
    (
        r"shared memory segment|out of shared memory",
        Failure(
            "HOST_MEMORY",
            "The shared memory of the machine ran out",
            "give the container more (--shm-size), then retry",
        ),
    ),
    (
        r"NCCL error|ncclInternalError|ncclSystemError|ncclRemoteError",
        Failure(
            "DEVICE",
            "The GPUs could not exchange their results",
            "set NCCL_DEBUG=INFO and retry for a log that says why, or train on one device",
        ),
    ),
    (
        r"uncorrectable ECC|GPU is lost|fallen off the bus|CUDA error: unspecified launch failure",
        Failure("DEVICE", "The GPU failed", "look at it with nvidia-smi, then retry on another"),
    ),
    (
        r"invalid device ordinal|no CUDA-capable device|No CUDA GPUs are available|Found no NVIDIA"
        r"|not compiled with CUDA|CUDA-capable device\(s\) is/are busy",
        Failure(
            "DEVICE", "The GPU that it needs cannot be used", "choose another device, then retry"
        ),
    ),
)


def remedy(kind: str) -> str:
    """Return what brings a job of a kind to its end after all; a training keeps checkpoints."""
    if kind == "train":
        return "resume it from its last checkpoint, or retry it from the start"
    return "retry it"


def time_limit(seconds: float, kind: str) -> Failure:
    """Return the failure of a job whose time was up."""
    return Failure("TIME_LIMIT", f"Its time limit of {seconds:g} s was reached", remedy(kind))


def lost(what: str, kind: str) -> Failure:
    """Return why it is not known how a job ended."""
    return Failure("LOST", what, remedy(kind))


def explain(
    code: int,
    result: Json | None,
    lines: Sequence[str],
    config: Mapping[str, object],
    kills: int,
    kind: str,
) -> Failure:
    """Return why a process that should have succeeded did not.

    `code`: its exit code, negative for a signal; `result`: what it wrote at its end; `lines`: the
    last that it printed; `config`: of the training; its batch size is named where halving helps;
    `kills`: processes that the kernel killed for want of memory in this control group meanwhile.
    """
    refusal = refused(result)
    if refusal is not None:
        return refusal
    batch = config.get("batch_size")
    half = f" to {batch // 2}" if isinstance(batch, int) and batch > 1 else ""
    # Of a process that was killed only what was raised just before can be the reason.
    raised = _raised([_RANK.sub("", line) for line in lines], NEAR_END if code < 0 else len(lines))
    first = raised.partition("\n")[0]
    # A message may fit several: memory and disk stand first, as other failures follow from them.
    for pattern, known in KNOWN:
        if re.search(pattern, raised):
            what = f"{known.what} ({first[:200]})"
            less = known.remedy == HALVE
            return replace(
                known, what=what, remedy=_less_memory(half, kind) if less else known.remedy
            )
    # Of several processes the first that fails takes the others with it, by a signal.
    if code < 0 and not (raised and -code in {signal.SIGKILL, signal.SIGTERM}):
        return _signalled(-code, half, kills, kind)
    advice = f"see the log; {remedy(kind)}"
    if raised:
        return Failure("EXCEPTION", first[:500], advice)
    return Failure("EXIT_CODE", f"Its process ended with exit code {code}", advice)


def refused(result: Json | None) -> Failure | None:
    """Return what a trainer itself said that it refused; None where it said nothing."""
    error = result.get("error") if result is not None else None
    if not isinstance(error, dict):
        return None
    fields = {key: str(error.get(key, "")) for key in ("code", "what", "remedy")}
    return Failure(**fields)


def unwatched(result: Json | None, *, cancelled: bool, otherwise: Failure) -> Outcome:
    """Return how a job ended whose supervisor has said nothing.

    Parameters
    ----------
    result : dict or None
        What its process wrote at its end.
    cancelled : bool
        Somebody wanted its end.
    otherwise : Failure
        Why it ended where neither tells.
    """
    # Its result counts more than anything else: a run is in the library.
    if result is not None and result.get("state") == "succeeded":
        return Outcome(state=JobState.SUCCEEDED, run=str(result.get("run", "")))
    if cancelled:
        return Outcome(state=JobState.CANCELLED)
    failure = refused(result) or otherwise
    state = JobState.LOST if failure.code == "LOST" else JobState.FAILED
    return Outcome(state=state, failure=failure)


def out_of_memory_kills() -> int:
    """Return how many processes the kernel killed in this control group so far, 0 if unknown."""
    try:
        # The control group's own counter: dmesg needs rights, and tells of the whole machine.
        (line,) = (x for x in Path("/proc/self/cgroup").read_text().splitlines() if x[:3] == "0::")
        events = _GROUPS / line[3:].lstrip("/") / "memory.events"
        words = dict(line.split() for line in events.read_text().splitlines())
        return int(words["oom_kill"])
    except (OSError, ValueError, KeyError):
        return 0


def _less_memory(half: str, kind: str) -> str:
    """Return what makes a job of a kind need less memory."""
    return FEWER_ROWS if kind == "audit" else HALVE.format(half=half)


def _signalled(number: int, half: str, kills: int, kind: str) -> Failure:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    if name == "SIGKILL" and kills:
        what = "The kernel killed it because the machine's memory ran out"
        return Failure("HOST_MEMORY", what, _less_memory(half, kind))
    if name == "SIGKILL":
        what = "It was killed (SIGKILL); memory may have run out"
        less = "audit fewer rows" if kind == "audit" else f"halve the batch size{half}"
        return Failure("SIGNAL", what, f"{less}, or {remedy(kind)}")
    crash = {"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"}
    what = f"It crashed ({name})" if name in crash else f"It was ended from outside ({name})"
    return Failure("SIGNAL", what, f"see the log; {remedy(kind)}")


def _raised(lines: Sequence[str], last: int) -> str:
    """Return what the last traceback raised, "" where none of the last lines names it.

    With the lines after it, in which a message may go on.
    """
    starts = [i for i, line in enumerate(lines) if line.startswith("Traceback (most recent")]
    if not starts:
        return ""
    start = max(starts[-1] + 1, len(lines) - last)
    exceptions = [i for i in range(start, len(lines)) if _RAISED.match(lines[i])]
    return "\n".join(lines[exceptions[-1] :][: 1 + AFTER]) if exceptions else ""
