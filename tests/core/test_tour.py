"""What the tour counts, on answers made for it."""

import numpy as np

from core.predictions import Predictions, ScoreKind, Task
from core.studies.tour import EDGES, ENOUGH, surest_gap


def test_an_answer_on_an_edge_counts_above_it():
    n, edge = 2 * ENOUGH, EDGES[-1]
    right = np.arange(n) % 2
    rows = Predictions(
        Task.TOP_LABEL,
        ScoreKind.CONFIDENCE,
        np.full(n, edge),
        np.ones(n, dtype=int),
        predicted=right,
    )
    group = surest_gap(rows)
    assert (group.n, group.low, group.high) == (n, edge, 1.0)
    assert (group.says, group.right) == (edge, 0.5)
