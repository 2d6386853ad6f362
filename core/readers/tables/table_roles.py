"""Columns of a table with their roles, settled step by step from names, choices and values."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import numpy as np

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.contents import Contents, Entry, id_text, is_text, is_whole
from core.readers.formats.json_file import COMPLETION
from core.readers.formats.text import NUMBERS, is_broken, words_in
from core.readers.predictions.companions import chosen_roles
from core.readers.predictions.labels import below_half, is_unit_list, upper_answer, with_gaps
from core.readers.predictions.names import (
    CLASS_WORDS,
    CONFIDENCE,
    IDS,
    INDEX_NAMES,
    ISSUE,
    LABELS,
    QUALITY,
    ROW_FOR_EACH,
    SPLIT_COLUMNS,
    SPLITS,
    NamedEntry,
    Role,
    aligned,
    ambiguous,
    bare_name,
    class_names,
    counted,
    folded,
    listed,
    name_entry,
    truths,
    without_score_word,
    words_of,
)
from core.readers.predictions.result import (
    Question,
    ReadChoice,
    ReadOptions,
    join_names,
    split_names,
    undecided,
)

# From which fractions are no accident, and a column without a repeated value holds no labels
MANY_ROWS = 20
REMEDY = "name the columns of scores with --scores-key, as a list with commas"


def pick_scores(columns: Mapping[str, Entry], classes: set[str]) -> tuple[list[str], bool]:
    """Return the columns of scores, and whether their names show that they belong together.

    Columns hold numbers without another role; one with a bad cell is text. `classes` are names that
    the labels tell, in folded case.

    Raises Refused AMBIGUOUS_KEYS: some column may be no score.
    """
    names = list(columns)
    called = [name for name in names if name.strip().casefold() in classes]
    alike: dict[str, list[str]] = {}  # by one beginning up to a separator
    numbered: dict[str, dict[int, str]] = {}  # by what stands before their numbers
    for name in names:
        start = re.match(r"[^_\-.:]+[_\-.:]", name)
        if start:
            alike.setdefault(start[0], []).append(name)
        end = re.fullmatch(r"(.*?)(\d{1,9})", name.strip())
        if end:
            numbered.setdefault(end[1], {})[int(end[2])] = name
    # With all the numbers from 0, or from 1.
    counted = [
        list(by_number.values())
        for by_number in numbered.values()
        if sorted(by_number) in (list(range(len(by_number))), list(range(1, len(by_number) + 1)))
    ]
    # A family of names: numbered from 0 or 1 without a gap,
    # called like classes, or with one beginning.
    families = [f for f in (*counted, called, *alike.values()) if len(f) > 1]
    named = any(len(family) == len(names) for family in families) or called == names
    if named or sum_to_one(columns, names):
        return names, named
    for family in families:
        rest = [name for name in names if name not in family]
        if counted == [family] or _rest_differs(columns, family, rest):
            return family, True
    if families:
        what = f"Scores may be {listed(families[0])}, or all of {listed(names)}"
        raise ambiguous(what, REMEDY)
    if not any(is_text(e) or not np.isfinite(e).all() for e in columns.values()):
        sole = [name for name in names if not is_whole(columns[name])]
        if len(sole) == 1 and _in_unit(columns[sole[0]]) and len(columns[sole[0]]) >= MANY_ROWS:
            return sole, False  # beside whole numbers: answers, counts, names of rows
        for name in names:
            others = [other for other in names if other != name]
            if others and _rest_differs(columns, others, [name]):
                what = f"{name} is unlike the other columns of numbers ({listed(others)})"
                raise ambiguous(what, REMEDY)
    return names, False


def _rest_differs(columns: Mapping[str, Entry], family: list[str], rest: list[str]) -> bool:
    """Whether the values, too, say that the rest is something else."""
    if any(is_text(columns[name]) for name in family):
        return False
    others = [columns[name] for name in rest if not is_text(columns[name])]
    if all(entry.dtype.kind in "biu" for entry in others):
        return any(columns[name].dtype.kind == "f" for name in family)
    if sum_to_one(columns, family):
        return True
    return all(_in_unit(columns[n]) for n in family) and not any(_in_unit(e) for e in others)


def _in_unit(entry: Entry) -> bool:
    return bool(entry.size and entry.min() >= 0 and entry.max() <= 1)


def last_that_sum_to_one(columns: Mapping[str, Entry]) -> list[str]:
    """Return the last columns that sum to one, behind the features that a batch was made from."""
    names = list(columns)
    blocks = (names[start:] for start in range(len(names) - 1))
    return next((block for block in blocks if sum_to_one(columns, block)), [])


def last_of_fractions(columns: Mapping[str, Entry]) -> list[str]:
    """Return the last column if it alone holds fractions, behind those of a batch's features."""
    numbers = {n: e for n, e in columns.items() if not is_text(e)}
    unit = [n for n, e in numbers.items() if e.dtype.kind == "f" and e.size and _in_unit(e)]
    alone = len(unit) == 1 and unit == list(columns)[-1:] and len(columns) > 2
    return unit if alone and numbers[unit[0]].size >= MANY_ROWS else []


def sum_to_one(columns: Mapping[str, Entry], names: list[str]) -> bool:
    """Return whether columns sum to one in every row, within the rounding of few digits."""
    if len(names) < 2 or any(is_text(columns[n]) or not _in_unit(columns[n]) for n in names):
        return False
    total = np.zeros(len(columns[names[0]]))
    for name in names:
        total += columns[name].astype(np.float64)
    return bool(np.all(np.abs(total - 1.0) <= min(0.05, 0.002 + 0.0005 * len(names))))


class TableColumns:
    """Columns with their roles, which begin as names, choices and values suggest."""

    def __init__(self, contents: Contents, options: ReadOptions, classes: set[str]) -> None:
        self.contents = contents
        self.entries = contents.entries
        self.notices: list[Notice] = []
        self.aside = chosen_roles(contents, options)
        text = {n: e for n, e in self.entries.items() if is_text(e) and n not in self.aside}
        self.classes = classes.union(*(words_in(e) for e in text.values()))
        self.broken = {n for n, e in text.items() if is_broken(n, e, self.classes)}
        self.named = []
        for name, entry in self.entries.items():
            # One of numbers with a bad cell among them counts as numbers.
            item = name_entry(name, NUMBERS if name in self.broken else entry)
            item = _by_values(contents, item)
            if item.role is Role.ASIDE and name.strip().casefold() in self.classes:
                item = NamedEntry(name, Role.UNUSED)  # a class may be called like no score
            self.named.append(item)
        self.options = options
        self.guesses: list[Question] = []
        self.listed: dict[Role, list[str]] = {}
        for name, aside in self.aside.items():
            self.set_role([name], aside)
        choices = (
            (options.scores_key, Role.SCORES, "--scores-key"),
            (options.labels_key, Role.LABELS, "--labels-key"),
            (options.correct_key, Role.CORRECT, "--correct-key"),
            (options.prediction_key, Role.PREDICTED, "--prediction-key"),
            (options.id_column, Role.IDS, "--id-column"),
        )
        for key, role, option in choices:
            if key is not None:
                several = role in (Role.SCORES, Role.LABELS)
                chosen = self._match(key, option, several=several)
                if role is Role.SCORES:  # a confidence stays one, and no other competes
                    confident = self.of(Role.CONFIDENCE)
                    self.set_role([*self.of(role), *confident], Role.UNUSED)
                    role = Role.CONFIDENCE if chosen[0] in confident and len(chosen) == 1 else role
                self.set_role(self.of(role), Role.UNUSED)
                self.set_role(chosen, role)
                self.listed[role] = chosen

    def of(self, *roles: Role) -> list[str]:
        """Names of the columns with a role, in the order of the file or of the user's list."""
        names = [item.name for item in self.named if item.role in roles]
        order = [name for role in roles for name in self.listed.get(role, [])]
        return [n for n in order if n in names] + [n for n in names if n not in order]

    def set_role(self, names: list[str], role: Role) -> None:
        """Give columns another role."""
        some = set(names)
        self.named = [replace(i, role=role) if i.name in some else i for i in self.named]

    def numbers(self) -> list[str]:
        """Names of the unused columns of numbers."""
        unused = self.of(Role.UNUSED)
        flat = [n for n in unused if self.entries[n].ndim == 1]
        return [n for n in flat if n in self.broken or not is_text(self.entries[n])]

    def _match(self, key: str, option: str, *, several: bool) -> list[str]:
        names = list(self.entries)
        if key in names:
            return [key]
        keys = split_names(key)
        if several and all(part in names for part in keys):
            return keys
        begins = [name for name in names if name.startswith(key)]
        if several and begins and key:
            return begins
        raise ambiguous(
            f"{option} names {key!r}, which is not there", f"use one of {listed(names)}"
        )


def _is_option(contents: Contents, entry: Entry) -> bool:
    """Whether C or I in every row, under the name of correctness, is the right one of options."""
    letters = set(entry.tolist())
    flat = {n: e for n, e in contents.entries.items() if is_text(e) and e.ndim == 1}
    answers = [e for n, e in flat.items() if name_entry(n, e).role is Role.PREDICTED]
    single = (all(len(str(cell).strip()) < 2 for cell in e.tolist()) for e in answers)
    return len(letters) == 1 and letters <= {"C", "I", "c", "i"} and any(single)


def _of_cleanlab(contents: Contents, name: str) -> bool:
    """Whether a column says how likely a given label is, which stands beside it."""
    entry = contents.entries[name]
    if QUALITY.fullmatch(name):
        fits = entry.dtype.kind == "f" and bool(entry.min() >= 0 and entry.max() <= 1)
    elif ISSUE.fullmatch(name) and truths(entry) is not None:
        fits = any(n.endswith("_score") or QUALITY.fullmatch(n) for n in contents.entries)
    else:
        return False
    others = {n for n in contents.entries if not QUALITY.fullmatch(n) and not ISSUE.fullmatch(n)}
    roles = {name_entry(n, contents.entries[n]).role for n in others}
    return fits and Role.LABELS in roles


def _by_values(contents: Contents, item: NamedEntry) -> NamedEntry:
    """Columns may be called like anything: a role needs a name, and labels whole values."""
    entry = contents.entries[item.name]
    if not contents.headed:
        return NamedEntry(item.name, Role.UNUSED, None, item.split)
    if item.role is Role.CORRECT and is_text(entry) and _is_option(contents, entry):
        return NamedEntry(item.name, Role.LABELS)
    judged = f"is_{item.name.removesuffix('_score')}_issue" in contents.entries
    if (item.name.endswith("_score") and judged) or _of_cleanlab(contents, item.name):
        return NamedEntry(item.name, Role.ASIDE)
    plain = set(words_of(item.name)) <= LABELS | CLASS_WORDS | IDS | set(SPLITS)
    if item.role is Role.LABELS and not plain and not is_text(entry) and not is_whole(entry):
        return NamedEntry(item.name, Role.UNUSED, None, item.split)
    return item


TAKEN = (Role.SCORES, Role.LABELS, Role.CORRECT, Role.GROUP, Role.WEIGHT)
NO_MODEL = {"max", "maximum", "top", "1", "model", "stated", "verbal", "verbalized", "id", "label"}
TRUTHS = {"gold", "true", "truth", "target", "actual", "expected", "reference", "gt"}
REPLIES = {"response", "reply", "completion", "output"}  # of text, beside a confidence
MOST_OFFERED = 6  # columns of labels
NEARLY_ALL = 0.95  # of rows
NO_LABELS = "give a second file with --labels, or name the column with --labels-key"


def find_index(columns: TableColumns) -> None:
    """Set aside a column that counts the rows; one of other numbers, each once, names them."""
    for place, (name, entry) in enumerate(columns.entries.items()):
        item = columns.named[place]
        taken = item.role in TAKEN or entry.ndim != 1
        called = columns.contents.headed and name.strip().lower() in INDEX_NAMES
        first = place == 0 and not columns.contents.headed
        if taken or is_text(entry) or entry.dtype.kind not in "iu" or not (called or first):
            continue
        if called or entry.size > 2:
            steps = entry.astype(np.int64) - np.arange(entry.size)
            if entry.size > 0 and steps.min() == steps.max() and int(steps[0]) in (0, 1):
                columns.set_role([name], Role.INDEX)
                which = "first column" if name == next(iter(columns.entries)) else "column"
                text = f"the {which} ({name or 'without a name'}) numbers the rows and was left out"
                columns.notices.append(Notice(NoticeCode.INDEX_COLUMN, text))
            elif called:
                unique = np.unique(entry).size == entry.size
                columns.set_role([name], Role.IDS if unique else Role.UNUSED)


def find_ids(columns: TableColumns) -> None:
    """Resolve which column names the rows: one that is called so, or text that never repeats."""
    ids = columns.of(Role.IDS)
    if len(ids) > 1:
        cells = {n: id_text(columns.entries[n]).tolist() for n in ids if n not in columns.aside}
        sole = [n for n, some in cells.items() if len(set(some)) == len(some)]
        kept = columns.listed.get(Role.IDS) or sole[:1] or ids[:1]
        columns.set_role([n for n in ids if n not in kept], Role.UNUSED)
    if ids:
        return
    text = [n for n in columns.of(Role.UNUSED) if is_text(columns.entries[n])]
    text += columns.of(Role.DATE)
    for name in (n for n in text if n not in columns.broken):
        values = columns.entries[name].tolist()
        if columns.entries[name].ndim == 1 and len(set(values)) == len(values) > 1:
            columns.set_role([name], Role.IDS)
            shown = name or "the column without a name"
            columns.notices.append(Notice(NoticeCode.KEYS_GUESSED, f"rows named by {shown}"))
            return


def refuse_long(columns: TableColumns) -> None:
    """Refuse a table with several rows for each name: one for each class, or for each model."""
    text = [n for n in columns.of(Role.UNUSED, Role.DATE) if is_text(columns.entries[n])]
    rest = [n for n in columns.entries if n not in columns.aside]
    by_columns = [n for n in rest if words_of(n) and set(words_of(n)) <= ROW_FOR_EACH]
    names = [n for n in (*columns.of(Role.IDS)[:1], *text) if n not in by_columns]
    for name, by in product(names, by_columns):
        rows, values = (id_text(columns.entries[n]).tolist() for n in (name, by))
        counts = len(set(rows)), len(set(values))
        if min(counts) < 2 or counts[0] * counts[1] != len(rows):
            continue
        if len(set(zip(rows, values, strict=True))) == len(rows):
            what = f"There are {counts[1]} rows for each {name}, one for each {by}"
            remedy = f"keep the rows of one {by}, or give each a column of its own"
            raise Refused("AMBIGUOUS_KEYS", what, remedy)


def find_split(columns: TableColumns) -> None:
    """Take a column that holds nothing but train, val, test and the like for that of the parts."""
    if columns.of(Role.SPLIT):
        return
    for item in columns.named:
        entry = columns.entries[item.name]
        if item.role is Role.UNUSED and is_text(entry) and entry.ndim == 1:
            words = {str(cell).strip().lower() for cell in entry.tolist()}
            if len(words) > 1 and words <= set(SPLITS):
                columns.set_role([item.name], Role.SPLIT)
                return


def resolve_answers(columns: TableColumns) -> None:
    """Let no score be paired with another model's answers: XGBoost_Confidence, Forest_Pred.

    Raises Refused UNDECIDED: several models, each with scores and answers. AMBIGUOUS_KEYS: a
    confidence, and answers of others alone.
    """
    scores = columns.of(Role.CONFIDENCE, Role.SCORES)
    answers = columns.of(Role.PREDICTED)
    if not scores or not answers or columns.listed.get(Role.PREDICTED):
        return
    labels = columns.of(Role.LABELS)
    named = columns.listed.get(Role.SCORES, [])
    if len(named) == len(labels) == 1 and Role.LABELS in columns.listed:
        # Scores of one class, some below one half as no confidence is, need no answers.
        entry, truth = columns.entries[named[0]], columns.entries[labels[0]]
        if is_unit_list(entry) and below_half(entry) and len(set(id_text(truth).tolist())) < 3:
            columns.set_role(answers, Role.UNUSED)
            return
    # Answers and scores pair by what their names share beside the words for score and answer.
    by_model = {_model(n): n for n in answers if _model(n)}
    pairs = {_model(n): (n, by_model[_model(n)]) for n in scores if _model(n) in by_model}
    if len(pairs) > 1 and len(labels) == 1 and not sum_to_one(columns.entries, scores):
        raise undecided(
            f"Scores and answers of {len(pairs)} models: {listed([n for n, _ in pairs.values()])}",
            *(
                ReadChoice(f"scores of {n}", {"scores_key": n, "prediction_key": answer}, n)
                for n, answer in pairs.values()
            ),
        )
    own = _model(scores[0])
    if len(scores) > 1 or not own or scores != columns.of(Role.CONFIDENCE):
        return
    fitting = [n for n in answers if _model(n) == own] or [n for n in answers if not _model(n)]
    if not fitting:
        what = f"{scores[0]} is of another model than {listed(answers)}, as their names say"
        raise ambiguous(what, "name the answers with --prediction-key")
    columns.set_role([n for n in answers if n not in fitting], Role.UNUSED)


def _model(name: str) -> str:
    """Return what a column's name says beside score or answer: a model, in folded case."""
    words = [w.casefold() for w in bare_name(name).split()]
    return folded(bare_name(" ".join(w for w in words if w not in CONFIDENCE | NO_MODEL)))


def resolve_scores(columns: TableColumns, *, need_labels: bool) -> None:
    """Take several confidences, or fractions that are called labels, for scores of classes."""
    confidence = columns.of(Role.CONFIDENCE)
    if len(confidence) > 1 and not columns.of(Role.SCORES):
        columns.set_role(confidence, Role.SCORES)
    # Columns without which scores do not sum to one are scores: a class may be called p(x), or z.
    named, free = columns.of(Role.SCORES), columns.numbers()
    flat = all(columns.entries[n].ndim == 1 for n in named)
    if flat and not columns.listed.get(Role.SCORES) and not sum_to_one(columns.entries, named):
        aside = [n for n in columns.of(Role.ASIDE) if n not in columns.aside]
        for some, rest in ((named, free), ([*named, *free], aside)):
            more = [n for n in rest if is_unit_list(columns.entries[n])]
            if some and more and sum_to_one(columns.entries, some + more):
                columns.set_role(some + more, Role.SCORES)
                break
    labels = columns.of(Role.LABELS)
    fractions = [n for n in labels if is_unit_list(columns.entries[n])]
    fractions = [n for n in fractions if not is_whole(columns.entries[n])]
    if not need_labels and not columns.of(Role.SCORES) and fractions == labels:
        columns.set_role(fractions, Role.SCORES)
    # `label` can be the truth, or what the model chose: another column of truth decides.
    if need_labels:
        _resolve_label_as_answer(columns)
        labels = columns.of(Role.LABELS)
    plain = [name for name in labels if set(words_of(name)) & LABELS]
    if 0 < len(plain) < len(labels):  # gold beside category
        columns.set_role([name for name in labels if name not in plain], Role.UNUSED)
    _resolve_doubles(columns)
    answers = columns.of(Role.PREDICTED)
    sole = [n for n in answers if words_of(n) in (["answer"], ["response"])]
    if need_labels and not labels and len(answers) == 2 and len(sole) == 1:
        columns.set_role(sole, Role.LABELS)  # the answer beside a prediction is the true one
    replied = any(n.startswith(COMPLETION) for n in columns.of(Role.SCORES))
    if need_labels and not labels and replied and _possible_truth(columns):
        columns.set_role(answers, Role.LABELS)  # what the model answered stands in its reply
        columns.notices.append(Notice(NoticeCode.KEYS_GUESSED, f"labels from {answers[0]}"))
    for name in labels:  # the positive class, said in every row
        entry = columns.entries[name]
        if entry.ndim != 1 or entry.size < MANY_ROWS or set(words_of(name)) & LABELS:
            continue
        called = is_text(entry) or "positive" in words_of(name)
        if called and len(set(entry.tolist())) == 1:
            columns.set_role([name], Role.UNUSED)


def _resolve_label_as_answer(columns: TableColumns) -> None:
    """Take `label` for the answer beside one score and the truth, `response` by a confidence."""
    entries, labels = columns.entries, columns.of(Role.LABELS)
    texts = [n for n, e in entries.items() if is_text(e) and e.ndim == 1]
    replies = [n for n in texts if set(words_of(n)) & REPLIES]
    called = [n for n in texts if words_of(n) == ["label"]]
    truth = columns.listed.get(Role.LABELS) or [n for n in labels if set(words_of(n)) & TRUTHS]
    truth = [n for n in truth if n in entries]
    judged = columns.of(Role.CORRECT, Role.PREDICTED)
    if len(replies) == len(labels) == len(columns.of(Role.CONFIDENCE)) == 1 and not judged:
        known = _share_of_labels(entries[replies[0]], entries[labels[0]])
        of_model = set(words_of(labels[0])) & (TRUTHS | {"label", "labels"})
        several = len(set(entries[labels[0]].ravel().tolist())) > 2  # no patient's outcome
        if known >= NEARLY_ALL and (of_model or several):
            columns.set_role(replies, Role.PREDICTED)
            text = f"answers from {replies[0]}"
            wrong = round((1.0 - known) * entries[replies[0]].size)
            text += f"; those that name no label count as wrong ({counted(wrong, 'row')})" * (
                wrong > 0
            )
            columns.notices.append(Notice(NoticeCode.KEYS_GUESSED, text))
    one_score = len(columns.of(Role.SCORES, Role.CONFIDENCE)) == 1
    if not (one_score and len(truth) == len(called) == 1) or columns.of(Role.PREDICTED):
        return
    if truth != called and _share_of_labels(entries[called[0]], entries[truth[0]]) == 1.0:
        columns.set_role(called, Role.PREDICTED)


def _possible_truth(columns: TableColumns) -> list[str]:
    """Return `answer` beside scores of all classes if it is not the likeliest one throughout."""
    answers, scores = columns.of(Role.PREDICTED), columns.of(Role.SCORES)
    scores = scores or [n for n in columns.of(Role.UNUSED) if columns.entries[n].ndim == 2]
    called = [n for n in answers if n.rpartition(".")[2].casefold() == "answer"]
    own = columns.of(Role.CORRECT) or Role.PREDICTED in columns.listed
    if own or not scores or len(called) != 1 or called != answers:
        return []
    tables, answer = [columns.entries[n] for n in scores], columns.entries[called[0]]
    if answer.ndim != 1 or (len(tables) > 1 and any(entry.ndim != 1 for entry in tables)):
        return []
    table = tables[0] if len(tables) == 1 else np.column_stack(tables)
    if is_text(table) or table.ndim != 2 or table.shape[1] < 2:
        return []
    words, likeliest = id_text(answer).tolist(), table.argmax(axis=1).tolist()
    one_to_one = len({*zip(words, likeliest, strict=True)}) == len(set(words))
    return called if len(set(words)) <= table.shape[1] and not one_to_one else []


def _share_of_labels(answers: Entry, labels: Entry) -> float:
    """Return the share of answers that are labels; 0 where they are the labels in other words."""
    if labels.shape != answers.shape or not labels.size:
        return 0.0
    if not is_text(labels) and not is_whole(labels):
        return 0.0
    rows = Counter(zip(id_text(answers).tolist(), id_text(labels).tolist(), strict=True))
    mine, theirs = aligned([answer for answer, _ in rows], [label for _, label in rows])
    if mine == theirs and any(folded(answer) != folded(label) for answer, label in rows):
        return 0.0
    known = set(theirs)
    in_labels = (n for word, n in zip(mine, rows.values(), strict=True) if word in known)
    return sum(in_labels) / answers.size


def _resolve_doubles(columns: TableColumns) -> None:
    """Leave one of several columns of labels that say the same: numbers and names of classes."""
    labels = columns.of(Role.LABELS)
    if len(labels) < 2 or any(columns.entries[n].ndim != 1 for n in labels):
        return
    cells = [id_text(columns.entries[n]).tolist() for n in labels]
    counts = {len(set(column)) for column in cells}
    if len(counts) > 1 or len(set(zip(*cells, strict=True))) != counts.pop():
        return
    scores = columns.of(Role.SCORES)
    classes = {folded(name) for name in class_names(scores)}
    named = [
        n for n, column in zip(labels, cells, strict=True) if {folded(c) for c in column} <= classes
    ]
    remaining = (named or [n for n in labels if not is_text(columns.entries[n])] or labels)[0]
    if len(labels) != len(scores):
        columns.set_role([n for n in labels if n != remaining], Role.UNUSED)


def ask_parts(columns: TableColumns) -> None:
    """Ask which part is meant where columns of scores name several."""
    scored: dict[str, list[str]] = {}
    labels: dict[str, list[str]] = {}
    for item in columns.named:
        if item.split and item.role is Role.LABELS:
            labels.setdefault(item.split, []).append(item.name)
        elif item.split and item.role in (Role.SCORES, Role.UNUSED):
            scored.setdefault(item.split, []).append(item.name)
    parts = [split for split in scored if split in labels]
    if len(parts) > 1 and columns.options.scores_key is None:
        choices = []
        for split in parts:
            keys = {
                "scores_key": join_names(scored[split]),
                "labels_key": join_names(labels[split]),
            }
            choices.append(ReadChoice(f"the {split} part", keys))
        raise undecided(f"Columns hold several parts: {listed(parts)}", *choices)


def says_correctness(columns: TableColumns) -> bool:
    """Whether a column says if the answer was right, and none says what the truth was."""
    return bool(columns.of(Role.CORRECT)) and not columns.of(Role.LABELS)


def find_labels(columns: TableColumns) -> None:
    """Resolve which columns hold labels: by name, by their partners among the scores, by values.

    Raises Refused AMBIGUOUS_KEYS: none, or several.
    """
    if columns.of(Role.LABELS) or _find_paired(columns):
        return
    scores_named = columns.of(Role.SCORES) + columns.of(Role.CONFIDENCE)
    numbers = columns.numbers()
    numbers = [n for n in numbers if n.strip().casefold() not in SPLIT_COLUMNS]
    # How many classes columns without a name of scores may be of.
    wide = [e for n in columns.of(Role.UNUSED) if (e := columns.entries[n]).ndim == 2]
    if len(wide) == 1 and not is_text(wide[0]):
        classes = int(wide[0].shape[1])
    else:
        some = {} if columns.contents.headed else {n: columns.entries[n] for n in numbers}
        classes = len(last_that_sum_to_one(some)) or 2 * len(last_of_fractions(some))
    if classes:
        plain = [n for n in numbers if not is_text(columns.entries[n])]
        numbers = [n for n in plain if columns.entries[n].max() <= max(1, classes)]
    # Whole numbers of which some occur in several rows.
    cells = {n: columns.entries[n] for n in numbers if columns.entries[n].dtype.kind in "biu"}
    few = {n: e.size < MANY_ROWS or np.unique(e).size <= e.size / 2 for n, e in cells.items()}
    whole = [n for n in cells if few[n]]
    if not whole:  # np.savetxt writes labels as 0.0, 1.0, after or before the scores
        ends = dict.fromkeys([*numbers[-1:], *numbers[:1]])
        floats = [n for n in ends if columns.entries[n].dtype.kind == "f"]
        whole = [name for name in floats if _holds_whole(columns.entries[name])]
    others = [n for n in numbers if n not in whole]
    unused = {n: columns.entries[n] for n in columns.of(Role.UNUSED) if n not in numbers}
    text = [n for n, entry in unused.items() if is_text(entry) and entry.ndim == 1]
    others += [n for n, entry in unused.items() if not is_text(entry)]  # lists in cells
    candidates = whole if others or scores_named else []
    # The words of the answers, or the names of the scores, in a column of text.
    agreeing = _agreeing(columns, text)
    if len(agreeing) == 1:
        columns.set_role(agreeing, Role.LABELS)
        return
    if not candidates and (truth := _possible_truth(columns)):
        choice = ReadChoice(f"labels in {truth[0]}", {"labels_key": truth[0]})
        raise undecided(f"{truth[0]} may be the truth or what the model answered", choice)
    if not candidates and len(text) == 1:
        candidates = text
    if len(candidates) != 1 and not scores_named and numbers and others:
        edges = [n for n in (numbers[-1], numbers[0]) if n in whole]
        scored = [columns.entries[n] for n in others if is_unit_list(columns.entries[n])]
        last = columns.entries[(edges or numbers)[0]]
        side = len(scored) == 1 and last.size > MANY_ROWS and upper_answer(scored[0], last)
        if side and len(whole) > 1:  # the score's own answer, or the labels of a perfect model
            choices = [
                ReadChoice(f"labels in {n}", {"labels_key": n}) for n in whole[-MOST_OFFERED:]
            ]
            raise undecided(f"Labels may be {listed(whole)}", *choices)
        if len(whole) == 1 or numbers[-1] in whole:
            candidates = edges[:1]
    if len(candidates) != 1:
        what = "No column of labels was found"
        if columns.of(Role.PREDICTED):
            what += f" ({columns.of(Role.PREDICTED)[0]} was taken for the model's answer)"
        if candidates:
            what = f"Labels may be {listed(candidates)}"
        raise ambiguous(f"{what}; columns: {listed(list(columns.entries))}", NO_LABELS)
    columns.set_role(candidates, Role.LABELS)
    columns.notices.append(Notice(NoticeCode.KEYS_GUESSED, f"labels from {candidates[0]}"))
    if columns.contents.headed:
        choice = ReadChoice(f"labels in {candidates[0]}", {"labels_key": candidates[0]})
        columns.guesses.append(undecided(f"No name says that {candidates[0]} holds labels", choice))


def _agreeing(columns: TableColumns, text: list[str]) -> list[str]:
    """Return columns of text that hold the words of the answers, or the names of the scores."""
    entries = columns.entries
    answers = [n for n in columns.of(Role.PREDICTED) if is_text(entries[n])]
    given = [{folded(cell) for cell in entries[n].tolist()} for n in answers]
    words = given[0] if given and all(some == given[0] for some in given) else set()
    scores = columns.of(Role.SCORES) or [n for n in columns.numbers() if is_unit_list(entries[n])]
    names = {folded(name) for name in class_names(scores)} if len(scores) > 1 else set()
    cells = {name: {folded(cell) for cell in entries[name].tolist()} for name in text}
    return [n for n, h in cells.items() if len(h) > 1 and (h == words or (names and h <= names))]


def _holds_whole(entry: Entry) -> bool:
    return not is_text(entry) and is_whole(entry)


def _find_paired(columns: TableColumns) -> bool:
    """Take columns named like those of scores, but for the word that says scores: A_prob and A."""
    scores = columns.of(Role.SCORES)
    keys = [folded(without_score_word(name)) for name in scores]
    flat = {n: columns.entries[n] for n in columns.of(Role.UNUSED) if columns.entries[n].ndim == 1}
    free = {
        folded(n): n
        for n, e in flat.items()
        if (with_gaps(e) is not None if is_text(e) or np.isnan(e).any() else _holds_whole(e))
    }
    if not scores or len(set(keys)) < len(keys) or not set(keys) <= set(free):
        return False
    bare = [free[key] for key in keys]
    columns.set_role(bare, Role.LABELS)
    columns.notices.append(Notice(NoticeCode.KEYS_GUESSED, f"labels from {listed(bare)}"))
    return True


def find_named_scores(columns: TableColumns) -> None:
    """Take columns of fractions that are called like the labels for the scores of these."""
    labels = columns.of(Role.LABELS)
    if columns.of(Role.SCORES) or len(labels) != 1 or not is_text(columns.entries[labels[0]]):
        return
    words = {folded(cell) for cell in set(columns.entries[labels[0]].tolist())}
    free = [n for n in columns.numbers() if is_unit_list(columns.entries[n])]
    if len(free) > 1 and {folded(name) for name in class_names(free)} == words:
        columns.set_role(free, Role.SCORES)
