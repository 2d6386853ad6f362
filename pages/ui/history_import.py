"""A gamma history from elsewhere: dropped, read in a sealed process, kept as a run, opened."""

from pathlib import Path
from threading import Event

import streamlit as st

from core.errors import AuditError, LostWorker
from core.library import open_library
from core.library.importing import keep_bin_history
from core.readers.sandbox import read as sandbox
from pages.ui import frame, session, widgets
from pages.ui.gamma import state as gamma_state

DROPS, REFUSED = "gamma.drops", "gamma.refused"
COLUMNS = "epoch, bin, lower, upper, count, confidence, accuracy, gamma"


def draw() -> None:
    """Draw the drop zone, and why the last file was refused."""
    widgets.title("A history from elsewhere", "one row for each epoch and bin")
    refused: AuditError | None = st.session_state.get(REFUSED)
    if refused is not None:
        frame.refusal(refused)
    dropped = st.file_uploader(
        "A history of bins and gammas by epoch",
        key=f"gamma.drop.{st.session_state.get(DROPS, 0)}",
        label_visibility="collapsed",
    )
    widgets.caption(f"CSV, JSON or Parquet with the columns {COLUMNS}. Read in a sealed process.")
    if dropped is not None:
        st.session_state[DROPS] = st.session_state.get(DROPS, 0) + 1  # its bytes leave the memory
        path = session.store(dropped.getbuffer())
        try:
            keep(path, dropped.name)
        finally:
            path.unlink(missing_ok=True)
        st.rerun()


def keep(path: Path, name: str) -> None:
    """Read a file, keep it as a run and open it; or remember why it was refused.

    Parameters
    ----------
    path : Path
        Where its bytes lie.
    name : str
        What the user calls it.
    """
    cancel = Event()
    works = session.room().works
    works.add(cancel)
    st.session_state[REFUSED] = None
    try:
        with st.spinner("Reading the history"):
            history = sandbox.read_bin_history(path, name=name, cancel=cancel)
        manifest = keep_bin_history(open_library(), Path(name).stem or name, name, history)
        gamma_state.open_source(manifest.id)
    except AuditError as refused:
        st.session_state[REFUSED] = refused
    except OSError as error:  # the temporary folder: full, gone or not ours
        what = f"the file could not be stored or read ({error.strerror})"
        remedy = "free disk space and try again"
        st.session_state[REFUSED] = LostWorker("LOST_WORKER", what, remedy)
    finally:
        works.discard(cancel)
