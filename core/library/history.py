"""Histories on disk: Parquet files of a run, and the events a trainer writes line by line.

Imports numpy and our records; pyarrow where a file is read or written, so that trainings need none.
"""

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core.arrays import Float, Int, Scores
from core.errors import LibraryError
from core.histories import COLUMNS, LATER, WHOLE, BinHistory, History
from core.library.manifest import BINS, HISTORY, VALIDATION, HistoryEntry

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, Any]  # Any: numbers of one event, checked where they become columns


MAX_ROWS = 2_000_000  # of bins
MAX_VALUES = 2 * MAX_ROWS  # of metrics
METRICS: Final = ("epoch", "metric", "value")
EARLIER: Final = tuple(name for name in COLUMNS if name not in LATER)


@dataclass(frozen=True, eq=False)
class Tables:
    """What is kept of a training by epoch; None for what there is not."""

    metrics: History | None = None
    bins: BinHistory | None = None
    # (E, N, K) or None, logits of the validation part after each epoch
    validation: Scores | None = None
    # Of a training on texts: a word's number is its place. Empty for images.
    vocabulary: tuple[str, ...] = ()

    @property
    def n_epochs(self) -> int:
        """Number of epochs."""
        first = self.metrics or self.bins
        return first.n_epochs if first else 0

    def entry(self) -> HistoryEntry | None:
        """Return the manifest's entry; None where nothing is kept."""
        if self.n_epochs == 0:
            return None
        last = self.metrics.last() if self.metrics else {}
        return HistoryEntry(
            file=HISTORY if self.metrics else None,
            bins=BINS if self.bins else None,
            validation=None if self.validation is None else VALIDATION,
            epochs=self.n_epochs,
            last={
                name: value if math.isfinite(value) else None
                for name, value in last.items()
                if "." not in name  # parts of distributions are no scores
            },
        )


def write_history(path: Path, history: History) -> None:
    """Write metrics by epoch as Parquet with columns epoch, metric, value; NaN becomes null."""
    columns = [history.epoch.tolist(), history.metric, _nullable(history.value)]
    _write(path, columns, METRICS)


def write_bins(path: Path, bins: BinHistory) -> None:
    """Write bins by epoch as Parquet with the columns of `BinHistory`; NaN becomes null."""
    _write(path, [_nullable(getattr(bins, name)) for name in COLUMNS], COLUMNS)


def read_history(path: Path) -> History:
    """Return what `write_history` wrote, bit by bit.

    Raises OSError, ValueError, TypeError: the file is none of ours, or damaged.
    """
    columns = _read(path, MAX_VALUES, METRICS)
    return History(
        np.array(columns["epoch"], np.int64),
        tuple(columns["metric"]),
        np.array(columns["value"], np.float64),
    )


def read_bins(path: Path) -> BinHistory:
    """Return what `write_bins` wrote, bit by bit.

    Raises Refused, OSError, ValueError, TypeError: the file is none of ours, or damaged.
    """
    return _bins(_read(path, MAX_ROWS, COLUMNS, EARLIER))


def from_events(lines: Iterable[str]) -> tuple[History, BinHistory | None]:
    """Return the history that a trainer's events tell, while it runs or afterwards.

    `lines`: one JSON object each. A last line that is not whole is still being written. An epoch
    that comes again, after a resume, takes the place of itself and of all that followed.

    Raises LibraryError EVENTS when a line before the last is not JSON, or an epoch lacks something;
    Refused: as of `BinHistory`.

    Returns
    -------
    tuple of History and BinHistory
        None in place of the bins where no epoch has any; null is NaN.
    """
    try:
        events = list(lines)
        epochs: list[Row] = []  # those that count, in order
        for number, line in enumerate(events, start=1):
            try:
                event = json.loads(line)
            except ValueError:
                if number == len(events):
                    break
                raise
            if event["event"] == "epoch":
                while epochs and epochs[-1]["epoch"] >= event["epoch"]:
                    epochs.pop()
                epochs.append(event)
        values = [(e["epoch"], *item) for e in epochs for item in e["metrics"].items()]
        epoch, metric, value = zip(*values, strict=True) if values else ((), (), ())
        bins = [{"epoch": e["epoch"], **row} for e in epochs for row in e.get("bins") or ()]
        dated = any("trained" in row for row in bins)  # a job may be older than its resume
        names = COLUMNS if dated else EARLIER
        for row, update in zip(bins, np.cumsum([row["bin"] == 0 for row in bins]), strict=True):
            row["update"] = int(update) - 1
            row.setdefault("trained", row["epoch"] + 1.0)
        history = History(np.array(epoch, np.int64), metric, np.array(value, np.float64))
        columns = {name: [row[name] for row in bins] for name in names}
        return history, _bins(columns) if bins else None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LibraryError(
            "EVENTS", "The events of this training cannot be read", "train the model again"
        ) from error


def _bins(columns: Mapping[str, list[Any]]) -> BinHistory:  # Any: numbers and None
    arrays: dict[str, Any] = {  # Any: int64 and float64
        name: np.array(column, np.int64 if name in WHOLE else np.float64)
        for name, column in columns.items()
    }
    return BinHistory(**arrays)


def _nullable(values: Int | Float) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]


def _schema(names: Sequence[str]) -> "pa.Schema":
    import pyarrow as pa

    kinds = {"metric": pa.string()} | dict.fromkeys(WHOLE, pa.int64())
    return pa.schema([(name, kinds.get(name, pa.float64())) for name in names])


def _write(path: Path, columns: Sequence[Sequence[object]], names: Sequence[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(names)
    table = pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema)
    with path.open("wb") as file:
        pq.write_table(table, file, compression="zstd", write_page_checksum=True)
        file.flush()
        os.fsync(file.fileno())


def _read(
    path: Path, most: int, *forms: Sequence[str]
) -> dict[str, list[Any]]:  # Any: numbers, text, None
    """Return the columns of a table of just one of these forms; a ValueError for any other."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        data = pa.BufferReader(path.read_bytes())
        file = pq.ParquetFile(data, page_checksum_verification=True)
        known = any(file.schema_arrow.equals(_schema(names)) for names in forms)
        if file.metadata.num_rows > most or not known:
            raise ValueError(path.name)
        table = file.read(use_threads=False)
        return {name: table.column(name).to_pylist() for name in table.column_names}
    except pa.ArrowException as error:
        raise ValueError(path.name) from error
