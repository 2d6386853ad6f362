"""The manifest of a run that is about to be kept; imports our files only."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from core import defaults
from core.errors import LibraryError, Notice
from core.library import files
from core.library.history import Tables
from core.library.manifest import SCHEMA_VERSION, Manifest, RunSource, Summary, checked_name
from core.predictions import Predictions


def check_alike(splits: Mapping[str, Predictions]) -> None:
    """Refuse splits that one manifest cannot describe: it says task, kind and classes once."""
    for first, other in pairwise(splits):
        rows, others = splits[first], splits[other]
        if (rows.task, rows.kind, rows.class_names) != (
            others.task,
            others.kind,
            others.class_names,
        ):
            raise LibraryError(
                "CLASSES",
                f"{first} is {_kind(rows)}, {other} is {_kind(others)}; "
                "a run has one set of classes",
                "keep each part as a run of its own",
            )


def check_tables(tables: Tables, splits: Mapping[str, Predictions]) -> None:
    """Refuse a history without epochs, and logits that are not those of its epochs and of val."""
    epochs = tables.n_epochs
    if epochs == 0:
        raise LibraryError("HISTORY", "The history has no epoch", "train for one epoch or more")
    if tables.validation is not None:
        shape = tables.validation.shape
        if "val" not in splits or shape[:2] != (epochs, splits["val"].n) or len(shape) != 3:
            rows = splits["val"].n if "val" in splits else "no"
            raise LibraryError(
                "HISTORY",
                f"Validation logits have shape {shape}; there are {epochs} epochs, {rows} val rows",
                "give one matrix of logits for each epoch, with the rows of the split val",
            )


def _kind(predictions: Predictions) -> str:
    names = ", ".join(name[:60] for name in predictions.class_names[:6])
    more = " and more" if predictions.n_classes > 6 else ""
    classes = f"{predictions.n_classes} classes ({names}{more})"
    return f"{predictions.task} {predictions.kind} with {classes}"


_ALPHABET: Final = "abcdefghijkmnpqrstuvwxyz23456789"  # no l, o, 0, 1: ids are read aloud


def describe(
    name: str,
    splits: Mapping[str, Predictions],
    *,
    source: RunSource,
    summary: Mapping[str, Summary],
    notices: Sequence[Notice] = (),
) -> Manifest:
    """Return the manifest of a new upload; the id is drawn at random.

    Raises LibraryError NAME, SPLIT_NAME, or CLASSES when the splits do not go together.
    """
    check_alike(splits)
    first = next(iter(splits.values()), None)
    return Manifest(
        schema_version=SCHEMA_VERSION,
        id="".join(secrets.choice(_ALPHABET) for _ in range(12)),
        name=checked_name(name),
        kind="upload",
        owner="local",
        created=datetime.now(UTC).isoformat(timespec="milliseconds"),
        description="",
        task=str(first.task) if first else "",
        scores=str(first.kind) if first else "",
        n_classes=first.n_classes if first else 0,
        class_names=first.class_names if first else (),
        splits={name: files.entry_of(name, files.native(part)) for name, part in splits.items()},
        source=source,
        notices=tuple(notices),
        tags=(),
        metrics=dict(summary),
        code_version=defaults.VERSION,
    )
