"""How files come in: dropped, sealed, read by a confined process, then kept or refused."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

import streamlit as st

from core import defaults
from core.errors import AuditError, LostWorker, sentence
from core.predictions import ScoreKind
from core.readers.predictions.result import Inspection, ReadOptions
from core.training.submission import IMPORT
from pages.ui import frame, server, session, state, visitor, widgets
from pages.ui.markup import esc
from pages.ui.visitor import open_library

if TYPE_CHECKING:
    from core.readers.tables.strict_tables import HistoryFile


FIRST_WAIT_S: Final = 1.5  # most files are read within this time: no flicker of a progress line
LOOK_S: Final = 0.5
MOST_LETTERS: Final = 4_000  # of a path
Answer = TypeVar("Answer")


class SealedFile(NamedTuple):
    """A dropped file: its bytes in the session's folder, and the name that the user gave it."""

    path: Path
    name: str


@dataclass(frozen=True)
class RefusedFile:
    """Why a file was refused, and what the page calls it."""

    error: AuditError
    name: str = ""


@dataclass(kw_only=True, eq=False)
class FileReading(Generic[Answer]):
    """A file that is read in a thread, with the means to wait for it and to stop it."""

    name: str  # what the page calls it
    # A reader with its file: called with ``cancel`` in a thread, where it must not touch Streamlit.
    read: Callable[..., Answer]
    files: tuple[Path, ...] = ()  # bytes in the session's folder that go with it
    once: bool = False  # they go as soon as it was read or refused, whether anyone looks or not
    cancel: Event = field(default_factory=Event)
    started: float = field(default_factory=time.monotonic)
    future: "Future[Answer]" = field(init=False)

    @classmethod
    def of(cls, reader: Callable[..., Answer], file: SealedFile) -> "FileReading[Answer]":
        """Return the reading of one file by a reader of `core.readers.sandbox`."""
        read = partial(reader, file.path, name=file.name)
        return cls(name=file.name, read=read, files=(file.path,), once=True)

    def start(self) -> None:
        """Begin to read; the end of the session stops it."""
        done, files = session.room().stop_at_end(self.cancel), self.files
        self.future = session.in_thread(partial(self.read, cancel=self.cancel))
        self.future.add_done_callback(done)
        if self.once:
            self.future.add_done_callback(lambda _: remove(files))

    @property
    def done(self) -> bool:
        """Whether it was read or refused."""
        return self.future.done()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def result(self) -> Answer:
        """Return what was read, or raise why it was refused."""
        try:
            return self.future.result()
        except OSError as error:
            raise no_room(error) from error

    def close(self, keep: Iterable[Path] = ()) -> None:
        """Stop it, and remove its bytes but for those to keep."""
        self.cancel.set()
        files = set(self.files).difference(keep)
        self.future.add_done_callback(lambda _: remove(files))


Reading = TypeVar("Reading", bound=FileReading[Any])


@dataclass(frozen=True)
class Intake(Generic[Reading]):
    """A place where files are dropped; what of it is in the session begins with its `slot`.

    Where it takes `several` files, each is read by itself; elsewhere the next one takes the
    place of the one before. Several may be looked at `together`, once all are read.
    """

    slot: str
    several: bool = False
    together: bool = False

    @property
    def drops(self) -> int:
        """How often something was dropped; a door whose key holds it closes at each drop."""
        return int(st.session_state.get(f"{self.slot}.drops", 0))

    @property
    def readings(self) -> list[Reading]:
        """What is being read, or was read and is not settled."""
        readings: list[Reading] = st.session_state.setdefault(f"{self.slot}.reading", [])
        return readings

    @property
    def reading(self) -> Reading | None:
        """What is being read, where only one file is."""
        return self.readings[-1] if self.readings else None

    @property
    def refusals(self) -> list[RefusedFile]:
        """Why files of the last drop were refused."""
        refusals: list[RefusedFile] = st.session_state.setdefault(f"{self.slot}.refused", [])
        return refusals

    def zone(
        self,
        label: str,
        take: Callable[..., None],
        *,
        name: str = "drop",
        **look: Any,  # noqa: ANN401  options of st.file_uploader
    ) -> None:
        """Draw a drop zone; what is dropped is sealed and given to `take`, file by file."""
        off = visitor.off("upload")
        if off:
            st.markdown(off)
            return
        dropped = server.drop_zone(label, key=f"{self.slot}.{name}.{self.drops}", **look)
        if not dropped:
            return
        st.session_state[f"{self.slot}.drops"] = self.drops + 1  # the widget starts afresh
        self.refusals.clear()
        files: list[SealedFile] = []
        try:
            files.extend(
                SealedFile(session.store(file), file.name)
                for file in (dropped if isinstance(dropped, list) else [dropped])
            )
        except (AuditError, OSError) as error:
            remove(file.path for file in files)
            self.refuse(error)
        else:
            take(*files)
        st.rerun()

    def start(self, *readings: Reading) -> None:
        """Read files, and wait a moment for those that are read at once."""
        if not self.several:
            self.refusals.clear()
            self.stop(keep=[path for reading in readings for path in reading.files])
        for reading in readings:
            reading.start()
        self.readings.extend(readings)
        wait_for([reading.future for reading in readings], timeout=FIRST_WAIT_S)

    def keep_readings(self, keep: Callable[[Reading], None]) -> bool:
        """Keep what was read, remember what was refused; return whether there was any."""
        done = [reading for reading in self.readings if reading.done]
        for reading in done:
            self.readings.remove(reading)
            try:
                keep(reading)
            except (AuditError, OSError) as error:
                self.refuse(error, reading.name)
            finally:
                reading.close()
        return bool(done)

    def stop(self, keep: Iterable[Path] = ()) -> None:
        """Stop all that is read, and remove its bytes but for those to keep.

        Of several, those that were read by now stay.
        """
        kept = list(keep)
        for reading in list(self.readings):
            if not (self.several and reading.done):
                reading.close(kept)
                self.readings.remove(reading)

    def refuse(self, error: AuditError | OSError, name: str = "") -> None:
        """Remember why a file was refused, or that there was no room for it."""
        error = no_room(error) if isinstance(error, OSError) else error
        if not self.several:
            self.refusals.clear()
        self.refusals.append(RefusedFile(error, name))

    def progress(self, cancel: Callable[[], None] | None = None) -> None:
        """Say what is being read and for how long, with a way to stop it."""
        if self.readings:
            _progress(self, cancel or self.stop)

    def refused(self, title: str = "") -> None:
        """Show why files were refused: several below a title, until they are closed."""
        if len(self.refusals) > 1:
            with st.expander(title, key=f"{self.slot}.refused.list"):
                for refusal in self.refusals:
                    frame.refusal(refusal.error, refusal.name)
        elif self.refusals:
            frame.refusal(self.refusals[0].error, self.refusals[0].name)
        if self.refusals:
            st.button(
                "Close",
                key=f"{self.slot}.refused.close",
                type="tertiary",
                on_click=self.refusals.clear,
            )


@st.fragment(run_every=LOOK_S)
def _progress(intake: Intake[Any], cancel: Callable[[], None]) -> None:
    """Rerun the page as soon as a file is read, or all are stopped."""
    readings = intake.readings
    if not readings or (all if intake.together else any)(reading.done for reading in readings):
        st.rerun()
    name = esc(readings[0].name) if len(readings) == 1 else f"{len(readings)} files"
    seconds = max(reading.seconds for reading in readings)
    with st.container(border=True, key=f"{intake.slot}.progress"):
        st.markdown(f"Reading **{name}**: {seconds:.0f} s")
        st.progress(min(0.95, seconds / defaults.READ_TIMEOUT_S))
        st.button("Cancel", key=f"{intake.slot}.cancel", on_click=cancel)


def server_is_read() -> bool:
    """Return whether pages may read files of the server."""
    return not visitor.off("upload") and not visitor.login_on() and bool(os.environ.get(IMPORT))


def server_paths(slot: str, *others: str, instead: str = "") -> list[str]:
    """Draw fields for files on the server, where pages may read any; return what is to be read now.

    The first file comes first; fields after it, labelled by `others`, may stay empty. `instead`
    labels a second button, if any; see `instead_of_reading`.
    """
    if not server_is_read():
        return []
    with (
        st.form(f"{slot}.path_form", border=False),
        st.container(horizontal=True, vertical_alignment="bottom", key=f"{slot}.by_path"),
    ):
        first = st.text_input(
            "Or a server path",
            key=f"{slot}.path",
            max_chars=MOST_LETTERS,
            help=f"Below the folders that {IMPORT} names. A file there may be larger than "
            "an upload. On the Runs page, a folder of shards is read as one file.",
        )
        rest = [
            st.text_input(label, key=f"{slot}.path.{n}", max_chars=MOST_LETTERS)
            for n, label in enumerate(others, 1)
        ]
        submitted = st.form_submit_button("Read", key=f"{slot}.read")
        if instead:
            submitted |= st.form_submit_button(instead, key=f"{slot}.instead")
    texts = [text.strip() for text in (first, *rest) if text.strip()]
    return texts if submitted and first.strip() else []


def instead_of_reading(slot: str) -> bool:
    """Return whether the second button of `server_paths` was pressed."""
    return bool(st.session_state.get(f"{slot}.instead"))


def no_room(error: OSError) -> LostWorker:
    """Return the refusal of a file where the temporary folder is full, gone or not ours."""
    what = f"The file could not be stored or read ({error.strerror})"
    return LostWorker("LOST_WORKER", what, "free disk space and try again")


def remove(files: Iterable[Path]) -> None:
    """Remove the bytes of files."""
    for path in files:
        path.unlink(missing_ok=True)


# A history of gammas.
INTAKE: Final = Intake["FileReading[HistoryFile]"]("gamma")
COLUMNS = "epoch, bin, lower, upper, count, confidence, accuracy, gamma"


def history_zone() -> None:
    """Draw the drop zone, what is being read, and why the last file was refused."""
    if not state.plain():
        widgets.title("Import a history", "one row for each epoch and bin")
    INTAKE.refused()
    INTAKE.progress()
    if not state.plain():
        INTAKE.zone(
            "A history of bins and gammas by epoch", take_history, label_visibility="collapsed"
        )
        widgets.caption(f"CSV, JSON or Parquet with the columns {COLUMNS}. The file is never run.")


def take_history(file: SealedFile) -> None:
    """Read a file, to be kept and opened on the page Gamma dynamics."""
    from core.readers.sandbox import read as sandbox  # not before there is a file to be read

    INTAKE.start(FileReading.of(sandbox.read_bin_history, file))


def settle_history(open_run: Callable[[str], None]) -> None:
    """Keep a history that was read as a run, and open it."""
    INTAKE.keep_readings(partial(_keep_history, open_run))


def _keep_history(open_run: Callable[[str], None], reading: "FileReading[HistoryFile]") -> None:
    from core.library.store import keep_bin_history

    name, history = reading.name, reading.result()
    manifest = keep_bin_history(open_library(), Path(name).stem or name, name, history)
    open_run(manifest.id)


# Readings between which a file does not decide.
READ = (
    "NPZ, NPY, CSV, TSV, XLSX, Parquet, Feather, Arrow, safetensors, PT, PTH, PKL, P, DAT, JSON, "
    "JSONL, EVAL, or a ZIP of one"
)
KIND_WORDS = {
    ScoreKind.LOGITS: "Logits",
    ScoreKind.PROBABILITIES: "Probabilities",
    ScoreKind.SIGMOID: "Sigmoid scores, one per label",
    ScoreKind.CONFIDENCE: "Confidence of the answer",
}
ABREAST = 3
RECALLED = "Read as chosen before for files like this."


def reading_kind(inspection: Inspection) -> None:
    """Say what the scores were read as, and why."""
    if inspection.kind is not None:
        words = KIND_WORDS[inspection.kind].lower()
        st.markdown(f"Read as **{words}**: {esc(inspection.reason)}.")


def reading_preview(inspection: Inspection, key: str) -> None:
    """Draw the first rows of a file as they stand in it."""
    # A name that was there before has a number behind it
    counts, heads = Counter[str](), list[str]()
    for name in inspection.header:
        counts[name] += 1
        heads.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    rows = [dict(zip(heads, row, strict=True)) for row in inspection.rows]
    if rows:
        widgets.caption("The first rows of the file")
        st.dataframe(rows, hide_index=True, key=key, width="stretch")


def reading_question(refusal: AuditError, inspection: Inspection | None = None) -> None:
    """Ask all that the file leaves open; nothing is wrong with it."""
    location = f" ({esc(refusal.location)})" if refusal.location else ""
    with st.container(key="question"):
        st.info(
            f"**This file can be read in more than one way.** {esc(sentence(refusal.what))}"
            f"{location}  \nPick the reading that is right. Nothing is computed until you do, and "
            f"files like this are read that way from now on.  \n`{refusal.code}`",
            icon=":material/help:",
        )
        several = inspection.questions if inspection is not None else ()
        lines = [
            f"{k}. {esc(sentence(open_.what))} *{esc(' or '.join(open_.answers))}?*"
            for k, open_ in enumerate(several, 1)
        ]
        if lines:
            st.markdown("\n".join(("Each reading below answers these together:", "", *lines)))


def pick_reading(inspection: Inspection, key: str) -> ReadOptions | None:
    """Draw the candidates, at least one, side by side; return the options of the one picked now."""
    candidates = inspection.candidates
    picked = None
    for start in range(0, len(candidates), ABREAST):
        row = candidates[start : start + ABREAST]
        for place, column in enumerate(st.columns(max(2, len(row)))[: len(row)]):
            candidate = row[place]
            with column, st.container(border=True, height="stretch"):
                widgets.title(f"{candidate.title[:1].upper()}{candidate.title[1:]}")
                if not candidate.example:
                    st.markdown("Accuracy and ECE appear after one more question.")
                elif candidate.accuracy is not None and candidate.ece is not None:
                    # not for inputs of no class
                    right, error = 100 * candidate.accuracy, 100 * candidate.ece
                    st.markdown(
                        f"Right in **{right:.1f} %** of rows; off by **{error:.1f}** points on "
                        "average (ECE)"
                    )
                if candidate.example:
                    widgets.caption(f"{candidate.example[:1].upper()}{candidate.example[1:]}")
                widgets.caption(f"On the command line: {candidate.option}")
                if st.button(
                    "Read it this way",
                    key=f"{key}.{start + place}",
                    help=f"Read the file as {esc(candidate.title)}",
                ):
                    picked = candidate.options
    return picked
