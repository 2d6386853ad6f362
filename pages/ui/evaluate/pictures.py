"""Folders of pictures: of a zip that is dropped, unpacked for the session, or of the server."""

import os
import secrets
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Final

import streamlit as st

from core.errors import AuditError
from core.readers.formats.pictures import PictureFiles
from core.readers.sandbox import scratch
from core.screens.kit.numbers import count
from core.training.submission import IMPORT
from pages.ui import session, widgets
from pages.ui.escape import esc
from pages.ui.evaluate.state import FORM, Pictures, pictures, pictures_home
from pages.ui.intake import FileReading, Intake, SealedFile

LABELS: Final = {
    "data_root": "A ZIP of pictures, one folder for each class",
    "folder_root": "A ZIP of pictures of none of the classes",
}


@dataclass(kw_only=True, eq=False)
class PicturesReading(FileReading[PictureFiles]):
    """A zip that is being unpacked into a folder."""

    folder: Path


def folder(setting: str, *, dropped: bool) -> None:
    """Draw the ways to name a folder of pictures: a zip, where it may be `dropped`, or a path."""
    now = pictures(setting) if dropped else None
    if now is not None:
        _dropped(setting, now)
        return
    if dropped:
        _zone(setting)
    if os.environ.get(IMPORT):
        FORM.draw(setting)
    elif setting != "svhn_root":  # which is downloaded
        instead = " instead" if dropped else ""
        widgets.caption(
            f"To read a folder of the server{instead}, restart it with {IMPORT}=FOLDER."
        )


def _zone(setting: str) -> None:
    intake: Intake[PicturesReading] = Intake(f"evaluate.{setting}")
    if intake.settle(partial(_keep, setting)):
        st.rerun()
    intake.refused()
    if intake.reading is not None:
        intake.progress(partial(_stop, intake))
    else:
        intake.zone(LABELS[setting], partial(_take, intake), name="zip")


def _dropped(setting: str, now: Pictures) -> None:
    """Say what was dropped, with the way to take it back."""
    files = now.files
    inside = f" in {files.n_classes} folders" if files.n_classes > 1 else ""
    word = "file" if files.skipped == 1 else "files"
    others = f"; {count(files.skipped)} other {word} left out" if files.skipped else ""
    with st.container(horizontal=True, vertical_alignment="center", key=f"evaluate.{setting}.row"):
        st.markdown(f"**{esc(now.name)}**: {count(len(files.files))} pictures{inside}{others}")
        st.button(
            "Remove",
            key=f"evaluate.{setting}.remove",
            type="tertiary",
            on_click=_remove,
            args=(setting,),
        )
    widgets.caption("Deleted when you leave, and after the evaluation.")


def _take(intake: Intake[PicturesReading], file: SealedFile) -> None:
    pictures_home().mkdir(mode=0o700, exist_ok=True)
    into = pictures_home() / secrets.token_hex(8)  # another zip is another folder
    user = session.room().browser.user
    reading = PicturesReading(
        name=file.name,
        read=partial(_read, file, into, user),
        files=(file.path,),
        once=True,
        folder=into,
    )
    intake.start(reading)


def _read(file: SealedFile, into: Path, user: str, cancel: Event) -> PictureFiles:
    """Unpack a zip in a sealed process; runs in a thread, without Streamlit."""
    from core.readers.sandbox import read as sandbox  # not before there is a file to be read

    try:
        files = sandbox.read_pictures(file.path, into=into, name=file.name, cancel=cancel)
        session.check_room(user, 0)  # what was unpacked counts as uploaded
    except (AuditError, OSError):
        scratch.remove(into)
        raise
    return files


def _keep(setting: str, reading: PicturesReading) -> None:
    st.session_state[f"evaluate.{setting}.pictures"] = Pictures(
        reading.name, reading.result(), reading.folder
    )


def _stop(intake: Intake[PicturesReading]) -> None:
    for reading in list(intake.readings):
        reading.future.add_done_callback(partial(_remove_of, reading.folder))
    intake.stop()


def _remove_of(folder: Path, _: object) -> None:
    scratch.remove(folder)


def _remove(setting: str) -> None:
    now = st.session_state.pop(f"evaluate.{setting}.pictures", None)
    if now is not None:
        scratch.remove(now.folder)
