"""The strip of four to six numbers under the sentence."""

from collections.abc import Mapping
from dataclasses import replace

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
