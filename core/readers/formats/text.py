"""Text of files: how it is written (encoding, delimiter, decimal comma, header), and its cells."""

import codecs
import csv
import re
from dataclasses import dataclass, replace

import numpy as np

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.contents import Contents, Entry, is_text, text_array
from core.readers.predictions.names import Role, listed, name_entry, words_of

SAMPLE_BYTES = 65_536
SAMPLE_LINES = 25
LEAST_LINES = 4  # of a table whose lines are longer than that: a header and rows below it
MOST_SAMPLE = 2**24
csv.field_size_limit(MOST_SAMPLE)  # a line is one cell to a mark that it lacks
DELIMITERS = ",\t;|"
REMEDY = "save it as UTF-8 with commas between columns"
BLOCK = 8 * 2**20
STATED = re.compile(r'"?sep=([,;\t|])"?', re.IGNORECASE)  # a first line that spreadsheets write
COMMA = re.compile(r"[-+]?\d*,\d+(e[-+]?\d+)?", re.IGNORECASE)
NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", " ": "spaces"}


@dataclass(frozen=True)
class Dialect:
    """Delimiter, decimal mark, lines to skip (comments), and the cells of the first lines.

    `text` says that every column is to stay text, `stated` that a line of its own names the
    delimiter.
    """

    delimiter: str
    decimal: str
    skip: int
    sample: tuple[tuple[str, ...], ...]
    text: bool = False
    stated: bool = False


def decode(data: memoryview) -> tuple[memoryview, list[Notice]]:
    """Return the text as UTF-8 bytes without a byte order mark, and what was assumed.

    Raises Refused CSV_ENCODING: NUL bytes, or bytes that do not fit the mark at the start.
    """
    head = bytes(data[:4])
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return _recoded(data, "utf-16"), [
            Notice(NoticeCode.ENCODING_GUESSED, "read as UTF-16 by its mark")
        ]
    if head[:3] == codecs.BOM_UTF8:
        data = data[3:]
    # NUL bytes would end a string in some parsers and not in others.
    for start in range(0, data.nbytes, BLOCK):
        at = bytes(data[start : start + BLOCK]).find(0)
        if at >= 0:
            raise Refused("CSV_ENCODING", "NUL bytes inside the text", REMEDY, f"byte {start + at}")
    # Block by block with a decoder that remembers half a character at a block's end.
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, data.nbytes, BLOCK):
            block = bytes(data[start : start + BLOCK])
            if not block.isascii() or decoder.getstate()[0]:
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        text = "not UTF-8; read as Windows-1252 (Latin-1): check names with accents"
        return _recoded(data, "cp1252"), [Notice(NoticeCode.ENCODING_GUESSED, text)]
    return data, []


def _recoded(data: memoryview, encoding: str) -> memoryview:
    try:
        text = str(data, encoding)
    except UnicodeDecodeError:
        if encoding != "cp1252":
            raise Refused("CSV_ENCODING", f"Bytes that are not {encoding}", REMEDY) from None
        text = str(data, "latin-1")  # the five bytes that cp1252 leaves undefined
    if "\0" in text:
        raise Refused("CSV_ENCODING", "NUL characters inside the text", REMEDY)
    return memoryview(text.encode("utf-8"))


def sample_of(data: memoryview) -> bytes:
    """Return the first bytes of a text, as many as hold some of its lines."""
    size = SAMPLE_BYTES
    while size < min(data.nbytes, MOST_SAMPLE):
        head = bytes(data[:size])
        if max(head.count(b"\n"), head.count(b"\r")) > LEAST_LINES:
            break
        size *= 4
    return bytes(data[:size])


def sniff_dialect(data: memoryview) -> Dialect:
    """Return how the columns are separated, judged from the first lines.

    Raises Refused EMPTY: only comments or blank lines.
    """
    head = sample_of(data)
    lines = re.split(r"\r\n|\n|\r", head.decode("utf-8", "ignore"))
    # The sample may end in the middle of a line.
    if data.nbytes > len(head) and len(lines) > 1:
        lines = lines[:-1]
    stated = STATED.fullmatch(lines[0])
    above = 1 if stated else 0
    rows = (i for i, line in enumerate(lines) if i >= above and line.strip() and line[0] != "#")
    skip = next(rows, None)
    if skip is None:
        raise Refused("EMPTY", "The text holds no rows", "give at least one row of scores")
    body = [line for line in lines[skip:] if line.strip()][:SAMPLE_LINES]
    if stated:
        delimiter = stated[1]
    else:
        # The separator that cuts every line into the same number of cells, and into most..
        delimiter, most = ",", 1
        # Commas may be decimal marks: another separator cuts the lines evenly too.
        even = [m for m in ";\t" if m in body[0] and len({line.count(m) for line in body}) == 1]
        for candidate in DELIMITERS + " ":
            widths = [len(row) for row in csv.reader(body, delimiter=candidate)]
            steady = sum(w == widths[0] for w in widths) >= 0.8 * len(widths)
            if steady and widths[0] > most and not (candidate == "," and even):
                delimiter, most = candidate, widths[0]
            if most > 1 and candidate == "|":  # spaces count only when nothing else separates
                break
    cells = tuple(tuple(row) for row in csv.reader(body, delimiter=delimiter))
    if skip > above and lines[skip - 1].startswith("#"):
        # `np.savetxt` marks its header so, and a first column may be called "#". Prose has spaces.
        for text in (lines[skip - 1].lstrip("# "), lines[skip - 1]):
            names = next(csv.reader([text], delimiter=delimiter), [])
            plain = names[:1] == ["#"] or not any(" " in name.strip("# ") for name in names)
            plain = plain or stated is not None
            if len(names) == len(cells[0]) and plain and not any(map(is_number, names)):
                if any(is_number(cell) for cell in cells[0]):
                    skip, cells = skip - 1, (tuple(names), *cells)
                break
    comma = delimiter != "," and any(COMMA.fullmatch(c.strip()) for r in cells for c in r)
    return Dialect(delimiter, "," if comma else ".", skip, cells, stated=stated is not None)


def dialect_notices(dialect: Dialect, data: memoryview) -> list[Notice]:
    """Return what is unusual in how the text is written."""
    texts = []
    if dialect.delimiter not in ",\t":
        texts.append(f"columns are separated by {NAMES[dialect.delimiter]}")
    if dialect.decimal == ",":
        texts.append("numbers have decimal commas")
    if dialect.stated:
        texts.append("the first line names the separator")
    elif dialect.skip:
        lines = "first line is" if dialect.skip == 1 else f"first {dialect.skip} lines are"
        texts.append(f"the {lines} blank or comments and skipped")
    head = sample_of(data)
    if b"\r" in head and b"\n" not in head:
        texts.append("lines end in a carriage return only")
    return [Notice(NoticeCode.DIALECT, "; ".join(texts))] if texts else []


def is_number(cell: str, decimal: str = ".") -> bool:
    """Whether a cell is a number as a table holds them; infinities and NaN count."""
    word = cell.strip().replace(decimal, ".")
    if "_" in word:
        return False
    try:
        float(word)
    except ValueError:
        return False
    return True


SAMPLE = 1_000
NUMBERS = np.full(1, np.nan)  # stands for a column that holds numbers
NUMBER = re.compile(r"[+-]?(\d[\d,]*(\.\d*)?|\.\d+)(e[+-]?\d+)?")
PERCENT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)")
PERCENT_WORDS = {"percent", "percentage", "pct", "prozent"}
MISSING = {"na", "n/a", "nan", "null", "none", "-", "."}


def is_broken(name: str, entry: Entry, classes: set[str]) -> bool:
    """Whether a column of text is one of numbers with a gap or a slip: a class, not names."""
    role = name_entry(name, entry).role
    if role is not Role.UNUSED and name_entry(name, NUMBERS).role is Role.UNUSED:
        return False  # its name asks for text
    if role is Role.UNUSED and name.strip().casefold() in classes:
        return True
    cells = entry.tolist()
    # What somebody meant as a number: also 1,200.5, or digits of another script.
    numbers = sum(NUMBER.fullmatch(cell.strip().lower()) is not None for cell in cells[:SAMPLE])
    enough = 0 if role is Role.UNUSED else len(cells[:SAMPLE]) / 2
    return numbers > enough and not all(_is_plain(cell) for cell in cells)


def _is_plain(cell: str) -> bool:
    return cell.isascii() and is_number(cell)


def fractions(contents: Contents, *, divide: bool) -> Contents:
    """Return contents whose columns of percent are fractions, as cells or their header say so.

    Columns of one role have one unit: where one of them is above 1, a rare class is percent, too.
    Text of fractions in formats that have numbers is a number, too. Without `divide` the signs
    alone are taken off. Where some cells have one and others none, the
    column stays text; so it does where a cell is empty, which is refused by its row.
    """
    entries, signed, called, below_one = dict(contents.entries), [], [], []
    percent: dict[str, Role] = {}  # whose names say percent, and whose numbers may be; no labels
    for name, entry in entries.items() if contents.headed else ():
        says = "%" in name or not PERCENT_WORDS.isdisjoint(words_of(name))
        if not says or entry.dtype.kind not in "fiu" or not entry.size:
            continue
        role = name_entry(name, entry).role
        within = np.isfinite(entry).all() and entry.min() >= 0 and entry.max() <= 100
        if within and role not in (Role.LABELS, Role.CORRECT, Role.IDS):
            percent[name] = role
    # 0.5 under "percent" is a half percent if its neighbour is 60, and a half if all are below 1.
    above = {role for name, role in percent.items() if entries[name].max() > 1}
    for name, entry in entries.items():
        if not is_text(entry):
            if name in percent:
                if percent[name] not in above:
                    below_one.append(name)
                    continue
                numbers = entry.astype(np.float64)
                entries[name] = numbers / 100.0 if divide else numbers
                called.append(name)
            continue
        cells = [str(c).strip() for c in entry.reshape(-1).tolist()]
        blank = {cell for cell in cells if not cell or cell.lower() in MISSING}
        bare = [cell.removesuffix("%").rstrip() for cell in cells if cell not in blank]
        # Numbers as text in a format that has numbers are numbers; in CSV they are parsed already.
        typed = contents.format != "csv" and any(mark in c for c in cells for mark in ".eE")
        if typed and entry.ndim == 1 and all(is_number(c) for c in cells):  # numbers as text
            entries[name] = np.array([float(cell) for cell in cells])
            continue
        if not bare or not all(c.endswith("%") for c in cells if c not in blank):
            continue
        if not any("." in cell for cell in bare):
            bare = [cell.replace(",", ".") for cell in bare]
        if all(PERCENT.fullmatch(cell) for cell in bare):
            end = "e-2" if divide else ""
            bare_cells = iter(bare)
            values = ["" if cell in blank else float(f"{next(bare_cells)}{end}") for cell in cells]
            made = text_array([str(value) for value in values]) if blank else np.array(values)
            entries[name] = made.reshape(entry.shape)
            signed.append(name)
    notices = list(contents.notices)
    for names, what in ((signed, "numbers with percent signs in"), (called, "percent by name in")):
        done = "divided by 100" if divide else "taken off"
        if names and (divide or names is signed):
            notices.append(Notice(NoticeCode.UNITS, f"{what} {listed(names)}: {done}"))
    below = frozenset(below_one)
    return replace(contents, entries=entries, notices=tuple(notices), below_one=below)


def words_in(entry: Entry) -> set[str]:
    """Return the cells of a column as names that columns may have, in folded case."""
    return {str(cell).strip().casefold() for cell in entry.reshape(-1).tolist()}


def refuse_text(name: str, entry: Entry, contents: Contents) -> None:
    """Refuse a column of scores whose cells are not all numbers.

    Raises Refused NONFINITE: an empty cell. DTYPE: anything else.
    """
    if not is_text(entry):
        return
    row = next((i for i, cell in enumerate(entry.tolist()) if not _is_plain(cell)), 0)
    location = f"{contents.row(row)}, column {name}"
    cell = str(entry[row])
    code = "NONFINITE" if not cell.strip() or cell.strip().lower() in MISSING else "DTYPE"
    what = f"{cell[:40]!r} is not a number"
    raise Refused(code, what, "fill in or remove the row, or name the columns of scores", location)
