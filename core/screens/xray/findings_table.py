"""The table of all findings: numbers beside those that a paper prints, in full or plainly."""

from collections.abc import Sequence
from dataclasses import replace

from core.metrics.records import TargetAudit
from core.published import PublishedNumber
from core.screens.kit.bin_marks import shares
from core.screens.kit.labels import PLAIN_VERBS, LabelVerdict, label_verdicts
from core.screens.kit.numbers import percent, points, three
from core.screens.kit.records import Cell, Column
from core.screens.kit.tables import (
    Estimate,
    PageColumn,
    ScoreTable,
    TableRow,
    estimate,
    with_ends,
)
from core.screens.xray.words import PLAIN, TOO_FEW_FOR_CURVE, ClinicSource, finding
from core.studies.clinic import Findings

Columns = dict[str, tuple[PublishedNumber | None, ...]]  # what a paper prints, by method
METHODS = {"bce": "CheXNet (BCE), published", "fcl": "FCL, published"}
NUMBERS = ("auroc", "auprc", "ece", "slope")
PRINTED_NOTE = (
    "Published: Focal calibration loss 2024, table 9, their own test films; its printed averages "
    "do not match its columns, so the means here are taken from the columns."
)


def printed(source: ClinicSource, published: Sequence[PublishedNumber]) -> Columns:
    """Return what the paper prints for each finding, by method; methods without any are left out.

    A number belongs to a finding of the same name only, and to no synthetic film.
    """
    if source.synthetic:
        return {}
    keys = [f"auroc_{name.replace(' ', '_').lower()}" for name in source.findings]
    columns = {}
    for method in METHODS:
        known = {row.metric: row for row in published if row.method == method}
        cells = tuple(known.get(key) for key in keys)
        if any(cells):
            columns[method] = cells
    return columns


def table(
    source: ClinicSource, findings: Findings, ranked: Sequence[int], printed_auroc: Columns
) -> ScoreTable:
    """Return one row a finding, and on the page the means over all."""
    verdicts = label_verdicts(findings.audit.labels)
    rows = tuple(_row(source, findings, verdicts[k], printed_auroc) for k in ranked)
    means = _means(findings, printed_auroc) if len(findings.events) > 1 else ()
    return ScoreTable("Finding", _shown(printed_auroc), _columns(printed_auroc), (*rows, *means))


def plain_table(source: ClinicSource, findings: Findings, ranked: Sequence[int]) -> ScoreTable:
    """Return the same rows, on the page in plain words."""
    verdicts = label_verdicts(findings.audit.labels)
    rows = tuple(
        _plain_row(_row(source, findings, verdicts[k], {}), source, findings, verdicts[k])
        for k in ranked
    )
    return ScoreTable("Finding", PLAIN_SHOWN, _columns({}), rows)


def _shown(printed_auroc: Columns) -> tuple[PageColumn, ...]:
    return (
        PageColumn("verdict", "Verdict"),
        PageColumn("events", "Labelled with it", "count"),
        PageColumn("auroc", "AUROC", "decimals"),
        *(PageColumn(_printed_key(m), METHODS[m], "decimals") for m in printed_auroc),
        PageColumn("auprc", "Average precision", "three_alone"),
        PageColumn("ece", "ECE, %", "unsigned_points"),
        PageColumn("slope", "Slope", "two"),
    )


def _columns(printed_auroc: Columns) -> tuple[Column, ...]:
    return (
        Column("finding", "finding"),
        Column("events", "labelled with it", "count"),
        Column("prevalence", "prevalence", "share"),
        Column("says", "says", "share"),
        Column("verdict", "verdict among all findings (Holm)"),
        *(Column(f"gap{end}", f"gap{end}", "number") for end in ("", "_low", "_high")),
        *(
            Column(f"{key}{end}", f"{key}{end}", "number")
            for key in NUMBERS
            for end in ("", "_low", "_high")
        ),
        Column("ece_floor_q95", "noise floor, 95th percentile", "number"),
        *(Column(_printed_key(m), f"published AUROC, {m}", "number") for m in printed_auroc),
        Column("source", "source"),
    )


def _printed_key(method: str) -> str:
    return f"auroc_published_{method}"


def _row(
    source: ClinicSource, findings: Findings, verdict: LabelVerdict, printed_auroc: Columns
) -> TableRow:
    k, label, gap = verdict.index, verdict.audit, verdict.audit.direction
    events = findings.events[k]
    says, prevalence = shares(label.bins)
    name = finding(source.findings[k])
    printed_cells = {
        _printed_key(method): None if (row := rows[k]) is None else row.value
        for method, rows in printed_auroc.items()
    }
    return TableRow(
        name=name,
        cells={
            "finding": name,
            "events": Estimate(events, note=percent(prevalence)),
            "prevalence": prevalence,
            "says": says,
            "verdict": Estimate(verdict.text, note=verdict.size),
            "gap": gap.gap,
            "gap_low": gap.low,
            "gap_high": gap.high,
            **_scores(label, prevalence),
            **with_ends("slope", estimate(label.metrics["slope"])),
            "ece_floor_q95": label.noise_floor["ece"].q95,
            **printed_cells,
            "source": source.caption,
        },
        notes=(TOO_FEW_FOR_CURVE,) if findings.few(k) else (),
    )


def _scores(label: TargetAudit, prevalence: float) -> dict[str, Estimate | Cell]:
    """Return the cells that a finding and the mean over findings have."""
    metrics, chance = label.metrics, f"chance: up to {points(label.noise_floor['ece'].q95)}"
    return {
        **with_ends("auroc", estimate(metrics["auroc"])),
        **with_ends("auprc", estimate(metrics["auprc"], note=f"guessing: {three(prevalence)}")),
        **with_ends("ece", estimate(metrics["ece"], note=chance)),
    }


def _means(findings: Findings, printed_auroc: Columns) -> tuple[TableRow]:
    n = len(findings.events)
    shares = [e / k for e, k in zip(findings.events, findings.labelled, strict=True)]
    cells = _scores(findings.audit.main, sum(shares) / n)
    for method, rows in printed_auroc.items():
        values = [row.value for row in rows if row is not None]
        coverage = "" if len(values) == n else f"of {len(values)}"
        cells[_printed_key(method)] = Estimate(sum(values) / len(values), note=coverage)
    return (TableRow(name=f"Mean of {n}", cells=cells, shaded=True, in_file=False),)


PLAIN_SHOWN = (
    PageColumn("plain_verdict", "This finding"),
    PageColumn("plain_says", "The model says, of 100", "hundred_alone"),
    PageColumn("plain_labelled", "Labelled with it, of 100", "hundred_alone"),
    PageColumn("events", "Films labelled with it", "count"),
    PageColumn("auroc", "Ranked correctly, of 100 pairs", "hundred_alone"),
)


def _plain_row(
    row: TableRow, source: ClinicSource, findings: Findings, verdict: LabelVerdict
) -> TableRow:
    says, labelled = shares(verdict.audit.bins)
    name = PLAIN.label(source.findings[verdict.index])
    plain_cells: dict[str, Estimate | Cell] = {
        "events": Estimate(findings.events[verdict.index]),
        "plain_verdict": PLAIN_VERBS[verdict.code][0],
        "plain_says": says,
        "plain_labelled": labelled,
    }
    return replace(
        row, name=name[:1].upper() + name[1:], cells={**row.cells, **plain_cells}, notes=()
    )
