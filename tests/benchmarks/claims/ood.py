"""Out of distribution.

Normal scores: in-distribution N(0, 1), OOD N(d, s), as many of either (one OOD row to ten
where that is said); the truth is that of the two distributions. Ties: scores rounded to 0.75.
Groups: 20 rows share three tenths of the variance. Two runs on the same rows have scores that are
correlated by one half; equal ones have the same d. 300 resamples. "Rows" are those of both sets.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from core.arrays import Float
from core.configs import AuditConfig
from core.ood.separation import NUMBERS, Separation
from core.predictions import Groups, Predictions, ScoreKind, Task
from core.screens.kit.marks import marks
from core.screens.ood.tables import SetRow
from core.screens.ood.tables import rows as table_rows
from core.screens.ood.words import SetName
from core.studies.ood import OodPair, difference, judge
from tests.benchmarks.claims.designs import COVERAGE, Rng, Row, generator, power, sentence

SETTINGS, SCORE = AuditConfig(n_resamples=300), "msp"
SIZES = (20, 60, 200, 1_000, 2_000, 10_000)
ENDS, MANY_CELLS, MASS = (-9.0, 18.0), 27_000, 1e12
ALIKE = 0.3  # of the variance, shared by a group
TOGETHER = 0.5  # correlation of two runs
MARKS = marks(["A"])


class Design(NamedTuple):
    """Distance and spread of the OOD scores, their share, rounding, rows of a group.

    `seeded_by` is an earlier name of the design, by which its random numbers are still drawn.
    """

    distance: float
    spread: float = 1.0
    outside: float = 0.5
    step: float = 0.0
    group: int = 1
    seeded_by: str = ""


DESIGNS = {
    "hardly told (d 0.4)": Design(0.4),
    "told (d 1.2)": Design(1.2),
    "well told (d 2.5)": Design(2.5),
    "almost always told (d 4)": Design(4.0),
    "spread OOD (d 1.5, s 2)": Design(1.5, 2.0, seeded_by="spread strange (d 1.5, s 2)"),
    "few OOD (d 1.2, 1 to 10)": Design(
        1.2, outside=1 / 11, seeded_by="few strange (d 1.2, 1 to 10)"
    ),
    "ties (d 1.2)": Design(1.2, step=0.75),
    "groups of 20 (d 1.2)": Design(1.2, group=20),
}
WIDE = (
    "Spans two intervals, of which one is for few rows or few out of order: wide where either "
    "would do."
)
NOTES = {
    ("groups", 60): "Two groups in either set: no interval is to be trusted.",
    ("ties", 60): "Between six tied scores the threshold jumps over the one that keeps 95 %.",
    ("few OOD", 20): "Two OOD rows.",
}
PAIRS = {  # distances of two runs
    "equal (d 0.4)": (0.4, 0.4),
    "equal (d 1.2)": (1.2, 1.2),
    "equal (d 2.5)": (2.5, 2.5),
    "equal, groups of 20 (d 1.2)": (1.2, 1.2),
    "unequal (d 0.8, 1.2)": (0.8, 1.2),
    "unequal (d 1.2, 2.5)": (1.2, 2.5),
}


@cache
def truth(design: Design) -> dict[str, float]:
    """Return the numbers of the distributions, from their mass in narrow cells."""
    step = design.step or (ENDS[1] - ENDS[0]) / MANY_CELLS
    at = np.arange(ENDS[0], ENDS[1], step)
    masses = []
    for share, mean, spread in (
        (1.0 - design.outside, 0.0, 1.0),
        (design.outside, design.distance, design.spread),
    ):
        below = ndtr((at[:, None] + np.array([-0.5, 0.5]) * step - mean) / spread)
        masses.append(np.round(MASS * share * np.diff(below, axis=1)[:, 0]).astype(np.int64))
    both = Separation(at, *masses)
    return {key: of(both) for key, of in NUMBERS.items()}


def noise(rng: Rng, n: int, group: int) -> Float:
    """Return standard normal numbers that groups share a part of."""
    if group == 1:
        return rng.normal(size=n)
    shared = rng.normal(size=-(-n // group))[np.arange(n) // group]
    return np.asarray(ALIKE**0.5 * shared + (1.0 - ALIKE) ** 0.5 * rng.normal(size=n))


def part(scores: Float, design: Design) -> Predictions:
    """Return scores as a file that states how familiar each row is."""
    if design.step:
        scores = design.step * np.round(scores / design.step)
    n = scores.size
    groups = None if design.group == 1 else Groups("site", np.arange(n) // design.group)
    nothing = np.full(n, -1)
    kinds = Task.TOP_LABEL, ScoreKind.CONFIDENCE
    return Predictions(*kinds, -scores, nothing, labelled=False, groups=groups)


def sizes(design: Design, n: int) -> tuple[int, int]:
    """Return the rows of either set."""
    outside = max(2, round(n * design.outside))
    return n - outside, outside


def number_rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often the interval of each number holds the truth."""
    for name, design in DESIGNS.items():
        true = truth(design)
        for n in SIZES:
            held: dict[str, int] = dict.fromkeys(NUMBERS, 0)
            for number in range(sets):
                rng = generator(seed, number, design.seeded_by or name, n)
                own, other = (noise(rng, size, design.group) for size in sizes(design, n))
                outside = part(design.distance + design.spread * other, design)
                found = judge(part(own, design), outside, SCORE, config=SETTINGS).numbers
                for key, score in found.items():
                    assert score.low is not None
                    assert score.high is not None
                    held[key] += score.low <= true[key] <= score.high
            for key, hits in held.items():
                yield Row(f"interval of {key}", name, n, hits / sets, sets)


def pair(rng: Rng, n: int, distances: tuple[float, float], group: int) -> tuple[OodPair, OodPair]:
    """Return two runs on the same rows."""
    design = Design(0.0, group=group)
    found = []
    shared = [noise(rng, size, group) for size in sizes(design, n)]
    for distance in distances:
        own, other = (
            TOGETHER**0.5 * one + (1.0 - TOGETHER) ** 0.5 * noise(rng, one.size, group)
            for one in shared
        )
        found.append(OodPair(part(own, design), part(distance + other, design)))
    return found[0], found[1]


def pair_rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often a difference holds the truth, and what the table calls no tie."""
    for name, distances in PAIRS.items():
        aurocs = [truth(Design(distance))["auroc"] for distance in distances]
        true = aurocs[0] - aurocs[1]
        for n in SIZES:
            held, told = 0, 0
            for number in range(sets):
                rng = generator(seed, number, name, n)
                group = 20 if "groups" in name else 1
                found = difference(*pair(rng, n, distances, group), SCORE)
                line = SetRow(
                    run="A",
                    mark=MARKS[0],
                    name=SetName("set", "pictures"),
                    temperature=None,
                    as_read={},
                    after={},
                    printed=(),
                    difference=found,
                )
                held += found.low <= true <= found.high
                told += not table_rows([line], (SCORE, False))[0].ties
            yield Row("interval of a difference of auroc", name, n, held / sets, sets)
            make = power if true else sentence
            yield make("a difference of auroc that is no tie", name, n, told / sets, sets)


def noted(row: Row) -> Row:
    """Return a row with its reason, where one is known."""
    if row.limits == COVERAGE and row.rate > COVERAGE[1]:
        return row._replace(note=WIDE)
    for (design, n), note in NOTES.items():
        if row.design.startswith(design) and row.rows == n:
            return row._replace(note=note)
    return row


def rows(sets: int, seed: int) -> list[Row]:
    """Return the coverage of every interval, and how often equal runs differ."""
    return [noted(row) for row in (*number_rows(sets, seed), *pair_rows(sets, seed))]
