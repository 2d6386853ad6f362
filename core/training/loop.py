"""The training loop; torch.

One step reads: images, logits, loss of the whole batch, gradients, clip, step. Nothing in it waits
for the device; sums are kept there and read once an epoch.
"""

import logging
import math
import resource
import sys
import time
from collections import deque
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from core.arrays import Bool, Float, log_sigmoid, log_softmax, row_chunks
from core.errors import Refused
from core.library.history import from_events
from core.losses.bins import GammaUpdate
from core.metrics import top_label
from core.metrics.ranked import SortedOutcomes
from core.models.build import exact
from core.predictions import Outcomes, Task
from core.training import checkpoint, threads
from core.training.distributions import correspondence, learned_logits, norm_histogram, reliability
from core.training.folder import Epoch, JobFolder, Progress, stop_requested, write_progress
from core.training.images import Augmentation, RandomCrops
from core.training.parts import (
    TrainingSetup,
    joined,
    predict,
    seed_all,
    share,
    try_compiling,
)

ROWS: Final = 512  # of the training part, spread evenly over it; always the same ones


def row_gradient_norms(parts: TrainingSetup) -> Float:
    """Return the norm of the loss's gradient by the last layer's weights, of some training rows.

    Parameters
    ----------
    parts : TrainingSetup
        Its network is used as it is, in evaluation mode, on images that are not augmented.

    Returns
    -------
    (M,) float64
        M <= ROWS.

    Notes
    -----
    The layer's gradient of a row is the outer product of the gradient by its logits and of what
    the layer sees, so its norm is the product of both norms. Losses of pairs of rows see these
    rows as one batch.

    References
    ----------
    Mukhoti et al. 2020, figure 4 (b-d), there over the whole training part.
    """
    every = torch.linspace(0, len(parts.rows) - 1, min(ROWS, len(parts.rows)))
    rows = parts.rows[every.long()]
    stored = parts.data.train.inputs(torch.split(rows, parts.at_once), parts.fabric.device)
    # What the last layer sees is caught on the way: backward through the whole
    # network, once a row, would cost as much as an epoch.
    seen: list[Tensor] = []
    hook = parts.last_layer.register_forward_hook(lambda _layer, inputs, _out: seen.extend(inputs))
    was_training = parts.net.training
    parts.net.eval()
    try:
        with torch.no_grad(), exact():
            logits = torch.cat([parts.net(parts.normalise(images)).float() for images in stored])
    finally:
        hook.remove()
        parts.net.train(was_training)
    logits.requires_grad_()
    loss = parts.loss(logits, parts.targets["train"][rows.to(parts.fabric.device)])
    (by_logits,) = torch.autograd.grad(loss, logits)
    # The gradient of a mean is that of each row over their number; a row's own is meant here.
    if parts.loss.reduction == "mean":
        by_logits = by_logits * len(rows)
    norms = by_logits.double().norm(dim=1) * torch.cat(seen).double().flatten(1).norm(dim=1)
    finite: Float = norms[norms.isfinite()].cpu().numpy()
    return finite


@dataclass(frozen=True)
class ModelAnswers:
    """What a model says of each row, or with many labels of each label of each row."""

    confidence: Float  # (M,) float64: of the answer given
    correct: Bool  # (M,) bool
    log_p_true: Float  # (M,) float64: natural logarithm of the probability of what is true
    entropy: Float  # (M,) float64: of the stated probabilities, in nats


def answers(
    logits: npt.NDArray[np.floating], targets: npt.NDArray[np.number], task: Task
) -> ModelAnswers:
    """Return what logits say; (N, K) with targets (N,), or (N, L) with targets (N, L) of 0/1."""
    # Every label is an answer of its own, yes or no, so there are N L of them.
    if task is Task.MULTILABEL:
        logit = logits.astype(np.float64).ravel()
        present = targets.ravel() > 0
        yes, no = log_sigmoid(logit), log_sigmoid(-logit)
        return ModelAnswers(
            np.exp(np.maximum(yes, no)),
            (logit > 0) == present,
            np.where(present, yes, no),
            -(np.exp(yes) * yes + np.exp(no) * no),
        )
    blocks = []
    # By blocks of rows: float64 probabilities of all classes at
    # once would outgrow the logits twice.
    for rows in row_chunks(*logits.shape):
        log_p, truth = log_softmax(logits[rows]), targets[rows].astype(np.int64)
        at, best = np.arange(truth.size), logits[rows].argmax(axis=1)
        p = np.exp(log_p)
        entropy = -np.einsum("ij,ij->i", p, log_p)
        blocks.append((p[at, best], best == truth, log_p[at, truth], entropy))
    return ModelAnswers(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def measure(model_answers: ModelAnswers, part: str = "val") -> dict[str, float]:
    """Return the scores of an epoch by name, NaN where there is nothing to average.

    Notes
    -----
    `val_nll` in nats, over all, right and wrong answers; `val_error`, `val_ece` (15 bins of equal
    width), `val_ece_em` (of equal mass) and `val_p_true` (mean probability of what is true) are
    fractions; `val_entropy_correct` and `val_entropy_wrong` in nats over right and over wrong
    answers, as in figure 3 of Mukhoti et al. 2020. `part` stands in the place of val.
    """
    ranked = SortedOutcomes.of(Outcomes(model_answers.confidence, model_answers.correct))
    scores = {
        **split_scores(model_answers.log_p_true, model_answers.confidence, model_answers.correct),
        "error": top_label.error(ranked),
        "ece": top_label.ece(ranked),
        "ece_em": top_label.ece_em(ranked),
        "entropy_correct": _mean(model_answers.entropy[model_answers.correct]),
        "entropy_wrong": _mean(model_answers.entropy[~model_answers.correct]),
    }
    return {f"{part}_{name}": value for name, value in scores.items()}


def split_scores(log_p_true: Float, confidence: Float, correct: Bool) -> dict[str, float]:
    """Return NLL and probability of what is true by right and wrong, and what errors claim.

    Parameters
    ----------
    log_p_true, confidence : (M,) float64
    correct : (M,) bool
    """
    scores = {"confidence_wrong": _mean(confidence[~correct])}
    for end, chosen in (("", slice(None)), ("_correct", correct), ("_wrong", ~correct)):
        scores[f"nll{end}"] = _mean(-log_p_true[chosen])
        scores[f"p_true{end}"] = _mean(np.exp(log_p_true[chosen]))
    return scores


def _mean(values: Float) -> float:
    return float(values.mean()) if values.size else float("nan")


EVERY_S: Final = 1.0
RECENT_S: Final = 60.0  # the pace is that of the last minute: a slow start is forgotten


class TrainingProgress:
    """Counts steps from now on and writes how far the training is.

    Parameters
    ----------
    parts : TrainingSetup
        Its epoch says where it began.
    folder : JobFolder
    """

    def __init__(self, parts: TrainingSetup, folder: JobFolder) -> None:
        self._parts = parts
        self._folder = folder
        self._began = self._written = time.monotonic()
        self._first = float(parts.epoch)
        self._recent = deque([(self._began, 0.0)])  # when how many epochs were done

    def stepped(self, batch: int, n_batches: int) -> None:
        """Take note of a step; `batch` of `n_batches` of this epoch are done."""
        now = time.monotonic()
        if now - self._written < EVERY_S:
            return
        self._written = now
        parts, spent = self._parts, now - self._began
        done = parts.epoch + batch / n_batches - self._first  # evaluations count in the time
        left = parts.config.epochs - self._first - done
        self._recent.append((now, done))
        # At least one mark older than a minute stays, from which the pace is taken.
        while now - self._recent[1][0] >= RECENT_S:
            self._recent.popleft()
        then, before = self._recent[0]
        pace = (done - before) / (now - then)
        n_rows = len(parts.rows)
        # Rows that the last, smaller batch would have had are not trained on.
        if parts.config.last_batch == "drop":
            n_rows = min(n_rows, n_batches * parts.config.batch_size)
        write_progress(
            self._folder.path,
            Progress(
                epoch=parts.epoch,
                n_epochs=parts.config.epochs,
                batch=batch,
                n_batches=n_batches,
                images_per_second=pace * n_rows,
                memory=_memory(parts.fabric.device),
                seconds=spent,
                left=left / pace,
            ),
        )


def _memory(device: torch.device) -> int:
    """Return the most bytes held so far: on the GPU, or by this process."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


VALIDATION_BYTES: Final = 128 * 2**20  # of all epochs' logits; larger ones are not kept
LOG: Final = logging.getLogger("candor.training")
LOSS_ROWS: Final = 512  # validation rows whose loss is taken at once, for losses of pairs of rows


@dataclass
class Sums:
    """What the steps of an epoch add up to, on the device but for `rows`."""

    loss: Tensor  # scalar float64, of all rows
    # (3,) float64: norm of the gradient before clipping, of its share in the last layer, and 1; of
    # all steps but those that float16 skips because a gradient left its range
    norms: Tensor
    logit_norm: Tensor  # scalar float64, of the logits of all rows
    log_odds: list[Tensor]  # of what is true, of each row as it was trained on
    # Confidence and correctness of the answers, as the rows were trained on
    answers: list[tuple[Tensor, Tensor]]
    # rows, largest: which rows of the training part they were, in order, and the largest logit of
    # each
    rows: list[Tensor]
    largest: list[Tensor]
    n_steps: int = 0
    n_rows: int = 0

    @classmethod
    def zero(cls, device: torch.device) -> "Sums":
        """Return sums of nothing."""
        double = torch.float64
        return cls(
            torch.zeros((), dtype=double, device=device),
            torch.zeros(3, dtype=double, device=device),
            torch.zeros((), dtype=double, device=device),
            *([], [], [], []),
        )


@dataclass(frozen=True)
class EpochUpdate:
    """An update of gammas: after how many rows, and what share, of its epoch it was made."""

    n_rows: int
    share: float
    update: GammaUpdate


@dataclass(frozen=True)
class TrainingOutcome:
    """How training went."""

    finished: bool  # False when it stopped because its time was up; it can go on from there
    # seconds, images_per_second: of this process; of training alone, without evaluation, None when
    # nothing was trained
    seconds: float
    images_per_second: float | None


def train(
    parts: TrainingSetup, folder: JobFolder, *, seconds: float | None = None
) -> TrainingOutcome:
    """Train from the last checkpoint, or from the start, to the end.

    `folder`: takes events, validation logits and checkpoints as they come; `seconds`: stop at the
    end of the first epoch after so long, as where `request_stop` was called.

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
    # Lines of epochs after the checkpoint are of a process that was killed: they are trained again,
    # to the same numbers, and must not stand twice.
    if leads:
        folder.forget_after(parts.epoch)
        _say_threads(parts, folder)
    parts.fabric.barrier()
    training, images = 0.0, 0
    pace = TrainingProgress(parts, folder) if leads else None
    with checkpoint.CheckpointWriter(folder.checkpoints) as writer:
        while parts.epoch < config.epochs:
            sums, updates, logits, spent = _epoch(parts, pace)
            training, images = training + spent, images + sums.n_rows
            epoch = _record(parts, sums, updates, logits)
            epoch.metrics |= {"seconds": spent, "images_per_second": sums.n_rows / spent}
            epoch.metrics[threads.METRIC] = torch.get_num_threads()
            parts.epoch += 1
            parts.note(epoch.metrics)
            # The line before the checkpoint: a checkpoint without its line would leave a hole in
            # the history, a line without its checkpoint is only trained again.
            if leads:
                writer.wait()
                keeps = 4 * logits.numel() * config.epochs <= VALIDATION_BYTES
                folder.record(epoch, logits.float().cpu().numpy() if keeps else None)
                rows = "texts" if config.of_texts else "images"
                named = ("val_error", "val_nll", "val_ece")
                scores = ", ".join(f"{name} {epoch.metrics[name]:.4f}" for name in named)
                speed = f"{epoch.metrics['images_per_second']:.0f} {rows}/s"
                LOG.info(f"epoch {parts.epoch} of {config.epochs}: {scores}, {speed}")
            # Only between epochs: random numbers follow from seed and
            # epoch, so a resume needs no state of them.
            late = seconds is not None and time.monotonic() - began >= seconds
            # ranks end together, as the first does
            late = parts.fabric.broadcast(late or stop_requested(folder.path))
            ends = late or parts.epoch == config.epochs
            if leads:
                due = ends or parts.epoch % config.checkpoint_every == 0
                (writer.save if due else writer.keep)(parts.epoch, parts.state())
            if late:
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
) -> tuple[Sums, list[EpochUpdate], Tensor, float]:
    """Train one epoch; return its sums, its updates, the validation logits and the seconds."""
    config, fabric, data = parts.config, parts.fabric, parts.data
    shared = seed_all(config.seed, parts.epoch + 1, fabric.global_rank)
    # Each epoch's order and augmentation come from one generator that all ranks share; what
    # networks draw themselves, as dropout, comes from each rank's own.
    order = parts.rows[torch.randperm(len(parts.rows), generator=shared)]
    draws = parts.augmentation(shared)
    parts.loss.epoch_start(parts.epoch, config.epochs)
    parts.model.train()
    sums, began, paused = Sums.zero(fabric.device), time.monotonic(), 0.0
    updates: list[EpochUpdate] = []
    logits: Tensor | None = None
    fewest = 2 * fabric.world_size
    batches = batched(order, config.batch_size, config.last_batch, fewest)
    own = [share(fabric, rows) for rows in batches]  # of this rank
    # Nothing else holds what decodes ahead: it ends with the loop, however that ends.
    for rows, images in zip(batches, data.train.inputs(own, fabric.device), strict=True):
        for group in parts.optimizer.param_groups:
            group["lr"] = parts.lr(sums.n_steps / len(batches)) * group.get("times", 1.0)
        eager = parts.compiled and len(rows) != len(batches[0])  # another size is compiled anew
        with torch.compiler.set_stance("force_eager") if eager else nullcontext():
            step(parts, rows, images, draws, sums)
        parts.n_batches += 1
        if pace is not None:
            pace.stepped(sums.n_steps, len(batches))
        # Logits of an update after the last step serve as those of the
        # epoch; after any further step they are old.
        logits = None
        ends = sums.n_steps == len(batches)
        # AdaFocal, algorithm 1: the validation part as the network
        # is now. Its time is not training's.
        if parts.loss.needs_update(parts.n_batches, epoch_ends=ends):
            stopped = now(parts)
            logits = predict(parts, data.val)
            update = parts.loss.update(*parts.loss.answers(logits, parts.targets["val"]))
            assert update is not None  # a loss that needs one makes one
            updates.append(EpochUpdate(sums.n_rows, sums.n_steps / len(batches), update))
            paused += now(parts) - stopped
    spent = now(parts) - began - paused
    return sums, updates, predict(parts, data.val) if logits is None else logits, spent


def batched(order: Tensor, size: int, last: str, fewest: int = 2) -> list[Tensor]:
    """Cut rows into batches, and keep or drop a smaller one at the end.

    Fewer than `fewest` last rows join those before, as batch norm needs two on each device; a lone
    batch is always kept.
    """
    batches = list(torch.split(order, size))
    if last == "drop":
        batches[1:] = [rows for rows in batches[1:] if len(rows) == size]
    elif len(batches) > 1 and len(batches[-1]) < fewest:
        batches[-2:] = [torch.cat(batches[-2:])]
    return batches


def now(parts: TrainingSetup) -> float:
    """Return the time once the device has done what it was given."""
    if parts.fabric.device.type == "cuda":
        torch.cuda.synchronize(parts.fabric.device)
    return time.monotonic()


def step(
    parts: TrainingSetup,
    rows: Tensor,
    images: Tensor,
    draws: Augmentation | RandomCrops | None,
    sums: Sums,
) -> None:
    """Train on one batch."""
    fabric, loss = parts.fabric, parts.loss
    if draws is not None:
        images = draws.take(share(fabric, rows).to(fabric.device, non_blocking=True)).apply(images)
    inputs = parts.normalise(images)
    if parts.compiled is None:
        try_compiling(parts, inputs)
        for notice in parts.uncompiled if fabric.is_global_zero else ():
            LOG.warning(notice.sentence)
    # Forward on this rank's share, loss on the whole batch (`joined`): MMCE compares pairs of rows.
    own = parts.model(inputs)
    logits = joined(fabric, own, len(rows))
    targets = parts.targets["train"][rows.to(fabric.device, non_blocking=True)]
    value = loss(logits, targets)
    parts.optimizer.zero_grad(set_to_none=True)
    fabric.backward(value)
    # The norm is measured where nothing is clipped, too, and clipping at infinity changes nothing.
    bound = parts.config.clip_norm or math.inf
    norm: Any = fabric.clip_gradients(  # None by its types, never with a bound
        parts.model, parts.optimizer, max_norm=bound, error_if_nonfinite=False
    )
    parts.optimizer.step()
    last = parts.last_layer.weight.grad
    assert isinstance(last, Tensor)
    # Everything below stays on the device; reading a number back would make each step wait for it.
    with torch.no_grad():
        sums.log_odds.append(loss.true_log_odds(logits.float(), targets))
        sums.answers.append(loss.answers(logits, targets))
        sums.logit_norm += logits.double().norm(dim=1).sum()
        sums.rows.append(rows)
        sums.largest.append(logits.float().amax(dim=1))
        sums.n_rows += len(rows)
        sums.loss += (value if loss.reduction == "sum" else value * len(rows)).detach()
        # The last layer's gradient has been scaled already: divided
        # by the same factor, it is as it was.
        clipped = (bound / (norm + 1e-6)).clamp(max=1.0)  # as torch scales gradients
        norms = torch.stack([norm, last.norm() / clipped, torch.ones_like(norm)])
        # float16 skips steps whose gradient overflowed; they count in no mean.
        sums.norms += torch.where(norm.isfinite(), norms, 0.0)
        sums.n_steps += 1


def _record(parts: TrainingSetup, sums: Sums, updates: list[EpochUpdate], logits: Tensor) -> Epoch:
    """Return what is kept of an epoch."""
    # Checked before anything is written, so that a diverged epoch leaves no checkpoint behind.
    scores = logits.cpu().numpy()
    if not np.isfinite(scores).all():
        raise Refused(
            "NONFINITE",
            f"Validation logits of epoch {parts.epoch + 1} are not all numbers",
            "training diverged: lower the learning rate, or clip gradients",
        )
    norm, last_norm, n_steps = sums.norms.tolist()
    log_p_true = logsigmoid(torch.cat(sums.log_odds).double()).cpu().numpy()
    p_true = np.exp(log_p_true)
    weight = parts.last_layer.weight
    assert isinstance(weight, Tensor)
    confidence, correct = (
        torch.cat(part).cpu().numpy() for part in zip(*sums.answers, strict=True)
    )
    # The scores of the audit's own code, so that a curve ends at the number that the report prints.
    val = answers(scores, parts.targets["val"].cpu().numpy(), parts.data.task)
    claimed = split_scores(log_p_true.ravel(), confidence, correct)
    measured = {
        "lr": parts.optimizer.param_groups[0]["lr"],  # of the last step
        "train_loss": float(sums.loss) / sums.n_rows,
        "train_error": 1.0 - float(correct.mean()),
        **{f"train_{key}": value for key, value in claimed.items()},
        "train_logit_norm": float(sums.logit_norm) / sums.n_rows,
        "val_loss": _validation_loss(parts, logits),
        **measure(val),
        "val_logit_norm": float(np.linalg.norm(scores.astype(np.float64), axis=1).mean()),
        "last_layer_norm": float(weight.detach().double().norm()),
        "grad_norm": norm / n_steps if n_steps else math.nan,
        "last_layer_grad_norm": last_norm / n_steps if n_steps else math.nan,
        **reliability(confidence, correct),
        **correspondence(Outcomes(val.confidence, val.correct), p_true.ravel(), confidence),
        **norm_histogram(row_gradient_norms(parts)),
    }
    if parts.learned is not None:
        # From which epoch on each row is answered right, and what that says once training has ended
        rows = torch.cat(sums.rows)
        parts.learned[rows[torch.from_numpy(~correct)]] = parts.epoch + 2
        if parts.epoch + 1 == parts.config.epochs:
            largest = torch.cat(sums.largest).double().cpu().numpy()
            measured |= learned_logits(parts.learned[rows].numpy(), largest, parts.config.epochs)
    if parts.config.test_curves:
        test, truth = predict(parts, parts.data.test), parts.targets["test"]
        tested = answers(test.cpu().numpy(), truth.cpu().numpy(), parts.data.task)
        measured |= measure(tested, "test")
    return Epoch(parts.epoch, measured, _bins(parts.epoch, updates, p_true))


@torch.no_grad()
def _validation_loss(parts: TrainingSetup, logits: Tensor) -> float:
    """Return the mean validation loss; losses of pairs of rows see LOSS_ROWS at a time."""
    total = torch.zeros((), dtype=torch.float64, device=logits.device)
    targets = parts.targets["val"]
    # In blocks of one size, whatever the batch size: a loss of
    # pairs depends on how many rows it sees.
    for scores, truth in zip(
        torch.split(logits, LOSS_ROWS), torch.split(targets, LOSS_ROWS), strict=True
    ):
        loss = parts.loss(scores, truth)
        total += loss if parts.loss.reduction == "sum" else loss * len(scores)
    return float(total) / len(logits)


def _bins(epoch: int, updates: list[EpochUpdate], p_true: Float) -> list[dict[str, Any]]:
    """Return the bins of an epoch's updates as plain values; `p_true` is of its rows in order.

    The training confidence is the mean probability of what is true over the rows that were trained
    on since the update before, or since the epoch began, and fall between the new edges, as figure
    2 of Ghosh et al. 2022 shows it.
    """
    rows, start = [], 0
    for of in updates:
        bins, n_bins = of.update.bins, len(of.update.gamma)
        p = p_true[start : of.n_rows].ravel()
        start = of.n_rows
        # [low, high) as the loss assigns training rows, unlike the
        # (low, high] of the validation answers.
        place = np.searchsorted(bins.edges[1:-1], p, side="right")
        count = np.bincount(place, minlength=n_bins)
        total = np.bincount(place, weights=p, minlength=n_bins)
        rows += [
            {
                "trained": epoch + of.share,
                "bin": b,
                "lower": float(bins.edges[b]),
                "upper": float(bins.edges[b + 1]),
                "count": int(bins.count[b]),
                "confidence": _value(bins.confidence[b]),
                "accuracy": _value(bins.accuracy[b]),
                "gap": float(bins.gap[b]),
                "gamma": float(of.update.gamma[b]),
                "train_confidence": float(total[b] / count[b]) if count[b] else None,
            }
            for b in range(n_bins)
        ]
    return rows


def _value(number: float) -> float | None:
    return None if math.isnan(number) else float(number)
