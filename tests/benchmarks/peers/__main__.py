"""Measure Candor beside real libraries: ``python -m tests.benchmarks.peers``.

`make bench` makes the environment that the libraries lie in and writes docs/measurements.md.
pytorch-grad-cam is no peer here: its maps are measured with the films.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from tests.benchmarks.peers import table
from tests.benchmarks.peers.data import SIZES
from tests.benchmarks.peers.rounds import Job, Run, in_process, in_turn
from tests.benchmarks.peers.worker import Measurement
from tests.benchmarks.peers.workloads import WORKLOADS

ROOT = Path(__file__).parents[3]
PYTHON = ROOT / "build" / "peers" / "venv" / "bin" / "python"
REPORT = ROOT / "docs" / "measurements.md"
LIBRARIES = (
    "torchmetrics", "torch-uncertainty", "netcal", "uncertainty-calibration", "relplot",
    "probmetrics", "scikit-learn", "scipy", "pytorch-ood", "torch", "numpy",
)  # fmt: skip
SLOPES = ("ece", "proper")
IN_ROWS = ("100000x10", "300000x10", "1000000x10")
IN_CLASSES = ("20000x10", "20000x100", "20000x1000")
VERSIONS = """
import importlib.metadata, json, sys
print(json.dumps({d.name.lower().replace("_", "-"): d.version
                  for d in importlib.metadata.distributions()}))
"""


def versions(python: str) -> str:
    """Return the version of each library in the peers' environment."""
    done = subprocess.run([python, "-c", VERSIONS], capture_output=True, text=True, check=True)
    installed = json.loads(done.stdout)
    return ", ".join(f"{name} {installed.get(name, '(not installed)')}" for name in LIBRARIES)


def processor() -> str:
    """Return the name of the CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def heading(python: str, command: str, loads: Sequence[float]) -> list[str]:
    """Return what was run, on which machine under which load, beside which libraries."""
    load, cores = median(loads), os.cpu_count() or 1
    # The process that is measured makes up one.
    state = "idle but for it" if load < 1.5 else "loaded by other work, so only ratios compare"
    return [
        f"`{command}` on {processor()}, {cores} cores, median load {load:.1f} ({state}); "
        f"Python {platform.python_version()}, one thread a process.",
        f"Peers: {versions(python)}.",
        "",
    ]


def plan(sizes: list[str], workloads: list[str], *, slopes: bool) -> list[list[Job]]:
    """Return the groups of jobs that take turns."""
    groups = [
        [Job(name, size, tool) for tool in WORKLOADS[name].tools]
        for size in sizes
        for name in workloads
        if size in WORKLOADS[name].sizes
    ]
    if slopes:
        groups += [[Job(name, s, "Candor") for s in (*IN_ROWS, *IN_CLASSES)] for name in SLOPES]
    return groups


def with_progress(python: str, loads: list[float]) -> Run:
    """Return a function that measures a job in a process of its own, and names it before.

    It adds the machine's load at that moment to `loads`.
    """
    run = in_process(python)

    def announced(job: Job) -> Measurement | str:
        print(*job, file=sys.stderr, flush=True)
        loads.append(os.getloadavg()[0])
        return run(job)

    return announced


def main() -> None:
    """Measure, print and, where it is asked for, write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--minutes", type=float, default=20, help="no repetition is begun that would end later"
    )
    parser.add_argument("--python", default=str(PYTHON), help="where the libraries are installed")
    parser.add_argument("--no-slopes", action="store_true")
    parser.add_argument("--write", action="store_true", help="write docs/measurements.md")
    given = parser.parse_args()
    command = " ".join(["python -m tests.benchmarks.peers", *sys.argv[1:]])
    groups = plan(given.sizes, given.workloads, slopes=not given.no_slopes)
    loads: list[float] = []
    announced = with_progress(given.python, loads)
    results = in_turn(groups, announced, given.rounds, 60 * given.minutes)
    lines = heading(given.python, command, loads)
    for size in given.sizes:
        lines += table.size_table(results, size)
    if not given.no_slopes:
        lines += ["The cost grows with the power of", ""]
        for name in SLOPES:
            for axis, sizes in enumerate((IN_ROWS, IN_CLASSES)):
                lines.append(table.slope_line(results, name, axis, sizes))
    print("\n".join(lines))
    if given.write:
        table.write_between(REPORT, lines)


if __name__ == "__main__":
    main()
