"""Calibrated by training, or afterwards: one run before and after temperature scaling."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.calibrators.temperature import Temperature
from core.metrics.comparison import compare
from core.metrics.paired import Difference
from core.metrics.ranked import SortedOutcomes
from core.metrics.top_label import s99_accuracy, s99_share
from core.predictions import Predictions
from core.studies.posthoc import (
    EvaluatedMethod,
    MethodReport,
    RowChoice,
    Source,
    calibrated,
    chosen_parts,
)


@dataclass(frozen=True)
class ConfidentAnswers:
    """Answers given with a confidence of at least 0.99: |S99| and its accuracy.

    `share` is theirs of all rows; `accuracy` is NaN where there are none.
    """

    share: float
    accuracy: float


@dataclass(frozen=True, kw_only=True)
class InnateCalibration:
    """What temperature scaling still changes about a run: little where it is innately calibrated.

    Attributes
    ----------
    temperature : float
        The NLL's optimum on the fitting rows.
    at_bound : bool
        It stands at the end of its range.
    before, after : MethodReport
        The reported rows as read, and scaled.
    gap : Difference
        ECE after minus before, paired: minus the temperature gap.
    sure_before, sure_after : ConfidentAnswers
        Mukhoti et al. 2020, table 6.
    """

    temperature: float
    at_bound: bool
    before: MethodReport
    after: MethodReport
    gap: Difference
    sure_before: ConfidentAnswers
    sure_after: ConfidentAnswers


def innate_calibration(
    test: Predictions, before: MethodReport, scaled: EvaluatedMethod
) -> InnateCalibration:
    """Return a run before and after temperature scaling by NLL.

    Parameters
    ----------
    test : Predictions
        The rows that are reported, multi-class or binary.
    before : MethodReport
        These rows as read.
    scaled : EvaluatedMethod
        Temperature scaling by NLL, fitted and judged on them.
    """
    assert scaled.fit is not None
    assert isinstance(scaled.fit.calibrator, Temperature)
    assert scaled.judged is not None
    scaling, after = scaled.fit.calibrator, scaled.judged
    gap = compare([before.compared, after.compared], ["before", "after"], 0).differences[1]["ece"]
    return InnateCalibration(
        temperature=scaling.temperature_,
        at_bound=scaling.report_.at_bound,
        before=before,
        after=after,
        gap=gap,
        sure_before=_sure(test),
        sure_after=_sure(calibrated(scaling, test)),
    )


def innate_of_splits(
    sources: Mapping[str, Source],
    choice: RowChoice,
    before: EvaluatedMethod,
    scaled: EvaluatedMethod,
) -> InnateCalibration:
    """Return the same where the scores lie; sources and choice as of `posthoc.evaluate_splits`."""
    assert before.judged is not None
    return innate_calibration(chosen_parts(sources, choice).test, before.judged, scaled)


def _sure(rows: Predictions) -> ConfidentAnswers:
    answers = SortedOutcomes.of(rows.outcomes(None))
    return ConfidentAnswers(s99_share(answers), s99_accuracy(answers))
