"""Several sets of scores in one file: logits beside probabilities, or columns of several models."""

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from core.arrays import Float, log_sigmoid, log_softmax, row_chunks
from core.predictions import ScoreKind
from core.readers.formats.contents import Entry
from core.readers.predictions.options import ReadChoice, join_names, undecided

AGREE = 2e-3  # how far probabilities that were printed to few digits lie from those of the logits


def logits_of_two(
    named: Mapping[str, ScoreKind], matrices: Mapping[str, Entry], keys: Mapping[str, str]
) -> str:
    """Return the name of the logits, where probabilities beside them say the same.

    `keys` say what picks each of the two with --scores-key.

    Raises
    ------
    Question
        UNDECIDED: they differ.
    """
    logits = next(name for name, kind in named.items() if kind is ScoreKind.LOGITS)
    other = next(name for name in named if name != logits)
    if agree(matrices[logits], matrices[other]):
        return logits
    raise undecided(
        f"{logits} and {other} are not two forms of the same scores",
        *(ReadChoice(f"scores in {name}", {"scores_key": keys[name]}) for name in (logits, other)),
    )


def agree(logits: Entry, probabilities: Entry) -> bool:
    """Whether probabilities are the softmax, or the sigmoid, of logits."""
    if logits.shape != probabilities.shape:
        return False
    if logits.ndim == 1:
        return bool(
            np.abs(np.exp(log_sigmoid(_wide(logits))) - _wide(probabilities)).max() <= AGREE
        )
    return any(
        all(
            np.abs(np.exp(transform(_wide(logits[rows]))) - _wide(probabilities[rows])).max()
            <= AGREE
            for rows in row_chunks(*logits.shape)
        )
        for transform in (log_softmax, log_sigmoid)
    )


def same_softmax(first: Entry, second: Entry) -> bool:
    """Whether two sets of logits differ by a constant in each row only, as log-softmax does."""
    return first.shape == second.shape and all(
        np.abs(
            np.exp(log_softmax(_wide(first[rows]))) - np.exp(log_softmax(_wide(second[rows])))
        ).max()
        <= AGREE
        for rows in row_chunks(*first.shape)
    )


def _wide(block: Entry) -> Float:
    return np.asarray(block.astype(np.float64))


def is_summary(single: npt.NDArray[np.generic], matrix: Entry) -> bool:
    """Whether one column repeats what a matrix says: its largest value, or one of its columns."""
    if single.ndim != 1 or matrix.ndim != 2 or len(single) != len(matrix):
        return False
    wide, column = _wide(matrix), _wide(single)
    sides = (wide.max(axis=1), *wide.T[:2])
    return any(bool(np.abs(side - column).max() <= AGREE) for side in sides)


def model_groups(names: Sequence[str]) -> Iterator[dict[str, list[str]]]:
    """Yield columns by model, as far as names can be made of a model and a class.

    One word of each name, at the same place, divides the columns into groups of two and more
    that have all other words in common.
    """
    for word in dict.fromkeys(re.split(r"[_\-. :]", name)[0] for name in names):
        marked = [n for n in names if re.match(rf"{re.escape(word)}[_\-. :].", n)]
        plain = [n for n in names if n not in marked]
        if len(plain) > 1 and sorted(plain) == sorted(n[len(word) + 1 :] for n in marked):
            yield {" and ".join(plain): plain, word: marked}  # no, yes, cal_no, cal_yes
    by_mark = [re.findall(r"[^_\-. :]+", name) for name in names]
    by_digit = [re.findall(r"[^\W\d_]+|\d+", name) for name in names]
    for place, cut in ((0, by_mark), (-1, by_mark), (1, by_mark), (0, by_digit)):
        if any(len(words) < (3 if place == 1 else 2) for words in cut):
            continue
        groups: dict[str, list[str]] = {}
        rests: dict[str, list[str]] = {}
        for name, words in zip(names, cut, strict=True):
            rest = [*words[:place], *words[place + 1 :]] if place >= 0 else words[:-1]
            groups.setdefault(words[place], []).append(name)
            rests.setdefault(words[place], []).append(" ".join(rest))
        alike = {tuple(sorted(rest)) for rest in rests.values()}
        sizes = {len(group) for group in groups.values()}
        distinct = all(len(set(rest)) == len(rest) for rest in rests.values())
        if len(groups) > 1 and len(alike) == 1 and min(sizes) > 1 and distinct:
            yield groups


def key_of(group: Sequence[str], names: Sequence[str]) -> str:
    """Return what picks a group of columns: their beginning where it is theirs alone, or a list."""
    first, last = min(group), max(group)
    shared = next((i for i in range(len(first)) if first[i] != last[i : i + 1]), len(first))
    prefix = first[:shared]
    if prefix and len(group) > 1 and [n for n in names if n.startswith(prefix)] == list(group):
        return prefix
    return join_names(group)
