"""Parts of a run that do not go together are refused before anything is written; our files only."""

from collections.abc import Mapping
from itertools import pairwise

from core.errors import LibraryError
from core.library.history import Tables
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
