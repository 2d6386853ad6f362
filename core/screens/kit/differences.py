"""The words of a comparison: names of metrics, differences as people read them, the sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.metrics.comparison import Comparison
from core.metrics.paired import PAIRED, Difference
from core.screens.kit.forms import FORMS, Kind
from core.screens.kit.numbers import (
    MISSING,
    THIN,
    points,
    points_span,
    three,
    three_span,
)
from core.screens.kit.records import Phrase, Sentence
from core.screens.kit.words import LABELS

COLUMNS = ("accuracy", "nll", "brier", "ece", "ece_em", "classwise_ece", "smece")
OFFERED = ("ece", "ece_em", "smece", "classwise_ece", "nll", "brier", "accuracy")
INSIDE = {  # within a sentence
    "ece_em": "equal-mass ECE",
    "classwise_ece": "classwise ECE",
    "brier": "Brier score",
    "accuracy": "accuracy",
}
IN_POINTS = {"accuracy", "ece", "ece_em", "classwise_ece", "smece", "ada_ece"}
HEADS = {key: label + (", %" if key in IN_POINTS else "") for key, label in LABELS.items()}
MOST_NAMED = 11  # runs beside the best that a sentence names
HIGHER = {"accuracy"}  # is better; of all others lower is
WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
assert set(OFFERED) == set(PAIRED)


def name(metric: str) -> str:
    """Return what a metric is called within a sentence."""
    return INSIDE.get(metric, LABELS[metric])


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
    """Return the first line of the page: who does best against the reference, or why nobody does.

    Parameters
    ----------
    names : sequence of str
        Of the runs, in the comparison's order.
    comparison : Comparison
        Differences from its reference.
    metric : str
        The one that is looked at.
    """
    if comparison.reason:
        first = "These runs are not ranked: they do not speak of the same labelled rows."
        return Sentence((Phrase(first),), comparison.reason)
    rest = {
        i: by_metric[metric]
        for i, by_metric in enumerate(comparison.differences)
        if metric in by_metric
    }
    decided = {i: difference for i, difference in rest.items() if difference.value is not None}
    if not decided:
        why = next(
            (difference.reason for difference in rest.values()),
            "some runs hold no full class scores",
        )
        return Sentence((Phrase(f"These runs cannot be compared by {name(metric)}."),), why)
    if len(names) == 2:
        return _two(names, comparison.reference, *decided.items())
    return _many(names, comparison, decided)


def _two(names: Sequence[str], reference: int, only: tuple[int, Difference]) -> Sentence:
    i, difference = only
    first, second = names[i], names[reference]
    if difference.tie or difference.low is None:
        _, interval = difference_words(difference)
        return Sentence(
            (
                Phrase(
                    f"“{first}” and “{second}” cannot be told apart by {name(difference.metric)}"
                ),
                Phrase(f" ({interval})" if interval else "", "quiet"),
                Phrase("."),
            )
        )
    best, other = (first, second) if better(difference) else (second, first)
    size, interval = size_words(difference)
    more = "higher" if difference.metric in HIGHER else "smaller"
    side = "above" if difference.metric in HIGHER else "below"
    return Sentence(
        (
            Phrase(f"“{best}” has the {more} {name(difference.metric)}, {size} {side} “{other}”"),
            Phrase(interval, "quiet"),
            Phrase("."),
        )
    )


def _many(names: Sequence[str], comparison: Comparison, decided: dict[int, Difference]) -> Sentence:
    base, metric = names[comparison.reference], next(iter(decided.values())).metric
    ahead = {i: difference for i, difference in decided.items() if better(difference)}
    behind = sum(worse(difference) for difference in decided.values())
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
        f"{counted} {_runner_up(names, comparison, metric)}",
    )


def _runner_up(names: Sequence[str], comparison: Comparison, metric: str) -> str:
    """Return whether any run is ahead of all others."""
    best = comparison.best.get(metric)
    if best is None:
        return "No run is ahead of all others beyond chance."
    return f"“{names[best]}” is ahead of every other run beyond chance."


def plain_sentence(
    names: Sequence[str], errors: Sequence[float | None], comparison: Comparison
) -> Sentence:
    """Return the same without technical terms: whose stated certainty is closest to the truth.

    Parameters
    ----------
    names : sequence of str
        Of the runs, in the comparison's order.
    errors : sequence of float or None
        How far off each run's stated certainty is on average, a fraction.
    comparison : Comparison
        Differences from its reference.
    """
    if comparison.reason:
        first = "These models cannot be ranked: they were not tested on the same answers."
        return Sentence((Phrase(first),), comparison.reason)
    known = {i: error for i, error in enumerate(errors) if error is not None}
    if len(known) < 2:
        return Sentence((Phrase("These models cannot be compared: too few numbers are known."),))
    best = min(known, key=lambda i: known[i])
    others = [i for i in known if i != best]
    listed = ", ".join(f"“{names[i]}” by {points(known[i])}" for i in others)
    if len(others) > MOST_NAMED:
        errors_of_others = sorted(known[i] for i in others)
        listed = f"the others by {points(errors_of_others[0])} to {points(errors_of_others[-1])}"
    first = (
        f"The stated certainty of “{names[best]}” is off by {points(known[best])} points on "
        f"average; {listed}."
    )
    against = [
        by_metric["ece"]
        for by_metric in comparison.differences
        if "ece" in by_metric and by_metric["ece"].low is not None
    ]
    ties = sum(difference.tie for difference in against)
    base = f"“{names[comparison.reference]}”"
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
    outcomes = [
        (ahead, f"{'does' if ahead == 1 else 'do'} better beyond chance"),
        (behind, f"{'does' if behind == 1 else 'do'} worse beyond chance"),
        (ties, "cannot be told from it"),
    ]
    total = ahead + behind + ties
    parts = [(number(n), outcome) for n, outcome in outcomes if n]
    if len(parts) == 1:
        return f"All {number(total)} others {parts[0][1]}."
    return f"Of the {number(total)} others, {', '.join(f'{n} {does}' for n, does in parts)}."


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
