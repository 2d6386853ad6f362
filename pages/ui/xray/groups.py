"""Subgroups of one finding by any column of a table that the user drops."""

from dataclasses import dataclass, replace
from typing import Final

import streamlit as st

from core.errors import AuditError
from core.metrics.clinical.groups import grouping
from core.readers.sandbox import read as sandbox
from core.readers.tables.columns import MatchedTable, TextColumns, match
from core.screens.kit.records import Table
from core.screens.xray import use
from core.screens.xray.words import ClinicSource
from pages.ui import cache, widgets
from pages.ui.intake import FileReading, Intake, SealedFile
from pages.ui.xray import finding_cache
from pages.ui.xray.finding_cache import FindingChoice

INTAKE: Final = Intake[FileReading[TextColumns]]("clinic")
TABLE, IN_ORDER = "clinic.table", "clinic.in_order"
NAME = "Table"  # what a file is called may name a person


@dataclass(frozen=True)
class DroppedTable:
    """A table that was dropped, as it fits the rows of one split."""

    table: TextColumns
    rows_key: tuple[str, str]
    matched: MatchedTable | None = None


def draw(source: ClinicSource, choice: FindingChoice) -> tuple[tuple[str, Table], ...]:
    """Draw the door for a table and the subgroups by one of its columns; return what is shown.

    Parameters
    ----------
    source : ClinicSource
        Where the numbers come from.
    choice : FindingChoice
        The finding that is shown.
    """
    INTAKE.settle(_keep)
    widgets.title("Subgroups", "by any column of a table that names the films of this run")
    with st.container(horizontal=True, vertical_alignment="bottom", key="clinic_groups"):
        with st.popover("Add a table", key=f"clinic.door.{INTAKE.drops}"):
            _door()
        matched = _matched(choice.run, choice.split)
        column = _column(matched)
    INTAKE.progress()
    INTAKE.refused()
    if matched is None or column is None:
        return ()
    values = matched.columns[column]
    groups = grouping([values[row] for row in choice.shown_rows()])
    subgroups = finding_cache.subgroups(choice, groups).computed()
    if subgroups is None:
        return ()
    table = use.group_table(source, f"{column}; {matched.description}", subgroups)
    widgets.scores("Subgroups", table.heads, table.written())
    widgets.save(table.file, "subgroups", "Subgroups, CSV")
    cut = " Numbers were cut into quartiles." if groups.edges else ""
    widgets.caption(
        f"{matched.description[:1].upper()}{matched.description[1:]}.{cut} Strong: the group is "
        "off beyond chance, corrected for looking at all groups (Holm), and the interval excludes "
        "the ideal, or ECE exceeds what a perfect model would show. Differences between groups can "
        f"be chance. {source.caption}"
    )
    return ((f"Subgroups by {column}", table.file),)


def _door() -> None:
    """Draw the drop zone, and what its tables are to hold."""
    INTAKE.zone("Table", _take, label_visibility="collapsed")
    widgets.caption(
        "CSV or TSV with a header: one column names the films as this run does, the others say "
        "what is known of them, such as age, sex or view. It stays in this session."
    )
    st.toggle("Its rows come in the run’s order", key=IN_ORDER, persist_state="session")


def _take(file: SealedFile) -> None:
    """Read a table, in place of the one before."""
    st.session_state.pop(TABLE, None)
    INTAKE.start(FileReading.of(sandbox.read_columns, SealedFile(file.path, NAME)))


def _keep(reading: FileReading[TextColumns]) -> None:
    st.session_state[TABLE] = DroppedTable(reading.result(), ("", ""))


def _matched(run: cache.Run, split: str) -> MatchedTable | None:
    """Return what the table says of each row of the split; matched once."""
    dropped: DroppedTable | None = st.session_state.get(TABLE)
    if dropped is None:
        return None
    in_order = bool(st.session_state.get(IN_ORDER))
    rows_key = (run.digest(split), str(in_order))
    if dropped.rows_key != rows_key:
        rows = cache.predictions(run, split)
        matched = None
        INTAKE.refusals.clear()
        try:
            matched = match(dropped.table, rows.row_ids, rows.n, in_order=in_order)
        except AuditError as error:
            INTAKE.refuse(error, NAME)
        dropped = replace(dropped, rows_key=rows_key, matched=matched)
        st.session_state[TABLE] = dropped
    return dropped.matched


def _column(matched: MatchedTable | None) -> str | None:
    """Draw the choice of the column."""
    if matched is None:
        return None
    names = list(matched.columns)
    column = st.selectbox(
        "Groups by",
        names,
        index=None,
        placeholder="Choose a column",
        key=f"clinic.by.{INTAKE.drops}",  # another table has other columns
        persist_state="session",
        width=260,
    )
    st.button("Forget the table", type="tertiary", key="clinic.forget", on_click=_forget)
    return column


def _forget() -> None:
    st.session_state.pop(TABLE, None)
    INTAKE.refusals.clear()
