"""Tiny-ImageNet's own layout: wnids, annotations, words; the official validation part tests."""

from pathlib import Path

import numpy as np
import pytest

from core.datasets.load import load
from core.errors import Refused
from tests.core.datasets.written import by_name, random_pixels, write_png

WORDS = {"n01": "crane, bird", "n02": "crane", "n03": "Egyptian cat"}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twenty training pictures in each of three classes, and six annotated ones."""
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    root = tmp_path / "tiny"
    pixels = iter(random_pixels(66, height=64, width=64))
    for wnid in WORDS:
        for row in range(20):
            write_png(root / f"train/{wnid}/images/{wnid}_{row}.png", next(pixels))
        (root / f"train/{wnid}/{wnid}_boxes.txt").write_text("")
    lines = []
    for row in range(6):
        write_png(root / f"val/images/val_{row}.png", next(pixels))
        lines.append(f"val_{row}.png\tn0{row % 3 + 1}\t0\t0\t63\t63\n")
    (root / "val/val_annotations.txt").write_text("".join(lines))
    others = "n99\tanother of WordNet\n"
    (root / "words.txt").write_text(others + "".join(f"{k}\t{v}\n" for k, v in WORDS.items()))
    (root / "test/images").mkdir(parents=True)  # without labels, and not used
    return root


def opened(root: Path | None) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return by_name(load("tiny_imagenet", root=root, split_seed=0))


def test_classes_pixels_and_parts(root: Path) -> None:
    data = load("tiny_imagenet", root=root, split_seed=0)
    assert data.class_names == ("crane (n01)", "crane (n02)", "Egyptian cat")
    assert data.split.n == {"train": 54, "val": 6, "test": 6}
    assert (data.size, data.pad, data.notices) == ((64, 64), 4, ())
    assert data.test.row_ids == tuple(f"val/images/val_{row}.png" for row in range(6))
    assert data.test.targets.tolist() == [0, 1, 2, 0, 1, 2]
    found = by_name(data)
    pixels = random_pixels(66, height=64, width=64)
    np.testing.assert_array_equal(found["train/n02/images/n02_3.png"][0], pixels[23])
    np.testing.assert_array_equal(found["val/images/val_5.png"][0], pixels[65])
    assert all(
        target == int(name.split("/")[1][-1]) - 1
        for name, (_, target) in found.items()
        if name.startswith("train")
    )


@pytest.mark.parametrize("missing", ["words.txt", "val/val_annotations.txt"])
def test_a_missing_list_is_named(root: Path, missing: str) -> None:
    (root / missing).unlink()
    with pytest.raises(Refused, match=f"no file {missing}") as excinfo:
        opened(root)
    assert excinfo.value.code == "DATA_ROOT"
    assert "train/WNID/images" in excinfo.value.remedy


def test_pictures_and_annotations_must_agree(root: Path) -> None:
    (root / "val/images/val_5.png").rename(root / "val/images/val_7.png")
    with pytest.raises(Refused, match=r"gives val/images/val_7\.png no class"):
        opened(root)
    (root / "val/images/val_7.png").unlink()
    with pytest.raises(Refused, match=r"1 pictures of val/val_annotations\.txt are missing"):
        opened(root)


def test_a_folder_that_is_not_there_or_no_tiny_imagenet(root: Path) -> None:
    (root / "train").rename(root / "elsewhere")
    for wrong in (root, root / "typo", None):
        with pytest.raises(Refused) as excinfo:
            opened(wrong)
        assert excinfo.value.code == "DATA_ROOT"
