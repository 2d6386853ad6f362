"""A network that fits no name: the script that writes its predictions; programs are not run."""

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from core.errors import Refused

SCRIPT = Path(__file__).parents[3] / "assets" / "predict_to_file.py"


def test_the_script_writes_predictions_that_are_read(torch, tmp_path, monkeypatch):
    from core.readers.sandbox.read import read

    torch.manual_seed(0)
    network = torch.nn.Linear(5, 3).eval()
    parts = {name: torch.randn(n, 5) for name, n in (("val", 20), ("test", 30))}
    loaders = {
        f"{name}_loader": [(some, torch.arange(len(some)) % 3) for some in images.split(8)]
        for name, images in parts.items()
    }
    monkeypatch.setitem(sys.modules, "my_project", SimpleNamespace(network=network, **loaders))
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(SCRIPT), run_name="__main__")
    with torch.inference_mode():
        wanted = network(parts["test"]).numpy()
    loaded = read(tmp_path / "predictions.npz")
    assert {name: part.n for name, part in loaded.splits.items()} == {"val": 20, "test": 30}
    np.testing.assert_allclose(loaded.splits["test"].scores, wanted, rtol=1e-5, atol=1e-6)
    labels = [k % 3 for n in (8, 8, 8, 6) for k in range(n)]
    np.testing.assert_array_equal(loaded.splits["test"].labels, labels)


def test_a_program_of_torch_export_is_named_and_not_loaded(torch, parsed, tmp_path):
    program = torch.export.export(torch.nn.Linear(5, 3), (torch.zeros(2, 5),))
    torch.export.save(program, tmp_path / "net.pt2")
    with pytest.raises(Refused, match=r"a program of torch\.export") as caught:
        parsed((tmp_path / "net.pt2").read_bytes(), "net.pt2")
    assert caught.value.code == "FORMAT_UNKNOWN"
    assert "predict_to_file.py" in caught.value.remedy
    assert "torch.onnx.export" in caught.value.remedy
