"""Arrow columns and Parquet files as plain arrays; lists of one length are matrices.

Columns with nulls in lists and other nested types are left out, unless they are called scores.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

from core import defaults
from core.errors import Refused
from core.readers.formats.contents import Contents, Entry, FileBytes, text_array
from core.readers.predictions.parts import counted, refuse_bin_history, without_unread

MAX_FOOTER = 16 * 2**20
BATCH_ROWS = 4096
END = b"\xff\xff\xff\xff\0\0\0\0"  # of a stream
TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)  # Polars: views


def array_of_column(column: pa.ChunkedArray, name: str, *, gaps: bool = False) -> Entry:
    """Return a column as numbers, or as text where it holds anything else.

    A column with gaps is one of text, as in a file of CSV; `gaps` lets numbers pass as NaN.

    Raises Refused NONFINITE: a missing list, or a gap in one. CSV_RAGGED: lists of several
    lengths. DTYPE: structs, binary values, or lists of anything but numbers.
    """
    kind = column.type
    numeric = _is_number(kind)
    if pa.types.is_dictionary(kind):
        return array_of_column(pc.cast(column, kind.value_type), name, gaps=gaps)
    if column.null_count and pa.types.is_nested(kind):
        raise _missing(column, name)
    if column.null_count and not pa.types.is_null(kind) and not (gaps and numeric):
        return text_array(["" if cell is None else str(cell) for cell in column.to_pylist()])
    if pa.types.is_decimal(kind):
        return np.asarray(pc.cast(column, pa.float64()).to_numpy())
    if numeric or pa.types.is_boolean(kind):
        return np.asarray(column.to_numpy())
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    inner = kind.value_type if any(test(kind) for test in tests) else pa.null()
    if _is_number(inner) or pa.types.is_boolean(inner):  # lists: a matrix with a row for each
        lengths = pc.list_value_length(column).to_numpy()
        width = int(lengths[0]) if len(lengths) else 0
        if np.any(lengths != width):
            row = int(np.flatnonzero(lengths != width)[0])
            what = f"A list of {counted(int(lengths[row]), 'value')} where row 0 has {width}"
            remedy = "give lists of one length, or leave the column out"
            raise Refused("CSV_RAGGED", what, remedy, f"row {row}, {name}")
        values = pc.list_flatten(column)
        if values.null_count:
            row = int(np.flatnonzero(pc.is_null(values).to_numpy())[0]) // max(1, width)
            what = "A missing value"
            raise Refused("NONFINITE", what, "fill or remove the row", f"row {row}, {name}")
        return np.asarray(values.to_numpy()).reshape(len(lengths), width)
    if any(test(kind) for test in TEXT):
        return text_array(column.to_pylist())
    if pa.types.is_null(kind):
        return text_array([""] * len(column))
    if pa.types.is_temporal(kind):
        return text_array(pc.cast(column, pa.string()).to_pylist())
    what = f"Values have the type {kind}"
    raise Refused("DTYPE", what, "save plain numbers and text", f"column {name}")


def _missing(column: pa.ChunkedArray, name: str, start: int = 0) -> Refused:
    row = start + int(np.flatnonzero(pc.is_null(column).to_numpy())[0])
    return Refused("NONFINITE", "A missing value", "fill or remove the row", f"row {row}, {name}")


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def read_parquet(source: FileBytes, *, history: bool = False) -> Contents:
    """Return the columns of a Parquet file, judged by its footer before anything is read.

    `history` says that a table of bins by epoch is wanted, where a null is a number not known.

    Raises Refused HEADER_LEN, TABLE_SIZE, CSV_COLUMNS, CSV_HEADER, CSV_RAGGED, DTYPE, NONFINITE,
    FORMAT_UNKNOWN or BIN_HISTORY.
    """
    with _undamaged():
        file = _opened(source)
        if not history:
            refuse_bin_history(file.schema_arrow.names)
        return _contents(file.read(use_threads=False), history=history)


def read_arrow(source: FileBytes) -> Contents:
    """Return the columns of a Feather or Arrow file, or of a stream of Arrow.

    Raises Refused TABLE_SIZE, CSV_COLUMNS, CSV_HEADER, CSV_RAGGED, DTYPE, NONFINITE,
    FORMAT_UNKNOWN, TRAILING or BIN_HISTORY.
    """
    with _undamaged("Arrow"):
        buffer = pa.BufferReader(pa.py_buffer(source.data))
        is_file = bytes(source.data[:6]) == b"ARROW1"
        opened = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(buffer)
        refuse_bin_history(opened.schema.names)
        _check_schema(opened.schema, len(opened.schema.names))
        table = opened.read_all()
        if not is_file and (buffer.tell() < source.size or bytes(source.data[-8:]) != END):
            # Nothing else tells that batches are missing, or that another stream follows.
            what = "The stream of Arrow does not end where its file does"
            raise Refused("TRAILING", what, "close the writer, or copy the file again")
        table.validate(full=True)
        if table.nbytes > defaults.MAX_BYTES:
            raise Refused("TABLE_SIZE", f"The table needs {table.nbytes} bytes", "save as .npz")
        if table.num_rows == 0:
            raise Refused("EMPTY", "Columns and no rows", "give at least one row of scores")
        return replace(_contents(table), format="arrow")


def parquet_batches(source: FileBytes) -> Iterator[Contents]:
    """Yield the rows of a Parquet file, `BATCH_ROWS` at a time; raises as `read_parquet` does."""
    with _undamaged():
        file = _opened(source)
        refuse_bin_history(file.schema_arrow.names)
        for at, batch in enumerate(file.iter_batches(BATCH_ROWS, use_threads=False)):
            table = pa.Table.from_batches([batch])
            for name, column in zip(table.column_names, table.columns, strict=True):
                if column.null_count and not pa.types.is_null(column.type):
                    raise _missing(column, name, at * BATCH_ROWS)  # text is unlike other batches
            yield _contents(table)


def _contents(table: pa.Table, *, history: bool = False) -> Contents:
    names = table.column_names
    columns, unread = {}, {}
    for name, column in zip(names, table.columns, strict=True):
        try:
            columns[name] = array_of_column(column, name, gaps=history)
        except Refused as refusal:
            if history:
                raise
            unread[name] = refusal
    return without_unread(Contents("parquet", columns, table=True), unread)


def parquet_rows(source: FileBytes) -> int:
    """Return how many rows the footer of a Parquet file claims; raises as `read_parquet` does."""
    with _undamaged():
        return int(_opened(source).metadata.num_rows)


def _opened(source: FileBytes) -> pq.ParquetFile:
    if source.size < 12 or bytes(source.data[-4:]) != b"PAR1":
        raise Refused("FORMAT_UNKNOWN", "A Parquet file without its end", "write it again")
    footer = int.from_bytes(source.data[-8:-4], "little")
    if footer > min(MAX_FOOTER, source.size - 12):
        raise Refused("HEADER_LEN", f"The footer claims {footer} bytes", "write it again")
    file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(source.data)))
    meta, schema = file.metadata, file.schema_arrow
    _check_schema(schema, meta.num_columns)
    # Encodings may make gigabytes of a few bytes, so cells count and not the sizes it states.
    groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
    values = sum(g.column(j).num_values for g in groups for j in range(meta.num_columns))
    claimed = max(values, max(0, meta.num_rows) * max(1, meta.num_columns)) * 8
    stated = sum(group.total_byte_size for group in groups)
    if claimed > min(defaults.MAX_BYTES, 2**30 + 100 * file.metadata.serialized_size + 64 * stated):
        raise Refused("TABLE_SIZE", f"{meta.num_rows} rows need {claimed} bytes", "save as .npz")
    return file


@contextmanager
def _undamaged(form: str = "Parquet") -> Iterator[None]:
    try:
        yield
    except MemoryError:  # Arrow's own is also an ArrowException
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError) as error:
        raise Refused("FORMAT_UNKNOWN", f"The {form} file is damaged", "write it again") from error


def _check_schema(schema: pa.Schema, width: int) -> None:
    if width > defaults.MAX_COLUMNS:
        what = f"The table has {width} columns; at most {defaults.MAX_COLUMNS} are read"
        raise Refused("CSV_COLUMNS", what, "save one row for each sample")
    if len(set(schema.names)) < len(schema.names):
        raise Refused("CSV_HEADER", "Two columns have the same name", "give each its own name")
