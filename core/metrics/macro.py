"""Macro means over the labels of a multi-label file; numpy only."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.codes import NoticeCode
from core.defaults import FALSE_ALARMS
from core.metrics.null_test import holm
from core.metrics.records import (
    BEYOND_CHANCE,
    DETECTED,
    BinTable,
    Floor,
    Gap,
    Score,
    Setting,
    TargetAudit,
    Verdict,
    VerdictCode,
    VerdictSubject,
)

BOUNDS = "mean of the labels' bounds (conservative)"
SIGNED = ("citl", "slope", "intercept", "spiegelhalter_z")  # of which no mean is taken


@dataclass(frozen=True, kw_only=True)
class ChanceAfterHolm(Verdict):
    """The verdict of a label that is found off when looked at alone, but not among all labels."""

    alone: Verdict  # of the label alone
    labels: int  # how many were looked at
    p_holm: float  # the p-value of its joint test, corrected for looking at all of them

    @property
    def too_few(self) -> bool:
        """Looked at alone, the rows were enough."""
        return False


def over_labels(labels: Sequence[TargetAudit], level: float) -> TargetAudit:
    """Return the macro means of audits of single labels.

    `labels`: at least one; all with the same metrics.

    Returns
    -------
    TargetAudit
        Each metric is the plain mean over the labels where it is defined, but for those of which
        no mean is taken; the NLL is undefined where any label's is infinite. The interval is the
        mean of the labels' bounds: labels share their rows, so their errors may move together,
        and this is the width if they all do. The bins are empty: nothing is pooled.
    """
    metrics = {
        metric: _mean_score([label.metrics[metric] for label in labels], level)
        for metric in labels[0].metrics
        if metric not in SIGNED
    }
    floors = {
        metric: Floor(
            float(np.mean([label.noise_floor[metric].mean for label in labels])),
            float(np.mean([label.noise_floor[metric].q95 for label in labels])),
            tuple(np.mean([label.noise_floor[metric].quantiles for label in labels], axis=0)),
        )
        for metric in labels[0].noise_floor
    }
    gap = Gap(
        float(np.mean([label.direction.gap for label in labels])),
        float(np.mean([label.direction.low for label in labels])),
        float(np.mean([label.direction.high for label in labels])),
    )
    summaries = [label.groups for label in labels if label.groups is not None]
    groups = None
    if summaries:
        groups = replace(
            summaries[0],
            largest=round(np.mean([summary.largest for summary in summaries])),
            design_effect=float(np.mean([summary.design_effect for summary in summaries])),
            effective_n=float(np.mean([summary.effective_n for summary in summaries])),
        )
    none, no_rows = np.empty(0), np.empty(0, dtype=np.int64)
    return TargetAudit(
        name="mean over labels",
        target=None,
        metrics=metrics,
        noise_floor=floors,
        direction=gap,
        verdict=_verdict(labels),
        bins=BinTable(none, none, no_rows, none, none, none, none, none, none),
        groups=groups,
    )


def _mean_score(scores: Sequence[Score], level: float) -> Score:
    defined = [score for score in scores if score.value is not None]
    settings: dict[str, Setting] = {"average": "macro", "labels": len(defined)}
    first = scores[0]
    sizes = [score.n for score in scores]
    n = first.n if len(set(sizes)) == 1 else sum(sizes)  # those that each label alone counted
    # One infinite NLL makes the mean infinite; other labels may only be undefined.
    infinite = sum(score.reason.startswith(NoticeCode.NLL_INFINITE) for score in scores)
    if infinite and defined:
        reason = f"NLL_INFINITE: infinite for {infinite} of {len(scores)} labels"
        return Score.undefined(first.metric, level, n, reason, settings)
    if not defined:
        return Score.undefined(first.metric, level, n, first.reason, settings)
    shared = {
        key: value
        for key, value in first.settings.items()
        if key not in {"interval", "positives"}
        and all(score.settings.get(key) == value for score in defined)
    }
    value = float(np.mean([score.value for score in defined]))
    settings = {**shared, **settings}
    low = high = None
    lows = [score.low for score in defined if score.low is not None]
    highs = [score.high for score in defined if score.high is not None]
    if len(lows) < len(defined):
        first_reason = next(score.reason for score in defined if score.low is None)
        none = f"no interval for {len(defined) - len(lows)} of {len(scores)} labels"
        reason = f"{none}: {first_reason}"
    else:
        left_out = len(scores) - len(defined)
        reason = f"undefined for {left_out} of {len(scores)} labels" if left_out else ""
        low, high = float(np.mean(lows)), float(np.mean(highs))
        settings["interval"] = BOUNDS
    return Score(first.metric, value, low, high, level, n, settings, reason)


def _verdict(labels: Sequence[TargetAudit]) -> Verdict:
    """Say how many labels got which verdict, corrected for looking at all of them.

    The code is that of the worst of them: what they are off by where some are, mixed where that
    differs; else the weakest of off_but_small, could_be_chance and sound that a label has.
    """
    counts = Counter(corrected_codes(labels))
    listed = [f"{counts[code]} {code.words}" for code in VerdictCode if counts[code]]
    off = [code for code in counts if code in DETECTED]
    weaker = (VerdictCode.OFF_BUT_SMALL, VerdictCode.COULD_BE_CHANCE, VerdictCode.SOUND)
    code = off[0] if off else next(code for code in weaker if counts[code])
    if len(off) > 1:
        code = VerdictCode.MIXED
    if len(labels) == 1:
        return Verdict(code, f"Of 1 label: {listed[0]}.", of=VerdictSubject.EVENT)
    looks = f"corrected for looking at {len(labels)} labels (Holm)"
    text = f"Of {len(labels)} labels: {', '.join(listed)}, {looks}."
    return Verdict(code, text, of=VerdictSubject.EVENT)


def corrected_codes(labels: Sequence[TargetAudit]) -> tuple[VerdictCode, ...]:
    """Return the code of each label's corrected verdict."""
    return tuple(verdict.code for verdict in corrected_verdicts(labels))


def corrected_verdicts(labels: Sequence[TargetAudit]) -> tuple[Verdict, ...]:
    """Return the verdict of each label after Holm's correction for looking at all of them.

    What the joint test of one label detects, but not the corrected one, could be chance.
    """
    # A label is off among all only where its p-value holds after Holm's correction.
    p_values = holm([label.verdict.p_value or 0.0 for label in labels])
    corrected = list[Verdict]()
    for label, p in zip(labels, p_values, strict=True):
        alone = label.verdict
        if p <= FALSE_ALARMS or alone.code not in BEYOND_CHANCE:
            corrected.append(alone)
            continue
        text = (
            f"Could be chance among {len(labels)} labels (p = {p:.3f} by Holm). "
            f"Taken alone: {alone.text}"
        )
        chance = ChanceAfterHolm(
            VerdictCode.COULD_BE_CHANCE,
            text,
            alone.p_value,
            of=alone.of,
            alone=alone,
            labels=len(labels),
            p_holm=p,
        )
        corrected.append(chance)
    return tuple(corrected)
