"""What a warm process can be asked; imports torch. Every call carries all that it needs."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from core.checkpoints.match import match
from core.datasets.outside import open_outside
from core.errors import Refused
from core.inference import films
from core.inference.config import from_json
from core.inference.evaluate import scores, spread
from core.inference.job import check_classes, open_data
from core.inference.kept import CPU, kept_model
from core.inference.prepare import BatchPreprocessor
from core.inference.settings import settings_of
from core.models.build import input_size
from core.predictions import Task
from core.readers.weights import TensorInfo

Json = dict[str, Any]  # Any: plain JSON values
Arrays = dict[str, npt.NDArray[Any]]  # Any: numbers of several types
Answer = tuple[Json, Arrays]
MOST_PICTURES: Final = 200


def matching(asked: Json) -> Answer:
    """Return how a checkpoint's tensors go with a network, and what that network is shown."""
    tensors = [TensorInfo(name, tuple(shape), dtype) for name, shape, dtype in asked["tensors"]]
    size = asked["size"] and tuple(asked["size"])
    settings = settings_of(asked["model"], size)
    found = match(
        tensors,
        asked["model"],
        n_outputs=asked["n_outputs"],
        channels=asked["channels"],
        size=input_size(asked["model"], settings.size),
    )
    return {"match": found.to_json(), "settings": settings.to_json()}, {}


def trying(asked: Json) -> Answer:
    """Return what a model says of some images of a part: scores and labels."""
    config = from_json(asked["config"])
    data = open_data(config, download=False)
    part = getattr(data, asked["split"])
    rows = spread(len(part), asked["n"])
    check_classes(config, data)
    found = scores(
        kept_model(config, Path(asked["weights"])),
        part,
        BatchPreprocessor(config.preprocessing, config.channels, data.mean, data.std, CPU),
        device=CPU,
        batch_size=config.batch_size,
        rows=rows,
        many=data.task is Task.MULTILABEL,
    )
    labels = part.targets[rows].numpy().astype(np.int64)
    return {"class_names": list(data.class_names)}, {"scores": found, "labels": labels}


def pictures(asked: Json) -> Answer:
    """Return images of a split or set of an evaluation, (n, C, H, W) uint8.

    `rows` are places in the run's split, which holds some of the images where there is a limit;
    `row_ids`, what it calls them, must still be theirs.
    """
    config = from_json(asked["config"])
    rows = asked["rows"]
    if not 0 < len(rows) <= MOST_PICTURES:
        raise Refused("EMPTY", f"{len(rows)} pictures are asked for", f"1 to {MOST_PICTURES}")
    data = open_data(config, download=False)
    wanted = {one.name: one for one in config.sets}.get(asked["split"])
    if wanted is None:
        part = getattr(data, asked["split"])
    else:
        part = open_outside(wanted, data, download=False).part
    places = spread(len(part), config.limit)
    chosen = [int(places[row]) for row in rows if 0 <= row < len(places)]
    if [part.row_ids[row] for row in chosen] != asked["row_ids"]:
        what = f"the images of {asked['split']} are not those that were evaluated"
        raise Refused("DATA_ROOT", what, "restore the folder that was evaluated")
    (images,) = part.images([torch.tensor(chosen)], CPU)
    return {}, {"images": images.numpy()}


CALLS: Final[Mapping[str, Callable[[Json], Answer]]] = {
    "matching": matching,
    "trying": trying,
    "pictures": pictures,
    "heat": films.heat,
    "heats": films.heats,
    "sanity": films.sanity,
}
