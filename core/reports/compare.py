"""A comparison as JSON, and its table for a terminal, in Markdown and in LaTeX."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from core.metrics.comparison import Compared, Comparison
from core.metrics.human.errors import DISTANCE
from core.reports.study_json import difference_json, score_json
from core.reports.table import csv_text
from core.screens.compare.view import BOLD, CompareView
from core.screens.kit.numbers import MINUS, MISSING, THIN
from core.screens.kit.records import Table

Json = dict[str, Any]  # Any: plain JSON values


def compare_json(
    names: Sequence[str],
    letters: Sequence[str],
    runs: Sequence[Compared],
    comparison: Comparison,
    metric: str,
) -> Json:
    """Return a comparison as plain JSON.

    The files have a name each, in the comparison's order, and the letter of a badge, empty where
    many are compared and one has none. `metric` is the one whose differences are listed.

    Returns
    -------
    dict
        ``differences`` are run a minus the reference b, in fractions; empty with a ``reason``
        where the files do not speak of the same labelled rows. ``best`` names, by metric, the run
        that is ahead of every other beyond chance, where there is one; ``tied`` the runs that
        cannot be told from the one with the best value. A number that is undefined is null beside
        a ``reason``.
    """
    return {
        "metric": metric,
        "same_labels": not comparison.reason,
        "reason": comparison.reason,
        "reference": names[comparison.reference],
        "runs": [
            {
                "name": name,
                "letter": letter,
                "n": run.rows.n,
                **({"event": run.rows.event} if run.rows.event else {}),
                "metrics": {key: score_json(score) for key, score in run.audit.main.metrics.items()}
                | ({} if run.distance is None else {DISTANCE: score_json(run.distance)}),
                "unavailable": dict(run.audit.unavailable),
                # The effective sample size of grouped or weighted rows.
                **{
                    key: asdict(summary)
                    for key in ("groups", "weights")
                    if (summary := getattr(run.audit, key)) is not None
                },
            }
            for name, letter, run in zip(names, letters, runs, strict=True)
        ],
        "differences": [
            {
                "a": names[i],
                "b": names[comparison.reference],
                "metric": metric,
                **difference_json(by_metric[metric]),
            }
            for i, by_metric in enumerate(comparison.differences)
            if metric in by_metric
        ],
        "best": {key: names[i] for key, i in comparison.best.items()},
        "tied": {
            key: [names[i] for i in (leader.run, *leader.tied)]
            for key, leader in comparison.leaders.items()
            if leader.tied
        },
    }


LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        MINUS: "$-$",
        MISSING: "--",
        THIN: r"\,",
        "±": r"$\pm$",
        "γ": r"$\gamma$",
        "λ": r"$\lambda$",
    }
)
MARKDOWN = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>#|~$"})
Wrap = Callable[[str], str]


def lines(view: CompareView) -> list[str]:
    """Return what is compared, the sentence, the aligned table, and what its intervals are."""
    said = [view.eyebrow, view.sentence.text, view.sentence.second]
    grid = _grid(view, str, lambda text: f"{text} *")
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    table = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in grid
    ]
    return [
        *filter(None, said),
        "",
        *table,
        "",
        view.caption.replace(BOLD, BOLD.replace("Bold", "*")),
    ]


def markdown(view: CompareView) -> str:
    """Return the table in Markdown; the best of a column, where one is, in bold."""
    head, *rows = _grid(view, lambda text: text.translate(MARKDOWN), lambda text: f"**{text}**")
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))


def latex(view: CompareView) -> str:
    """Return the table as a plain LaTeX `tabular`, which needs no package."""
    strong = r"\textbf{{{}}}".format
    return _tabular(*_grid(view, lambda text: text.translate(LATEX), strong))


def latex_table(table: Table) -> str:
    """Return a table as a plain LaTeX `tabular`, its cells as people read them."""
    rows = ([column.label for column in table.columns], *table.written())
    return _tabular(*([cell.translate(LATEX) for cell in row] for row in rows))


def _tabular(*rows: Sequence[str]) -> str:
    head, *written = [" & ".join(row) + r" \\" for row in rows]
    columns = "l" + "r" * (len(rows[0]) - 1)
    body = ["\\hline", head, "\\hline", *written, "\\hline"]
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", *body, r"\end{tabular}", ""])


FORMATS: Mapping[str, Callable[[CompareView], str]] = {
    "text": lambda view: "\n".join(lines(view)) + "\n",
    "csv": lambda view: csv_text(view.table.file),  # all digits, fractions as fractions
    "markdown": markdown,
    "latex": latex,
}


def _grid(view: CompareView, escape: Wrap, strong: Wrap) -> list[list[str]]:
    """Return heads and rows as text."""
    grid = [[escape(head) for head in view.table.heads]]
    for row in view.table.written():
        letter = f"{row.mark.letter}  " if row.mark else ""
        note = f" ({', '.join(row.notes)})" if row.notes else ""
        texts = [f"{c.value} ({c.interval})" if c.interval else c.value for c in row.cells]
        cells = (
            strong(escape(text)) if i in row.strong else escape(text)
            for i, text in enumerate(texts)
        )
        grid.append([escape(f"{letter}{' '.join(row.name.split())}{note}"), *cells])
    return grid


def letters(view: CompareView, names: Sequence[str]) -> list[str]:
    """Return the letter of each run by its name; empty where it has none among many."""
    worn = {row.name: row.mark.letter for row in view.table.rows if row.mark}
    return [worn.get(name, "") for name in names]
