"""The Compare page: what is chosen, what a comparison needs of each run, and what is drawn."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import streamlit as st

from core.defaults import ACTS_AT
from core.errors import LibraryError
from core.metrics.comparison import Compared, Comparison, best, why_not
from core.metrics.paired import PAIRED
from core.metrics.records import Score
from core.predictions import Task
from core.reports import tables
from core.screens.compare import training
from core.screens.compare.view import FEW, CompareView, disagreement_view
from core.screens.kit.differences import NAMES, OFFERED, RISKS, UNRANKED, NamedRun, with_others
from core.screens.kit.marks import RunMark
from core.screens.kit.numbers import THIN
from core.screens.kit.records import FigureCard
from core.screens.kit.words import LABELS
from core.studies import comparison
from core.studies.comparison import RunAnswers, settings, varied
from pages.ui import (
    audits,
    frame,
    inference,
    markup,
    open_runs,
    selected_runs,
    site,
    state,
    widgets,
)
from pages.ui.caching import cached
from pages.ui.compute import Computation, Rows, computed, step
from pages.ui.markup import esc
from pages.ui.task import BackgroundTask, Call, Work, in_turn
from pages.ui.visitor import open_library
from pages.ui.widgets import SPLIT_NAMES

AT_ONCE = 4_000  # rows of all runs; a page waits about a second for as many
RANKED_AT_ONCE = 40_000  # rows of all runs whose ranks are compared; half a second
IN_A_THREAD = 400_000  # scores; a process takes about a second to start
OF_A_PROCESS = 50_000_000  # scores that it reads, about 20 seconds: all that a Stop throws away
RUNS_OF_A_PROCESS = 25  # at most, for the same reason


def compared(runs: Sequence[open_runs.Run], splits: Sequence[str]) -> list[Compared] | None:
    """Return what is needed of every run; None while it is computed, which is drawn.

    Few rows are read at once, more in a thread, many by processes of their own.
    """
    parts = [Rows(run, split) for run, split in zip(runs, splits, strict=True)]
    missing = [part for part in parts if _step(part).known is None]
    if sum(part.run.n(part.split) for part in missing) <= AT_ONCE:
        computed([_step(part) for part in missing])
    else:
        text = f"Resampling the rows of {len(parts)} runs."
        task = BackgroundTask("compare", tuple(parts), text, partial(_start, missing))
        if task.work is not None and task.work.succeeded:  # what it kept was driven out since
            task.begin()
        if task.wait() is None:
            return None
    return [known for part in parts if (known := _step(part).known) is not None]


def _step(part: Rows) -> Computation[Compared]:
    run, split = part.run, part.split
    return step(
        comparison.of_source,
        part,
        words=esc(run.name),
        heavy=False,
        stored=lambda: (kept := audits.stored(run, split)) and kept.none.compared,
    )


def ranked(
    runs: Sequence[open_runs.Run],
    splits: Sequence[str],
    audited: Sequence[Compared],
    reference: int,
) -> Comparison | None:
    """Return the differences of runs from a reference; None while they are computed elsewhere."""
    pairs = list(zip(runs, splits, strict=True))
    names = tuple(run.name for run in runs)
    binary = all(run.task is Task.BINARY for run in runs)

    def arguments() -> tuple[object, ...]:
        rows = [open_runs.source(run, split) for run, split in pairs] if binary else []
        return audited, names, reference, rows

    return Computation(
        function=comparison.compare_runs,
        key=(*(run.id for run in runs), *(Rows(*pair) for pair in pairs), names, reference),
        words=f"Comparing {len(runs)} runs.",
        arguments=arguments,
        draft=any(run.draft for run in runs),
        heavy=binary and sum(run.n(split) for run, split in pairs) > RANKED_AT_ONCE,
        slot="compare",
        most=32,
    ).computed()


def with_benefit(
    runs: Sequence[open_runs.Run], splits: Sequence[str], audited: list[Compared], threshold: float
) -> list[Compared]:
    """Return runs of two classes with their net benefit at a threshold."""
    return [
        comparison.with_benefit(of_run, _benefit(run, split, threshold, of_run.config.level))
        for run, split, of_run in zip(runs, splits, audited, strict=True)
    ]


@cached(64)
def _benefit(run: open_runs.Run, split: str, threshold: float, level: float) -> Score:
    return comparison.benefit_score(open_runs.predictions(run, split), threshold, level)


def _start(missing: list[Rows]) -> Work[int]:
    processes = sum(part.cells for part in missing) > IN_A_THREAD
    # What one process reads, in its order: runs of the library, or one draft; a thread, one run
    blocks: list[list[Rows]] = []
    for part in missing:
        last = blocks[-1] if blocks else []
        cells = sum(of.cells for of in [*last, part])
        full = len(last) == RUNS_OF_A_PROCESS or cells > OF_A_PROCESS
        if last and processes and not (full or part.run.draft or last[-1].run.draft):
            last.append(part)
        else:
            blocks.append([part])
    steps = {part: _step(part) for part in missing}
    kept = {part: of.results for part, of in steps.items()}  # a thread has no session to ask

    def keep(i: int, found: list[Compared]) -> None:
        for part, result in zip(blocks[i], found, strict=True):
            kept[part].put(steps[part].key, result)

    calls: list[Call[list[Compared]]] = [
        (comparison.of_sources, ([open_runs.source(part.run, part.split) for part in block],))
        for block in blocks
    ]
    return in_turn(calls, keep, processes=processes)


# What is chosen.
LEAST, MOST = 0.1, 99.9  # percent
IN_A_ROW = 7  # metrics; more are a list
SIBLINGS = 8  # offered to compare a run with


def runs() -> list[open_runs.Run]:
    """Return the runs that are compared; none, and why, where one of them is gone."""
    try:
        return selected_runs.chosen()
    except LibraryError as gone:  # the picker lets one go on without it
        frame.refusal(gone)
        return []


def siblings(run: open_runs.Run) -> None:
    """Offer the runs with as many rows and the same kind of answer: one of them, or all."""
    key = (run.task, run.n(run.split), len(run.class_names))
    rows = [row for row in open_runs.openable(selected_runs.LISTED) if row.id != run.id]
    alike = [row for row in rows if (row.task, row.n, row.n_classes) == key][:SIBLINGS]
    offered = [(row.name, [row]) for row in alike]
    offered += [(f"Compare all {len(alike) + 1}", alike)] if len(alike) > 1 else []
    with st.container(horizontal=True, key="samples"):
        for i, (name, others) in enumerate(offered):
            st.button(
                esc(name),
                type="secondary" if i else "primary",
                key=f"compare.with.{i}",
                on_click=selected_runs.choose,
                args=([run.id, *(row.id for row in others)],),
            )


def other_ways() -> None:
    """Draw the other ways to pick runs: two samples, or the list."""
    with st.container(horizontal=True, vertical_alignment="center", key="nothing"):
        # The first two samples of one kind and size share their test images
        rows = open_runs.rows(kind="sample", sort="name", descending=False)
        groups = ([one for one in rows if (one.task, one.n) == (row.task, row.n)] for row in rows)
        pair = next((alike[:2] for alike in groups if len(alike) > 1), [])
        if pair:
            st.button(
                "Compare two sample runs",
                type="primary",
                key="compare.samples",
                on_click=selected_runs.choose,
                args=([row.id for row in pair],),
            )
        st.page_link(site.HOME.script, label="Tick runs in the list", icon=site.HOME.icon)


def splits(runs: list[open_runs.Run]) -> list[str]:
    """Return each run's split: the one chosen among those that all have, else its own."""
    common = [split for split in runs[0].splits if all(split in run.splits for run in runs)]
    own = [run.split for run in runs]
    if not common:
        return own
    default = own[0] if own[0] in common else common[0]
    split = state.choice("split", common, default)
    if len(common) > 1:
        st.segmented_control(
            "Split",
            common,
            required=True,
            format_func=lambda option: SPLIT_NAMES.get(option, option),
            key="widget.split",
            on_change=state.pick,
            args=("split", default),
        )
    return [split] * len(runs)


def threshold() -> float:
    """Return the risk at which net benefit is compared, with its choice; the link holds it."""
    if state.plain():
        return ACTS_AT
    at, default = "compare.at", 100 * ACTS_AT
    if at not in st.session_state:
        st.session_state[at] = default
        with suppress(ValueError):  # a link may hold anything
            linked = float(st.query_params.get("at", ""))
            st.session_state[at] = linked if LEAST <= linked <= MOST else default
    with st.popover(f"Net benefit at {st.session_state[at]:g}{THIN}%", key="compare.at.fold"):
        percent = st.number_input(
            "Act from a risk of, %",
            LEAST,
            MOST,
            key=at,
            help="Net benefit: true alarms minus false ones, weighed by this risk.",
        )
    state.remember("at", f"{percent:g}", f"{default:g}")
    return percent / 100


def two_classes(runs: Sequence[open_runs.Run]) -> bool:
    """Whether all runs state the risk of one event."""
    return all(run.task is Task.BINARY for run in runs)


def rest(runs: Sequence[open_runs.Run], audited: Sequence[Compared]) -> None:
    """Offer to rank the most runs that share their rows, and to set the others aside."""
    groups: list[list[int]] = []
    for i in range(len(runs)):
        for group in groups:
            alike = [*group, i]
            if not why_not([audited[k].rows for k in alike], [runs[k].name for k in alike]):
                group.append(i)
                break
        else:
            groups.append([i])
    most = max(groups, key=len)
    if 1 < len(most) < len(runs):
        others = [run.name for i, run in enumerate(runs) if i not in most]
        aside = f"“{others[0]}”" if len(others) == 1 else f"{len(others)} runs"
        st.button(
            f"Set aside {esc(aside)}, rank the rest",
            type="primary",
            key="compare.rest",
            on_click=selected_runs.choose,
            args=([runs[i].id for i in most],),
        )


def ranking(runs: list[open_runs.Run], audited: Sequence[Compared]) -> tuple[str, int]:
    """Draw what runs are ranked by, and the one they are compared with, where they can be."""
    if why_not([run_audit.rows for run_audit in audited], [run.name for run in runs]):
        return "ece", 0
    unranked = UNRANKED if two_classes(runs) else RISKS
    offered = [key for key in with_others(OFFERED, audited) if key not in unranked]
    metric = "ece"
    if not state.plain():
        metric = state.choice("metric", offered, "ece")
        widget: dict[str, Any] = {
            "format_func": NAMES.__getitem__,
            "on_change": state.pick,
            "args": ("metric", "ece"),
            "help": "The table is sorted by it, and its differences are drawn.",
        }
        if len(offered) > IN_A_ROW:
            st.selectbox("Ranked by", offered, key="widget.metric", width=240, **widget)
        else:
            st.segmented_control("Ranked by", offered, key="widget.metric", required=True, **widget)
    # A reference that was picked stays in the link, also where it is the default; a draft has none
    ids = [run.id for run in runs]
    names = state.distinct_names({run.id: run.name for run in runs})
    reference = state.choice("ref", ["", *ids], "") or ids[best(audited, metric)]
    st.session_state["widget.ref"] = reference
    st.selectbox(
        "Against",
        ids,
        key="widget.ref",
        format_func=names.__getitem__,
        on_change=state.pick,
        args=("ref", ""),
        width=240,
        help="The reference: differences are the other runs minus this one.",
    )
    at = ids.index(reference)
    if runs[at].draft:
        st.query_params.pop("ref", None)
    return metric, at


def search(runs: Sequence[open_runs.Run]) -> str:
    """Return what is searched for among many runs."""
    if len(runs) <= FEW:
        return ""
    text = st.text_input(
        "Find runs",
        placeholder="Part of a name",
        key="compare.search",
        type="search",
        live=True,
        width=240,
        help="Lists the runs that match, and highlights the first six in the figures.",
    )
    return text or ""


def chip(runs: list[open_runs.Run]) -> str:
    """Return the dashed mark beside the eyebrow: drafts and samples say what they are."""
    if any(run.draft for run in runs):
        return "With a draft that only you see"
    samples = all(run.kind == "sample" for run in runs)
    return "Samples" if samples else ""


# What is drawn.
HALF_WIDTH = 466
SMALL_WIDTH = 172
FILES = {  # label, ending, type
    "csv": ("CSV", "csv", "text/csv"),
    "markdown": ("Markdown", "md", "text/markdown"),
    "latex": ("LaTeX", "tex", "application/x-tex"),
}


def abreast(*cards: FigureCard | None) -> None:
    """Draw large figures side by side."""
    with st.container(horizontal=True, gap="medium", key="figures"):
        for card in filter(None, cards):
            with st.container(key=f"half.{card.key}", width=HALF_WIDTH):
                widgets.figure(card)


def diagrams(cards: Sequence[tuple[RunMark, FigureCard]]) -> None:
    """Draw a small diagram of each run, where there are any."""
    if not cards:
        return
    widgets.title("Reliability on common bins", "dots as on the Reliability page")
    widgets.small_figures(((mark, card.title, "", card) for mark, card in cards), SMALL_WIDTH)


def scores(view: CompareView) -> None:
    """Draw the table; many rows scroll by themselves, under heads that stay."""
    if not view.listed.rows:
        st.markdown("No run’s name contains that.")
        return
    many = len(view.table.rows) > FEW
    with st.container(key="many" if many else "few"):
        widgets.scores("Scores of the runs", view.table.heads, view.listed.written())
    if len(view.listed.rows) < len(view.table.rows):
        widgets.caption(f"{len(view.listed.rows)} of {len(view.table.rows)} runs.")


def exports(view: CompareView) -> None:
    """Offer the table as a file: with all digits, or as it is printed."""
    with st.popover("Download table", type="tertiary", key="compare.exports"):
        for kind, (label, ending, mime) in FILES.items():
            widgets.download(
                label,
                partial(tables.FORMATS[kind], view),
                f"candor_compare.{ending}",
                mime,
                key=f"compare.export.{kind}",
            )


AT_MOST = 20_000_000  # scores that a page reads to list rows
Runs = Sequence[open_runs.Run]
WAYS = {
    "sweep": "By setting",
    "scatter": "Two metrics",
    "seeds": "Seeds",
    "training": "Training",
    "rows": "Disagreements",
}


@frame.fragment
def views(
    runs: Runs,
    splits: Sequence[str],
    named: Sequence[NamedRun],
    audited: Sequence[Compared],
    marks: Sequence[tuple[str, RunMark]],
    *,
    same_rows: bool,
) -> None:
    """Draw the view that is chosen, once it is unfolded."""
    more = st.expander(
        "By setting, metric, seed, epoch and row",
        expanded="way" in st.query_params,
        key="compare.more",
        on_change="rerun",
    )
    if not more.open:
        return
    library, worn = open_library(), dict(marks)
    trained = [None if run.draft else settings(library.get(run.id).config) for run in runs]
    differing, seeds = varied(trained), training.seeds_table(named, audited, trained)
    curves: list[training.TrainedCurve] = []  # of the runs with a mark that have a history
    for run in runs:
        entry = None if run.draft or run.id not in worn else library.get(run.id).history
        if entry is None or entry.file is None or len(curves) == training.MOST:
            continue
        with suppress(LibraryError):  # damaged: the others are drawn
            bins = library.bins(run.id) if entry.bins else None
            history = library.history(run.id)
            curves.append(training.TrainedCurve(run.name, worn[run.id], history, bins))
    offered = {
        "sweep": differing,
        "scatter": True,
        "seeds": seeds,
        "training": curves,
        "rows": same_rows,
    }
    with more:
        ways = [way for way in WAYS if offered[way]]
        state.choice("way", ways, ways[0])
        way = st.segmented_control(
            "View",
            ways,
            required=True,
            format_func=WAYS.__getitem__,
            key=(key := state.widget_key("way")),
            on_change=state.pick,
            args=("way", ways[0], key),
            label_visibility="collapsed",
        )
        if way == "sweep":
            with st.container(horizontal=True):
                metric = _metric("Metric", "sweep.metric", "ece")
                setting = st.selectbox(
                    "Setting",
                    differing,
                    format_func=training.setting_name,
                    key="compare.sweep.setting",
                    width=220,
                )
            card = training.sweep_card(named, audited, trained, setting, metric, worn)
            _draw_card(card, "No run has both. Choose another setting or metric.", named, marks)
        elif way == "scatter":
            with st.container(horizontal=True):
                across = _metric("Across", "scatter.x", "accuracy")
                up = _metric("Up", "scatter.y", "ece")
            card = training.scatter_card(named, audited, across, up, worn)
            _draw_card(card, "No run has both metrics. Choose another.", named, marks)
        elif way == "seeds" and seeds:
            widgets.title("Mean over seeds", "± standard deviation")
            widgets.scores("Mean over seeds", seeds.heads, seeds.written())
            widgets.save(seeds.file, "seeds")
        elif way == "training":
            _training(curves)
        elif way == "rows":
            _rows(runs, splits, marks)


def _metric(label: str, key: str, default: str) -> str:
    return str(
        st.selectbox(
            label,
            PAIRED,
            index=PAIRED.index(default),
            format_func=LABELS.__getitem__,
            key=f"compare.{key}",
            width=220,
        )
    )


def _draw_card(
    card: FigureCard | None,
    otherwise: str,
    named: Sequence[NamedRun],
    marks: Sequence[tuple[str, RunMark]],
) -> None:
    """Draw a figure, and which run each letter in it is; else say why there is none."""
    if card is None:
        st.markdown(otherwise)
        return
    names = {run.id: run.name for run in named}
    markup.draw("runs_key", [(mark, names[run_id]) for run_id, mark in marks])
    widgets.figure(card)


def _training(curves: Sequence[training.TrainedCurve]) -> None:
    measures = training.measures(curves)
    measure = st.selectbox(
        "Measure",
        list(measures),
        format_func=measures.__getitem__,
        key="compare.measure",
        width=260,
    )
    markup.draw("runs_key", [(curve.mark, curve.name) for curve in curves])
    cards = (
        training.training_card(curves, measure),
        training.gammas_by_epoch_card(curves),
        training.gammas_card(curves),
    )
    for card in filter(None, cards):
        widgets.figure(card)


def _rows(runs: Runs, splits: Sequence[str], marks: Sequence[tuple[str, RunMark]]) -> None:
    chosen = [
        (run, split, mark)
        for run, split in zip(runs, splits, strict=True)
        for run_id, mark in marks
        if run_id == run.id
    ][: training.MOST]
    cells = sum(run.n(split) * len(run.class_names) for run, split, _ in chosen)
    if cells > AT_MOST:
        st.markdown("Too many scores to list disagreements. Compare fewer runs.")
        return
    answers = [_answers(run, split) for run, split, _ in chosen]
    known = [one for one in answers if one is not None]
    if len(known) < len(answers) or len(known) < 2:
        st.markdown("Runs with many labels have no single answer to compare.")
        return
    run, split, _ = chosen[0]
    labels = open_runs.predictions(run, split).labels
    found = disagreement_view([mark for *_, mark in chosen], known, labels)
    widgets.title(found.title, found.explanation)
    if found.table.rows:
        # The first rows as pictures, by the first run whose images can be opened
        sources = ((run, split, inference.rows_source(run.id, split)) for run, split, _ in chosen)
        for run, split, opened in sources:
            if opened is not None:
                shown, rows = found.rows[: inference.SHOWN], open_runs.predictions(run, split)
                inference.draw_rows("compare.pictures", opened, split, rows, shown, found.captions)
                break
        widgets.table(found.table, key="table.disagreements")
        widgets.save(found.table, "disagreements")


@cached(64)
def _answers(run: open_runs.Run, split: str) -> RunAnswers | None:
    return RunAnswers.of(open_runs.predictions(run, split))
