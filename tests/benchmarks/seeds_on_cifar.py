"""Five losses on three seeds of CIFAR-10 (JPEG): ECE and best temperature beside the papers'.

Run from the project's folder: python -m tests.benchmarks.seeds_on_cifar IMAGES [--work DIR]
IMAGES holds train/<class> and test/<class>. Trains what is not in the work folder yet.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from core.calibrators.temperature import Temperature
from core.configs import AuditConfig
from core.metrics.suite import audit
from core.predictions import Predictions
from core.training.folder import JobFolder
from core.training.job import trained
from core.training.samples import config_of

SEEDS = (0, 1, 2)
# Pre-temperature ECE in percent and the temperature of least ECE, CIFAR-10 and ResNet-50: Mukhoti
# et al. 2020 tables 1 and 4 (equal width); Ghosh et al. 2022 table 1 (equal mass, no T of
# AdaFocal is printed); focal calibration loss 2024 table 1 (equal width).
PUBLISHED = {
    "cifar10-ce": ("4.35", "2.50"),
    "cifar10-focal-3": ("1.48", "1.10"),
    "cifar10-flsd-53": ("1.55", "1.10"),
    "cifar10-adafocal": ("0.66", ""),
    "cifar10-fcl": ("0.76", "1.00"),
}


@dataclass(frozen=True)
class Outcome:
    """One run: test accuracy, ECE, signed gap, and temperatures fitted on validation."""

    accuracy: float
    ece: float
    gap: float
    t_nll: float
    t_ece: float
    ece_after: float


def outcome(splits: dict[str, Predictions]) -> Outcome:
    """Return the figures of one run; T by NLL, and T of least equal-width ECE on the grid."""
    val, test = splits["val"], splits["test"]
    found = audit(test, AuditConfig(n_resamples=10))
    by_nll = Temperature().fit(val.scores, val.labels)
    by_ece = Temperature("ece", "paper").fit(val.scores, val.labels)
    after = test.scores / by_nll.temperature_
    cooled = Predictions(test.task, test.kind, after.astype(np.float64), test.labels)
    again = audit(cooled, AuditConfig(n_resamples=10))
    main = found.main
    return Outcome(
        main.metrics["accuracy"].value,
        main.metrics["ece"].value,
        main.direction.gap,
        by_nll.temperature_,
        by_ece.temperature_,
        again.main.metrics["ece"].value,
    )


def spread(values: list[float], digits: int, scale: float = 1.0) -> str:
    """Return mean and the half-width of its 95 % interval (Student's t over the seeds)."""
    scaled = scale * np.array(values)
    half = student.ppf(0.975, len(values) - 1) * scaled.std(ddof=1) / np.sqrt(len(values))
    return f"{scaled.mean():.{digits}f} ± {half:.{digits}f}"


def line(sample_id: str, found: list[Outcome]) -> str:
    ece, temperature = PUBLISHED[sample_id]
    columns = [
        sample_id.removeprefix("cifar10-"),
        spread([one.accuracy for one in found], 1, 100),
        spread([one.ece for one in found], 2, 100),
        spread([one.gap for one in found], 2, 100),
        spread([one.t_nll for one in found], 2),
        spread([one.t_ece for one in found], 2),
        spread([one.ece_after for one in found], 2, 100),
        ece,
        temperature,
    ]
    return "| " + " | ".join(columns) + " |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("images", type=Path)
    parser.add_argument("--work", type=Path, default=Path("build/seeds"))
    given = parser.parse_args()
    print("| loss | accuracy % | ECE % | gap, points | T, NLL | T, ECE | ECE after T % "
          "| paper ECE % | paper T |")  # fmt: skip
    print("|" + "---|" * 9)
    for sample_id in PUBLISHED:
        found = []
        for seed in SEEDS:
            config = config_of(sample_id, given.images, seed=seed)
            path = given.work / f"{sample_id}-{config.digest}"
            folder = JobFolder(path) if path.exists() else JobFolder.make(path, config)
            done = trained(folder)
            assert done is not None
            found.append(outcome(done[2]))
        print(line(sample_id, found), flush=True)


if __name__ == "__main__":
    main()
