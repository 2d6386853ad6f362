"""``python -m core.jobs.supervisor HOME``: take one job, run its process, say how it ended.

One small process a job, in a session of its own: it outlives the page that started it. It keeps the
log within bounds, beats, ends the whole tree of processes when that is asked for or time is up, and
at the end starts what waited for its device. Standard library only: it starts in a blink.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Final, Protocol

from core.access import OWNER
from core.codes import RefusalCode
from core.errors import AuditError, UsageError, lacking
from core.jobs import failures, processes
from core.jobs.devices import environment, slots
from core.jobs.failures import Log
from core.jobs.processes import ROOT, start_what_can
from core.jobs.records import BEAT_S, Failure, Job, JobState, Outcome, beat
from core.jobs.store import JobStore
from core.process_identity import identity
from core.training.folder import JobFolder

# By kind of job: a module that takes its folder.
PROGRAMS: Final = {
    "train": "core.training",
    "evaluate": "core.inference",
    "audit": "core.commands.audit_job",
}
GRACE_S: Final = 15.0  # a training may have a checkpoint to write; SLURM gives 30 s in all
LOOK_S: Final = 0.1
ASK_S: Final = 0.5  # how often the table is asked whether to stop
SAME_SIGNAL_S: Final = 1.0  # within which a signal reaches all processes
LINES: Final = 1_000  # a traceback through a deep network has hundreds


def main(home: Path, programs: Mapping[str, str] = PROGRAMS) -> int:
    """Run one job to its end, if one can start."""
    own = identity(os.getpid())
    if own is None:
        return 1
    store = JobStore(home)
    job = store.claim(own, slots())
    if job is None:
        return 0
    supervisor = Supervisor(store, job, programs)
    supervisor.run()
    if not supervisor.stopped:  # a machine that shuts down starts nothing more
        start_what_can(home)
    return 0


class JobTable(Protocol):
    """What a supervisor reads of its job, and writes."""

    home: Path

    def folder(self, job_id: str) -> Path:
        """Return the folder of a job."""

    def get(self, job_id: str) -> Job:
        """Return a job as it stands."""

    def running(self, job: Job) -> Job | None:
        """Say that a job's process has started."""

    def end(self, job: Job, outcome: Outcome) -> Job | None:
        """Bring a job to an end."""


class Supervisor:
    """Watches one job that this process has claimed.

    `programs`: module by kind of job.
    """

    def __init__(self, store: JobTable, job: Job, programs: Mapping[str, str]) -> None:
        self.store = store
        self.job = job
        self.folder = store.folder(job.id)
        self.files = JobFolder(self.folder)
        self._module = programs[job.kind]
        self._log = Log(self.folder)
        self.stopped = False

    def run(self) -> None:
        """Run the job's process and write how it ended."""
        signal.signal(signal.SIGTERM, self.stop)
        # Before the job's process starts: a grandchild whose parent ends is
        # then this process's child, and not init's.
        processes.become_reaper()
        beat(self.folder)
        kills = failures.out_of_memory_kills()
        process = None
        try:
            process = self._start()
            assert process.stdout is not None
            reader = Thread(target=self._log.follow, args=(process.stdout.fileno(),), daemon=True)
            reader.start()
        except (OSError, RuntimeError) as error:  # no memory, or no further process or thread
            if process is not None:
                self._end_all(process)
            self.end(Outcome(state=JobState.FAILED, failure=self._unstarted(error)))
            return
        reason = self._watch(process)
        # Whatever it started must be gone before its device is given to the next job.
        self._end_all(process)
        reader.join(GRACE_S)  # the last writer is gone, so it has read all
        reason = reason or self._late_reason(process.returncode)
        self.conclude(process.returncode, reason, failures.out_of_memory_kills() - kills)

    def _unstarted(self, error: Exception) -> Failure:
        """Return why the job's process could not begin."""
        lack = lacking(error)
        if lack is None:
            return Failure("EXCEPTION", str(error), failures.remedy(self.job.kind))
        return Failure(lack.code, lack.what, lack.remedy)

    def _start(self) -> "subprocess.Popen[bytes]":
        # The run belongs where the job does, whatever the environment of who started this says.
        home = {"CANDOR_HOME": str(self.store.home), OWNER: self.job.owner}
        marks = {processes.MARK: self.job.id, "PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(
            self.command(),
            cwd=ROOT,
            env=os.environ | self.devices() | home | marks,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(processes.die_with, os.getpid()),  # no thread runs yet
        )
        processes.step_back(process.pid)
        return process

    def command(self) -> list[str]:
        """Return what starts the job's program."""
        return [sys.executable, "-m", self._module, str(self.folder)]

    def devices(self) -> dict[str, str]:
        """Return the variables that say on which devices it computes."""
        return environment(self.job.slots)

    def time_is_up(self, elapsed: float) -> bool:
        """Whether a job must end that has run for so many seconds."""
        return self.job.time_limit is not None and elapsed >= self.job.time_limit

    def _watch(self, process: "subprocess.Popen[bytes]") -> str:
        """Wait until the process ends, or there is a reason to end it; return that, or ""."""
        began = beaten = time.monotonic()
        queried = -ASK_S
        while process.poll() is None:
            now = time.monotonic()
            if now - beaten >= BEAT_S:
                beaten = now
                beat(self.folder)
            # Fencing: a job that another supervisor was given, or that was removed, is ended here.
            if now - queried >= ASK_S:
                queried = now
                reason = self._end_reason()
                if reason:
                    return reason
            if self.stopped:
                return "stopped"
            if self.time_is_up(now - began):
                return "time"
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LOOK_S)
        return ""

    def _late_reason(self, code: int) -> str:
        """Return "stopped" if the process ended because both were to end, else "".

        A shutdown or a cluster signals every process; the job's may be the first to get it.
        """
        deadline = time.monotonic() + SAME_SIGNAL_S
        while code == -signal.SIGTERM and not self.stopped and time.monotonic() < deadline:
            time.sleep(LOOK_S)
        return "stopped" if self.stopped and code != 0 else ""

    def _end_reason(self) -> str:
        """Return why the table says that this job must end, or ""; a busy table says nothing.

        The first time it is told that the process runs.
        """
        try:
            now: Job | None = self.store.get(self.job.id)
            if now is not None and now.state is JobState.STARTING:
                now = self.store.running(self.job)
        except AuditError as error:
            return "fenced" if error.code == RefusalCode.JOB_UNKNOWN else ""
        if now is None or now.supervisor != self.job.supervisor or now.state.ended:
            return "fenced"
        return "cancel" if now.asked else ""

    def _end_all(self, process: "subprocess.Popen[bytes]") -> None:
        """End every process of the job that is left, also those in sessions of their own."""

        def left() -> list[int]:
            process.poll()  # before others are reaped: its exit code must not get lost
            pids = processes.descendants(os.getpid())
            processes.reap([pid for pid in pids if pid != process.pid])
            return [pid for pid in pids if identity(pid) is not None]

        processes.end(left, GRACE_S)
        process.poll()

    def conclude(self, code: int | None, reason: str, kills: int) -> None:
        """Write how the job ended.

        `code`: the exit code of its process; `reason`: why it was ended, as of `_watch`; `kills`:
        as of `failures.explain`.
        """
        result, state, failure, run = self.files.result(), JobState.FAILED, None, ""
        # A job that reached its end has succeeded, even if it was cancelled in its last second.
        if result is not None and self.succeeded():
            state, run = JobState.SUCCEEDED, str(result.get("run", ""))
        elif reason == "cancel" or self._end_reason() == "cancel":
            state = JobState.CANCELLED
        elif reason == "time":
            assert self.job.time_limit is not None
            failure = failures.time_limit(self.job.time_limit, self.job.kind)
        elif reason == "stopped" or code is None:
            what = "It was stopped with its supervisor, by a shutdown for example"
            state, failure = JobState.LOST, failures.lost(what, self.job.kind)
        else:
            config: object = None
            with contextlib.suppress(UsageError):  # its folder was damaged meanwhile
                config = self.files.spec()
            known = config if isinstance(config, dict) else {}
            lines = self._log.last(LINES)
            failure = failures.explain(code, result, lines, known, kills, self.job.kind)
        self.end(Outcome(state=state, exit_code=code, failure=failure, run=run))

    def succeeded(self) -> bool:
        """Whether the process wrote down that it reached its end."""
        result = self.files.result()
        return result is not None and result.get("state") == "succeeded"

    def end(self, outcome: Outcome) -> None:
        """Write the end, waiting for a table that is busy or a disk that is full."""
        # The end must be written, however long the disk is full: nobody else knows it.
        while True:
            try:
                self.store.end(self.job, outcome)
            except AuditError as error:
                if error.code == RefusalCode.JOB_UNKNOWN or self.stopped:
                    return
                time.sleep(BEAT_S)
                beat(self.folder)
            else:
                return

    def stop(self, *_: object) -> None:
        """End the job because this process is asked to end; a handler of signals."""
        self.stopped = True


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
