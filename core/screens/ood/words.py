"""The words of the page Out of distribution: what a set is called, sentences, meanings."""

from dataclasses import dataclass

from core.datasets.shifts import CORRUPTIONS, OutsideSet, parse_name
from core.datasets.texts.corpus import LEFT_OUT
from core.metrics.records import Score
from core.ood.separation import Counts
from core.screens.kit.marks import BAND_MIN
from core.screens.kit.numbers import (
    count,
    in_hundred,
    percent,
    points_span,
    singular,
    whole_hundred,
)
from core.screens.kit.records import Phrase, Sentence
from core.screens.kit.sentences import counted_as, groups_words
from core.screens.kit.words import with_row_noun
from core.studies.ood import ScoreSeparation, ShiftEffect

ShiftPair = tuple[ShiftEffect, ShiftEffect]  # of shifted images, and of the same kind intact
POSITIVE = "positive class: out-of-distribution"
FEW_ROWS = BAND_MIN  # of a set: fewer are no sample of 100, as in a bin or a band of scores
UNFAMILIAR = {  # what speaks of an unfamiliar row, of SCORES
    "entropy": "higher entropy",
    "msp": "lower maximum probability",
    "max_logit": "lower maximum logit",
    "energy": "higher energy",
}
HELP = {
    "auroc": "How often an out-of-distribution input scores above an in-distribution one. 0.5 is "
    "guessing.",
    "aupr_out": "Average precision, out-of-distribution positive. Guessing scores the share of "
    "such inputs.",
    "aupr_in": "Average precision, in-distribution positive, by the negated score.",
    "fpr95": "False alarms at the threshold that flags 95 % of the out-of-distribution set.",
    "fpr95_in": "Misses at the threshold that passes 95 % of the in-distribution set.",
    "detection_error": "Mean of the shares missed and falsely flagged, at the best threshold.",
}
LABELS = {  # of each number, and its positive class
    "auroc": ("AUROC", "OOD positive"),
    "aupr_out": ("AUPR", "OOD positive"),
    "aupr_in": ("AUPR", "ID positive"),
    "fpr95": ("FPR at 95 % TPR", "OOD positive"),
    "fpr95_in": ("FPR at 95 % TPR", "ID positive"),
    "detection_error": ("Detection error", ""),
}


@dataclass(frozen=True)
class SetName:
    """What a set is called."""

    label: str  # short, for curves and tables
    things: str  # its members in the plural, as they stand in a sentence in plain words
    shift: OutsideSet | None = None  # what its name says it holds

    @property
    def shifted(self) -> bool:
        """Whether it holds corrupted in-distribution images."""
        return self.shift is not None and self.shift.role == "shifted"

    def called(self, *, plain: bool) -> str:
        """Return its members as an edition calls them: pictures are images in the full view."""
        if plain or not self.things.startswith("pictures "):
            return self.things
        return f"images{self.things.removeprefix('pictures')}"


def set_name(split: str, owner: str = "") -> SetName:
    """Return what a split is called; `owner` is the run or file it comes from, if another."""
    outside_set = parse_name(split)
    suffix = f" · {owner}" if owner else ""
    if split == LEFT_OUT and not owner:
        return SetName("Classes left out", with_row_noun("pictures of classes left out"))
    if outside_set is None:
        label = owner if owner and split in ("test", "scores") else f"{split}{suffix}"
        return SetName(label, f"inputs of “{label}”")
    if outside_set.kind == "svhn":
        return SetName(f"{outside_set.label}{suffix}", "street numbers", outside_set)
    if outside_set.corruption:
        kind = CORRUPTIONS[outside_set.corruption].noun
        things = f"pictures with {kind} of severity {outside_set.severity}"
        return SetName(f"{outside_set.label}{suffix}", things, outside_set)
    images = (outside_set.root or "").replace("-", " ")
    return SetName(
        f"{images[:1].upper()}{images[1:]}{suffix}", f"pictures of “{images}”", outside_set
    )


def sentence(
    name: SetName,
    judged: ScoreSeparation,
    counts: Counts,
    effects: ShiftPair | None = None,
    *,
    plain: bool,
) -> Sentence:
    """Return what a set does to the model; its AUROC stands in the tiles.

    Of shifted images, how often the answers are right and how sure they are, `effects` beside
    those of the intact ones; of others, how many of a hundred the model is as sure of.
    """
    things, before = name.called(plain=plain), ""
    if effects is None:
        times, alarms = in_hundred(counts.missed), in_hundred(counts.false_alarms)
        ordinary = with_row_noun("ordinary pictures" if plain else "in-distribution images")
        pass_ = "passes" if singular(times) else "pass"
        first = f"{times} in 100 {things} {pass_} the alarm that flags {alarms} in 100 {ordinary}."
    elif plain:
        right, says, right_before, says_before = (
            in_hundred(share)
            for effect in effects
            for share in (effect.accuracy, effect.confidence)
        )
        first = f"Of 100 {name.things} it is right on {right} and expects to be right on {says}."
        before = (
            f"Of 100 ordinary pictures it is right on {right_before} and expects {says_before}."
        )
    else:
        shifted, intact = effects
        span = points_span(shifted.accuracy, shifted.low, shifted.high)
        first = (
            f"On {things}, accuracy is {percent(shifted.accuracy)} ({span}) and mean confidence "
            f"{percent(shifted.confidence)}."
        )
        before = f"On intact images: {percent(intact.accuracy)} and {percent(intact.confidence)}."
    first += few_words(name, judged, plain=plain)
    threshold = "" if plain or effects is None else threshold_words(name, counts)
    second = (before, threshold, "" if plain else worth_words(judged))
    return Sentence((Phrase(first),), " ".join(filter(None, second)))


def few_words(name: SetName, judged: ScoreSeparation, *, plain: bool) -> str:
    """Return that a set has too few rows to tell anything of 100; empty where both have enough."""
    inside, outside, things = "in-distribution {}", "{} of the set", "images"
    if plain:
        inside, things = "ordinary {}", "pictures"
        outside = "damaged {}" if name.shifted else "unfamiliar {}"
    things = things if name.shifted else with_row_noun(things)  # only pictures are corrupted
    few = [
        f"{count(n)} {kind.format(things[:-1] if n == 1 else things)}"
        for n, kind in ((judged.separation.n_in, inside), (judged.separation.n_out, outside))
        if n < FEW_ROWS
    ]
    one = len(few) == 1 and few[0].startswith("1 ")
    return f" {' and '.join(few)} {'is' if one else 'are'} too few to tell." if few else ""


def share_span(score: Score) -> str:
    """Return the interval of a share with three decimals."""
    if score.low is None or score.high is None:
        return ""
    return f"{score.low:.3f} to {score.high:.3f}"


def threshold_words(name: SetName, counts: Counts) -> str:
    """Return what the threshold lets pass of both sets; of weighted rows by weight."""
    kept, passed = in_hundred(1.0 - counts.false_alarms), in_hundred(counts.missed)
    return (
        f"The threshold that passes {kept} of 100 in-distribution {with_row_noun('images')} passes "
        f"{passed} of 100 {name.called(plain=False)}."
    )


def rows_words(judged: ScoreSeparation, side: int) -> str:
    """Return "200 of 40 patients, which count as about 87 independent ones"; else the number."""
    rows = (judged.separation.n_in, judged.separation.n_out)[side]
    n = count(rows)
    groups, weights = judged.groups[side], judged.weights[side]
    if groups is not None:
        own = f"{n} of {groups_words(groups.column, groups.n)}"
        return f"{own}, which {counted_as(groups, rows)} independent ones"
    if weights is not None:
        return f"{n}, counting as about {count(round(weights.effective_n))} of equal weight"
    return n


def worth_words(judged: ScoreSeparation) -> str:
    """Return the effective sample size of grouped rows in words; empty without groups."""
    texts = []
    for groups, n, rows in zip(
        judged.groups,
        (judged.separation.n_in, judged.separation.n_out),
        ("in-distribution", "out-of-distribution"),
        strict=True,
    ):
        if groups is not None:
            own = f"The {count(n)} {rows} {with_row_noun('images')}"
            texts.append(
                f"{own} of {groups_words(groups.column, groups.n)} {counted_as(groups, n)} "
                "independent ones."
            )
    return " ".join(texts)


def alike_words(judged: ScoreSeparation) -> str:
    """Return in plain words what pictures that belong together tell; empty where none do."""
    texts = [
        f"The {rows} ones come from {groups_words(groups.column, groups.n)} and "
        f"{counted_as(groups, n)} unrelated ones."
        for rows, groups, n in zip(
            ("ordinary", "unfamiliar"),
            judged.groups,
            (judged.separation.n_in, judged.separation.n_out),
            strict=True,
        )
        if groups is not None
    ]
    if judged.separation.weighted:
        texts.append(with_row_noun("Each picture counts by its weight."))
    return " ".join(texts)


def weight_words(judged: ScoreSeparation) -> str:
    """Return which rows count by which column; empty where each counts once."""
    images = with_row_noun("images")
    sides = zip(judged.weights, (f"in-distribution {images}", "those of the set"), strict=True)
    columns = [(weights.column, rows) for weights, rows in sides if weights is not None]
    if len({column for column, _ in columns}) == 1 and len(columns) == len(judged.weights):
        return f"{images} count by {columns[0][0]}"
    return "; ".join(f"{rows} count by {column}" for column, rows in columns)


def reading_words(name: SetName, score: str, auroc: Score, *, plain: bool) -> str:
    """Return the AUROC of one of SCORES as a sentence."""
    times = f"{in_hundred(auroc.value, auroc.low, auroc.high)} times in 100."
    if plain:
        pair = with_row_noun("Shown one ordinary and one unfamiliar picture")
        return f"{pair}, it is more alarmed by the unfamiliar one {times}"
    return (
        f"Against in-distribution {with_row_noun('images')}, {name.called(plain=False)} have the "
        f"{UNFAMILIAR[score]} {times}"
    )


@dataclass(frozen=True)
class HundredRows:
    """A picture of 100: the sentence, and how many of them are crossed."""

    text: str
    crossed: int


@dataclass(frozen=True)
class PlainOod:
    """Two pictures of 100, and the words beside them."""

    hundreds: tuple[HundredRows, HundredRows]
    limits: str
    helps: str


def plain_view(name: SetName, judged: ScoreSeparation, counts: Counts) -> PlainOod:
    """Return what the threshold does to 100 of either kind, what that does not say, what helps."""
    things = with_row_noun("pictures")
    return PlainOod(
        icon_arrays(name, counts),
        f"It always answers with one of its own classes. Other unfamiliar {things} may pass "
        f"more often. {alike_words(judged)}".strip(),
        "Move the line: fewer false alarms mean more misses.",
    )


def icon_arrays(name: SetName, counts: Counts) -> tuple[HundredRows, HundredRows]:
    """Return what the threshold does to 100 of either kind."""
    flagged, false = in_hundred(1.0 - counts.missed), in_hundred(counts.false_alarms)
    things = (
        "pictures" if name.shifted else with_row_noun("pictures")
    )  # only pictures are corrupted
    return (
        HundredRows(f"{flagged} in 100 {name.things}", whole_hundred(1.0 - counts.missed)),
        HundredRows(
            f"{false} in 100 ordinary {things}, by mistake", whole_hundred(counts.false_alarms)
        ),
    )
