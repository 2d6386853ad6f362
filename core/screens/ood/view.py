"""What the page Out of distribution says of one run and one set: sentence, numbers, figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.arrays import Counts as RowCounts
from core.arrays import Float
from core.ood.scores import SCORES
from core.ood.separation import (
    Counts,
    Separation,
    counts_of,
    effective_sizes,
    roc_points,
    thresholds_at,
)
from core.screens.kit.curves import Curve, legend, sheet, tint
from core.screens.kit.diagram import share_axis
from core.screens.kit.differences import NamedRun
from core.screens.kit.marks import RunMark
from core.screens.kit.numbers import count, percent, three, weight
from core.screens.kit.records import (
    Cell,
    Column,
    Estimate,
    FigureCard,
    ScoreTable,
    Sentence,
    Table,
    TableRow,
    Tile,
    columns_of,
)
from core.screens.kit.text import safe, short
from core.screens.kit.theme import Theme, axis, faded
from core.screens.kit.words import with_row_noun
from core.screens.ood.words import (
    HELP,
    LABELS,
    POSITIVE,
    SetName,
    ShiftPair,
    reading_words,
    rows_words,
    sentence,
    share_span,
    weight_words,
)
from core.studies.ood import ScoreSeparation

ROC_PX, DENSITY_PX = 470, 270
MOST_POWERS = 6  # named on a logarithmic axis
WRITTEN_OUT = -3  # smaller powers have an exponent
SMALLEST = 0.0001  # smaller scores likewise
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class OperatingPoint:
    """Where the threshold stands on a curve: shares of both sets that are flagged."""

    alarms: float
    flagged: float


def roc(
    curves: Sequence[Curve], areas: Sequence[float], spot: OperatingPoint, theme: Theme
) -> go.Figure:
    """Draw curves with the area under each, the line of a guess, and where the threshold stands."""
    x = share_axis(theme, "In-distribution flagged (false alarms)", constrain="domain")
    square = {"scaleanchor": "x", "constrain": "domain"}
    y = share_axis(theme, "Out-of-distribution flagged (positive)", **square)
    figure = sheet(theme, ROC_PX, x, y, margin=(62, 26, 40, 46), named=True)
    figure.add_scatter(
        x=[0, 1],
        y=[0, 1],
        name="a guess",
        mode="lines",
        line={"color": theme.quiet, "width": 1.2, "dash": "dash"},
        hoverinfo="skip",
        showlegend=False,
    )
    for curve, area in zip(curves, areas, strict=True):
        name, colour = safe(curve.name), tint(curve.colour, theme)
        figure.add_scatter(
            x=curve.x,
            y=curve.y,
            name=f"{name} <b>{area:.3f}</b>",
            mode="lines",
            line={"color": colour, "width": 2.2, "dash": curve.dash, "simplify": False},
            hovertemplate=f"<b>{name}</b><br>%{{y:.1%}} flagged, %{{x:.1%}} false alarms"
            "<extra></extra>",
        )
    ring = {"size": 12, "color": theme.paper, "line": {"color": theme.ink, "width": 2.4}}
    figure.add_scatter(
        **spot_at(spot),
        name="threshold",
        mode="markers",
        marker=ring,
        showlegend=False,
        cliponaxis=False,
    )
    return figure


def spot_at(spot: OperatingPoint) -> dict[str, Any]:
    """Return what moves of the ring with the threshold; it is the last trace."""
    return {
        "x": [spot.alarms],
        "y": [spot.flagged],
        "hovertemplate": f"threshold: {spot_words(spot)}<extra></extra>",
    }


def spot_words(spot: OperatingPoint) -> str:
    """Return the shares of both sets that are flagged, in words."""
    return f"{percent(spot.flagged)} flagged, {percent(spot.alarms)} false alarms"


@dataclass(frozen=True, kw_only=True)
class Density:
    """Scores of both sets in common bins."""

    # (B + 1,) float64; ascending; the first and the last bin also hold what lies beyond them.
    edges: Float
    # inside, outside: (B,) int64; rows of each set in each bin; with weights float64, how many
    # these stand for
    inside: RowCounts
    outside: RowCounts
    names: tuple[str, str]  # what the sets are called
    axis: str  # what the score is
    threshold: float  # above it rows are flagged
    log: bool  # the axis is logarithmic
    colour: int  # of the set, in a theme's `runs`


def density(shown: Density, theme: Theme) -> go.Figure:
    """Draw both sets as outlines in percent of each, and tint what is flagged."""
    ends = _ends(shown.edges, log=shown.log)
    across: dict[str, Any] = {"range": ends, "showgrid": False}
    if shown.log:
        powers = np.arange(np.ceil(ends[0] - 1e-9), np.floor(ends[1]) + 1)
        powers = powers[:: -(-len(powers) // MOST_POWERS)]
        texts = [_power(int(k)) for k in powers.tolist()]
        texts[0] = f"≤ {texts[0]}"
        across |= {"type": "log", "tickvals": (10.0**powers).tolist(), "ticktext": texts}
    flagged: dict[str, Any] = {"y": 1.0, "yref": "paper", "yanchor": "bottom", "showarrow": False}
    flagged["font"] = {"size": 12.5, "color": theme.ink}
    figure = sheet(
        theme,
        DENSITY_PX,
        axis(theme, shown.axis, **across),
        axis(theme, "% of the set", rangemode="tozero"),
        margin=(44, 26, 52, 46),
        showlegend=True,
        legend=legend(theme) | {"y": 1.1},
        annotations=[flagged],
    )
    high = float(shown.edges[-1])
    figure.add_vrect(
        x0=high, x1=high, fillcolor=faded(theme.quiet, 0.12), line_width=0, layer="below"
    )
    sets: tuple[tuple[RowCounts, str, dict[str, Any]], ...] = (
        (shown.inside, shown.names[0], {"color": theme.quiet, "dash": "dot"}),
        (shown.outside, shown.names[1], {"color": theme.runs[shown.colour % len(theme.runs)]}),
    )
    for values, name, line in sets:  # as steps; every step says its bin, its share and its rows
        share = 100.0 * values / values.sum()
        unit = with_row_noun("images") + ("" if values.dtype == np.int64 else " by weight")
        steps = zip(shown.edges[:-1], shown.edges[1:], share, values.tolist(), strict=True)
        words = [
            f"{_written(float(a))} to {_written(float(b))}: {percent(s / 100)}, {weight(n)} {unit}"
            for a, b, s, n in steps
        ]
        figure.add_scatter(
            x=shown.edges,
            y=np.append(share, share[-1]),
            name=safe(name),
            mode="lines",
            line=line | {"width": 1.8, "shape": "hv"},
            fill="tozeroy",
            fillcolor=faded(line["color"], 0.18),
            customdata=[*words, words[-1]],
            hovertemplate=f"<b>{safe(name)}</b><br>%{{customdata}}<extra></extra>",
        )
    figure.add_vline(x=high, line={"color": theme.ink, "width": 2})
    for path, value in line_at(shown.edges, shown.threshold, log=shown.log).items():
        figure.layout[path] = value
    return figure


def _power(exponent: int) -> str:
    """Return a power of ten in digits: 0.001, and from there down 10⁻⁴."""
    if exponent < WRITTEN_OUT:
        return f"10{str(exponent).translate(RAISED)}"
    return np.format_float_positional(10.0**exponent, trim="-")


def _written(score: float) -> str:
    """Return a score in digits; one that they would show as 0 as a multiple of a power of ten."""
    if not 0.0 < score < SMALLEST:
        return three(score)
    factor, _, exponent = f"{score:.1e}".partition("e")
    return f"{factor} × {_power(int(exponent))}"


def line_at(edges: Float, threshold: float, *, log: bool) -> dict[str, Cell]:
    """Return what moves with the threshold: tint, line and words, by their paths in the layout."""
    at = float(np.clip(threshold, edges[0], edges[-1]))
    place = float(np.log10(at)) if log else at
    left, right = _ends(edges, log=log)
    return {
        "shapes[0].x0": at,
        "shapes[1].x0": at,
        "shapes[1].x1": at,
        "annotations[0].x": place,
        "annotations[0].text": f"<b>flagged above {_written(threshold)}</b>",
        "annotations[0].xanchor": "right" if place - left > 0.5 * (right - left) else "left",
    }


def _ends(edges: Float, *, log: bool) -> list[float]:
    """Return where the axis ends, as Plotly takes it."""
    ends: list[float] = (np.log10(edges[[0, -1]]) if log else edges[[0, -1]]).tolist()
    return ends


# The view of one run and one set.
SUMS = " Counts are sums of weights."
PLAIN_TITLE, PLAIN_AXIS = "How unsure it is", "Sure on the left, unsure on the right"
ROC_COLUMNS = (
    Column("curve", "curve"),
    Column("positive", "positive class"),
    Column("false_alarms", "in-distribution flagged", "share"),
    Column("flagged", "out-of-distribution flagged", "share"),
)
FIRST = ("auroc", "fpr95")  # the numbers of the first view
BINS = 50
LOWEST = 1e-9  # where a logarithmic axis may begin; what lies below stands in its first bin
LOG_SCORES = ("entropy", "msp")
TAIL = 0.001  # of either set, beyond the ends of a linear axis
COUNT_HEADS = ("At this threshold", "Flagged", "Passed", "All")
PLAIN_HEADS = ("Alarm", "No alarm", "All")
COUNT_COLUMNS = (
    *columns_of(set="set", side="side", positive="positive class", score="score"),
    *columns_of("number", temperature="temperature", threshold="threshold"),
    *columns_of("weight", flagged="flagged", passed="passed"),
)
EXTENT_COLUMNS = (
    Column("rows", "rows", "count"),
    Column("group_column", "groups by"),
    Column("groups", "groups", "count"),
    Column("effective_n", "effective sample size, for the AUROC", "number"),
    Column("weight_column", "rows count by"),
)


@dataclass(frozen=True)
class ShownCurve:
    """One curve: which set, as judged by which run."""

    label: str  # what tells it from the other curves
    mark: RunMark  # its colour and dash
    judged: ScoreSeparation  # its numbers


@dataclass(frozen=True, kw_only=True)
class AtThreshold:
    """What is written and drawn at one threshold."""

    alarms: float  # share of in-distribution rows that may be flagged
    tally: Counts  # what the threshold does to either set
    sentence: Sentence  # the first line of the page
    counts: ScoreTable  # the tally as a table
    line: Mapping[str, Cell]  # of the layout of the figure of densities, by path
    spot: Mapping[str, Cell | list[float]]  # of the ring on the ROC curve, by property
    # written, said: the share of false alarms, and what a screen reader says of the threshold
    written: str
    said: str


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """What the figures of a set are drawn from; see `ood_view`."""

    named: NamedRun
    name: SetName
    curve: ShownCurve
    curves: Sequence[ShownCurve]
    tally: Counts
    scoring: str
    caption: str
    plain: bool


@dataclass(frozen=True)
class OodView:
    """Everything that the upper part of the page draws; `more` numbers are folded.

    `figures` are those of `FIGURES` by their keys. The threshold stands under "density"; those that
    `of_all_sets` names are the same whichever set is in focus.
    """

    sentence: Sentence
    numbers: tuple[Tile, ...]
    more: tuple[Tile, ...]
    figures: Mapping[str, FigureCard]
    of_all_sets: frozenset[str]
    tally: Counts
    counts: ScoreTable
    reading: str
    caption: str


def ood_view(
    named: NamedRun,
    name: SetName,
    curve: ShownCurve,
    curves: Sequence[ShownCurve],
    alarms: float,
    temperature: str,
    *,
    effects: ShiftPair | None = None,
    plain: bool = False,
) -> OodView:
    """Return the view of one run beside one set; the run's split holds the in-distribution rows.

    `curve` is the set as judged, with every number, and one of `curves`. `alarms` is the share of
    in-distribution rows that may be flagged; `temperature` says how scores were changed, or not;
    `effects` what a shifted set does beside the intact images.
    """
    (at,) = at_thresholds(named, name, curve.judged, [alarms], effects=effects, plain=plain)
    auroc = curve.judged.numbers["auroc"]
    scoring = f"{SCORES[curve.judged.score].label.lower()}, {temperature}"
    by_weight = weight_words(curve.judged)
    counted = (
        f"{named.name}, {named.split} part, n = {rows_words(curve.judged, 0)}, against "
        f"{name.label}, n = {rows_words(curve.judged, 1)}"
    )
    tiles = {}
    for key, score in curve.judged.numbers.items():
        label, positive = LABELS[score.metric]
        value = "–" if score.value is None else f"{score.value:.3f}"
        span, meaning = share_span(score), HELP[score.metric]
        tiles[key] = Tile(label, value, interval=span, note=positive, help=meaning)
    how = () if plain else (scoring, POSITIVE, f"file digest {named.digest[:8]}")
    caption = "; ".join(filter(None, (counted, by_weight, *how))) + "."
    drawn = Drawn(
        named=named,
        name=name,
        curve=curve,
        curves=curves,
        tally=at.tally,
        scoring=scoring,
        caption=caption,
        plain=plain,
    )
    shown = [(kind, kind.card(drawn)) for kind in FIGURES if kind.plain or not plain]
    return OodView(
        sentence=at.sentence,
        numbers=tuple(tile for key, tile in tiles.items() if key in FIRST),
        more=tuple(tile for key, tile in tiles.items() if key not in FIRST),
        figures={card.key: card for _, card in shown},
        of_all_sets=frozenset(card.key for kind, card in shown if kind.of_all_sets),
        tally=at.tally,
        counts=at.counts,
        reading=reading_words(name, curve.judged.score, auroc, plain=plain)
        + (SUMS if by_weight else ""),
        caption=caption,
    )


def at_thresholds(
    named: NamedRun,
    name: SetName,
    judged: ScoreSeparation,
    alarms: Sequence[float],
    *,
    effects: ShiftPair | None = None,
    plain: bool = False,
) -> list[AtThreshold]:
    """Return what is written and drawn at each share of false alarms; see `ood_view`."""
    separation = judged.separation
    edges, log = edges_of(separation, judged.score)
    tallies = counts_of(separation, thresholds_at(separation, alarms))
    heads = (with_row_noun("Of these pictures"), *PLAIN_HEADS) if plain else COUNT_HEADS
    keys = ("flagged", "passed", "all")
    shown = [Column(key, head, "weight") for key, head in zip(keys, heads[1:], strict=True)]
    # What rows are worth, only where they do not count once
    effective = () if separation.members is None else effective_sizes(separation)
    columns = (*COUNT_COLUMNS, *EXTENT_COLUMNS) if effective else COUNT_COLUMNS
    ns, thresholds = (separation.n_in, separation.n_out), []
    for share, tally in zip(alarms, tallies, strict=True):
        rows = []
        sides = (
            (named.split, "in-distribution", tally.flagged_in, tally.passed_in),
            (name.label, "out-of-distribution", tally.flagged_out, tally.passed_out),
        )
        for i, (set_name, side, flagged, passed) in enumerate(sides):
            total = flagged + passed
            cells: dict[str, Estimate | Cell] = {
                "set": set_name,
                "side": side,
                "positive": "out-of-distribution",
                "score": judged.score,
                "temperature": judged.temperature,
                "threshold": tally.threshold,
                "flagged": Estimate(flagged, note=percent(flagged / total)),
                "passed": Estimate(passed, note=percent(passed / total)),
                "all": Estimate(total),
            }
            if effective:
                groups, weights = judged.groups[i], judged.weights[i]
                cells |= {
                    "rows": ns[i],
                    "group_column": groups.column if groups else "",
                    "groups": groups.n if groups else None,
                    "effective_n": effective[i],
                    "weight_column": weights.column if weights else "",
                }
            rows.append(TableRow(name=set_name, cells=cells, shaded=i == 1))
        point = OperatingPoint(tally.false_alarms, 1.0 - tally.missed)
        thresholds.append(
            AtThreshold(
                alarms=share,
                tally=tally,
                sentence=sentence(name, judged, tally, effects, plain=plain),
                counts=ScoreTable(heads[0], tuple(shown), columns, tuple(rows)),
                line=line_at(edges, tally.threshold, log=log),
                spot=spot_at(point),
                written=percent(share),
                said=f"{percent(share)}; {spot_words(point)}",
            )
        )
    return thresholds


def edges_of(separation: Separation, score: str) -> tuple[Float, bool]:
    """Return the bins that both sets are counted in, and whether their axis is logarithmic."""
    passed = [np.cumsum(side) / side.sum() for side in (separation.inside, separation.outside)]
    low = min(float(separation.values[np.searchsorted(side, TAIL)]) for side in passed)
    top = float(separation.values[-1])
    if score in LOG_SCORES and separation.values[0] >= 0.0 and top > LOWEST:
        start = 10.0 ** np.floor(np.log10(max(low, LOWEST)))
        return np.geomspace(start, max(top, 10.0 * start), BINS + 1), True
    at = [min(int(np.searchsorted(side, 1.0 - TAIL)), side.size - 1) for side in passed]
    high = max(float(separation.values[i]) for i in at)
    wide = max(high - low, 1e-9 * max(1.0, abs(low)))
    return np.linspace(low, low + wide, BINS + 1), False


def _roc_card(drawn: Drawn) -> FigureCard:
    counts, curves = drawn.tally, []
    rows: list[tuple[str, str, float, float]] = []
    for shown in drawn.curves:
        alarms, flagged = roc_points(shown.judged.separation)
        name, mark = short(shown.label, 34), shown.mark
        curves.append(Curve(name, alarms, flagged, mark.colour, mark.dash))
        rows += [
            (shown.label, "out-of-distribution", float(a), float(f))
            for a, f in zip(alarms, flagged, strict=True)
        ]
    areas = [shown.judged.numbers["auroc"].value or 0.0 for shown in drawn.curves]
    listed = "; ".join(f"{area:.3f} for {c.name}" for c, area in zip(curves, areas, strict=True))
    spot = OperatingPoint(counts.false_alarms, 1.0 - counts.missed)
    return FigureCard(
        key="roc",
        title="ROC",
        explanation="the ring is the threshold",
        draw=partial(roc, curves, areas, spot),
        alt=f"ROC curves by {drawn.scoring}, {POSITIVE}. Area under the curve: {listed}. "
        f"At the threshold {percent(spot.flagged)} of the set and {percent(spot.alarms)} of the "
        f"in-distribution {with_row_noun('images')} are flagged.",
        table=Table(ROC_COLUMNS, tuple(rows)),
        caption=drawn.caption,
    )


def _density_card(drawn: Drawn) -> FigureCard:
    named, name, curve, counts = drawn.named, drawn.name, drawn.curve, drawn.tally
    plain, separation = drawn.plain, curve.judged.separation
    score = SCORES[curve.judged.score]
    title, across = (PLAIN_TITLE, PLAIN_AXIS) if plain else (score.label, score.axis)
    kinds = ("ordinary", "unfamiliar") if plain else ("in-distribution", "positive")
    edges, log = edges_of(separation, curve.judged.score)
    place = np.clip(np.searchsorted(edges, separation.values, side="left") - 1, 0, BINS - 1)
    inside, outside = (
        np.bincount(place, side, BINS).astype(side.dtype)
        for side in (separation.inside, separation.outside)
    )
    histogram = Density(
        edges=edges,
        inside=inside,
        outside=outside,
        names=(
            f"{named.split} ({kinds[0]})",
            f"{short(name.label, 30)} ({kinds[1]})",
        ),
        axis=across,
        threshold=counts.threshold,
        log=log,
        colour=curve.mark.colour,
    )
    columns = (
        *columns_of("number", low="from", high="to"),
        Column("in_distribution", f"{named.split} ({kinds[0]})", "weight"),
        Column("out_of_distribution_positive", f"{name.label} ({kinds[1]})", "weight"),
    )
    cells = (edges[:-1], edges[1:], inside, outside)
    rows = tuple(zip(*(column.tolist() for column in cells), strict=True))
    return FigureCard(
        key="density",
        title=title,
        explanation=("log scale; " if log and not plain else "") + "flagged is tinted",
        draw=partial(density, histogram),
        alt=f"{title if plain else score.axis} of {count(separation.n_in)} "
        f"{kinds[0]} {with_row_noun('pictures' if plain else 'images')} "
        f"and {count(separation.n_out)} {name.called(plain=plain)}. "
        f"Above {three(counts.threshold)} are flagged: "
        f"{weight(counts.flagged_in)} and {weight(counts.flagged_out)} of them"
        f"{' by weight' if separation.weighted else ''}.",
        table=Table(columns, rows),
        caption=drawn.caption,
    )


class OodFigure(NamedTuple):
    """A figure of the page and the report: one for all sets or one a set; in plain words too."""

    card: Callable[[Drawn], FigureCard]
    of_all_sets: bool = False
    plain: bool = False


FIGURES = (OodFigure(_roc_card, of_all_sets=True), OodFigure(_density_card, plain=True))
