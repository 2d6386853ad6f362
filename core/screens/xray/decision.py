"""The decision curve of one finding: its figure, its words, and where it is worth following."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from core.arrays import Bool
from core.defaults import FEW_EVENTS
from core.metrics.clinical.groups import too_few
from core.screens.kit.cards import level
from core.screens.kit.numbers import count, percent, points, span
from core.screens.kit.records import Column, FigureCard, Table
from core.screens.xray import finding_curves
from core.screens.xray.words import TOO_FEW, ClinicSource, finding, sourced
from core.studies.clinic import THRESHOLDS, OneFinding

BENEFIT = (
    "Net benefit: true alarms minus false alarms per 100 films, with false alarms weighted by "
    "the threshold. At 20 % one true alarm is worth four false ones. The clinic chooses the "
    "threshold, not the data. Following the model beats treating none where the share labelled "
    "with it among the flagged exceeds the threshold."
)
BAND = (
    "The simultaneous {level} band contains the whole curve, at every threshold from 0.1 to 99 "
    "%, in that share of samples."
)


def decision_card(
    source: ClinicSource, name: str, analysis: OneFinding, ends: tuple[float, float]
) -> FigureCard:
    """Return the decision curve over a range of thresholds, fractions."""
    net = analysis.net
    spoken = [_hover_text(analysis, i, source.films) for i in range(net.thresholds.size)]
    in_range = [i for i, t in enumerate(THRESHOLDS) if ends[0] - 1e-9 <= t <= ends[1] + 1e-9]
    columns = (
        Column("threshold", "threshold", "share"),
        Column("net_benefit", "net benefit", "number"),
        Column("low", "low", "number"),
        Column("high", "high", "number"),
        Column("treat_all", "treat all", "number"),
        Column("flagged", "flagged", "count"),
        Column("flagged_with_it", "labelled with it among them", "count"),
    )
    parts = (net.thresholds, net.model, net.low, net.high, net.treat_all)
    rows = tuple(
        (
            *(float(part[i]) for part in parts),
            int(analysis.flagged[i]),
            int(analysis.flagged_events[i]),
        )
        for i in in_range
    )
    benefit = benefit_words(analysis, ends)
    return FigureCard(
        key="clinic_decision",
        title="Decision curve",
        explanation=f"net benefit, {level(analysis.audit)} band",
        draw=partial(finding_curves.decision, net, spoken, ends),
        alt=f"{finding(name)}: net benefit of following the model against treating all and none. "
        f"{benefit}",
        table=sourced(Table(columns, rows), source),
        caption=f"{BAND.format(level=level(analysis.audit))} {source.caption}",
    )


def _hover_text(analysis: OneFinding, i: int, films: str) -> str:
    net, flagged = analysis.net, int(analysis.flagged[i])
    t = float(net.thresholds[i])
    ends = (float(net.low[i]), float(net.high[i]))
    lead = f"<b>At {percent(t)}</b>: benefit {points(float(net.model[i]))} ({span(*ends)})"
    if not flagged:
        return f"{lead}<br>no {films} flagged"
    share = int(analysis.flagged_events[i]) / flagged
    if net.low[i] > 0.0 and not _few(analysis):
        beside = "above the threshold, so better than treating none"
    elif net.model[i] > 0.0:
        beside = "above the threshold, which may be chance"
    else:
        beside = "not above the threshold, so no better than treating none"
    return (
        f"{lead}<br>flagged {count(flagged)}, {percent(share)} of them labelled with it:"
        f"<br>{beside}<br>treat all: {points(float(net.treat_all[i]))}"
    )


def _few(analysis: OneFinding) -> bool:
    return too_few(analysis.fit.rarer)


def benefit_words(analysis: OneFinding, ends: tuple[float, float]) -> str:
    """Return where, in a range of thresholds, following the model is the better way."""
    net = analysis.net
    if _few(analysis):
        return (
            f"{TOO_FEW[:1].upper()}{TOO_FEW[1:]} (under {FEW_EVENTS} with it or without it) to say "
            "whether following the model is better than treating all and treating none."
        )
    inside = (net.thresholds >= ends[0] - 1e-9) & (net.thresholds <= ends[1] + 1e-9)
    spans = _spans(inside & (net.gain_low > 0.0), inside)
    if not spans:
        return (
            "Following the model is at no threshold in this range better, beyond chance, than both "
            "treating all and treating none."
        )
    if len(spans) == 1 and inside[spans[0][0] : spans[0][1] + 1].sum() == inside.sum():
        low, high = (float(net.thresholds[at]) for at in spans[0])
        return (
            "Following the model is better, beyond chance, than treating all and treating none at "
            f"every threshold shown, {percent(low)} to {percent(high)}."
        )
    ranges = " and ".join(
        f"at {percent(float(net.thresholds[a]))}"
        if a == b
        else f"from {percent(float(net.thresholds[a]))} to {percent(float(net.thresholds[b]))}"
        for a, b in spans
    )
    return (
        f"Following the model is better, beyond chance, than treating all and treating none "
        f"{ranges}."
    )


def _spans(better: Bool, inside: Bool) -> Sequence[tuple[int, int]]:
    """Return first and last position of each run of thresholds that are better."""
    spans: list[tuple[int, int]] = []
    for i in np.flatnonzero(better & inside).tolist():
        if spans and spans[-1][1] == i - 1:
            spans[-1] = (spans[-1][0], i)
        else:
            spans.append((i, i))
    return spans
