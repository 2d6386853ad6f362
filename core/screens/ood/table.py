"""Tables of runs, sets and scores, beside the papers' numbers, and of rows that look familiar."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.metrics.records import Score
from core.ood.scores import SCORES
from core.published import PublishedNumber
from core.screens.kit.numbers import MINUS
from core.screens.kit.records import Cell, CellWords, Column, ScoreRow, Table
from core.screens.kit.run_marks import RunMark
from core.screens.ood.words import SetName, share_span
from core.studies.ood import ConfidentRows

UNCHANGED = ("max_logit",)  # by a temperature: it divides all of them alike
PRINTED = "as printed: same data, network and loss"
EFFECTIVE = {  # where rows belong together or count by weight
    "effective_in": "effective sample size, in-distribution",
    "effective_out": "effective sample size, set",
}
DIFFERENCE = "Difference from the open run"
CAPTION = (
    "AUROC, out-of-distribution positive, with its 95 % interval. T: after the temperature fitted "
    "on the run's validation set."
)
TINTED = "Tinted: papers' numbers for the same data, network and loss, by entropy."


@dataclass(frozen=True, kw_only=True)
class SetRow:
    """One run beside one set.

    Attributes
    ----------
    run, mark : str, RunMark
        Its name and badge.
    name : SetName
        The set.
    temperature : float or None
        Of the run; None where none could be fitted.
    as_read, after : mapping of str to Score
        AUROC by score; those that cannot be had are missing.
    printed : sequence of PublishedNumber
        The papers' numbers for a corresponding run.
    difference : Score or None
        Paired difference from the open run on the same set, by the chosen score.
    why : str
        Why there is no difference.
    """

    run: str
    mark: RunMark
    name: SetName
    temperature: float | None
    as_read: Mapping[str, Score]
    after: Mapping[str, Score]
    printed: Sequence[PublishedNumber] = ()
    difference: Score | None = None
    why: str = ""


def caption(lines: Sequence[SetRow]) -> str:
    """Return what the table shows; of the papers' numbers only where it has some."""
    return f"{CAPTION} {TINTED}" if any(line.printed for line in lines) else CAPTION


def heads(lines: Sequence[SetRow]) -> tuple[str, ...]:
    """Return the heads of the table; columns that would be empty are left out."""
    last = (DIFFERENCE,) if any(line.difference or line.why for line in lines) else ()
    return ("Set and run", *(head for _, _, head in _columns(lines)), *last)


def _columns(lines: Sequence[SetRow]) -> list[tuple[str, bool, str]]:
    """Return score, whether after the temperature, and head of every column that holds a number."""
    columns = []
    for key, score in SCORES.items():
        if any(key in line.as_read for line in lines):
            columns.append((key, False, score.label))
        if key not in UNCHANGED and any(key in line.after for line in lines):
            columns.append((key, True, f"{score.label}, T"))
    return columns


def rows(lines: Sequence[SetRow], chosen: tuple[str, bool]) -> tuple[ScoreRow, ...]:
    """Return the rows, those of the papers under the run that they correspond to.

    `chosen` is the score that the page shows, and whether after the temperature.
    """
    columns, compared = _columns(lines), DIFFERENCE in heads(lines)
    several = len({line.run for line in lines}) > 1  # one is named over the page
    score_rows: list[ScoreRow] = []
    for line in lines:
        cells = []
        for key, after, _ in columns:
            score = (line.after if after else line.as_read).get(key)
            if score is None or score.value is None:
                cells.append(CellWords("–"))
            else:
                cells.append(CellWords(f"{score.value:.3f}", share_span(score)))
        strong = {i for i, (key, after, _) in enumerate(columns) if (key, after) == chosen}
        ties: set[int] = set()
        difference = line.difference
        if compared:
            if (
                difference is None
                or difference.value is None
                or difference.low is None
                or difference.high is None
            ):
                why = line.why or (difference.reason if difference else "")
                cells.append(CellWords("–", reason=why))
            else:
                tie = difference.low <= 0.0 <= difference.high
                (ties if tie else strong).add(len(columns))
                span = f"{difference.low:+.3f} to {difference.high:+.3f}".replace("-", MINUS)
                value = f"{difference.value:+.3f}".replace("-", MINUS)
                cells.append(CellWords("tie" if tie else value, span))
        fitted = "" if line.temperature is None else f"T = {line.temperature:.2f}"
        score_rows.append(
            ScoreRow(
                name=line.name.label,
                cells=tuple(cells),
                notes=(line.run, fitted) if several else (fitted,),
                mark=line.mark,
                strong=frozenset(strong),
                ties=frozenset(ties),
            )
        )
        # A row for each paper and loss that corresponds to the run; entropy alone
        by_source: dict[tuple[str, str], dict[bool, PublishedNumber]] = {}
        for row in line.printed:
            by_source.setdefault((row.source, row.method), {})[row.posthoc == "ts"] = row
        for (source, _), by_temperature in by_source.items():
            cells = [CellWords("")] * (len(columns) + compared)
            for i, (key, after, _) in enumerate(columns):
                number = by_temperature.get(after) if key == "entropy" else None
                if number is not None:
                    digits = f"{number.value:.{number.digits + 2}f}"
                    cells[i] = CellWords(digits, reason=number.note)
            score_rows.append(
                ScoreRow(name=source, cells=tuple(cells), notes=(PRINTED,), shaded=True)
            )
    return tuple(score_rows)


def table(lines: Sequence[SetRow]) -> Table:
    """Return every number in full, for the file; one row a run, set, score and temperature."""
    columns = (
        Column("run", "run"),
        Column("set", "set"),
        Column("positive", "positive class"),
        Column("score", "score"),
        Column("temperature", "temperature", "number"),
        Column("auroc", "AUROC", "number"),
        Column("low", "low", "number"),
        Column("high", "high", "number"),
        Column("source", "source"),
    )
    rows: list[tuple[Cell, ...]] = []
    worth: list[tuple[Cell, ...]] = []
    for line in lines:
        start = (line.run, line.name.label, "out-of-distribution")
        for scores, t in ((line.as_read, 1.0), (line.after, line.temperature)):
            rows += [
                (*start, key, t, score.value, score.low, score.high, "measured")
                for key, score in scores.items()
            ]
            worth += [tuple(map(score.settings.get, EFFECTIVE)) for score in scores.values()]
        rows += [
            (*start, "entropy", 1.0 if p.posthoc == "none" else None, p.value, None, None, p.source)
            for p in line.printed
        ]
        worth += [(None, None)] * len(line.printed)
    if not any(cell is not None for cells in worth for cell in cells):
        return Table(columns, tuple(rows))
    more = tuple(Column(key, label, "number") for key, label in EFFECTIVE.items())
    return Table(
        (*columns, *more), tuple((*row, *cells) for row, cells in zip(rows, worth, strict=True))
    )


def certain_table(confident: ConfidentRows, row_ids: Sequence[str], score: str) -> Table:
    """Return one line a row: its name or number, the answer, the confidence and the score."""
    columns = (
        Column("row", "row"),
        Column("answer", "answers"),
        Column("confidence", "confidence", "share"),
        Column(f"{score}_higher_is_ood", SCORES[score].axis, "number"),
    )
    rows = zip(
        confident.rows.tolist(),
        confident.answers,
        confident.confidence.tolist(),
        confident.score.tolist(),
        strict=True,
    )
    return Table(
        columns,
        tuple(
            (row_ids[i] if row_ids else str(i), answer, None if math.isnan(sure) else sure, value)
            for i, answer, sure, value in rows
        ),
    )
