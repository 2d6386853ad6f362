"""The words of a comparison: names of metrics, differences as people read them, the sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.metrics import METRICS
from core.metrics.comparison import Compared, Comparison, Leader
from core.metrics.paired import BINNED, PAIRED, Difference
from core.metrics.votes import DISTANCE
from core.screens.kit.numbers import (
    FORMS,
    MISSING,
    THIN,
    Kind,
    points,
    points_span,
    three,
    three_span,
)
from core.screens.kit.records import Phrase, Sentence
from core.screens.kit.words import LABELS, with_row_noun

OFFERED = ("ece", "ece_em", "smece", "classwise_ece", "nll", "brier", "accuracy")
NET_BENEFIT = "net_benefit"
RISKS = ("auroc", "slope", NET_BENEFIT)  # of two classes; of many labels the first alone
UNRANKED = RISKS[1:]
NAMES = LABELS | {DISTANCE: "Distance from people", NET_BENEFIT: "Net benefit"}
IN_SENTENCE = {key: metric.in_sentence or metric.label for key, metric in METRICS.items()}
IN_SENTENCE |= {DISTANCE: "distance from people", NET_BENEFIT: "net benefit"}
IN_POINTS = {key for key, metric in METRICS.items() if metric.in_points} | {DISTANCE}
HEADS = {key: label + (", %" if key in IN_POINTS else "") for key, label in NAMES.items()}
MOST_NAMED = 11  # runs beside the best that a sentence in plain words names
BETTER = {  # in plain words, what a run may be ahead in that is not the closest to the truth
    "accuracy": "is right more often",
    "nll": "gives more chance to what is true",
}
NAMED = 2  # runs of one outcome that a sentence names
HIGHER = {key for key, metric in METRICS.items() if metric.better == "higher"} | {NET_BENEFIT}
WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
assert set(OFFERED) == set(PAIRED)


def name(metric: str, event: str = "") -> str:
    """Return what a metric is called within a sentence; of a risk with the name of its event."""
    whose = f" of “{event}”" if event and metric in BINNED else ""
    return f"{IN_SENTENCE[metric]}{whose}"


def with_others(metrics: Sequence[str], runs: Sequence[Compared]) -> tuple[str, ...]:
    """Return metrics, with those that only some runs have: of risks, and distance from people."""
    risks = (risk for risk in RISKS if any(risk in run.audit.main.metrics for run in runs))
    voted = any(run.distance is not None for run in runs)
    return (*metrics, *risks, *([DISTANCE] if voted else []))


def benefit_threshold(runs: Sequence[Compared]) -> str:
    """Return the risk that net benefit acts from, in percent; nothing where no run has it."""
    scores = [run.audit.main.metrics.get(NET_BENEFIT) for run in runs]
    at = next((score.settings["threshold"] for score in scores if score is not None), None)
    return level_words(at) if isinstance(at, float) else ""


def head(metric: str, runs: Sequence[Compared]) -> str:
    """Return the head of a metric's column; that of net benefit names its threshold."""
    at = benefit_threshold(runs) if metric == NET_BENEFIT else ""
    return f"{HEADS[metric]} at {at}" if at else HEADS[metric]


def number(n: int) -> str:
    """Return a small number as a word."""
    return WORDS[n] if n < len(WORDS) else str(n)


def value_kind(metric: str) -> Kind:
    """Return how scores of a metric are written in tables."""
    return "unsigned_points" if metric in IN_POINTS else "number"


def difference_kind(metric: str) -> Kind:
    """Return how differences in a metric are written in tables, with their signs."""
    return "points" if metric in IN_POINTS else "change"


def difference_words(difference: Difference) -> tuple[str, str]:
    """Return a difference and its interval with their signs: −14.7, −15.2 to −14.1."""
    if difference.value is None:
        return MISSING, ""
    form = FORMS[difference_kind(difference.metric)]
    return form(difference.value, difference.low, difference.high)


def better(difference: Difference) -> bool:
    """Whether the run does better than the reference beyond chance."""
    if difference.value is None or difference.low is None or difference.tie:
        return False
    return (difference.value > 0) == (difference.metric in HIGHER)


def worse(difference: Difference) -> bool:
    """Whether the run does worse than the reference beyond chance."""
    return difference.low is not None and not difference.tie and not better(difference)


def size_words(difference: Difference) -> tuple[str, str]:
    """Return the size of a difference without its sign, and its interval."""
    assert difference.value is not None
    sign = 1.0 if difference.value > 0 else -1.0
    ends = [None if end is None else sign * end for end in (difference.low, difference.high)]
    value, (low, high) = sign * difference.value, ends if sign > 0 else ends[::-1]
    if difference.metric in IN_POINTS:
        size, interval = f"{points(value, low, high)} points", points_span(value, low, high)
    else:
        size, interval = three(value, low, high), three_span(value, low, high)
    return size, f" ({interval})" if interval else ""


def sentence(names: Sequence[str], comparison: Comparison, metric: str) -> Sentence:
    """Return the first line of the page: who is ahead, who is tied, who is worse and by how much.

    Names are in the comparison's order.
    """
    if comparison.reason:
        return Sentence((Phrase("These runs cannot be ranked."),), comparison.reason)
    leader = comparison.leaders.get(metric)
    if leader is None:
        missing = [by_metric[metric] for by_metric in comparison.differences if metric in by_metric]
        lack = "votes" if metric == DISTANCE else "full class scores"
        why = next((difference.reason for difference in missing), f"some runs hold no {lack}")
        why = f"{why[:1].upper()}{why[1:].removesuffix('.')}."
        return Sentence((Phrase(f"These runs cannot be compared by {name(metric)}."),), why)
    called = name(metric, comparison.event)
    same = _same_words(names, comparison, "probabilities on every row")
    n, left_out = len(names) - 1 - len(leader.others), ""
    if n:  # without a value
        runs = "One run has" if n == 1 else f"{number(n).capitalize()} runs have"
        left_out = f"{runs} no {name(metric)}."
    if (tuple(sorted((leader.run, *leader.others))),) == comparison.same:
        return Sentence((Phrase(same),), left_out)
    words = _two if len(leader.others) == 1 else _many
    first = words(names, leader, metric, called)
    return Sentence(first, " ".join(filter(None, (same, left_out))))


def _same_words(names: Sequence[str], comparison: Comparison, what: str) -> str:
    """Return which runs give the same probabilities, called `what`; nothing where all differ."""
    listed = [_listed([names[i] for i in members]) for members in comparison.same]
    return " ".join(f"{runs} give the same {what}." for runs in listed)


def _two(names: Sequence[str], leader: Leader, metric: str, called: str) -> tuple[Phrase, ...]:
    ((i, difference),) = leader.others.items()
    best, other = names[leader.run], names[i]
    if leader.tied:
        _, interval = difference_words(difference)
        return (
            Phrase(f"“{best}” and “{other}” are tied by {called}: could be chance"),
            Phrase(f" ({interval})" if interval else "", unbroken=True),
            Phrase("."),
        )
    size, interval = size_words(difference)
    more = "higher" if metric in HIGHER else "smaller"
    side = "above" if metric in HIGHER else "below"
    return (
        Phrase(f"“{best}” has the {more} {called}, {size} {side} “{other}”"),
        Phrase(interval, unbroken=True),
        Phrase("."),
    )


def _many(names: Sequence[str], leader: Leader, metric: str, called: str) -> tuple[Phrase, ...]:
    behind = [i for i in leader.others if i not in leader.tied]
    level = [leader.run, *leader.tied]
    if not behind:
        return (Phrase(f"All {number(len(level))} runs are tied by {called}."),)
    if len(level) > 1:
        opening = f"By {called}, {_listed([names[i] for i in level])} are tied; "
    else:
        most = "highest" if metric in HIGHER else "smallest"
        opening = f"“{names[leader.run]}” has the {most} {called}; "
    # The closest of those behind by name, the rest by number.
    phrases = [Phrase(opening)]
    than = f" than “{names[leader.run]}”" if len(level) > 1 else ""  # of those tied
    for k, i in enumerate(behind[:NAMED]):
        size, interval = size_words(leader.others[i])
        worse_by = f", “{names[i]}” by {size}" if k else f"“{names[i]}” is worse{than} by {size}"
        phrases += [
            Phrase(worse_by),
            Phrase(interval, unbroken=True),
        ]
    more = len(behind) - NAMED
    rest = f", and {number(more)} more {'is' if more == 1 else 'are'} worse" if more > 0 else ""
    return (*phrases, Phrase(f"{rest}."))


def _listed(names: Sequence[str]) -> str:
    """Return up to three names in full, or the first two and how many more."""
    quoted = [f"“{name}”" for name in names]
    if len(quoted) > NAMED + 1:
        quoted = [*quoted[:NAMED], f"{number(len(quoted) - NAMED)} more"]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def chance_of(bounds: Sequence[float], one: str) -> tuple[str, str]:
    """Return the most that chance shows, in points, and that it differs by run, called `one`.

    "up to 2.4" and nothing, or "at most 2.4 to 3.1" and ", depending on the run".
    """
    low, high = points(min(bounds), max(bounds)), points(max(bounds), min(bounds))
    if low == high:
        return f"up to {high}", ""
    return f"at most {low} to {high}", f", depending on the {one}"


def plain_sentence(
    names: Sequence[str],
    errors: Sequence[float | None],
    comparison: Comparison,
    bounds: Sequence[float] = (),
) -> Sentence:
    """Return the same without technical terms: whose stated certainty is closest to the truth.

    `errors` says how far off each run's stated certainty is on average, a fraction; `bounds` what a
    perfect model could look off by, for each run that has a floor.
    """
    if comparison.reason:
        first = "These models cannot be ranked: they were not tested on the same data."
        return Sentence((Phrase(first),), comparison.reason)
    known = {i: error for i, error in enumerate(errors) if error is not None}
    if len(known) < 2:
        return Sentence((Phrase("These models cannot be compared: too few numbers are known."),))
    # How far off each is; the best first, then the others while they can be listed.
    best = min(known, key=lambda i: known[i])
    others = [i for i in known if i != best]
    listed = ", ".join(f"“{names[i]}” by {points(known[i])}" for i in others)
    if len(others) > MOST_NAMED:
        errors_of_others = sorted(known[i] for i in others)
        listed = f"the others by {points(errors_of_others[0])} to {points(errors_of_others[-1])}"
    what = f"The stated certainty of “{names[best]}” looks"
    if comparison.event:
        what = f"The chances that “{names[best]}” gives “{comparison.event}” look"
    perfect = ""
    if bounds:
        perfect = f" A perfect model could look off by {''.join(chance_of(bounds, 'model'))}."
    first = f"{what} off by {points(known[best])} points on average; {listed}.{perfect}"
    # Whether that is beyond chance, by the difference of the errors.
    leader = comparison.leaders.get("ece")
    same = _same_words(names, comparison, f"chances for every {with_row_noun('picture')}")
    parts = [same]
    if leader is None or all(other.low is None for other in leader.others.values()):
        parts.append(with_row_noun("One picture is too few to tell them apart."))
    elif leader.tied and len(leader.tied) == len(leader.others):
        parts.append("They are tied: the difference could be chance.")
    elif leader.tied:
        tied = _listed([names[i] for i in (leader.run, *leader.tied)])
        parts.append(f"{tied} are tied: the difference could be chance.")
    else:
        what = f"The stated certainty of “{names[leader.run]}” is"
        if comparison.event:
            what = f"The chances that “{names[leader.run]}” gives “{comparison.event}” are"
        parts.append(f"{what} closer to the truth, beyond chance.")
    # Which other run leads beyond chance, and in what
    if leader is not None and not leader.tied:
        ahead = dict.fromkeys(
            (comparison.best.get(metric, leader.run), words) for metric, words in BETTER.items()
        )
        for run in dict.fromkeys(run for run, _ in ahead if run != leader.run):
            what = " and ".join(words for other, words in ahead if other == run)
            parts.append(f"But “{names[run]}” {what}, beyond chance too.")
    if leader is not None and tuple(sorted((leader.run, *leader.tied))) in comparison.same:
        parts = [same]  # equal, which is no chance
    return Sentence((Phrase(first),), " ".join(filter(None, parts)))


@dataclass(frozen=True)
class NamedRun:
    """A run on the page: id, name, split and digest of its file."""

    id: str
    name: str
    split: str
    digest: str


def drawn_words(differences: Sequence[Difference]) -> str:
    """Return what resamples draw: rows, or groups of rows that belong together."""
    grouped = any(difference.settings.get("resampled_by") == "group" for difference in differences)
    return "groups of rows" if grouped else "rows"


def level_words(level: float) -> str:
    """Return a level in percent with at most three digits: 97.5 %."""
    return f"{100 * level:.3g}{THIN}%"
