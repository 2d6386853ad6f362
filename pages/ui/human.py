"""Votes for a run: dropped, read by a sealed process, and kept with a draft of the run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import streamlit as st

from core.arrays import digest
from core.errors import AuditError, Refused
from core.readers.predictions.result import Inspection, ReadOptions, ReadResult
from core.screens.kit.words import with_row_noun
from pages.ui import open_runs, session, state, visitor, widgets
from pages.ui.intake import FileReading, Intake, SealedFile
from pages.ui.markup import esc

if TYPE_CHECKING:
    from core.readers.tables.votes import VoteFile


INTAKE: Final = Intake["FileReading[VoteFile]"]("votes")
ASKED: Final = "votes.asked"  # in the session: votes whose classes may come in two orders
HELP = (
    "One row for each image of the run, one number of votes (or share) for each class: CSV, "
    "Parquet, npz, or JSON lines with label_count. Rows are matched by the names of the rows, "
    "classes by name. The file is never run."
)
INSTEAD = "say which under Columns and classes, then upload the file again"
IN_ORDER = (
    "upload votes that name these rows, or tick Rows in the same order under Columns and classes "
    "and upload the file again"
)


@dataclass(frozen=True)
class AskedOrder:
    """Votes that wait for the order of their classes, with what each order would mean."""

    run_id: str
    file: "VoteFile"
    orders: Mapping[str, float]


def draw(run: open_runs.Run, split: str) -> None:
    """Draw the drop zone, what is being read, what is asked, and why a file was refused.

    Nothing where no files are taken.
    """
    if visitor.off("upload"):
        return
    INTAKE.refused()
    asked: AskedOrder | None = st.session_state.get(ASKED)
    if asked is not None and asked.run_id == run.id:
        # The classes of the votes may come in several orders
        chosen = None
        with st.container(border=True, key="votes.question"):
            widgets.title("Which classes are the columns of votes?", asked.file.name)
            for k, (order, share) in enumerate(asked.orders.items()):
                shown = esc(order if len(order) <= 80 else f"{order[:79]}…")
                words = f"{shown}: most people chose the label in {100 * share:.0f} of 100 rows"
                if st.button(words, key=f"votes.order.{k}"):
                    chosen = order
        if chosen is not None:
            try:
                _attach(run, split, asked.file, chosen)
            except AuditError as error:
                INTAKE.refuse(error, asked.file.name)
                st.session_state.pop(ASKED, None)
                st.rerun()
    INTAKE.progress()
    INTAKE.zone("Votes of people", _take, label_visibility="collapsed")
    widgets.caption(with_row_noun(HELP))
    with st.popover("Columns and classes", key="votes.more"):
        st.text_input(
            "Columns of votes",
            key="votes.columns",
            max_chars=2_000,
            help="An array, a list of columns, or what their names begin with; for the next file.",
        )
        st.text_input(
            "Classes of these columns",
            key="votes.classes",
            max_chars=20_000,
            placeholder=",".join(run.class_names[:6]),
            help="In the order of the votes, where the columns are not called so.",
        )
        st.checkbox(
            "Rows in the same order",
            key="votes.in_order",
            help="Take votes as they come, whatever names the rows.",
        )


def open_votes(run: open_runs.Run, split: str) -> None:
    """Bring votes that were read to the rows of the run, and open it with them."""
    classes = st.session_state.get("votes.classes") or None
    INTAKE.keep_readings(lambda reading: _attach(run, split, reading.result(), classes))


def _take(file: SealedFile) -> None:
    from core.readers.sandbox import read as sandbox  # not before there is a file to be read

    st.session_state.pop(ASKED, None)
    INTAKE.start(FileReading.of(sandbox.read_votes, file))


def _attach(run: open_runs.Run, split: str, file: "VoteFile", classes: str | None) -> None:
    from core.readers.tables.votes import UndecidedVotes, VoteChoice, attach_votes

    columns = st.session_state.get("votes.columns") or None
    in_order = bool(st.session_state.get("votes.in_order"))
    splits = {name: open_runs.predictions(run, name) for name in run.splits}
    try:
        matched = attach_votes(splits, split, file, VoteChoice(columns, classes, in_order))
    except UndecidedVotes as question:
        st.session_state[ASKED] = AskedOrder(run.id, file, question.orders)
        return
    except Refused as refusal:  # what names an option of the command line has a field here
        if not refusal.options:
            raise
        instead = IN_ORDER if refusal.options == ("--in-order",) else INSTEAD
        raise refusal.with_remedy(instead) from None
    result = ReadResult(
        matched.splits,
        tuple(dict.fromkeys((*run.notices, *matched.notices))),
        Inspection("", None, "", (), (), (), (), ""),
        ReadOptions(),
        digest(run.file_digest, file.digest),
    )
    st.session_state.pop(ASKED, None)
    state.open_run(
        open_runs.find(session.add_draft(f"{run.name}, with votes", file.name, result).id)
    )
    state.say("Votes matched. This is a draft: keep it to have it in your runs.")
    st.rerun()
