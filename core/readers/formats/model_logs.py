"""Logs of language models, as tools of evaluation write them, turned into rows or arrays."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.contents import Contents, text_array
from core.readers.predictions.parts import listed
from core.readers.predictions.questions import ReadChoice, undecided

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

    Raises
    ------
    Refused
        DTYPE: generated answers, or a single log-likelihood a row. LABEL_RANGE: a target that names
        no option. CLASSES: the field `acc` disagrees, or does not tell two readings of targets
        apart.
    """
    if not rows or not all(row.keys() >= HARNESS for row in rows):
        return None
    options = [_likelihoods(row["filtered_resps"]) for row in rows]
    if not all(options):
        what = "Generated answers of lm-evaluation-harness, which state no confidence"
        raise Refused("DTYPE", what, f"run a multiple-choice task, or {SAVE}")
    texts = [_option_texts(row, len(values)) for row, values in zip(rows, options, strict=True)]
    halves = [_conditional(row, words) for row, words in zip(rows, texts, strict=True)]
    options = [values[:count] for values, count in zip(options, halves, strict=True)]
    texts = [words[:count] for words, count in zip(texts, halves, strict=True)]
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
    labels = _targets(rows, texts, logits)
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
    """Return what each option says: the continuations that were scored."""
    arguments = row.get("arguments")
    items = list(arguments.values()) if isinstance(arguments, dict) else arguments
    out = []
    for item in items if isinstance(items, list) else []:
        pair = list(item.values()) if isinstance(item, dict) else item
        out.append(str(pair[1]) if isinstance(pair, list) and len(pair) > 1 else "")
    return out if len(out) == count else [""] * count


def _conditional(row: Row, texts: list[str]) -> int:
    """Return how many options follow the question: not those that are scored again without it."""
    half = len(texts) // 2
    arguments = row.get("arguments")
    items = list(arguments.values()) if isinstance(arguments, dict) else arguments
    bare = items[half:] if isinstance(items, list) and any(texts) else []
    contexts = [
        next(iter(item.values() if isinstance(item, dict) else item), None)
        for item in bare
        if isinstance(item, dict | list)
    ]
    again = texts[:half] == texts[half:] and contexts == [""] * half
    return half if again else len(texts)


def _targets(rows: Sequence[Row], texts: Sequence[Sequence[str]], logits: np.ndarray) -> np.ndarray:
    """Return the right option of each row: its number, its text or its letter, alike in all."""
    readings: dict[tuple[int, ...], None] = {}
    for reading in (_by_number, _by_text, _by_letter):
        found = [reading(row["target"], words) for row, words in zip(rows, texts, strict=True)]
        if all(at >= 0 for at in found):
            readings[tuple(found)] = None
    if not readings:
        ways = [_by_number, _by_text, _by_letter]
        at = next(
            (i for i, row in enumerate(rows) if all(w(row["target"], texts[i]) < 0 for w in ways)),
            0,
        )
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
    return right[0]


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

    Parameters
    ----------
    tree : object
        What a JSON file holds.
    scorer : str or None
        Whose scores count, where several scored.

    Raises
    ------
    Refused
        DTYPE: samples that state no confidence. LABEL_RANGE: a score that is neither right nor
        wrong. UNDECIDED: scorers that differ. AMBIGUOUS_KEYS: there is no such scorer.
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
                row["confidence"] = _number(stated[key])
    return row


def _number(stated: object) -> object:
    """Return a confidence that a model wrote as text as the number that it is."""
    try:
        return float(stated) if isinstance(stated, str) else stated
    except ValueError:
        return stated
