"""Text that Weka and Orange write: tables with a header or cells of their own, as plain CSV."""

import csv
import io
import re
from typing import Final

from core.codes import NoticeCode
from core.errors import Notice, Refused

HEAD: Final = 2**16  # bytes in which a header is looked for
WEKA: Final = re.compile(
    rb"(?m)^[ \t]*inst#[ ,\t]+actual[ ,\t]+predicted[ ,\t]+error[ ,\t]+"
    rb"(?:prediction|\w*distribution)"
)
WEKA_LINE: Final = re.compile(
    r"\s*(\d+)\s+(\d+:.*?|\?)\s+(\d+:.*?|\?)\s+\+?\s*(\*?[\d.]+(?:,\*?[\d.]+)*)(?:\s+\(.*\))?\s*"
)
FASTTEXT: Final = re.compile(rb"__label__\S+\s+(?:__label__\S+\s+)?[\d.e-]+[ \r\n]")
ARFF: Final = re.compile(rb"(?i)\s*(?:%[^\n]*\n\s*)*@relation\s")
TYPES: Final = {"continuous", "c", "discrete", "d", "string", "s", "time", "t"}
FLAGS: Final = re.compile(r"(?i)(?:class|c|meta|m|ignore|i|weight|w|)(?: \S+=\S*)*")
PREFIX: Final = re.compile(r"[mciw]?[CDST]#(?=.)")  # mD#, before a name: a meta column of words


def rewritten(data: memoryview) -> tuple[memoryview, list[Notice]]:
    """Return text as a table that names its columns, where a tool writes another; else as it is.

    Raises
    ------
    Refused
        FORMAT_UNKNOWN: an ARFF file. CSV_RAGGED: a line that Weka does not write.
    """
    head = bytes(data[:HEAD])
    if ARFF.match(head):
        what = "This is an ARFF file, whose margin is no probability"
        remedy = "in Weka: More options, Output predictions, CSV with outputDistribution"
        raise Refused("FORMAT_UNKNOWN", what, remedy)
    start = WEKA.search(head)
    if start is not None:
        table = _weka(str(data[start.start() :], "utf-8"))
        return (data, []) if table is None else (_encoded(table), _said("Weka"))
    if FASTTEXT.match(head):
        table = _fasttext(str(data, "utf-8"))
        return (data, []) if table is None else (_encoded(table), _said("fastText"))
    return _orange(data, head)


def _said(tool: str) -> list[Notice]:
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
    rows = [_weka_row(line, commas=commas) for line in lines]
    classes = dict(cell.split(":", 1) for row in rows for cell in row[:2] if ":" in cell)
    if not classes or any(":" not in cell and cell != "?" for row in rows for cell in row[:2]):
        return None
    names = ["actual", "predicted"]
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


def _weka_row(line: str, *, commas: bool) -> list[str]:
    """Return actual, predicted and the numbers of a line."""
    if commas:
        cells = [cell.strip() for cell in next(csv.reader([line]))]
        return [*cells[1:3], *cells[4:]]
    match = WEKA_LINE.fullmatch(line)
    return [match[2], match[3], *match[4].split(",")] if match else [line]


def _fasttext(text: str) -> list[list[str]] | None:
    """Return labels and probabilities that take turns in a line, perhaps behind the true label."""
    bare = text.replace("__label__", "")
    lines = [line.split() for line in bare.splitlines() if line.strip()]
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


def _orange(data: memoryview, head: bytes) -> tuple[memoryview, list[Notice]]:
    """Return a table of Orange without its two lines of types and roles, or their marks."""
    lines = head.decode("utf-8", "ignore").splitlines(keepends=True)[:3]
    mark = "\t" if lines and "\t" in lines[0] else ","
    cells = [line.rstrip("\r\n").split(mark) for line in lines]
    names = cells[0] if cells else []
    if sum(PREFIX.match(name) is not None for name in names) > 1:
        first = mark.join(PREFIX.sub("", name, count=1) for name in names) + "\n"
        return memoryview(first.encode() + bytes(data[len(lines[0].encode()) :])), _said("Orange")
    if len(cells) < 3 or len(names) < 2 or {len(row) for row in cells} != {len(names)}:
        return data, []
    types, flags = cells[1:]
    typed = sum(cell.strip().lower() in TYPES for cell in types)
    if not typed or not any(flags) or not all(FLAGS.fullmatch(cell.strip()) for cell in flags):
        return data, []
    skipped = sum(len(line.encode()) for line in lines)
    return memoryview(lines[0].encode() + bytes(data[skipped:])), _said("Orange")
