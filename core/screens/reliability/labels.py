"""What a file of many labels opens on: how many are off, and each of them, the worst first."""

from dataclasses import dataclass, replace

from core.metrics.records import Audit
from core.screens.kit.labels import (
    PLAIN_VERBS,
    VERBS,
    furthest_first,
    label_verdicts,
    labels_sentence,
)
from core.screens.kit.records import Sentence, Table, Tile
from core.screens.kit.sentences import doubted
from core.screens.kit.tiles import tiles
from core.screens.reliability.classes import label_table


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
    verdicts = label_verdicts(audit.labels)
    order = tuple(verdict.index for verdict in furthest_first(verdicts))
    table = label_table(audit.labels)
    noun, verbs = ("findings", PLAIN_VERBS) if plain else ("labels", VERBS)
    sentence = labels_sentence(verdicts, noun, verbs)
    return LabelsView(
        sentence=doubted(replace(sentence, second="") if plain else sentence, audit.notices),
        numbers=() if plain else tiles(audit, audit.main, "ink"),
        table=Table(table.columns, tuple(table.rows[i] for i in order)),
        order=order,
    )
