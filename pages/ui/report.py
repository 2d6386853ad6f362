"""The Report page: runs, edition and sections chosen, and one file made of them."""

import secrets
from collections.abc import Sequence
from functools import partial

import streamlit as st

from core.errors import LibraryError
from core.metrics.comparison import MOST_RUNS
from core.reports.build import (
    ReportFiles,
    ReportRequest,
    default_sections,
    offered_sections,
    report_files,
    run_of_file,
    run_of_library,
)
from core.reports.document import EDITIONS, Edition
from core.reports.html import preview_html
from core.reports.sections import NUMBERS, SECTIONS
from core.screens.kit.numbers import memory
from core.studies.report import CLASSES, COMPARE, OOD, ReportedRun, default_comparison
from pages.ui import frame, open_runs, selected_runs, session, state, visitor, widgets
from pages.ui.task import BackgroundTask, in_process
from pages.ui.visitor import open_library

MOST_SHOWN = 8 * 2**20  # characters; a longer report is downloaded, not shown
FORMS = (
    ("HTML", "html", "html", "text/html"),
    ("Markdown", "markdown", "md", "text/markdown"),
    ("JSON with certificate", "json", "json", "application/json"),
)


def task(request: ReportRequest) -> BackgroundTask[ReportFiles]:
    """Return the work of making a report; equal wishes share it."""
    of_runs = tuple((run.name, run.file_digest, run.split) for run in request.runs)
    key = (of_runs, request.sections, request.edition)
    start = partial(in_process, report_files, request)
    return BackgroundTask("report", key, "Writing the report.", start)


def draw(making: BackgroundTask[ReportFiles]) -> None:
    """Draw the button that starts it, how far it is, then its files."""
    if making.work is None:
        st.button("Make report", type="primary", key="report.make", on_click=making.begin)
        return
    files = making.draw()
    if files is not None:
        widgets.title("Your report", files.headline)
        with st.container(horizontal=True, key="report.files"):
            for i, (label, form, suffix, mime) in enumerate(FORMS):
                text: str = getattr(files, form)
                widgets.download(
                    f"{label}, {size(len(text.encode()))}",
                    partial(str, text),
                    f"candor_report.{suffix}",
                    mime,
                    kind="primary" if i == 0 else "secondary",
                    key=f"report.save.{suffix}",
                )
        if len(files.html) <= MOST_SHOWN:
            # one for each report: another would load the preview anew whenever the page is drawn
            nonce = st.session_state.setdefault(f"nonce.{files.digest}", secrets.token_hex(16))
            with st.container(key="report_shown"):
                st.iframe(preview_html(files.html, nonce), height=720, alt="Preview of the report")
        if not state.plain():
            widgets.caption(
                f"Certificate {files.digest[:16]}. To check the JSON against its file: "
                f"python -m core verify {visitor.file_name('candor_report.json')} FILE"
            )


def size(n_bytes: int) -> str:
    """Return how large a file is."""
    return memory(n_bytes) if n_bytes >= 2**20 else f"{n_bytes / 2**10:.0f} KiB"


PICKED, LINK = "set.report.runs", "reported"
LEFT_OUT = "set.report.left_out"  # sections that were switched off, once any was
TECHNICAL_ONLY = (CLASSES, NUMBERS)


def open_linked() -> None:
    """Open the first run of a link that names those of a report alone."""
    first = st.query_params.get(LINK, "").split(",")[0]
    if first and not {state.RUN, state.DRAFT} & {*st.query_params}:
        st.query_params[state.RUN] = first


def runs(opened: open_runs.Run) -> list[open_runs.Run]:
    """Draw the choice of what is reported beside the open run; return it and them."""
    linked = tuple(filter(None, st.query_params.get(LINK, "").split(",")))
    ids: tuple[str, ...] = st.session_state.get(PICKED) or linked
    others: list[open_runs.Run] = []
    for run_id in [run_id for run_id in ids[:MOST_RUNS] if run_id != opened.id]:
        try:
            others.append(open_runs.find(run_id))
        except LibraryError as gone:
            frame.refusal(gone)
    others = others[: MOST_RUNS - 1]
    selected_runs.picker(
        others,
        "report.runs",
        MOST_RUNS - 1,
        lambda ids: selected_runs.keep(PICKED, LINK, tuple(ids)),
        label="With other runs",
        without=opened.id,
    )
    return [opened, *others]


def splits(chosen: Sequence[open_runs.Run], split: str) -> list[str]:
    """Return each run's split: that of the first, else its own, which is said."""
    own = [split if split in run.splits else run.split for run in chosen]
    for run, other in zip(chosen, own, strict=True):
        if other != split:
            words = [widgets.SPLIT_NAMES.get(name, name) for name in (split, other)]
            widgets.second(
                f"“{run.name}” has no {words[0]} split. Its {words[1]} split is reported."
            )
    return own


def edition() -> Edition:
    """Draw the choice of the edition; plain words are the default where they are switched on."""
    default = Edition.PLAIN if state.plain() else Edition.TECHNICAL
    names = {str(key): name for key, name in EDITIONS.items()}
    return Edition(widgets.segments("Edition", "edition", list(names), str(default), names))


def reported(chosen: Sequence[open_runs.Run], of_each: Sequence[str]) -> tuple[ReportedRun, ...]:
    """Return the runs as they are to be reported."""
    drafts = session.drafts()
    return tuple(
        run_of_file(drafts[run.id].file_name, drafts[run.id].result, split)
        if run.draft
        else run_of_library(open_library(), run.id, split)
        for run, split in zip(chosen, of_each, strict=True)
    )


def sections(to_report: tuple[ReportedRun, ...], chosen: Edition) -> tuple[str, ...]:
    """Draw the choice of sections that can be filled, and return it; a board gets one page."""
    if chosen is Edition.BOARD:
        return ("verdict", "settings")
    offered = [
        key
        for key in offered_sections(to_report)
        if (key not in TECHNICAL_ONLY or chosen is Edition.TECHNICAL)
        and (key != COMPARE or len(to_report) > 1)
        and (key != OOD or any(map(default_comparison, to_report)))
    ]
    by_default = default_sections(to_report)
    usual = tuple(key for key in offered if key not in by_default)
    left_out = st.session_state.get(LEFT_OUT, usual)
    kept = [key for key in offered if key not in left_out] or offered
    st.session_state["widget.report.sections"] = kept
    st.pills(
        "Sections",
        offered,
        selection_mode="multi",
        format_func=SECTIONS.__getitem__,
        key="widget.report.sections",
        on_change=_leave_out,
        args=(tuple(offered),),
    )
    return tuple(kept)


def _leave_out(offered: tuple[str, ...]) -> None:
    """Take over which of the sections were switched off; others stay as they were."""
    kept = st.session_state["widget.report.sections"]
    before = st.session_state.get(LEFT_OUT, ())
    elsewhere = tuple(key for key in before if key not in offered)
    st.session_state[LEFT_OUT] = elsewhere + tuple(key for key in offered if key not in kept)
