"""scikit-learn's handwritten digits, the embedded data set; imports torch and scikit-learn."""

import numpy as np

from core.datasets.assemble import DatasetRows, in_memory
from core.datasets.base import DatasetRequest, SplitDataset
from core.datasets.catalogue import DATASETS
from core.datasets.splits import by_counts

TOP = 16  # scikit-learn counts the ink of 4 x 4 pixels, 0 to 16


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
