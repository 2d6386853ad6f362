"""Shifts, mirrors, scaling and resizing of images against loops over pixels and by hand."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from torchvision.transforms import RandomResizedCrop

from core.training.images import AREA, RATIO, Augmentation, Normalise, RandomCrops

CPU = torch.device("cpu")


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pictures(n: int, channels: int, height: int, width: int, seed: int = 0) -> torch.Tensor:
    draw = np.random.default_rng(seed)
    return torch.from_numpy(draw.integers(1, 256, (n, channels, height, width), dtype=np.uint8))


def slowly(images: torch.Tensor, draws: Augmentation) -> torch.Tensor:
    """Pixel by pixel: cut a window out of the padded image, then mirror what was cut."""
    n, channels, height, width = images.shape
    out = torch.zeros_like(images)
    for i in range(n):
        down, right = (int(one) - draws.pad for one in draws.shift[i])
        for y in range(height):
            for x in range(width):
                column = width - 1 - x if draws.mirrored[i] else x
                from_y, from_x = y + down, column + right
                if 0 <= from_y < height and 0 <= from_x < width:
                    for c in range(channels):
                        out[i, c, y, x] = images[i, c, from_y, from_x]
    return out


# Draws ------------------------------------------------------------------------------------------


@given(
    n=st.integers(1, 5),
    channels=st.integers(1, 3),
    height=st.integers(1, 6),
    width=st.integers(1, 6),
    pad=st.integers(0, 4),
    flip=st.booleans(),
    seed=st.integers(0, 999),
)
def test_images_are_cut_and_mirrored_as_a_loop_over_pixels_does(
    n, channels, height, width, pad, flip, seed
):
    images = pictures(n, channels, height, width, seed)
    draws = Augmentation.of(n, pad=pad, flip=flip, generator=generator(seed))
    found = draws.apply(images)
    assert found.dtype == torch.uint8
    assert torch.equal(found, slowly(images, draws))


def test_a_shift_and_a_mirror_by_hand():
    image = torch.tensor([[[[1, 2, 3], [4, 5, 6]]]], dtype=torch.uint8)

    def moved(down: int, right: int, *, mirrored: bool) -> list[list[int]]:
        shift = torch.tensor([[down, right]])
        return Augmentation(shift, torch.tensor([mirrored]), 1).apply(image)[0, 0].tolist()

    assert moved(1, 1, mirrored=False) == [[1, 2, 3], [4, 5, 6]]
    assert moved(1, 1, mirrored=True) == [[3, 2, 1], [6, 5, 4]]
    assert moved(2, 1, mirrored=False) == [[4, 5, 6], [0, 0, 0]]
    assert moved(0, 2, mirrored=False) == [[0, 0, 0], [2, 3, 0]]
    assert moved(0, 2, mirrored=True) == [[0, 0, 0], [0, 3, 2]]


def test_every_shift_is_drawn_about_equally_often_and_half_the_images_are_mirrored():
    n, pad = 40_000, 2
    draws = Augmentation.of(n, pad=pad, flip=True, generator=generator(0))
    assert draws.shift.dtype == torch.int64
    for axis in (0, 1):
        counts = torch.bincount(draws.shift[:, axis], minlength=5)
        assert len(counts) == 5
        assert ((counts - n / 5).abs() < 5 * (n * 0.2 * 0.8) ** 0.5).all()
    both = torch.bincount(5 * draws.shift[:, 0] + draws.shift[:, 1], minlength=25)
    assert ((both - n / 25).abs() < 5 * (n / 25) ** 0.5).all()
    mirrored = draws.mirrored.sum()
    assert abs(mirrored - n / 2) < 5 * n**0.5 / 2
    moved = draws.shift[draws.mirrored].float().mean(dim=0)
    assert ((moved - pad).abs() < 5 * (2 / (n / 2)) ** 0.5).all()


def test_without_padding_and_mirroring_images_stay_as_they_are():
    images = pictures(7, 3, 5, 4)
    draws = Augmentation.of(7, pad=0, flip=False, generator=generator(3))
    assert not draws.mirrored.any()
    assert torch.equal(draws.apply(images), images)


def test_without_mirroring_images_only_move():
    draws = Augmentation.of(500, pad=3, flip=False, generator=generator(1))
    assert draws.mirrored.dtype == torch.bool
    assert not draws.mirrored.any()


def test_the_same_generator_draws_the_same_and_another_does_not():
    first, again, other = (
        Augmentation.of(50, pad=4, flip=True, generator=generator(seed)) for seed in (5, 5, 6)
    )
    assert torch.equal(first.shift, again.shift)
    assert torch.equal(first.mirrored, again.mirrored)
    assert not torch.equal(first.shift, other.shift)
    assert not torch.equal(first.mirrored, other.mirrored)


def test_an_image_is_drawn_alike_in_whatever_batch_it_comes():
    images = pictures(20, 2, 6, 6)
    draws = Augmentation.of(20, pad=2, flip=True, generator=generator(9)).to(CPU)
    whole = draws.apply(images)
    rows = torch.tensor([13, 2, 2, 19])
    assert torch.equal(draws.take(rows).apply(images[rows]), whole[rows])


def test_drawing_leaves_the_images_and_the_global_generator_alone():
    images, before = pictures(4, 1, 3, 3), torch.get_rng_state()
    copy = images.clone()
    Augmentation.of(4, pad=1, flip=True, generator=generator(0)).apply(images)
    assert torch.equal(images, copy)
    assert torch.equal(torch.get_rng_state(), before)


# Normalise --------------------------------------------------------------------------------------

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)


def in_float64(images: torch.Tensor) -> np.ndarray:
    column = (1, -1, 1, 1)
    mean, std = np.reshape(MEAN, column), np.reshape(STD, column)
    return (images.numpy().astype(np.float64) / 255 - mean) / std


def test_pixels_are_scaled_as_in_float64():
    images = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16).repeat(2, 3, 1, 1)
    found = Normalise(MEAN, STD, (16, 16), CPU)(images)
    assert found.dtype == torch.float32
    assert found.is_contiguous(memory_format=torch.channels_last)
    np.testing.assert_allclose(found.numpy(), in_float64(images), rtol=0, atol=1e-6)


def test_scaled_by_their_own_mean_and_deviation_images_have_0_and_1():
    images = pictures(30, 3, 8, 8)
    shares = images.numpy() / 255
    mean, std = shares.mean(axis=(0, 2, 3)), shares.std(axis=(0, 2, 3))
    found = Normalise(mean.tolist(), std.tolist(), (8, 8), CPU)(images).double()
    assert found.mean(dim=(0, 2, 3)).abs().max() < 1e-6
    assert (found.std(dim=(0, 2, 3), correction=0) - 1).abs().max() < 1e-6


def plain(size: tuple[int, int], row: list[int]) -> list[float]:
    """A row of grey pixels, resized, in 0..255."""
    image = torch.tensor(row, dtype=torch.uint8).view(1, 1, 1, -1)
    found = Normalise((0.0,), (1.0,), size, CPU)(image)
    assert found.shape == (1, 1, *size)
    return [255 * value for value in found.flatten().tolist()]


def test_rows_are_resized_by_hand():
    """Pixels are areas; halved, each result weighs four pixels 1, 3, 3, 1, fewer at the ends."""
    assert plain((1, 4), [0, 80]) == pytest.approx([0, 20, 60, 80], abs=1e-3)
    assert plain((1, 2), [10, 20, 30, 40]) == pytest.approx(
        [(3 * 10 + 3 * 20 + 30) / 7, (20 + 3 * 30 + 3 * 40) / 7], abs=1e-3
    )
    middle = plain((1, 4), [0, 0, 0, 80, 160, 240, 0, 0])[1]
    assert middle == pytest.approx((0 + 0 + 3 * 80 + 160) / 8, abs=1e-3)


@pytest.mark.parametrize("size", [(8, 8), (5, 9), (31, 17), (64, 48), (24, 12)])
def test_resizing_agrees_with_another_library(size):
    images = pictures(2, 3, 24, 20, seed=1)
    found = Normalise(MEAN, STD, size, CPU)(images)
    assert found.shape == (2, 3, *size)
    assert found.is_contiguous(memory_format=torch.channels_last)
    scaled = in_float64(images).astype(np.float32)
    for i in range(2):
        for c in range(3):
            picture = Image.fromarray(scaled[i, c]).resize(
                (size[1], size[0]), Image.Resampling.BILINEAR
            )
            np.testing.assert_allclose(found[i, c].numpy(), np.asarray(picture), atol=2e-5)


def test_an_even_grey_stays_even_at_any_size():
    image = torch.full((1, 3, 9, 7), 128, dtype=torch.uint8)
    wanted = in_float64(image)[0, :, 0, 0]
    for size in ((9, 7), (4, 4), (33, 21)):
        found = Normalise(MEAN, STD, size, CPU)(image)[0].flatten(1).numpy()
        np.testing.assert_allclose(found, np.repeat(wanted[:, None], found.shape[1], 1), atol=2e-6)


# Random parts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_part_of_the_shown_size_is_cut_out_as_it_is(mirrored):
    images = pictures(2, 3, 8, 8)
    sides, centres = torch.tensor([[0.5, 0.25]] * 2), torch.tensor([[0.5, 0.375]] * 2)
    draws = RandomCrops(sides, centres, torch.tensor([mirrored] * 2), (2, 4))
    cut = images[:, :, 2:4, 2:6].float()  # rows 0.25 to 0.5, columns 0.25 to 0.75
    torch.testing.assert_close(draws.apply(images), cut.flip(-1) if mirrored else cut)


def test_a_smaller_part_is_enlarged_bilinearly():
    images = pictures(1, 1, 8, 8)
    draws = RandomCrops(
        torch.full((1, 2), 0.5), torch.full((1, 2), 0.5), torch.zeros(1) > 0, (7, 7)
    )
    part = Image.fromarray(images[0, 0].numpy()).resize(
        (7, 7), Image.Resampling.BILINEAR, box=(2, 2, 6, 6)
    )
    inner = (slice(1, 6), slice(1, 6))  # Pillow takes other edges, and rounds twice
    found = draws.apply(images)[0, 0]
    np.testing.assert_allclose(found[inner], np.asarray(part, float)[inner], atol=1.01)


def test_random_parts_lie_inside_and_have_the_areas_and_ratios_of_torchvision():
    draws = RandomCrops.of(4_000, size=(7, 7), generator=generator(0))
    low, high = draws.centres - draws.sides / 2, draws.centres + draws.sides / 2
    assert low.min() >= -1e-6
    assert high.max() <= 1 + 1e-6
    areas, ratios = draws.sides.prod(1), draws.sides[:, 0] / draws.sides[:, 1]
    assert AREA[0] <= areas.min() <= areas.max() <= AREA[1] + 1e-6
    assert RATIO[0] - 1e-6 <= ratios.min() <= ratios.max() <= RATIO[1] + 1e-6
    assert abs(draws.mirrored.float().mean() - 0.5) < 0.04
    square, theirs = torch.zeros(1, 1_000, 1_000), []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for _ in range(4_000):
            *_, height, width = RandomResizedCrop.get_params(square, AREA, RATIO)
            theirs.append((height * width / 1e6, width / height))
    for found, expected in zip((areas, ratios), np.transpose(theirs), strict=True):
        error = np.std(expected) * np.sqrt(2 / 4_000)
        assert abs(float(found.mean()) - expected.mean()) < 4 * error


def test_the_middle_of_larger_images_is_shown():
    images = pictures(2, 3, 8, 8)
    found = Normalise(MEAN, STD, (6, 6), CPU, middle=(6, 6))(images)
    torch.testing.assert_close(found, Normalise(MEAN, STD, (6, 6), CPU)(images[..., 1:7, 1:7]))
