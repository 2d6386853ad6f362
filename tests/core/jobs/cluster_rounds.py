"""Rounds of kill -9 in a cluster: apps, supervisors, trainers, and SLURM's daemons die at random.

``python -m tests.core.jobs.cluster_rounds N SEED`` is the long form, for `make soak`. What is
killed of SLURM is started again within two seconds. A controller that forgot a job gives its
number to the next one, whose node then drains: what is an administrator's to do is done, too.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from core import process_identity
from core.jobs import processes
from core.jobs.local import LocalJobs
from core.jobs.records import JobState
from core.jobs.slurm import controller, messages
from tests.core.jobs import cluster
from tests.core.jobs.cluster import CONTROLLER, NODES, Cluster
from tests.core.jobs.conftest import truth, until
from tests.core.jobs.rounds import ROOT, check_table, check_truth

APP = """
import sys, time
from contextlib import suppress
from pathlib import Path
from core.errors import LibraryError
from core.jobs.local import LocalJobs
from core.jobs.slurm import controller, messages
from core.jobs.records import SlurmRequest
from tests.core.jobs.conftest import config
controller.SUPERVISOR, controller.FRESH_S = "tests.core.jobs.supervise_on_node", 0.2
jobs, small = LocalJobs(Path(sys.argv[1])), SlurmRequest(cpus=1, memory=0.25, minutes=10)
for n in (40, 80, 20):
    with suppress(LibraryError):  # the controller is away
        print(jobs.submit([config(f"step:{n}")], request=small)[0].id, flush=True)
while True:
    jobs.tick()
    time.sleep(0.1)
"""


def one_round(jobs: LocalJobs, slurm: Cluster, draw: random.Random) -> tuple[Counter, Counter]:
    """Start two apps and kill some of what runs; return what was hit, and how the jobs ended."""
    before = {job.id for job in jobs.list()}
    apps = [
        subprocess.Popen([sys.executable, "-c", APP, jobs.home], cwd=ROOT, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    until(lambda: len(jobs.list()) > len(before))
    hit = Counter[str]()
    for _ in range(draw.randint(3, 6)):
        time.sleep(draw.uniform(0.0, 1.5))
        hit[_kill_one(jobs, slurm, apps, draw)] += 1
    acknowledged = set[str]()
    for app in apps:
        app.kill()
        acknowledged |= set(app.communicate()[0].decode().split("\n")[:-1])
    mine = {job.id for job in jobs.list()} - before
    assert acknowledged <= mine, "a job that was acknowledged is gone"

    def over() -> bool:
        slurm.heal()
        jobs.tick()
        time.sleep(0.2)
        return all(jobs.get(job_id).state.ended for job_id in mine)

    until(over)
    found = [jobs.get(job_id) for job_id in mine]
    for job in found:
        check_truth(jobs, job, again=True)
        assert job.state is not JobState.CANCELLED, job  # nobody asked for it
        assert messages.job_of(jobs.folder(job.id).path) == job, "the table and its copy differ"
    check_table(jobs)
    return hit, Counter(job.state.value for job in found)


def _kill_one(
    jobs: LocalJobs, slurm: Cluster, apps: list["subprocess.Popen[bytes]"], draw: random.Random
) -> str:
    """Kill something, a daemon of SLURM to be started again, and return what it is."""
    live = [job for job in jobs.list() if not job.state.ended]
    begun = [one for job in live if (one := messages.begun_of(jobs.folder(job.id).path))]
    victims = {
        "app": [app.pid for app in apps],
        "supervisor": [
            one.supervisor.pid for one in begun if process_identity.alive(one.supervisor)
        ],
        "trainer": [pid for job in live for pid in processes.marked(job.id)],
        "slurmctld": [CONTROLLER],
        "slurmd": list(NODES),
    }
    kind = draw.choice([kind for kind, candidates in victims.items() if candidates])
    victim = draw.choice(victims[kind])
    if isinstance(victim, int):
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
    else:
        slurm.kill(victim)
        time.sleep(draw.uniform(0.0, 2.0))
        slurm.start(victim)
    return kind


def main() -> int:
    """Run many rounds and say how the jobs ended; none where there is no SLURM."""
    if cluster.missing():
        print(cluster.missing())
        return 0
    n_rounds, seed = int(sys.argv[1]), int(sys.argv[2])
    controller.FRESH_S = 0.2
    draw, hits, ends = random.Random(seed), Counter[str](), Counter[str]()
    with cluster.running() as slurm, tempfile.TemporaryDirectory() as home:
        jobs = LocalJobs(Path(home) / "home")
        for n in range(n_rounds):
            hit, end = one_round(jobs, slurm, draw)
            hits, ends = hits + hit, ends + end
            print(f"round {n + 1}: killed {dict(hit)}, jobs {dict(end)}", flush=True)
        for job in jobs.list():  # nothing of them happened since
            check_truth(jobs, job, again=True)
        n_starts = Counter(line[0] for line in truth(jobs) if line[1] == "began")
    n_again = sum(n > 1 for n in n_starts.values())
    print(f"{n_rounds} rounds, seed {seed}, no violation: killed {dict(hits)}, jobs {dict(ends)}")
    print(f"{n_again} of {len(n_starts)} jobs that began were started again by the cluster")
    return 0


if __name__ == "__main__":
    sys.exit(main())
