"""The audit of a large split for its page: computed where its scores lie, with what to expect."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.configs import AuditConfig
from core.defaults import N_RESAMPLES_HEAVY
from core.library import StoredSplit
from core.metrics import suite
from core.metrics.estimates import PreparedTarget
from core.metrics.records import Audit, ClassRow
from core.metrics.units import BLOCK_BYTES
from core.predictions import Outcomes, Predictions, RowStats, Task
from core.progress import stage

Source = Predictions | StoredSplit
CHECK, READ, COUNT = "Checking the file", "Reading the scores", "Drawing resamples"
CLASSES, METRICS = "Going through the classes", "Computing every metric"


@dataclass(frozen=True, kw_only=True)
class SplitAudit:
    """What the page of a split shows at first."""

    audit: Audit  # with the metrics that were asked for
    classes: tuple[ClassRow, ...]  # empty for many labels, which have audits of their own
    # The answers given, where there are any, and what the audit speaks of
    prepared: Mapping[int | None, PreparedTarget]
    rows: RowStats | None  # what the scores say row by row; None for many labels


@dataclass(frozen=True)
class TargetRows:
    """One class or label against the rest: its resamples, and its rows in the file's order."""

    prepared: PreparedTarget
    outcomes: Outcomes


def audit_split(source: Source, metrics: tuple[str, ...]) -> SplitAudit:
    """Return what the page of a split shows at first, with the product's defaults."""
    predictions = loaded(source)
    several = predictions.task is Task.MULTILABEL
    rows: RowStats | None = None
    if not several:
        with stage(READ, 0.2, 0.4, _cells(predictions)):
            rows = predictions.rows
    with stage(COUNT, 0.2 if several else 0.4, 1.0 if several else 0.6, _cells(predictions)):
        audit = suite.audit(predictions, AuditConfig(metrics=metrics))
        targets = {predictions.default_target} | (set() if several else {None})
        prepared = {target: _prepared(predictions, target) for target in targets}
    if several:
        return SplitAudit(audit=audit, classes=(), prepared=prepared, rows=None)
    with stage(CLASSES, 0.6, 1.0, _cells(predictions)):
        classes = suite.class_gaps(predictions, AuditConfig().level, p_joint=audit.p_joint)
    return SplitAudit(audit=audit, classes=classes, prepared=prepared, rows=rows)


def prepare_target(source: Source, target: int | None) -> TargetRows:
    """Return what diagrams of one target are read from."""
    predictions = loaded(source)
    with stage(READ, 0.2, 1.0, 2 * _cells(predictions)):
        return TargetRows(_prepared(predictions, target), predictions.outcomes(target))


def audit_every_metric(source: Source, config: AuditConfig | None = None) -> Audit:
    """Return the audit of a split with all metrics, or with other settings."""
    predictions = loaded(source)
    # bins, cells, what chance would show, and once for each block of resamples
    blocks = -(-N_RESAMPLES_HEAVY * predictions.n // BLOCK_BYTES)
    with stage(METRICS, 0.1, 1.0, (4 + blocks) * _cells(predictions)):
        return suite.audit(predictions, config or AuditConfig())


def loaded(source: Source) -> Predictions:
    """Return the scores; a stored run is held against its digest."""
    if isinstance(source, Predictions):
        return source
    with stage(CHECK, 0.0, 0.2, source.cells):
        return source.load()


def _cells(predictions: Predictions) -> int:
    return predictions.n * predictions.n_classes


def _prepared(predictions: Predictions, target: int | None) -> PreparedTarget:
    config = AuditConfig()
    return suite.prepare(predictions, target, n_resamples=config.n_resamples, seed=config.seed)
