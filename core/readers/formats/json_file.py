"""JSON: a mapping or pair of arrays, a table, or records in a list or one a line; no key twice."""

import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.contents import Contents, FileBytes
from core.readers.formats.encoding import decode
from core.readers.formats.json_tables import table_of
from core.readers.formats.model_logs import harness_contents, inspect_rows
from core.readers.formats.scored_lists import records_in, spread
from core.readers.formats.tree import contents_of, contents_of_cells
from core.readers.predictions.roles import refuse_bin_history

REMEDY: Final = "write plain numbers, and null nowhere"
MAX_BYTES: Final = 2**30
LINES: Final = frozenset({"jsonl", "ndjson"})  # suffixes of files with one value a line


@dataclass(frozen=True)
class _Document:
    """What the text of a file says; `first_line` is that of row 0 where each row has its line."""

    tree: object
    first_line: int = 0


def read_json(source: FileBytes) -> Contents:
    """Return the arrays of a JSON file.

    Raises
    ------
    Refused
        HEADER_PARSE, CSV_HEADER, CSV_COLUMNS, CSV_RAGGED, EMPTY, PICKLE_SHAPE, TABLE_SIZE,
        CSV_ENCODING or BIN_HISTORY.
    """
    document, notices = _document(source)
    contents = contents_of_json(document.tree, source.records)
    return replace(contents, first_line=document.first_line, notices=(*notices, *contents.notices))


def contents_of_json(tree: object, records: str | None = None) -> Contents:
    """Return the arrays of a tree of JSON; raises as `read_json` does.

    `records` is the path of a list of records inside it, or the scorer of a log.
    """
    samples = inspect_rows(tree, records)
    table = table_of(tree) if samples is None else None
    nested = records_in(tree, records) if samples is None and (table is None or records) else None
    tree = samples or nested or tree
    lists = tree if isinstance(tree, list) and all(isinstance(r, list) and r for r in tree) else []
    if lists and all(isinstance(item, dict) for row in lists for item in row):
        tree = [{"prediction": row} for row in lists]  # what a pipeline returns
    notices: tuple[Notice, ...] = ()
    if nested is not None:
        table = None
        text = f"rows are the {len(nested)} records of a list inside the file"
        notices = (Notice(NoticeCode.KEYS_GUESSED, text),)
    if isinstance(tree, list) and tree and all(isinstance(row, dict) for row in tree):
        if any({"event_id", "sample_id", "type"} <= row.keys() for row in tree):
            what = "A record of OpenAI evals, which states no confidence of its answers"
            remedy = "save the answer, a confidence and the label of each sample"
            raise Refused("FORMAT_UNKNOWN", what, remedy)
        log = harness_contents(tree)
        if log is not None:
            return log
        tree, texts = spread(tree)
        notices += tuple(Notice(NoticeCode.KEYS_GUESSED, text) for text in texts)
    first = tree[0] if isinstance(tree, list) and tree else tree
    refuse_bin_history(first if isinstance(first, dict) else ())
    table = table_of(tree)
    if table is None:
        contents = contents_of("json", tree, _as_is, printed=True)
    else:
        refuse_bin_history(table.cells)
        contents = contents_of_cells("json", table.cells, table.lacking, printed=True)
        notices = (*notices, *table.notices)
    group = "question" if samples is not None and "question" in contents.entries else ""
    return replace(contents, notices=(*notices, *contents.notices), group=group)


def parsed(source: FileBytes) -> tuple[object, list[Notice]]:
    """Return the tree of a JSON file, and how its text was read.

    Raises
    ------
    Refused
        HEADER_PARSE, CSV_HEADER, TABLE_SIZE or CSV_ENCODING.
    """
    document, notices = _document(source)
    return document.tree, notices


def _document(source: FileBytes) -> tuple[_Document, list[Notice]]:
    if source.size > MAX_BYTES:
        raise Refused(
            "TABLE_SIZE",
            f"The file has {source.size} bytes of JSON; at most {MAX_BYTES} are read",
            "save arrays as .npz",
        )
    data, notices = decode(source.data)
    text = str(data, "utf-8")
    by_line = source.suffix in LINES
    try:
        tree = _value(text)
    except json.JSONDecodeError as error:
        if by_line or _goes_on(error):
            return _lines(text), notices
        raise _invalid(error) from error
    except (ValueError, RecursionError) as error:
        raise _invalid(error) from error
    return (_Document([tree], 1) if by_line and _is_row(tree) else _Document(tree)), notices


def _value(text: str) -> object:
    return json.loads(text, object_pairs_hook=_pairs)


def _goes_on(error: json.JSONDecodeError) -> bool:
    """Whether text was valid up to the end of a line, and another value follows below."""
    before = error.doc[: error.pos].rstrip(" \t\r")
    return error.msg == "Extra data" and before.endswith("\n")


def _is_row(tree: object) -> bool:
    """Whether a lone object is one row, and not a mapping of whole arrays."""
    values = tree.values() if isinstance(tree, dict) else [[[]]]
    return not any(isinstance(v, list) and v and isinstance(v[0], list) for v in values)


def _lines(text: str) -> _Document:
    """Return the values of all lines but blank ones: objects all, or lists all."""
    rows: list[object] = []
    numbers: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        rows.append(_line(line, number))
        numbers.append(number)
        if type(rows[-1]) is not type(rows[0]):
            what = f"A line of another kind than line {numbers[0]}"
            raise Refused("HEADER_PARSE", what, "write one object a line", f"line {number}")
    steady = numbers[-1] - numbers[0] == len(numbers) - 1
    return _Document(rows, numbers[0] if steady else 0)


def _line(line: str, number: int) -> object:
    location = f"line {number}"
    try:
        value = _value(line)
    except Refused as refusal:
        raise refusal.with_location(location) from refusal
    except (ValueError, RecursionError) as error:
        raise _invalid(error, location) from error
    if not isinstance(value, dict | list):
        what = "Neither an object nor a list"
        raise Refused("HEADER_PARSE", what, "write one object a line", location)
    return value


def _invalid(error: Exception, location: str = "") -> Refused:
    """Return the refusal of text that is no JSON; cut off if it goes wrong only where it ends."""
    if isinstance(error, json.JSONDecodeError):
        rest = error.doc[error.pos :]
        if not rest.strip() or error.msg.startswith("Unterminated"):
            what = f"The file is cut off after {len(error.doc):,} letters"
            return Refused("HEADER_PARSE", what, "copy or download it again", location)
    return Refused("HEADER_PARSE", "Not valid JSON, or nested too deeply", REMEDY, location)


def _as_is(node: object) -> object:
    return node


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    out = dict(pairs)
    if len(out) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise Refused("CSV_HEADER", f"Key {twice[:60]!r} occurs twice", "give each key once")
    return out
