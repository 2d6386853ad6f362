"""Outside sets from small files of the published layouts, and what is refused of them."""

import io
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.io import savemat
from torchvision.datasets import SVHN

from core.datasets.assemble import DatasetRows, in_memory
from core.datasets.base import SplitDataset
from core.datasets.corruptions import corrupt
from core.datasets.load import load
from core.datasets.outside import CIFAR10_CLASSES, ChangedSplit, open_outside
from core.datasets.pictures import Scaling
from core.datasets.shifts import OutsideSet
from core.datasets.splits import as_given
from core.errors import Refused
from tests.core.datasets.written import CPU, all_images, random_pixels, rows, write_png

N = 12  # images of each severity in the small CIFAR-10-C
LABELS = np.arange(N) * 7 % 10


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))


def cifar(
    n_test: int = N, side: int = 32, channels: int = 3, name: str = "cifar10"
) -> SplitDataset:
    """A data set of CIFAR-10's classes: 20 + 5 + `n_test` rows, labels as `LABELS` in test."""
    pixels = random_pixels(25 + n_test, channels, side, side)
    labels = np.concatenate([np.arange(25) % 10, np.resize(LABELS, n_test)])
    split = as_given(20, 5, n_test, 0)
    names = [str(row) for row in range(len(pixels))]
    return in_memory(
        DatasetRows(
            name=name, labels=labels.astype(np.int64), class_names=CIFAR10_CLASSES, split=split
        ),
        pixels,
        names,
    )


def shifted(rows_each: int = N) -> np.ndarray:
    return np.random.default_rng(8).integers(0, 256, (5 * rows_each, 32, 32, 3), dtype=np.uint8)


def write_cifar10c(root: Path, images: np.ndarray, labels: np.ndarray) -> OutsideSet:
    np.save(root / "fog.npy", images)
    np.save(root / "labels.npy", labels)
    return OutsideSet("cifar10c", str(root), "fog", 4)


def refusal(wanted: OutsideSet, data: SplitDataset) -> Refused:
    with pytest.raises(Refused) as error:
        open_outside(wanted, data, download=False)
    assert error.value.what
    assert error.value.remedy
    return error.value


# CIFAR-10-C -------------------------------------------------------------------------------------


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_each_severity_is_its_fifth_of_the_file(tmp_path: Path, severity: int, dtype: type) -> None:
    images = shifted()
    wanted = write_cifar10c(tmp_path, images, np.tile(LABELS, 5).astype(dtype))
    opened = open_outside(replace(wanted, severity=severity), cifar(), download=False)
    expected = images[N * (severity - 1) :][:N].transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(all_images(opened.split), expected)
    np.testing.assert_array_equal(opened.split.targets, LABELS)
    assert (opened.labelled, opened.class_names, opened.notices) == (True, CIFAR10_CLASSES, ())
    assert opened.split.row_ids == tuple(str(k) for k in range(N))


def test_digests_tell_severities_and_labels_apart(tmp_path: Path) -> None:
    data = cifar(name="folder")
    wanted = write_cifar10c(tmp_path, shifted(), np.tile(LABELS, 5))
    first = open_outside(wanted, data, download=False).digest
    assert open_outside(wanted, data, download=False).digest == first
    assert open_outside(replace(wanted, severity=1), data, download=False).digest != first
    write_cifar10c(tmp_path, shifted(), np.tile(LABELS[::-1], 5))
    assert open_outside(wanted, data, download=False).digest != first


def test_a_file_in_columns_first_order_is_read_as_it_is_meant(tmp_path: Path) -> None:
    images = shifted()
    wanted = write_cifar10c(tmp_path, np.asfortranarray(images), np.tile(LABELS, 5))
    opened = open_outside(wanted, cifar(), download=False)
    np.testing.assert_array_equal(
        all_images(opened.split), images[3 * N : 4 * N].transpose(0, 3, 1, 2)
    )


@pytest.mark.parametrize(
    "images",
    [
        shifted()[:-1],  # not five equal parts
        shifted()[..., 0],
        shifted()[..., :2],
        shifted()[:, :16],
        shifted().transpose(0, 3, 1, 2),
        shifted().astype(np.float32),
        shifted().astype(np.int8),
        shifted()[:0],
        np.uint8(3),
    ],
    ids=lambda images: f"{images.shape} {images.dtype}",
)
def test_images_of_another_shape_or_type_are_refused(tmp_path: Path, images: np.ndarray) -> None:
    wanted = write_cifar10c(tmp_path, images, np.tile(LABELS, 5))
    error = refusal(wanted, cifar())
    assert (error.code, error.location) == ("ARRAY_FILE", "fog.npy")
    assert str(images.dtype) in error.what


@pytest.mark.parametrize(
    ("labels", "code"),
    [
        (np.tile(LABELS, 4), "ARRAY_FILE"),
        (np.tile(LABELS, 5)[:, None], "ARRAY_FILE"),
        (np.tile(LABELS, 5).astype(float), "ARRAY_FILE"),
        (np.tile(LABELS, 5) + 1, "LABELS_DIFFER"),
        (np.tile(LABELS, 5) - 1, "LABELS_DIFFER"),
        (np.repeat(LABELS, 5), "LABELS_DIFFER"),  # five of each image, not five times all
        (np.tile(LABELS[::-1], 5), "LABELS_DIFFER"),  # not those of the test part
    ],
)
def test_labels_that_do_not_fit_are_refused(tmp_path: Path, labels: np.ndarray, code: str) -> None:
    error = refusal(write_cifar10c(tmp_path, shifted(), labels), cifar())
    assert (error.code, error.location) == (code, "labels.npy")


def test_labels_of_a_folder_of_cifar10_may_have_another_order(tmp_path: Path) -> None:
    wanted = write_cifar10c(tmp_path, shifted(), np.tile(LABELS[::-1], 5))
    opened = open_outside(wanted, cifar(n_test=7, name="folder"), download=False)
    np.testing.assert_array_equal(opened.split.targets, LABELS[::-1])


def test_labels_that_are_not_the_same_five_times_are_refused(tmp_path: Path) -> None:
    wanted = write_cifar10c(tmp_path, shifted(), np.repeat(LABELS, 5))
    assert refusal(wanted, cifar(name="folder")).code == "LABELS_DIFFER"


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[object, ...]]:
            return (tmp_path / "sprung").touch, ()

    wanted = write_cifar10c(tmp_path, shifted(), np.tile(LABELS, 5))
    np.save(tmp_path / "fog.npy", np.array([Trap()] * 5, dtype=object))
    assert refusal(wanted, cifar()).code == "ARRAY_FILE"
    assert not (tmp_path / "sprung").exists()


def test_files_that_are_missing_or_cut_short_are_refused(tmp_path: Path) -> None:
    wanted = write_cifar10c(tmp_path, shifted(), np.tile(LABELS, 5))
    whole = (tmp_path / "fog.npy").read_bytes()
    for cut in (b"", whole[:40], whole[:5000], b"not an array" * 99):
        (tmp_path / "fog.npy").write_bytes(cut)
        assert refusal(wanted, cifar()).code == "ARRAY_FILE"
    for save in (np.savez, np.savez_compressed):  # an archive of arrays by an array's name
        with (tmp_path / "fog.npy").open("wb") as opened:
            save(opened, shifted())
        assert refusal(wanted, cifar()).code == "ARRAY_FILE"
    (tmp_path / "fog.npy").unlink()
    assert "fog.npy" in refusal(wanted, cifar()).what
    assert refusal(replace(wanted, root=None), cifar()).code == "DATA_ROOT"
    assert refusal(replace(wanted, root=str(tmp_path / "gone")), cifar()).code == "DATA_ROOT"


def test_only_a_model_of_cifar10_is_shown_cifar10c(tmp_path: Path) -> None:
    wanted = write_cifar10c(tmp_path, shifted(), np.tile(LABELS, 5))
    digits = load("digits", root=None, split_seed=0)
    assert refusal(wanted, digits).code == "CLASSES"
    swapped = replace(cifar(), class_names=CIFAR10_CLASSES[::-1])
    assert refusal(wanted, swapped).code == "CLASSES"


# Corrupted by Candor ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gaussian_noise", "contrast", "jpeg_compression"])
def test_the_test_part_is_corrupted_as_it_is_read(name: str) -> None:
    data = cifar()
    opened = open_outside(
        OutsideSet(kind="corrupted", root=None, corruption=name, severity=3, seed=9),
        data,
        download=False,
    )
    expected = corrupt(all_images(data.test), name, 3, seed=9, rows=np.arange(N))
    np.testing.assert_array_equal(all_images(opened.split), expected)
    assert not np.array_equal(expected, all_images(data.test))
    assert torch.equal(opened.split.targets, data.test.targets)
    assert opened.split.row_ids == data.test.row_ids
    assert (opened.labelled, opened.class_names) == (True, CIFAR10_CLASSES)


def test_any_order_of_rows_gives_each_the_same_image() -> None:
    wanted = OutsideSet(kind="corrupted", root=None, corruption="impulse_noise", severity=5, seed=1)
    part = open_outside(wanted, cifar(), download=False).split
    straight = all_images(part)
    mixed = [rows(7, 0, 7), rows(3), rows(11, 2)]
    found = np.concatenate([batch.numpy() for batch in part.images(mixed, CPU)])
    np.testing.assert_array_equal(found, straight[[7, 0, 7, 3, 11, 2]])


def test_batches_are_changed_by_threads_at_once_and_come_in_their_order() -> None:
    both, threads = Barrier(2), torch.get_num_threads()

    def change(images: np.ndarray, _rows: np.ndarray) -> np.ndarray:
        both.wait(60)  # until another batch is being changed, too
        return 255 - images

    data = cifar()
    part = ChangedSplit(data.test.targets, data.test.row_ids, data.test, change)
    torch.set_num_threads(2)
    try:
        batches = [rows(7, 0), rows(3), rows(11, 2), rows(5)]
        found = np.concatenate([batch.numpy() for batch in part.images(batches, CPU)])
    finally:
        torch.set_num_threads(threads)
    np.testing.assert_array_equal(found, 255 - all_images(data.test)[[7, 0, 3, 11, 2, 5]])


def test_digests_tell_corruption_severity_seed_and_split_apart() -> None:
    first = OutsideSet(kind="corrupted", root=None, corruption="fog", severity=3, seed=1)
    other = [replace(first, corruption="snow"), replace(first, severity=2), replace(first, seed=2)]
    found = {open_outside(one, cifar(), download=False).digest for one in (first, *other)}
    found.add(open_outside(first, cifar(n_test=11), download=False).digest)
    assert len(found) == 5


def test_images_too_small_to_be_corrupted_are_refused() -> None:
    part = open_outside(
        OutsideSet("corrupted", None, "fog", 1), cifar(side=7), download=False
    ).split
    with pytest.raises(Refused) as error:
        all_images(part)
    assert error.value.code == "IMAGE_SIZE"


# SVHN -------------------------------------------------------------------------------------------


def write_svhn(path: Path, pixels: np.ndarray, labels: np.ndarray) -> OutsideSet:
    savemat(path, {"X": pixels, "y": labels})
    return OutsideSet("svhn", str(path))


HOUSES = random_pixels(6, 3, 32, 32)
DIGITS = np.array([[10], [1], [2], [3], [9], [10]], np.uint8)


@pytest.mark.parametrize("by_folder", [True, False])
def test_svhn_is_read_from_its_mat(tmp_path: Path, by_folder: bool) -> None:
    wanted = write_svhn(tmp_path / "test_32x32.mat", HOUSES.transpose(2, 3, 1, 0), DIGITS)
    if by_folder:
        wanted = OutsideSet("svhn", str(tmp_path))
    opened = open_outside(wanted, cifar(), download=False)
    np.testing.assert_array_equal(all_images(opened.split), HOUSES)
    assert opened.split.targets.tolist() == [-1] * 6
    assert (opened.labelled, opened.class_names, opened.notices) == (False, (), ())


@pytest.mark.parametrize(
    ("pixels", "labels", "code"),
    [
        (HOUSES, DIGITS, "ARRAY_FILE"),
        (HOUSES.transpose(2, 3, 1, 0).astype(float), DIGITS, "ARRAY_FILE"),
        (HOUSES.transpose(2, 3, 1, 0)[:, :, :1], DIGITS, "ARRAY_FILE"),
        (HOUSES.transpose(2, 3, 1, 0)[:16], DIGITS, "ARRAY_FILE"),
        (HOUSES.transpose(2, 3, 1, 0), DIGITS[1:], "ARRAY_FILE"),
        (HOUSES.transpose(2, 3, 1, 0), DIGITS + 1, "LABELS_DIFFER"),
    ],
)
def test_an_svhn_of_another_form_is_refused(
    tmp_path: Path, pixels: np.ndarray, labels: np.ndarray, code: str
) -> None:
    assert refusal(write_svhn(tmp_path / "t.mat", pixels, labels), cifar()).code == code


def test_an_svhn_that_is_missing_damaged_or_other_is_refused(tmp_path: Path) -> None:
    assert refusal(OutsideSet("svhn", str(tmp_path)), cifar()).code == "DATA_ROOT"
    assert refusal(OutsideSet("svhn", str(tmp_path / "no.mat")), cifar()).code == "DATA_ROOT"
    assert refusal(OutsideSet("svhn"), cifar()).code == "DATA_ROOT"
    path = tmp_path / "t.mat"
    savemat(path, {"Z": HOUSES})
    assert refusal(OutsideSet("svhn", str(path)), cifar()).code == "ARRAY_FILE"
    good = io.BytesIO()
    savemat(good, {"X": HOUSES.transpose(2, 3, 1, 0), "y": DIGITS}, do_compression=True)
    for content in (b"", b"x" * 300, good.getvalue()[:200], good.getvalue()[:9000]):
        path.write_bytes(content)
        assert refusal(OutsideSet("svhn", str(path)), cifar()).code == "ARRAY_FILE"


def never(*_: object, **__: object) -> None:
    pytest.fail("it was unpacked")


@pytest.mark.parametrize(
    "changed",
    [
        {"X": np.zeros(3_000_000, np.uint8)},
        {"X": np.zeros((32, 32, 3, 6))},
        {"y": np.zeros(3_000_000, np.uint8)},
        {"y": np.full(6, "text", object)},
    ],
)
def test_an_svhn_that_claims_another_form_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, np.ndarray]
) -> None:
    monkeypatch.setattr("core.datasets.outside.loadmat", never)
    path = tmp_path / "t.mat"
    good = {"X": HOUSES.transpose(2, 3, 1, 0), "y": DIGITS}
    savemat(path, good | changed, do_compression=True)
    assert refusal(OutsideSet("svhn", str(path)), cifar()).code == "ARRAY_FILE"


def test_an_svhn_that_claims_more_than_a_million_images_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.datasets.outside.loadmat", never)
    path = tmp_path / "t.mat"
    savemat(path, {"X": HOUSES.transpose(2, 3, 1, 0), "y": DIGITS})
    written = path.read_bytes()
    for before, after in (((32, 32, 3, 6), (32, 32, 3, 1_000_001)), ((6, 1), (1_000_001, 1))):
        as_bytes = [np.array(shape, "<i4").tobytes() for shape in (before, after)]
        assert written.count(as_bytes[0]) == 1
        written = written.replace(*as_bytes)
    path.write_bytes(written)
    assert refusal(OutsideSet("svhn", str(path)), cifar()).code == "ARRAY_FILE"


def test_svhn_of_torchvision_lies_in_the_run_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import hashlib

    folder = tmp_path / "home" / "data"
    folder.mkdir(parents=True)
    write_svhn(folder / "test_32x32.mat", HOUSES.transpose(2, 3, 1, 0), DIGITS)
    digest = hashlib.md5((folder / "test_32x32.mat").read_bytes()).hexdigest()
    known = dict(SVHN.split_list)
    known["test"] = [known["test"][0], "test_32x32.mat", digest]
    monkeypatch.setattr(SVHN, "split_list", known)
    opened = open_outside(OutsideSet("svhn"), cifar(), download=False)
    np.testing.assert_array_equal(all_images(opened.split), HOUSES)
    known["test"][2] = "0" * 32
    assert refusal(OutsideSet("svhn"), cifar()).code == "DATA_ROOT"


def test_images_are_fitted_to_a_smaller_grey_model_and_that_is_said(tmp_path: Path) -> None:
    flat = np.empty((3, 3, 32, 32), np.uint8)
    flat[:] = np.array([[255, 0, 0], [0, 255, 0], [30, 60, 90]], np.uint8)[:, :, None, None]
    wanted = write_svhn(tmp_path / "t.mat", flat.transpose(2, 3, 1, 0), DIGITS[:3])
    opened = open_outside(wanted, load("digits", root=None, split_seed=0), download=False)
    images = all_images(opened.split)
    assert images.shape == (3, 1, 8, 8)
    # 0.299 and 0.587 of 255, and 8.97 + 35.22 + 10.26
    np.testing.assert_array_equal(
        images, np.broadcast_to([[[[76]]], [[[150]]], [[[54]]]], images.shape)
    )
    assert [notice.code for notice in opened.notices] == ["OUTSIDE_FITTED"] * 2


# Folders ----------------------------------------------------------------------------------------


def test_a_folder_nested_or_not_is_taken_whole_and_unlabelled(tmp_path: Path) -> None:
    pixels = random_pixels(3, 3, 32, 32)
    for name, image in zip(("b.png", "a/x.png", "a/y/z.PNG"), pixels, strict=True):
        write_png(tmp_path / "set" / name, image)
    (tmp_path / "set" / "notes.txt").write_text("no picture")
    opened = open_outside(OutsideSet("folder", str(tmp_path / "set")), cifar(), download=False)
    assert opened.split.row_ids == ("a/x.png", "a/y/z.PNG", "b.png")
    np.testing.assert_array_equal(all_images(opened.split), pixels[[1, 2, 0]])
    assert opened.split.targets.tolist() == [-1] * 3
    assert (opened.labelled, opened.class_names) == (False, ())
    assert [notice.code for notice in opened.notices] == ["FILES_SKIPPED"]


def test_pictures_of_a_folder_come_in_the_size_and_channels_of_the_model(tmp_path: Path) -> None:
    colour = np.full((3, 40, 20), 100, np.uint8)
    write_png(tmp_path / "set" / "one.png", colour)
    Image.fromarray(np.full((9, 9), 7, np.uint8)).save(tmp_path / "set" / "two.png")
    wanted = OutsideSet("folder", str(tmp_path / "set"))
    opened = open_outside(wanted, cifar(side=16, channels=1), download=False)
    images = all_images(opened.split)
    assert images.shape == (2, 1, 16, 16)
    assert np.unique(images[0]).tolist() == [100]
    assert np.unique(images[1]).tolist() == [7]


def test_pictures_are_cut_as_those_of_the_model_are(tmp_path: Path) -> None:
    """Where its own are scaled until they cover the size, the sides of a wide one fall away."""
    for row, image in enumerate(random_pixels(24, 3, 70, 70)):
        write_png(tmp_path / "inside" / "ab"[row % 2] / f"{row}.png", image)
    wide = np.zeros((3, 40, 120), np.uint8)
    wide[:, :, 40:80] = 200
    write_png(tmp_path / "set" / "wide.png", wide)
    wanted = OutsideSet("folder", str(tmp_path / "set"))
    for cover in (True, False):
        data = load("folder", root=tmp_path / "inside", split_seed=0, scaling=Scaling(cover=cover))
        (image,) = all_images(open_outside(wanted, data, download=False).split)
        assert image.shape == (3, 70, 70)
        assert (image[:, :, 0].min() > 100) == cover


def test_folders_that_hold_nothing_to_show_are_refused(tmp_path: Path) -> None:
    assert refusal(OutsideSet("folder", str(tmp_path / "gone")), cifar()).code == "DATA_ROOT"
    (tmp_path / "set").mkdir()
    assert refusal(OutsideSet("folder", str(tmp_path / "set")), cifar()).code == "EMPTY"
    (tmp_path / "set" / "x.png").write_bytes(b"no picture")
    opened = open_outside(OutsideSet("folder", str(tmp_path / "set")), cifar(), download=False)
    with pytest.raises(Refused, match="FORMAT_UNKNOWN"):
        all_images(opened.split)
