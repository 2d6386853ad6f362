"""Calibration for the clinic, in one place: fits, curve, decisions and tests.

All take p, the stated risk of each row (N,) float64 in [0, 1], and y, whether the event was there
(N,) bool. Definitions, with their traps and sources: docs/metrics.md.
"""

from core.metrics.clinical.curve import FlexibleCurve, flexible
from core.metrics.clinical.decisions import (
    Bands,
    Classified,
    NetBenefit,
    bands,
    classified,
    net_benefit,
    shifted,
)
from core.metrics.clinical.fit import (
    HosmerLemeshow,
    Recalibration,
    hosmer_lemeshow,
    recalibration,
)

__all__ = [
    "Bands",
    "Classified",
    "FlexibleCurve",
    "HosmerLemeshow",
    "NetBenefit",
    "Recalibration",
    "bands",
    "classified",
    "flexible",
    "hosmer_lemeshow",
    "net_benefit",
    "recalibration",
    "shifted",
]
