"""The table of all findings: numbers beside those that a paper prints, in full or plainly."""

from collections.abc import Sequence

from core.defaults import FALSE_ALARMS
from core.metrics.null_test import holm
from core.metrics.records import BinTable, Score, TargetAudit
from core.published import PublishedNumber
from core.screens.kit.bin_marks import filled
from core.screens.kit.numbers import (
    count,
    in_hundred,
    percent,
    points,
    span,
    three,
    three_span,
    two,
    two_span,
)
from core.screens.kit.records import Cell, CellWords, Column, ScoreRow, Table
from core.screens.kit.theme import Tone
from core.screens.xray.finding_figures import reading
from core.screens.xray.words import PLAIN, TONES, TOO_FEW, ClinicSource, finding
from core.studies.clinic import Findings

Columns = dict[str, tuple[PublishedNumber | None, ...]]  # what a paper prints, by method
METHODS = {"bce": "CheXNet (BCE), published", "fcl": "FCL, published"}
HEADS = (
    "Finding",
    "Labelled with it",
    "AUROC",
    *METHODS.values(),
    "Average precision",
    "ECE, %",
    "Slope",
)
PLAIN_HEADS = (
    "Finding",
    "Labelled with it",
    "Told apart, of 100 pairs",
    "Where it scores highest it says, of 100",
    "Labelled with it there, of 100",
    "So there it",
)
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


def heads(printed_auroc: Columns) -> tuple[str, ...]:
    """Return the heads of the table, with those of the methods that are shown."""
    left = [head for method, head in METHODS.items() if method not in printed_auroc]
    return tuple(head for head in HEADS if head not in left)


def rows(
    source: ClinicSource, findings: Findings, ranked: Sequence[int], printed_auroc: Columns
) -> tuple[ScoreRow, ...]:
    """Return one row a finding, and the means over all."""
    return tuple(_row(source, findings, k, printed_auroc) for k in ranked) + _macro(
        findings, printed_auroc
    )


def plain_rows(
    source: ClinicSource, findings: Findings, ranked: Sequence[int]
) -> tuple[ScoreRow, ...]:
    """Return one row a finding in plain words."""
    tones = top_tones(findings)
    return tuple(_plain_row(source, findings, k, tones[k]) for k in ranked)


def top_tones(findings: Findings) -> tuple[Tone, ...]:
    """Return what each finding's bin of the highest scores says.

    Over or under is beyond chance among all findings that have events enough (Holm).
    """
    enough = [k for k in range(len(findings.events)) if not findings.few(k)]
    corrected = dict(zip(enough, holm([findings.top[k] for k in enough]), strict=True))
    return tuple(_top_tone(bins, corrected.get(k)) for k, bins in enumerate(findings.bins))


def _top_tone(bins: BinTable, p_value: float | None) -> Tone:
    top = filled(bins)[-1]
    if p_value is None:
        return "few"
    if p_value <= FALSE_ALARMS:
        return "over" if bins.accuracy[top] < bins.confidence[top] else "under"
    return "sound" if reading(bins, top, few=False) == "sound" else "few"


def _row(source: ClinicSource, findings: Findings, k: int, printed_auroc: Columns) -> ScoreRow:
    label = findings.audit.labels[k]
    return ScoreRow(
        name=finding(source.findings[k]),
        cells=(
            CellWords(count(findings.events[k]), percent(findings.events[k] / findings.audit.n)),
            _number(label.metrics["auroc"]),
            *(_printed_cell(cells[k]) for cells in printed_auroc.values()),
            _precision(label, findings.events[k] / findings.audit.n),
            _error(label),
            _slope(label),
        ),
        notes=(TOO_FEW,) if findings.few(k) else (),
    )


def _macro(findings: Findings, printed_auroc: Columns) -> tuple[ScoreRow, ...]:
    main, n = findings.audit.main, len(findings.events)
    if n == 1:
        return ()
    means = []
    for cells in printed_auroc.values():
        values = [cell.value for cell in cells if cell is not None]
        coverage = "" if len(values) == n else f"of {len(values)}"
        means.append(CellWords(f"{sum(values) / len(values):.3f}", coverage))
    return (
        ScoreRow(
            name=f"Mean of {n}",
            cells=(
                CellWords(""),
                _number(main.metrics["auroc"]),
                *means,
                _precision(main, sum(findings.events) / n / findings.audit.n),
                _error(main),
                CellWords(""),
            ),
            shaded=True,
        ),
    )


def _number(score: Score) -> CellWords:
    if score.value is None:
        return CellWords("–", reason=score.reason)
    return CellWords(f"{score.value:.3f}", three_span(score.value, score.low, score.high))


def _printed_cell(row: PublishedNumber | None) -> CellWords:
    return CellWords("–") if row is None else CellWords(f"{row.value:.3f}")


def _precision(label: TargetAudit, prevalence: float) -> CellWords:
    score = label.metrics["auprc"]
    if score.value is None:
        return CellWords("–", reason=score.reason)
    return CellWords(three(score.value), f"a guess: {three(prevalence)}")


def _error(label: TargetAudit) -> CellWords:
    score, floor = label.metrics["ece"], label.noise_floor["ece"]
    return CellWords(
        points(score.value, score.low, score.high),
        f"{span(score.low, score.high)}; chance: up to {points(floor.q95)}",
    )


def _slope(label: TargetAudit) -> CellWords:
    score = label.metrics["slope"]
    if score.value is None or score.low is None or score.high is None:
        return CellWords("–", reason=score.reason)
    return CellWords(two(score.value), two_span(score.low, score.high))


def _plain_row(source: ClinicSource, findings: Findings, k: int, tone: Tone) -> ScoreRow:
    bins, label = findings.bins[k], findings.audit.labels[k]
    i, n = filled(bins)[-1], findings.events[k]
    auroc = label.metrics["auroc"].value
    low, high = float(bins.ci_low[i]), float(bins.ci_high[i])
    return ScoreRow(
        name=PLAIN.title(source.findings[k]),
        cells=(
            CellWords(count(n), f"{in_hundred(n / findings.audit.n)} in 100"),
            CellWords(in_hundred(auroc)),
            CellWords(in_hundred(float(bins.confidence[i]))),
            CellWords(
                in_hundred(float(bins.accuracy[i]), low, high),
                f"{in_hundred(low)} to {in_hundred(high)}",
            ),
            CellWords("too few to tell" if findings.few(k) else TONES[tone]),
        ),
    )


def table(
    source: ClinicSource,
    findings: Findings,
    ranked: Sequence[int],
    printed_auroc: Columns,
) -> Table:
    """Return every number of the table, one row a finding."""
    numbers = ("auroc", "auprc", "ece", "slope")
    columns = [Column("finding", "finding"), Column("events", "labelled with it", "count")]
    columns.append(Column("prevalence", "prevalence", "share"))
    for key in numbers:
        columns += [Column(f"{key}{end}", f"{key}{end}", "number") for end in ("", "_low", "_high")]
    columns.append(Column("ece_floor_q95", "noise floor, 95th percentile", "number"))
    columns += [
        Column(f"auroc_published_{m}", f"published AUROC, {m}", "number") for m in printed_auroc
    ]
    columns.append(Column("source", "source"))
    rows: list[tuple[Cell, ...]] = []
    for k in ranked:
        label = findings.audit.labels[k]
        scores = [label.metrics[key] for key in numbers]
        rows.append(
            (
                finding(source.findings[k]),
                findings.events[k],
                findings.events[k] / findings.audit.n,
                *(part for s in scores for part in (s.value, s.low, s.high)),
                label.noise_floor["ece"].q95,
                *(
                    None if (row := cells[k]) is None else row.value
                    for cells in printed_auroc.values()
                ),
                source.caption,
            )
        )
    return Table(tuple(columns), tuple(rows))
