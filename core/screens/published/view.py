"""What the Published page says: sentence, dot plot, table, file, and what runs differ in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from core.metrics.records import Score
from core.published import PAPERS, PublishedNumber, definition
from core.screens.kit.numbers import count
from core.screens.kit.records import Cell, Column, FigureCard, Phrase, Sentence, Table
from core.screens.kit.run_marks import RunMark
from core.screens.kit.tables import Estimate, PageColumn, ScoreTable, TableRow
from core.screens.published import figures
from core.screens.published.lines import Filters, Line, hyperparameters, lines, numbers
from core.screens.published.own import OwnRun, TrainedRun, with_interval
from core.screens.published.words import (
    BASELINES,
    DATA,
    METHODS,
    NETWORKS,
    SETS,
    SHAPES,
    SHORT_PAPERS,
    VALUES,
    PublishedWords,
    amount,
    higher_is_better,
    in_percent,
    in_sentence,
    setting_label,
    settings_names,
    unit_after,
)

MOST_ROWS: Final = 60  # of the table; the file has all
MOST_DRAWN: Final = 40
NO_INTERVALS: Final = "Papers print no intervals."
DEVIATIONS: Final = "±: standard deviation of the paper’s trainings."
TO_DRAW: Final = "Choose data, network and metric to draw them."
OTHER_T: Final = (
    "Each run’s T has the smallest validation NLL; papers mostly chose T by validation ECE."
)
FILE_COLUMNS: Final = (
    *(Column(key, key) for key in ("paper", "table", "dataset", "model", "method", "posthoc")),
    *(Column(key, key) for key in ("metric", "unit", "printed")),
    Column("value", "value", "number"),
    *(Column(key, key) for key in ("std", "temperature", "gamma_ev", "ood_dataset")),
    *(Column(key, key) for key in ("doubt", "why", "note", "trained_here")),
)
SETTING_COLUMNS: Final = (
    Column("setting", "Setting"),
    Column("value", "Value"),
    Column("data", "Data"),
    Column("network", "Network"),
    Column("loss", "Loss"),
    Column("note", "Note"),
    Column("source", "Source"),
)


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
    filters: Filters, words: PublishedWords, own: Sequence[OwnRun], trained: Sequence[TrainedRun]
) -> PublishedView | None:
    """Return what fits the filters; None where nothing does.

    Parameters
    ----------
    filters : Filters
        What is asked for.
    words : PublishedWords
        Of the edition.
    own : sequence of OwnRun
        Runs beside the papers' numbers; empty where the metric has no counterpart.
    trained : sequence of TrainedRun
        Runs of the library that trained what the papers did.
    """
    kept = [
        row
        for row in numbers(filters)
        if row.posthoc in words.posthoc and (words.details or row.metric in words.metrics)
    ]
    shown = lines(kept)
    if not shown:
        return None
    if filters.one_kind:
        shown = _best_first(shown, filters.metric)
    figure = _figure(shown, filters, words, own) if filters.one_kind else None
    return PublishedView(
        eyebrow=f"Published · {count(len(kept))} {'number' if len(kept) == 1 else 'numbers'}",
        sentence=_sentence(shown, filters, words),
        figure=figure,
        beside=tuple((run.mark, _beside(run, filters, words)) for run in own if filters.one_kind),
        remark=_remark(filters, own) if filters.one_kind and words.details else "",
        table=_table(shown, filters, words, trained),
        caption=_caption(shown),
        file=partial(_file, kept, trained),
        settings=_settings(filters) if words.details else Table(SETTING_COLUMNS, ()),
        trained=tuple(dict.fromkeys(run.id for run in _all_trained(kept, trained))),
    )


def _settings(filters: Filters) -> Table:
    """Return the hyper-parameters that the papers state for what was asked for."""
    rows = tuple(
        (
            setting_label(row.setting),
            _value(row.value),
            settings_names(row.dataset, DATA),
            settings_names(row.model, NETWORKS),
            settings_names(row.method, METHODS),
            row.note,
            f"{PAPERS[row.paper]}, {row.source}",
        )
        for row in hyperparameters(filters)
    )
    return Table(SETTING_COLUMNS, rows)


def _value(value: str) -> str:
    """Return what a setting is set to, as people read it."""
    if value.isdigit():
        return count(int(value))
    return VALUES.get(value, value.replace(";", "; ").replace(";  ", "; "))


def _sentence(shown: Sequence[Line], filters: Filters, words: PublishedWords) -> Sentence:
    if not filters.one_kind:
        n, papers = sum(len(line.numbers) for line in shown), _papers(shown)
        source = PAPERS[papers[0]] if len(papers) == 1 else f"{len(papers)} papers"
        second = " ".join(filter(None, (_doubts(shown), TO_DRAW)))
        return Sentence((Phrase(f"{_counted(n, 'number')} from {source}."),), second)
    second = " ".join(filter(None, (_sources(shown), _doubts(shown), _spread(shown))))
    return Sentence((Phrase(_story(shown, filters, words)),), second)


def _counted(n: int, noun: str) -> str:
    return f"{count(n)} {noun}" if n == 1 else f"{count(n)} {noun}s"


def _papers(shown: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(line.paper for line in shown))


def _story(shown: Sequence[Line], filters: Filters, words: PublishedWords) -> str:
    """Return the errors of the baseline and the best of one paper's losses, before and after."""
    papers = [line.paper for line in shown]
    alike = [line for line in shown if line.paper == max(_papers(shown), key=papers.count)]
    alike = [line for line in alike if line.ood_dataset == alike[0].ood_dataset]
    posthoc = (
        "none" if any("none" in line.numbers for line in alike) else next(iter(alike[0].numbers))
    )
    known = [line for line in alike if posthoc in line.numbers]
    alike = [line for line in known if not line.doubts] or known
    told = _base_and_best(alike, posthoc, filters.metric)
    parts = [f"{NETWORKS[filters.network]} on {DATA[filters.data]}"]
    if len(_papers(shown)) > 1:
        parts.append(PAPERS[alike[0].paper])
    if alike[0].ood_dataset:
        parts.append(f"against {SETS[alike[0].ood_dataset]}")
    if posthoc != "none":
        parts.append(words.posthoc[posthoc].lower())
    lead, unit = words.measure(filters.metric)
    amounts = [
        f"{amount(line.numbers[posthoc])}{unit} with {in_sentence(line.method)}" for line in told
    ]
    best = ""
    n = len({line.method for line in alike})
    if n > 1:
        end = "highest" if higher_is_better(filters.metric) else "lowest"
        sound = " not in doubt" if len(alike) < len(known) else ""
        best = f", the {end} of {n} {words.variants}{sound}"
    after = ""
    if posthoc == "none" and all("ts" in line.numbers for line in told):
        scaled = " and ".join(f"{amount(line.numbers['ts'])}{unit}" for line in told)
        after = f" {words.after}, {scaled}."
    return f"{', '.join(parts)}: {lead}{' and '.join(amounts)}{best}.{after}"


def _base_and_best(alike: Sequence[Line], posthoc: str, metric: str) -> tuple[Line, ...]:
    """Return the baseline and the best line, or the best one alone."""
    sign = -1.0 if higher_is_better(metric) else 1.0
    ranked = sorted(alike, key=lambda line: sign * line.numbers[posthoc].value)
    base = next((line for line in ranked if line.method in BASELINES), ranked[0])
    return (base,) if base is ranked[0] else (base, ranked[0])


def _best_first(shown: Sequence[Line], metric: str) -> tuple[Line, ...]:
    """Return the lines by their first number, the best one on top."""
    sign = -1.0 if higher_is_better(metric) else 1.0

    def rank(line: Line) -> tuple[str, float]:
        return line.ood_dataset, sign * next(iter(line.numbers.values())).value

    return tuple(sorted(shown, key=rank))


def _sources(shown: Sequence[Line]) -> str:
    """Return papers and tables."""
    told = []
    for paper in _papers(shown):
        tables = sorted({int(t) for line in shown if line.paper == paper for t in line.tables})
        plural = "tables" if len(tables) > 1 else "table"
        told.append(f"{PAPERS[paper]}, {plural} {', '.join(map(str, tables))}")
    return f"{'; '.join(told)}."


def _doubts(shown: Sequence[Line]) -> str:
    n = sum(len(line.doubts) for line in shown)
    return "" if not n else f"{_counted(n, 'number')} in doubt."


def _spread(shown: Sequence[Line]) -> str:
    printed = any(number.std for line in shown for number in line.numbers.values())
    return DEVIATIONS if printed else NO_INTERVALS


def _remark(filters: Filters, own: Sequence[OwnRun]) -> str:
    """Return what is open about the metric's definition, and about temperatures."""
    known = definition(filters.metric)
    parts = [] if known.metric else ["Runs are not compared on this metric."]
    parts.append(known.remark)
    if any(run.numbers.after for run in own):
        parts.append(OTHER_T)
    return " ".join(filter(None, parts))


def _beside(run: OwnRun, filters: Filters, words: PublishedWords) -> str:
    told = run.told(filters.metric, words)
    return f"{told} {run.facts.differences(filters.data, filters.network)}"


def _name(line: Line) -> str:
    return " · ".join(filter(None, (METHODS[line.method], SETS.get(line.ood_dataset, ""))))


def _figure(
    shown: Sequence[Line], filters: Filters, words: PublishedWords, own: Sequence[OwnRun]
) -> FigureCard:
    """Return the dot plot; beyond MOST_DRAWN lines the table has the rest."""
    drawn, several = shown[:MOST_DRAWN], len(_papers(shown)) > 1
    rows = [
        figures.DotRow(
            name=_name(line) + (f" · {SHORT_PAPERS[line.paper]}" if several else ""),
            dots=tuple(_dot(key, number, words) for key, number in line.numbers.items()),
        )
        for line in drawn
    ]
    rows += [row for row in (_own_row(run, filters, words) for run in own) if row.dots]
    label = words.label(filters.metric)
    unit = ", %" if in_percent(filters.metric) else ", nats"
    shown_keys = {dot.posthoc for row in rows for dot in row.dots}
    parts = [
        *(f"{shape}: {words.posthoc[k].lower()}" for k, shape in SHAPES.items() if k in shown_keys),
        "hollow: in doubt" if any(line.doubts for line in drawn) else "",
        f"the first {len(drawn)} of {len(shown)}" if len(drawn) < len(shown) else "",
    ]
    return FigureCard(
        key="published",
        title=f"{label}, by {'loss' if words.details else 'way of training'}",
        explanation="; ".join(filter(None, parts)),
        draw=partial(
            figures.dot_plot,
            rows,
            title=f"{label}{unit}",
            from_zero=not higher_is_better(filters.metric),
        ),
        alt=f"{label}{unit}. " + ". ".join(_row_words(row) for row in rows) + ".",
        table=_drawn_table(rows, filters.metric, words),
        caption=_caption(shown),
    )


def _dot(posthoc: str, number: PublishedNumber, words: PublishedWords) -> figures.Dot:
    doubt = f", {number.doubt}: {number.why}" if number.doubt != "none" else ""
    scale = 100.0 if in_percent(number.metric) else 1.0
    return figures.Dot(
        posthoc=posthoc,
        value=scale * number.value,
        words=f"{words.posthoc[posthoc]} {amount(number)}{unit_after(number.metric)}{doubt}",
        doubtful=bool(doubt),
    )


def _own_row(run: OwnRun, filters: Filters, words: PublishedWords) -> figures.DotRow:
    scores = {"none": run.numbers.before, "ts": run.numbers.after}
    dots = (
        _own_dot(key, score, filters.metric, words)
        for key, score in scores.items()
        if filters.asks_for(key) and score is not None and score.value is not None
    )
    return figures.DotRow(name=run.name, dots=tuple(dots), mark=run.mark)


def _own_dot(posthoc: str, score: Score, metric: str, words: PublishedWords) -> figures.Dot:
    assert score.value is not None
    scale = 100.0 if in_percent(metric) else 1.0
    text = with_interval(score, metric, unit_after(metric))
    return figures.Dot(
        posthoc=posthoc,
        value=scale * score.value,
        words=f"{words.posthoc[posthoc]} {text}",
        low=None if score.low is None else scale * score.low,
        high=None if score.high is None else scale * score.high,
    )


def _row_words(row: figures.DotRow) -> str:
    return f"{row.name}: {', '.join(dot.words for dot in row.dots)}"


def _drawn_table(rows: Sequence[figures.DotRow], metric: str, words: PublishedWords) -> Table:
    columns = (
        Column("name", "name"),
        Column("posthoc", "calibrator"),
        Column("value", "percent" if in_percent(metric) else "nats", "number"),
        Column("low", "low", "number"),
        Column("high", "high", "number"),
        Column("in_doubt", "in doubt"),
    )
    cells = tuple(
        (
            row.name,
            words.posthoc[dot.posthoc],
            dot.value,
            dot.low,
            dot.high,
            "yes" if dot.doubtful else "",
        )
        for row in rows
        for dot in row.dots
    )
    return Table(columns, cells)


def _table(
    shown: Sequence[Line], filters: Filters, words: PublishedWords, trained: Sequence[TrainedRun]
) -> ScoreTable:
    """Return the first lines, a column for each calibrator that one of them has."""
    listed = shown[:MOST_ROWS]
    keys = [key for key in words.posthoc if any(key in line.numbers for line in listed)]
    columns = (
        *(PageColumn(key, words.posthoc[key]) for key in keys),
        PageColumn("trained", "Trained here"),
    )
    rows = tuple(_row(line, filters, words, trained) for line in listed)
    return ScoreTable("Training", columns, (), rows)


def _row(
    line: Line, filters: Filters, words: PublishedWords, trained: Sequence[TrainedRun]
) -> TableRow:
    of_all = (
        DATA[line.dataset] if not filters.data else "",
        NETWORKS[line.model] if not filters.network else "",
        words.label(line.metric) if not filters.metric else "",
    )
    tables = f"{'tables' if len(line.tables) > 1 else 'table'} {', '.join(line.tables)}"
    cells: dict[str, Estimate | Cell] = {
        key: _number_cell(number, words) for key, number in line.numbers.items()
    }
    cells["trained"] = _trained_cell(line, trained)
    return TableRow(
        name=_name(line),
        cells=cells,
        notes=(" · ".join(filter(None, of_all)), f"{PAPERS[line.paper]}, {tables}", _doubt(line)),
    )


def _number_cell(number: PublishedNumber, words: PublishedWords) -> Estimate:
    spread = f"± {number.std}" if number.std else ""
    notes = (
        spread,
        f"T {number.temperature}" if number.temperature else "",
        f"γ {number.gamma_ev}" if number.gamma_ev else "",
    )
    text = f"{amount(number)}{unit_after(number.metric)}"
    note = ", ".join(filter(None, notes)) if words.details else spread
    return Estimate(text, note=note, reason=number.note)


def _doubt(line: Line) -> str:
    """Return why numbers of a line are in doubt; nothing where none is."""
    if not line.doubts:
        return ""
    whys = dict.fromkeys(why for number in line.doubts for why in number.why.split("; "))
    worst = "Suspect" if any(n.doubt == "suspect" for n in line.doubts) else "Uncertain"
    return f"{worst}: {'; '.join(whys)}."


def _trained(number: Line | PublishedNumber, trained: Sequence[TrainedRun]) -> TrainedRun | None:
    """Return the run that trained this loss on this data and network, if there is one."""
    return next(
        (
            run
            for run in trained
            if (run.setting.dataset, run.setting.model) == (number.dataset, number.model)
            and number.method in run.setting.methods
        ),
        None,
    )


def _all_trained(
    kept: Sequence[PublishedNumber], trained: Sequence[TrainedRun]
) -> list[TrainedRun]:
    return [run for number in kept if (run := _trained(number, trained)) is not None]


def _trained_cell(line: Line, trained: Sequence[TrainedRun]) -> Estimate:
    run = _trained(line, trained)
    if run is None:
        return Estimate("no", mark="tie")
    return Estimate(f"yes: {run.name}", note=run.result())


def _caption(shown: Sequence[Line]) -> str:
    some = f"The first {MOST_ROWS} of {count(len(shown))} lines. " if len(shown) > MOST_ROWS else ""
    return f"{some}Numbers as printed; the CSV file has every one, with unit, doubt and notes."


def _file(kept: Sequence[PublishedNumber], trained: Sequence[TrainedRun]) -> Table:
    """Return every number that was asked for, with all that is known of it."""
    keys = [column.key for column in FILE_COLUMNS if column.key != "trained_here"]
    rows = []
    for number in kept:
        run = _trained(number, trained)
        rows.append((*(getattr(number, key) for key in keys), run.name if run else "no"))
    return Table(FILE_COLUMNS, tuple(rows))
