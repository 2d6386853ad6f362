"""Out of distribution, several sets: tables of runs and rows, and heat maps of corruptions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float
from core.datasets.shifts import CORRUPTIONS, KINDS, SEVERITIES, OutsideSet
from core.metrics.records import Score
from core.ood.scores import SCORES
from core.published import PublishedNumber
from core.screens.kit.curves import sheet
from core.screens.kit.differences import NamedRun
from core.screens.kit.marks import RunMark
from core.screens.kit.numbers import MINUS, count
from core.screens.kit.records import (
    Cell,
    CellWords,
    Column,
    FigureCard,
    Mark,
    ScoreRow,
    Table,
    columns_of,
)
from core.screens.kit.theme import Theme, axis
from core.screens.ood.words import POSITIVE, SetName, share_span
from core.studies.ood import ConfidentRows, ShiftEffect

UNCHANGED = ("max_logit",)  # by a temperature: it divides all of them alike
PRINTED = "as printed: same data, network and loss"
EFFECTIVE = {  # where rows belong together or count by weight
    "effective_in": "effective sample size, in-distribution",
    "effective_out": "effective sample size, set",
}
DIFFERENCE = "Difference from the open run"
CAPTION = (
    "AUROC, out-of-distribution positive, with its 95 % interval. T: after the temperature fitted "
    "on the run’s validation set."
)
TINTED = "Tinted: papers’ numbers for the same data, network and loss, by entropy."


@dataclass(frozen=True, kw_only=True)
class SetRow:
    """One run beside one set."""

    # run, mark: the run's name and badge
    run: str
    mark: RunMark
    name: SetName  # the set
    temperature: float | None  # of the run; None where none could be fitted
    # as_read, after: AUROC by score, before and after the temperature; those that cannot be had
    # are missing
    as_read: Mapping[str, Score]
    after: Mapping[str, Score]
    printed: Sequence[PublishedNumber] = ()  # the papers' numbers for a corresponding run
    # Paired difference from the open run on the same set, by the chosen score.
    difference: Score | None = None
    why: str = ""  # why there is no difference


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
            # as bold as what is beyond chance
            mark: Mark = "beyond" if (key, after) == chosen else ""
            if score is None or score.value is None:
                cells.append(CellWords("–", mark=mark))
            else:
                cells.append(CellWords(f"{score.value:.3f}", share_span(score), mark=mark))
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
                span = f"{difference.low:+.3f} to {difference.high:+.3f}".replace("-", MINUS)
                value = f"{difference.value:+.3f}".replace("-", MINUS)
                mark = "tie" if tie else "beyond"
                cells.append(CellWords("tie" if tie else value, span, mark=mark))
        fitted = "" if line.temperature is None else f"T = {line.temperature:.2f}"
        score_rows.append(
            ScoreRow(
                name=line.name.label,
                cells=tuple(cells),
                notes=(line.run, fitted) if several else (fitted,),
                mark=line.mark,
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
        *columns_of(run="run", set="set", positive="positive class", score="score"),
        *columns_of("number", temperature="temperature", auroc="AUROC", low="low", high="high"),
        Column("source", "source"),
    )
    rows: list[tuple[Cell, ...]] = []
    effective: list[tuple[Cell, ...]] = []
    for line in lines:
        start = (line.run, line.name.label, "out-of-distribution")
        for scores, t in ((line.as_read, 1.0), (line.after, line.temperature)):
            rows += [
                (*start, key, t, score.value, score.low, score.high, "measured")
                for key, score in scores.items()
            ]
            effective += [tuple(map(score.settings.get, EFFECTIVE)) for score in scores.values()]
        rows += [
            (*start, "entropy", 1.0 if p.posthoc == "none" else None, p.value, None, None, p.source)
            for p in line.printed
        ]
        effective += [(None, None)] * len(line.printed)
    if not any(cell is not None for cells in effective for cell in cells):
        return Table(columns, tuple(rows))
    more = tuple(Column(key, label, "number") for key, label in EFFECTIVE.items())
    return Table(
        (*columns, *more), tuple((*row, *cells) for row, cells in zip(rows, effective, strict=True))
    )


def certain_table(confident: ConfidentRows, row_ids: Sequence[str], score: str) -> Table:
    """Return one line a row: its name or number, the answer, the confidence and the score."""
    columns = (
        *columns_of(row="row", answer="answers"),
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


# What corruptions do.
MOST_ROWS, WORST = 10, 8  # of more corruptions than MOST_ROWS the page first shows the WORST
ROW_PX, FRAME_PX = 20, 54  # ten rows end within two screens of 720 px
CIVIDIS = ("#00204C", "#31446B", "#666870", "#958F78", "#CAB969", "#FFE945")
ROOM_FOR_NAMES = 108
DARK = 0.45  # luminance below which words on a cell are white
MAPS = (  # of a ShiftEffect: attribute, title, where colours are darkest and brightest
    ("accuracy", "Accuracy", 0.0, 1.0),
    ("confidence", "Confidence", 0.0, 1.0),
    ("ece", "ECE", 0.5, 0.0),
    ("auroc", "AUROC", 0.5, 1.0),
)
COLUMNS = (
    Column("corruption", "corruption"),
    Column("severity", "severity", "count"),
    Column("n", "images", "count"),
    Column("accuracy", "right", "share"),
    Column("confidence", "says, on average", "share"),
    Column("ece", "ECE", "share"),
    Column("auroc_ood_positive", "AUROC, out-of-distribution positive", "share"),
)


@dataclass(frozen=True, kw_only=True)
class ShiftView:
    """The maps of one kind of set, and what is said under them.

    `more` names the switch that shows every corruption; it is empty where the maps hold them all.
    """

    title: str
    explanation: str
    maps: tuple[FigureCard, ...]
    table: Table
    caption: str
    more: str


def shift_view(
    named: NamedRun,
    kind: str,
    effects: Mapping[OutsideSet, ShiftEffect],
    scoring: str,
    *,
    every: bool = False,
) -> ShiftView:
    """Return the maps of one kind, ``cifar10c`` or ``corrupted``; the run's split is intact.

    `scoring` names score and temperature. Maps show the most harmful corruptions, or `every` one;
    the table always has every one.
    """

    def harm(corruption: str) -> tuple[float, str]:
        of = [effect.accuracy for part, effect in effects.items() if part.corruption == corruption]
        return float(np.mean(of)), corruption

    order = sorted({part.corruption for part in effects}, key=harm)
    folds = len(order) > MOST_ROWS
    shown = order if every or not folds else order[:WORST]
    which = f"{len(order)} corruptions" if len(order) > 1 else "1 corruption"
    if len(shown) < len(order):
        which = f"the worst {len(shown)} of {which}"
    ns = {effect.n for effect in effects.values()}
    images = f"{count(min(ns))} images each" if len(ns) == 1 else f"{count(min(ns))} or more images"
    columns = ", ".join(sorted({effect.weight for effect in effects.values()} - {""}))
    by_weight = f"images count by {columns}; " if columns else ""
    caption = (
        f"{named.name}: {images}, {which} from most to least harmful; "
        f"{by_weight}{scoring}; AUROC tells corrupted from intact images of {named.split}, "
        f"{POSITIVE}."
    )
    rows = []
    for part in sorted(effects, key=lambda part: (order.index(part.corruption), part.severity)):
        effect = effects[part]
        numbers = (effect.accuracy, effect.confidence, effect.ece, effect.auroc)
        rows.append((CORRUPTIONS[part.corruption].label, part.severity, effect.n, *numbers))
    table = Table(COLUMNS, tuple(rows))
    labels, cards = [CORRUPTIONS[name].label for name in shown], []
    for key, title, low, high in MAPS:
        values = np.full((len(shown), len(SEVERITIES)), np.nan)
        for part, effect in effects.items():
            if part.corruption in shown:
                place = shown.index(part.corruption), SEVERITIES.index(part.severity)
                values[place] = getattr(effect, key)
        grid = ValueGrid(rows=labels, columns=SEVERITIES, values=values, low=low, high=high)
        ends = dict.fromkeys(f"{100 * end:.0f}" for end in (np.nanmin(values), np.nanmax(values)))
        cards.append(
            FigureCard(
                key=f"{kind}_{key}",
                title=title,
                explanation="%",
                draw=partial(heatmap, grid),
                alt=f"{title} for {which} at severities 1 to 5: {' to '.join(ends)} %. "
                f"Most harmful on average: {labels[0]}.",
                table=table,
                caption=caption,
            )
        )
    origin = "made by Candor" if kind == "corrupted" else "the published files"
    return ShiftView(
        title=KINDS[kind],
        explanation=f"{origin}; corruption by severity",
        maps=tuple(cards),
        table=table,
        caption=caption,
        more=f"All {len(order)} corruptions" if folds else "",
    )


@dataclass(frozen=True, kw_only=True)
class ValueGrid:
    """Values of one quantity."""

    rows: Sequence[str]  # names of the corruptions, first at the top
    columns: Sequence[int]  # severities
    values: Float  # (R, C) float64; fractions; NaN where there is no such part
    # low, high: where colours are darkest and brightest; high is below low where small is good
    low: float
    high: float


def heatmap(grid: ValueGrid, theme: Theme) -> go.Figure:
    """Draw the values as percent in cells; words are black or white by the colour under them."""
    across = list(range(len(grid.columns)))
    x = axis(
        theme, "Severity", tickvals=across, ticktext=[str(c) for c in grid.columns], showgrid=False
    )
    y_axis = axis(
        theme,
        tickvals=list(range(len(grid.rows))),
        ticktext=list(grid.rows),
        autorange="reversed",
        showgrid=False,
        tickfont={"size": 11.5, "color": theme.ink},
    )
    height = ROW_PX * len(grid.rows) + FRAME_PX
    figure = sheet(theme, height, x, y_axis, margin=(ROOM_FOR_NAMES, 8, 6, 42))
    figure.add_heatmap(
        z=100 * grid.values,
        zmin=100 * min(grid.low, grid.high),
        zmax=100 * max(grid.low, grid.high),
        colorscale=[[k / (len(CIVIDIS) - 1), colour] for k, colour in enumerate(CIVIDIS)],
        reversescale=grid.low > grid.high,
        showscale=False,
        xgap=2,
        ygap=2,
        hoverongaps=False,
        customdata=[[name] * len(across) for name in grid.rows],
        hovertemplate="%{customdata}, severity %{x}: %{z:.1f} %<extra></extra>",
    )
    cells = [(x, y, v) for y, row in enumerate(grid.values.tolist()) for x, v in enumerate(row)]
    known = [cell for cell in cells if np.isfinite(cell[2])]
    for bright in (False, True):
        of_side = [cell for cell in known if (_luminance(grid, cell[2]) >= DARK) == bright]
        figure.add_scatter(
            x=[x for x, _, _ in of_side],
            y=[y for _, y, _ in of_side],
            text=[f"{100 * value:.0f}" for _, _, value in of_side],
            mode="text",
            textfont={"size": 11.5, "color": "#000000" if bright else "#FFFFFF"},
            hoverinfo="skip",
            showlegend=False,
        )
    return figure


def _luminance(grid: ValueGrid, value: float) -> float:
    """Return how bright a cell is, 0 to 1."""
    place = np.clip((value - grid.low) / (grid.high - grid.low), 0.0, 1.0) * (len(CIVIDIS) - 1)
    colours = np.array([[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in CIVIDIS]) / 255.0
    below = min(int(place), len(CIVIDIS) - 2)
    mixed = colours[below] + (place - below) * (colours[below + 1] - colours[below])
    return float(mixed @ np.array([0.299, 0.587, 0.114]))
