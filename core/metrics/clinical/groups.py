"""Calibration in subgroups: rows by the values of any column of a table; numpy only."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from core.arrays import Bool, Float, Int
from core.defaults import FEW_EVENTS, LEVEL, N_BINS, N_RESAMPLES, SEED
from core.metrics import estimates
from core.metrics.binning import equal_width_cuts
from core.metrics.clinical.fit import Recalibration, recalibration
from core.metrics.estimates import PreparedTarget
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import Floor, Score
from core.metrics.resampling import Resamples
from core.predictions import INDEPENDENT, NO_DATE, Outcomes, SamplingDesign

MOST: Final = 12  # groups that are shown
REST: Final = "all others"
MISSING: Final = "missing"
PERIODS: Final = {"month": 1, "quarter": 3, "year": 12}  # months
ABSENT: Final = frozenset({"", "?", "na", "n/a", "nan", "none", "null"})  # in any case
AGE: Final = re.compile(r"(\d{1,3})([DWMY])")  # DICOM PS3.5, 6.2, age string
IN_YEAR: Final = {"D": 365.25, "W": 365.25 / 7, "M": 12.0, "Y": 1.0}


@dataclass(frozen=True)
class Grouping:
    """The group of each row, and how it was made."""

    groups: tuple[str, ...]  # (N,), name of each row's group
    order: tuple[str, ...]  # the groups in the order in which they are shown
    # (3,), where numbers were cut into quartiles; empty for values taken as they are
    edges: tuple[float, ...] = ()
    period: str = ""  # month, quarter or year, where dates were grouped


@dataclass(frozen=True, kw_only=True)
class Subgroup:
    """Calibration of the rows of one group."""

    name: str  # the group
    fit: Recalibration  # n, events, O:E, slope, both intercepts, with intervals
    # ece, floor: ECE over equal-width bins with interval, and what a calibrated score would show
    ece: Score
    floor: Floor
    too_few: bool  # fewer than FEW_EVENTS events or non-events: too few to judge a curve by
    p_value: float  # of the joint test of "calibrated", of this group by itself


def too_few(rarer: float) -> bool:
    """Whether the rarer of events and non-events is worth under 200 (Van Calster et al. 2016)."""
    return rarer < FEW_EVENTS


def grouping(values: Sequence[str]) -> Grouping:
    """Return the groups of a column.

    Parameters
    ----------
    values : (N,) sequence of str
        A column of a table as it was read. Cells that are empty or hold NA, NaN, null, none or ?
        are a group of their own, "missing".

    Returns
    -------
    Grouping
        More than 12 different numbers, or ages such as 058Y (in years, 006M is half of one), are
        cut into quartiles, whose edges are in their names.
        Otherwise values are groups, the most frequent ones first; beyond 12 groups the rest
        becomes one.

    Examples
    --------
    >>> grouping(["A", "n/a", "B", "", "B"]).order  # the most frequent first, what is missing last
    ('B', 'A', 'missing')
    >>> grouping([str(age) for age in range(1, 14)]).order  # thirteen numbers are more than twelve
    ('up to 4', 'over 4 to 7', 'over 7 to 10', 'over 10')
    """
    stripped = [value.strip() for value in values]
    cells = [MISSING if cell.lower() in ABSENT else cell for cell in stripped]
    distinct = {cell for cell in cells if cell != MISSING}
    numbers = {cell: n for cell in distinct if (n := _number(cell)) is not None}
    # Many different numbers become quartiles, cut at values that occur.
    if len(distinct) > MOST and len(numbers) == len(distinct):
        known = np.array([numbers[cell] for cell in cells if cell != MISSING])
        edges = np.unique(np.quantile(known, [0.25, 0.5, 0.75], method="inverted_cdf"))
        cuts = [f"{edge:.15g}" for edge in edges]
        between = (f"over {low} to {high}" for low, high in pairwise(cuts))
        names = [f"up to {cuts[0]}", *between, f"over {cuts[-1]}"]
        group = {cell: names[int(np.searchsorted(edges, n))] for cell, n in numbers.items()}
        groups = [group.get(cell, MISSING) for cell in cells]
        order = [name for name in (*names, MISSING) if name in set(groups)]
        return Grouping(tuple(groups), tuple(order), tuple(map(float, edges)))
    counts = Counter(cells)
    ranked = sorted(counts, key=lambda cell: (cell == MISSING, -counts[cell], cell))
    if len(ranked) > MOST:
        frequent = ranked[: MOST - 1]
        cells = [cell if cell in frequent else REST for cell in cells]
        ranked = [*(cell for cell in frequent if cell != REST), REST]
    return Grouping(tuple(cells), tuple(ranked))


def by_date(of_row: Int) -> Grouping:
    """Return the groups of dates: by month, or where they span more than 12, by quarter or year.

    Parameters
    ----------
    of_row : (N,) int64
        Microseconds since 1970, as of `core.predictions.Dates`.

    Returns
    -------
    Grouping
        In the order of time, rows without a date last; of more than 12 years the earliest are one.

    Examples
    --------
    >>> days = np.array(["2023-01-31", "2024-03-01"], dtype="datetime64[us]")
    >>> by_date(days.astype(np.int64)).groups  # fifteen months, five quarters
    ('2023 Q1', '2024 Q1')
    """
    known = of_row != NO_DATE
    months = of_row[known].view("datetime64[us]").astype("datetime64[M]").astype(np.int64)
    if not months.size:
        return Grouping((MISSING,) * of_row.size, (MISSING,) if of_row.size else ())
    # The finest period of which few enough are needed.
    spans = {name: months // length for name, length in PERIODS.items()}
    fitting = (name for name, periods in spans.items() if periods.max() - periods.min() < MOST)
    period = next(fitting, "year")
    first = int(spans[period].max()) - MOST + 1
    cut = first if spans[period].min() < first else None
    numbers = np.maximum(spans[period], first)
    names = {}  # 2024-03, 2024 Q1 or 2024
    for k in np.unique(numbers).tolist():
        year, within = divmod(k, 12 // PERIODS[period])
        name = f"{1970 + year}"
        name += {"month": f"-{within + 1:02}", "quarter": f" Q{within + 1}"}.get(period, "")
        names[k] = f"up to {name}" if k == cut else name
    groups = np.full(of_row.size, MISSING, dtype=object)
    groups[known] = [names[k] for k in numbers.tolist()]
    order = (*names.values(), *(() if known.all() else (MISSING,)))
    return Grouping(tuple(groups.tolist()), order, period=period)


def _number(cell: str) -> float | None:
    age = AGE.fullmatch(cell)
    if age is not None:
        return int(age[1]) / IN_YEAR[age[2]]
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def subgroups(
    p: Float,
    y: Bool,
    groups: Grouping,
    level: float = LEVEL,
    *,
    n_resamples: int = N_RESAMPLES,
    sampling: SamplingDesign = INDEPENDENT,
) -> tuple[Subgroup, ...]:
    """Return the calibration of each group.

    Parameters
    ----------
    p : (N,) float64 in [0, 1]
        Stated risks.
    y : (N,) bool
        Events.
    level, n_resamples :
        Of the intervals, and of the draws behind those of ECE.
    sampling : SamplingDesign
        Groups and weights of the rows: which films are of one patient, not the subgroups.

    Returns
    -------
    tuple of Subgroup
        In the order of the grouping, without those of which no row has any weight.
    """
    names = np.array(groups.groups)
    by_group = []
    for name in groups.order:
        rows = names == name
        own = sampling.take(rows)
        if own.weights is not None and not own.weights.any():
            continue
        fit = recalibration(p[rows], y[rows], level, sampling=own)
        ranked = SortedOutcomes.of(Outcomes(p[rows], y[rows], *own))
        resamples = Resamples.of(ranked, n_resamples, SEED)
        prepared = PreparedTarget(
            name=name,
            target=1,
            of="subgroup",
            resamples=resamples,
            n_resamples=n_resamples,
            seed=SEED,
        )
        ece, floor = estimates.error_of(prepared, "ece", n_bins=N_BINS, level=level)
        test = prepared.null.test(equal_width_cuts(prepared.ranked, N_BINS))
        few = too_few(fit.rarer)
        by_group.append(
            Subgroup(name=name, fit=fit, ece=ece, floor=floor, too_few=few, p_value=test.p_value)
        )
    return tuple(by_group)
