"""Clinical numbers and sentences.

Stated risks are Beta(1/2, 4), 11 in 100 on average; events come true with probability
sigmoid(a + b logit(p) + c sin(3 logit(p))): calibrated a, b, c = 0, 1, 0; too low 0.4, 1, 0; too
extreme 0, 0.7, 0; wavy 0, 1, 0.6. The truth is the value on 2,000,000 rows (0, for the slope 1,
where the model is calibrated). 400 resamples. "The curve's band" is pointwise: the share of rows
at which it holds the true curve.

Sentences of one finding are those on calibrated films, 31 in 100 with it, each of its own patient
or 20 of a patient (intra-group correlation 0.3), with four subgroups drawn at random.

For `ici`, `e50`, `e90` and `emax` the basic bootstrap alone held the truth in 52 to 97 of 100 data
sets and the percentile bootstrap alone in 77 to 100 (60 data sets a cell; too low, too extreme and
wavy; 500 and 2,000 rows), so the interval spans both.
"""

from collections.abc import Iterator

import numpy as np

from core.arrays import Bool, Float, sigmoid
from core.metrics import METRICS, suite
from core.metrics.clinical.curve import ERRORS, curve_errors, flexible
from core.metrics.clinical.fit import hosmer_lemeshow
from core.metrics.clinical.groups import grouping
from core.metrics.estimates import clinical_scores, curve_estimates
from core.metrics.ranked import SortedOutcomes
from core.predictions import Groups, Outcomes, Predictions, ScoreKind, Task
from core.screens.xray.finding import badge, sentence
from core.screens.xray.findings import temperature_summary
from core.screens.xray.saliency import KINDS, pointing_text
from core.screens.xray.use import group_table
from core.screens.xray.words import ClinicSource
from core.studies.clinic import groups as subgroups
from core.studies.clinic import one_finding, temperature_scaled
from core.xray.localisation import Localisation, pointed
from tests.benchmarks.claims import groups
from tests.benchmarks.claims.designs import COVERAGE, Row, generator
from tests.benchmarks.claims.designs import sentence as claim

FEW = "25 patients: intervals from few groups are rough, as the notice FEW_GROUPS says."
SPANS = "Spans two bootstraps and begins at 0 within the noise floor."
THIN = "Read where few rows lie, at an end of the curve."
# events come true with probability sigmoid(a + b logit(p) + c sin(3 logit(p)))
MODELS = {
    "calibrated": (0.0, 1.0, 0.0),
    "too low": (0.4, 1.0, 0.0),
    "too extreme": (0.0, 0.7, 0.0),
    "wavy": (0.0, 1.0, 0.6),
}
SIZES, RESAMPLES = (500, 2_000, 10_000), 400
PATIENTS = {"films alone": 1, "20 films a patient, r 0.3": 20}
OFF_WORDS = ("too extreme", "not spread enough", "its curve is off")
FITTED = ("citl", "slope", "intercept", "brier_skill")
BAND = "the curve's band"


def drawn(n: int, model: str, rng: np.random.Generator) -> tuple[Float, Bool]:
    """Draw stated risks, 11 in 100 on average, and outcomes of a model."""
    p = np.clip(rng.beta(0.5, 4.0, n), 1e-9, 1 - 1e-9)
    a, b, c = MODELS[model]
    x = np.log(p) - np.log1p(-p)
    return p, rng.random(n) < sigmoid(a + b * x + c * np.sin(3 * x))


def truth(model: str) -> tuple[dict[str, float], tuple[Float, Float]]:
    """Return the numbers of 2,000,000 rows, and their curve."""
    p, y = drawn(2_000_000, model, np.random.default_rng(2**32))
    ranked = SortedOutcomes.of(Outcomes(p, y))
    curve = flexible(p, y)
    truths = {metric: METRICS[metric].function(ranked) for metric in FITTED} | curve_errors(ranked)[
        0
    ]
    if model == "calibrated":
        truths |= dict.fromkeys((*ERRORS, "citl", "intercept"), 0.0) | {"slope": 1.0}
        return truths, (curve.at, curve.at)
    return truths, (curve.at, curve.observed)


def held(p: Float, y: Bool, true: dict[str, float], line: tuple[Float, Float]) -> dict[str, float]:
    """Return for each number whether its interval holds the truth; for the band, the share."""
    binary = Predictions(Task.BINARY, ScoreKind.SIGMOID, p, y.astype(np.int64))
    prepared = suite.prepare(binary, 1, n_resamples=RESAMPLES, seed=0)
    scores = clinical_scores(prepared, level=0.95)
    scores |= {m: score for m, (score, _) in curve_estimates(prepared, level=0.95).items()}
    inside = {
        metric: float((s := scores[metric]).low is not None and s.low <= true[metric] <= s.high)
        for metric in (*FITTED, *ERRORS)
    }
    curve = flexible(p, y)
    at = np.interp(curve.at, *line)
    inside[BAND] = float(((curve.low <= at) & (at <= curve.high)) @ curve.rows / curve.rows.sum())
    return inside


def noted(row: Row) -> Row:
    """Return a row with its reason, where one is known."""
    note = ""
    if row.design in PATIENTS and PATIENTS[row.design] > 1 and row.rows == min(SIZES):
        note = FEW
    elif row.claim in ERRORS and row.rate > COVERAGE[1]:
        note = SPANS
    elif row.claim == "emax":
        note = THIN
    return row._replace(note=note)


def interval_rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often the intervals hold the truth."""
    for number, model in enumerate(MODELS):
        true, line = truth(model)
        for n in SIZES:
            total = dict.fromkeys((*FITTED, *ERRORS, BAND), 0.0)
            for at in range(sets):
                p, y = drawn(n, model, np.random.default_rng([seed + at, n, number]))
                for name, inside in held(p, y, true, line).items():
                    total[name] += inside / sets
            for name, rate in total.items():
                yield Row(name, model, n, rate, sets)


def sentence_rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often a calibrated finding is said to be off."""
    for n in SIZES:
        for design, each in PATIENTS.items():
            total: dict[str, float] = {}
            for number in range(sets):
                rng = generator(seed, number, design, n)
                for name, hit in _said(rng, n, each).items():
                    total[name] = total.get(name, 0.0) + hit / sets
            for name, rate in total.items():
                yield claim(name, design, n, rate, sets)


def _said(rng: np.random.Generator, n: int, each: int) -> dict[str, bool]:
    (fit_rows, _, _), (rows_, p, y) = (_films(rng, n, each) for _ in range(2))
    source = ClinicSource(run="run", split="test", digest="0" * 64, findings=("Effusion",), n=n)
    finding = one_finding(rows_)
    by_group = subgroups(p, y, grouping([str(k) for k in rng.integers(0, 4, n)]), rows_.sampling)
    test = hosmer_lemeshow(p, y)
    return {
        "a finding's scores or curve are off": any(
            words in sentence(source, finding).second for words in OFF_WORDS
        ),
        "“this score is not a probability”": badge(source, finding) is not None,
        "a cell of the subgroups is strong": any(
            row.strong for row in group_table(source, "group", by_group).written()
        ),
        "a temperature lowers the error of a finding": "in 1 of 1 findings"
        in temperature_summary({0: temperature_scaled(fit_rows, rows_)}),
        **({"Hosmer-Lemeshow, p under 0.05": test.p_value < 0.05} if each == 1 else {}),
    }


def _films(rng: np.random.Generator, n: int, each: int) -> tuple[Predictions, Float, Bool]:
    p, y, patient = groups.films(rng, n, each, 0.3, 1.0)
    of = None if each == 1 else Groups("patient", patient)
    kinds = Task.BINARY, ScoreKind.SIGMOID
    return Predictions(*kinds, p, y.astype(np.int64), groups=of), p, y


def pointing_rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often a map that points like all others is said to point better."""
    for n in (20, 100, 500):
        hits = 0
        for number in range(sets):
            rng = generator(seed, number, "pointing", n)
            shares = {kind: pointed(rng.random(n) < 0.3) for kind in KINDS}
            maps = {kind: Localisation(n, *[share] * 3) for kind, share in shares.items()}
            hits += "beyond what every map" in pointing_text(maps, "effusion")
        yield claim("a map points beyond chance", "all point alike", n, hits / sets, sets)


def rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield the coverage of every interval, then how often sentences are wrong."""
    for row in (*interval_rows(sets, seed), *sentence_rows(sets, seed), *pointing_rows(sets, seed)):
        yield noted(row)
