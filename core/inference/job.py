"""One evaluation from its folder to a run in the library, and the model that is kept; torch."""

import logging
import math
import resource
import shutil
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from core import defaults
from core.checkpoints.match import load as load_model
from core.codes import NoticeCode
from core.configs import AuditConfig
from core.datasets.base import DatasetSplit, SplitDataset
from core.datasets.catalogue import data_entry
from core.datasets.load import load as load_data
from core.datasets.outside import open_outside, overlap, stored_files
from core.datasets.pictures import Scaling
from core.datasets.stream import StreamedSplit
from core.disk import storing
from core.errors import Notice, Refused, UsageError
from core.inference.config import PICTURES, WEIGHTS, EvaluationConfig, config_of
from core.inference.evaluate import NOT_WATCHED, BatchPreprocessor, scores, spread
from core.inference.film_model import FilmModel
from core.inference.onnx_network import OnnxNetwork
from core.library import RunSource, open_library, summarise
from core.metrics.intervals import wilson
from core.metrics.suite import audit
from core.models.build import input_size, last_layer
from core.models.catalogue import ONNX
from core.predictions import Predictions, ScoreKind, Task
from core.progress import on_progress
from core.training import ranks
from core.training.folder import JobFolder, Progress, environment, write_progress


class Spool(Mapping[str, Predictions]):
    """Predictions by name; each is read again when it is asked for.

    `folder`: where the scores lie; made with the first.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rest: dict[str, dict[str, Any]] = {}  # Any: what Predictions takes

    def put(self, name: str, predictions: Predictions) -> None:
        """Take in predictions.

        Raises LibraryError DISK_FULL, or LIBRARY_WRITE.
        """
        with storing(f"The scores of {name}"):
            self._folder.mkdir(exist_ok=True)
            np.save(self._path(name), predictions.scores, allow_pickle=False)
        same = ("task", "kind", "labels", "class_names", "row_ids", "labelled", "groups", "weights")
        self._rest[name] = {key: getattr(predictions, key) for key in same}

    def __getitem__(self, name: str) -> Predictions:
        """Return what was taken in."""
        rest = self._rest[name]
        return Predictions(scores=np.load(self._path(name), allow_pickle=False), **rest)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rest)

    def __len__(self) -> int:
        return len(self._rest)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.npy"


EVERY_S: Final = 1.0
LOG_S: Final = 5.0  # between lines of the log, which the command line shows
LOG: Final = logging.getLogger(__name__)
FAR: Final = 0.1  # above guessing: an interval that reaches so far leaves all open
SURE: Final = 0.25  # so far above the accuracy a confidence is high
SPLITS_FOLDER: Final = "parts"  # of a job's folder: what was evaluated so far
Json = dict[str, Any]  # Any: plain JSON values


def run(folder: JobFolder, watch: AbstractContextManager[object] = NOT_WATCHED) -> Json:
    """Evaluate a job's model, keep the run in the library, and return how it went.

    `folder`: holds the config and the weights; `watch`: entered for each batch.

    Raises AuditError: of the settings, the weights, the data, the memory or the library.
    """
    began = time.monotonic()
    config = config_of(folder)
    device = connect(config)
    pace = EvaluationProgress(folder, len(config.splits) + len(config.sets))
    pace.preparing(0.0, "Opening the data")
    on_progress(pace.preparing)
    data = open_data(config)
    check_classes(config, data)
    pace.n_splits = len(splits_of(config, data)) + len(config.sets)
    evaluation = Evaluation(config, data, open_model(config, folder.path / WEIGHTS, device), device)
    splits = Spool(folder.path / SPLITS_FOLDER)
    # Each split is on the disk as soon as it is done: memory holds one, not all.
    for name, predictions in evaluation.all(pace, watch):
        splits.put(name, predictions)
        if name in config.splits and not config.keep_implausible:
            refuse_implausible(name, predictions)
    # Moments that the preprocessing states replace those of the data
    replaced = {NoticeCode.IMAGENET_MOMENTS} if config.preprocessing.mean else set()
    noticed = [notice for notice in data.notices if notice.code not in replaced]
    manifest = open_library().keep(
        config.name,
        splits,
        source=RunSource(config.weights.file or config.model, config.weights.digest),
        summary={"test": summarise(audit(splits["test"], AuditConfig()))}
        if "test" in splits
        else {},
        notices=(*noticed, *evaluation.notices),
        kind="evaluate",
        config=config.to_json(),
        environment=environment(device),
        run_id=folder.path.name,
    )
    result: Json = {
        "job": folder.path.name,
        "run": manifest.id,
        "state": "succeeded",
        "seconds": time.monotonic() - began,
        "device": device.type,
        "images_per_second": pace.rate,
        "notices": [notice.to_json() for notice in manifest.notices],
    }
    folder.finish(result)
    # Only after the result: until then a crash loses nothing.
    for name in (SPLITS_FOLDER, PICTURES):
        shutil.rmtree(folder.path / name, ignore_errors=True)
    return result


def refuse_implausible(split: str, predictions: Predictions) -> None:
    """Refuse to keep what guesses with high confidence: it was probably shown the wrong thing.

    Raises Refused IMPLAUSIBLE: Wilson's interval of the accuracy reaches chance, and leaves less
    than `FAR` above it, while the mean confidence is `SURE` above the interval.
    """
    if predictions.task is Task.MULTILABEL:
        return
    rows, n_classes = predictions.rows, predictions.n_classes
    hits, n = np.array(rows.correct.sum()), np.array(predictions.n)
    low, high = (float(end) for end in wilson(hits, n, defaults.LEVEL))
    # Guessing and confident: nearly always a wrong size, wrong moments or
    # another order of classes, and seldom an honest model.
    chance, sure = 1 / n_classes, float(rows.confidence.mean())
    if low > chance or high > chance + FAR or sure < high + SURE:
        return
    raise Refused(
        "IMPLAUSIBLE",
        f"The network is right on {hits / n:.1%} of the {split} images and {sure:.1%} confident; "
        f"guessing would be right on {chance:.1%}. The run was not kept",
        "check image size, mean and std, and the order of the classes, or keep it in any case",
    )


def connect(config: EvaluationConfig) -> torch.device:
    """Return the device that a config asks for.

    Raises UsageError DEVICE: there is none, or fewer than the job was given.
    """
    available = config.model != ONNX and ranks.count_gpus() > 0
    if config.device == "cuda" and not available:
        raise UsageError("DEVICE", "No CUDA device can be used", "set device to cpu or auto")
    return torch.device("cuda" if available and config.device != "cpu" else "cpu")


def open_data(
    config: EvaluationConfig, *, download: bool = True, n_images: int | None = None
) -> SplitDataset:
    """Return the data of a config, streamed images scaled as its preprocessing says.

    Where only some images of each part are looked at, by `n_images` or the config's limit, no
    others are decoded, unless moments are taken of all training images.
    """
    preprocessing = config.preprocessing
    return load_data(
        config.data,
        root=Path(config.data_root).expanduser() if config.data_root else None,
        split_seed=config.split_seed,
        size=preprocessing.scaled,
        download=download and config.data_root is None,
        scaling=Scaling(preprocessing.cover, preprocessing.interpolation == "bicubic"),
        sparing=bool(n_images or config.limit) and bool(preprocessing.mean),
        changed_files=config.changed_files,
    )


def check_classes(config: EvaluationConfig, data: SplitDataset) -> None:
    """Refuse a model that has other classes than the data."""
    n_classes = len(data.class_names)
    if config.n_outputs != n_classes:
        what = f"The model has {config.n_outputs} outputs, {data.name} has {n_classes} classes"
        raise Refused("CLASSES", what, "choose the data that it was trained on")


def splits_of(config: EvaluationConfig, data: SplitDataset) -> dict[str, DatasetSplit]:
    """Return the splits that are wanted and hold images: a folder may hold a part alone.

    Raises Refused EMPTY: none does.
    """
    splits = {split: getattr(data, split) for split in config.splits}
    if not any(map(len, splits.values())):
        what = f"There are no images in {' or '.join(splits)}"
        raise Refused("EMPTY", what, "choose a part that holds some")
    return {split: images for split, images in splits.items() if len(images)}


def open_model(
    config: EvaluationConfig | FilmModel, weights: Path, device: torch.device
) -> nn.Module:
    """Return the model with its weights, in evaluation mode; it is whole or not there.

    A temperature divides the last layer, which makes the logits.

    Raises Refused STATE_DICT: names or shapes differ.
    """
    if isinstance(config, EvaluationConfig) and config.model == ONNX:
        return OnnxNetwork(
            weights,
            config.n_outputs,
            layout=config.layout,
            outputs=config.outputs,
            many=data_entry(config.data).task is Task.MULTILABEL,
            temperature=config.temperature,
            in_bytes=config.preprocessing.in_bytes,
        )
    model = load_model(
        weights,
        config.model,
        n_outputs=config.n_outputs,
        channels=config.channels,
        size=input_size(config.model, config.preprocessing.size),
    )
    if isinstance(config, EvaluationConfig) and config.temperature != 1:
        layer = last_layer(model)
        with torch.no_grad():
            # Weights and bias both: the logits are then divided, and no further step is needed.
            for tensor in (layer.weight, layer.bias):
                if tensor is not None:
                    tensor /= config.temperature
    return model.to(device).to(memory_format=torch.channels_last)


class EvaluationProgress:
    """Says about once a second how far the evaluation is.

    `n_splits`: how many splits and sets are evaluated, as far as is known.
    """

    def __init__(self, folder: JobFolder, n_splits: int) -> None:
        self._folder = folder
        self._began = time.monotonic()
        self._evaluating = math.inf  # since when, data and model being open
        self._written = self._logged = -math.inf
        self._done = 0  # images of the splits before
        self._now = 0
        self.n_splits = n_splits
        self.split_index = -1
        self.n = 0

    def preparing(self, share: float, words: str) -> None:
        """Say what is done before a split's first image, and how much of it."""
        self._tell(f"{words}: {share:.0%}" if share else words)

    def begin(self, n_images: int) -> None:
        """Take note that the next split begins, and say so."""
        self._evaluating = min(self._evaluating, time.monotonic())
        self._done += self._now
        self.split_index, self.n, self._written = self.split_index + 1, n_images, -math.inf
        self.did(0)

    def did(self, n_images: int) -> None:
        """Take note of how many images of this split are done."""
        self._now = n_images
        self._tell()

    def _tell(self, stage: str = "") -> None:
        now = time.monotonic()
        if now - self._written < EVERY_S:
            return
        self._written, spent = now, now - self._began
        split = max(0, self.split_index)
        # Splits differ in size, which is not known before each is opened: as if each were as long.
        share = (split + self._now / max(1, self.n)) / self.n_splits
        progress = Progress(
            epoch=split,
            n_epochs=self.n_splits,
            batch=self._now,
            n_batches=self.n,
            images_per_second=self.rate,
            memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            seconds=spent,
            left=(now - self._evaluating) * (1 - share) / share if share else None,
            stage=stage,
        )
        write_progress(self._folder.path, progress)
        if now - self._logged >= LOG_S:
            self._logged = now
            done = f"part {split + 1} of {self.n_splits}: {self._now:,} of {self.n:,} images"
            LOG.info(stage or done)

    @property
    def rate(self) -> float:
        """Images a second since the first split began."""
        return (self._done + self._now) / max(time.monotonic() - self._evaluating, 1e-9)


@dataclass
class Evaluation:
    """A model, the data and what was noticed on the way."""

    config: EvaluationConfig
    data: SplitDataset
    model: nn.Module
    device: torch.device
    notices: list[Notice] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make ready what prepares images."""
        self._prepare = BatchPreprocessor(
            self.config.preprocessing,
            self.config.channels,
            self.data.mean,
            self.data.std,
            self.device,
        )

    def all(
        self, pace: EvaluationProgress, watch: AbstractContextManager[object]
    ) -> Iterator[tuple[str, Predictions]]:
        """Yield the predictions of every split, then of every set, by name.

        Every set is opened first, so that a folder that is missing does not cost hours.
        """
        sets = []
        for outside_set in self.config.sets:
            label = outside_set.label
            outside = open_outside(outside_set, self.data, download=outside_set.root is None)
            sets.append((outside_set, outside))
            self.notices += [Notice(n.code, f"{label}: {n.text}") for n in outside.notices]
            if outside_set.role == "ood":
                self._check_overlap(label, outside.split)
        for split, images in splits_of(self.config, self.data).items():
            yield split, self.evaluate_split(images, pace, watch)
        for outside_set, outside in sets:
            yield (
                outside_set.name,
                self.evaluate_split(outside.split, pace, watch, labelled=outside.labelled),
            )

    def evaluate_split(
        self,
        split: DatasetSplit,
        pace: EvaluationProgress,
        watch: AbstractContextManager[object],
        *,
        labelled: bool = True,
    ) -> Predictions:
        """Return what the model says of a part."""
        rows = spread(len(split), self.config.limit)
        n = len(rows)
        many = self.data.task is Task.MULTILABEL
        pace.begin(n)
        outputs = scores(
            self.model,
            split,
            self._prepare,
            device=self.device,
            batch_size=self.config.batch_size,
            rows=rows,
            many=many,
            on_progress=pace.did,
            watch=watch,
        )
        kind = ScoreKind.SIGMOID if many else ScoreKind.PROBABILITIES
        if not self.config.preprocessing.gives_probabilities:
            kind = ScoreKind.LOGITS
        labels = split.targets[rows].cpu().numpy().astype(np.int64)
        return Predictions(
            self.data.task,
            kind,
            outputs,
            labels if labelled else np.full(outputs.shape if many else n, -1, np.int64),
            class_names=self.data.class_names,
            row_ids=tuple(split.row_ids[row] for row in rows.tolist()),
            labelled=labelled,
        )

    def _check_overlap(self, label: str, split: DatasetSplit) -> None:
        """Refuse a set that is the data itself, and say where some of it is."""
        rows = spread(len(split), self.config.limit)
        # Images of the training part among the unfamiliar ones
        # would make any score look bad at them.
        n_same, texts = overlap(self.data, split, rows), list[str]()
        if n_same == len(rows):
            what = f"{label}: all {n_same:,} that were looked at are in {self.data.name}"
            raise Refused("OVERLAP", what, "choose a set that the model was not made for")
        if n_same:
            verb = "is" if n_same == 1 else "are"
            texts.append(f"{label}: {n_same:,} of {len(rows):,} {verb} also in {self.data.name}.")
        if isinstance(self.data.train, StreamedSplit):  # what was looked for is not all there is
            rest = f"files copied unchanged from {self.data.name} would have been found."
            if stored_files(split) is None:
                texts = [f"{label}: not compared with {self.data.name}, whose pictures are files."]
            else:
                texts.append(f"Only {rest}" if texts else f"{label}: only {rest}")
        if texts:
            self.notices.append(Notice(NoticeCode.OVERLAP, " ".join(texts)))


KEPT: Final = 4  # so that a page that asks again, or compares three, does not wait
CPU: Final = torch.device("cpu")
_models: OrderedDict[tuple[object, ...], nn.Module] = OrderedDict()


def kept_model(config: EvaluationConfig | FilmModel, weights: Path) -> nn.Module:
    """Return a model with its weights, in evaluation mode on the CPU; the last few are kept.

    Refused STATE_DICT where the weights do not fit.
    """
    about = weights.stat()
    size = config.preprocessing.size
    net: tuple[object, ...] = (config.model, config.n_outputs, config.channels, size)
    if isinstance(config, EvaluationConfig):
        many = data_entry(config.data).task  # what probabilities of ONNX models are of
        net += (config.temperature, config.layout, config.outputs, many)
    # By time of change, too: a file that was replaced under the same name is another model.
    key = (str(weights), about.st_mtime_ns, *net)
    if key not in _models:
        while len(_models) >= KEPT:
            _models.popitem(last=False)
        _models[key] = open_model(config, weights, CPU)
    _models.move_to_end(key)
    return _models[key]
