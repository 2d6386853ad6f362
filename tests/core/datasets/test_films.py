"""ChestX-ray14: both kinds of list, films by patient, what is missing and what is refused."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from core.datasets.base import SplitDataset
from core.datasets.catalogue import FINDINGS
from core.datasets.load import load
from core.datasets.stream import StreamedSplit, keep_resized
from core.errors import Refused
from core.predictions import Task
from tests.core.datasets.written import CPU, all_images, by_name, random_pixels, rows, write_png

SHARED = Path(os.environ.get("CANDOR_SHARED", Path(__file__).parents[3].parent / "shared"))
REAL = SHARED / "data" / "chestxray14"
FILMS = [f"{film // 2:08}_{film % 2:03}" for film in range(24)]  # 12 patients of two films


def findings(film: int) -> set[str]:
    """No finding, or two that name the film."""
    return {FINDINGS[film % 14], FINDINGS[(film + 5) % 14]} if film % 4 else set()


def write_films(root: Path, folder: str = "images", films: list[str] = FILMS) -> None:
    for film, pixels in zip(films, random_pixels(len(films), height=70, width=66), strict=True):
        write_png(root / folder / f"{film}.png", pixels)


def nih_list(root: Path) -> None:
    lines = ["Image Index,Finding Labels,Follow-up #,Patient ID"]
    for film, name in enumerate(FILMS):
        labels = "|".join(sorted(findings(film))) or "No Finding"
        lines.append(f"{name}.png,{labels},0,{film // 2}")
    (root / "Data_Entry_2017.csv").write_text("\n".join(lines) + "\n")


def flag_list(root: Path) -> None:
    """Columns in another order than NIH's."""
    names = sorted(FINDINGS)
    lines = [",".join(["image", *names])]
    for film, name in enumerate(FILMS):
        lines.append(",".join([f"{name}.png", *("01"[n in findings(film)] for n in names)]))
    (root / "labels.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    write_films(tmp_path / "films")
    return tmp_path / "films"


def opened(root: Path | None, *, seed: int = 0) -> SplitDataset:
    return load("chestxray14", root=root, split_seed=seed)


def patients(data: SplitDataset) -> list[set[str]]:
    parts = (data.train, data.val, data.test)
    return [{Path(name).stem[:8] for name in part.row_ids} for part in parts]


def test_a_film_is_decoded_once_for_all_epochs_of_a_training(root: Path) -> None:
    flag_list(root)
    data = load("chestxray14", root=root, split_seed=0, size=(64, 64), kept=True)
    assert keep_resized([(data.train, torch.arange(len(data.train)))])
    first = all_images(data.train)
    for film in root.rglob("*.png"):
        film.write_bytes(b"no longer a picture")
    np.testing.assert_array_equal(all_images(data.train), first)


@pytest.mark.parametrize("write_list", [nih_list, flag_list])
def test_each_film_has_its_pixels_and_findings(
    root: Path, write_list: Callable[[Path], None]
) -> None:
    write_list(root)
    data = opened(root)
    assert data.task is Task.MULTILABEL
    assert data.class_names == FINDINGS
    assert data.train.targets.dtype == torch.float32
    assert (data.channels, data.size, data.flip, data.pad) == (3, (70, 66), True, 0)
    assert data.mean == (0.485, 0.456, 0.406)
    assert isinstance(data.train, StreamedSplit)
    found = by_name(data)
    assert sorted(found) == [f"images/{name}.png" for name in FILMS]
    pixels = random_pixels(24, height=70, width=66)
    for film, name in enumerate(FILMS):
        image, target = found[f"images/{name}.png"]
        np.testing.assert_array_equal(image, pixels[film])
        assert {FINDINGS[k] for k in np.flatnonzero(target)} == findings(film)
    assert [notice.code for notice in data.notices] == ["IMAGENET_MOMENTS"]


def test_no_patient_is_in_two_parts_and_the_seed_deals_them(root: Path) -> None:
    nih_list(root)
    who = patients(opened(root))
    assert [len(part) for part in who] == [9, 1, 2]
    assert len(set.union(*who)) == 12
    assert patients(opened(root)) == who
    assert any(patients(opened(root, seed=seed)) != who for seed in (1, 2))


def test_the_official_test_list_is_kept(root: Path) -> None:
    nih_list(root)
    (root / "test_list.txt").write_text("".join(f"{name}.png\n" for name in FILMS[-6:]))
    who = patients(opened(root))
    assert who[2] == {name[:8] for name in FILMS[-6:]}
    assert [len(part) for part in who] == [8, 1, 3]
    (root / "test_list.txt").write_text(f"{FILMS[-1]}.png\n")
    with pytest.raises(Refused, match="Patient 00000011 has films inside and outside"):
        opened(root)


def test_digest_sees_one_finding(root: Path) -> None:
    nih_list(root)
    before = opened(root).digest
    assert opened(root, seed=1).digest == before
    path = root / "Data_Entry_2017.csv"
    path.write_text(path.read_text().replace("No Finding", "Hernia", 1))
    assert opened(root).digest != before


def test_films_in_the_numbered_folders_of_some_copies_are_found(tmp_path: Path) -> None:
    write_films(tmp_path, "images_001/images", FILMS[:10])
    write_films(tmp_path, "images_002/images", FILMS[10:])
    nih_list(tmp_path)
    names = {name for part in (opened(tmp_path),) for name in by_name(part)}
    assert "images_001/images/00000000_000.png" in names
    assert len(names) == 24


def test_films_without_a_row_and_rows_without_a_film_are_counted(root: Path) -> None:
    nih_list(root)
    for name in FILMS[:4]:
        (root / "images" / f"{name}.png").unlink()
    write_films(root, films=["00000099_000"])
    data = opened(root)
    assert sum(data.split.n.values()) == 20
    notice = data.notices[0]
    assert notice.code == "FILMS_MISSING"
    assert notice.text.startswith("4 of 24 films in the list have no picture, and 1 of 21 pictures")
    for name in FILMS[:4]:
        write_films(root, films=[name])
    text = opened(root).notices[0].text
    assert text.startswith("0 of 24 films in the list have no picture, and 1 of 25 pictures")


# Refused ----------------------------------------------------------------------------------------


def refusal(root: Path | None) -> Refused:
    with pytest.raises(Refused) as excinfo:
        opened(root)
    return excinfo.value


def test_what_is_missing_is_named(root: Path) -> None:
    assert refusal(None).code == "DATA_ROOT"
    assert "Data_Entry_2017.csv" in refusal(root).what
    nih_list(root)
    (root / "images").rename(root / "elsewhere")
    error = refusal(root)
    assert (error.code, "No film of 24" in error.what) == ("DATA_ROOT", True)
    assert "images_001/images" in error.remedy


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("Finding Labels", "Findings", "neither the columns"),
        ("No Finding", "Nothing", "no finding 'Nothing'"),
        ("00000003_001", "00000003_000", "film 00000003_000 is listed twice"),
        ("No Finding", '"No Finding', "it is not a table"),
    ],
)
def test_a_list_that_cannot_be_understood_is_refused(
    root: Path, old: str, new: str, what: str
) -> None:
    nih_list(root)
    path = root / "Data_Entry_2017.csv"
    path.write_text(path.read_text().replace(old, new))
    error = refusal(root)
    assert error.code == "LABEL_LIST"
    assert what in error.what
    assert "Data_Entry_2017.csv" in error.location


def test_a_flag_that_is_neither_0_nor_1_is_refused_with_its_line(root: Path) -> None:
    flag_list(root)
    lines = (root / "labels.csv").read_text().splitlines()
    for bad in (lines[3].replace(",1", ",2", 1), lines[3].rpartition(",")[0]):
        (root / "labels.csv").write_text("\n".join([*lines[:3], bad, *lines[4:]]))
        error = refusal(root)
        assert (error.code, error.location) == ("LABEL_LIST", "labels.csv, line 4")


def test_a_film_must_tell_its_patient_and_have_one_picture(root: Path) -> None:
    nih_list(root)
    write_films(root, "images", ["lateral"])
    path = root / "Data_Entry_2017.csv"
    path.write_text(path.read_text() + "lateral.png,No Finding,0,1\n")
    assert "does not contain the patient" in refusal(root).what
    (root / "images/00000000_000.png").with_suffix(".jpg").write_bytes(b"")
    assert "Two pictures are called 00000000_000" in refusal(root).what


# The real thing ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_real_films_are_read_as_listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if not REAL.exists():
        pytest.skip("needs the chest films of the shared folder (CANDOR_SHARED)")
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path))
    data = load("chestxray14", root=REAL, split_seed=0, size=(96, 80))
    who = patients(data)
    assert sum(data.split.n.values()) == 621
    assert sum(map(len, who)) == len(set.union(*who))
    header, *lines = (REAL / "labels.csv").read_text().split()
    assert header.split(",")[1:] == list(FINDINGS)
    listed = {line.split(".")[0]: line.split(",")[1:] for line in lines}
    for part in (data.train, data.val, data.test):
        for name, target in zip(part.row_ids, part.targets.int().tolist(), strict=True):
            assert [str(flag) for flag in target] == listed[Path(name).stem]
    (images,) = data.val.images([rows(0, 1, 2)], CPU)
    assert images.shape == (3, 3, 96, 80)
    assert torch.equal(images[:, 0], images[:, 2])  # grey
    assert images.float().std() > 30
