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
from core.predictions import Dates, Predictions, Task
from core.readers.predictions.names import (
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
        columns = (
            ("groups", GROUP_NAME, predictions.groups),
            ("weights", WEIGHT_NAME, predictions.weights),
            ("votes", VOTES_NAME, predictions.votes),
            ("dates", DATE_NAME, predictions.dates),
            ("members", MEMBERS_NAME, predictions.members),
        )
        for what, named, column in columns:
            if column is not None:
                cells = column.texts if isinstance(column, Dates) else column.of_row
                arrays[f"{key}_{what}"], arrays[named] = cells, np.array(column.name)
    return arrays
