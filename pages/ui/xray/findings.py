"""The findings of a run: all of them; one, and its subgroups by a table of the user."""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import published
from core.codes import NoticeCode
from core.configs import AuditConfig
from core.defaults import SMOOTHER, SMOOTHERS
from core.errors import AuditError
from core.metrics import clinical
from core.metrics.clinical.groups import by_date, grouping
from core.predictions import Task
from core.readers.sandbox import read as sandbox
from core.readers.tables.strict_tables import MatchedTable, TextColumns, match
from core.reports.html import PageView, films_html
from core.screens.kit.labels import holm_adjusted
from core.screens.kit.numbers import count, percent
from core.screens.kit.records import Column, Table
from core.screens.kit.sentences import plain_sentence
from core.screens.xray import finding, use
from core.screens.xray.finding import (
    BAND_KEY,
    RISK,
    Badge,
    badge,
    most_miscalibrated_band,
    plain_view,
)
from core.screens.xray.findings import (
    TEMPERATURE_HEADS,
    TITLE,
    findings_view,
    order,
    plain_findings_view,
    temperature_caption,
    temperature_rows,
    temperature_summary,
    temperature_table,
)
from core.screens.xray.use import BENEFIT, ThresholdUse, benefit_words, decision_card
from core.screens.xray.words import BANNER, DOTS, PLAIN, ClinicSource
from core.studies.clinic import THRESHOLDS, OneFinding
from pages.ui import drafts, frame, inference, markup, open_runs, plot, state, widgets
from pages.ui.compute import Computation, computed
from pages.ui.intake import FileReading, Intake, SealedFile
from pages.ui.markup import esc
from pages.ui.plot import Dragged, Filled
from pages.ui.xray import shared
from pages.ui.xray.shared import AS_READ, FindingChoice

NO_FINDINGS = (
    "This run has one answer among several classes, not findings. Open a run with many labels. A "
    "run with two classes counts as one finding."
)
SMALL_WIDTH = 192
FITTED = "temperatures"  # whether they are fitted, in the link
NO_FINDING = (
    "This run has one answer among several classes, not findings. Open a run with many labels or "
    "with two classes."
)
METHODS = {AS_READ: "As read", "beta": "Beta", "isotonic": "Isotonic"}
FIRST = "beta"
RANGE = (0.01, 0.5)
MISSED, ALARMS, CASES = "Missed", "False alarms", 200  # rows of a table
THRESHOLD, BAND, SMOOTHED = 10.0, "band", "smoother"
LEFT = 470
INTAKE: Final = Intake[FileReading[TextColumns]]("clinic")
TABLE, IN_ORDER = "clinic.table", "clinic.in_order"
NAME = "Table"  # what a file is called may name a person


def draw_all(run: open_runs.Run) -> None:
    """Draw the view of all findings of the open run."""
    split = widgets.split_of(run)
    rows = open_runs.predictions(run, split)
    if rows.task is not Task.MULTILABEL:
        shared.nothing(NO_FINDINGS)
        return
    top = st.container()
    widgets.splits(run)
    source = shared.source(run, rows, split)
    statistics = shared.all_findings(run, split).computed()
    if statistics is None:
        with top:
            widgets.eyebrow(f"Chest X-ray · {run.name}", widgets.chip(run))
            markup.draw("headline", "Analysing every finding.")
        return
    view = (
        plain_findings_view(source, statistics)
        if state.plain()
        else findings_view(source, statistics, published.published(dataset="chestxray14"))
    )
    with top:
        widgets.eyebrow(view.eyebrow, widgets.chip(run))
        widgets.sentence(view.sentence)
        drafts.bar(run)
        widgets.strip(view.numbers)
        grouped = NoticeCode.GROUPED  # the sentence says it, of films
        frame.notices(tuple(n for n in statistics.audit.notices if n.code != grouped))
    if view.small:
        widgets.headed(TITLE, view.together.explanation, view.together)
        with st.container(horizontal=True, gap="small", key="clinic_small"):
            for diagram in view.small:
                with st.container(
                    key=f"clinic_small.{diagram.index}", width=SMALL_WIDTH, gap="xxsmall"
                ):
                    st.button(
                        f"**{esc(diagram.name)}** {diagram.note}",
                        type="tertiary",
                        key=f"clinic.open.{diagram.index}",
                        help="Show this finding alone",
                        on_click=shared.open_finding,
                        args=(diagram.index,),
                    )
                    widgets.figure(diagram.card, titled=False)
        widgets.key(DOTS)
        widgets.caption(view.legend)
    hint = "" if state.plain() else "click a name above, or choose one here, to see it alone"
    widgets.title("Every finding", hint)
    st.selectbox(
        "Open one finding",
        range(len(source.findings)),
        index=None,
        format_func=lambda k: source.findings[k].replace("_", " "),
        placeholder="Choose a finding",
        key="clinic.choose",
        on_change=_chosen,
        width=260,
        label_visibility="collapsed",
    )
    widgets.scores("Every finding", view.table.heads, view.table.written())
    widgets.save(view.table.file, "findings", "Findings, CSV")
    for note in view.notes:
        widgets.caption(note)
    widgets.caption(view.caption)
    more = () if state.plain() else _temperatures(run, split, source, order(statistics))
    shared.export(
        PageView(
            eyebrow=view.eyebrow,
            banners=(BANNER, source.noise),
            sentence=view.sentence,
            numbers=view.numbers,
            paragraphs=view.notes,
            cards=tuple(diagram.card for diagram in view.small),
            tables=(("Every finding", view.table.file), *more),
            caption=view.caption,
        )
    )


def _temperatures(
    run: open_runs.Run, split: str, source: ClinicSource, ranked: tuple[int, ...]
) -> tuple[tuple[str, Table], ...]:
    """Fit both temperatures of every finding when asked; return what is shown."""
    widgets.title(
        "A temperature for each finding",
        "fitted on some films, reported on others, ECE before and after",
    )
    steps = {label: shared.temperature(run, split, label) for label in ranked}
    chosen = state.choice(FITTED, ["no", "yes"], "no") == "yes"
    if not chosen and not all(step.known for step in steps.values()):
        st.button("Fit temperatures", key="clinic.heat", on_click=_fit)
        return ()
    fitted = computed(list(steps.values()))
    temperatures = {label: fitted[step] for label, step in steps.items() if step in fitted}
    if not temperatures:
        return ()
    widgets.second(temperature_summary(temperatures))
    widgets.scores("Temperatures", TEMPERATURE_HEADS, temperature_rows(source, temperatures))
    caption = temperature_caption(source, shared.fit_parts(run, split))
    table = temperature_table(source, temperatures, caption)
    widgets.save(table, "temperatures", "Temperatures, CSV")
    widgets.caption(caption)
    return (("Temperatures", table),)


def _fit() -> None:
    st.session_state[f"set.{FITTED}"] = st.query_params[FITTED] = "yes"


def _chosen() -> None:
    index = st.session_state.get("clinic.choose")
    if index is not None:
        shared.open_finding(int(index))


def draw_one(run: open_runs.Run) -> None:
    """Draw the view of one finding of the open run."""
    split = widgets.split_of(run)
    rows = open_runs.predictions(run, split)
    if rows.task not in {Task.MULTILABEL, Task.BINARY}:
        shared.nothing(NO_FINDING)
        return
    top = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        widgets.splits(run)
        index, method, smoother = _draw_choices(rows.task, rows.class_names)
    parts = shared.fit_parts(run, split) if method != AS_READ else None
    source = shared.source(run, rows, split, parts, index)
    name = source.findings[index] if rows.task is Task.MULTILABEL else source.findings[0]
    choice = FindingChoice(run, split, index, method, smoother)
    statistics = _statistics(choice, one_of_many=rows.task is Task.MULTILABEL)
    if statistics is None:
        with top:
            widgets.eyebrow(f"Chest X-ray · {run.name}", widgets.chip(run))
            widgets.sentence(finding.waiting(shared.words().label(name)))
        if not state.plain():
            _range()
        _prevalence()
        return
    if state.plain():
        _plain(run, source, name, statistics, top)
    else:
        _full(choice, source, name, statistics, top)


def _statistics(choice: FindingChoice, *, one_of_many: bool) -> OneFinding | None:
    """Return the numbers of one finding once they are there.

    Where it is one of many as read, its verdict is that of All findings: what is left among them.
    """
    alone = shared.one_finding(choice)
    if not one_of_many or choice.recalibrated:
        return alone.computed()
    every = shared.all_findings(choice.run, choice.split)
    steps: list[Computation[Any]] = [alone, every]
    computed(steps)
    one, all_findings = alone.known, every.known
    if one is None or all_findings is None:
        return None
    return replace(one, audit=holm_adjusted(one.audit, all_findings.audit.labels, choice.label))


def _draw_choices(task: Task, names: tuple[str, ...]) -> tuple[int, str, str]:
    """Draw the choices of a finding and of its scores and curve; return all three.

    Two classes have one finding, the second.
    """
    index = 1
    if task is not Task.BINARY:
        options = [str(k) for k in range(len(names))]
        index = int(state.choice(shared.FINDING, options, "0"))
        label = shared.words().title
        st.selectbox(
            "Finding",
            options,
            key=f"widget.{shared.FINDING}",
            format_func=lambda k: label(names[int(k)]),
            on_change=_pick_finding,
            width=280,
        )
    # How the scores are recalibrated: chosen once they are
    method = state.choice(shared.RECALIBRATE, list(METHODS), AS_READ)
    if method != AS_READ:
        method = widgets.segments(
            "Scores",
            shared.RECALIBRATE,
            list(METHODS),
            AS_READ,
            METHODS,
            "Beta: a curve of three numbers; few events are enough, and the order of films stays. "
            "Isotonic: a staircase of any rising form; it needs many events and makes ties.",
        )
    # What the flexible curve is smoothed by: chosen in the full view
    if state.plain():
        return index, method, state.choice(SMOOTHED, list(SMOOTHERS), SMOOTHER)
    smoother = widgets.segments(
        "Curve",
        SMOOTHED,
        list(SMOOTHERS),
        SMOOTHER,
        {name: name for name in SMOOTHERS},
        "The flexible curve, ICI, E50, E90 and Emax depend on the smoother. Lowess: lines over two "
        "thirds of the films, as in Harrell’s val.prob. Loess: parabolas over three quarters, as "
        "Austin and Steyerberg used to define the ICI. Compare a value only with one of its kind.",
    )
    return index, method, smoother


def _pick_finding() -> None:
    """Take over the finding; another one is shown as read at first."""
    state.pick(shared.FINDING, "0")
    _recalibrate(AS_READ)


def _recalibrate(method: str) -> None:
    name = shared.RECALIBRATE
    st.session_state[f"set.{name}"] = method
    if method == AS_READ:
        st.query_params.pop(name, None)
    else:
        st.query_params[name] = method
    state.next_generation()


def _badge(score_badge: Badge | None) -> None:
    """Say that scores are no probabilities, or that they were recalibrated; with the way out."""
    if score_badge is None:
        return
    recalibrated = score_badge.recalibrated
    with st.container(key=f"clinic_badge_{'alarm' if score_badge.alarm else 'note'}"):
        widgets.caveat(score_badge.title, score_badge.text, helpful=recalibrated)
        st.button(
            "Undo" if recalibrated else "Recalibrate",
            type="secondary" if recalibrated else "primary",
            key="clinic.recalibrate",
            on_click=_recalibrate,
            args=(AS_READ if recalibrated else FIRST,),
        )


def _full(
    choice: FindingChoice,
    source: ClinicSource,
    name: str,
    statistics: OneFinding,
    top: DeltaGenerator,
) -> None:
    view = finding.finding_view(source, name, statistics)
    with top:
        widgets.eyebrow(view.eyebrow, widgets.chip(choice.run))
        widgets.sentence(view.sentence)
        drafts.bar(choice.run)
        _badge(view.badge)
        widgets.strip(view.numbers)
    with st.container(horizontal=True, gap="medium", key="clinic_pair"):
        left = st.container(width=LEFT, key="clinic_left")
        right = st.container(key="clinic_right")
    with left:
        widgets.figure(view.curve)
        widgets.key(view.key)
        widgets.figure(view.outcomes)
    with right:
        place = st.container()  # the curve stands over the range of thresholds that it shows
        ends = _range()
        decision = decision_card(source, name, statistics, ends)
        with place:
            widgets.figure(decision)
        widgets.second(benefit_words(statistics, ends))
        with st.expander("All numbers, with what a perfect model would show", key="clinic.far"):
            widgets.scores("How far off", finding.HEADS, view.rows)
            widgets.save(view.table, "finding", "All numbers, CSV")
        at_threshold = _threshold(source, statistics, choice)
    groups = subgroups(source, choice)
    if st.toggle("Show the Hosmer-Lemeshow test", key="clinic.hosmer", persist_state="session"):
        widgets.caveat("Read with caution", use.CAUTION)
        test = clinical.hosmer_lemeshow(statistics.p, statistics.y)
        widgets.second(use.hosmer_words(test, statistics.sampling))
    widgets.caption(view.caption)
    at = ("At a threshold", at_threshold.table.file)
    shared.export(
        PageView(
            eyebrow=view.eyebrow,
            banners=(BANNER, source.noise),
            sentence=view.sentence,
            numbers=view.numbers,
            paragraphs=(*_badge_texts(view.badge), at_threshold.text),
            cards=(view.curve, decision, view.outcomes),
            tables=(("All numbers", view.table), at, *groups),
            caption=view.caption,
        )
    )


def _badge_texts(score_badge: Badge | None) -> tuple[str, ...]:
    """Return the badge for a file."""
    return (f"{score_badge.title}. {score_badge.text}",) if score_badge else ()


def _range() -> tuple[float, float]:
    """Draw the ends of the decision curve; a range of one threshold is no range."""
    low, high = st.select_slider(
        "Thresholds that a clinic would choose",
        THRESHOLDS,
        RANGE,
        format_func=lambda t: f"{100 * t:g} %",
        key="range",
        bind="query-params",
        on_change=state.next_generation,
        persist_state="session",
        help=BENEFIT,
    )
    return RANGE if low == high else (low, high)


def _threshold(source: ClinicSource, statistics: OneFinding, choice: FindingChoice) -> ThresholdUse:
    """Draw a threshold to take hold of and what it does, here and at another prevalence."""
    widgets.title("At a threshold", "chosen by the clinic")
    percents = [round(100 * threshold, 1) for threshold in THRESHOLDS]
    with suppress(ValueError):  # a link may name a finer one
        linked = float(f"{float(st.query_params.get('at', '')):g}")  # as links are written
        percents = sorted({*percents, linked}) if 0.1 <= linked <= 99.9 else percents
    thresholds = [round(step / 100, 8) for step in percents]
    at = plot.slider_value("at", percents, THRESHOLD)
    with st.container(horizontal=True, vertical_alignment="bottom", key="clinic_at"):
        place, prevalence = st.container(), _prevalence()
    steps = use.threshold_steps(source, statistics, thresholds, prevalence)
    written = [use.threshold_words(threshold) for threshold in thresholds]
    films = [step.films for step in steps]
    texts = {
        f".c-key.c-films b.{kind}": [step.counts[k] for step in steps]
        for k, kind in enumerate(use.OUTCOMES)
    }
    texts[".st-key-clinic_use .c-second"] = [step.text for step in steps]
    moved = Dragged(
        written=written,
        said=[f"{name}: {step.text}" for name, step in zip(written, steps, strict=True)],
        texts=texts,
        filled={".c-icons.c-films": Filled(values=films, kinds=use.OUTCOMES)},
    )
    with place:
        plot.slider("Threshold", "at", percents, at, THRESHOLD, moved, use.FLAGS)
    there_too = "" if prevalence is None else f" in a clinic with {percent(prevalence)}"
    place_of = percents.index(at)
    shown = films[place_of]
    widgets.second(f"Of {count(sum(shown))} films{there_too}:")
    markup.draw("threshold", shown, steps[place_of].counts, use.OUTCOMES)
    classified = partial(
        clinical.classified, statistics.p, statistics.y, at / 100, sampling=statistics.sampling
    )
    there = None if prevalence is None else classified(prevalence=prevalence)
    at_threshold = use.at_threshold(source, classified(), there)
    with st.container(key="clinic_use"):
        widgets.second(at_threshold.text)
    _cases(choice, statistics, at / 100)
    widgets.scores("At a threshold", at_threshold.table.heads, at_threshold.table.written())
    widgets.save(at_threshold.table.file, "threshold", "Threshold, CSV")
    # A person's reads of the same films next to the model, where a table holds some
    matched, rows = _matched(choice.run, choice.split), choice.shown_rows()
    columns = {} if matched is None else matched.columns
    reads = {name: use.reads([cells[row] for row in rows]) for name, cells in columns.items()}
    readers = {name: calls for name, calls in reads.items() if calls is not None}
    if readers:
        widgets.title("A reader of the same films", "yes or no, from your table")
        column = st.selectbox(
            "Reads",
            list(readers),
            index=None,
            placeholder="Choose a column",
            key=f"clinic.reader.{INTAKE.drops}",
            width=260,
        )
        if column is not None:
            table = use.reader_table(statistics, at / 100, readers[column])
            widgets.scores("Model and reader", table.heads, table.written())
            widgets.save(table.file, "reader", "Reader, CSV")
    return at_threshold


@frame.fragment
def _cases(choice: FindingChoice, statistics: OneFinding, threshold: float) -> None:
    """Draw the films that a threshold misses, or its false alarms, once they are unfolded."""
    fold = st.expander("Which films", key="clinic.cases", on_change="rerun")
    if not fold.open:
        return
    with fold:
        chosen = st.segmented_control(
            "Films", [MISSED, ALARMS], default=MISSED, required=True, key="clinic.cases.kind"
        )
        wrong = use.wrong_films(statistics, threshold, missed=chosen == MISSED)
        rows, scores = choice.shown_rows()[wrong].tolist(), statistics.p[wrong].tolist()
        whole, first = open_runs.predictions(choice.run, choice.split), inference.SHOWN
        names = [whole.row_ids[row] if whole.row_ids else str(row) for row in rows]
        columns = Column("film", "film"), Column("score", "score", "share")
        contents = Table(columns, tuple(zip(names, scores, strict=True)))
        opened = inference.rows_source(choice.run.id, choice.split) if rows else None
        captions = [f"{name}, {percent(p)}" for name, p in zip(names[:first], scores, strict=False)]
        if opened is None or not inference.draw_rows(
            "clinic.cases.shown", opened, choice.split, whole, rows[:first], captions
        ):
            widgets.table(replace(contents, rows=contents.rows[:CASES]), key="clinic.cases.rows")
        noted = {0: "None.", 1: "1 film."}.get(
            len(rows), f"{count(len(rows))} films, nearest the threshold first."
        )
        widgets.noted(noted, contents, "cases", "All, CSV")


def _prevalence() -> float | None:
    """Draw the box for another prevalence; empty means that of this set."""
    percent = st.number_input(
        "In another clinic, %" if state.plain() else "Prevalence in another clinic, %",
        0.01,
        99.0,
        None,
        step=0.5,
        placeholder="as in this set",
        key="prevalence",
        bind="query-params",
        persist_state="session",
        width=230,
        help="What was found is carried over to a clinic where this share of films carries the "
        "label. That assumes that nothing else changes, as what the finding looks like.",
    )
    return None if percent is None else percent / 100


def _plain(
    run: open_runs.Run,
    source: ClinicSource,
    name: str,
    statistics: OneFinding,
    top: DeltaGenerator,
) -> None:
    counted = clinical.bands(
        statistics.p, statistics.y, level=AuditConfig().level, sampling=statistics.sampling
    )
    options = [str(k) for k in range(len(counted.count))]
    first = str(most_miscalibrated_band(counted))
    with st.container(horizontal=True, vertical_alignment="bottom", key="clinic_band"):
        band = int(state.choice(BAND, options, first))
        st.select_slider(
            "Scores",
            options,
            key=f"widget.{BAND}",
            format_func=lambda k: f"{10 * int(k)} to {10 * int(k) + 10} %",
            on_change=state.pick,
            args=(BAND, first),
            width=420,
        )
        prevalence = _prevalence()
    # the verdict on films of all scores; which of them are off, the bands say
    overall = replace(
        statistics.audit,
        name=PLAIN.inside(name).strip("“”"),
        verdict=replace(statistics.audit.verdict, ends=()),
    )
    view = plain_view(
        source,
        name,
        statistics.outcomes,
        band=band,
        prevalence=prevalence,
        overall=plain_sentence(overall),
        code=statistics.audit.verdict.code,
    )
    with top:
        widgets.eyebrow(view.eyebrow, widgets.chip(run))
        widgets.sentence(view.sentence)
        drafts.bar(run)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        if view.icons is not None:
            widgets.title(view.title, view.note)
            st.html(films_html(view.icons))
        widgets.caveat("Caution", *view.care, last=RISK)
        score_badge = badge(source, statistics)
        _badge(score_badge)
    with right:
        widgets.figure(view.card)
        widgets.key(BAND_KEY)
    widgets.caption(view.caption)
    shared.export(
        PageView(
            eyebrow=view.eyebrow,
            banners=(BANNER, source.noise),
            sentence=view.sentence,
            paragraphs=(*view.care, RISK, *_badge_texts(score_badge)),
            cards=(view.card,),
            caption=view.caption,
            icons=(f"{view.title}: {view.note}", view.icons) if view.icons is not None else None,
        )
    )


@dataclass(frozen=True)
class DroppedTable:
    """A table that was dropped, as it fits the rows of one split."""

    table: TextColumns
    rows_key: tuple[str, str]
    matched: MatchedTable | None = None


def subgroups(source: ClinicSource, choice: FindingChoice) -> tuple[tuple[str, Table], ...]:
    """Draw the door for a table and the subgroups by one of its columns; return what is shown."""
    INTAKE.keep_readings(_keep)
    dates = open_runs.predictions(choice.run, choice.split).dates
    days = None if dates is None else by_date(dates.take(choice.shown_rows()).of_row)
    timed = "" if dates is None or days is None or len(days.order) < 2 else dates.name
    start = "by date, or " if timed else ""
    widgets.title("Subgroups", f"{start}by any column of a table that names the films of this run")
    with st.container(horizontal=True, vertical_alignment="bottom", key="clinic_groups"):
        with st.popover("Add a table", key=f"clinic.door.{INTAKE.drops}"):
            INTAKE.zone("Table", _take, label_visibility="collapsed")
            widgets.caption(
                "CSV or TSV with a header, plain or gzipped: one column names the films as this "
                "run does, the others say what is known of them, such as age, sex or view. It "
                "stays in this session."
            )
            st.toggle("Its rows come in the run’s order", key=IN_ORDER, persist_state="session")
        matched, column = _matched(choice.run, choice.split), None
        by_time = days is not None and f"{timed}, by {days.period}"
        columns = [*([by_time] if timed else []), *(matched.columns if matched else ())]
        if columns:
            column = st.selectbox(
                "Groups by",
                columns,
                index=0 if len(columns) == 1 and matched is not None else None,
                placeholder="Choose a column",
                key=f"clinic.by.{INTAKE.drops}",  # another table has other columns
                persist_state="session",
                width=260,
            )
        if matched is not None:
            st.button("Forget the table", type="tertiary", key="clinic.forget", on_click=_forget)
    INTAKE.progress()
    INTAKE.refused()
    if column is None:
        return ()
    if timed and days is not None and column == by_time:
        groups, description = days, f"by the {days.period} of {timed}"
    else:
        assert matched is not None
        values, description = matched.columns[column], matched.description
        groups = grouping([values[row] for row in choice.shown_rows()])
    calibrations = shared.subgroups(choice, groups).computed()
    if calibrations is None:
        return ()
    table = use.group_table(source, f"{column}; {description}", calibrations)
    card = use.group_card(source, column, calibrations, table)
    if card is not None:
        widgets.figure(card)
    widgets.scores("Subgroups", table.heads, table.written())
    widgets.save(table.file, "subgroups", "Subgroups, CSV")
    cut = " Numbers were cut into quartiles." if groups.edges else ""
    widgets.caption(
        f"{description[:1].upper()}{description[1:]}.{cut} Strong: the group is "
        "off beyond chance, corrected for looking at all groups (Holm), and the interval excludes "
        "the ideal, or ECE exceeds what a perfect model would show. Differences between groups can "
        f"be chance. {source.caption}"
    )
    return ((f"Subgroups by {column}", table.file),)


def _take(file: SealedFile) -> None:
    """Read a table, in place of the one before."""
    st.session_state.pop(TABLE, None)
    INTAKE.start(FileReading.of(sandbox.read_columns, SealedFile(file.path, NAME)))


def _keep(reading: FileReading[TextColumns]) -> None:
    st.session_state[TABLE] = DroppedTable(reading.result(), ("", ""))


def _matched(run: open_runs.Run, split: str) -> MatchedTable | None:
    """Return what the table says of each row of the split; matched once."""
    dropped: DroppedTable | None = st.session_state.get(TABLE)
    if dropped is None:
        return None
    in_order = bool(st.session_state.get(IN_ORDER))
    rows_key = (run.digest(split), str(in_order))
    if dropped.rows_key != rows_key:
        rows = open_runs.predictions(run, split)
        matched = None
        INTAKE.refusals.clear()
        try:
            matched = match(dropped.table, rows.row_ids, rows.n, in_order=in_order)
        except AuditError as error:
            INTAKE.refuse(error, NAME)
        dropped = replace(dropped, rows_key=rows_key, matched=matched)
        st.session_state[TABLE] = dropped
    return dropped.matched


def _forget() -> None:
    st.session_state.pop(TABLE, None)
    INTAKE.refusals.clear()
