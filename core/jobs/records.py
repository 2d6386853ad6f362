"""What is known of a job, and what it asks of a cluster; no package but psutil."""

import re
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

from core import codec, fields
from core.disk import PART, JsonError, open_file, parse_json
from core.errors import UsageError
from core.fields import Field
from core.process_identity import ProcessIdentity, alive, this_boot, this_host

SETTINGS: Final = "slurm.json"  # below CANDOR_HOME
WARNING_S: Final = 90  # from the warning of a cluster to the end of the time it gave
_NAME: Final = re.compile(r"[\w.,+-]{1,100}", re.ASCII)
_REMEDY: Final = "give letters, digits, and . , + - _, or null"


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True, kw_only=True)
class SlurmRequest:
    """What each job of a submission asks for.

    Raises UsageError SETTING: a value out of range.
    """

    partition: Annotated[
        str | None,
        Field("Partition", "The cluster's default where empty.", allows=_is_name, remedy=_REMEDY),
    ] = None
    account: Annotated[
        str | None,
        Field("Account", "Your default account where empty.", allows=_is_name, remedy=_REMEDY),
    ] = None
    nodes: Annotated[int, Field("Nodes", "Machines that train together.", low=1, high=64)] = 1
    gpus: Annotated[
        int, Field("GPUs per node", "0 for the CPU. Each GPU gets a process.", low=0, high=16)
    ] = 0
    cpus: Annotated[int, Field("Cores per process", "", low=1, high=256)] = 4
    memory: Annotated[
        float | None,
        Field(
            "Memory, GiB",
            "Of each node; the cluster's default where empty.",
            low=0,
            high=16_384,
            open_low=True,
            remedy="give above 0, to 16384, or null",
        ),
    ] = None
    minutes: Annotated[
        int,
        Field(
            "Time, minutes",
            "Of each start. A training that needs longer continues in another.",
            low=1,
            high=43_200,
            step=60,
        ),
    ] = 240

    def __post_init__(self) -> None:
        """Refuse a value out of range."""
        fields.check(self)


def defaults(home: Path) -> SlurmRequest:
    """Return the request of the settings file; that of the program where there is none.

    Raises UsageError SETTING: the file cannot be read, or holds what a request cannot.
    """
    path = home / SETTINGS
    try:
        return codec.read(SlurmRequest, parse_json(path.read_bytes()), SETTINGS)
    except FileNotFoundError:
        return SlurmRequest()
    except JsonError as error:
        what = f"{path} {error}"
        raise UsageError("SETTING", what, "give a JSON object, each key once") from error
    except OSError as error:
        what = f"{path} cannot be read ({error.strerror})"
        raise UsageError("SETTING", what, "make it readable, or remove it") from error


BEAT: Final = "beat"  # file of a job's folder that its supervisor renews
BEAT_S: Final = 2.0
LATE_S: Final = 3 * BEAT_S
GONE_S: Final = 60.0  # without a beat, in another container of this machine
FAR_S: Final = 600.0  # without a beat, on another machine, whose date may differ
LOCAL: Final = "local"
SLURM: Final = "slurm"
Json = dict[str, Any]  # Any: plain JSON values


class JobState(StrEnum):
    """Where a job stands; the last four never change."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"

    @property
    def ended(self) -> bool:
        """Whether it is one of the four that never change."""
        return self in {JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.LOST}


@dataclass(frozen=True)
class Failure:
    """Why a job did not succeed: a stable code, what happened, and what to do."""

    code: str
    what: str
    remedy: str


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a job ended; fields as of `Job`."""

    state: JobState
    exit_code: int | None = None
    failure: Failure | None = None
    run: str = ""


@dataclass(frozen=True)
class Job:
    """One job."""

    # id, kind, owner, name: `kind` says which program runs it
    id: str
    kind: str
    name: str
    group: str  # shared by the jobs of one submission
    digest: str  # of what decides its result; equal for a job submitted again
    # created, started, ended: seconds since 1970; None for what has not happened
    created: float
    owner: str = "local"
    state: JobState = JobState.QUEUED
    generation: int = 0  # grows with every transition; a write with an old one changes nothing
    # priority, place: started in falling priority, then in rising place
    priority: int = 0
    place: int = 0
    # ``auto`` (a GPU where there is one), ``cpu``, ``cuda``, or one slot such as ``cuda:1``
    wants: str = "auto"
    n_devices: int = 1  # slots it needs
    slots: tuple[str, ...] = ()  # those it has, from its start on
    # parent, relation: the job that it resumes or retries, and which of the two; empty for a first
    # one
    parent: str = ""
    relation: str = ""
    started: float | None = None
    ended: float | None = None
    time_limit: float | None = None  # seconds after which it is stopped
    asked: str = ""  # ``cancel`` once that was asked for
    supervisor: ProcessIdentity | None = None  # from its start on
    exit_code: int | None = None  # of its process, negative for a signal; None when it is not known
    failure: Failure | None = None
    run: str = ""  # its run in the library once it has succeeded
    launcher: str = LOCAL  # ``local``, or ``slurm``
    cluster: str = ""  # its id in the cluster; empty for a local one
    request: SlurmRequest | None = None  # what it asks of the cluster


def beat(folder: Path) -> None:
    """Say that this process still watches; the clock is the boot's and knows no date."""
    unfinished = folder / f".{BEAT}{PART}"
    with suppress(OSError):  # a full disk: the one before stays
        unfinished.write_text(f"{this_boot()} {time.monotonic()}")
        unfinished.replace(folder / BEAT)


def last_beat(folder: Path) -> str:
    """Return what `beat` wrote last; "" where that cannot be read."""
    with suppress(OSError, ValueError), open_file(folder / BEAT) as file:
        return file.read().decode()
    return ""


def silence(folder: Path) -> float | None:
    """Return the seconds since the last beat of this boot; None where there is none."""
    try:
        boot, at = last_beat(folder).rsplit(" ", 1)
        # The namespace may be another container's; the boot's clock is the same in both.
        same = boot.split(":")[0] == this_boot().split(":")[0]
        return max(0.0, time.monotonic() - float(at)) if same else None
    except ValueError:
        return None


def watched(job: Job, folder: Path) -> bool:
    """Whether the supervisor of a started job lives, as far as can be told from here.

    In another container of this machine its pid means nothing, and on another machine that shares
    the folder neither does its clock; there the beats decide.
    """
    who = job.supervisor
    if who is None:
        return False
    boot = this_boot()
    if who.boot == boot:
        return alive(who)
    if who.boot.split(":")[0] == boot.split(":")[0]:
        quiet = silence(folder)
        return quiet is not None and quiet < GONE_S
    if who.host == this_host():
        return False  # this machine was started again
    try:
        return time.time() - (folder / BEAT).stat().st_mtime < FAR_S
    except OSError:
        return False


class Promise(StrEnum):
    """What one launcher keeps and another may not."""

    ORDER = "order"  # the queue's: priorities, and a job put to its front
    PAUSE = "pause"  # a paused queue starts nothing
    ONE_START = "one_start"  # never started again without being asked to
    TREE = "tree"  # a cancelled job is over when none of its processes is left, wherever they are
    AT_ONCE = "at_once"  # its state is what it is now
    ENDINGS = "endings"  # how a job ended is known however late somebody looks
