"""One metric of a run as the papers' tables have it: as read, and after calibrators."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from core.configs import AuditConfig
from core.errors import Refused
from core.metrics import suite
from core.metrics.records import Score
from core.predictions import Predictions, Task
from core.published import Definition, FitProtocol, PublishedNumber, definition, protocol, published
from core.studies import posthoc
from core.studies.reliability import Source, loaded

SEVERAL = "a run of several classes with one answer per row is needed"
NO_VALIDATION = "the run has no validation split"


@dataclass(frozen=True, kw_only=True)
class FittedScore:
    """A metric after a calibrator, with the temperature and the gamma that it has."""

    score: Score
    temperature: float | None = None
    gamma: float | None = None


@dataclass(frozen=True, kw_only=True)
class OwnNumbers:
    """A metric of a run."""

    before: Score | None = None  # as read
    # By calibrator, fitted on the validation split
    after: Mapping[str, FittedScore] = field(default_factory=dict)
    why: str = ""  # why the first of these that is missing is


def comparable(task: Task) -> bool:
    """Whether the metrics of a run speak of the same as those of the papers.

    They print the top label's errors. Candor audits class 1 of two classes, and label by label.
    """
    return task is Task.MULTICLASS


def protocols(rows: Sequence[PublishedNumber]) -> dict[str, tuple[FitProtocol, ...]]:
    """Return how each calibrator of numbers was fitted, in the order of the numbers."""
    several: dict[str, dict[FitProtocol, None]] = {}
    for row in rows:
        if row.posthoc != "none":
            several.setdefault(row.posthoc, {})[protocol(row)] = None
    return {method: tuple(fitted) for method, fitted in several.items()}


def protocol_of(paper: str, method: str, objective: str) -> FitProtocol:
    """Return how a paper fits a method, by the objective where it has several.

    A method that the paper does not use is fitted as its temperature.
    """
    of_paper = protocols(published(paper=paper))
    own = of_paper.get(method, of_paper["ts"])
    return next((fitted for fitted in own if fitted.objective == objective), own[0])


def own_numbers(
    rows: Source, validation: Source | None, metric: str, fitted: Sequence[tuple[str, FitProtocol]]
) -> OwnNumbers:
    """Return a metric of a run by the papers' definition, with intervals.

    Parameters
    ----------
    validation : Predictions or StoredSplit, or None
        The split that calibrators are fitted on.
    metric : str
        As the papers' tables name it; its definition names a metric of Candor.
    fitted : sequence of (str, FitProtocol)
        Each calibrator's name, and how it is fitted.
    """
    predictions, defined = loaded(rows), definition(metric)
    if not comparable(predictions.task):
        return OwnNumbers(why=SEVERAL)
    before, why = _score(predictions, defined)
    if before is None or validation is None:
        return OwnNumbers(before=before, why=why or NO_VALIDATION)
    fit_rows, after = loaded(validation), dict[str, FittedScore]()
    for method, of in fitted:
        fit = posthoc.fit(method, fit_rows, objective=of.objective, search=of.search)
        if fit.calibrator is None:
            why = why or fit.refusal
            continue
        try:
            score, missing = _score(posthoc.calibrated(fit.calibrator, predictions), defined)
        except Refused as refusal:
            score, missing = None, refusal.what
        why = why or missing
        if score is not None:
            temperature, gamma = (
                getattr(fit.calibrator, name, None) for name in ("temperature_", "gamma_")
            )
            after[method] = FittedScore(score=score, temperature=temperature, gamma=gamma)
    return OwnNumbers(before=before, after=after, why=why)


def _score(rows: Predictions, defined: Definition) -> tuple[Score | None, str]:
    audit = suite.audit(rows, config(defined.metric, defined.settings))
    score = audit.main.metrics.get(defined.metric)
    return score, "" if score else audit.unavailable.get(defined.metric, "")


def config(metric: str, settings: Mapping[str, str | int]) -> AuditConfig:
    """Return the audit of one metric under the settings of its definition."""
    return replace(AuditConfig(metrics=(metric,)), **settings)  # type: ignore[arg-type]
