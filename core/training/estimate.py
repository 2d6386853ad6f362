"""How long a training takes, from a few real steps on random images or texts.

`measure` imports torch, late: it runs in a worker process. The rest is for pages.
"""

import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from core.datasets.catalogue import DATASETS, data_entry
from core.datasets.splits import by_counts
from core.errors import Refused
from core.losses.bins import EPOCH, UpdateSchedule
from core.models.catalogue import TREE_LSTM
from core.predictions import Task
from core.training.config import OptimizerConfig, ScheduleConfig, TrainConfig

if TYPE_CHECKING:  # both import torch
    from core.datasets.base import SplitDataset
    from core.datasets.texts.dataset import TextDataset
    from core.training.parts import TrainingSetup

# Channels, side in pixels and outputs of each data set; of folders what is usual.
SHAPES: Final = {
    "digits": (1, 8, 10),
    "cifar10": (3, 32, 10),
    "cifar100": (3, 32, 100),
    "svhn": (3, 32, 10),
    "tiny_imagenet": (3, 64, 200),
    "imagenet": (3, 224, 1_000),
    "folder": (3, 224, 10),
    "chestxray14": (3, 224, 14),
    "phantom": (1, 128, 4),
}
TEXT_OUTPUTS: Final = {
    "20newsgroups": 20, "sst2": 2, "sst_binary": 3, "ag_news": 4, "finsen": 15, "tickets": 6,
    "texts": 10,
}  # fmt: skip
# Mean of the exponential law whose texts, cut to 400 words, are as long as those of the data. Of
# other texts nothing is known, and all are as long as is read.
TEXT_WORDS: Final = {"20newsgroups": 130, "sst2": 18, "sst_binary": 9, "tickets": 19}
N_RANDOM: Final = (16, 8, 8)  # images to train, validate and test on, shown again and again
FIRST_BATCH: Final = 2  # batch normalisation needs two
SHORT_S: Final = 0.5  # batches grow while a step takes less: memory and patience are bounded
TIMED_S: Final = 1.5  # steps are repeated for so long
MOST_STEPS: Final = 60
LIMIT_S: Final = 60.0  # for all of it


@dataclass(frozen=True, kw_only=True)
class Speed:
    """What was measured on one device."""

    device: str  # ``cpu`` or ``cuda``
    # trained, evaluated: images a second
    trained: float
    evaluated: float
    # start_s, epoch_s: seconds before the first step, and of the copy on the host after each epoch
    start_s: float
    epoch_s: float
    checkpoint_s: float  # seconds of writing such a copy


def basis(config: TrainConfig) -> TrainConfig:
    """Return the config with all that does not matter to the time of an image at one value."""
    return replace(
        config,
        name="speed",
        data_root=None,
        n_train=None,
        epochs=1,
        optimizer=OptimizerConfig(config.optimizer.name),
        schedule=ScheduleConfig(),
        seed=0,
        split_seed=0,
        devices=1,
        preset=None,
        pretrained=False,
        keep="last",
        compile="off",
        test_curves=False,
        last_batch="keep",
        checkpoint_every=1,
        sync_batch_norm=False,
        changed_files=False,
        text=replace(config.text, embeddings=None, left_out=(), strip="all"),
    )


def seconds(speed: Speed, config: TrainConfig) -> float | None:
    """Return how long a training takes, or None where the number of images is not known.

    Reading pictures from files and downloads are not in it; several devices are taken to be as
    many times as fast.
    """
    sizes = data_entry(config.data).sizes
    if not sizes:
        return None
    n_train = min(config.n_train or sizes["train"], sizes["train"])
    schedule = UpdateSchedule.of(config.loss.get("update_every", EPOCH))
    n_batches, n_evaluated = config.n_batches(n_train), 1
    for epoch in range(config.epochs):
        every = schedule.every(epoch)
        # The last update of an epoch and its evaluation are one pass over the validation part.
        updates_last = every is None or (epoch + 1) * n_batches % every == 0
        n_evaluated += schedule.n_updates(epoch, n_batches) + (not updates_last)
    trained, evaluated = speed.trained * config.devices, speed.evaluated * config.devices
    epoch_s = speed.epoch_s + speed.checkpoint_s / config.checkpoint_every
    epochs = config.epochs * (n_train / trained + epoch_s)
    n_tested = 1 + config.test_curves * config.epochs
    n_rows = n_evaluated * sizes["val"] + n_tested * sizes["test"]
    return speed.start_s + epochs + n_rows / evaluated


def measure(config: TrainConfig, limit_s: float = LIMIT_S) -> Speed:
    """Time training steps, an evaluation and a checkpoint of a config, within a few seconds.

    Batches grow from a few images to the config's size, or until a step is no longer short: so a
    large network on a CPU is measured on fewer images at once.

    Raises
    ------
    UsageError
        SETTING or DEVICE: no such network, or it does not fit data, loss or device.
    Refused
        MEMORY: a batch does not fit the GPU. TIME: it takes longer than `limit_s`.
    """
    with _limited(limit_s):
        import torch

        from core.training import checkpoint
        from core.training.loop import now
        from core.training.parts import assemble, connect

        # All that does not change the time of an image at one value, so
        # that one measurement serves many configs.
        small = basis(config)
        parts = assemble(small, _random(small), connect(small))
        # In processor time, which waiting for other processes does not lengthen.
        start_s = time.process_time()  # since the interpreter began
        n = min(FIRST_BATCH, config.batch_size)
        try:
            _seconds(parts, n)  # the first step of a size allocates
            while (spent := _seconds(parts, n)) < SHORT_S and n < config.batch_size:
                n = min(2 * n, config.batch_size)
                _seconds(parts, n)
            # The median of some steps: another job on the machine slows a few of them.
            steps = min(MOST_STEPS, max(1, int(TIMED_S / spent)))
            spent = float(np.median([_seconds(parts, n) for _ in range(steps)]))
            evaluated = _evaluated(parts, n)
        except torch.OutOfMemoryError as error:
            rows = "texts" if config.of_texts else "images"
            what = f"A batch of {n} {rows} does not fit into the memory of the GPU"
            raise Refused("MEMORY", what, "use smaller batches, or a smaller network") from error
        # A checkpoint is copied while training waits, and written while it goes on: two numbers.
        with tempfile.TemporaryDirectory() as folder:
            began = now(parts)
            state = checkpoint.on_host(parts.state())
            copied = now(parts)
            checkpoint.save(Path(folder), 1, state)
            written = now(parts)
    return Speed(
        device=parts.fabric.device.type,
        trained=n / spent,
        evaluated=evaluated,
        start_s=start_s,
        epoch_s=copied - began,
        checkpoint_s=written - copied,
    )


@contextmanager
def _limited(limit_s: float) -> Iterator[None]:
    """Refuse once it takes too long; only in the main thread, which a worker process has."""

    def late(*_: object) -> None:
        what = f"A few training steps took longer than {limit_s:g} s on this machine"
        raise Refused("TIME", what, "choose a smaller network or another device, or just train")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _random(config: TrainConfig) -> "SplitDataset | TextDataset":
    """Return a few random images or texts in the shape of the data."""
    if config.of_texts:
        return _random_texts(config)
    from core.datasets.assemble import DatasetRows, in_memory

    channels, shown, n_outputs = SHAPES[config.data]
    side, _ = DATASETS[config.data].stored((shown, shown))
    rng, n = np.random.default_rng(0), sum(N_RANDOM)
    many = DATASETS[config.data].task is Task.MULTILABEL
    labels = rng.integers(0, 2, (n, n_outputs)) if many else rng.integers(0, n_outputs, n)
    pixels = rng.integers(0, 256, (n, channels, side, side), dtype=np.uint8)
    names = tuple(str(k) for k in range(n_outputs))
    rows = DatasetRows(
        name=config.data, labels=labels, class_names=names, split=by_counts(n, *N_RANDOM[1:], 0)
    )
    return in_memory(rows, pixels, [str(row) for row in range(n)])


def _random_texts(config: TrainConfig) -> "TextDataset":
    """Return texts of random words, about as long as those of the data."""
    import torch

    from core.datasets.texts.dataset import TextDataset, TextSplit
    from core.datasets.texts.pieces import read_pieces
    from core.datasets.texts.words import PADDING, UNKNOWN
    from core.models.texts import JOIN

    text, mean = config.text, TEXT_WORDS.get(config.data)
    known = (PADDING, UNKNOWN, *(str(k) for k in range(text.vocabulary)))
    if text.bert is not None:  # its pieces of words are more than words, how many more is not known
        known, mean = read_pieces(Path(text.bert).expanduser()).pieces, None
    n_outputs = TEXT_OUTPUTS[config.data]
    generator = torch.Generator().manual_seed(0)

    def part(n: int, length: int) -> TextSplit:
        lengths = np.full(n, length)
        if mean is not None:
            # Quantiles of the exponential law in place of draws: the
            # mean length is right with 8 texts, too.
            share = (np.arange(n) + 0.5) / n
            lengths = np.clip(np.ceil(-mean * np.log1p(-share)), 1, length).astype(np.int64)
        # A tree of n leaves has n - 1 joins: its number of symbols is odd.
        if config.model == TREE_LSTM:
            lengths = lengths - 1 + lengths % 2
        ends = np.concatenate([[0], np.cumsum(lengths)])
        numbers = torch.randint(1, len(known), (int(ends[-1]),), generator=generator)
        if config.model == TREE_LSTM:  # a phrase grows by one word after another
            place = np.arange(len(numbers)) - np.repeat(ends[:-1], lengths)
            numbers[numbers == JOIN] = 1
            numbers[(place > 0) & (place % 2 == 0)] = JOIN
        labels = torch.arange(n) % n_outputs
        return TextSplit(labels, tuple(str(row) for row in range(n)), numbers, ends)

    lengths = (text.length, *2 * (text.test_length or text.length,))
    train, val, test = (part(n, length) for n, length in zip(N_RANDOM, lengths, strict=True))
    return TextDataset(
        name=config.data,
        class_names=tuple(str(k) for k in range(n_outputs)),
        n_outputs=n_outputs,
        train=train,
        val=val,
        test=test,
        left_out=None,
        vocabulary=known,
        vectors=None,
        digest="",
        notices=(),
        split=by_counts(sum(N_RANDOM), *N_RANDOM[1:], 0),
    )


def _seconds(parts: "TrainingSetup", n: int) -> float:
    """Return the seconds of one training step on n images or texts."""
    import torch

    from core.training.loop import Sums, now, step

    data, device = parts.data, parts.fabric.device
    rows = torch.arange(n) % len(data.train)
    (images,) = data.train.inputs([rows], device)
    draws, sums = parts.augmentation(torch.Generator().manual_seed(0)), Sums.zero(device)
    began = now(parts)
    step(parts, rows, images, draws, sums)
    return now(parts) - began


def _evaluated(parts: "TrainingSetup", n: int) -> float:
    """Return how many rows a second are evaluated: n at once, and more while a pass is short."""
    while (spent := _pass_seconds(parts, n)) < SHORT_S and n < parts.at_once:
        n = min(2 * n, parts.at_once)
    # The fastest of three passes, since nothing makes one faster than the machine is.
    return n / min(spent, *(_pass_seconds(parts, n) for _ in range(2)))


def _pass_seconds(parts: "TrainingSetup", n: int) -> float:
    """Return the seconds of an evaluation of n images or texts."""
    import torch

    from core.training.loop import now
    from core.training.parts import predict

    rows = torch.arange(n) % len(parts.data.val)
    began = now(parts)
    predict(parts, parts.data.val, rows)
    return now(parts) - began
