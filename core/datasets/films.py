"""ChestX-ray14: films in a folder and a list of their findings; imports torch."""

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from core.arrays import Bool
from core.codes import NoticeCode
from core.datasets.assemble import DatasetRows, from_files
from core.datasets.base import DatasetRequest, SplitDataset
from core.datasets.catalogue import FINDINGS
from core.datasets.listing import (
    PictureFile,
    existing_root,
    pictures_below,
    subfolders,
    text_below,
)
from core.datasets.splits import by_patient
from core.errors import Notice, Refused

NONE: Final = "No Finding"
LISTS: Final = ("Data_Entry_2017.csv", "Data_Entry_2017_v2020.csv", "labels.csv")
TEST_LIST: Final = "test_list.txt"
LAYOUT: Final = (
    "the films in images (or in images_001/images and so on), Data_Entry_2017.csv or labels.csv "
    f"with a column for each finding, and {TEST_LIST} for the official test part"
)
FILM: Final = re.compile(r"(\d+)_\d+")  # patient, number of the film
Findings = dict[str, tuple[int, ...]]  # by name of the film, without suffix


def chestxray14(request: DatasetRequest) -> SplitDataset:
    """Return chest films with 14 findings; no patient is in two parts.

    Raises
    ------
    Refused
        DATA_ROOT: the folder, its list or all films are missing; LABEL_LIST: the list cannot be
        understood; PATIENTS: the test list divides a patient.
    """
    root = existing_root(request.root, LAYOUT)
    listed = _findings(root)
    films = _films(root)
    matched = [name for name in listed if name in films]
    if not matched:
        raise Refused(
            "DATA_ROOT",
            f"No film of {len(listed):,} in the list is in {root}",
            f"put them there; it holds {LAYOUT}",
        )
    split = by_patient(
        [_patient(name) for name in matched], _in_test(root, matched), request.split_seed
    )
    labels = np.array([listed[name] for name in matched], np.int64)
    rows = DatasetRows(
        name="chestxray14",
        labels=labels,
        class_names=FINDINGS,
        split=split,
        notices=_missing(len(listed), len(films), len(matched)),
    )
    return from_files(rows, root, [films[name] for name in matched], request)


def _findings(root: Path) -> Findings:
    """Return the findings of each film in the folder's list, 1 where present."""
    name = next((name for name in LISTS if (root / name).is_file()), LISTS[0])
    try:
        table = csv.DictReader(io.StringIO(text_below(root, name, LAYOUT)), strict=True)
        column, read = _columns(table.fieldnames or (), name)
        findings: Findings = {}
        for row in table:
            location = f"{name}, line {table.line_num}"
            film = Path(row[column] or "").stem
            if film in findings:
                raise _list_refused(f"film {film} is listed twice", location)
            findings[film] = read(row, location)
    except csv.Error as error:
        raise _list_refused(f"it is not a table ({error})", name) from error
    return findings


def _columns(
    header: Sequence[str], name: str
) -> tuple[str, Callable[[Mapping[str, str | None], str], tuple[int, ...]]]:
    """Return the column that names the film, and what reads the findings of a row."""
    if {"Image Index", "Finding Labels"} <= set(header):
        return "Image Index", _named
    if {"image", *FINDINGS} <= set(header):
        return "image", _flagged
    raise _list_refused(
        "it has neither the columns Image Index and Finding Labels nor image and the 14 findings",
        name,
    )


def _named(row: Mapping[str, str | None], location: str) -> tuple[int, ...]:
    """Read findings as NIH's list has them: names divided by `|`."""
    present = set((row["Finding Labels"] or "").split("|"))
    if unknown := present - {NONE, *FINDINGS}:
        raise _list_refused(f"there is no finding {min(unknown)!r}", location)
    return tuple(int(finding in present) for finding in FINDINGS)


def _flagged(row: Mapping[str, str | None], location: str) -> tuple[int, ...]:
    """Read findings as a table of 0 and 1 has them."""
    flags = [row[finding] for finding in FINDINGS]
    if not {"0", "1"}.issuperset(flags):
        raise _list_refused("a finding is neither 0 nor 1", location)
    return tuple(int(flag == "1") for flag in flags)


def _films(root: Path) -> dict[str, PictureFile]:
    """Return the pictures of films by name without suffix, which some copies have changed."""
    several = [f"{name}/images" for name in subfolders(root) if re.fullmatch(r"images_\d+", name)]
    folders = ["images"] if (root / "images").is_dir() else several
    films: dict[str, PictureFile] = {}
    for folder in folders:
        existing_root(root / folder, LAYOUT)
        for file in pictures_below(root, folder)[0]:
            film = Path(file.name).stem
            if film in films:
                raise Refused(
                    "DATA_ROOT", f"Two pictures are called {film}", "keep one", location=file.name
                )
            films[film] = file
    return films


def _patient(film: str) -> str:
    """Return whose film it is, as its name says."""
    match = FILM.fullmatch(film)
    if match is None:
        raise _list_refused(
            f"the name {film} does not contain the patient, as 00000013_005 does", film
        )
    return match[1]


def _in_test(root: Path, films: Sequence[str]) -> Bool | None:
    """Return which films are on the official test list; None where there is no list."""
    if not (root / TEST_LIST).is_file():
        return None
    listed = {Path(line.strip()).stem for line in text_below(root, TEST_LIST, LAYOUT).splitlines()}
    return np.array([film in listed for film in films])


def _missing(listed: int, pictures: int, matched: int) -> tuple[Notice, ...]:
    """Say how many rows have no picture and how many pictures no row, if any."""
    if listed == pictures == matched:
        return ()
    text = (
        f"{listed - matched:,} of {listed:,} films in the list have no picture, and "
        f"{pictures - matched:,} of {pictures:,} pictures are not in the list; they were left out."
    )
    return (Notice(NoticeCode.FILMS_MISSING, text),)


def _list_refused(what: str, location: str) -> Refused:
    return Refused(
        "LABEL_LIST",
        f"The list of findings cannot be used: {what}",
        f"use NIH's {LISTS[0]}, or a table of image and 14 columns of 0 and 1",
        location=location,
    )
