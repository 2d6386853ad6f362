"""What the page Out of distribution says and draws at each threshold of its slider."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import Float
from core.ood.separation import Separation
from core.ood.thresholds import Counts, counts_of, thresholds_at
from core.ood.values import worth
from core.screens.kit.differences import NamedRun
from core.screens.kit.numbers import percent
from core.screens.kit.records import Cell, Column, Sentence
from core.screens.kit.tables import Estimate, PageColumn, ScoreTable, TableRow
from core.screens.kit.units import spoken
from core.screens.ood.figures import OperatingPoint, line_at, spot_at, spot_words
from core.screens.ood.words import SetName, ShiftPair, sentence
from core.studies.ood import ScoreSeparation

BINS = 50
LOWEST = 1e-9  # where a logarithmic axis may begin; what lies below stands in its first bin
LOG_SCORES = ("entropy", "msp")
TAIL = 0.001  # of either set, beyond the ends of a linear axis
COUNT_HEADS = ("At this threshold", "Flagged", "Passed", "All")
PLAIN_HEADS = ("Alarm", "No alarm", "All")
COUNT_COLUMNS = (
    Column("set", "set"),
    Column("side", "side"),
    Column("positive", "positive class"),
    Column("score", "score"),
    Column("temperature", "temperature", "number"),
    Column("threshold", "threshold", "number"),
    Column("flagged", "flagged", "weight"),
    Column("passed", "passed", "weight"),
)
EXTENT_COLUMNS = (
    Column("rows", "rows", "count"),
    Column("group_column", "groups by"),
    Column("groups", "groups", "count"),
    Column("effective_n", "independent rows, for the AUROC", "number"),
    Column("weight_column", "rows count by"),
)


@dataclass(frozen=True, kw_only=True)
class AtThreshold:
    """What is written and drawn at one threshold.

    Attributes
    ----------
    alarms : float
        Share of in-distribution rows that may be flagged.
    tally : Counts
        What the threshold does to either set.
    sentence : Sentence
        The first line of the page.
    counts : ScoreTable
        The tally as a table.
    line : mapping
        Of the layout of the figure of densities, by path.
    spot : mapping
        Of the ring on the ROC curve, by property.
    written, said : str
        The share of false alarms, and what a screen reader says of the threshold.
    """

    alarms: float
    tally: Counts
    sentence: Sentence
    counts: ScoreTable
    line: Mapping[str, Cell]
    spot: Mapping[str, Cell | list[float]]
    written: str
    said: str


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
    heads = (spoken("Of these pictures"), *PLAIN_HEADS) if plain else COUNT_HEADS
    extents = _extents(judged)
    return [
        AtThreshold(
            alarms=share,
            tally=tally,
            sentence=sentence(name, judged, tally, effects, plain=plain),
            counts=_count_table(named, name, tally, judged, heads, extents),
            line=line_at(edges, tally.threshold, log=log),
            spot=spot_at(point := OperatingPoint(tally.false_alarms, 1.0 - tally.missed)),
            written=percent(share),
            said=f"{percent(share)}; {spot_words(point)}",
        )
        for share, tally in zip(alarms, tallies, strict=True)
    ]


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


def _count_table(
    named: NamedRun,
    name: SetName,
    tally: Counts,
    judged: ScoreSeparation,
    heads: tuple[str, str, str, str],
    extents: tuple[dict[str, Cell], dict[str, Cell]],
) -> ScoreTable:
    """Return what the threshold does to either set; the file says what their rows are worth."""
    corner, flagged, passed, every = heads
    same: dict[str, Estimate | Cell] = {
        "positive": "out-of-distribution",
        "score": judged.score,
        "temperature": judged.temperature,
        "threshold": tally.threshold,
    }
    sides = (
        (named.split, "in-distribution"),
        (name.label, "out-of-distribution"),
    )
    numbers = (
        (tally.flagged_in, tally.passed_in),
        (tally.flagged_out, tally.passed_out),
    )
    rows = tuple(
        TableRow(
            name=set_name,
            cells={
                **same,
                "set": set_name,
                "side": side,
                **_shares(*numbers[i]),
                **extents[i],
            },
            shaded=i == 1,
        )
        for i, (set_name, side) in enumerate(sides)
    )
    shown = (
        PageColumn("flagged", flagged, "weight"),
        PageColumn("passed", passed, "weight"),
        PageColumn("all", every, "weight"),
    )
    columns = (*COUNT_COLUMNS, *EXTENT_COLUMNS) if extents[0] else COUNT_COLUMNS
    return ScoreTable(corner, shown, columns, rows)


def _shares(flagged: float, passed: float) -> dict[str, Estimate]:
    total = flagged + passed
    return {
        "flagged": Estimate(flagged, note=percent(flagged / total)),
        "passed": Estimate(passed, note=percent(passed / total)),
        "all": Estimate(total),
    }


def _extents(judged: ScoreSeparation) -> tuple[dict[str, Cell], dict[str, Cell]]:
    """Return the effective sample size of either set; empty where each row counts once."""
    separation = judged.separation
    if separation.members is None:
        return {}, {}
    own, other = (
        {
            "rows": n,
            "group_column": groups.column if groups else "",
            "groups": groups.n if groups else None,
            "effective_n": effective,
            "weight_column": weights.column if weights else "",
        }
        for n, groups, effective, weights in zip(
            (separation.n_in, separation.n_out),
            judged.groups,
            worth(separation),
            judged.weights,
            strict=True,
        )
    )
    return own, other
