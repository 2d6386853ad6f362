"""What is said about each class, each label and the surest answers: tables and their figures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float, Int
from core.defaults import FALSE_ALARMS
from core.metrics.macro import corrected_codes
from core.metrics.records import TOO_HIGH, TOO_LOW, Audit, ClassRow, Gap, Score, TargetAudit
from core.screens.kit import cards
from core.screens.kit.cards import calibration_error, tiles
from core.screens.kit.curves import SHARES, hovers, marker, sheet, whiskers
from core.screens.kit.labels import (
    PLAIN_VERBS,
    VERBS,
    LabelVerdict,
    furthest_first,
    label_verdicts,
    labels_sentence,
    with_unknown,
)
from core.screens.kit.marks import shares
from core.screens.kit.numbers import MISSING, count, in_hundred, percent, points, span, three
from core.screens.kit.records import Cell, Column, FigureCard, Sentence, Table, Tile, columns_of
from core.screens.kit.sentences import with_caveats
from core.screens.kit.text import safe, short
from core.screens.kit.theme import Theme, Tone, axis, faded, name_axis
from core.screens.kit.words import TONE_WORDS, with_row_noun

ROW_PX = 23


def gap_tone(row: ClassRow) -> Tone:
    """Return over or under where the gap is beyond chance as a verdict is, else few."""
    if row.gap is None or row.p_value is None or row.p_value > FALSE_ALARMS:
        return "few"
    return "over" if row.gap.gap > 0.0 else "under"


def class_gaps(rows: tuple[ClassRow, ...], theme: Theme, *, outcome: str = "right") -> go.Figure:
    """Draw a forest of gaps in points, in the order given, values printed at the right.

    Rows without answers have no gap and are left out; customdata is the index of the class.
    `outcome` is what `accuracy` counts.
    """
    drawn = [(row, row.gap) for row in rows if row.gap is not None]
    ends = [100.0 * value for _, gap in drawn for value in (gap.gap, gap.low, gap.high)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    pad = 0.04 * max(high - low, 1.0)
    reach = [low - (pad if low < 0 else 0.2 * pad), high + pad]
    x = axis(theme, "◂ says less · points · says more ▸", range=reach, nticks=3)
    y = name_axis(theme, [safe(short(row.name, 18)) for row, _ in drawn])
    printed = [
        {
            "text": f"{points(gap.gap, gap.low, gap.high, signed=True)} "
            f"<span style='color:{theme.quiet}'>({span(gap.low, gap.high, signed=True)})</span>",
            "xref": "paper",
            "x": 1.02,
            "y": i,
            "xanchor": "left",
            "showarrow": False,
            "font": {"size": 12.5, "color": theme.ink},
        }
        for i, (_, gap) in enumerate(drawn)
    ]
    words = [
        f"<b>{safe(short(row.name, 60))}</b>: {count(row.n)} "
        f"{with_row_noun('image' if row.n == 1 else 'images')},<br>"
        f"says {percent(row.confidence)}, {outcome} {percent(row.accuracy)}"
        for row, _ in drawn
    ]
    margin = (132, 138, 8, 46)
    figure = sheet(theme, ROW_PX * len(drawn) + 62, x, y, margin=margin, annotations=printed)
    figure.add_vline(x=0, line={"color": theme.quiet, "width": 1.2})
    tones: tuple[Tone, ...] = ("few", "under", "over")
    for tone in tones:
        at = [i for i, (row, _) in enumerate(drawn) if gap_tone(row) == tone]
        if not at:
            continue
        gaps = [drawn[i][1] for i in at]
        figure.add_scatter(
            x=[100.0 * gap.gap for gap in gaps],
            y=at,
            name=tone,
            mode="markers",
            marker=marker(theme, tone, 9),
            error_x=whiskers(
                [100.0 * max(0.0, gap.high - gap.gap) for gap in gaps],
                [100.0 * max(0.0, gap.gap - gap.low) for gap in gaps],
                theme.mark(tone),
            ),
            customdata=[drawn[i][0].index for i in at],
            **hovers([words[i] for i in at]),
            cliponaxis=False,
        )
    return figure


MAX_POINTS = 400  # a page needs no more; the table and the area come from all of them


def thinned(size: int) -> Int:
    """Return at most MAX_POINTS positions of a curve, evenly spread, both ends kept."""
    return np.unique(np.linspace(0, size - 1, min(size, MAX_POINTS)).round().astype(np.int64))


def risk_coverage(coverage: Float, risk: Float, theme: Theme) -> go.Figure:
    """Draw the share of wrong answers among the surest ones against how many are kept.

    Both are (G,) in [0, 1], coverage ascending to 1; the caller thins a long curve.
    """
    overall = float(risk[-1])
    top = max(0.01, 1.15 * float(risk.max()))
    x = axis(theme, "Answered, most confident first (share)", **SHARES)
    y = axis(theme, "Wrong among them", range=[0, top], nticks=5, tickformat=".3~p")
    figure = sheet(theme, 270, x, y)
    words = [
        f"<b>Most confident {percent(c)}</b>:<br>wrong {percent(r)}"
        for c, r in zip(coverage, risk, strict=True)
    ]
    figure.add_hline(y=overall, line={"color": theme.quiet, "width": 1.2, "dash": "dot"})
    figure.add_scatter(
        x=coverage,
        y=risk,
        name="risk",
        mode="lines",
        line={"color": theme.ink, "width": 2, "shape": "hv"},
        fill="tozeroy",
        fillcolor=faded(theme.quiet, 0.1),
        **hovers(words),
    )
    figure.add_annotation(
        text=f"answering everything: {percent(overall)} wrong",
        x=0.01,
        y=overall,
        xanchor="left",
        yanchor="bottom",
        showarrow=False,
        font={"size": 12.5, "color": theme.quiet},
    )
    return figure


MAX_CLASSES = 20  # drawn; the table has all of them
COVERAGES = (0.5, 0.8, 0.9, 1.0)  # named in the alt text of the risk-coverage curve

ONE_TEST = (
    "Interval and p-value of a class are of one test, corrected for all classes (Bonferroni); a "
    f"class is off where p is at most {FALSE_ALARMS:g}."
)
CLASS_COLUMNS = (
    Column("class", "class"),
    *columns_of("count", labelled="labelled", n="answered"),
    *columns_of("share", confidence="says", accuracy="right"),
    *columns_of("points", gap="gap, points", gap_low="low", gap_high="high"),
    Column("p_corrected", "p, all classes", "number"),
    Column("ece", "ECE, one vs. rest", "share"),
    Column("reading", "reading"),
)

LABEL_COLUMNS = (
    Column("label", "label"),
    Column("n", "n", "count"),
    *columns_of("share", present="present in", confidence="says"),
    *columns_of("points", gap="gap, points", gap_low="low", gap_high="high"),
    *columns_of("share", ece="ECE", floor_q95="noise floor, 95th percentile"),
    Column("auroc", "AUROC", "number"),
    Column("reading", "reading among all labels (Holm)"),
)


def class_table(rows: tuple[ClassRow, ...]) -> Table:
    """Return every class with its counts, gap and one-against-the-rest ECE."""
    cells: list[tuple[Cell, ...]] = []
    for row in rows:
        gap = _gap_cells(row.gap)
        tone = gap_tone(row)
        reading = "could be chance" if tone == "few" else TONE_WORDS[tone]
        reading = "no such answers" if row.gap is None else reading
        cells.append(
            (
                *(row.name, row.labelled, row.n, row.confidence, row.accuracy),
                *(*gap, row.p_value, row.ece, reading),
            )
        )
    return Table(CLASS_COLUMNS, tuple(cells))


def label_table(labels: tuple[TargetAudit, ...]) -> Table:
    """Return every label with its frequency, gap, error, floor and AUROC.

    The reading is the verdict, corrected for looking at all labels.
    """
    cells: list[tuple[Cell, ...]] = []
    for label, code in zip(labels, corrected_codes(labels), strict=True):
        says, present = shares(label.bins)
        ece, floor = calibration_error(label)
        auroc = label.metrics.get("auroc")
        cells.append(
            (
                label.name,
                int(label.bins.count.sum()),
                present,
                says,
                *_gap_cells(label.direction),
                None if ece is None else ece.value,
                None if floor is None else floor.q95,
                None if auroc is None else auroc.value,
                code.words,
            )
        )
    return Table(LABEL_COLUMNS, tuple(cells))


def class_card(rows: tuple[ClassRow, ...], level: str, caption: str) -> FigureCard:
    """Return the forest of gaps by predicted class, the widest ones where there are many."""
    answered = [(row, row.gap) for row in rows if row.gap is not None]
    widest = sorted(answered, key=lambda pair: abs(pair[1].gap), reverse=True)[:MAX_CLASSES]
    by_gap = sorted(widest, key=lambda pair: pair[1].gap, reverse=True)
    cut = f", the {MAX_CLASSES} widest of {count(len(answered))}"
    cut = cut if len(answered) > MAX_CLASSES else ""
    listed = "; ".join(f"{row.name} {_gap_words(gap)}" for row, gap in by_gap)
    none = "" if any(gap_tone(row) != "few" for row in rows) else " None is beyond chance."
    # What colour, interval and p-value of a class mean: they are of one test
    test = "coloured beyond chance"
    if len(answered) != 1:
        test = (
            f"intervals hold for all {count(len(answered))} classes together at {level} "
            f"(Bonferroni); coloured where p is at most {FALSE_ALARMS:g}"
        )
    return FigureCard(
        key="classes",
        title="Gap by predicted class",
        explanation=f"points, joint {level} intervals{cut}",
        draw=partial(class_gaps, tuple(row for row, _ in by_gap)),
        alt=(
            "Gap by predicted class, what it says minus how often it was right, in points: "
            f"{listed}.{none}"
        ),
        table=class_table(rows),
        caption=f"{caption}; {test}",
    )


def label_card(
    verdicts: Sequence[LabelVerdict], table: Table, level: str, *, plain: bool
) -> FigureCard:
    """Return the forest of gaps by label, in the order given, the first where there are many.

    Coloured are those that are off in one direction once corrected for looking at all labels.
    """
    rows = []
    for verdict in verdicts[:MAX_CLASSES]:
        label = verdict.audit
        says, present = shares(label.bins)
        rows.append(
            ClassRow(
                index=verdict.index,
                name=label.name,
                labelled=round(present * label.bins.count.sum()),
                n=int(label.bins.count.sum()),
                confidence=says,
                accuracy=present,
                gap=label.direction,
                p_value=0.0 if verdict.code in {*TOO_HIGH, *TOO_LOW} else None,
                ece=verdict.error,
            )
        )
    cut = f", the first {MAX_CLASSES} of {count(len(verdicts))}"
    cut = cut if len(verdicts) > MAX_CLASSES else ""
    listed = "; ".join(f"{row.name} {_gap_words(row.gap)}" for row in rows if row.gap)
    title = "Expected minus found" if plain else "Gap by label"
    return FigureCard(
        key="labels",
        title=title,
        explanation=f"points; {level} intervals; hollow: not off to one side{cut}",
        draw=partial(class_gaps, tuple(rows), outcome="there in"),
        alt=f"{title}, in points: {listed}.",
        table=table,
        caption=f"{level} intervals of each alone."
        + ("" if plain else " Colours are corrected for looking at all labels (Holm)."),
    )


def risk_card(coverage: Float, risk: Float, aurc: Score | None, caption: str) -> FigureCard:
    """Return the risk-coverage curve; its table holds the points that are drawn."""
    named = []
    for share in COVERAGES:
        at = min(int((coverage < share - 1e-12).sum()), coverage.size - 1)
        of = "all" if coverage[at] >= 1 else f"the surest {percent(float(coverage[at]))}"
        named.append(f"{percent(float(risk[at]))} of {of}")
    named = list(dict.fromkeys(named))
    area = ""
    if aurc is not None and aurc.value is not None:
        area = f" Area under the curve {three(aurc.value)}."
    places = thinned(coverage.size)  # before it is stored: a curve may have as many points as rows
    columns = (Column("coverage", "answered", "share"), Column("risk", "wrong", "share"))
    return FigureCard(
        key="risk",
        title="Wrong answers among the most confident",
        explanation="risk–coverage",
        draw=partial(risk_coverage, coverage[places], risk[places]),
        alt=f"Share of wrong answers: {', '.join(named)}.{area}",
        table=Table(columns, tuple((float(coverage[i]), float(risk[i])) for i in places)),
        caption=caption,
    )


def _gap_cells(gap: Gap | None) -> tuple[Cell, Cell, Cell]:
    return (None, None, None) if gap is None else (gap.gap, gap.low, gap.high)


def _gap_words(gap: Gap) -> str:
    interval = span(gap.low, gap.high, signed=True)
    return f"{points(gap.gap, gap.low, gap.high, signed=True)} ({interval})"


PLAIN_COLUMNS = (
    Column("label", "finding"),
    Column("reading", "this finding"),
    Column("says", "expected, in 100"),
    Column("present", "there, in 100"),
    Column("off", "off by, points on average"),
)


@dataclass(frozen=True)
class LabelsView:
    """The summary of a file of many labels.

    `table` is the whole of it, and `shown` what this edition shows; `order` holds the index of the
    label in each of their rows.
    """

    sentence: Sentence
    numbers: tuple[Tile, ...]
    figure: FigureCard
    table: Table
    shown: Table
    order: tuple[int, ...]


def labels_view(audit: Audit, *, plain: bool) -> LabelsView:
    """Return the summary of an audit of many labels, what is off first, by its calibration error.

    The verdicts are corrected for looking at all labels (Holm).
    """
    verdicts = label_verdicts(audit.labels)
    sorted_verdicts = furthest_first(verdicts)
    order = tuple(verdict.index for verdict in sorted_verdicts)
    full = label_table(audit.labels)
    table = Table(full.columns, tuple(full.rows[i] for i in order))
    shown = table
    if plain:  # what is expected of each label and what is there, as times in 100
        rows = []
        for verdict in sorted_verdicts:
            says, present = (in_hundred(share) for share in shares(verdict.corrected.bins))
            off = points(verdict.error) if verdict.error >= 0.0 else MISSING
            reading = PLAIN_VERBS[verdict.code][0]
            rows.append((verdict.corrected.name, reading, says, present, off))
        shown = Table(PLAIN_COLUMNS, tuple(rows))
    noun, verbs = ("findings", PLAIN_VERBS) if plain else ("labels", VERBS)
    sentence = labels_sentence(verdicts, noun, verbs)
    return LabelsView(
        sentence=with_caveats(
            with_unknown(replace(sentence, second="") if plain else sentence, audit), audit.notices
        ),
        numbers=() if plain else tiles(audit, audit.main, "ink"),
        figure=label_card(sorted_verdicts, shown, cards.level(audit.main), plain=plain),
        table=table,
        shown=shown,
        order=order,
    )
