"""Calibrators: maps from logits to better probabilities, by key; numpy and scipy, float64."""

from core.calibrators.base import Calibrator
from core.calibrators.focal_temperature import FocalMap, FocalTemperature
from core.calibrators.one_vs_rest import Beta, Histogram, Isotonic, IsotonicOrdered
from core.calibrators.spline import Spline
from core.calibrators.temperature import Ensemble, Temperature
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
