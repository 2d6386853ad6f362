"""What scores are: a survey of their numbers, the rule where nobody says, and other units."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from core.arrays import Float, row_chunks
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.predictions import ScoreKind
from core.readers.predictions.result import Question, ReadChoice, Units, undecided

LOGITS, PROBABILITIES = ScoreKind.LOGITS, ScoreKind.PROBABILITIES
SIGMOID, CONFIDENCE = ScoreKind.SIGMOID, ScoreKind.CONFIDENCE
DECLARED = "you said so"
FULL = 0.01  # by how much all rows fall short of one where some answers are not listed
GRADES = 10.0  # up to which numbers may be grades
STATE_KIND = "say what they are with --scores logits, --scores probabilities or --scores sigmoid"


SAMPLE = 4_096  # values looked at to tell to how many digits numbers were rounded
MAX_DIGITS = 8
# How far a row of probabilities may sum from one: a few rounding errors of the type that a model
# computed in, which is often coarser than the type of the file (mixed precision).
TOLERANCE = {2: 5e-3, 4: 1e-3, 8: 1e-4}
QUIET = {2: 1e-5, 4: 1e-5, 8: 1e-6}  # below this nothing needs to be said
MOST = 0.05  # beyond this no rounding explains a sum


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What the rules about the kind of scores need to know."""

    # low, high: smallest and largest value; `low` may be -inf
    low: float
    high: float
    # low_at, high_at: row and column of the two, as a message names them
    low_at: str
    high_at: str
    # low_sum, high_sum: smallest and largest sum of a row; the values themselves for a single
    # column
    low_sum: float
    high_sum: float
    worst_row: str  # row whose sum lies farthest from one, likewise
    # tolerance, quiet: how far a sum may lie from one, and up to where nothing is said
    tolerance: float
    quiet: float

    @property
    def deviation(self) -> float:
        """Largest distance of a row's sum from one."""
        return max(abs(self.low_sum - 1.0), abs(self.high_sum - 1.0))

    @property
    def sums_to_one(self) -> bool:
        """Whether every row sums to one within the tolerance."""
        return self.deviation <= self.tolerance

    @property
    def in_unit(self) -> bool:
        """Whether every value lies in [0, 1], up to rounding above 1."""
        return self.low >= 0.0 and self.high <= 1.0 + self.tolerance

    @property
    def same_sums(self) -> bool:
        """Whether no value is below 0 and all rows have one sum: shares or counts of a whole."""
        spread = self.high_sum - self.low_sum
        return self.low >= 0.0 and self.high_sum > 0.0 and spread <= 2e-3 * self.high_sum

    @property
    def percent(self) -> bool:
        """Whether rows sum to 100 instead of 1."""
        near = 100.0 * self.tolerance
        return self.low >= 0.0 and max(abs(self.low_sum - 100), abs(self.high_sum - 100)) <= near


def survey(
    scores: npt.NDArray[np.floating],
    *,
    row_name: Callable[[int], str],
    printed: bool = False,
    coarse: float = 0.0,
) -> Survey:
    """Return the survey of a score matrix.

    Parameters
    ----------
    scores : (N, K) or (N,) float
        At least one row.
    row_name : function of int to str
        How a message names a row.
    printed : bool
        Whether numbers were printed as text.
    coarse : float
        Rounding step near 1 when the file's own type is coarser than the dtype here.

    Raises
    ------
    Refused
        NONFINITE: NaN, +inf, or a row of -inf only.
    """
    matrix = scores.reshape(len(scores), -1)
    low, high, low_at, high_at = np.inf, -np.inf, (0, 0), (0, 0)
    low_sum, high_sum, worst, worst_row = np.inf, -np.inf, -1.0, 0
    # One pass in blocks; a file of scores can be larger than memory in float64.
    for rows in row_chunks(*matrix.shape):
        block = matrix[rows].astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(block.sum())  # one cheap test; finite values may still overflow
        if not finite:
            bad = np.argwhere(np.isnan(block) | (block == np.inf))
            if bad.size:
                row, column = (int(i) for i in bad[0])
                nan = "NaN, or a missing value," if printed else "NaN"
                kind = nan if np.isnan(block[row, column]) else "infinity"
                what, at = f"{kind} among the scores", row_name(rows.start + row)
                remedy = "find out why the model gave it; rows are never dropped silently"
                raise Refused("NONFINITE", what, remedy, f"{at} col {column}")
            lost = np.flatnonzero(np.isneginf(block).all(axis=1))
            if lost.size:
                location = row_name(rows.start + int(lost[0]))
                what = "A row holds -infinity only"
                raise Refused("NONFINITE", what, "give each row one finite score", location)
        least, most = int(block.argmin()), int(block.argmax())
        if block.flat[least] < low:
            low, low_at = float(block.flat[least]), _position(least, rows.start, block.shape[1])
        if block.flat[most] > high:
            high, high_at = float(block.flat[most]), _position(most, rows.start, block.shape[1])
        with np.errstate(over="ignore"):
            sums = block.sum(axis=1)
        away = np.abs(sums - 1.0)
        if away.max() > worst:
            worst, worst_row = float(away.max()), rows.start + int(away.argmax())
        low_sum, high_sum = min(low_sum, float(sums.min())), max(high_sum, float(sums.max()))
    least_at, most_at = (f"{row_name(r)} col {c}" for r, c in (low_at, high_at))
    # The error of a sum: rounding to d digits moves each of K values by half of 10^-d.
    tolerance = max(TOLERANCE[matrix.dtype.itemsize], 4.0 * coarse)
    digits = _digits(matrix) if printed or matrix.dtype.itemsize == 8 else None
    if digits is not None:
        tolerance = min(MOST, max(tolerance, 0.5 * 10.0**-digits * matrix.shape[1]))
    quiet = QUIET[matrix.dtype.itemsize]
    return Survey(
        low=low,
        high=high,
        low_at=least_at,
        high_at=most_at,
        low_sum=low_sum,
        high_sum=high_sum,
        worst_row=row_name(worst_row),
        tolerance=tolerance,
        quiet=quiet,
    )


def _position(flat: int, start: int, width: int) -> tuple[int, int]:
    return start + flat // width, flat % width


def _digits(matrix: npt.NDArray[np.floating]) -> int | None:
    """To how many digits after the point a sample of values was rounded; None: to none we see."""
    rows = max(1, SAMPLE // matrix.shape[1])
    sample = matrix[:: max(1, len(matrix) // rows)][:rows].astype(np.float64).reshape(-1)
    if not np.all(np.abs(sample) <= 1.5):
        return None
    for digits in range(1, MAX_DIGITS + 1):
        scaled = sample * 10.0**digits
        if np.all(np.abs(scaled - np.round(scaled)) < 1e-6):
            return digits
    return None


@dataclass(frozen=True, kw_only=True)
class KindEvidence:
    """What decides: the numbers, columns, labels, and what values or names hint at."""

    name: str  # what messages call the scores
    survey: Survey
    columns: int
    multilabel: bool
    one_hot: bool = False
    top_label: bool = False
    unlabelled: bool = False
    bytes: bool = False
    log_of_one: bool = False


@dataclass(frozen=True, kw_only=True)
class KindVerdict:
    """The kind, why, whether rows must be renormalised, what must be said, what was guessed."""

    kind: ScoreKind
    reason: str
    renormalise: bool = False
    notices: tuple[Notice, ...] = ()
    guesses: tuple[Question, ...] = ()


def decide(
    declared: ScoreKind | None,
    hint: ScoreKind | None,
    evidence: KindEvidence,
) -> KindVerdict:
    """Return what the scores are.

    `declared` is what the user said, checked against the values and never overruled; `hint` is what
    the key or header says.

    Raises Refused PROB_SUM or PROB_RANGE, naming the option that decides.
    """
    survey, name = evidence.survey, evidence.name
    if evidence.top_label or CONFIDENCE in (declared, hint):
        if not evidence.top_label:
            what = "Confidences need the answer given beside them"
            raise Refused("AMBIGUOUS_KEYS", what, "add a column with the predicted class", name)
        if declared not in (None, CONFIDENCE):
            what = f"A list of confidences was declared as {declared}"
            remedy = "give scores for every class, or --scores confidence"
            raise Refused("CLASSES", what, remedy, name)
        if not evidence.unlabelled and not (survey.low >= 0 and survey.high <= 1):
            if _like_percent(survey):
                raise _percent(survey)
            low, high = (survey.low, survey.low_at), (survey.high, survey.high_at)
            raise _range(*(low if survey.low < 0 else high), "")
        return KindVerdict(kind=CONFIDENCE, reason="a confidence beside the answer given")
    if declared is not None:
        return _checked(declared, DECLARED, evidence)
    # One-hot rows beside values in [0, 1] that do not sum to one: a score for each label.
    if hint is PROBABILITIES and (
        evidence.multilabel or (evidence.one_hot and survey.in_unit and not survey.sums_to_one)
    ):
        hint = SIGMOID
    # Softmax outputs that are called logits: a second softmax would flatten them to near 1/K.
    exclusive = evidence.columns > 1 and not evidence.multilabel
    if hint is LOGITS and exclusive and survey.in_unit and survey.sums_to_one:
        reason = f"the name {name!r} says logits, but every row sums to one"
        return _checked_guess(PROBABILITIES, reason, evidence)
    if hint in (None, LOGITS) and exclusive and survey.same_sums and not survey.in_unit:
        if survey.percent and hint is None:
            raise _percent(survey)
        units = {
            "probabilities from 0 to 255": Units.BYTE if evidence.bytes else None,
            "percent": Units.PERCENT if survey.percent else None,
            "shares of their sum": Units.SUM,
        }
        choices = [ReadChoice(title, {"units": unit}) for title, unit in units.items() if unit]
        what = f"Every row of {name} sums to about {survey.high_sum:.5g}, none below 0"
        logits = ReadChoice("logits", {"scores": LOGITS})
        raise undecided(f"{what}: counts or shares rather than logits", *choices, logits)
    if hint is LOGITS and evidence.columns == 1 and survey.in_unit:
        raise undecided(
            f"{name} run from {survey.low:.4g} to {survey.high:.4g}: the name says logits, the"
            " values look like probabilities",
            ReadChoice("probabilities", {"scores": PROBABILITIES}),
            ReadChoice("logits", {"scores": LOGITS}),
        )
    if hint is LOGITS and evidence.log_of_one and survey.high <= 0.0:
        raise undecided(
            f"No value of {name} is above 0: logarithms of one probability, or log-odds",
            ReadChoice("natural logarithms of the probability", {"units": Units.LN}),
            ReadChoice("log-odds", {"scores": LOGITS}),
        )
    if hint is not None:
        return _checked(hint, f"the name {name!r} says so", evidence)
    return _guessed(evidence)


def _guessed(evidence: KindEvidence) -> KindVerdict:
    """Apply the rule of last resort, in its written order."""
    survey, name = evidence.survey, evidence.name
    near = -1e-3 < survey.low < 0 and evidence.columns > 1 and survey.sums_to_one
    if near:
        raise _range(
            survey.low, survey.low_at, "; every row sums to one, so they look like probabilities"
        )
    # Outside 0 to 1: logits, if nothing speaks for percent or bytes.
    if not survey.in_unit:
        # Logits by their range, which features and counts have too: answers must bear it out.
        reason = f"values lie outside 0 to 1 ({survey.low:.4g} to {survey.high:.4g})"
        as_logits = ReadChoice("logits", {"scores": LOGITS})
        if survey.low < 0:
            what = f"Nothing but their range says that {name} are logits"
            return KindVerdict(kind=LOGITS, reason=reason, guesses=(undecided(what, as_logits),))
        others = []
        separate = evidence.multilabel or evidence.columns == 1
        summed = survey.low_sum >= 95.0 and survey.high_sum <= 105.0 and evidence.columns > 1
        if (separate or summed) and GRADES < survey.high <= 100.0 + 100.0 * survey.tolerance:
            others.append(ReadChoice("percent", {"units": Units.PERCENT}))
        if evidence.bytes:
            others.append(ReadChoice("probabilities from 0 to 255", {"units": Units.BYTE}))
        if others or evidence.columns == 1:
            what = f"Values in {name} run from {survey.low:.4g} to {survey.high:.4g}, none below 0"
            raise undecided(f"{what}: nothing says what they count", *others, as_logits)
        text = f"read as logits: {reason}, none below 0"
        notices = (Notice(NoticeCode.SCORES_GUESSED, text),)
        guesses = (undecided(f"Nothing says that {name} are logits", as_logits),)
        return KindVerdict(kind=LOGITS, reason=reason, notices=notices, guesses=guesses)
    if evidence.columns == 1 and not evidence.multilabel:
        reason = "one column of values from 0 to 1"
        return _checked_guess(PROBABILITIES, reason, evidence)
    if not evidence.multilabel and survey.sums_to_one:
        return _checked_guess(
            PROBABILITIES, "values lie in 0 to 1 and every row sums to one", evidence
        )
    if evidence.multilabel or evidence.one_hot:
        return _checked_guess(SIGMOID, "values lie in 0 to 1 beside a 0/1 label for each", evidence)
    raise _sum(survey, "so they are neither plainly probabilities nor logits")


def _checked_guess(kind: ScoreKind, reason: str, evidence: KindEvidence) -> KindVerdict:
    verdict = _checked(kind, reason, evidence)
    notice = Notice(NoticeCode.SCORES_GUESSED, f"read as {kind}: {reason}")
    return replace(verdict, kind=kind, notices=(notice, *verdict.notices))


def _checked(kind: ScoreKind, reason: str, evidence: KindEvidence) -> KindVerdict:
    """Return the verdict when the values allow the kind; refuse otherwise."""
    survey = evidence.survey
    if kind is LOGITS:
        return KindVerdict(kind=LOGITS, reason=reason)
    if not survey.in_unit:
        if survey.percent or _like_percent(survey):
            raise _percent(survey)
        below = survey.low < 0
        refusal = _range(
            survey.low if below else survey.high, survey.low_at if below else survey.high_at, ""
        )
        choices = []
        if survey.high <= 0.0:
            choices.append(ReadChoice("natural logarithms of probabilities", {"units": Units.LN}))
        if evidence.bytes:
            choices.append(ReadChoice("probabilities from 0 to 255", {"units": Units.BYTE}))
        raise Question(refusal, tuple(choices))
    # Sigmoids are no distribution: labels must allow several classes at once.
    if kind is SIGMOID or evidence.multilabel or evidence.columns == 1:
        if survey.high > 1.0:
            raise _range(survey.high, survey.high_at, "")
        separate = evidence.multilabel or evidence.one_hot
        if kind is SIGMOID and evidence.columns > 1 and not separate:
            what = "Sigmoid scores need a 0/1 label for each column, and each row has one label"
            remedy = "give 0/1 labels for each column, or choose another kind"
            raise Refused("CLASSES", what, remedy)
        return KindVerdict(kind=SIGMOID if separate else kind, reason=reason)
    if not survey.sums_to_one:
        exclusive = "so they are not probabilities of one class out of several"
        raise _sum(survey, exclusive if reason == DECLARED else f"although {reason}")
    if survey.deviation <= survey.quiet and survey.high <= 1.0:
        return KindVerdict(kind=PROBABILITIES, reason=reason)
    text = f"rows of {evidence.name} sum to one only approximately (off by at most"
    text += f" {survey.deviation:.2g}, in {survey.worst_row}); each row was divided by its sum"
    notices = (Notice(NoticeCode.RENORMALISED, text),)
    return KindVerdict(kind=PROBABILITIES, reason=reason, renormalise=True, notices=notices)


def _like_percent(survey: Survey) -> bool:
    """Whether values could be percent; a scale of grades, such as 1 to 5, ends far below 100."""
    return survey.low >= 0 and GRADES < survey.high <= 100


def _percent(survey: Survey) -> Refused:
    sums = f"; rows sum to about {survey.high_sum:.5g}" if survey.percent else ""
    what = f"Values up to {survey.high:.5g} look like percent{sums}, expected 0 to 1"
    remedy = "divide by 100, or say --units percent"
    refusal = Refused("PROB_RANGE", what, remedy, survey.high_at)
    return Question(refusal, (ReadChoice("percent", {"units": Units.PERCENT}),))


def _range(value: float, location: str, more: str) -> Refused:
    what = f"Probability {value:.9g} outside 0 to 1{more}"
    remedy = "find out how it arose, or say --scores logits if that is what they are"
    return Refused("PROB_RANGE", what, remedy, location)


def _sum(survey: Survey, why: str) -> Refused:
    low, high = survey.low_sum, survey.high_sum
    what = f"Values lie in 0 to 1 but rows sum to {low:.6g} .. {high:.6g}, {why}"
    if low > 0.0 and high < 1.0 - FULL and high - low > FULL:  # the rest went to answers not listed
        return undecided(
            what,
            ReadChoice("probabilities of the listed answers alone", {"units": Units.SUM}),
            ReadChoice("logits", {"scores": LOGITS}),
        )
    return Refused("PROB_SUM", what, STATE_KIND, survey.worst_row)


# Scores in other units: percent, bytes, logarithms of other bases, a softmax of a softmax.
Scores = npt.NDArray[np.floating]
LN = {Units.LN: 1.0, Units.LOG2: float(np.log(2.0)), Units.LOG10: float(np.log(10.0))}
ABOUT = 0.05  # how far sums may lie from one where logarithms were rounded or cut off
MANY_ROWS = 20  # in which sums do not come out at one by accident
ROUNDING = 1e-3  # of what a softmax in float32 gives back
NAMES: Mapping[Units, str] = {
    Units.PERCENT: "percent",
    Units.BYTE: "numbers from 0 to 255",
    Units.SUM: "shares of the same sum in every row",
    Units.LN: "natural logarithms of probabilities",
    Units.LOG2: "base-2 logarithms of probabilities",
    Units.LOG10: "base-10 logarithms of probabilities",
    Units.SOFTMAX_TWICE: "softmax of probabilities",
}
# What a notice says, where numbers were changed
DONE: Mapping[Units, str] = {
    Units.PERCENT: "percent: divided by 100",
    Units.BYTE: "from 0 to 255: divided by 255",
    Units.SUM: "shares of the same sum in every row: divided by it",
    Units.SOFTMAX_TWICE: "a softmax of a softmax: the second one was undone",
}


def kinds_in(units: Units, *, separate: bool) -> tuple[ScoreKind, ...]:
    """Return what converted scores can be; `separate` where each column speaks for itself."""
    if units in LN and not separate:
        return (ScoreKind.LOGITS,)
    if units in (Units.SOFTMAX_TWICE, Units.SUM):
        return (ScoreKind.PROBABILITIES,)
    return (ScoreKind.PROBABILITIES, ScoreKind.SIGMOID, ScoreKind.CONFIDENCE)


def converted(scores: Scores, units: Units, location: str, *, separate: bool) -> Float:
    """Return scores in other units as fractions or natural logarithms, float64.

    Bytes of several columns are divided by their sum, which rounding moves from 255.

    Raises Refused PROB_RANGE: the values cannot be in these units.
    """
    wide = scores.astype(np.float64)
    if not _possible(wide, units, separate=separate):
        what = f"Values from {wide.min():.5g} to {wide.max():.5g} are not {NAMES[units]}"
        raise Refused("PROB_RANGE", what, "drop --units, or say what they are", location)
    if units is Units.PERCENT:
        return wide / 100.0
    if units is Units.SUM or (units is Units.BYTE and wide.ndim == 2 and could_be_bytes(wide)):
        return np.asarray(wide / wide.sum(axis=1, keepdims=True))
    if units is Units.BYTE:
        return wide / 255.0
    if units is Units.SOFTMAX_TWICE:
        return np.clip(_once(wide), 0.0, 1.0)
    logs = wide * LN[units]  # of one class's probability they are no log-odds
    return np.asarray(np.exp(logs) if separate else logs)


def _possible(wide: Float, units: Units, *, separate: bool) -> bool:
    """Whether values can be in some units, as far as their range and their sums tell."""
    several = not separate
    if units in (Units.PERCENT, Units.BYTE):
        most = 100.0 if units is Units.PERCENT else 255.0
        fractions = several and bool(np.all(np.abs(wide.sum(axis=1) - 1.0) <= ROUNDING))
        return bool(wide.min() >= 0.0 and wide.max() <= most * (1.0 + ROUNDING) and not fractions)
    if units is Units.SUM:
        return several and bool(wide.min() >= 0.0 and wide.sum(axis=1).min() > 0.0)
    if units is Units.SOFTMAX_TWICE:
        return several and could_be_twice(wide)
    powers = np.exp(np.minimum(wide, 1.0) * LN[units])
    return bool(wide.max() <= ROUNDING and (not several or _sums_to_one(powers)))


def _once(twice: Float) -> Float:
    """Undo one softmax: its input summed to one, which fixes the constant that it loses."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(twice)
        return np.asarray(logs - logs.mean(axis=1, keepdims=True) + 1.0 / twice.shape[1])


def log_units(scores: Scores) -> Units | None:
    """Return the base of logarithms of probabilities other than the natural one; None if none.

    A model that is sure of every row sums to about one with any base: then it is the natural one.

    Rounded or cut off, they sum to one only about; with another base no row would come near it.
    """
    if scores.ndim != 2 or scores.shape[1] < 2:
        return None
    for units in (Units.LN, Units.LOG10, Units.LOG2):
        if all(
            _sums_to_one(np.exp(np.minimum(scores[rows].astype(np.float64), 1.0) * LN[units]))
            for rows in row_chunks(*scores.shape)
        ):
            return None if units is Units.LN or len(scores) < MANY_ROWS else units
    return None


def _sums_to_one(block: Float) -> bool:
    return bool(np.all(np.abs(block.sum(axis=1) - 1.0) <= ABOUT))


def could_be_bytes(scores: Scores) -> bool:
    """Whether scores from 0 to 255 are whole numbers, and rows of several sum to about 255."""
    wide = scores.reshape(len(scores), -1)
    for rows in row_chunks(*wide.shape):
        block = wide[rows].astype(np.float64)
        if not np.all(block == np.floor(block)):
            return False
        slack = 0.5 * wide.shape[1] + 1.0  # each was rounded
        if scores.ndim == 2 and np.any(np.abs(block.sum(axis=1) - 255.0) > slack):
            return False
    return True


def could_be_twice(scores: Scores) -> bool:
    """Whether rows could be a softmax of probabilities: none is above e : 1 : ... : 1."""
    if scores.ndim != 2:
        return False
    for rows in row_chunks(*scores.shape):
        once = _once(scores[rows].astype(np.float64))
        if not np.isfinite(once).all() or once.min() < -ROUNDING or once.max() > 1.0 + ROUNDING:
            return False
    return True
