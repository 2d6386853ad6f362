"""What the clinical pages compute: many findings at once, and one; picklable in and out."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from core.arrays import Bool, Float, Int
from core.codes import RefusalCode
from core.configs import AuditConfig, BinRule
from core.errors import Notice, Refused
from core.metrics import clinical, estimates, paired, suite
from core.metrics.clinical import FlexibleCurve, NetBenefit, Recalibration
from core.metrics.clinical import groups as clinical_groups
from core.metrics.clinical.groups import Grouping, Subgroup, too_few
from core.metrics.estimates import PreparedTarget
from core.metrics.paired import Difference
from core.metrics.records import Audit, BinTable, Floor, Score, TargetAudit
from core.predictions import INDEPENDENT, Outcomes, Predictions, SamplingDesign, Task
from core.studies import posthoc
from core.studies.posthoc import NONE, Fit

MASS_BINS = 12  # equal-mass bins of the small diagrams
TEMPERATURE_METHODS = ("ts", "focal_ts")
SCORES = ("ece", "auroc", "auprc", "slope")
CURVE = ("ici", "e50", "e90", "emax")
FINDING = (
    "brier",
    "brier_event",
    "ece",
    "auroc",
    "auprc",
    *CURVE,
    "spiegelhalter_z",
    "brier_skill",
)
THRESHOLDS = tuple(k / 1000 for k in range(1, 10)) + tuple(k / 100 for k in range(1, 100))


@dataclass(frozen=True, kw_only=True)
class Findings:
    """All findings of a run, each by itself."""

    audit: Audit  # one label a finding; macro means in `main`
    bins: tuple[BinTable, ...]  # equal-mass bins of each finding, for its small diagram
    events: tuple[int, ...]  # rows labelled with each finding
    shares: tuple[float, ...]  # share of the rows that carry each finding, by weight
    # What the rarer of rows with it and without it is worth, in independent rows
    rarer: tuple[float, ...]
    labelled: tuple[int, ...]  # rows in which it is known whether the finding is there

    def few(self, k: int) -> bool:
        """Whether a finding has too few events or non-events for a verdict on its curve."""
        return too_few(self.rarer[k])


def findings(rows: Predictions, config: AuditConfig | None = None) -> Findings:
    """Return the numbers of every finding of a multi-label split, by an audit's settings."""
    config = replace(config or AuditConfig(), metrics=SCORES)
    audit = suite.audit(rows, config)
    events = tuple(int(k) for k in (rows.labels == 1).sum(axis=0))
    targets = [_prepared(rows, k, config) for k in range(rows.n_classes)]
    shares = tuple(prepared.ranked.hits / prepared.ranked.total for prepared in targets)
    rarer = tuple(prepared.ranked.effective_rarer for prepared in targets)
    return Findings(
        audit=audit,
        bins=tuple(_bins(target, config) for target in targets),
        events=events,
        shares=shares,
        rarer=rarer,
        labelled=tuple(int(k) for k in (rows.labels >= 0).sum(axis=0)),
    )


def _prepared(rows: Predictions, index: int, config: AuditConfig) -> PreparedTarget:
    return suite.prepare(
        rows, index, n_resamples=config.n_resamples, seed=config.seed, n_bins=MASS_BINS
    )


def _bins(prepared: PreparedTarget, config: AuditConfig) -> BinTable:
    return estimates.bin_table(prepared, MASS_BINS, BinRule.EQUAL_MASS, config.level)


@dataclass(frozen=True)
class Error:
    """The calibration error of some probabilities of one finding, and its noise floor."""

    score: Score
    floor: Floor


@dataclass(frozen=True)
class TemperatureScaled:
    """One finding before and after its own temperature, on rows that were not fitted on."""

    fits: tuple[Fit, ...]  # temperature, and focal temperature
    errors: Mapping[str, Error]  # by method, `none` first; methods that could be fitted only
    differences: Mapping[str, Difference]  # ECE after minus before, paired


def binary_rows(rows: Predictions, index: int) -> Predictions:
    """Return one finding of a multi-label split, or a binary split as it is, as a binary one."""
    return suite.label_predictions(rows, index) if rows.task is Task.MULTILABEL else rows


def temperature_scaled(fit_rows: Predictions, test_rows: Predictions) -> TemperatureScaled:
    """Fit both temperatures of one finding on some rows and judge them on others.

    `fit_rows`, `test_rows`: binary, as of `binary_rows`.
    """
    fits = tuple(posthoc.fit(method, fit_rows) for method in TEMPERATURE_METHODS)
    judged = {NONE: test_rows} | {
        fit.method: posthoc.calibrated(fit.calibrator, test_rows)
        for fit in fits
        if fit.calibrator is not None
    }
    errors = {method: error(rows) for method, rows in judged.items()}
    ece_draws = {
        method: paired.draws(rows, {"ece": errors[method].floor}, ("ece",))["ece"]
        for method, rows in judged.items()
    }
    level = AuditConfig().level
    return TemperatureScaled(
        fits,
        errors,
        {
            m: paired.difference(ece_draws[m], ece_draws[NONE], level)
            for m in ece_draws
            if m != NONE
        },
    )


def error(rows: Predictions) -> Error:
    """Return the calibration error of a binary split."""
    main = suite.audit(rows, AuditConfig(metrics=("ece",))).main
    return Error(main.metrics["ece"], main.noise_floor["ece"])


@dataclass(frozen=True)
class Recalibrated:
    """How the scores of one finding were recalibrated, and what it changed on the same rows."""

    fit: Fit  # the calibrator, fitted on other rows
    rows: int  # rows fitted on
    before: Error  # of the scores as read, on the rows that are shown
    difference: Difference  # ECE after minus before, paired


@dataclass(frozen=True, kw_only=True)
class OneFinding:
    """One finding, as read or recalibrated."""

    # p, y: (N,) and bool, the scores as they are shown, and the labels
    p: Float
    y: Bool
    audit: TargetAudit  # scores of `FINDING` with intervals and noise floors
    fit: Recalibration  # mean and weak calibration
    curve: FlexibleCurve | None  # the flexible curve; None where one outcome only is present
    bins: BinTable  # equal-mass bins
    net: NetBenefit  # at `THRESHOLDS`
    # flagged, flagged_events: (T,), rows at or above each threshold, and the events among them
    flagged: Int
    flagged_events: Int
    # Of the audit; NOT_PROBABILITY among them where the scores look rescaled
    notices: tuple[Notice, ...]
    recalibrated: Recalibrated | None = None  # None where the scores are as read
    sampling: SamplingDesign = INDEPENDENT  # groups and weights of the rows

    @property
    def outcomes(self) -> Outcomes:
        """The scores as they are shown, with labels, groups and weights."""
        return Outcomes(self.p, self.y, *self.sampling)


def one_finding(
    rows: Predictions,
    fit_rows: Predictions | None = None,
    method: str = "",
    config: AuditConfig | None = None,
) -> OneFinding:
    """Return the numbers of one finding.

    `rows`: binary, as of `binary_rows`; `fit_rows`: other rows of it: the scores are recalibrated
    on them first; `method`: a key of `CALIBRATORS`, where there are `fit_rows`; `config`: settings,
    but for the metrics; the product's defaults when left out.

    Raises Refused FIT: the calibrator cannot be fitted on those rows.
    """
    changed = None
    if fit_rows is not None:
        fit = posthoc.fit(method, fit_rows)
        if fit.calibrator is None:
            remedy = "use more films with and without the finding"
            raise Refused(RefusalCode.FIT, fit.refusal, remedy)
        after = posthoc.calibrated(fit.calibrator, rows)
        errors = [error(split) for split in (rows, after)]
        ece_draws = [
            paired.draws(split, {"ece": ece.floor}, ("ece",))["ece"]
            for split, ece in zip((rows, after), errors, strict=True)
        ]
        difference = paired.difference(ece_draws[1], ece_draws[0], AuditConfig().level)
        rows, changed = after, Recalibrated(fit, fit_rows.n, errors[0], difference)
    config = replace(config or AuditConfig(), metrics=FINDING)
    audit = suite.audit(rows, config)
    outcomes = rows.outcomes(1)
    p, y, sampling = outcomes.confidence, outcomes.correct, rows.sampling
    both = 0 < np.count_nonzero(y) < y.size
    level, smoother, thresholds = config.level, config.smoother, np.array(THRESHOLDS)
    sorted_scores = np.sort(p), np.sort(p[y])
    flagged, events = (
        scores.size - np.searchsorted(scores, thresholds, side="left") for scores in sorted_scores
    )
    return OneFinding(
        p=p,
        y=y,
        audit=audit.main,
        fit=clinical.recalibration(p, y, level, sampling=sampling),
        curve=clinical.flexible(p, y, level, smoother, sampling=sampling) if both else None,
        bins=_bins(_prepared(rows, 1, config), config),
        net=clinical.net_benefit(p, y, thresholds, level=level, sampling=sampling),
        flagged=flagged.astype(np.int64),
        flagged_events=events.astype(np.int64),
        notices=audit.notices,
        recalibrated=changed,
        sampling=sampling,
    )


def groups(
    p: Float, y: Bool, grouping: Grouping, sampling: SamplingDesign = INDEPENDENT
) -> tuple[Subgroup, ...]:
    """Return the calibration of one finding in each group."""
    return clinical_groups.subgroups(p, y, grouping, sampling=sampling)
