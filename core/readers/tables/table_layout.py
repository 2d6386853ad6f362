"""Columns of a table as parts: ids, row numbers, labels, scores and the split column."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np

from core.arrays import Bool
from core.codes import NoticeCode
from core.errors import Notice
from core.readers.formats.cells import MISSING, words_in
from core.readers.formats.contents import Contents, Entry, id_text, is_text, text_array
from core.readers.formats.encoding import is_number
from core.readers.predictions.names import folded
from core.readers.predictions.options import ReadChoice, ReadOptions, join_names, undecided
from core.readers.predictions.parts import DEFAULT_SPLIT, FileLayout, SplitArrays, listed
from core.readers.predictions.result import SPLIT_NAME
from core.readers.predictions.roles import SPLITS, Role, correctness
from core.readers.predictions.stated_confidence import is_unit_list
from core.readers.tables.table_columns import TableColumns
from core.readers.tables.table_roles import (
    ask_parts,
    find_ids,
    find_index,
    find_labels,
    find_named_scores,
    find_split,
    refuse_long,
    says_correctness,
    settle_answers,
    settle_scores,
)
from core.readers.tables.table_scores import scored_part, stated_column, stated_part

DATAROBOT = "_PREDICTION"


def settle_tools(columns: TableColumns, classes: set[str]) -> None:
    """Settle roles in tables of timm, DataRobot and Orange; `classes` are those of the labels.

    Raises
    ------
    Question
        UNDECIDED: Orange wrote scores and answers of several models.
    """
    _settle_timm(columns, classes)
    # Forest, a column of answers, with Forest (cat) and Forest (dog), as Orange writes
    models: dict[str, list[str]] = {}
    for name in columns.of(Role.UNUSED, Role.LABELS, Role.PREDICTED):
        entry = columns.entries[name]
        if not is_text(entry) or entry.ndim != 1:
            continue
        cuts = {n: re.fullmatch(re.escape(name) + r" \((.+)\)", n) for n in columns.entries}
        named = {n: folded(cut[1]) for n, cut in cuts.items() if cut}
        numbers = all(is_unit_list(columns.entries[n]) for n in named)
        words = {folded(cell) for cell in entry.tolist()}
        if len(named) > 1 and numbers and words <= set(named.values()):
            models[name] = list(named)
    chosen = {name for names in columns.listed.values() for name in names}
    columns.set_role([name for name in models if name not in chosen], Role.PREDICTED)
    if columns.listed:
        return
    # churn_yes_PREDICTION, ... and churn_PREDICTION of DataRobot: the answer; churn is the truth
    predictions = [n for n in columns.entries if n.endswith(DATAROBOT)]
    for answer in predictions:
        target = answer.removesuffix(DATAROBOT)
        scores = [n for n in predictions if n != answer]
        if not scores or not all(n.startswith(f"{target}_") for n in scores):
            continue
        if target in columns.entries:
            columns.set_role(columns.of(Role.LABELS), Role.UNUSED)
            columns.set_role([target], Role.LABELS)
        columns.set_role([answer], Role.PREDICTED)
        columns.set_role(scores, Role.SCORES)
        break
    _settle_sas(columns)
    if len(models) > 1:
        choices = [
            ReadChoice(f"scores of {n}", {"scores_key": join_names(some), "prediction_key": n}, n)
            for n, some in models.items()
        ]
        what = f"Scores and answers of {len(models)} models: {listed(list(models))}"
        raise undecided(what, *choices)
    for scores in models.values():
        columns.set_role(scores, Role.SCORES)


def _settle_sas(columns: TableColumns) -> None:
    """F_died, I_died, P_died1, P_died0: from, into and probabilities of SAS Enterprise Miner."""
    truths = {n[2:].casefold(): n for n in columns.entries if n.startswith("F_")}
    for target, truth in truths.items():
        levels = {folded(cell) for cell in id_text(columns.entries[truth]).tolist()}
        levels = {f"p_{target}{level}" for level in levels}
        called = [n for n in columns.entries if n.casefold().startswith(f"p_{target}")]
        other = [t for t in truths if t.startswith(target) and t != target]
        called = [n for n in called if not n[2:].casefold().startswith(tuple(other))]
        named = [n for n in called if folded(n) in {folded(level) for level in levels}]
        scores = named if len(named) > 1 else called
        into = [n for n in columns.entries if n.casefold() in (f"i_{target}", f"u_{target}")]
        if len(scores) > 1 and into:
            taken = columns.of(Role.SCORES, Role.LABELS, Role.PREDICTED)
            columns.set_role(taken, Role.UNUSED)
            columns.set_role([truth], Role.LABELS)
            columns.set_role(into, Role.PREDICTED)
            columns.set_role(scores, Role.SCORES)
            return


def _settle_timm(columns: TableColumns, classes: set[str]) -> None:
    """Timm's inference lists filename, label or index, and score: that label is the answer.

    Both name the same answer; `classes`, those of the labels, say which of them does it alike.
    Of several ranks, label_0 and prob_0 are the answer and its confidence.
    """
    ranked: dict[str, list[str]] = {}
    for name in columns.entries:
        stem = re.fullmatch(r"(?i)(index|label|class|prob|score)_?(\d)", name)
        if stem and int(stem[2]) == len(ranked.get(stem[1].lower(), [])):
            ranked.setdefault(stem[1].lower(), []).append(name)
    sure = next((names for stem, names in ranked.items() if stem in ("prob", "score")), [])
    by_rank = [names for stem, names in ranked.items() if stem not in ("prob", "score")]
    numbers = [columns.entries[n] for n in sure if not is_text(columns.entries[n])]
    flat = [np.asarray(entry.astype(np.float64)) for entry in numbers]
    falls = all(bool(np.all(a >= b)) for a, b in pairwise(flat))
    if (
        1 < len(flat) == len(sure)
        and falls
        and by_rank
        and all(len(n) == len(sure) for n in by_rank)
    ):
        columns.set_role([n for names in (sure, *by_rank) for n in names], Role.UNUSED)
        columns.set_role(sure[:1], Role.CONFIDENCE)
        columns.set_role(by_rank[-1][:1], Role.PREDICTED)
        return
    names = {name.lower() for name in columns.entries}
    if "filename" not in names or not names <= {"filename", "index", "label", "prob", "logit"}:
        return
    answers = [n for n in columns.entries if n.lower() in ("index", "label")]
    if answers and len(names & {"prob", "logit"}) == 1:
        answers.sort(key=lambda n: not words_in(id_text(columns.entries[n])) & classes)
        columns.set_role(answers[:1], Role.PREDICTED)
        columns.set_role(answers[1:], Role.UNUSED)
        columns.set_role([n for n in columns.entries if n.lower() in ("prob",)], Role.CONFIDENCE)


MAX_PARTS = 12


def lay_out_table(
    contents: Contents, options: ReadOptions, *, need_labels: bool, classes: set[str]
) -> FileLayout:
    """Return the parts of a table.

    `need_labels` says that no second file brings the labels; `classes` are names that such a file
    gives to classes, in folded case.

    Raises
    ------
    Refused
        AMBIGUOUS_KEYS or CSV_COLUMNS: no scores, no labels, or several of them.
    """
    columns = TableColumns(contents, options, classes)
    answered = _answered(columns)
    if answered is not None:
        rows, contents = answered
        layout = lay_out_table(contents, options, need_labels=need_labels, classes=classes)
        text = f"{len(rows) - int(rows.sum())} of {len(rows)} rows hold neither answer nor"
        text += " confidence: wrong answers, but without a claim to audit, so left out"
        return replace(
            layout,
            parts=tuple(
                p.take(p.split, np.flatnonzero(rows if p.rows is None else rows[p.rows]))
                for p in layout.parts
            ),
            notices=(Notice(NoticeCode.UNANSWERED, text), *layout.notices),
        )
    find_index(columns)
    find_ids(columns)
    refuse_long(columns)
    find_split(columns)
    settle_tools(columns, classes)
    settle_answers(columns)
    settle_scores(columns, need_labels=need_labels)
    ask_parts(columns)
    if need_labels and not (says_correctness(columns) and stated_column(columns)):
        find_labels(columns)
    find_named_scores(columns)
    labels, ids = columns.of(Role.LABELS), columns.of(Role.IDS)
    part = SplitArrays(
        DEFAULT_SPLIT,
        np.empty(0),
        "",
        columns.contents,
        ids=id_text(columns.entries[ids[0]]) if ids else None,
    )
    stated = stated_column(columns)
    if stated is None:
        part = scored_part(columns, part, labels)
    else:
        part = replace(part, scores=columns.entries[stated], scores_name=stated)
        part = stated_part(columns, part, labels)
    parts = _by_split(columns, replace(part, guesses=tuple(columns.guesses)))
    roles = {item.name: str(item.role) for item in columns.named}
    unused = [i.name for i in columns.named if i.role in (Role.UNUSED, Role.ASIDE)]
    if unused:
        columns.notices.append(Notice(NoticeCode.KEYS_GUESSED, f"not used: {listed(unused)}"))
    return FileLayout(parts, roles, tuple(columns.notices))


def _answered(columns: TableColumns) -> tuple[Bool, Contents] | None:
    """Return which rows hold an answer or a confidence, where some lack both; else None.

    In the contents 0.5 stands for each confidence that is missing.
    """
    sure, answers = columns.of(Role.CONFIDENCE), columns.of(Role.PREDICTED)
    if len(sure) != 1 or len(answers) != 1:
        return None
    entry, cells = columns.entries[sure[0]], _cells(columns.entries[answers[0]])
    if entry.ndim != 1 or entry.dtype.kind not in "fO":
        return None
    stated = _cells(entry)
    blank = np.array([not cell for cell in stated])
    if not blank.any() or blank.all() or any(c for c, b in zip(cells, blank, strict=True) if b):
        return None
    for name in columns.of(Role.CORRECT):  # right without an answer: it was not written down
        right = correctness(name, columns.entries[name])
        if right is not None and right[blank].any():
            return None
    stated = [cell or "0.5" for cell in stated]
    if not all(is_number(cell) for cell in stated):
        return None
    numbers = np.array([float(cell) for cell in stated])
    texts = text_array(cells) if "" in cells else columns.entries[answers[0]]
    entries = {**columns.entries, sure[0]: numbers, answers[0]: texts}
    return ~blank, replace(columns.contents, entries=entries)


def _cells(entry: Entry) -> list[str]:
    """Return cells as text; what is missing is empty."""
    cells = [str(cell).strip() for cell in id_text(entry).tolist()]
    return ["" if cell.casefold() in MISSING else cell for cell in cells]


def _by_split(columns: TableColumns, part: SplitArrays) -> tuple[SplitArrays, ...]:
    for name in columns.of(Role.SPLIT):
        words = [str(v).strip() for v in columns.entries[name].tolist()]
        names = {word: SPLITS.get(word.lower().replace(" ", ""), word) for word in words}
        if len(set(names.values())) < len(names):  # dev beside val: two parts, not one
            names = {word: word for word in words}
        names = {word: re.sub(r"[^\w-]+", "-", name) for word, name in names.items()}
        if not 0 < len(names) <= MAX_PARTS or not all(
            SPLIT_NAME.fullmatch(n) for n in names.values()
        ):
            continue  # too many for parts
        if name.lower() == "fold" and not set(names.values()) & {"train", "val", "test"}:
            continue  # folds of a cross-validation: every row was left out once
        which = np.array([names[word] for word in words])
        order = [s for s in ("train", "val", "test") if s in names.values()]
        order += [s for s in dict.fromkeys(names.values()) if s not in order]
        return tuple(part.take(s, np.flatnonzero(which == s)) for s in order)
    return (part,)
