"""How far a run is from people, on the resamples that all runs of the same rows share."""

import numpy as np

from core.defaults import LEVEL, N_RESAMPLES, SEED
from core.metrics.design_effect import of_rows
from core.metrics.estimates import ONE_GROUP, ONE_ROW
from core.metrics.human.audit import leaning_ends, voted_rows
from core.metrics.human.distances import tvd_rows, vote_shares
from core.metrics.intervals import units
from core.metrics.paired import NO_FLOOR, MetricDraws
from core.metrics.records import Score
from core.metrics.resampled import resampled_counts
from core.predictions import Predictions

DISTANCE = "tvd"


def distance(
    predictions: Predictions,
    *,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> tuple[Score, MetricDraws]:
    """Return the mean distance from votes: with its interval, and on shared resamples.

    Parameters
    ----------
    predictions : Predictions
        Rows of which people voted on some; these are averaged over.
    level : float
        Of the interval, as of `human_audit`.
    n_resamples, seed : int
        As of `core.metrics.paired.draws`: all rows are drawn, those without votes count nothing.

    Raises
    ------
    Refused
        VOTES: the split has none.
    """
    rows, some, votes = voted_rows(predictions)
    table = np.zeros((predictions.n, 2))
    table[rows, 0] = tvd_rows(np.exp(some.log_probabilities()), vote_shares(votes.of_row))
    table[rows, 1] = 1.0
    weights = np.ones(predictions.n) if predictions.weights is None else predictions.weights.of_row
    total = weights @ table
    blocks = resampled_counts(predictions.n, n_resamples, seed, predictions.extents)
    sums = np.concatenate([block @ table for block in blocks])
    drawn = sums[sums[:, 1] > 0.0]
    drawable = units(rows.size, of_rows(predictions.extents, table[:, 1] > 0.0))
    grouped = predictions.extents.groups is not None
    known = bool(total[1] > 0.0)
    value = float(total[0] / total[1]) if known else None
    reason = "" if known else "every row with votes has weight 0"
    low = high = None
    if value is not None and drawable.count > 1:
        ends = leaning_ends(value, drawn[:, 0] / drawn[:, 1], drawable.wide(level))
        low, high = max(ends[0], 0.0), min(ends[1], 1.0)
    elif value is not None:
        reason = ONE_GROUP if grouped else ONE_ROW
    score = Score(DISTANCE, value, low, high, level, rows.size, {}, reason)
    return score, MetricDraws(
        metric=DISTANCE,
        value=value,
        centre=np.nan if value is None else value,
        draws=drawn[:, 0] / drawn[:, 1] if known else np.empty(0),
        gap=np.empty(0),
        floor=NO_FLOOR,
        n=predictions.n,
        seed=seed,
        reason=reason if value is None else "",
        units=drawable,
        grouped=grouped,
    )
