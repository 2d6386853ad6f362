"""The strip of numbers under a sentence, and tables and captions of reliability figures."""

from collections.abc import Mapping
from dataclasses import replace

from core.defaults import LEVEL
from core.metrics import METRICS
from core.metrics.records import Audit, BinTable, Floor, Score, TargetAudit
from core.screens.kit.marks import bin_words, filled, shares, speech, tone
from core.screens.kit.numbers import (
    MISSING,
    THIN,
    count,
    finite,
    known,
    percent,
    points,
    span,
    three,
    three_span,
    with_span,
)
from core.screens.kit.records import Column, Strip, Table, Tile, columns_of
from core.screens.kit.theme import Tone
from core.screens.kit.words import (
    BIN_WORDS,
    GLOSSARY,
    LABELS,
    SCORE_WORDS,
    TONE_WORDS,
    UNIT,
    with_row_noun,
)

SHARES = {"accuracy", "ece", "ece_em"}
ANSWER_TILES = ("accuracy", "nll", "brier")
PRESENCE_TILES = {
    "binary": ("auroc", "accuracy"),
    "multilabel": ("auroc", "auprc"),
    "multiclass": (),
}


def calibration_error(target: TargetAudit) -> tuple[Score | None, Floor | None]:
    """Return the calibration error of the bins shown, and its noise floor."""
    for key in ("ece", "ece_em"):
        if key in target.metrics:
            return target.metrics[key], target.noise_floor.get(key)
    return None, None


def all_scores(audit: Audit, target: TargetAudit) -> dict[str, Score]:
    """Return what the audit knows of a target, with the scores of the bins shown on top."""
    whole: Mapping[str, Score] = {}
    if audit.labels and target.target is not None:
        whole = audit.labels[target.target].metrics
    elif target.target is None and audit.answers is not None:
        whole = audit.answers.metrics
    elif target.target == audit.main.target:
        whole = audit.main.metrics
    return dict(whole) | dict(target.metrics)


def tiles(audit: Audit, target: TargetAudit, tone: Tone) -> tuple[Tile, ...]:
    """Return the numbers of one target: error, floor, up to three scores that fit it, and n."""
    ece, floor = calibration_error(target)
    answers = target.target is None and not audit.labels
    whose = ""
    if audit.answers is not None:  # of two classes there are two
        whose = "of the answers" if answers else f"of “{target.name}”"
    rule = ", equal mass" if ece is not None and ece.metric == "ece_em" else ""
    label = f"ECE {whose}{rule}" if whose else f"Calibration error (ECE{rule})"
    error = Tile(label, MISSING, note=ece.reason if ece else "", help=GLOSSARY["ece"])
    if ece is not None and ece.value is not None:
        error = replace(
            error,
            value=points(ece.value, ece.low, ece.high),
            unit="%",
            interval=span(ece.low, ece.high) or ece.reason,
            note="",
            strip=strip(ece, floor, tone),
        )
    meaning = with_row_noun(GLOSSARY["noise_floor"])
    noise = Tile("Noise floor", MISSING, help=meaning, floor_mark=True)
    if floor is not None:
        chance = f"chance: up to {points(floor.q95)}"
        noise = replace(noise, value=points(floor.mean), unit="%", note=chance)
    # Scores of the answers or of the event; one that the file cannot have says why.
    names = ANSWER_TILES if answers else PRESENCE_TILES[audit.task]
    scores, scored = all_scores(audit, target), []
    for name in names:
        if name not in scores and name not in audit.unavailable:
            continue
        score, meaning = scores.get(name), with_row_noun(GLOSSARY[name])
        if score is None or score.value is None:
            why_not = score.reason if score else audit.unavailable.get(name, "")
            tile = Tile(LABELS[name], MISSING, note=why_not, help=meaning)
        elif name in SHARES:
            value, interval = (
                points(score.value, score.low, score.high),
                span(score.low, score.high),
            )
            tile = Tile(LABELS[name], value, "%", interval, help=meaning)
        else:
            interval = three_span(score.value, score.low, score.high)
            tile = Tile(LABELS[name], three(score.value), interval=interval, help=meaning)
        scored.append(tile)
    # A risk is read beside how often its event came.
    if target.target is not None:
        prevalence = Tile("Present in", MISSING, help=with_row_noun(GLOSSARY["prevalence"]))
        n = int(target.bins.count.sum())
        if n:
            present, came_true = shares(target.bins)[1], target.bins.came_true
            n_present = round(present * n) if came_true is None else int(came_true.sum())
            by_weight = "" if came_true is None else "by weight; "
            note = f"{by_weight}{count(n_present)} {with_row_noun(UNIT)}"
            prevalence = replace(prevalence, value=points(present), unit="%", note=note)
        scored.append(prevalence)
    # The rows, and of how many classes or labels they are.
    kinds = f"{audit.n_classes} {'labels' if audit.task == 'multilabel' else 'classes'}"
    if audit.task == "top_label":  # right and wrong are two, whatever the classes
        kinds = ""
    last = Tile(
        with_row_noun("Images"), count(audit.n), note=kinds, help=with_row_noun(GLOSSARY["images"])
    )
    return (error, noise, *scored, last)


def strip(score: Score, floor: Floor | None, tone: Tone) -> Strip | None:
    """Return where value, interval and floor lie; the scale ends a quarter beyond the largest."""
    if score.value is None or not known(score.value):
        return None
    q95 = floor.q95 if floor is not None and known(floor.q95) else None
    reach = max(v for v in (score.value, score.high, q95, 1e-6) if v is not None)
    return Strip(
        floor=q95,
        low=score.low,
        value=score.value,
        high=score.high,
        scale=min(1.0, 1.25 * reach),
        tone=tone,
    )


# Tables, captions and alt texts.
BIN_COLUMNS = (
    *columns_of("number", bin_low="from", bin_high="to"),
    Column("count", "n", "count"),
    *columns_of("share", confidence="says", accuracy="right", ci_low="low", ci_high="high"),
    Column("gap", "gap, points", "points"),
    *columns_of("share", band_low="band low", band_high="band high"),
    Column("reading", "reading"),
)

SCORE_COLUMNS = (
    *columns_of(metric="key", label="metric"),
    *columns_of("number", value="value", low="low", high="high"),
    Column("n", "n", "count"),
    *columns_of(settings="settings", reason="note"),
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
