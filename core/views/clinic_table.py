"""The table of all findings: numbers beside those that a paper prints, in full or plainly."""

from collections.abc import Sequence

from core.defaults import FALSE_ALARMS
from core.figures.clinic import reading
from core.figures.marks import filled
from core.figures.numbers import (
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
from core.figures.theme import Tone
from core.metrics.null_test import holm
from core.metrics.records import BinTable, Score, TargetAudit
from core.published import PublishedNumber
from core.views.clinic_study import Findings
from core.views.clinic_words import TONES, TOO_FEW, ClinicSource, finding, plain_finding
from core.views.records import (
    Cell,
    CellWords,
    Column,
    ScoreRow,
    Table,
)

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
    found = {}
    for method in METHODS:
        known = {row.metric: row for row in published if row.method == method}
        cells = tuple(known.get(key) for key in keys)
        if any(cells):
            found[method] = cells
    return found


def heads(shown: Columns) -> tuple[str, ...]:
    """Return the heads of the table, with those of the methods that are shown."""
    left = [head for method, head in METHODS.items() if method not in shown]
    return tuple(head for head in HEADS if head not in left)


def rows(
    source: ClinicSource, found: Findings, ranked: Sequence[int], shown: Columns
) -> tuple[ScoreRow, ...]:
    """Return one row a finding, and the means over all."""
    return tuple(_row(source, found, k, shown) for k in ranked) + _macro(found, shown)


def plain_rows(
    source: ClinicSource, found: Findings, ranked: Sequence[int]
) -> tuple[ScoreRow, ...]:
    """Return one row a finding in plain words."""
    tones = top_tones(found)
    return tuple(_plain_row(source, found, k, tones[k]) for k in ranked)


def top_tones(found: Findings) -> tuple[Tone, ...]:
    """Return what each finding's bin of the highest scores says.

    Over or under is beyond chance among all findings that have events enough (Holm).
    """
    enough = [k for k in range(len(found.events)) if not found.few(k)]
    corrected = dict(zip(enough, holm([found.top[k] for k in enough]), strict=True))
    return tuple(_top_tone(bins, corrected.get(k)) for k, bins in enumerate(found.bins))


def _top_tone(bins: BinTable, p_value: float | None) -> Tone:
    at = filled(bins)[-1]
    if p_value is None:
        return "few"
    if p_value <= FALSE_ALARMS:
        return "over" if bins.accuracy[at] < bins.confidence[at] else "under"
    return "sound" if reading(bins, at, few=False) == "sound" else "few"


def _row(source: ClinicSource, found: Findings, k: int, shown: Columns) -> ScoreRow:
    label = found.audit.labels[k]
    return ScoreRow(
        finding(source.findings[k]),
        (
            CellWords(count(found.events[k]), percent(found.events[k] / found.audit.n)),
            _number(label.metrics["auroc"]),
            *(_printed_cell(cells[k]) for cells in shown.values()),
            _precision(label, found.events[k] / found.audit.n),
            _error(label),
            _slope(label),
        ),
        (TOO_FEW,) if found.few(k) else (),
    )


def _macro(found: Findings, shown: Columns) -> tuple[ScoreRow, ...]:
    main, n = found.audit.main, len(found.events)
    if n == 1:
        return ()
    means = []
    for cells in shown.values():
        values = [one.value for one in cells if one is not None]
        of = "" if len(values) == n else f"of {len(values)}"
        means.append(CellWords(f"{sum(values) / len(values):.3f}", of))
    return (
        ScoreRow(
            f"Mean of {n}",
            (
                CellWords(""),
                _number(main.metrics["auroc"]),
                *means,
                _precision(main, sum(found.events) / n / found.audit.n),
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


def _plain_row(source: ClinicSource, found: Findings, k: int, tone: Tone) -> ScoreRow:
    bins, label = found.bins[k], found.audit.labels[k]
    i, n = filled(bins)[-1], found.events[k]
    auroc = label.metrics["auroc"].value
    low, high = float(bins.ci_low[i]), float(bins.ci_high[i])
    return ScoreRow(
        plain_finding(source.findings[k])[:1].upper() + plain_finding(source.findings[k])[1:],
        (
            CellWords(count(n), f"{in_hundred(n / found.audit.n)} in 100"),
            CellWords(in_hundred(auroc)),
            CellWords(in_hundred(float(bins.confidence[i]))),
            CellWords(
                in_hundred(float(bins.accuracy[i]), low, high),
                f"{in_hundred(low)} to {in_hundred(high)}",
            ),
            CellWords("too few to tell" if found.few(k) else TONES[tone]),
        ),
    )


def table(
    source: ClinicSource,
    found: Findings,
    ranked: Sequence[int],
    shown: Columns,
) -> Table:
    """Return every number of the table, one row a finding."""
    numbers = ("auroc", "auprc", "ece", "slope")
    columns = [Column("finding", "finding"), Column("events", "labelled with it", "count")]
    columns.append(Column("prevalence", "prevalence", "share"))
    for key in numbers:
        columns += [Column(f"{key}{end}", f"{key}{end}", "number") for end in ("", "_low", "_high")]
    columns.append(Column("ece_floor_q95", "noise floor, 95th percentile", "number"))
    columns += [Column(f"auroc_published_{m}", f"published AUROC, {m}", "number") for m in shown]
    columns.append(Column("source", "source"))
    rows: list[tuple[Cell, ...]] = []
    for k in ranked:
        label = found.audit.labels[k]
        scores = [label.metrics[key] for key in numbers]
        rows.append(
            (
                finding(source.findings[k]),
                found.events[k],
                found.events[k] / found.audit.n,
                *(part for s in scores for part in (s.value, s.low, s.high)),
                label.noise_floor["ece"].q95,
                *(None if (row := cells[k]) is None else row.value for cells in shown.values()),
                source.caption,
            )
        )
    return Table(tuple(columns), tuple(rows))
