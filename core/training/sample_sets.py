"""What the samples of CIFAR-10 are shown beside its test part; imports torch.

Corrupted test images by kind and severity, and two sets that hold none of its classes. Both of
those come with Candor, so that anybody can build the samples again.
"""

from typing import Final

import numpy as np
import torch

from core.datasets.base import DatasetRequest, DatasetSplit, SplitDataset
from core.datasets.load import SEED, digits
from core.datasets.outside import OutsideDataset, fitted, open_outside, resident, unlabelled
from core.datasets.pictures import Pixels
from core.datasets.shifts import SEVERITIES, OutsideSet
from core.predictions import Predictions, ScoreKind
from core.training.parts import TrainingSetup, predict
from core.xray.phantom import SIDE, draw

ROWS: Final = 2_000  # of each set
CORRUPTIONS: Final = ("fog", "gaussian_noise", "motion_blur", "contrast")
DIGITS: Final = "folder-handwritten-digits"
FILMS: Final = "folder-synthetic-chest-films"


def outside_splits(parts: TrainingSetup) -> dict[str, Predictions]:
    """Return what a trained network says of every set, by the name of its split.

    Logits are kept in half precision: they are looked at beside those of the test part, and
    several dozen sets shall stay small.
    """
    splits, data = {}, parts.data
    assert isinstance(data, SplitDataset)
    for corruption in CORRUPTIONS:
        for severity in SEVERITIES:
            outside_set = OutsideSet("corrupted", corruption=corruption, severity=severity)
            outside = open_outside(outside_set, data, download=False)
            splits[outside_set.name] = _predictions(parts, outside.split, labelled=True)
    films = np.empty((ROWS, SIDE, SIDE), np.uint8)
    for row in range(ROWS):
        films[row] = draw(SEED, row).pixels
    for name, pixels in ((DIGITS, _digits()), (FILMS, films)):
        # Grey images in the size and the channels of the training's data.
        colours = np.repeat(pixels[:, None], 3, axis=1)
        outside = OutsideDataset(
            split=resident(colours, unlabelled(len(colours))),
            labelled=False,
            class_names=(),
            notices=(),
            digest="",
        )
        foreign = fitted(outside, pixels.shape[1:], 3, data).split
        splits[name] = _predictions(parts, foreign, labelled=False)
    return splits


def _predictions(parts: TrainingSetup, split: DatasetSplit, *, labelled: bool) -> Predictions:
    n = min(ROWS, len(split))
    rows = torch.arange(n) * len(split) // n  # at even distances: folders hold class after class
    return Predictions(
        parts.data.task,
        ScoreKind.LOGITS,
        predict(parts, split, rows).cpu().numpy().astype(np.float16),
        split.targets[rows].cpu().numpy().astype(np.int64),
        class_names=parts.data.class_names,
        labelled=labelled,
    )


def _digits() -> Pixels:
    """Return scikit-learn's handwritten digits, (1797, 8, 8)."""
    data = digits(DatasetRequest(root=None, split_seed=0))
    splits = (data.train, data.val, data.test)
    cpu = torch.device("cpu")
    batches = [batch for part in splits for batch in part.images([torch.arange(len(part))], cpu)]
    return np.concatenate([batch.numpy()[:, 0] for batch in batches])
