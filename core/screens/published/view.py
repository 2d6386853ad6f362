"""What the Published page says: sentence, dot plot, table, file, and what runs differ in."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from statistics import mean, stdev
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from core.errors import UsageError
from core.fields import JsonObject
from core.metrics.records import Score
from core.published import IN_HUNDREDTHS, PAPERS, PublishedNumber, definition, settings
from core.screens.kit import methods
from core.screens.kit.curves import hovers, sheet
from core.screens.kit.marks import RunMark
from core.screens.kit.numbers import MINUS, MISSING, count
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
)
from core.screens.kit.text import safe, short
from core.screens.kit.theme import Theme, axis, name_axis
from core.screens.published.lines import (
    BASELINES,
    DATA,
    METHODS,
    NETWORKS,
    POSTHOC,
    SETS,
    SETTINGS,
    SHORT_PAPERS,
    VALUES,
    Filters,
    Line,
    OwnRun,
    PublishedWords,
    TrainedRun,
    amount,
    higher_is_better,
    in_percent,
    in_sentence,
    lines,
    metric_label,
    numbers,
    order,
    settings_names,
    unit_after,
    with_interval,
)
from core.studies.published import FittedScore, OwnNumbers, protocols
from core.training.config import from_json
from core.training.submission import BERT_BASE, GLOVE, printed_settings

Place = tuple[str, str, str, str]  # data, network, loss, paper
# By place and metric, a run each; None for one whose numbers are not known yet.
Repeated = Mapping[tuple[Place, str], Sequence[OwnNumbers | None]]


def place_of(row: PublishedNumber) -> Place:
    """Return which training a number is of."""
    return row.dataset, row.model, row.method, row.paper


def recipe(config: JsonObject | None) -> tuple[str, int] | None:
    """Return the digest of all that decides a training's numbers but its seed, and the seed.

    None for what is no config of a training, or one of another version.
    """
    try:
        training = from_json(config)
    except UsageError:
        return None
    # Wherever word vectors and BERT lie; but vectors that are drawn are others
    text = training.text
    text = replace(text, embeddings=text.embeddings and GLOVE, bert=text.bert and BERT_BASE)
    return replace(training.canonical(), seed=0, text=text).digest, training.seed


def repetitions(
    rows: Sequence[PublishedNumber],
    recipes: Mapping[str, tuple[str, int]],
    settings: JsonObject | None = None,
) -> dict[Place, tuple[str, ...]]:
    """Return the runs that were trained exactly as rows are printed, one a seed, by place.

    `recipes` are by the runs' ids, and the first of a seed counts. `settings` take the place of the
    paper's: such runs do not reproduce it.
    """
    runs: dict[str, dict[int, str]] = {}
    for run_id, (of, seed) in recipes.items():
        runs.setdefault(of, {}).setdefault(seed, run_id)
    repeated = {}
    for place, row in {place_of(row): row for row in rows}.items():
        of_print = printed_settings(row)
        of_row = None if of_print is None else recipe(of_print | (settings or {}))
        if of_row is not None:
            repeated[place] = tuple(runs.get(of_row[0], {}).values())
    return repeated


def printed(row: PublishedNumber) -> str:
    """Return a number as the paper has it: deviation behind ±, temperature in brackets."""
    text = amount(row)
    if row.std:
        scale = 100.0 if row.unit == "fraction" else 1.0
        std = float(row.std) * scale
        if row.unit in IN_HUNDREDTHS and not in_percent(row.metric):
            std /= 100.0
        decimals = len(text.partition(".")[2])
        text += f" ± {std:.{decimals}f}"
    return f"{text} ({row.temperature})" if row.temperature else text


def trained(runs: Sequence[OwnNumbers | None], row: PublishedNumber) -> str:
    """Return mean and sample deviation of runs, one a seed, in the decimals of print.

    Where print has T in brackets, so has this: the mean of T, but γ of every seed where they
    differ, since their mean was not tried. Where there is no number, why.
    """
    scores: list[Score] = []
    fits: list[FittedScore] = []
    for run in filter(None, runs):
        if row.posthoc == "none" and run.before is not None:
            scores.append(run.before)
        elif (fit := run.after.get(row.posthoc)) is not None:
            scores.append(fit.score)
            fits.append(fit)
    scale = 100.0 if in_percent(row.metric) else 1.0
    values = [scale * score.value for score in scores if score.value is not None]
    if not values:
        return next((run.why for run in runs if run and run.why), MISSING)
    decimals = len(amount(row).partition(".")[2])
    text = f"{mean(values):.{decimals}f}"
    if len(values) > 1:
        text += f" ± {stdev(values):.{decimals}f}"
    n, m, notes = len(values), len(runs), list[str]()
    if row.temperature:
        temperatures = [fit.temperature for fit in fits if fit.temperature is not None]
        gammas = sorted(fit.gamma for fit in fits if fit.gamma is not None)
        gammas = gammas if len({*gammas}) > 1 else gammas[:1]
        notes += [f"{mean(temperatures):.2f}"] if temperatures else []
        notes += [f"γ = {', '.join(f'{g:g}' for g in gammas)}".replace("-", MINUS)] * bool(gammas)
    notes += [f"{n} of {m} seeds"] * (n < m)
    return f"{text} ({'; '.join(notes)})" if notes else text


def corrected(rows: Sequence[PublishedNumber]) -> list[PublishedNumber]:
    """Return the numbers after a calibrator that can be had here, of the paper with the most."""
    after = [row for row in rows if row.posthoc != "none" and definition(row.metric).metric]
    papers = [row.paper for row in after]
    return [row for row in after if row.paper == max(PAPERS, key=papers.count)]


def fitted_as(rows: Sequence[PublishedNumber]) -> str:
    """Return in a sentence how the calibrators of numbers are fitted; empty without any."""
    after = corrected(rows)
    words = methods.fitted_as(after[0].paper, protocols(after)) if after else ""
    return words and f"Fitted on the validation part. {words}"


def reproduced_table(rows: Sequence[PublishedNumber], own: Repeated) -> Table:
    """Return a table of print, and under each of its rows what was trained here, if anything was.

    A loss has a second row, of its γ, where focal temperature was fitted. As trained and after
    another calibrator are columns. `own` are the runs that were trained as a place was.
    """
    # Focal temperature is temperature with a γ: rows of print, of one column
    kinds = list(dict.fromkeys((row.metric, _column(row), row.ood_dataset) for row in rows))
    several = len({posthoc for _, posthoc, _ in kinds}) > 1
    columns = [Column("data", "Data"), Column("network", "Network"), Column("loss", "Loss")]
    columns.append(Column("source", "Source"))
    for metric, posthoc, ood in kinds:
        head = f"{metric_label(metric)}{f', {ood}' if ood else ''}"
        head += f", {POSTHOC[posthoc].head.lower()}" if several else ""
        columns.append(Column(f"{metric}.{posthoc}{f'.{ood}' if ood else ''}", head))
    lines = []
    by_line = groupby(
        sorted(rows, key=lambda row: (*order(row), row.posthoc == "focal_ts")),
        key=lambda row: (place_of(row), row.posthoc == "focal_ts"),
    )
    for (place, focal), of_line in by_line:
        by_kind = {(row.metric, _column(row), row.ood_dataset): row for row in of_line}
        names = [DATA[place[0]], NETWORKS[place[1]]]
        gamma = next(iter(by_kind.values())).gamma_ev.replace("-", MINUS)
        losses = (f"+ γ = {gamma}", "+ γ") if focal else [METHODS[place[2]]] * 2
        paper, here = [*names, losses[0], "paper"], [*names, losses[1]]
        runs = {kind: own.get((place, kind[0]), ()) for kind in kinds}
        n = max(map(len, runs.values()))
        here.append(f"here, n = {n}")
        for kind in kinds:
            row = by_kind.get(kind)
            paper.append(MISSING if row is None else printed(row))
            here.append(MISSING if row is None else trained(runs[kind], row))
        lines += [tuple(paper), tuple(here)] if n else [tuple(paper)]
    if len({line[1] for line in lines}) == 1:  # as in print: a network that all rows share
        del columns[1]
        lines = [(line[0], *line[2:]) for line in lines]
    return Table(tuple(columns), tuple(lines))


def _column(row: PublishedNumber) -> str:
    return "ts" if row.posthoc == "focal_ts" else row.posthoc


# The view.
MOST_ROWS: Final = 60  # of the table; the file has all
MOST_DRAWN: Final = 40
NO_INTERVALS: Final = "Papers print no intervals."
DEVIATIONS: Final = "±: standard deviation of the paper’s trainings."
TO_DRAW: Final = "Choose data, network and metric to draw them."
FILE_KEYS: Final = (
    *("paper", "table", "dataset", "model", "method", "posthoc", "metric", "unit", "printed"),
    *("value", "std", "temperature", "gamma_ev", "ood_dataset", "doubt", "why", "note"),
)
SETTING_HEADS: Final = ("Setting", "Value", "Data", "Network", "Loss", "Note", "Source")
ROW_PX: Final = 27  # of the dot plot
FRAME_PX: Final = 74
NAME_CHARACTERS: Final = 34
CHARACTER_PX: Final = 6.6
PAD: Final = 0.04  # of the axis, beside the outermost numbers
Trained = Mapping[Place, TrainedRun]
INTERVAL_STEP: Final = 0.2  # of a row, from its middle to the outer intervals of a run


@dataclass(frozen=True, kw_only=True)
class PublishedView:
    """Everything the page draws, in its order.

    `beside` is of runs, each with what differs; `settings` are the papers' hyper-parameters,
    none in plain words. `trained` are the ids of the library's runs that table or file name.
    """

    eyebrow: str
    sentence: Sentence
    figure: FigureCard | None
    beside: tuple[tuple[RunMark, str], ...]
    remark: str
    table: ScoreTable
    caption: str
    file: Callable[[], Table]
    settings: Table
    trained: tuple[str, ...]


def published_view(
    filters: Filters, words: PublishedWords, own: Sequence[OwnRun], trained: Trained
) -> PublishedView | None:
    """Return what fits the filters; None where nothing does.

    `own` is empty where the metric has no counterpart; `trained` is the newest run of the library
    that was trained as a place was.
    """
    kept = [
        row
        for row in numbers(filters)
        if row.posthoc in words.posthoc and (words.details or row.metric in words.metrics)
    ]
    shown = lines(kept)
    if not shown:
        return None
    some = f"The first {MOST_ROWS} of {count(len(shown))} lines. " if len(shown) > MOST_ROWS else ""
    caption = f"{some}Numbers as printed; the CSV file has every one, with unit, doubt and notes."
    figure, beside, remark = None, [], []
    if filters.one_kind:
        sign = -1.0 if higher_is_better(filters.metric) else 1.0  # the best one on top
        shown.sort(key=lambda line: (line.training.ood_dataset, sign * line.training.value))
        figure = _figure(shown, filters, words, own, caption)
        for run in own:
            differs = run.facts.differences(filters.data, filters.network, words.images)
            beside.append((run.mark, f"{run.sentence(filters.metric, words)} {differs}"))
        known = definition(filters.metric)
        remark = [
            "" if known.metric else "Runs are not compared on this metric.",
            known.remark,
            fitted_as(kept) if any(run.numbers.after for run in own) else "",
        ]
    named = [of.id for number in kept if (of := trained.get(place_of(number))) is not None]
    return PublishedView(
        eyebrow=f"Published · {_numbers(len(kept))}",
        sentence=_sentence(shown, filters, words),
        figure=figure,
        beside=tuple(beside),
        remark=" ".join(filter(None, remark)) if words.details else "",
        table=_table(shown, filters, words, trained),
        caption=caption,
        file=partial(_file, kept, trained),
        settings=_settings(filters, words),
        trained=tuple(dict.fromkeys(named)),
    )


def _numbers(n: int) -> str:
    return f"{count(n)} number{'' if n == 1 else 's'}"


def _tables(tables: Iterable[int]) -> str:
    numbers = ", ".join(map(str, sorted(set(tables))))
    return f"{'tables' if ',' in numbers else 'table'} {numbers}"


def _sentence(shown: Sequence[Line], filters: Filters, words: PublishedWords) -> Sentence:
    papers = list(dict.fromkeys(line.training.paper for line in shown))
    n = sum(len(line.numbers) for line in shown)
    doubts = sum(len(line.doubts) for line in shown)
    in_doubt = f"{_numbers(doubts)} in doubt." if doubts else ""
    if not filters.one_kind:
        source = PAPERS[papers[0]] if len(papers) == 1 else f"{len(papers)} papers"
        first = Phrase(f"{_numbers(n)} from {source}.")
        return Sentence((first,), " ".join(filter(None, (in_doubt, TO_DRAW))))
    sources = []
    for paper in papers:
        tables = [t for line in shown if line.training.paper == paper for t in line.tables]
        sources.append(f"{PAPERS[paper]}, {_tables(tables)}")
    spread = any(number.std for line in shown for number in line.numbers.values())
    below = [f"{'; '.join(sources)}.", in_doubt, DEVIATIONS if spread else NO_INTERVALS]

    # The errors of the baseline and the best of one paper's losses, before and after. Lines that
    # are alike: of the paper with the most, of one set, and none in doubt if possible.
    printed = [line.training.paper for line in shown]
    alike = [line for line in shown if line.training.paper == max(printed, key=printed.count)]
    top = alike[0].training
    alike = [line for line in alike if line.training.ood_dataset == top.ood_dataset]
    posthoc = "none" if any("none" in line.numbers for line in alike) else top.posthoc
    known = [line for line in alike if posthoc in line.numbers]
    alike = [line for line in known if not line.doubts] or known
    # The baseline and the best one, or the best one alone.
    better = higher_is_better(filters.metric)
    sign = -1.0 if better else 1.0
    ranked = sorted(alike, key=lambda line: sign * line.numbers[posthoc].value)
    base = next((line for line in ranked if line.training.method in BASELINES), ranked[0])
    named = [base] if base is ranked[0] else [base, ranked[0]]
    parts = [f"{NETWORKS[filters.network]} on {DATA[filters.data]}"]
    if len(papers) > 1:
        parts.append(PAPERS[top.paper])
    if top.ood_dataset:
        parts.append(f"against {SETS[top.ood_dataset]}")
    if posthoc != "none":
        parts.append(words.posthoc[posthoc].lower())
    lead, unit = words.measure(filters.metric)
    amounts = " and ".join(
        f"{amount(line.numbers[posthoc])}{unit} with {in_sentence(line.training.method)}"
        for line in named
    )
    best, n_losses = "", len({line.training.method for line in alike})
    if n_losses > 1:
        sound = " not in doubt" if len(alike) < len(known) else ""
        best = f", the {'highest' if better else 'lowest'} of {n_losses} {words.variants}{sound}"
    after = ""
    if posthoc == "none" and all("ts" in line.numbers for line in named):
        scaled = " and ".join(f"{amount(line.numbers['ts'])}{unit}" for line in named)
        after = f" {words.after}, {scaled}."
    story = Phrase(f"{', '.join(parts)}: {lead}{amounts}{best}.{after}")
    return Sentence((story,), " ".join(filter(None, below)))


def _name(line: Line) -> str:
    of = line.training
    return " · ".join(filter(None, (METHODS[of.method], SETS.get(of.ood_dataset, ""))))


def _table(
    shown: Sequence[Line], filters: Filters, words: PublishedWords, trained: Trained
) -> ScoreTable:
    """Return the first lines, a column for each calibrator that one of them has."""
    rows = []
    for line in shown[:MOST_ROWS]:
        of, cells = line.training, dict[str, Estimate | Cell]()
        for key, number in line.numbers.items():
            notes = [f"± {number.std}" if number.std else ""]
            if words.details:
                notes.append(f"T {number.temperature}" if number.temperature else "")
                notes.append(f"γ {number.gamma_ev}" if number.gamma_ev else "")
            text = f"{amount(number)}{unit_after(number.metric)}"
            why = number.note if words.details else ""
            cells[key] = Estimate(text, note=", ".join(filter(None, notes)), reason=why)
        run = trained.get(place_of(of))
        cells["trained"] = (
            Estimate(f"yes: {run.name}", note=run.result(details=words.details))
            if run
            else Estimate("no", mark="tie")
        )
        # Under the name: what the filters leave open, where it is printed, why it is in doubt.
        left_open = (
            "" if filters.data else DATA[of.dataset],
            "" if filters.network else NETWORKS[of.model],
            "" if filters.metric else words.label(of.metric),
        )
        doubt = ""
        if line.doubts:
            whys = dict.fromkeys(why for number in line.doubts for why in number.why.split("; "))
            suspect = any(number.doubt == "suspect" for number in line.doubts)
            doubt = f"{'Suspect' if suspect else 'Uncertain'}: {'; '.join(whys)}."
        source = f"{PAPERS[of.paper]}, {_tables(line.tables)}"
        notes = [" · ".join(filter(None, left_open)), source, doubt]
        rows.append(TableRow(name=_name(line), cells=cells, notes=tuple(notes)))
    there = {key for row in rows for key in row.cells}
    columns = [Column(key, head) for key, head in words.posthoc.items() if key in there]
    columns.append(Column("trained", "Trained here"))
    return ScoreTable("Training", tuple(columns), (), tuple(rows))


def _file(kept: Sequence[PublishedNumber], trained: Trained) -> Table:
    """Return every number that was asked for, with all that is known of it."""
    columns = [Column(key, key, "number" if key == "value" else "text") for key in FILE_KEYS]
    rows = []
    for number in kept:
        run = trained.get(place_of(number))
        rows.append((*(getattr(number, key) for key in FILE_KEYS), run.name if run else "no"))
    return Table((*columns, Column("trained_here", "trained_here")), tuple(rows))


def _settings(filters: Filters, words: PublishedWords) -> Table:
    """Return the hyper-parameters that the papers state for what was asked for."""
    rows = []
    for row in settings():
        if not (words.details and filters.keeps_setting(row)):
            continue
        name = row.setting.replace("gamma", "γ").replace("_", " ")
        name = name if name[0] == "γ" else name[0].upper() + name[1:]
        value = row.value.replace(";", "; ").replace(";  ", "; ")
        value = count(int(value)) if value.isdigit() else VALUES.get(row.value, value)
        of = (row.dataset, DATA), (row.model, NETWORKS), (row.method, METHODS)
        names = (settings_names(*keys_and_names) for keys_and_names in of)
        source = f"{PAPERS[row.paper]}, {row.source}"
        rows.append((SETTINGS.get(row.setting, name), value, *names, row.note, source))
    return Table(tuple(Column(head.lower(), head) for head in SETTING_HEADS), tuple(rows))


@dataclass(frozen=True)
class Dot:
    """One number: its calibrator, its place, and what it says when pointed at."""

    posthoc: str
    value: float
    words: str
    doubtful: bool = False
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class DotRow:
    """One training, or a run with its badge."""

    name: str
    dots: Sequence[Dot]
    mark: RunMark | None = None


def _figure(
    shown: Sequence[Line],
    filters: Filters,
    words: PublishedWords,
    own: Sequence[OwnRun],
    caption: str,
) -> FigureCard:
    """Return the dot plot; beyond MOST_DRAWN lines the table has the rest."""
    metric, unit = filters.metric, unit_after(filters.metric)
    scale = 100.0 if in_percent(metric) else 1.0
    drawn, rows = shown[:MOST_DRAWN], list[DotRow]()
    several = len({line.training.paper for line in shown}) > 1
    for line in drawn:
        dots = []
        for key, number in line.numbers.items():
            doubt = f", {number.doubt}: {number.why}" if number.doubt != "none" else ""
            text = f"{words.posthoc[key]} {amount(number)}{unit}{doubt}"
            dots.append(Dot(key, scale * number.value, text, bool(doubt)))
        paper = f" · {SHORT_PAPERS[line.training.paper]}" if several else ""
        rows.append(DotRow(f"{_name(line)}{paper}", dots))
    for run in own:
        scores = {"none": run.numbers.before}
        scores |= {key: fit.score for key, fit in run.numbers.after.items() if key in words.posthoc}
        dots = [
            Dot(
                key,
                scale * score.value,
                f"{words.posthoc[key]} {with_interval(score, metric, unit)}",
                low=None if score.low is None else scale * score.low,
                high=None if score.high is None else scale * score.high,
            )
            for key, score in scores.items()
            if filters.asks_for(key) and score is not None and score.value is not None
        ]
        if dots:
            rows.append(DotRow(run.name, dots, run.mark))
    keys = {dot.posthoc for row in rows for dot in row.dots}
    drawn_marks = [(key, mark) for key, mark in POSTHOC.items() if key in keys]
    explanation = [f"{mark.shape}: {words.posthoc[key].lower()}" for key, mark in drawn_marks]
    if any(line.doubts for line in drawn):
        explanation.append("hollow: in doubt")
    if len(drawn) < len(shown):
        explanation.append(f"the first {len(drawn)} of {len(shown)}")
    label, in_unit = words.label(metric), "percent" if in_percent(metric) else "nats"
    title = f"{label}, {'%' if in_percent(metric) else 'nats'}"
    read = [f"{row.name}: {', '.join(dot.words for dot in row.dots)}" for row in rows]
    ends = Column("low", "low", "number"), Column("high", "high", "number")
    columns = (
        *(
            Column("name", "name"),
            Column("posthoc", "calibrator" if words.details else "correction"),
        ),
        *(Column("value", in_unit, "number"), *ends, Column("in_doubt", "in doubt")),
    )
    cells = [
        (row.name, words.posthoc[d.posthoc], d.value, d.low, d.high, "yes" if d.doubtful else "")
        for row in rows
        for d in row.dots
    ]
    return FigureCard(
        key="published",
        title=f"{label}, by {'loss' if words.details else 'way of training'}",
        explanation="; ".join(explanation),
        draw=partial(dot_plot, rows, title=title, from_zero=not higher_is_better(metric)),
        alt=f"{title}. {'. '.join(read)}.",
        table=Table(columns, tuple(cells)),
        caption=caption,
    )


def dot_plot(rows: Sequence[DotRow], theme: Theme, *, title: str, from_zero: bool) -> go.Figure:
    """Draw a row for each training: as trained and after calibrators, by shape and colour."""
    names = [short(row.name, NAME_CHARACTERS) for row in rows]
    dots = [dot for row in rows for dot in row.dots]
    ends = [end for d in dots for end in (d.low, d.value, d.high) if end is not None]
    low, high = 0.0 if from_zero else min(ends), max(ends)
    pad = PAD * (high - low or 1.0)
    reach = [low if from_zero else low - pad, high + pad]
    x = axis(theme, title, range=reach, nticks=6, tickformat="~g")
    badges = [f"<b>{row.mark.letter}</b> " if row.mark else "" for row in rows]
    shown = [badge + safe(name) for badge, name in zip(badges, names, strict=True)]
    margin = 16 + CHARACTER_PX * max(map(len, names)), 16, 10, 46
    height = FRAME_PX + ROW_PX * len(rows)
    figure = sheet(theme, height, x, name_axis(theme, shown), margin=margin)
    for at, row in enumerate(rows):
        values = [dot.value for dot in row.dots]
        colours = [theme.bars if dot.posthoc == "none" else theme.accent for dot in row.dots]
        # The intervals of a run lie over one another; the dots of a paper are joined.
        spread = INTERVAL_STEP if row.mark and len(values) > 1 else 0.0
        heights = [at + height for height in np.linspace(-spread, spread, len(values))]
        if not row.mark:
            figure.add_trace(_segment(min(values), max(values), at, theme.line))
        for dot, height, colour in zip(row.dots, heights, colours, strict=True):
            if dot.low is not None and dot.high is not None:
                figure.add_trace(_segment(dot.low, dot.high, height, colour))
        marker: dict[str, Any] = {
            "size": 11,
            "symbol": [POSTHOC[dot.posthoc].symbol for dot in row.dots],
            "color": [
                theme.paper if dot.doubtful else colour
                for dot, colour in zip(row.dots, colours, strict=True)
            ],
            "line": {"color": colours, "width": 2},
        }
        figure.add_scatter(
            x=values,
            y=heights,
            name=row.name,
            mode="markers",
            marker=marker,
            **hovers([f"<b>{safe(row.name)}</b><br>{safe(dot.words)}" for dot in row.dots]),
            cliponaxis=False,
        )
    return figure


def _segment(start: float, end: float, height: float, colour: str) -> go.Scatter:
    line, ends = {"color": colour, "width": 2}, {"x": [start, end], "y": [height, height]}
    return go.Scatter(ends, mode="lines", line=line, hoverinfo="skip")
