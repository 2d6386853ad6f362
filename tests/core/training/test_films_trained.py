"""Many labels: chest films from a folder to a run in the library."""

import numpy as np
import pytest

from core.datasets.catalogue import FINDINGS
from core.library import open_library
from core.predictions import Task
from core.training.config import from_json
from core.training.folder import JobFolder, forget_stop, read_progress, request_stop
from core.training.job import run
from tests.core.datasets.written import random_pixels, write_png


@pytest.fixture
def films(tmp_path, monkeypatch):
    """24 films of 12 patients; a film without a finding is dark, one with any is light."""
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    root = tmp_path / "films"
    lines = [",".join(["image", *FINDINGS])]
    for film, pixels in enumerate(random_pixels(24, height=40, width=40)):
        name, ill = f"{film // 2:08}_{film % 2:03}.png", film % 4 > 1
        write_png(root / "images" / name, pixels // 4 + (190 if ill else 0))
        lines.append(",".join([name, *("1" if ill else "0" for _ in FINDINGS)]))
    (root / "labels.csv").write_text("\n".join(lines) + "\n")
    return root


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss",
    [{"name": "adafocal", "n_bins": 5}, pytest.param({"name": "fcl"}, marks=pytest.mark.nightly)],
)
def test_films_become_a_run_of_fourteen_labels(loss, films, tmp_path):
    config = from_json(
        {
            "data": "chestxray14", "data_root": str(films), "model": "small_cnn", "loss": loss,
            "epochs": 3, "batch_size": 8, "device": "cpu", "name": "films",
        }
    )  # fmt: skip
    folder = JobFolder.make(tmp_path / "job", config)
    result = run(folder)
    library = open_library()
    manifest = library.get(result["run"])
    assert manifest.kind == "train"
    assert manifest.task == Task.MULTILABEL
    assert manifest.class_names == FINDINGS
    patients = {
        name: {row.split("/")[-1][:8] for row in library.load(manifest.id, name).row_ids}
        for name in ("val", "test")
    }
    assert not patients["val"] & patients["test"]
    val = library.load(manifest.id, "val")
    logits = library.validation_logits(manifest.id)
    assert logits.shape == (3, val.n, 14)
    np.testing.assert_array_equal(logits[-1], val.scores)
    assert library.history(manifest.id).last()["val_error"] < 0.5
    if loss["name"] == "adafocal":
        assert library.bins(manifest.id).n_bins == 5
        counted = library.bins(manifest.id).count.reshape(3, 5).sum(axis=1)
        assert (counted >= val.n * 14 - 14).all()  # answers of the smallest confidence are in none


@pytest.mark.nightly
def test_large_films_are_prepared_before_the_first_epoch(films, tmp_path, caplog):
    """A training that is to stop does so on the way, and goes on later with what is there."""
    for film in films.rglob("*.png"):
        write_png(film, np.tile(random_pixels(1, height=33, width=33)[0], (1, 2, 2)))
    config = from_json(
        {
            "data": "chestxray14", "data_root": str(films), "model": "small_cnn",
            "loss": {"name": "ce"}, "epochs": 1, "batch_size": 8, "device": "cpu", "name": "films",
        }
    )  # fmt: skip
    folder = JobFolder.make(tmp_path / "job", config)
    request_stop(folder.path)
    with caplog.at_level("INFO"):
        assert run(folder) is None
    so_far = read_progress(folder.path)
    assert so_far is not None
    assert so_far.stage.startswith("Preparing 24 pictures")
    assert "Preparing 24 pictures" in caplog.text
    assert folder.events() == []
    forget_stop(folder.path)
    caplog.clear()
    with caplog.at_level("INFO"):
        assert run(folder)["state"] == "succeeded"
    assert "Preparing 24 pictures" not in caplog.text
    (path,) = (tmp_path / "home" / "cache").glob("resized-*")
    assert path.read_bytes()[:24] == b"\1" * 24
