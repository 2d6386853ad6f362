"""What trains together: network, optimiser, loss and device, and how ranks share a batch; torch."""

import math
import os
import random
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from lightning_fabric.plugins.environments.slurm import SLURMEnvironment
from lightning_fabric.plugins.precision.amp import MixedPrecision
from torch import Tensor, nn

from core.codes import NoticeCode
from core.datasets.base import LabelledRows, SplitDataset
from core.datasets.catalogue import data_entry
from core.datasets.texts.dataset import TextDataset
from core.datasets.texts.pieces import CONFIG, WEIGHTS, read_object
from core.defaults import VERSION
from core.errors import Notice, Refused, UsageError
from core.losses.base import Loss
from core.losses.build import build as build_loss
from core.models.bert import load_bert, read_sizes
from core.models.build import build as build_model
from core.models.build import exact, input_size, last_layer
from core.models.texts import build_text, take_vectors
from core.predictions import Task
from core.training import ranks, threads
from core.training.config import TrainConfig
from core.training.images import Augmentation, Normalise, RandomCrops

TF32_SINCE: Final = (8, 0)  # compute capability of the first GPUs with it, Ampere
LOWER_BY: Final = 1e-4  # of the lowest loss so far; less is no fall, as PyTorch has it


@dataclass
class Plateau:
    """What is known of a validation loss after some epochs."""

    lowest: float = math.inf  # the lowest loss that counted as a fall
    stale: int = 0  # epochs since then, or since the last drop of the rate
    drops: int = 0  # how often the rate has dropped

    def note(self, loss: float, patience: int) -> None:
        """Take note of an epoch's loss; more than `patience` epochs without a fall are a drop.

        References
        ----------
        `torch.optim.lr_scheduler.ReduceLROnPlateau` with its defaults.
        """
        # A relative threshold, as PyTorch has it: a loss that creeps down by less counts as stale.
        if loss < self.lowest * (1.0 - LOWER_BY):
            self.lowest, self.stale = loss, 0
        else:
            self.stale += 1
        if self.stale > patience:
            self.stale, self.drops = 0, self.drops + 1

    def state(self) -> dict[str, Any]:
        """Return plain values; `of` gives an equal one back."""
        return asdict(self)

    @classmethod
    def of(cls, state: dict[str, Any]) -> Self:
        """Return what a state says; of older checkpoints, which have none, a new one."""
        return cls(**state)


MOST_AT_ONCE = 512
SHORTEST_OF_BERT: Final = 3  # a start, one piece, an end
FIXED = {
    "config": "other settings",
    "data": "other images",
    "split": "another split",
    "program": "another version of Candor or torch, or another kind of device",
}
PLAIN: Final = 1e8  # beside which the sums of Adagrad vanish, so that its steps are plain ones
UNCOMPILED: Final = "the network could not be compiled and trains without, which is slower"
FEWEST_COMPILED = 5_000  # steps on a GPU; fewer do not pay for the minute that compiling takes


@dataclass
class TrainingSetup:
    """Network, optimiser and loss on their device.

    Attributes
    ----------
    net : nn.Module
        The network itself; evaluation and checkpoints use it.
    model, optimizer : any
        The same network and its optimiser, as Fabric wraps them for precision and ranks.
    normalise : callable
        From stored images to the network's input; numbers of words stay as they are.
    targets : dict of str to tensor
        Of the train, val and test part, on the device.
    rows : (n,) int64 tensor on the CPU
        Of the training part that are trained on.
    epoch, n_batches : int
        Trained so far.
    plateau : Plateau
        Of the validation loss so far.
    kept : dict
        Epoch, score and weights of the best epoch so far; empty where the last one is kept.
    learned : (N,) int64 tensor or None
        From which epoch each row of the training part was answered right to the last, as it was
        trained on; E + 1 of E epochs where it is not. None with many labels, and of checkpoints
        from before it was noted.
    compiled : bool or None
        Whether the model is compiled; None until the first step has tried it.
    uncompiled : tuple of Notice
        Why it could not be, where that was tried.
    at_once : int
        Rows that an evaluation takes at once: few where training has room for few. It stays as
        it is over resumes, since other sizes give other last bits.
    """

    config: TrainConfig
    data: SplitDataset | TextDataset
    fabric: Fabric
    net: nn.Module
    model: Any  # Any: Fabric's wrappers forward every attribute
    optimizer: Any
    loss: Loss
    normalise: Callable[[Tensor], Tensor]
    targets: dict[str, Tensor]
    rows: Tensor
    epoch: int = 0
    n_batches: int = 0
    plateau: Plateau = field(default_factory=Plateau)
    kept: dict[str, Any] = field(default_factory=dict)  # Any: plain values and tensors
    learned: Tensor | None = None
    compiled: bool | None = False
    uncompiled: tuple[Notice, ...] = ()
    at_once: int = MOST_AT_ONCE

    def lr(self, share: float) -> float:
        """Return the learning rate after a share of the epoch to come."""
        config = self.config
        drops = self.plateau.drops if config.schedule.name == "plateau" else 0
        return config.lr(self.epoch + share) * config.schedule.factor**drops

    def note(self, measured: Mapping[str, float]) -> None:
        """Take note of the scores of the epoch that just ended: its loss, and if it is kept."""
        self.plateau.note(measured["val_loss"], self.config.schedule.patience)
        if self.config.keep == "last":
            return
        value = measured[self.config.keep]
        if math.isfinite(value) and value < self.kept.get("value", math.inf):
            net = {
                name: part.detach().cpu().clone() for name, part in self.net.state_dict().items()
            }
            self.kept = {"epoch": self.epoch, "value": value, "net": net}

    def take_kept(self) -> None:
        """Put the weights of the epoch that is kept into the network."""
        if self.kept:
            self.net.load_state_dict(self.kept["net"])

    @property
    def last_layer(self) -> nn.Module:
        """The layer that makes the logits."""
        return last_layer(self.net)

    def augmentation(self, generator: torch.Generator) -> Augmentation | RandomCrops | None:
        """Return how each training image of an epoch is changed; None for texts."""
        data = self.data
        if isinstance(data, TextDataset):
            return None
        n, entry = len(data.train), data_entry(data.name)
        draws: Augmentation | RandomCrops
        if entry.cropped:
            draws = RandomCrops.of(n, size=entry.shown(data.size), generator=generator)
        else:
            draws = Augmentation.of(n, pad=data.pad, flip=data.flip, generator=generator)
        return draws.to(self.fabric.device) if self.config.augment else None

    def state(self) -> dict[str, Any]:
        """Return all that resuming needs; random numbers follow from seed and epoch."""
        return {
            "config": self.config.digest,
            "data": self.data.digest,
            "split": self.data.split.digest,
            "program": f"{VERSION}, torch {torch.__version__}, {self.fabric.device.type}",
            "epoch": self.epoch,
            "n_batches": self.n_batches,
            "at_once": self.at_once,
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "loss": self.loss.state_dict(),
            "scaler": dict(self.fabric.strategy.precision.state_dict()),
            "plateau": self.plateau.state(),
            "kept": self.kept,
            "train_learned": self.learned,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take up a state.

        Raises Refused CHANGED: it belongs to other settings or data, or to another program.
        """
        # Other settings, data, split or program would continue
        # with other mathematics under one name.
        now = self.state()
        for key, what in FIXED.items():
            if state.get(key) != now[key]:
                raise Refused(
                    "CHANGED",
                    f"The checkpoint belongs to {what}",
                    "resume with the same settings, or start again",
                )
        self.net.load_state_dict(state["net"])
        groups = [  # float16 checkpoints from before fused steps have None, and steps on the CPU
            {**saved, "fused": own.get("fused")}
            for saved, own in zip(
                state["optimizer"]["param_groups"], self.optimizer.param_groups, strict=True
            )
        ]
        self.optimizer.load_state_dict(state["optimizer"] | {"param_groups": groups})
        self.loss.load_state_dict(state["loss"])
        self.fabric.strategy.precision.load_state_dict(state["scaler"])
        self.epoch, self.n_batches = state["epoch"], state["n_batches"]
        self.at_once = state.get("at_once", MOST_AT_ONCE)
        self.plateau, self.kept = Plateau.of(state.get("plateau", {})), state.get("kept", {})
        self.learned = state.get("train_learned")


def assemble(
    config: TrainConfig, data: SplitDataset | TextDataset, fabric: Fabric
) -> TrainingSetup:
    """Build and place everything; weights are drawn from the config's seed.

    Raises UsageError SETTING: an unknown network, or a loss that does not fit the data.
    """
    seed_all(config.seed, 0, 0)  # epochs count from 1 here
    net, normalise = _network(config, data, fabric.device)
    if config.sync_batch_norm and config.devices > 1:
        net = nn.SyncBatchNorm.convert_sync_batchnorm(net)  # type: ignore[no-untyped-call]
    net = net.to(fabric.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    # After the network is placed, so that its moments lie where the weights do.
    optimizer = _optimizer(config, net, fabric.device)
    rows = training_rows(config, len(data.train))
    # Compiled before Fabric wraps it, so that DDP sees one module; `net` stays
    # the plain one, whose names checkpoints have.
    compiled = compiles(config, fabric.device, len(rows))
    ready: nn.Module = net
    if compiled:  # by its first step
        torch.compiler.set_stance("default")
        ready = torch.compile(net)  # type: ignore[assignment]
    model, wrapped = fabric.setup(ready, optimizer)
    loss = build_loss(config.loss, len(data.class_names), data.task, reduction=config.reduction)
    return TrainingSetup(
        config=config,
        data=data,
        fabric=fabric,
        net=net,
        model=model,
        optimizer=wrapped,
        loss=loss.to(fabric.device),
        normalise=normalise,
        targets={
            name: split.targets.to(fabric.device)
            for name, split in (("train", data.train), ("val", data.val), ("test", data.test))
        },
        rows=rows,
        learned=None
        if data.task is Task.MULTILABEL
        else torch.ones(len(data.train), dtype=torch.int64),
        compiled=None if compiled else False,
        at_once=min(MOST_AT_ONCE, 8 * config.batch_size),
    )


def compiles(config: TrainConfig, device: torch.device, n_rows: int) -> bool:
    """Whether a training of so many rows tries to compile its network."""
    if config.compile != "auto":
        return config.compile == "on"
    steps = config.epochs * config.n_batches(n_rows)
    # Batches of texts differ in length, and each would be compiled anew.
    return device.type == "cuda" and steps >= FEWEST_COMPILED and not config.of_texts


def try_compiling(parts: TrainingSetup, images: Tensor) -> None:
    """Run the first batch forward and back; where a rank cannot compile that, all go on without.

    The network, its gradients and the random numbers are left as they were.
    """
    fabric, cuda = parts.fabric, parts.fabric.device.type == "cuda"
    buffers = [buffer.clone() for buffer in parts.net.buffers()]
    devices = [fabric.device] if cuda else []

    def train() -> None:
        with torch.random.fork_rng(devices=devices), fabric.no_backward_sync(parts.model):
            fabric.backward(parts.model(images).float().mean())

    attempts: list[Callable[[], object]] = [train]
    if fabric.world_size > 1:
        # SyncBatchNorm waits for all ranks, for ever where one has no compiler at all
        attempts.insert(0, lambda: torch.compile(lambda numbers: -numbers)(images))
    for attempt in attempts:
        reason: str | None = None
        try:
            attempt()
        except Exception as error:  # noqa: BLE001  compilers, their files and drivers raise anything
            reason = str(getattr(error, "inner_exception", error)).strip() or type(error).__name__
        # All ranks must agree: one that trains without while others compile
        # would sum in another order, or wait for ever.
        reasons = [reason] * fabric.world_size
        if fabric.world_size > 1:
            torch.distributed.all_gather_object(reasons, reason)
        failed = [rank for rank, reason in enumerate(reasons) if reason is not None]
        if failed:
            break
    if fabric.world_size > 1:  # else ranks that failed would wait for the others' buffers
        ddp = parts.model._forward_module
        getattr(ddp, "_orig_mod", ddp).require_forward_param_sync = True
    parts.compiled = not failed
    if failed:
        why = str(reasons[failed[0]]).splitlines()[0][:200]
        which = f", on process {failed[0] + 1} of {len(reasons)}" if len(reasons) > 1 else ""
        parts.uncompiled = (Notice(NoticeCode.UNCOMPILED, f"{UNCOMPILED}: {why}{which}"),)
        torch.compiler.set_stance("force_eager")
    # The trial leaves no trace: no gradients, and batch norm's running statistics as they were.
    parts.optimizer.zero_grad(set_to_none=True)
    with torch.no_grad():
        for buffer, before in zip(parts.net.buffers(), buffers, strict=True):
            buffer.copy_(before)


def _network(
    config: TrainConfig, data: SplitDataset | TextDataset, device: torch.device
) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    """Return the network, and what turns stored rows into its input."""
    if isinstance(data, TextDataset):
        if config.text.bert is not None:
            return _bert(config, Path(config.text.bert).expanduser(), data), _as_they_are
        net = build_text(
            config.model,
            n_words=len(data.vocabulary),
            dimension=config.text.dimension,
            n_outputs=data.n_outputs,
        )
        if data.vectors is not None:
            take_vectors(net, torch.from_numpy(data.vectors), fixed=config.text.fixed)
        return net, _as_they_are
    # What is stored, what is shown of it and what the network takes can be three sizes.
    shown = data_entry(data.name).shown(data.size)
    size = input_size(config.model, shown)
    net = build_model(
        config.model,
        n_outputs=len(data.class_names),
        channels=data.channels,
        size=size,
        pretrained=config.pretrained,
    )
    return net, Normalise(data.mean, data.std, size, device, middle=shown)


def _bert(config: TrainConfig, folder: Path, data: TextDataset) -> nn.Module:
    """Return the BERT of a folder, where it has places and vectors for all that is read."""
    # Checked here, where a setting can be named; torch would fail
    # with an index far inside the network.
    sizes = read_sizes(read_object(folder / CONFIG))
    longest = max(config.text.length, config.text.test_length or 0)
    if longest > sizes.max_position_embeddings:
        what = f"{longest} pieces of a text are read, BERT has {sizes.max_position_embeddings}"
        raise UsageError("SETTING", what, "lower text.length and text.test_length")
    if min(config.text.length, config.text.test_length or longest) < SHORTEST_OF_BERT:
        what = "BERT reads a start, an end, and pieces between them"
        raise UsageError("SETTING", what, f"set text.length to {SHORTEST_OF_BERT} or more")
    if len(data.vocabulary) > sizes.vocab_size:
        what = f"{len(data.vocabulary):,} pieces, and config.json says {sizes.vocab_size:,}"
        raise Refused("FORMAT_UNKNOWN", what, "give vocab.txt and config.json of one model")
    return load_bert(folder / WEIGHTS, sizes, len(data.class_names))


def _as_they_are(numbers: Tensor) -> Tensor:
    return numbers


def training_rows(config: TrainConfig, n: int) -> Tensor:
    """Return the rows, of n in the training part, that a config trains on.

    Raises UsageError SETTING: it asks for more than there are.
    """
    if config.n_train is None:
        return torch.arange(n)
    if config.n_train > n:
        rows = "texts" if config.of_texts else "images"
        what = f"n_train is {config.n_train}, the training part has {n} {rows}"
        raise UsageError("SETTING", what, "ask for fewer, or leave it out for all")
    # By the split's seed, not the training's: other seeds train on the
    # same rows and differ by the training alone.
    generator = torch.Generator().manual_seed(config.split_seed)
    return torch.randperm(n, generator=generator)[: config.n_train]


def _optimizer(config: TrainConfig, net: nn.Module, device: torch.device) -> torch.optim.Optimizer:
    settings, fused = config.optimizer, config.precision == "16" or None
    both: dict[str, Any] = {"lr": settings.lr, "weight_decay": settings.weight_decay}
    if settings.name in {"adam", "adamw"}:
        kind = torch.optim.Adam if settings.name == "adam" else torch.optim.AdamW
        # on a CPU too: one pass over the vectors of all words
        return kind(net.parameters(), **both, fused=fused or device.type == "cpu" or None)
    if settings.name == "adagrad":
        groups: list[dict[str, Any]] = [{"params": net.parameters()}]
        if config.of_texts and settings.vectors_lr is not None:
            vectors, *others = net.parameters()  # a text network begins with its words' vectors
            # Adagrad with eps of 1e8 is plain gradient descent at lr / 1e8; the factor undoes that.
            times = settings.vectors_lr / settings.lr * PLAIN
            groups = [
                {"params": others},
                {"params": [vectors], "weight_decay": 0.0, "eps": PLAIN, "times": times},
            ]
        return torch.optim.Adagrad(groups, **both, fused=fused)
    sgd = torch.optim.SGD(net.parameters(), **both, momentum=settings.momentum, fused=fused)
    if config.precision == "16" and settings.momentum:
        for weight in net.parameters():  # which stays uninitialised where the first step is skipped
            sgd.state[weight]["momentum_buffer"] = torch.zeros_like(weight)
    return sgd


class ScaledPrecision(MixedPrecision):
    """float16 with optimisers that skip a step on the device, without a wait: the fused ones.

    Fabric refuses to clip their gradients, since some of them unscale by themselves; these do not
    where the scaler has.
    """

    def unscale_gradients(self, optimizer: torch.optim.Optimizer) -> None:
        """Divide the gradients by the scale."""
        assert self.scaler is not None
        self.scaler.unscale_(optimizer)


def connect(config: TrainConfig) -> Fabric:
    """Return the devices that a config asks for, started.

    Raises UsageError DEVICE: there are not so many. SETTING: a precision that the device does not
    have.
    """
    n_gpus = ranks.count_gpus()
    accelerator = config.device if config.device != "auto" else ("cuda" if n_gpus else "cpu")
    per_node = config.devices // ranks.n_nodes()
    # Refused before a process is started: Fabric's own error comes from one of them, and late.
    if accelerator == "cuda" and n_gpus < per_node:
        raise UsageError(
            "DEVICE",
            f"{per_node} CUDA devices are asked for, this machine has {n_gpus}",
            "set device to cpu or auto, or ask for fewer devices",
        )
    if accelerator == "cpu" and config.precision in {"16", "tf32"}:
        what = f"Precision is {config.precision} on a CPU"
        raise UsageError("SETTING", what, "use 32 or bf16 there")
    if accelerator == "cpu" and config.sync_batch_norm and config.devices > 1:
        what = "sync_batch_norm is on, and PyTorch has it for GPUs alone"
        raise UsageError("SETTING", what, "turn it off, or train on GPUs")
    if threads.CHOSEN not in os.environ:
        torch.set_num_threads(threads.usual(per_node))
    # Both are set: PyTorch allows TF32, with 10 bits of mantissa,
    # in convolutions unless told otherwise.
    torch.backends.cudnn.allow_tf32 = config.precision != "32"
    torch.backends.cuda.matmul.allow_tf32 = config.precision == "tf32"
    # warn_only: some kernels have no deterministic form, and the training is not refused for them.
    if config.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # before CUDA starts
        torch.use_deterministic_algorithms(mode=True, warn_only=True)
        torch.backends.cudnn.deterministic = True
    else:
        torch.backends.cudnn.benchmark = accelerator == "cuda" and not config.of_texts
    scaled = [ScaledPrecision("16-mixed", "cuda")] if config.precision == "16" else []
    precision = {"bf16": "bf16-mixed", "16": None}.get(config.precision, "32-true")
    fabric = Fabric(
        accelerator=accelerator,
        devices=per_node,
        num_nodes=ranks.n_nodes(),
        strategy="ddp" if config.devices > 1 else "auto",
        precision=precision,  # type: ignore[arg-type]  # one of its literals
        plugins=[_processes(), *scaled],
    )
    fabric.launch()
    if config.precision == "tf32" and torch.cuda.get_device_capability(fabric.device) < TF32_SINCE:
        what = f"Precision is tf32, which {torch.cuda.get_device_name(fabric.device)} does not have"
        raise UsageError("SETTING", what, "use 32 or 16 there")
    return fabric


def _processes() -> ClusterEnvironment:
    """Return who starts the processes; Fabric left alone takes any shell of a cluster for srun."""
    if not ranks.by_srun():
        return LightningEnvironment()
    # The batch script, which calls srun, runs on the first node; its name may not be resolvable.
    os.environ.setdefault("MASTER_ADDR", os.environ["SLURM_LAUNCH_NODE_IPADDR"])
    return SLURMEnvironment(auto_requeue=False)


def seed_all(seed: int, epoch: int, rank: int) -> torch.Generator:
    """Seed every generator from seed, epoch and rank, and return one that all ranks share.

    An epoch depends on nothing drawn before it, so resuming needs no random state.
    """
    # SeedSequence mixes, so that (seed 0, epoch 1) and (seed 1, epoch 0) share nothing.
    own = np.random.SeedSequence([seed, epoch, rank]).generate_state(3)
    random.seed(int(own[0]))
    np.random.seed(int(own[1]))  # noqa: NPY002, TID251  for networks that draw from the global one
    torch.manual_seed(int(own[2]))
    shared = np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0]
    return torch.Generator().manual_seed(int(shared >> np.uint64(1)))


def share(fabric: Fabric, rows: Tensor) -> Tensor:
    """Return this rank's rows of a batch, as many on each rank; the first rows fill up the last.

    `joined` puts the outputs together again and drops what filled up.
    """
    if fabric.world_size == 1:
        return rows
    # Collectives need as many rows on each rank; those that fill up are dropped by `joined`.
    per_rank = -(-len(rows) // fabric.world_size)
    filled = torch.cat([rows, rows[:1].expand(per_rank * fabric.world_size - len(rows))])
    return filled[per_rank * fabric.global_rank : per_rank * (fabric.global_rank + 1)]


def joined(fabric: Fabric, outputs: Tensor, n: int) -> Tensor:
    """Return the outputs of the whole batch of n rows on every rank; gradients flow back.

    Each rank computes the loss of the whole batch, so losses that look at several rows at once,
    and uneven shares, mean the same on any number of ranks. DDP's mean over ranks undoes the sum
    that the gather's gradient takes over them.
    """
    if fabric.world_size == 1:
        return outputs
    gathered = fabric.all_gather(outputs, sync_grads=True)
    assert isinstance(gathered, Tensor)
    return gathered.flatten(0, 1)[:n]


@torch.inference_mode()
def predict(parts: TrainingSetup, split: LabelledRows, rows: Tensor | None = None) -> Tensor:
    """Return the logits of a part, or of some of its rows, (N, K) float32 on the device.

    Outputs for what only training rows are, such as neutral phrases, are left out. In evaluation
    mode, and in float32 whatever the precision of training, because confidence is read off them.
    """
    fabric = parts.fabric
    chosen = torch.arange(len(split)) if rows is None else rows
    batches = torch.split(chosen, parts.at_once * fabric.world_size)
    stored = split.inputs([share(fabric, batch) for batch in batches], fabric.device)
    was_training = parts.net.training
    parts.net.eval()
    if fabric.world_size > 1:  # on the first rank's running statistics, as checkpoints have them
        for buffer in parts.net.buffers():
            # Fabric's broadcast pickles it, and each rank would open it on the first one's GPU
            torch.distributed.broadcast(buffer, src=0)
    with exact():
        logits = [
            joined(fabric, parts.net(parts.normalise(images)).float(), len(batch))
            for images, batch in zip(stored, batches, strict=True)
        ]
    parts.net.train(was_training)
    return torch.cat(logits)[:, : len(parts.data.class_names)]
