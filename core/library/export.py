"""A run as one file that Candor's own reader opens again: .npz, or Parquet of a gamma history.

NumPy opens the .npz without anything else.

Keys: `<split>_<kind of scores>`, `<split>_labels`, and where there are any `<split>_predicted`,
`<split>_ids`, `<split>_groups`, `<split>_weights`, `<split>_votes`, `<split>_dates` (ISO 8601) and
`<split>_members`, the columns of which `group_name`, `weight_name`, `votes_name`, `date_name` and
`members_name` name; `class_names`; `manifest`, the run's JSON as text. Splits other than train,
val and test stand below `sets/`, which the reader passes over unless told. Imports numpy and our
files.
"""

import io
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from core.disk import PART
from core.errors import LibraryError
from core.library.manifest import Manifest
from core.predictions import Predictions, Task
from core.readers.predictions.parts import (
    DATE_NAME,
    GROUP_NAME,
    MEMBERS_NAME,
    SETS,
    VOTES_NAME,
    WEIGHT_NAME,
)

PARTS = ("train", "val", "test")


def write_npz(out: Path, manifest: Manifest, splits: Mapping[str, Predictions]) -> None:
    """Write a run to `out`, in place of what was there, once it is complete.

    Raises LibraryError EXPORT when the disk is full or the folder is missing or read-only; also
    when `out` has another suffix.
    """
    if out.suffix.lower() != ".npz":
        what = f"A run of predictions is written as .npz, and {out.name} says otherwise"
        raise LibraryError("EXPORT", what, "name a file that ends in .npz")
    arrays = {"class_names": np.array(manifest.class_names)} | _split_arrays(splits)
    arrays["manifest"] = np.array(json.dumps(manifest.to_json()))
    _write(out, arrays)


def write_splits(out: Path, splits: Mapping[str, Predictions]) -> None:
    """Write splits of one file to `out`, as `write_npz` does, without a manifest.

    Raises LibraryError EXPORT, as of `write_npz`.
    """
    names = next(iter(splits.values())).class_names
    _write(out, {"class_names": np.array(names)} | _split_arrays(splits))


def npz_bytes(splits: Mapping[str, Predictions]) -> bytes:
    """Return what `write_splits` writes."""
    names = next(iter(splits.values())).class_names
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, class_names=np.array(names), **_split_arrays(splits))
    return file.getvalue()


def write_parquet(out: Path, table: bytes) -> None:
    """Write the Parquet file of a gamma history to `out`, as `write_npz` does.

    Raises LibraryError EXPORT, as of `write_npz`; also when `out` has another suffix.
    """
    if out.suffix.lower() != ".parquet":
        what = f"A gamma history is written as Parquet, and {out.name} says otherwise"
        raise LibraryError("EXPORT", what, "name a file that ends in .parquet")
    with _replacing(out) as file:
        file.write(table)


def _write(out: Path, arrays: dict[str, npt.NDArray[Any]]) -> None:  # Any: numbers and text
    with _replacing(out) as file:
        np.savez(file, allow_pickle=False, **arrays)


@contextmanager
def _replacing(out: Path) -> Iterator[BinaryIO]:
    """Yield a file beside `out` that takes its place once it is complete."""
    part = out.with_name(f".{out.name}.{secrets.token_hex(4)}{PART}")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(out)
    except OSError as error:
        raise LibraryError(
            "EXPORT",
            f"{out.name} cannot be written ({error.strerror})",
            "choose a folder that exists, may be written to and has room",
        ) from error
    finally:
        part.unlink(missing_ok=True)


def _split_arrays(
    splits: Mapping[str, Predictions],
) -> dict[str, npt.NDArray[Any]]:  # Any: numbers and text
    arrays: dict[str, npt.NDArray[Any]] = {}
    for split, predictions in splits.items():
        key = split if split in PARTS else f"{SETS}{split}"
        arrays[f"{key}_{predictions.kind}"] = predictions.scores
        if predictions.labelled:
            labels = predictions.labels
            if predictions.task is Task.MULTILABEL and (labels < 0).any():
                labels = np.where(labels < 0, np.nan, labels)  # blank, and not uncertain (-1)
            arrays[f"{key}_labels"] = labels
        if predictions.predicted is not None:
            arrays[f"{key}_predicted"] = predictions.predicted
        if predictions.row_ids:
            arrays[f"{key}_ids"] = np.array(predictions.row_ids)
        if predictions.groups is not None:
            arrays[f"{key}_groups"] = predictions.groups.of_row
            arrays[GROUP_NAME] = np.array(predictions.groups.name)
        if predictions.weights is not None:
            arrays[f"{key}_weights"] = predictions.weights.of_row
            arrays[WEIGHT_NAME] = np.array(predictions.weights.name)
        if predictions.votes is not None:
            arrays[f"{key}_votes"] = predictions.votes.of_row
            arrays[VOTES_NAME] = np.array(predictions.votes.name)
        if predictions.dates is not None:
            arrays[f"{key}_dates"] = predictions.dates.texts
            arrays[DATE_NAME] = np.array(predictions.dates.name)
        if predictions.members is not None:
            arrays[f"{key}_members"] = predictions.members.of_row
            arrays[MEMBERS_NAME] = np.array(predictions.members.name)
    return arrays
