"""Predictions whose scores wait in files: many large parts do not fit the memory; no torch."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from core.disk import storing
from core.predictions import Predictions


class Spool(Mapping[str, Predictions]):
    """Predictions by name; each is read again when it is asked for.

    Parameters
    ----------
    folder : Path
        Where the scores lie; made with the first.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rest: dict[str, dict[str, Any]] = {}  # Any: what Predictions takes

    def put(self, name: str, predictions: Predictions) -> None:
        """Take in predictions.

        Raises
        ------
        LibraryError
            DISK_FULL, or LIBRARY_WRITE.
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
