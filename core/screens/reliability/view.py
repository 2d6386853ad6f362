"""What the Reliability page says about one audit: sentence, numbers, figures, tables, caveats.

Nothing is computed here that `core.metrics` computes; records go in, words and figures come out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from core.arrays import Float, Int
from core.codes import NoticeCode
from core.errors import Notice
from core.metrics.binning import bin_index
from core.metrics.ranked import SortedOutcomes
from core.metrics.ranking import risk_coverage
from core.metrics.records import Audit, BinTable, ClassRow, TargetAudit
from core.metrics.suite import class_gaps
from core.predictions import Outcomes, Predictions, Task
from core.screens.kit import cards, diagram
from core.screens.kit.cards import tiles
from core.screens.kit.labels import holm_adjusted, label_verdicts
from core.screens.kit.marks import bin_words, dominated, filled, speech
from core.screens.kit.numbers import count, percent
from core.screens.kit.records import Column, FigureCard, Sentence, Swatch, Table, Tile
from core.screens.kit.sentences import (
    CODE_TONES,
    other_sentence,
    other_verdict,
    verdict_sentence,
    with_caveats,
)
from core.screens.kit.text import clean
from core.screens.reliability.classes import class_card, class_table, label_table, risk_card

CONFUSIONS = 3  # that are named
CONFIDENCE = Column("confidence", "says", "share")
EVEN = 0.5  # a label counts as predicted above it: a tie goes to the lower class


@dataclass(frozen=True)
class BinRows:
    """Rows of one bin: a sentence, at most `limit` rows, how many the bin holds, and which.

    `captions` say of each row what the model answers, how sure it is, and what is true;
    `confusions` which answers of the bin are taken for which others most often, "" where none
    stands out.
    """

    text: str
    table: Table
    total: int
    rows: tuple[int, ...]
    captions: tuple[str, ...]
    confusions: str = ""


def bin_rows(
    predictions: Predictions,
    target: int | None,
    bins: BinTable,
    index: int,
    outcomes: Outcomes,
    *,
    limit: int | None = None,
) -> BinRows:
    """Return the rows of one bin, at most `limit`: answered wrongly first, then the surest first.

    Outcomes are those of the target, in the file's order; of a label, of the rows where it is
    known.
    """
    edges = np.append(bins.low, bins.high[-1])
    inside = np.flatnonzero(bin_index(outcomes.confidence, edges) == index)
    known = None if target is None else predictions.labelled_rows(target)
    right = outcomes.correct[inside]
    if predictions.task is Task.MULTILABEL:
        right = right == (outcomes.confidence[inside] > EVEN)
    elif target is not None:
        right = predictions.labels[inside] == predictions.rows.predicted[inside]
    chosen = inside[np.lexsort((-outcomes.confidence[inside], right))][:limit]
    sure: list[float] = outcomes.confidence[chosen].tolist()
    likely = outcomes.confidence[chosen] > EVEN
    chosen = chosen if known is None else known[chosen]
    if predictions.task is Task.MULTILABEL:
        names: tuple[str, ...] = ("absent", "present")
        answers = predictions.labels[chosen, target or 0], likely.astype(np.int64)
    else:
        names = predictions.class_names
        answers = predictions.labels[chosen], predictions.rows.predicted[chosen]
    true, predicted = ([names[i] for i in side.tolist()] for side in answers)
    ids = predictions.row_ids
    listed = [ids[i] if ids else str(i) for i in chosen.tolist()]
    rows = tuple(zip(listed, true, predicted, sure, strict=True))
    columns = (*(Column(key, key) for key in ("id", "true", "predicted")), CONFIDENCE)
    words = bin_words(bins, index, speech(target))
    return BinRows(
        text=f"{words}.",
        table=Table(columns, rows),
        total=int(inside.size),
        rows=tuple(chosen.tolist()),
        captions=tuple(
            f"{answer}, {percent(share)}; true: {truth}"
            for answer, share, truth in zip(predicted, sure, true, strict=True)
        ),
        confusions="" if target is not None else _confusions(predictions, inside),
    )


def _confusions(predictions: Predictions, inside: Int) -> str:
    """Return the confusions that came more than once: "cat taken for dog (12 times), …".

    The `CONFUSIONS` commonest, less those as common as one that would be left out.
    """
    if predictions.task is Task.TOP_LABEL:
        return ""
    labels, predicted = predictions.labels[inside], predictions.rows.predicted[inside]
    wrong = labels != predicted
    named = predictions.class_names
    pairs, times = np.unique(labels[wrong] * len(named) + predicted[wrong], return_counts=True)
    often = np.flatnonzero(times > 1)
    often = often[np.argsort(-times[often], kind="stable")]
    # of ties for the last place none is named
    least = times[often[CONFUSIONS]] if often.size > CONFUSIONS else 0
    parts: list[str] = []
    for i in often[:CONFUSIONS].tolist():
        if times[i] > least:
            true, answer = (clean(named[k]) for k in divmod(int(pairs[i]), len(named)))
            taken, came = ("", "") if parts else (" taken", " times")
            parts.append(f"{true}{taken} for {answer} ({count(int(times[i]))}{came})")
    return f"Most often {', '.join(parts)}." if parts else ""


# The view.
KEY = (
    Swatch("says more than it should", "over", "dot"),
    Swatch("says less", "under", "dot"),
    Swatch("within chance", "sound", "ring"),
    Swatch("too few to tell", "few", "ring"),
    Swatch("where a perfect model would land", "quiet", "block"),
)
FEW_DOTS = 2  # fewer are not many that are looked at


@dataclass(frozen=True)
class Subject:
    """What was audited: the names that travel with every figure.

    Parameters
    ----------
    name : str
        Name of the run, as the user wrote it.
    split : str
        Split that was audited.
    digest : str
        Digest of the file; captions print its first eight digits.
    class_names : tuple of str
        Names of classes or labels, as the file wrote them.
    notices : tuple of Notice
        What the reader had to say.
    """

    name: str
    split: str
    digest: str
    class_names: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class ReliabilityView:
    """Everything the page and the report draw, in their order.

    `figures` holds "reliability" and "gap", and "classes" and "risk" where they were given;
    `parts` is the table by class, or by label, and has no rows where there is neither.
    """

    eyebrow: str
    sentence: Sentence
    numbers: tuple[Tile, ...]
    figures: Mapping[str, FigureCard]
    key: tuple[Swatch, ...]
    caption: str
    notices: tuple[Notice, ...]
    unavailable: Table
    scores: Table
    parts: Table


def reliability_view(
    audit: Audit,
    subject: Subject,
    *,
    chosen: TargetAudit | None = None,
    classes: tuple[ClassRow, ...] = (),
    curve: tuple[Float, Float] | None = None,
    log_counts: bool | None = None,
    log_odds: bool = False,
) -> ReliabilityView:
    """Return the view of an audit.

    `chosen` is what is spoken of: other bins, one class, one label. By default it is the headline;
    of many labels, the mean over them, beside the bins of the worst one. The verdict on a label is
    the one that is left among all labels. `curve` is coverage and risk, (G,) each. The histogram is
    logarithmic by default where one bin holds more than half of the images.
    """
    if chosen is not None and chosen.target is not None and audit.labels:
        chosen = holm_adjusted(chosen, audit.labels, chosen.target)
    target, drawn = chosen or audit.headline, pictured(audit, chosen)
    # The line below the verdict begins with that of the other target of two classes
    sentence, other = verdict_sentence(target), other_verdict(audit, target)
    if other is not None:
        sentence = replace(sentence, second=f"{other_sentence(other)} {sentence.second}".strip())
    # What reader and audit said, each once; a wrong class order voids all the rest. The sentence
    # says what groups are worth, but not of many labels.
    distinct = dict.fromkeys((*subject.notices, *audit.notices))
    listed = [note for note in distinct if note.code != NoticeCode.GROUPED or audit.labels]
    notices = sorted(listed, key=lambda notice: notice.code != NoticeCode.BELOW_CHANCE)
    logarithmic = dominated(drawn.bins) if log_counts is None else log_counts
    caption = cards.caption(audit, drawn, subject.split, subject.digest)
    whose = ""
    if chosen is None and audit.labels:
        whose = f"“{drawn.name}”, the label with the largest error"
    dots, level = len(filled(drawn.bins)), cards.level_of(drawn)
    by_chance = ""
    if dots >= FEW_DOTS:
        outside = f"{(1 - level) * dots:.1g} would lie outside"
        by_chance = f"; of {dots} dots of a perfect model about {outside}"
    table = cards.bin_table(drawn.bins)
    figure_cards = [
        FigureCard(
            key="reliability",
            title="Reliability diagram",
            explanation=whose,
            draw=partial(
                diagram.diagram,
                drawn.bins,
                target=drawn.target,
                log_counts=logarithmic,
                log_odds=log_odds,
            ),
            alt=cards.diagram_alt(drawn),
            table=table,
            caption=f"{caption}{by_chance}",
        ),
        FigureCard(
            key="gap",
            title="Gap in each bin",
            explanation=f"{whose}{': ' if whose else ''}{cards.level(drawn)} interval",
            draw=partial(diagram.gap_view, drawn.bins, target=drawn.target),
            alt=cards.gap_alt(drawn),
            table=table,
            caption=caption,
        ),
        *unbinned_cards(audit, subject, classes, curve),
    ]
    part = "Label" if audit.task == "multilabel" else "Class"
    return ReliabilityView(
        eyebrow="" if target.target is None else f"{part} “{target.name}”",
        sentence=with_caveats(sentence, audit.notices),
        numbers=tiles(audit, target, CODE_TONES[target.verdict.code]),
        figures={card.key: card for card in figure_cards},
        key=KEY,
        caption=figure_cards[0].caption,
        notices=tuple(notices),
        unavailable=cards.unavailable_table(audit),
        scores=cards.scores_table(audit, target),
        parts=parts_table(audit, classes),
    )


def unbinned_cards(
    audit: Audit,
    subject: Subject,
    classes: tuple[ClassRow, ...] = (),
    curve: tuple[Float, Float] | None = None,
) -> tuple[FigureCard, ...]:
    """Return the figures that are the same under any bins; parameters as of `reliability_view`."""
    own = pictured(audit)
    caption = cards.caption(audit, own, subject.split, subject.digest)
    figure_cards = []
    if any(row.gap is not None for row in classes):
        figure_cards.append(class_card(classes, cards.level(own), caption))
    if curve is not None:
        figure_cards.append(risk_card(*curve, audit.main.metrics.get("aurc"), caption))
    return tuple(figure_cards)


def parts_table(audit: Audit, classes: tuple[ClassRow, ...]) -> Table:
    """Return the numbers by label, or by class; no rows where there is neither."""
    return label_table(audit.labels) if audit.labels else class_table(classes)


def pictured(audit: Audit, chosen: TargetAudit | None = None) -> TargetAudit:
    """Return whose bins are drawn: the target itself, or the label with the largest error."""
    if chosen is not None or not audit.labels:
        return chosen or audit.headline
    return max(label_verdicts(audit.labels), key=lambda label: label.error).corrected


def audited_view(predictions: Predictions, audit: Audit, subject: Subject) -> ReliabilityView:
    """Return the view of an audit with everything that can be read from its predictions."""
    if predictions.task is Task.MULTILABEL:
        return reliability_view(audit, subject)
    rows = class_gaps(predictions, cards.level_of(audit.main), p_joint=audit.p_joint)
    curve = risk_coverage(SortedOutcomes.of(predictions.outcomes(None)))
    return reliability_view(audit, subject, classes=rows, curve=curve)
