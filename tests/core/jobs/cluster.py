"""A real SLURM of two nodes on loopback, with ports and folders of its own.

Debian's slurm-wlm and munge bring all of it; `slurm.sh` installs them where it can.
"""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol")
BEYOND_PATH = ":/usr/sbin:/sbin"  # where Debian puts daemons
PATIENCE_S = 120
CONTROLLER, NODES = "slurmctld", ("n1", "n2")
CONF = """
ClusterName=candor
SlurmctldHost=localhost
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmctldPort={ports[0]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdSpoolDir={folder}/%n
StateSaveLocation={folder}/state
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
OverTimeLimit=0
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
KillWait=20
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[1]} CPUs=8 RealMemory=8000
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[2]} CPUs=8 RealMemory=8000
PartitionName=main Nodes=ALL Default=YES MaxTime=600 State=UP PriorityTier=1
PartitionName=graceful Nodes=ALL MaxTime=600 State=UP PriorityTier=1 GraceTime=60
PartitionName=urgent Nodes=ALL MaxTime=600 State=UP PriorityTier=2
"""


class Cluster:
    """The daemons of a running cluster, by name: the controller, and one for each node."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._words = {CONTROLLER: ["slurmctld", "-D", "-i"]} | {
            node: ["slurmd", "-D", "-N", node] for node in NODES
        }
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def names(self) -> list[str]:
        """Of all daemons."""
        return list(self._words)

    def start(self, name: str) -> None:
        """Start a daemon, unless it runs."""
        daemon = self._running.get(name)
        if daemon is None or daemon.poll() is not None:
            self._running[name] = _start(self._words[name])

    def kill(self, name: str) -> None:
        """End a daemon as a crash does; the jobs of a node live on."""
        self._running[name].kill()
        self._running[name].wait()

    def heal(self) -> None:
        """Do as an administrator after a crash: resume drained nodes, release jobs held."""
        for node in NODES:
            _said("scontrol", "update", f"NodeName={node}", "State=RESUME")
        for job_id in _said("squeue", "-h", "-t", "PD", "-o", "%i").split():
            _said("scontrol", "release", job_id)

    def stop(self) -> None:
        """End all daemons, the last first."""
        for daemon in reversed(self._running.values()):
            daemon.terminate()
            daemon.wait()

    def wait(self) -> None:
        """Wait until all daemons answer and the nodes have nothing to do."""
        _wait_for(lambda: _said("sinfo", "-h", "-p", "main", "-o", "%t %D") == "idle 2")


def missing() -> str:
    """What a cluster needs that is not here; empty where all is."""
    path = os.environ["PATH"] + BEYOND_PATH
    absent = [name for name in NEEDED if shutil.which(name, path=path) is None]
    return f"no SLURM on this machine ({', '.join(absent)} missing)" if absent else ""


@contextmanager
def running() -> Iterator[Cluster]:
    """Yield a cluster whose nodes are idle; nothing of it is left afterwards."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm", dir="/tmp")))
        user = pwd.getpwuid(os.getuid()).pw_name
        text = CONF.format(folder=folder, user=user, ports=_free_ports(3))
        (folder / "slurm.conf").write_text(text)
        (folder / "state").mkdir()
        (folder / "key").write_bytes(os.urandom(128))
        (folder / "key").chmod(0o600)
        own = {"SLURM_CONF": f"{folder}/slurm.conf", "PATH": os.environ["PATH"] + BEYOND_PATH}
        before = {name: os.environ.get(name) for name in own}
        os.environ.update(own)
        stack.callback(_restore, before)
        munge = [f"--{name}={folder}/munge.{name}" for name in ("socket", "pid-file", "log-file")]
        munge += [f"--{name}-file={folder}/{name}" for name in ("key", "seed")]
        munged = _start(["munged", "-F", "--force", *munge])
        stack.callback(munged.wait)
        stack.callback(munged.terminate)
        slurm = Cluster(folder)
        stack.callback(slurm.stop)
        for name in slurm.names:
            slurm.start(name)
        slurm.wait()
        stack.callback(_empty)
        yield slurm


def _start(words: list[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _empty() -> None:
    """End all jobs that are left."""
    subprocess.run(["scancel", "--me"], check=False)
    _wait_for(lambda: _said("squeue", "-h") == "")


def _restore(before: Mapping[str, str | None]) -> None:
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


def _said(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else "?"


def _wait_for(ready) -> None:
    end = time.monotonic() + PATIENCE_S
    while not ready():
        assert time.monotonic() < end, "the cluster does not come up, or does not become empty"
        time.sleep(0.1)


def _free_ports(n: int) -> list[int]:
    sockets = [socket.socket() for _ in range(n)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
