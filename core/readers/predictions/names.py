"""Names of classes, compared: case, separators, order, and words of affirmation aside.

And several sets of scores in one file: logits beside probabilities, or columns of several models.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from core.arrays import Float, log_sigmoid, log_softmax, row_chunks
from core.predictions import ScoreKind
from core.readers.formats.contents import Entry
from core.readers.predictions.parts import (
    ASIDE,
    KINDS,
    LABELS,
    PREDICTED,
    SCORES,
    SPLITS,
    polarity,
    words_of,
)
from core.readers.predictions.result import ReadChoice, join_names, undecided

CHANCE = ("prob", "proba", "probability", "p", "pr", "risk", "score")  # before what it is of
GENERIC = {"pos", "positive", "true", "yes", "event", "case", "target", "outcome", "label", "hit"}
MODELS = {  # what a column of scores is named for where it is not its event
    "ai", "algorithm", "base", "baseline", "best", "binary", "calibrated", "clf", "cnn", "ens",
    "ensemble", "final", "gbm", "hat", "lgbm", "lr", "max", "mean", "median", "min", "ml", "mlp",
    "new", "nn", "old", "platt", "raw", "reader", "recalibrated", "rf", "scaled", "svm", "total",
    "uncalibrated", "vit", "xgb",
}  # fmt: skip
MODEL_PARTS = ("bert", "boost", "classifier", "forest", "former", "model", "net", "regression")
NUMBER = re.compile(r"[+-]?\d{1,17}")
DENIAL = re.compile(r"(?i)(?:no|non|not|without|kein|keine|sans)[\W_]+(.+)")
CLOSING = ")]% "
SCORE_WORDS = {*KINDS, *SCORES}
ENDS = {*KINDS, *SCORES, *PREDICTED, *LABELS, "p", "pr", "class", "of", "is", "mean"} - {"z"}


def folded(name: str) -> str:
    """Return a name without case, spaces and separators; a number keeps its sign."""
    text = normalize("NFKC", name).strip().casefold()
    number = re.sub(r"\.0+$", "", text)
    if NUMBER.fullmatch(number):
        return str(int(number))
    return re.sub(r"[^\w<>=+]|_", "", text) or text


def paired(names: Sequence[str], others: Sequence[str]) -> list[int] | None:
    """Return for each name the place of its partner; None where names do not pair one to one."""
    at = {folded(other): place for place, other in enumerate(others)}
    keys = [folded(name) for name in names]
    if len(at) < len(others) or len(set(keys)) < len(names) or set(at) != set(keys):
        return None
    return [at[name] for name in keys]


def paired_columns(names: Sequence[str], others: Sequence[str]) -> list[int] | None:
    """Pair columns by their names, with and without the words that say what they hold."""
    for first in (names, [bare_name(name) for name in names]):
        for second in (others, [bare_name(name) for name in others]):
            places = paired(first, second)
            if places is not None:
                return places
    return None


def bare_name(name: str) -> str:
    """Return a column's name without leading and trailing words that say scores or labels."""
    cut = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)", "_", name)
    words = re.findall(r"[^\W_]+", cut)
    while words and words[0].casefold() in ENDS:
        words = words[1:]
    while words and words[-1].casefold() in ENDS:
        words = words[:-1]
    return " ".join(words)


def stated_word(name: str) -> str:
    """Return the word in a single column's name that may say which class it states.

    A number counts only beside a word for probabilities: pred_0 is the first output, not class 0.
    """
    word = bare_name(name)
    says_probability = set(words_of(name)) & {*KINDS, "p", "pr"}
    return "" if word.isdigit() and not says_probability else word


def event_name(column: str) -> str:
    """Return the event that a column of probabilities is named for, as good of prob_good.

    Empty where the name may say anything else: a class number, a model, a part of the data.
    """
    cut = re.fullmatch(r"([A-Za-z]+)(?:[_\-. :=]+(.+)|\((.+)\))", column.strip())
    if cut is None or cut[1].casefold() not in CHANCE:
        return ""
    name = (cut[2] or cut[3]).strip()
    words = set(words_of(name))
    other = ASIDE | ENDS | GENERIC | MODELS | SPLITS.keys()
    plain = name.replace("_", "").replace(" ", "").replace("-", "").isalpha() and len(name) > 1
    models = any(part in word for word in words for part in MODEL_PARTS)
    return name.replace("_", " ") if plain and words and not words & other and not models else ""


def class_at(word: str, classes: Sequence[str]) -> int | None:
    """Return which of the classes a word names: by its letters, else by its meaning for two."""
    places = [k for k, name in enumerate(classes) if folded(name) == folded(word)]
    if len(places) == 1:
        return places[0]
    meant, meaning = meanings(classes), polarity(word)
    return None if meant is None or meaning is None or not word else meant.index(meaning)


def meanings(names: Sequence[str]) -> list[int] | None:
    """Return which of two names affirms (1) and which denies (0); None where that is not said.

    One side is enough: beside normal, whatever else there is affirms; beside no tumour, tumour.
    """
    if len(names) != 2:
        return None
    polarities = [polarity(name) for name in names]
    denials = [DENIAL.fullmatch(name.strip()) for name in names]
    denied = [folded(denial[1]) if denial else "" for denial in denials]  # tumour, of no tumour
    shared = common_prefix(list(names))
    rests = [name[len(shared) :] for name in names]  # of BAD0 and BAD1, tested_negative; no T1, TN
    cut = shared[-1:].isalpha() and rests[0].isdigit() and rests[1].isdigit()
    if (cut or not shared[-1:].isalnum()) and shared and not any(denied):
        meant = [polarity(rest) for rest in rests]
        polarities = meant if sorted(map(str, meant)) == ["0", "1"] else polarities
    for k in (0, 1):
        if denied[k] and denied[k] == folded(names[1 - k]):
            return [0, 1] if k == 0 else [1, 0]
    if sorted(map(str, polarities)) == ["0", "1"]:
        return [int(str(meaning)) for meaning in polarities]
    for k in (0, 1):  # a single letter says too little by itself
        meaning = polarities[k]
        if meaning is not None and polarities[1 - k] is None and len(names[k].strip()) > 1:
            return [meaning, 1 - meaning] if k == 0 else [1 - meaning, meaning]
    return None


def by_meaning(names: Sequence[str], others: Sequence[str]) -> list[int] | None:
    """Return for each of two names its partner, where each pair affirms and denies."""
    first, second = meanings(names), meanings(others)
    if first is None or second is None:
        return None
    return [second.index(meaning) for meaning in first]


def aligned(answers: Sequence[str], labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return two columns of words so that those which mean the same are the same."""
    first, second = [folded(word) for word in answers], [folded(word) for word in labels]
    mine, theirs = sorted(set(first)), sorted(set(second))
    if all(word.isdigit() for word in theirs):  # LABEL_2 of transformers is class 2
        numbers = [re.sub(r"^(label|class)(?=\d+$)", "", word) for word in first]
        first = numbers if set(numbers) <= set(theirs) else first  # no LABEL_0 beside 1, 2, 3
        mine = sorted(set(first))
    places = None if set(mine) & set(theirs) else by_meaning(mine, theirs)
    if places is not None:
        partner = {word: theirs[place] for word, place in zip(mine, places, strict=True)}
        first = [partner[word] for word in first]
    return first, second


def by_initial(letters: Sequence[str], names: Sequence[str]) -> list[int] | None:
    """Return for each single letter the one name that begins with it; None where one is unsure."""
    if not all(len(letter.strip()) == 1 and letter.strip().isalpha() for letter in letters):
        return None
    starts = [folded(name)[:1] for name in names]
    keys = [folded(letter) for letter in letters]
    if any(starts.count(key) != 1 for key in keys):
        return None
    return [starts.index(key) for key in keys]


def counts_up(names: Sequence[str]) -> bool:
    """Whether names only count columns, from 0 or 1, perhaps after one shared beginning."""
    ends = [re.fullmatch(r"(.*?)(\d{1,9})", name.strip()) for name in names]
    parts = [end.groups() for end in ends if end]
    numbers = [int(number) for _, number in parts]
    one_start = len({start for start, _ in parts}) == 1
    ups = (list(range(len(names))), list(range(1, len(names) + 1)))
    return len(parts) == len(names) and one_start and numbers in ups


def class_names(columns: list[str]) -> tuple[str, ...]:
    """Return what is left of column names without what they share up to a separator.

    That is a common beginning; or a word at the end of each that says scores, as in A_prob.
    """
    bare = [_without_end(name) for name in columns]
    if len(columns) > 1 and all(
        len(cut) < len(name) for cut, name in zip(bare, columns, strict=True)
    ):
        columns = bare
    shared = common_prefix(columns)
    prefix = re.match(r".*[_\-. :=(\[]", shared)
    cut = len(prefix.group()) if prefix and len(columns) > 1 else 0
    names = [name[cut:] for name in columns]
    ends = {name[len(name.rstrip(CLOSING)) :] for name in names}
    if len(columns) > 1 and len(ends) == 1:  # prob(cat), prob(dog)
        names = [name.rstrip(CLOSING) for name in names]
    return tuple(names) if all(names) else tuple(columns)


def common_prefix(names: list[str]) -> str:
    """Return how all names begin."""
    if not names:
        return ""
    first, last = min(names), max(names)  # in sorted order these two differ earliest
    shorter = min(len(first), len(last))
    return first[: next((i for i in range(shorter) if first[i] != last[i]), shorter)]


def without_score_word(name: str) -> str:
    """Return a name without a word for scores at its beginning or end, as cat of prob_cat."""
    cut = re.fullmatch(r"([A-Za-z]+)[_\-. ](.+)", name)
    return cut[2] if cut and cut[1].lower() in SCORE_WORDS else _without_end(name)


def _without_end(name: str) -> str:
    cut = re.fullmatch(r"(.+)[_\-. ]([A-Za-z]+)", name)
    return cut[1] if cut and cut[2].lower() in SCORE_WORDS else name


def with_shared_start(columns: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield names with more and more of what all columns begin with, as Iris of Iris-setosa."""
    ends = [column.rfind(name) for column, name in zip(columns, names, strict=True)]
    if len(set(ends)) > 1 or min(ends, default=-1) < 1:
        return
    for place in range(ends[0] - 1, -1, -1):
        if place == 0 or columns[0][place - 1] in "_-. :=([":
            whole = zip(columns, names, strict=True)
            yield tuple(c[place : ends[0]] + name for c, name in whole)


def without_shared_end(names: Sequence[str]) -> tuple[str, ...]:
    """Return names without the word that all end in, as cat and dog of cat_a and dog_a."""
    ends = {name[max(name.rfind(mark) for mark in "_-. ") :] for name in names}
    end = ends.pop() if len(ends) == 1 else ""
    cut = tuple(name[: len(name) - len(end)] for name in names)
    return cut if end[:1] in tuple("_-. ") and all(cut) else tuple(names)


AGREE = 2e-3  # how far probabilities that were printed to few digits lie from those of the logits


def logits_of_two(
    named: Mapping[str, ScoreKind], matrices: Mapping[str, Entry], keys: Mapping[str, str]
) -> str:
    """Return the name of the logits, where probabilities beside them say the same.

    `keys` say what picks each of the two with --scores-key.

    Raises Question UNDECIDED: they differ.
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
