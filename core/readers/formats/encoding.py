"""How a text file is written: encoding, delimiter, decimal comma, header line; all said."""

import codecs
import csv
import re
from dataclasses import dataclass

from core.codes import NoticeCode
from core.errors import Notice, Refused

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

    Raises
    ------
    Refused
        CSV_ENCODING: NUL bytes, or bytes that do not fit the mark at the start.
    """
    head = bytes(data[:4])
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return _recoded(data, "utf-16"), [
            Notice(NoticeCode.ENCODING_GUESSED, "read as UTF-16 by its mark")
        ]
    if head[:3] == codecs.BOM_UTF8:
        data = data[3:]
    for start in range(0, data.nbytes, BLOCK):
        at = bytes(data[start : start + BLOCK]).find(0)
        if at >= 0:
            raise Refused("CSV_ENCODING", "NUL bytes inside the text", REMEDY, f"byte {start + at}")
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

    Raises
    ------
    Refused
        EMPTY: only comments or blank lines.
    """
    head = sample_of(data)
    lines = re.split(r"\r\n|\n|\r", head.decode("utf-8", "ignore"))
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
