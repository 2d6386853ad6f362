"""What the Gamma page says of one history at one epoch: words, numbers, figures, their tables."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float
from core.histories import COLUMNS, LATER, BinHistory, History
from core.metrics.records import BinTable
from core.screens.gamma.figures import (
    CROWDED,
    EXACT,
    MOST_BINS,
    MOST_EPOCHS,
    MOST_POINTS,
    PLAIN_TERMS,
    TERMS,
    GammaTerms,
    HistoryGrid,
    PanelChoice,
    SecondHistory,
    TrainingBins,
    calibration_errors,
    correspondence,
    heatmaps,
    ring_step,
    small_multiples,
    some,
)
from core.screens.gamma.words import (
    ALIKE,
    REPLAY,
    HistoryRule,
    Update,
    amount,
    bins_of,
    brief,
    frozen_words,
    mean_gap,
    missing_words,
    plain_sentence,
    plain_tiles,
    sentence,
    tiles,
    update,
    with_answers,
)
from core.screens.kit.diagram import share_axis, small_columns, small_diagram
from core.screens.kit.marks import ANSWERS, ClaimWords, RunMark
from core.screens.kit.numbers import Kind, count, in_hundred, percent, points
from core.screens.kit.records import Column, FigureCard, Sentence, Swatch, Table, Tile, columns_of
from core.screens.kit.theme import Theme
from core.screens.kit.words import with_row_noun
from core.training.distributions import validation_history

HEIGHT = 376
SQUARE = 22


def epoch_diagram(
    bins: BinTable, chosen: int, theme: Theme, *, words: ClaimWords = ANSWERS
) -> go.Figure:
    """Draw the bins of one epoch; customdata of every dot is its bin.

    The chosen bin is marked by a square, since rings are changes of sign; an empty one has no dot.
    """
    figure = small_diagram(bins, theme, height=HEIGHT)
    square = {"scaleanchor": "x", "constrain": "domain", "constraintoward": "top"}
    figure.update_layout(
        margin={"l": 58, "r": 26, "t": 8, "b": 46},
        xaxis=share_axis(theme, words.claim, constrain="domain"),
        yaxis=share_axis(theme, words.actual, **square),
    )
    marker = {"symbol": "square-open", "size": SQUARE, "color": theme.accent, "line": {"width": 2}}
    figure.add_scatter(
        **square_at(bins.count[chosen], bins.confidence[chosen], bins.accuracy[chosen]),
        mode="markers",
        name="chosen bin",
        marker=marker,
        hoverinfo="skip",
        cliponaxis=False,
    )
    return figure


def square_at(n: float, says: float, right: float) -> dict[str, list[float]]:
    """Return where the chosen bin is marked; nowhere where it holds no answers."""
    return {"x": [float(says)], "y": [float(right)]} if n > 0 else {"x": [], "y": []}


def moved_traces(bins: BinTable, words: ClaimWords) -> str:
    """Return what other bins move in the diagram, but for the square: JSON, a value a trace."""
    moved: dict[str, list[object]] = {}
    for name, columns in small_columns(bins, words).items():
        moved[name] = [
            None
            if column is None
            else [v if v is None or isinstance(v, str) else round(float(v), 3) for v in column]
            for column in columns
        ]
    return json.dumps(moved, separators=(",", ":"))


MOST_PANELS = 15
PAPER = "Ghosh et al. 2022"
TRAINING_BINS = {"shared": "of validation", "own": "of their own"}  # of training rows
BIN_COLUMNS = (
    *columns_of("count", epoch="epoch", bin="bin"),
    *columns_of("number", lower="from", upper="to"),
    Column("count", "n", "count"),
    *columns_of("share", confidence="says", accuracy="right"),
    Column("gap", "gap, points", "points"),
    Column("gamma", "γ", "number"),
    Column("train_confidence", "C_train", "share"),
)
PLAIN_LABELS = {"epoch": "round", "bin": "group", "gap": "off by, in 100", "gamma": "push"}


@dataclass(frozen=True, eq=False, kw_only=True)
class GammaDynamics:
    """A gamma history with what is known about it.

    `name` is the run's; `origin` says how its gammas came about: trained, from a file, replayed.
    `digest` is of the file or the training's settings. Of a replay nothing was trained.
    """

    name: str
    origin: str
    grid: HistoryGrid
    learned: HistoryRule
    digest: str = ""
    replayed: bool = False


@dataclass(frozen=True)
class GammaView:
    """One epoch of a history, ready to be drawn, with the update of the chosen bin.

    `caveats` say what must be known: missing epochs, empty bins, what the figures leave out.
    """

    eyebrow: str
    sentence: Sentence
    numbers: tuple[Tile, ...]
    heatmap: FigureCard
    diagram: FigureCard
    update: Update
    panels: FigureCard
    correspondence: FigureCard | None
    key: tuple[Swatch, ...]
    caveats: tuple[str, ...]
    caption: str


@dataclass(frozen=True, kw_only=True)
class AtEpoch:
    """What is written and drawn after one epoch, as the browser shows it without the server.

    `title` and `traces`, see `moved_traces`, are of the diagram.
    """

    written: str
    sentence: Sentence
    tiles: tuple[Tile, ...]
    title: str
    traces: str


def at_epochs(dynamics: GammaDynamics, words: "GammaWords") -> tuple[AtEpoch, ...]:
    """Return what is written and drawn after every epoch."""
    grid = dynamics.grid
    return tuple(
        AtEpoch(
            written=grid.moment(at),
            sentence=words.sentence(grid, at, replayed=dynamics.replayed),
            tiles=words.tiles(dynamics, at),
            title=_diagram_title(grid, at, words),
            traces=moved_traces(bins_of(grid, at), words.answers),
        )
        for at in range(grid.n_updates)
    )


def _diagram_title(grid: HistoryGrid, at: int, words: "GammaWords") -> str:
    return f"{words.diagram_title} after {words.terms.epoch.lower()} {grid.moment(at)}"


def _caption(dynamics: GammaDynamics, at: int) -> str:
    grid = dynamics.grid
    trains = "" if dynamics.replayed else "; what follows trains with it"
    digest = f", digest {dynamics.digest[:8]}" if dynamics.digest else ""
    return (
        f"n = {count(int(grid.count[at].sum()))} validation answers, {grid.n_bins} bins, edges "
        f"recomputed at every update, γ after it{trains}{digest}"
    )


def _plain_caption(dynamics: GammaDynamics, at: int) -> str:
    grid, things = dynamics.grid, with_row_noun("pictures")
    return (
        f"checked on {count(int(grid.count[at].sum()))} answers to {things} it does not train on, "
        f"{grid.n_bins} groups of equal size, from unsure to sure, formed again every round"
    )


def _table(grid: HistoryGrid, at: int) -> Table:
    """Return the bins of one epoch; epoch and bin counted as on the page."""
    kind: Kind = "number" if grid.within else "count"
    columns = replace(BIN_COLUMNS[0], kind=kind), *BIN_COLUMNS[1:]
    columns_at = {column.key: getattr(grid, column.key)[at] for column in BIN_COLUMNS[2:]}
    columns_at["gap"] = np.where(grid.frozen[at], np.nan, grid.gap[at])
    rows = (
        (grid.epoch[at].item(), b + 1, *(_cell(value[b]) for value in columns_at.values()))
        for b in range(grid.n_bins)
    )
    return Table(columns, tuple(rows))


def _plain_table(grid: HistoryGrid, at: int) -> Table:
    whole = _table(grid, at).without({"train_confidence"})
    columns = (replace(c, label=PLAIN_LABELS.get(c.key, c.label)) for c in whole.columns)
    return Table(tuple(columns), whole.rows)


def _map_alt(dynamics: GammaDynamics) -> str:
    grid = dynamics.grid
    turns, filled = int(grid.turned.sum()), with_answers(grid, -1)
    last = grid.gamma[-1, filled]
    low, high = int(last.argmin()), int(last.argmax())
    of_those = "" if filled.size == grid.n_bins else " in bins with answers"
    values = f"runs from {amount(float(last[low]))} in bin {filled[low] + 1} to "
    values += f"{amount(float(last[high]))} in bin {filled[high] + 1}"
    if last[low] == last[high]:
        values = f"is {amount(float(last[low]))}"
    times = "once" if turns == 1 else f"{count(turns)} times"
    updates = grid.of_updates if grid.n_updates > 1 else grid.of_updates.removesuffix("s")
    return (
        f"Two heat maps of {count(grid.n_updates)} {updates} by {grid.n_bins} bins: gamma "
        f"and the gap between confidence and accuracy. After the last update gamma{of_those} "
        f"{values}. Gamma changed its sign {times}."
    )


def _plain_map_alt(dynamics: GammaDynamics) -> str:
    grid, was = dynamics.grid, "would be" if dynamics.replayed else "was"
    rounds = "1 round" if grid.n_updates == 1 else f"{count(grid.n_updates)} rounds"
    return (
        f"Two coloured maps of {rounds} by {grid.n_bins} groups: how hard training "
        f"{was} pushed, and how far what the model says is from how often it was right. "
        f"In the last round {_pushed(grid, was)}."
    )


def _pushed(grid: HistoryGrid, was: str) -> str:
    """Say which of the groups with answers were pushed hardest in the last round, and where to."""
    filled, were = with_answers(grid, -1), "would be" if was == "would be" else "were"
    gamma = grid.gamma[-1, filled]
    low, high = (f"group {filled[place] + 1}" for place in (gamma.argmin(), gamma.argmax()))
    if gamma.max() - gamma.min() < ALIKE:
        every = "all groups" if filled.size == grid.n_bins else "all groups with answers"
        return f"{every} {were} treated alike"
    if gamma.max() < 0:
        return f"{low} {was} pushed hardest to be more sure, {high} least"
    least = "hardest to be more sure" if gamma.min() < 0 else "least"
    return f"{high} {was} pushed hardest to be less sure, {low} {least}"


@dataclass(frozen=True, kw_only=True)
class GammaWords:
    """How one edition of the page speaks of a history; the defaults are those of the full view."""

    page: str = "Gamma dynamics"
    eyebrow: str = "{} · {} · {}"  # of the page, the name of the history and its origin
    about: str = "AdaFocal and CalFocal learn one gamma for each bin of confidence."
    terms: GammaTerms = TERMS
    answers: ClaimWords = ANSWERS
    key: tuple[Swatch, ...] = (
        Swatch("γ above 0, or over-confident", "over", "dot"),
        Swatch("γ below 0, or under-confident", "under", "dot"),
        Swatch("γ changed sign", "few", "ring"),
        Swatch("no validation answers", "quiet", "block"),
    )
    map_title: str = "γ and gap by bin"
    map_note: str = "bin {} is the most certain"  # of the number of bins
    map_alt: Callable[[GammaDynamics], str] = _map_alt
    diagram_title: str = "Validation"  # before "after epoch 3"
    diagram_note: str = "square: the chosen bin"
    ringed: Callable[[int, float, float], str] = lambda number, says, right: (
        f"Bin {number}, in a square: says {percent(says)}, right {percent(right)}."
    )  # of number, confidence and accuracy of the bin
    sentence: Callable[..., Sentence] = sentence
    tiles: Callable[[GammaDynamics, int], tuple[Tile, ...]] = lambda dynamics, at: tiles(
        dynamics.grid, dynamics.learned, at
    )
    frozen: Callable[[GammaDynamics, int], str] = lambda dynamics, at: frozen_words(
        dynamics.grid, dynamics.learned.rule, at
    )
    caption: Callable[[GammaDynamics, int], str] = _caption
    table: Callable[[HistoryGrid, int], Table] = _table


TECHNICAL = GammaWords()
PLAIN = GammaWords(
    page="Training, round by round",
    eyebrow="{} · {}",
    about="Every round is checked on pictures that the model does not train on. Where it says "
    "more than it should, the next round pushes it to be less sure; where it says less, more sure.",
    terms=PLAIN_TERMS,
    answers=ClaimWords("says", "right", "Right, times in 100", "Model says, times in 100"),
    key=(
        Swatch("pushed to be less sure, or says more than it should", "over", "dot"),
        Swatch("pushed to be more sure, or says less", "under", "dot"),
        Swatch("the push changed its direction", "few", "ring"),
        Swatch("nothing to learn from", "quiet", "block"),
    ),
    map_title="How hard it is pushed, and how far off it is",
    map_note="from unsure to sure, round by round",
    map_alt=_plain_map_alt,
    diagram_title="Check",
    diagram_note="square: the chosen group",
    ringed=lambda _number, says, right: (
        f"The group in a square: says {in_hundred(says)} in 100, right {in_hundred(right)} times."
    ),
    sentence=plain_sentence,
    tiles=lambda dynamics, at: plain_tiles(dynamics.grid, at),
    frozen=lambda _dynamics, _at: "",
    caption=_plain_caption,
    table=_plain_table,
)


def gamma_view(
    dynamics: GammaDynamics,
    at: int,
    bin_index: int,
    words: GammaWords,
    other: SecondHistory | None = None,
) -> GammaView:
    """Return what is shown of one epoch and bin, given by their places.

    `other` is a second history of as many bins.
    """
    grid = dynamics.grid
    place = PanelChoice(panels_of(grid.n_bins, bin_index), at, bin_index)
    return GammaView(
        eyebrow=words.eyebrow.format(words.page, dynamics.name, dynamics.origin),
        sentence=words.sentence(grid, at, replayed=dynamics.replayed),
        numbers=words.tiles(dynamics, at),
        heatmap=heatmap_card(dynamics, at, words),
        diagram=diagram_card(dynamics, at, bin_index, words),
        update=update(grid, dynamics.learned, at, bin_index),
        panels=panels_card(dynamics, place, other),
        correspondence=correspondence_card(grid, place),
        key=words.key,
        caveats=_caveats(dynamics, words.frozen(dynamics, at)),
        caption=words.caption(dynamics, at),
    )


def panels_of(n_bins: int, bin_index: int) -> tuple[int, ...]:
    """Return the bins that get a panel: all, or an even choice with the chosen one."""
    return tuple(sorted({*some(n_bins, MOST_PANELS).tolist(), bin_index}))


def _caveats(dynamics: GammaDynamics, frozen: str) -> tuple[str, ...]:
    grid, thinned = dynamics.grid, []
    if grid.n_updates > MOST_EPOCHS:
        step = -(-grid.n_updates // MOST_EPOCHS)
        thinned.append(f"one in {step} of {count(grid.n_updates)} {grid.of_updates}")
    if grid.n_bins > MOST_BINS:
        step = -(-grid.n_bins // MOST_BINS)
        thinned.append(f"one bin in {step} of {count(grid.n_bins)}")
    thinned += _thinned_rings(int(grid.turned.sum()))
    thinning = f"The maps draw {' and '.join(thinned)}; the controls reach all." if thinned else ""
    replay = REPLAY if dynamics.replayed else ""
    return tuple(text for text in (replay, missing_words(grid), thinning, frozen) if text)


def _thinned_rings(n_turns: int) -> list[str]:
    step = ring_step(n_turns)
    return [f"one change of sign in {step} of {count(n_turns)}"] if step > 1 else []


def whole_table(grid: HistoryGrid) -> Table:
    """Return the whole history, numbered as it is kept: what reading a file of it expects."""
    more = Column("update", "update", "count"), Column("trained", "trained", "number")
    kept = grid.kept
    plain = {name: getattr(kept, name) for name in COLUMNS if name not in LATER}
    filled = BinHistory(**plain) if (kept.update == kept.epoch).all() else None
    usual = filled is not None and np.array_equal(filled.trained, kept.trained)
    columns = BIN_COLUMNS if usual else (*BIN_COLUMNS, *more)
    values = ([_cell(value) for value in getattr(grid.kept, column.key)] for column in columns)
    return Table(columns, tuple(zip(*values, strict=True)))


def _cell(value: np.generic) -> float | None:
    """Return a whole number or a fraction, None for what is not known."""
    return None if np.isnan(value) else value.item()


def heatmap_card(dynamics: GammaDynamics, at: int, words: GammaWords) -> FigureCard:
    """Return both maps; only the table and the description follow the chosen epoch."""
    grid = dynamics.grid
    return FigureCard(
        key="gamma",
        title=words.map_title,
        explanation=words.map_note.format(grid.n_bins),
        draw=partial(heatmaps, grid, words.terms),
        alt=words.map_alt(dynamics),
        table=words.table(grid, at),
        caption=words.caption(dynamics, at),
    )


def diagram_card(dynamics: GammaDynamics, at: int, bin_index: int, words: GammaWords) -> FigureCard:
    """Return the reliability diagram of one epoch's validation bins."""
    grid, bin_name = dynamics.grid, words.terms.bin
    says, right = float(grid.confidence[at, bin_index]), float(grid.accuracy[at, bin_index])
    ringed = words.ringed(bin_index + 1, says, right)
    if grid.frozen[at, bin_index]:
        ringed = f"{bin_name} {bin_index + 1} is empty."
    title = _diagram_title(grid, at, words)
    return FigureCard(
        key="gamma_epoch",
        title=title,
        explanation=words.diagram_note,
        draw=partial(epoch_diagram, bins_of(grid, at), bin_index, words=words.answers),
        alt=f"Reliability diagram of {grid.n_bins} {bin_name.lower()}s. {title}. {ringed} "
        f"Mean distance from the diagonal {points(mean_gap(grid, at))} points.",
        table=words.table(grid, at),
        caption=words.caption(dynamics, at),
    )


def panels_card(
    dynamics: GammaDynamics, place: PanelChoice, other: SecondHistory | None
) -> FigureCard:
    """Return gap, gamma and edges of each bin over the epochs."""
    grid = dynamics.grid
    subset = "" if len(place.bins) == grid.n_bins else f"; {len(place.bins)} of {grid.n_bins} bins"
    ends = ", ".join(
        f"bin {b + 1} {amount(float(grid.gamma[place.at, b]))}" for b in place.bins[:MOST_PANELS]
    )
    thinned = _thinned_rings(int(grid.turned[:, place.bins].sum()))
    if grid.n_updates > MOST_POINTS:
        step = -(-grid.n_updates // MOST_POINTS)
        thinned.insert(0, f"one in {step} of {count(grid.n_updates)} {grid.of_updates}")
    thinning = f" The panels draw {' and '.join(thinned)}." if thinned else ""
    beside = "" if other is None else " The coloured dashes are the other history."
    return FigureCard(
        key="gamma_bins",
        title="Bin by bin",
        explanation=f"gap, γ and edges over the epochs, one scale each"
        f"{_at_right(place, f'γ after epoch {grid.moment(place.at)}')}{subset}",
        draw=partial(small_multiples, grid, place, other),
        alt=f"Small panels of {len(place.bins)} bins. Gamma after epoch {grid.moment(place.at)}: "
        f"{ends}.{beside}",
        table=bins_table(grid, place.at),
        caption=(
            f"After {PAPER}, figure 5. γ on a signed square-root scale, ringed where its sign "
            f"changed.{thinning} {_caption(dynamics, place.at)}"
        ),
    )


def _at_right(place: PanelChoice, what: str) -> str:
    """Return what the numbers over the panels are, if there is room to draw them."""
    return f"; right: {what}" if len(place.bins) <= CROWDED else ""


def bins_table(grid: HistoryGrid, at: int) -> Table:
    """Return one row a bin: its gamma now, its range over the epochs, turns and empty epochs."""
    columns = (
        Column("bin", "bin", "count"),
        Column("gamma", f"γ, epoch {grid.moment(at)}", "number"),
        *columns_of("number", smallest="smallest γ", largest="largest γ"),
        Column("turns", "changes of sign", "count"),
        Column("empty", f"{grid.of_updates} without answers", "count"),
        Column("gap", f"gap, epoch {grid.moment(at)}, points", "points"),
    )
    over_epochs = (
        *(grid.gamma.min(axis=0), grid.gamma.max(axis=0)),
        *(grid.turned.sum(axis=0), grid.frozen.sum(axis=0)),
    )
    values = (np.arange(1, grid.n_bins + 1), grid.gamma[at], *over_epochs)
    frozen_and_gap = zip(grid.frozen[at], grid.gap[at].tolist(), strict=True)
    gaps = [None if frozen else gap for frozen, gap in frozen_and_gap]
    return Table(columns, tuple(zip(*(of_bin.tolist() for of_bin in values), gaps, strict=True)))


def correspondence_card(
    grid: HistoryGrid, place: PanelChoice, more: TrainingBins | None = None
) -> FigureCard | None:
    """Return C_train beside C_val of each bin, if any C_train is known."""
    more, known = more or TrainingBins(), np.isfinite(grid.train_confidence)
    if not known.any():
        return None
    both = known & ~grid.frozen
    differences = np.abs(grid.train_confidence - grid.confidence)[both]
    middling = points(float(np.median(differences))) if differences.size else "–"
    none = int((~known).sum())
    image = with_row_noun("image")
    lost = f" The line has gaps where no training {image} fell into the bin: {count(none)} cells."
    which, figures = "C_train of the true class", "figures 2 and 3(d)"
    table = _table(grid, place.at)
    says = f"Half of the pairs lie within {middling} points."
    if more.own:
        which, figures = f"{which}, in bins of its own", "figure 9"
    if more.top is not None:
        which, figures = f"{which}; broad: of the answer", "figures 2, 8 and 10 to 14"
        # Rows and their answers are binned by their own values: a bin may hold only one of both
        distances = np.abs(grid.train_confidence - more.top)[known & np.isfinite(more.top)]
        if distances.size:
            says += f" True class and answer are {_at_most(float(np.median(distances)))} points "
            says += f"apart in half of the bins and epochs, {_at_most(float(distances.max()))} "
            says += "in all."
        table = _with(table, Column("train_top", "C_train, answer", "share"), more.top[place.at])
    if more.edges is not None:
        which = f"{which}, dashed below"
        off = np.abs(np.stack(more.edges) - np.stack([grid.lower, grid.upper]))
        middling = points(float(np.nanmedian(off)))
        says += f" Half of the edges lie within {middling} points of those of validation."
        labels = ("own_lower", "training from"), ("own_upper", "training to")
        for (key, label), edge in zip(labels, more.edges, strict=True):
            table = _with(table, Column(key, label, "number"), edge[place.at])
    return FigureCard(
        key="gamma_train",
        title="Training and validation confidence",
        explanation=f"solid: {which}; stars: C_val; dashes: accuracy A_val"
        + _at_right(place, f"C_train in percent after epoch {grid.moment(place.at)}"),
        draw=partial(correspondence, grid, place, more),
        alt=f"Training and validation confidence of each bin over the epochs. {says}"
        f"{lost if none else ''}",
        table=table.without({"gamma"}),  # losses without any have none
        caption=f"After {PAPER}, {figures}. {says}{lost if none else ''}",
    )


def _at_most(distance: float) -> str:
    """Return a distance in points, below what they are written to as such."""
    return "less than 0.01" if distance < 1e-4 else f"at most {points(distance)}"


def _with(table: Table, column: Column, values: Float) -> Table:
    """Return a table of bins with one more column."""
    rows = zip(table.rows, values, strict=True)
    return Table((*table.columns, column), tuple((*row, _cell(value)) for row, value in rows))


def training_bins_cards(
    history: History, own: bool, other: tuple[History, RunMark] | None = None
) -> tuple[FigureCard, ...]:
    """Return E_val, and C_train beside C_val, by bin of a training; none where they are not known.

    Training rows are in the bins of validation or in their `own`. The E_val of another training
    is drawn over the first.
    """
    known = validation_history(history)
    if known is None:
        return ()
    bins, of_training = known
    grid, shown = HistoryGrid.of(bins), tuple(range(bins.n_bins))
    place = PanelChoice(shown, at=bins.n_updates - 1, of=-1)
    beside = validation_history(other[0]) if other is not None else None
    second = None
    if other is not None and beside is not None:
        second = SecondHistory(HistoryGrid.of(beside[0]), other[1].colour, other[1].dash)
    # Trainings from before answers and edges were recorded have none
    top, lower, upper = (
        values if np.isfinite(values).any() else None
        for values in (of_training[name] for name in ("train_top", "own_lower", "own_upper"))
    )
    more, of_train = TrainingBins(top=top), grid
    if own:
        edges = (lower, upper) if lower is not None and upper is not None else None
        more = TrainingBins(edges=edges, own=True)
        of_train = replace(grid, train_confidence=of_training["train_own"])
    compared = correspondence_card(of_train, place, more)
    return tuple(card for card in (errors_card(grid, place, second), compared) if card is not None)


def errors_card(grid: HistoryGrid, place: PanelChoice, other: SecondHistory | None) -> FigureCard:
    """Return E_val, confidence minus accuracy, of each validation bin over the epochs."""
    epoch, gap = grid.moment(place.at), grid.gap[place.at]
    ends = ", ".join(
        f"bin {b + 1} {points(float(gap[b]), signed=True)}"
        for b in place.bins
        if not grid.frozen[place.at, b]
    )
    ece = points(mean_gap(grid, place.at))
    beside = "" if other is None else " The coloured dashes are the training compared with."
    return FigureCard(
        key="bin_errors",
        title="Calibration error by bin",
        explanation=f"validation, {grid.n_bins} bins of equal mass; E_val = C_val − A_val; right: "
        f"points after epoch {epoch}",
        draw=partial(calibration_errors, grid, place, other),
        alt=f"Calibration error E_val and edges of {grid.n_bins} bins over the epochs, with a line "
        f"at zero. Points after epoch {epoch}: {ends}.{beside}",
        table=_table(grid, place.at).without({"gamma"}),
        caption=f"After {PAPER}, figures 1(b) and 7. Filled: over-confident above the dashed zero, "
        "under-confident below it; underlined in grey: epochs in which a bin holds no answers. "
        f"After epoch {epoch} the bins are off by {ece} points on average.{beside}",
    )


SAME = 1e-6  # gammas and gaps nearer than this are the same


def bin_mismatch(dynamics: GammaDynamics, other: GammaDynamics) -> str:
    """Return why two histories cannot be drawn over one another, "" where they can."""
    n_bins, n_other = dynamics.grid.n_bins, other.grid.n_bins
    if n_bins == n_other:
        return ""
    return (
        f"{_name(other)} has {n_other} {'bin' if n_other == 1 else 'bins'}, this history {n_bins}. "
        "Bins are matched by number, so it is not drawn."
    )


def difference(dynamics: GammaDynamics, other: GammaDynamics, at: int) -> str:
    """Return how a second history of as many bins differs at one epoch."""
    epoch = dynamics.grid.moment(at)
    mine, theirs = (g.kept.trained[:: g.n_bins] for g in (dynamics.grid, other.grid))
    places = np.flatnonzero(np.abs(theirs - mine[at]) < EXACT)
    if places.size == 0:
        first, last = other.grid.moment(0), other.grid.moment(-1)
        runs = f"runs from {first} to {last}" if first != last else f"has epoch {first} alone"
        return f"{_name(other)} has no epoch {epoch}: it {runs}."
    return f"{_name(other)}: {_gammas(dynamics.grid, other.grid, at, int(places[0]))}"


def _name(other: GammaDynamics) -> str:
    return f"{other.name} ({other.origin})"


def _gammas(grid: HistoryGrid, other: HistoryGrid, at: int, other_at: int) -> str:
    gamma, other_gamma = grid.gamma[at], other.gamma[other_at]
    gap = "the gaps are the same."
    if grid.gap.shape != other.gap.shape or np.abs(grid.gap - other.gap).max() > SAME:
        mine, theirs = mean_gap(grid, at), mean_gap(other, other_at)
        gap = f"a mean gap of {points(theirs, mine)} points instead of {points(mine, theirs)}."
    off = np.abs(gamma - other_gamma)
    if off.max() <= SAME * max(1.0, float(np.abs(gamma).max())):
        return f"the same γ in every bin; {gap}"
    most = int(off.argmax())
    runs = f"γ from {brief(float(other_gamma.min()))} to {brief(float(other_gamma.max()))}"
    runs += f", here {brief(float(gamma.min()))} to {brief(float(gamma.max()))}"
    widest = f"{brief(float(other_gamma[most]))} instead of {brief(float(gamma[most]))}"
    return f"{runs}, furthest apart in bin {most + 1} ({widest}); {gap}"
