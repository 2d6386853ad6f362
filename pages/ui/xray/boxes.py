"""Boxes of lesions that radiologists drew, from a list of them, for the films of a session.

The list names films as their files are called; only disguised names are kept.
"""

import secrets
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import PurePath
from typing import Final

import streamlit as st

from core.readers.sandbox import read as sandbox
from core.readers.tables.boxes import Box, BoxList
from core.xray.heat import Frame
from pages.ui.intake import FileReading, Intake, SealedFile

SECRET: Final = "xray.secret"  # noqa: S105  a key of the session's state
LIST: Final = "xray.boxes"
INTAKE: Final = Intake[FileReading[BoxList]](LIST)
NAME: Final = "List of boxes"
Boxes = Mapping[str, tuple[Frame, ...]]  # by finding, in fractions of the film


def disguised(name: str) -> str:
    """Return what is equal for files of the same name without suffix, and only in this session.

    Lists of boxes name films as their files are called; the name cannot be told from this.
    """
    key: bytes = st.session_state.setdefault(SECRET, secrets.token_bytes(32))
    return blake2b(PurePath(name).stem.encode(), key=key, digest_size=16).hexdigest()


def boxes_of(disguised_name: str) -> Boxes:
    """Return the boxes of a film by its disguised name."""
    return listed().get(disguised_name, {})


def listed() -> Mapping[str, Boxes]:
    """Return all boxes by the disguised name of their film."""
    by_name: dict[str, Boxes] = st.session_state.setdefault(LIST, {})
    return by_name


def take(file: SealedFile) -> None:
    """Read a list; an earlier one is stopped."""
    INTAKE.start(FileReading.of(sandbox.read_boxes, SealedFile(file.path, NAME)))


def settle() -> None:
    """Take in a list that was read or refused."""
    INTAKE.settle(_keep)


def _keep(reading: FileReading[BoxList]) -> None:
    st.session_state[LIST] = _by_film(reading.result().boxes)


def _by_film(boxes: tuple[Box, ...]) -> dict[str, dict[str, tuple[Frame, ...]]]:
    by_name: dict[str, dict[str, tuple[Frame, ...]]] = {}
    for box in boxes:
        of_film = by_name.setdefault(disguised(PurePath(box.image).name), {})
        of_film[box.finding] = (*of_film.get(box.finding, ()), _frame(box))
    return by_name


def _frame(box: Box) -> Frame:
    return (
        max(0.0, box.x / box.width),
        max(0.0, box.y / box.height),
        min(1.0, (box.x + box.w) / box.width),
        min(1.0, (box.y + box.h) / box.height),
    )
