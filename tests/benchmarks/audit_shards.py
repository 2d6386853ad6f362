"""How the audit of a folder grows: ``python -m tests.benchmarks.audit_shards ROWS [ROWS ...]``.

For each number of rows it writes ten shards of float32 logits, with labels drawn from their softmax
at half, into the temporary folder, runs the program of audit jobs on them, and prints a row of a
table: seconds of the processor and by the clock, what each more row took, and the largest anonymous
memory of job and reader together.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from core.jobs.audit import AuditSpec
from core.predictions import ScoreKind
from core.readers.predictions.result import ReadOptions
from core.training.folder import JobFolder

ROOT = Path(__file__).parents[2]
N_SHARDS = 10
PROGRAM = "core.commands.audit_job"


def main() -> int:
    """Measure each number of rows, the smallest first."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.audit_shards")
    parser.add_argument("rows", type=float, nargs="+", help="1e6 for a million")
    parser.add_argument("--classes", type=int, default=2)
    arguments = parser.parse_args()
    print("| rows | processor | by the clock | each more row | memory |\n|---|---|---|---|---|")
    before = (0, 0.0)
    for n_rows in sorted(int(rows) for rows in arguments.rows):
        taken = _measure(n_rows, arguments.classes)
        slope = (taken["cpu"] - before[1]) / (n_rows - before[0]) * 1e6 if before[0] else None
        print(
            f"| {n_rows:,} | {taken['cpu']} s | {taken['seconds']} s "
            f"| {'' if slope is None else f'{slope:.2f} µs'} | {taken['MiB']} MiB |",
            flush=True,
        )
        before = (n_rows, taken["cpu"])
    return 0


def _measure(n_rows: int, n_classes: int) -> dict[str, float]:
    """Audit so many rows, and return what `memory_of` says of it."""
    with tempfile.TemporaryDirectory() as name:
        home, shards = Path(name) / "home", Path(name) / "shards"
        _write(shards, n_rows, n_classes)
        spec = AuditSpec(path=str(shards), options=ReadOptions(scores=ScoreKind.LOGITS))
        folder = JobFolder.make(home / "jobs" / "abcdefghjkmn", spec)
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.memory_of", "--",
             sys.executable, "-m", PROGRAM, folder.path],
            cwd=ROOT,
            env=os.environ | {"CANDOR_HOME": str(home), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=True,
        )  # fmt: skip
        result = folder.result()
        assert result is not None
        assert result["state"] == "succeeded"
        assert result["audit"]["n"] == n_rows
    taken: dict[str, float] = json.loads(done.stdout)
    return taken


def _write(folder: Path, n_rows: int, n_classes: int) -> None:
    """Write shards, one after the other."""
    folder.mkdir()
    rng = np.random.default_rng(1)
    for i, rows in enumerate(np.array_split(np.arange(n_rows), N_SHARDS)):
        logits = 2 * rng.standard_normal((len(rows), n_classes), dtype=np.float32)
        labels = (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1).astype(np.int16)
        np.save(folder / f"logits-{i:05d}.npy", logits)
        np.save(folder / f"labels-{i:05d}.npy", labels)


if __name__ == "__main__":
    sys.exit(main())
