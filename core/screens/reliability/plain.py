"""The Reliability page in plain words: the same audit in times out of 100, without jargon."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from core.arrays import Counts, Float
from core.defaults import FALSE_ALARMS
from core.metrics.binning import sums
from core.metrics.intervals import exact_interval, wilson
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import (
    DETECTED,
    SLOPE,
    TOO_HIGH,
    TOO_LOW,
    Audit,
    MixedReading,
    TargetAudit,
    VerdictCode,
)
from core.metrics.verdict import share
from core.screens.kit.cards import calibration_error, level_of
from core.screens.kit.curves import hovers, sheet
from core.screens.kit.labels import holm_adjusted
from core.screens.kit.numbers import (
    MISSING,
    UNDER_ONE,
    about_hundred,
    count,
    distinct_counts,
    holding,
    hundred_span,
    in_hundred,
    known,
    points,
    singular,
    whole_hundred,
)
from core.screens.kit.records import Column, FigureCard, Sentence, Swatch, Table, Tile, columns_of
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
from core.screens.kit.theme import Theme, Tone, axis, faded
from core.screens.kit.words import with_row_noun

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

    Groups come from the least to the most certain; an empty one stays as a name without marks.
    `came_true` stands beside the dot: "right", or "present" for one class or label.
    """
    # Tens around everything drawn, the upper end at 100 with room for the last label
    ends = [100.0 * v for g in groups if g.n for v in (g.says, g.low)]
    least = 10.0 * int(min([*ends, 90.0]) // 10.0)
    reach = [least - 6.0, 104.0]
    x = axis(theme, "times in 100", range=reach, dtick=10)
    labels = [
        f"<b>{g.name} ({g.range})</b><br><span style='color:{theme.quiet}'>{count(g.n)} "
        f"{with_row_noun('picture' if g.n == 1 else 'pictures')}</span>"
        for g in groups
    ]
    y_axis = axis(
        theme,
        range=[-0.6, len(groups) - 0.4],
        tickvals=list(range(len(groups))),
        ticktext=labels,
        tickfont={"size": 13, "color": theme.ink},
        showgrid=False,
    )
    figure = sheet(theme, 92 * len(groups) + 80, x, y_axis, margin=(182, 40, 20, 50))
    for y, group in enumerate(groups):
        if not group.n:
            continue
        says, right = 100.0 * group.says, 100.0 * group.right
        low, high = 100.0 * group.low, 100.0 * group.high
        colour, ring = theme.mark(group.tone), group.tone in {"few", "sound"}
        chance = ": could be chance" if group.tone == "few" else ""
        words = (
            f"<b>{group.name}</b>: says {in_hundred(group.says)} in 100,<br>"
            f"{came_true} {in_hundred(group.right, group.low, group.high)} "
            f"({hundred_span(group.low, group.high, group.right)})"
        )
        for ends, width, shade in (
            ([right, says], 8, faded(colour, 0.35)),
            ([low, high], 1.8, colour),
        ):
            line = {"color": shade, "width": width}
            figure.add_scatter(x=ends, y=[y, y], mode="lines", line=line, hoverinfo="skip")
        figure.add_scatter(
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
        )
        paper = theme.paper if ring else colour
        figure.add_scatter(
            x=[right],
            y=[y],
            name=group.tone,
            mode="markers+text",
            marker={"size": 17, "color": paper, "line": {"color": colour, "width": 2}},
            text=[f"{came_true} {in_hundred(group.right)}{chance}"],
            textposition="bottom center",
            textfont={"size": 13, "color": theme.word(group.tone)},
            customdata=[y],
            **hovers([words]),
            cliponaxis=False,
        )
    return figure


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
    "A correction learned from other pictures may mend its certainty. The simplest one changes no "
    "answer."
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
    """A short paragraph under its own head."""

    title: str
    text: str


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

    The target is the one that the technical page shows, of a label with the verdict that is left
    among all labels. Only how its outcomes are grouped differs from that page.
    """
    if target.target is not None and audit.labels:
        target = holm_adjusted(target, audit.labels, target.target)
    groups = certainty_groups(ranked, target)
    answers = target.target is None
    came_true = "right" if answers else "present"
    n = int(target.bins.count.sum()) or audit.n  # of a label those that are labelled
    rows, of = count(n), count(audit.n)
    missed, other = _missed(groups, target), other_verdict(audit, target)
    by_class = target.verdict.reading == MixedReading.BY_CLASS  # which no certainty explains
    parts = []
    if missed is not None and missed.n < sum(g.n for g in groups) and not by_class:
        least = "This shows most"
        if answers:
            least += f" where it is “{missed.name.lower()}”"
        at = f"({missed.range} in 100)" if answers else f"at {missed.range} in 100"
        parts.append(f"{least} {at}: {_weight(missed, groups, target)}.")
    parts += ["" if other is None else plain_other(other), plain_above(target)]
    sentence = replace(plain_sentence(target), second=" ".join(filter(None, parts)))
    alike = ""
    if target.groups is not None:
        about = "" if answers else f" for “{target.name}”"
        alike = (
            f" They come from {groups_words(target.groups.column, target.groups.n)} and "
            f"{counted_as(target.groups, n)} unrelated ones{about}."
        )
    unlike = f"these {rows}" if n > 1 else "this one"
    single = "a single answer is right" if answers else "a single one has it"
    # The dot of the key as the figure draws it where a promise was missed
    words = f"how often it was {came_true}, with its interval"
    dot = Swatch(words, missed.tone, "dot") if missed else Swatch(words, "few", "ring")
    return PlainView(
        eyebrow="" if rows == of else f"{rows} of {of} {split} {with_row_noun('pictures')}",
        sentence=with_caveats(sentence, audit.notices),
        numbers=_tiles(audit, target, rows),
        dumbbells=_card(groups, came_true),
        icons=_icons(groups, target),
        limits=Advice(
            "What this does not say",
            f"It says nothing of {with_row_noun('pictures')} unlike {unlike}, nor whether "
            f"{single}.{alike}",
        ),
        helps=_helps(target),
        key=(Swatch("what the model says", "ink", "bar"), dot),
        caption=f"{SAME_NUMBERS}Intervals: {holding(level_of(target))}",
    )


def _tiles(audit: Audit, target: TargetAudit, rows: str) -> tuple[Tile, ...]:
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
        Tile("Right" if answers else "There", came_true, f"in {of}", between),
        Tile("It says", says, f"in {of}", "on average"),
        Tile("Off by", off, "points", perfect),
        Tile(with_row_noun("Pictures"), rows),
    )


def certainty_groups(ranked: SortedOutcomes, target: TargetAudit) -> tuple[Group, ...]:
    """Return the answers in groups of certainty, each closed at its lower end.

    There are four, and more where one would average bins that are off on both sides.

    A group is called wrong only where the verdict is that something is, and then beyond an exact
    interval that is corrected for the number of groups.
    """
    # Groups are cut where decided bins within one change sides, if their ends print apart
    ends = target.verdict.ends
    spans = sorted((*s, end.over) for end in ends for s in end.spans or [(end.low, end.high)])
    turns = [(one[1], other[0]) for one, other in pairwise(spans) if one[2] != other[2]]
    named, lower = list[tuple[float, str, str]](), 0.0
    for upper, label, reach in ANSWER_GROUPS if target.target is None else PRESENCE_GROUPS:
        inner = {_end(at): at for end, at in turns if end > lower and lower < at < upper}
        inside = [at for end, at in inner.items() if end not in (_end(lower), _end(upper))]
        for a, b in pairwise([lower, *inside, upper]):
            part = f"{_end(a)} to {_end(b)}"
            if a == 0.0 or b == 1.0:
                part = f"under {_end(b)}" if a == 0.0 else f"{_end(a)} or more"
            named.append((b, label, part if inside else reach))
        lower = upper
    cuts = np.searchsorted(
        ranked.confidence, [0.0, *(upper for upper, _, _ in named[:-1]), np.inf], side="left"
    )
    parts = sums(ranked, cuts)
    says, right = _share(parts.confidence, parts.count), _share(parts.hits, parts.count)
    rows = np.nan_to_num(ranked.effective_rows(cuts))
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


def _end(value: float) -> str:
    """Return an end of a group as the named groups print theirs: 5, and not 5.0."""
    text = share(value).removeprefix("almost ")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _share(total: Counts, n: Counts) -> Float:
    return np.asarray(np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0))


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
        (f"{g.name} ({g.range})", g.n, *(v if np.isfinite(v) else None for v in shares))
        for g in reversed(groups)
        for shares in [(g.says, g.right, g.low, g.high)]
    )
    question = (
        "When it says it is this sure, how often is it right?"
        if came_true == "right"
        else "When it gives such a chance, how often is it there?"
    )
    table = (
        Column("group", "when it is"),
        Column("n", with_row_noun("pictures"), "count"),
        *columns_of("share", says="it says", right="it came true", low="at least", high="at most"),
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


def _missed(groups: tuple[Group, ...], target: TargetAudit) -> Group | None:
    """Return the group whose promise was missed at most cost, if any was beyond chance.

    Where the verdict has a side, of the groups on it, as the bin that the other pages quote.
    """
    code = target.verdict.code
    sides = {"over"} if code in TOO_HIGH else {"under"} if code in TOO_LOW else {"over", "under"}
    missed = [g for g in groups if g.n >= ENOUGH and g.tone in sides]
    return max(missed, key=lambda g: g.n * abs(g.says - g.right), default=None)


def _weight(group: Group, groups: tuple[Group, ...], target: TargetAudit) -> str:
    """Return how many of all are in a group: "357 of 10,000 answers"."""
    things = "answers" if target.target is None else with_row_noun("pictures")
    return f"{count(group.n)} of {count(sum(g.n for g in groups))} {things}"


def _icons(groups: tuple[Group, ...], target: TargetAudit) -> Icons | None:
    """Take the group whose promise was missed at most cost; without one, the fullest."""
    group = _missed(groups, target) or max(groups, key=lambda g: g.n)
    if group.n < ENOUGH:
        return None
    # Promised, seen, and the ends of the interval of what was seen
    shares = (group.says, group.right, group.low, group.high)
    if target.target is None:
        shares = (1.0 - group.says, 1.0 - group.right, 1.0 - group.high, 1.0 - group.low)
        title = f"Answers that were {group.range} in 100 sure"
        promise, truth = "{n} of {of} would be wrong", "{n} of {of} {were} wrong"
    else:
        title = f"{with_row_noun('Pictures')} given a chance of {group.range} in 100"
        promise, truth = "it would be there in {n} of {of}", "it was there in {n} of {of}"
    # Hundredths can hide a promise that was missed, and make one that was kept look missed: then
    # the sentences count in thousands or more.
    of, (promised, seen) = 100, [in_hundred(share) for share in shares[:2]]
    if group.tone in {"over", "under"} and promised == seen:
        of, (promised, seen) = distinct_counts(*shares[:2], most=group.n)
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
    about = promise.format(n=about_hundred(promised), of=count(of))
    marks = [whole_hundred(share) for share in shares]
    return Icons(
        title=title,
        note=_weight(group, groups, target),
        promised=marks[0],
        observed=marks[1],
        low=marks[2],
        high=marks[3],
        tone="quiet" if group.tone == "few" else group.tone,
        promised_text=f"If that were right, {about}.",
        observed_text=f"In this test {truth.format(n=seen, of=count(of), were=were)} "
        f"({low} to {high}).",
        mark=WRONG if target.target is None else PRESENT,
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
