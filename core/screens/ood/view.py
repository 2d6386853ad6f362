"""What the page Out of distribution says of one run and one set: sentence, numbers, figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from core.metrics.records import Score
from core.ood.scores import SCORES
from core.ood.thresholds import Counts, roc_points
from core.screens.kit.differences import NamedRun
from core.screens.kit.numbers import count, percent, three, weight
from core.screens.kit.records import (
    Column,
    FigureCard,
    Sentence,
    Table,
    Tile,
)
from core.screens.kit.run_marks import RunMark
from core.screens.kit.tables import ScoreTable
from core.screens.kit.text import short
from core.screens.kit.units import spoken
from core.screens.ood.figures import Density, OperatingPoint, RocLine, density, roc
from core.screens.ood.threshold import BINS, at_thresholds, edges_of
from core.screens.ood.words import (
    HELP,
    LABELS,
    POSITIVE,
    SetName,
    ShiftPair,
    reading_words,
    rows_words,
    share_span,
    weight_words,
)
from core.studies.ood import ScoreSeparation

SUMS = " Counts are sums of weights, not of rows."
PLAIN_TITLE, PLAIN_AXIS = "How unsure it is", "Sure on the left, unsure on the right"
ROC_COLUMNS = (
    Column("curve", "curve"),
    Column("positive", "positive class"),
    Column("false_alarms", "in-distribution flagged", "share"),
    Column("flagged", "out-of-distribution flagged", "share"),
)


@dataclass(frozen=True)
class ShownCurve:
    """One curve: which set, as judged by which run.

    Attributes
    ----------
    label : str
        What tells it from the other curves.
    mark : RunMark
        Its colour and dash.
    judged : ScoreSeparation
        Its numbers.
    """

    label: str
    mark: RunMark
    judged: ScoreSeparation


@dataclass(frozen=True)
class OodView:
    """Everything that the upper part of the page draws."""

    eyebrow: str
    sentence: Sentence
    numbers: tuple[Tile, ...]
    roc: FigureCard
    density: FigureCard
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
    """Return the view of one run beside one set.

    Parameters
    ----------
    named : NamedRun
        The run; its split holds the in-distribution rows.
    name : SetName
        The set.
    curve : ShownCurve
        The set as judged, with every number.
    curves : sequence of ShownCurve
        All curves of the figure, `curve` among them.
    alarms : float
        Share of in-distribution rows that may be flagged.
    temperature : str
        In words: how the scores were changed, or not.
    effects : pair of ShiftEffect, optional
        What the shift does where the set is shifted, beside the intact images.
    plain : bool
        In plain words.
    """
    (at,) = at_thresholds(named, name, curve.judged, [alarms], effects=effects, plain=plain)
    auroc = curve.judged.numbers["auroc"]
    scoring = f"{SCORES[curve.judged.score].label.lower()}, {temperature}"
    by_weight = weight_words(curve.judged)
    counted = (
        f"{named.name}, {named.split} part, n = {rows_words(curve.judged, 0)}, against "
        f"{name.label}, n = {rows_words(curve.judged, 1)}"
    )
    how = () if plain else (scoring, POSITIVE)
    parts = (counted, by_weight, *how, f"file digest {named.digest[:8]}.")
    caption = "; ".join(filter(None, parts))
    pair = f"{named.name} · {named.split} against {name.label}"
    return OodView(
        eyebrow=f"{spoken('Unfamiliar pictures')} · {pair}"
        if plain
        else f"Out of distribution · {pair}",
        sentence=at.sentence,
        numbers=tuple(_tile(curve.judged.numbers[key]) for key in curve.judged.numbers),
        roc=_roc_card(curves, at.tally, scoring, caption),
        density=_density_card(named, name, curve, at.tally, caption, plain=plain),
        tally=at.tally,
        counts=at.counts,
        reading=reading_words(name, curve.judged.score, auroc, plain=plain)
        + (SUMS if by_weight else ""),
        caption=caption,
    )


def _tile(score: Score) -> Tile:
    label, positive = LABELS[score.metric]
    return Tile(
        label,
        f"{score.value:.3f}" if score.value is not None else "–",
        interval=share_span(score),
        note=positive,
        help=HELP[score.metric],
    )


def _roc_card(
    curves: Sequence[ShownCurve], counts: Counts, scoring: str, caption: str
) -> FigureCard:
    lines = []
    rows: list[tuple[str, str, float, float]] = []
    for curve in curves:
        alarms, flagged = roc_points(curve.judged.separation)
        area = curve.judged.numbers["auroc"].value or 0.0
        lines.append(
            RocLine(
                name=short(curve.label, 34),
                area=area,
                alarms=alarms,
                flagged=flagged,
                colour=curve.mark.colour,
                dash=curve.mark.dash,
            )
        )
        rows += [
            (curve.label, "out-of-distribution", float(a), float(f))
            for a, f in zip(alarms, flagged, strict=True)
        ]
    areas = "; ".join(f"{line.name} {line.area:.3f}" for line in lines)
    spot = OperatingPoint(counts.false_alarms, 1.0 - counts.missed)
    return FigureCard(
        key="roc",
        title="ROC",
        explanation="the ring is the threshold",
        draw=partial(roc, lines, spot),
        alt=f"ROC curves by {scoring}, {POSITIVE}. Area under the curve: {areas}. At the threshold "
        f"{percent(spot.flagged)} of the set and {percent(spot.alarms)} of the in-distribution "
        "rows are flagged.",
        table=Table(ROC_COLUMNS, tuple(rows)),
        caption=caption,
    )


def _density_card(
    named: NamedRun, name: SetName, curve: ShownCurve, counts: Counts, caption: str, *, plain: bool
) -> FigureCard:
    separation = curve.judged.separation
    score = SCORES[curve.judged.score]
    title, across = (PLAIN_TITLE, PLAIN_AXIS) if plain else (score.label, score.axis)
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
            f"{named.split} ({'ordinary' if plain else 'in-distribution'})",
            f"{short(name.label, 30)} ({'unfamiliar' if plain else 'positive'})",
        ),
        axis=across,
        threshold=counts.threshold,
        log=log,
        colour=curve.mark.colour,
    )
    table = Table(
        (
            Column("low", "from", "number"),
            Column("high", "to", "number"),
            Column("in_distribution", f"{named.split} (in-distribution)", "weight"),
            Column("out_of_distribution_positive", f"{name.label} (positive)", "weight"),
        ),
        tuple(
            zip(
                edges[:-1].tolist(),
                edges[1:].tolist(),
                inside.tolist(),
                outside.tolist(),
                strict=True,
            )
        ),
    )
    return FigureCard(
        key="density",
        title=title,
        explanation=("log scale; " if log and not plain else "") + "flagged is tinted",
        draw=partial(density, histogram),
        alt=f"{score.axis} of {count(separation.n_in)} in-distribution rows and "
        f"{count(separation.n_out)} rows of {name.label}. Above {three(counts.threshold)} are "
        f"flagged: {weight(counts.flagged_in)} and {weight(counts.flagged_out)} of them"
        f"{' by weight' if separation.weighted else ''}.",
        table=table,
        caption=caption,
    )
