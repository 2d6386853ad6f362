"""Labels in all forms, as whole numbers, none dropped silently; and stated confidences.

A stated confidence is one score a row beside the answer, or beside whether it was right.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from core.arrays import Float, Int, empty, row_chunks
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.predictions import ScoreKind
from core.readers.formats.contents import (
    Contents,
    Entry,
    SplitArrays,
    id_text,
    is_text,
    stacked,
    text_array,
)
from core.readers.formats.text import MISSING, is_number
from core.readers.predictions.names import (
    CONFIDENCE,
    aligned,
    by_initial,
    by_meaning,
    class_at,
    counted,
    counts_up,
    folded,
    listed,
    meanings,
    polarity,
    stated_word,
    truths,
    words_of,
)
from core.readers.predictions.result import (
    Question,
    ReadChoice,
    Uncertain,
    classes_text,
    split_names,
    undecided,
)

RowName = Callable[[int], str]
TRUTHS = {"true", "false", "yes", "no"}  # decisions: class 1 is what they affirm
WAYS = (  # to count labels of findings that are blank or -1
    ReadChoice("blank and uncertain (-1) left out", {"uncertain": Uncertain.LEAVE_OUT}),
    ReadChoice("blank and uncertain as absent", {"uncertain": Uncertain.ABSENT}),
    ReadChoice("uncertain as present, blank as absent", {"uncertain": Uncertain.PRESENT}),
)
RARE = 0.05  # of rows
ANY_CLASS = 100_000  # most classes of a file that states answers only: each gets a name


@dataclass(frozen=True)
class Labels:
    """Labels as numbers."""

    values: Int  # (N,) or (N, L), class indices, or 0/1 for each label
    one_hot: bool = False  # whether they were rows with exactly one 1
    names: tuple[str, ...] = ()  # class names found among the labels themselves
    # Whether names say which column each label means; otherwise their order does
    by_name: bool = False
    # How the file writes the label of each column, where that is not its name
    texts: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()  # what was assumed


@dataclass(frozen=True, kw_only=True)
class Classes:
    """What is known of the columns before the labels are read."""

    columns: int  # columns of the scores; 1 for a binary score
    # Names of the columns, or those that the user gave; empty when there are none
    names: tuple[str, ...] = ()
    declared: bool = False  # whether the user gave the names: then no label may be outside them
    # Whether each name stands over its column; a list of names says which number is which
    by_column: bool = False
    stated: str = ""  # of a single column: the word in its name that may say which class it states
    # Of a single column: the event it is named for, beside labels that only say yes or no
    event: str = ""

    @property
    def of_event(self) -> tuple[str, ...]:
        """Names of the two classes by the event; empty where the user or nothing names them."""
        return (f"not {self.event}", self.event) if self.event and not self.names else ()


def read_labels(entry: Entry, classes: Classes, row_name: RowName) -> Labels:
    """Return labels as numbers.

    Parameters
    ----------
    entry : array
        (N,), (N, 1), (N, L) numbers, truth values or text, as they lie in the file.
    classes : Classes
        What is known of the columns.
    row_name : function of int to str
        How a message names a row.

    Raises
    ------
    Refused
        LABEL_NOT_INTEGER, LABEL_SOFT, LABEL_RANGE, CLASSES or UNDECIDED.
    """
    flat = entry.reshape(-1) if entry.ndim == 2 and entry.shape[1] == 1 else entry
    if flat.ndim == 1:
        if is_text(flat):
            return _named(flat, classes, row_name)
        return _numbered(_whole(flat, row_name), classes, row_name)
    if flat.ndim != 2 or is_text(flat):
        what = f"Labels of shape {entry.shape}"
        raise Refused("LABEL_NOT_INTEGER", what, "give one label, or one row of 0/1, for each row")
    # 0/1 rows: one-hot where each holds exactly one 1, else one answer for each label.
    numbers = flat.astype(np.float64)
    # Anything but 0 and 1 in a matrix: soft labels, votes or -1
    # for uncertain, each with its own remedy.
    odd = ~((numbers == 0) | (numbers == 1))
    if not odd.any():
        n_ones = numbers.sum(axis=1)
        if classes.columns == flat.shape[1] > 1 and np.all(n_ones == 1):
            return Labels(np.asarray(numbers.argmax(axis=1), dtype=np.int64), one_hot=True)
        return Labels(numbers.astype(np.int64))
    row, column = (int(i) for i in np.argwhere(odd)[0])
    value, location = numbers[row, column], f"{row_name(row)} col {column}"
    soft = np.isfinite(numbers).all() and np.allclose(numbers.sum(axis=1), 1.0, atol=1e-3)
    if (soft and numbers.min() >= 0) or (0 < value < 1):
        remedy = "give the class each row belongs to, for example the largest"
        raise Refused("LABEL_SOFT", f"Soft labels ({value:g}) are not supported", remedy, location)
    if not np.isfinite(value) or value != np.floor(value):
        what = f"Label {value:g} is not 0 or 1"
        raise Refused("LABEL_NOT_INTEGER", what, "give 0 or 1 for each label", location)
    what = f"Label {value:g} where 0 or 1 was expected"
    remedy = "decide uncertain labels (-1) before the audit"
    if numbers.min() >= 0 and np.ptp(numbers.sum(axis=1)) < 2 < numbers.sum(axis=1).min():
        what += ": rows look like counts of people's votes"
        remedy = "give these with --votes, and as labels the true class of each row"
    raise Refused("LABEL_RANGE", what, remedy, location)


def _whole(flat: Entry, row_name: RowName) -> Int:
    if flat.dtype.kind == "f":
        for rows in row_chunks(flat.size, 1):
            part = flat[rows].astype(np.float64)
            exact = np.isfinite(part) & (np.abs(part) < 2**53)
            bad = np.flatnonzero(~(exact & (part == np.floor(part))))
            if bad.size:
                value, location = part[bad[0]], row_name(rows.start + int(bad[0]))
                what = f"Label {'NaN' if np.isnan(value) else f'{value:g}'} is not a whole number"
                raise Refused("LABEL_NOT_INTEGER", what, "give class numbers from 0", location)
    if flat.dtype == np.uint64 and flat.size and int(flat.max()) >= 2**63:
        row = int(np.flatnonzero(flat >= np.uint64(2**63))[0])  # as int64 it would turn negative
        what = f"Label {flat[row]} is beyond every number of classes"
        raise Refused("LABEL_RANGE", what, "number the classes from 0", row_name(row))
    if flat.dtype == np.int64:
        return np.asarray(flat, np.int64)
    whole: Int = empty(flat.shape, np.int64)
    whole[:] = flat
    return whole


def _numbered(values: Int, classes: Classes, row_name: RowName) -> Labels:
    """Take numbers as the names of columns where these are numbers too, else as positions."""
    numbers = _numbers(classes.names)
    # The different values in ascending order, without a copy of all.
    parts = [np.unique(values[rows]) for rows in row_chunks(values.size, 1)]
    distinct = np.unique(np.concatenate([values[:0], *parts]))
    if numbers and distinct.size and set(distinct.tolist()) <= set(numbers):
        if numbers == list(range(len(numbers))):
            texts = tuple(str(k) for k in numbers)
            return Labels(values, by_name=classes.declared, texts=texts)
        # Columns from 1 and labels from 1 pair by number; labels
        # from 0 would be shifted by one class.
        if counts_up(classes.names) and not classes.declared:  # from 1: or positions from 0
            texts = tuple(str(k) for k in numbers)
            text = "label numbers were matched to the numbers in the column names"
            matched = (Notice(NoticeCode.KEYS_GUESSED, text),)
            return Labels(np.asarray(values - 1, np.int64), texts=texts, notices=matched)
        text = "label numbers were matched to the numbers in the column names"
        notices = () if classes.declared else (Notice(NoticeCode.KEYS_GUESSED, text),)
        at = np.array([numbers.index(v) for v in distinct.tolist()], dtype=np.int64)
        return Labels(at[np.searchsorted(distinct, values)], by_name=True, notices=notices)
    meant = meanings(classes.names) if classes.by_column and not classes.declared else None
    if meant is not None and set(distinct.tolist()) <= {0, 1}:
        at = np.array([meant.index(0), meant.index(1)], dtype=np.int64)
        return Labels(at[values], texts=tuple(map(str, meant)))
    if classes.declared and numbers:
        row = int(np.flatnonzero(~np.isin(values, numbers))[0])
        what = f"Label {values[row]} is none of the classes given ({listed(classes.names)})"
        raise Refused("LABEL_RANGE", what, "give every class its name", row_name(row))
    many = np.count_nonzero(values[:-1] > 1) >= RARE * values.size  # a few are slips, to be shown
    if classes.columns == 1 and values.min(initial=0) >= 0 and many and distinct.size > 2:
        raise _of_two([str(number) for number in distinct.tolist()])
    _check_range(values, max(2, classes.columns), row_name)
    if classes.columns == 1 and _says_class(classes.stated, ("0", "1")):
        return _stated(values, ("0", "1"), classes)
    texts = tuple(str(k) for k in range(max(2, classes.columns)))
    if not numbers:
        return Labels(values, names=classes.of_event, texts=texts)
    text = "labels are not the numbers in the column names; they were taken as positions from 0"
    return Labels(values, texts=texts, notices=(Notice(NoticeCode.KEYS_GUESSED, text),))


def _says_class(word: str, names: Sequence[str]) -> bool:
    """Whether the word in a column's name is that of a class, and no abbreviation of a score."""
    return (len(word) > 1 or word.isdigit()) and class_at(word, names) is not None


def _stated(values: Int, names: tuple[str, ...], classes: Classes) -> Labels:
    """Order two classes so that the one which the single column states comes second."""
    nameless = names == ("0", "1") or {name.casefold() for name in names} <= TRUTHS
    own = classes.of_event if nameless else ()
    # The column states p of one class: that one is audited as
    # the second, whatever the alphabet says.
    if class_at(classes.stated, names) == 1:
        own = own or (() if names == ("0", "1") else names)
        return Labels(values, names=own, by_name=True, texts=names)
    text = f"the scores are of class {names[0]}, as their name says; it is audited as the second"
    turned = np.asarray(1 - values, dtype=np.int64)
    notices = (Notice(NoticeCode.KEYS_GUESSED, text),)
    return Labels(turned, False, own or names[::-1], True, texts=names[::-1], notices=notices)


def _numbers(names: tuple[str, ...]) -> list[int]:
    """Return the numbers that names are, or end in after one shared beginning; else nothing."""
    for pattern in (r"()([+-]?\d{1,17})", r"(.*?)(\d{1,17})"):
        matches = [re.fullmatch(pattern, name.strip()) for name in names]
        parts = [match.groups() for match in matches if match]
        numbers = [int(number) for _, number in parts]
        if len(set(numbers)) == len(names) and len({shared for shared, _ in parts}) == 1:
            return numbers
    return []


def _check_range(values: Int, n_classes: int, row_name: RowName) -> None:
    if values.size == 0:
        return
    low, high = int(values.min()), int(values.max())
    if low >= 0 and high < n_classes:
        return
    row = int(np.flatnonzero((values < 0) | (values >= n_classes))[0])
    expected = f"0..{n_classes - 1}"
    what = f"Label {values[row]} where {expected} was expected (found {low}..{high})"
    remedy = "number the classes from 0, in the order of the columns"
    if row == values.size - 1 > 1:
        what, remedy = f"{what}, only in the last row", f"remove a row of totals, or {remedy}"
    distinct = tuple(str(value) for value in np.unique(values).tolist())
    names = classes_text(distinct)
    choices: tuple[ReadChoice, ...] = ()
    if len(distinct) == n_classes:
        choices = (ReadChoice(f"columns stand for {listed(distinct)}", {"classes": names}),)
    # MATLAB, R and Julia count from 1.
    if low == 1 and high == n_classes:
        what += "; labels look 1-based"
        names = classes_text(tuple(str(k + 1) for k in range(n_classes)))
        remedy = f"subtract 1 from every label, or say --classes {names}"
        choices = (
            ReadChoice(f"labels count from 1: 1 is the first of {n_classes}", {"classes": names}),
        )
    elif low == -1 and high == 1 and n_classes == 2 and not (values == 0).any():
        what += "; labels look like -1 and +1"
        remedy = "write 0 for -1, or say --classes=-1,1"
    elif low < 0:
        what += "; -1 often marks rows that belong to no class"
        remedy = "remove rows without a class; out-of-distribution sets belong on their own page"
    elif choices:
        remedy += f", or say {choices[0].command}"
    raise Question(Refused("LABEL_RANGE", what, remedy, row_name(row)), choices)


def gap_choices(entry: Entry) -> tuple[ReadChoice, ...]:
    """Return what labels of one finding may count as where they are 0 and 1 with gaps or -1."""
    numbers = with_gaps(entry)
    if numbers is None or not {0.0, 1.0} <= set(np.unique(numbers).tolist()):
        return ()
    return WAYS


def with_gaps(entry: Entry) -> Float | None:
    """Return labels of 0 and 1 as float64, NaN where blank, -1 kept; None where others are."""
    if not is_text(entry):
        numbers = entry.astype(np.float64)
        known = np.isnan(numbers) | np.isin(numbers, (-1.0, 0.0, 1.0))
        return numbers if known.all() else None
    known_cells = {"": np.nan, "nan": np.nan, "na": np.nan, "none": np.nan}
    known_cells |= {f"{k}{end}": float(k) for k in (-1, 0, 1) for end in ("", ".0")}
    cells = [str(cell).strip().casefold() for cell in entry.reshape(-1).tolist()]
    if not set(cells) <= known_cells.keys():
        return None
    return np.array([known_cells[cell] for cell in cells]).reshape(entry.shape)


def label_matrix(columns: Mapping[str, Entry]) -> Entry:
    """Return columns of labels as a matrix; those that say yes and no, or true and false, as 1, 0.

    Raises Refused LABEL_NOT_INTEGER: other words, or an empty cell.
    """
    numbers = []
    for name, entry in columns.items():
        values = truths(entry) if is_text(entry) else entry
        values = with_gaps(entry) if values is None else values
        if values is None:
            odd = next(i for i, cell in enumerate(entry.tolist()) if polarity(str(cell)) is None)
            what = f"{str(entry[odd])[:40]!r} in {name} is neither 0 nor 1"
            remedy = "write 0 or 1, and decide what is missing or uncertain"
            raise Refused("LABEL_NOT_INTEGER", what, remedy, f"row {odd}")
        numbers.append(values.astype(np.int64) if values.dtype.kind == "b" else values)
    return stacked(numbers)


def _named(flat: Entry, classes: Classes, row_name: RowName) -> Labels:
    """Labels that are text: names of columns, numbers in text, or names in alphabetical order."""
    cells = [str(cell).strip() for cell in flat.tolist()]
    blank = next((i for i, cell in enumerate(cells) if not cell), None)
    if blank is not None:
        what = "An empty label"
        raise Refused("LABEL_NOT_INTEGER", what, "fill in or remove the row", row_name(blank))
    names, distinct = classes.names, sorted(set(cells))
    # Exact first, then without case, then without signs: the strictest way that pairs them all.
    for key in (str, str.casefold, folded):
        at = {key(name.strip()): index for index, name in enumerate(names)}
        if len(at) == len(names) > 0 and all(key(cell) in at for cell in distinct):
            return Labels(np.array([at[key(c)] for c in cells], dtype=np.int64), by_name=True)
    if names and (places := by_initial(distinct, names)) is not None:
        return Labels(_places(cells, distinct, places), by_name=True)
    if names and (places := by_meaning(distinct, names)) is not None:
        texts = tuple(distinct[places.index(column)] for column in (0, 1))
        return Labels(_places(cells, distinct, places), texts=texts)
    if all(re.fullmatch(r"[+-]?[0-9]{1,17}", cell) for cell in distinct):
        return _numbered(np.array([int(c) for c in cells], dtype=np.int64), classes, row_name)
    numeric = next((i for i, cell in enumerate(cells) if _is_float(cell)), None)
    if numeric is not None and all(_is_float(c) for c in distinct):
        what = f"Label {cells[numeric]!r} is not a whole number"
        raise Refused("LABEL_NOT_INTEGER", what, "give class numbers from 0", row_name(numeric))
    if names and (classes.declared or not counts_up(names)):
        columns = {folded(name) for name in names}
        row = next((i for i, cell in enumerate(cells) if folded(cell) not in columns), 0)
        some = any(folded(cell) in columns for cell in cells)
        subject = f"Label {cells[row][:60]!r} is" if some else f"Labels ({listed(distinct)}) are"
        what = f"{subject} none of the columns ({listed(names)})"
        raise Refused("LABEL_RANGE", what, "name columns and labels alike", row_name(row))
    if classes.columns == 1:
        return _two_named(cells, distinct, classes)
    n_classes = max(2, classes.columns)
    if n_classes == 2 and {cell.casefold() for cell in distinct} <= TRUTHS:
        values = np.array([polarity(cell) for cell in cells], dtype=np.int64)
        return Labels(values, texts=("0", "1"))
    if len(distinct) != n_classes:
        shown = f"the {n_classes} columns of scores are not named after classes"
        remedy = "name the columns after the classes, or give class numbers"
        raise Refused("CLASSES", f"{_classes_words(distinct)}, but {shown}", remedy)
    # sklearn's order; yes and no go by their meaning, so that yes is the event.
    order, rule = tuple(distinct), "in alphabetical order"
    if meanings(distinct) == [1, 0]:
        order, rule = order[::-1], "by their meaning"
    text = f"labels are names; columns were taken {rule}: {listed(order)}"
    values = _places(cells, list(order), list(range(n_classes)))
    notices = (Notice(NoticeCode.KEYS_GUESSED, text),)
    return Labels(values, names=order, texts=order, notices=notices)


def _places(cells: list[str], distinct: list[str], places: list[int]) -> Int:
    at = dict(zip(distinct, places, strict=True))
    return np.array([at[cell] for cell in cells], dtype=np.int64)


def _of_two(distinct: list[str]) -> Refused:
    what = f"{_classes_words(distinct)}, but a single column of scores is for two classes"
    remedy = "give a column of scores for each class, or name the answers with --prediction-key"
    return Refused("CLASSES", what, remedy)


def _classes_words(distinct: list[str]) -> str:
    if len(distinct) == 1:
        return f'all labels are the same class, "{listed(distinct)}"'
    return f"the labels name {len(distinct)} classes ({listed(distinct)})"


def _two_named(cells: list[str], distinct: list[str], classes: Classes) -> Labels:
    """Two names beside a single column: its own name, or their meaning, says which it states."""
    only = polarity(distinct[0])
    if len(distinct) == 1 and only is not None:  # one class only: the meaning tells which
        return Labels(np.full(len(cells), only, dtype=np.int64), by_name=True)
    if len(distinct) != 2:
        raise _of_two(distinct)
    values = _places(cells, distinct, [0, 1])
    if _says_class(classes.stated, distinct):
        return _stated(values, tuple(distinct), classes)
    meant = meanings(distinct)
    if meant is not None:
        ordered = tuple(distinct) if meant == [0, 1] else (distinct[1], distinct[0])
        text = f"the scores were taken to be of class {ordered[1]}, by its meaning"
        nameless = {n.casefold() for n in ordered} <= TRUTHS
        names = classes.of_event if nameless else ordered
        notices = () if nameless else (Notice(NoticeCode.KEYS_GUESSED, text),)
        turned = values if meant == [0, 1] else 1 - values
        return Labels(np.asarray(turned, np.int64), False, names, texts=ordered, notices=notices)
    first, second = distinct
    raise undecided(
        f"The scores are of one class, and nothing says whether of {first} or {second}",
        ReadChoice(f"scores of {second}", {"classes": classes_text((first, second))}),
        ReadChoice(f"scores of {first}", {"classes": classes_text((second, first))}),
    )


def _is_float(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


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


def kind_of_answered(
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
    # The larger of K probabilities is at least 1/K.
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
