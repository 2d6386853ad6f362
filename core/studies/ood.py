"""One run beside inputs it never saw: what is allowed, what is found, and runs compared."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from core.arrays import Float, Int, digest, row_chunks
from core.codes import NoticeCode, RefusalCode
from core.configs import AuditConfig
from core.datasets.shifts import CORRUPTIONS
from core.defaults import LEVEL
from core.errors import Notice, Refused, UsageError
from core.library.manifest import role_of
from core.metrics import METRICS
from core.metrics.comparison import ComparedRows, why_not
from core.metrics.estimates import proportion
from core.metrics.notices import FEW_GROUPS, weight_summary
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import GroupSummary, Score, Setting, WeightSummary
from core.metrics.units import resampled_by
from core.ood.intervals import auroc_difference, auroc_score, numbers
from core.ood.scores import MANY_LABELS, SCORES, ood_scores, temperature_scaled, unavailable
from core.ood.separation import Separation, effective_sizes
from core.predictions import Predictions, ScoreKind, Task

NOTHING = 0  # in place of a row's number where it may repeat by nature
OTHER_INPUTS = (
    "a set compared with itself says nothing: choose scores of other inputs by the same model; "
    "call corrupted ones corrupted-NAME or CIFAR-10-C NAME, such as corrupted-fog"
)
# `cifar10c-fog-5` and `corrupted-fog-5`, and as people call the official files: but a model that
# was trained on corrupted labels is another model
CORRUPTED = re.compile(
    r"(cifar[-_ ]?10[-_ ]?c|corrupted)(?:(?:[-_: ]+(?:{names}))(?![a-z])|(?:\.\w+)?$)".format(
        names="|".join(name.replace("_", "[-_ ]") for name in (*CORRUPTIONS, "frost"))
    ),
    re.ASCII | re.IGNORECASE,
)
SHIFT_SHOWN = (  # most telling first; noise is the papers' choice, and leaves small networks sure
    *("cifar10c-fog-5", "corrupted-fog-5"),
    *("cifar10c-gaussian_noise-5", "corrupted-gaussian_noise-5"),
)
PAIRED = "hull of DeLong, paired, and MOVER of both runs"
FEW_LABELS = 20  # rows that can be alike by chance
UNSURE = 0.99  # above it, probabilities repeat by nature
DIGITS = 10_000  # to which probabilities are compared
MOSTLY = 0.9  # of the rows; others fall on the next digit
CHANCE_Z = 6.0  # standard errors beyond which answers that agree row by row are no chance


@dataclass(frozen=True, kw_only=True)
class ScoreSeparation:
    """How far one score tells one set from the in-distribution rows."""

    score: str  # of `SCORES`
    temperature: float  # 1 where the scores are as read
    separation: Separation  # both sets, sorted
    numbers: dict[str, Score]  # AUROC first; the others where they were asked for
    # groups, weights: what the rows of either set are worth for the AUROC, where they belong
    # together; and how many of equal weight they are, where they are weighted
    groups: tuple[GroupSummary | None, GroupSummary | None] = (None, None)
    weights: tuple[WeightSummary | None, WeightSummary | None] = (None, None)


@dataclass(frozen=True)
class ShiftEffect:
    """What a shift does to the answers and to the alarm; fractions.

    `confidence`, `ece` and `auroc` speak of the scores after the temperature. `weight` is the
    column that rows count by; empty where each counts once. `low` and `high` are Wilson's interval
    of the accuracy.
    """

    n: int
    accuracy: float
    confidence: float
    ece: float
    auroc: float
    weight: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class ConfidentRows:
    """The rows of a set that look most like in-distribution ones."""

    rows: Int  # (R,), places in the set, most in-distribution first
    # score, confidence: (R,), the score, and the largest probability; NaN where the file states no
    # probabilities
    score: Float
    confidence: Float
    answers: tuple[str, ...]  # names of the classes answered; empty texts where the file has none


def offered(inside: Predictions, *outside: Predictions) -> dict[str, str]:
    """Return every score with why it cannot be had from these parts; "" where it can."""
    why = dict.fromkeys(SCORES, "")
    for part in (inside, *outside):
        why |= unavailable(part)
    return why


def is_shifted(name: str) -> bool:
    """Whether a part, file or run is called what holds the run's own inputs, corrupted."""
    return CORRUPTED.match(name) is not None


def shown_shift(splits: Iterable[str]) -> str:
    """Return the part of a run with changed images that is shown at first; "" where none is."""
    shifted = [split for split in splits if role_of(split, labelled=True) == "shifted"]
    return next(
        (split for split in SHIFT_SHOWN if split in shifted), shifted[-1] if shifted else ""
    )


def check(
    inside: Predictions,
    outside: Predictions,
    name: str,
    *,
    shifted: bool = False,
    parts: Mapping[str, Predictions] | None = None,
) -> tuple[Notice, ...]:
    """Return what must be said of a pair of parts, or refuse one that can say nothing.

    `inside`, `outside`: in-distribution rows, and a set that is told from them; `shifted`: the set
    holds the in-distribution inputs, changed: that nothing changed is then a finding; `parts`: the
    model's other in-distribution parts, such as those it was trained and chosen on.

    Raises Refused OOD_SAME: a set that is not shifted holds the rows of an in-distribution part,
    in any order or form, or the same inputs scored by another model; CLASSES: another number of
    classes, or many labels.
    """
    for part in (inside, outside):
        if part.task is Task.MULTILABEL:
            raise Refused(
                RefusalCode.CLASSES, MANY_LABELS, "use a file whose rows have one answer each"
            )
    stated = Task.TOP_LABEL in (inside.task, outside.task)
    if not stated and inside.n_classes != outside.n_classes:
        what = f"{name} has scores of {outside.n_classes} classes, the run of {inside.n_classes}"
        raise Refused(RefusalCode.CLASSES, what, "give the scores of the same model on both")
    if shifted:
        return _unchanged(inside, outside, name)
    overlaps = {}
    for part_name, part in {"": inside, **(parts or {})}.items():
        shared = overlap(part, outside)
        if shared == outside.n:
            rows = f"the part {part_name}" if part_name else "the in-distribution rows"
            raise Refused(
                RefusalCode.OOD_SAME, f"{name} has the same scores as {rows}", OTHER_INPUTS
            )
        if shared:
            of_part = f"a row of {part_name}" if part_name else "an in-distribution row"
            overlaps[of_part] = shared
    if same_labels(inside, outside):
        what = f"{name} has the labels of the in-distribution rows, in their order"
        raise Refused(RefusalCode.OOD_SAME, f"{what}: the same inputs, scored anew", OTHER_INPUTS)
    notices: list[Notice] = []
    if overlaps:
        (rows, shared), *others = overlaps.items()
        more = "".join(f", {count} as {part}" for part, count in others)
        score = "scores" if shared == 1 else "score"
        some = f"{shared} of {outside.n} rows of {name} {score} exactly as {rows}{more}"
        text = f"{some}: if the inputs are the same, the alarm looks too weak"
        notices.append(Notice(NoticeCode.OVERLAP, text))
    notices += _of_names(inside, outside, name)
    # Classes that are called otherwise, where both are called anything
    own, other = set(inside.class_names), set(outside.class_names)
    if not stated and own != other and all(map(_names, own | other)):
        stranger = sorted(other - own)[0][:60]
        text = f"“{name}” has a class {stranger}, which the run lacks: scores of another model"
        notices.append(Notice(NoticeCode.OTHER_MODEL, f"{text} say nothing about this one"))
    return (*notices, *_of_answers(inside, outside, name))


def extent_notices(judged: ScoreSeparation, name: str) -> tuple[Notice, ...]:
    """Return notices of the effective sample sizes of grouped or weighted rows of a pair."""
    both, notices = judged.separation, []
    sides = (both.n_in, "in-distribution rows"), (both.n_out, f"rows of {name}")
    for (n, rows), groups, weights in zip(sides, judged.groups, judged.weights, strict=True):
        if groups is not None:
            own = f"{n:,} {rows} of {groups.n:,} groups by {groups.column} count as about"
            worth = f"{round(groups.effective_n):,} independent ones for the AUROC"
            notices.append(
                Notice(NoticeCode.GROUPED, f"{own} {worth}; intervals draw whole groups.")
            )
            if groups.n < FEW_GROUPS:
                few = f"{groups.n} groups by {groups.column} among the {rows} are few"
                notices.append(Notice(NoticeCode.FEW_GROUPS, f"{few}: intervals are rough."))
        if weights is not None:
            own = f"{rows} count by {weights.column}: {n:,} rows count as about"
            text = f"{own} {round(weights.effective_n):,} of equal weight."
            notices.append(Notice(NoticeCode.WEIGHTED, text))
    return tuple(notices)


def _unchanged(inside: Predictions, outside: Predictions, name: str) -> tuple[Notice, ...]:
    shared = overlap(inside, outside)
    if not shared:
        return ()
    have = "has" if shared == 1 else "have"
    some = f"{shared} of the {outside.n} rows of {name} {have}"
    rows = f"every row of {name} has" if shared == outside.n else some
    text = f"{rows} exactly the scores of an in-distribution row"
    return (Notice(NoticeCode.UNCHANGED, f"{text}: there this corruption changed nothing"),)


def _of_names(inside: Predictions, outside: Predictions, name: str) -> tuple[Notice, ...]:
    """Return that rows of both parts have one name; mere numbers, as of files, name nothing."""
    own, other = ({row for row in part.row_ids if _names(row)} for part in (inside, outside))
    shared = len(own & other)
    if not shared:
        return ()
    some = (
        f"1 row of {name} has the name of an in-distribution row: if it is the same input"
        if shared == 1
        else f"{shared} rows of {name} have the names of in-distribution rows: if they are the "
        "same inputs"
    )
    text = f"{some}, the alarm cannot tell them apart"
    return (Notice(NoticeCode.OVERLAP, text),)


def _names(row: str) -> bool:
    return any(sign.isalpha() for sign in row.rpartition(".")[0] or row)


def _of_answers(inside: Predictions, outside: Predictions, name: str) -> tuple[Notice, ...]:
    """Return that two parts answer alike row by row, as two models do on the same inputs.

    The agreement is held against that with the next row: so rows in the order of their classes,
    or blocks of one class, count for nothing.
    """
    if _labels_alike(inside, outside):  # the same rows, corrupted: the papers' protocol
        return ()
    own, other = _answers(inside), _answers(outside)
    if own is None or other is None or own.shape != other.shape or own.size < FEW_LABELS:
        return ()
    here, beside = (float((own == rows).mean()) for rows in (other, np.roll(other, 1)))
    error = np.sqrt((here * (1.0 - here) + beside * (1.0 - beside)) / own.size)
    if here - beside <= CHANCE_Z * error:
        return ()
    text = (
        f"“{name}” looks like the in-distribution inputs again: its answers agree in "
        f"{100 * here:.0f} of 100 rows, in {100 * beside:.0f} with the next row. Another model's "
        "scores of the same inputs say nothing about out-of-distribution ones"
    )
    return (Notice(NoticeCode.OVERLAP, text),)


def _answers(rows: Predictions) -> Int | None:
    """Return the class that each row answers; None where the file does not say it."""
    if rows.predicted is not None or rows.scores.ndim != 2:
        return rows.predicted
    chunks = row_chunks(rows.n, rows.n_classes)  # argmax copies all that it is given unaligned
    return np.concatenate([rows.scores[some].argmax(axis=1) for some in chunks])


def same_labels(inside: Predictions, outside: Predictions) -> bool:
    """Whether two labelled parts have the same labels in the same order, and are not by class.

    Rows whose names differ are others, whatever their labels.
    """
    if inside.row_ids and outside.row_ids and inside.row_ids != outside.row_ids:
        return False
    return _labels_alike(inside, outside)


def _labels_alike(inside: Predictions, outside: Predictions) -> bool:
    labels, other = inside.labels, outside.labels
    if not (inside.labelled and outside.labelled) or labels.shape != other.shape:
        return False
    mixed = labels.size >= FEW_LABELS and bool((np.diff(labels) < 0).any())
    return mixed and np.array_equal(labels, other)


def overlap(inside: Predictions, outside: Predictions) -> int:
    """Return how many rows of a set have exactly the scores of an in-distribution row.

    Stated confidences and probabilities of exactly 0 and 1 repeat by nature: those count only
    where both parts hold the same rows. The same rows in another form, such as probabilities of
    logits, count as a whole, too.
    """
    own, other = inside.scores, outside.scores
    chunks = row_chunks(len(own), own.size // max(1, len(own)))
    if own.shape == other.shape and all(np.array_equal(own[s], other[s]) for s in chunks):
        return outside.n
    if own.ndim != 2 or own.shape[1:] != other.shape[1:]:
        if not own.ndim == other.ndim == 1:
            return 0
        # One column may be the other in a different order; few values repeat by nature.
        ordered = np.sort(own)
        varied = np.unique(ordered).size >= max(FEW_LABELS, own.size // 2)
        return outside.n if varied and np.array_equal(ordered, np.sort(other)) else 0
    shared = int(np.isin(_hashes(outside), (mine := _hashes(inside))[mine != NOTHING]).sum())
    return outside.n if not shared and _rewritten(inside, outside) else shared


def _rewritten(inside: Predictions, outside: Predictions) -> bool:
    """Whether the unsure rows of a set are in-distribution rows to four digits of probability."""
    if outside.n_classes < 3:
        return False
    own, other = _leading(inside), _leading(outside)
    return len(other) >= FEW_LABELS and float(np.isin(other, own).mean()) >= MOSTLY


def _leading(predictions: Predictions) -> Int:
    """Return a number for the answer and the three largest probabilities of each unsure row."""
    out = []
    for rows in row_chunks(predictions.n, predictions.n_classes):
        p = predictions.probabilities(rows)
        top = np.sort(np.partition(p, -3, axis=1)[:, -3:], axis=1)
        digits = np.round(top * DIGITS).astype(np.int64) @ (DIGITS + 1) ** np.arange(3)
        out.append((digits * predictions.n_classes + p.argmax(axis=1))[top[:, -1] <= UNSURE])
    return np.concatenate(out)


def _hashes(predictions: Predictions) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    """Return a number for each row that equal rows share, and others do but once in 2^64.

    Rows of probabilities that are all exactly 0 or 1 get NOTHING.
    """
    scores = predictions.scores
    weights = np.random.default_rng(0).integers(0, 2**63, scores.shape[1], dtype=np.uint64)
    out = np.empty(predictions.n, dtype=np.uint64)
    for rows in row_chunks(predictions.n, scores.shape[1]):
        wide = scores[rows].astype(np.float64) + 0.0  # one zero, not two
        bits = wide.view(np.uint64)
        mixed = (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        out[rows] = ((mixed ^ (mixed >> np.uint64(32))) * (2 * weights + 1)).sum(axis=1) | 1
        if predictions.kind is not ScoreKind.LOGITS:
            out[rows][~((wide > 0.0) & (wide < 1.0)).any(axis=1)] = NOTHING
    return out


def judge(
    inside: Predictions,
    outside: Predictions,
    score: str,
    temperature: float = 1.0,
    *,
    full: bool = True,
    config: AuditConfig | None = None,
) -> ScoreSeparation:
    """Return how far a score tells a set from the in-distribution rows.

    Parameters
    ----------
    inside, outside : Predictions
        Both parts; see `check`.
    score : str
        Of `SCORES`.
    temperature : float
        See `core.ood.scores.ood_scores`; to be fitted on other in-distribution rows.
    full : bool
        Every number with its interval; else the AUROC alone, which takes no bootstrap.
    config : AuditConfig, optional
        Its level, resamples and seed; the product's defaults when left out.
    """
    separation, config = _separation(inside, outside, score, temperature), config or AuditConfig()
    if full:
        rounds, seed = config.n_resamples, config.seed
        scores = numbers(separation, level=config.level, n_resamples=rounds, seed=seed)
    else:
        scores = {"auroc": auroc_score(separation, level=config.level)}
    weights = weight_summary(inside.weights), weight_summary(outside.weights)
    groups: list[GroupSummary | None] = [None, None]
    if separation.members is not None:
        sizes = effective_sizes(separation)
        for side, (part, members) in enumerate(
            zip((inside, outside), separation.members, strict=True)
        ):
            if part.groups is not None:
                rows = np.bincount(members.units.of_row)
                groups[side] = GroupSummary(
                    column=part.groups.name,
                    n=rows.size,
                    largest=int(rows.max()),
                    design_effect=float(members.units.weights.sum()) / sizes[side],
                    effective_n=sizes[side],
                )
    return ScoreSeparation(
        score=score,
        temperature=temperature,
        separation=separation,
        numbers=scores,
        groups=(groups[0], groups[1]),
        weights=weights,
    )


def _separation(
    inside: Predictions, outside: Predictions, score: str, temperature: float
) -> Separation:
    own, other = (ood_scores(part, score, temperature) for part in (inside, outside))
    own_sampling, other_sampling = inside.sampling, outside.sampling
    return Separation.of(
        own,
        other,
        (own_sampling.groups, other_sampling.groups),
        (own_sampling.weights, other_sampling.weights),
    )


def shift(
    inside: Predictions,
    shifted: Predictions,
    score: str,
    temperature: float = 1.0,
    *,
    config: AuditConfig | None = None,
) -> ShiftEffect:
    """Return what a shift does to labelled rows, and how well the alarm tells them."""
    config = config or AuditConfig()
    separation = _separation(inside, shifted, score, temperature)
    ranked = SortedOutcomes.of(temperature_scaled(shifted, temperature).outcomes(None))
    right = proportion("accuracy", ranked, ranked.correct, config.level)
    return ShiftEffect(
        n=shifted.n,
        accuracy=ranked.hits / ranked.total,
        low=right.low,
        high=right.high,
        confidence=float(ranked.sum_confidence[-1] / ranked.total),
        ece=METRICS["ece"].function(ranked, n_bins=config.n_bins),
        auroc=float(auroc_score(separation).value or 0.0),
        weight="" if shifted.weights is None else shifted.weights.name,
    )


def most_certain(
    outside: Predictions, score: str, temperature: float = 1.0, *, most: int
) -> ConfidentRows:
    """Return the rows of a set that look most like in-distribution ones."""
    scores = ood_scores(outside, score, temperature)
    rows = np.argsort(scores, kind="stable")
    if outside.weights is not None:
        rows = rows[outside.weights.of_row[rows] > 0.0]
    rows = rows[:most]
    if outside.task is Task.TOP_LABEL:
        answers = [""] * rows.size
        if outside.predicted is not None:
            answers = [outside.class_names[k] for k in outside.predicted[rows]]
        stated = outside.scores[rows].astype(np.float64)
        shares = ((outside.scores >= 0.0) & (outside.scores <= 1.0)).all()
        sure = stated if shares else np.full(rows.size, np.nan)
        return ConfidentRows(rows, scores[rows], sure, tuple(answers))
    chosen = temperature_scaled(outside.take(rows), temperature).probabilities()
    names = tuple(outside.class_names[k] for k in chosen.argmax(axis=1))
    return ConfidentRows(rows, scores[rows], chosen.max(axis=1), names)


@dataclass(frozen=True)
class OodPair:
    """One run's parts: in-distribution rows, a set, and the temperature they are judged at."""

    inside: Predictions
    outside: Predictions
    temperature: float = 1.0

    def scores(self, score: str) -> tuple[Float, Float]:
        """Return the scores of both parts."""
        return (
            ood_scores(self.inside, score, self.temperature),
            ood_scores(self.outside, score, self.temperature),
        )


def why_unpaired(pair: OodPair, other: OodPair, names: tuple[str, str]) -> str:
    """Return why two runs cannot be compared row by row; "" where they can.

    The in-distribution rows must have the same labels. Rows of a set without labels are taken to
    be the same where their number is, unless the files name them differently.
    """
    reason = why_not([ComparedRows.of(pair.inside), ComparedRows.of(other.inside)], names)
    if reason:
        return reason
    if pair.outside.labelled and other.outside.labelled:
        return why_not([ComparedRows.of(pair.outside), ComparedRows.of(other.outside)], names)
    if pair.outside.n != other.outside.n:
        counts = f"{pair.outside.n:,} rows in one run and {other.outside.n:,} in the other"
        return f"the set has {counts}"
    if ComparedRows.of(pair.outside).extents != ComparedRows.of(other.outside).extents:
        return (
            "the rows of the set differ in their groups or weights: read both with the same columns"
        )
    ids = [digest(*part.row_ids) for part in (pair.outside, other.outside) if part.row_ids]
    return "the files name the rows of the set differently" if len(set(ids)) > 1 else ""


def difference(pair: OodPair, other: OodPair, score: str, *, level: float = LEVEL) -> Score:
    """Return the AUROC of one run minus that of another on the same rows, DeLong's interval.

    Raises UsageError SETTING: the rows are not the same; see `why_unpaired`.
    """
    unpaired = why_unpaired(pair, other, ("one run", "the other"))
    if unpaired:
        raise UsageError(RefusalCode.SETTING, unpaired, "compare runs on the same rows")
    sampling = pair.inside.sampling, pair.outside.sampling
    value, low, high = auroc_difference(
        pair.scores(score),
        other.scores(score),
        level=level,
        groups=(sampling[0].groups, sampling[1].groups),
        weights=(sampling[0].weights, sampling[1].weights),
    )
    n = pair.inside.n + pair.outside.n
    settings: dict[str, Setting] = {"interval": PAIRED, **resampled_by(*sampling)}
    reason = "one of the sets has a single row" if low is None else ""
    return Score("auroc", value, low, high, level, n, settings, reason=reason)
