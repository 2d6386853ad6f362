"""Preprocessing: what is refused, and that images become what torchvision makes of them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from core import codec
from core.checkpoints.guess import shipped
from core.datasets.pictures import Scaling, decode
from core.errors import UsageError
from core.inference.config import MOMENTS, Preprocessing, first_size
from core.inference.evaluate import BatchPreprocessor, settings_for_folder, settings_of

MEAN, STD = MOMENTS["imagenet"]
CPU = torch.device("cpu")


def images(n=2, channels=3, height=40, width=56):
    shared = np.random.default_rng(0)
    return torch.from_numpy(shared.integers(0, 256, (n, channels, height, width), np.uint8))


def prepare(how, channels=3, mean=(0.0,), std=(1.0,)):
    return BatchPreprocessor(how, channels, mean, std, CPU)


WRONG = [
    {"size": (4, 32)},
    {"size": (32, 4096)},
    {"mean": (0.5,), "std": ()},
    {"mean": (0.5,), "std": (0.0,)},
    {"mean": (float("nan"),), "std": (1.0,)},
    {"crop": 0.0},
    {"crop": 1.1},
    {"crop": float("nan")},
    {"crops": 2},
    {"crops": 10},
    {"interpolation": "lanczos"},
    {"average": "votes"},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(UsageError, match="SETTING"):
        Preprocessing(**{"size": (32, 32)} | wrong)


HOWS = st.builds(
    Preprocessing,
    size=st.tuples(st.integers(8, 99), st.integers(8, 99)),
    mean=st.just(MEAN),
    std=st.just(STD),
    crop=st.floats(0.5, 0.99),
    cover=st.booleans(),
    crops=st.sampled_from([1, 5, 10]),
    average=st.sampled_from(["logits", "probabilities"]),
)


@given(HOWS)
def test_json_gives_an_equal_one_back(how):
    assert codec.read(Preprocessing, codec.to_json(how)) == how


@pytest.mark.parametrize(
    "wrong",
    [{}, [], {"size": [8]}, {"size": [8, 8.0]}, {"size": [8, 8], "zoom": 1},
     {"size": [8, 8], "mean": [True], "std": [1]}, {"size": [8, 8], "crops": True}],
)  # fmt: skip
def test_json_that_is_none_is_refused(wrong):
    with pytest.raises(UsageError, match="SETTING"):
        codec.read(Preprocessing, wrong)


def test_an_image_of_the_size_is_only_normalised():
    (found,) = prepare(Preprocessing((40, 56), MEAN, STD))(images())
    expected = (images().double() / 255 - torch.tensor(MEAN).view(1, 3, 1, 1)) / torch.tensor(
        STD
    ).view(1, 3, 1, 1)
    torch.testing.assert_close(found.double(), expected, atol=1e-5, rtol=0)


def test_mean_and_std_of_the_data_stand_in_where_none_are_named():
    (own,) = prepare(Preprocessing((40, 56)), mean=MEAN, std=STD)(images())
    (named,) = prepare(Preprocessing((40, 56), MEAN, STD))(images())
    torch.testing.assert_close(own, named)


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
def test_scaling_and_cropping_agree_with_torchvision(interpolation):
    from torchvision.transforms import v2

    mode = v2.InterpolationMode(interpolation)
    theirs = v2.Compose(
        [
            v2.ToDtype(torch.float32, scale=True),
            v2.Resize(32, mode, antialias=True),
            v2.CenterCrop(28),
            v2.Normalize(MEAN, STD),
        ]
    )
    how = Preprocessing((28, 28), MEAN, STD, 0.875, cover=True, interpolation=interpolation)
    square = images(height=48, width=48)
    (found,) = prepare(how)(square)
    clipped = theirs(square)
    if interpolation == "bicubic":  # ours stays within 0..1, as uint8 pictures do
        low, high = prepare(Preprocessing((28, 28), MEAN, STD))(
            torch.tensor([0, 255], dtype=torch.uint8).view(2, 1, 1, 1).expand(2, 3, 28, 28)
        )[0]
        clipped = clipped.clamp(low[None], high[None])
    torch.testing.assert_close(found, clipped, atol=2e-5, rtol=0)
    wide, _ = prepare(how)(images())[0], None  # the middle of what torchvision would scale whole
    torch.testing.assert_close(wide.mean(), theirs(images()).mean(), atol=0.05, rtol=0)


@pytest.mark.parametrize(
    ("file", "scaled"),
    [("resnet50-11ad3fa6.pth", 232), ("resnet50-0676ba61.safetensors", 256), ("best.pth", 256)],
)
def test_torchvisions_recipe_is_the_one_of_its_file_else_that_of_the_papers(file, scaled, tmp_path):
    """Of an upright and a wide photograph, by Pillow as torchvision scales pictures of files."""
    from torchvision.transforms import v2

    how = settings_of("torchvision:resnet50", None, data="imagenet", file=file)
    assert (how.size, how.scaled, how.cover) == ((224, 224), (scaled, scaled), True)
    theirs = v2.Compose([v2.Resize(scaled), v2.CenterCrop(224)])
    smooth = np.random.default_rng(3).integers(0, 256, (9, 9, 3), np.uint8)
    for sides in ((300, 400), (500, 333)):
        photograph = Image.fromarray(smooth).resize(sides, Image.Resampling.BICUBIC)
        photograph.save(tmp_path / "photo.png")
        kept = decode(tmp_path, "photo.png", how.scaled, Scaling(cover=True))
        (found,) = prepare(replace(how, mean=(0.0,) * 3, std=(1 / 255,) * 3))(
            torch.from_numpy(kept.copy())[None]
        )
        expected = np.asarray(theirs(photograph), float).transpose(2, 0, 1)
        assert (
            np.abs(found[0].numpy() - expected).mean() < 1.5
        )  # half a pixel; 20 for a wrong scale


def test_what_candor_trained_is_shown_what_its_training_shows():
    timm = "timm:vit_tiny_patch16_224"
    assert settings_of(timm, (224, 224), data="cifar10", trained_here=True) == Preprocessing(
        (224, 224)
    )
    for model in (timm, "torchvision:resnet50"):
        shown = settings_of(model, (224, 224), data="imagenet", trained_here=True)
        assert shown == Preprocessing((224, 224), crop=0.875, cover=True)
    assert settings_of("small_cnn", (224, 224), data="imagenet") == shown
    released = settings_of("torchvision:vit_b_16", None, file="vit_b_16_swag-9ac1b537.pth")
    assert (released.size, released.crop) == ((384, 384), 1.0)
    net = "torchvision:regnet_y_16gf"  # takes any size, so what is asked is the catalogue's own
    size = first_size(net, shipped().size(net), "imagenet")
    swag = settings_of(net, size, data="imagenet", file="regnet_y_16gf_swag-43afe44d.pth")
    assert (swag.size, swag.crop) == ((384, 384), 1.0)


def test_ten_crops_are_those_of_torchvision():
    from torchvision.transforms import v2

    how = Preprocessing((32, 48), MEAN, STD, 0.85, crops=10)
    assert how.scaled == (38, 56)
    batch = images(height=38, width=56)
    plain = (batch.float() / 255 - torch.tensor(MEAN).view(1, 3, 1, 1)) / torch.tensor(STD).view(
        1, 3, 1, 1
    )
    found = prepare(how)(batch)
    five, more = v2.FiveCrop((32, 48))(plain), v2.FiveCrop((32, 48))(plain.flip(-1))
    for crop in (*five, *more):
        assert any(torch.allclose(crop, one, atol=1e-5) for one in found)
    assert len(found) == 10
    assert len(prepare(Preprocessing((32, 48), MEAN, STD, 0.85, crops=5))(batch)) == 5


def test_grey_is_repeated_and_colours_become_their_luma():
    grey = images(channels=1)
    (three,) = prepare(Preprocessing((40, 56)), 3, (0.0,), (1.0,))(grey)
    torch.testing.assert_close(three, (grey.float() / 255).expand(-1, 3, -1, -1))
    (one,) = prepare(Preprocessing((40, 56)), 1, (0.0,), (1.0,))(images())
    red, green, blue = (images().double() / 255).unbind(1)
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    torch.testing.assert_close(one[:, 0].double(), luma, atol=1e-6, rtol=0)


def test_covering_keeps_proportions_and_cuts_both_sides_alike():
    ramp = torch.arange(56, dtype=torch.uint8).expand(1, 1, 40, 56)
    (cut,) = prepare(Preprocessing((40, 40), cover=True), 1)(ramp)
    torch.testing.assert_close(cut[0, 0, 0] * 255, torch.arange(8.0, 48.0), atol=1e-3, rtol=0)
    (squeezed,) = prepare(Preprocessing((40, 40)), 1)(ramp)
    assert squeezed[0, 0, 0, 0] * 255 < 1


@pytest.mark.parametrize("side", range(9, 17))
def test_the_middle_is_cut_where_torchvision_cuts_it(side):
    from torchvision.transforms import v2

    batch = images(height=side, width=side)
    (found,) = prepare(Preprocessing((8, 8), crop=8 / side), 3)(batch)
    expected = v2.CenterCrop(8)(batch.float() / 255)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


def test_a_folder_of_small_pictures_says_in_which_size_a_network_is_shown_them(tmp_path):
    def pictures(name, *sides):
        for number, side in enumerate(sides):
            path = tmp_path / name / "train" / "ant" / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.zeros((side, side, 3), np.uint8)).save(path)
        return tmp_path / name

    small = pictures("small", 32, 32, 32)
    assert settings_for_folder("torchvision:resnet18", small) == Preprocessing((32, 32))
    assert settings_for_folder("resnet50_cifar", small) == Preprocessing((32, 32))
    assert settings_for_folder("torchvision:vit_b_32", small) is None
    assert settings_for_folder("torchvision:resnet18", pictures("mixed", 32, 40)) is None
    assert settings_for_folder("torchvision:resnet18", pictures("large", 128, 128)) is None
    assert settings_for_folder("torchvision:resnet18", tmp_path / "none") is None
    (small / "0.png").write_bytes(b"no picture")
    assert settings_for_folder("torchvision:resnet18", small) is None
    own = settings_of("torchvision:resnet18", None)
    assert (own.size, own.crop, own.mean) == ((224, 224), 0.875, MEAN)
    assert settings_of("torchvision:resnet18", (96, 96)).mean == MEAN
    assert settings_of("torchvision:resnet18", (64, 64)) == Preprocessing((64, 64))
