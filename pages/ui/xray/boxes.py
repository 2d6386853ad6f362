"""Boxes of lesions that radiologists drew, from a list of them, for the films of a session.

The list names films as their files are called; only disguised names are kept.
"""

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path, PurePath
from threading import Event
from typing import Final

import streamlit as st

from core.codes import RefusalCode
from core.errors import AuditError, LostWorker
from core.readers.sandbox import read as sandbox
from core.readers.tables.boxes import Box, BoxList
from core.xray.heat import Frame
from pages.ui import session
from pages.ui.xray import names as xray_names

LIST, READING, REFUSED = "xray.boxes", "xray.boxes_reading", "xray.boxes_refused"
NAME: Final = "the list of boxes"
Boxes = Mapping[str, tuple[Frame, ...]]  # by finding, in fractions of the film


@dataclass(frozen=True)
class BoxListReading:
    """A list that is being read."""

    stored: Path
    future: "Future[BoxList]"
    cancel: Event


def boxes_of(disguised_name: str) -> Boxes:
    """Return the boxes of a film by its disguised name."""
    return listed().get(disguised_name, {})


def listed() -> Mapping[str, Boxes]:
    """Return all boxes by the disguised name of their film."""
    by_name: dict[str, Boxes] = st.session_state.setdefault(LIST, {})
    return by_name


def reading() -> BoxListReading | None:
    """Return the list that is being read."""
    current: BoxListReading | None = st.session_state.get(READING)
    return current


def refused() -> AuditError | None:
    """Return why the last list was refused."""
    error: AuditError | None = st.session_state.get(REFUSED)
    return error


def take(data: memoryview) -> None:
    """Read a list in a sealed process; an earlier one is stopped."""
    now = reading()
    if now is not None:
        now.cancel.set()
    st.session_state[REFUSED] = None
    try:
        stored = session.store(data)
    except OSError as error:
        what = f"the list could not be stored ({error.strerror})"
        st.session_state[REFUSED] = LostWorker("LOST_WORKER", what, "free disk space there")
        return
    cancel = Event()
    session.room().works.add(cancel)
    future = session.in_thread(_read, stored, cancel)
    st.session_state[READING] = BoxListReading(stored, future, cancel)


def _read(path: Path, cancel: Event) -> BoxList:
    try:
        return sandbox.read_boxes(path, name=NAME, cancel=cancel)
    finally:
        path.unlink(missing_ok=True)


def settle() -> None:
    """Take in a list that was read or refused."""
    now = reading()
    if now is None or not now.future.done():
        return
    st.session_state[READING] = None
    session.room().works.discard(now.cancel)
    try:
        st.session_state[LIST] = _by_film(now.future.result().boxes)
    except AuditError as error:
        if error.code != RefusalCode.CANCELLED:
            st.session_state[REFUSED] = error


def _by_film(boxes: tuple[Box, ...]) -> dict[str, dict[str, tuple[Frame, ...]]]:
    by_name: dict[str, dict[str, tuple[Frame, ...]]] = {}
    for box in boxes:
        of_film = by_name.setdefault(xray_names.disguised(PurePath(box.image).name), {})
        of_film[box.finding] = (*of_film.get(box.finding, ()), _frame(box))
    return by_name


def _frame(box: Box) -> Frame:
    return (
        max(0.0, box.x / box.width),
        max(0.0, box.y / box.height),
        min(1.0, (box.x + box.w) / box.width),
        min(1.0, (box.y + box.h) / box.height),
    )
