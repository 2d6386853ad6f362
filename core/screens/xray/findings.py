"""All findings of a run: sentence, numbers, small diagrams and the table, in two editions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from core.defaults import FEW_EVENTS
from core.metrics.records import BEYOND_CHANCE, TargetAudit, VerdictCode
from core.predictions import group_nouns
from core.published import PublishedNumber
from core.screens.kit.cards import strip
from core.screens.kit.differences import better, difference_words
from core.screens.kit.labels import (
    PLAIN_VERBS,
    LabelVerdict,
    label_verdicts,
    labels_sentence,
    with_unknown,
)
from core.screens.kit.marks import filled, shares
from core.screens.kit.methods import parameters
from core.screens.kit.numbers import count, percent, points, span, three, three_span
from core.screens.kit.records import (
    Cell,
    CellWords,
    Column,
    Estimate,
    FigureCard,
    Mark,
    ScoreRow,
    ScoreTable,
    Sentence,
    Table,
    TableRow,
    Tile,
    columns_of,
    estimate,
    with_ends,
)
from core.screens.kit.sentences import counted_as
from core.screens.kit.words import GLOSSARY, with_row_noun
from core.screens.xray.figures import finding as draw_finding
from core.screens.xray.figures import reading
from core.screens.xray.words import (
    PLAIN,
    READINGS,
    TECHNICAL,
    TOO_FEW,
    TOO_FEW_FOR_CURVE,
    ClinicSource,
    FindingWords,
    finding,
    sourced,
)
from core.studies.clinic import MASS_BINS, TEMPERATURE_METHODS, Error, Findings, TemperatureScaled
from core.studies.posthoc import NONE, PosthocRows

TEMPERATURE_HEADS = (
    "Finding",
    "ECE as read, %",
    "Temperature",
    "ECE after, %",
    "Difference",
    "Focal temperature",
    "ECE after, %",
    "Difference",
)
TEMPERATURE_COLUMNS = (
    *columns_of(finding="finding", method="method", parameters="parameters"),
    *columns_of("number", ece="ECE", low="low", high="high"),
    *columns_of("number", floor_q95="noise floor, 95th percentile"),
    *columns_of("number", difference="difference from none"),
    *columns_of("number", difference_low="low", difference_high="high"),
    Column("source", "source"),
)


def temperature_rows(
    source: ClinicSource, by_finding: Mapping[int, TemperatureScaled]
) -> tuple[ScoreRow, ...]:
    """Return a row for each finding that is known, in the order given."""
    rows = []
    for k, scaled in by_finding.items():
        cells = [_error(scaled.errors[NONE])]
        for fit in scaled.fits:
            if fit.method not in scaled.errors:
                cells += [CellWords("–", reason=fit.refusal)] * 3
                continue
            difference = scaled.differences[fit.method]
            mark: Mark = "tie" if difference.tie else "beyond"
            cells += [
                CellWords(parameters(fit)),
                _error(scaled.errors[fit.method]),
                CellWords(*difference_words(difference), mark=mark),
            ]
        rows.append(ScoreRow(name=finding(source.findings[k]), cells=tuple(cells)))
    return tuple(rows)


def _error(error: Error) -> CellWords:
    score = error.score
    return CellWords(points(score.value, score.low, score.high), span(score.low, score.high))


def temperature_summary(by_finding: Mapping[int, TemperatureScaled]) -> str:
    """Return in how many findings each method helps or harms beyond chance."""
    sentences = []
    for method, name in zip(
        TEMPERATURE_METHODS, ("A temperature", "A focal temperature"), strict=True
    ):
        differences = [
            scaled.differences[method]
            for scaled in by_finding.values()
            if method in scaled.differences
        ]
        helped = sum(better(difference) for difference in differences)
        harmed = sum(
            difference.low is not None and not difference.tie and not better(difference)
            for difference in differences
        )
        worse = f", and raises it in {harmed}" if harmed else ""
        sentences.append(
            f"{name} of its own lowers the calibration error beyond chance in {helped} of "
            f"{len(differences)} findings{worse}."
        )
    return " ".join(sentences)


def temperature_caption(source: ClinicSource, parts: PosthocRows) -> str:
    """Return which rows were fitted on and which are reported."""
    fitted, reported = count(parts.n_fit), count(parts.n_test)
    split = (
        f"half of the {source.films} ({fitted}, drawn with seed {parts.cut[1]}), reported on the "
        f"other half ({reported})"
        if parts.cut is not None
        else f"{parts.fit_name} ({fitted} {source.films}), reported on {parts.test_name} "
        f"({reported})"
    )
    return f"Fitted by NLL on {split}. Differences are paired. {source.caption}"


def temperature_table(
    source: ClinicSource, by_finding: Mapping[int, TemperatureScaled], caption_text: str
) -> Table:
    """Return every number, a row for each finding and method."""
    lines: list[tuple[Cell, ...]] = []
    for k, scaled in by_finding.items():
        fits = {fit.method: fit for fit in scaled.fits}
        for method, error in scaled.errors.items():
            score, difference = error.score, scaled.differences.get(method)
            ends = (
                (None, None, None)
                if difference is None
                else (difference.value, difference.low, difference.high)
            )
            lines.append(
                (
                    finding(source.findings[k]),
                    method,
                    parameters(fits[method]) if method in fits else "",
                    score.value,
                    score.low,
                    score.high,
                    error.floor.q95,
                    *ends,
                    caption_text,
                )
            )
    return Table(TEMPERATURE_COLUMNS, tuple(lines))


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
    verdicts, n = label_verdicts(findings.audit.labels), len(findings.events)
    rows = [_row(source, findings, verdicts[k], printed_auroc) for k in ranked]
    if n > 1:
        prevalences = [e / k for e, k in zip(findings.events, findings.labelled, strict=True)]
        cells = _scores(findings.audit.main, sum(prevalences) / n)
        for method, printed_rows in printed_auroc.items():
            values = [row.value for row in printed_rows if row is not None]
            coverage = "" if len(values) == n else f"of {len(values)}"
            cells[_printed_key(method)] = Estimate(sum(values) / len(values), note=coverage)
        rows.append(TableRow(name=f"Mean of {n}", cells=cells, shaded=True, in_file=False))
    shown = (
        Column("verdict", "Verdict"),
        Column("events", "Labelled with it", "count"),
        Column("auroc", "AUROC", "decimals"),
        *(Column(_printed_key(m), METHODS[m], "decimals") for m in printed_auroc),
        Column("auprc", "Average precision", "three_alone"),
        Column("ece", "ECE, %", "unsigned_points"),
        Column("slope", "Slope", "two"),
    )
    return ScoreTable("Finding", shown, _columns(printed_auroc), tuple(rows))


def plain_table(source: ClinicSource, findings: Findings, ranked: Sequence[int]) -> ScoreTable:
    """Return the same rows, on the page in plain words."""
    verdicts, rows = label_verdicts(findings.audit.labels), []
    shown = (
        Column("plain_verdict", "This finding"),
        Column("plain_says", "The model says, of 100", "hundred_alone"),
        Column("plain_labelled", "Labelled with it, of 100", "hundred_alone"),
        Column("events", f"{source.films.capitalize()} labelled with it", "count"),
        Column("auroc", "Ranked correctly, of 100 pairs", "hundred_alone"),
    )
    for k in ranked:
        row, name = _row(source, findings, verdicts[k], {}), PLAIN.title(source.findings[k])
        says, labelled = shares(verdicts[k].audit.bins)
        plain_cells: dict[str, Estimate | Cell] = {
            "events": Estimate(findings.events[k]),
            "plain_verdict": PLAIN_VERBS[verdicts[k].code][0],
            "plain_says": says,
            "plain_labelled": labelled,
        }
        rows.append(replace(row, name=name, cells={**row.cells, **plain_cells}, notes=()))
    return ScoreTable("Finding", shown, _columns({}), tuple(rows))


def _columns(printed_auroc: Columns) -> tuple[Column, ...]:
    return (
        Column("finding", "finding"),
        Column("events", "labelled with it", "count"),
        *columns_of("share", prevalence="prevalence", says="says"),
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


EDGE = "After each name: images labelled with it, and AUROC. A triangle on the edge: 0.1 % or less."
WORTH = "Worth: how many independent images those with it, or without it, count for."
PLAIN_ERROR = (
    "How far what it says of a finding is from how often that was labelled, on average over "
    "{films} with much the same score."
)
UNDECIDED = "“Could be chance”: a perfect model could look the same."
TITLE = "Labelled with the finding against the score, %"
BIN_COLUMNS = (
    Column("finding", "finding"),
    Column("events", "labelled with it", "count"),
    *columns_of("share", bin_low="from", bin_high="to"),
    Column("count", "n", "count"),
    *columns_of(
        "share", says="says", labelled="share labelled with it", ci_low="low", ci_high="high"
    ),
    Column("reading", "reading"),
)


@dataclass(frozen=True)
class SmallDiagram:
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
    small: tuple[SmallDiagram, ...]
    together: FigureCard
    table: ScoreTable
    notes: tuple[str, ...]
    caption: str
    legend: str


def order(findings: Findings) -> tuple[int, ...]:
    """Return the findings by events, the most frequent first."""
    return tuple(sorted(range(len(findings.events)), key=lambda k: (-findings.events[k], k)))


def findings_view(
    source: ClinicSource, findings: Findings, published: Sequence[PublishedNumber]
) -> FindingsView:
    """Return the view of all findings, with the AUROC that a paper prints for some of them."""
    verdicts, ranked = label_verdicts(findings.audit.labels), order(findings)
    bins = tuple(  # none is called off where the corrected verdict is chance
        replace(own, could_be_chance=verdict.code not in BEYOND_CHANCE)
        for own, verdict in zip(findings.bins, verdicts, strict=True)
    )
    findings = replace(findings, bins=bins)
    printed_auroc, first = printed(source, published), ranked[0]
    return FindingsView(
        eyebrow=_eyebrow(TECHNICAL, source, findings),
        sentence=_with_alike(source, findings, labels_sentence(verdicts, "findings")),
        numbers=_tiles(source, findings, plain=False),
        small=tuple(_small(source, findings, k) for k in ranked),
        together=FigureCard(  # for the downloads of all; the first diagram stands for them
            key="findings_bins",
            title=TITLE,
            explanation=explanation(findings),
            draw=partial(draw_finding, findings.bins[first], findings.few(first)),
            alt=f"The bins of {len(ranked)} findings.",
            table=_bin_rows(source, findings, ranked),
            caption=source.caption,
        ),
        table=table(source, findings, ranked, printed_auroc),
        notes=(PRINTED_NOTE,) if printed_auroc else (),
        caption=source.caption,
        legend=with_row_noun(EDGE if findings.audit.main.groups is None else f"{EDGE} {WORTH}"),
    )


def plain_findings_view(source: ClinicSource, findings: Findings) -> FindingsView:
    """Return the same in plain words: fewer numbers, no small diagrams, nothing of papers."""
    source = replace(source, plain=True)
    verdicts = label_verdicts(findings.audit.labels)
    sentence = labels_sentence(verdicts, "findings", PLAIN_VERBS)
    undecided = VerdictCode.COULD_BE_CHANCE in {verdict.code for verdict in verdicts}
    return replace(
        findings_view(source, findings, ()),
        eyebrow=_eyebrow(PLAIN, source, findings),
        sentence=_with_alike(
            source, findings, replace(sentence, second=UNDECIDED if undecided else "")
        ),
        numbers=_tiles(source, findings, plain=True),
        small=(),
        table=plain_table(source, findings, order(findings)),
    )


def _with_alike(source: ClinicSource, findings: Findings, sentence: Sentence) -> Sentence:
    """Return the sentence with unknown labels, and what films that belong together count as."""
    groups, sentence = findings.audit.main.groups, with_unknown(sentence, findings.audit)
    if groups is None:
        return sentence
    one, _ = group_nouns(groups.column)
    alike = (
        f"{source.counted}. {source.films.capitalize()} of one {one} may be alike: for one finding "
        f"they {counted_as(groups, source.n)}, on average."
    )
    return replace(sentence, second=f"{sentence.second} {alike}".strip())


def _eyebrow(words: FindingWords, source: ClinicSource, findings: Findings) -> str:
    n = len(findings.events)
    many = "1 finding" if n == 1 else f"{n} findings, each by itself"
    return f"{words.page} · {source.run} · {many}"


def _tiles(source: ClinicSource, findings: Findings, *, plain: bool) -> tuple[Tile, ...]:
    n, main, rarest = len(findings.events), findings.audit.main, order(findings)[-1]
    auroc, ece, floor = main.metrics["auroc"], main.metrics["ece"], main.noise_floor["ece"]
    auroc_mean, ece_mean, bounds = "", "", ""  # of one finding its numbers themselves
    if n > 1:
        auroc_mean, ece_mean = f", mean of {auroc.settings.get('labels', n)}", f", mean of {n}"
        bounds = (
            " Its interval is the mean of the findings’ bounds, which is wide enough however the "
            "findings are correlated."
        )
    scores: tuple[Tile, ...] = (
        Tile(
            "How far off its scores are",
            points(ece.value),
            "points",
            f"{f'mean of {n}; ' if n > 1 else ''}a perfect model: up to {points(floor.q95)}",
            help=PLAIN_ERROR.format(films=source.films),
        ),
    )
    few = ""
    if not plain:
        few = f": below {FEW_EVENTS}, its curve is not judged" if findings.few(rarest) else ""
        scores = (
            Tile(
                f"AUROC{auroc_mean}",
                three(auroc.value),
                interval=three_span(auroc.value, auroc.low, auroc.high),
                note=auroc.reason,
                help=f"{with_row_noun(GLOSSARY['auroc'])}{bounds}",
            ),
            Tile(
                f"ECE{ece_mean}",
                points(ece.value, ece.low, ece.high),
                "%",
                interval=span(ece.low, ece.high),
                help=GLOSSARY["ece"],
                strip=strip(ece, floor, "ink"),
            ),
            Tile(
                "Noise floor of ECE",
                points(floor.mean),
                "%",
                note=f"chance: up to {points(floor.q95)}",
                help=with_row_noun(GLOSSARY["noise_floor"]),
                floor_mark=True,
            ),
        )
    return (
        *scores,
        Tile(source.films.capitalize(), count(source.n)),
        Tile(
            "Rarest finding",
            count(findings.events[rarest]),
            source.films,
            note=f"{finding(source.findings[rarest])}{few}",
        ),
    )


def _small(source: ClinicSource, findings: Findings, k: int) -> SmallDiagram:
    name, bins, few = finding(source.findings[k]), findings.bins[k], findings.few(k)
    auroc = findings.audit.labels[k].metrics["auroc"]
    note = count(findings.events[k])
    if few and findings.audit.main.groups is not None:
        without = findings.labelled[k] - findings.events[k]
        side = f", {count(without)} without it" if findings.shares[k] > 0.5 else ""
        note += f"{side}, worth {count(int(findings.rarer[k]))}"
    if auroc.value is not None:
        note += f" · {auroc.value:.2f}"
    note += f" · {TOO_FEW}" if few else ""
    dots = "; ".join(
        f"says {percent(float(bins.confidence[i]))}, labelled {percent(float(bins.accuracy[i]))}"
        for i in filled(bins)
    )
    auroc_words = "" if auroc.value is None else f", AUROC {auroc.value:.2f}"
    card = FigureCard(
        key=f"finding.{k}",
        title=name,
        explanation=note,
        draw=partial(draw_finding, bins, few),
        alt=(
            f"{name}, {count(findings.events[k])} {source.films} of {count(findings.labelled[k])} "
            f"labelled with it{auroc_words}{', ' + TOO_FEW if few else ''}. "
            f"{len(filled(bins))} bins: {dots}."
        ),
        table=_bin_rows(source, findings, (k,)),
        caption=source.caption,
    )
    return SmallDiagram(k, name, note, card)


def _bin_rows(source: ClinicSource, findings: Findings, chosen: Sequence[int]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for k in chosen:
        bins, few = findings.bins[k], findings.few(k)
        for i in filled(bins):
            ends = (float(part[i]) for part in (bins.low, bins.high))
            shares = (bins.confidence, bins.accuracy, bins.ci_low, bins.ci_high)
            rows.append(
                (
                    finding(source.findings[k]),
                    findings.events[k],
                    *ends,
                    int(bins.count[i]),
                    *(float(part[i]) for part in shares),
                    TOO_FEW if few else READINGS[reading(bins, i, few=False)],
                )
            )
    return sourced(Table(BIN_COLUMNS, tuple(rows)), source)


def explanation(findings: Findings) -> str:
    """Return what stands beside the title of the small diagrams."""
    judged = any(not findings.few(k) for k in range(len(findings.bins)))
    coloured = "; dots are coloured on findings that are off beyond chance" if judged else ""
    return f"{MASS_BINS} equal-mass bins{coloured}"
