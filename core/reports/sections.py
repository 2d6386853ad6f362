"""The sections of a report, each from the view of its screen: nothing is computed here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from core.codes import NoticeCode
from core.metrics.clinical import bands
from core.metrics.comparison import compare
from core.metrics.ranked import SortedOutcomes
from core.metrics.ranking import risk_coverage
from core.metrics.records import DETECTED
from core.metrics.top_label import answers
from core.predictions import Task
from core.reports.document import (
    Chapter,
    Edition,
    Section,
    WrittenTable,
    pairs,
    written,
    written_rows,
    written_scores,
)
from core.screens.compare.view import compare_view
from core.screens.compare.view import plain_view as plain_compare
from core.screens.kit.differences import NamedRun
from core.screens.kit.labels import (
    PLAIN_VERBS,
    headline,
    label_verdicts,
    labels_sentence,
    with_unknown,
)
from core.screens.kit.marks import marks
from core.screens.kit.numbers import count
from core.screens.kit.records import Sentence
from core.screens.kit.words import FILM_DATA, noticed, speaking_of, with_row_noun
from core.screens.ood.view import ShownCurve, ood_view
from core.screens.ood.words import plain_view as plain_ood
from core.screens.ood.words import set_name
from core.screens.posthoc.view import plain_view as plain_posthoc
from core.screens.posthoc.view import posthoc_view
from core.screens.posthoc.words import any_helps, none_fitted
from core.screens.reliability.classes import ONE_TEST
from core.screens.reliability.human import human_view, opposite_words, yardstick
from core.screens.reliability.plain import SAME_NUMBERS, PlainView, plain_view
from core.screens.reliability.view import ReliabilityView, Subject, reliability_view
from core.screens.xray import finding
from core.screens.xray.finding import RISK, most_miscalibrated_band
from core.screens.xray.finding import plain_view as plain_finding
from core.screens.xray.findings import findings_view, plain_findings_view
from core.screens.xray.use import benefit_words, decision_card
from core.screens.xray.words import BANNER, ClinicSource
from core.studies.clinic import Findings, OneFinding
from core.studies.report import (
    CLASSES,
    CLINICAL,
    COMPARE,
    HUMAN,
    OOD,
    POSTHOC,
    ReportNumbers,
    RunNumbers,
)

YOURS = "For you to write"
NOTE = (
    "Topics of the TRIPOD+AI statement (Collins et al., BMJ 2024;385:e078378), in our words. Item "
    "numbers are left out: take them from the published checklist. A filled row says where this "
    "report helps, not that the item is complete."
)
AUTHORS = (  # topics of which predictions and labels say nothing
    "Title and abstract",
    "Healthcare context, intended use and users",
    "Known health inequalities",
    "Where and when the data were collected",
    "Setting, eligibility and treatments",
    "How images and labels were prepared",
    "How the outcome was defined and assessed",
    "Predictors and their assessment",
    "How the sample size was chosen",
    "Missing data",
    "How the model was built and tuned",
    "Fairness and how it was examined",
    "Ethical approval",
    "Funding, conflicts of interest, protocol and registration",
    "Availability of data",
    "Patient and public involvement",
    "Flow and characteristics of participants",
    "Differences between development and evaluation data",
    "Interpretation and unmet needs in use",
)


VERDICT, RELIABILITY, NUMBERS = "verdict", "reliability", "numbers"
CHECKLIST, SETTINGS = "checklist", "settings"
SECTIONS: Final = {
    VERDICT: "Verdict",
    RELIABILITY: "Reliability",
    CLASSES: "Classes or labels",
    NUMBERS: "All metrics",
    HUMAN: "Human votes",
    POSTHOC: "Post-hoc calibration",
    OOD: "Out of distribution",
    CLINICAL: "Clinical view",
    COMPARE: "Comparison",
    CHECKLIST: "TRIPOD+AI checklist",
    SETTINGS: "Settings, versions and limits",
}
FULL_RUNS: Final = 10  # with more, what is said of each alone is left to those who choose it
AS_READ = "scores as read"
NO_HELP = (
    "No correction that was tried is shown to help{finding} on these rows. More pictures with "
    "known answers may show more."
)
ALARMS = 0.05  # of the in-distribution images, as on the page at first
THRESHOLDS = (0.01, 0.5)  # of the decision curve, as on the page at first
LIMITS: Final = (
    "These numbers hold for images like the ones audited. Another place, device or year can give "
    "others.",
    "Labels were taken as true. Wrong labels can make a model look better or worse than it is.",
    "Calibration is an average. It does not say that a single answer is right.",
    "The model was not run. Candor read its stored scores and compared them with the labels.",
)


class RunViews:
    """One run's numbers and the views of its screens, each made when it is first asked for."""

    def __init__(self, numbers: RunNumbers, edition: Edition) -> None:
        self.numbers = numbers
        self.edition = edition
        run, rows = numbers.run, numbers.rows
        self.named = NamedRun(run.name, run.name, run.split, run.file_digest)
        self.subject = Subject(run.name, run.split, run.file_digest, rows.class_names, run.notices)

    @property
    def plain(self) -> bool:
        """Whether it is written without technical terms."""
        return self.edition is not Edition.TECHNICAL

    @property
    def reliability(self) -> ReliabilityView:
        """The Reliability page in full."""
        rows = self.numbers.rows
        curve = None
        if rows.task is not Task.MULTILABEL:
            curve = risk_coverage(SortedOutcomes.of(rows.outcomes(None)))
        return reliability_view(
            self.numbers.audit, self.subject, classes=self.numbers.classes, curve=curve
        )

    @property
    def in_words(self) -> PlainView:
        """The Reliability page in plain words."""
        numbers = self.numbers
        target = headline(numbers.audit)
        rows, index = numbers.rows, target.target
        ranked = SortedOutcomes.of(answers(rows) if index is None else rows.outcomes(index))
        return plain_view(numbers.audit, target, ranked, split=numbers.run.split)

    @property
    def judged(self) -> str:
        """What answers are held against where people voted, as a sentence; empty elsewhere."""
        human = self.numbers.human
        return "" if human is None else f"Judged {yardstick(by_majority=human.audit.by_majority)}."

    @property
    def source(self) -> ClinicSource:
        """What every clinical figure names."""
        run = self.numbers.run
        return ClinicSource.of(
            self.numbers.rows,
            run=run.name,
            split=run.split,
            digest="" if self.plain else run.file_digest,
            synthetic=run.synthetic,
        )


def chapters(
    numbers: ReportNumbers, sections: Sequence[str], edition: Edition, settings: Mapping[str, str]
) -> tuple[Chapter, ...]:
    """Return what is said of every run, then of all together, then how it was made.

    Of more than `FULL_RUNS` runs, what is said of all together comes first. `sections` are keys of
    SECTIONS, `settings` what was set, and the versions.
    """
    of_runs = []
    for run_numbers in numbers.runs:
        views = RunViews(run_numbers, edition)
        films = views.source.of_films  # as its findings tell, where its data are not known
        with speaking_of(*(FILM_DATA if films else (run_numbers.run.data,))):
            parts = [part for key in MAKERS if key in sections for part in MAKERS[key](views)]
            of_runs.append(
                Chapter(
                    title=f"{run_numbers.run.name}, {run_numbers.run.split} split",
                    sections=tuple(parts),
                    notices=noticed(views.reliability.notices),
                )
            )
    compared = tuple(_compared(numbers, edition))
    made = (_settings(numbers, settings, edition),) if SETTINGS in sections else ()
    if compared and len(numbers.runs) > FULL_RUNS:
        first = Chapter(title="Together", sections=compared)
        return (first, *of_runs, *((Chapter(title="", sections=made),) if made else ()))
    last = (*compared, *made)
    together = (Chapter(title="Together" if len(last) > 1 else "", sections=last),)
    return (*of_runs, *(together if last else ()))


def banners(numbers: ReportNumbers, edition: Edition) -> tuple[str, ...]:
    """Return what must be read first where a run is of films, or anything clinical is in it."""
    sources = [(run.clinical, RunViews(run, edition).source) for run in numbers.runs]
    noises = [source.noise for clinical, source in sources if clinical or source.of_films]
    return tuple(dict.fromkeys((BANNER, *noises))) if noises else ()


def _verdict(views: RunViews) -> Iterator[Section]:
    if not views.plain:
        view = views.reliability
        yield Section(
            key=VERDICT,
            title=SECTIONS[VERDICT],
            sentence=_beside_votes(views, view.sentence),
            numbers=view.numbers,
        )
        return
    words = views.in_words
    limits, helps = words.limits, words.helps
    after, target = views.numbers.posthoc, headline(views.numbers.audit)
    if after is not None and target.verdict.code in DETECTED:
        finding, judged = "", after.judged
        if target.target is not None and views.numbers.audit.labels:
            finding, judged = f" “{target.name}”", after.judged_on_label(target.target)
        none = compare([each.compared for each in judged.values()], list(judged), 0)
        if not any_helps(judged, none):
            none_helps = none_fitted(after.fits) or with_row_noun(NO_HELP).format(finding=finding)
            helps = replace(helps, text=none_helps)
    judged_by = f", j{views.judged[1:-1]}" if views.judged else ""
    yield Section(
        key=VERDICT,
        title=SECTIONS[VERDICT],
        sentence=_beside_votes(views, _of_all_labels(views, words.sentence)),
        numbers=words.numbers,
        icons=words.icons,
        paragraphs=(f"{limits.title}: {limits.text}", f"{helps.title}{judged_by}: {helps.text}"),
        caption=words.caption.removeprefix(SAME_NUMBERS),
    )


def _beside_votes(views: RunViews, sentence: Sentence) -> Sentence:
    """Return a sentence with what it is held against, and where votes show the opposite."""
    if views.numbers.human is None:
        return sentence
    audit, people = views.numbers.audit, views.numbers.human.audit
    opposite = opposite_words((audit.answers or audit.main).direction, people.direction)
    second = (views.judged, opposite, sentence.second)
    return replace(sentence, second=" ".join(filter(None, second)))


def _of_all_labels(views: RunViews, sentence: Sentence) -> Sentence:
    """Return a sentence of one label with what is said of all of them, as on All findings."""
    labels = views.numbers.audit.labels
    if len(labels) < 2:
        return sentence
    noun = "findings" if views.source.films == "films" else "labels"
    every = labels_sentence(label_verdicts(labels), noun, PLAIN_VERBS)
    one = headline(views.numbers.audit)
    off = "is furthest off beyond chance"
    if one.verdict.code not in DETECTED:
        off = "looks furthest off"
    said = (
        every.text,
        f"Corrected for testing {len(labels)} {noun}.",
        f"The rest of this page is about “{one.name}”, which {off}.",
        sentence.second,
    )
    said_of_all = replace(sentence, second=" ".join(filter(None, said)))
    return with_unknown(said_of_all, views.numbers.audit)


def _reliability(views: RunViews) -> Iterator[Section]:
    if views.plain:
        cards = [views.in_words.dumbbells]
    else:
        figures = views.reliability.figures
        cards = [figures[key] for key in ("reliability", "gap", "risk") if key in figures]
    yield Section(key=RELIABILITY, title=SECTIONS[RELIABILITY], cards=tuple(cards))


def _classes(views: RunViews) -> Iterator[Section]:
    view = views.reliability
    if views.plain or not view.parts.rows:
        return
    cards = (view.figures["classes"],) if "classes" in view.figures else ()
    by_label, tables = bool(views.numbers.audit.labels), (written("", view.parts),)
    title = "By label" if by_label else "By class"
    caption = "" if by_label else ONE_TEST
    yield Section(key=CLASSES, title=title, cards=cards, tables=tables, caption=caption)


def _numbers(views: RunViews) -> Iterator[Section]:
    if views.plain:
        return
    view = views.reliability
    unavailable = (written("Not possible with this file", view.unavailable),)
    yield Section(
        key=NUMBERS,
        title=SECTIONS[NUMBERS],
        tables=(
            written("", view.scores.without({"metric"})),
            *(unavailable if view.unavailable.rows else ()),
        ),
    )


def _human(views: RunViews) -> Iterator[Section]:
    study = views.numbers.human
    if study is None:
        return
    run, rows = views.numbers.run, views.numbers.rows
    view = human_view(study, rows, split=run.split, plain=views.plain)
    tables: tuple[WrittenTable, ...] = ()
    if view.fits and not views.plain:
        tables = (written_rows(view.fits_title, view.heads, view.fits, between=", "),)
    lines = [swatch.text for swatch in view.key if swatch.shape == "block"]
    yield Section(
        key=HUMAN,
        title="Compared with people" if views.plain else SECTIONS[HUMAN],
        sentence=view.sentence,
        numbers=view.numbers,
        cards=() if view.figure is None else (view.figure,),
        tables=tables,
        paragraphs=(
            *filter(None, (view.fits_words,)),
            *(f"Level lines in the figure: {text}." for text in lines),
        ),
        caption=view.caption,
    )


def _posthoc(views: RunViews) -> Iterator[Section]:
    after = views.numbers.posthoc
    if after is None:
        return
    make = plain_posthoc if views.plain else posthoc_view
    view = make(views.named, after.rows, after.fits, after.judged)
    second = " ".join(filter(None, (views.judged, view.sentence.second)))
    yield Section(
        key=POSTHOC,
        title="Correcting the scores" if views.plain else SECTIONS[POSTHOC],
        sentence=replace(view.sentence, second=second),
        cards=tuple(card for _, _, card in view.diagrams),
        tables=(written_scores("", view.table),),
        paragraphs=tuple(
            notice.sentence
            for notice in noticed(after.rows.notices)
            if notice.code != NoticeCode.CUT or not none_fitted(after.fits)
        ),
        caption=view.caption,
    )


def _ood(views: RunViews) -> Iterator[Section]:
    compared_sets = views.numbers.ood
    if compared_sets is None:
        return
    badges = marks(list(compared_sets.sets))
    names = {split: set_name(split) for split in compared_sets.sets}
    curves = {
        split: ShownCurve(names[split].label, mark, judged)
        for (split, judged), mark in zip(compared_sets.sets.items(), badges, strict=True)
    }
    for place, (split, curve) in enumerate(curves.items()):
        view = ood_view(
            views.named,
            names[split],
            curve,
            list(curves.values()),
            ALARMS,
            AS_READ,
            effects=compared_sets.effects.get(split),
            plain=views.plain,
        )
        paragraphs = [view.reading]
        if views.plain:
            words = plain_ood(names[split], curve.judged, view.tally)
            flagged = " and ".join(hundred.text for hundred in words.hundreds)
            paragraphs = [f"The alarm flags {flagged}.", words.limits]
        elif not place:  # once: they speak of all sets
            paragraphs += [notice.sentence for notice in noticed(compared_sets.notices)]
        yield Section(
            key=f"{OOD}.{split}",
            title=f"{with_row_noun('Unfamiliar pictures')}: {names[split].label}"
            if views.plain
            else f"{SECTIONS[OOD]}: {names[split].label}",
            sentence=view.sentence,
            numbers=() if views.plain else view.numbers,
            cards=tuple(
                card
                for key, card in view.figures.items()
                if not place or key not in view.of_all_sets
            ),
            tables=(written_scores("", view.counts),),
            paragraphs=tuple(paragraphs),
            caption=view.caption,
        )


def _clinical(views: RunViews) -> Iterator[Section]:
    clinical, source = views.numbers.clinical, views.source
    if clinical is None:
        return
    section = partial(Section, key=CLINICAL, title=SECTIONS[CLINICAL])
    if isinstance(clinical, Findings):
        every = (
            plain_findings_view(source, clinical)
            if views.plain
            else findings_view(source, clinical, ())
        )
        yield section(
            sentence=every.sentence,
            numbers=every.numbers,
            cards=tuple(diagram.card for diagram in every.small),
            tables=(written_scores("Every finding", every.table),),
            paragraphs=(*every.notes, *(() if views.plain else (every.legend,))),
            caption=every.caption,
        )
        return
    name = source.findings[0]
    if views.plain:
        counted = bands(clinical.p, clinical.y, sampling=clinical.sampling)
        band, code = most_miscalibrated_band(counted), clinical.audit.verdict.code
        words = plain_finding(source, name, clinical.outcomes, band=band, code=code)
        yield section(
            sentence=words.sentence,
            cards=(words.card,),
            paragraphs=(*words.care, RISK),
            caption=words.caption,
        )
        return
    view = finding.finding_view(source, name, clinical)
    decision = decision_card(source, name, clinical, THRESHOLDS)
    badge = () if view.badge is None else (f"{view.badge.title}. {view.badge.text}",)
    yield section(
        sentence=view.sentence,
        numbers=view.numbers,
        cards=(view.curve, view.outcomes, decision),
        tables=(written("How far off", view.table.without({"source"})),),
        paragraphs=(*badge, benefit_words(clinical, THRESHOLDS)),
        caption=view.caption,
    )


def checklist(views: RunViews) -> Iterator[Section]:
    """Return the topics with what the report holds of each, for a clinical view."""
    numbers, rows, clinical = views.numbers, views.numbers.rows, views.numbers.clinical
    if clinical is None:
        return
    images = f"{count(rows.n)} {with_row_noun('images')}"
    if isinstance(clinical, Findings):
        few, many = min(clinical.events), max(clinical.events)
        events = f"{images}; {count(few)} to {count(many)} with a finding"
    else:
        n_events = int((rows.labels == 1).sum()) if rows.task is Task.BINARY else 0
        events = f"{images}, {count(n_events)} with the finding"
    clusters = with_row_noun(
        "Images were taken as independent. Name a column of groups if they are not"
    )
    if rows.groups is not None:
        clusters = f"Intervals draw whole groups by {rows.groups.name}"
    curve = isinstance(clinical, OneFinding) and not views.plain
    measures = (
        "Discrimination, calibration and net benefit" if curve else "Discrimination, calibration"
    )
    scores = numbers.audit.main.metrics.values()
    level = next((score.level for score in scores if score.low is not None), None)
    intervals = (
        "None" if level is None else f"Metrics with {100 * level:g} % intervals where one exists"
    )
    after = numbers.posthoc
    updating = YOURS if after is None else f"Calibrators, fitted on {after.rows.fit_name}"
    helped = [
        ("Participants and outcome events", events),
        ("Measures of performance, and why", measures),
        ("Performance with confidence intervals", intervals),
        ("Performance in subgroups", "By finding; by patient group on the Chest X-ray page"),
        (f"Clusters of {with_row_noun('images')}", clusters),
        ("Recalibration or updating of the model", updating),
        ("Class imbalance", "Scores were taken as they are; none was rebalanced"),
        ("Output of the model", f"{numbers.rows.kind}, one score a finding"),
        ("Availability of code", "The version of the audit's code is in the settings"),
        ("Limitations", "Under the settings, for the audit alone"),
    ]
    topics = (*helped, *((topic, YOURS) for topic in AUTHORS))
    table = WrittenTable("", ("topic", "in this report"), topics)
    yield Section(key=CHECKLIST, title=SECTIONS[CHECKLIST], paragraphs=(NOTE,), tables=(table,))


def named_runs(numbers: ReportNumbers) -> list[NamedRun]:
    """Return the runs of a report as a comparison names them."""
    return [
        NamedRun(str(i), of_run.run.name, of_run.run.split, of_run.run.file_digest)
        for i, of_run in enumerate(numbers.runs)
    ]


def _compared(numbers: ReportNumbers, edition: Edition) -> Iterator[Section]:
    if numbers.comparison is None:
        return
    named = named_runs(numbers)
    view = (
        compare_view(named, numbers.compared, numbers.comparison, "ece")
        if edition is Edition.TECHNICAL
        else plain_compare(named, numbers.compared, numbers.comparison)
    )
    yield Section(
        key=COMPARE,
        title=SECTIONS[COMPARE],
        sentence=view.sentence,
        cards=tuple(replace(card, caption="") for card in (view.forest, view.curves) if card),
        tables=(written_scores("", view.table),),
        caption=view.caption,
    )


SPLITS: Final = 6  # named of a run; the library has the others
READABLE: Final = {  # settings that mean something without the code
    *("Edition", "Level of intervals", "Version of candor"),
    *("File", "Split", "Other splits", "Classes"),
}


def _settings(numbers: ReportNumbers, settings: Mapping[str, str], edition: Edition) -> Section:
    if edition is not Edition.TECHNICAL:
        settings = {key: text for key, text in settings.items() if key in READABLE}
    tables: list[WrittenTable] = [pairs("All runs", ("setting", "value"), list(settings.items()))]
    for of_run in numbers.runs:
        run, rows = of_run.run, of_run.rows
        splits, more = (*run.splits, *run.outside), len(run.splits) + len(run.outside) - SPLITS
        reading = ", ".join(f"{key}={value}" for key, value in sorted(run.reading.items()))
        listed = {
            "File": run.file,
            "File digest": run.file_digest,
            "Digest of the rows": rows.digest,
            "Read as": f"{rows.task}, {rows.kind}",
            "Choices while reading": reading or "none",
            "Split": f"{run.split}, {count(rows.n)} {with_row_noun('images')}",
            "Other splits": ", ".join(splits[:SPLITS]) + (f", and {more} more" if more > 0 else ""),
            "Classes": count(rows.n_classes) if rows.task is not Task.TOP_LABEL else "not known",
        }
        if edition is not Edition.TECHNICAL:
            listed = {key: text for key, text in listed.items() if key in READABLE}
        listed |= {f"Left out: {SECTIONS[key]}": why for key, why in of_run.left_out.items()}
        tables.append(pairs(run.name, ("setting", "value"), list(listed.items())))
    return Section(
        key=SETTINGS,
        title=SECTIONS[SETTINGS],
        paragraphs=tuple(map(with_row_noun, LIMITS)),
        tables=tuple(tables),
    )


MAKERS: Final[Mapping[str, Callable[[RunViews], Iterator[Section]]]] = {
    VERDICT: _verdict,
    RELIABILITY: _reliability,
    CLASSES: _classes,
    NUMBERS: _numbers,
    HUMAN: _human,
    POSTHOC: _posthoc,
    OOD: _ood,
    CLINICAL: _clinical,
    CHECKLIST: checklist,
}
