"""The ECE that a correction takes off.

A temperature is fitted and judged on as many rows each, as under "Corrections"; the truth is the
difference of the two true errors, of the calibrated probabilities and of those as read, on 50,000
rows whose true probabilities are known. The interval of the difference is the hull of that as
measured and that without biases; the measured one alone held the truth in .54 to .94. At 50 and at
80 % as well, since what lies within the noise floor follows the level.
"""

from collections.abc import Iterator

import numpy as np

from core.metrics.paired import difference
from core.studies import posthoc
from tests.benchmarks.claims.comparisons import compared
from tests.benchmarks.claims.corrections import DESIGNS, KNOWN, file, true_error
from tests.benchmarks.claims.designs import Row, generator

SIZES, LEVELS = (200, 1_000, 4_000), (0.5, 0.8, 0.95)
WIDE = "Within chance each error may be 0, and the other as large as it can be: wide."


def rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often the interval of the reduction holds it."""
    for design, draw in DESIGNS.items():
        p, _, q = draw(generator(seed, 2**32, design), KNOWN)
        known = file(p, np.zeros(KNOWN, dtype=int))
        before = 0.0 if "calibrated" in design else true_error(p, q)
        for n in SIZES:
            held: dict[float, list[bool]] = {level: [] for level in LEVELS}
            for number in range(sets):
                rng = generator(seed, number, design, n)
                fit_rows, judged = (file(*draw(rng, n)[:2]) for _ in range(2))
                calibrator = posthoc.fit("ts", fit_rows).calibrator
                assert calibrator is not None
                after = posthoc.calibrated(calibrator, judged)
                runs = [compared(one, ("ece",)).draws["ece"] for one in (after, judged)]
                true = true_error(posthoc.calibrated(calibrator, known).probabilities(), q) - before
                for level, inside in held.items():
                    found = difference(runs[0], runs[1], level)
                    assert found.low is not None
                    assert found.high is not None
                    inside.append(found.low <= true <= found.high)
            for level, inside in held.items():
                rate, limits = float(np.mean(inside)), (level - 0.03, level + 0.03)
                claim = f"interval of the ECE taken off, {level:.0%}"
                yield Row(claim, design, n, rate, sets, WIDE if rate > limits[1] else "", limits)
