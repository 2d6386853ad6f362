"""Two processes on a CPU (gloo) against one with the same global batches."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.datasets.load import load
from core.library import SAMPLES, Library
from core.training import checkpoint
from core.training.config import from_json
from core.training.folder import JobFolder
from core.training.parts import assemble, connect, predict

ROOT = Path(__file__).parents[3]
# Gradients are added in another order, in float32: after 16 steps weights differ by some 1e-6,
# and what is computed from them by little more.
TOLERANCE = 2e-4
# AdaFocal's edges are confidences of validation rows, and the last bit of a row's p decides on
# which side of its own edge it falls: 4 of 300 rows may take the neighbour's gamma.
ON_EDGES = 2e-3


def trained(path, home, module="core.training", log=None, **changes):
    """Train in processes of their own and return the folder; what they print is added to `log`."""
    config = {
        "data": "digits", "model": "small_cnn", "loss": {"name": "adafocal", "n_bins": 5},
        "n_train": 250, "batch_size": 63, "epochs": 4, "device": "cpu", "seed": 2,
    }  # fmt: skip
    folder = JobFolder.make(path, from_json({**config, **changes}))
    done = subprocess.run(
        [sys.executable, "-m", module, str(path)],
        cwd=ROOT,
        env={**os.environ, "CANDOR_HOME": str(home), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    if log is not None:
        log += done.stdout.splitlines()
    return folder


def validation(home, folder):
    """The validation logits of a job's run."""
    return Library(home, SAMPLES).validation_logits(folder.path.name)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="adafocal"),
        pytest.param(
            {"loss": {"name": "mmce_weighted"}, "reduction": "sum", "clip_norm": 2.0},
            id="sum of pairs, clipped",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_two_ranks_train_as_one(changes, tmp_path):
    """63 images a batch: 32 and 31 to a rank, and the last batch of 61; 300 validated as 150."""
    one = trained(tmp_path / "one", tmp_path, **changes)
    two = trained(tmp_path / "two", tmp_path, devices=2, **changes)
    assert one.result()["state"] == two.result()["state"] == "succeeded"
    single, both = one.events(), two.events()
    assert [line["epoch"] for line in both] == [0, 1, 2, 3]
    clock = {"seconds", "images_per_second"}
    for a, b in zip(single, both, strict=True):
        for name in a["metrics"].keys() - clock:
            wanted = a["metrics"][name]
            close = ON_EDGES if name == "val_loss" else TOLERANCE
            assert b["metrics"][name] == pytest.approx(wanted, rel=close, abs=close), name
        for mine, other in zip(a["bins"], b["bins"], strict=True):
            assert other["count"] == mine["count"]
            for name in ("lower", "upper", "gap", "gamma"):
                assert other[name] == pytest.approx(mine[name], abs=TOLERANCE)
    kept = [validation(tmp_path, folder) for folder in (one, two)]
    np.testing.assert_allclose(kept[1], kept[0], atol=20 * TOLERANCE)
    states = [checkpoint.newest(folder.path / "checkpoint") for folder in (one, two)]
    weights = [np.concatenate([v.numpy().ravel() for v in s["net"].values()]) for s in states]
    np.testing.assert_allclose(weights[1], weights[0], atol=TOLERANCE)
    assert json.loads((tmp_path / "two" / "spec.json").read_text())["devices"] == 2


@pytest.mark.soak
def test_ranks_evaluate_with_the_statistics_that_the_checkpoint_holds(tmp_path):
    """Batch normalisation: each rank saw its own rows while it trained."""
    folder = trained(
        tmp_path / "two", tmp_path, devices=2, model="resnet110_cifar", n_train=64, batch_size=32,
        epochs=1, seed=0,
    )  # fmt: skip
    config = replace(folder.config(), devices=1)
    parts = assemble(config, load("digits", root=None, split_seed=0), connect(config))
    parts.net.load_state_dict(checkpoint.of_job(folder)["net"])
    found = predict(parts, parts.data.val).numpy()
    np.testing.assert_allclose(found, validation(tmp_path, folder)[-1], rtol=1e-3, atol=1e-3)


@pytest.mark.nightly
@pytest.mark.parametrize(("fails_at", "n_tried"), [("network", 1), ("anything", 0)])
def test_no_rank_is_compiled_where_one_cannot_be_and_the_job_says_so(
    fails_at, n_tried, tmp_path, monkeypatch
):
    """With batch normalisation, whose statistics the ranks exchange."""
    if fails_at == "anything":
        monkeypatch.setenv("NO_COMPILER", "1")
    log, module = [], "tests.core.training.half_compiled"
    folder = trained(
        tmp_path / "two", tmp_path, module, log, devices=2, compile="on", model="densenet_small",
        n_train=64, batch_size=32, epochs=1,
    )  # fmt: skip
    (notice,) = folder.result()["notices"]
    assert notice["code"] == "UNCOMPILED"
    assert notice["text"].endswith("slower: cc1: no such file, on process 2 of 2")
    assert sum(notice["text"][1:] in line for line in log) == 1
    assert (log.count("a compiled network runs") > 0) == n_tried
