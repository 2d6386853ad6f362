"""What the tour says of the samples: what they claim, what came true, what a correction does."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from core.metrics import METRICS
from core.metrics.binning import sums
from core.metrics.clinical.decisions import bands
from core.metrics.ranked import SortedOutcomes
from core.predictions import Predictions
from core.studies import posthoc

EDGES: Final = (0.60, 0.80, 0.95)  # between the groups of certainty of Plain words
MATERIAL: Final = 0.05  # a gap that is worth a stop
CORRECTION: Final = "focal_ts"  # the one that the page of step 2 names
ENOUGH: Final = 50  # rows behind a number out of 100


@dataclass(frozen=True, kw_only=True)
class Claimed:
    """Claims of one kind, and what came of them."""

    n: int  # how many rows
    # low, high: between which the claims lie
    low: float
    high: float
    # says, right: mean claim, and share that came true
    says: float
    right: float


@dataclass(frozen=True, kw_only=True)
class Mended:
    """The calibration error (ECE) of the same rows before and after a correction."""

    # before, after: ECE, fractions
    before: float
    after: float


@dataclass(frozen=True, kw_only=True)
class FilmBand:
    """Films of about the same score for a finding."""

    finding: str
    claimed: Claimed


def overall(rows: Predictions) -> Claimed:
    """Return what answers claim on average, and how often they are right."""
    return _groups(rows, ())[0]


def surest_gap(rows: Predictions) -> Claimed | None:
    """Return the surest group of answers that claims clearly more than comes true, if any does."""
    off = [
        group
        for group in _groups(rows, EDGES)
        if group.n >= ENOUGH and group.says - group.right >= MATERIAL
    ]
    return off[-1] if off else None


def _groups(rows: Predictions, edges: Sequence[float]) -> list[Claimed]:
    """Return the answers by certainty; a group is closed at its lower edge, empty ones left out."""
    ranked = SortedOutcomes.of(rows.outcomes(None))
    cuts = np.searchsorted(ranked.confidence, [0.0, *edges, np.inf], side="left")
    parts = sums(ranked, cuts)
    return [
        Claimed(n=int(n), low=low, high=high, says=float(says / n), right=float(hits / n))
        for n, low, high, says, hits in zip(
            parts.count, (0.0, *edges), (*edges, 1.0), parts.confidence, parts.hits, strict=True
        )
        if n > 0
    ]


def mended(fit_rows: Predictions, test_rows: Predictions) -> Mended:
    """Return the ECE of rows before and after a correction that was fitted on other rows.

    Raises Refused: as of `core.studies.posthoc.fit`.
    """
    calibrator = posthoc.fit(CORRECTION, fit_rows).calibrator
    assert calibrator is not None
    corrected = posthoc.calibrated(calibrator, test_rows)
    return Mended(before=_ece(test_rows), after=_ece(corrected))


def _ece(rows: Predictions) -> float:
    return float(METRICS["ece"].function(SortedOutcomes.of(rows.outcomes(None))))


def widest_band(rows: Predictions) -> FilmBand:
    """Return the decile of a finding's scores with the largest overestimate.

    Raises ValueError: no tenth holds enough films.
    """
    found = []
    for k in range(rows.n_classes):
        ranked = SortedOutcomes.of(rows.outcomes(k))
        of_finding = bands(ranked.confidence, ranked.correct, looks=rows.n_classes)
        for i in np.flatnonzero(of_finding.count >= ENOUGH):
            claimed = Claimed(
                n=int(of_finding.count[i]),
                low=float(of_finding.low[i]),
                high=float(of_finding.high[i]),
                says=float(of_finding.mean[i]),
                right=float(of_finding.share[i]),
            )
            found.append(FilmBand(finding=rows.class_names[k], claimed=claimed))
    return max(found, key=lambda band: band.claimed.says - band.claimed.right)
