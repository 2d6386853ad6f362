"""What the page of human truth says and draws: records in, sentence, tiles, figure, tables out."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.calibrators import CALIBRATORS
from core.metrics.human import HumanAudit, HumanScore, VoteBin, VoteDisagreement
from core.metrics.records import Gap
from core.predictions import Predictions
from core.screens.kit.curves import hovers, sheet, whiskers
from core.screens.kit.numbers import (
    MISSING,
    THIN,
    count,
    holding,
    in_hundred,
    known,
    percent,
    points,
    points_span,
    three,
    three_span,
    with_span,
)
from core.screens.kit.records import (
    CellWords,
    Column,
    FigureCard,
    Mark,
    Phrase,
    ScoreRow,
    Sentence,
    Swatch,
    Table,
    Tile,
    columns_of,
)
from core.screens.kit.text import short
from core.screens.kit.theme import Theme, Tone, axis
from core.screens.kit.words import with_row_noun
from core.studies.human import LABELS, SHOWN, VOTES, FarRows, FittedOn, HumanFits, HumanStudy


@dataclass(frozen=True)
class HumanWords:
    """Words of one edition, heads and meanings; the defaults are those of the full view."""

    distance: str = "TVD"
    distance_help: str = (
        "Total variation distance between probabilities and shares of votes, 0 to 1."
    )
    entropy: str = "Entropy gap"
    entropy_help: str = (
        "Entropy of the probabilities minus that of the votes, in nats; below 0 the model "
        "is more confident than people."
    )
    rank: str = "Ranked alike"
    rank_help: str = (
        "Share of images whose classes model and people rank alike; people’s ties may come "
        "in either order."
    )
    error: str = "ECE against votes"
    error_help: str = "ECE with the share of people who agree in place of right and wrong, 15 bins."
    likelihood: str = "Soft NLL"
    likelihood_help: str = (
        "Negative log-likelihood of the votes; it cannot lie below their entropy."
    )
    figure: str = "Gap by disagreement"
    figure_note: str = (
        "confidence minus share of people who agree; images by entropy of their votes"
    )
    axis: str = "◂ people agree · entropy of their votes, nats · people disagree ▸"
    tick: str = "{:.2f}"
    rows: str = "images"
    floor: str = "floor {}"
    no_floor: str = "no floor: {}"
    best: str = "at best {}"
    far_distance: str = "TVD"
    fits: str = "Temperature on votes and on majority labels"
    fitted: str = "Fitted on {} (T = {}),"
    labels: str = "majority labels"
    votes: str = "votes"
    refused: str = "No temperature was fitted: {}."
    judged: str = "Judged on {} images, fitted on {} {}."
    far: str = "Images where model and people differ most"
    known: str = "a model that knew the true shares"
    entropy_column: str = "entropy of votes"


TECHNICAL = HumanWords()
PLAIN = HumanWords(
    distance="Difference from people",
    distance_help="Of 100 parts of certainty, how many the model places on other answers than "
    "people do.",
    entropy="More sure than people",
    entropy_help="How much less doubt the model has than people; 0 is as sure as they are.",
    rank="Same order",
    rank_help="How often model and people put the answers in the same order.",
    error="Error against people",
    error_help="How far its certainty is from the share of people who agree, on average.",
    likelihood="Surprise at people’s answers",
    likelihood_help="How unexpected people’s answers are to the model; lower is better.",
    figure="Where people disagree",
    figure_note="how much more sure the model is than people, from clear cases to disputed ones",
    axis="◂ people agree · people disagree ▸",
    tick="",
    rows="pictures",
    floor="{} for a model that knew what people think",
    no_floor="cannot be set against a model that knew what people think: {}",
    best="{} for a model that knew what people think",
    far_distance="difference",
    fits="Could it be made less sure?",
    fitted="With a correction learned from {},",
    labels="what most people chose",
    votes="how many people chose each answer",
    refused="No correction could be learned: {}.",
    judged="Tested on {} pictures, learned from {} {}.",
    far="Pictures where model and people differ most",
    known="a model that knew what people think",
    entropy_column="how far people disagree",
)


def agreement_words(vote_bin: VoteBin) -> str:
    """Return how many of 100 people agree with the answers of the fullest bin."""
    share, low, high = vote_bin.agreement, vote_bin.low, vote_bin.high
    agreed = in_hundred(share, low, high)
    interval = f"{100 * low:.0f} to {100 * high:.0f}"
    sure = in_hundred(vote_bin.confidence)
    return (
        f"Of 100 people asked, {agreed} ({interval}) would agree with an answer that the model is "
        f"{sure} in 100 sure of."
    )


def yardstick(*, by_majority: bool) -> str:
    """Return what an audit holds the answers of a file with votes against."""
    return "against the majority label" if by_majority else "against the labels"


def opposite_words(answers: Gap, people: Gap) -> str:
    """Say where votes show the opposite of what labels show; else nothing."""
    if {tone_of(answers), tone_of(people)} != {"over", "under"}:
        return ""
    more = "more" if people.gap > 0.0 else "less"
    size = _size(abs(people.gap), *sorted((abs(people.low), abs(people.high))))
    return f"Against people’s votes it is the opposite: {more} sure than people by {size}."


def human_sentence(audit: HumanAudit, *, plain: bool) -> Sentence:
    """Return the opening: agreement in the fullest bin, then whether the model is surer."""
    gap = audit.direction
    tone = tone_of(gap)
    first, _, rest = agreement_words(audit.fullest).partition(" would agree")
    start, _, agreed = first.partition("asked, ")
    parts = (Phrase(f"{start}asked, "), Phrase(agreed, tone), Phrase(f" would agree{rest}"))
    size = _size(abs(gap.gap), *sorted((abs(gap.low), abs(gap.high))))
    surer = {
        "over": f"More sure than people by {size}",
        "under": f"Less sure than people by {size}",
        "few": "About as sure as people; the difference could be chance: "
        f"{_size(gap.gap, gap.low, gap.high)}",
    }[tone]
    things = with_row_noun((PLAIN if plain else TECHNICAL).rows)
    second = f"{surer}, on {count(audit.n)} {things[:-1] if audit.n == 1 else things}"
    if audit.mean is not None:
        mean = f"{audit.mean:.0f}"
        vote, votes = ("person", "people") if plain else ("vote", "votes")
        about = "" if audit.least == audit.most else "about "
        second += f" of {about}{mean} {vote if mean == '1' else votes} each"
    return Sentence(parts, f"{second}.")


def tone_of(gap: Gap) -> Tone:
    """Return over or under where the interval of the gap leaves 0 out, else few."""
    if gap.low > 0.0:
        return "over"
    return "under" if gap.high < 0.0 else "few"


# Figures, tables and the view.
HEIGHT = 330


def tones_of(groups: VoteDisagreement) -> list[Tone]:
    """Return over or under where a group's interval leaves out the gap of a model that knew.

    Rows are grouped by the votes that they are held against: where votes are few, a model that
    knew the true shares is off in a group, too. Where votes were not counted, 0 stands for it.
    """
    known = np.nan_to_num(groups.known)
    ends = zip(groups.low > known, groups.high < known, strict=True)
    return ["over" if above else "under" if below else "few" for above, below in ends]


def _rows(groups: VoteDisagreement) -> list[tuple[Any, ...]]:
    """Return groups as rows, in the order of the columns of their table."""
    columns = (
        *(groups.entropy, groups.count, groups.confidence, groups.agreement),
        *(groups.gap, groups.low, groups.high, groups.known),
    )
    return list(zip(*(column.tolist() for column in columns), strict=True))


def disagreement_gaps(groups: VoteDisagreement, title: str, tick: str, theme: Theme) -> go.Figure:
    """Draw the gap of each group with its interval, and where a model that knew would be.

    `title` is that of the axis, `tick` how a group's entropy is written under it.
    """
    x, names = np.arange(groups.count.size), map(tick.format, groups.entropy.tolist())
    ticks = {"tickvals": x.tolist(), "ticktext": list(names), "showgrid": False}
    across = axis(theme, title, range=[-0.6, x.size - 0.4], **ticks)
    figure = sheet(theme, HEIGHT, across, axis(theme, "More sure than people, points", nticks=6))
    figure.add_hline(y=0, line={"color": theme.quiet, "width": 1.2})
    known = np.isfinite(groups.known)
    figure.add_scatter(
        x=x[known],
        y=100.0 * groups.known[known],
        mode="markers",
        name="known",
        marker={"symbol": "line-ew", "size": 22, "line": {"color": theme.bars, "width": 3}},
        hovertemplate="%{y:.1f} points<extra></extra>",
    )
    words = [
        f"<b>{with_span(gap, low, high)} points</b>, {count(n)} {with_row_noun('images')},<br>"
        f"says {percent(says)}, {percent(agreement)} of people agree"
        for _, n, says, agreement, gap, low, high, _ in _rows(groups)
    ]
    tones = tones_of(groups)
    order: tuple[Tone, ...] = ("few", "under", "over")
    for tone in order:
        at = [i for i, own in enumerate(tones) if own == tone]
        if not at:
            continue
        colour, gap = theme.mark(tone), groups.gap[at]
        paper = theme.paper if tone == "few" else colour
        figure.add_scatter(
            x=at,
            y=100.0 * gap,
            name=tone,
            mode="markers",
            marker={"size": 10, "color": paper, "line": {"color": colour, "width": 2}},
            error_y=whiskers(
                100.0 * np.maximum(groups.high[at] - gap, 0.0),
                100.0 * np.maximum(gap - groups.low[at], 0.0),
                colour,
            ),
            **hovers([words[i] for i in at]),
        )
    return figure


ID_LETTERS, NAME_LETTERS = 60, 30
HEADS = {
    "ece": ("Error against the majority, points", "points"),
    "ece_votes": ("Error against people, points", "points"),
    "tvd": ("TVD, points", "points"),
    "soft_nll": ("Soft NLL", "number"),
}
GROUP_COLUMNS = (
    Column("count", "n", "count"),
    Column("confidence", "says", "share"),
    Column("agreement", "agree", "share"),
    Column("gap", "gap, points", "points"),
    Column("low", "low", "points"),
    Column("high", "high", "points"),
)
FAR_COLUMNS = (
    *columns_of(id="id", answer="model"),
    *columns_of("share", confidence="says", agreement="agree"),
    Column("choice", "most people"),
    Column("share", "of them", "share"),
)


@dataclass(frozen=True)
class HumanView:
    """Everything the page draws, in its order.

    `fits` are the rows of a table with `heads`, and no rows where nothing could be fitted;
    `fits_words` says what temperatures do, or why there are none. Of one vote a row there is no
    `figure`: nobody disagrees, and votes are labels.
    """

    sentence: Sentence
    numbers: tuple[Tile, ...]
    figure: FigureCard | None
    key: tuple[Swatch, ...]
    fits_title: str
    fits_words: str
    heads: tuple[str, ...]
    fits: tuple[ScoreRow, ...]
    fits_file: Table
    far_title: str
    far_rows: Table
    caption: str


def human_view(
    study: HumanStudy, predictions: Predictions, *, split: str, plain: bool
) -> HumanView:
    """Return the view of a split beside people."""
    words, audit = PLAIN if plain else TECHNICAL, study.audit
    single = audit.most == 1
    caption = _plain_caption(audit, split) if plain else _caption(audit, split)
    expected = known(audit.disagreement.known.item(0))
    key = (
        *((Swatch(words.known, "quiet", "block"),) if expected else ()),
        Swatch(f"more sure than {'it' if expected else 'people'}", "over", "dot"),
        Swatch("less sure", "under", "dot"),
        Swatch("within chance", "few", "ring"),
    )
    fits = () if single else study.fits.methods
    columns = [Column("method", "method"), Column("fitted_on", "fitted on")]
    numbers = ["temperature", "gamma"]
    numbers += [metric + end for metric in SHOWN for end in ("", "_difference", "_low", "_high")]
    columns += [Column(number, number, "number") for number in numbers]
    rows = []
    for method in study.fits.methods:
        cells: list[str | float | None] = [method.method or "none", method.target]
        cells += [method.parameters.get(parameter) for parameter in ("temperature", "gamma")]
        for metric in SHOWN:
            change = method.differences.get(metric)
            cells.append(method.values.get(metric))
            cells += [change.value, change.low, change.high] if change else [None] * 3
        rows.append(tuple(cells))
    fits_file = Table(tuple(columns), tuple(rows))
    return HumanView(
        sentence=human_sentence(audit, plain=plain),
        numbers=_tiles(audit, words, plain=plain),
        figure=None if single else _card(audit, words, caption),
        key=() if single else key,
        fits_title="" if single else words.fits,
        fits_words="" if single else fits_words(study.fits, words),
        heads=("Method", *(head for head, _ in HEADS.values())),
        fits=tuple(_fit_row(method, words) for method in fits),
        fits_file=fits_file,
        far_title=with_row_noun(words.far),
        far_rows=_far_table(study.far, predictions, words.far_distance),
        caption=caption,
    )


def _tiles(audit: HumanAudit, words: HumanWords, *, plain: bool) -> tuple[Tile, ...]:
    scores = audit.scores
    entropy, rank, nll = scores["entropy_gap_signed"], scores["rank"], scores["soft_nll"]
    tiles = (
        _points_tile(words.distance, words.distance_help, scores["tvd"], words),
        _points_tile(words.error, words.error_help, scores["ece_votes"], words),
        Tile(
            words.entropy,
            three(entropy.value),
            "" if plain else "nats",
            three_span(entropy.value, entropy.low, entropy.high),
            _floor_note(entropy, words.floor.format(three(entropy.floor)), words),
            words.entropy_help,
        ),
        Tile(
            words.rank,
            in_hundred(rank.value, rank.low, rank.high),
            "in 100",
            points_span(rank.value, rank.low, rank.high),
            _floor_note(rank, words.best.format(in_hundred(rank.floor)), words),
            with_row_noun(words.rank_help),
        ),
    )
    if plain:
        return tiles[:2] + tiles[3:]
    note = f"at least {three(nll.floor)}, the entropy of the votes"
    if audit.known_nll is not None:
        note += f"; a model that knew the true shares: {three(audit.known_nll)}"
    interval = three_span(nll.value, nll.low, nll.high)
    return (
        *tiles,
        Tile(words.likelihood, three(nll.value), "nats", interval, note, words.likelihood_help),
    )


def _points_tile(label: str, meaning: str, score: HumanScore, words: HumanWords) -> Tile:
    return Tile(
        label,
        points(score.value, score.low, score.high),
        "points",
        points_span(score.value, score.low, score.high),
        _floor_note(score, words.floor.format(points(score.floor)), words),
        meaning,
    )


def _floor_note(score: HumanScore, floor: str, words: HumanWords) -> str:
    return floor if score.floor is not None else words.no_floor.format(score.reason)


def _caption(audit: HumanAudit, split: str) -> str:
    """Return what the numbers rest on: rows, votes, the level of intervals, split and file."""
    rated = f"n = {count(audit.n)}"
    if audit.n < audit.n_rows:
        rated += f" of {count(audit.n_rows)} {with_row_noun('images')}, the others without votes"
    votes = _votes_each(audit)
    if audit.tied:
        votes += ", shared among the tied classes where corrections are judged"
    level = f"{100 * audit.level:g}{THIN}% intervals"
    return f"{rated}, {votes}, {level}, {split} split, votes of {short(audit.name, 60)}"


def _plain_caption(audit: HumanAudit, split: str) -> str:
    """Return the same without the terms of the field."""
    rated = f"{count(audit.n_rows)} {split} {with_row_noun('pictures')}"
    if audit.n < audit.n_rows:
        rated = f"{count(audit.n)} of {rated}, the others without votes"
    return (
        f"{rated}, {_votes_each(audit)}, votes of {short(audit.name, 60)}. "
        f"In brackets and small type: {holding(audit.level)}"
    )


def _votes_each(audit: HumanAudit) -> str:
    """Return how many votes a row has, and how many rows have a tie for the most."""
    votes = "shares of votes"
    if audit.mean is not None:
        ends = f"{audit.least:.0f} to {audit.most:.0f}"
        votes = f"{audit.mean:.0f}" if audit.least == audit.most else ends
        votes += " vote each" if votes == "1" else " votes each"
    return f"{votes}, {count(audit.tied)} with a tie for the most votes" if audit.tied else votes


def _card(audit: HumanAudit, words: HumanWords, caption: str) -> FigureCard:
    groups = audit.disagreement
    rows = tuple((*row[:-1], row[-1] if known(row[-1]) else None) for row in _rows(groups))
    beyond = sum(tone != "few" for tone in tones_of(groups))
    ends = [with_span(*rows[k][4:7]) for k in (0, -1)]
    expected, left_out = "", "0"
    if known(groups.known.item(0)):
        values = [points(groups.known.item(k), signed=True) for k in (0, -1)]
        expected = f" {words.known[:1].upper()}{words.known[1:]}: {values[0]} and {values[1]}."
        left_out = "its value"
    alt = (
        f"Gap in {len(rows)} groups of {with_row_noun(words.rows)}, in points: {ends[0]} where "
        f"people agree most, {ends[1]} where they disagree most.{expected} Intervals that exclude "
        f"{left_out}: {beyond} of {len(rows)}."
    )
    entropy = Column("entropy", words.entropy_column, "number")
    expects = Column("known", f"{words.known}, points", "points")
    return FigureCard(
        key="human_gap",
        title=words.figure,
        explanation=with_row_noun(words.figure_note),
        draw=partial(disagreement_gaps, groups, words.axis, words.tick),
        alt=alt,
        table=Table((entropy, *GROUP_COLUMNS, expects), rows),
        caption=caption,
    )


def fits_words(fits: HumanFits, words: HumanWords) -> str:
    """Return what temperatures do that were fitted on labels, and on votes; a sentence each."""
    if fits.refusal:
        return words.refused.format(f"{fits.refusal[:1].lower()}{fits.refusal[1:]}")
    by = {(method.method, method.target): method for method in fits.methods}
    parts = []
    for target, of in ((LABELS, words.labels), (VOTES, words.votes)):
        method = by.get(("ts", target))
        if method is None or method.refusal:
            continue
        changes = []
        for change in (method.differences["ece_votes"], method.differences["ece"]):
            if change.value is None or change.low is None or change.high is None:
                changes.append("is unknown")
                continue
            risen = (change.value, change.low, change.high)
            fallen = (-change.value, -change.high, -change.low)
            if change.high < 0.0:
                changes.append(f"falls by {_size(*fallen)}")
            elif change.low > 0.0:
                changes.append(f"rises by {_size(*risen)}")
            else:
                changes.append(f"changes by {_size(*risen)}, which could be chance")
        start = words.fitted.format(of, three(method.parameters["temperature"]))
        parts.append(
            f"{start} the error against people {changes[0]}, and that against the majority "
            f"{changes[1]}."
        )
    others = "others" if fits.fit_name == fits.test_name else f"of {fits.fit_name}"
    judged = with_row_noun(words.judged).format(count(fits.test_rows), count(fits.fit_rows), others)
    return " ".join((*parts, judged))


def _size(value: float, low: float, high: float) -> str:
    return f"{points(value, low, high)} points ({points_span(value, low, high)})"


def _fit_row(method: FittedOn, words: HumanWords) -> ScoreRow:
    name, notes = "As read", tuple[str, ...]()
    if method.method:
        name = CALIBRATORS[method.method].label
        parameters = ", ".join(
            f"{'T' if key == 'temperature' else 'γ'} = {three(value)}"
            for key, value in method.parameters.items()
        )
        notes = (f"on {words.labels if method.target == LABELS else words.votes}", parameters)
    if method.refusal:
        refused = (CellWords(MISSING, reason=method.refusal),) * len(SHOWN)
        return ScoreRow(name=name, notes=notes[:1], cells=refused)
    cells = []
    for metric in SHOWN:
        value, change = method.values[metric], method.differences.get(metric)
        in_points = HEADS[metric][1] == "points"
        write, between = (points, points_span) if in_points else (three, three_span)
        interval = ""
        if change is not None and change.value is not None:
            sign = "+" if change.value > 0 else ""
            span = between(change.value, change.low, change.high)
            interval = f"{sign}{write(change.value)} ({span})"
        beyond = change is not None and change.low is not None and not change.tie
        mark: Mark = "beyond" if beyond else ""
        why = "" if value is not None else "infinite"
        cells.append(CellWords(write(value), interval, why, mark))
    return ScoreRow(name=name, notes=notes, cells=tuple(cells), shaded=not method.method)


def _far_table(far: FarRows, predictions: Predictions, distance: str) -> Table:
    assert predictions.votes is not None
    ids = predictions.row_ids
    names = [short(name, NAME_LETTERS) for name in predictions.class_names]
    most = predictions.votes.of_row[far.rows, far.choice] / predictions.votes.totals[far.rows]
    columns = (far.rows, far.answer, far.confidence, far.agreement, far.choice, most, far.tvd)
    rows = tuple(
        (
            short(ids[row], ID_LETTERS) if ids else str(row),
            *(names[answer], confidence, agreement, names[choice], share, tvd),
        )
        for row, answer, confidence, agreement, choice, share, tvd in zip(
            *(column.tolist() for column in columns), strict=True
        )
    )
    return Table((*FAR_COLUMNS, Column("tvd", f"{distance}, points", "unsigned_points")), rows)
