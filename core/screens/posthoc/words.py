"""The words of the post-hoc page: what methods are called, their parameters, the sentences."""

from collections.abc import Mapping, Sequence
from math import nan
from statistics import NormalDist

from core.calibrators import CALIBRATORS
from core.metrics.comparison import Comparison, compare
from core.metrics.paired import Difference
from core.metrics.records import Gap
from core.metrics.verdict import NAMED
from core.predictions import Task
from core.screens.kit.differences import better, size_words, worse
from core.screens.kit.differences import name as metric_name
from core.screens.kit.marks import shares
from core.screens.kit.methods import IN_SENTENCE
from core.screens.kit.numbers import count, in_hundred, points, points_alike, points_span, span
from core.screens.kit.records import Phrase, Sentence
from core.screens.kit.sentences import plain_class_answers
from core.screens.kit.words import LABELS, with_row_noun
from core.studies.posthoc import NONE, RISKS, VECTOR, Fit, MethodReport

NAMES = {NONE: "None", **{key: method.words.name for key, method in CALIBRATORS.items()}}
CHANCE = "chance: up to {}"
MOSTLY_CHANCE = "chance alone shows up to {}"
ROUNDED = 0.0005  # nearer to what chance shows, both are printed alike
ALONE = " Chance alone shows up to {}."
PERFECT = " A perfect model would show up to {}."  # in plain words
OBJECTIVES = {key: LABELS[key] for key in ("nll", "ece", "ece_em", "ada_ece", "brier")}


def meaning(method: str, task: Task, *, plain: bool = False) -> str:
    """Return what a method does to the scores of a task; empty for the scores as read."""
    if method == NONE:
        return ""
    words, kept = CALIBRATORS[method].words, CALIBRATORS[method].keeps_accuracy
    if task is not Task.TOP_LABEL:
        answers = "It never changes the answers." if kept else "Answers can change."
        return f"{(plain and words.plain) or words.meaning} {answers}"
    stated, platt = ("stated certainty", "") if plain else ("confidence", ": Platt scaling")
    shown = words.stated.format(stated=stated, platt=platt)
    return shown and f"{shown} No answer changes."


def sentence(
    judged: Mapping[str, MethodReport], comparison: Comparison, refused: Sequence[Fit] = ()
) -> Sentence:
    """Return which method helps, by how much, and whether that is more than chance.

    `judged` has `none` first; differences are from it, in the same order.
    """
    names = list(judged)
    differences = {
        name: by_metric["ece"]
        for name, by_metric in zip(names, comparison.differences, strict=True)
        if by_metric
    }
    if not differences:
        why = f"{IN_SENTENCE[refused[0].method]}: {refused[0].refusal}." if refused else ""
        first = "No method could be fitted on these rows." if refused else "No method is chosen."
        return Sentence((Phrase(first),), _capital(why))
    errors = {name: _ece(judged[name]) for name in names}
    helping = [name for name, difference in differences.items() if better(difference)]
    if not helping:
        return _none_helps(errors, differences, judged, comparison)
    best = min(_preferred(helping, judged, comparison) or helping, key=errors.__getitem__)
    size, interval = size_words(differences[best])
    of = f" of “{comparison.event}”" if comparison.event else ""
    was, now = points_alike([errors[NONE], errors[best]])
    takes = f"{IN_SENTENCE[best]} takes the calibration error{of} from {was} to {now}"
    parts = (
        Phrase(_capital(takes)),
        Phrase(f", a drop of {size}{interval}"),
        Phrase(_answers_cost(best, judged, comparison, kept="")),
        Phrase(explained(judged[best], ALONE)),
    )
    # How the other methods do against the best of those that keep the answers
    against = compare([judged[name].compared for name in names], names, names.index(best))
    rest = {
        name: by_metric["ece"]
        for name, by_metric in zip(names, against.differences, strict=True)
        if by_metric and name != NONE
    }
    ties = [name for name, difference in rest.items() if difference.tie]
    higher = [name for name, difference in rest.items() if worse(difference)]
    clauses = [f"{_listed(ties)} {_verb(ties, 'is', 'are')} tied with it"] if ties else []
    clauses += [
        f"{IN_SENTENCE[name]} goes lower{_changing(judged[name], judged[NONE])}"
        for name, difference in rest.items()
        if better(difference)
    ]
    if higher:
        clauses.append(f"{_listed(higher)} {_verb(higher, 'stays', 'stay')} higher")
    others = f"{_capital('; '.join(clauses))}." if clauses else ""
    return Sentence(parts, f"{others} {_cost(best, judged, comparison)}".strip())


def _preferred(
    names: Sequence[str], judged: Mapping[str, MethodReport], comparison: Comparison
) -> list[str]:
    """Return the methods that keep every answer, and others where answers have to change.

    They are a cut of ours at one half for a risk. Where classes are off on different sides, no
    method that keeps answers brings them together: one that changes them may, unless it costs
    likelihood.
    """
    none = judged[NONE]
    unlike = bool(none.compared.audit.headline.verdict.classes)
    # One that comes to give one answer to every row says little, however well that is calibrated.
    constant = {
        name for name in names if judged[name].changed and _by_one_answer(judged[name], none)
    }
    return [
        name
        for name in [name for name in names if name not in constant] or names
        if not judged[name].changed
        or _of_risk(judged)
        or (unlike and not _cost(name, judged, comparison))
    ]


def _of_risk(judged: Mapping[str, MethodReport]) -> bool:
    return judged[NONE].compared.audit.task in RISKS


def _cost(
    best: str, judged: Mapping[str, MethodReport], comparison: Comparison, *, plain: bool = False
) -> str:
    """Return what gets worse beyond chance while another score gets better."""
    names = list(judged)
    before, after = (judged[name].compared.audit.main.metrics.get("nll") for name in (NONE, best))
    lost = []
    if before is not None and before.value is not None and (after is None or after.value is None):
        lost.append("its NLL is infinite: it gives a true class a probability of 0")
    differences = comparison.differences[names.index(best)]
    lost += [
        f"its {metric_name(metric)} rises"
        for metric in ("nll", "brier")
        if metric in differences and worse(differences[metric])
    ]
    if plain and lost:
        return "But other scores of its stated chances get worse beyond chance."
    return f"But {' and '.join(lost)}." if lost else ""


def _ece(judged: MethodReport) -> float:
    value = judged.compared.audit.main.metrics["ece"].value
    assert value is not None
    return value


def explained(judged: MethodReport, words: str) -> str:
    """Return, in these words, what chance alone makes of the ECE; empty where it has no floor."""
    floor = judged.compared.audit.main.noise_floor.get("ece")
    return "" if floor is None else words.format(points(floor.q95))


def _none_helps(
    errors: Mapping[str, float],
    differences: Mapping[str, Difference],
    judged: Mapping[str, MethodReport],
    comparison: Comparison,
) -> Sentence:
    error, chance = errors[NONE], judged[NONE].compared.audit.main.noise_floor["ece"]
    size = f"{points(error)} points{_over_labels(judged)}"
    first = f"No method lowers the calibration error of {size} beyond chance."
    best = _best_fit(judged, comparison)
    if best:
        drop, interval = size_words(comparison.differences[list(judged).index(best)]["nll"])
        was, now = points_alike([errors[NONE], errors[best]])
        goes = f"stays at {now} points{_over_labels(judged)}."
        if was != now:
            goes = f"goes from {was} to {now} points{_over_labels(judged)}, which could be chance."
        first = (
            f"By NLL, {IN_SENTENCE[best]} helps beyond chance: a drop of {drop}{interval}"
            f"{_answers_cost(best, judged, comparison, kept='')} The calibration error {goes}"
        )
    elif len(differences) == 1:
        only = next(iter(differences))
        first = (
            f"{_capital(IN_SENTENCE[only])} does not lower the calibration error of {size} beyond "
            "chance."
        )
    n = judged[NONE].compared.rows.n
    second = ""
    if error <= chance.q95 and not best:
        second = (
            f"That could be chance: on {count(n)} {with_row_noun('images')} a perfect model would "
            f"look off by up to {points(chance.q95)} points."
        )
    raising = [name for name, difference in differences.items() if worse(difference)]
    if raising:
        second += f" {_capital(_listed(raising))} {_verb(raising, 'raises', 'raise')} it."
    second += f" {_cost(best, judged, comparison)}" if best else ""
    second += mended(judged, best)
    return Sentence((Phrase(first),), second.strip())


def _listed(names: Sequence[str]) -> str:
    texts = [IN_SENTENCE[name] for name in names]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _verb(names: Sequence[str], singular: str, plural: str) -> str:
    return singular if len(names) == 1 else plural


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def plain_best(judged: Mapping[str, MethodReport], comparison: Comparison) -> str:
    """Return the method that does best beyond chance; empty without one.

    It keeps every answer where it can; see `_preferred`.
    """
    helping = helpful_methods(judged, comparison)
    preferred = _preferred(helping, judged, comparison)
    return min(preferred, key=lambda name: _ece(judged[name]), default="")


def helpful_methods(judged: Mapping[str, MethodReport], comparison: Comparison) -> list[str]:
    """Return the methods that lower the calibration error beyond chance."""
    return [
        name
        for name, by_metric in zip(judged, comparison.differences, strict=True)
        if by_metric and better(by_metric["ece"])
    ]


def _better_fits(judged: Mapping[str, MethodReport], comparison: Comparison) -> list[str]:
    """Return the methods that lower the NLL beyond chance and do not raise the ECE beyond it.

    The difference of two ECEs has little power: what mends a slope shows in the NLL first.
    """
    return [
        name
        for name, by_metric in zip(judged, comparison.differences, strict=True)
        if "nll" in by_metric and better(by_metric["nll"]) and not worse(by_metric["ece"])
    ]


def _best_fit(judged: Mapping[str, MethodReport], comparison: Comparison) -> str:
    """Return the method with the lowest NLL of those; it keeps every answer where it can."""
    fitting = _better_fits(judged, comparison)
    return min(
        _preferred(fitting, judged, comparison) or fitting,
        key=lambda name: judged[name].compared.audit.main.metrics["nll"].value or 0.0,
        default="",
    )


def any_helps(judged: Mapping[str, MethodReport], comparison: Comparison) -> bool:
    """Return whether a method lowers ECE or NLL beyond chance, or mends a label or a class."""
    return bool(
        helpful_methods(judged, comparison) or _better_fits(judged, comparison) or mended(judged)
    )


def none_fitted(fits: Sequence[Fit]) -> str:
    """Return why no correction could be tried, in plain words; empty where one was fitted."""
    refused = [fit.refusal for fit in fits if fit.calibrator is None]
    if not refused or len(refused) < len(fits):
        return ""
    why = refused[0][:1].lower() + refused[0][1:]
    return f"No correction could be tried: {why}."


def plain_sentence(
    judged: Mapping[str, MethodReport], comparison: Comparison, fits: Sequence[Fit] = ()
) -> Sentence:
    """Return which correction helps, and by how much, without technical terms."""
    best = plain_best(judged, comparison)
    # How far off the scores are, or look where half of that could be chance
    main = judged[NONE].compared.audit.main
    ece, floor = main.metrics["ece"], main.noise_floor.get("ece")
    noisy = ece.value is not None and floor is not None and ece.value <= 2 * floor.q95 + ROUNDED
    what = f"The stated certainty of this model {'looks' if noisy else 'is'}"
    if _of_risk(judged):
        event = f" “{comparison.event}”" if comparison.event else ""
        what = f"The chances this model gives{event} {'look' if noisy else 'are'}"
    chance = MOSTLY_CHANCE if noisy else CHANCE
    notes = (points_span(ece.value, ece.low, ece.high), explained(judged[NONE], chance))
    average = f"on average{_over_labels(judged)}"
    now = f"{what} off by {points(ece.value)} points {average} ({'; '.join(filter(None, notes))})"
    if none_fitted(fits):
        return Sentence((Phrase(f"{now}."),), none_fitted(fits))
    if not best:
        others = "No correction is chosen."
        if len(judged) > 1:
            others = _plain_others(judged, comparison)
        return Sentence((Phrase(f"{now}."),), others)
    difference = comparison.differences[list(judged).index(best)]["ece"]
    # Classes that it leaves off, where the mean does not tell of them. What they were before shows
    # where it moves errors between classes.
    classes, before = (
        judged[name].compared.audit.headline.verdict.classes for name in (best, NONE)
    )
    unlike = ""
    if classes:
        was = f" Before: {plain_class_answers(before)}." if before else ""
        # of a risk it would move all answers alike, as what was tried does
        tried = VECTOR in judged or _of_risk(judged)
        mends = "" if tried else f" {_capital(IN_SENTENCE[VECTOR])} may mend that."
        unlike = f"Furthest off: answers {plain_class_answers(classes)}.{was}{mends}"
    costs = _cost(best, judged, comparison, plain=True), unlike
    return Sentence(
        (
            Phrase(f"{now}. A correction brings that to "),
            Phrase(points(_ece(judged[best]))),
            Phrase(_answers_cost(best, judged, comparison)),
            Phrase(explained(judged[best], PERFECT)),
        ),
        f"The correction is {IN_SENTENCE[best]}. Difference "
        f"{points(difference.value, signed=True)} "
        f"({span(difference.low, difference.high, signed=True)}): beyond chance. "
        f"{' '.join(filter(None, costs))}".rstrip(),
    )


def _over_labels(judged: Mapping[str, MethodReport]) -> str:
    """Return what many labels' calibration error is a mean of."""
    labels = judged[NONE].compared.audit.labels
    return f" over {len(labels)} labels" if labels else ""


def _with_ends(gap: Gap) -> str:
    return f"{points(gap.gap)} ({span(gap.low, gap.high)})"


def mended(judged: Mapping[str, MethodReport], counted: str = "") -> str:
    """Return the labels, or answers of classes, that a method mends, which a mean can hide.

    Of the method that mends one most: intervals before and after do not overlap, stretched so far
    that no two of all labels, or classes, by all methods part by chance at once. Classes that the
    verdict names stand there in any case. Empty where nothing is mended. `counted` is the method
    whose changed answers the sentence before counts.
    """
    none, level = judged[NONE], judged[NONE].compared.config.level
    methods = {method: report for method, report in judged.items() if method != NONE}
    cases: list[tuple[str, str, Gap, Gap, float]] = []
    for method, report in methods.items():
        labels = (each.compared.audit.labels for each in (none, report))
        for label, after in zip(*labels, strict=True):
            was, now = (
                Gap(*(nan if end is None else end for end in (ece.value, ece.low, ece.high)))
                for ece in (label.metrics["ece"], after.metrics["ece"])
            )
            wider = stretch(len(methods) * len(none.compared.audit.labels), 1, level)
            cases.append((method, f"“{label.name}”", was, now, wider))
        pairs = [
            (row.name, row.gap, corrected.gap)
            for row, corrected in zip(none.classes, report.classes, strict=False)
            if row.gap is not None and corrected.gap is not None
        ]
        wider = stretch(len(methods) * len(pairs), len(pairs), level)
        for name, was, now in pairs:
            if was.gap < 0.0:
                was, now = (Gap(-gap.gap, -gap.high, -gap.low) for gap in (was, now))
            cases.append((method, f"answers “{name}”", was, now, wider))
    improved = [
        (was.gap - abs(now.gap), method, what, was, now)
        for method, what, was, now, wider in cases
        if was.gap - wider * (was.gap - was.low)
        > max(
            abs(now.gap - wider * (now.gap - now.low)), abs(now.gap + wider * (now.high - now.gap))
        )
    ]
    if not improved:
        return ""
    method = max(improved, key=lambda case: case[0])[1]
    own = sorted((case for case in improved if case[1] == method), key=lambda case: -case[0])
    named = {f"answers “{cell.name}”" for cell in none.compared.audit.headline.verdict.classes}
    left = [
        case[1:4]
        for case in cases
        if case[0] == method and case[1] in named - {case[2] for case in own}
    ]
    more = f", and of {len(own) - NAMED} more" if len(own) > NAMED else ""
    joint = _moved([case[2:] for case in own[:NAMED]], ", " if more else " and ")
    brings = f"brings the error {joint} points{more}"
    if left:  # named by the verdict, and not shown to be mended
        brings += f", and moves that {_moved(left[:NAMED], ' and ')} points"
    if method == counted:
        return f" {_capital(IN_SENTENCE[method])} {brings}."
    return f" But {IN_SENTENCE[method]} {brings}{_changing(judged[method], none)}."


def _moved(errors: Sequence[tuple[str, Gap, Gap]], last: str) -> str:
    """Return what errors are of, before and after; `last` joins the last one."""
    *first, end = [f"of {what} from {_with_ends(a)} to {_with_ends(b)}" for what, a, b in errors]
    return f"{', '.join(first)}{last}{end}" if first else end


def stretch(cases: int, jointly: int, level: float) -> float:
    """Return by how much intervals are made wider so that none of `cases` pairs parts by chance.

    Two intervals of half widths z a and z b part by chance at most as often as a normal deviate
    is above z, whatever the correlation of their errors: its spread is at most a + b. So z is that
    of 1 - level over all cases (Bonferroni); that of the intervals, `jointly` of which hold
    together at the level, is taken out.
    """
    if not cases:
        return 1.0
    quantile, off = NormalDist().inv_cdf, 1.0 - level
    return max(1.0, quantile(1.0 - off / cases) / quantile(1.0 - off / (2 * jointly)))


def _answers_cost(
    best: str,
    judged: Mapping[str, MethodReport],
    comparison: Comparison,
    kept: str = ", without changing any answer",
) -> str:
    """Return how many answers a correction changes and how many are right then, or `kept`.

    And how many classes it puts further off: the mean does not tell of them.
    """
    after, none = judged[best], judged[NONE]
    n_further, further = after.further_off(none), ""
    if n_further:
        further = f"puts {count(n_further)} of {count(len(after.classes))} classes further off"
    if not after.changed:
        return f"{kept}{f', but {further}' if further else ''}."
    changed = f"{count(after.changed)} of {_all_answers(none)}{_silenced(after, none, 'gives')}"
    now, was = (one.compared.audit.main.metrics["accuracy"].value or 0.0 for one in (after, none))
    difference = comparison.differences[list(judged).index(best)].get("accuracy")
    if now == was:
        then = "as many are right"
    elif difference is not None and difference.tie:
        more = "more" if now > was else "fewer"
        then = f"{points(abs(now - was))} in 100 {more} are then right, which could be chance"
    elif in_hundred(now) != in_hundred(was):
        then = f"{in_hundred(now)} in 100 are then right, {in_hundred(was)} before"
    else:
        span_words = "" if difference is None else size_words(difference)[1]
        more = "more" if now > was else "fewer"
        then = f"{points(abs(now - was))} in 100 {more} are then right{span_words}"
    always = _by_one_answer(after, none) if now > was else ""
    return f". It changes {changed}; {then}.{always}{f' It {further}.' if further else ''}"


def _by_one_answer(after: MethodReport, none: MethodReport) -> str:
    """Return how often one answer for every row is right, where no more than that is reached."""
    audit, score = none.compared.audit, after.compared.audit.main.metrics["accuracy"]
    labelled = [(float(row.labelled), row.name) for row in none.classes]
    if audit.task == Task.BINARY:
        share = shares(audit.main.bins)[1]
        labelled = list(zip((1.0 - share, share), none.compared.rows.names, strict=True))
    elif audit.weights is not None:  # labels are counted as rows
        return ""
    most, name = max(labelled, default=(0.0, ""))
    share = most / max(sum(n for n, _ in labelled), 1.0)
    if score.low is None or share < score.low:
        return ""
    return f" Always answering “{name}” is right {in_hundred(share)} times in 100."


def _changing(judged: MethodReport, none: MethodReport) -> str:
    changed = judged.changed
    silenced = _silenced(judged, none, "giving")
    return f", changing {count(changed)} of {_all_answers(none)}{silenced}" if changed else ""


def _silenced(after: MethodReport, none: MethodReport, gives: str) -> str:
    """Return which classes were answers and are none any more; their errors are gone with them."""
    pairs = zip(none.classes, after.classes, strict=False)
    gone = [f"“{was.name}”" for was, now in pairs if was.n > now.n == 0]
    named = " or ".join(gone) if len(gone) <= NAMED else f"{count(len(gone))} of the classes"
    return f", and no longer {gives} {named}" if gone else ""


def _all_answers(judged: MethodReport) -> str:
    """Return how many answers there are: of many labels, one for each."""
    audit = judged.compared.audit
    if audit.task == Task.MULTILABEL:
        return f"{count(audit.n * audit.n_classes)} yes/no decisions"
    return f"{count(audit.n)} answers"


def _plain_others(judged: Mapping[str, MethodReport], comparison: Comparison) -> str:
    """Return which correction helps at the cost of answers, where none helps that keeps them."""
    helping = helpful_methods(judged, comparison)
    if not helping:
        first = "None of these corrections makes it better beyond chance."
        if len(judged) == 2:  # beside none
            first = "This correction does not make it better beyond chance."
        raising = [
            name
            for name, by_metric in zip(judged, comparison.differences, strict=True)
            if by_metric and worse(by_metric["ece"])
        ]
        if raising:
            verb = _verb(raising, "makes", "make")
            first += f" {_capital(_listed(raising))} {verb} it worse beyond chance."
        fits = _best_fit(judged, comparison)
        if fits:
            was, now = points_alike([_ece(judged[NONE]), _ece(judged[fits])])
            moves = f"{'falls' if _ece(judged[fits]) < _ece(judged[NONE]) else 'rises'} from {was}"
            moves += f" to {now}, which could be chance"
            first = (
                f"{_capital(IN_SENTENCE[fits])} makes its stated chances fit better beyond chance"
                f"{_changing(judged[fits], judged[NONE])}; the average error "
                f"{f'stays at {now}' if was == now else moves}. "
                f"{_cost(fits, judged, comparison, plain=True)}"
            ).rstrip()
        return f"{first}{mended(judged, fits)}"
    best = min(helping, key=lambda name: _ece(judged[name]))
    return (
        "No correction that keeps every answer brings that down beyond chance. "
        f"{_capital(IN_SENTENCE[best])} brings it to {points(_ece(judged[best]))} points"
        f"{_changing(judged[best], judged[NONE])}. {_cost(best, judged, comparison, plain=True)}"
    ).rstrip()
