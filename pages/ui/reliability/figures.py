"""The figures of the Reliability page, its tables of labels, and the rows behind an opened bin."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.arrays import Float
from core.metrics.records import Audit, TargetAudit
from core.metrics.selective import risk_coverage
from core.predictions import Task
from core.screens.kit.records import FigureCard
from core.screens.kit.words import with_row_noun
from core.screens.reliability.classes import LabelsView, labels_view
from core.screens.reliability.plain import PlainView
from core.screens.reliability.view import bin_rows
from pages.ui import audits, cache, frame, html_macros, plot, row_pictures, state, widgets
from pages.ui.reliability import choices

ROWS_SHOWN = 200
MORE = "rows.more.of"  # in the session: the bin of which more pictures are shown
DIAGRAM_WIDTH = 486  # where square, axis and histogram fit without a hole between them
LABELS_TABLE = "labels.table"
LABELS_TITLES = {
    False: ("Labels", "what is off first, by ECE; choose a row to open its label"),
    True: ("Findings", "what is furthest off first; choose a row to open it"),
}
LEAST_HEIGHT = 360  # below it the bins of the diagram run into one another


def risk_curve(run: cache.Run, split: str, audit: Audit) -> tuple[Float, Float] | None:
    """Return the risk-coverage curve of the answers; labels have no single answer."""
    if audit.task == Task.MULTILABEL:
        return None
    answers = audits.prepared(run, split, None)
    return risk_coverage(answers.ranked) if answers else None


@dataclass(frozen=True)
class FigurePlaces:
    """Where figures stand: two columns, the rows of an opened bin under both, and the rest."""

    diagram: DeltaGenerator
    scale: DeltaGenerator
    gap: DeltaGenerator
    classes: DeltaGenerator
    rows: DeltaGenerator
    risk: DeltaGenerator


def places() -> FigurePlaces:
    """Return where figures will stand."""
    with st.container(horizontal=True, gap="medium", key="figures"):
        left = st.container(width=DIAGRAM_WIDTH, key="diagram")
        right = st.container(key="beside")
    under = st.container(key="under")
    return FigurePlaces(
        diagram=left.container(),
        scale=left.container(key="bare.scale"),
        gap=right.container(),
        classes=right.container(),
        rows=under.container(),
        risk=under.container(width=DIAGRAM_WIDTH, key="under.risk"),
    )


def binned(at: FigurePlaces, cards: Mapping[str, FigureCard], opened: int | None) -> None:
    """Draw the diagram, in which the opened bin stands out, and the gaps in its bins."""
    # containers of this fragment: fragments within it would pile up in those of the page
    with at.diagram.container():
        widgets.figure(cards["reliability"], select=_open, chosen=opened, least=LEAST_HEIGHT)
    with at.gap.container():
        widgets.figure(cards["gap"])


def _open() -> None:
    """Open the bin whose dot or bar was clicked; a click on what is chosen, or on none, closes."""
    points = plot.picked("figure.reliability")
    choices.open_bin(str(int(np.ravel(points[0]["customdata"])[0]) + 1) if points else "")


def unbinned(at: FigurePlaces, cards: Iterable[FigureCard]) -> None:
    """Draw the figures that are the same under any bins."""
    for card in cards:
        with at.risk if card.key == "risk" else at.classes:
            widgets.figure(card)


def rows(run: cache.Run, split: str, target_audit: TargetAudit, index: int | None) -> None:
    """Show the rows of a bin, if any."""
    if index is None:
        return
    arrays, target = cache.predictions(run, split), target_audit.target
    outcomes = audits.outcomes(run, split, target)
    list_rows = partial(bin_rows, arrays, target, target_audit.bins, index, outcomes)
    bin_list = list_rows(limit=ROWS_SHOWN)
    with st.container(border=True, key="bin_rows"):
        widgets.title(with_row_noun("Images of this bin"), bin_list.text)
        if bin_list.confusions:
            widgets.second(bin_list.confusions)
        opened = row_pictures.source(run.id, split)
        more = min(bin_list.total, 2 * row_pictures.SHOWN)
        place = run.id, split, target, index
        shown = more if st.session_state.get(MORE) == place else min(more, row_pictures.SHOWN)
        listed = bin_list.rows[:shown]
        pictured = opened is not None and row_pictures.draw(
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
            st.button("Close", key="rows.close", on_click=choices.open_bin, args=("",))


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
                html_macros.draw("hundred", text, count, kind, icons.mark, False)
        widgets.caveat(view.limits.title, view.limits.text)
        widgets.caveat(view.helps.title, view.helps.text, helpful=True)
    widgets.caption(view.caption)


def labels(run: cache.Run, audit: Audit) -> LabelsView:
    """Draw how many labels are off; return what the table below them shows."""
    view = labels_view(audit, plain=state.plain())
    widgets.sentence(view.sentence)
    if view.numbers:
        widgets.strip(view.numbers)
        frame.verdict_notices(tuple(dict.fromkeys((*run.notices, *audit.notices))))
    return view


def label_table(run: cache.Run, split: str, view: LabelsView) -> None:
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
        state.pick("of", choices.ALL)
