"""The rule behind a history of gammas: named by the config, found exactly, or not known."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import Bool, Float
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
from core.predictions import Task
from core.screens.gamma.figures import HistoryGrid
from core.screens.kit.numbers import MINUS, three
from core.screens.kit.row_noun import with_row_noun

Rule = AdaFocalRule | CalFocalRule
CLOSE = 1e-9  # of a kept gamma to what the rule gives, relative; both are float64
EXACT = 1e-6  # likewise for a history from elsewhere, whose numbers were written as text
NO_BOUND = 1e6
TELLING = 1e-3  # a gap smaller than this tells nothing of lambda
FOUND = "λ is not in the file. The value inferred from the numbers reproduces every γ."
OWN_GAMMA = (
    "In this loss every training image has its own γ. This is the γ of an image whose probability "
    "of the true class is the bin's validation confidence."
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
