"""Run folders on disk: described, written beside, synced, renamed; read back bit by bit.

A folder is `<id>/manifest.json` and `<id>/predictions/<split>.safetensors`, and for a training
the tables of its history beside the manifest, and the vocabulary of one on texts. Whatever starts
with a dot is unfinished and is nobody's run. Imports numpy, safetensors, the manifest and the
history.
"""

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from core import defaults
from core.arrays import FileMap, Scores, copied_unless_large, digest, texts_as_arrays
from core.disk import PART, JsonError, open_file, parse_json, replace_text, sync, writing
from core.errors import LibraryError, Notice, Refused
from core.library.history import Tables, write_bins, write_history
from core.library.manifest import (
    BINS,
    HISTORY,
    HISTORY_KIND,
    SCHEMA_VERSION,
    VALIDATION,
    VOCABULARY,
    Manifest,
    RunSource,
    SplitEntry,
    Summary,
    checked_name,
    from_json,
    role_of,
    split_file,
)
from core.predictions import Dates, Groups, Members, Predictions, ScoreKind, Task, Votes, Weights
from core.readers.weights.named_tensors import TensorInfo, named, write_safetensors

MANIFEST = "manifest.json"
ARRAYS = "predictions"  # the folder that holds them
MAX_MANIFEST_BYTES = 16 * 2**20  # 20,000 class names of 800 characters
_DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I64": "<i8", "U8": "|u1"}
LOGITS = "logits"  # the one array of VALIDATION
NO_TABLES = Tables()
T = TypeVar("T")
Arrays = dict[str, npt.NDArray[Any]]  # Any: the file says which dtype


def entry_of(split: str, predictions: Predictions, stated: str | None = None) -> SplitEntry:
    """Return the manifest's entry of a split, its digest in the version of one that is stated."""
    ids = digest(*_id_arrays(predictions.row_ids).values()) if predictions.row_ids else ""
    return SplitEntry(
        n=predictions.n,
        file=split_file(split),
        digest=predictions.digest if stated is None else predictions.digest_as(stated),
        row_ids=ids,
        renormalise=predictions.renormalise,
        role=role_of(split, labelled=predictions.labelled),
        groups="" if predictions.groups is None else predictions.groups.name,
        weights="" if predictions.weights is None else predictions.weights.name,
        votes="" if predictions.votes is None else predictions.votes.name,
        dates="" if predictions.dates is None else predictions.dates.name,
        members="" if predictions.members is None else predictions.members.name,
    )


def native(predictions: Predictions) -> Predictions:
    """Return the predictions in this machine's byte order, the only one stored."""
    if predictions.scores.dtype.isnative:
        return predictions
    return replace(
        predictions, scores=predictions.scores.astype(predictions.scores.dtype.newbyteorder("="))
    )


def write_run(
    root: Path, manifest: Manifest, splits: Mapping[str, Predictions], tables: Tables = NO_TABLES
) -> None:
    """Write a run's folder below `root`; it appears whole or not at all.

    Raises LibraryError LIBRARY_WRITE when the disk is full or read-only; what was there before is
    untouched.
    """
    with folder(root, manifest.id) as part:
        for split, predictions in splits.items():
            write_predictions(part / split_file(split), native(predictions))
        if tables.metrics is not None:
            write_history(part / HISTORY, tables.metrics)
        if tables.bins is not None:
            write_bins(part / BINS, tables.bins)
        if tables.validation is not None:
            logits = np.ascontiguousarray(tables.validation)
            save_file({LOGITS: logits}, part / VALIDATION, metadata={"digest": digest(logits)})
            sync(part / VALIDATION)
        if tables.vocabulary:
            replace_text(part / VOCABULARY, "".join(f"{word}\n" for word in tables.vocabulary))
        write_manifest(part, manifest)


@contextmanager
def folder(root: Path, run_id: str) -> Iterator[Path]:
    """Yield an unfinished folder; rename it to `root/run_id` when the body succeeds."""
    part = root / f".{run_id}{PART}"
    shutil.rmtree(part, ignore_errors=True)
    try:
        with writing(SafetensorError):
            part.mkdir(parents=True, mode=0o700)
            (part / ARRAYS).mkdir()
            yield part
            sync(part / ARRAYS)
            sync(part)
            part.rename(root / run_id)
            try:
                sync(root)
            except OSError:  # a power loss might take it: it is not there before that is ruled out
                (root / run_id).rename(part)
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_predictions(path: Path, predictions: Predictions) -> None:
    """Write one split as safetensors and sync it."""
    arrays: Arrays = {"scores": predictions.scores, "labels": predictions.labels}
    if predictions.predicted is not None:
        arrays["predicted"] = predictions.predicted
    if predictions.row_ids:
        arrays |= _id_arrays(predictions.row_ids)
    columns = {
        "groups": predictions.groups,
        "weights": predictions.weights,
        "votes": predictions.votes,
        "dates": predictions.dates,
        "members": predictions.members,
    }
    arrays |= {key: column.of_row for key, column in columns.items() if column is not None}
    wide_first = sorted(arrays, key=lambda name: -arrays[name].itemsize)  # so all begin aligned
    infos = [
        TensorInfo(name, arrays[name].shape, named(arrays[name].dtype, bfloat=False))
        for name in wide_first
    ]
    write_safetensors(path, infos, arrays.__getitem__)
    sync(path)


def write_manifest(run: Path, manifest: Manifest) -> None:
    """Replace the manifest of a run's folder in one step."""
    replace_text(run / MANIFEST, json.dumps(manifest.to_json(), indent=1))
    sync(run)


def read_manifest(run: Path) -> Manifest:
    """Return the manifest of a run's folder.

    Raises LibraryError DAMAGED when it is missing or unreadable, or belongs to another folder;
    also when a file of the run is missing, or its vocabulary is not the one that was kept.
    """
    try:
        with open_file(run / MANIFEST) as file:
            if os.fstat(file.fileno()).st_size > MAX_MANIFEST_BYTES:
                raise damaged(run, "its manifest is too large")
            text = file.read().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise damaged(run, "its manifest cannot be read") from error
    manifest = parse_manifest(text)
    if manifest.id != run.name:
        raise damaged(run, f"its manifest says {manifest.id}")
    try:
        missing = [file for file in manifest.files if not (run / file).is_file()]
        words = ""
        if manifest.vocabulary:
            with suppress(FileNotFoundError, UnicodeDecodeError):
                words = digest((run / VOCABULARY).read_text("utf-8").removesuffix("\n"))
    except OSError as error:
        raise damaged(run, "its files cannot be read") from error
    if missing:
        raise damaged(run, f"{missing[0]} is missing")
    if words != manifest.vocabulary:
        raise damaged(run, f"{VOCABULARY} differs from what was kept")
    return manifest


def parse_manifest(text: str | bytes) -> Manifest:
    """Return the manifest in a text, refusing what is not strict JSON."""
    try:
        data = parse_json(text)
    except JsonError as error:
        what = f"The manifest {error}"
        raise LibraryError("MANIFEST", what, "restore it from a backup") from error
    return from_json(data)


def stored_manifest(run: Path) -> Manifest:
    """Return what a run's manifest says, whether or not its files are there."""
    with open_file(run / MANIFEST) as file:
        return parse_manifest(file.read())


def name_of(run: Path) -> str:
    """Return what a run is called as far as its manifest can be read, else ""."""
    try:
        return stored_manifest(run).name
    except (OSError, ValueError, LibraryError):
        return ""


def is_upload_before(run: Path, moment: datetime) -> bool:
    """Whether a folder holds an upload that was kept before a moment; not where nobody can tell."""
    try:
        manifest = stored_manifest(run)
    except (OSError, ValueError, LibraryError):
        return False
    uploaded = manifest.kind in ("upload", HISTORY_KIND)
    return uploaded and datetime.fromisoformat(manifest.held_since) < moment


def read_predictions(
    run: Path, manifest: Manifest, split: str, *, checked: bool = True
) -> Predictions:
    """Return one split, checked against the digests of the manifest unless that was just done.

    Raises LibraryError SPLIT_UNKNOWN, or DAMAGED when the arrays are not those that were kept.
    """
    entry = manifest.splits.get(split)
    if entry is None:
        known = ", ".join(manifest.splits)
        raise LibraryError(
            "SPLIT_UNKNOWN", f"No split {split[:60]!r} in it", f"pick one of {known}"
        )
    try:
        arrays = {
            name: copied_unless_large(array) for name, array in mapped(run / entry.file).items()
        }
        row_ids: tuple[str, ...] = ()
        if entry.row_ids:
            coded, offsets = arrays["ids"].tobytes(), arrays["id_offsets"].tolist()
            row_ids = tuple(
                coded[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(offsets)
            )
        predictions = Predictions(
            task=Task(manifest.task),
            kind=ScoreKind(manifest.scores),
            scores=arrays["scores"],
            labels=arrays["labels"],
            class_names=manifest.class_names,
            predicted=arrays.get("predicted"),
            row_ids=row_ids,
            renormalise=entry.renormalise,
            labelled=entry.role != "ood",
            groups=Groups(entry.groups, arrays["groups"]) if entry.groups else None,
            weights=Weights(entry.weights, arrays["weights"]) if entry.weights else None,
            votes=Votes(entry.votes, arrays["votes"]) if entry.votes else None,
            dates=Dates(entry.dates, arrays["dates"]) if entry.dates else None,
            members=Members(entry.members, arrays["members"]) if entry.members else None,
        )
    except (OSError, SafetensorError, KeyError, ValueError, IndexError, Refused) as error:
        raise damaged(run, f"{entry.file} cannot be read") from error
    if checked and entry_of(split, predictions, entry.digest) != entry:
        raise damaged(run, f"{entry.file} differs from what was kept")
    return predictions


def read_table(run: Path, name: str, read: Callable[[Path], T]) -> T:
    """Return what one file of a run's history holds, read by one of the readers of such files.

    Raises LibraryError NO_HISTORY when the run has no such file, or DAMAGED when it cannot be
    read.
    """
    entry = read_manifest(run).history
    if entry is None or name not in entry.files:
        what = f"Run {run.name} has no {name}"
        raise LibraryError("NO_HISTORY", what, "pick a run that was trained here, or import one")
    try:
        return read(run / name)
    except (OSError, SafetensorError, KeyError, ValueError, TypeError, Refused) as error:
        raise damaged(run, f"{name} cannot be read") from error


def read_logits(path: Path) -> Scores:
    """Return the logits that `write_run` wrote, mapped; a ValueError for any others."""
    logits = mapped(path)[LOGITS]
    with safe_open(path, framework="np") as file:
        stored_digest = (file.metadata() or {}).get("digest")
    if logits.ndim != 3 or digest(logits) != stored_digest:
        raise ValueError(path.name)
    return logits


def mapped(path: Path) -> Arrays:
    """Return the arrays of a safetensors file, mapped: nothing is read before it is used."""
    with safe_open(path, framework="np"):  # the library checks sizes and offsets of the header
        pass
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        source = FileMap.of(file.fileno())
    header.pop("__metadata__", None)
    return {
        name: source.array(
            8 + length + entry["data_offsets"][0], _DTYPES[entry["dtype"]], entry["shape"]
        )
        for name, entry in header.items()
    }


def _id_arrays(row_ids: tuple[str, ...]) -> Arrays:
    """Return ids as UTF-8 bytes end to end and where each begins; lone surrogates survive."""
    ids, offsets = texts_as_arrays(row_ids)
    return {"ids": ids, "id_offsets": offsets}


def unknown(run_id: str) -> LibraryError:
    """Return what is said of a run that is not there, or not for this visitor."""
    return LibraryError("RUN_UNKNOWN", f"There is no run “{run_id}”", "pick a run from the list")


def damaged(run: Path, what: str) -> LibraryError:
    """Return what is said of a run that cannot be read; it may have been deleted meanwhile."""
    if not run.is_dir():
        return unknown(run.name)
    return LibraryError(
        "DAMAGED", f"Run {run.name} is damaged: {what}", "delete it, or restore it from a backup"
    )


# The manifest of a run that is about to be kept.
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
        splits={name: entry_of(name, native(part)) for name, part in splits.items()},
        source=source,
        notices=tuple(notices),
        tags=(),
        metrics=dict(summary),
        code_version=defaults.VERSION,
    )
