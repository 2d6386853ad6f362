"""FCL on digits at the defaults of a config: the errors of ten seeds, and the first gradients.

``python -m tests.benchmarks.fcl_on_digits``, about four minutes on one thread.
"""

import statistics
import tempfile
from pathlib import Path
from typing import Any

import torch

from core.training.config import from_json
from core.training.folder import JobFolder
from core.training.job import trained

SEEDS = range(10)
MANY_WRONG = 0.1
CLIPPED = {"clip_norm": 2.0}


def fcl(gamma: float, weight: float) -> dict[str, Any]:
    """Return the settings of the loss."""
    return {"name": "fcl", "gamma": gamma, "lambda": weight}


TRAININGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "cross-entropy": ({"name": "ce"}, {}),
    "FCL 2, 0.5": (fcl(2.0, 0.5), {}),
    "FCL 4, 1.5": (fcl(4.0, 1.5), {}),
    "FCL 4, 1.5, clipped to 2": (fcl(4.0, 1.5), CLIPPED),
}


def outcome(seed: int, loss: dict[str, Any], more: dict[str, Any]) -> tuple[float, float]:
    """Return the error on the test part, and the mean norm of the first epoch's gradients."""
    config = from_json(
        {"data": "digits", "model": "small_cnn", "loss": loss, "seed": seed, "device": "cpu"} | more
    )
    with tempfile.TemporaryDirectory() as place:
        folder = JobFolder.make(Path(place) / "job", config)
        found = trained(folder)
        assert found is not None
        test = found[2]["test"]
        first = folder.events()[0]["metrics"]["grad_norm"]
    return float((test.scores.argmax(axis=1) != test.labels).mean()), float(first)


def main() -> None:
    """Print the table."""
    print("| loss | error, median (range) | above 0.1 | first gradients, median (range) |")
    print("|---|---|---|---|")
    for name, (loss, more) in TRAININGS.items():
        errors, norms = zip(*(outcome(seed, loss, more) for seed in SEEDS), strict=True)
        bad = sum(error > MANY_WRONG for error in errors)
        told = [
            f"{statistics.median(v):.{d}f} ({min(v):.{d}f} to {max(v):.{d}f})"
            for v, d in ((errors, 3), (norms, 1))
        ]
        print(f"| {name} | {told[0]} | {bad} of {len(SEEDS)} | {told[1]} |", flush=True)
    print(f"\n{torch.get_num_threads()} thread(s)")


if __name__ == "__main__":
    main()
