"""Verdicts, and the cells that pages name.

Where claims are calibrated, the rate is that of sets in which something is called off; where they
are not, that of "sound", and of "mixed" where no claim is below what is true. At 20,000 rows the
three constructions whose ECE of 15 bins shows nothing, or whose answers are calibrated. "After a
temperature" is one fitted on other rows, so not calibrated: what is off there is off by what the
fit misses. Beside it stand the same rows under the temperature that is true.

Of groups a sentence says about how often an error would show: what their rows share is estimated.
Of 3,000 films, four a patient (r 0.3), logits off by 15 % were said to show in 61 of 100 sets and
did in 47 and 60 (either sign), of 6,000, 20 a patient (r 0.1), in 72, and did in 68 and 82; another
seed moves what is said by up to 20. Of 1,000 rows of their own 18 were
said, and 17 and 19 did.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from core.arrays import Bool, Float, row_chunks
from core.metrics import suite
from core.metrics.clinical import bands
from core.metrics.estimates import PreparedTarget
from core.metrics.macro import corrected_codes
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import DETECTED, TargetAudit, Verdict, VerdictCode
from core.metrics.resampling import Resamples
from core.predictions import Outcomes, Predictions, ScoreKind, Task
from core.screens.reliability.classes import gap_tone
from core.screens.reliability.plain import certainty_groups
from core.screens.xray.figures import Band
from core.studies import posthoc
from tests.benchmarks.claims.designs import (
    SIZES,
    Row,
    classes,
    classes_off,
    power,
    runner_up,
    sentence,
    softmax,
    wave_within_bins,
)

N_RESAMPLES = 1_000
MANY_ROWS = 5_000  # from here on fewer resamples: the size of the test does not depend on them
N_RESAMPLES_MANY = 300
FINDINGS = 14
SHIFTED = 1.15
MANY_CLASSES = 1_000
MANY_CELLS = 4_000_000  # scores of a data set from which fewer are drawn
OFF = {"over", "under"}
CALLED_OFF = DETECTED | {VerdictCode.OFF_BUT_SMALL}
CONSTRUCTED, CONSTRUCTIONS = 20_000, 50  # rows, and data sets, of the constructions
MISSED = (
    "A fitted temperature is not calibrated: in truth its mean confidence is off by {usual:.2f} "
    "points (median; of sets called off {called:.2f}), and these rows do not show that it is less "
    "than matters."
)
TRUE_TEMPERATURE = 1.5
FITTED = ((1_000, 2_000), (2_000, 4_000), (5_000, 10_000))  # rows of a fit, and judged
TESTED = 10_000
ANY = "a verdict that something is off"
Draw = Callable[[np.random.Generator, int], Float]
Truth = Callable[[Float], Float]


def _sigmoid(logit: Float) -> Float:
    return np.asarray(1.0 / (1.0 + np.exp(-logit)))


def _logit(claims: Float) -> Float:
    return np.asarray(np.log(claims) - np.log1p(-claims))


def _saturated(rng: np.random.Generator, n: int) -> Float:
    """Three quarters of the claims are above .99."""
    return _sigmoid(rng.normal(6.0, 2.1, n))


def _rare(rng: np.random.Generator, n: int) -> Float:
    return rng.beta(0.5, 49.5, n)


def _spread(rng: np.random.Generator, n: int) -> Float:
    return rng.uniform(0.0, 1.0, n)


def _twice_rare(rng: np.random.Generator, n: int) -> Float:
    return 2.0 * _rare(rng, n)


def _twice_constant(rng: np.random.Generator, n: int) -> Float:
    """One risk for all, but for a hair that keeps the rows from being ties."""
    return 0.02 * np.exp(rng.normal(0.0, 0.01, n))


def _logits(rng: np.random.Generator, n: int, k: int) -> Float:
    """Normal logits: of a thousand classes wide enough that one of them stands out."""
    return rng.normal(0.0, 4.0 if k >= MANY_CLASSES else 2.5, (n, k))


def _answers(k: int) -> Draw:
    """Return how to draw the confidence of the answer among K classes."""

    def draw(rng: np.random.Generator, n: int) -> Float:
        return np.concatenate(
            [
                softmax(_logits(rng, rows.stop - rows.start, k)).max(axis=1)
                for rows in row_chunks(n, k)
            ]
        )

    return draw


def _as_stated(claims: Float) -> Float:
    return claims


def _half(claims: Float) -> Float:
    return claims / 2.0


def _lower_above(claims: Float) -> Float:
    """A fifth of the claims is 15 points above what is true, the others as stated."""
    return np.where(claims > 0.8, claims - 0.15, claims)


def _flatter(claims: Float) -> Float:
    return _sigmoid(_logit(claims) / SHIFTED)


@dataclass(frozen=True)
class Design:
    """Claims and their truth."""

    name: str
    draw: Draw
    truth: Truth
    over_only: bool = False  # whether no claim is below what is true


CALIBRATED = (
    Design("saturated", _saturated, _as_stated),
    Design("rare, 1 %", _rare, _as_stated),
    Design("spread", _spread, _as_stated),
    Design("K 2, answers", _answers(2), _as_stated),
    Design("K 10, answers", _answers(10), _as_stated),
    Design("K 1,000, answers", _answers(1_000), _as_stated),
)
WRONG = (
    Design("twice a risk of 1 %, constant", _twice_constant, _half, over_only=True),
    Design("twice a risk of 1 %, spread", _twice_rare, _half, over_only=True),
    Design("saturated, T = 1.15", _saturated, _flatter),
    Design("over-confident above 80 %", _spread, _lower_above, over_only=True),
)


def _prepared(claims: Float, outcomes: Bool, seed: int) -> PreparedTarget:
    draws = N_RESAMPLES if claims.size < MANY_ROWS else N_RESAMPLES_MANY
    resamples = Resamples.of(SortedOutcomes.of(Outcomes(claims, outcomes)), draws, seed)
    return PreparedTarget(
        name="answers",
        target=None,
        of="top_label",
        resamples=resamples,
        n_resamples=draws,
        seed=seed,
    )


def _judged(prepared: PreparedTarget) -> TargetAudit:
    return suite.diagram(prepared, n_bins=15, level=0.95)


def _sets(
    design: Design, n: int, sets: int, seed: int
) -> Iterator[tuple[PreparedTarget, Float, Bool]]:
    rng = np.random.default_rng([seed, n])
    for at in range(sets):
        claims = design.draw(rng, n)
        outcomes = rng.random(n) < design.truth(claims)
        yield _prepared(claims, outcomes, at), claims, outcomes


def _calibrated(design: Design, n: int, sets: int, seed: int) -> list[Row]:
    named = {
        ANY: 0,
        "an interval of the gap that leaves 0 out": 0,
        "plain words name a group of answers": 0,
        "plain words name a band of scores": 0,
    }
    for prepared, claims, outcomes in _sets(design, n, sets, seed):
        judged, of = _judged(prepared), bands(claims, outcomes)
        groups = certainty_groups(prepared.ranked, judged)
        tones = {band.tone for band in Band.each(of)}
        seen = (
            judged.verdict.code in CALLED_OFF,
            not judged.direction.low <= 0 <= judged.direction.high,
            any(group.tone in OFF for group in groups),
            bool(tones & OFF),
        )
        for name, hit in zip(named, seen, strict=True):
            named[name] += hit
    return [sentence(name, design.name, n, hits / sets, sets) for name, hits in named.items()]


def _wrong(design: Design, n: int, sets: int, seed: int) -> list[Row]:
    verdicts = [_judged(one).verdict for one, _, _ in _sets(design, n, sets, seed)]
    codes, both = [one.code for one in verdicts], sum(bool(one.ends) for one in verdicts)
    note = f"detected: {sum(code in DETECTED for code in codes) / sets:.2f}"
    rows = [sentence('"sound"', design.name, n, codes.count("sound") / sets, sets, note)]
    if design.over_only:
        rows.append(sentence('"mixed", with both ends named', design.name, n, both / sets, sets))
    return rows


def _findings(n: int, sets: int, seed: int) -> list[Row]:
    """Fourteen independent findings, from rare to frequent, all calibrated."""
    rng = np.random.default_rng([seed, n, FINDINGS])
    codes = 0
    for at in range(sets):
        labels = []
        for k in range(FINDINGS):
            claims = rng.beta(0.6, 0.6 * (6.0 + 3.0 * k), n)
            labels.append(_judged(_prepared(claims, rng.random(n) < claims, at)))
        codes += any(code in DETECTED for code in corrected_codes(labels))
    design = f"{FINDINGS} independent findings"
    return [sentence("a finding is called off, all together", design, n, codes / sets, sets)]


def _classes(k: int, n: int, sets: int, seed: int) -> list[Row]:
    rng = np.random.default_rng([seed, n, k])
    coloured, named, off = 0, 0, 0
    for at in range(sets):
        logits = _logits(rng, n, k)
        # the largest of logits with Gumbel noise is a draw from their softmax
        labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        rows = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, labels)
        verdict = _of_scores(rows, at)
        table = suite.class_gaps(rows, 0.95, p_joint=verdict.p_value or 0.0)
        coloured += any(gap_tone(row) in OFF for row in table)
        named += bool(verdict.classes)
        off += verdict.code in CALLED_OFF
    return [
        sentence("a class is coloured", f"K {k:,}", n, coloured / sets, sets),
        sentence("a verdict names a class", f"K {k:,}", n, named / sets, sets),
        sentence(ANY, f"K {k:,}, all scores", n, off / sets, sets),
    ]


def _of_scores(rows: Predictions, seed: int) -> Verdict:
    """Return the verdict on the answers of rows, with what their classes state."""
    ready = suite.prepare(rows, None, n_resamples=N_RESAMPLES_MANY, seed=seed)
    return _judged(ready).verdict


def _constructions(sets: int, seed: int) -> list[Row]:
    """Data sets that are off where the gap, the slope and the ECE of 15 bins show nothing."""
    rng = np.random.default_rng([seed, CONSTRUCTED])
    draws = {
        "ten classes off by 10 to 14 points": classes_off,
        "a runner-up of 0.1 % is all of the rest, K 10": runner_up(10),
        "a runner-up of 0.1 % is all of the rest, K 1,000": runner_up(1_000),
    }
    out = []
    for name, draw in draws.items():
        codes = []
        for at in range(sets):
            p, labels, _ = draw(rng, CONSTRUCTED)
            rows = Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, labels)
            codes.append(_of_scores(rows, at).code)
        out.append(_sound(name, codes))
    codes = []
    for at in range(sets):
        claims, outcomes, _ = wave_within_bins(rng, CONSTRUCTED)
        codes.append(_judged(_prepared(claims, outcomes, at)).verdict.code)
    return [*out, _sound("waves of 10 points within bins", codes)]


def _sound(name: str, codes: list[VerdictCode]) -> Row:
    n, detected = len(codes), sum(code in DETECTED for code in codes)
    note = f"detected: {detected / n:.2f}"
    return sentence('"sound"', name, CONSTRUCTED, codes.count(VerdictCode.SOUND) / n, n, note)


def _after_temperature(fitted: int, tested: int, sets: int, seed: int) -> list[Row]:
    """A temperature fitted on other rows, judged beside the true one, which is 1.5."""
    rng, draw = np.random.default_rng([seed, fitted]), classes(10, TRUE_TEMPERATURE)
    codes, true_codes, errors = [], [], []
    for at in range(sets):
        parts = []
        for n in (fitted, tested):
            p, labels, q = draw(rng, n)
            parts.append(Predictions(Task.MULTICLASS, ScoreKind.LOGITS, np.log(p), labels))
        calibrator = posthoc.fit("ts", parts[0]).calibrator
        assert calibrator is not None
        after = posthoc.calibrated(calibrator, parts[1])
        true = replace(parts[1], scores=parts[1].scores / TRUE_TEMPERATURE)
        codes.append(_of_scores(after, at).code)
        true_codes.append(_of_scores(true, at).code)
        answer = np.arange(tested), p.argmax(axis=1)
        errors.append(abs(float((after.probabilities()[answer] - q[answer]).mean())))
    called = [error for error, code in zip(errors, codes, strict=True) if code in DETECTED]
    note = MISSED.format(
        usual=100 * np.median(errors), called=100 * np.median(called) if called else 0.0
    )
    name = f"after a temperature of {fitted:,} rows, K 10"
    off = sum(code in CALLED_OFF for code in true_codes) / sets
    return [
        *_little(name, codes, tested, note),
        power(
            ANY, f"the same rows at the true temperature, {fitted:,} left out", tested, off, sets
        ),
    ]


def _narrow_risk(sets: int, seed: int) -> list[Row]:
    """Risks of 9.5 to 10.5 % where each is 10 %: too extreme, by half a point at most."""
    rng, codes = np.random.default_rng([seed, TESTED]), []
    for at in range(sets):
        claims = rng.uniform(0.095, 0.105, TESTED)
        codes.append(_judged(_prepared(claims, rng.random(TESTED) < 0.1, at)).verdict.code)
    return _little("a risk of 9.5 to 10.5 % that is 10 %", codes, TESTED)


def _little(name: str, codes: list[VerdictCode], n: int, note: str = "") -> list[Row]:
    off = sum(code in DETECTED for code in codes) / len(codes)
    little = codes.count(VerdictCode.OFF_BUT_SMALL) / len(codes)
    return [
        sentence("off by a size that matters", name, n, off, len(codes), note),
        power("off by less than matters", name, n, little, len(codes)),
    ]


def _in_all(rows: list[Row], n: int) -> Row:
    """Return how many of all calibrated sets are called off."""
    own = [row for row in rows if row.claim == ANY and row.rows == n]
    sets = sum(row.sets for row in own)
    rate = sum(row.rate * row.sets for row in own) / sets
    return sentence(ANY, "calibrated sets in all", n, rate, sets)


def _fewer(sets: int, cells: int) -> int:
    """Return how many data sets of that many scores are drawn."""
    return sets if cells < MANY_CELLS else max(20, sets // 4)


def rows(sets: int, seed: int) -> list[Row]:
    """Return every rate."""
    out: list[Row] = []
    for n in SIZES:
        for design in CALIBRATED:
            many = _fewer(sets, n * MANY_CLASSES if "1,000" in design.name else n)
            out += _calibrated(design, n, many, seed)
        for design in WRONG:
            out += _wrong(design, n, sets, seed)
        for k in (2, 3, 10, MANY_CLASSES):
            out += _classes(k, n, _fewer(sets, n * k), seed)
        out += _findings(n, _fewer(sets, n * FINDINGS * FINDINGS), seed)
        out.append(_in_all(out, n))
    out += _constructions(min(sets, CONSTRUCTIONS), seed)
    for fitted, tested in FITTED:
        out += _after_temperature(fitted, tested, sets, seed)
    return [*out, *_narrow_risk(sets, seed)]
