"""Rows that name their fields, as JSON Lines hold them, turned into the columns of a table."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from core import defaults
from core.errors import Refused

MAX_DEPTH = 12
Row = Mapping[str, object]


def columns_of(rows: Sequence[Row]) -> tuple[dict[str, list[object]], list[str]]:
    """Return the cells of every field that all rows have, and the fields that some rows lack.

    A mapping inside a row becomes fields of its own, named ``outer.inner``.

    Raises
    ------
    Refused
        CSV_HEADER: two fields of one name. CSV_COLUMNS: too many fields. PICKLE_SHAPE: too deep.
    """
    flat = [_flat(row, index) for index, row in enumerate(rows)]
    counts = Counter(name for row in flat for name in row)
    whole = [name for name, count in counts.items() if count == len(flat)]
    if len(whole) > defaults.MAX_COLUMNS:
        what = f"A row has {len(whole)} fields; at most {defaults.MAX_COLUMNS} are read"
        raise Refused("CSV_COLUMNS", what, "save one row for each sample", "row 0")
    lacking = [name for name, count in counts.items() if count < len(flat)]
    return {name: [row[name] for row in flat] for name in whole}, lacking


def _flat(row: Row, index: int) -> Row:
    if not any(isinstance(value, dict) for value in row.values()):
        return row
    out: dict[str, object] = {}
    for name, value in _leaves(row, "", 0):
        if name in out:
            what = f"Field {name[:60]!r} occurs twice"
            raise Refused("CSV_HEADER", what, "give each field its own name", f"row {index}")
        out[name] = value
    return out


def _leaves(row: Row, prefix: str, depth: int) -> Iterator[tuple[str, object]]:
    if depth > MAX_DEPTH:
        what = f"A row nested deeper than {MAX_DEPTH}"
        raise Refused("PICKLE_SHAPE", what, "write one flat object for each row")
    for name, value in row.items():
        if isinstance(value, dict) and value.keys() == {"type", "values"}:  # a vector of Spark
            yield f"{prefix}{name}", value["values"]
        elif isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.", depth + 1)
        else:
            yield f"{prefix}{name}", value
