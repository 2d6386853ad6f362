"""Tables as text, Parquet and Arrow, by pyarrow: columns as plain arrays, judged by us.

Lists of one length are matrices. Columns with nulls in lists and other nested types are left out,
unless they are called scores.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.ipc
import pyarrow.parquet as pq

from core import defaults
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.contents import Contents, Entry, FileBytes, is_text, text_array
from core.readers.formats.json_file import PLURALS, SCORE_LISTS, plain, spread
from core.readers.formats.text import (
    Dialect,
    decode,
    dialect_notices,
    is_number,
    sample_of,
    sniff_dialect,
)
from core.readers.predictions.names import counted, refuse_bin_history, without_unread

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
    # A gap makes a column text, as an empty cell of CSV does: it
    # is refused by its row, never filled.
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


# Cells that hold a list of numbers as pandas, NumPy and torch print it. Nothing is evaluated:
# brackets are matched, and what lies between them is cut at commas or spaces.
LIST_BLOCK: Final = 2**20  # numbers that are cut at a time
SCALAR: Final = re.compile(r"np\.(?:float|int)\d+\(([^()]*)\)")
INNER: Final = r"\[([^\[\]()]*)\]|\[\[([^\[\]()]*)\]\]|\(([^\[\]()]*)\)"
BARE: Final = re.compile(INNER)
CALLED: Final = re.compile(
    rf"(?:torch\.|np\.|numpy\.)?(?:tensor|array)\(\s*(?:{INNER})"
    r"(?:,\s*(?:dtype|device|grad_fn|requires_grad)=[\w.':<>]{1,40}){0,4}\)"
)
FRACTION: Final = re.compile(r"[.eEnN]")


def with_matrices(
    columns: Mapping[str, Entry], row_name: Callable[[int], str]
) -> tuple[dict[str, Entry], list[Notice]]:
    """Return columns with lists in their cells as matrices, and what was made of them."""
    out, notices = dict(columns), []
    for name, column in columns.items():
        cells = column.tolist() if is_text(column) and column.ndim == 1 else []
        width = _width(cells[0]) if cells else 0
        if not width or _numbers(cells[:1], 1, width) is None:
            continue
        odd = next((row for row, cell in enumerate(cells) if _width(cell) != width), None)
        matrix = _matrix(cells, width) if odd is None else odd
        if isinstance(matrix, int):
            text = (
                f"{row_name(matrix)} of {name} is not a list of {width} numbers like the first row"
            )
            notices.append(Notice(NoticeCode.KEYS_GUESSED, f"{text}: kept as text"))
        else:
            out[name] = matrix
            text = f"lists in the cells of {name} were read as a matrix of {width} columns"
            notices.append(Notice(NoticeCode.DIALECT, text))
    return out, notices


def _body(cell: str) -> str:
    """Return what lies between the brackets of a list; nothing if it is none."""
    cell = cell.strip()
    if cell[:1] not in "[(tna":
        return ""
    if "np." in cell:
        cell = SCALAR.sub(r"\1", cell)
    match = BARE.fullmatch(cell) or CALLED.fullmatch(cell)
    inner = next((group for group in match.groups() if group is not None), "") if match else ""
    return inner.strip().removesuffix(",")


def _width(cell: str) -> int:
    """Return how many numbers a cell may hold; 0 if it is no list."""
    body = _body(cell)
    width = body.count(",") + 1 if "," in body else len(body.split())
    return width if width <= defaults.MAX_COLUMNS else 0


def _matrix(cells: list[str], width: int) -> Entry | int:
    """Return the numbers of cells that hold as many each, or the first row with anything else."""
    out = np.empty((len(cells), width))
    whole = True
    step = max(1, LIST_BLOCK // width)
    for start in range(0, len(cells), step):
        block = cells[start : start + step]
        numbers = _numbers(block, len(block), width)
        if numbers is None:
            bad = (i for i, cell in enumerate(block) if _numbers([cell], 1, width) is None)
            return start + next(bad)
        out[start : start + step] = numbers
        whole = whole and not any(FRACTION.search(_body(cell)) for cell in block)
    exact = whole and bool(np.all(np.abs(out) < 2**53))
    return out.astype(np.int64) if exact else out


def _numbers(cells: list[str], rows: int, width: int) -> Entry | None:
    cut = (body.split(",") if "," in body else body.split() for body in map(_body, cells))
    words = [word.strip() for row in cut for word in row]
    try:
        return np.asarray(pc.cast(pa.array(words, pa.string()), pa.float64())).reshape(rows, width)
    except pa.ArrowInvalid:
        return None


WEKA: Final = re.compile(
    rb"(?m)^[ \t]*inst#[ ,\t]+actual[ ,\t]+predicted[ ,\t]+error[ ,\t]+"
    rb"(?:prediction|\w*distribution)"
)
WEKA_LINE: Final = re.compile(
    r"\s*(\d+)\s+(\d+:.*?|\?)\s+(\d+:.*?|\?)\s+\+?\s*(\*?[\d.]+(?:,\*?[\d.]+)*)(?:\s+\(.*\))?\s*"
)
FASTTEXT: Final = re.compile(rb"__label__\S+(\s+(?:__label__\S+\s+)?[\d.e-]+[ \r\n]|\r?\n)")
ARFF: Final = re.compile(rb"(?i)\s*(?:%[^\n]*\n\s*)*@relation\s")
TYPES: Final = {"continuous", "c", "discrete", "d", "string", "s", "time", "t"}
FLAGS: Final = re.compile(r"(?i)(?:class|c|meta|m|ignore|i|weight|w|)(?: \S+=\S*)*")
PREFIX: Final = re.compile(r"[mciw]?[CDST]#(?=.)")  # mD#, before a name: a meta column of words


def rewritten(data: memoryview) -> tuple[memoryview, list[Notice]]:
    """Return text as a table that names its columns, where a tool writes another; else as it is.

    Raises Refused FORMAT_UNKNOWN: an ARFF file. CSV_RAGGED: a line that Weka does not write.
    """
    head = sample_of(data)
    if ARFF.match(head):
        what = "This is an ARFF file, whose margin is no probability"
        remedy = "in Weka: More options, Output predictions, CSV with outputDistribution"
        raise Refused("FORMAT_UNKNOWN", what, remedy)
    start = WEKA.search(head)
    if start is not None:
        table = _weka(str(data[start.start() :], "utf-8"))
        return (data, []) if table is None else (_encoded(table), _dialect("Weka"))
    if FASTTEXT.match(head):
        table = _fasttext(str(data, "utf-8"))
        return (data, []) if table is None else (_encoded(table), _dialect("fastText"))
    # Orange writes types and roles in two lines below the names, or as marks before them.
    lines = head.decode("utf-8", "ignore").splitlines(keepends=True)[:3]
    mark = "\t" if lines and "\t" in lines[0] else ","
    cells = [line.rstrip("\r\n").split(mark) for line in lines]
    names = cells[0] if cells else []
    # Orange's marks before names; a single one may be a name.
    if sum(PREFIX.match(name) is not None for name in names) > 1:
        first = mark.join(PREFIX.sub("", name, count=1) for name in names) + "\n"
        return memoryview(first.encode() + bytes(data[len(lines[0].encode()) :])), _dialect(
            "Orange"
        )
    if len(cells) < 3 or len(names) < 2 or {len(row) for row in cells} != {len(names)}:
        return data, []
    types, flags = cells[1:]
    typed = sum(cell.strip().lower() in TYPES for cell in types)
    if not typed or not any(flags) or not all(FLAGS.fullmatch(cell.strip()) for cell in flags):
        return data, []
    skipped = sum(len(line.encode()) for line in lines)
    return memoryview(lines[0].encode() + bytes(data[skipped:])), _dialect("Orange")


def _dialect(tool: str) -> list[Notice]:
    return [Notice(NoticeCode.DIALECT, f"the table was read as {tool} writes it")]


def _encoded(rows: list[list[str]]) -> memoryview:
    csv.writer(text := io.StringIO(), lineterminator="\n").writerows(rows)
    return memoryview(text.getvalue().encode())


def _weka(text: str) -> list[list[str]] | None:
    """Return Weka's predictions with plain names of classes; None of a regression.

    It writes classes as 1:no, and a distribution as one number a class, the answer's behind *.
    """
    head, *lines = (line for line in text.splitlines() if line.strip())
    commas = "," in head
    rows = []  # actual, predicted and the numbers of each line
    for line in lines:
        if commas:
            cells = [cell.strip() for cell in next(csv.reader([line]))]
            rows.append([*cells[1:3], *cells[4:]])
        else:
            match = WEKA_LINE.fullmatch(line)
            rows.append([match[2], match[3], *match[4].split(",")] if match else [line])
    classes = dict(cell.split(":", 1) for row in rows for cell in row[:2] if ":" in cell)
    if not classes or any(":" not in cell and cell != "?" for row in rows for cell in row[:2]):
        return None
    names = ["actual", "predicted"]
    # A distribution has a number a class; without it only that of the answer is there.
    spread = "distribution" in head
    if spread:
        width = max(len(row) for row in rows) - 2 - max(0, head.count(",") - 4 if commas else 0)
        names += [f"prob_{classes.get(str(k + 1), k + 1)}" for k in range(width)]
    else:
        names += ["confidence"]
    out = [names]
    for number, row in enumerate(rows):
        if len(row) < len(names):
            what = f"Row {number} of Weka's predictions has {len(row)} cells, not {len(names)}"
            raise Refused("CSV_RAGGED", what, "save the predictions again")
        words = [classes.get(cell.partition(":")[0], "") for cell in row[:2]]
        out.append([*words, *(cell.lstrip("*") for cell in row[2 : len(names)])])
    return out


def _fasttext(text: str) -> list[list[str]] | None:
    """Return labels and probabilities that take turns in a line, perhaps behind the true label."""
    bare = text.replace("__label__", "")
    lines = [line.split() for line in bare.splitlines() if line.strip()]
    if all(len(line) == 1 for line in lines):  # the true labels alone
        return [["label"], *lines]
    # Labels and probabilities take turns, so an odd number of words begins with the truth.
    truth = len(lines[0]) % 2
    rows = [dict(zip(line[truth::2], line[truth + 1 :: 2], strict=False)) for line in lines]
    if any(len(line) % 2 != truth or len(line) < 2 for line in lines):
        return None
    names = sorted(rows[0])
    whole = len(names) > 1 and all(sorted(row) == names for row in rows)
    head = ["label"][:truth] + (
        [f"prob_{name}" for name in names] if whole else ["predicted", "confidence"]
    )
    out = [head]
    for line, row in zip(lines, rows, strict=True):
        first = next(iter(row))
        out.append([*line[:truth], *([row[n] for n in names] if whole else [first, row[first]])])
    return out


BLOCK = 16 * 2**20
MAX_BLOCK = 2**31 - 1


def read_csv(source: FileBytes, *, history: bool = False, text: bool = False) -> Contents:
    """Return the columns of a text table.

    `history` says that one of bins by epoch may come, `text` that every column stays text.

    Raises Refused CSV_ENCODING, CSV_COLUMNS, CSV_HEADER, CSV_RAGGED, TABLE_SIZE, EMPTY,
    BIN_HISTORY or FORMAT_UNKNOWN.
    """
    data, notices = decode(source.data)
    # No parser is to see an absurd width.
    limit = 64 * defaults.MAX_COLUMNS
    line = re.split(rb"[\r\n]", bytes(data[:limit]), maxsplit=1)[0]
    count = max(line.count(mark) for mark in (b",", b"\t", b";", b"|")) + 1
    if count > defaults.MAX_COLUMNS or (len(line) == limit and limit < data.nbytes):
        at_least = f"{count} columns" if len(line) < limit else f"more than {limit} bytes"
        what = f"The first line has {at_least}; at most {defaults.MAX_COLUMNS} columns are read"
        raise Refused("CSV_COLUMNS", what, "save one row for each sample", "line 1")
    # Tools first, as their lines above the table would be taken for its header.
    data, tool_notices = rewritten(data)
    notices += tool_notices
    dialect = replace(sniff_dialect(data), text=text)
    notices += dialect_notices(dialect, data)
    # Several spaces that align columns are one separator.
    if dialect.delimiter == " ":
        data = memoryview(re.sub(rb"[ \t]+", b" ", re.sub(rb"(?m)^[ \t]+|[ \t]+$", b"", data)))
    names, headed, name_notices = _names(dialect)
    if not history:
        refuse_bin_history(names)
    notices += name_notices
    table = _parse(data, dialect, names, skip=dialect.skip + headed)
    if table.num_rows == 0:
        raise Refused("EMPTY", "A header and no rows", "give at least one row of scores")
    columns = {name: array_of_column(table.column(i), name) for i, name in enumerate(names)}
    # A separator at the end of each line makes an empty last column.
    last = list(columns)[-1]
    if len(columns) > 1 and is_text(columns[last]) and not np.any(columns[last] != ""):
        del columns[last]
        remark = "a separator ends each line; the empty last column was left out"
        notices.append(Notice(NoticeCode.DIALECT, remark))
    contents = Contents(
        "csv",
        columns,
        table=True,
        headed=headed,
        printed=True,
        first_line=dialect.skip + headed + 1,
        notices=tuple(notices),
    )
    contents = contents if text else _with_lists(contents)
    # A number too large for float64 is refused: the parser turned it into infinity.
    infinite = {n: np.isinf(c) for n, c in contents.entries.items() if c.dtype.kind == "f"}
    n_infinite = sum(int(flags.sum()) for flags in infinite.values())
    if n_infinite and len(re.findall(rb"(?i)inf", data)) < n_infinite:
        name = next(n for n, flags in infinite.items() if flags.any())
        location = f"row {int(np.argwhere(infinite[name])[0, 0])}, column {name}"
        what = "A number overflows to infinity (more than 1.8e308)"
        raise Refused("NONFINITE", what, "write it smaller, or as -inf", location)
    return contents


def _names(dialect: Dialect) -> tuple[list[str], bool, list[Notice]]:
    """Return column names and whether the first line holds them."""
    first = [cell.strip() for cell in dialect.sample[0]]
    rest = dialect.sample[1:]
    if _is_header(first, rest, dialect.decimal):
        location = f"line {dialect.skip + 1}"
        twice = [name for name, count in Counter(filter(None, first)).items() if count > 1]
        if twice:
            what = f"Column name {twice[0]!r} occurs {first.count(twice[0])} times"
            raise Refused("CSV_HEADER", what, "give every column its own name", location)
        empty = [i for i, name in enumerate(first) if not name]
        if len(empty) > 1 or (empty and empty[0] not in (0, len(first) - 1)):
            what = f"Column {empty[-1] + 1} has no name"
            raise Refused("CSV_HEADER", what, "give every column its own name", location)
        counted = all(is_number(cell) for cell in first if cell)
        text = "the first line counts the columns from 0 and was taken as their names"
        return first, True, [Notice(NoticeCode.HEADER_GUESSED, text)] if counted else []
    text = "no header line: the first line holds numbers and was read as a row"
    return (
        [f"column {i + 1}" for i in range(len(first))],
        False,
        [Notice(NoticeCode.HEADER_GUESSED, text)],
    )


def _is_header(first: list[str], rest: tuple[tuple[str, ...], ...], decimal: str) -> bool:
    numbers = [is_number(cell, decimal) for cell in first]
    if not any(numbers):  # words that come again below are cells, as of a list of labels
        cells = [[row[k : k + 1] for row in rest] for k in range(len(first))]
        return not all((cell,) in below for cell, below in zip(first, cells, strict=True))
    plain = [cell for cell in first if cell]
    counts_up = plain == [str(i) for i in range(len(plain))] and len(plain) > 1
    if counts_up and rest and not all(c.strip().isdigit() for c in rest[0] if c):
        return True
    # A name above a column of numbers: some cell is text here and a number in the next line.
    return any(
        not number and cell and column < len(row) and is_number(row[column], decimal)
        for row in rest[:1]
        for column, (cell, number) in enumerate(zip(first, numbers, strict=True))
    )


def _parse(data: memoryview, dialect: Dialect, names: list[str], *, skip: int) -> pa.Table:
    if data.nbytes > min(MAX_BLOCK, defaults.MAX_BYTES):
        what = f"The file has {data.nbytes} bytes of text; at most {MAX_BLOCK} are read"
        raise Refused("TABLE_SIZE", what, "save the arrays as .npz, .npy or .safetensors")
    ragged: list[tuple[int, int]] = []  # lines of another width, and how wide they are

    def note(row: pacsv.InvalidRow) -> str:
        ragged.append((row.number or 0, row.actual_columns))
        return "error"

    # Columns that must stay text: no date, no lost leading zero is to be guessed.
    # Judged by the last line of the sample: the first may be a header.
    row = dialect.sample[0 if dialect.text else -1]
    text = {}
    for column, cell in enumerate(row):
        padded = re.fullmatch(r"-?0\d+", cell.strip()) is not None
        if dialect.text or padded or not is_number(cell, dialect.decimal):
            text[str(column)] = pa.string()
    for block_size in (BLOCK, max(1, data.nbytes)):
        try:
            return pacsv.read_csv(
                pa.BufferReader(pa.py_buffer(data)),
                read_options=pacsv.ReadOptions(
                    use_threads=False,
                    block_size=block_size,
                    skip_rows=skip,
                    column_names=[str(i) for i in range(len(names))],
                ),
                parse_options=pacsv.ParseOptions(
                    delimiter=dialect.delimiter, newlines_in_values=True, invalid_row_handler=note
                ),
                convert_options=pacsv.ConvertOptions(
                    null_values=[],
                    true_values=[],
                    false_values=[],
                    strings_can_be_null=False,
                    decimal_point=dialect.decimal,
                    column_types=text,
                ),
            )
        except pa.ArrowInvalid as error:
            # A type is judged from the first block; one block that holds all rows judges all.
            if not ragged and block_size < data.nbytes:
                continue
            what, location = "The rows cannot be separated", ""
            remedy = "check quotes and line ends"
            if ragged:
                line, n_columns = ragged[0]
                what = f"This line has {counted(n_columns, 'column')}, the first line {len(names)}"
                location = f"line {line}" if line else ""
                remedy = "give every row the same number of columns"
            raise Refused("CSV_RAGGED", what, remedy, location) from error
    raise AssertionError("the second block size holds the whole file")


def _with_lists(contents: Contents) -> Contents:
    columns = {n: e for n, e in contents.entries.items() if is_text(e) and e.ndim == 1}
    lists = {n: _lists(entry.tolist()) for n, entry in columns.items()}
    names, scores = ([n for n in columns if plain(n) in some] for some in (PLURALS, SCORE_LISTS))
    alike = len(names) == len(scores) == 1 and lists[names[0]] and lists[scores[0]]
    together = [(names[0], scores[0])] if alike else []  # labels beside their scores
    first = {n: cells[0] for n, cells in lists.items() if cells}
    alone = [(n,) for n, c in first.items() if isinstance(c, list) and c and isinstance(c[0], dict)]
    entries = dict(contents.entries)
    texts: list[str] = []
    for group in (*together, *alone):
        cells = zip(*(lists[n] for n in group), strict=True)
        rows, made = spread([dict(zip(group, row, strict=True)) for row in cells])
        for name in group if made else ():
            del entries[name]
        for key in rows[0] if made else ():
            values = [row[key] for row in rows]
            words = isinstance(values[0], str)
            entries[key] = (
                text_array([str(v) for v in values]) if words else np.array(values, np.float64)
            )
        texts += made
    entries, notices = with_matrices(entries, contents.row)
    notices += [Notice(NoticeCode.KEYS_GUESSED, text) for text in texts]
    return replace(contents, entries=entries, notices=(*contents.notices, *notices))


def _lists(cells: list[str]) -> list[object]:
    """Return cells that hold lists, as JSON or as Python prints them; else nothing."""
    if not cells or not re.match(r"\s*\[\s*[\[{\d\"'.-]", cells[0]):
        return []
    try:
        out = [json.loads(c if '"' in c else c.replace("'", '"')) for c in cells]
    except (ValueError, RecursionError):
        return []
    return out if all(isinstance(item, list) for item in out) else []
