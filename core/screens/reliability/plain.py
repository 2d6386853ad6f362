"""The Reliability page in plain words: the same audit in times out of 100, without jargon."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from core.arrays import Counts, Float
from core.defaults import FALSE_ALARMS
from core.metrics.binning import sums
from core.metrics.exact import exact_interval
from core.metrics.grouped import effective_rows
from core.metrics.intervals import wilson
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import Audit, TargetAudit
from core.metrics.verdict import share
from core.metrics.verdict_codes import (
    DETECTED,
    SLOPE,
    TOO_HIGH,
    TOO_LOW,
    MixedReading,
    VerdictCode,
)
from core.screens.kit.cards import level_of
from core.screens.kit.labels import holm_adjusted
from core.screens.kit.numbers import (
    MISSING,
    UNDER_ONE,
    about_hundred,
    count,
    counts_apart,
    holding,
    hundred_span,
    in_hundred,
    known,
    points,
    singular,
)
from core.screens.kit.records import Column, FigureCard, Sentence, Swatch, Table, Tile
from core.screens.kit.row_noun import with_row_noun
from core.screens.kit.sentences import (
    counted_as,
    groups_words,
    other_verdict,
    plain_above,
    plain_other,
    plain_sentence,
    plain_shares,
    with_caveats,
)
from core.screens.kit.theme import Theme, Tone, axis, faded, layout
from core.screens.kit.tiles import calibration_error

NARROW = 0.10  # an interval at most this wide that holds what was said fits, as far as it shows


@dataclass(frozen=True)
class Group:
    """Answers of similar certainty; fractions, `low` and `high` the Wilson interval of `right`.

    `name` and `range` are our own words; without answers (n = 0) the shares are NaN. `least` and
    `most` are the wider interval that what was said must leave to be called wrong.
    """

    name: str
    range: str
    n: int
    says: float
    right: float
    low: float
    high: float
    least: float
    most: float

    @property
    def tone(self) -> Tone:
        """Over or under where what was said is beyond chance, sound where that is known well."""
        if self.n and self.says > self.most:
            return "over"
        if self.n and self.says < self.least:
            return "under"
        fits = self.n and self.low <= self.says <= self.high
        return "sound" if fits and self.high - self.low <= NARROW else "few"


def dumbbells(groups: tuple[Group, ...], theme: Theme, *, came_true: str = "right") -> go.Figure:
    """Draw one dumbbell a group, the surest at the top: a bar for what it says, a dot for truth.

    Parameters
    ----------
    groups : tuple of Group
        From the least to the most certain; empty ones stay as a name without marks.
    theme : Theme
        Light or dark.
    came_true : str
        The word beside the dot: "right", or "present" for one class or label.
    """
    settings = layout(theme, 92 * len(groups) + 80)
    settings["margin"] = {"l": 182, "r": 40, "t": 20, "b": 50}
    # Tens around everything drawn, the upper end at 100 with room for the last label
    ends = [100.0 * v for g in groups if g.n for v in (g.says, g.low)]
    least = 10.0 * int(min([*ends, 90.0]) // 10.0)
    reach = [least - 6.0, 104.0]
    settings["xaxis"] = axis(theme, "times in 100", range=reach, dtick=10)
    settings["yaxis"] = axis(
        theme,
        range=[-0.6, len(groups) - 0.4],
        tickvals=list(range(len(groups))),
        ticktext=[_label(group, theme) for group in groups],
        tickfont={"size": 13, "color": theme.ink},
        showgrid=False,
    )
    figure = go.Figure(layout=settings)
    for y, group in enumerate(groups):
        if group.n:
            figure.add_traces(_dumbbell(group, y, theme, came_true))
    return figure


def _label(group: Group, theme: Theme) -> str:
    noun = with_row_noun("picture" if group.n == 1 else "pictures")
    return (
        f"<b>{group.name} ({group.range})</b><br>"
        f"<span style='color:{theme.quiet}'>{count(group.n)} {noun}</span>"
    )


def _dumbbell(group: Group, y: int, theme: Theme, came_true: str) -> list[go.Scatter]:
    says, right = 100.0 * group.says, 100.0 * group.right
    colour, ring = theme.mark(group.tone), group.tone in {"few", "sound"}
    chance = ": could be chance" if group.tone == "few" else ""
    return [
        go.Scatter(
            x=[right, says],
            y=[y, y],
            mode="lines",
            line={"color": faded(colour, 0.35), "width": 8},
            hoverinfo="skip",
        ),
        go.Scatter(
            x=[100.0 * group.low, 100.0 * group.high],
            y=[y, y],
            mode="lines",
            line={"color": colour, "width": 1.8},
            hoverinfo="skip",
        ),
        go.Scatter(
            x=[says, says],
            y=[y - 0.13, y + 0.13],
            name="says",
            mode="lines+text",
            line={"color": theme.ink, "width": 3},
            text=["", f"says {in_hundred(group.says)}"],
            textposition="top center",
            textfont={"size": 13, "color": theme.ink},
            hoverinfo="skip",
            cliponaxis=False,
        ),
        go.Scatter(
            x=[right],
            y=[y],
            name=group.tone,
            mode="markers+text",
            marker={
                "size": 17,
                "color": theme.paper if ring else colour,
                "line": {"color": colour, "width": 2},
            },
            text=[f"{came_true} {in_hundred(group.right)}{chance}"],
            textposition="bottom center",
            textfont={"size": 13, "color": theme.word(group.tone)},
            customdata=[y],
            hovertext=[_hover(group, came_true)],
            hovertemplate="%{hovertext}<extra></extra>",
            cliponaxis=False,
        ),
    ]


def _hover(group: Group, came_true: str) -> str:
    interval = hundred_span(group.low, group.high, group.right)
    return (
        f"<b>{group.name}</b>: says {in_hundred(group.says)} in 100,<br>"
        f"{came_true} {in_hundred(group.right, group.low, group.high)} ({interval})"
    )


ANSWER_GROUPS = (
    (0.60, "Unsure", "under 60"),
    (0.80, "Fairly sure", "60 to 80"),
    (0.95, "Sure", "80 to 95"),
    (1.00, "Almost certain", "95 or more"),
)
PRESENCE_GROUPS = (
    (0.05, "Very unlikely", "under 5"),
    (0.20, "Unlikely", "5 to 20"),
    (0.60, "Possible", "20 to 60"),
    (1.00, "Likely", "60 or more"),
)
ANSWERS_HELP = (
    "A correction learned from other pictures may mend its certainty; temperature scaling changes "
    "no answer."
)
CLASSES_HELP = (
    "Vector scaling, learned from other pictures, corrects each class by itself. Some answers may "
    "change."
)
RISK_HELP = "A correction learned from other pictures may shift and stretch the chances it gives."
SAME_NUMBERS = "Same data and same numbers as the technical page. "
WRONG, PRESENT = "×", "●"  # the marks of 100 pictures
ENOUGH = 20  # answers a group must hold before a picture of 100 is made from it


@dataclass(frozen=True)
class Icons:
    """Two arrays of 100 pictures: how many marks were promised, how many were observed.

    `promised`, `observed`, `low` and `high` are whole numbers out of 100; `tone` colours the
    marks of the second array, WRONG or PRESENT. The sentences say the same as the icons.
    """

    title: str
    note: str
    promised: int
    observed: int
    low: int
    high: int
    tone: Tone
    promised_text: str
    observed_text: str
    mark: str


@dataclass(frozen=True)
class Advice:
    """A short paragraph under its own head; `page` is where its link leads, or empty."""

    title: str
    text: str
    page: str = ""


@dataclass(frozen=True)
class PlainView:
    """Everything the plain page draws, in its order."""

    eyebrow: str
    sentence: Sentence
    numbers: tuple[Tile, ...]
    dumbbells: FigureCard
    icons: Icons | None
    limits: Advice
    helps: Advice
    key: tuple[Swatch, ...]
    caption: str


def plain_view(
    audit: Audit, target: TargetAudit, ranked: SortedOutcomes, *, split: str
) -> PlainView:
    """Return the plain twin of the reliability view.

    Parameters
    ----------
    audit : Audit
        The audit of one split.
    target : TargetAudit
        The same target that the technical page shows; of a label the verdict is the one that is
        left among all labels of the audit.
    ranked : SortedOutcomes
        Its outcomes; only how they are grouped differs from the technical page.
    split : str
        As the user knows it.
    """
    if target.target is not None and audit.labels:
        target = holm_adjusted(target, audit.labels, target.target)
    groups = certainty_groups(ranked, target)
    came_true = "right" if target.target is None else "present"
    rows, of = count(_rows(audit, target)), count(audit.n)
    return PlainView(
        eyebrow="" if rows == of else f"{rows} of {of} {split} {with_row_noun('pictures')}",
        sentence=with_caveats(
            replace(plain_sentence(target), second=_second(audit, target, groups)), audit.notices
        ),
        numbers=_tiles(audit, target),
        dumbbells=_card(groups, came_true),
        icons=_icons(groups, target),
        limits=_limits(audit, target),
        helps=_helps(target),
        key=_key(_missed(groups, target), came_true),
        caption=(f"{SAME_NUMBERS}Intervals: {holding(level_of(target))}"),
    )


def _key(missed: Group | None, came_true: str) -> tuple[Swatch, Swatch]:
    """Explain the marks, with a dot as the figure draws it where a promise was missed."""
    words = f"how often it was {came_true}, with its interval"
    dot = Swatch(words, missed.tone, "dot") if missed else Swatch(words, "few", "ring")
    return Swatch("what the model says", "ink", "bar"), dot


def certainty_groups(ranked: SortedOutcomes, target: TargetAudit) -> tuple[Group, ...]:
    """Return the answers in groups of certainty, each closed at its lower end.

    There are four, and more where one would average bins that are off on both sides.

    A group is called wrong only where the verdict is that something is, and then beyond an exact
    interval that is corrected for the number of groups.
    """
    named = _one_sided(ANSWER_GROUPS if target.target is None else PRESENCE_GROUPS, target)
    inner = [upper for upper, _, _ in named[:-1]]
    cuts = np.searchsorted(ranked.confidence, [0.0, *inner, np.inf], side="left")
    parts = sums(ranked, cuts)
    says, right = _share(parts.confidence, parts.count), _share(parts.hits, parts.count)
    rows = np.nan_to_num(effective_rows(ranked, cuts))
    hits = np.nan_to_num(right) * rows
    low, high = wilson(hits, rows, level_of(target))
    looks = max(int(np.count_nonzero(parts.count)), 1)
    least, most = exact_interval(hits, rows, 1.0 - FALSE_ALARMS / looks)
    if target.verdict.code not in DETECTED:
        least, most = np.zeros_like(least), np.ones_like(most)
    return tuple(
        Group(label, reach, int(n), *map(float, shares))
        for (_, label, reach), n, *shares in zip(
            named, np.diff(cuts), says, right, low, high, least, most, strict=True
        )
    )


def _one_sided(
    named: Sequence[tuple[float, str, str]], target: TargetAudit
) -> list[tuple[float, str, str]]:
    """Return groups cut where decided bins within one change sides, if their ends print apart."""
    ends = target.verdict.ends
    spans = sorted((*s, end.over) for end in ends for s in end.spans or [(end.low, end.high)])
    turns = [(one[1], other[0]) for one, other in pairwise(spans) if one[2] != other[2]]
    groups, low = [], 0.0
    for high, label, reach in named:
        inner = {_end(at): at for end, at in turns if end > low and low < at < high}
        cuts = [at for end, at in inner.items() if end not in (_end(low), _end(high))]
        for a, b in pairwise([low, *cuts, high]):
            part = f"{_end(a)} to {_end(b)}"
            if a == 0.0 or b == 1.0:
                part = f"under {_end(b)}" if a == 0.0 else f"{_end(a)} or more"
            groups.append((b, label, part if cuts else reach))
        low = high
    return groups


def _end(value: float) -> str:
    """Return an end of a group as the named groups print theirs: 5, and not 5.0."""
    text = share(value).removeprefix("almost ")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _share(total: Counts, n: Counts) -> Float:
    return np.asarray(np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0))


def _tiles(audit: Audit, target: TargetAudit) -> tuple[Tile, ...]:
    of, says, came_true = plain_shares(target)
    error, floor = calibration_error(target)
    answers = target.target is None
    score = audit.main.metrics.get("accuracy") if answers else None
    between = ""
    if score is not None and known(score.low) and known(score.high):
        ends = f"{in_hundred(score.low)} and {in_hundred(score.high)}"
        between = f"between {ends}" if of == "100" else f"between {ends} in 100"
    off = MISSING if error is None or error.value is None else points(error.value)
    perfect = "" if floor is None else f"chance: up to {points(floor.q95)}"
    return (
        Tile(
            "Right" if answers else "There",
            came_true,
            f"in {of}",
            between,
        ),
        Tile("It says", says, f"in {of}", "on average"),
        Tile("Off by", off, "points", perfect),
        Tile(with_row_noun("Pictures"), count(_rows(audit, target))),
    )


def _rows(audit: Audit, target: TargetAudit) -> int:
    """Return how many rows a verdict is of: of a label those that are labelled."""
    return int(target.bins.count.sum()) or audit.n


def _card(groups: tuple[Group, ...], came_true: str) -> FigureCard:
    descriptions = []
    for group in reversed(groups):
        if group.n:
            things = with_row_noun("picture" if group.n == 1 else "pictures")
            right = in_hundred(group.right, group.low, group.high)
            says = points(group.says) if "." in right else in_hundred(group.says)
            descriptions.append(
                f"{group.name} ({group.range}): {count(group.n)} {things}, says {says} in 100, "
                f"{came_true} {right} ({hundred_span(group.low, group.high, group.right)})"
            )
    rows = tuple(
        (f"{g.name} ({g.range})", g.n, *(_cell(v) for v in (g.says, g.right, g.low, g.high)))
        for g in reversed(groups)
    )
    question = (
        "When it says it is this sure, how often is it right?"
        if came_true == "right"
        else "When it gives such a chance, how often is it there?"
    )
    table = (
        Column("group", "when it is"),
        Column("n", with_row_noun("pictures"), "count"),
        Column("says", "it says", "share"),
        Column("right", "it came true", "share"),
        Column("low", "at least", "share"),
        Column("high", "at most", "share"),
    )
    return FigureCard(
        key="plain",
        title=question,
        explanation="",
        draw=partial(dumbbells, groups, came_true=came_true),
        alt=f"{question} {'; '.join(descriptions)}.",
        table=Table(table, rows),
        caption=f"n = {count(sum(group.n for group in groups))}",
    )


def _cell(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _missed(groups: tuple[Group, ...], target: TargetAudit) -> Group | None:
    """Return the group whose promise was missed at most cost, if any was beyond chance.

    Where the verdict has a side, of the groups on it, as the bin that the other pages quote.
    """
    code = target.verdict.code
    sides = {"over"} if code in TOO_HIGH else {"under"} if code in TOO_LOW else {"over", "under"}
    missed = [g for g in groups if g.n >= ENOUGH and g.tone in sides]
    return max(missed, key=lambda g: g.n * abs(g.says - g.right), default=None)


def _second(audit: Audit, target: TargetAudit, groups: tuple[Group, ...]) -> str:
    group, other = _missed(groups, target), other_verdict(audit, target)
    by_class = target.verdict.reading == MixedReading.BY_CLASS  # which no certainty explains
    parts = []
    if group is not None and group.n < sum(g.n for g in groups) and not by_class:
        least = "This shows most"
        if target.target is None:
            least += f" where it is “{group.name.lower()}”"
        at = f"({group.range} in 100)" if target.target is None else f"at {group.range} in 100"
        parts.append(f"{least} {at}: {_weight(group, groups, target)}.")
    parts += ["" if other is None else plain_other(other), plain_above(target)]
    return " ".join(filter(None, parts))


def _weight(group: Group, groups: tuple[Group, ...], target: TargetAudit) -> str:
    """Return how many of all are in a group: "357 of 10,000 answers"."""
    things = "answers" if target.target is None else with_row_noun("pictures")
    return f"{count(group.n)} of {count(sum(g.n for g in groups))} {things}"


def _icons(groups: tuple[Group, ...], target: TargetAudit) -> Icons | None:
    """Take the group whose promise was missed at most cost; without one, the fullest."""
    fullest = max(groups, key=lambda g: g.n)
    group = _missed(groups, target) or fullest
    if group.n < ENOUGH:
        return None
    made = _answer_icons(group) if target.target is None else _presence_icons(group)
    return replace(made, note=_weight(group, groups, target))


def _answer_icons(group: Group) -> Icons:
    """Mark wrong answers."""
    promised, observed = _wrong(group.says), _wrong(group.right)
    low, high = _wrong(group.high), _wrong(group.low)
    return Icons(
        title=f"Answers that were {group.range} in 100 sure",
        note="",
        promised=promised,
        observed=observed,
        low=low,
        high=high,
        tone="quiet" if group.tone == "few" else group.tone,
        **_texts(
            group,
            (1.0 - group.says, 1.0 - group.right, 1.0 - group.high, 1.0 - group.low),
            ("{n} of {of} would be wrong", "{n} of {of} {were} wrong"),
        ),
        mark=WRONG,
    )


def _presence_icons(group: Group) -> Icons:
    """Mark pictures in which it was there."""
    promised, observed, low, high = (
        round(100.0 * v) for v in (group.says, group.right, group.low, group.high)
    )
    return Icons(
        title=f"{with_row_noun('Pictures')} given a chance of {group.range} in 100",
        note="",
        promised=promised,
        observed=observed,
        low=low,
        high=high,
        tone="quiet" if group.tone == "few" else group.tone,
        **_texts(
            group,
            (group.says, group.right, group.low, group.high),
            ("it would be there in {n} of {of}", "it was there in {n} of {of}"),
        ),
        mark=PRESENT,
    )


def _texts(
    group: Group, shares: tuple[float, float, float, float], words: tuple[str, str]
) -> dict[str, str]:
    """Return what was promised and seen of 100, or of more where that would mislead.

    Hundredths can hide a promise that was missed, and make one that was kept look missed.

    `shares` are promised, seen, and the ends of the interval of what was seen.
    """
    of, (promised, seen) = 100, [in_hundred(share) for share in shares[:2]]
    if group.tone in {"over", "under"} and promised == seen:
        of, (promised, seen) = counts_apart(*shares[:2], most=group.n)
    elif group.n >= 1_000 and (
        (promised != seen and abs(shares[0] - shares[1]) < 0.005)
        or round(100 * shares[2]) == round(100 * shares[3])
    ):
        enough = all(round(1_000 * share) or not share for share in shares[:2])
        of = 1_000 if enough else min(10_000, group.n)
        promised, seen = (
            count(round(of * share)) if round(of * share) or not share else UNDER_ONE
            for share in shares[:2]
        )
    low, high = (count(round(of * share)) for share in shares[2:])
    were = "was" if singular(seen) else "were"
    about = words[0].format(n=about_hundred(promised), of=count(of))
    return {
        "promised_text": f"If that were right, {about}.",
        "observed_text": f"In this test {words[1].format(n=seen, of=count(of), were=were)} "
        f"({low} to {high}).",
    }


def _wrong(right: float) -> int:
    return round(100.0 * (1.0 - right))


def _limits(audit: Audit, target: TargetAudit) -> Advice:
    rows = _rows(audit, target)
    n = f"these {count(rows)}" if rows > 1 else "this one"
    groups, alike = target.groups, ""
    if groups is not None:
        about = "" if target.target is None else f" for “{target.name}”"
        alike = (
            f" They come from {groups_words(groups.column, groups.n)} and "
            f"{counted_as(groups, rows)} unrelated ones{about}."
        )
    return Advice(
        "What this does not say",
        f"It says nothing of {with_row_noun('pictures')} unlike {n}, nor whether "
        + ("a single answer is right" if target.target is None else "a single one has it")
        + f".{alike}",
    )


def _helps(target: TargetAudit) -> Advice:
    code = target.verdict.code
    advice = {
        **dict.fromkeys(SLOPE | TOO_HIGH | TOO_LOW, RISK_HELP),
        # Which way a correction moves the model, its fit says and not this gap.
        VerdictCode.OVER_CONFIDENT: ANSWERS_HELP,
        VerdictCode.UNDER_CONFIDENT: ANSWERS_HELP,
        VerdictCode.MIXED: (
            "Compare several corrections on other pictures."
            if target.target is None
            else "Correct the scores of {name} by themselves, on other pictures."
        ),
        VerdictCode.OFF_BUT_SMALL: (
            "Nothing is needed: what is off is below {small} points, {limit}, once chance is "
            "allowed for. Check again when the pictures change."
        ),
        VerdictCode.SOUND: "Nothing needs to be done. Check again when the pictures change.",
        VerdictCode.COULD_BE_CHANCE: (
            "More pictures with known answers. On this many, a perfect model could look the same."
            if target.verdict.too_few
            or target.verdict.power is None
            or target.verdict.open_to is not None
            else "Nothing here needs correcting. Check again when the pictures change."
        ),
    }[code]
    if target.verdict.classes and code in DETECTED:
        advice = CLASSES_HELP
    advice = with_row_noun(advice).replace("{name}", f"“{target.name}”")
    limit = "the limit that you set" if target.verdict.own_limit else "Candor’s usual limit"
    advice = advice.replace("{small}", points(target.verdict.small)).replace("{limit}", limit)
    return Advice("What helps", advice)
