"""What the Compare page draws: figures, the table, and what is folded under them."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import streamlit as st

from core.errors import LibraryError
from core.metrics.comparison import Compared
from core.metrics.paired import PAIRED
from core.reports import compare
from core.screens.compare import training
from core.screens.compare.view import FEW, CompareView, disagreement_view
from core.screens.kit.differences import NamedRun
from core.screens.kit.marks import RunMark
from core.screens.kit.records import FigureCard
from core.screens.kit.words import LABELS
from core.studies.comparison import Answers, settings, varied
from pages.ui import cache, frame, html_macros, row_pictures, state, widgets
from pages.ui.caching import cached
from pages.ui.visitor import open_library

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
                partial(compare.FORMATS[kind], view),
                f"candor_compare.{ending}",
                mime,
                key=f"compare.export.{kind}",
            )


AT_MOST = 20_000_000  # scores that a page reads to list rows
Runs = Sequence[cache.Run]
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
    html_macros.draw("runs_key", [(mark, names[run_id]) for run_id, mark in marks])
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
    html_macros.draw("runs_key", [(curve.mark, curve.name) for curve in curves])
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
    labels = cache.predictions(run, split).labels
    found = disagreement_view([mark for *_, mark in chosen], known, labels)
    widgets.title(found.title, found.explanation)
    if found.table.rows:
        # The first rows as pictures, by the first run whose images can be opened
        sources = ((run, split, row_pictures.source(run.id, split)) for run, split, _ in chosen)
        for run, split, opened in sources:
            if opened is not None:
                shown, rows = found.rows[: row_pictures.SHOWN], cache.predictions(run, split)
                row_pictures.draw("compare.pictures", opened, split, rows, shown, found.captions)
                break
        widgets.table(found.table, key="table.disagreements")
        widgets.save(found.table, "disagreements")


@cached(64)
def _answers(run: cache.Run, split: str) -> Answers | None:
    return Answers.of(cache.predictions(run, split))
