"""A gamma history from elsewhere: dropped, kept as a run, opened."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pages.ui import state, widgets
from pages.ui.intake import FileReading, Intake, SealedFile
from pages.ui.visitor import open_library

if TYPE_CHECKING:
    from core.readers.tables.history_file import HistoryFile

INTAKE: Final = Intake["FileReading[HistoryFile]"]("gamma")
COLUMNS = "epoch, bin, lower, upper, count, confidence, accuracy, gamma"


def draw() -> None:
    """Draw the drop zone, what is being read, and why the last file was refused."""
    if not state.plain():
        widgets.title("Import a history", "one row for each epoch and bin")
    INTAKE.refused()
    INTAKE.progress()
    if not state.plain():
        INTAKE.zone("A history of bins and gammas by epoch", take, label_visibility="collapsed")
        widgets.caption(f"CSV, JSON or Parquet with the columns {COLUMNS}. The file is never run.")


def take(file: SealedFile) -> None:
    """Read a file, to be kept and opened on the page Gamma dynamics."""
    from core.readers.sandbox import read as sandbox  # not before there is a file to be read

    INTAKE.start(FileReading.of(sandbox.read_bin_history, file))


def settle(open_run: Callable[[str], None]) -> None:
    """Keep a history that was read as a run, and open it."""
    INTAKE.settle(partial(_keep, open_run))


def _keep(open_run: Callable[[str], None], reading: "FileReading[HistoryFile]") -> None:
    from core.library.importing import keep_bin_history

    name, history = reading.name, reading.result()
    manifest = keep_bin_history(open_library(), Path(name).stem or name, name, history)
    open_run(manifest.id)
