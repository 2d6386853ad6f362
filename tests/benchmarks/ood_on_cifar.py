"""Five losses shown corrupted CIFAR-10 (JPEG): accuracy, ECE and AUROC, the papers' AUROC beside.

Run from the project's folder: python -m tests.benchmarks.ood_on_cifar IMAGES [--work DIR]
IMAGES holds train/<class> and test/<class>; networks that `seeds_on_cifar` left in the work folder
are used, others are trained first. Every corruption is made by Candor.
"""

import argparse
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import nn

from core.calibrators.temperature import Temperature
from core.checkpoints.match import load
from core.datasets.base import DatasetSplit, SplitDataset
from core.datasets.outside import open_outside
from core.datasets.shifts import OWN, SEVERITIES, OutsideSet
from core.inference.config import Preprocessing
from core.inference.evaluate import BatchPreprocessor, scores, spread
from core.predictions import Predictions, ScoreKind
from core.readers.sandbox.read import read_weights
from core.studies.ood import judge, shift
from core.training.folder import JobFolder
from core.training.job import load_data, trained
from core.training.samples import config_of

# AUROC in percent of softmax entropy, CIFAR-10 against Gaussian noise of severity 5, before and
# after temperature scaling: ResNet-110 of the released code, Ghosh et al. 2022, table 8. FCL:
# ResNet-110, focal calibration loss 2024, table 4, which does not say which corruption it is.
PUBLISHED = {
    "cifar10-ce": ("77.53", "75.16"),
    "cifar10-focal-3": ("80.11", "79.78"),
    "cifar10-flsd-53": ("82.06", "81.38"),
    "cifar10-adafocal": ("84.96", ""),
    "cifar10-fcl": ("89.88", "89.88"),
}
MAP = 2_000  # images of the map over corruptions and severities


@dataclass
class Subject:
    """A trained network with its data, and what it says of val and test."""

    net: nn.Module
    data: SplitDataset
    val: Predictions
    test: Predictions

    def says(self, part: DatasetSplit, limit: int | None = None) -> Predictions:
        return _says(self.net, self.data, part, limit)


def network(sample_id: str, images: Path, work: Path) -> Subject:
    """Return a trained network: from its last checkpoint, or trained now."""
    config = config_of(sample_id, images, seed=0)
    path = work / f"{sample_id}-{config.digest}"
    folder = JobFolder(path) if path.exists() else JobFolder.make(path, config)
    folder.specify(config)  # the images may lie elsewhere now
    if len(folder.events()) < config.epochs:
        trained(folder)
    data = load_data(config)
    with TemporaryDirectory() as into:
        last = max(folder.checkpoints.glob("epoch-*.pt"))
        file = read_weights(last, into=Path(into))
        kept = Path(into) / file.group("state.net").file
        net = load(kept, config.model, n_outputs=10, channels=data.channels, size=data.size)
    val, test = (_says(net, data, part, None) for part in (data.val, data.test))
    return Subject(net, data, val, test)


def _says(net: nn.Module, data: SplitDataset, part: DatasetSplit, limit: int | None) -> Predictions:
    cpu = torch.device("cpu")
    prepare = BatchPreprocessor(Preprocessing(data.size), data.channels, data.mean, data.std, cpu)
    rows = spread(len(part), limit)
    found = scores(net, part, prepare, device=cpu, batch_size=500, rows=rows)
    labels = part.targets[rows].numpy()
    return Predictions(data.task, ScoreKind.LOGITS, found, labels, class_names=data.class_names)


def some(found: Predictions, n: int) -> Predictions:
    rows = spread(found.n, n).numpy()
    kept = found.scores[rows], found.labels[rows]
    return Predictions(found.task, found.kind, *kept, class_names=found.class_names)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("images", type=Path)
    parser.add_argument("--work", type=Path, default=Path("build/seeds"))
    given = parser.parse_args()
    nets = {one: network(one, given.images, given.work) for one in PUBLISHED}
    temperatures = {
        one: Temperature().fit(net.val.scores, net.val.labels).temperature_
        for one, net in nets.items()
    }
    noisy(nets, temperatures)
    severities(nets)


def noisy(nets: dict[str, Subject], temperatures: dict[str, float]) -> None:
    print("| loss | accuracy % | T | AUROC % | AUROC after T % | FPR at 95 % TPR, % "
          "| paper AUROC % | after T % |")  # fmt: skip
    print("|" + "---|" * 8)
    wanted = OutsideSet("corrupted", corruption="gaussian_noise", severity=5)
    for name, net in nets.items():
        test, out = net.test, net.says(open_outside(wanted, net.data, download=False).split)
        before = judge(test, out, "entropy").numbers
        after = judge(test, out, "entropy", temperatures[name]).numbers
        auroc = before["auroc"]
        columns = [
            name.removeprefix("cifar10-"),
            f"{100 * test.rows.correct.mean():.1f}",
            f"{temperatures[name]:.2f}",
            f"{100 * auroc.value:.2f} ({100 * auroc.low:.2f} to {100 * auroc.high:.2f})",
            f"{100 * after['auroc'].value:.2f}",
            f"{100 * before['fpr95'].value:.1f}",
            *PUBLISHED[name],
        ]
        print("| " + " | ".join(columns) + " |", flush=True)


def severities(nets: dict[str, Subject]) -> None:
    """Print means over the 19 corruptions at each severity."""
    found = defaultdict(list)
    for severity in SEVERITIES:
        for corruption in OWN:
            wanted = OutsideSet("corrupted", corruption=corruption, severity=severity)
            for name, net in nets.items():
                part = open_outside(wanted, net.data, download=False).split
                one = shift(some(net.test, MAP), net.says(part, MAP), "entropy")
                found[name, severity].append((one.accuracy, one.ece, one.auroc))
    print("\n| loss | " + " | ".join(f"severity {s}" for s in SEVERITIES) + " |")
    print("|" + "---|" * 6)
    for name in nets:
        cells = (100 * np.mean(found[name, severity], axis=0) for severity in SEVERITIES)
        shown = " | ".join(f"{a:.1f} / {e:.1f} / {r:.1f}" for a, e, r in cells)
        print(f"| {name.removeprefix('cifar10-')} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
