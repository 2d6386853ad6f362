"""Words of post-hoc methods wherever they are spoken of: their names and their parameters."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from core.calibrators import CALIBRATORS
from core.published import PAPERS, FitProtocol, settings
from core.screens.kit.numbers import MINUS, count
from core.screens.kit.words import LABELS
from core.studies.posthoc import Fit

IN_SENTENCE = {
    key: method.words.in_sentence or method.label.lower() for key, method in CALIBRATORS.items()
}

GRIDS: Final = {"komisarenko": "T = 0.01, 0.02, …, 5.00", "mukhoti": "T = 0.1, 0.2, …, 10.0"}
ELSEWHERE: Final = {  # than where a paper states its grid, by what temperatures are chosen by
    ("adafocal2022", ("ece",)): "tables 5, 6 and 8",
    ("adafocal2022", ()): "appendix E",
}
TAKEN: Final = {  # what a paper does not state
    "fcl2024": " It states the step of T alone: range and bins are those of Mukhoti et al. 2020."
}


def fitted_as(paper: str, protocols: Mapping[str, Sequence[FitProtocol]]) -> str:
    """Return in a sentence how a paper fits these calibrators, and where it says so."""
    source = next(
        setting.source.replace("sec ", "section ")
        for setting in settings()
        if (setting.paper, setting.setting) == (paper, "temperature_grid")
    )
    chosen_by = tuple(dict.fromkeys(of.objective for of in protocols.get("ts", ())))
    source = ELSEWHERE.get((paper, chosen_by), source)
    parts = []
    for method, several in protocols.items():
        by = " or ".join(dict.fromkeys(LABELS[protocol.objective] for protocol in several))
        grid = GRIDS.get(several[0].search)
        words = {
            "ts": f", {grid}, by {by}",
            "focal_ts": f", {grid}, nine γ, by {by}",
            "ets": f" by {by}, as in the code of Zhang et al. 2020",
        }
        parts.append(f"{IN_SENTENCE[method]}{words.get(method, '')}")
    return f"As in {PAPERS[paper]}, {source}: {'; '.join(parts)}.{TAKEN.get(paper, '')}"


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
