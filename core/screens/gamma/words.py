"""What is said of one epoch of a gamma history, and of the rule behind it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from core.arrays import Bool, Float, Int
from core.defaults import LEVEL
from core.histories import BinHistory
from core.library import open_library
from core.losses.bins import (
    EPOCH,
    LARGEST_EXPONENT,
    AdaFocalRule,
    CalFocalRule,
    ValidationBins,
    replay,
)
from core.losses.catalogue import BY_BIN, checked
from core.metrics.intervals import wilson
from core.metrics.records import BinTable
from core.predictions import Task
from core.screens.gamma.figures import HistoryGrid
from core.screens.kit.numbers import MINUS, count, in_hundred, percent, points, three, two
from core.screens.kit.records import Phrase, Sentence, Tile
from core.screens.kit.theme import Tone
from core.screens.kit.words import with_row_noun

Rule = AdaFocalRule | CalFocalRule
CLOSE = 1e-9  # of a kept gamma to what the rule gives, relative; both are float64
EXACT = 1e-6  # likewise for a history from elsewhere, whose numbers were written as text
NO_BOUND = 1e6
TELLING = 1e-3  # a gap smaller than this tells nothing of lambda
FOUND = "λ is not in the file. The value inferred from the numbers reproduces every γ."
OWN_GAMMA = (
    "In this loss every training image has its own γ. This is the γ of an image whose probability "
    "of the true class is the bin’s validation confidence."
)
EVIDENCE = 3  # updates that must agree before a lambda is believed
START = 1.0  # gamma before the first update
TINY, SMALL, LARGE = 1e-6, 1e-3, 1e6
SETTINGS = ("lambda", "gamma_max", "gamma_min", "s_th")  # in the order of AdaFocalRule


@dataclass(frozen=True)
class HistoryRule:
    """What is known of the rule that a history followed.

    `source` says where it is known from, or why it is not; `tolerance`, relative, how near its
    gammas come to the kept ones; `note` what must be known to read its updates.
    """

    rule: Rule | None
    source: str
    tolerance: float = CLOSE
    note: str = ""

    @property
    def inferred(self) -> bool:
        """Whether it was found from the numbers."""
        return self.rule is not None and self.tolerance == EXACT


def learned(config: Mapping[str, object] | None, grid: HistoryGrid) -> HistoryRule:
    """Return the rule of a run's config, else one that every gamma of the history follows.

    `config` is the loss of the training, None for a history from elsewhere; UsageError SETTING when
    it is none of ours.
    """
    name = None if config is None else config.get("name")
    if config is None or name not in BY_BIN:
        return inferred(grid)
    settings = checked(config)
    source = "from the training settings"
    if name != "adafocal":
        note = with_row_noun(OWN_GAMMA) if name == "calfocal_1" else ""
        return HistoryRule(CalFocalRule(float(settings["lambda"])), source, note=note)
    rule = AdaFocalRule(*(float(settings[key]) for key in SETTINGS))
    # Histories from before updates within epochs were kept have the last one of each epoch.
    lacks = settings["update_every"] != EPOCH and not grid.within
    if lacks and not follows(grid, rule, CLOSE).all():
        what = "γ was updated within epochs, and only the last update of an epoch is kept"
        return HistoryRule(None, what)
    return HistoryRule(rule, source)


def inferred(grid: HistoryGrid) -> HistoryRule:
    """Return the rule that every gamma of a history follows, if there is one.

    Lambda is read from the clearest update, the switch from gammas that turned, bounds from the
    extremes; it counts only when all gammas follow to a millionth.
    """
    tried = (_calfocal(grid), _adafocal(grid))
    fits = [rule for rule in tried if rule is not None and follows(grid, rule, EXACT).all()]
    if len(fits) == 1:
        return HistoryRule(fits[0], "inferred from the numbers", EXACT, FOUND)
    both = "AdaFocal and CalFocal would both give these γ"  # as after a first epoch
    return HistoryRule(
        None, both if fits else "no setting of AdaFocal or CalFocal gives all of these γ"
    )


def _calfocal(grid: HistoryGrid) -> CalFocalRule | None:
    clear = np.abs(grid.gap) > TELLING
    if clear.sum() < EVIDENCE:
        return None
    most = np.abs(grid.gap).argmax()
    gap, gamma = grid.gap.ravel()[most], grid.gamma.ravel()[most]
    rate = _tidy(float(np.log(gamma) / gap)) if gamma > 0 else 0.0
    return CalFocalRule(rate) if rate > 0 else None


def _adafocal(grid: HistoryGrid) -> AdaFocalRule | None:
    before, now, known = before_each(grid), grid.gamma, known_before(grid)[:, None]
    high, low = float(now.max()), float(now.min())
    upper = high if high > START and (now == high).sum() > 1 else NO_BOUND
    lower = low if low < 0 and (now == low).sum() > 1 else -NO_BOUND
    stays = (before > 0) == (now > 0)
    clear = known & stays & (now != upper) & (now != lower) & (np.abs(grid.gap) > TELLING)
    clear &= (before != 0) & (now != 0)
    if clear.sum() < EVIDENCE:
        return None
    most = np.unravel_index(np.where(clear, np.abs(grid.gap), 0.0).argmax(), clear.shape)
    side = 1.0 if before[most] > 0 else -1.0
    rate = float(np.log(now[most] / before[most]) / (side * grid.gap[most]))
    turned = np.abs(now[known & ~stays])
    s_th = _tidy(float(turned.min())) if turned.size else 0.0
    return AdaFocalRule(_tidy(rate), upper, lower, s_th) if _tidy(rate) > 0 else None


def _tidy(value: float) -> float:
    """Return the number that was meant: six digits, since it was read from rounded ones."""
    return float(f"{value:.6g}")


def before_each(grid: HistoryGrid) -> Float:
    """Return the gammas before each recorded update, (U, B): those after the one before, else 1."""
    return np.vstack([np.full((1, grid.n_bins), START), grid.gamma[:-1]])


def known_before(grid: HistoryGrid) -> Bool:
    """Return of which updates the gammas before are known, (U,): the one before is there."""
    return np.asarray(np.diff(grid.update, prepend=0) == 1)


def given_by(grid: HistoryGrid, rule: Rule) -> Float:
    """Return the gammas that a rule gives after each epoch, (E, B), from those kept before it."""
    edges = np.empty(0)  # no rule looks at them
    bins = ValidationBins(edges, grid.count, grid.confidence, grid.accuracy)
    with np.errstate(over="ignore", invalid="ignore"):  # bounds hold what goes beyond float64
        return rule.update(before_each(grid), bins).gamma


def follows(grid: HistoryGrid, rule: Rule, tolerance: float) -> Bool:
    """Return where the gammas follow a rule, (E, B); True where that cannot be told."""
    close = np.abs(given_by(grid, rule) - grid.gamma) <= tolerance * np.maximum(
        1.0, np.abs(grid.gamma)
    )
    untold = ~known_before(grid)[:, None] & isinstance(rule, AdaFocalRule)
    return np.asarray(close | untold)


@dataclass(frozen=True)
class Update:
    """One update written out.

    `equation` is the arithmetic, "" where none can be written; `steps` say what became of its
    result (an empty bin, the switch, a bound), or why there is no equation.
    """

    equation: str
    steps: tuple[str, ...]


def update(grid: HistoryGrid, history_rule: HistoryRule, at: int, bin_index: int) -> Update:
    """Write out how the gamma of a bin came about in an epoch, both given by their places."""
    rule = history_rule.rule
    if rule is None:
        return Update("", (f"The rule is not known: {history_rule.source}.",))
    if isinstance(rule, AdaFocalRule) and not known_before(grid)[at]:
        what = f"This history has no epoch before epoch {grid.moment(at)}"
        if at > 0:
            noun = "Update" if grid.within else "Epoch"
            what = f"{noun} {grid.update[at] - 1} is not in this history"
        return Update("", (f"{what}, so the γ before the update is not known.",))
    if not follows(grid, rule, history_rule.tolerance)[at, bin_index]:
        expected = amount(float(given_by(grid, rule)[at, bin_index]))
        what = f"With λ = {amount(rule.rate)} the rule gives {expected}, but the history has"
        recorded = amount(float(grid.gamma[at, bin_index]))
        return Update("", (f"{what} {recorded}: it does not follow the rule here.",))
    empty, gap = bool(grid.frozen[at, bin_index]), float(grid.gap[at, bin_index])
    if isinstance(rule, CalFocalRule):
        return _calfocal_words(rule, gap, empty=empty)
    before = float(before_each(grid)[at, bin_index])
    steps: list[str] = []
    side = 1.0 if before > 0 else -1.0
    moved = before * _exp(side * rule.rate * gap)
    first, rate, difference, result = _printed(
        (before, rule.rate, gap), lambda n: n[0] * _exp(side * n[1] * n[2]), moved
    )
    sign = "" if side > 0 else MINUS
    if abs(moved) < rule.s_th:
        turned = -rule.s_th if moved > 0 else rule.s_th
        near = f"{result} is nearer to 0 than S_th = {amount(rule.s_th)}"
        steps.append(f"{near}, so γ changes sign: {amount(turned)}.")
        moved = turned
    if moved > rule.gamma_max:
        steps.append(f"That is above γ max, so γ is {amount(rule.gamma_max)}.")
    if moved < rule.gamma_min:
        steps.append(f"That is below γ min, so γ is {amount(rule.gamma_min)}.")
    if empty:
        stays = "" if steps else " and γ stays"
        steps.insert(0, f"No validation answer fell into this bin: the gap counts as 0{stays}.")
    exponent = f"exp({sign}{rate} · {_factor(difference)})"
    return Update(f"γ ← γ · exp({sign}λ · gap) = {first} · {exponent} = {result}", tuple(steps))


def _calfocal_words(rule: CalFocalRule, gap: float, *, empty: bool) -> Update:
    if empty:
        return Update("", ("No validation answer fell into this bin, so γ is 1.",))
    exponent = rule.rate * gap
    if exponent > LARGEST_EXPONENT:
        most = f"{LARGEST_EXPONENT:g}"
        what = f"λ · gap = {amount(rule.rate)} · {amount(gap)} is limited to {most}."
        result = amount(math.exp(LARGEST_EXPONENT))
        return Update(f"γ ← exp(λ · gap) = exp({most}) = {result}", (what,))
    rate, difference, result = _printed(
        (rule.rate, gap), lambda n: math.exp(n[0] * n[1]), math.exp(exponent)
    )
    return Update(f"γ ← exp(λ · gap) = exp({rate} · {_factor(difference)}) = {result}", ())


def _exp(value: float) -> float:
    """Return e to a power, infinity beyond float64."""
    with np.errstate(over="ignore"):
        return float(np.exp(value))


def _printed(
    numbers: Sequence[float], compute: Callable[[list[float]], float], exact: float
) -> list[str]:
    """Return numbers and result in as few digits as make the printed arithmetic come out."""
    result = amount(exact)
    texts = [positional(n, 3) for n in numbers]
    for digits in range(3, 17):
        texts = [positional(n, digits) for n in numbers]
        if amount(compute([float(text) for text in texts])) == result:
            break
    return [*(text.replace("-", MINUS) for text in texts), result]


def positional(value: float, digits: int) -> str:
    """Return a number with so many significant digits, trailing zeros left out."""
    if value != 0 and not TINY <= abs(value) < LARGE:
        return f"{value:.{digits}g}"
    return np.format_float_positional(
        value, precision=digits, unique=False, fractional=False, trim="-"
    )


def amount(value: float) -> str:
    """Return a gamma or lambda as people read it; huge and tiny ones in powers of ten."""
    if value == 0 or SMALL <= abs(value) < LARGE:
        return three(value)
    if math.isinf(value):
        return "over 1e+308" if value > 0 else f"below {MINUS}1e+308"
    return f"{value:.2e}".replace("-", MINUS)


def _factor(text: str) -> str:
    """Return a number behind a sign of multiplication, in brackets where it has its own sign."""
    return f"({text})" if text.startswith(MINUS) else text


def replay_run(run_id: str, rule: Rule, n_bins: int) -> BinHistory:
    """Return what a rule would have asked for, had it seen a run's validation answers.

    LibraryError RUN_UNKNOWN, SPLIT_UNKNOWN, DAMAGED, or NO_HISTORY when no logits were kept;
    Refused NONFINITE.
    """
    library = open_library()
    rows = library.load(run_id, "val")
    logits = library.validation_logits(run_id)
    return replay(logits, rows.labels, task=Task(rows.task), rule=rule, n_bins=n_bins)


def replay_cells(run_id: str) -> int:
    """Return how many logits a replay reads."""
    return open_library().validation_logits(run_id).size


# What is said of one epoch.
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
    noun = "answer" if n == 1 else "answers"
    if not points(gap).strip("0."):
        return Phrase(f"the gap is 0.0 points ({count(n)} {noun})")
    bins = bins_of(grid, at, 1 - (1 - LEVEL) / np.count_nonzero(grid.count[at]))
    if bins.band_low[bin_index] <= bins.accuracy[bin_index] <= bins.band_high[bin_index]:
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
        every = "every bin" if filled.size == grid.n_bins else "every bin with answers"
        return Sentence((Phrase(f"{head} gamma {moved} in {every}. {off}"),))
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


def with_answers(grid: HistoryGrid, at: int) -> Int:
    """Return the bins that hold validation answers after an epoch; all bins where none does."""
    filled = np.flatnonzero(~grid.frozen[at])
    return filled if filled.size else np.arange(grid.n_bins)


def mean_gap(grid: HistoryGrid, at: int) -> float:
    """Return the mean absolute gap of the bins, weighted by their answers; NaN without any."""
    n = grid.count[at]
    return float(n @ np.abs(grid.gap[at]) / n.sum()) if n.sum() else float("nan")


def tiles(grid: HistoryGrid, history_rule: HistoryRule, at: int) -> tuple[Tile, ...]:
    """Return the number strip of one epoch; the largest and smallest γ are of bins with answers."""
    gamma, filled = grid.gamma[at], with_answers(grid, at)
    high, low = int(filled[gamma[filled].argmax()]), int(filled[gamma[filled].argmin()])
    of_those = "" if filled.size == grid.n_bins else ", of those with answers"
    n_frozen = int(grid.frozen[at].sum())
    gap, inverse = points(mean_gap(grid, at)), ", inverse focal loss" if gamma[low] < 0 else ""
    place = f"of {grid.moment(0)} to {grid.moment(-1)}" if grid.n_updates > 1 else "the only one"
    largest, smallest = brief(float(gamma[high])), brief(float(gamma[low]))
    return (
        Tile("Epoch", grid.moment(at), note=place, help=with_row_noun(HELP["epoch"])),
        _rate_tile(history_rule),
        Tile("Largest γ", largest, note=f"bin {high + 1}{of_those}", help=HELP["largest"]),
        Tile(
            "Smallest γ",
            smallest,
            note=f"bin {low + 1}{of_those}{inverse}",
            help=HELP["smallest"],
        ),
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
    if isinstance(rule, CalFocalRule) and (grid.gamma[at, grid.frozen[at]] == START).all():
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
        occurring = "" if filled.size == grid.n_bins else " that occurred"
        text = f"{head}answers of every certainty{occurring} {were} treated alike."
        return Sentence((Phrase(text),))
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
    """Return three numbers without terms; the groups are those with answers."""
    filled = with_answers(grid, at)
    low = int((grid.gamma[at, filled] < 0).sum())
    of_groups = f"of {filled.size}{'' if filled.size == grid.n_bins else ' with answers'}"
    gap, groups = points(mean_gap(grid, at)), "Groups pushed to be more sure"
    last, one_round = f"of {grid.moment(-1)}", with_row_noun(HELP["round"])
    return (
        Tile("Round of training", grid.moment(at), note=last, help=one_round),
        Tile("Off on average", gap, "in 100", help=HELP["off"]),
        Tile(groups, str(low), note=of_groups, help=HELP["groups"]),
    )
