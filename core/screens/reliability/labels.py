"""What a file of many labels opens on: how many are off, and each of them, the worst first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.metrics.records import Audit
from core.screens.kit.bin_marks import shares
from core.screens.kit.cards import level
from core.screens.kit.labels import (
    PLAIN_VERBS,
    VERBS,
    LabelVerdict,
    furthest_first,
    label_verdicts,
    labels_sentence,
    with_unknown,
)
from core.screens.kit.numbers import MISSING, in_hundred, points
from core.screens.kit.records import Column, FigureCard, Sentence, Table, Tile
from core.screens.kit.sentences import with_caveats
from core.screens.kit.tiles import tiles
from core.screens.reliability.classes import label_card, label_table

PLAIN_COLUMNS = (
    Column("label", "finding"),
    Column("reading", "this finding"),
    Column("says", "expected, in 100"),
    Column("present", "there, in 100"),
    Column("off", "off by, points on average"),
)


@dataclass(frozen=True)
class LabelsView:
    """The summary of a file of many labels.

    `table` is the whole of it, and `shown` what this edition shows; `order` holds the index of the
    label in each of their rows.
    """

    sentence: Sentence
    numbers: tuple[Tile, ...]
    figure: FigureCard
    table: Table
    shown: Table
    order: tuple[int, ...]


def labels_view(audit: Audit, *, plain: bool) -> LabelsView:
    """Return the summary of an audit of many labels, what is off first, by its calibration error.

    The verdicts are corrected for looking at all labels (Holm).
    """
    verdicts = label_verdicts(audit.labels)
    sorted_verdicts = furthest_first(verdicts)
    order = tuple(verdict.index for verdict in sorted_verdicts)
    full = label_table(audit.labels)
    table = Table(full.columns, tuple(full.rows[i] for i in order))
    shown = _plain_table([verdicts[i] for i in order]) if plain else table
    noun, verbs = ("findings", PLAIN_VERBS) if plain else ("labels", VERBS)
    sentence = labels_sentence(verdicts, noun, verbs)
    return LabelsView(
        sentence=with_caveats(
            with_unknown(replace(sentence, second="") if plain else sentence, audit), audit.notices
        ),
        numbers=() if plain else tiles(audit, audit.main, "ink"),
        figure=label_card(sorted_verdicts, shown, level(audit.main), plain=plain),
        table=table,
        shown=shown,
        order=order,
    )


def _plain_table(verdicts: Sequence[LabelVerdict]) -> Table:
    """Return what is expected of each label and what is there, as times in 100."""
    rows = []
    for verdict in verdicts:
        label = verdict.corrected
        says, present = shares(label.bins)
        rows.append(
            (
                label.name,
                PLAIN_VERBS[verdict.code][0],
                in_hundred(says),
                in_hundred(present),
                points(verdict.error) if verdict.error >= 0.0 else MISSING,
            )
        )
    return Table(PLAIN_COLUMNS, tuple(rows))
