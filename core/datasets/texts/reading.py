"""Texts and their labels out of folders, tables and trees, within limits; no torch."""

import csv
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from core.disk import utf8_name
from core.errors import Refused

MAX_TEXT_BYTES: Final = 2**20  # of one file or cell
MAX_BYTES: Final = 2**30  # of all texts
MAX_TEXTS: Final = 2_000_000
MAX_DEPTH: Final = 16  # of folders inside a class
MAX_CLASSES: Final = 10_000
LABELS: Final = ("label", "class", "category", "target", "sentiment", "topic", "group")
TEXTS: Final = ("text", "sentence", "review", "content", "body", "message", "document")
LAYOUT: Final = (
    "CLASS/*.txt with one folder for each class, train/CLASS and test/CLASS, or a CSV or TSV file "
    "whose first line names a column text and a column label"
)
DELIMITERS: Final = {".csv": ",", ".tsv": "\t"}


class TextRow(NamedTuple):
    """One text, what it is labelled, and what the run will call it."""

    text: str
    label: str
    row_id: str


class Budget:
    """Counts the texts that are read, and refuses what is more than a data set should hold."""

    def __init__(self) -> None:
        self.n_bytes = self.n_texts = self.n_recoded = 0

    def decoded(self, data: bytes, name: str) -> str:
        """Return a text: UTF-8, else Latin-1; Refused FORMAT_UNKNOWN or TABLE_SIZE."""
        self.add(len(data), name)
        if b"\0" in data:
            what = f"The file {name} is no text: it holds NUL bytes"
            raise Refused("FORMAT_UNKNOWN", what, "take it out of the folder", location=name)
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            self.n_recoded += 1
            text = data.decode("latin-1")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def add(self, n_bytes: int, name: str) -> None:
        """Count a text; Refused TABLE_SIZE."""
        self.n_bytes += n_bytes
        self.n_texts += 1
        if n_bytes > MAX_TEXT_BYTES:
            what = f"The text {name} has more than {MAX_TEXT_BYTES:,} bytes"
            raise Refused("TABLE_SIZE", what, "cut it, or take it out", location=name)
        if self.n_bytes > MAX_BYTES or self.n_texts > MAX_TEXTS:
            what = f"There are more than {MAX_TEXTS:,} texts, or more than {MAX_BYTES:,} bytes"
            raise Refused("TABLE_SIZE", what, "give a part of them", location=name)


def class_folders(
    root: Path, part: str, budget: Budget, cleaned: Callable[[str], str]
) -> tuple[list[TextRow], int]:
    """Return the texts of a folder with one folder a class.

    `part`: folder below it, or empty; `cleaned`: from a file's text to what is kept of it.

    Raises Refused CLASSES, FORMAT_UNKNOWN, TABLE_SIZE or DATA_ROOT.

    Returns
    -------
    rows : list of TextRow
        Sorted by class and path; hidden files and links are left out.
    skipped : int
        Number of links left out.
    """
    folder = root / part if part else root
    rows, skipped = [], 0
    with os.scandir(folder) as entries:
        inside = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    for name in sorted(name for name in inside if not name.startswith(".")):
        # Sorted by path: what the file system returns first must not decide the split.
        for path in _files(folder / name):
            row_id = path.relative_to(root).as_posix()
            if path.is_symlink():
                skipped += 1
                continue
            rows.append(TextRow(cleaned(_text(path, row_id, budget)), name, utf8_name(row_id)))
    return rows, skipped


def _files(folder: Path, depth: int = 0) -> Iterator[Path]:
    """Yield regular files and links below a folder, sorted; links to folders are not followed."""
    if depth > MAX_DEPTH:
        what = f"Folders lie more than {MAX_DEPTH} deep in {folder.name}"
        raise Refused("DATA_ROOT", what, f"lay them out as {LAYOUT}")
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _files(folder / entry.name, depth + 1)
        elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
            yield folder / entry.name


def named_text(root: Path, row_id: str) -> str:
    """Return the text of one file below a folder; Refused DATA_ROOT where it is not there."""
    path = root / row_id
    try:
        # A name is stored with a run and may be anybody's: it must not lead out of the folder.
        inside = path.resolve().is_relative_to(root.resolve()) and not path.is_symlink()
        there = inside and path.is_file()
    except (OSError, ValueError):
        there = False
    if not there:
        what = f"The text {row_id[:120]} is not in its folder"
        raise Refused("DATA_ROOT", what, "restore the folder that was trained on")
    return _text(path, row_id, Budget())


def _text(path: Path, name: str, budget: Budget) -> str:
    try:
        with path.open("rb") as file:
            return budget.decoded(file.read(MAX_TEXT_BYTES + 1), name)
    except OSError as error:
        what = f"The file {name} cannot be read"
        raise Refused("DATA_ROOT", what, "copy it again", location=name) from error


def lines_of(path: Path, delimiter: str, budget: Budget) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each line of a table, with the line's number.

    Tabs divide cells as they stand; commas may stand in quotes.

    Raises Refused DATA_ROOT: it cannot be read. TABLE_SIZE: it is too large. CSV_ENCODING: it is
    not UTF-8. CSV_RAGGED: quotes that do not close.
    """
    name, limit = path.name, csv.field_size_limit(MAX_TEXT_BYTES)
    try:
        if path.stat().st_size > MAX_BYTES:
            what = f"{name} has more than {MAX_BYTES:,} bytes"
            raise Refused("TABLE_SIZE", what, "give a part of it", location=name)
        with path.open(encoding="utf-8-sig", newline="") as file:
            # Tabs divide without quoting: a lone quote is a word like any other there.
            reader = (
                csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE, strict=True)
                if delimiter == "\t"
                else csv.reader(file, delimiter=delimiter, strict=True)
            )
            for cells in reader:
                if cells:
                    budget.add(sum(map(len, cells)), f"{name}, line {reader.line_num}")
                    yield reader.line_num, cells
    except OSError as error:
        what = f"{name} cannot be read"
        raise Refused("DATA_ROOT", what, "check the path and that it may be read") from error
    except UnicodeDecodeError as error:
        what = f"{name} is not UTF-8"
        raise Refused("CSV_ENCODING", what, "save it as UTF-8", location=name) from error
    except csv.Error as error:
        what = f"{name} is no table that can be read ({error})"
        raise Refused("CSV_RAGGED", what, "check its quotes and line ends") from error
    finally:
        csv.field_size_limit(limit)


def labelled_table(
    path: Path, budget: Budget, texts: Sequence[str] = TEXTS, labels: Sequence[str] = LABELS
) -> list[TextRow]:
    """Return the texts of a table whose first line names its columns, one of each kind.

    Raises Refused: as of `lines_of`; FORMAT_UNKNOWN: neither CSV nor TSV. CSV_HEADER: no column of
    texts or of labels. CSV_RAGGED: a line has fewer cells, or an empty label.
    """
    delimiter = DELIMITERS.get(path.suffix.lower())
    if delimiter is None:
        what = f"{path.name} is neither CSV nor TSV"
        raise Refused("FORMAT_UNKNOWN", what, f"give {LAYOUT}")
    lines = lines_of(path, delimiter, budget)
    _, header = next(lines, (0, []))
    names = [cell.strip().lower() for cell in header]
    text, label = _column(path.name, names, texts), _column(path.name, names, labels)
    rows = []
    for line, cells in lines:
        if len(cells) != len(names) or not cells[label].strip():
            what = f"This line has {len(cells)} cells and needs {len(names)}, its label not empty"
            raise Refused("CSV_RAGGED", what, "check the line", f"{path.name}, line {line}")
        rows.append(TextRow(cells[text], cells[label].strip(), f"{path.name}:{line}"))
    return rows


def _column(file: str, names: Sequence[str], known: Sequence[str]) -> int:
    """Return where the one column of a kind stands."""
    places = [k for k, name in enumerate(names) if name in known]
    if len(places) == 1:
        return places[0]
    there = ", ".join(name[:40] for name in names[:12]) or "nothing"
    count = "no column" if not places else "several columns"
    raise Refused(
        "CSV_HEADER",
        f"{file} has {count} called {known[0]} or the like; its first line names {there}",
        f"call the column of texts {TEXTS[0]} and that of labels {LABELS[0]}",
        "line 1",
    )


def known_table(
    path: Path, delimiter: str, budget: Budget, classes: Mapping[str, str], *, label: int
) -> list[TextRow]:
    """Return the texts of a table whose columns are known: those beside the label, joined.

    Parameters
    ----------
    classes : mapping of str to str
        Name of the class for each cell that stands for one. A first line with another cell is a
        header and is passed over.
    label : int
        Column of the label.

    Raises
    ------
    Refused
        As of `lines_of`; LABEL_LIST: a label that is none of these.
    """
    rows = []
    for line, cells in lines_of(path, delimiter, budget):
        cell = cells[label].strip() if len(cells) > 1 and -len(cells) <= label < len(cells) else ""
        if cell in classes:
            texts = [text for k, text in enumerate(cells) if k != label % len(cells)]
            rows.append(TextRow("\n".join(texts), classes[cell], f"{path.name}:{line}"))
        # Only the first line can be a header; later a strange label is a mistake.
        elif rows or line > 1:
            what = f"The label of this line is {cell[:40]!r}, and {', '.join(classes)} are expected"
            raise Refused("LABEL_LIST", what, "use the labelled file", f"{path.name}, line {line}")
    return rows


# Parse trees of the Stanford Sentiment Treebank.
LONGEST_TREE: Final = 10_000  # characters; in the treebank below 2,000
NEGATIVE, NEUTRAL, POSITIVE = "negative", "neutral", "positive"
POLARITY: Final = {"0": NEGATIVE, "1": NEGATIVE, "2": NEUTRAL, "3": POSITIVE, "4": POSITIVE}
# A bracket with its label, a word, a bracket that closes; or a bracket without a label.
PART: Final = re.compile(r"\(\s*([0-4])(?=[\s(])|([^\s()]+)|(\))|\(")
WORD, JOINED = [True], [False, False]  # what a node may hold: a word, or two nodes
JOIN: Final = "<join>"


def phrases(path: Path, budget: Budget, *, every: bool) -> list[TextRow]:
    """Return the sentences of a file with a tree such as ``(3 (2 It) (4 works))`` on each line.

    `every`: all phrases of each sentence, the sentence itself last.

    Raises Refused: as of `lines_of`; FORMAT_UNKNOWN: a line that is no such tree. TABLE_SIZE: one
    too long.

    Returns
    -------
    list of TextRow
        Without sentences that are neutral as a whole. A text has a pair of brackets around each
        two phrases that are joined: ``(It works)``.
    """
    rows = []
    for line, cells in lines_of(path, "\t", budget):
        place = f"{path.name}, line {line}"
        nodes = list(_nodes(" ".join(cells), place))
        if nodes[-1][0] == NEUTRAL:
            continue
        for k, (label, text) in enumerate(nodes if every else nodes[-1:], 1):
            budget.add(len(text), place)
            rows.append(TextRow(text, label, f"{path.name}:{line}{f'.{k}' if every else ''}"))
    return rows


def tokens(text: str) -> list[str]:
    """Return the words of a text of `phrases` in lower case, and a JOIN behind each two phrases."""
    return text.replace("(", "").replace(")", f" {JOIN} ").lower().split()


def _nodes(tree: str, place: str) -> Iterator[tuple[str, str]]:
    """Yield label and text of each node after those below it."""
    if len(tree) > LONGEST_TREE:
        what = f"This tree has more than {LONGEST_TREE:,} characters"
        raise Refused("TABLE_SIZE", what, "give one tree a line", place)
    # A stack, not recursion: a tree of 5,000 brackets would exceed Python's recursion limit.
    opened: list[tuple[str, list[tuple[bool, str]]]] = []  # label and contents of each open node
    closed = False
    for part in PART.finditer(tree):
        label, word, closes = part.groups()
        if closed or not (opened or part[0].startswith("(")):
            raise _refused("something stands outside its brackets", place)
        if label:
            opened.append((POLARITY[label], []))
        elif word:
            opened[-1][1].append((True, word))
        elif closes:
            name, contents = opened.pop()
            kind = [is_word for is_word, _ in contents]
            if kind not in (WORD, JOINED):
                raise _refused("a node holds neither one word nor two nodes", place)
            text = " ".join(text for _, text in contents)
            text = f"({text})" if kind == JOINED else text
            yield name, text
            closed = not opened
            if opened:
                opened[-1][1].append((False, text))
        else:
            raise _refused("a bracket has no label of 0 to 4", place)
    if not closed:
        raise _refused("its brackets do not close", place)


def _refused(why: str, place: str) -> Refused:
    remedy = "give the treebank's own train.txt, dev.txt and test.txt, such as (3 (2 It) (4 works))"
    return Refused("FORMAT_UNKNOWN", f"This line is no labelled binary tree: {why}", remedy, place)
