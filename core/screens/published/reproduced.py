"""A paper's table with what was trained here under each printed row."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from statistics import mean, stdev

from core.errors import UsageError
from core.fields import JsonObject
from core.metrics.records import Score
from core.published import IN_HUNDREDTHS, PAPERS, PublishedNumber, definition
from core.screens.kit import methods
from core.screens.kit.numbers import MINUS, MISSING
from core.screens.kit.records import Column, Table
from core.screens.published.words import (
    DATA,
    METHODS,
    NETWORKS,
    POSTHOC,
    amount,
    in_percent,
    metric_label,
    order,
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
