"""Arrow columns and Parquet files as plain arrays; nulls and nested types are refused."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core import defaults
from core.errors import Refused
from core.readers.contents import Contents, Entry, Source, text_array
from core.readers.roles import refuse_bin_history

MAX_FOOTER = 16 * 2**20


def array_of_column(column: pa.ChunkedArray, name: str, *, gaps: bool = False) -> Entry:
    """Return a column as numbers, or as text where it holds anything else.

    `gaps` lets missing numbers pass as NaN.

    Raises
    ------
    Refused
        NONFINITE: a missing value. DTYPE: lists, structs, binary or decimal values.
    """
    kind = column.type
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if column.null_count and not pa.types.is_null(kind) and not (gaps and numeric):
        row = int(np.flatnonzero(pc.is_null(column).to_numpy())[0])
        raise Refused(
            "NONFINITE", "a missing value", "fill or remove the row", f"row {row}, {name}"
        )
    if pa.types.is_dictionary(kind):
        return array_of_column(pc.cast(column, kind.value_type), name)
    if numeric or pa.types.is_boolean(kind):
        return np.asarray(column.to_numpy())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return text_array(column.to_pylist())
    if pa.types.is_null(kind):
        return text_array([""] * len(column))
    if pa.types.is_temporal(kind):
        return text_array(pc.cast(column, pa.string()).to_pylist())
    raise Refused(
        "DTYPE", f"values of type {kind}", "save plain numbers and text", f"column {name}"
    )


def read_parquet(source: Source, *, history: bool = False) -> Contents:
    """Return the columns of a Parquet file, judged by its footer before anything is read.

    `history` says that a table of bins by epoch is wanted, where a null is a number not known.

    Raises
    ------
    Refused
        HEADER_LEN, TABLE_SIZE, CSV_COLUMNS, CSV_HEADER, DTYPE, NONFINITE, FORMAT_UNKNOWN or
        BIN_HISTORY.
    """
    if source.size < 12 or bytes(source.data[-4:]) != b"PAR1":
        raise Refused("FORMAT_UNKNOWN", "a Parquet file without its end", "write it again")
    footer = int.from_bytes(source.data[-8:-4], "little")
    if footer > min(MAX_FOOTER, source.size - 12):
        raise Refused("HEADER_LEN", f"the footer claims {footer} bytes", "write it again")
    try:
        file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(source.data)))
        _check_footer(file)
        if not history:
            refuse_bin_history(file.schema_arrow.names)
        table = file.read(use_threads=False)
    except MemoryError:  # Arrow's own is also an ArrowException
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError) as error:
        raise Refused("FORMAT_UNKNOWN", "the Parquet file is damaged", "write it again") from error
    names = table.column_names
    columns = {n: array_of_column(table.column(i), n, gaps=history) for i, n in enumerate(names)}
    return Contents("parquet", columns, table=True)


def _check_footer(file: pq.ParquetFile) -> None:
    meta, schema = file.metadata, file.schema_arrow
    if meta.num_columns > defaults.MAX_COLUMNS:
        what = f"{meta.num_columns} columns, at most {defaults.MAX_COLUMNS} are read"
        raise Refused("CSV_COLUMNS", what, "save one row for each sample")
    if len(set(schema.names)) < len(schema.names):
        raise Refused("CSV_HEADER", "two columns have the same name", "give each its own name")
    for field in schema:
        if pa.types.is_nested(field.type):
            what = f"values of type {field.type}"
            raise Refused("DTYPE", what, "save one column for each class", f"column {field.name}")
    # Encodings may make gigabytes of a few bytes, so cells count and not the sizes it states.
    claimed = max(0, meta.num_rows) * max(1, meta.num_columns) * 8
    stated = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
    if claimed > min(defaults.MAX_BYTES, 2**30 + 100 * file.metadata.serialized_size + 64 * stated):
        raise Refused("TABLE_SIZE", f"{meta.num_rows} rows need {claimed} bytes", "save as .npz")
