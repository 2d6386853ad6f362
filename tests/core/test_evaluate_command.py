"""`python -m core evaluate`: from a checkpoint to a run, or a refusal before anything is queued."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from core.__main__ import main
from core.inference.config import WEIGHTS
from core.library import Library
from core.models.build import build
from core.training.config import from_json
from core.training.folder import JobFolder
from tests import onnx_files

pytestmark = pytest.mark.usefixtures("unsealed")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def here(tmp_path):
    """A folder with a small network's weights as somebody else saved them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = build("small_cnn", n_outputs=10, channels=1, size=(8, 8))
    state = {f"module.{name}": value for name, value in net.state_dict().items()}
    averaged = {name: value * 0.5 for name, value in state.items()}
    torch.save({"state_dict": state, "state_dict_ema": averaged, "epoch": 3}, tmp_path / "net.pth")
    return tmp_path


@pytest.fixture
def candor(here, monkeypatch, capfd):
    """Run the command in a home of its own; return exit code and JSON."""
    monkeypatch.setenv("CANDOR_HOME", str(here / "home"))
    monkeypatch.setenv("CANDOR_DEVICES", "cpu")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def run(*arguments):
        capfd.readouterr()  # what an earlier run said
        code = main(["evaluate", *arguments, "--json", "-"])
        out, err = capfd.readouterr()
        print(err)
        return code, json.loads(out)

    return run


@pytest.fixture
def refused(here, candor):
    """Run what must be refused before anything is queued, and return the error."""

    def run(*arguments):
        code, said = candor(*arguments)
        assert code in {2, 3}
        assert not list((here / "home" / "jobs").glob("*/spec.json"))
        return said["error"]

    return run


@pytest.mark.slow
@pytest.mark.usefixtures("sealed")
def test_a_checkpoint_becomes_a_run_and_json_says_how_it_was_loaded(here, candor):
    code, report = candor(
        str(here / "net.pth"), "--group", "state_dict", "--data", "digits",
        "--set", "corrupted-contrast-5", "--limit", "40", "--name", "mine",
        "--out", str(here / "out.npz"),
    )  # fmt: skip
    assert code == 0
    library = Library(here / "home", here / "none")
    manifest = library.get(report["run"])
    assert (manifest.name, manifest.kind) == ("mine", "evaluate")
    assert manifest.config["weights"]["group"] == "state_dict"
    assert (here / "home" / "jobs" / manifest.id / WEIGHTS).exists()
    assert report["model"] == "small_cnn"
    assert report["loaded"]["matched"] == report["loaded"]["total"] == 11
    assert "module." in report["loaded"]["renamed"]
    assert report["n"] == 40
    assert report["splits"] == {"val": 40, "test": 40, "corrupted-contrast-5": 40}
    right = library.load(manifest.id, "test").rows.correct.mean()
    assert report["metrics"]["accuracy"]["value"] == right
    with np.load(here / "out.npz") as written:
        assert written["test_logits"].shape == (40, 10)
        assert written["sets/corrupted-contrast-5_logits"].shape == (40, 10)


@pytest.mark.nightly
@pytest.mark.slow
def test_a_training_is_named_by_its_id(here, candor, trainer_job):
    code, report = candor(trainer_job, "--data", "digits", "--split", "test")
    assert code == 0
    library = Library(here / "home", here / "none")
    assert library.get(report["run"]).config["weights"]["run"] == trainer_job
    assert list(report["splits"]) == ["test"]
    again, trained = (library.load(run, "test") for run in (report["run"], trainer_job))
    np.testing.assert_allclose(again.scores, trained.scores, atol=1e-4)


@pytest.mark.nightly
def test_elsewhere_a_training_is_shown_pictures_as_its_own_data_are(here, candor, trainer_job):
    for digit in range(10):
        (here / "scans" / str(digit)).mkdir(parents=True)
        for k in range(9):
            pixels = np.full((20, 20), 25 * digit + k, np.uint8)
            Image.fromarray(pixels).save(here / "scans" / str(digit) / f"{k}.png")
    _, report = candor(trainer_job, "--data", str(here / "scans"), "--split", "test",
                       "--keep-implausible")  # fmt: skip
    config = Library(here / "home", here / "none").get(report["run"]).config
    assert (config["data"], config["preprocessing"]["size"]) == ("folder", [8, 8])


@pytest.fixture
def trainer_job(here):
    """The id of a training that has ended in this home."""
    from core.jobs.local import LocalJobs

    config = from_json(
        {"data": "digits", "model": "small_cnn", "loss": {"name": "ce"}, "device": "cpu",
         "n_train": 200, "epochs": 3, "batch_size": 32}
    )  # fmt: skip
    jobs = LocalJobs(here / "home")
    jobs.pause()
    (job,) = jobs.submit([config])
    path = jobs.folder(job.id).path
    subprocess.run(
        [sys.executable, "-m", "core.training", str(path)], cwd=ROOT, check=True,
        env=os.environ | {"CANDOR_HOME": str(here / "home"), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert JobFolder(path).result()["state"] == "succeeded"
    jobs.cancel(job.id)
    jobs.unpause()
    return job.id


@pytest.mark.nightly
@pytest.mark.slow
def test_an_onnx_model_is_run_as_any_other_network(here, candor):
    """Digits, a linear network: its logits, written out from the images of the run."""
    from core.datasets.load import load

    pytest.importorskip("onnxruntime")
    (here / "net.onnx").write_bytes(onnx_files.linear())
    code, report = candor(
        *(str(here / "net.onnx"), "--data", "digits", "--moments", "unit"),
        *("--limit", "40", "--keep-implausible"),
    )
    assert code == 0
    library = Library(here / "home", here / "none")
    manifest = library.get(report["run"])
    assert (manifest.name, manifest.config["model"]) == ("net.onnx on Digits", "onnx")
    found = library.load(manifest.id, "test")
    test = load("digits", root=None, split_seed=0).test
    rows = [test.row_ids.index(name) for name in found.row_ids]
    (images,) = test.images([torch.tensor(rows)], torch.device("cpu"))
    weight = np.random.default_rng(4).normal(0, 0.3, (64, 10)).astype(np.float32)
    expected = images.numpy().reshape(40, 64).astype(np.float32) / 255 @ weight
    np.testing.assert_allclose(found.scores, expected, rtol=1e-4, atol=1e-4)
    job = here / "home" / "jobs" / report["run"] / "weights.safetensors"
    code, again = candor(
        *(str(job), "--data", "digits", "--moments", "unit", "--limit", "40"),
        *("--keep-implausible", "--name", "again"),
    )
    assert code == 0
    assert again["metrics"]["accuracy"]["value"] == report["metrics"]["accuracy"]["value"]


def test_what_an_onnx_file_does_not_say_is_asked(here, refused):
    pytest.importorskip("onnxruntime")
    (here / "net.onnx").write_bytes(onnx_files.linear())
    error = refused(str(here / "net.onnx"), "--data", "digits")
    assert "--moments" in error["remedy"]
    (here / "net.onnx").write_bytes(onnx_files.linear(n_outputs=7))
    error = refused(
        *(str(here / "net.onnx"), "--data", "digits", "--moments", "unit", "--classes", "10")
    )
    assert error["what"].endswith("The model gives 7 outputs, not 10")
    error = refused(str(here / "net.pth"), "--data", "digits", "--layout", "nhwc")
    assert "only ONNX" in error["remedy"]


@pytest.mark.parametrize("moments", ["imagenet", "unit", "data"])
def test_a_model_of_bytes_is_given_no_other_pixels(here, refused, moments):
    pytest.importorskip("onnxruntime")
    cast = onnx_files.node(
        "Cast", ["images"], "cast", attributes=[onnx_files.message(f1="to", f3=1, f20=2)]
    )
    flat = onnx_files.node("Flatten", ["cast"], "flat", attributes=[onnx_files.axis(1)])
    weight = np.zeros((64, 10), np.float32)
    nodes = [cast, flat, onnx_files.node("Gemm", ["flat", "w"], "out")]
    net = onnx_files.model(nodes, [onnx_files.tensor("w", weight)], shape=("n", 1, 8, 8), kind=2)
    (here / "net.onnx").write_bytes(net)
    error = refused(str(here / "net.onnx"), "--data", "digits", "--moments", moments)
    assert error["code"] == "MODEL_INPUT"
    assert "--moments bytes" in error["remedy"]
    error = refused(
        *(str(here / "net.onnx"), "--data", "digits", "--moments", "bytes", "--classes", "7")
    )
    assert error["code"] == "STATE_DICT"  # the next question: the remedy leads on


def test_what_no_network_fits_names_the_nearest_and_what_is_too_much(here, refused):
    state = build("small_cnn", n_outputs=10, channels=1, size=(8, 8)).state_dict()
    torch.save({**state, "extra.weight": torch.zeros(3, 4, 2)}, here / "odd.pth")
    error = refused(str(here / "odd.pth"), "--data", "digits")
    assert "small_cnn with 10 outputs: 11 of 11 tensors do" in error["what"]
    assert "unexpected (1): extra.weight" in error["what"]
    assert "predict_to_file.py" in error["remedy"]
    torch.save({"trunk.weight": torch.zeros(50, 9)}, here / "mine.pth")
    error = refused(str(here / "mine.pth"), "--data", "digits")
    assert "No network here has exactly" in error["what"]
    assert "if none fits" in error["remedy"]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("resnet18", "torchvision:resnet18, timm:resnet18, resnet18_cifar"),
        ("VGG16-BN", "torchvision:vgg16_bn, timm:vgg16_bn, vgg16_bn_cifar"),
        ("wrn2810", "wrn_28_10_cifar"),
        ("my_own_transformer_thing", "none has a name like it"),
    ],
)
def test_a_name_that_no_network_has_is_answered_with_names_near_it(here, refused, name, near):
    error = refused(str(here / "net.pth"), "--data", "digits", "--model", name)
    assert error["code"] == "SETTING"
    assert near in error["remedy"]


def test_a_wrong_number_of_classes_names_the_likely_one(here, refused):
    error = refused(str(here / "net.pth"), "--data", "digits", "--classes", "7")
    assert error["code"] == "STATE_DICT"
    assert "10 outputs" in error["remedy"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("missing.pth", "--data", "digits"), "FILE", "missing.pth"),
        (("aaaabbbbcccc", "--data", "digits"), "JOB_UNKNOWN", "aaaabbbbcccc"),
        (("net.pth", "--data", "digits", "--group", "ema"), "SETTING", "state_dict_ema"),
        (("net.pth", "--data", "digits", "--set", "fog"), "SETTING", "fog"),
        (("net.pth", "--data", "nothing"), "SETTING", "nothing"),
        (("net.pth", "--data", ""), "SETTING", "No data set"),
        (("net.pth", "--data", "/tmp", "--data-root", "/var"), "SETTING", "--data-root"),
        (("net.pth", "--data", "x" * 300), "SETTING", "xxx"),
        (("x" * 300, "--data", "digits"), "FILE", "xxx"),
        (("net.pth", "--data", "digits", "--size", "0"), "SETTING", "--size"),
        (("net.pth", "--data", "digits", "--classes", "0"), "SETTING", "--classes"),
        (
            ("net.pth", "--data", "digits", "--out", "/no/folder/of/this/name/a.npz"),
            "OUTPUT",
            "a.npz",
        ),
        (("net.pth", "--data", "digits", "--moments", "mnist"), "SETTING", "mnist"),
        (("net.pth", "--data", "digits", "--crops", "10"), "SETTING", "crop"),
        (("net.pth", "--data", "digits", "--model", "resnet50_cifar"), "STATE_DICT", "resnet50"),
    ],
)
def test_what_cannot_be_done_is_refused_before_a_job_is_queued(
    here, refused, arguments, code, said
):
    file = str(here / arguments[0]) if "net" in arguments[0] else arguments[0]
    error = refused(file, *arguments[1:])
    assert error["code"] == code
    assert said in error["what"] + error["remedy"]
