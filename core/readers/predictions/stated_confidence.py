"""Stated confidences: one score a row beside the answer, or beside whether it was right."""

import re
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from core.errors import Refused
from core.predictions import ScoreKind
from core.readers.formats.contents import Contents, Entry, id_text, is_text, text_array
from core.readers.formats.text import MISSING, is_number
from core.readers.predictions.names import aligned, class_at, folded, meanings, stated_word
from core.readers.predictions.parts import CONFIDENCE, SplitArrays, counted, listed, words_of
from core.readers.predictions.result import Question, ReadChoice, split_names, undecided

RIGHT, WRONG, ANOTHER, NO_ANSWER = "right", "wrong", "(another answer)", "(no answer)"
ROUNDING = 5e-3  # of scores that were printed to two digits
AS_CONFIDENCE = ReadChoice("confidence of the answer given", {"scores": ScoreKind.CONFIDENCE})
AS_PROBABILITY = ReadChoice("probability of one class", {"scores": ScoreKind.PROBABILITIES})


def judged_part(
    part: SplitArrays, correct: npt.NDArray[np.bool_], answers: Entry | None
) -> SplitArrays:
    """Return a part of stated confidences whose answers are known to be right or wrong.

    Parameters
    ----------
    part : SplitArrays
        Confidences; labels are of no interest.
    correct : (N,) bool
        Whether each answer was right.
    answers : (N,) array or None
        The answers themselves, for tables by answer; a wrong one stands for some other class.
    """
    if answers is None:
        predicted = text_array([RIGHT] * len(correct))
        truth = text_array([RIGHT if right else WRONG for right in correct.tolist()])
    else:
        predicted = text_array([str(a).strip() or NO_ANSWER for a in id_text(answers).tolist()])
        pairs = zip(predicted.tolist(), correct.tolist(), strict=True)
        truth = text_array([str(answer) if right else ANOTHER for answer, right in pairs])
    return replace(part, kind=ScoreKind.CONFIDENCE, predicted=predicted, labels=truth)


def scaled(contents: Contents, scale: str | None) -> Contents:
    """Return contents whose words of confidence are the numbers that a scale gives them.

    Raises Refused UNDECIDED: it gives some word none.
    """
    entries = dict(contents.entries)
    pairs = [] if scale is None else [pair.rpartition("=") for pair in split_names(scale)]
    stands = {folded(word): number.strip() for word, _, number in pairs if is_number(number)}
    for name, words in worded(contents).items() if pairs else ():
        cells = [str(cell).strip() for cell in entries[name].tolist()]
        lacking = [word for word in words if folded(word) not in stands]
        if lacking:
            what = f"--scale gives no number for {listed(lacking)}"
            raise Refused("UNDECIDED", what, "give every word one, as in --scale low=0.2,high=0.9")
        entries[name] = text_array([stands.get(folded(cell), cell) for cell in cells])
        numbers = entries[name].tolist()
        if all(is_number(cell) for cell in numbers):
            entries[name] = np.array([float(cell) for cell in numbers])
    return replace(contents, entries=entries)


def worded(contents: Contents) -> dict[str, tuple[str, ...]]:
    """Return the words in each column that is called a confidence; no columns of numbers."""
    out = {}
    for name, entry in contents.entries.items():
        if is_text(entry) and entry.ndim == 1 and set(words_of(name)) & CONFIDENCE:
            cells = {str(cell).strip() for cell in entry.tolist()} - {""}
            words = sorted(c for c in cells if c.casefold() not in MISSING)
            if words and not any(re.search(r"\d", word) for word in words):
                out[name] = tuple(words)
    return out


def check_agreement(
    answers: Entry, labels: tuple[str, Entry], correct: tuple[str, npt.NDArray[np.bool_] | None]
) -> None:
    """Ask where a column of correctness disagrees with answers and labels.

    Parameters
    ----------
    answers : (N,) array
        The answers given.
    labels, correct : tuple of str and (N,) array
        Name and values of the labels, and of whether each answer was right.

    Raises
    ------
    Question
        UNDECIDED: the two disagree in some row.
    """
    name, truth = labels
    column, right = correct
    if right is None or truth.ndim != 1 or len(truth) != len(answers):
        return
    mine, theirs = aligned(id_text(answers).tolist(), id_text(truth).tolist())
    same = np.array([answer == other for answer, other in zip(mine, theirs, strict=True)])
    rows = int(np.count_nonzero(same != right))
    if rows:
        raise undecided(
            f"{column} disagrees with {name} in {counted(rows, 'row')}",
            ReadChoice(f"correct where {column} says so", {"correct_key": column}),
            ReadChoice(f"correct where the answer equals {name}", {"labels_key": name}),
        )


def kind_beside_answer(
    name: str, scores: Entry, answers: Entry, labels: Entry | None, *, named: bool = False
) -> ScoreKind:
    """Return what one score beside the answer states: confidence in it, or in one class.

    A confidence is at least 1/K, as another class would have been the answer otherwise. The
    probability of a class divides the answers: above some value all are one, below it the other.

    `named` says that the column is called a confidence.

    Raises Question UNDECIDED: both could be, or neither, or the name says one and the values the
    other.
    """
    answer_texts = id_text(answers).tolist()
    # Classes are those of answers and labels; of the answers alone where both have two words.
    known = [] if labels is None else id_text(labels).tolist()
    spelled = {folded(name): name for name in (*known, *answer_texts)}
    mine = sorted({folded(name) for name in answer_texts})
    theirs = sorted({folded(name) for name in known})
    foreign = not set(mine) & set(theirs) and meanings(mine) and meanings(theirs)
    classes = [spelled[key] for key in (mine if foreign else sorted(spelled))]
    if class_at(stated_word(name), classes) is not None and len(classes) == 2:
        return ScoreKind.PROBABILITIES
    confident = float(scores.min()) >= 1.0 / max(2, len(classes)) - ROUNDING
    divided = len(classes) == 2
    if divided and len(set(answer_texts)) > 1:
        # All answers of one class lie above those of the other, the affirming one on top.
        upper, meant = upper_answer(scores, text_array(list(answer_texts))), meanings(classes)
        places = [folded(word) for word in classes]
        divided = bool(upper) and (meant is None or meant[places.index(folded(upper))] == 1)
    if named and (confident or len(classes) > 2):  # called a confidence, and may be one
        return ScoreKind.CONFIDENCE
    if confident != divided and not named:
        return ScoreKind.CONFIDENCE if confident else ScoreKind.PROBABILITIES
    both = "could be the confidence of the answer or the probability of a class"
    what = f"{name} beside the answers {both}" if confident else f"{name} fits neither: it {both}"
    choices = (AS_CONFIDENCE, AS_PROBABILITY) if len(classes) == 2 else (AS_CONFIDENCE,)
    if len(classes) > 2:
        least = f"a confidence below 1/{len(classes)} would not have been the answer"
        what = (
            f"{name} goes down to {float(scores.min()):.3g} beside {len(classes)} classes: {least}"
        )
    raise undecided(what, *choices)


def upper_answer(scores: Entry, answers: Entry) -> str:
    """Return the answer that rows with the higher scores have; "" where scores do not divide."""
    answer_texts = id_text(answers).tolist()
    classes = sorted(set(answer_texts))
    numbers = scores.astype(np.float64)
    if len(classes) != 2:
        return ""
    first = np.array([answer == classes[0] for answer in answer_texts])
    if numbers[first].max() <= numbers[~first].min():
        return str(classes[1])
    return str(classes[0]) if numbers[~first].max() <= numbers[first].min() else ""


def below_half(scores: Entry) -> bool:
    """Whether some score is below one half, by more than rounding."""
    return bool(scores.min() < 0.5 - ROUNDING)


def is_unit_list(entry: Entry) -> bool:
    """Whether an entry is one column of numbers from 0 to 1."""
    return (
        not is_text(entry)
        and entry.ndim == 1
        and entry.dtype.kind == "f"
        and bool(entry.size and entry.min() >= 0 and entry.max() <= 1)
    )


def margin_question(name: str) -> Question:
    """Return the question whether a decision function is to be read as log-odds."""
    what = f"{name} is a margin: it ranks rows, but states no probability until it is calibrated"
    return undecided(
        what, ReadChoice("log-odds, as if it were calibrated", {"scores": ScoreKind.LOGITS})
    )
