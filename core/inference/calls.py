"""What a warm process can be asked; imports torch. Every call carries all that it needs."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from core import codec
from core.checkpoints.match import match
from core.datasets.base import DatasetSplit
from core.datasets.outside import open_outside
from core.datasets.texts.corpus import texts_named
from core.datasets.texts.words import shown
from core.errors import Refused
from core.inference import films
from core.inference.config import from_json, with_moments
from core.inference.evaluate import (
    BatchPreprocessor,
    scores,
    settings_for_folder,
    settings_of,
    spread,
)
from core.inference.job import CPU, check_classes, kept_model, open_data
from core.inference.onnx_network import onnx_match
from core.models.build import input_size
from core.models.catalogue import ONNX
from core.predictions import Task
from core.readers.weights.named_tensors import TensorInfo
from core.training.config import from_json as training_config
from core.training.job import load_images

Json = dict[str, Any]  # Any: plain JSON values
Arrays = dict[str, npt.NDArray[Any]]  # Any: numbers of several types
Answer = tuple[Json, Arrays]
MOST_PICTURES: Final = 200


def matching(question: Json) -> Answer:
    """Return how a checkpoint's tensors go with a network, and what that network is shown."""
    tensors = [TensorInfo(name, tuple(shape), dtype) for name, shape, dtype in question["tensors"]]
    size = question["size"] and tuple(question["size"])
    folder = question.get("folder")
    model, channels = question["model"], question["channels"]
    hints = {key: question[key] for key in ("data", "file", "trained_here") if key in question}
    settings = (folder and settings_for_folder(model, Path(folder), channels)) or settings_of(
        model, size, channels, **hints
    )
    if question.get("bytes"):
        settings = with_moments(settings, "bytes", channels)
    if model == ONNX:
        fit = onnx_match(Path(question["weights"]), question["n_outputs"])
    else:
        fit = match(
            tensors,
            model,
            n_outputs=question["n_outputs"],
            channels=channels,
            size=input_size(model, settings.size),
        )
    return {"match": codec.to_json(fit), "settings": codec.to_json(settings)}, {}


def trying(question: Json) -> Answer:
    """Return what a model says of some images of a part: scores and labels."""
    config = from_json(question["config"])
    data = open_data(config, download=False, n_images=question["n"])
    split = getattr(data, question["split"])
    rows = spread(len(split), question["n"])
    check_classes(config, data)
    outputs = scores(
        kept_model(config, Path(question["weights"])),
        split,
        BatchPreprocessor(config.preprocessing, config.channels, data.mean, data.std, CPU),
        device=CPU,
        batch_size=config.batch_size,
        rows=rows,
        many=data.task is Task.MULTILABEL,
    )
    labels = split.targets[rows].numpy().astype(np.int64)
    return {"class_names": list(data.class_names)}, {"scores": outputs, "labels": labels}


def pictures(question: Json) -> Answer:
    """Return images of a split or set of an evaluation or training, (n, C, H, W) uint8.

    `rows` are places in the run's split, which holds some of the images where there is a limit;
    `row_ids`, what it calls them, must still be theirs. Of a run that keeps no ids, as many
    images (`n`) must be there, and these rows have its `labels`.
    """
    rows = question["rows"]
    if not 0 < len(rows) <= MOST_PICTURES:
        raise Refused("EMPTY", f"{len(rows)} pictures were requested", f"1 to {MOST_PICTURES}")
    stored, name, limit = question["config"], question["split"], None
    # Of a training's config, or of an evaluation's.
    if "loss" in stored:
        data = load_images(training_config(stored), download=False, sparing=True)
        split: DatasetSplit = getattr(data, name)
    else:
        config = from_json(stored)
        data, limit = open_data(config, download=False, n_images=len(rows)), config.limit
        outside = next((entry for entry in config.sets if entry.name == name), None)
        split = (
            getattr(data, name)
            if outside is None
            else open_outside(outside, data, download=False).split
        )
    # The same even distances as when it was evaluated: a row of
    # the run is then the image that it was.
    places = spread(len(split), limit)
    chosen = [int(places[row]) for row in rows if 0 <= row < len(places)]
    ids = question["row_ids"]
    # Without ids the labels of the rows must agree: another folder
    # would give pictures of other answers.
    if ids is None:
        labels = split.targets[chosen].numpy().astype(np.int64).tolist()
        same = len(places) == question["n"] and labels == question["labels"]
    else:
        same = [split.row_ids[row] for row in chosen] == ids
    if not same:
        what = f"The images of {question['split']} are not those that were evaluated"
        raise Refused("DATA_ROOT", what, "restore the folder that was evaluated")
    (images,) = split.images([torch.tensor(chosen)], CPU)
    return {}, {"images": images.numpy()}


def texts(question: Json) -> Answer:
    """Return the texts that a training's run calls by the names in `row_ids`, as a page shows them.

    Each is on one line, its addresses are masked, and what is long is cut.
    """
    row_ids = question["row_ids"]
    if not 0 < len(row_ids) <= MOST_PICTURES:
        raise Refused("EMPTY", f"{len(row_ids)} texts are asked for", f"1 to {MOST_PICTURES}")
    config = training_config(question["config"])
    root = None if config.data_root is None else Path(config.data_root)
    originals = texts_named(config.data, root, row_ids, strip=config.text.strip)
    return {"texts": [shown(text) for text in originals]}, {}


def ready(_question: Json) -> Answer:
    """Return nothing, as soon as this process can answer."""
    return {}, {}


CALLS: Final[Mapping[str, Callable[[Json], Answer]]] = {
    "ready": ready,
    "matching": matching,
    "trying": trying,
    "pictures": pictures,
    "texts": texts,
    "heat": films.film_saliency,
    "heats": films.saliency_maps,
    "sanity": films.sanity,
}
