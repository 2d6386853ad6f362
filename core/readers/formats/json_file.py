"""JSON: a mapping or pair of arrays, a table, or records in a list or one a line; no key twice.

Lists of labels with scores in a field, and lists of records inside a mapping, are one table.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from core import defaults
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.contents import Contents, FileBytes, text_array
from core.readers.formats.text import decode, is_number
from core.readers.formats.tree import columns_of, contents_of, contents_of_cells
from core.readers.predictions.names import SPLITS, counted, listed, refuse_bin_history, words_of
from core.readers.predictions.result import ReadChoice, undecided

Row = Mapping[str, object]
NAMES: Final = {
    "label",
    "class",
    "classname",
    "category",
    "displayname",
    "name",
    "token",
    "tagname",
}
SCORES: Final = {"score", "prob", "probability", "confidence", "logprob"}
PLURALS: Final = {"labels", "classes", "classnames", "categories", "displaynames"}
SCORE_LISTS: Final = {f"{word}s" for word in SCORES} | {"probabilities"}
ANSWERS: Final = {"answers", "samples", "responses", "generations", "predictions", "votes"}
PLACED: Final = {"box", "bbox", "mask", "start", "end"}  # beside a score: where something was found
COMPLETION: Final = "completion"  # of a model, where an answer may be the true one
GENERATED: Final = "generated"  # where it is what the model sampled
REPLY: Final = {"response", "body", "choices", "usage", "request", "messages", "error"}
MAX_DEPTH: Final = 6
MOST_LISTS: Final = 8


def spread(rows: Sequence[Row]) -> tuple[list[Row], tuple[str, ...]]:
    """Return rows with a field for each label of a scored list, and what was made of what.

    Such lists are written by pipelines of transformers, by BigQuery ML and Vertex, and as the top
    log-probabilities of a token. Where rows list different labels, only the largest score of each
    row says something of all rows: an answer with its confidence. Several answers to one question
    are votes, of which most give the answer and their share the confidence.
    """
    made = []
    replies = _of_openai(rows)
    if replies and any(len(_choices_of(row)) > 1 for row in rows):
        made.append("of several choices in a record the first was read")
    rows = _of_label_studio(rows) or replies or _unwrapped(rows)
    out = [dict(row) for row in rows]
    # The first row says which fields are lists; a field counts only if every row has such a list.
    for key, first in (rows[0] if rows else {}).items():
        if not isinstance(first, list | dict):
            continue
        lists = [_scored(row.get(key)) for row in rows]
        scored = [item for item in lists if item]
        if len(scored) == len(rows):
            made.append(_put(out, key, scored))
        elif ANSWERS & set(words_of(key)):
            several = [v for row in rows if isinstance(v := row.get(key), list) and len(v) > 1]
            words = [[w.strip() for w in v if isinstance(w, str)] for v in several]
            if [len(some) for some in words] == [len(v) for v in several] and len(words) == len(
                rows
            ):
                # The share of each answer, the first given first.
                shares = [{w: v.count(w) / len(v) for w in dict.fromkeys(v)} for v in words]
                made.append(_put(out, key, shares, votes=True))
    lists = [_parallel(row) for row in rows] if rows else []
    scored = [item for item in lists if item]
    if rows and len(scored) == len(rows):  # zero-shot: two lists of the row itself
        kept = PLURALS | SCORE_LISTS
        out = [{k: v for k, v in row.items() if plain(k) not in kept} for row in out]
        made.append(_put(out, "pipeline", scored))
    return list(out), tuple(made)


def _of_label_studio(rows: Sequence[Row]) -> list[Row]:
    """Return answer, confidence and label of tasks that Label Studio exports; else nothing."""
    out: list[Row] = []
    for row in rows:
        (truth, _), (answer, score) = (_choice(row.get(k)) for k in ("annotations", "predictions"))
        if not truth or not answer or not _is_number(score):
            return []
        out.append({"id": row.get("id"), "label": truth, "predicted": answer, "confidence": score})
    return out


def _of_openai(rows: Sequence[Row]) -> list[Row]:
    """Return the likeliest tokens of answers of one token, as OpenAI's API writes them."""
    out: list[Row] = []
    sampled = True
    for row in rows:
        body: object = (_choices_of(row) or [None])[0]
        for name in ("logprobs", "content"):
            body = body.get(name) if isinstance(body, dict) else None
        # One token: the top alternatives of a longer reply are not scores of its answer.
        token = body[0] if isinstance(body, list) and len(body) == 1 else None
        if not isinstance(token, dict) or "logprob" not in token:
            return []
        of_reply = {k for k in REPLY if isinstance(row.get(k), dict | list)}
        own = {k: v for k, v in row.items() if k not in of_reply and v not in (None, [], {})}
        # Where `answer` always repeats the token, it is the model's own, and not the truth.
        sampled &= str(own.get("answer")).strip() == str(token.get("token")).strip()
        out.append(own | {COMPLETION: token.get("top_logprobs") or [token]})
    answered = any("answer" in row for row in out)
    key = (GENERATED if sampled else COMPLETION) if answered else "answer"
    return [{key if k == COMPLETION else k: v for k, v in row.items()} for row in out]


def _choices_of(row: Row) -> list[object]:
    """Return the replies to one request, of OpenAI's API or a batch of it."""
    body: object = row
    for key in ("response", "body"):
        body = body[key] if isinstance(body, dict) and key in body else body
    choices = body.get("choices") if isinstance(body, dict) else None
    return choices if isinstance(choices, list) else []


def _choice(given: object) -> tuple[str, object]:
    """Return the one choice of the first annotation or prediction of a task, and its score."""
    first = given[0] if isinstance(given, list) and given else None
    result = first.get("result") if isinstance(first, dict) else None
    only = result[0] if isinstance(result, list) and len(result) == 1 else None
    value = only.get("value") if isinstance(only, dict) else None
    choices = value.get("choices") if isinstance(value, dict) else None
    name = str(choices[0]) if isinstance(choices, list) and len(choices) == 1 else ""
    return name, first.get("score") if isinstance(first, dict) else None


def _unwrapped(rows: Sequence[Row]) -> list[Row]:
    """Return rows without lists around a lone mapping, as SageMaker writes `predictions`."""
    out = [dict(row) for row in rows]
    for key in rows[0] if rows else ():
        items = [row.get(key) for row in rows]
        lone = [i[0] for i in items if isinstance(i, list) and len(i) == 1]
        maps = [i for i in lone if isinstance(i, dict) and _pair(i) is None]
        maps = [i for i in maps if not any(isinstance(v, dict | list) for v in i.values())]
        if len(maps) == len(rows):
            for row, item in zip(out, maps, strict=True):
                row[key] = item
    return list(out)


def _put(
    rows: list[dict[str, object]], key: str, lists: list[dict[str, float]], *, votes: bool = False
) -> str:
    """Put scores into the rows, in place of the list that they were in; say how."""
    whole = (
        not votes and len(lists[0]) > 1 and all(item.keys() == lists[0].keys() for item in lists)
    )
    for row, item in zip(rows, lists, strict=True):
        row.pop(key, None)
        top = max(item, key=lambda label: item[label])
        # The same labels in every row are the classes; else only
        # the best of each row can be compared.
        if whole:
            row.update({f"{key}.score.{label}": score for label, score in item.items()})
        else:
            row.update({f"{key}.predicted": top, f"{key}.confidence": item[top]})
    if votes:
        return (
            f"answers in {key} are votes: the most frequent is the answer, its share the confidence"
        )
    what = "a column for each label" if whole else "the label with the largest score of each row"
    return f"lists of labels and scores in {key} were read as {what}"


def _scored(value: object) -> dict[str, float] | None:
    """Return the score of each label in a list of such pairs; None where it is no such list."""
    if isinstance(value, dict):
        return _parallel(value) or _parallel({f"{key}s": item for key, item in value.items()})
    out: dict[str, float] = {}
    for item in value if isinstance(value, list) else []:
        pair = _pair(item) if isinstance(item, dict) else None
        if pair is None or pair[0] in out:
            return None
        out[pair[0]] = pair[1]
    return out or None


def _pair(item: Row) -> tuple[str, float] | None:
    keys = {plain(key): key for key in item}
    names, scores = NAMES & keys.keys(), SCORES & keys.keys()
    if len(names) > 1:  # ultralytics writes name and number of each class
        names = {name for name in names if isinstance(item[keys[name]], str)}
    # A box or a span beside the score is a detection: several to a row, and no class scores.
    if len(names) != 1 or len(scores) != 1 or PLACED & keys.keys():
        return None
    score = scores.pop()
    name, value = item[keys[names.pop()]], item[keys[score]]
    value = float(value) if isinstance(value, str) and is_number(value) else value  # of BigQuery
    if not isinstance(name, str | int) or not _is_number(value):
        return None
    number = float(value)  # type: ignore[arg-type]  # a number, as was seen
    return str(name).strip(), math.exp(min(number, 0.0)) if score == "logprob" else number


def _parallel(row: Row) -> dict[str, float] | None:
    """Return the scores of labels that stand in two lists of one length."""
    keys = {plain(key): key for key, value in row.items() if isinstance(value, list)}
    names = [row[keys[key]] for key in PLURALS & keys.keys()]
    scores = [row[keys[key]] for key in SCORE_LISTS & keys.keys()]
    if len(names) != 1 or len(scores) != 1:
        return None
    first, second = names[0], scores[0]
    assert isinstance(first, list)
    assert isinstance(second, list)
    texts = [item for item in first if isinstance(item, str)]
    numbers = [float(item) for item in second if _is_number(item)]
    if not len(set(texts)) == len(first) == len(numbers) == len(second) or not texts:
        return None
    return dict(zip(texts, numbers, strict=True))


def plain(key: object) -> str:
    """Return a key without case and underscores, as lists of words here have it."""
    return str(key).replace("_", "").casefold()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def records_in(tree: object, records: str | None) -> list[Row] | None:
    """Return the rows in a list of records inside a mapping; None where no list is meant.

    `records` is the path of the list, its keys joined by dots.

    Raises Refused UNDECIDED: several lists may be meant. AMBIGUOUS_KEYS: there is no list at the
    path. CSV_HEADER: two lists have one path.
    """
    pairs = list(_lists(tree, "", 0)) if isinstance(tree, dict) else []
    lists = dict(pairs)
    if len(lists) < len(pairs):
        what = "Two lists of records have the same path, as a key holds a dot"
        raise Refused("CSV_HEADER", what, "give each list its own name")
    if records is not None:
        if records not in lists:
            what = f"--records names {records!r}, which is no list of records"
            raise Refused("AMBIGUOUS_KEYS", what, f"use one of {listed(list(lists)) or 'none'}")
        return lists[records]
    # Long lists of numbers beside the records are arrays, of which the records are a part.
    longest = max((len(rows) for rows in lists.values()), default=0)
    if not lists or _holds_numbers(tree, max(2, longest // 2), 0):
        return None
    if lists.keys() >= {"annotations", "images", "categories"}:
        return lists["annotations"]  # of COCO, each a box
    if len(lists) > 1 and all(path.casefold() in SPLITS for path in lists):
        return [{**row, "split": path} for path, rows in lists.items() for row in rows]
    if len(lists) > 1:
        most = sorted(lists, key=lambda path: -len(lists[path]))[:MOST_LISTS]
        choices = [
            ReadChoice(f"{path}: {len(lists[path])} rows", {"records": path}) for path in most
        ]
        raise undecided(f"The file holds several lists of records: {listed(most)}", *choices)
    return next(iter(lists.values()))


def _lists(tree: Row, prefix: str, depth: int) -> Iterator[tuple[str, list[Row]]]:
    for key, value in tree.items():
        rows = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
        whole = isinstance(value, list) and len(rows) == len(value) > 1
        cells = rows[0].values() if whole else ()
        arrays = [
            c for c in cells if isinstance(c, list) and not any(isinstance(i, dict) for i in c)
        ]
        if whole and len(arrays) < len(cells):  # batches are no rows
            yield f"{prefix}{key}", rows  # type: ignore[misc]  # dicts are mappings
        elif isinstance(value, dict) and depth < MAX_DEPTH:
            yield from _lists(value, f"{prefix}{key}.", depth + 1)


def _holds_numbers(tree: object, least: int, depth: int) -> bool:
    """Whether a mapping holds a list of so many numbers, or of lists: arrays, not records."""
    if isinstance(tree, dict):
        return depth <= MAX_DEPTH and any(
            _holds_numbers(v, least, depth + 1) for v in tree.values()
        )
    items = tree if isinstance(tree, list) else []
    return len(items) >= least and isinstance(items[0], int | float | list)


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
    # Questions may have fewer options than others: what is not there has probability 0.
    logits = np.full((len(rows), width), -np.inf)
    lengths = np.ones((2, len(rows), width))
    for at, (values, words) in enumerate(zip(options, texts, strict=True)):
        logits[at, : len(values)] = values
        for which, strip in enumerate((" ", "")):  # what parts an option from its question
            lengths[which, at, : len(values)] = [max(1, len(w.removeprefix(strip))) for w in words]
    # The right option of each row: its number, its text or its letter, alike in all.
    ways, readings = (_by_number, _by_text, _by_letter), dict[tuple[int, ...], None]()
    for reading in ways:
        positions = [reading(row["target"], words) for row, words in zip(rows, texts, strict=True)]
        if all(at >= 0 for at in positions):
            readings[tuple(positions)] = None
    if not readings:
        none = [all(w(row["target"], texts[i]) < 0 for w in ways) for i, row in enumerate(rows)]
        at = none.index(True) if any(none) else 0
        what = (
            f"The target {str(rows[at]['target'])[:40]!r} is none of the {len(texts[at])} options"
        )
        remedy = "write the number of the right option, from 0"
        raise Refused("LABEL_RANGE", what, remedy, f"row {at}")
    all_labels = [np.array(labels, np.int64) for labels in readings]
    # The harness's own field `acc` decides between readings: it was computed from the same numbers.
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
    # acc_norm divides by the length of the option; kept as a
    # choice, since softmax of it is another claim.
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
    # Mutual-information tasks score every option again without its question: the second half.
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
    # A tie can be counted either way by the harness, and shows nothing.
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
    # Asked several times in epochs: rows get names of their own and stay together as one question.
    if len({row["id"] for row in rows}) < len(rows):
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
    # pandas' orient="split"; then "table" with its schema; then
    # "columns" or "index", which look alike.
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
    # Keys that count are row numbers; where both or neither do,
    # kinds of cells tell, then which are fewer.
    if outer_counts != inner_counts:
        return inner_counts, ()
    columns_plain = all(_of_same_kind(column.values()) for column in tree.values())
    rows_plain = all(_of_same_kind(row[key] for row in tree.values()) for key in inner)
    if columns_plain != rows_plain:
        return columns_plain, ()
    outside = len(tree) <= len(inner)
    names = list(tree if outside else inner)
    text = f"columns were recognised by their number: {counted(len(names), 'column')}"
    return outside, (Notice(NoticeCode.KEYS_GUESSED, text),)


def _of_same_kind(cells: Iterable[object]) -> bool:
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
    # In the order of how plainly a layout shows itself: a log, a table, a list of records, a tree.
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
        # JSON by lines often has the suffix .json.
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
    # Python keeps the last of two equal keys, other programs the first: refused.
    out = dict(pairs)
    if len(out) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise Refused("CSV_HEADER", f"Key {twice[:60]!r} occurs twice", "give each key once")
    return out
