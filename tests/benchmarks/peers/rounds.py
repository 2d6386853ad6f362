"""Who is measured when: a fresh process each, Candor and the others in turn, round after round."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.benchmarks.peers.worker import MOST_S, Measurement, from_json

SLOW_S = 120.0  # of the processor: a call that takes longer is made once
THREADS = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA")
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in THREADS}


class Job(NamedTuple):
    """What one process measures."""

    workload: str
    size: str
    tool: str


@dataclass
class Rounds:
    """What the rounds of one job gave.

    Attributes
    ----------
    measurements : list of Measurement
        One a round.
    failure : str
        Why there is none, or no further one; empty otherwise.
    """

    measurements: list[Measurement] = field(default_factory=list)
    failure: str = ""

    @property
    def slow(self) -> bool:
        """Whether a call took so long that it was made once."""
        return any(m.first.cpu_ms > 1e3 * SLOW_S for m in self.measurements)

    @property
    def right(self) -> bool:
        """Whether it was measured, and every value was right."""
        return bool(self.measurements) and all(m.right for m in self.measurements)

    @property
    def cpu_ms(self) -> float:
        """The least of all rounds, of the processor."""
        return min(m.first.cpu_ms for m in self.measurements)

    @property
    def wall_ms(self) -> float:
        """The least of all rounds, by the clock."""
        return min(m.first.wall_ms for m in self.measurements)

    @property
    def again_ms(self) -> float | None:
        """The least of all rounds with what Candor keeps, by the clock."""
        again = [m.again.wall_ms for m in self.measurements if m.again is not None]
        return min(again, default=None)

    @property
    def extra_mib(self) -> float:
        """The least of all rounds."""
        return min(m.extra_mib for m in self.measurements)


Run = Callable[[Job], Measurement | str]


def in_process(python: str) -> Run:
    """Return a function that measures a job in a process of its own, or says why it could not."""

    def run(job: Job) -> Measurement | str:
        command = [python, "-W", "ignore", "-m", "tests.benchmarks.peers.worker", *job]
        env = os.environ | ONE_THREAD
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return from_json(done.stdout.splitlines()[-1])
        if done.returncode == -signal.SIGXCPU:
            return f"over {MOST_S} s"
        lines = done.stderr.strip().splitlines()
        return lines[-1][:120] if lines else f"ended with {done.returncode}"

    return run


def in_turn(
    groups: Iterable[Sequence[Job]], run: Run, most_rounds: int, seconds: float
) -> dict[Job, Rounds]:
    """Run groups of jobs round after round.

    Parameters
    ----------
    groups : sequences of Job
        The tools of one workload at one size: they take turns, and are repeated together.
    run : callable
        Job to measurement, or to the reason why there is none.
    most_rounds : int
        At most so many.
    seconds : float
        A group is repeated only if what its last round took is left of these.
    """
    start = time.monotonic()
    groups = [tuple(group) for group in groups]
    results = {job: Rounds() for group in groups for job in group}
    lasted = dict.fromkeys(groups, 0.0)
    for repeated in range(most_rounds):
        # small ones, which are repeated within a process, come last
        for group in groups[::-1] if repeated else groups:
            began = time.monotonic()
            if lasted[group] and began - start + lasted[group] > seconds:
                continue
            for job in group:
                _add(results[job], job, run)
            lasted[group] = time.monotonic() - began
    return results


def _add(rounds: Rounds, job: Job, run: Run) -> None:
    if rounds.failure or rounds.slow:
        return
    outcome = run(job)
    if isinstance(outcome, str):
        rounds.failure = outcome
    else:
        rounds.measurements.append(outcome)
