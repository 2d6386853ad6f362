"""Which columns of a table name rows and parts, and which hold labels."""

from collections import Counter
from itertools import product

import numpy as np

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.contents import Entry, id_text, is_text, is_whole
from core.readers.formats.scored_lists import COMPLETION
from core.readers.predictions.labels import with_gaps
from core.readers.predictions.names import (
    aligned,
    bare_name,
    class_names,
    folded,
    without_score_word,
)
from core.readers.predictions.parts import (
    CONFIDENCE,
    INDEX_NAMES,
    LABELS,
    ROW_FOR_EACH,
    SPLIT_COLUMNS,
    SPLITS,
    Role,
    ambiguous,
    counted,
    listed,
    words_of,
)
from core.readers.predictions.result import ReadChoice, join_names, undecided
from core.readers.predictions.stated_confidence import below_half, is_unit_list, upper_answer
from core.readers.tables.table_columns import (
    TableColumns,
    last_of_fractions,
    last_that_sum_to_one,
    sum_to_one,
)

TAKEN = (Role.SCORES, Role.LABELS, Role.CORRECT, Role.GROUP, Role.WEIGHT)
NO_MODEL = {"max", "maximum", "top", "1", "model", "stated", "verbal", "verbalized", "id", "label"}
TRUTHS = {"gold", "true", "truth", "target", "actual", "expected", "reference", "gt"}
REPLIES = {"response", "reply", "completion", "output"}  # of text, beside a confidence
MOST_ASKED = 6  # columns of labels
NEARLY_ALL = 0.95  # of rows
MANY_ROWS = 20  # from which a column without a repeated value holds no labels
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
    """Settle which column names the rows: one that is called so, or text that never repeats."""
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


def settle_answers(columns: TableColumns) -> None:
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


def settle_scores(columns: TableColumns, *, need_labels: bool) -> None:
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
    if need_labels:
        _settle_label_as_answer(columns)
        labels = columns.of(Role.LABELS)
    plain = [name for name in labels if set(words_of(name)) & LABELS]
    if 0 < len(plain) < len(labels):  # gold beside category
        columns.set_role([name for name in labels if name not in plain], Role.UNUSED)
    _settle_doubles(columns)
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


def _settle_label_as_answer(columns: TableColumns) -> None:
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


def _settle_doubles(columns: TableColumns) -> None:
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
    """Settle which columns hold labels: by name, by their partners among the scores, by values.

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
            choices = [ReadChoice(f"labels in {n}", {"labels_key": n}) for n in whole[-MOST_ASKED:]]
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
