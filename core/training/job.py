"""One training job from its folder to a run in the library; torch."""

import logging
import math
import shutil
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from core.arrays import digest
from core.configs import AuditConfig
from core.datasets.base import LabelledRows, SplitDataset
from core.datasets.catalogue import data_entry
from core.datasets.load import load
from core.datasets.pictures import Scaling
from core.datasets.stream import keep_resized
from core.datasets.texts.corpus import LEFT_OUT
from core.datasets.texts.dataset import TextDataset, load_texts
from core.errors import LibraryError, Notice, Refused, UsageError
from core.library import RunSource, open_library, summarise
from core.library.history import MAX_ROWS, Tables, from_events
from core.losses.bins import UpdateSchedule
from core.losses.catalogue import checked
from core.metrics.suite import audit
from core.models.build import input_size
from core.models.catalogue import TREE_LSTM
from core.predictions import Predictions, ScoreKind
from core.progress import Listener, on_progress
from core.training import checkpoint, threads
from core.training.config import TrainConfig, advice
from core.training.folder import JobFolder, Progress, environment, stop_requested, write_progress
from core.training.loop import EVERY_S, TrainingOutcome, train
from core.training.parts import TrainingSetup, assemble, connect, predict

STREAMED: Final = (224, 224)  # large images, for networks that take any size
COPIES: Final = 3  # two checkpoints and the one being written
LOG_S: Final = 5.0  # between lines of the log before the first epoch
LOG: Final = logging.getLogger(__name__)
Json = dict[str, Any]  # Any: plain JSON values


def run(folder: JobFolder, *, seconds: float | None = None) -> Json | None:
    """Train a job, keep its run in the library, and return how it went.

    Parameters
    ----------
    seconds : float, optional
        Stop at the end of the first epoch after so long; None is returned then.

    Raises
    ------
    AuditError
        Of the settings, the data, the disk or the library.
    """
    training = trained(folder, seconds=seconds)
    if training is None:
        return None
    parts, outcome, splits = training
    if not parts.fabric.is_global_zero:
        return {}
    result = {
        "job": folder.path.name,
        "run": _keep(folder, parts, splits),
        "state": "succeeded",
        "seconds": outcome.seconds,
        "device": parts.fabric.device.type,
        "images_per_second": outcome.images_per_second,
        "notices": [notice.to_json() for notice in _notices(folder, parts)],
    }
    # The result before the tidying: whoever finds it may rely on
    # the run, whatever is left to remove.
    folder.finish(result)
    folder.tidy()
    return result


def trained(
    folder: JobFolder, *, seconds: float | None = None
) -> tuple[TrainingSetup, TrainingOutcome, dict[str, Predictions]] | None:
    """Train a job and return its parts, how it went, and what it says of val and test.

    Parameters and errors as of `run`; None when time was up.
    """
    config = folder.config()
    fabric, began = connect(config), time.monotonic()
    if fabric.is_global_zero:
        on_progress(preparation_listener(folder, config.epochs))
    # One process fetches, the others read what it has put on the disk.
    with fabric.rank_zero_first():
        data = load_data(config)
    parts = assemble(config, data, fabric)
    if fabric.is_global_zero:
        check_room(folder, parts)
        check_updates(config, len(parts.rows))

    def late() -> bool:
        spent = time.monotonic() - began
        return stop_requested(folder.path) or (seconds is not None and spent >= seconds)

    rest = [(part, torch.arange(len(part))) for part in (data.val, data.test)]
    prepared = keep_resized([(data.train, parts.rows), *rest], late)  # all ranks share the work
    on_progress(None)
    if prepared and fabric.is_global_zero:  # the copies are there now
        check_room(folder, parts)
    if not fabric.broadcast(prepared):  # ranks end together, as the first does
        return None
    outcome = train(parts, folder, seconds=seconds)
    if not outcome.finished:
        return None
    # Evaluated with the weights of the best epoch, and the checkpoint on the disk is made to agree.
    if parts.kept:
        parts.take_kept()
        if fabric.is_global_zero:  # what is evaluated later has the weights that are kept
            checkpoint.save(folder.checkpoints, parts.epoch, parts.state())
    splits = {name: _predictions(parts, getattr(data, name)) for name in ("val", "test")}
    if isinstance(data, TextDataset) and data.left_out is not None:
        splits[LEFT_OUT] = _predictions(parts, data.left_out, labelled=False)
    return parts, outcome, splits


def preparation_listener(folder: JobFolder, n_epochs: int) -> Listener:
    """Return what writes how far the data are prepared for the first epoch, and logs it."""
    began, written, logged = time.monotonic(), -math.inf, -math.inf

    def listener(share: float, words: str) -> None:
        nonlocal written, logged
        now, text = time.monotonic(), f"{words}: {share:.0%}" if share else words
        if now - written >= EVERY_S:
            written = now
            so_far = Progress(0, n_epochs, 0, 0, 0.0, 0, now - began, None, text)
            write_progress(folder.path, so_far)
        if now - logged >= LOG_S:
            logged = now
            LOG.info(text)

    return listener


def load_data(config: TrainConfig, *, download: bool = True) -> SplitDataset | TextDataset:
    """Return the data of a config: texts, or images in the size its network takes."""
    if config.of_texts:
        return load_texts(
            config.data,
            config.data_root,
            config.text,
            seed=config.split_seed,
            trees=config.model == TREE_LSTM,
        )
    return load_images(config, download=download)


def load_images(
    config: TrainConfig, *, download: bool = True, sparing: bool = False
) -> SplitDataset:
    """Return the images of a config, streamed ones in the size its network takes."""
    root = Path(config.data_root).expanduser() if config.data_root else None
    entry = data_entry(config.data)
    size = entry.stored(input_size(config.model, STREAMED))
    data = load(
        config.data,
        root=root,
        split_seed=config.split_seed,
        size=size,
        download=download and root is None,
        scaling=Scaling(cover=entry.cropped),
        kept=not sparing,
        sparing=sparing,
        changed_files=config.changed_files,
    )
    if not len(data.train):
        raise Refused("EMPTY", "The folder holds no images to train on", "add a folder train")
    return data


def check_room(folder: JobFolder, parts: TrainingSetup) -> None:
    """Refuse to begin what the disk cannot hold.

    Raises LibraryError DISK_FULL.
    """
    # SGD keeps one moment of each weight, Adam two; `keep` the best epoch's weights besides.
    weights = sum(value.nbytes for value in parts.net.state_dict().values())
    moments = 1 if parts.config.optimizer.name == "sgd" else 2
    best = parts.config.keep != "last"
    needed = COPIES * (1 + moments + best) * weights
    free = shutil.disk_usage(folder.path).free
    if free < needed:
        raise LibraryError(
            "DISK_FULL",
            f"Checkpoints need {-(-needed // 2**20)} MiB, {free // 2**20} MiB are free",
            "free some space, or set CANDOR_HOME to another disk",
        )


def check_updates(config: TrainConfig, n_train: int) -> None:
    """Refuse to begin what would update gammas more often than a history can hold.

    Raises UsageError SETTING.
    """
    settings = checked(config.loss)
    if "update_every" not in settings:
        return
    schedule = UpdateSchedule.of(str(settings["update_every"]))
    n_bins, n_batches = int(settings["n_bins"]), config.n_batches(n_train)
    n_updates = sum(schedule.n_updates(epoch, n_batches) for epoch in range(config.epochs))
    if n_updates * n_bins > MAX_ROWS:
        what = f"{n_updates:,} updates of {n_bins} bins exceed a history's {MAX_ROWS:,} rows"
        raise UsageError("SETTING", what, "update gammas less often")


def _predictions(
    parts: TrainingSetup, split: LabelledRows, *, labelled: bool = True
) -> Predictions:
    return Predictions(
        parts.data.task,
        ScoreKind.LOGITS,
        predict(parts, split).cpu().numpy(),
        split.targets.cpu().numpy().astype(np.int64),
        class_names=parts.data.class_names,
        row_ids=split.row_ids,
        labelled=labelled,
    )


def _keep(folder: JobFolder, parts: TrainingSetup, splits: dict[str, Predictions]) -> str:
    """Put the run into the library and return its id."""
    config, data = parts.config, parts.data
    known = data.vocabulary if isinstance(data, TextDataset) else ()
    history, bins = from_events(folder.lines())
    manifest = open_library().keep(
        config.name,
        splits,
        source=RunSource(data.name, data.digest, recipe_of(data)),
        summary={"test": summarise(audit(splits["test"], AuditConfig()))},
        notices=_notices(folder, parts),
        kind="train",
        tables=Tables(history, bins, folder.validation(), known),
        config=config.to_json(),
        environment=environment(parts.fabric.device, parts.fabric.world_size),
        run_id=folder.path.name,
    )
    return manifest.id


def recipe_of(data: SplitDataset | TextDataset) -> Json:
    """Return how data were split, and of texts the size and digest of the vocabulary."""
    recipe = data.split.to_json()
    if isinstance(data, TextDataset):
        known = data.vocabulary
        recipe["vocabulary"] = {"n": len(known), "digest": digest("\n".join(known))}
    return recipe


def _notices(folder: JobFolder, parts: TrainingSetup) -> tuple[Notice, ...]:
    """Return what is said of the data and the settings, and of threads that changed on a CPU."""
    notices = (*parts.data.notices, *advice(parts.config), *parts.uncompiled)
    # On a GPU the threads of the host sum nothing up.
    if parts.fabric.device.type != "cpu":
        return notices
    counts = threads.by_epoch(from_events(folder.lines())[0])
    return (*notices, *threads.notices(counts))
