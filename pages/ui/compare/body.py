"""The compare page: the choice of runs, its controls, the table, the forest, the diagrams."""

import streamlit as st

from core.errors import LibraryError
from core.library.index import RunRow
from core.metrics.comparison import Compared, compare, why_not
from core.screens.compare.view import CompareView, compare_view, plain_view
from core.screens.kit.differences import OFFERED, NamedRun
from core.screens.kit.records import FigureCard
from core.screens.kit.run_marks import RunMark
from core.screens.kit.words import LABELS
from pages.ui import cache, frame, picked_runs, pieces, site, state, widgets
from pages.ui.escape import esc

HALF_WIDTH = 500
SMALL_WIDTH = 172
SPLIT_NAMES = {"val": "Validation", "test": "Test", "train": "Training"}


def draw() -> None:
    """Draw the page, or what to do where fewer than two runs are picked."""
    try:
        runs = picked_runs.chosen()
    except LibraryError as gone:  # the picker lets one go on without it
        frame.refusal(gone)
        runs = []
    if len(runs) < 2:
        _nothing(runs)
        return
    top = st.container()
    picked_runs.picker(runs)
    controls = st.container(horizontal=True, vertical_alignment="bottom", key="controls")
    with controls:
        splits = _splits(runs)
    ready = _computed(runs, splits)
    named = [
        NamedRun(run.id, run.name, split, run.file_digest)
        for run, split in zip(runs, splits, strict=True)
    ]
    metric, reference = "ece", 0
    if not why_not([audited.rows for audited in ready], [run.name for run in named]):
        with controls:
            metric = metric if state.plain() else _metric()
            reference = _reference(runs)
    comparison = compare(ready, [run.name for run in runs], reference)
    view = (
        plain_view(named, ready, comparison)
        if state.plain()
        else compare_view(named, ready, comparison, metric)
    )
    with top:
        widgets.eyebrow(view.eyebrow, _chip(runs))
        widgets.sentence(view.sentence)
    _body(view)


def _computed(runs: list[cache.Run], splits: list[str]) -> list[Compared]:
    """Return what is needed of every run, counting them while any is new to this session."""
    known_digests: set[str] = st.session_state.setdefault("compare.seen", set())
    bar, ready = st.empty(), []
    for i, (run, split) in enumerate(zip(runs, splits, strict=True)):
        if run.digest(split) not in known_digests:
            bar.progress(i / len(runs), text=f"{i + 1} of {len(runs)}: {esc(run.name)}")
        ready.append(cache.compared(run, split))
        known_digests.add(run.digest(split))
    bar.empty()
    return ready


def _body(view: CompareView) -> None:
    with st.container(horizontal=True, gap="medium", key="figures"):
        for card in (view.forest, view.curves):
            if card:
                with st.container(key=f"half.{card.key}", width=HALF_WIDTH):
                    widgets.figure(card)
    widgets.scores("Scores of the runs", view.table.heads, view.table.written())
    widgets.save(view.table.file, "compare", "All numbers, CSV")
    if view.diagrams:
        widgets.title("Reliability on common bins", "dots as on the Reliability page")
        with st.container(horizontal=True, key="small"):
            for mark, card in view.diagrams:
                _small(mark, card)
    widgets.caption(view.caption)


def _nothing(runs: list[cache.Run]) -> None:
    """Say what to do, with a button that does it."""
    first = "Pick one more run." if runs else "Pick two or more runs."
    pieces.draw("headline", first)
    st.markdown(
        "Runs that were tested on the same labelled rows are ranked, with intervals of their "
        "differences; others are shown side by side."
    )
    picked_runs.picker(runs)
    with st.container(horizontal=True, vertical_alignment="center", key="nothing"):
        pair = _sample_pair()
        if pair:
            st.button(
                "Compare two sample runs",
                type="primary",
                key="compare.samples",
                on_click=picked_runs.choose,
                args=([row.id for row in pair],),
            )
        st.page_link(site.HOME.script, label="Tick runs in the list", icon=site.HOME.icon)


def _sample_pair() -> list[RunRow]:
    """Return the first two samples of one kind and size; they share their test images."""
    rows = cache.rows(kind="sample", sort="name", descending=False)
    for row in rows:
        alike = [other for other in rows if (other.task, other.n) == (row.task, row.n)]
        if len(alike) > 1:
            return alike[:2]
    return []


def _chip(runs: list[cache.Run]) -> str:
    if any(run.draft for run in runs):
        return "With a draft that only you see"
    return "Samples: models that come with Candor" if _all_samples(runs) else ""


def _all_samples(runs: list[cache.Run]) -> bool:
    return all(run.kind == "sample" for run in runs)


def _metric() -> str:
    metric = state.choice("metric", list(OFFERED), "ece")
    st.segmented_control(
        "Ranked by",
        list(OFFERED),
        required=True,
        format_func=LABELS.__getitem__,
        key="widget.metric",
        on_change=state.pick,
        args=("metric", "ece"),
        help="The table is sorted by it, and its differences are drawn.",
    )
    return metric


def _reference(runs: list[cache.Run]) -> int:
    """Return which run the others are compared with; a draft is not named in the link."""
    ids = [run.id for run in runs]
    names = {run.id: run.name for run in runs}
    reference = state.choice("ref", ids, ids[0])
    st.selectbox(
        "Against",
        ids,
        key="widget.ref",
        format_func=names.__getitem__,
        on_change=state.pick,
        args=("ref", ids[0]),
        width=240,
        help="The reference: differences are the other runs minus this one.",
    )
    at = ids.index(reference)
    if runs[at].draft:
        st.query_params.pop("ref", None)
    return at


def _splits(runs: list[cache.Run]) -> list[str]:
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


def _small(mark: RunMark, card: FigureCard) -> None:
    with st.container(key=f"small.{mark.letter}", width=SMALL_WIDTH, gap="xsmall"):
        pieces.draw("small_title", mark, card.title, "")
        widgets.figure(card, titled=False)
