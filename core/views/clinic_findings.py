"""All findings of a run: sentence, numbers, small diagrams and the table, in full or plainly."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from core.defaults import FEW_EVENTS
from core.figures.clinic import finding as draw_finding
from core.figures.clinic import reading
from core.figures.marks import filled
from core.figures.numbers import THIN, count, in_hundred, percent, points, span, three, three_span
from core.figures.theme import Tone
from core.metrics.clinical_groups import too_few
from core.metrics.records import BinTable, Score, TargetAudit
from core.published import Printed
from core.views.clinic_study import MASS_BINS, Findings
from core.views.clinic_words import TONES, TOO_FEW, Source, finding, plain_finding
from core.views.records import (
    Cell,
    CellWords,
    Column,
    FigureCard,
    Part,
    ScoreRow,
    Sentence,
    Swatch,
    Table,
    Tile,
)
from core.views.tiles import strip
from core.views.words import GLOSSARY

KEY = (
    Swatch("says more than it should", "over", "dot"),
    Swatch("says less", "under", "dot"),
    Swatch("within chance", "sound", "ring"),
    Swatch("too few to tell", "few", "ring"),
)
EDGE = "▾ on an edge: 0.1 % or less."
TITLE = "Labelled with the finding (up) against the model’s score (across), %"
HEADS = (
    "Finding",
    "Labelled with it",
    "AUROC",
    "CheXNet (BCE), published",
    "FCL, published",
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
BIN_COLUMNS = (
    Column("finding", "finding"),
    Column("events", "labelled with it", "count"),
    Column("bin_low", "from", "share"),
    Column("bin_high", "to", "share"),
    Column("count", "n", "count"),
    Column("says", "says", "share"),
    Column("labelled", "labelled with it", "share"),
    Column("ci_low", "low", "share"),
    Column("ci_high", "high", "share"),
    Column("reading", "reading"),
)
PRINTED_NOTE = (
    "Published: Focal calibration loss 2024, table 9, their own test films; its printed averages "
    "do not match its columns, so the means here are taken from the columns."
)


@dataclass(frozen=True)
class Small:
    """One small diagram: which finding, what stands over it, and the figure."""

    index: int
    name: str
    note: str
    card: FigureCard


@dataclass(frozen=True)
class FindingsView:
    """Everything that the view of all findings draws, in its order."""

    eyebrow: str
    sentence: Sentence
    numbers: tuple[Tile, ...]
    small: tuple[Small, ...]
    together: FigureCard
    heads: tuple[str, ...]
    rows: tuple[ScoreRow, ...]
    table: Table
    notes: tuple[str, ...]
    caption: str


def order(found: Findings) -> tuple[int, ...]:
    """Return the findings by events, the most frequent first."""
    return tuple(sorted(range(len(found.events)), key=lambda k: (-found.events[k], k)))


def findings_view(
    source: Source, found: Findings, published: Sequence[Printed], *, plain: bool = False
) -> FindingsView:
    """Return the view of all findings.

    Parameters
    ----------
    source : Source
        Where the numbers come from.
    found : Findings
        The numbers.
    published : sequence of Printed
        AUROC that a paper prints for findings, of any name.
    plain : bool
        In plain words.
    """
    ranked = order(found)
    told = [k for k in ranked if not _few(found, k)]
    many = "1 finding" if len(ranked) == 1 else f"{len(ranked)} findings, each by itself"
    eyebrow = f"Chest X-ray{', in plain words' if plain else ''} · {source.run} · {many}"
    columns = {} if plain else {m: _printed(source, published, m) for m in ("bce", "fcl")}
    shown = {method: cells for method, cells in columns.items() if any(cells)}
    heads = tuple(h for h in HEADS if "published" not in h or _method(h) in shown)
    return FindingsView(
        eyebrow=eyebrow,
        sentence=_sentence(source, found, told),
        numbers=_tiles(source, found, plain=plain),
        small=() if plain else tuple(_small(source, found, k) for k in ranked),
        together=_together(source, found, ranked),
        heads=PLAIN_HEADS if plain else heads,
        rows=tuple(_plain_row(source, found, k) for k in ranked)
        if plain
        else tuple(_row(source, found, k, shown) for k in ranked) + _macro(found, shown),
        table=_table(source, found, ranked, shown),
        notes=(PRINTED_NOTE,) if shown else (),
        caption=source.caption,
    )


def _method(head: str) -> str:
    return "fcl" if head.startswith("FCL") else "bce"


def _few(found: Findings, k: int) -> bool:
    return too_few(found.audit.n, found.events[k])


def top_tone(bins: BinTable) -> Tone:
    """Return what the bin of the highest scores says."""
    return reading(bins, filled(bins)[-1], few=False)


def _sentence(source: Source, found: Findings, told: Sequence[int]) -> Sentence:
    n = len(found.events)
    tones = [top_tone(found.bins[k]) for k in told]
    over, under = tones.count("over"), tones.count("under")
    if not told:
        return Sentence(
            (
                Part(
                    f"None of {n} findings has {FEW_EVENTS} {source.films} with it and "
                    "without it: too few to tell whether the model keeps its word."
                ),
            )
        )
    films = f"the {source.films} with the highest scores carry the label"
    if not over and not under:
        return Sentence(
            (
                Part(f"In none of {n} findings can be told that {films} "),
                Part("more or less often than the model says."),
            )
        )
    first, second = ("over", "under") if over else ("under", "over")
    counts = {"over": over, "under": under}
    words = {"over": "less often", "under": "more often"}
    tone_of: dict[str, Tone] = {"over": "over", "under": "under"}
    parts = [
        Part(f"In {counts[first]} of {n} findings {films} "),
        Part(words[first], tone_of[first]),
        Part(" than the model says"),
    ]
    if counts[second]:
        parts += [Part(f", in {counts[second]} "), Part(words[second], tone_of[second])]
    left = n - over - under
    parts.append(Part("; in the rest it keeps its word or cannot be told." if left else "."))
    return Sentence(tuple(parts))


def _tiles(source: Source, found: Findings, *, plain: bool) -> tuple[Tile, ...]:
    n = len(found.events)
    main = found.audit.main
    ece, floor = main.metrics["ece"], main.noise_floor["ece"]
    rarest = order(found)[-1]
    few = f"below {FEW_EVENTS}, no verdict" if _few(found, rarest) else ""
    last = (
        Tile(source.films.capitalize(), count(source.n), note=source.split + " split"),
        Tile(
            "Rarest finding",
            count(found.events[rarest]),
            source.films,
            note=f"{finding(source.findings[rarest])}{': ' + few if few else ''}",
        ),
    )
    if plain:
        return (
            Tile("Findings", str(n), note="each by itself"),
            Tile(
                "How far off its scores are",
                points(ece.value),
                "points",
                f"mean of {n}; a perfect model: up to {points(floor.q95)}",
                help=GLOSSARY["ece"],
            ),
            *last,
        )
    return (
        _auroc_tile(main.metrics["auroc"], n),
        Tile(
            f"ECE, mean of {n}",
            points(ece.value, ece.low, ece.high),
            "%",
            interval=span(ece.low, ece.high),
            note="each by itself, never pooled",
            help=GLOSSARY["ece"],
            strip=strip(ece, floor, "ink"),
        ),
        Tile(
            "Noise floor of that ECE",
            points(floor.mean),
            "%",
            note=f"a perfect model: up to {points(floor.q95)}",
            help=GLOSSARY["noise_floor"],
            floor_mark=True,
        ),
        *last,
    )


def _auroc_tile(score: Score, n: int) -> Tile:
    return Tile(
        f"AUROC, mean of {score.settings.get('labels', n)}",
        three(score.value),
        interval=three_span(score.value, score.low, score.high),
        note=score.reason,
        help=f"{GLOSSARY['auroc']} Its interval is the mean of the findings' bounds, which is "
        "wide enough however the findings move together.",
    )


def _small(source: Source, found: Findings, k: int) -> Small:
    name, bins, few = finding(source.findings[k]), found.bins[k], _few(found, k)
    auroc = found.audit.labels[k].metrics["auroc"]
    note = count(found.events[k])
    if auroc.value is not None:
        note += f" · AUROC {auroc.value:.2f}"
    note += f" · {TOO_FEW}" if few else ""
    spoken = "; ".join(
        f"says {percent(float(bins.confidence[i]))}, labelled {percent(float(bins.accuracy[i]))}"
        for i in filled(bins)
    )
    card = FigureCard(
        f"finding.{k}",
        name,
        note,
        partial(draw_finding, bins, few),
        f"{name}, {count(found.events[k])} {source.films} of {count(source.n)} labelled with it"
        f"{', ' + TOO_FEW if few else ''}. {len(filled(bins))} bins: {spoken}.",
        _bin_rows(source, found, (k,)),
        source.caption,
    )
    return Small(k, name, note, card)


def _together(source: Source, found: Findings, ranked: Sequence[int]) -> FigureCard:
    """Return what the downloads of all small diagrams hold; the first one stands for them."""
    first = ranked[0]
    return FigureCard(
        "findings_bins",
        TITLE,
        explanation(),
        partial(draw_finding, found.bins[first], _few(found, first)),
        f"The bins of {len(ranked)} findings.",
        _bin_rows(source, found, ranked),
        source.caption,
    )


def _bin_rows(source: Source, found: Findings, which: Sequence[int]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for k in which:
        bins, few = found.bins[k], _few(found, k)
        for i in filled(bins):
            ends = (float(part[i]) for part in (bins.low, bins.high))
            shares = (bins.confidence, bins.accuracy, bins.ci_low, bins.ci_high)
            rows.append(
                (
                    finding(source.findings[k]),
                    found.events[k],
                    *ends,
                    int(bins.count[i]),
                    *(float(part[i]) for part in shares),
                    TOO_FEW if few else TONES[reading(bins, i, few=False)],
                )
            )
    return Table(BIN_COLUMNS, tuple(rows))


def _printed(
    source: Source, published: Sequence[Printed], method: str
) -> tuple[Printed | None, ...]:
    """Return what the paper prints for each finding by a method; None where names differ."""
    known = {row.metric: row for row in published if row.method == method}
    keys = (f"auroc_{name.replace(' ', '_').lower()}" for name in source.findings)
    return tuple(known.get(key) for key in keys)


def _row(
    source: Source, found: Findings, k: int, shown: dict[str, tuple[Printed | None, ...]]
) -> ScoreRow:
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
        (TOO_FEW,) if _few(found, k) else (),
    )


def _macro(found: Findings, shown: dict[str, tuple[Printed | None, ...]]) -> tuple[ScoreRow, ...]:
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


def _printed_cell(row: Printed | None) -> CellWords:
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
        f"{span(score.low, score.high)}; floor {points(floor.q95)}",
    )


def _slope(label: TargetAudit) -> CellWords:
    score = label.metrics["slope"]
    if score.value is None:
        return CellWords("–", reason=score.reason)
    return CellWords(f"{score.value:.2f}", f"{score.low:.2f} to {score.high:.2f}")


def _plain_row(source: Source, found: Findings, k: int) -> ScoreRow:
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
            CellWords("too few to tell" if _few(found, k) else TONES[top_tone(bins)]),
        ),
    )


def _table(
    source: Source,
    found: Findings,
    ranked: Sequence[int],
    shown: dict[str, tuple[Printed | None, ...]],
) -> Table:
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


def explanation() -> str:
    """Return what stands beside the title of the small diagrams."""
    return (
        f"{MASS_BINS} equal-mass bins, Wilson 95{THIN}%, log-odds axes so that rare findings are "
        "not squeezed into a corner"
    )
