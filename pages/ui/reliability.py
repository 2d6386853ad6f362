"""The Reliability page: what is audited and how it is binned, figures, tables, rows of a bin."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import defaults
from core.arrays import Float
from core.configs import BinRule
from core.metrics.estimates import PreparedTarget
from core.metrics.ranking import risk_coverage
from core.metrics.records import Audit, BinTable, TargetAudit
from core.predictions import Task
from core.screens.kit import cards
from core.screens.kit.diagram import has_log_odds
from core.screens.kit.marks import filled
from core.screens.kit.numbers import count, edges
from core.screens.kit.records import FigureCard, Phrase, Sentence, Table, Tile
from core.screens.kit.text import clean
from core.screens.kit.words import with_row_noun
from core.screens.reliability.classes import LabelsView, labels_view
from core.screens.reliability.plain import PlainView
from core.screens.reliability.view import KEY, Subject, bin_rows, reliability_view
from pages.ui import audits, drafts, frame, inference, markup, open_runs, plot, state, widgets

RULES = {BinRule.EQUAL_WIDTH.value: "Equal width", BinRule.EQUAL_MASS.value: "Equal mass"}
SCALES = {"auto": "Auto scale", "linear": "Linear", "log": "Log"}
AXES = {"linear": "Linear axes", "odds": "Log odds"}
CONFIDENT = 0.9  # of the middle one of its bins
ANSWERS, ALL = "answers", "all"


def target(run: open_runs.Run, audit: Audit) -> int | None:
    """Return what is audited: one class or label; None for the answers given, or all labels."""
    if audit.task == Task.TOP_LABEL:
        return None
    labels = audit.task == Task.MULTILABEL
    whole = ALL if labels else ANSWERS
    options = {whole: "All labels" if labels else "Answers given"}
    options |= {str(i): clean(name) for i, name in enumerate(run.class_names)}
    first = audit.headline.target
    default = whole if labels or first is None else str(first)
    title = "Finding" if labels else "Reliability of"
    chosen = widgets.select(title, "of", options, default, width=200)
    return None if chosen == whole else int(chosen)


def bins() -> tuple[str, int]:
    """Return how answers are binned, and into how many."""
    rule = widgets.segments("Bins", "rule", list(RULES), BinRule.EQUAL_WIDTH.value, RULES)
    least, most, default = defaults.N_BINS_MIN, defaults.N_BINS_MAX, str(defaults.N_BINS)
    n_bins = int(state.choice("bins", [str(n) for n in range(least, most + 1)], default))
    st.session_state["widget.bins"] = n_bins
    st.slider(
        "Number of bins",
        least,
        most,
        key="widget.bins",
        on_change=state.pick,
        args=("bins", default),
        format="%d bins",
        width=200,
    )
    return rule, n_bins


def opened_bin(table: BinTable) -> int | None:
    """Return the bin whose rows are shown, by the list or by a click in the diagram."""
    options = {"": with_row_noun("Choose a bin to see its images")}
    for index in map(int, filled(table)):
        low, high = edges(float(table.low[index]), float(table.high[index]))
        options[str(index + 1)] = f"Bin {low} to {high}: {count(int(table.count[index]))}"
    chosen = widgets.select("Bin", "bin_rows", options, "", width=280)
    return int(chosen) - 1 if chosen else None


def open_bin(number: str) -> None:
    """Open the rows of a bin, counted from 1, or of none, otherwise than by the list."""
    state.remember("bin_rows", number, "")
    state.mount_anew("bin_rows")
    if not number:  # else the next click on the same dot changes nothing, and nobody is told
        state.next_generation()


def log_odds(rule: str, table: BinTable) -> bool:
    """Return whether the axes of the diagram are in log odds; asked of bins of equal mass.

    Of a confident model that is the default: most of its bins lie next to 100 %.
    """
    at = filled(table)
    if rule != BinRule.EQUAL_MASS or not has_log_odds(table):
        return False
    default = "odds" if np.median(table.confidence[at]) > CONFIDENT else "linear"
    return widgets.segments("Axes", "axes", list(AXES), default, AXES) == "odds"


def log_counts() -> bool | None:
    """Return whether counts are drawn on a logarithmic scale; None leaves it to the data."""
    scale = widgets.segments("Histogram", "counts", list(SCALES), "auto", SCALES)
    return {"linear": False, "log": True}.get(scale)


# Figures, tables and rows.
ROWS_SHOWN = 200
MORE = "rows.more.of"  # in the session: the bin of which more pictures are shown
DIAGRAM_WIDTH = 486  # where square, axis and histogram fit without a hole between them
LABELS_TABLE = "labels.table"
LABELS_TITLES = {
    False: ("Labels", "what is off first, by ECE; choose a row to open its label"),
    True: ("Findings", "what is furthest off first; choose a row to open it"),
}
LEAST_HEIGHT = 360  # below it the bins of the diagram run into one another


def risk_curve(run: open_runs.Run, split: str, audit: Audit) -> tuple[Float, Float] | None:
    """Return the risk-coverage curve of the answers; labels have no single answer."""
    if audit.task == Task.MULTILABEL:
        return None
    answers = audits.prepared(run, split, None)
    return risk_coverage(answers.ranked) if answers else None


@dataclass(frozen=True)
class Places:
    """Where the parts of the page stand.

    Figures have two columns, with the rows of an opened bin under both.
    """

    head: DeltaGenerator
    numbers: DeltaGenerator
    controls: DeltaGenerator
    diagram: DeltaGenerator
    scale: DeltaGenerator
    gap: DeltaGenerator
    classes: DeltaGenerator
    rows: DeltaGenerator
    risk: DeltaGenerator
    below: DeltaGenerator


def places(head: DeltaGenerator, numbers: DeltaGenerator, controls: DeltaGenerator) -> Places:
    """Return where the parts of the page will stand, figures from here on."""
    with st.container(horizontal=True, gap="medium", key="figures"):
        left = st.container(width=DIAGRAM_WIDTH, key="diagram")
        right = st.container(key="beside")
    under = st.container(key="under")
    return Places(
        head=head,
        numbers=numbers,
        controls=controls,
        diagram=left.container(),
        scale=left.container(key="bare.scale"),
        gap=right.container(),
        classes=right.container(),
        rows=under.container(),
        risk=under.container(width=DIAGRAM_WIDTH, key="under.risk"),
        below=st.container(),
    )


def binned(at: Places, cards: Mapping[str, FigureCard], opened: int | None) -> None:
    """Draw the diagram, in which the opened bin stands out, and the gaps in its bins."""
    # containers of this fragment: fragments within it would pile up in those of the page
    with at.diagram.container():
        widgets.figure(cards["reliability"], select=_open, chosen=opened, least=LEAST_HEIGHT)
    with at.gap.container():
        widgets.figure(cards["gap"])


def _open() -> None:
    """Open the bin whose dot or bar was clicked; a click on what is chosen, or on none, closes."""
    points = plot.picked("figure.reliability")
    open_bin(str(int(np.ravel(points[0]["customdata"])[0]) + 1) if points else "")


def unbinned(at: Places, cards: Iterable[FigureCard]) -> None:
    """Draw the figures that are the same under any bins."""
    for card in cards:
        with at.risk if card.key == "risk" else at.classes:
            widgets.figure(card)


def rows(run: open_runs.Run, split: str, target_audit: TargetAudit, index: int | None) -> None:
    """Show the rows of a bin, if any."""
    if index is None:
        return
    arrays, target = open_runs.predictions(run, split), target_audit.target
    outcomes = audits.outcomes(run, split, target)
    list_rows = partial(bin_rows, arrays, target, target_audit.bins, index, outcomes)
    bin_list = list_rows(limit=ROWS_SHOWN)
    with st.container(border=True, key="bin_rows"):
        widgets.title(with_row_noun("Images of this bin"), bin_list.text)
        if bin_list.confusions:
            widgets.second(bin_list.confusions)
        opened = inference.rows_source(run.id, split)
        more = min(bin_list.total, 2 * inference.SHOWN)
        place = run.id, split, target, index
        shown = more if st.session_state.get(MORE) == place else min(more, inference.SHOWN)
        listed = bin_list.rows[:shown]
        pictured = opened is not None and inference.draw_rows(
            "rows.shown", opened, split, arrays, listed, bin_list.captions
        )
        if not pictured:
            widgets.table(bin_list.table, key=f"rows.{index}")
            if bin_list.total > ROWS_SHOWN:
                widgets.caption(f"The first {ROWS_SHOWN} of {bin_list.total}; the file has all.")
        with st.container(horizontal=True):
            if pictured and shown < more:
                st.button(
                    f"Show {more - shown} more",
                    key="rows.more",
                    on_click=st.session_state.__setitem__,
                    args=(MORE, place),
                )
            widgets.save(
                lambda: list_rows().table,
                f"bin_{index}",
                with_row_noun("All images of this bin, CSV"),
            )
            st.button("Close", key="rows.close", on_click=open_bin, args=("",))


def plain(view: PlainView) -> None:
    """Draw the figures of the page in plain words, and what they do not say."""
    left, right = st.columns([6, 5], gap="medium")
    with left:
        widgets.figure(view.dumbbells)
        widgets.key(view.key)
    with right:
        if view.icons:
            # Draw two arrays of 100: what was promised and what was found
            icons = view.icons
            widgets.title(icons.title, icons.note)
            for text, count, kind in (
                (icons.promised_text, icons.promised, "promised"),
                (icons.observed_text, icons.observed, f"found-{icons.tone}"),
            ):
                markup.draw("hundred", text, count, kind, icons.mark, False)
        widgets.caveat(view.limits.title, view.limits.text)
        widgets.caveat(view.helps.title, view.helps.text, helpful=True)
    widgets.caption(view.caption)


def labels(run: open_runs.Run, audit: Audit) -> LabelsView:
    """Draw how many labels are off; return what the table below them shows."""
    view = labels_view(audit, plain=state.plain())
    widgets.sentence(view.sentence)
    if view.numbers:
        widgets.strip(view.numbers)
        frame.verdict_notices(tuple(dict.fromkeys((*run.notices, *audit.notices))))
    return view


def label_table(run: open_runs.Run, split: str, view: LabelsView) -> None:
    """Draw every label, what is off first, as a figure and a table; a row opens its label."""
    widgets.figure(view.figure)
    widgets.title(*LABELS_TITLES[state.plain()])
    columns = [column.label for column in view.shown.columns]
    st.dataframe(
        [dict(zip(columns, row, strict=True)) for row in view.shown.written()],
        hide_index=True,
        width="stretch",
        height="content",
        key=LABELS_TABLE,
        on_select=lambda: _open_label(view.order),
        selection_mode="single-row",
    )
    widgets.save(view.table, "parts")
    frame.read_notes(run.notices)
    widgets.caption(f"{split} split, file digest {run.file_digest[:8]}")


def _open_label(order: Sequence[int]) -> None:
    chosen = st.session_state[LABELS_TABLE]["selection"]["rows"]
    if chosen:
        st.session_state["widget.of"] = str(order[chosen[0]])
        state.pick("of", ALL)


def end(top: DeltaGenerator, run: open_runs.Run) -> NoReturn:
    """Say what the page will speak of, and end it here."""
    with top:
        widgets.sentence(Sentence((Phrase(f"Analysing “{run.name}”."),)))
        drafts.bar(run)
    st.stop()


PARTS_OPEN = 20  # with more classes the table starts folded


def meanings(tiles: Sequence[Tile]) -> None:
    """Say what the numbers mean."""
    with st.expander("What these numbers mean", key="details.words"):
        widgets.meanings((tile.label, tile.help) for tile in tiles if tile.help)


@frame.fragment
def parts(table: Table) -> None:
    """Draw the numbers of each class or label, where there are any, once they are unfolded."""
    if not table.rows:
        return
    folded = len(table.rows) > PARTS_OPEN
    every = st.expander(
        "By class or label", key="details.parts", expanded=not folded, on_change="rerun"
    )
    if every.open:
        with every:
            widgets.table(table, key="table.parts")
            widgets.save(table, "parts")


@frame.fragment
def metrics(run: open_runs.Run, split: str, target_audit: TargetAudit) -> None:
    """Draw every metric, computed only once it is unfolded, and what the file cannot support."""
    every = st.expander(
        "Every metric, with interval, n and settings; and what this file cannot support",
        key="details.scores",
        on_change="rerun",
    )
    if not every.open:
        return
    with every:
        full = audits.every_metric(run, split)
        if full is None:
            return
        # Beside the full audit stands a label's own, else the scores of the bins as shown
        target, own = target_audit.target, target_audit
        if full.labels and target is not None:
            own = full.labels[target]
        elif target is None and full.answers is not None:
            own = full.answers
        elif target == full.main.target:
            own = full.main
        scores = cards.scores_table(full, own)
        widgets.table(scores, key="table.scores")
        widgets.save(scores, "metrics")
        unavailable = cards.unavailable_table(full)
        if unavailable.rows:
            widgets.title("What this file cannot support", "and why")
            widgets.table(unavailable, key="table.unavailable")


@frame.fragment
def binned_parts(
    run: open_runs.Run,
    split: str,
    audit: Audit,
    ready: PreparedTarget,
    subject: Subject,
    by_class: Table,
    at: Places,
) -> None:
    """Draw the choice of bins, and all that depends on it."""
    with at.controls:
        rule, n_bins = bins()
    target_audit = audits.diagram(ready, n_bins=n_bins, rule=rule)
    with at.scale.container():
        widgets.key(KEY)
        bin_index = opened_bin(target_audit.bins)
        counts = log_counts()
        odds = log_odds(rule, target_audit.bins)
    view = reliability_view(audit, subject, chosen=target_audit, log_counts=counts, log_odds=odds)
    with at.head:
        widgets.eyebrow(view.eyebrow)
        widgets.sentence(view.sentence)
    with at.numbers:
        widgets.strip(view.numbers)
        frame.verdict_notices(view.notices)
    binned(at, view.figures, bin_index)
    with at.rows.container():
        rows(run, split, target_audit, bin_index)
    with at.below.container():
        widgets.caption(view.caption)
        if audits.by_majority(run, split):
            widgets.caption("Labels are what most people chose.")
        frame.read_notes(view.notices)
        meanings(view.numbers)
        parts(by_class)
        metrics(run, split, target_audit)
