"""The words of a comparison: names of metrics, differences as people read them, the sentence."""

from collections.abc import Sequence

from core.figures.numbers import MINUS, known, points, span, three, three_span, with_span
from core.metrics.comparison import Comparison
from core.metrics.paired import PAIRED, Difference
from core.metrics.records import Score
from core.views.records import Phrase, Sentence

LABELS = {
    "ece": "ECE",
    "ece_em": "ECE equal mass",
    "smece": "Smooth ECE",
    "classwise_ece": "Classwise ECE",
    "nll": "Log-loss",
    "brier": "Brier",
    "accuracy": "Accuracy",
}
INSIDE = {  # within a sentence
    "smece": "smooth ECE",
    "classwise_ece": "classwise ECE",
    "nll": "log-loss",
    "brier": "Brier score",
    "accuracy": "accuracy",
}
IN_POINTS = {"accuracy", "ece", "ece_em", "classwise_ece", "smece", "ada_ece"}
HIGHER = {"accuracy"}  # is better; of all others lower is
WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
assert set(LABELS) == set(PAIRED)


def name(metric: str) -> str:
    """Return what a metric is called within a sentence."""
    return INSIDE.get(metric, LABELS[metric])


def number(n: int) -> str:
    """Return a small number as a word."""
    return WORDS[n] if n < len(WORDS) else str(n)


def value_words(score: Score) -> tuple[str, str]:
    """Return a score and its interval as a table shows them; a missing one with its reason."""
    if score.metric in IN_POINTS:
        value = points(score.value, score.low, score.high)
        return value, span(score.low, score.high)
    others = [bound for bound in (score.low, score.high) if bound is not None]
    return three(score.value, *others), three_span(score.value, score.low, score.high)


def difference_words(found: Difference) -> tuple[str, str]:
    """Return a difference and its interval with their signs: −14.7, −15.2 to −14.1."""
    if found.metric in IN_POINTS:
        value = points(found.value, found.low, found.high, signed=True)
        return value, span(found.low, found.high, signed=True)
    ends = (found.value, found.low, found.high)
    value, low, high = (_signed(end, *ends) for end in ends)
    return value, f"{low} to {high}" if known(found.low) else ""


def _signed(value: float | None, *others: float | None) -> str:
    text = three(value, *others)
    plain = not known(value) or text.startswith(MINUS) or not text.strip("0.")
    return text if plain else f"+{text}"


def better(found: Difference) -> bool:
    """Whether the run does better than the reference beyond chance."""
    if found.value is None or found.low is None or found.tie:
        return False
    return (found.value > 0) == (found.metric in HIGHER)


def worse(found: Difference) -> bool:
    """Whether the run does worse than the reference beyond chance."""
    return found.low is not None and not found.tie and not better(found)


def size_words(found: Difference) -> tuple[str, str]:
    """Return the size of a difference without its sign, and its interval."""
    assert found.value is not None
    sign = 1.0 if found.value > 0 else -1.0
    ends = [None if end is None else sign * end for end in (found.low, found.high)]
    low, high = ends if sign > 0 else ends[::-1]
    if found.metric in IN_POINTS:
        text = with_span(sign * found.value, low, high)
        size, _, interval = text.partition(" ")
        return f"{size} points", f" {interval}" if interval else ""
    size = three(sign * found.value, *(end for end in ends if end is not None))
    interval = three_span(sign * found.value, low, high)
    return size, f" ({interval})" if interval else ""


def sentence(names: Sequence[str], found: Comparison, metric: str) -> Sentence:
    """Return the first line of the page: who does best against the reference, or why nobody does.

    Parameters
    ----------
    names : sequence of str
        Of the runs, in the comparison's order.
    found : Comparison
        Differences from its reference.
    metric : str
        The one that is looked at.
    """
    if found.reason:
        first = "These runs are not ranked: they do not speak of the same labelled rows."
        return Sentence((Phrase(first),), found.reason)
    rest = {i: each[metric] for i, each in enumerate(found.differences) if metric in each}
    decided = {i: one for i, one in rest.items() if one.value is not None}
    if not decided:
        why = next((one.reason for one in rest.values()), "some runs hold no full class scores")
        return Sentence((Phrase(f"These runs cannot be compared by {name(metric)}."),), why)
    if len(names) == 2:
        return _two(names, found.reference, *decided.items())
    return _many(names, found.reference, decided)


def _two(names: Sequence[str], reference: int, only: tuple[int, Difference]) -> Sentence:
    i, one = only
    first, second = names[i], names[reference]
    if one.tie or one.low is None:
        _, interval = difference_words(one)
        return Sentence(
            (
                Phrase(f"“{first}” and “{second}” cannot be told apart by {name(one.metric)}"),
                Phrase(f" ({interval})" if interval else "", "quiet"),
                Phrase("."),
            )
        )
    best, other = (first, second) if better(one) else (second, first)
    size, interval = size_words(one)
    more = "higher" if one.metric in HIGHER else "smaller"
    side = "above" if one.metric in HIGHER else "below"
    return Sentence(
        (
            Phrase(f"“{best}” has the {more} {name(one.metric)}, {size} {side} “{other}”"),
            Phrase(interval, "quiet"),
            Phrase("."),
        )
    )


def _many(names: Sequence[str], reference: int, decided: dict[int, Difference]) -> Sentence:
    base, metric = names[reference], next(iter(decided.values())).metric
    ahead = {i: one for i, one in decided.items() if better(one)}
    behind = sum(worse(one) for one in decided.values())
    ties = len(decided) - len(ahead) - behind
    counted = _counted(len(ahead), behind, ties)
    if not ahead:
        most = "higher" if metric in HIGHER else "smaller"
        first = f"No run has a {most} {name(metric)} than “{base}” beyond chance."
        if not behind:
            first, counted = f"No run can be told from “{base}” by {name(metric)}.", ""
        return Sentence((Phrase(first),), counted)
    sign = -1.0 if metric in HIGHER else 1.0
    best = min(ahead, key=lambda i: sign * (ahead[i].value or 0.0))
    size, interval = size_words(ahead[best])
    side = "higher" if metric in HIGHER else "smaller"
    return Sentence(
        (
            Phrase(f"Against “{base}”, “{names[best]}” does best: its {name(metric)} is {size}"),
            Phrase(interval, "quiet"),
            Phrase(f" {side}."),
        ),
        counted,
    )


def plain_sentence(
    names: Sequence[str], errors: Sequence[float | None], found: Comparison
) -> Sentence:
    """Return the same without technical terms: whose stated certainty is closest to the truth.

    Parameters
    ----------
    names : sequence of str
        Of the runs, in the comparison's order.
    errors : sequence of float or None
        How far off each run's stated certainty is on average, a fraction.
    found : Comparison
        Differences from its reference.
    """
    if found.reason:
        first = "These models cannot be ranked: they were not tested on the same answers."
        return Sentence((Phrase(first),), found.reason)
    known = {i: error for i, error in enumerate(errors) if error is not None}
    if len(known) < 2:
        return Sentence((Phrase("These models cannot be compared: too few numbers are known."),))
    best = min(known, key=lambda i: known[i])
    others = [i for i in known if i != best]
    listed = ", ".join(f"“{names[i]}” by {points(known[i])}" for i in others)
    first = (
        f"The stated certainty of “{names[best]}” is off by {points(known[best])} points on "
        f"average; {listed}."
    )
    against = [
        each["ece"] for each in found.differences if "ece" in each and each["ece"].low is not None
    ]
    ties = sum(one.tie for one in against)
    base = f"“{names[found.reference]}”"
    second = f"None of the differences from {base} could be chance."
    if not against:
        second = "One image is too few to tell them apart."
    elif ties == len(against):
        second = f"Too few images to tell any of them from {base}: it could be chance."
    elif ties:
        second = f"Against {base}, {number(ties)} of the differences could be chance."
    return Sentence((Phrase(first),), second)


def _counted(ahead: int, behind: int, ties: int) -> str:
    """Return how many of the others do better, do worse, or cannot be told apart."""
    groups = {"better beyond chance": ahead, "worse beyond chance": behind}
    parts = [f"{number(n)} {'does' if n == 1 else 'do'} {how}" for how, n in groups.items() if n]
    parts += [_ties(ties)] if ties else []
    if len(parts) == 1:
        return f"All {parts[0].replace(' ', ' others ', 1)}."
    return f"Of the {number(ahead + behind + ties)} others, {', '.join(parts)}."


def _ties(n: int) -> str:
    return f"{number(n)} cannot be told from it"
