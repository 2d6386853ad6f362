"""The decision curve.

How often a useless score is said to be better than treating all and none, without the rule of 200
events; and for models of use, the share of useful thresholds that is named, and how often the
band holds the whole curve.
"""

import csv
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from core.arrays import Bool, Float, Int, sigmoid
from core.metrics import clinical
from core.metrics.clinical import NetBenefit
from core.metrics.clinical.groups import too_few
from core.predictions import SamplingDesign
from core.studies.clinic import THRESHOLDS
from tests.benchmarks.claims.designs import Row, power, sentence

SHARED = Path(os.environ.get("CANDOR_SHARED", "../shared")) / "data" / "predictions"
INFILTRATION = 4  # column of the scores, after the name of the film
FILMS = 621
AT = np.array(THRESHOLDS)
SHOWN = (AT > 0.0099) & (AT < 0.5001)  # the page's range at first
TRUTH = 500_000  # rows that stand for the truth
USEFUL = 0.002  # net true positives a row that are worth a model
WIDE = "Bonferroni's division ignores that neighbouring thresholds agree: a little wide"
Drawn = tuple[Float, Bool, Int | None]
Draw = Callable[[np.random.Generator], Drawn]


def useless(n: int, share: float) -> Draw:
    """Return a score about the share of events, spread by 1 on the log-odds."""

    def draw(rng: np.random.Generator) -> Drawn:
        p = sigmoid(np.log(share / (1 - share)) + rng.normal(0.0, 1.0, n))
        return p, rng.random(n) < share, None

    return draw


def repeated(groups: int, times: int, share: float) -> Draw:
    """Return the same, every row several times in its own group."""
    once = useless(groups, share)

    def draw(rng: np.random.Generator) -> Drawn:
        p, y, _ = once(rng)
        return np.repeat(p, times), np.repeat(y, times), np.repeat(np.arange(groups), times)

    return draw


def patients(groups: int, times: int, share: float) -> Draw:
    """Return films of patients: a patient's films share the outcome, not the score."""

    def draw(rng: np.random.Generator) -> Drawn:
        p, _, _ = useless(groups * times, share)(rng)
        y = rng.random(groups) < share
        return p, np.repeat(y, times), np.repeat(np.arange(groups), times)

    return draw


def permuted(p: Float, y: Bool) -> Draw:
    """Return rows of real scores beside the outcomes of other rows."""

    def draw(rng: np.random.Generator) -> Drawn:
        return rng.choice(p, FILMS, replace=False), rng.choice(y, FILMS, replace=False), None

    return draw


def ranking(n: int, share: float, distance: float) -> Draw:
    """Return calibrated risks from a normal marker; a distance of 1.47 is an AUROC of 0.85."""

    def draw(rng: np.random.Generator) -> Drawn:
        y = rng.random(n) < share
        x = rng.normal(distance * y, 1.0)
        odds = np.log(share / (1 - share)) + distance * x - distance**2 / 2
        return sigmoid(odds), y, None

    return draw


def infiltration() -> Draw | None:
    """Return permuted films of the chest set, where it is there."""
    scores = SHARED / "chexnet_reproduction_preds.csv"
    labels = SHARED / "chexnet_reproduction_labels.txt"
    if not scores.exists() or not labels.exists():
        return None
    with scores.open(newline="") as lines:
        stated = {row[0]: float(row[INFILTRATION]) for row in list(csv.reader(lines))[1:]}
    came = {row[0]: row[INFILTRATION] == "1" for row in map(str.split, labels.open())}
    names = sorted(stated.keys() & came.keys())
    return permuted(np.array([stated[k] for k in names]), np.array([came[k] for k in names]))


def _benefit(drawn: Drawn) -> NetBenefit:
    p, y, groups = drawn
    return clinical.net_benefit(p, y, AT, sampling=SamplingDesign(groups))


def _useless(design: str, draw: Draw, sets: int, seed: int) -> list[Row]:
    above, claimed, n = 0, 0, 0
    for number in range(sets):
        net = _benefit(draw(np.random.default_rng([seed, number])))
        better = bool(np.any(SHOWN & (net.gain_low > 0.0)))
        above += better
        claimed += better and not too_few(min(net.events, net.n - net.events))
        n = net.n
    return [
        sentence("the band lies above both, of a useless score", design, n, above / sets, sets),
        sentence("“better, beyond chance”, of a useless score", design, n, claimed / sets, sets),
    ]


def _useful(design: str, n: int, draw: Callable[[int], Draw], sets: int, seed: int) -> list[Row]:
    true = _benefit(draw(TRUTH)(np.random.default_rng([seed, sets])))
    gain = true.model - np.maximum(true.treat_all, 0.0)  # over the better of treat all and none
    useful = SHOWN & (gain > USEFUL)
    inside, false, named = 0, 0, 0.0
    for number in range(sets):
        net = _benefit(draw(n)(np.random.default_rng([seed, number])))
        inside += bool(np.all((net.low <= true.model) & (true.model <= net.high)))
        better = SHOWN & (net.gain_low > 0.0)
        false += bool(np.any(better & (gain < 0.0)))
        named += float((better & useful).sum() / useful.sum())
    span = f"useful: {AT[useful][0]:g} to {AT[useful][-1]:g}"
    return [
        Row("the band holds the curve at every threshold", design, n, inside / sets, sets, WIDE),
        sentence("“better, beyond chance”, where it is not", design, n, false / sets, sets),
        power("useful thresholds named", design, n, named / sets, sets, span),
    ]


def rows(sets: int, seed: int) -> list[Row]:
    """Return what is claimed of the decision curve, design by design."""
    designs = {
        f"{share:.0%} of {n:,}": useless(n, share)
        for n, share in (
            (300, 0.1),
            (1_000, 0.1),
            (621, 0.05),
            (200, 0.3),
            (5_000, 0.01),
            (2_000, 0.5),
            (4_000, 0.1),
        )
    }
    designs["20% of 500, each five times"] = repeated(500, 5, 0.2)
    designs["20% of 500 patients, five films each"] = patients(500, 5, 0.2)
    films = infiltration()
    if films is not None:
        designs["Infiltration, permuted"] = films
    out = [row for name, draw in designs.items() for row in _useless(name, draw, sets, seed)]
    for n, share, distance in ((2_000, 0.2, 1.47), (10_000, 0.05, 1.47), (1_000, 0.3, 1.0)):
        name = f"{share:.0%}, markers {distance:g} apart"
        of = partial(ranking, share=share, distance=distance)
        out += _useful(name, n, of, sets, seed)
    return out
