"""The small files by which launcher and supervisor of a cluster's job tell each other what happens.

The table of jobs is SQLite, whose locks a shared disk may not keep, so nodes never open it. They
write into the job's own folder, each file whole or not there; whoever looks at the job on the
machine it was submitted from takes it into the table.
"""

import json
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final, TypeVar

from core import codec
from core.disk import PART, open_file, read_json, replace_text, writing
from core.errors import UsageError
from core.jobs.records import Job, Outcome
from core.jobs.store import STATE, read_job
from core.process_identity import ProcessIdentity

BEGUN: Final = "begun.json"
ENDED: Final = "ended.json"
CANCEL: Final = "cancel"
T = TypeVar("T")


@dataclass(frozen=True)
class Begun:
    """Which job of the cluster has begun this one: the first that came, and nobody after it."""

    cluster: str  # its id there; a job that is requeued keeps it
    supervisor: ProcessIdentity
    at: float  # seconds since 1970
    restarts: int  # how often the cluster has started it again


@dataclass(frozen=True, kw_only=True)
class Ended(Outcome):
    """How and when a job ended, as its supervisor saw it."""

    at: float  # seconds since 1970

    @property
    def changes(self) -> dict[str, object]:
        """What they are as fields of the job."""
        fields = dict(vars(self))
        fields["ended"] = fields.pop("at")
        return fields


def begin(folder: Path, begun: Begun, former: Begun | None) -> bool:
    """Begin a job, after a `former` start of it or as the first; False if another was faster.

    Each start adds a file and replaces none: of any number of nodes one makes the next.
    """
    # os.link fails where the name is taken: of several nodes that a confused controller starts, one
    # makes the next number, and the others see that they lost.
    n_starts = _n_starts(folder)
    if begun_of(folder) != former or (former is None and n_starts):  # one that cannot be read
        return False
    part = folder / f".{BEGUN}.{secrets.token_hex(4)}{PART}"
    with writing():
        try:
            with part.open("w") as file:
                file.write(json.dumps(codec.to_json(begun)))
                file.flush()
                os.fsync(file.fileno())  # or a power loss leaves one that nobody can read
            os.link(part, _start(folder, n_starts))
        except FileExistsError:
            return False
        finally:
            part.unlink(missing_ok=True)
    return True


def begun_of(folder: Path) -> Begun | None:
    """Return who has begun a job, last; None where nobody has."""
    return _read(Begun, _start(folder, _n_starts(folder) - 1))


def end(folder: Path, ended: Ended) -> None:
    """Say how a job ended; OSError on a full disk."""
    replace_text(folder / ENDED, json.dumps(codec.to_json(ended)))


def ended_of(folder: Path) -> Ended | None:
    """Return how a job ended; None where its supervisor has not said so."""
    return _read(Ended, folder / ENDED)


def request_cancel(folder: Path) -> None:
    """Let the supervisor know that the end to come is wanted."""
    with writing():
        (folder / CANCEL).touch()


def cancel_requested(folder: Path) -> bool:
    """Whether the job is to be cancelled."""
    return (folder / CANCEL).exists()


def job_of(folder: Path) -> Job | None:
    """Return a job as its folder says; None where it was never taken into the table."""
    with suppress(OSError, ValueError, UsageError), open_file(folder / STATE) as file:
        return read_job(file.read())
    return None


def _start(folder: Path, number: int) -> Path:
    """Return where a start of a job is written down, the first being 0."""
    return folder / (f"{BEGUN}.{number}" if number > 0 else BEGUN)


def _n_starts(folder: Path) -> int:
    return next(n for n in count() if not _start(folder, n).exists())


def _read(record: type[T], path: Path) -> T | None:
    with suppress(OSError, ValueError, UsageError):
        return codec.read(record, read_json(path), path.name, stored=True)
    return None
