"""Lists of labels with scores in a field, and lists of records inside a mapping, as one table."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from core.errors import Refused
from core.readers.formats.text import is_number
from core.readers.predictions.parts import SPLITS, listed, words_of
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
        token = body[0] if isinstance(body, list) and len(body) == 1 else None
        if not isinstance(token, dict) or "logprob" not in token:
            return []
        of_reply = {k for k in REPLY if isinstance(row.get(k), dict | list)}
        own = {k: v for k, v in row.items() if k not in of_reply and v not in (None, [], {})}
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
