"""Images of an outside set that the data set holds, in memory and in files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from core.datasets.load import load
from core.datasets.outside import open_outside, overlap
from core.datasets.shifts import OutsideSet
from tests.core.datasets.test_outside import DIGITS, HOUSES, cifar, write_svhn
from tests.core.datasets.written import all_images, random_pixels, write_png


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))


def folder_of(root: Path, pixels: np.ndarray) -> OutsideSet:
    for row, image in enumerate(pixels):
        write_png(root / f"{row}.png", image)
    return OutsideSet("folder", str(root))


def test_images_that_the_data_set_holds_are_counted_once_each(tmp_path: Path) -> None:
    data = cifar()
    strange = np.random.default_rng(77).integers(0, 256, (4, 3, 32, 32), dtype=np.uint8)
    known = np.concatenate([all_images(data.train)[:2], all_images(data.val)[:1]])
    both = np.concatenate([strange, known, all_images(data.test)[3:5], known[:1]])
    wanted = folder_of(tmp_path / "set", both)
    assert overlap(data, open_outside(wanted, data, download=False).split) == 6
    assert (
        overlap(data, open_outside(folder_of(tmp_path / "b", strange), data, download=False).split)
        == 0
    )
    almost = known.copy()
    almost[:, 0, 0, 0] ^= 1
    assert (
        overlap(data, open_outside(folder_of(tmp_path / "c", almost), data, download=False).split)
        == 0
    )


def test_of_streamed_pictures_copies_of_files_are_found(tmp_path: Path) -> None:
    large = random_pixels(24, 3, 70, 70)
    for row, image in enumerate(large):
        write_png(tmp_path / "inside" / "ab"[row % 2] / f"{row}.png", image)
    data = load("folder", root=tmp_path / "inside", split_seed=0)
    copies = folder_of(tmp_path / "outside", np.concatenate([large[3:6], 255 - large[:2]]))
    assert overlap(data, open_outside(copies, data, download=False).split) == 3
    grey = replace(data, channels=1)  # shown as greys, from the same files
    assert overlap(grey, open_outside(copies, grey, download=False).split) == 3
    house = write_svhn(tmp_path / "t.mat", HOUSES.transpose(2, 3, 1, 0), DIGITS)
    assert overlap(data, open_outside(house, data, download=False).split) == 0


def test_streamed_files_are_compared_by_their_bytes_and_none_is_decoded(tmp_path: Path) -> None:
    """Files that no longer are pictures can be compared; they could not be decoded."""
    for row, image in enumerate(random_pixels(24, 3, 70, 70)):
        write_png(tmp_path / "inside" / "ab"[row % 2] / f"{row}.png", image)
    data = load("folder", root=tmp_path / "inside", split_seed=0)
    copies = folder_of(tmp_path / "outside", random_pixels(3, 3, 70, 70))
    outside = open_outside(copies, data, download=False).split
    for file in tmp_path.glob("inside/*/*.png"):
        file.write_bytes(b"%99d" % int(file.stem))
    for row, number in enumerate((5, 70, 23)):  # there is no 70
        (tmp_path / "outside" / f"{row}.png").write_bytes(b"%99d" % number)
    assert overlap(data, outside) == 2
    assert overlap(data, outside, torch.tensor([1, 2])) == 1
    (tmp_path / "outside" / "1.png").unlink()
    assert overlap(data, outside) == 2
