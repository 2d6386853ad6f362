"""The training loop; torch.

One step reads: images, logits, loss of the whole batch, gradients, clip, step. Nothing in it waits
for the device; sums are kept there and read once an epoch.
"""

import logging
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from core.errors import Refused
from core.library.history import from_events
from core.losses.adafocal import BinFocal
from core.losses.bins import GammaUpdate
from core.training import checkpoint, distributions, stopping, threads
from core.training.folder import Epoch, JobFolder
from core.training.images import Augmentation
from core.training.measures import answers, measure
from core.training.norms import row_gradient_norms
from core.training.pace import TrainingProgress
from core.training.parts import TrainingSetup, joined, predict, seed_all, share

VALIDATION_BYTES: Final = 128 * 2**20  # of all epochs' logits; larger ones are not kept
LOG: Final = logging.getLogger("candor.training")
LOSS_ROWS: Final = 512  # validation rows whose loss is taken at once, for losses of pairs of rows


@dataclass
class Sums:
    """What the steps of an epoch add up to, on the device.

    Attributes
    ----------
    loss : scalar float64
        Of all rows.
    norms : (3,) float64
        Norm of the gradient before clipping, of its share in the last layer, and 1; of all steps
        but those that float16 skips because a gradient left its range.
    p_true : list of tensor
        Probability of what is true, of each row as it was trained on.
    answers : list of pairs of tensors
        Confidence and correctness of the answers, as the rows were trained on.
    """

    loss: Tensor
    norms: Tensor
    p_true: list[Tensor]
    answers: list[tuple[Tensor, Tensor]]
    n_steps: int = 0

    @classmethod
    def zero(cls, device: torch.device) -> "Sums":
        """Return sums of nothing."""
        double = torch.float64
        return cls(
            torch.zeros((), dtype=double, device=device),
            torch.zeros(3, dtype=double, device=device),
            [],
            [],
        )


@dataclass(frozen=True)
class TrainingOutcome:
    """How training went.

    Attributes
    ----------
    finished : bool
        False when it stopped because its time was up; it can go on from there.
    seconds, images_per_second : float
        Of this process; of training alone, without evaluation, None when nothing was trained.
    """

    finished: bool
    seconds: float
    images_per_second: float | None


def train(
    parts: TrainingSetup, folder: JobFolder, *, seconds: float | None = None
) -> TrainingOutcome:
    """Train from the last checkpoint, or from the start, to the end.

    Parameters
    ----------
    parts : TrainingSetup
    folder : JobFolder
        Takes events, validation logits and checkpoints as they come.
    seconds : float, optional
        Stop at the end of the first epoch after so long, as where `stopping` is asked for.

    Raises
    ------
    Refused
        NONFINITE: training diverged. CHANGED: the checkpoint belongs to something else.
    LibraryError
        DISK_FULL; the checkpoint before is untouched.
    """
    config, began = parts.config, time.monotonic()
    state = checkpoint.of_job(folder)
    if state is not None:
        parts.restore(state)
    leads = parts.fabric.is_global_zero
    if leads:
        folder.forget_after(parts.epoch)
        _say_threads(parts, folder)
    parts.fabric.barrier()
    training, images = 0.0, 0
    pace = TrainingProgress(parts, folder) if leads else None
    while parts.epoch < config.epochs:
        sums, update, logits, spent = _epoch(parts, pace)
        training, images = training + spent, images + len(parts.rows)
        epoch = _record(parts, sums, update, logits)
        epoch.metrics |= {"seconds": spent, "images_per_second": len(parts.rows) / spent}
        epoch.metrics[threads.METRIC] = torch.get_num_threads()
        parts.epoch += 1
        parts.note(epoch.metrics)
        if leads:
            keeps = 4 * logits.numel() * config.epochs <= VALIDATION_BYTES
            folder.record(epoch, logits.float().cpu().numpy() if keeps else None)
            checkpoint.save(folder.checkpoints, parts.epoch, parts.state())
            rows = "texts" if config.of_texts else "images"
            LOG.info(_line(parts.epoch, config.epochs, epoch.metrics, rows))
        late = seconds is not None and time.monotonic() - began >= seconds
        late = late or stopping.is_asked(folder.path)
        if parts.fabric.broadcast(late):  # ranks end together; each waits here for the first
            break
    rate = images / training if training else None
    return TrainingOutcome(parts.epoch == config.epochs, time.monotonic() - began, rate)


def _say_threads(parts: TrainingSetup, folder: JobFolder) -> None:
    """Write into the log that another number of threads goes on than trained before."""
    counts = threads.by_epoch(from_events(folder.lines())[0])
    if not counts or parts.fabric.device.type != "cpu":
        return
    before = len(threads.notices(counts))  # of earlier resumes
    for notice in threads.notices([*counts, torch.get_num_threads()])[before:]:
        LOG.warning(notice.sentence)


def _epoch(
    parts: TrainingSetup, pace: TrainingProgress | None
) -> tuple[Sums, GammaUpdate | None, Tensor, float]:
    """Train one epoch; return its sums, the last update, the validation logits and the seconds."""
    config, fabric, data = parts.config, parts.fabric, parts.data
    shared = seed_all(config.seed, parts.epoch + 1, fabric.global_rank)
    order = parts.rows[torch.randperm(len(parts.rows), generator=shared)]
    draws = parts.augmentation(shared)
    parts.loss.epoch_start(parts.epoch, config.epochs)
    for group in parts.optimizer.param_groups:
        group["lr"] = parts.lr
    parts.model.train()
    sums, update, began, paused = Sums.zero(fabric.device), None, time.monotonic(), 0.0
    logits: Tensor | None = None
    batches = batched(order, config.batch_size)
    for rows, images in zip(batches, _stored(parts, batches), strict=True):
        _step(parts, rows, images, draws, sums)
        parts.n_batches += 1
        if pace is not None:
            pace.stepped(sums.n_steps, len(batches))
        logits = None
        ends = sums.n_steps == len(batches)
        if parts.loss.needs_update(parts.n_batches, epoch_ends=ends):
            stopped = _now(parts)
            logits = predict(parts, data.val)
            update = parts.loss.update(*parts.loss.answers(logits, parts.targets["val"]))
            paused += _now(parts) - stopped
    spent = _now(parts) - began - paused
    return sums, update, predict(parts, data.val) if logits is None else logits, spent


def batched(order: Tensor, size: int) -> list[Tensor]:
    """Cut rows into batches; a lone last row joins those before, as batch norm needs two."""
    batches = list(torch.split(order, size))
    if len(batches) > 1 and len(batches[-1]) == 1:
        batches[-2:] = [torch.cat(batches[-2:])]
    return batches


def _now(parts: TrainingSetup) -> float:
    """Return the time once the device has done what it was given."""
    if parts.fabric.device.type == "cuda":
        torch.cuda.synchronize(parts.fabric.device)
    return time.monotonic()


def _stored(parts: TrainingSetup, batches: list[Tensor]) -> Iterator[Tensor]:
    """Yield this rank's stored images or texts of each batch, on the device."""
    own = [share(parts.fabric, rows) for rows in batches]
    return iter(parts.data.train.inputs(own, parts.fabric.device))


def _step(
    parts: TrainingSetup, rows: Tensor, images: Tensor, draws: Augmentation | None, sums: Sums
) -> None:
    """Train on one batch."""
    fabric, loss = parts.fabric, parts.loss
    if draws is not None:
        images = draws.take(share(fabric, rows).to(fabric.device, non_blocking=True)).apply(images)
    own = parts.model(parts.normalise(images))
    logits = joined(fabric, own, len(rows))
    targets = parts.targets["train"][rows.to(fabric.device, non_blocking=True)]
    value = loss(logits, targets)
    parts.optimizer.zero_grad(set_to_none=True)
    fabric.backward(value)
    bound = parts.config.clip_norm or math.inf
    norm = fabric.clip_gradients(
        parts.model, parts.optimizer, max_norm=bound, error_if_nonfinite=False
    )
    parts.optimizer.step()
    with torch.no_grad():
        p = loss.true_log_odds(logits.float(), targets).sigmoid()
        sums.answers.append(loss.answers(logits, targets))
        _add(parts, sums, value if loss.reduction == "sum" else value * len(rows), norm, p)


def _add(parts: TrainingSetup, sums: Sums, value: Tensor, norm: Any, p: Tensor) -> None:  # noqa: ANN401
    """Add a step to the sums; Fabric may return no norm by its types, with a bound it does."""
    bound = parts.config.clip_norm or math.inf
    last = parts.last_layer.weight.grad
    assert isinstance(last, Tensor)
    clipped = (bound / (norm + 1e-6)).clamp(max=1.0)  # as torch scales gradients
    sums.loss += value.detach()
    norms = torch.stack([norm, last.norm() / clipped, torch.ones_like(norm)])
    sums.norms += torch.where(norm.isfinite(), norms, 0.0)
    sums.p_true.append(p)
    sums.n_steps += 1


def _record(parts: TrainingSetup, sums: Sums, update: GammaUpdate | None, logits: Tensor) -> Epoch:
    """Return what is kept of an epoch."""
    scores = logits.cpu().numpy()
    if not np.isfinite(scores).all():
        raise Refused(
            "NONFINITE",
            f"Validation logits of epoch {parts.epoch + 1} are not all numbers",
            "training diverged: lower the learning rate, or clip gradients",
        )
    norm, last_norm, n_steps = sums.norms.tolist()
    p_true = torch.cat(sums.p_true)
    weight = parts.last_layer.weight
    assert isinstance(weight, Tensor)
    confidence, correct = (
        torch.cat(part).cpu().numpy() for part in zip(*sums.answers, strict=True)
    )
    measured = {
        "lr": parts.lr,
        "train_loss": float(sums.loss) / len(parts.rows),
        "train_p_true": float(p_true.double().mean()),
        "val_loss": _validation_loss(parts, logits),
        **measure(answers(scores, parts.targets["val"].cpu().numpy(), parts.data.task)),
        "last_layer_norm": float(weight.detach().double().norm()),
        "grad_norm": norm / n_steps if n_steps else math.nan,
        "last_layer_grad_norm": last_norm / n_steps if n_steps else math.nan,
        **distributions.reliability(confidence, correct),
        **distributions.norm_histogram(row_gradient_norms(parts)),
    }
    bins = [] if update is None else _bins(parts.loss, update, p_true)
    return Epoch(parts.epoch, measured, bins)


@torch.no_grad()
def _validation_loss(parts: TrainingSetup, logits: Tensor) -> float:
    """Return the mean validation loss; losses of pairs of rows see LOSS_ROWS at a time."""
    total = torch.zeros((), dtype=torch.float64, device=logits.device)
    targets = parts.targets["val"]
    for scores, truth in zip(
        torch.split(logits, LOSS_ROWS), torch.split(targets, LOSS_ROWS), strict=True
    ):
        loss = parts.loss(scores, truth)
        total += loss if parts.loss.reduction == "sum" else loss * len(scores)
    return float(total) / len(logits)


def _bins(loss: Any, update: GammaUpdate, p_true: Tensor) -> list[dict[str, Any]]:  # noqa: ANN401
    """Return the bins of an update as plain values.

    The training confidence is the mean probability of what is true over the epoch's rows that
    fall between the new edges, as figure 2 of Ghosh et al. 2022 shows it.
    """
    assert isinstance(loss, BinFocal)
    bins, p = update.bins, p_true.double().flatten()
    place = loss.bin_of(p).cpu().numpy()
    count = np.bincount(place, minlength=loss.n_bins)
    total = np.bincount(place, weights=p.cpu().numpy(), minlength=loss.n_bins)
    return [
        {
            "bin": b,
            "lower": float(bins.edges[b]),
            "upper": float(bins.edges[b + 1]),
            "count": int(bins.count[b]),
            "confidence": _value(bins.confidence[b]),
            "accuracy": _value(bins.accuracy[b]),
            "gap": float(bins.gap[b]),
            "gamma": float(update.gamma[b]),
            "train_confidence": float(total[b] / count[b]) if count[b] else None,
        }
        for b in range(loss.n_bins)
    ]


def _line(done: int, n_epochs: int, metrics: dict[str, float], rows: str) -> str:
    scores = ", ".join(
        f"{name} {metrics[name]:.4f}" for name in ("val_error", "val_nll", "val_ece")
    )
    return f"epoch {done} of {n_epochs}: {scores}, {metrics['images_per_second']:.0f} {rows}/s"


def _value(number: float) -> float | None:
    return None if math.isnan(number) else float(number)
