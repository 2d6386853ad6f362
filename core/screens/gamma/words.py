"""What is said of one epoch of a gamma history: the sentence, the numbers, what must be known."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import binom

from core.defaults import LEVEL
from core.losses.bins import CalFocalRule
from core.metrics.intervals import wilson
from core.metrics.records import BinTable
from core.screens.gamma.figures import HistoryGrid
from core.screens.gamma.rule import HistoryRule, Rule, amount, before_each, known_before
from core.screens.kit.numbers import count, in_hundred, percent, points, two
from core.screens.kit.records import Phrase, Sentence, Tile
from core.screens.kit.row_noun import with_row_noun
from core.screens.kit.theme import Tone

ALIKE = 0.005  # gammas nearer to one another than this are told as one
HUNDREDTH, THOUSAND = 0.01, 1000.0
MOST_NAMED = 15  # more bins are counted instead
TIED = 1e-9  # width of a bin whose edges coincide
MOVES = {
    "rise": ("rose to", "risen to"),
    "fall": ("fell to", "fallen to"),
    "stay": ("stayed at", "stayed at"),
}
HELP = {
    "epoch": "One pass over the training images; counted from 1.",
    "rate": "The larger λ, the faster a gap moves γ.",
    "largest": "Above 0 the loss is focal loss: the larger γ, the less confident the model.",
    "smallest": "Below 0 the loss is inverse focal loss, which makes the model more confident.",
    "gap": "Absolute confidence minus accuracy of each bin, weighted by its answers.",
    "frozen": "Ties between confidences leave bins empty; then there is no gap to learn from.",
    "round": "In one round the model sees every training picture once.",
    "off": "How far what it says is from how often it was right.",
    "groups": "All others are pushed to be less sure.",
}
REPLAY = "A replay only applies the rule. Nothing was trained with it."


def brief(value: float) -> str:
    """Return a gamma with two decimals, as sentence and tiles have it; a tiny one as `amount`."""
    return two(value) if value == 0 or HUNDREDTH <= abs(value) < THOUSAND else amount(value)


def listed(places: Sequence[int]) -> str:
    """Return bins as people count them: bin 3, bins 3 to 5 and 9."""
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    texts = []
    for run in runs:
        ends = (run[0], run[-1]) if len(run) > 2 else ()
        texts += [f"{ends[0] + 1} to {ends[1] + 1}"] if ends else [str(p + 1) for p in run]
    joined = ", ".join(texts[:-1]) + f" and {texts[-1]}" if len(texts) > 1 else texts[0]
    return f"{'bin' if len(places) == 1 else 'bins'} {joined}"


def bins_of(grid: HistoryGrid, at: int, level: float = LEVEL) -> BinTable:
    """Return the validation bins of one epoch with Wilson's interval and the consistency band.

    The band is that of as many answers that are right with the bin's mean confidence, at a level.
    """
    n, says = grid.count[at], grid.confidence[at]
    low, high = wilson(n * grid.accuracy[at], n, LEVEL)
    filled = n > 0
    trials, share = np.where(filled, n, 1), np.where(filled, says, 0.5)
    tail = (1 - level) / 2
    band = [
        np.where(filled, binom.ppf(q, trials, share) / trials, np.nan) for q in (tail, 1 - tail)
    ]
    return BinTable(
        low=grid.lower[at],
        high=grid.upper[at],
        count=n,
        confidence=says,
        accuracy=grid.accuracy[at],
        ci_low=low,
        ci_high=high,
        band_low=band[0],
        band_high=band[1],
    )


def gap_words(grid: HistoryGrid, at: int, bin_index: int) -> Phrase:
    """Return whether a bin says more or less than it should, as far as its answers can show.

    The bar is whether the share that was right leaves the consistency band. Rules set gamma by
    the gap, so the bin that a sentence names is the worst of all that hold answers: the band is at
    a level at which 95 % of perfect models have no bin beyond theirs (Bonferroni).
    """
    n, gap = int(grid.count[at, bin_index]), float(grid.gap[at, bin_index])
    if n == 0:
        return Phrase("it holds no validation answers", "ink")
    bins = bins_of(grid, at, 1 - (1 - LEVEL) / np.count_nonzero(grid.count[at]))
    if bins.band_low[bin_index] <= bins.accuracy[bin_index] <= bins.band_high[bin_index]:
        noun = "answer" if n == 1 else "answers"
        gap_and_n = f"{points(gap, signed=True)} points, {count(n)} {noun}"
        return Phrase(f"the gap ({gap_and_n}) could be chance", "quiet")
    more = "more" if gap > 0 else "less"
    text = f"the model says {points(abs(gap))} points {more} than it should"
    return Phrase(text, "over" if gap > 0 else "under")


def sentence(grid: HistoryGrid, at: int, *, replayed: bool = False) -> Sentence:
    """Return where gamma is highest and lowest after an epoch, and the gap where it is highest.

    Of a replay it says what the rule would do: nothing was trained with it.
    """
    gamma, filled = grid.gamma[at], np.flatnonzero(~grid.frozen[at])
    epoch = grid.epoch[at]
    epochs = grid.moment(at) if grid.within else count(int(epoch))
    head = f"Over {epochs} epochs" if epoch > 1 else "In the first epoch"
    if filled.size == 0:
        nothing = "would be" if replayed else "is"
        text = f"{head} no bin holds validation answers, so nothing {nothing} learned."
        return Sentence((Phrase(text),))
    high, low = int(filled[gamma[filled].argmax()]), int(filled[gamma[filled].argmin()])
    if gamma[high] - gamma[low] < ALIKE:
        moved = _moved(grid, at, high, replayed=replayed)
        off = f"Confidence is off by {points(mean_gap(grid, at))} points on average."
        return Sentence((Phrase(f"{head} gamma {moved} in every bin. {off}"),))
    ends = _answers(grid, high), _answers(grid, low, "ones")
    if ends[0].split()[0] == ends[1].split()[0]:
        ends = (f"bin {high + 1}", f"bin {low + 1}")
    up, down = (_moved(grid, at, b, replayed=replayed) for b in (high, low))
    if up.rpartition(" ")[0] == down.rpartition(" ")[0]:  # the verb once
        down = f"{down.split()[-2]} {down.split()[-1]}"
    begin = f"{head} gamma {up} for {ends[0]} and {down} for {ends[1]}. In bin {high + 1} "
    below = filled[gamma[filled] < 0]
    names = f"{below.size} bins" if below.size > MOST_NAMED else ""
    second = f" Below 0: {names or listed(below.tolist())}." if below.size else ""
    words = gap_words(grid, at, high)
    tone: Tone = "ink" if words.tone == "quiet" else words.tone
    gap_parts = Phrase(words.text, tone), Phrase(".")
    return Sentence((Phrase(begin), *gap_parts, Phrase(second)))


def _moved(grid: HistoryGrid, at: int, bin_index: int, *, replayed: bool) -> str:
    """Return how a gamma got where it is: trainings begin at 1."""
    start = 1.0 if grid.update[0] == 1 else float(grid.gamma[0, bin_index])
    value = float(grid.gamma[at, bin_index])
    verbs = MOVES["stay" if abs(value - start) < ALIKE else "rise" if value > start else "fall"]
    return f"{f'would have {verbs[1]}' if replayed else verbs[0]} {brief(value)}"


def _answers(grid: HistoryGrid, bin_index: int, noun: str = "answers") -> str:
    """Return whose bin it is: bins ascend with confidence."""
    return f"{'unsure' if 2 * bin_index < grid.n_bins - 1 else 'sure'} {noun}"


def mean_gap(grid: HistoryGrid, at: int) -> float:
    """Return the mean absolute gap of the bins, weighted by their answers; NaN without any."""
    n = grid.count[at]
    return float(n @ np.abs(grid.gap[at]) / n.sum()) if n.sum() else float("nan")


def tiles(grid: HistoryGrid, history_rule: HistoryRule, at: int) -> tuple[Tile, ...]:
    """Return the number strip of one epoch."""
    gamma = grid.gamma[at]
    high, low = int(gamma.argmax()), int(gamma.argmin())
    n_frozen = int(grid.frozen[at].sum())
    gap, inverse = points(mean_gap(grid, at)), ", inverse focal loss" if gamma[low] < 0 else ""
    place = f"of {grid.moment(0)} to {grid.moment(-1)}"
    largest, smallest = brief(float(gamma[high])), brief(float(gamma[low]))
    return (
        Tile("Epoch", grid.moment(at), note=place, help=with_row_noun(HELP["epoch"])),
        _rate_tile(history_rule),
        Tile("Largest γ", largest, note=f"bin {high + 1}", help=HELP["largest"]),
        Tile("Smallest γ", smallest, note=f"bin {low + 1}{inverse}", help=HELP["smallest"]),
        Tile("Mean absolute gap", gap, "points", note="over the bins", help=HELP["gap"]),
        Tile("Bins without answers", str(n_frozen), note=f"of {grid.n_bins}", help=HELP["frozen"]),
    )


def _rate_tile(history_rule: HistoryRule) -> Tile:
    rule = history_rule.rule
    if rule is None:
        return Tile("λ", "–", note="not known", help=HELP["rate"])
    inferred = ", inferred from the numbers" if history_rule.inferred else ""
    return Tile("λ", f"{rule.rate:g}", note=f"{rule.label}{inferred}", help=HELP["rate"])


def frozen_words(grid: HistoryGrid, rule: Rule | None, at: int) -> str:
    """Return why bins are empty in an epoch and what follows; "" where none is."""
    empty = np.flatnonzero(grid.frozen[at])
    if empty.size == 0:
        return ""
    width = grid.upper[at] - grid.lower[at]
    tied = empty[width[empty] <= TIED]
    texts = []
    if tied.size:
        values = sorted({percent(float(v)) for v in grid.upper[at, tied]})
        single = tied.size == 1
        texts.append(
            f"{listed(tied.tolist()).capitalize()} {'is' if single else 'are'} empty: so many "
            f"validation answers are exactly {' or '.join(values)} that both edges of "
            f"{'this bin' if single else 'these bins'} fall on the same value."
        )
    rest = np.setdiff1d(empty, tied)
    if rest.size:
        verb = "holds" if rest.size == 1 else "hold"
        texts.append(f"{listed(rest.tolist()).capitalize()} {verb} no validation answer.")
    texts.append(f"Without a gap there is nothing to learn from, so {_rests(grid, rule, at)}.")
    if empty[-1] == grid.n_bins - 1 and tied.size and tied[-1] == empty[-1]:
        last = amount(float(grid.gamma[at, -1]))
        texts.append(
            f"Training {with_row_noun('images')} with a probability of "
            f"{percent(float(grid.upper[at, -1]))} still belong to the last bin, with its γ of "
            f"{last}."
        )
    return " ".join(texts)


def _rests(grid: HistoryGrid, rule: Rule | None, at: int) -> str:
    """Return what became of the gammas of empty bins: a switch or a bound can move them still."""
    if isinstance(rule, CalFocalRule):
        return "γ is 1 there"
    stays = (grid.gamma == before_each(grid))[at, grid.frozen[at]].all()
    if stays and known_before(grid)[at]:
        return "γ stays as it was there"
    return "the gap counts as 0 there"


def missing_words(grid: HistoryGrid) -> str:
    """Return which epochs a history lacks; "" where it has them all."""
    steps = np.diff(grid.update)
    if grid.n_updates < 2 or (steps == 1).all():
        return ""
    lost = int(steps.sum()) - len(steps)
    return (
        f"This history has {count(grid.n_updates)} {grid.of_updates} from {grid.update[0]} to "
        f"{grid.update[-1]}: {count(lost)} in between {'is' if lost == 1 else 'are'} missing. The "
        "maps show only those it has."
    )


def plain_sentence(grid: HistoryGrid, at: int, *, replayed: bool = False) -> Sentence:
    """Return the same in times out of 100, for people who train no models."""
    filled = np.flatnonzero(~grid.frozen[at])
    head = f"In round {grid.moment(at)} of training, "
    if filled.size == 0:
        return Sentence((Phrase(f"{head}there was nothing to learn from."),))
    gamma = grid.gamma[at, filled]
    was, were = ("would be", "would be") if replayed else ("was", "were")
    if gamma.max() - gamma.min() < ALIKE:
        return Sentence((Phrase(f"{head}answers of every certainty {were} treated alike."),))
    bin_index = int(filled[np.abs(gamma).argmax()] if gamma.max() < 0 else filled[gamma.argmax()])
    says = in_hundred(float(grid.confidence[at, bin_index]))
    right = in_hundred(float(grid.accuracy[at, bin_index]))
    pushed = "pushed to be more sure" if gamma.max() < 0 else "pushed hardest to be less sure"
    words = gap_words(grid, at, bin_index)
    parts = [Phrase(f"{head}the model {was} {pushed} where it says {says} in 100")]
    if words.tone == "quiet":
        n = int(grid.count[at, bin_index])
        few = "1 answer is" if n == 1 else f"{count(n)} answers are"
        parts.append(Phrase(f". There it was right {right} times in 100, but {few} too few to "))
        parts.append(Phrase("tell."))
    else:
        parts.append(Phrase(". There it was right "))
        parts.append(Phrase(f"{right} times in 100", words.tone))
        parts.append(Phrase("."))
    return Sentence(tuple(parts))


def plain_tiles(grid: HistoryGrid, at: int) -> tuple[Tile, ...]:
    """Return three numbers without terms."""
    low = int((grid.gamma[at] < 0).sum())
    gap, groups = points(mean_gap(grid, at)), "Groups pushed to be more sure"
    last, one_round = f"of {grid.moment(-1)}", with_row_noun(HELP["round"])
    return (
        Tile("Round of training", grid.moment(at), note=last, help=one_round),
        Tile("Off on average", gap, "in 100", help=HELP["off"]),
        Tile(groups, str(low), note=f"of {grid.n_bins}", help=HELP["groups"]),
    )
