"""What the clinical views compute, question by question; keys and scopes as in `compute`."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from core import defaults
from core.arrays import Int
from core.configs import AuditConfig
from core.metrics.clinical.groups import Grouping, Subgroup
from core.studies import clinic, posthoc
from core.studies.clinic import Findings, OneFinding, TemperatureScaled
from core.studies.posthoc import CUT, SHARE, PosthocRows, fit_default
from pages.ui import cache
from pages.ui.compute import Computation
from pages.ui.escape import esc

HEAVY_CELLS = 20_000  # scores whose resampling would keep a page waiting
AS_READ: Final = "none"  # for the method of recalibration


@dataclass(frozen=True)
class FindingChoice:
    """One finding of a split, as read or recalibrated, and how its curve is smoothed."""

    run: cache.Run
    split: str
    label: int
    method: str
    smoother: str

    @property
    def recalibrated(self) -> bool:
        """Whether its scores are not as they were read."""
        return self.method != AS_READ

    def shown_rows(self) -> Int:
        """Return the rows that are shown: all with a label, or those not fitted on."""
        whole = cache.predictions(self.run, self.split)
        known = whole.labelled_rows(self.label)
        known = np.arange(whole.n) if known is None else known
        if not self.recalibrated or fit_default(self.run.splits, self.split) != CUT:
            return known
        return np.intersect1d(known, posthoc.cut_rows(whole, SHARE, defaults.SEED)[1])


def parts(run: cache.Run, split: str) -> PosthocRows:
    """Return the rows that calibrators of a split are fitted on, and those that are reported."""
    fit_on = fit_default(run.splits, split)
    names = {name for name in (fit_on, split) if name != CUT}
    splits = {name: cache.predictions(run, name) for name in run.splits if name in names}
    return posthoc.parts(splits, fit_on, split, share=SHARE, seed=defaults.SEED)


def all_findings(run: cache.Run, split: str) -> Computation[Findings]:
    """Return the step that computes every finding of a split."""
    return Computation(
        function=clinic.findings,
        key=(run.id, run, split),
        words="Intervals and the noise floor of every finding",
        arguments=lambda: (cache.predictions(run, split),),
        draft=run.draft,
        heavy=run.n(split) * len(run.class_names) > HEAVY_CELLS,
    )


def temperature(run: cache.Run, split: str, label: int) -> Computation[TemperatureScaled]:
    """Return the step that fits temperatures of a finding and judges them."""

    def arguments() -> tuple[object, ...]:
        rows = parts(run, split)
        return tuple(clinic.binary_rows(part, label) for part in (rows.fit, rows.test))

    return Computation(
        function=clinic.temperature_scaled,
        key=(run.id, run, split, label),
        words=_words("Temperatures", run, label),
        arguments=arguments,
        draft=run.draft,
        heavy=run.n(split) > HEAVY_CELLS,
    )


def one_finding(choice: FindingChoice) -> Computation[OneFinding]:
    """Return the step that computes one finding."""
    run, split = choice.run, choice.split

    config = AuditConfig(smoother=choice.smoother)

    def arguments() -> tuple[object, ...]:
        if not choice.recalibrated:
            as_read = clinic.binary_rows(cache.predictions(run, split), choice.label)
            return as_read, None, "", config
        rows = parts(run, split)
        test, fit = (clinic.binary_rows(part, choice.label) for part in (rows.test, rows.fit))
        return test, fit, choice.method, config

    return Computation(
        function=clinic.one_finding,
        key=(run.id, choice),
        words=_words("Intervals, curve and decision curve", run, choice.label),
        arguments=arguments,
        draft=run.draft,
        heavy=run.n(split) > HEAVY_CELLS,
    )


def subgroups(choice: FindingChoice, shown: Grouping) -> Computation[tuple[Subgroup, ...]]:
    """Return the step that computes subgroups of the rows shown, by a table of this session."""

    def arguments() -> tuple[object, ...]:
        statistics = one_finding(choice).known
        assert statistics is not None
        return statistics.p, statistics.y, shown, statistics.extents

    return Computation(
        function=clinic.groups,
        key=(choice.run.id, choice, shown),
        words=_words("Subgroups", choice.run, choice.label),
        arguments=arguments,
        draft=True,
        heavy=choice.run.n(choice.split) > HEAVY_CELLS,
    )


def _words(what: str, run: cache.Run, label: int) -> str:
    names = run.class_names
    return f"{what}: {esc(names[label])}" if label < len(names) else what
