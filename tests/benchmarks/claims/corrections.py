"""Corrections.

A correction is fitted and judged on as many rows each; its true ECE is that of its probabilities
on 50,000 rows whose true probabilities are known (15 bins). Said wrongly is a first line that
names a correction whose true ECE is no smaller, a second line that ranks two the wrong way round
or says that one raises an error that it does not raise, and, of a run that is calibrated as read,
that its training did not calibrate it.
"""

import re
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from core.arrays import Float, Int
from core.metrics.binning import bin_index, equal_width_edges
from core.metrics.comparison import Comparison, compare
from core.predictions import Predictions, ScoreKind, Task
from core.screens.kit.methods import IN_SENTENCE
from core.screens.posthoc.view import innate_summary
from core.screens.posthoc.words import plain_sentence, sentence
from core.studies import posthoc
from core.studies.posthoc import NONE, EvaluatedMethod, MethodReport
from core.studies.temperatures import innate_calibration
from tests.benchmarks.claims.comparisons import MANY_ROWS, compared
from tests.benchmarks.claims.designs import Classes, Rng, Row, classes, generator, power
from tests.benchmarks.claims.designs import sentence as claim

METRICS = ("ece", "nll", "brier")
METHODS = ("ts", "focal_map", "focal_ts", "isotonic")
KNOWN, BINS = 50_000, 15
SIZES = (200, 1_000, 10_000)
DESIGNS = {
    "K 2, calibrated": classes(2, 1.0),
    "K 10, calibrated": classes(10, 1.0),
    "K 10, T 1.1": classes(10, 1.1),
    "K 10, T 1.5": classes(10, 1.5),
}
METHOD = {words: method for method, words in IN_SENTENCE.items()}
FIRST = re.compile(r"(.+) takes the calibration error from")
RANKED = re.compile(r"(.+?) (?:stays?) higher|(.+?) goes lower")
RAISES = re.compile(r"(.+?) raises? it")
Errors = Mapping[str, float]


def file(p: Float, labels: Int) -> Predictions:
    """Return probabilities as they are read."""
    return Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, labels, renormalise=True)


def true_error(p: Float, q: Float) -> float:
    """Return the ECE of answers whose true probabilities are known."""
    answers = p.argmax(axis=1)[:, None]
    sure, right = (np.take_along_axis(each, answers, 1)[:, 0] for each in (p, q))
    gaps = np.bincount(bin_index(sure, equal_width_edges(BINS)), sure - right, BINS)
    return float(np.abs(gaps).sum() / len(p))


def methods_in(text: str) -> list[str]:
    """Return the methods of a list of them, as a sentence has it."""
    found = []
    for words in re.split(r", | and ", text.strip(" .")):
        found += [method for name, method in METHOD.items() if name.lower() == words.lower()]
    return found


def judged(
    fit_rows: Predictions, rows: Predictions
) -> tuple[dict[str, MethodReport], dict[str, EvaluatedMethod]]:
    """Return what none and every method that can be fitted does to the rows."""
    found, fits = {NONE: MethodReport(compared(rows, METRICS), 0)}, {}
    answers = rows.scores.argmax(axis=1)
    for method in METHODS:
        fitted = posthoc.fit(method, fit_rows)
        if fitted.calibrator is not None:
            after = posthoc.calibrated(fitted.calibrator, rows)
            changed = int((after.scores.argmax(axis=1) != answers).sum())
            found[method] = MethodReport(compared(after, METRICS), changed)
            fits[method] = EvaluatedMethod(fitted, found[method])
    return found, fits


def wrong_first(text: str, true: Errors) -> bool:
    """Whether a first line names a correction that does not lower the true error."""
    named = FIRST.match(text)
    return named is not None and true[methods_in(named[1])[0]] >= true[NONE]


def wrong_second(text: str, first: str, true: Errors) -> bool:
    """Whether a second line ranks the best and another the wrong way round, or what it raises."""
    named = FIRST.match(first)
    if named is None:
        raised = [m for each in RAISES.finditer(text) for m in methods_in(each[1].split(". ")[-1])]
        return any(true[method] <= true[NONE] for method in raised)
    best = true[methods_in(named[1])[0]]
    wrong = False
    for part in text.partition(". ")[0].split("; "):
        for higher, lower in RANKED.findall(part):
            wrong |= any(true[m] <= best for m in methods_in(higher))
            wrong |= any(true[m] >= best for m in methods_in(lower))
    return wrong


def wrong_plain(found: Mapping[str, MethodReport], none: Comparison, true: Errors) -> bool:
    """Whether the line in plain words names a correction that does not lower the true error."""
    named = re.match(r"The correction is (.+?)\. Difference", plain_sentence(found, none).second)
    return named is not None and true[methods_in(named[1])[0]] >= true[NONE]


def cell(
    design: str, draw: Callable[[Rng, int], Classes], n: int, sets: int, seed: int
) -> Iterator[Row]:
    """Yield the rates of one design and number of rows."""
    p, _, q = draw(generator(seed, 2**32, design), KNOWN)
    hits = dict.fromkeys(("first", "second", "plain", "helps", "innate"), 0)
    for number in range(sets):
        rng = generator(seed, number, design, n)
        fit_rows, rows_ = (file(*draw(rng, n)[:2]) for _ in range(2))
        found, fits = judged(fit_rows, rows_)
        true = {NONE: true_error(p, q)}
        for method, one in fits.items():
            assert one.fit is not None
            assert one.fit.calibrator is not None
            known = posthoc.calibrated(one.fit.calibrator, file(p, np.zeros(KNOWN, dtype=int)))
            true[method] = true_error(known.probabilities(), q)
        if "calibrated" in design:
            true[NONE] = 0.0
        none = compare([one.compared for one in found.values()], list(found), 0)
        words = sentence(found, none)
        hits["first"] += wrong_first(words.text, true)
        hits["second"] += wrong_second(words.second, words.text, true)
        hits["plain"] += wrong_plain(found, none, true)
        hits["helps"] += FIRST.match(words.text) is not None
        alone = innate_summary({"A": innate_calibration(rows_, found[NONE], fits["ts"])})
        hits["innate"] += ("none is calibrated" in alone) == ("calibrated" in design)
    share = {name: hit / sets for name, hit in hits.items()}
    yield claim("a correction that does not help is said to", design, n, share["first"], sets)
    yield claim("… in plain words", design, n, share["plain"], sets)
    yield claim("corrections ranked the wrong way round", design, n, share["second"], sets)
    if "calibrated" in design:
        yield claim("“none is calibrated by its training”", design, n, share["innate"], sets)
    else:
        yield power("a correction is said to help", design, n, share["helps"], sets)


def rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield the rates, a quarter of the sets at 10,000 rows."""
    for design, draw in DESIGNS.items():
        for n in SIZES:
            yield from cell(design, draw, n, sets if n < MANY_ROWS else max(20, sets // 4), seed)
