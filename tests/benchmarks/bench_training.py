"""Images a second of the engine beside the papers' recipe written plainly; only ratios count.

Run from the project's folder: python -m tests.benchmarks.bench_training [--images N] [--epochs E]
On a GPU with ResNet-50, elsewhere with the small CNN. Pixels are random: their content costs
nothing.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from core.datasets.base import ResidentSplit, SplitDataset
from core.datasets.splits import by_counts
from core.models.build import build
from core.predictions import Task
from core.training.config import TrainConfig, from_json
from core.training.folder import JobFolder
from core.training.loop import train
from core.training.parts import TrainingSetup, assemble, connect, predict

MEAN, STD = (0.49, 0.48, 0.45), (0.25, 0.24, 0.26)


class Plain(Dataset[tuple[torch.Tensor, int]]):
    """One image at a time through torchvision's transforms, as the recipe's code does."""

    def __init__(self, pixels: np.ndarray, labels: np.ndarray) -> None:
        self.pixels, self.labels = pixels, labels
        self.transform = transforms.Compose(
            [
                transforms.RandomCrop(32, padding=4),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize(MEAN, STD),
            ]
        )

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, row: int) -> tuple[torch.Tensor, int]:
        return self.transform(Image.fromarray(self.pixels[row])), int(self.labels[row])


def made(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random images (n, 32, 32, 3) and labels."""
    generator = np.random.default_rng(0)
    pixels = generator.integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
    return pixels, generator.integers(0, 10, n)


def plain_rate(model: str, n: int, epochs: int, device: torch.device) -> float:
    """Return images a second of the recipe: summed loss, clipping at 2, `.item()` each step."""
    net = build(model, n_outputs=10, channels=3, size=(32, 32)).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    workers = 4 if device.type == "cuda" else 0
    loader = DataLoader(Plain(*made(n)), 128, shuffle=True, num_workers=workers)
    rates = []
    for _ in range(epochs):
        began = time.perf_counter()
        for images, labels in loader:
            loss = nn.functional.cross_entropy(
                net(images.to(device)), labels.to(device), reduction="sum"
            )
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 2.0)
            optimizer.step()
            loss.item()
        rates.append(n / (time.perf_counter() - began))
    return max(rates)


def data_of(n: int) -> SplitDataset:
    """Return random images as a data set of n, 5,000 and 10 rows."""
    split = by_counts(n + 5010, 5000, 10, 0)
    pixels, labels = made(n + 5010)
    planes = torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2)))
    parts = {
        name: ResidentSplit(
            torch.from_numpy(labels[rows]), tuple(map(str, rows)), planes[torch.tensor(rows)]
        )
        for name, rows in split.rows.items()
    }
    return SplitDataset(
        name="folder", task=Task.MULTICLASS, class_names=tuple(map(str, range(10))), **parts,
        channels=3, size=(32, 32), mean=MEAN, std=STD, flip=True, pad=4, digest="", notices=(),
        split=split,
    )  # fmt: skip


def config_of(model: str, epochs: int, device: str, precision: str) -> TrainConfig:
    """Return AdaFocal under the recipe."""
    return from_json(
        {
            "data": "folder", "data_root": ".", "model": model, "loss": {"name": "adafocal"},
            "epochs": epochs, "preset": "cifar", "precision": precision, "device": device,
            "optimizer": {"lr": 0.01},
        }
    )  # fmt: skip


def engine_rates(config: TrainConfig, n: int) -> tuple[float, float, TrainingSetup]:
    """Return images a second, and AdaFocal's update as a share of an epoch's training."""
    with tempfile.TemporaryDirectory() as path:
        folder = JobFolder.make(Path(path) / "job", config)
        parts = assemble(config, data_of(n), connect(config))
        train(parts, folder)
        found = [line["metrics"] for line in folder.events()]
    logits = predict(parts, parts.data.val)
    began = time.perf_counter()
    parts.loss.update(*parts.loss.answers(logits, parts.targets["val"]))
    update = time.perf_counter() - began
    best = min(one["seconds"] for one in found)
    return n / best, update / (best + update), parts


def table(n: int, epochs: int) -> list[str]:
    """Return the lines of a Markdown table."""
    gpu = torch.cuda.is_available()
    model, device = ("resnet50_cifar", "cuda") if gpu else ("small_cnn", "cpu")
    plain = plain_rate(model, n, epochs, torch.device(device))
    lines = [
        "| loop | images/s | over the plain loop | update of gammas | peak memory |",
        "|---|---|---|---|---|",
        f"| plain, {model}, float32 | {plain:.0f} | 1.0 | | |",
    ]
    for precision in ("32", "bf16"):
        if gpu:
            torch.cuda.reset_peak_memory_stats()
        rate, share, _ = engine_rates(config_of(model, epochs, device, precision), n)
        memory = f"{torch.cuda.max_memory_allocated() / 2**20:.0f} MiB" if gpu else ""
        lines.append(
            f"| engine, {precision} | {rate:.0f} | {rate / plain:.1f} | {100 * share:.2f} % "
            f"| {memory} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=45_000 if torch.cuda.is_available() else 2560)
    parser.add_argument("--epochs", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print("\n".join(table(given.images, given.epochs)))


if __name__ == "__main__":
    main()
