"""What the Compare page says about several runs: sentence, table, differences, small diagrams."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from textwrap import wrap
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.arrays import Int
from core.metrics.comparison import Compared, Comparison
from core.metrics.paired import BIASED, PAIRED
from core.metrics.records import BinTable
from core.metrics.votes import DISTANCE
from core.screens.kit import cards
from core.screens.kit.curves import SHARES, hovers, sheet
from core.screens.kit.diagram import small_diagram
from core.screens.kit.differences import (
    HEADS,
    HIGHER,
    IN_POINTS,
    NamedRun,
    benefit_threshold,
    better,
    chance_of,
    difference_kind,
    difference_words,
    drawn_words,
    head,
    level_words,
    name,
    number,
    plain_sentence,
    sentence,
    value_kind,
    with_others,
)
from core.screens.kit.marks import BAND_MIN, RunMark, hover, marks, speech
from core.screens.kit.numbers import Kind, count, holding, percent, points
from core.screens.kit.records import (
    TIE,
    Cell,
    Column,
    Estimate,
    FigureCard,
    ScoreTable,
    Sentence,
    Table,
    TableRow,
    difference_cell,
    estimate,
    with_ends,
)
from core.screens.kit.sentences import groups_words
from core.screens.kit.text import clean, safe, short, without_shared_start
from core.screens.kit.theme import Theme, axis
from core.screens.kit.words import with_row_noun
from core.studies.comparison import RunAnswers, disagreements

PLAIN_CAPTION = "In brackets and small type: {} Tie: the difference could be chance."
FEW = 12  # runs whose badges, rows and diagrams can still be told apart
HIGHLIGHTED = 6  # of more than that; the others are grey
LETTERED_BY = "ece"  # whatever ranks, so that a run keeps its letter
CURVE_COLUMNS = {"bin_low", "bin_high", "count", "confidence", "accuracy", "gap"}
BEST = "Better than all the others, beyond chance"
BOLD = "Bold: better than all the others, beyond chance."
ERROR_SIDES = ("smaller error", "larger error")
SIDES = {  # of the other metrics
    "accuracy": ("right less often", "right more often"),
    "auroc": ("ranks worse", "ranks better"),
    DISTANCE: ("closer to people", "further from people"),
}
LISTED = 50  # rows that runs answer differently
NO_BREAK = "\u00a0"


@dataclass(frozen=True, kw_only=True)
class ForestWords:
    """What one edition writes around the differences; `lead` goes before the reference."""

    lead: str
    explanation: str
    sides: tuple[str, str]  # of zero
    caption: str


@dataclass(frozen=True)
class CompareView:
    """Everything the page draws, in its order; the figures only where ranked.

    `listed` are the rows of the table that were searched for, `marks` those of the runs that stand
    out, by their ids.
    """

    eyebrow: str
    sentence: Sentence
    forest: FigureCard | None
    curves: FigureCard | None
    diagrams: tuple[tuple[RunMark, FigureCard], ...]
    table: ScoreTable
    listed: ScoreTable
    caption: str
    marks: tuple[tuple[str, RunMark], ...]


@dataclass(frozen=True)
class _Pictured:
    """What figures share: names, the runs best first, and the marks of those that stand out.

    `short_names` are `names` without the words that all of them begin with.
    """

    names: tuple[str, ...]
    short_names: tuple[str, ...]
    order: tuple[int, ...]
    marks: Mapping[int, RunMark]
    reference: int

    @property
    def marked(self) -> list[int]:
        """The runs that stand out, best first."""
        return [i for i in self.order if i in self.marks]


def plain_view(
    names: Sequence[NamedRun], runs: Sequence[Compared], comparison: Comparison, search: str = ""
) -> CompareView:
    """Return the view in plain words: how often right, how far off, and what could be chance."""
    full = compare_view(names, runs, comparison, "ece", search)
    pictured = _pictured(names, runs, comparison, "ece", search)
    people = (Column(DISTANCE, "Difference from people, points", value_kind(DISTANCE)),)
    shown = (
        Column("ece", "Off by, points on average", value_kind("ece")),
        *_difference_column(comparison, "ece", "Difference, points"),
        Column("accuracy", "Right, in 100", value_kind("accuracy")),
        *(people if any(run.distance for run in runs) else ()),
        Column("n", with_row_noun("Pictures"), "count"),
    )
    plain_table = replace(full.table, names_head="Model", shown=shown)
    listed = replace(plain_table, rows=full.listed.rows)
    caption = with_row_noun(PLAIN_CAPTION.format(holding(runs[0].config.level)))
    plain_words = ForestWords(
        lead="Error minus that of",
        explanation="points; hollow: could be chance" + _others_words(pictured),
        sides=("closer", "further off"),
        caption=caption,
    )
    scores = [run.audit.main.metrics.get("ece") for run in runs]
    errors = [None if score is None else score.value for score in scores]
    floors = [run.audit.main.noise_floor.get("ece") for run in runs]
    return replace(
        full,
        eyebrow=_eyebrow(names, runs, comparison, plain=True),
        sentence=plain_sentence(
            pictured.short_names, errors, comparison, [floor.q95 for floor in floors if floor]
        ),
        forest=_forest(pictured, comparison, "ece", plain_words),
        curves=None,
        diagrams=(),
        table=plain_table,
        listed=listed,
        caption=_with_legend(caption, listed, BOLD),
    )


def compare_view(
    names: Sequence[NamedRun],
    runs: Sequence[Compared],
    comparison: Comparison,
    metric: str,
    search: str = "",
) -> CompareView:
    """Return the view of a comparison of runs, named in its order.

    By `metric` they are ranked and differ in the figure. `search` is part of the names of the runs
    that are listed; of more than FEW runs, the first of them stand out in the figures.
    """
    pictured = _pictured(names, runs, comparison, metric, search)
    caption = _caption(runs, comparison, metric)
    unit = "points, " if metric in IN_POINTS else ""
    level = level_words(_level(comparison, metric))
    forest_words = ForestWords(
        lead=f"Difference in {name(metric, comparison.event)} from",
        explanation=f"{unit}{level} intervals" + _others_words(pictured),
        sides=SIDES.get(metric, ERROR_SIDES),
        caption=caption,
    )
    # On the page first what ranks, which alone fits on a phone
    metrics = with_others(PAIRED, runs)
    shown = [Column(metric, HEADS[metric], value_kind(metric))]
    from_reference = f"From reference{', points' if metric in IN_POINTS else ''}"
    shown += _difference_column(comparison, metric, from_reference)
    shown += [Column(m, head(m, runs), value_kind(m)) for m in metrics if m != metric]
    shown += [Column("n", "n", "count")] if comparison.reason else []
    # In the file every score, and its differences where there are any
    columns = [Column("run", "run"), Column("n", "n", "count")]
    for each in metrics:
        kind: Kind = "share" if each in IN_POINTS else "number"
        compared = any(each in differences for differences in comparison.differences)
        for key in (each, f"{each}_difference") if compared else (each,):
            columns += [Column(f"{key}{end}", each, kind) for end in ("", "_low", "_high")]
    table = ScoreTable(
        "Run",
        tuple(shown),
        tuple(columns),
        tuple(_row(names[i], pictured.marks.get(i), runs, comparison, i) for i in pictured.order),
    )
    rows = zip(pictured.order, table.rows, strict=True)
    listed = replace(table, rows=tuple(row for i, row in rows if _matches(names[i], search)))
    return CompareView(
        eyebrow=_eyebrow(names, runs, comparison, plain=False),
        sentence=sentence(pictured.short_names, comparison, metric),
        forest=_forest(pictured, comparison, metric, forest_words),
        curves=None if comparison.reason else _curves(pictured, runs, caption),
        diagrams=() if comparison.reason else _diagrams(names, pictured, runs),
        table=table,
        listed=listed,
        caption=_with_legend(caption, listed, BOLD),
        marks=tuple((names[i].id, mark) for i, mark in pictured.marks.items()),
    )


def _eyebrow(
    names: Sequence[NamedRun],
    runs: Sequence[Compared],
    comparison: Comparison,
    *,
    plain: bool,
) -> str:
    """Return what is compared, and on which rows, each called as by an edition."""
    splits = " and ".join(sorted({named.split for named in names}))
    n, rows = count(runs[0].rows.n), with_row_noun("pictures" if plain else "images")
    parts = ["Compare", f"{len(names)} models" if plain else f"{len(names)} runs"]
    parts += [] if plain else [f"{splits} split"]
    if not comparison.reason:
        groups = runs[0].audit.main.groups
        belonging = "" if groups is None else f" of {groups_words(groups.column, groups.n)}"
        parts.append(f"the same {n} {f'{splits} ' if plain else ''}{rows}{belonging}")
    return " · ".join(parts)


def _matches(named: NamedRun, search: str) -> bool:
    return search.strip().casefold() in named.name.casefold()


def _pictured(
    names: Sequence[NamedRun],
    runs: Sequence[Compared],
    comparison: Comparison,
    metric: str,
    search: str,
) -> _Pictured:
    """Return what figures share: all runs stand out where they are few.

    Of many the best stand out that were searched for; else the best ones and the reference.
    """
    order = _order(runs, comparison, metric)
    standing_out = order
    if len(names) > FEW and search.strip():
        standing_out = [i for i in order if _matches(names[i], search)][:HIGHLIGHTED]
    elif len(names) > FEW:
        others = [i for i in order if i != comparison.reference]
        standing_out = [*others[: HIGHLIGHTED - 1], comparison.reference]
    lettered = [i for i in _order(runs, comparison, LETTERED_BY) if i in standing_out]
    badges = marks([names[i].id for i in lettered])
    return _Pictured(
        tuple(named.name for named in names),
        without_shared_start([named.name for named in names]),
        tuple(order),
        dict(zip(lettered, badges, strict=True)),
        comparison.reference,
    )


def _others_words(pictured: _Pictured) -> str:
    """Return what is said of the runs that do not stand out; nothing where all do."""
    return "" if len(pictured.marks) == len(pictured.order) else "; the others in grey"


def _order(runs: Sequence[Compared], comparison: Comparison, metric: str) -> list[int]:
    """Return the runs best first; as they were picked where nothing is ranked."""
    if comparison.reason:
        return list(range(len(runs)))
    sign = -1.0 if metric in HIGHER else 1.0

    def rank(i: int) -> tuple[bool, float]:
        score = runs[i].score(metric)
        value = None if score is None else score.value
        return value is None, 0.0 if value is None else sign * value

    return sorted(range(len(runs)), key=rank)


def _difference_column(comparison: Comparison, metric: str, head: str) -> tuple[Column, ...]:
    """Return the column of differences from the reference; none where nothing is ranked."""
    if comparison.reason:
        return ()
    return (Column(f"{metric}_difference", head, difference_kind(metric)),)


def _row(
    named: NamedRun, mark: RunMark | None, runs: Sequence[Compared], comparison: Comparison, i: int
) -> TableRow:
    run, differences = runs[i], comparison.differences[i]
    reference = not comparison.reason and i == comparison.reference
    cells: dict[str, Estimate | Cell] = {"run": named.name, "n": run.rows.n}
    for metric in with_others(PAIRED, runs):
        why = "no votes" if metric == DISTANCE else run.audit.unavailable.get(metric, "")
        best = comparison.best.get(metric) == i
        cell = estimate(run.score(metric), why)
        best_cell = replace(cell, mark="beyond", reason=BEST)
        cells |= with_ends(metric, best_cell if best else cell)
        difference = difference_cell(differences.get(metric))
        if difference.mark == "beyond":  # the worse run's, as often: bold is of the best alone
            difference = replace(difference, mark="")
        cells |= with_ends(f"{metric}_difference", difference)
    notes = ("reference",) if reference else ()
    return TableRow(name=named.name, cells=cells, notes=notes, mark=mark, shaded=reference)


def _caption(runs: Sequence[Compared], comparison: Comparison, metric: str) -> str:
    own, seed = level_words(runs[0].config.level), runs[0].config.seed
    if comparison.reason:
        return f"Each run has its own {own} intervals. Runs are not ranked."
    differences = [by_metric[metric] for by_metric in comparison.differences if metric in by_metric]
    parts = [f"In the table each run has its own {own} intervals."]
    resampled = (each.settings.get("resamples") for each in differences if each.settings)
    resamples = next(resampled, None)
    if resamples is not None:
        parts.append(
            f"Differences use the same {count(int(str(resamples)))} resamples of the same "
            f"{drawn_words(differences)} (seed {seed})."
        )
    level = level_words(_level(comparison, metric))
    scores = [run.score(metric) for run in runs]
    known = sum(score is not None and score.value is not None for score in scores)
    pairs = known * (known - 1) // 2
    delong = metric == "auroc"
    rule = "Bonferroni" if delong else "max-T"
    joint = f" so that all {number(pairs)} pairs hold jointly at {own} ({rule})"
    if any(difference.low is not None for difference in differences):
        if delong:
            parts.append("Intervals of differences are DeLong’s, wider where ranks hardly vary.")
        if metric in BIASED:
            parts.append("Their intervals also allow for what chance adds to each error.")
        parts.append(
            f"They are at {level}{joint if pairs > 1 else ''}. Tie: the interval includes zero."
        )
    floors = [run.audit.main.noise_floor.get(metric) for run in runs]
    if any(floors):
        called = name(metric, comparison.event)
        n = count(runs[0].rows.n)
        most, by_run = chance_of([floor.q95 for floor in floors if floor is not None], "run")
        parts.append(f"At n = {n} chance alone shows {most} points of {called}{by_run}.")
    if comparison.event:
        parts.append(f"Calibration errors are of “{comparison.event}”, accuracy of the answers.")
    at = benefit_threshold(runs)
    if at:
        parts.append(f"Net benefit is of acting from a risk of {at}.")
    # The effective sample size of grouped or weighted images, in words
    groups, weights = runs[0].audit.main.groups, runs[0].audit.weights
    effective = []
    if weights is not None:
        equal = count(round(weights.effective_n))
        rows = with_row_noun("Images")
        effective.append(f"{rows} count by {weights.column}, as about {equal} of equal weight.")
    if groups is not None:
        summaries = [run.audit.main.groups or groups for run in runs]
        effective_n = sorted(round(summary.effective_n) for summary in summaries)
        least, most = count(effective_n[0]), count(effective_n[-1])
        about = least if least == most else f"{least} to {most}"
        by_run = "" if least == most else ", depending on the run"
        effective.append(
            f"The {with_row_noun('images')} count as about {about} independent ones{by_run}."
        )
    return " ".join([*parts, *effective])


def _with_legend(caption: str, table: ScoreTable, legend: str) -> str:
    """Return the caption of a table, with what bold means where a cell of it is."""
    return f"{caption} {legend}" if any(row.strong for row in table.written()) else caption


def _level(comparison: Comparison, metric: str) -> float:
    """Return the level of the differences in a metric."""
    levels = [each[metric].level for each in comparison.differences if metric in each]
    return levels[0] if levels else comparison.level


def _forest(
    pictured: _Pictured, comparison: Comparison, metric: str, words: ForestWords
) -> FigureCard | None:
    scale = 100.0 if metric in IN_POINTS else 1.0
    kind: Kind = "points" if metric in IN_POINTS else "number"
    rows, cells, others = [], [], []
    for i in pictured.order:
        difference = comparison.differences[i].get(metric)
        if difference is None or difference.value is None:
            continue
        if difference.low is None or difference.high is None:
            continue
        value, interval = difference_words(difference)
        run = pictured.short_names[i], pictured.marks.get(i)
        ends = (difference.value, difference.low, difference.high)
        drawn = (scale * ends[0], scale * ends[1], scale * ends[2])
        words_of = TIE if difference.tie else value
        row = ForestRow(*run, *drawn, difference.tie, words_of, interval)
        rows.append(row)
        reading = TIE if difference.tie else "beyond chance"
        cells.append((pictured.names[i], *ends, difference.level, reading))
        others += [] if row.mark else [difference]
    if not rows:
        return None
    base = pictured.short_names[comparison.reference]
    listed = "; ".join(f"{row.name} {row.words} ({row.interval})" for row in rows if row.mark)
    in_grey = ""
    if others:
        ties, ahead = sum(each.tie for each in others), sum(better(each) for each in others)
        behind = len(others) - ties - ahead
        in_grey = f"; of the others, {ahead} better, {behind} worse, {ties} tied"
    differs = (Column(key, key, kind) for key in ("difference", "low", "high"))
    read = Column("level", "level", "share"), Column("reading", "reading")
    return FigureCard(
        key="differences",
        title=f"{words.lead} “{short(base)}”",
        explanation=words.explanation,
        draw=partial(forest, tuple(rows), smaller=words.sides[0], larger=words.sides[1]),
        alt=f"{words.lead} {base}: {listed}{in_grey}.",
        table=Table((Column("run", "run"), *differs, *read), tuple(cells)),
        caption=with_row_noun(words.caption),
    )


def _curves(pictured: _Pictured, runs: Sequence[Compared], caption: str) -> FigureCard | None:
    """Return every run's gap over the common bins; None for many labels, which have none."""
    names, order, marked = pictured.names, pictured.order, pictured.marked
    bins = [run.audit.main.bins for run in runs]
    if not all(len(bin_table.count) for bin_table in bins):
        return None
    keep = [i for i, column in enumerate(cards.BIN_COLUMNS) if column.key in CURVE_COLUMNS]
    columns = (Column("run", "run"), *(cards.BIN_COLUMNS[k] for k in keep))
    rows = tuple(
        (names[i], *(row[k] for k in keep)) for i in order for row in cards.bin_table(bins[i]).rows
    )
    gaps = [(names[i], runs[i].audit.main.direction) for i in marked]
    listed = "; ".join(
        f"{run_name} {points(gap.gap, gap.low, gap.high, signed=True)}" for run_name, gap in gaps
    )
    event = runs[0].audit.main.event
    claim = "confidence" if event is None else f"probability of “{event}”"
    height = CURVES_PX
    if len(marked) < len(order):  # of many runs as high as the forest beside them
        n = len(pictured.marks.keys() - {pictured.reference})
        height = forest_px(n, len(order) - 1 - n)
    curves = tuple(GapCurve(pictured.short_names[i], pictured.marks.get(i), bins[i]) for i in order)
    return FigureCard(
        key="curves",
        title=f"Gap by {claim}",
        explanation=with_row_noun("says minus right, points; bins of 20 images or more")
        + _others_words(pictured),
        draw=partial(gap_curves, curves, target=runs[0].audit.main.target, height=height),
        alt=f"Gap over {len(bins[0].count)} common bins of {claim}, one line per run. "
        f"Mean gap in points: {listed}.",
        table=Table(columns, rows),
        caption=caption,
    )


def _diagrams(
    names: Sequence[NamedRun], pictured: _Pictured, runs: Sequence[Compared]
) -> tuple[tuple[RunMark, FigureCard], ...]:
    """Return a small diagram of each run that stands out; none for many labels, not pooled."""
    diagrams = []
    for i in pictured.marked:
        main, named, mark = runs[i].audit.main, names[i], pictured.marks[i]
        if not len(main.bins.count):
            return ()
        card = FigureCard(
            key=f"diagram_{mark.letter}",
            title=pictured.short_names[i],
            explanation="",
            draw=partial(small_diagram, main.bins, target=main.target),
            alt=f"{named.name}: {cards.diagram_alt(main)}",
            table=cards.bin_table(main.bins),
            caption=cards.caption(runs[i].audit, main, named.split, named.digest),
        )
        diagrams.append((mark, card))
    return tuple(diagrams)


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


def disagreement_view(
    marks: Sequence[RunMark], runs: Sequence[RunAnswers], labels: Int
) -> DisagreementView:
    """Return the rows on which runs, of the same N rows, disagree: the surest contradictions first.

    Runs may know other classes than those that occur; `labels`, (N,), are called as by the first.
    """
    total, rows = disagreements(runs, labels, LISTED)
    columns = (
        Column("row", "row", "count"),
        Column("label", "label"),
        *(Column(mark.letter, mark.letter) for mark in marks),
    )
    cells, captions = list[tuple[Cell, ...]](), []
    for one in rows:
        label, answers = runs[0].class_names[one.label], []
        listed = []
        for mark, run, k, p in zip(marks, runs, one.predicted, one.confidence, strict=True):
            answers.append(f"{run.class_names[k]}, {percent(p)}")
            listed.append(f"{mark.letter}{NO_BREAK}{run.class_names[k]}")
        cells.append((one.row, label, *answers))
        captions.append(f"Row {one.row}, label {label}: {', '.join(listed)}")
    share = percent(total / len(labels))
    shown = f"the {len(rows)} most confident" if total > len(rows) else "most confident first"
    return DisagreementView(
        f"{count(total)} of {count(len(labels))} {with_row_noun('images')} get different answers",
        f"{share}; {shown}" if total else "",
        Table(columns, tuple(cells)),
        tuple(one.row for one in rows),
        tuple(captions),
    )


# Figures.
ROW_PX = 36
THIN_ROW = 0.2  # of a row, where a run is drawn without its name
CURVES_PX = 250
LETTER_PX = 20
NAME_CHARACTERS = 19  # of a line
SIDE_PX = 110  # beside the plot, for what lies left and right of zero
DARK_LETTERS = {"light": {1, 2}, "dark": set(range(6))}  # badges light enough for dark letters


@dataclass(frozen=True)
class ForestRow:
    """One difference, in the unit of the axis; `words` and `interval` stand at its right.

    One without a mark is a thin grey line among many, which says its name when pointed at.
    """

    name: str
    mark: RunMark | None
    value: float
    low: float
    high: float
    tie: bool
    words: str
    interval: str

    @property
    def hover(self) -> str:
        """What it says when pointed at."""
        return f"<b>{safe(self.name)}</b><br>{self.words} ({self.interval})"


@dataclass(frozen=True)
class GapCurve:
    """The bins of a run; one without a mark is a thin grey line among many."""

    name: str
    mark: RunMark | None
    bins: BinTable


def forest(rows: Sequence[ForestRow], theme: Theme, *, smaller: str, larger: str) -> go.Figure:
    """Draw differences from a reference with their intervals, in the order given.

    A tie is hollow and grey, others wear their run's colour; `smaller` and `larger` say what lies
    left and right of zero.
    """
    marked, thin, top = list[tuple[ForestRow, RunMark, float]](), [], -0.5
    for row in rows:
        height = 1.0 if row.mark else THIN_ROW
        if row.mark:
            marked.append((row, row.mark, top + height / 2))
        else:
            thin.append((row, top + height / 2))
        top += height
    total = sum(1.0 if row.mark else THIN_ROW for row in rows)
    # In at most two lines, and a margin as wide as them, so that a phone has room for the plot
    names = {}
    for row, _, _ in marked:
        lines = wrap(" ".join(clean(row.name).split()), NAME_CHARACTERS) or [""]
        if len(lines) > 2:
            lines = [lines[0], short(f"{lines[1]} {lines[2]}", NAME_CHARACTERS)]
        names[row.name] = "<br>".join(safe(line) for line in lines)
    longest = max((len(line) for name in names.values() for line in name.split("<br>")), default=0)
    printed = max((len(row.interval) for row, _, _ in marked), default=0)
    left, right = max(SIDE_PX, 28 + 13 * longest // 2), max(SIDE_PX, 30 + 6 * printed)
    low = min([0.0, *(row.low for row in rows)])
    high = max([0.0, *(row.high for row in rows)])
    pad = 0.06 * (high - low or 1.0)
    reach = [low - pad, high + pad]
    x = axis(theme, range=reach, nticks=3, tickangle=0, tickformat="~g")
    y_axis = axis(
        theme,
        range=[total - 0.5, -0.5],
        tickvals=[y for _, _, y in marked],
        ticktext=[names[row.name] for row, _, _ in marked],
        ticklabelstandoff=28,
        tickfont={"size": 12.5, "color": theme.ink},
        showgrid=False,
    )
    quiet = {"x": 0, "y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False}
    quiet["font"] = {"size": 12, "color": theme.quiet}
    printed_at = {"xref": "paper", "x": 1, "xshift": 8, "align": "left", "xanchor": "left"}
    printed_at |= {"showarrow": False, "font": {"size": 12.5, "color": theme.ink}}
    annotations = [
        *(badge(mark, y, theme) | {"x": 0, "xshift": -8} for _, mark, y in marked),
        *(
            printed_at | {"text": f"<b>{row.words}</b><br>({row.interval})", "y": y}
            for row, _, y in marked
        ),
        quiet | {"text": f"◂ {smaller}", "xanchor": "right", "xshift": -6},
        quiet | {"text": f"{larger} ▸", "xanchor": "left", "xshift": 6},
    ]
    height, margin = forest_px(len(marked), len(thin)), (left, right, 26, 34)
    figure = sheet(theme, height, x, y_axis, margin=margin, annotations=annotations)
    figure.add_vline(x=0, line={"color": theme.quiet, "width": 1.2})
    if thin:
        figure.add_traces(_thin_traces(thin, theme))
    for row, mark, y in marked:
        colour = theme.quiet if row.tie else theme.runs[mark.colour]
        figure.add_scatter(
            x=[row.low, row.high],
            y=[y, y],
            name=f"{mark.letter} interval",
            mode="lines",
            line={"color": colour, "width": 2},
            hoverinfo="skip",
        )
        line = {"color": colour, "width": 2 if row.tie else 0}
        marker = {"size": 11, "color": theme.paper if row.tie else colour, "line": line}
        dot = {"name": mark.letter, "mode": "markers", "marker": marker, "cliponaxis": False}
        figure.add_scatter(x=[row.value], y=[y], **dot, **hovers([row.hover]))
    return figure


def forest_px(marked: int, thin: int) -> int:
    """Return how high a forest is of so many runs with a mark and without."""
    return max(CURVES_PX, round(ROW_PX * (marked + THIN_ROW * thin)) + 74)


def _thin_traces(places: Sequence[tuple[ForestRow, float]], theme: Theme) -> list[go.Scatter]:
    """Draw the runs without a mark: all lines as one trace, all dots as another."""
    lines = go.Scatter(
        x=[x for row, _ in places for x in (row.low, row.high, None)],
        y=[y for _, at in places for y in (at, at, None)],
        name="other intervals",
        mode="lines",
        line={"color": theme.bars, "width": 1},
        hoverinfo="skip",
    )
    colours = [theme.paper if row.tie else theme.bars for row, _ in places]
    dots = go.Scatter(
        x=[row.value for row, _ in places],
        y=[at for _, at in places],
        name="other runs",
        mode="markers",
        marker={"size": 5, "color": colours, "line": {"color": theme.bars, "width": 1}},
        **hovers([row.hover for row, _ in places]),
    )
    return [lines, dots]


def gap_curves(
    runs: Sequence[GapCurve], theme: Theme, *, target: int | None = None, height: int = CURVES_PX
) -> go.Figure:
    """Draw each run's gap over the common bins, in points, a line a run with its own dash.

    Bins with fewer than BAND_MIN rows are left out; letters stand right of the plot.
    """
    placed = [(run, np.flatnonzero(run.bins.count >= BAND_MIN)) for run in runs]
    curves = [
        (run, at, 100.0 * (run.bins.confidence[at] - run.bins.accuracy[at]))
        for run, at in placed
        if at.size
    ]
    low = min([0.0, *(float(y.min()) for _, _, y in curves)])
    high = max([0.0, *(float(y.max()) for _, _, y in curves)])
    pad = 0.08 * (high - low or 1.0)
    y_axis = axis(theme, range=[low - pad, high + pad], nticks=6, tickformat="~g")
    figure = sheet(theme, height, axis(theme, **SHARES), y_axis, margin=(40, 40, 26, 34))
    figure.add_hline(y=0, line={"color": theme.quiet, "width": 1.2})
    thin = [(run, at, y) for run, at, y in curves if not run.mark]
    if thin:  # as one trace, with a break between two runs
        figure.add_scatter(
            x=[x for run, at, _ in thin for x in (*run.bins.confidence[at].tolist(), None)],
            y=[gap for _, _, y in thin for gap in (*y.tolist(), None)],
            name="other runs",
            mode="lines",
            line={"color": theme.bars, "width": 1},
            **hovers([text for run, at, _ in thin for text in (*[safe(run.name)] * at.size, "")]),
        )
    marked = [(run.bins, run.mark, at, y) for run, at, y in curves if run.mark]
    words = speech(target)
    for bins, mark, at, gaps in marked:
        figure.add_scatter(
            x=bins.confidence[at],
            y=gaps,
            name=mark.letter,
            mode="lines",
            line={"color": theme.runs[mark.colour], "width": 2, "dash": mark.dash},
            **hovers([f"<b>{mark.letter}</b><br>{hover(bins, int(i), words)}" for i in at]),
        )
    add_letters(figure, [(mark, float(gaps[-1])) for _, mark, _, gaps in marked], theme)
    quiet = {"xref": "paper", "yref": "paper", "showarrow": False, "x": 0}
    quiet |= {"xanchor": "left", "yanchor": "bottom", "font": {"size": 12, "color": theme.quiet}}
    figure.add_annotation(quiet, text="▲ says more", y=1)
    figure.add_annotation(quiet, text="▼ says less", y=0)
    return figure


def add_letters(figure: go.Figure, ends: Sequence[tuple[RunMark, float]], theme: Theme) -> None:
    """Put the letters of curves right of the plot, at their last heights where there is room.

    The figure has the range of its y axis, its height and its margins.
    """
    low, high = figure.layout.yaxis.range
    margin = figure.layout.margin
    plot_px = figure.layout.height - margin.t - margin.b
    room = LETTER_PX / plot_px * (high - low)
    heights = _spread_heights([end for _, end in ends], room, high - room / 2)
    for (mark, _), height in zip(ends, heights, strict=True):
        figure.add_annotation(**badge(mark, height, theme), x=1, xshift=24)


def _spread_heights(heights: Sequence[float], room: float, top: float) -> list[float]:
    """Return heights at least `room` apart and none above the top, in the same order from below.

    Plotly does not draw what stands beyond the ends of an axis.
    """
    placed = [min(height, top) for height in heights]
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    for below, above in pairwise(order):
        placed[above] = max(placed[above], placed[below] + room)
    for place, i in enumerate(reversed(order)):
        placed[i] = min(placed[i], top - place * room)
    return placed


def letter_colour(mark: RunMark, theme: Theme) -> str:
    """Return the colour of a badge's letter, at least 4.5:1 on the run's colour."""
    dark = theme.ink if theme.name == "light" else theme.paper
    return dark if mark.colour in DARK_LETTERS[theme.name] else theme.paper


def badge(mark: RunMark, at: float, theme: Theme) -> dict[str, Any]:  # Any: plotly's settings
    """Return the letter of a run on its colour at that height, as an annotation without x."""
    return {
        "text": f"<b>{mark.letter}</b>",
        "xref": "paper",
        "y": at,
        "xanchor": "right",
        "showarrow": False,
        "width": 14,
        "borderpad": 2,
        "bgcolor": theme.runs[mark.colour],
        "font": {"size": 11.5, "color": letter_colour(mark, theme)},
    }
