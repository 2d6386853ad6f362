"""Images a second of the engine beside the papers' recipe, written plainly and for Lightning.

Run from the project's folder: python -m tests.benchmarks.bench_training [--images N] [--model M]
With the interpreter of build/peers (`make bench-loops`) Lightning's Trainer takes part. The loops
take turns, an epoch each; only ratios count. Pixels are random: their content costs nothing. What
a GPU does is measured by `make gpu`.
"""

import argparse
import importlib.util
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
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
BATCH, CLIP_NORM = 128, 2.0
WORKERS = 4  # processes that read and augment for a GPU, as in the released code


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


@dataclass(frozen=True)
class EpochCost:
    """Seconds of an epoch by the clock, and of the processor."""

    wall_s: float
    cpu_s: float

    @classmethod
    def since(cls, began: "EpochCost") -> "EpochCost":
        """Return what was spent since then."""
        now = cls.now()
        return cls(now.wall_s - began.wall_s, now.cpu_s - began.cpu_s)

    @classmethod
    def now(cls) -> "EpochCost":
        """Read both clocks."""
        return cls(time.perf_counter(), time.process_time())


@dataclass(frozen=True, kw_only=True)
class EngineRun:
    """How a training by the engine went.

    Attributes
    ----------
    epochs_s : list of float
        Seconds of each epoch's steps.
    cost : EpochCost
        Of all of it, with evaluations and checkpoints.
    update_s : float
        Of one update of the gammas, logits in hand.
    evaluation_s : float
        Of predicting the validation part.
    compiled : bool
        The network was compiled.
    """

    epochs_s: list[float]
    cost: EpochCost
    update_s: float
    evaluation_s: float
    compiled: bool


def random_images(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random images (n, 32, 32, 3) and labels."""
    generator = np.random.default_rng(0)
    pixels = generator.integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
    return pixels, generator.integers(0, 10, n)


def network(model: str) -> nn.Module:
    """Return a network of the catalogue for ten classes of such images."""
    return build(model, n_outputs=10, channels=3, size=(32, 32))


def recipe_optimizer(net: nn.Module) -> torch.optim.Optimizer:
    """Return the recipe's optimiser, its rate low enough for random labels."""
    return torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)


def plain_epochs(model: str, n: int, epochs: int, device: torch.device) -> list[EpochCost]:
    """Train as the released code does: summed loss, clipping at 2, `.item()` each step."""
    on_gpu = device.type == "cuda"
    torch.backends.cudnn.benchmark = on_gpu
    net = network(model).to(device)
    optimizer = recipe_optimizer(net)
    loader = DataLoader(
        Plain(*random_images(n)),
        BATCH,
        shuffle=True,
        num_workers=WORKERS if on_gpu else 0,
        pin_memory=on_gpu,
    )
    costs = []
    for _ in range(epochs):
        began = EpochCost.now()
        for images, labels in loader:
            loss = nn.functional.cross_entropy(
                net(images.to(device)), labels.to(device), reduction="sum"
            )
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), CLIP_NORM)
            optimizer.step()
            loss.item()
        costs.append(EpochCost.since(began))
    return costs


def lightning_epochs(model: str, n: int, epochs: int) -> list[EpochCost]:
    """Train the same on the CPU with Lightning's Trainer, which logs and keeps nothing."""
    import lightning

    class Recipe(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = network(model)

        def training_step(self, batch: list[Tensor]) -> Tensor:
            images, labels = batch
            return nn.functional.cross_entropy(self.net(images), labels, reduction="sum")

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return recipe_optimizer(self.net)

    class Clock(lightning.Callback):
        costs: list[EpochCost] = []  # noqa: RUF012  one a call

        def on_train_epoch_start(self, *_: object) -> None:
            self.began = EpochCost.now()

        def on_train_epoch_end(self, *_: object) -> None:
            self.costs.append(EpochCost.since(self.began))

    clock = Clock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it advises more workers
        lightning.Trainer(
            accelerator="cpu", max_epochs=epochs, gradient_clip_val=CLIP_NORM, callbacks=[clock],
            logger=False, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False,
        ).fit(Recipe(), DataLoader(Plain(*random_images(n)), BATCH, shuffle=True))  # fmt: skip
    return clock.costs


def data_of(n: int, n_validation: int = 5000) -> SplitDataset:
    """Return random images as a data set of n, so many and 10 rows."""
    n_all = n + n_validation + 10
    split = by_counts(n_all, n_validation, 10, 0)
    pixels, labels = random_images(n_all)
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


def config_of(model: str, epochs: int, device: str, precision: str = "32") -> TrainConfig:
    """Return AdaFocal under the recipe."""
    return from_json(
        {
            "data": "folder", "data_root": ".", "model": model, "loss": {"name": "adafocal"},
            "epochs": epochs, "preset": "cifar", "precision": precision, "device": device,
            "optimizer": {"lr": 0.01},
        }
    )  # fmt: skip


def engine_run(
    config: TrainConfig,
    data: SplitDataset,
    *,
    seconds: float | None = None,
    channels_last: bool = True,
) -> EngineRun:
    """Train with the engine, to the end or to that of the first epoch after so many seconds."""
    parts = assemble(config, data, connect(config))
    if not channels_last:
        parts = with_channels_first(parts)
    with tempfile.TemporaryDirectory() as path:
        folder = JobFolder.make(Path(path) / "job", config)
        began = EpochCost.now()
        train(parts, folder, seconds=seconds)
        cost = EpochCost.since(began)
        epochs_s = [line["metrics"]["seconds"] for line in folder.events()]
    logits = predict(parts, parts.data.val)
    truth = parts.targets["val"]
    return EngineRun(
        epochs_s=epochs_s,
        cost=cost,
        update_s=seconds_of(lambda: parts.loss.update(*parts.loss.answers(logits, truth))),
        evaluation_s=seconds_of(lambda: predict(parts, parts.data.val)),
        compiled=bool(parts.compiled),
    )


def seconds_of(call: Callable[[], object]) -> float:
    """Return the seconds of a call, until a GPU has done it."""
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    wait()
    began = time.perf_counter()
    call()
    wait()
    return time.perf_counter() - began


def with_channels_first(parts: TrainingSetup) -> TrainingSetup:
    """Return the same training in the layout that torch has by default."""
    normalise = parts.normalise
    parts.net.to(memory_format=torch.contiguous_format)
    return replace(parts, normalise=lambda images: normalise(images).contiguous())


def loops(model: str, n: int) -> dict[str, Callable[[], EpochCost]]:
    """Return by name what trains an epoch of n images on the CPU."""
    data = data_of(n, n_validation=100)
    cpu = torch.device("cpu")
    engines = {
        f"engine, {words}": lambda precision=precision: (
            engine_run(config_of(model, 1, "cpu", precision), data).cost
        )
        for words, precision in (("float32", "32"), ("bfloat16", "bf16"))
    }
    trainer = {"Lightning's Trainer, float32": lambda: lightning_epochs(model, n, 1)[0]}
    return {
        "plain, float32": lambda: plain_epochs(model, n, 1, cpu)[0],
        **(trainer if importlib.util.find_spec("lightning") else {}),
        **engines,
    }


def table(model: str, n: int, rounds: int) -> list[str]:
    """Return the lines of a Markdown table: the best of the rounds of each loop."""
    chosen = loops(model, n)
    costs: dict[str, list[EpochCost]] = {name: [] for name in chosen}
    for _ in range(rounds):
        for name, epoch in chosen.items():
            costs[name].append(epoch())
    wall = {name: n / min(cost.wall_s for cost in each) for name, each in costs.items()}
    cpu = {name: n / min(cost.cpu_s for cost in each) for name, each in costs.items()}
    base = cpu["plain, float32"]
    return [
        f"| loop, {model} | images/s | images a second of the processor | over the plain loop |",
        "|---|---|---|---|",
        *(
            f"| {name} | {wall[name]:.0f} | {cpu[name]:.0f} | {cpu[name] / base:.2f} |"
            for name in chosen
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=2560)
    parser.add_argument("--model", default="small_cnn")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # or the engine takes half of the cores
    torch.set_num_threads(1)
    print("\n".join(table(given.model, given.images, given.rounds)))


if __name__ == "__main__":
    main()
