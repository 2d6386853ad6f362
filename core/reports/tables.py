"""Tables as files: CSV for spreadsheets, and those of comparisons as text, Markdown and LaTeX."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from core.screens.kit.numbers import MINUS, MISSING, THIN
from core.screens.kit.records import Table

if TYPE_CHECKING:  # every page writes CSV, and only one compares
    from core.screens.compare.view import CompareView

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_text(table: Table) -> str:
    """Return the table as CSV with the keys of its columns as header.

    Numbers are written in full, fractions as fractions; missing ones are empty. Text that a
    spreadsheet would evaluate gets an apostrophe in front, also behind leading spaces.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.key for column in table.columns])
    rows = ([guarded(c) if isinstance(c, str) else c for c in row] for row in table.rows)
    writer.writerows(rows)
    return out.getvalue()


def guarded(text: str) -> str:
    """Return text with an apostrophe in front where a spreadsheet would evaluate it."""
    risky = text.startswith(FORMULA_STARTS) or text.lstrip().startswith(FORMULA_STARTS)
    return f"'{text}" if risky else text


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


def lines(view: "CompareView") -> list[str]:
    """Return what is compared, the sentence, the aligned table, and what its intervals are."""
    from core.screens.compare.view import BOLD

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


def markdown(view: "CompareView") -> str:
    """Return the table in Markdown; the best of a column, where one is, in bold."""
    head, *rows = _grid(view, lambda text: text.translate(MARKDOWN), lambda text: f"**{text}**")
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))


def latex(view: "CompareView") -> str:
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


FORMATS: Mapping[str, Callable[["CompareView"], str]] = {
    "text": lambda view: "\n".join(lines(view)) + "\n",
    "csv": lambda view: csv_text(view.table.file),  # all digits, fractions as fractions
    "markdown": markdown,
    "latex": latex,
}


def _grid(view: "CompareView", escape: Wrap, strong: Wrap) -> list[list[str]]:
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


def letters(view: "CompareView", names: Sequence[str]) -> list[str]:
    """Return the letter of each run by its name; empty where it has none among many."""
    worn = {row.name: row.mark.letter for row in view.table.rows if row.mark}
    return [worn.get(name, "") for name in names]
