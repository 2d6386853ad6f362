"""Networks are compiled at the first step where that is asked for and can be done."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.compilers import nop

from core.training import parts as parts_module
from core.training.config import from_json
from core.training.folder import JobFolder
from tests.core.training.conftest import SMALL

ROOT = Path(__file__).parents[3]
DENSE = {"model": "densenet_small", "n_train": 70, "epochs": 2}  # batch normalisation; 32, 32, 6


@pytest.fixture(autouse=True)
def _compiles_anew():
    yield
    torch.compiler.set_stance("default")
    torch.compiler.reset()


def with_backend(monkeypatch, backend):
    compiled = torch.compile
    monkeypatch.setattr(torch, "compile", lambda net, **_: compiled(net, backend=backend))


def broken(*_):
    raise OSError("cc1: no such file\nmore lines")


def state(parts):
    return parts.net.state_dict()


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param(broken, id="forward", marks=pytest.mark.nightly),
        pytest.param(aot_autograd(fw_compiler=nop, bw_compiler=broken), id="back"),
    ],
)
def test_what_cannot_be_compiled_trains_as_if_it_had_not_been_tried(
    backend, trainer, monkeypatch, caplog
):
    eager, *_ = trainer("eager", **DENSE, compile="off")
    assert (eager.compiled, eager.uncompiled) == (False, ())
    with_backend(monkeypatch, backend)
    parts, _, trained = trainer("tried", **DENSE, compile="on")
    assert trained.finished
    assert parts.compiled is False
    (notice,) = parts.uncompiled
    assert notice.code == "UNCOMPILED"
    assert notice.text.endswith("which is slower: cc1: no such file")
    assert caplog.messages.count(notice.sentence) == 1
    before, after = state(eager), state(parts)
    assert all(torch.equal(after[name], before[name]) for name in before)


def test_trying_leaves_statistics_and_random_numbers_as_they_were(trainer, monkeypatch):
    eager, *_ = trainer("eager", **DENSE, compile="off")
    with_backend(monkeypatch, "eager")
    parts, *_ = trainer("compiled", **DENSE, compile="on")
    assert parts.compiled is True
    before, after = state(eager), state(parts)
    assert all(torch.equal(after[name], before[name]) for name in before)


@pytest.mark.parametrize("last", ["keep", pytest.param("drop", marks=pytest.mark.nightly)])
def test_a_last_batch_of_another_size_is_not_compiled(last, trainer, monkeypatch):
    sizes = []

    def counting(graph, inputs):
        sizes.append(max(len(one) for one in inputs if getattr(one, "ndim", 0) == 4))
        return graph.forward

    eager, *_ = trainer("eager", **DENSE, last_batch=last, compile="off")
    with_backend(monkeypatch, counting)
    parts, *_ = trainer("compiled", **DENSE, last_batch=last, compile="on")
    assert parts.compiled is True
    assert len(sizes) == 1
    before, after = state(eager), state(parts)
    assert all(torch.equal(after[name], before[name]) for name in before)


@pytest.mark.parametrize(
    ("kind", "epochs", "compile_", "tried"),
    [
        ("cuda", 1000, "auto", True),  # 5 batches an epoch: 5,000 steps
        ("cuda", 999, "auto", False),
        ("cuda", 1000, "off", False),
        ("cpu", 1000, "auto", False),
        ("cpu", 1, "on", True),
    ],
)
def test_automatic_compiles_long_trainings_on_a_gpu(kind, epochs, compile_, tried):
    config = from_json({**SMALL, "epochs": epochs, "compile": compile_})
    assert parts_module.compiles(config, torch.device(kind), 150) is tried


def in_a_process(tmp_path, **environment):
    config = from_json({**SMALL, "n_train": 64, "epochs": 1, "compile": "on"})
    folder = JobFolder.make(tmp_path / "job", config)
    own = {"CANDOR_HOME": str(tmp_path / "home"), "OMP_NUM_THREADS": "1"}
    kept = {k: v for k, v in os.environ.items() if not k.endswith("_CACHE_DIR")}
    command = [sys.executable, "-m", "core.training", str(folder.path)]
    done = subprocess.run(
        command, cwd=ROOT, env=kept | own | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return folder.result(), done.stdout


@pytest.mark.nightly
def test_a_machine_without_a_compiler_trains_and_says_so(tmp_path):
    (tmp_path / "bin").mkdir()
    result, log = in_a_process(tmp_path, PATH=str(tmp_path / "bin"))
    assert result["state"] == "succeeded"
    (notice,) = result["notices"]
    assert notice["code"] == "UNCOMPILED"
    assert "compiler" in notice["text"].lower().partition("slower:")[2]
    assert notice["text"][1:] in log
    manifest = next((tmp_path / "home").rglob("manifest.json"))
    assert "UNCOMPILED" in json.dumps(json.loads(manifest.read_text())["notices"])


@pytest.mark.soak
@pytest.mark.skipif(not shutil.which("g++"), reason="needs a C++ compiler")
def test_compiled_code_lies_below_the_home(tmp_path):
    result, _ = in_a_process(tmp_path)
    assert (result["state"], result["notices"]) == ("succeeded", [])
    assert list((tmp_path / "home/cache/torchinductor").rglob("*.so"))
