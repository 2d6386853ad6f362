"""Votes of people: what a file holds, brought to the rows and classes of a run.

By name where both are named, else in order.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.arrays import Bool, Float, Int
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.predictions import Predictions, Votes
from core.readers.formats.contents import Contents, Entry, FileBytes, id_text, is_text, is_whole
from core.readers.predictions.companions import cut_alike
from core.readers.predictions.names import (
    IDS,
    Role,
    ambiguous,
    bare_name,
    counted,
    counts_up,
    folded,
    listed,
    name_entry,
    paired,
    words_of,
)
from core.readers.predictions.result import join_names, split_names

PEOPLE = {
    "annotator", "rater", "judge", "worker", "coder", "user", "participant", "labeller", "labeler",
}  # fmt: skip
ANSWERS = {"label", "answer", "choice", "vote", "judgement", "judgment", "class", "category"}
MOST_LABELS = 1_000
MAX_ENTRIES = 2_000  # columns that are looked at


@dataclass(frozen=True)
class VoteFile:
    """What a file of votes holds."""

    numbers: Mapping[str, Float]  # columns and arrays of numbers, in the order of the file
    # Columns that may name the rows: most of their values are distinct
    names: Mapping[str, tuple[str, ...]]
    notices: tuple[Notice, ...] = ()  # what was assumed in reading
    # name, digest: the file's name and the digest of its bytes
    name: str = ""
    digest: str = ""
    # Whether `numbers` are counts of labels, of which a class that nobody chose is none
    judgements: bool = False

    @property
    def distinct(self) -> frozenset[str]:
        """Those of `names` that hold no value twice."""
        return frozenset(key for key, names in self.names.items() if len(set(names)) == len(names))


def count_judgements(contents: Contents) -> VoteFile | None:
    """Return the votes of a file with one judgement a line; None where it is no such file.

    It has one column called like people, one like what they said, and one like what they said it
    of, or no other; and some rows come several times. Empty cells say nothing.

    Raises Refused VOTES: one of them judged a row twice.
    """
    left = [name for name, entry in contents.entries.items() if entry.ndim == 1]
    chosen = []
    # Exactly one column of each kind, or it is left to the readers of counts.
    for known in (PEOPLE, ANSWERS, IDS):
        called = [name for name in left if known & set(words_of(name))]
        if known is IDS and len(left) == 1:
            called = left
        if len(called) != 1:
            return None
        chosen.append(called[0])
        left = [name for name in left if name != called[0]]
    if len({contents.entries[name].size for name in chosen}) > 1:
        return None
    people, answer, judged = chosen
    seen: set[tuple[str, str]] = set()
    rows: dict[str, int] = {}
    cells: list[tuple[int, str]] = []
    for person, row, label in zip(
        *(_cells(contents.entries[name]) for name in (people, judged, answer)), strict=True
    ):
        if not (row and label):
            continue
        if (person, row) in seen:
            what = f"{people} {person} judged {judged} {row} twice"
            raise Refused("VOTES", what, "keep one judgement of each", "file of votes")
        seen.add((person, row))
        cells.append((rows.setdefault(row, len(rows)), label))
    # Whole numbers by value, before words by the alphabet.
    words = sorted({label for _, label in cells})
    numbers = sorted((word for word in words if word.isdecimal()), key=int)
    labels = [*numbers, *(word for word in words if not word.isdecimal())]
    if len(rows) == len(cells) or len(labels) > MOST_LABELS:
        return None
    counts = {label: np.zeros(len(rows)) for label in labels}
    for place, label in cells:
        counts[label][place] += 1.0
    text = f"{answer} was counted as one vote of each {people} for {judged}"
    notices = (*contents.notices, Notice(NoticeCode.KEYS_GUESSED, text))
    return VoteFile(counts, {judged: tuple(rows)}, notices, judgements=True)


def _cells(entry: Entry) -> list[str]:
    """Return cells as text, empty where a number is missing."""
    there = ~np.isnan(entry) if entry.dtype.kind == "f" else np.ones(entry.size, dtype=bool)
    out = np.full(entry.size, "", dtype=object)
    out[there] = id_text(entry[there])
    return [str(cell).strip() for cell in out.tolist()]


def read_votes_file(source: FileBytes) -> VoteFile:
    """Return the numbers and names of rows in a file of any format that scores may have.

    Judgements that come one a line are counted.

    Raises Refused VOTES: it holds no numbers, or two judgements of one person on a row. Any code
    of a reader of `core.readers.formats`.
    """
    from core.readers.formats.archive import unpacked
    from core.readers.formats.parse import read_contents  # the child's own

    contents = read_contents(unpacked(source))
    judged = count_judgements(contents)
    if judged is not None:
        return judged
    entries = dict(list(contents.entries.items())[:MAX_ENTRIES])
    numbers = {
        name: entry.astype(np.float64)
        for name, entry in entries.items()
        if not is_text(entry) and entry.ndim in (1, 2) and entry.dtype.kind in "fiu"
    }
    if not numbers:
        what = f"No numbers in the file (it holds {', '.join(entries) or 'nothing'})"
        what += "".join(f"; {notice.text}" for notice in contents.notices)
        raise Refused("VOTES", what[:300], "give a number of votes for each class of each row")
    # Columns that may name rows: texts or whole numbers, most of them distinct.
    names = {}
    for name, entry in contents.entries.items():
        if entry.ndim != 1 or not (is_text(entry) or is_whole(entry)):
            continue
        values = [str(value).strip() for value in id_text(entry).tolist()]
        if len(values) > 1 and len(set(values)) > len(values) / 2:
            names[name] = tuple(values)
    return VoteFile(numbers, names, contents.notices)


# What a matrix of votes is called, those first that say it most plainly.
MATRICES = ("label_count", "votes", "vote_count", "counts", "label_dist", "shares")
WORDS = {
    "votes", "vote", "count", "counts", "share", "shares", "fraction", "fractions",
    "annotators", "annotations", "humans", "human", "n",
}  # fmt: skip
FAR = 0.1  # more rows right, by which another order of classes puts the assumed one in doubt
CHANCE, CLEAR = 2.0, 4.0  # standard errors that agreement is to exceed chance by, and that it could


@dataclass(frozen=True)
class VoteChoice:
    """What the user says of a file of votes."""

    # Key of an array, a comma-separated list of columns, or what their names begin with
    columns: str | None = None
    # What the columns of votes stand for, in their order, as a line of CSV
    classes: str | None = None
    in_order: bool = False  # the rows of both come in the same order, whatever names them


class UndecidedVotes(Refused):
    """The refusal of votes whose classes may come in two orders; `orders` is what may be said."""

    def __init__(self, refusal: Refused, orders: Mapping[str, float]) -> None:
        super().__init__(*refusal.fields)
        self.orders = orders

    def to_json(self) -> dict[str, Any]:  # Any: plain JSON values of several types
        """Return the refusal as plain JSON, with the orders to choose from."""
        candidates = [
            {
                "option": f"--votes-classes {order}",
                "means": f"most people chose the label in {100 * share:.0f} of 100 rows",
            }
            for order, share in self.orders.items()
        ]
        return super().to_json() | {"candidates": candidates}


@dataclass(frozen=True)
class _Matrix:
    """Votes by row and column: what they are called, and the names of the columns, if any."""

    key: str
    columns: tuple[str, ...]
    values: Float
    classes: tuple[str, ...] = ()


@dataclass(frozen=True)
class MatchedVotes:
    """The splits with their votes, and what was assumed; `used` are the columns of votes."""

    splits: Mapping[str, Predictions]
    notices: tuple[Notice, ...]
    used: tuple[str, ...]


def attach_votes(
    splits: Mapping[str, Predictions], split: str, file: VoteFile, choice: VoteChoice | None = None
) -> MatchedVotes:
    """Return splits with the votes of a file.

    The rows of `split` must have votes; others get theirs where the file names their rows.

    Raises Refused VOTES: no row has votes, or one has several; scores without classes; numbers
    that are no votes. AMBIGUOUS_KEYS: which columns are votes. CLASSES: they are for other classes.
    LENGTH_MISMATCH. UNDECIDED: another order of the classes fits the labels far better. VOTES: in
    the order of the rows, they fit the labels no better than those of other rows would.
    """
    choice = choice or VoteChoice()
    shown = splits[split]
    if shown.task not in {"multiclass", "binary"}:
        what = f"Votes are for classes, and the run holds {shown.task.value} scores"
        raise Refused("VOTES", what, "open a run with scores of every class, one of them true")
    matrix = _matrix(file, shown, choice)
    if choice.columns is None and not file.judgements:
        _refuse_other_votes(file, matrix)
    values, notices = _in_class_order(matrix, shown, choice)
    partners = _partners(shown, file, choice, len(values))
    if partners is None and file.judgements and not choice.in_order:
        what = f"The judgements are of {listed(list(file.names))}, which names no row of the scores"
        remedy = "name the rows in both files, or give --in-order if they first come in that order"
        raise Refused("VOTES", what, remedy, "file of votes")
    if partners is None:
        _refuse_other_names(shown, file, choice, matrix)
        if len(values) != shown.n:
            what = f"The scores have {_rows(shown.n)}, the votes {len(values):,}"
            remedy = "name the rows in both files, or give votes for each row in the same order"
            raise Refused("LENGTH_MISMATCH", what, remedy, "file of votes")
        text = f"the votes ({matrix.key}) were matched by row order"
        guess = () if choice.in_order else (Notice(NoticeCode.KEYS_GUESSED, text),)
        votes = Votes.of(file.name, values, shown.class_names)
        more = (*guess, *_partly(votes, 0))
    else:
        votes = _taken(values, partners, file.name, shown.class_names)
        more = _partly(votes, len(values) - int((partners >= 0).sum()))
    with_votes = dict(splits) | {split: replace(shown, votes=votes)}
    # Votes by the order of columns are checked against the labels:
    # people are right more often than by chance.
    doubt = _doubt(with_votes[split], matrix, choice)
    if doubt is not None:
        raise doubt
    # Columns were taken in the order of the scores: none may be called like another class.
    in_order = not matrix.classes and choice.classes is None
    if in_order and len(matrix.columns) >= shown.n_classes and not counts_up(shown.class_names):
        words = [folded(_class_word(_last(name))) for name in matrix.columns]
        classes = [folded(name) for name in shown.class_names]
        if any(word != classes[k] and word in classes for k, word in enumerate(words)):
            others = [
                n for n, word in zip(matrix.columns, words, strict=True) if word not in classes
            ]
            what = f"Columns {listed(matrix.columns)} are called like some classes of the scores"
            what += f" ({listed(shown.class_names)}), and {listed(others)} like none"
            remedy = "say what the columns stand for, in their order, with --votes-classes"
            raise Refused("CLASSES", what, remedy, "file of votes")
    if partners is None and not choice.in_order:
        _refuse_other_rows(with_votes[split])
    for name, other in splits.items():
        partners = None if name == split else _partners(other, file, choice, len(values))
        if partners is not None and np.nan_to_num(values[partners[partners >= 0]]).any():
            own = _taken(values, partners, file.name, other.class_names)
            with_votes[name] = replace(other, votes=own)
    return MatchedVotes(with_votes, (*file.notices, *notices, *more), matrix.columns)


def _matrix(file: VoteFile, run: Predictions, choice: VoteChoice) -> _Matrix:
    """Return the votes: as chosen, by the names of the classes, or by what they are called."""
    k = run.n_classes
    flat = [name for name, entry in file.numbers.items() if entry.ndim == 1]
    arrays = {name: entry for name, entry in file.numbers.items() if entry.ndim == 2}
    wide = [name for name, entry in arrays.items() if entry.shape[1] == k]
    if choice.columns is not None:
        return _chosen(file, run, choice.columns, choice.classes)
    judged = _judged(file, run, choice) if file.judgements else None
    if judged is not None:
        return judged
    named = _named(flat, run.class_names)
    if named and choice.classes is None:
        return _stacked(file, named, run.class_names)
    if named:  # what they stand for is said, in the order of the file
        return _stacked(file, [name for name in flat if name in named], ())
    called = [name for name in wide if _last(name) in MATRICES]
    if called:
        key = min(called, key=lambda name: MATRICES.index(_last(name)))
        return _Matrix(key, (key,), file.numbers[key])
    for key in (name for name in arrays if _last(name) in MATRICES):  # of another width, then
        return _chosen(file, run, key, choice.classes)
    if len(wide) == 1:
        return _Matrix(wide[0], (wide[0],), file.numbers[wide[0]])
    speaking = [name for name in flat if set(_words(name)) & WORDS]
    for columns in (speaking, [name for name in flat if name not in file.distinct]):
        if len(columns) == k and not wide:
            return _stacked(file, columns, ())
    # Columns may be called like most of the classes, but not like all of them.
    words = {folded(cut(name)) for name in flat for cut in (_last, _class_word)}
    missing = [name for name in run.class_names if folded(name) not in words]
    if not counts_up(run.class_names) and 2 * len(missing) < len(run.class_names):
        what = f"No column holds the votes for {listed(missing)}"
        remedy = "call a column like each class, with 0 where nobody chose it"
        raise Refused("CLASSES", what, remedy, "file of votes")
    names = listed(list(file.numbers))
    what = f"Votes for {k} classes ({listed(run.class_names)}) may be in any of {names}"
    raise ambiguous(what, "name their columns with --votes FILE:COLUMNS", "file of votes")


def _judged(file: VoteFile, run: Predictions, choice: VoteChoice) -> _Matrix | None:
    """Return how many people chose each class; None where it is said what labels stand for."""
    alike = len(set(map(folded, run.class_names))) < run.n_classes
    cut: Callable[[str], str] = str if alike else folded
    places = {cut(name): k for k, name in enumerate(run.class_names)}
    strange = [name for name in file.numbers if cut(name) not in places]
    if choice.classes is not None:
        if strange:
            return None
        what = f"The judgements name the classes themselves: {listed(list(file.numbers))}"
        raise Refused("CLASSES", what, "leave --votes-classes out", "file of votes")
    if strange:
        what = f"Judgements name {listed(strange)}; the scores are {listed(run.class_names)}"
        raise Refused("CLASSES", what, "judge by the names of the classes", "file of votes")
    values = np.zeros((next(iter(file.numbers.values())).size, run.n_classes))
    for name, counts in file.numbers.items():  # none where no judgement names a class
        values[:, places[cut(name)]] += counts
    return _Matrix(listed(list(file.numbers)), tuple(file.numbers), values, run.class_names)


def _last(name: str) -> str:
    """Return a key without the names of records around it, in small letters."""
    return name.rpartition(".")[2].strip().casefold()


def _words(name: str) -> list[str]:
    return name.casefold().replace("-", "_").replace(" ", "_").replace(".", "_").split("_")


def _class_word(name: str) -> str:
    """Return the name of a column without the words that say votes."""
    words = _words(name)
    while len(words) > 1 and words[0] in WORDS:
        words = words[1:]
    while len(words) > 1 and words[-1] in WORDS:
        words = words[:-1]
    return "_".join(words)


def _named(columns: list[str], classes: tuple[str, ...]) -> list[str]:
    """Return the columns that are called like the classes, in their order; nothing where not."""
    for cut in (str, _last, _class_word, bare_name):
        at: dict[str, str] = {}
        for name in columns:
            at.setdefault(folded(cut(name)), name)
        keys = [folded(name) for name in classes]
        speaking = not counts_up(classes) or all(
            set(_words(at[key])) & WORDS for key in keys if key in at
        )
        if speaking and set(keys) <= set(at):
            return [at[key] for key in keys]
    return []


def _refuse_other_votes(file: VoteFile, matrix: _Matrix) -> None:
    """Refuse votes beside those taken that may be for a class that the run lacks.

    Without them, whoever chose it would count as never asked. Such are columns called like those
    taken but for the class; and, beside columns called like nothing but the classes, counts that
    no name explains. Totals are none of them.
    """
    taken = matrix.values.sum(axis=1)
    forms = {_form(name) for name in matrix.columns}
    array = len(matrix.columns) == 1
    all_there = bool(np.all(taken == taken.max(initial=0)))  # as many people in every row
    others: dict[str, Float] = {}
    for name, entry in file.numbers.items():
        if name in matrix.columns or entry.ndim != 1 or len(entry) != len(taken):
            continue
        alike = not array and _form(name) in forms
        if array or (alike and not any(_form(name))):
            counts = is_whole(entry) and 0 <= entry.min() < entry.max() <= taken.max()
            role = name_entry(name, entry).role
            alike = counts and not all_there and name not in file.names and role is Role.UNUSED
            alike = alike and (not array or bool(set(_words(name)) & WORDS))
        if alike:
            others[name] = entry
    # Totals, and totals of the rest, explain themselves.
    every = taken + sum(others.values(), np.zeros(len(taken)))
    strange = [
        n for n, e in others.items() if not (np.allclose(e, taken) or np.allclose(e, every - e))
    ]
    if strange:
        what = f"{listed(strange)} may be votes for a class that the scores lack"
        remedy = "name the columns that count, to leave out the others: --votes FILE:COLUMNS"
        raise Refused("CLASSES", what, remedy, "file of votes")


def _form(name: str) -> tuple[str, str, str]:
    """Return what a column of votes is called beside its class: all that cat lacks of votes_cat."""
    last = "_".join(_words(_last(name)))
    before, _, after = last.partition(_class_word(_last(name)))
    return name.rpartition(".")[0], before, after


def _stacked(file: VoteFile, columns: list[str], classes: tuple[str, ...]) -> _Matrix:
    lengths = {file.numbers[name].size for name in columns}
    if len(lengths) > 1:
        what = f"{listed(columns)} have {', '.join(map(str, sorted(lengths)))} rows"
        raise Refused("LENGTH_MISMATCH", what, "give every class as many rows", "file of votes")
    values = np.column_stack([file.numbers[name] for name in columns])
    return _Matrix(listed(columns), tuple(columns), values, classes)


def _chosen(file: VoteFile, run: Predictions, text: str, classes: str | None) -> _Matrix:
    """Return the votes of columns that were chosen: one array, a list of names, or a beginning."""
    k = run.n_classes
    entry = file.numbers.get(text)
    if entry is not None and entry.ndim == 2:
        if entry.shape[1] == k:
            return _Matrix(text, (text,), entry)
        what = f"{text} has {entry.shape[1]} columns for {k} classes ({listed(run.class_names)})"
        raise Refused("CLASSES", what, "give a number of votes for every class", "file of votes")
    flat = [name for name, entry in file.numbers.items() if entry.ndim == 1]
    columns = split_names(text)
    if not set(columns) <= set(flat):
        columns = [name for name in flat if name.startswith(text)]
    if len(columns) != k:
        what = f"--votes names {text!r}, which is {counted(len(columns), 'column')} for {k} classes"
        remedy = f"name one array, or one column for each class, of {listed(list(file.numbers))}"
        raise ambiguous(what, remedy, "file of votes")
    endings = [name.removeprefix(text).strip("_-. ") for name in columns]
    words = [_class_word(_last(name)) for name in columns]
    in_order = classes is not None or counts_up(run.class_names)
    for names in (columns, endings, words):
        places = None if in_order else paired(run.class_names, names)
        if places is not None:
            return _stacked(file, [columns[place] for place in places], run.class_names)
    return _stacked(file, columns, ())


def _in_class_order(
    matrix: _Matrix, run: Predictions, choice: VoteChoice
) -> tuple[Float, tuple[Notice, ...]]:
    """Return the votes with the classes of the run, in their order."""
    if choice.classes is not None:
        names = split_names(choice.classes)
        places = paired(run.class_names, names)
        if places is None:
            what = (
                f"--votes-classes names {listed(names)}; the scores are {listed(run.class_names)}"
            )
            raise Refused("CLASSES", what, "name the same classes, in the order of the votes")
        return np.asarray(matrix.values[:, places]), ()
    if matrix.classes:
        return matrix.values, ()
    ends = [re.search(r"\d{1,6}\Z", name) for name in matrix.columns]
    numbers = [int(end[0]) for end in ends if end]
    order = np.arange(matrix.values.shape[1])
    if sorted(numbers) in (list(order), list(order + 1)):  # class_2, class_1, class_0
        text = f"the columns of votes ({matrix.key}) were taken in the order of their numbers: "
        matrix = replace(matrix, values=matrix.values[:, np.argsort(numbers)])
    else:
        text = f"the columns of votes ({matrix.key}) were taken in the order of the scores: "
    return matrix.values, (Notice(NoticeCode.KEYS_GUESSED, text + listed(run.class_names)),)


def _partly(votes: Votes, extra: int) -> tuple[Notice, ...]:
    """Return how many rows have votes, unless all have; `extra` are votes of other rows."""
    n_rows, n_voted = len(votes.of_row), votes.voted.size
    if n_voted == n_rows and not extra:
        return ()
    text = f"{n_voted:,} of {_rows(n_rows)} {'has' if n_rows == 1 else 'have'} votes"
    text += f"; {_rows(extra)} of votes are not in this part" if extra else ""
    return (Notice(NoticeCode.VOTES_PARTLY, text),)


def _rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"


def _refuse_other_names(
    run: Predictions, file: VoteFile, choice: VoteChoice, matrix: _Matrix
) -> None:
    """Refuse votes whose rows have names, but not those of the run, or a name twice.

    In the order of the rows they would be the votes of other rows, and nobody would notice.
    """
    n_rows = len(matrix.values)
    columns = {
        key: names
        for key, names in file.names.items()
        if key not in matrix.columns and len(names) == n_rows
    }
    if choice.in_order or not run.row_ids:
        return
    own = set(run.row_ids)
    for key, names in columns.items():
        first_rows: dict[str, int] = {}
        again = (row for row, name in enumerate(names) if first_rows.setdefault(name, row) != row)
        twice = next(again, None)
        if twice is not None and 2 * len(own.intersection(names)) > len(own):
            first, name = first_rows[names[twice]], names[twice]
            what = f"Rows {first:,} and {twice:,} of {file.name} have the same {key}, {name}"
            raise Refused("VOTES", what, "keep one row of votes for each name")
    unmatched = [key for key in columns if key in file.distinct]
    if unmatched:
        what = f"No column of {file.name} ({listed(unmatched)}) names rows of the scores, such as"
        what += f" {run.row_ids[0]}"
        remedy = "give votes that name the same rows, or --in-order if both have the same order"
        raise Refused("VOTES", what, remedy)


def _partners(run: Predictions, file: VoteFile, choice: VoteChoice, n: int) -> Int | None:
    """Return the row of votes of each row, -1 where there is none; None where nothing names rows.

    Of the columns as long as the votes, the one is taken in which most rows are found.
    """
    if choice.in_order or not run.row_ids:
        return None
    best: tuple[int, Int] = 0, np.empty(0, dtype=np.int64)
    for names in file.names.values():
        if len(names) != n:
            continue
        try:
            own, known = cut_alike(list(run.row_ids), list(names))
        except Refused:  # cut until some are alike, two rows would have one name
            continue
        at = {name: row for row, name in enumerate(known)}
        rows = np.array([at.get(name, -1) for name in own], dtype=np.int64)
        n_matched = int((rows >= 0).sum())
        if n_matched > best[0] and len(at) == len(known):
            best = n_matched, rows
    return best[1] if best[0] else None


def _taken(values: Float, partners: Int, name: str, class_names: tuple[str, ...]) -> Votes:
    """Return the votes of each row, none where it has no partner; a refusal names a file's row."""
    used = np.zeros(len(values), dtype=bool)
    used[partners[partners >= 0]] = True
    checked = Votes.of(name, np.where(used[:, None], values, np.nan), class_names)
    return Votes(name, np.where((partners >= 0)[:, None], checked.of_row[partners], 0.0))


def _doubt(run: Predictions, matrix: _Matrix, choice: VoteChoice) -> Refused | None:
    """Return the question that is left where labels fit another order of the classes far better."""
    if matrix.classes or choice.classes is not None or not run.labelled:
        return None
    from scipy.optimize import linear_sum_assignment

    assert run.votes is not None
    rows = run.votes.voted
    votes, labels = run.votes.of_row[rows], run.labels[rows]
    most: Bool = votes == votes.max(axis=1, keepdims=True)
    agreed = np.stack([most[labels == k].sum(axis=0) for k in range(run.n_classes)])
    assumed = np.trace(agreed) / rows.size
    _, order = linear_sum_assignment(-agreed)
    better = agreed[np.arange(run.n_classes), order].sum() / rows.size
    if better - assumed <= max(FAR, 2.0 / rows.size**0.5):
        return None
    names = [""] * run.n_classes
    for k, place in enumerate(order.tolist()):
        names[place] = run.class_names[k]
    same, other = join_names(run.class_names), join_names(names)
    called = f" of {listed(matrix.columns)}" if len(matrix.columns) > 1 else ""
    what = (
        f"Most people chose the label in {100 * assumed:.0f} of 100 rows if the votes{called} are"
        f" for {same}, and in {100 * better:.0f} if they are for {other}"
    )
    remedy = f"say which with --votes-classes {other} or --votes-classes {same}"
    refusal = Refused("UNDECIDED", what, remedy, "file of votes")
    return UndecidedVotes(refusal, {other: better, same: assumed})


def _refuse_other_rows(run: Predictions) -> None:
    """Refuse votes in the order of the rows that fit the labels as those of any other rows would.

    Most people choose the label of a row; of rows in another order they choose it by chance. Left
    alone are few rows, and labels of which nearly all are the same: nothing would show there.
    """
    if not run.labelled:
        return
    assert run.votes is not None
    rows = run.votes.voted
    votes, labels = run.votes.of_row[rows], run.labels[rows]
    most = votes == votes.max(axis=1, keepdims=True)
    agreed = most[np.arange(rows.size), labels].mean()
    label_shares = np.bincount(labels, minlength=run.n_classes) / rows.size
    chance = float(label_shares @ most.mean(axis=0))
    error = (chance * (1.0 - min(chance, 1.0)) / rows.size) ** 0.5
    # What agreement could reach at best with these shares: where
    # that is near chance, nothing would show.
    possible = float(np.minimum(label_shares, most.mean(axis=0)).sum())
    if agreed > chance + CHANCE * error or possible <= chance + CLEAR * error:
        return
    what = (
        f"Most people chose the label in {100 * agreed:.0f} of 100 rows, no more than by chance:"
        " the rows, or the classes, of the votes come in another order"
    )
    remedy = "name the rows in both files, or give --in-order if the order is right"
    raise Refused("VOTES", what, remedy, "file of votes")
