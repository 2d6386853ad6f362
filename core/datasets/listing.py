"""Which picture files a folder holds, found without opening them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.codes import NoticeCode
from core.datasets.pictures import SUFFIXES
from core.disk import utf8_name
from core.errors import Notice, Refused

ROOT_REMEDY: Final = "name the folder with data_root"


@dataclass(frozen=True)
class PictureFile:
    """A picture on disk.

    Attributes
    ----------
    name : str
        Path below the data set's folder, parts divided by `/`.
    size_bytes, changed_ns : int
        Length of the file, and when it was last written.
    """

    name: str
    size_bytes: int
    changed_ns: int


def existing_root(root: Path | None, layout: str) -> Path:
    """Return the data set's folder.

    Parameters
    ----------
    root : Path or None
    layout : str
        What should lie in it, for the message.

    Raises
    ------
    Refused
        DATA_ROOT: none was named, or it is not there.
    """
    if root is None:
        raise Refused("DATA_ROOT", "No folder was named", f"{ROOT_REMEDY}; it holds {layout}")
    if not root.expanduser().is_dir():
        raise Refused(
            "DATA_ROOT", f"There is no folder {root}", f"{ROOT_REMEDY}; it holds {layout}"
        )
    return root.expanduser()


def text_below(root: Path, name: str, layout: str) -> str:
    """Return the text of a file that belongs to a data set.

    Raises
    ------
    Refused
        DATA_ROOT: it is not there or cannot be read.
    """
    try:
        return (root / name).read_text("utf-8-sig", errors="replace")
    except OSError as error:
        raise Refused(
            "DATA_ROOT", f"{root} has no file {name}", f"{ROOT_REMEDY}; it holds {layout}"
        ) from error


def subfolders(folder: Path) -> list[str]:
    """Return the names of the folders directly inside one, sorted; hidden ones left out."""
    with os.scandir(folder) as entries:
        return sorted(e.name for e in entries if e.is_dir() and not e.name.startswith("."))


def pictures_below(root: Path, folder: str) -> tuple[list[PictureFile], int]:
    """Return the pictures in a folder and the folders inside it.

    Parameters
    ----------
    root : Path
    folder : str
        Path below it.

    Returns
    -------
    pictures : list of PictureFile
        Sorted by name. Files are told by their suffix; links to folders are not followed.
    skipped : int
        Number of other files, hidden ones not counted.

    Raises
    ------
    Refused
        DATA_ROOT: a name that is not UTF-8.
    """
    pictures, skipped = [], 0
    with os.scandir(root / folder) as entries:
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                inside, others = pictures_below(root, name)
                pictures += inside
                skipped += others
            elif entry.name.lower().endswith(tuple(SUFFIXES)):
                if not entry.is_file():  # a broken link, or nothing to read from
                    skipped += 1
                    continue
                about = entry.stat()
                pictures.append(PictureFile(utf8_name(name), about.st_size, about.st_mtime_ns))
            else:
                skipped += 1
    return sorted(pictures, key=lambda file: file.name), skipped


def skipped_notice(skipped: int) -> tuple[Notice, ...]:
    """Say that files were left out, if any were."""
    if not skipped:
        return ()
    text = f"{skipped:,} files that are not pictures were left out."
    return (Notice(NoticeCode.FILES_SKIPPED, text),)


def names_of(pictures: Sequence[PictureFile]) -> tuple[str, ...]:
    """Return the paths of pictures below the data set's folder."""
    return tuple(picture.name for picture in pictures)
