"""The table of a comparison as people read it: for a terminal, in Markdown and in LaTeX."""

from collections.abc import Callable, Mapping, Sequence

from core.reports.table import csv_text
from core.screens.compare.view import BOLD, CompareView
from core.screens.kit.numbers import MINUS, MISSING, THIN
from core.screens.kit.records import CellWords, ScoreRow, Table

LATEX = {
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
MARKDOWN = "\\`*_{}[]<>#|~$"
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
    head, *rows = _grid(view, _escaped_markdown, lambda text: f"**{text}**")
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))


def latex(view: CompareView) -> str:
    """Return the table as a plain LaTeX `tabular`, which needs no package."""
    head, *rows = _grid(view, _escaped_latex, lambda text: rf"\textbf{{{text}}}")
    return _tabular(head, rows)


def latex_table(table: Table) -> str:
    """Return a table as a plain LaTeX `tabular`, its cells as people read them."""
    heads = [_escaped_latex(column.label) for column in table.columns]
    return _tabular(heads, [[_escaped_latex(cell) for cell in row] for row in table.written()])


def _tabular(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    written = [" & ".join(row) + r" \\" for row in (head, *rows)]
    columns = "l" + "r" * (len(head) - 1)
    body = ["\\hline", written[0], "\\hline", *written[1:], "\\hline"]
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", *body, r"\end{tabular}", ""])


def csv(view: CompareView) -> str:
    """Return the table with all digits, fractions as fractions."""
    return csv_text(view.table.file)


FORMATS: Mapping[str, Callable[[CompareView], str]] = {
    "text": lambda view: "\n".join(lines(view)) + "\n",
    "csv": csv,
    "markdown": markdown,
    "latex": latex,
}


def _grid(view: CompareView, escape: Wrap, strong: Wrap) -> list[list[str]]:
    """Return heads and rows as text."""
    rows = [_row(row, escape, strong) for row in view.table.written()]
    return [[escape(head) for head in view.table.heads], *rows]


def _row(row: ScoreRow, escape: Wrap, strong: Wrap) -> list[str]:
    letter = f"{row.mark.letter}  " if row.mark else ""
    note = f" ({', '.join(row.notes)})" if row.notes else ""
    cells = [
        strong(text) if i in row.strong else text
        for i, text in enumerate(escape(_cell(cell)) for cell in row.cells)
    ]
    return [escape(f"{letter}{' '.join(row.name.split())}{note}"), *cells]


def _cell(cell: CellWords) -> str:
    return f"{cell.value} ({cell.interval})" if cell.interval else cell.value


def _escaped_markdown(text: str) -> str:
    return _each(text, {sign: f"\\{sign}" for sign in MARKDOWN})


def _escaped_latex(text: str) -> str:
    return _each(text, LATEX)


def _each(text: str, signs: Mapping[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in text)


def letters(view: CompareView, names: Sequence[str]) -> list[str]:
    """Return the letter of each run by its name; empty where it has none among many."""
    worn = {row.name: row.mark.letter for row in view.table.rows if row.mark}
    return [worn.get(name, "") for name in names]
