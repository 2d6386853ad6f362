"""Calibrators: maps from logits to better probabilities, by key; numpy and scipy, float64."""

from core.calibrators.base import Calibrator
from core.calibrators.beta import Beta
from core.calibrators.ensemble import Ensemble
from core.calibrators.focal_temperature import FocalMap, FocalTemperature
from core.calibrators.histogram import Histogram
from core.calibrators.isotonic import Isotonic, IsotonicOrdered
from core.calibrators.spline import Spline
from core.calibrators.temperature import Temperature
from core.calibrators.vector_matrix import Dirichlet, Matrix, Vector

CALIBRATORS: dict[str, type[Calibrator]] = {
    "ts": Temperature,
    "focal_map": FocalMap,
    "focal_ts": FocalTemperature,
    "ets": Ensemble,
    "vector": Vector,
    "matrix": Matrix,
    "dirichlet": Dirichlet,
    "isotonic": Isotonic,
    "isotonic_ordered": IsotonicOrdered,
    "histogram": Histogram,
    "spline": Spline,
    "beta": Beta,
}
