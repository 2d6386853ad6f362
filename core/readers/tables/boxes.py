"""Boxes around lesions, as NIH publishes them and in a plain form; judged strictly."""

import math
import re
from dataclasses import dataclass
from typing import Final

from core.errors import Notice, Refused
from core.readers.formats.contents import FileBytes
from core.readers.formats.encoding import is_number
from core.readers.predictions.parts import listed
from core.readers.tables.columns import TextColumns, read_columns_file

MAX_BOXES: Final = 200_000
SIDE: Final = 1_024.0  # pixels of a film of ChestX-ray14, which its boxes are measured in
SLACK: Final = 0.005  # of a side: what rounding and a hand may draw beyond the edge
MAX_SIDE: Final = 100_000.0
LAYOUT: Final = (
    "give columns image, finding, x, y, w, h, in pixels of the original film (1,024 a side, "
    "unless columns image_width and image_height say otherwise)"
)
WANTED: Final = ("image", "finding", "x", "y", "w", "h")
SIZES: Final = ("image_width", "image_height")
NAMES: Final = {"image index": "image", "finding label": "finding", "bbox [x": "x", "h]": "h"}
ALIASES: Final = {"Infiltrate": "Infiltration"}  # NIH's boxes and labels differ in this word


@dataclass(frozen=True)
class Box:
    """One lesion: the film's name, the finding, and where it lies.

    Attributes
    ----------
    image, finding : str
    x, y : float
        Left and upper edge in pixels of the original film.
    w, h : float
        Width and height, above 0.
    width, height : float
        Sides of the original film.
    """

    image: str
    finding: str
    x: float
    y: float
    w: float
    h: float
    width: float = SIDE
    height: float = SIDE


@dataclass(frozen=True)
class BoxList:
    """The outcome of reading a list of boxes: boxes in the file's order, notices, digest."""

    boxes: tuple[Box, ...]
    notices: tuple[Notice, ...] = ()
    digest: str = ""


def finding_name(text: str) -> str:
    """Return the name of a finding as label lists spell it: Pleural_Thickening, Infiltration."""
    words = re.split(r"[\s_\-]+", text.strip())
    name = "_".join(word[:1].upper() + word[1:] for word in words)
    return ALIASES.get(name, name)


def read_boxes_file(source: FileBytes) -> BoxList:
    """Return the boxes that a text table lists.

    Raises
    ------
    Refused
        BOX_COLUMNS: a column is missing. BOX_RANGE: a box that is no number, not finite, empty or
        outside its film. TABLE_SIZE. Any other code of `core.readers.tables.columns`.
    """
    # NIH's list has empty columns at the end of each line; one is dropped by the reader of tables.
    text = bytes(source.data)
    first = re.match(rb"[^\r\n]*?(,*)[ \t]*(?=[\r\n]|$)", text)
    tail = len(first[1]) if first is not None else 0
    if tail > 1:
        text = re.sub(rb"(?m),{%d}[ \t]*(?=\r?$)" % tail, b"", text)
    table = read_columns_file(FileBytes.of_bytes(source.name, text))
    plain = {name: name.strip().casefold() for name in table.columns}
    names = {NAMES.get(word, word): name for name, word in plain.items()}
    missing = [name for name in WANTED if name not in names]
    if missing:
        what = f"No column {missing[0]}; columns: {listed(list(table.columns))}"
        raise Refused("BOX_COLUMNS", what, LAYOUT)
    if len(table.ids) > MAX_BOXES:
        what = f"The list has {len(table.ids):,} boxes; at most {MAX_BOXES:,} are read"
        raise Refused("TABLE_SIZE", what, "keep the boxes of these films")
    boxes = tuple(_box(table, names, row) for row in range(len(table.ids)))
    return BoxList(boxes, table.notices)


def _box(table: TextColumns, names: dict[str, str], row: int) -> Box:
    def cell(name: str) -> str:
        return table.columns[names[name]][row]

    location = f"row {row}"
    x, y, w, h = (_number(cell(name), name, location) for name in WANTED[2:])
    width, height = (
        _number(cell(name), name, location) if name in names else SIDE for name in SIZES
    )
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise _outside(f"A film of {width:g} x {height:g} pixels", location)
    if w <= 0 or h <= 0:
        raise _outside(f"A box of {w:g} x {h:g} pixels", location)
    across, down = SLACK * width, SLACK * height
    if x < -across or y < -down or x + w > width + across or y + h > height + down:
        what = f"A box from {x:g}, {y:g} to {x + w:g}, {y + h:g} on {width:g} x {height:g} pixels"
        raise _outside(what, location)
    if not cell("image") or not cell("finding"):
        raise Refused("BOX_RANGE", "A box without a film or a finding", LAYOUT, location)
    return Box(cell("image"), finding_name(cell("finding")), x, y, w, h, width, height)


def _number(cell: str, name: str, location: str) -> float:
    if not (cell.isascii() and is_number(cell)) or not math.isfinite(float(cell)):
        what = f"No number in column {name}"  # the cell may be anything, also a name
        raise Refused("BOX_RANGE", what, LAYOUT, location)
    return float(cell)


def _outside(what: str, location: str) -> Refused:
    return Refused("BOX_RANGE", f"{what}, which cannot be", LAYOUT, location)
