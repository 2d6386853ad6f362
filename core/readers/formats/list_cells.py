"""Cells that hold a list of numbers as text, as pandas, NumPy and torch print it: a matrix.

Nothing is evaluated: brackets are matched, and what lies between them is cut at commas or spaces.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core import defaults
from core.codes import NoticeCode
from core.errors import Notice
from core.readers.formats.contents import Entry, is_text

BLOCK: Final = 2**20  # numbers that are cut at a time
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
    """Return columns with lists in their cells as matrices, and what was made of them.

    Parameters
    ----------
    columns : mapping of str to array
        Columns of a table.
    row_name : function of int to str
        How a message names a row.
    """
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


def _cut(body: str) -> list[str]:
    return [word.strip() for word in body.split(",")] if "," in body else body.split()


def _width(cell: str) -> int:
    """Return how many numbers a cell may hold; 0 if it is no list."""
    body = _body(cell)
    width = body.count(",") + 1 if "," in body else len(body.split())
    return width if width <= defaults.MAX_COLUMNS else 0


def _matrix(cells: list[str], width: int) -> Entry | int:
    """Return the numbers of cells that hold as many each, or the first row with anything else."""
    out = np.empty((len(cells), width))
    whole = True
    step = max(1, BLOCK // width)
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
    words = [word for cell in cells for word in _cut(_body(cell))]
    try:
        return np.asarray(pc.cast(pa.array(words, pa.string()), pa.float64())).reshape(rows, width)
    except pa.ArrowInvalid:
        return None
