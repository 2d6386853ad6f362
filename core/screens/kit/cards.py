"""Tables, captions and alt texts of the reliability figures; every number is read from a record."""

from core.defaults import LEVEL
from core.metrics import METRICS
from core.metrics.records import Audit, BinTable, TargetAudit
from core.screens.kit.bin_marks import bin_words, filled, shares, speech, tone
from core.screens.kit.numbers import THIN, count, finite, percent, points, with_span
from core.screens.kit.records import Column, Table
from core.screens.kit.row_noun import with_row_noun
from core.screens.kit.tiles import all_scores, calibration_error
from core.screens.kit.words import BIN_WORDS, SCORE_WORDS, TONE_WORDS, UNIT

BIN_COLUMNS = (
    Column("bin_low", "from", "number"),
    Column("bin_high", "to", "number"),
    Column("count", "n", "count"),
    Column("confidence", "says", "share"),
    Column("accuracy", "right", "share"),
    Column("ci_low", "low", "share"),
    Column("ci_high", "high", "share"),
    Column("gap", "gap, points", "points"),
    Column("band_low", "band low", "share"),
    Column("band_high", "band high", "share"),
    Column("reading", "reading"),
)

SCORE_COLUMNS = (
    Column("metric", "key"),
    Column("label", "metric"),
    Column("value", "value", "number"),
    Column("low", "low", "number"),
    Column("high", "high", "number"),
    Column("n", "n", "count"),
    Column("settings", "settings"),
    Column("reason", "note"),
)


def level(target: TargetAudit) -> str:
    """Return the level of the intervals: 95 %."""
    return f"{100 * level_of(target):g}{THIN}%"


def level_of(target: TargetAudit) -> float:
    """Return the level of the intervals, a fraction."""
    score, _ = calibration_error(target)
    return LEVEL if score is None else score.level


def caption(audit: Audit, target: TargetAudit, split: str, digest: str) -> str:
    """Return what stands under every figure: n, bins, intervals, scores, split and digest."""
    score, _ = calibration_error(target)
    settings = score.settings if score is not None else {}
    rule = BIN_WORDS.get(str(settings.get("bins", "")), "bins")
    parts = [
        f"n = {count(int(target.bins.count.sum()) or audit.n)}",
        f"{len(target.bins.count)} {rule}" if len(target.bins.count) else "no pooled bins",
        f"Wilson {level(target)} bars",
        SCORE_WORDS.get(audit.scores, audit.scores),
        f"{split} split",
        f"file digest {digest[:8]}",
    ]
    return ", ".join(parts)


def bin_table(bins: BinTable) -> Table:
    """Return the bins that hold rows, with the gap and what the dot's colour says."""
    rows = []
    for i in filled(bins):
        low, high, says, right = (
            float(part[i]) for part in (bins.low, bins.high, bins.confidence, bins.accuracy)
        )
        ends = (float(bins.ci_low[i]), float(bins.ci_high[i]))
        band = (finite(bins.band_low[i]), finite(bins.band_high[i]))
        reading = TONE_WORDS[tone(bins, i)]
        n = int(bins.count[i])
        rows.append((low, high, n, says, right, *ends, says - right, *band, reading))
    return Table(BIN_COLUMNS, tuple(rows))


def scores_table(audit: Audit, target: TargetAudit) -> Table:
    """Return every score of the target with interval, n, settings and reason."""
    rows = tuple(
        (
            name,
            METRICS[name].label,
            score.value,
            score.low,
            score.high,
            score.n,
            ", ".join(
                f"{key}={value:.3g}" if isinstance(value, float) else f"{key}={value}"
                for key, value in score.settings.items()
            ),
            score.reason,
        )
        for name, score in all_scores(audit, target).items()
    )
    return Table(SCORE_COLUMNS, rows)


def unavailable_table(audit: Audit) -> Table:
    """Return the metrics that this file cannot support, each with why."""
    columns = (Column("metric", "metric"), Column("reason", "why not"))
    return Table(columns, tuple(audit.unavailable.items()))


def diagram_alt(target: TargetAudit) -> str:
    """Return the reliability diagram in words: averages, error, and every bin off its band."""
    bins, words = target.bins, speech(target.target)
    if not filled(bins):
        return "Reliability diagram without bins: labels are not pooled."
    says, right = shares(bins)
    score, _ = calibration_error(target)
    error = (
        ""
        if score is None
        else f" Calibration error {with_span(score.value, score.low, score.high)} points."
    )
    off = [i for i in filled(bins) if tone(bins, i) in {"over", "under"}]
    listed = " ".join(f"{bin_words(bins, i, words)}: {TONE_WORDS[tone(bins, i)]}." for i in off)
    n_filled = len(filled(bins))
    lie = f"{len(off)} bins lie" if len(off) > 1 else f"{len(off) or 'No'} bin lies"
    inside = f", {n_filled - len(off)} inside" if off else ""
    many = "1 bin" if n_filled == 1 else f"{n_filled} bins"
    outside = (
        "No bin is off beyond chance."
        if bins.could_be_chance
        else f"{lie} outside the band of a perfect model{inside}."
    )
    return (
        f"Reliability diagram of {count(int(bins.count.sum()))} {with_row_noun(UNIT)} in {many}. "
        f"On average it {words.says} {percent(says)}, {words.right} {percent(right)}."
        f"{error} {outside} {listed}"
    ).rstrip()


def gap_alt(target: TargetAudit) -> str:
    """Return the gap view in words: the mean gap and the widest gap outside its band."""
    bins, gap = target.bins, target.direction
    if not filled(bins):
        return "Gap view without bins: labels are not pooled."
    mean = f"{points(gap.gap, gap.low, gap.high, signed=True)}"
    ends = f"{points(gap.low, gap.gap, signed=True)} to {points(gap.high, gap.gap, signed=True)}"
    text = f"Gap in each bin, what it says minus what came true. Mean {mean} points ({ends})."
    off = [i for i in filled(bins) if tone(bins, i) in {"over", "under"}]
    if bins.could_be_chance:
        return f"{text} No bin is off beyond chance."
    if not off:
        return f"{text} No bin lies outside the band of a perfect model."
    widest = max(off, key=lambda i: abs(float(bins.confidence[i] - bins.accuracy[i])))
    return f"{text} Widest outside its band: {bin_words(bins, widest, speech(target.target))}."
