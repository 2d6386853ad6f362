"""Words of post-hoc methods wherever they are spoken of: their names and their parameters."""

import numpy as np

from core.calibrators import CALIBRATORS
from core.screens.kit.numbers import MINUS, count
from core.studies.posthoc import Fit

IN_SENTENCE = {
    key: method.words.in_sentence or method.label.lower() for key, method in CALIBRATORS.items()
}


def parameters(fit: Fit) -> str:
    """Return the numbers that a fit found, where a reader can use them: T = 1.68, γ = −0.25."""
    if fit.calibrator is None:
        return ""
    marks, numbers = CALIBRATORS[fit.method].marks, fit.calibrator.parameters()
    if isinstance(numbers.get("labels"), list):
        labels, ranges = [label for label in numbers["labels"] if label], []
        for key, mark in marks.items():
            ends = [float(own[key]) for own in labels if key in own]
            if ends:
                ranges.append(f"{mark} {_parameter(min(ends))} to {_parameter(max(ends))}")
        return ", ".join(ranges) or f"{count(len(labels))} fits"
    single = [f"{m} = {_parameter(numbers[key])}" for key, m in marks.items() if key in numbers]
    if single:
        weights = numbers.get("weights", [])
        single += [f"weights {', '.join(f'{w:.2f}' for w in weights)}"] if weights else []
        return ", ".join(single)
    return f"{count(sum(np.size(value) for value in numbers.values()))} numbers"


def _parameter(value: float) -> str:
    """Return two decimals, or three where two would hide the number."""
    return f"{value:.{3 if 0 < abs(value) < 0.1 else 2}f}".replace("-", MINUS)
