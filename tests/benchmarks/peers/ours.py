"""What Candor does for each workload: predictions, logits or scores in, named numbers out."""

import numpy as np

from core.calibrators.temperature import Temperature
from core.metrics import binning, suite, top_label
from core.metrics.classwise import classwise_ece
from core.metrics.intervals import percentile
from core.metrics.proper import brier, nll
from core.metrics.ranked import SortedOutcomes
from core.metrics.resampling import draw
from core.metrics.smooth import smece
from core.ood.separation import NUMBERS, Separation
from core.predictions import Predictions
from tests.benchmarks.peers.data import Data, Scores

N_BINS = 15
RESAMPLES = 1_000
LEVEL = 0.95
Values = dict[str, float]


def ece(rows: Predictions) -> Values:
    return {"ece": top_label.ece(SortedOutcomes.of(rows.outcomes(None)), n_bins=N_BINS)}


def proper(rows: Predictions) -> Values:
    ranked = SortedOutcomes.of(rows.outcomes(None))
    values = {"accuracy": top_label.accuracy(ranked), "nll": nll(rows), "brier": brier(rows)}
    return {**values, "ece": top_label.ece(ranked, n_bins=N_BINS)}


def equal_mass(rows: Predictions) -> Values:
    return {"ece_em": top_label.ece_em(SortedOutcomes.of(rows.outcomes(None)), n_bins=N_BINS)}


def smooth(rows: Predictions) -> Values:
    return {"smece": smece(SortedOutcomes.of(rows.outcomes(None)))}


def classwise(rows: Predictions) -> Values:
    return {"classwise_ece": classwise_ece(rows, n_bins=N_BINS)}


def temperature(data: Data) -> Values:
    return {"temperature": float(Temperature().fit(data.logits, data.labels).temperature_)}


def grid(data: Data) -> Values:
    """Judge T from 0.1 to 10.0 by the ECE."""
    fitted = Temperature("ece", "mukhoti").fit(data.logits, data.labels)
    return {"ece": float(fitted.report_.after)}


def ends(draws: np.ndarray) -> Values:
    """Return the percentile interval of the resamples."""
    return dict(zip(("low", "high"), percentile(draws, LEVEL), strict=True))


def whole_target(rows: Predictions) -> Values:
    """Resample for every binning that a slider can ask for, and read one of them."""
    prepared = suite.prepare(rows, None, n_resamples=RESAMPLES, seed=0)
    cuts = binning.equal_width_cuts(prepared.ranked, N_BINS)
    return ends(top_label.weighted_gap(prepared.resamples.bootstrap(cuts), rows.n))


def single_binning(rows: Predictions) -> Values:
    """Resample the rows in the bins of one binning."""
    ranked = SortedOutcomes.of(rows.outcomes(None))
    cuts = np.unique(binning.equal_width_cuts(ranked, N_BINS))
    count, hits = draw(ranked, cuts, RESAMPLES, np.random.default_rng(0))
    bins = binning.sums(ranked, cuts)
    confidence = count * (bins.confidence / bins.count)
    return ends(top_label.weighted_gap(binning.BinSums(count, confidence, hits), rows.n))


def separation(scores: Scores) -> Values:
    both = Separation.of(scores.inside, scores.outside)
    return {key: NUMBERS[key](both) for key in ("auroc", "aupr_in", "aupr_out", "fpr95")}
