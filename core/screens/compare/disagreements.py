"""Rows that runs answer differently, as a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.arrays import Int
from core.screens.kit.numbers import count, percent
from core.screens.kit.records import Cell, Column, Table
from core.screens.kit.row_noun import with_row_noun
from core.screens.kit.run_marks import RunMark
from core.studies.comparison import Answers, disagreements

LISTED = 50
NO_BREAK = "\u00a0"


@dataclass(frozen=True)
class DisagreementView:
    """How many rows are answered differently, and those where runs are surest.

    `rows` are their places in the file, and `captions` say in plain text what their pictures need.
    """

    title: str
    explanation: str
    table: Table
    rows: tuple[int, ...]
    captions: tuple[str, ...]


def view(marks: Sequence[RunMark], runs: Sequence[Answers], labels: Int) -> DisagreementView:
    """Return the rows on which runs, of the same N rows, disagree: the surest contradictions first.

    Runs may know other classes than those that occur; `labels`, (N,), are called as by the first.
    """
    total, rows = disagreements(runs, labels, LISTED)
    columns = (
        Column("row", "row", "count"),
        Column("label", "label"),
        *(Column(mark.letter, mark.letter) for mark in marks),
    )
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (
            one.row,
            runs[0].class_names[one.label],
            *(
                f"{run.class_names[k]}, {percent(p)}"
                for run, k, p in zip(runs, one.predicted, one.confidence, strict=True)
            ),
        )
        for one in rows
    )
    captions = []
    for one in rows:
        answers = zip(marks, runs, one.predicted, strict=True)
        listed = ", ".join(f"{m.letter}{NO_BREAK}{run.class_names[k]}" for m, run, k in answers)
        captions.append(f"Row {one.row}, label {runs[0].class_names[one.label]}: {listed}")
    share = percent(total / len(labels))
    shown = f"the {len(rows)} most confident" if total > len(rows) else "most confident first"
    return DisagreementView(
        f"{count(total)} of {count(len(labels))} {with_row_noun('images')} get different answers",
        f"{share}; {shown}" if total else "",
        Table(columns, cells),
        tuple(one.row for one in rows),
        tuple(captions),
    )
