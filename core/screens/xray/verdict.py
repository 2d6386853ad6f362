"""What is said of one finding: its sentence, and the badge over its numbers."""

from dataclasses import dataclass
from typing import Final

from core.codes import NoticeCode
from core.metrics.clinical.groups import too_few
from core.metrics.intervals import quantile
from core.metrics.macro import ChanceAmong
from core.metrics.records import Floor, Score
from core.metrics.verdict_codes import DETECTED, SLOPE
from core.screens.kit.methods import IN_SENTENCE
from core.screens.kit.numbers import THIN, count, points, span, two, two_span
from core.screens.kit.records import Sentence
from core.screens.kit.sentences import taken_alone, verdict_sentence, worth
from core.screens.xray.words import TOO_FEW, ClinicSource
from core.studies.clinic import Error, OneFinding

FINDINGS: Final = "findings"  # what labels are called here
LEAST_OFF: Final = 0.01  # of ECE: a score that is off by less may be read as a probability
FAR_OFF: Final = 0.10  # of ECE: a score that is off by as much is none; nor one off by the rate


@dataclass(frozen=True)
class Badge:
    """What must be said over the numbers: a heading and its text; `alarm` for the strongest.

    `recalibrated` where it speaks of a recalibration, and not of scores that need one.
    """

    title: str
    text: str
    alarm: bool = False
    recalibrated: bool = False


def few(analysis: OneFinding) -> bool:
    """Whether there are too few events or non-events for a verdict on the curve."""
    return too_few(analysis.fit.rarer)


def as_few(analysis: OneFinding) -> str:
    """Return the effective number of rows with the rarer outcome; nothing without groups."""
    if analysis.extents.groups is None:
        return ""
    fit = analysis.fit
    events, others = fit.events, fit.n - fit.events
    rarer = f"{count(events)} with it" if fit.rate <= 0.5 else f"{count(others)} without it"
    return f"; the {rarer} count as about {count(int(fit.rarer))} independent ones"


def extremes(source: ClinicSource, analysis: OneFinding) -> str:
    """Return how many films have scores next to 0 or 1; empty without any."""
    n = analysis.fit.extreme
    films = source.films if n > 1 else source.films[:-1]
    return f"{count(n)} {films} within a millionth of 0 or 1" if n else ""


def hanging(source: ClinicSource, analysis: OneFinding) -> str:
    """Return that films with scores next to 0 or 1 decide the slope; empty where they do not."""
    return f"the slope depends much on {extremes(source, analysis)}" if analysis.fit.swayed else ""


def _unjudged(source: ClinicSource, analysis: OneFinding) -> str:
    """Return why the slope says nothing of the spread; empty where it does."""
    hangs, changed = hanging(source, analysis), analysis.recalibrated
    if changed is None or changed.fit.method != "isotonic":
        return hangs
    steps = "isotonic regression leaves few steps, which a slope does not describe"
    return f"{steps}; {hangs}" if hangs else steps


def sentence(source: ClinicSource, analysis: OneFinding) -> Sentence:
    """Return the verdict on one finding, in the words of every page, and how its scores spread."""
    target = analysis.audit
    second = (
        taken_alone(target, FINDINGS),
        _spread(source, analysis),
        worth(target, source.films),
    )
    return Sentence(verdict_sentence(target, FINDINGS).parts, " ".join(filter(None, second)))


def _spread(source: ClinicSource, analysis: OneFinding) -> str:
    """Return what slope and curve say of the spread of the scores."""
    if few(analysis):
        events = f"{count(analysis.fit.events)} of {count(analysis.fit.n)}"
        return f"{TOO_FEW.capitalize()} to judge its curve ({events}{as_few(analysis)})."
    slope = analysis.fit.slope
    if slope.value is None or slope.low is None or slope.high is None:
        return f"{slope.reason[:1].upper()}{slope.reason[1:]}."
    interval = f"(slope {two(slope.value)}, {two_span(slope.low, slope.high)})"
    unjudged = _unjudged(source, analysis)
    if unjudged:
        return f"No verdict on the spread of its scores {interval}: {unjudged}."
    if outside(slope, 1.0) and not _detected(analysis):
        among = isinstance(analysis.audit.verdict, ChanceAmong)
        rest = "among all findings" if among else "when mean and bins are tested too"
        return (
            f"The spread of its scores could be chance {interval}: taken alone its interval "
            f"excludes 1, but not {rest}."
        )
    verdict = analysis.audit.verdict
    if outside(slope, 1.0) and (verdict.reading or verdict.code in SLOPE):  # as the headline says
        return ""
    if slope.high < 1:
        return f"Its scores are too extreme {interval}."
    if slope.low > 1:
        return f"Its scores are not spread enough {interval}."
    if _curved(analysis) and _detected(analysis) and not outside(analysis.fit.in_the_large, 0.0):
        off = points(analysis.audit.metrics["ici"].value or 0.0)
        return f"Mean and slope fit, but its curve is off by {off} points on average (ICI)."
    return (
        f"The spread of its scores fits {interval}, as far as {count(source.n)} {source.films} "
        "can show."
    )


def _detected(analysis: OneFinding) -> bool:
    """Whether the joint test of gap, slope and ECE finds its scores off, as the verdict says."""
    return analysis.audit.verdict.code in DETECTED


def outside(score: Score, ideal: float) -> bool:
    """Whether the interval of a score excludes its ideal."""
    if score.low is None or score.high is None:
        return False
    return not score.low <= ideal <= score.high


def _beyond(error: Score, floor: Floor) -> bool:
    """Whether an error is larger than a perfect model's would look, and large enough to matter."""
    return error.value is not None and error.value > max(floor.q95, LEAST_OFF)


def _curved(analysis: OneFinding) -> bool:
    """Whether the flexible curve leaves the diagonal beyond chance, which a slope may not show."""
    return not few(analysis) and _beyond(
        analysis.audit.metrics["ici"], analysis.audit.noise_floor["ici"]
    )


def _off(analysis: OneFinding) -> bool:
    """Whether calibration in the large, the slope or the curve misses its ideal beyond chance.

    Where scores next to 0 or 1 decide the slope, Spiegelhalter's test speaks, which they do not.
    """
    if outside(analysis.fit.in_the_large, 0.0) or _curved(analysis):
        return True
    if not analysis.fit.swayed:
        return outside(analysis.fit.slope, 1.0)
    z = analysis.audit.metrics["spiegelhalter_z"]
    return z.value is not None and abs(z.value) > quantile(z.level)


def badge(source: ClinicSource, analysis: OneFinding) -> Badge | None:
    """Return what must be said of scores that are no probabilities, or of a recalibration."""
    changed = analysis.recalibrated
    if changed is not None:
        return _recalibrated(source, analysis)
    error, floor = analysis.audit.metrics["ece"], analysis.audit.noise_floor["ece"]
    one_sided = analysis.fit.events in (0, analysis.fit.n)  # nothing is ranked, or can be fitted
    if one_sided or not (_detected(analysis) and _off(analysis) and _beyond(error, floor)):
        return None
    if NoticeCode.NOT_PROBABILITY in {note.code for note in analysis.notices}:
        return Badge(
            "This score is not a probability",
            f"50{THIN}% is not an even chance: the score was rescaled, or findings are rarer here "
            "than in training.",
            alarm=True,
        )
    rarer = min(analysis.fit.rate, 1.0 - analysis.fit.rate)
    far = error.value is not None and error.value >= min(FAR_OFF, rarer)
    off = f"ff by {points(error.value)} points (ECE)"
    perfect = f"Chance: up to {points(floor.q95)}."
    if far:
        return Badge("This score is not a probability", f"It is o{off}. {perfect}")
    return Badge(f"O{off}", perfect)


def _recalibrated(source: ClinicSource, analysis: OneFinding) -> Badge:
    changed = analysis.recalibrated
    assert changed is not None
    method = changed.fit.method
    difference = changed.difference
    verdict = "a difference within chance" if difference.tie else "beyond chance"
    method_words = {
        "beta": "a curve of three numbers that keeps the order of films and needs few events",
        "isotonic": "a rising staircase of any form, which needs many events",
    }[method]
    return Badge(
        f"Recalibrated by {IN_SENTENCE[method]}",
        f"{method_words.capitalize()}; fitted on {count(changed.rows)} other {source.films}. "
        f"Every number and figure here is of the {count(source.n)} that were not fitted on. "
        f"Their ECE goes from {_with_floor(changed.before)} to {_with_floor(after(analysis))}: "
        f"{points(difference.value, signed=True)} points "
        f"({span(difference.low, difference.high, signed=True)}), {verdict}.",
        recalibrated=True,
    )


def after(analysis: OneFinding) -> Error:
    """Return the calibration error of the scores as they are shown."""
    return Error(analysis.audit.metrics["ece"], analysis.audit.noise_floor["ece"])


def _with_floor(error: Error) -> str:
    return f"{points(error.score.value)}{THIN}% (chance: up to {points(error.floor.q95)})"
