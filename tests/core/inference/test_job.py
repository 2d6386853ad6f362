"""An evaluation from weights to a run of the library, on real digits."""

import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageOps
from safetensors.torch import save_file

from core.datasets.load import load
from core.datasets.shifts import OutsideSet
from core.errors import Refused, UsageError
from core.inference.config import (
    WEIGHTS,
    EvaluationConfig,
    Preprocessing,
    WeightsSource,
    config_of,
    from_json,
)
from core.inference.evaluate import BatchPreprocessor, scores, spread
from core.inference.job import EvaluationProgress, open_data, refuse_implausible, run
from core.library import open_library
from core.models.build import build
from core.predictions import Predictions, ScoreKind, Task
from core.training.folder import JobFolder
from tests.core.datasets.test_outside import DIGITS, HOUSES, write_svhn

ROOT = Path(__file__).parents[3]
CPU = torch.device("cpu")
CONFIG = EvaluationConfig(
    model="small_cnn",
    n_outputs=10,
    channels=1,
    weights=WeightsSource("cnn.pt", "0f" * 16),
    preprocessing=Preprocessing((8, 8)),
    data="digits",
    device="cpu",
)


@pytest.fixture(scope="session")
def digits():
    return load("digits", root=None, split_seed=0)


@pytest.fixture(scope="session")
def net(digits):
    """A small network that has learned a little."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = build("small_cnn", n_outputs=10, channels=1, size=(8, 8))
        pixels = (digits.train.pixels.float() / 255 - digits.mean[0]) / digits.std[0]
        optimizer = torch.optim.Adam(net.parameters(), 3e-3)
        for _ in range(40):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(pixels), digits.train.targets).backward()
            optimizer.step()
    return net.eval()


@pytest.fixture
def job(tmp_path, monkeypatch, net):
    """Return a function that evaluates a config in a folder of its own."""
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))

    def make(job_id="job1", **changes):
        folder = JobFolder.make(tmp_path / "home" / "jobs" / job_id, replace(CONFIG, **changes))
        save_file(net.state_dict(), folder.path / WEIGHTS)
        return folder

    return make


def test_a_run_holds_what_the_network_says_of_every_split_and_set(job, net, digits):
    sets = (
        OutsideSet("corrupted", corruption="brightness", severity=5),
        OutsideSet("corrupted", corruption="gaussian_noise", severity=3, seed=4),
    )
    folder = job(sets=sets, batch_size=37, name="")
    result = run(folder)
    library = open_library()
    manifest = library.get(result["run"])
    assert (manifest.id, manifest.kind, manifest.name) == (
        "job1",
        "evaluate",
        "small_cnn on Digits",
    )
    assert {name: entry.role for name, entry in manifest.splits.items()} == {
        "val": "val", "test": "test",
        "corrupted-brightness-5": "shifted", "corrupted-gaussian_noise-3": "shifted",
    }  # fmt: skip
    assert from_json(manifest.config) == config_of(folder)
    pixels = (digits.test.pixels.float() / 255 - digits.mean[0]) / digits.std[0]
    with torch.inference_mode():
        expected = net(pixels).numpy()
    found = library.load("job1", "test")
    np.testing.assert_allclose(found.scores, expected, atol=1e-4)
    np.testing.assert_array_equal(found.labels, digits.test.targets)
    assert found.row_ids == digits.test.row_ids
    clean = found.rows.correct.mean()
    noisy = library.load("job1", "corrupted-gaussian_noise-3")
    assert noisy.rows.correct.mean() < clean
    np.testing.assert_array_equal(noisy.labels, found.labels)
    assert manifest.metrics["test"]["accuracy"] == clean
    assert result["state"] == folder.result()["state"] == "succeeded"


def test_a_set_without_labels_is_kept_as_such(job, tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "leaves").mkdir()
    for number in range(5):
        pixels = rng.integers(0, 256, (20, 20, 3), np.uint8)
        Image.fromarray(pixels).save(tmp_path / "leaves" / f"{number}.png")
    folder = job(sets=(OutsideSet("folder", root=str(tmp_path / "leaves")),), splits=("test",))
    run(folder)
    found = open_library().load("job1", "folder-leaves")
    assert (found.labelled, found.n) == (False, 5)
    assert set(found.labels) == {-1}


def test_a_part_without_images_is_passed_over_and_no_run_is_empty(job, tmp_path, monkeypatch):
    for k in range(20):
        path = tmp_path / "photos" / "test" / str(k % 10) / f"{k}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8), 12 * k, np.uint8)).save(path)
    changes = {"data": "folder", "data_root": str(tmp_path / "photos"), "keep_implausible": True}
    with pytest.raises(Refused, match="EMPTY: There are no images in val"):
        run(job("none", splits=("val",), **changes))
    assert "none" not in [row.id for row in open_library().rows()]
    steps = []
    monkeypatch.setattr("core.inference.job.EVERY_S", -1.0)
    monkeypatch.setattr("core.inference.job.write_progress", lambda _, p: steps.append(p))
    run(job("some", splits=("val", "test"), **changes))
    assert list(open_library().get("some").splits) == ["test"]
    assert {step.n_epochs for step in steps if not step.stage} == {1}


def small_photographs(root: Path, n: int) -> list[Path]:
    """Write JPEGs of 8 x 8 pixels in ten classes, and return their files in the data's order."""
    rng = np.random.default_rng(0)
    for k in range(n):
        for part in ("train", "test"):
            path = root / part / str(k % 10) / f"{k:05}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 256, (8, 8, 3), np.uint8)).save(path)
    return [*sorted((root / "train").rglob("*.jpg")), *sorted((root / "test").rglob("*.jpg"))]


def test_a_limit_decodes_only_the_pictures_that_it_takes(job, tmp_path, monkeypatch):
    """All others are cut off behind their heads, so they could not be decoded."""
    files = small_photographs(tmp_path / "photos", 200)
    changes = {
        "data": "folder", "data_root": str(tmp_path / "photos"), "splits": ("val", "test"),
        "preprocessing": Preprocessing((8, 8), (0.5,), (0.25,)), "keep_implausible": True,
    }  # fmt: skip
    split = load("folder", root=tmp_path / "photos", split_seed=0, sparing=True).split
    stages = []
    monkeypatch.setattr("core.inference.job.EVERY_S", -1.0)
    monkeypatch.setattr("core.inference.job.write_progress", lambda _, p: stages.append(p.stage))
    run(job("whole", **changes))
    assert stages[:2] == ["Opening the data", "Reading pictures"]
    assert "Reading pictures: 100%" in stages
    for cached in (tmp_path / "home" / "cache").iterdir():
        cached.unlink()
    steps = {"val": 4, "test": 40}  # five of 20 and of 200
    taken = {files[row] for part, step in steps.items() for row in split.rows[part][::step]}
    taken.add(files[0])  # says how large they are
    for file in set(files) - taken:
        file.write_bytes(file.read_bytes()[:-40])
    run(job("some", limit=5, **changes))
    whole, some = (open_library().get(name) for name in ("whole", "some"))
    assert [notice.code for notice in some.notices] == [notice.code for notice in whole.notices]
    for part, step in steps.items():
        found, all_rows = (open_library().load(name, part) for name in ("some", "whole"))
        assert found.row_ids == all_rows.row_ids[::step]
        np.testing.assert_allclose(found.scores, all_rows.scores[::step], atol=1e-5)
    with pytest.raises(Refused, match="IMAGE_TRUNCATED"):
        run(job("damaged", **changes))


def test_a_check_for_known_pictures_that_a_limit_makes_partial_says_so(job, tmp_path):
    files = small_photographs(tmp_path / "photos", 20)
    for number, file in enumerate(files[:6]):
        for name in ("anew", "copied"):
            (tmp_path / name).mkdir(exist_ok=True)
        Image.open(file).save(tmp_path / "anew" / f"{number}.png")
        ending = b"." * (number > 0)  # one keeps its bytes
        (tmp_path / "copied" / f"{number}.jpg").write_bytes(file.read_bytes() + ending)
    write_svhn(tmp_path / "t.mat", HOUSES.transpose(2, 3, 1, 0), DIGITS)
    changes = {
        "data": "folder", "data_root": str(tmp_path / "photos"), "splits": ("test",),
        "preprocessing": Preprocessing((8, 8), (0.5,), (0.25,)), "keep_implausible": True,
    }  # fmt: skip

    def said(name, **limit):
        kind = "svhn" if name == "t.mat" else "folder"
        outside = OutsideSet(kind, str(tmp_path / name))
        folder = job(f"{outside.name}-{len(limit)}", sets=(outside,), **limit, **changes)
        notices = open_library().get(run(folder)["run"]).notices
        return [
            notice.text.removeprefix(f"{outside.label}: ")
            for notice in notices
            if notice.code == "OVERLAP"
        ]

    assert said("anew", limit=3) == [
        "only files copied unchanged from folder would have been found."
    ]
    assert said("copied", limit=3) == [
        "1 of 3 is also in folder. Only files copied unchanged from folder would have been found."
    ]
    assert said("t.mat", limit=3) == ["not compared with folder, whose pictures are files."]
    with pytest.raises(Refused, match="all 6 that were looked at are in folder"):
        said("copied")


def test_a_limit_shows_the_same_pixels_where_a_late_picture_has_another_size(job, tmp_path):
    files = small_photographs(tmp_path / "photos", 40)
    Image.new("RGB", (12, 9)).save(files[-1])
    changes = {
        "data": "folder", "data_root": str(tmp_path / "photos"), "splits": ("test",),
        "preprocessing": Preprocessing((12, 12), (0.5,), (0.25,)), "keep_implausible": True,
    }  # fmt: skip
    run(job("all", **changes))
    run(job("few", limit=5, **changes))
    found, all_rows = (open_library().load(name, "test") for name in ("few", "all"))
    assert found.row_ids == all_rows.row_ids[::8]
    np.testing.assert_allclose(found.scores, all_rows.scores[::8], atol=1e-5)


def test_speed_and_time_left_do_not_count_what_comes_before_the_first_image(job, monkeypatch):
    now, told = [0.0], []
    monkeypatch.setattr(
        "core.inference.job.write_progress", lambda _, progress: told.append(progress)
    )
    monkeypatch.setattr("core.inference.job.time", SimpleNamespace(monotonic=lambda: now[0]))
    pace = EvaluationProgress(job("paced"), 1)
    now[0] = 100.0
    pace.begin(80)
    now[0] = 110.0
    pace.did(20)
    assert (told[-1].images_per_second, told[-1].left, told[-1].seconds) == (2.0, 30.0, 110.0)
    assert pace.rate == 2.0


def test_a_limit_takes_images_at_even_distances_and_batches_do_not_matter(job):
    run(job("whole"))
    run(job("some", limit=11, batch_size=3))
    whole, some = (open_library().load(name, "test") for name in ("whole", "some"))
    rows = [0, 45, 90, 136, 181, 227, 272, 318, 363, 409, 454]  # of 500
    np.testing.assert_allclose(some.scores, whole.scores[rows], atol=1e-5)
    np.testing.assert_array_equal(some.labels, whole.labels[rows])
    assert some.row_ids == tuple(whole.row_ids[row] for row in rows)


@given(st.integers(1, 300), st.none() | st.integers(1, 400))
def test_spread_rows_are_as_many_as_asked_each_once_and_even(n, limit):
    rows = spread(n, limit)
    assert len(rows) == min(n, limit or n)
    gaps = np.diff(rows.numpy())
    assert rows[0] == 0
    assert rows[-1] < n
    assert set(gaps) <= {n // len(rows), n // len(rows) + 1}


def test_averaged_probabilities_are_kept_as_probabilities(job, net, digits):
    how = Preprocessing((8, 8), crop=0.8, crops=5, average="probabilities")
    run(job("probabilities", preprocessing=how, splits=("test",), limit=9))
    run(job("logits", preprocessing=replace(how, average="logits"), splits=("test",), limit=9))
    found = open_library().load("probabilities", "test")
    assert found.kind is ScoreKind.PROBABILITIES
    crops = BatchPreprocessor(how, 1, digits.mean, digits.std, CPU)(
        digits.test.pixels[spread(500, 9)]
    )
    with torch.inference_mode():
        each = [net(crop).double() for crop in crops]
    mean = sum(one.softmax(1) for one in each) / 5
    np.testing.assert_allclose(found.scores, mean.numpy(), atol=1e-6)
    logits = open_library().load("logits", "test")
    assert logits.kind is ScoreKind.LOGITS
    np.testing.assert_allclose(logits.scores, (sum(each) / 5).numpy(), atol=1e-4)


def test_of_one_crop_logits_are_kept_whatever_is_averaged(job):
    how = Preprocessing((8, 8), average="probabilities")
    run(job("one", preprocessing=how, splits=("test",), limit=9))
    run(job("plain", splits=("test",), limit=9))
    found, plain = (open_library().load(name, "test") for name in ("one", "plain"))
    assert found.kind is ScoreKind.LOGITS
    np.testing.assert_array_equal(found.scores, plain.scores)


def test_streamed_pictures_are_read_at_the_size_that_crops_are_cut_from(tmp_path):
    rng = np.random.default_rng(0)
    for k in range(6):
        for name in ("ants", "bees"):
            folder = tmp_path / "photos" / name
            folder.mkdir(parents=True, exist_ok=True)
            pixels = rng.integers(0, 256, (80 + k, 120, 3), np.uint8)
            Image.fromarray(pixels).save(folder / f"{k}.png")
    how = Preprocessing((28, 28), crop=0.875, cover=True, interpolation="bicubic")
    config = replace(CONFIG, data="folder", data_root=str(tmp_path / "photos"), n_outputs=2,
                     preprocessing=how)  # fmt: skip
    data = open_data(config)
    assert data.size == (32, 32)
    (found,) = data.test.images([torch.arange(1)], CPU)
    with Image.open(tmp_path / "photos" / data.test.row_ids[0]) as picture:
        expected = ImageOps.fit(picture, (32, 32), Image.Resampling.BICUBIC)
    np.testing.assert_array_equal(found[0].permute(1, 2, 0), np.asarray(expected))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"n_outputs": 11}, "CLASSES"),
        ({"model": "resnet50_cifar"}, "STATE_DICT"),
        ({"channels": 3}, "STATE_DICT"),
        ({"device": "cuda"}, "DEVICE"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_and_no_run_is_kept(job, changes, code):
    if changes.get("device") == "cuda" and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises((Refused, UsageError)) as excinfo:
        run(job(**changes))
    assert excinfo.value.code == code
    assert "job1" not in [row.id for row in open_library().rows()]


class Broken(torch.nn.Module):
    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def forward(self, images):
        return self.answer(images)


def test_a_number_that_is_none_is_named_by_its_image(digits):
    prepare = BatchPreprocessor(Preprocessing((8, 8)), 1, (0.0,), (1.0,), CPU)
    rows = spread(300, 10)
    with pytest.raises(Refused, match="for image 30, class 3"):
        scores(Broken(_nan), digits.val, prepare, device=CPU, batch_size=8, rows=rows)


def _nan(images):
    out = torch.zeros(len(images), 10)
    out[1, 3] = float("nan")
    return out


def _memory(images):
    raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried")


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (_nan, "NONFINITE", "image 1, class 3"),
        (_memory, "MEMORY", "halve the batch size to 4"),
        (lambda images: images, "MODEL_OUTPUT", "shape"),
        (lambda images: (images, images), "MODEL_OUTPUT", "tuple"),
        (lambda images: torch.zeros(1, 10), "MODEL_OUTPUT", "for 8 images"),
        (lambda images: images @ torch.zeros(9, 9), "MODEL_INPUT", "8 x 8"),
    ],
)
def test_a_model_that_misbehaves_is_refused_in_words(digits, answer, code, said):
    prepare = BatchPreprocessor(Preprocessing((8, 8)), 1, (0.0,), (1.0,), CPU)
    with pytest.raises(Refused, match=said) as excinfo:
        scores(Broken(answer), digits.val, prepare, device=CPU, batch_size=8)
    assert excinfo.value.code == code


def sure_of(right, n, n_classes=10):
    """Logits of a network that is 95 % sure of every answer, the first `right` of them true."""
    labels = np.arange(n) % n_classes
    answers = np.where(np.arange(n) < right, labels, (labels + 1) % n_classes)
    scores = np.zeros((n, n_classes))
    scores[np.arange(n), answers] = np.log(0.95 / 0.05 * (n_classes - 1))
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, scores, labels)


@pytest.mark.parametrize(
    ("right", "n", "n_classes", "refused"),
    [
        (100, 1000, 10, True),  # 8.3 to 12.0 %
        (0, 1000, 10, True),
        (150, 1000, 10, False),  # 12.9 to 17.3 %: better than guessing
        (1, 10, 10, False),  # 1.8 to 40.4 %: that few leave all open
        (250, 500, 2, True),
        (150, 500, 2, True),  # swapped classes
        (380, 500, 2, False),
    ],
)
def test_guessing_with_high_confidence_is_not_kept(right, n, n_classes, refused):
    predictions = sure_of(right, n, n_classes)
    with pytest.raises(Refused, match=r"95\.0% confident") if refused else nullcontext():
        refuse_implausible("test", predictions)


def test_an_unsure_network_that_guesses_is_kept():
    labels = np.arange(1000) % 10
    refuse_implausible(
        "test",
        Predictions(Task.MULTICLASS, ScoreKind.LOGITS, np.eye(10)[(labels + 1) % 10], labels),
    )


def test_an_implausible_run_joins_the_library_only_when_that_is_said(job, net):
    state = net.state_dict()
    last = list(state)[-1]
    state[last] = state[last] + 30 * (torch.arange(10) == 3)  # always the same answer
    for kept in (False, True):
        folder = job(f"kept{kept:d}", keep_implausible=kept, splits=("test",))
        save_file(state, folder.path / WEIGHTS)
        with nullcontext() if kept else pytest.raises(Refused, match="IMPLAUSIBLE"):
            run(folder)
        assert (f"kept{kept:d}" in [row.id for row in open_library().rows()]) == kept


def test_a_temperature_divides_the_logits(job):
    run(job("plain", splits=("test",), limit=9))
    run(job("divided", splits=("test",), limit=9, temperature=2.5))
    plain, divided = (open_library().load(name, "test") for name in ("plain", "divided"))
    np.testing.assert_allclose(divided.scores, plain.scores / 2.5, rtol=1e-4, atol=1e-5)


def test_the_process_says_why_it_failed(job):
    folder = job(n_outputs=11)
    done = subprocess.run(
        [sys.executable, "-m", "core.inference", str(folder.path)],
        cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert folder.result()["error"]["code"] == "CLASSES"


def test_a_process_whose_batch_takes_too_long_is_ended(job):
    folder = job()
    code = (
        "import sys, time; from pathlib import Path; from threading import Thread\n"
        "from core.inference.__main__ import BatchWatch, end_when_stalled\n"
        "from core.training.folder import JobFolder\n"
        "folder, watch = JobFolder(Path(sys.argv[1])), BatchWatch()\n"
        "Thread(target=end_when_stalled, args=(folder, watch, 0.5), daemon=True).start()\n"
        "time.sleep(2)\n"  # between batches anything may take its time
        "for _ in range(5):\n"
        "    with watch: time.sleep(0.2)\n"
        "print('still here', flush=True)\n"
        "with watch: time.sleep(120)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder.path)],
        cwd=ROOT, timeout=600, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "still here\n")
    assert folder.result()["error"]["code"] == "HANG"
    assert "batch size" in folder.result()["error"]["remedy"]


def test_each_batch_is_watched(digits, net):
    entered = []

    class Watching:
        def __enter__(self):
            entered.append("in")

        def __exit__(self, *_):
            entered.append("out")

    prepare = BatchPreprocessor(Preprocessing((8, 8)), 1, (0.0,), (1.0,), CPU)
    scores(net, digits.val, prepare, device=CPU, batch_size=100, watch=Watching())
    assert entered == ["in", "out"] * 3


def test_a_set_that_is_missing_is_refused_before_any_image_is_looked_at(job, monkeypatch):
    def never(*_, **__):
        raise AssertionError("looked at")

    monkeypatch.setattr("core.inference.job.scores", never)
    with pytest.raises(Refused, match="DATA_ROOT"):
        run(job(sets=(OutsideSet("folder", root="/no/folder/of/this/name"),)))


def test_what_was_evaluated_so_far_does_not_stay_in_the_job(job):
    folder = job()
    run(folder)
    assert not (folder.path / "parts").exists()
