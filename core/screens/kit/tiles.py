"""The strip of four to six numbers under the sentence."""

from collections.abc import Mapping

from core.metrics.records import Audit, Floor, Score, TargetAudit
from core.screens.kit.bin_marks import shares
from core.screens.kit.numbers import MISSING, count, known, points, span, three, three_span
from core.screens.kit.records import Strip, Tile
from core.screens.kit.row_noun import with_row_noun
from core.screens.kit.theme import Tone
from core.screens.kit.words import GLOSSARY, LABELS, UNIT

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
    names = ANSWER_TILES if answers else PRESENCE_TILES[audit.task]
    scores = all_scores(audit, target)
    scored = [
        _score_tile(name, scores.get(name), audit.unavailable.get(name, ""))
        for name in names
        if name in scores or name in audit.unavailable
    ]
    if target.target is not None:
        scored.append(_prevalence_tile(target))
    kinds = f"{audit.n_classes} {'labels' if audit.task == 'multilabel' else 'classes'}"
    if audit.task == "top_label":  # right and wrong are two, whatever the classes
        kinds = ""
    last = Tile(
        with_row_noun("Images"), count(audit.n), note=kinds, help=with_row_noun(GLOSSARY["images"])
    )
    whose = ""
    if audit.answers is not None:  # of two classes there are two
        whose = "of the answers" if answers else f"of “{target.name}”"
    return (_ece_tile(ece, floor, tone, whose), _floor_tile(floor), *scored, last)


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


def _ece_tile(score: Score | None, floor: Floor | None, tone: Tone, whose: str) -> Tile:
    rule = ", equal mass" if score is not None and score.metric == "ece_em" else ""
    label = f"ECE {whose}{rule}" if whose else f"Calibration error (ECE{rule})"
    if score is None or score.value is None:
        reason = score.reason if score is not None else ""
        return Tile(label, MISSING, note=reason, help=GLOSSARY["ece"])
    return Tile(
        label,
        points(score.value, score.low, score.high),
        unit="%",
        interval=span(score.low, score.high) or score.reason,
        help=GLOSSARY["ece"],
        strip=strip(score, floor, tone),
    )


def _floor_tile(floor: Floor | None) -> Tile:
    label = "Noise floor"
    if floor is None:
        return Tile(label, MISSING, help=with_row_noun(GLOSSARY["noise_floor"]), floor_mark=True)
    return Tile(
        label,
        points(floor.mean),
        unit="%",
        note=f"chance: up to {points(floor.q95)}",
        help=with_row_noun(GLOSSARY["noise_floor"]),
        floor_mark=True,
    )


def _score_tile(name: str, score: Score | None, why_not: str) -> Tile:
    label, help_text = LABELS[name], with_row_noun(GLOSSARY[name])
    if score is None or score.value is None:
        return Tile(label, MISSING, note=score.reason if score else why_not, help=help_text)
    if name in SHARES:
        value = points(score.value, score.low, score.high)
        return Tile(label, value, "%", span(score.low, score.high), help=help_text)
    interval = three_span(score.value, score.low, score.high)
    return Tile(label, three(score.value), interval=interval, help=help_text)


def _prevalence_tile(target: TargetAudit) -> Tile:
    _, present = shares(target.bins)
    n = int(target.bins.count.sum())
    if n == 0:
        return Tile("Present in", MISSING, help=with_row_noun(GLOSSARY["prevalence"]))
    came_true = target.bins.came_true
    n_present = round(present * n) if came_true is None else int(came_true.sum())
    by_weight = "" if came_true is None else "by weight; "
    return Tile(
        "Present in",
        points(present),
        "%",
        note=f"{by_weight}{count(n_present)} {with_row_noun(UNIT)}",
        help=with_row_noun(GLOSSARY["prevalence"]),
    )
