"""Words of post-hoc methods wherever they are spoken of: their names and their parameters."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.calibrators import CALIBRATORS
from core.screens.kit.numbers import MINUS, count
from core.studies.posthoc import Fit

IN_SENTENCE = {key: method.label.lower() for key, method in CALIBRATORS.items()} | {
    "focal_map": "the focal map",
    "dirichlet": "Dirichlet calibration",
    "isotonic": "isotonic regression",
    "isotonic_ordered": "order-preserving isotonic regression",
}


def parameters(fit: Fit) -> str:
    """Return the numbers that a fit found, where a reader can use them: T = 1.68, γ = −0.25."""
    if fit.calibrator is None:
        return ""
    numbers = fit.calibrator.parameters()
    labels = numbers.get("labels")
    if isinstance(labels, list):
        return _over_labels([label for label in labels if label])
    if "temperature" in numbers or "gamma" in numbers:
        weights = numbers.get("weights", [])
        mix = f", weights {', '.join(f'{w:.2f}' for w in weights)}" if weights else ""
        return _numbers(numbers) + mix
    return f"{count(sum(np.size(value) for value in numbers.values()))} numbers"


def _numbers(numbers: Mapping[str, Any]) -> str:  # Any: plain JSON
    marks = {"temperature": "T", "gamma": "γ"}
    return ", ".join(
        f"{m} = {_parameter(numbers[key])}" for key, m in marks.items() if key in numbers
    )


def _parameter(value: float) -> str:
    """Return two decimals, or three where two would hide the number."""
    return f"{value:.{3 if 0 < abs(value) < 0.1 else 2}f}".replace("-", MINUS)


def _over_labels(labels: Sequence[Mapping[str, Any]]) -> str:  # Any: plain JSON
    marks = {"temperature": "T", "gamma": "γ"}
    ranges = []
    for key, mark in marks.items():
        ends = [float(numbers[key]) for numbers in labels if key in numbers]
        if ends:
            ranges.append(f"{mark} {_parameter(min(ends))} to {_parameter(max(ends))}")
    return ", ".join(ranges) or f"{count(len(labels))} fits"
