"""ImageNet in class folders: the halved validation part, and an epoch by the paper's recipe."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from core.datasets import folders
from core.datasets.load import load
from core.errors import Refused
from core.inference.config import WEIGHTS, EvaluationConfig, WeightsSource
from core.inference.evaluate import settings_of
from core.inference.job import run as evaluate
from core.library import open_library
from core.training import checkpoint
from core.training.config import from_json
from core.training.folder import JobFolder
from core.training.job import load_images, run
from tests.core.datasets.written import random_pixels, write_png

WNIDS = ("n01440764", "n01443537", "n03000684")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four training and three validation pictures in each of three classes, wider than high."""
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(folders, "N_CLASSES", 3)
    monkeypatch.setattr(folders, "N_VALIDATION", 9)
    pixels = iter(random_pixels(21, height=70, width=90))
    for part, n in (("train", 4), ("val", 3)):
        for wnid in WNIDS:
            for row in range(n):
                write_png(tmp_path / "imagenet" / part / wnid / f"{wnid}_{row}.png", next(pixels))
    return tmp_path / "imagenet"


def test_halves_of_the_official_validation_part_validate_and_test(root: Path) -> None:
    data = load("imagenet", root=root, split_seed=0)
    assert data.class_names == WNIDS
    assert data.split.n == {"train": 12, "val": 4, "test": 5}
    assert all(name.startswith("train/") for name in data.train.row_ids)
    halves = {*data.val.row_ids, *data.test.row_ids}
    assert halves == {f"val/{wnid}/{wnid}_{row}.png" for wnid in WNIDS for row in range(3)}
    for part in (data.train, data.val, data.test):
        for name, target in zip(part.row_ids, part.targets.tolist(), strict=True):
            assert name.split("/")[1] == WNIDS[target]
    assert load("imagenet", root=root, split_seed=1).val.row_ids != data.val.row_ids


def test_flat_validation_pictures_and_classes_without_pictures_are_refused(root: Path) -> None:
    for file in (root / "val").rglob("*.png"):
        file.rename(root / "val" / file.name)
    with pytest.raises(
        Refused, match="EMPTY: The folder val holds no pictures in folders of classes; sort"
    ):
        load("imagenet", root=root, split_seed=0)
    (root / "val" / "n99").mkdir()
    with pytest.raises(Refused, match="CLASSES: val has the class 'n99' and train has not"):
        load("imagenet", root=root, split_seed=0)


def test_other_pictures_in_class_folders_are_no_imagenet(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "N_VALIDATION", 50_000)
    with pytest.raises(Refused, match="has 9 validation pictures of 3 classes, and ImageNet has"):
        load("imagenet", root=root, split_seed=0)


def test_an_epoch_by_the_papers_recipe_shows_the_middle_in_the_end(root: Path) -> None:
    """Pictures are kept 256 x 256, of which the network is shown 224 x 224."""
    config = from_json(
        {
            "data": "imagenet", "data_root": str(root), "model": "small_cnn", "device": "cpu",
            "loss": {"name": "ce"}, "preset": "imagenet", "epochs": 1,
        }
    )  # fmt: skip
    data = load_images(config)
    assert data.size == (256, 256)
    with Image.open(root / data.test.row_ids[0]) as picture:
        square = picture.resize((256, 256), Image.Resampling.BILINEAR, box=(10, 0, 80, 70))
    (kept,) = data.test.images([torch.arange(1)], torch.device("cpu"))
    np.testing.assert_allclose(kept[0].permute(1, 2, 0).int(), np.asarray(square, int), atol=1)
    result = run(JobFolder.make(root.parent / "home" / "jobs" / "one", config))
    manifest = open_library().get(result["run"])
    assert {name: entry.n for name, entry in manifest.splits.items()} == {"val": 4, "test": 5}
    # the same network, evaluated from its checkpoint, says the same of the same pictures
    how = settings_of("small_cnn", (224, 224), data="imagenet", trained_here=True)
    again = JobFolder.make(
        root.parent / "home" / "jobs" / "two",
        EvaluationConfig(
            model="small_cnn", n_outputs=3, channels=3, weights=WeightsSource("one", "0f" * 16),
            preprocessing=how, data="imagenet", data_root=str(root), device="cpu",
            keep_implausible=True,
        ),
    )  # fmt: skip
    state = checkpoint.of_job(JobFolder(root.parent / "home" / "jobs" / "one"))
    save_file(
        {name: part.contiguous() for name, part in state["net"].items()}, again.path / WEIGHTS
    )
    evaluate(again)
    for part in ("val", "test"):
        one, two = (open_library().load(name, part) for name in (result["run"], "two"))
        np.testing.assert_allclose(one.scores, two.scores, atol=2e-4)
