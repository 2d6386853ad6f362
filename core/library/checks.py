"""Parts of a run that do not go together are refused before anything is written; our files only."""

from collections.abc import Mapping
from itertools import pairwise

from core.errors import LibraryError
from core.library.history import Tables
from core.predictions import Predictions


def check_alike(splits: Mapping[str, Predictions]) -> None:
    """Refuse splits that one manifest cannot describe: it says task, kind and classes once."""
    for first, other in pairwise(splits):
        one, two = splits[first], splits[other]
        if (one.task, one.kind, one.class_names) != (two.task, two.kind, two.class_names):
            raise LibraryError(
                "CLASSES",
                f"{first} is {_kind(one)}, {other} is {_kind(two)}; a run has one set of classes",
                "keep each part as a run of its own",
            )


def check_tables(tables: Tables, splits: Mapping[str, Predictions]) -> None:
    """Refuse a history without epochs, and logits that are not those of its epochs and of val."""
    epochs = tables.n_epochs
    if epochs == 0:
        raise LibraryError("HISTORY", "the history has no epoch", "train for one epoch or more")
    if tables.validation is not None:
        found = tables.validation.shape
        if "val" not in splits or found[:2] != (epochs, splits["val"].n) or len(found) != 3:
            rows = splits["val"].n if "val" in splits else "no"
            raise LibraryError(
                "HISTORY",
                f"validation logits have shape {found}; there are {epochs} epochs, {rows} val rows",
                "give one matrix of logits for each epoch, with the rows of the split val",
            )


def _kind(found: Predictions) -> str:
    names = ", ".join(name[:60] for name in found.class_names[:6])
    more = " and more" if found.n_classes > 6 else ""
    return f"{found.task} {found.kind} with {found.n_classes} classes ({names}{more})"
