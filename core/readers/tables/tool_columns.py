"""Which columns hold what in tables of tools that name them by a rule of their own."""

import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from core.readers.formats.cells import words_in
from core.readers.formats.contents import id_text, is_text
from core.readers.predictions.names import folded
from core.readers.predictions.options import join_names
from core.readers.predictions.parts import listed
from core.readers.predictions.questions import ReadChoice, undecided
from core.readers.predictions.roles import Role
from core.readers.predictions.stated import is_unit_list
from core.readers.tables.table_columns import TableColumns

DATAROBOT = "_PREDICTION"


def settle_tools(columns: TableColumns, classes: set[str]) -> None:
    """Settle roles in tables of timm, DataRobot and Orange; `classes` are those of the labels.

    Raises
    ------
    Question
        UNDECIDED: Orange wrote scores and answers of several models.
    """
    _settle_timm(columns, classes)
    models = dict(_named_by_answer(columns))
    chosen = {name for names in columns.listed.values() for name in names}
    columns.set_role([name for name in models if name not in chosen], Role.PREDICTED)
    if columns.listed:
        return
    _settle_datarobot(columns)
    if len(models) > 1:
        raise undecided(
            f"Scores and answers of {len(models)} models: {listed(list(models))}",
            *(
                ReadChoice(
                    f"scores of {name}",
                    {"scores_key": join_names(some), "prediction_key": name},
                    name,
                )
                for name, some in models.items()
            ),
        )
    for scores in models.values():
        columns.set_role(scores, Role.SCORES)


def _settle_datarobot(columns: TableColumns) -> None:
    """churn_yes_PREDICTION, ... and churn_PREDICTION: scores and the answer; churn is the truth."""
    names = [n for n in columns.entries if n.endswith(DATAROBOT)]
    for answer in names:
        target = answer.removesuffix(DATAROBOT)
        scores = [n for n in names if n != answer]
        if not scores or not all(n.startswith(f"{target}_") for n in scores):
            continue
        if target in columns.entries:
            columns.set_role(columns.of(Role.LABELS), Role.UNUSED)
            columns.set_role([target], Role.LABELS)
        columns.set_role([answer], Role.PREDICTED)
        columns.set_role(scores, Role.SCORES)
        return


def _named_by_answer(columns: TableColumns) -> Iterator[tuple[str, list[str]]]:
    """Yield Forest, a column of answers, with Forest (cat) and Forest (dog), as Orange writes."""
    for name in columns.of(Role.UNUSED, Role.LABELS, Role.PREDICTED):
        entry = columns.entries[name]
        if not is_text(entry) or entry.ndim != 1:
            continue
        cuts = {n: re.fullmatch(re.escape(name) + r" \((.+)\)", n) for n in columns.entries}
        scores = {n: folded(cut[1]) for n, cut in cuts.items() if cut}
        numbers = all(is_unit_list(columns.entries[n]) for n in scores)
        words = {folded(cell) for cell in entry.tolist()}
        if len(scores) > 1 and numbers and words <= set(scores.values()):
            yield name, list(scores)


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
