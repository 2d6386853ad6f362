"""Logs of language models, as tools of evaluation write them, turned into rows or arrays."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.contents import Contents, text_array

Row = Mapping[str, object]
HARNESS: Final = {"doc", "target", "filtered_resps"}
SAVE: Final = "save the answer, a confidence and the label of each question as CSV"
STATED: Final = ("confidence", "probability", "prob", "stated_confidence", "certainty")
RIGHT, WRONG = {"c", "correct", "true", "1", "1.0"}, {"i", "incorrect", "false", "0", "0.0", "n"}


def harness_contents(rows: Sequence[Row]) -> Contents | None:
    """Return the samples of a task of lm-evaluation-harness; None where rows are none.

    Of multiple choice, scores are the log-likelihoods of the options, of which the softmax is
    taken; `loglikelihood_per_byte` are the same by bytes of the option, as `acc_norm` takes them.
    An option that a question lacks has a log-likelihood of minus infinity.

    Raises
    ------
    Refused
        DTYPE: generated answers, or a single log-likelihood a row. LABEL_RANGE: a target that names
        no option.
    """
    if not rows or not all(row.keys() >= HARNESS for row in rows):
        return None
    options = [_likelihoods(row["filtered_resps"]) for row in rows]
    if not all(options):
        what = "Generated answers of lm-evaluation-harness, which state no confidence"
        raise Refused("DTYPE", what, f"run a multiple-choice task, or {SAVE}")
    width = max(map(len, options))
    if width < 2:
        what = "One log-likelihood a row (lm-evaluation-harness): a perplexity, no choice"
        raise Refused("DTYPE", what, "run a multiple-choice task")
    logits = np.full((len(rows), width), -np.inf)
    lengths = np.ones((len(rows), width))
    labels = np.zeros(len(rows), np.int64)
    for at, (row, values) in enumerate(zip(rows, options, strict=True)):
        texts = _option_texts(row, len(values))
        logits[at, : len(values)] = values
        lengths[at, : len(values)] = [max(1, len(text.encode())) for text in texts]
        labels[at] = _target(row, texts, len(values), at)
    _check_accuracy(rows, logits, labels)
    ids = [str(row.get("doc_id", at)) for at, row in enumerate(rows)]
    entries = {
        "logits": logits,
        "labels": labels,
        "loglikelihood_per_byte": logits / lengths,
        "id": text_array(ids),
    }
    text = "scores are the log-likelihoods of the options, not divided by their length (acc); "
    text += "--scores-key loglikelihood_per_byte takes them by byte (acc_norm)"
    return Contents("json", entries, printed=True, notices=(Notice(NoticeCode.KEYS_GUESSED, text),))


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
    """Return what each option says: the continuations that were scored."""
    arguments = row.get("arguments")
    items = list(arguments.values()) if isinstance(arguments, dict) else arguments
    out = []
    for item in items if isinstance(items, list) else []:
        pair = list(item.values()) if isinstance(item, dict) else item
        out.append(str(pair[1]) if isinstance(pair, list) and len(pair) > 1 else "")
    return out if len(out) == count else [""] * count


def _target(row: Row, texts: list[str], count: int, at: int) -> int:
    target = row["target"]
    word = str(target).strip()
    if word.isdecimal() and int(word) < count and not isinstance(target, bool):
        return int(word)
    plain = [text.strip() for text in texts]
    letters = [chr(ord("A") + k) for k in range(count)]
    for names in (plain, letters):
        if names.count(word) == 1:
            return names.index(word)
    what = f"The target {word[:40]!r} is none of the {count} options"
    raise Refused("LABEL_RANGE", what, "write the number of the right option, from 0", f"row {at}")


def _check_accuracy(rows: Sequence[Row], logits: np.ndarray, labels: np.ndarray) -> None:
    """Refuse targets that the harness's own accuracy does not bear out."""
    stated = [row.get("acc") for row in rows]
    if not all(isinstance(value, int | float) for value in stated):
        return
    right = logits.argmax(axis=1) == labels
    tied = (logits == logits.max(axis=1, keepdims=True)).sum(axis=1) > 1
    differ = (right != (np.array(stated, np.float64) > 0.5)) & ~tied
    if differ.any():
        what = f"The acc field disagrees with the target in {int(differ.sum())} of {len(rows)} rows"
        raise Refused("CLASSES", what, SAVE, f"row {int(np.flatnonzero(differ)[0])}")


def inspect_rows(tree: object) -> list[Row] | None:
    """Return the samples of a log of Inspect, as rows; None where it is none.

    Raises
    ------
    Refused
        DTYPE: no sample states a confidence, or it is stated in words.
    """
    samples = tree.get("samples") if isinstance(tree, dict) and "eval" in tree else None
    if not isinstance(samples, list) or not samples:
        return None
    rows = [_inspect_row(sample) for sample in samples if isinstance(sample, dict)]
    if not any("confidence" in row for row in rows):
        what = "A log of Inspect in which no sample states a confidence"
        remedy = "have the scorer put confidence (0 to 1) into its metadata, or "
        raise Refused("DTYPE", what, remedy + SAVE)
    return rows


def _inspect_row(sample: Row) -> Row:
    scores = sample.get("scores")
    first = next(iter(scores.values()), None) if isinstance(scores, dict) else None
    score: Row = first if isinstance(first, dict) else {"value": first}
    row: dict[str, object] = {"id": str(sample.get("id"))}
    if sample.get("epoch") is not None:
        row["epoch"] = sample["epoch"]
    value = str(score.get("value")).casefold()
    row["correct"] = 1 if value in RIGHT else 0 if value in WRONG else -1
    row["answer"] = str(score.get("answer") or "")
    for place in (score.get("metadata"), sample.get("metadata"), sample.get("store")):
        stated = place if isinstance(place, dict) else {}
        for key in STATED:
            if "confidence" not in row and stated.get(key) is not None:
                row["confidence"] = stated[key]
    return row
