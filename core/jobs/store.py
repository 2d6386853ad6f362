"""The durable table of jobs: SQLite, one guarded write a transition, `state.json` beside it.

The table decides; each job's folder holds a copy, from which a lost table is made anew. Every
transition is one transaction that holds the write lock, so of any number of processes exactly one
starts a job, and a process that another has replaced changes nothing more. A full disk takes no
transaction, not even a look at the table: then the copies, which have room to be written over where
they lie, say how jobs stand and take their ends, and the next transaction takes those in. Standard
library only.
"""

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from core import codec, sqlite
from core.disk import make_private, open_file, parse_json, replace_text, writing
from core.errors import LibraryError, UsageError
from core.jobs.devices import UNSEEN, fit
from core.jobs.failures import NAME as LOG
from core.jobs.records import BEAT, LOCAL, SLURM, Job, JobState, Outcome
from core.process_identity import ProcessIdentity

VERSION: Final = 1  # of the table; another one is made anew from the folders
BUSY_S: Final = 30.0
STATE: Final = "state.json"
ROOM: Final = 8_192  # bytes of a copy: one that is written over needs no new block of the disk
ALPHABET: Final = "abcdefghijkmnpqrstuvwxyz23456789"  # of ids; no letter that reads as another
MAX_ID: Final = 32
TORN: Final = ".damaged-"  # in the name of a table that was set aside
PAUSED: Final = "paused"  # a file: the queue stays paused when the table is made anew
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, state TEXT NOT NULL, generation INTEGER NOT NULL, row TEXT NOT NULL
) WITHOUT ROWID
"""
LIVE: Final = (JobState.STARTING, JobState.RUNNING)
# Fields that came later, with what they are in rows written before.
LATER: Final[dict[str, object]] = {"launcher": LOCAL, "cluster": "", "request": None}
NO_ROOM: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})  # said of a full disk


class JobStore:
    """Jobs below `home/jobs`, and their table `home/jobs.sqlite`.

    `home`: made when the first job is.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.path = home / "jobs.sqlite"
        self.jobs = home / "jobs"

    def folder(self, job_id: str) -> Path:
        """Return the folder of a job."""
        return self.jobs / job_id

    # What there is ------------------------------------------------------------------------------

    def all(self) -> list[Job]:
        """Return every job, the newest first."""
        if not self.jobs.is_dir():
            return []
        jobs = [self._latest(read_job(row)) for (row,) in self._ask("SELECT row FROM jobs")]
        return sorted(jobs, key=lambda job: job.place, reverse=True)

    def get(self, job_id: str) -> Job:
        """Return one job.

        Raises LibraryError JOB_UNKNOWN.
        """
        sound = is_id(job_id) and self.jobs.is_dir()
        rows = sound and self._ask("SELECT row FROM jobs WHERE id = ?", job_id)
        if not rows:
            raise unknown(job_id)
        return self._latest(read_job(rows[0][0]))

    @property
    def paused(self) -> bool:
        """Whether queued jobs wait for a word."""
        return (self.jobs / PAUSED).exists()

    # What changes -------------------------------------------------------------------------------

    def add(self, jobs: Sequence[Job], *, most: int | None = None) -> list[Job]:
        """Take in new jobs, all or none; their folders are there already.

        Raises
        ------
        LibraryError
            OVER_QUOTA: their owner would have more than `most` that have not ended.
        UsageError
            JOB: one resumes what another resumes already.
        """
        with self._writing() as connection:
            listed = _listed(connection)
            self._refuse_second_resume(listed, jobs)
            check_quota(listed, jobs, most)
            last = max((job.place for job in listed), default=0)
            added = [replace(job, place=last + i) for i, job in enumerate(jobs, start=1)]
            for job in added:
                with writing():
                    replace_text(self.folder(job.id) / STATE, _padded(job))
                _put(connection, job)
        return added

    def _refuse_second_resume(self, listed: Sequence[Job], jobs: Sequence[Job]) -> None:
        """Refuse to go on twice from the same checkpoint at once."""
        parents = {job.parent for job in jobs if job.relation == "resume"}
        resumed = [job for job in listed if job.relation == "resume" and job.parent in parents]
        for other in resumed:
            if not self._latest(other).state.ended:
                what = f"Job {other.parent} is being resumed as job {other.id}"
                raise UsageError("JOB", what, f"open job {other.id}")

    def pause(self, *, paused: bool) -> None:
        """Let queued jobs wait, or go on; those that run are not touched."""
        with writing():
            make_private(self.jobs, exist_ok=True)
            if paused:
                (self.jobs / PAUSED).touch()
            else:
                (self.jobs / PAUSED).unlink(missing_ok=True)

    def claim(self, supervisor: ProcessIdentity, slots: Sequence[str]) -> Job | None:
        """Give the next job that can start to a supervisor; None where there is none.

        `supervisor`: who will watch it; `slots`: those that this machine has now. A job that wants
        others waits for them.
        """
        with self._writing() as connection:
            jobs = _listed(connection)
            for job, taken in [] if self.paused else assigned(jobs, slots):
                return self._write(
                    connection,
                    job,
                    state=JobState.STARTING,
                    supervisor=supervisor,
                    slots=taken,
                    started=time.time(),
                )
        return None

    def running(self, job: Job) -> Job | None:
        """Say that a claimed job's process has started; None when it is no longer this one's."""
        return self._step(job, state=JobState.RUNNING)

    def end(self, job: Job, outcome: Outcome) -> Job | None:
        """Bring a started job to an end; None when it is no longer this one's.

        Where the table cannot be written the folder's copy says it, and the error is raised: the
        end may come twice.
        """
        try:
            return self._step(job, ended=time.time(), **vars(outcome))
        except LibraryError:
            now = self._copy(job.id)
            if now is not None and now.supervisor == job.supervisor and now.state in LIVE:
                after = {"generation": now.generation + 1, "ended": time.time()}
                self._keep_copy(replace(now, **after, **vars(outcome)))  # type: ignore[arg-type]
            raise

    def follow(self, job: Job, **changes: object) -> Job | None:
        """Write what a cluster says of a job; None where its row has changed since it was read."""
        with self._writing() as connection:
            now = _stored_job(connection, job.id)
            if now.generation != job.generation or now.state.ended:
                return None
            return self._write(connection, now, **changes)

    def cancel(self, job_id: str) -> Job:
        """Cancel a queued job, ask for it where it has started, leave it where it has ended.

        One that waits in a cluster may be starting this very moment: there it is asked for, too.
        """

        def change(now: Job) -> dict[str, object]:
            if now.state is JobState.QUEUED and now.launcher == LOCAL:
                return {"state": JobState.CANCELLED, "ended": time.time(), "asked": "cancel"}
            return {} if now.state.ended or now.asked else {"asked": "cancel"}

        return self._change(job_id, change)

    def to_front(self, job_id: str) -> Job:
        """Let a queued job be the next to start."""
        first = max((job.priority for job in self.all() if job.state is JobState.QUEUED), default=0)
        return self._change(
            job_id, lambda now: {"priority": first + 1} if now.state is JobState.QUEUED else {}
        )

    def rebuild(self) -> int:
        """Rebuild the table from the folders and return how many jobs it holds."""
        with self._writing() as connection:
            connection.execute("DELETE FROM jobs")
            return self._take_in(connection)

    def forget(self, job_ids: Sequence[str]) -> None:
        """Remove ended jobs for good: their folders, their rows, and what the disk keeps of both.

        A row that is deleted stays in the free pages of the table's file and in its log.
        """
        with writing():
            for job_id in job_ids:
                with suppress(FileNotFoundError):
                    shutil.rmtree(self.folder(job_id))
            for torn in self.home.glob(f"{self.path.name}{TORN}*"):
                torn.unlink(missing_ok=True)
        with self._writing() as connection:
            connection.executemany(
                "DELETE FROM jobs WHERE id = ?", [(job_id,) for job_id in job_ids]
            )
        try:
            with closing(sqlite3.connect(self.path, timeout=BUSY_S)) as connection:
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            raise _unreadable(error) from error

    # How ----------------------------------------------------------------------------------------

    def _step(self, job: Job, **changes: object) -> Job | None:
        """Change a live job that is still its supervisor's."""
        with self._writing() as connection:
            now = _stored_job(connection, job.id)
            if now.supervisor != job.supervisor or now.state not in LIVE:
                return None
            return self._write(connection, now, **changes)

    def _change(self, job_id: str, change: Callable[[Job], dict[str, object]]) -> Job:
        with self._writing() as connection:
            now = _stored_job(connection, job_id)
            changed = change(now)
            return self._write(connection, now, **changed) if changed else now

    def _write(self, connection: sqlite3.Connection, job: Job, **changes: object) -> Job:
        """Write one transition; only over the very state and generation it was made from."""
        after = replace(job, generation=job.generation + 1, **changes)  # type: ignore[arg-type]
        row = json.dumps(codec.to_json(after))
        written = connection.execute(
            "UPDATE jobs SET state = ?, generation = ?, row = ? "
            "WHERE id = ? AND state = ? AND generation = ?",
            (after.state, after.generation, row, job.id, job.state, job.generation),
        )
        assert written.rowcount == 1
        self._keep_copy(after)
        return after

    def _keep_copy(self, job: Job) -> None:
        """Write a job into its folder; a full disk must not keep it from ending.

        There it is written over where it lies. What does not fit stays as it was.
        """
        path, data = self.folder(job.id) / STATE, _padded(job)
        try:
            replace_text(path, data)
        except OSError:
            with suppress(OSError), path.open("r+b") as file:
                if len(data) <= path.stat().st_size:
                    file.write(data.encode().ljust(path.stat().st_size))
                    file.flush()
                    os.fsync(file.fileno())

    def _copy(self, job_id: str) -> Job | None:
        """Return a job as its folder says; None where that cannot be read."""
        with suppress(OSError, ValueError, UsageError):
            with open_file(self.folder(job_id) / STATE) as file:
                job = read_job(file.read())
            return job if job.id == job_id else None
        return None

    def _latest(self, job: Job) -> Job:
        """Return a job of the table, or its copy where that tells an end which the table lacks."""
        copy = self._copy(job.id) if job.state in LIVE else None
        same = copy is not None and copy.supervisor == job.supervisor and copy.state.ended
        return copy if copy is not None and same else job

    def _take_in_ends(self, connection: sqlite3.Connection) -> None:
        """Take in the ends that the table could not be told."""
        live = connection.execute("SELECT row FROM jobs WHERE state IN (?, ?)", LIVE).fetchall()
        for job in (read_job(row) for (row,) in live):
            latest = self._latest(job)
            if latest is not job:
                ended = ("state", "ended", "exit_code", "failure", "run")
                self._write(connection, job, **{name: getattr(latest, name) for name in ended})

    def _take_in(self, connection: sqlite3.Connection) -> int:
        """Read every folder's copy; a folder without one that can be read is nobody's job."""
        n_jobs = 0
        for job in self._copies():
            with suppress(sqlite3.Error):
                _put(connection, job)
                self._keep_copy(job)
                n_jobs += 1
        return n_jobs

    def _copies(self) -> list[Job]:
        """Return the jobs as their folders say."""
        jobs = [self._copy(path.parent.name) for path in sorted(self.jobs.glob(f"*/{STATE}"))]
        return [_not_again(job, self.folder(job.id)) for job in jobs if job is not None]

    def _ask(self, text: str, *values: str) -> list[tuple[str]]:
        """Return what a query finds; a table that is missing or torn is rebuilt."""
        torn = sqlite.number(self.path)
        try:
            with closing(sqlite.reader(self.path, BUSY_S)) as connection:
                try:
                    if sqlite.version(connection) == VERSION:
                        return connection.execute(text, values).fetchall()
                except sqlite3.DatabaseError as error:
                    if sqlite.may_be_sound(error):
                        raise
                    sqlite.put_away(self.path, torn, self._set_aside)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in NO_ROOM:
                return self._ask_copies(text, *values)
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CANTOPEN:
                raise _unreadable(error) from error
        with self._writing() as connection:
            return connection.execute(text, values).fetchall()

    def _ask_copies(self, text: str, *values: str) -> list[tuple[str]]:
        """Return what a query finds in a table made of the copies, in memory."""
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(_TABLE)
            for job in self._copies():
                with suppress(sqlite3.Error):
                    _put(connection, job)
            return connection.execute(text, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection that holds the write lock; what the body did is kept or undone."""
        with writing():
            make_private(self.jobs, exist_ok=True)
            if not self.path.exists():
                self.path.touch(mode=0o600)  # SQLite gives the files beside it the same mode
        try:
            connection = sqlite.writer(self.path, BUSY_S, self._prepare, self._set_aside)
            with closing(connection):
                yield connection
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise _unreadable(error) from error

    def _set_aside(self) -> None:
        """Make way for a new table; the torn one stays for whoever wants to look at it."""
        self.path.replace(self.path.with_name(f"{self.path.name}{TORN}{time.time_ns()}"))

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if sqlite.version(connection) != VERSION:
            connection.execute("DROP TABLE IF EXISTS jobs")
            connection.execute(_TABLE)
            self._take_in(connection)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        self._take_in_ends(connection)


def is_id(text: str) -> bool:
    """Whether a text can name a job."""
    return 0 < len(text) <= MAX_ID and set(text) <= set(ALPHABET)


def _put(connection: sqlite3.Connection, job: Job) -> None:
    row = json.dumps(codec.to_json(job))
    connection.execute(
        "INSERT INTO jobs VALUES (?, ?, ?, ?)", (job.id, job.state, job.generation, row)
    )


def _padded(job: Job) -> str:
    return json.dumps(codec.to_json(job)).ljust(ROOM)


def _not_again(job: Job, folder: Path) -> Job:
    """Return a job as a rebuilt table takes it in.

    A full disk may have kept a copy from being written: what says queued and has begun all the
    same is not begun again.
    """
    begun = any((folder / name).exists() for name in (BEAT, LOG, "result.json"))
    if job.state is JobState.QUEUED and begun and job.launcher == LOCAL:
        return replace(job, state=JobState.STARTING)
    return job


def assigned(jobs: Sequence[Job], slots: Sequence[str]) -> list[tuple[Job, tuple[str, ...]]]:
    """Return the queued jobs that can start now, each with its slots, in the order they start.

    A job that must wait keeps the free slots it could use, so that smaller ones behind it do not
    hold it up for ever; one that wants what the machine does not have now holds nothing.
    """
    busy = {slot for job in jobs if job.state in LIVE for slot in job.slots}
    free = [slot for slot in slots if slot not in busy and slot != UNSEEN]
    queued = [job for job in jobs if job.state is JobState.QUEUED and job.launcher == LOCAL]
    assignments: list[tuple[Job, tuple[str, ...]]] = []
    for job in sorted(queued, key=lambda job: (-job.priority, job.place)):
        fitting, n_slots = fit(job, slots)
        if len(fitting) < n_slots:
            continue
        taken = tuple(slot for slot in free if slot in fitting)[:n_slots]
        free = [slot for slot in free if slot not in taken]
        if len(taken) == n_slots:
            assignments.append((job, taken))
    return assignments


def _listed(connection: sqlite3.Connection) -> list[Job]:
    return [read_job(row) for (row,) in connection.execute("SELECT row FROM jobs").fetchall()]


def _stored_job(connection: sqlite3.Connection, job_id: str) -> Job:
    row = connection.execute("SELECT row FROM jobs WHERE id = ?", (job_id,)).fetchone()
    if row is None:
        raise unknown(job_id)
    return read_job(row[0])


def read_job(text: str | bytes) -> Job:
    """Return a job from its row or the copy of it; ValueError or UsageError where it is torn."""
    row = parse_json(text)
    job = codec.read(Job, LATER | row if isinstance(row, dict) else row, "job", stored=True)
    if job.launcher not in (LOCAL, SLURM):
        raise ValueError(job.launcher)
    return job


def check_quota(listed: Sequence[Job], jobs: Sequence[Job], most: int | None) -> None:
    """Refuse jobs of an owner who would have too many that have not ended: OVER_QUOTA."""
    open_jobs = sum(job.owner == jobs[0].owner and not job.state.ended for job in listed)
    if most is not None and open_jobs + len(jobs) > most:
        raise LibraryError(
            "OVER_QUOTA",
            f"{open_jobs} of your jobs wait or run and this adds {len(jobs)}; the quota is {most}",
            "wait until some have ended, or stop some",
        )


def unknown(job_id: str) -> LibraryError:
    """Return the refusal of an id that no job has, or that of somebody else's."""
    return LibraryError(
        "JOB_UNKNOWN", f"There is no job {job_id[:60]!r}", "see python -m core jobs list"
    )


def _unreadable(error: sqlite3.Error) -> LibraryError:
    return LibraryError(
        "JOBS",
        f"The table of jobs cannot be used now ({error}); nothing was changed",
        "free some space, make CANDOR_HOME writable, or try again",
    )
