"""JSON: a mapping or pair of arrays, a table, or records in a list or one a line; no key twice."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from core import defaults
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.contents import Contents, FileBytes, text_array
from core.readers.formats.scored_lists import records_in, spread
from core.readers.formats.text import decode
from core.readers.formats.tree import columns_of, contents_of, contents_of_cells
from core.readers.predictions.parts import counted, listed, refuse_bin_history
from core.readers.predictions.result import ReadChoice, undecided

Row = Mapping[str, object]
HARNESS: Final = {"doc", "target", "filtered_resps"}
SAVE: Final = "save the answer, a confidence and the label of each question as CSV"
STATED: Final = ("confidence", "probability", "prob", "stated_confidence", "certainty")
RIGHT, WRONG = {"c", "correct", "true", "1", "1.0"}, {"i", "incorrect", "false", "0", "0.0", "n"}


def harness_contents(rows: Sequence[Row]) -> Contents | None:
    """Return the samples of a task of lm-evaluation-harness; None where rows are none.

    Of multiple choice, scores are the log-likelihoods of the options, of which the softmax is
    taken; `loglikelihood_per_character` are the same by the length of the option, as `acc_norm`
    takes them, and left out where that field disagrees. An option that a question lacks has a
    log-likelihood of minus infinity; those without a question (mutual information) are left out.

    Raises Refused DTYPE: generated answers, or a single log-likelihood a row. LABEL_RANGE: a
    target that names no option. CLASSES: the field `acc` disagrees, or does not tell two readings
    of targets apart.
    """
    if not rows or not all(row.keys() >= HARNESS for row in rows):
        return None
    options = [_likelihoods(row["filtered_resps"]) for row in rows]
    if not all(options):
        what = "Generated answers of lm-evaluation-harness, which state no confidence"
        raise Refused("DTYPE", what, f"run a multiple-choice task, or {SAVE}")
    texts = [_option_texts(row, len(values)) for row, values in zip(rows, options, strict=True)]
    options = [values[: len(words)] for values, words in zip(options, texts, strict=True)]
    width = max(map(len, options))
    if width < 2:
        what = "One log-likelihood a row (lm-evaluation-harness): a perplexity, no choice"
        raise Refused("DTYPE", what, "run a multiple-choice task")
    logits = np.full((len(rows), width), -np.inf)
    lengths = np.ones((2, len(rows), width))
    for at, (values, words) in enumerate(zip(options, texts, strict=True)):
        logits[at, : len(values)] = values
        for how, strip in enumerate((" ", "")):  # what parts an option from its question
            lengths[how, at, : len(values)] = [max(1, len(w.removeprefix(strip))) for w in words]
    # The right option of each row: its number, its text or its letter, alike in all.
    ways, readings = (_by_number, _by_text, _by_letter), dict[tuple[int, ...], None]()
    for reading in ways:
        found = [reading(row["target"], words) for row, words in zip(rows, texts, strict=True)]
        if all(at >= 0 for at in found):
            readings[tuple(found)] = None
    if not readings:
        none = [all(w(row["target"], texts[i]) < 0 for w in ways) for i, row in enumerate(rows)]
        at = none.index(True) if any(none) else 0
        what = (
            f"The target {str(rows[at]['target'])[:40]!r} is none of the {len(texts[at])} options"
        )
        remedy = "write the number of the right option, from 0"
        raise Refused("LABEL_RANGE", what, remedy, f"row {at}")
    all_labels = [np.array(labels, np.int64) for labels in readings]
    wrong = [_wrong(rows, "acc", logits, labels) for labels in all_labels]
    if all(wrong):
        what = f"The acc field disagrees with the target in {len(wrong[0])} of {len(rows)} rows"
        raise Refused("CLASSES", what, SAVE, f"row {wrong[0][0]}")
    right = [labels for labels, rows_off in zip(all_labels, wrong, strict=True) if not rows_off]
    if len(right) > 1:
        at = int(np.flatnonzero(right[0] != right[1])[0])
        what = (
            f"The target {rows[at]['target']!r} is the number of one option and the text of another"
        )
        raise Refused("CLASSES", what, "keep the acc field, which tells, or " + SAVE, f"row {at}")
    labels = right[0]
    ids = [str(row.get("doc_id", at)) for at, row in enumerate(rows)]
    again = len(set(ids)) < len(ids)  # asked several times, or of several filters
    entries = {"logits": logits, "labels": labels, "question" if again else "id": text_array(ids)}
    text = "scores are the log-likelihoods of the options, not divided by their length (acc)"
    by_length = [logits / count for count in lengths if any(map(any, texts))]
    by_length = [scores for scores in by_length if not _wrong(rows, "acc_norm", scores, labels)]
    if by_length:
        entries["loglikelihood_per_character"] = by_length[0]
        text += "; --scores-key loglikelihood_per_character takes them by character (acc_norm)"
    notices = (Notice(NoticeCode.KEYS_GUESSED, text),)
    group = "question" if again else ""
    return Contents("json", entries, printed=True, notices=notices, group=group)


def _likelihoods(responses: object) -> list[float]:
    """Return the log-likelihood of each option; nothing where responses are text."""
    out = []
    for item in responses if isinstance(responses, list) else []:
        first = item[0] if isinstance(item, list) and len(item) == 2 else None
        try:
            out.append(float(first))  # type: ignore[arg-type]  # None and others are caught
        except (TypeError, ValueError):
            return []
    return out if all(value <= 0.0 or math.isnan(value) for value in out) else []


def _option_texts(row: Row, count: int) -> list[str]:
    """Return what each option says, without those scored again without their question."""
    arguments = row.get("arguments")
    items = list(arguments.values()) if isinstance(arguments, dict) else arguments
    pairs = [
        list(item.values()) if isinstance(item, dict) else item
        for item in (items if isinstance(items, list) else [])
    ]
    texts = [str(pair[1]) if isinstance(pair, list) and len(pair) > 1 else "" for pair in pairs]
    if len(texts) != count:
        return [""] * count
    half = count // 2
    contexts = [next(iter(pair), None) for pair in pairs[half:] if isinstance(pair, list)]
    again = any(texts) and texts[:half] == texts[half:] and contexts == [""] * half
    return texts[:half] if again else texts


def _by_number(target: object, texts: Sequence[str]) -> int:
    word = str(target).strip()
    number = word.isascii() and word.isdecimal() and len(word) < 9
    return int(word) if number and int(word) < len(texts) else -1


def _by_text(target: object, texts: Sequence[str]) -> int:
    plain, word = [text.strip() for text in texts], str(target).strip()
    return plain.index(word) if plain.count(word) == 1 else -1


def _by_letter(target: object, texts: Sequence[str]) -> int:
    word = str(target).strip()
    return ord(word) - ord("A") if len(word) == 1 and "A" <= word < chr(65 + len(texts)) else -1


def _wrong(rows: Sequence[Row], field: str, scores: np.ndarray, labels: np.ndarray) -> list[int]:
    """Return the rows where a field of the harness, if all have it, disagrees with the labels."""
    stated = [row.get(field) for row in rows]
    if not all(isinstance(value, int | float) for value in stated):
        return []
    right = scores.argmax(axis=1) == labels
    tied = (scores == scores.max(axis=1, keepdims=True)).sum(axis=1) > 1
    differ = (right != (np.array(stated, np.float64) > 0.5)) & ~tied
    return [int(at) for at in np.flatnonzero(differ)]


def inspect_rows(tree: object, scorer: str | None = None) -> list[Row] | None:
    """Return the samples of a log of Inspect, as rows; None where it is none.

    `scorer` says whose scores count, where several scored.

    Raises Refused DTYPE: samples that state no confidence. LABEL_RANGE: a score that is neither
    right nor wrong. UNDECIDED: scorers that differ. AMBIGUOUS_KEYS: there is no such scorer.
    """
    samples = tree.get("samples") if isinstance(tree, dict) and "eval" in tree else None
    if not isinstance(samples, list) or not samples:
        return None
    if not all(isinstance(sample, dict) for sample in samples):
        raise Refused("DTYPE", "A sample of the log that is no object", SAVE)
    scores = [s["scores"] if isinstance(s.get("scores"), dict) else {} for s in samples]
    names = list(dict.fromkeys(name for score in scores for name in score)) or [""]
    if scorer is not None and scorer not in names:
        what = f"--records names {scorer!r}, which is no scorer"
        raise Refused("AMBIGUOUS_KEYS", what, f"use one of {listed(names)}")
    made = {
        name: [
            _inspect_row(sample, score.get(name))
            for sample, score in zip(samples, scores, strict=True)
        ]
        for name in ([scorer] if scorer is not None else names)
    }
    stating = [  # a reply that could not be parsed gives neither answer nor confidence
        n
        for n, rows in made.items()
        if all("confidence" in row or (not row["answer"] and row["correct"] == 0) for row in rows)
        and any("confidence" in row for row in rows)
    ]
    if not stating:
        silent = [str(r["id"]) for r in next(iter(made.values())) if "confidence" not in r]
        what = f"{len(silent)} of {len(samples)} samples of Inspect state no confidence"
        what += f": {listed(silent)}"
        remedy = "have the scorer put confidence (0 to 1) into its metadata, or "
        raise Refused("DTYPE", what, remedy + SAVE)
    if any(made[name] != made[stating[0]] for name in stating):
        choices = [ReadChoice(f"the scorer {name}", {"records": name}) for name in stating]
        raise undecided(f"Several scorers differ: {listed(stating)}", *choices)
    rows: list[Row] = [{**row, "confidence": row.get("confidence")} for row in made[stating[0]]]
    if len({row["id"] for row in rows}) < len(rows):  # asked several times
        rows = [
            {**row, "id": f"{row['id']}, epoch {row.get('epoch', at)}", "question": row["id"]}
            for at, row in enumerate(rows)
        ]
    odd = next((row for row in rows if row["correct"] not in (0, 1)), None)
    if odd is not None:
        what = f"Sample {odd['id']} scored {str(odd['correct'])[:40]!r}, neither right nor wrong"
        raise Refused("LABEL_RANGE", what, f"leave such samples out, or {SAVE}")
    return rows


def _inspect_row(sample: Row, score: object) -> Row:
    judged: Row = score if isinstance(score, dict) else {"value": score}
    row: dict[str, object] = {"id": str(sample.get("id"))}
    if sample.get("epoch") is not None:
        row["epoch"] = sample["epoch"]
    value = str(judged.get("value")).casefold()
    row["correct"] = 1 if value in RIGHT else 0 if value in WRONG else judged.get("value")
    row["answer"] = str(judged.get("answer") or "")
    for place in (judged.get("metadata"), sample.get("metadata"), sample.get("store")):
        stated = place if isinstance(place, dict) else {}
        for key in STATED:
            if "confidence" not in row and stated.get(key) is not None:
                row["confidence"] = stated[key]
                if isinstance(stated[key], str):  # a model may write it as text
                    with suppress(ValueError):
                        row["confidence"] = float(stated[key])
    return row


INDEX: Final = "index"
COUNTING: Final = re.compile(r"0|-?[1-9]\d{0,17}")
Cells = dict[str, list[object]]


@dataclass(frozen=True)
class JsonTable:
    """Cells by column, fields that some rows lack, and what had to be guessed."""

    cells: Cells
    lacking: list[str] = field(default_factory=list)
    notices: tuple[Notice, ...] = ()


def table_of(tree: object) -> JsonTable | None:
    """Return the table that a tree of JSON is, or None if it is none.

    Read are an object of ``columns`` and ``data``, one of ``schema`` and ``data``, and objects in
    an object: columns of cells by row, or rows of cells by column. Names of the rows become a
    column ``index``, unless they count from 0.

    Raises Refused CSV_HEADER, CSV_COLUMNS, CSV_RAGGED or EMPTY.
    """
    if not isinstance(tree, dict):
        return None
    columns, data = tree.get("columns"), tree.get("data")
    names = columns if isinstance(columns, list) else []
    if names and isinstance(data, list) and all(isinstance(name, str | int) for name in names):
        return _split([str(name) for name in names], data, tree.get("index"))
    if isinstance(tree.get("schema"), dict) and isinstance(data, list) and _are_rows(data):
        if not data:
            raise Refused("EMPTY", "A schema and no rows", "give at least one row of scores")
        cells, lacking = columns_of(data)
        index = cells.pop(INDEX, [])
        return JsonTable(_indexed(cells, index), lacking)
    if tree and _are_rows(tree.values()) and all(tree.values()):
        # Objects in an object, whose cells are plain values.
        inner = next(iter(tree.values()))
        same = all(row.keys() == inner.keys() for row in tree.values())
        outer_counts, inner_counts = _count(tree), _count(inner)
        lists = outer_counts or inner_counts
        if not all(_is_cell(cell, lists=lists) for row in tree.values() for cell in row.values()):
            return None
        if all(isinstance(cell, list) for row in tree.values() for cell in row.values()):
            return None
        by_column, notices = _by_column(tree, outer_counts, inner_counts) if same else (False, ())
        if by_column:
            cells = {name: list(column.values()) for name, column in tree.items()}
            return JsonTable(_indexed(cells, list(inner)), notices=notices)
        cells, lacking = columns_of(list(tree.values()))
        return JsonTable(_indexed(cells, list(tree)), lacking, notices)
    return None


def _are_rows(rows: Iterable[object]) -> bool:
    return all(isinstance(row, dict) for row in rows)


def _split(names: list[str], data: list[object], index: object) -> JsonTable | None:
    rows = [row for row in data if isinstance(row, list)]
    if len(rows) < len(data):
        return None
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        what = f"Column name {twice[0][:60]!r} occurs twice"
        raise Refused("CSV_HEADER", what, "give every column its own name")
    if len(names) > defaults.MAX_COLUMNS:
        what = f"The table has {len(names)} columns; at most {defaults.MAX_COLUMNS} are read"
        raise Refused("CSV_COLUMNS", what, "save one row for each sample")
    if not rows:
        raise Refused("EMPTY", "A header and no rows", "give at least one row of scores")
    for at, row in enumerate(rows):
        if len(row) != len(names):
            what = f"This row has {counted(len(row), 'cell')} for {counted(len(names), 'column')}"
            remedy = "give every row the same number of cells"
            raise Refused("CSV_RAGGED", what, remedy, f"row {at}")
    cells = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    whole = isinstance(index, list) and len(index) == len(rows)
    return JsonTable(_indexed(cells, index if whole and isinstance(index, list) else []))


def _indexed(cells: Cells, index: Sequence[object]) -> Cells:
    """Put names of the rows first, unless they only count the rows."""
    plain = [int(i) if isinstance(i, str) and COUNTING.fullmatch(i) else i for i in index]
    keys = plain if all(isinstance(i, int) for i in plain) else list(index)
    if not keys or keys == list(range(len(keys))) or INDEX in cells:
        return cells
    return {INDEX: keys, **cells}


def _count(keys: Iterable[str]) -> bool:
    return all(COUNTING.fullmatch(key) for key in keys)


def _is_cell(cell: object, *, lists: bool) -> bool:
    """Whether a value is a cell; lists are, where keys number the rows and name no parts."""
    if isinstance(cell, list):
        return lists and not any(isinstance(item, list | dict) for item in cell)
    return not isinstance(cell, dict)


def _by_column(
    tree: Mapping[str, Mapping[str, object]], outer_counts: bool, inner_counts: bool
) -> tuple[bool, tuple[Notice, ...]]:
    """Tell whether the outer keys name columns: rows are numbered, mixed, or the more."""
    inner = next(iter(tree.values()))
    if outer_counts != inner_counts:
        return inner_counts, ()
    columns_plain = all(_one_kind(column.values()) for column in tree.values())
    rows_plain = all(_one_kind(row[key] for row in tree.values()) for key in inner)
    if columns_plain != rows_plain:
        return columns_plain, ()
    outside = len(tree) <= len(inner)
    names = list(tree if outside else inner)
    text = f"columns were recognised by their number: {counted(len(names), 'column')}"
    return outside, (Notice(NoticeCode.KEYS_GUESSED, text),)


def _one_kind(cells: Iterable[object]) -> bool:
    kinds = {isinstance(cell, str) for cell in cells if cell is not None}
    return len(kinds) < 2


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

    Raises Refused HEADER_PARSE, CSV_HEADER, CSV_COLUMNS, CSV_RAGGED, EMPTY, PICKLE_SHAPE,
    TABLE_SIZE, CSV_ENCODING or BIN_HISTORY.
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
        contents = contents_of("json", tree, lambda node: node, printed=True)
    else:
        refuse_bin_history(table.cells)
        contents = contents_of_cells("json", table.cells, table.lacking, printed=True)
        notices = (*notices, *table.notices)
    group = "question" if samples is not None and "question" in contents.entries else ""
    return replace(contents, notices=(*notices, *contents.notices), group=group)


def parsed(source: FileBytes) -> tuple[object, list[Notice]]:
    """Return the tree of a JSON file, and how its text was read.

    Raises Refused HEADER_PARSE, CSV_HEADER, TABLE_SIZE or CSV_ENCODING.
    """
    document, notices = _document(source)
    return document.tree, notices


def _document(source: FileBytes) -> tuple[_Document, list[Notice]]:
    if source.size > MAX_BYTES:
        what = f"The file has {source.size} bytes of JSON; at most {MAX_BYTES} are read"
        raise Refused("TABLE_SIZE", what, "save arrays as .npz")
    data, notices = decode(source.data)
    text = str(data, "utf-8")
    by_line = source.suffix in LINES
    try:
        tree = _value(text)
    except json.JSONDecodeError as error:
        # Valid up to the end of a line, and another value follows below: one value a line.
        before = error.doc[: error.pos].rstrip(" \t\r")
        if by_line or (error.msg == "Extra data" and before.endswith("\n")):
            return _lines(text), notices
        raise _invalid(error) from error
    except (ValueError, RecursionError) as error:
        raise _invalid(error) from error
    # A lone object of a file by lines is one row, unless it maps names to whole arrays.
    values = tree.values() if isinstance(tree, dict) else [[[]]]
    arrays = any(isinstance(v, list) and v and isinstance(v[0], list) for v in values)
    return (_Document([tree], 1) if by_line and not arrays else _Document(tree)), notices


def _value(text: str) -> object:
    return json.loads(text, object_pairs_hook=_pairs)


def _lines(text: str) -> _Document:
    """Return the values of all lines but blank ones: objects all, or lists all."""
    rows: list[object] = []
    numbers: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
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
        rows.append(value)
        numbers.append(number)
        if type(rows[-1]) is not type(rows[0]):
            what = f"A line of another kind than line {numbers[0]}"
            raise Refused("HEADER_PARSE", what, "write one object a line", f"line {number}")
    steady = numbers[-1] - numbers[0] == len(numbers) - 1
    return _Document(rows, numbers[0] if steady else 0)


def _invalid(error: Exception, location: str = "") -> Refused:
    """Return the refusal of text that is no JSON; cut off if it goes wrong only where it ends."""
    if isinstance(error, json.JSONDecodeError):
        rest = error.doc[error.pos :]
        if not rest.strip() or error.msg.startswith("Unterminated"):
            what = f"The file is cut off after {len(error.doc):,} characters"
            return Refused("HEADER_PARSE", what, "copy or download it again", location)
    return Refused("HEADER_PARSE", "Not valid JSON, or nested too deeply", REMEDY, location)


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    out = dict(pairs)
    if len(out) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise Refused("CSV_HEADER", f"Key {twice[:60]!r} occurs twice", "give each key once")
    return out
