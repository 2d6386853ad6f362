"""The data sets that come with Candor, scikit-learn's digits and phantom films; imports torch."""

from dataclasses import replace
from typing import Final

import numpy as np

from core.datasets.assemble import DatasetRows, in_memory
from core.datasets.base import DatasetRequest, SplitDataset
from core.datasets.catalogue import DATASETS
from core.datasets.splits import by_counts
from core.xray.phantom import FINDINGS, MEAN, SIDE, STD, draw

TOP: Final = 16  # scikit-learn counts the ink of 4 x 4 pixels, 0 to 16
SEED: Final = 0  # of the phantom films here; films of any other seed were never trained on


def digits(request: DatasetRequest) -> SplitDataset:
    """Return the 1,797 images of 8 x 8 pixels, 0 to 255 for scikit-learn's 0 to 16."""
    from sklearn.datasets import load_digits  # seconds of import that no other data set needs

    source = load_digits()
    pixels = np.rint(source.images * (255 / TOP)).astype(np.uint8)[:, None]
    sizes = DATASETS["digits"].sizes
    rows = DatasetRows(
        name="digits",
        labels=source.target.astype(np.int64),
        class_names=tuple(str(name) for name in source.target_names),
        split=by_counts(len(pixels), sizes["val"], sizes["test"], request.split_seed),
    )
    return in_memory(rows, pixels, [str(row) for row in range(len(pixels))])


def phantoms(request: DatasetRequest) -> SplitDataset:
    """Return 7,000 films (1, 128, 128) with 4 findings; each is drawn from its row's number."""
    sizes = DATASETS["phantom"].sizes
    n = sum(sizes.values())
    pixels = np.empty((n, 1, SIDE, SIDE), np.uint8)
    labels = np.empty((n, len(FINDINGS)), np.int64)
    for row in range(n):
        film = draw(SEED, row)
        pixels[row, 0] = film.pixels
        labels[row] = [film.present[finding] for finding in FINDINGS]
    split = by_counts(n, sizes["val"], sizes["test"], request.split_seed)
    rows = DatasetRows(name="phantom", labels=labels, class_names=FINDINGS, split=split)
    dataset = in_memory(rows, pixels, [str(row) for row in range(n)])
    return replace(dataset, mean=(MEAN,), std=(STD,))  # the same for any seed, and for single films
