"""What the post-hoc page says: sentence, table, diagrams, landscape, best temperatures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float
from core.calibrators.search import GAMMAS, Landscape
from core.metrics.comparison import Comparison, compare
from core.metrics.paired import PAIRED
from core.screens.kit import cards
from core.screens.kit.curves import Curve, Plot, chart, sheet
from core.screens.kit.diagram import GROWTH, SMALLEST, share_axis, small_diagram
from core.screens.kit.differences import (
    HEADS,
    IN_POINTS,
    NamedRun,
    better,
    drawn_words,
    level_words,
    value_kind,
)
from core.screens.kit.differences import name as metric_name
from core.screens.kit.marks import RunMark, speech
from core.screens.kit.methods import parameters
from core.screens.kit.numbers import (
    MINUS,
    Kind,
    count,
    finite,
    holding,
    percent,
    points,
    span,
    three,
)
from core.screens.kit.records import (
    Cell,
    Column,
    Estimate,
    FigureCard,
    Phrase,
    ScoreTable,
    Sentence,
    Table,
    TableRow,
    columns_of,
    difference_cell,
    estimate,
    with_ends,
)
from core.screens.kit.sentences import plain_shares
from core.screens.kit.text import safe, short
from core.screens.kit.theme import Theme, axis
from core.screens.kit.words import with_row_noun
from core.screens.posthoc.words import (
    CHANCE,
    NAMES,
    OBJECTIVES,
    explained,
    meaning,
    none_fitted,
    plain_best,
    plain_sentence,
    sentence,
)
from core.studies.posthoc import NONE, Fit, MethodReport, PosthocRows
from core.studies.temperatures import (
    ConfidentAnswers,
    InnateCalibration,
    TemperatureStep,
    TemperatureWalk,
)

FROM_TS = "ece_from_temperature"  # on the page alone
ON_REQUEST = ("ada_ece",)  # columns where a fit was by them
DIAGRAM_PX = 232
PLAIN_COLUMNS = (
    Column("accuracy", "Right, in 100", "unsigned_points"),
    Column("ece", "Off by, points on average", "unsigned_points"),
    Column("answers_changed", "Answers changed", "count"),
)
LONE = 48  # letters of a name with the key to itself
PLAIN_TITLES = {False: "As it is", True: "Corrected"}
PLAIN_CAPTION = "Chance: how far off a perfect model could look on as many pictures."
ELSEWHERE = (
    "The corrections were learned from other pictures. If one is named above, it was picked on "
    "the pictures counted here."
)
SAME_ROWS = "Fitted and judged on the same images, so every correction looks better than it is. "
PLAIN_SAME_ROWS = (
    "Learned from and tested on the same pictures, so every correction looks better than it is. "
)
SAME = (
    "The corrections were learned from the same pictures that are counted here: on new ones they "
    "would do less well."
)
# Which rows were fitted on: others than those reported, the rest of one split, or the same
EYEBROWS = (
    "Fitted on {fit} images of {of}, reported on {test} of {on}",
    "Fitted on {fit} images of {of}, reported on the other {test} (seed {seed})",
    "Fitted and reported on the same {test} images of {of}",
)
PLAIN_EYEBROWS = (
    "Learned from {fit} pictures of {of}, tested on {test} of {on}",
    "Learned from {fit} pictures of {of}, tested on the other {test}",
    "Learned from and tested on the same {test} pictures of {of}",
)


@dataclass(frozen=True)
class PosthocView:
    """Everything that the upper part of the page draws."""

    eyebrow: str
    sentence: Sentence
    diagrams: tuple[tuple[str, str, FigureCard], ...]
    table: ScoreTable
    caption: str


def posthoc_view(
    named: NamedRun, parts: PosthocRows, fits: Sequence[Fit], judged: Mapping[str, MethodReport]
) -> PosthocView:
    """Return the view of one run; its split is the one reported.

    Methods are listed in the order of `fits`; `judged` has `none` first, and not those that
    refused.
    """
    names = list(judged)
    runs = [report.compared for report in judged.values()]
    none = compare(runs, names, 0)
    ts = compare(runs, names, names.index("ts")) if "ts" in names and len(names) > 2 else None
    refused = [fit for fit in fits if fit.calibrator is None]
    by_method = {fit.method: fit for fit in fits}
    texts = [f"Intervals: {level_words(runs[0].config.level)}."]
    if parts.same_rows:
        fitted = "Fitted on the images that are reported: on new ones all methods do less well."
        texts.insert(0, with_row_noun(fitted))
    differences = [by_metric["ece"] for by_metric in none.differences if "ece" in by_metric]
    resamples = next(
        (difference.settings.get("resamples") for difference in differences if difference.settings),
        None,
    )
    if resamples is not None:
        texts.append(
            f"Paired differences: {level_words(none.level)}, {count(int(str(resamples)))} "
            f"resamples of {drawn_words(differences)}. Tie: the interval includes zero."
        )
    return PosthocView(
        eyebrow=_eyebrow(parts, EYEBROWS),
        sentence=_over_same_rows(sentence(judged, none, refused), parts, SAME_ROWS),
        diagrams=_diagrams(named, by_method, judged),
        table=_table(fits, judged, none, ts),
        caption=" ".join(texts),
    )


def plain_view(
    named: NamedRun, parts: PosthocRows, fits: Sequence[Fit], judged: Mapping[str, MethodReport]
) -> PosthocView:
    """Return the view in plain words: how often right, how far off, before and after."""
    full = posthoc_view(named, parts, fits, judged)
    names = list(judged)
    none = compare([report.compared for report in judged.values()], names, 0)
    best = plain_best(judged, none)
    rows = tuple(
        replace(
            row,
            notes=(
                meaning(name, parts.test_from.task, plain=True) or "The scores as they were read.",
            ),
            shaded=name == best,
        )
        for name, row in zip(names, full.table.rows, strict=False)
    )
    before_after = []
    for name, (_, _, card) in zip(names, full.diagrams, strict=False):
        if name not in (NONE, best):
            continue
        title, audit = PLAIN_TITLES[name == best], judged[name].compared.audit
        of, says, right = plain_shares(audit.main)
        outcome = f"is right {right} times" if audit.main.target is None else f"{right} came true"
        text = f"{title}: on average it says {says} in {of}, and {outcome}."
        n = f"n = {count(audit.n)}"
        plain = replace(card, title=title, explanation="", alt=text, caption=n)
        before_after.append((title, "", plain))
    return PosthocView(
        eyebrow=_eyebrow(parts, PLAIN_EYEBROWS),
        sentence=_over_same_rows(plain_sentence(judged, none, fits), parts, PLAIN_SAME_ROWS),
        diagrams=tuple(before_after),
        table=replace(full.table, names_head="Correction", shown=PLAIN_COLUMNS, rows=rows),
        caption=with_row_noun(
            f"Small type: {holding(judged[NONE].compared.config.level)} {PLAIN_CAPTION} "
            f"{'' if none_fitted(fits) else SAME if parts.same_rows else ELSEWHERE}".rstrip()
        ),
    )


def _eyebrow(parts: PosthocRows, eyebrows: tuple[str, str, str]) -> str:
    """Return which rows were fitted on and which are reported, in the words of an edition."""
    elsewhere, rest, same = map(with_row_noun, eyebrows)
    names = {"of": parts.fit_name, "on": parts.test_name}
    eyebrow, seed = elsewhere, 0
    if parts.cut is not None:
        eyebrow, seed = rest, parts.cut[1]
    elif parts.same_rows:
        eyebrow, names["of"] = same, " and ".join(dict.fromkeys(names.values()))
    return eyebrow.format(fit=count(parts.n_fit), test=count(parts.n_test), seed=seed, **names)


def _over_same_rows(sentence: Sentence, parts: PosthocRows, flattered: str) -> Sentence:
    """Put into the headline that every correction is flattered, where it is."""
    if not parts.same_rows:
        return sentence
    return replace(sentence, parts=(Phrase(with_row_noun(flattered), "over"), *sentence.parts))


def _table(
    fits: Sequence[Fit], judged: Mapping[str, MethodReport], none: Comparison, ts: Comparison | None
) -> ScoreTable:
    """Return every score and every difference from none; what refused is on the page alone.

    Where there is a temperature the page shows differences in ECE from it as well.
    """
    # The usual metrics, and what the methods were fitted by
    audited = judged[NONE].compared.audit.main.metrics
    metrics = (*PAIRED, *(metric for metric in ON_REQUEST if metric in audited))
    by_method = {fit.method: fit for fit in fits}
    comparisons = [none] if ts is None else [none, ts]
    rows = []
    for i, (name, report) in enumerate(judged.items()):
        fit, audit = by_method.get(name), report.compared.audit
        from_none, *from_ts = (comparison.differences[i] for comparison in comparisons)
        floor = audit.main.noise_floor.get("ece")
        written = "" if fit is None else parameters(fit)
        cells: dict[str, Estimate | Cell] = {
            "method": name,
            "parameters": written,
            "ece_floor_q95": None if floor is None else floor.q95,
            "answers_changed": report.changed,
        }
        for metric in metrics:
            why, note = audit.unavailable.get(metric, ""), ""
            if metric == "ece":  # what is ranked by; of the others it would not fit a window
                note = explained(report, CHANCE)
            cells |= with_ends(metric, estimate(audit.main.metrics.get(metric), why, note))
            cells |= with_ends(f"{metric}_difference", difference_cell(from_none.get(metric)))
        if from_ts:
            cells[FROM_TS] = difference_cell(from_ts[0].get("ece"))
        message = "" if fit is None or fit.report is None else fit.report.message
        notes = ("as read" if fit is None else written, message)
        rows.append(TableRow(name=NAMES[name], cells=cells, notes=notes, shaded=name == "ts"))
    audits = [report.compared.audit.main for report in judged.values()]
    known = [metric for metric in metrics if any(metric in audit.metrics for audit in audits)]
    # The columns of the page; those that decide come first, as a window cuts the last
    with_temperature = ts is not None
    scores = {metric: Column(metric, HEADS[metric], value_kind(metric)) for metric in known}
    first = [scores.pop("accuracy"), scores.pop("ece")]
    first.append(Column("ece_difference", "ECE change, points", "points"))
    if with_temperature:
        first.append(Column(FROM_TS, "Against temperature, points", "points"))
    first.append(Column("answers_changed", "Answers changed", "count"))
    shown = (*first, *scores.values())
    rows += [
        TableRow(
            name=NAMES[fit.method],
            cells={column.key: None for column in shown},
            notes=(f"not fitted: {fit.refusal}",),
            in_file=False,
        )
        for fit in fits
        if fit.calibrator is None
    ]
    columns = [Column("method", "method"), Column("parameters", "parameters")]
    for metric in metrics:
        kind: Kind = "share" if metric in IN_POINTS else "number"
        for key in (metric, f"{metric}_difference"):
            columns += [Column(f"{key}{end}", key, kind) for end in ("", "_low", "_high")]
    columns.append(Column("ece_floor_q95", "ece, noise floor, 95th percentile", "share"))
    columns.append(Column("answers_changed", "answers changed", "count"))
    return ScoreTable("Method", shown, tuple(columns), tuple(rows))


def _diagrams(
    named: NamedRun, fits: Mapping[str, Fit], judged: Mapping[str, MethodReport]
) -> tuple[tuple[str, str, FigureCard], ...]:
    """Return name, quiet words and figure of each method; none for many labels."""
    diagrams = []
    for name, report in judged.items():
        audit = report.compared.audit
        main = audit.main
        if not len(main.bins.count):
            return ()
        ece = main.metrics["ece"]
        interval = span(ece.low, ece.high)
        words = f"ECE {points(ece.value)}" + (f" ({interval})" if interval else "")
        note = "" if name == NONE else parameters(fits[name])
        card = FigureCard(
            key=f"after_{name}",
            title=NAMES[name],
            explanation=note,
            draw=partial(small_diagram, main.bins, target=main.target, height=DIAGRAM_PX),
            alt=f"{NAMES[name]}: {cards.diagram_alt(main)}",
            table=cards.bin_table(main.bins),
            caption=cards.caption(audit, main, named.split, named.digest),
        )
        diagrams.append((NAMES[name], f"{note}, {words}" if note else words, card))
    return tuple(diagrams)


def landscape_card(
    criterion: Landscape, line: Float, rows: tuple[int, int], named: NamedRun
) -> FigureCard:
    """Return the criterion over gamma and T as a heat map, with the best T, (G,), of each gamma.

    `rows` are how many it was computed on, and how many there are of the part that is fitted on.
    """
    used, total = rows
    what = OBJECTIVES[criterion.objective]
    best = criterion.best
    some = f"{count(used)} of {count(total)}" if used < total else count(used)
    above = excess(criterion)
    flat = [
        (float(g), float(t), float(criterion.values[i, j]), float(above[i, j]))
        for i, g in enumerate(criterion.gammas)
        for j, t in enumerate(criterion.temperatures)
    ]
    columns = (
        *columns_of("number", gamma="γ", temperature="T"),
        Column(criterion.objective, what, "number"),
        Column("above_best", f"above best, {unit(criterion)}", "number"),
    )
    return FigureCard(
        key="landscape",
        title=f"{what} over T and γ",
        explanation=f"on {some}; brighter is better",
        draw=partial(landscape, criterion, line),
        alt=f"{what} of focal temperature scaling on a grid of {len(criterion.gammas)} gammas and "
        f"{len(criterion.temperatures)} temperatures. Lowest at T = {best.temperature:.2f}, gamma "
        f"= {three(best.gamma)}. The best temperature goes from {line[0]:.2f} at gamma "
        f"{three(GAMMAS[0])} to {line[-1]:.2f} at gamma {three(GAMMAS[-1])}.",
        table=Table(columns, tuple(flat)),
        caption=(
            f"Temperature scaling is the line γ = 0. Komisarenko and Kull 2024 found the ridge "
            f"close to a line. Fitted on {named.split}, file digest {named.digest[:8]}."
        ),
    )


def curves_card(
    runs: Sequence[tuple[str, RunMark, Float]], gammas: Float, objective: str
) -> FigureCard:
    """Return the best temperature, (G,), against gamma, (G,) ascending, one line a run."""
    lone = len(runs) == 1
    lines = tuple(
        Curve(
            safe(short(name, LONE)) if lone else f"{mark.letter} {safe(short(name))}",
            gammas,
            ts,
            colour=mark.colour,
            dash=mark.dash,
        )
        for name, mark, ts in runs
    )
    plot = Plot(
        curves=lines,
        across="Focal map γ",
        up="Best temperature T",
        x={"range": [float(gammas[0]), float(gammas[-1])]},
        y={"rangemode": "tozero"},
        hover="γ = %{x}: best T = %{y:.2f}",
    )
    ends = "; ".join(f"{name} from {ts[0]:.2f} to {ts[-1]:.2f}" for name, _, ts in runs)
    rows = tuple(
        (name, float(g), float(t)) for name, _, ts in runs for g, t in zip(gammas, ts, strict=True)
    )
    return FigureCard(
        key="curves",
        title="Best temperature for each γ",
        explanation=f"by {metric_name(objective)}",
        draw=partial(chart, plot),
        alt=f"Best temperature against gamma: {ends}.",
        table=Table(
            (
                Column("run", "run"),
                *columns_of("number", gamma="γ", temperature="T"),
            ),
            rows,
        ),
        caption="As figure 8 of Komisarenko and Kull 2024. Each run on its own fitting rows.",
    )


@dataclass(frozen=True, kw_only=True)
class AtStep:
    """What is written and drawn at one temperature and γ."""

    written: str  # the temperature or γ, and what it is: as trained, or fitted
    marked: bool  # whether it was fitted
    sentence: str  # ECE, NLL, and what is stated and comes true on average
    dots: Mapping[str, list[float]]  # of the figure's last trace, by property


def at_temperatures(walk: TemperatureWalk) -> list[AtStep]:
    """Return what is written and drawn at each temperature of a walk."""
    walked = []
    for step in walk.steps:
        by = [metric_name(name) for name, t in walk.marks.items() if t == step.temperature]
        fitted = [f"fitted by {' and '.join(by)}"] if by else []
        if walk.focal and walk.focal.temperature == step.temperature:
            fitted.append(f"fitted with γ = {three(walk.focal.gamma)}")
        trained = ["as trained"] if step.temperature == 1.0 else []
        written = ", ".join([f"{step.temperature:.3g}", *trained, *fitted])
        walked.append(_at_step(walk, step, written, marked=bool(fitted)))
    return walked


def at_gammas(walk: TemperatureWalk) -> list[AtStep]:
    """Return what is written and drawn at each γ of a walk."""
    walked = []
    for step in walk.steps:
        fitted = walk.focal is not None and walk.focal.gamma == step.gamma
        names = ["no map"] if step.gamma == 0.0 else []
        if walk.focal and fitted:
            names.append(f"fitted with T = {walk.focal.temperature:.3g}")
        written = ", ".join([three(step.gamma), *names])
        walked.append(_at_step(walk, step, written, marked=fitted))
    return walked


def _at_step(walk: TemperatureWalk, step: TemperatureStep, written: str, *, marked: bool) -> AtStep:
    return AtStep(
        written=written, marked=marked, sentence=_at_sentence(walk, step), dots=dots_at(step)
    )


def _at_sentence(walk: TemperatureWalk, step: TemperatureStep) -> str:
    bins = step.bins
    stated, true = (float(part.sum() / bins.count.sum()) for part in (bins.confidence, bins.hits))
    came = "right in" if walk.target is None else "came true in"
    return (
        f"ECE {points(step.ece)}, NLL {three(step.nll)}; states {percent(stated)} on average, "
        f"{came} {percent(true)}."
    )


WALK_COLUMNS = (
    *columns_of("number", temperature="T", gamma="γ"),
    Column("ece", "ECE", "share"),
    Column("nll", "NLL", "number"),
    Column("gap", "confidence minus accuracy", "share"),
)


def walk_card(walk: TemperatureWalk, at: TemperatureStep, named: NamedRun) -> FigureCard:
    """Return the reliability diagram at one step, over what was and is fitted.

    The walk is that of the reported rows without a focal map; the step is of it, or of another one.
    """
    by_temperature = {step.temperature: step for step in walk.steps}
    fitted = next(iter(walk.marks.values()), 1.0)
    ghosts = [by_temperature[t] for t in dict.fromkeys((1.0, fitted))]
    some = f"{count(walk.used)} of " if walk.used < walk.rows else ""
    rings = "circles: as trained" + (f"; diamonds: T = {fitted:.3g}" if fitted != 1.0 else "")
    rows = tuple(
        (step.temperature, step.gamma, step.ece, step.nll, step.gap)
        for step in (*walk.steps, *((at,) if at.gamma else ()))
    )
    point = f"T = {at.temperature:.3g}" + (f", γ = {three(at.gamma)}" if at.gamma else "")
    return FigureCard(
        key="walk",
        title="At any temperature and γ",
        explanation=rings,
        draw=partial(walk_diagram, walk.target, at, ghosts),
        alt=f"Reliability diagram at {point}. {_at_sentence(walk, at)} "
        f"As trained: {_at_sentence(walk, ghosts[0])}",
        table=Table(WALK_COLUMNS, rows),
        caption=with_row_noun(
            f"15 bins of equal width; {some}{count(walk.rows)} images of {named.split}. "
            f"File digest {named.digest[:8]}."
        ),
    )


INNATE_SHOWN = (
    Column("temperature", "T", "number"),
    Column("ece_before", "ECE as read, %", "unsigned_points"),
    Column("ece_after", "ECE after T, %", "unsigned_points"),
    Column("ece_difference", "Temperature gap, points", "points"),
    Column("s99_share_before", "Sure answers as read, %", "unsigned_points"),
    Column("s99_share_after", "Sure answers after T, %", "unsigned_points"),
)
INNATE_COLUMNS = (
    Column("run", "run"),
    Column("temperature", "T", "number"),
    *(
        Column(f"{key}{end}", key, "share")
        for key in ("ece_before", "ece_after", "ece_difference")
        for end in ("", "_low", "_high")
    ),
    *(
        Column(f"ece_{when}_floor_q95", f"ece {when}, noise floor, 95th percentile", "share")
        for when in ("before", "after")
    ),
    *(
        Column(f"s99_{key}_{when}", f"s99 {key} {when}", "share")
        for when in ("before", "after")
        for key in ("share", "accuracy")
    ),
)
INNATE_CAPTION = (
    "A run that training has calibrated needs a T near 1, and temperature scaling changes little. "
    "Temperature gap: ECE after minus before, paired, on the same resamples; tie: the interval "
    "includes zero. Chance: the 95th percentile of the ECE that a calibrated model would show. "
    "Sure answers: those with a confidence of 99 % or more (|S99|), in small type how many of them "
    "are right. T is fitted by NLL on each run’s own fitting rows."
)
NEAR = 0.1  # of 1: a temperature that changes a confidence of 90 % by less than a point


def innate_table(runs: Sequence[tuple[str, RunMark, InnateCalibration]]) -> ScoreTable:
    """Return a row for each run: its name, its badge and its calibration."""
    rows = []
    for name, mark, calibration in runs:
        near = abs(calibration.temperature - 1.0) <= NEAR
        note = "at its bound" if calibration.at_bound else "near 1" if near else ""
        cells = {
            "run": name,
            "temperature": Estimate(calibration.temperature, note=note),
            **with_ends("ece_difference", difference_cell(calibration.gap)),
            **_when("before", calibration.before, calibration.sure_before),
            **_when("after", calibration.after, calibration.sure_after),
        }
        rows.append(TableRow(name=name, mark=mark, cells=cells))
    return ScoreTable("Run", INNATE_SHOWN, INNATE_COLUMNS, tuple(rows))


def _when(when: str, judged: MethodReport, sure: ConfidentAnswers) -> dict[str, Estimate | Cell]:
    """Return the cells of a run as read, or after its temperature."""
    main = judged.compared.audit.main
    right = f"{percent(sure.accuracy)} right" if sure.share else "none"
    return {
        **with_ends(f"ece_{when}", estimate(main.metrics["ece"], note=explained(judged, CHANCE))),
        f"ece_{when}_floor_q95": main.noise_floor["ece"].q95,
        f"s99_share_{when}": Estimate(finite(sure.share), note=right),
        f"s99_accuracy_{when}": finite(sure.accuracy),
    }


def innate_summary(runs: Mapping[str, InnateCalibration]) -> str:
    """Return one sentence: which runs need no temperature.

    That none is calibrated is said only where a temperature lowers the error of every run beyond
    chance: a T that is fitted on few rows lies away from 1 by chance.
    """
    near = [
        name for name, calibration in runs.items() if abs(calibration.temperature - 1.0) <= NEAR
    ]
    if not near:
        if all(better(calibration.gap) for calibration in runs.values()):
            return "None of these runs has a T near 1: none is calibrated by its training alone."
        return (
            "None of these runs has a T near 1; where the temperature gap is a tie, that could be "
            "chance."
        )
    listed = ", ".join(f"“{name}”" for name in near)
    return f"T is near 1 for {listed}: calibrated by training, as far as a temperature can tell."


# Figures.
HEIGHT = 330
TICKS = [0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
WORDS_LEFT_FROM = 2.2  # a temperature right of which words would leave the map
CLOSE = 0.3  # a gamma so near to 0 that its words would cover those of temperature scaling
WALK_HEIGHT: Final = 356
DECADES = 3.5  # of the excess over the best that colours tell apart


def excess(surface: Landscape) -> Float:
    """Return how far each value lies above the best one, in the unit of the colour bar, (G, M)."""
    scale = 1000.0 if surface.objective == "nll" else 100.0
    return np.asarray(scale * (surface.values - surface.values.min()))


def unit(surface: Landscape) -> str:
    """Return the unit of `excess`."""
    return "1/1000 nat" if surface.objective == "nll" else "points"


def landscape(surface: Landscape, line: Float, theme: Theme) -> go.Figure:
    """Draw the criterion as a heat map, the best temperature for each gamma, and the best place.

    `line` holds a temperature for each of GAMMAS. Colours are logarithmic in the
    excess over the best; bright is good.
    """
    x = axis(
        theme,
        "Temperature T",
        type="log",
        range=np.log10(surface.temperatures[[0, -1]]).tolist(),
        tickvals=TICKS,
        ticktext=[f"{tick:g}" for tick in TICKS],
        showgrid=False,
    )
    gammas = [float(surface.gammas[0]), float(surface.gammas[-1])]
    y = axis(theme, "Focal map γ", range=gammas, showgrid=False)
    # Names of the best place and the line where there is room, and of the plain temperatures, which
    # can be read on any colour of the map
    best = surface.best
    place = f"best: T = {best.temperature:.2f}, γ = {best.gamma:.2f}".replace("-", MINUS)
    ends = np.log10([best.temperature, min(line[-4], surface.temperatures[-1])])
    right = {"xshift": 12, "xanchor": "left"}
    left = {"xshift": -12, "xanchor": "right"}
    words = [
        {"text": place, "x": ends[0], "y": best.gamma}
        | (right if best.temperature < WORDS_LEFT_FROM else left),
        {"text": "best T for each γ", "x": ends[1], "y": GAMMAS[-4]} | left | {"xshift": -10},
    ]
    if abs(best.gamma) > CLOSE:
        start = {"x": np.log10(surface.temperatures[0]), "y": 0, "yanchor": "middle"}
        words.append({"text": "temperature scaling: γ = 0", "xanchor": "left"} | start)
    box = {"showarrow": False, "bgcolor": theme.paper, "opacity": 0.9, "borderpad": 3}
    box["font"] = {"size": 12.5, "color": theme.ink}
    annotations = [box | annotation for annotation in words]
    figure = sheet(theme, HEIGHT, x, y, margin=(56, 20, 14, 46), annotations=annotations)
    above = excess(surface)
    low = -1.0 if surface.objective != "nll" else 0.0
    ticks = [k for k in range(-1, 6) if low <= k <= low + DECADES]
    title = {"text": f"above best,<br>{unit(surface)}", "font": {"size": 12.5, "color": theme.ink}}
    figure.add_heatmap(
        x=surface.temperatures,
        y=surface.gammas,
        z=np.log10(np.maximum(above, 1e-9)),
        customdata=above,
        zmin=low,
        zmax=low + DECADES,
        colorscale="Cividis",
        reversescale=True,
        colorbar={
            "title": title,
            "tickvals": ticks,
            "ticktext": [f"{10.0**k:g}" for k in ticks],
            "tickfont": {"size": 12, "color": theme.quiet},
            "thickness": 14,
            "outlinewidth": 0,
        },
        hovertemplate="γ = %{y}, T = %{x:.2f}<br>%{customdata:.3~g} "
        f"{unit(surface)} above the best<extra></extra>",
    )
    figure.add_hline(y=0, line={"color": "#FFFFFF", "width": 1.2, "dash": "dot"})
    for width, colour in ((5, "#FFFFFF"), (2, "#000000")):
        figure.add_scatter(
            x=line,
            y=GAMMAS,
            name="best T for each γ",
            mode="lines",
            line={"color": colour, "width": width},
            hovertemplate="γ = %{y}: best T = %{x:.2f}<extra></extra>",
        )
    figure.add_scatter(
        x=[best.temperature],
        y=[best.gamma],
        name="best",
        mode="markers",
        marker={"size": 12, "color": "#FFFFFF", "line": {"color": "#000000", "width": 2.5}},
        hovertemplate=f"{place}<extra></extra>",
    )
    return figure


def dots_at(step: TemperatureStep) -> dict[str, list[float]]:
    """Return the dots of the filled bins at one step, by property of their trace."""
    bins = step.bins
    filled = np.flatnonzero(bins.count > 0)
    count = bins.count[filled]
    return {
        "x": (bins.confidence[filled] / count).tolist(),
        "y": (bins.hits[filled] / count).tolist(),
        "marker.size": (SMALLEST + GROWTH * np.sqrt(count / count.sum())).tolist(),
    }


def walk_diagram(
    target: int | None, at: TemperatureStep, ghosts: list[TemperatureStep], theme: Theme
) -> go.Figure:
    """Draw the bins at one step, last and filled, over rings at the steps of ghosts.

    The first ghost is a circle, the second a diamond.
    """
    words = speech(target)
    square = {"scaleanchor": "x", "constrain": "domain", "constraintoward": "bottom"}
    x = share_axis(theme, words.claim, constrain="domain")
    figure = sheet(theme, WALK_HEIGHT, x, share_axis(theme, words.actual, **square))
    diagonal = {"color": theme.quiet, "width": 1.4, "dash": "dash"}
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line=diagonal, hoverinfo="skip")
    for ghost, symbol in zip(ghosts, ("circle-open", "diamond-open"), strict=False):
        dots = dots_at(ghost)
        marker = {"symbol": symbol, "size": dots["marker.size"], "color": theme.quiet}
        figure.add_scatter(
            x=dots["x"],
            y=dots["y"],
            mode="markers",
            marker=marker | {"opacity": 0.7},
            hoverinfo="skip",
            cliponaxis=False,
        )
    dots = dots_at(at)
    figure.add_scatter(
        x=dots["x"],
        y=dots["y"],
        mode="markers",
        marker={"size": dots["marker.size"], "color": theme.accent, "opacity": 0.9},
        hovertemplate="%{x:.1%} stated, %{y:.1%} came true<extra></extra>",
        cliponaxis=False,
    )
    return figure
