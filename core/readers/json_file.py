"""JSON: a mapping of arrays, a pair of arrays, or a list of records; no key twice."""

import json
from dataclasses import replace

from core.errors import Notice, Refused
from core.readers.contents import Contents, Source
from core.readers.encoding import decode
from core.readers.roles import refuse_bin_history
from core.readers.tree import contents_of

REMEDY = "write plain numbers, and null nowhere"
MAX_BYTES = 2**30


def read_json(source: Source) -> Contents:
    """Return the arrays of a JSON file.

    Raises
    ------
    Refused
        HEADER_PARSE, CSV_HEADER, PICKLE_SHAPE, TABLE_SIZE, CSV_ENCODING or BIN_HISTORY.
    """
    tree, notices = parsed(source)
    first = tree[0] if isinstance(tree, list) and tree else tree
    refuse_bin_history(first if isinstance(first, dict) else ())
    contents = contents_of("json", tree, _as_is, printed=True)
    return replace(contents, notices=(*notices, *contents.notices))


def parsed(source: Source) -> tuple[object, list[Notice]]:
    """Return the tree of a JSON file, and how its text was read.

    Raises
    ------
    Refused
        HEADER_PARSE, CSV_HEADER, TABLE_SIZE or CSV_ENCODING.
    """
    if source.size > MAX_BYTES:
        raise Refused("TABLE_SIZE", f"{source.size} bytes of JSON", "save arrays as .npz")
    data, notices = decode(source.data)
    try:
        return json.loads(str(data, "utf-8"), object_pairs_hook=_pairs), notices
    except (ValueError, RecursionError) as error:
        raise Refused("HEADER_PARSE", "not valid JSON, or nested too deeply", REMEDY) from error


def _as_is(node: object) -> object:
    return node


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    out = dict(pairs)
    if len(out) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Refused("CSV_HEADER", f"key {twice[:60]!r} occurs twice", "give each key once")
    return out
