"""Making a report in a process of its own, and offering its files."""

from functools import partial

import streamlit as st

from core.reports.build import ReportFiles, ReportRequest, report_files
from core.screens.kit.numbers import memory
from pages.ui import visitor, widgets
from pages.ui.task import Task, Work, in_process

FORMS = (
    ("HTML", "html", "html", "text/html"),
    ("Markdown", "markdown", "md", "text/markdown"),
    ("JSON with certificate", "json", "json", "application/json"),
)


def task(request: ReportRequest) -> Task[ReportFiles]:
    """Return the work of making a report; equal wishes share it."""

    def start() -> Work[ReportFiles]:
        return in_process(report_files, request)

    of_runs = tuple((run.name, run.file_digest, run.split) for run in request.runs)
    key = (of_runs, request.sections, request.edition)
    return Task("report", key, "Writing the report.", start)


def draw(making: Task[ReportFiles]) -> None:
    """Draw the button that starts it, how far it is, then its files."""
    if making.work is None:
        st.button("Make report", type="primary", key="report.make", on_click=making.begin)
        return
    files = making.draw()
    if files is not None:
        _downloads(files)


def _downloads(files: ReportFiles) -> None:
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
    widgets.caption(
        f"Certificate {files.digest[:16]}. To check the JSON against its file: "
        f"python -m core verify {visitor.file_name('candor_report.json')} FILE"
    )


def size(n_bytes: int) -> str:
    """Return how large a file is."""
    return memory(n_bytes) if n_bytes >= 2**20 else f"{n_bytes / 2**10:.0f} KiB"
