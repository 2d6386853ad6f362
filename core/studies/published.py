"""One metric of a run as the papers' tables have it: as read, and after its own temperature."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.calibrators.temperature import Temperature
from core.configs import AuditConfig
from core.errors import Refused
from core.metrics import suite
from core.metrics.records import Score
from core.predictions import Predictions, Task
from core.published import Definition
from core.studies import posthoc
from core.studies.reliability import Source, loaded

SEVERAL = "a run of several classes with one answer per row is needed"
NO_VALIDATION = "the run has no validation split"


@dataclass(frozen=True, kw_only=True)
class OwnNumbers:
    """A metric of a run.

    Attributes
    ----------
    before, after : Score or None
        As read, and after the temperature of the smallest NLL on the validation split.
    temperature : float or None
        That one.
    why : str
        Why the first of these that is missing is missing.
    """

    before: Score | None = None
    after: Score | None = None
    temperature: float | None = None
    why: str = ""


def comparable(task: Task) -> bool:
    """Whether the metrics of a run speak of the same as those of the papers.

    They print the top label's errors. Candor audits class 1 of two classes, and label by label.
    """
    return task is Task.MULTICLASS


def own_numbers(rows: Source, validation: Source | None, definition: Definition) -> OwnNumbers:
    """Return a metric of a run by the papers' definition, with intervals.

    Parameters
    ----------
    rows : Predictions or StoredSplit
        The split that is reported.
    validation : Predictions or StoredSplit, or None
        The split that the temperature is fitted on.
    definition : Definition
        Names a metric of Candor.
    """
    predictions = loaded(rows)
    if not comparable(predictions.task):
        return OwnNumbers(why=SEVERAL)
    before, why = _score(predictions, definition)
    if before is None or validation is None:
        return OwnNumbers(before=before, why=why or NO_VALIDATION)
    fit = posthoc.fit("ts", loaded(validation))
    if not isinstance(fit.calibrator, Temperature):
        return OwnNumbers(before=before, why=fit.refusal)
    try:
        scaled = posthoc.calibrated(fit.calibrator, predictions)
    except Refused as refusal:
        return OwnNumbers(before=before, why=refusal.what)
    after, why = _score(scaled, definition)
    return OwnNumbers(
        before=before, after=after, temperature=float(fit.calibrator.temperature_), why=why
    )


def _score(rows: Predictions, definition: Definition) -> tuple[Score | None, str]:
    audit = suite.audit(rows, config(definition.metric, definition.settings))
    score = audit.main.metrics.get(definition.metric)
    return score, "" if score else audit.unavailable.get(definition.metric, "")


def config(metric: str, settings: Mapping[str, str]) -> AuditConfig:
    """Return the audit of one metric under the settings of its definition."""
    return replace(AuditConfig(metrics=(metric,)), **settings)  # type: ignore[arg-type]
