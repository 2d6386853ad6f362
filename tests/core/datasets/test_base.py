"""Images in memory: the ones asked for, in that order; moments of the train part; digits."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from core.datasets.assemble import DatasetRows, channel_moments, in_memory
from core.datasets.base import ResidentSplit, SplitDataset
from core.datasets.load import DRAWN, load
from core.datasets.splits import as_given
from core.predictions import Task
from core.xray.phantom import FINDINGS, draw
from tests.core.datasets.written import CPU, random_pixels, rows


@pytest.fixture(scope="module")
def digits() -> SplitDataset:
    return load("digits", root=None, split_seed=0)


def small(pixels: np.ndarray, labels: np.ndarray) -> SplitDataset:
    names = tuple(str(row) for row in range(len(pixels)))
    split = as_given(len(pixels) - 4, 2, 2, 0)
    return in_memory(
        DatasetRows(name="cifar10", labels=labels, class_names=("a", "b"), split=split),
        pixels,
        names,
    )


def test_images_come_in_the_order_asked() -> None:
    pixels = random_pixels(9)
    part = ResidentSplit(rows(*range(9)), tuple("abcdefghi"), torch.from_numpy(pixels))
    assert len(part) == 9
    batches = [rows(3, 1, 3), rows(8), rows(0, 7)]
    found = list(part.images(batches, CPU))
    assert [batch.shape[0] for batch in found] == [3, 1, 2]
    for batch, asked in zip(found, batches, strict=True):
        assert batch.dtype == torch.uint8
        np.testing.assert_array_equal(batch.numpy(), pixels[asked.numpy()])


def test_no_batches_give_no_images() -> None:
    part = ResidentSplit(rows(0), ("a",), torch.zeros(1, 1, 8, 8, dtype=torch.uint8))
    assert list(part.images([], CPU)) == []


def test_each_part_holds_its_own_rows(digits: SplitDataset) -> None:
    source = load_digits()
    seen = []
    for name, part in (("train", digits.train), ("val", digits.val), ("test", digits.test)):
        chosen = digits.split.rows[name]
        assert part.row_ids == tuple(str(row) for row in chosen)
        assert part.targets.dtype == torch.int64
        np.testing.assert_array_equal(part.targets.numpy(), source.target[chosen])
        (images,) = part.images([torch.arange(len(part))], CPU)
        # 0..16 levels of ink stand for black to white: an error of half a level of 255 at most
        np.testing.assert_allclose(
            images[:, 0].numpy() / 255, source.images[chosen] / 16, atol=0.5 / 255
        )
        seen += part.row_ids
    assert sorted(map(int, seen)) == list(range(1797))


def test_digits_are_what_the_catalogue_says(digits: SplitDataset) -> None:
    assert (len(digits.train), len(digits.val), len(digits.test)) == (997, 300, 500)
    assert digits.task is Task.MULTICLASS
    assert digits.class_names == tuple("0123456789")
    assert (digits.channels, digits.size) == (1, (8, 8))
    assert (digits.flip, digits.pad) == (False, 1)
    assert digits.notices == ()


def test_the_seed_of_the_split_changes_parts_and_not_the_data(digits: SplitDataset) -> None:
    other = load("digits", root=None, split_seed=1)
    again = load("digits", root=None, split_seed=0)
    assert other.digest == again.digest == digits.digest
    assert other.train.row_ids != digits.train.row_ids
    assert again.train.row_ids == digits.train.row_ids


def test_moments_by_hand() -> None:
    """Channel 0: 0, 255, 255, 255: mean 3/4, variance 3/16. Channel 1: always 51 of 255."""
    pixels = np.array([[[[0, 255]], [[51, 51]]], [[[255, 255]], [[51, 51]]]], np.uint8)
    mean, std = channel_moments(pixels)
    np.testing.assert_allclose(mean, [0.75, 0.2], rtol=1e-14)
    np.testing.assert_allclose(std, [np.sqrt(3) / 4, 1.0], rtol=1e-14)


def test_moments_are_numpys_over_many_chunks() -> None:
    pixels = random_pixels(3000, height=16, width=16)
    mean, std = channel_moments(pixels)
    scaled = pixels / 255
    np.testing.assert_allclose(mean, scaled.mean(axis=(0, 2, 3)), rtol=1e-12)
    np.testing.assert_allclose(std, scaled.std(axis=(0, 2, 3)), rtol=1e-12)


def test_moments_are_those_of_the_train_part_alone() -> None:
    pixels = random_pixels(12)
    changed = pixels.copy()
    changed[8:] = 255  # validation and test rows
    labels = np.arange(12) % 2
    one, two = small(pixels, labels), small(changed, labels)
    assert one.mean == two.mean
    assert one.std == two.std
    np.testing.assert_allclose(one.mean, pixels[:8].mean(axis=(0, 2, 3)) / 255, rtol=1e-12)


def test_digest_sees_one_pixel_and_one_label() -> None:
    pixels, labels = random_pixels(12), np.arange(12) % 2
    digests = {small(pixels, labels).digest, small(pixels.copy(), labels.copy()).digest}
    assert len(digests) == 1
    pixels[11, 2, 7, 5] ^= 1
    digests.add(small(pixels, labels).digest)
    labels[11] ^= 1
    digests.add(small(pixels, labels).digest)
    assert len(digests) == 3


def test_shift_is_an_eighth_of_the_shorter_side() -> None:
    data = small(random_pixels(12, height=32, width=40), np.arange(12) % 2)
    assert (data.size, data.pad, data.flip) == ((32, 40), 4, True)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_step_on_a_gpu_does_not_wait_for_the_host() -> None:
    device = torch.device("cuda")
    pixels = random_pixels(64)
    part = ResidentSplit(rows(*range(64)), tuple(map(str, range(64))), torch.from_numpy(pixels))
    batches = [rows(3, 1), rows(63), rows(0, 5, 9)]
    stream = part.images(batches, device)
    found = [next(stream)]
    torch.cuda.set_sync_debug_mode("error")
    try:
        found += list(stream)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    for batch, asked in zip(found, batches, strict=True):
        assert batch.device.type == "cuda"
        np.testing.assert_array_equal(batch.cpu().numpy(), pixels[asked.numpy()])


@pytest.mark.parametrize("sparing", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_phantom_films_are_those_of_their_numbers_also_where_few_are_drawn(sparing: bool) -> None:
    data = load("phantom", root=None, split_seed=0, sparing=sparing)
    assert [len(part) for part in (data.train, data.val, data.test)] == [4_000, 1_000, 2_000]
    assert data.digest == DRAWN
    for part in (data.train, data.test):
        (images,) = part.images([rows(5, 0)], CPU)
        for row, image in zip((5, 0), images.numpy(), strict=True):
            film = draw(0, int(part.row_ids[row]))
            np.testing.assert_array_equal(image, film.pixels[None])
            assert part.targets[row].tolist() == [film.present[name] for name in FINDINGS]
