"""What a file of many labels opens on: how many are off, and each of them, the worst first."""

from collections import Counter
from dataclasses import dataclass

from core.metrics.macro import corrected_codes
from core.metrics.records import Audit, TargetAudit
from core.metrics.verdict_codes import DETECTED, VerdictCode
from core.screens.kit.numbers import count
from core.screens.kit.records import Phrase, Sentence, Table, Tile
from core.screens.kit.sentences import CODE_TONES, doubted
from core.screens.kit.tiles import calibration_error, tiles
from core.screens.reliability.classes import label_table

PLAIN_CODES = {
    VerdictCode.OVER_CONFIDENT: "expected too often",
    VerdictCode.UNDER_CONFIDENT: "expected too rarely",
    VerdictCode.MIXED: "expected too often in some pictures and too rarely in others",
    VerdictCode.SOUND: "expected as often as they are there",
    VerdictCode.COULD_BE_CHANCE: "could be chance",
}


@dataclass(frozen=True)
class LabelsView:
    """The summary of a file of many labels.

    `order` holds the index of the label in each row of `table`.
    """

    sentence: Sentence
    numbers: tuple[Tile, ...]
    table: Table
    order: tuple[int, ...]


def labels_view(audit: Audit, *, plain: bool) -> LabelsView:
    """Return the summary of an audit of many labels, what is off first, by its calibration error.

    The verdicts are corrected for looking at all labels (Holm).
    """
    codes = corrected_codes(audit.labels)
    order = sorted(
        range(len(codes)),
        key=lambda i: (codes[i] not in DETECTED, -_error(audit.labels[i]), i),
    )
    table = label_table(audit.labels)
    return LabelsView(
        sentence=doubted(_sentence(codes, plain=plain), audit.notices),
        numbers=() if plain else tiles(audit, audit.main, "ink"),
        table=Table(table.columns, tuple(table.rows[i] for i in order)),
        order=tuple(order),
    )


def _sentence(codes: tuple[VerdictCode, ...], *, plain: bool) -> Sentence:
    counts = Counter(codes)
    kind = "finding" if plain else "label"
    parts = [Phrase(f"Of {count(len(codes))} {kind}s: " if len(codes) > 1 else f"Of 1 {kind}: ")]
    for code in VerdictCode:
        if counts[code]:
            words = PLAIN_CODES[code] if plain else code.words
            parts += [Phrase(f"{count(counts[code])} {words}", CODE_TONES[code]), Phrase(", ")]
    second = "" if len(codes) == 1 or plain else "Corrected for looking at all labels (Holm)."
    return Sentence((*parts[:-1], Phrase(".")), second)


def _error(label: TargetAudit) -> float:
    score, _ = calibration_error(label)
    return -1.0 if score is None or score.value is None else score.value
