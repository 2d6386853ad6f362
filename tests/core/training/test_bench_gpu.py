"""The command for a GPU: its stages on a CPU, and the page of its figures."""

import subprocess
import sys
from dataclasses import replace

import pytest

from tests.benchmarks.gpu import __main__ as command
from tests.benchmarks.gpu import stages
from tests.benchmarks.gpu.page import NOTHING, page
from tests.benchmarks.gpu.runner import (
    ROOT,
    module_command,
    run_stage,
    to_json,
)
from tests.benchmarks.gpu.sizes import ALLOWANCES, SIZES


def test_files_with_tests_for_a_gpu_are_known():
    names = {path.name for path in stages.marked_files()}
    assert {"test_devices.py", "test_base.py", "test_gradcam.py"} <= names


def test_the_cheapest_stage_runs_on_the_cpu():
    figures = stages.evaluation(replace(SIZES["small"], evaluated=8, batch=4))
    assert figures["images_per_second"] > 0
    assert figures["memory_mib"] is None


def test_docs_hold_the_page_of_the_figures_that_there_are():
    content = command.read(ROOT / "docs")
    assert (ROOT / "docs" / "gpu.md").read_text("utf-8") == page(content)
    if content is None:
        assert NOTHING in page(content)
    else:
        assert content["stages"]["machine"]["figures"]["gpu"]


# What no training needs; a machine that is lent has no registry to install it from.
ABSENT = ("pytorch_grad_cam", "pydicom", "submitit", "imagecodecs", "streamlit", "plotly")
HOOK = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""


@pytest.fixture
def without_packages(tmp_path, monkeypatch):
    """Let no process that starts from here import them."""
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


@pytest.mark.usefixtures("without_packages")
def test_what_all_tests_share_is_imported_without_them():
    subprocess.run([sys.executable, "-c", "import tests.conftest"], check=True)


@pytest.mark.soak
@pytest.mark.usefixtures("without_packages")
def test_the_whole_command_runs_without_them(tmp_path):
    content = command.measure(tmp_path / "build", tmp_path / "docs")
    states = {name: stage["state"] for name, stage in content["stages"].items()}
    assert states == dict.fromkeys(ALLOWANCES, "done") | {"heatmaps": "left out"}, content
    assert content["stages"]["tests"]["figures"]["left_out"] == {
        "tests.core.xray.test_gradcam": "pytorch_grad_cam"
    }


@pytest.mark.soak
@pytest.mark.parametrize("stage", ["tests", "heatmaps"])
def test_every_stage_runs_on_a_cpu(stage, tmp_path):
    result = run_stage(stage, module_command("small"), tmp_path, 600)
    assert (result.state, result.reason) == ("done", ""), (tmp_path / f"{stage}.log").read_text()
    content = {"seconds": 1.0, "stages": to_json({stage: result})}
    assert page(content).count("\n") > 5


@pytest.mark.soak
def test_the_page_is_written_anew_by_its_option():
    before = (ROOT / "docs" / "gpu.md").read_bytes()
    done = subprocess.run([sys.executable, "-m", "tests.benchmarks.gpu", "--page"], cwd=ROOT)
    assert done.returncode == 0
    assert (ROOT / "docs" / "gpu.md").read_bytes() == before
