"""Folders of pictures: one subfolder a class, Tiny-ImageNet's, and chest films; imports torch."""

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from core.arrays import Bool, Int
from core.codes import NoticeCode
from core.datasets import splits
from core.datasets.assemble import DatasetRows, from_files
from core.datasets.base import DatasetRequest, SplitDataset
from core.datasets.catalogue import FINDINGS
from core.datasets.pictures import (
    FORMATS,
    PictureFile,
    existing_root,
    pictures_below,
    skipped_notice,
    subfolders,
    text_below,
)
from core.datasets.splits import SPLIT_NAMES, SplitRecord, by_patient
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

    Raises Refused DATA_ROOT: the folder, its list or all films are missing; LABEL_LIST: the list
    cannot be understood; PATIENTS: the test list divides a patient.
    """
    root = existing_root(request.root, LAYOUT)
    # The findings of each film in the folder's list, 1 where present
    name = next((name for name in LISTS if (root / name).is_file()), LISTS[0])
    try:
        table = csv.DictReader(io.StringIO(text_below(root, name, LAYOUT)), strict=True)
        header = {*(table.fieldnames or ())}
        if {"Image Index", "Finding Labels"} <= header:
            column, read = "Image Index", _named
        elif {"image", *FINDINGS} <= header:
            column, read = "image", _flagged
        else:
            columns = "the columns Image Index and Finding Labels nor image and the 14 findings"
            raise _list_refused(f"it has neither {columns}", name)
        # The list decides what is true, the folder what is there;
        # both must agree on a film to be used.
        listed: Findings = {}
        for row in table:
            location = f"{name}, line {table.line_num}"
            film = Path(row[column] or "").stem
            if film in listed:
                raise _list_refused(f"film {film} is listed twice", location)
            listed[film] = read(row, location)
    except csv.Error as error:
        raise _list_refused(f"it is not a table ({error})", name) from error
    # Pictures of films by name without suffix, which some copies have changed.
    several = [f"{name}/images" for name in subfolders(root) if re.fullmatch(r"images_\d+", name)]
    folders = ["images"] if (root / "images").is_dir() else several
    films: dict[str, PictureFile] = {}
    for folder in folders:
        existing_root(root / folder, LAYOUT)
        for file in pictures_below(root, folder)[0]:
            film = Path(file.name).stem
            if film in films:
                what = f"Two pictures are called {film}"
                raise Refused("DATA_ROOT", what, "keep one", location=file.name)
            films[film] = file
    matched = [name for name in listed if name in films]
    if not matched:
        what = f"No film of {len(listed):,} in the list is in {root}"
        raise Refused("DATA_ROOT", what, f"put them there; it holds {LAYOUT}")
    in_test: Bool | None = None  # without the official list of films
    # The official test part, with which papers compare; a list
    # that cuts a patient in two would leak.
    if (root / TEST_LIST).is_file():
        lines = text_below(root, TEST_LIST, LAYOUT).splitlines()
        tested = {Path(line.strip()).stem for line in lines}
        in_test = np.array([name in tested for name in matched])
    # Films of a patient look alike and share findings: split by
    # film, a network would recognise patients.
    split = by_patient([_patient(name) for name in matched], in_test, request.split_seed)
    notices: tuple[Notice, ...] = ()
    if not len(listed) == len(films) == len(matched):
        text = (
            f"{len(listed) - len(matched):,} of {len(listed):,} films in the list have no picture, "
            f"and {len(films) - len(matched):,} of {len(films):,} pictures are not in the list; "
            "they were left out."
        )
        notices = (Notice(NoticeCode.FILMS_MISSING, text),)
    rows = DatasetRows(
        name="chestxray14",
        labels=np.array([listed[name] for name in matched], np.int64),
        class_names=FINDINGS,
        split=split,
        notices=notices,
    )
    return from_files(rows, root, [films[name] for name in matched], request)


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


def _patient(film: str) -> str:
    """Return whose film it is, as its name says."""
    match = FILM.fullmatch(film)
    if match is None:
        raise _list_refused(
            f"the name {film} does not contain the patient, as 00000013_005 does", film
        )
    return match[1]


def _list_refused(what: str, location: str) -> Refused:
    return Refused(
        "LABEL_LIST",
        f"The list of findings cannot be used: {what}",
        f"use NIH's {LISTS[0]}, or a table of image and 14 columns of 0 and 1",
        location=location,
    )


FOLDER: Final = (
    "train/CLASS/*.jpg and test/CLASS/*.jpg (and perhaps val/CLASS/*.jpg), or CLASS/*.jpg, with "
    "one folder for each class"
)
TINY_IMAGENET: Final = (
    "train/WNID/images/*.JPEG, val/images/*.JPEG, val/val_annotations.txt and words.txt, as "
    "tiny-imagenet-200.zip unpacks"
)

IMAGENET: Final = (
    "train/CLASS/*.JPEG and val/CLASS/*.JPEG, with one folder for each class (the validation "
    "pictures of ILSVRC 2012 are sorted into such folders first)"
)
N_CLASSES: Final = 1_000  # of ImageNet
N_VALIDATION: Final = 50_000


@dataclass(frozen=True, eq=False)
class FolderImages:
    """Pictures of one part with their classes."""

    pictures: list[PictureFile]  # N of them
    labels: list[int]  # N of them
    skipped: int = 0  # files that are no pictures of a class


def folder(request: DatasetRequest, name: str = "folder") -> SplitDataset:
    """Return a folder of pictures in class folders, already in parts or to be cut.

    `name`: the data set that the pictures are of, by its key in the catalogue.

    Raises Refused DATA_ROOT, CLASSES, EMPTY: the folder is missing or not laid out as it should be.
    """
    root = existing_root(request.root, FOLDER)
    present = [name for name in SPLIT_NAMES if (root / name).is_dir()]
    # Parts need two folders of the known names; a single class called `train` is a class.
    already_split = "train" in present and len(present) > 1
    already_split |= present == subfolders(root) and present in (["test"], ["val"])
    names = _class_names(root / present[0] if already_split else root)
    by_split = {name: _by_class(root, name, names) for name in (present if already_split else [""])}
    pictures, labels = _joined(list(by_split.values()))
    if already_split:
        split, notices = _given_split(by_split, request.split_seed)
    else:
        split, notices = splits.stratified(labels, names, request.split_seed), ()
    notices += skipped_notice(sum(images.skipped for images in by_split.values()))
    return from_files(
        DatasetRows(name=name, labels=labels, class_names=names, split=split, notices=notices),
        root,
        pictures,
        request,
    )


def tiny_imagenet(request: DatasetRequest) -> SplitDataset:
    """Return Tiny-ImageNet; its official validation part is the test part.

    Raises Refused DATA_ROOT: the folder or one of its files is missing, or a picture is not
    annotated.
    """
    root = existing_root(request.root, TINY_IMAGENET)
    words = text_below(root, "words.txt", TINY_IMAGENET)
    annotations = text_below(root, "val/val_annotations.txt", TINY_IMAGENET)
    wnids = _class_names(existing_root(root / "train", TINY_IMAGENET))
    train = _by_class(root, "train", wnids)
    # The official validation pictures with their annotated classes
    classes, number = _second_column(annotations), {wnid: k for k, wnid in enumerate(wnids)}
    files, _ = pictures_below(root, "val/images")
    names = [file.name.rpartition("/")[2] for file in files]
    for file, name in zip(files, names, strict=True):
        if classes.get(name, "") not in number:
            what = f"val/val_annotations.txt gives {file.name} no class that train has"
            remedy = f"unpack the data set again; it holds {TINY_IMAGENET}"
            raise Refused("DATA_ROOT", what, remedy, location=file.name)
    if missing := classes.keys() - set(names):
        raise Refused(
            "DATA_ROOT",
            f"{len(missing):,} pictures of val/val_annotations.txt are missing, as {min(missing)}",
            f"unpack the data set again; it holds {TINY_IMAGENET}",
        )
    # The official test part has no labels that are public, so the validation part is tested on.
    test = FolderImages(files, [number[classes[name]] for name in names])
    pictures, labels = _joined([train, test])
    split = splits.held_out(len(train.pictures), len(test.pictures), request.split_seed)
    # The first word of each class; with its WordNet id where two share one.
    spoken = _second_column(words)
    first = [spoken.get(wnid, wnid).partition(",")[0] for wnid in wnids]
    counts = Counter(first)
    rows = DatasetRows(
        name="tiny_imagenet",
        labels=labels,
        class_names=tuple(
            f"{word} ({wnid})" if counts[word] > 1 else word
            for word, wnid in zip(first, wnids, strict=True)
        ),
        split=split,
    )
    return from_files(rows, root, pictures, request)


def imagenet(request: DatasetRequest) -> SplitDataset:
    """Return ImageNet; halves of its official validation part are validation and test part.

    Raises Refused DATA_ROOT, CLASSES, EMPTY: the folder or a part is missing or not laid out as it
    should be.
    """
    root = existing_root(request.root, IMAGENET)
    names = _class_names(existing_root(root / "train", IMAGENET))
    existing_root(root / "val", IMAGENET)
    train, rest = (_by_class(root, part, names) for part in ("train", "val"))
    if len(rest.pictures) < 2:
        what = "The folder val holds no pictures in folders of classes"
        raise Refused("EMPTY", what, f"sort them into folders; the data hold {IMAGENET}")
    if (len(names), len(rest.pictures)) != (N_CLASSES, N_VALIDATION):
        raise Refused(
            "DATA_ROOT",
            f"{root.name} has {len(rest.pictures):,} validation pictures of {len(names):,} "
            f"classes, and ImageNet has {N_VALIDATION:,} of {N_CLASSES:,}",
            "use all of ImageNet, or choose a folder of pictures as data",
        )
    pictures, labels = _joined([train, rest])
    rows = DatasetRows(
        name="imagenet",
        labels=labels,
        class_names=names,
        split=splits.halved(len(train.pictures), len(rest.pictures), request.split_seed),
        notices=skipped_notice(train.skipped + rest.skipped),
    )
    return from_files(rows, root, pictures, request)


def _class_names(folder: Path) -> tuple[str, ...]:
    """Return the names of the class folders, at least two."""
    names = tuple(subfolders(folder))
    if len(names) < 2:
        what = f"{folder.name} holds {len(names)} folders, and each class is one"
        raise Refused("CLASSES", what, f"give at least two classes: {FOLDER}")
    return names


def _by_class(root: Path, split: str, names: Sequence[str]) -> FolderImages:
    """Return the pictures below `root/part`, labelled by the folder they lie in."""
    number = {name: k for k, name in enumerate(names)}
    if unknown := set(subfolders(root / split)) - set(names):
        what = f"{split} has the class {min(unknown)!r} and train has not"
        raise Refused("CLASSES", what, "give both the same classes")
    files, skipped = pictures_below(root, split)
    depth = 1 if split else 0
    steps = [file.name.split("/") for file in files]
    # Pictures that lie beside the folders of classes have none, and are counted as skipped.
    rows = [row for row, path in enumerate(steps) if len(path) > depth + 1]
    labels = [number[steps[row][depth]] for row in rows]
    empty = set(range(len(names))) - set(labels)
    if empty and split in ("", "train"):
        remedy = f"put some there ({', '.join(FORMATS)}), or take the folder away"
        raise Refused("EMPTY", f"Class {names[min(empty)]!r} holds no pictures to train on", remedy)
    return FolderImages([files[row] for row in rows], labels, skipped + len(files) - len(rows))


def _joined(image_lists: Sequence[FolderImages]) -> tuple[list[PictureFile], Int]:
    """Return pictures and labels of parts one after another."""
    labels = [label for images in image_lists for label in images.labels]
    return [file for images in image_lists for file in images.pictures], np.array(labels, np.int64)


def _given_split(
    by_split: Mapping[str, FolderImages], seed: int
) -> tuple[SplitRecord, tuple[Notice, ...]]:
    """Return the split of a folder in parts; what is missing is taken from train."""
    n = {split: len(files.pictures) for split, files in by_split.items()}
    if "train" not in n:  # of a model that was trained elsewhere
        if not sum(n.values()):
            what = f"{next(iter(n))} holds no pictures"
            raise Refused("EMPTY", what, f"put some there ({', '.join(FORMATS)})")
        return splits.all_tested(sum(n.values()), seed), ()
    if len(n) == len(SPLIT_NAMES):
        return splits.as_given(n["train"], n["val"], n["test"], seed), ()
    if "test" in n:
        return splits.held_out(n["train"], n["test"], seed), ()
    text = "There is no folder test, so val is the test part, and a tenth of train validates."
    return splits.held_out(n["train"], n["val"], seed), (Notice(NoticeCode.VAL_AS_TEST, text),)


def _second_column(text: str) -> dict[str, str]:
    """Return the second column of a table by its first."""
    rows = (line.split("\t") for line in text.splitlines())
    return {row[0]: row[1].strip() for row in rows if len(row) > 1}
