"""Training and guessing.

Gammas: 15 bins of a calibrated model, equally full, whose gammas follow their gaps as AdaFocal's
do; said wrongly is that the bin it holds back hardest says more or less than it should. Guessing:
a model of ten classes that is right one time in ten; said wrongly is that it does better.
"""

from collections.abc import Iterator

import numpy as np

from core.screens.evaluate import trial
from core.screens.gamma.figures import HistoryGrid
from core.screens.gamma.words import plain_sentence, sentence
from tests.benchmarks.claims.designs import SIZES, Row, generator, spread
from tests.benchmarks.claims.designs import sentence as claim

BINS, CLASSES = 15, 10
ONE = np.ones((1, BINS))


def epoch(n: int, rng: np.random.Generator) -> HistoryGrid:
    """Return the bins of one epoch of a calibrated model."""
    p, y, _ = spread(1.0)(rng, n)
    parts = np.array_split(np.argsort(p), BINS)
    count = np.array([[part.size for part in parts]])
    says, right = (np.array([[each[part].mean() for part in parts]]) for each in (p, y))
    edges = np.linspace(0.0, 1.0, BINS + 1)[None]
    return HistoryGrid(
        epoch=np.array([1]),
        offset=0,
        lower=edges[:, :-1],
        upper=edges[:, 1:],
        count=count,
        confidence=says,
        accuracy=right,
        gap=says - right,
        gamma=np.exp(says - right),
        train_confidence=np.nan * ONE,
    )


def rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield the rates."""
    for n in SIZES:
        full, plain, better = 0, 0, 0
        for number in range(sets):
            rng = generator(seed, number, n)
            grid = epoch(n, rng)
            full += "than it should" in sentence(grid, 0).text
            plain += "too few to tell" not in plain_sentence(grid, 0).text
            labels = rng.integers(0, CLASSES, n)
            names = [str(k) for k in range(CLASSES)]
            better += not trial(rng.normal(size=(n, CLASSES)), labels, names).guessed
        design = "calibrated, 15 bins"
        yield claim("the bin with the largest γ is off", design, n, full / sets, sets)
        yield claim("… in plain words", design, n, plain / sets, sets)
        yield claim("better than guessing", "guesses among ten classes", n, better / sets, sets)
