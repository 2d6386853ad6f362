"""The command for a GPU: stages that fail, time that is up, the page, and its CPU form."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.bench_training import EngineRun
from tests.benchmarks.gpu import __main__ as command
from tests.benchmarks.gpu import stages
from tests.benchmarks.gpu.page import NOTHING, WORDS, failures, page
from tests.benchmarks.gpu.runner import (
    ROOT,
    StageResult,
    from_json,
    module_command,
    run_stage,
    run_stages,
    to_json,
)
from tests.benchmarks.gpu.sizes import ALLOWANCES, SIZES, TOTAL_S

WRITES = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text({!r})"
GOOD = json.dumps({"figures": {"rate": 2.0}, "reason": ""})


def python(code):
    """A stage that is a line of Python."""
    return lambda _, path: [sys.executable, "-c", code, str(path)]


# Stages -------------------------------------------------------------------------------------------


def test_every_stage_has_its_time_its_words_and_its_function():
    assert set(ALLOWANCES) == set(stages.STAGES) == set(WORDS)
    assert sum(ALLOWANCES.values()) <= TOTAL_S == 9 * 60
    assert ALLOWANCES["compiled"] > SIZES["full"].compiled_s
    assert SIZES["full"].patience == 1
    for size in SIZES.values():
        assert size.patience * ALLOWANCES["memory"] > size.job_s


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import sys; sys.exit(3)", "Its process ended with exit code 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "It crashed (SIGSEGV)"),
        ("raise ValueError('two is not three')", "ValueError: two is not three"),
        (
            "class OutOfMemoryError(RuntimeError): pass\nraise OutOfMemoryError('CUDA')",
            "The GPU's memory ran out (OutOfMemoryError: CUDA)",
        ),
        ("", "Its process ended with exit code 0"),
    ],
)
def test_a_stage_that_fails_says_why(code, reason, tmp_path):
    result = run_stage("plain", python(code), tmp_path, 60)
    assert (result.state, result.reason, result.figures) == ("failed", reason, {})


def test_a_stage_beyond_its_time_is_ended_with_its_children(tmp_path):
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', {!r}, sys.argv[1]])"
    late = f"import time; time.sleep(1.5); {WRITES.format(GOOD)}"
    result = run_stage("plain", python(child.format(late)), tmp_path, 0.5)
    assert (result.state, result.reason) == ("failed", "it was not done after 0 s")
    time.sleep(2.0)
    assert not (tmp_path / "plain.json").exists()


def test_figures_of_before_are_not_those_of_a_stage_that_wrote_none(tmp_path):
    assert run_stage("plain", python(WRITES.format(GOOD)), tmp_path, 60).figures == {"rate": 2.0}
    assert run_stage("plain", python(""), tmp_path, 60).state == "failed"


def test_a_stage_may_have_figures_and_fail(tmp_path):
    content = json.dumps({"figures": {"failed": {"a": "b"}}, "reason": "1 failed"})
    result = run_stage("tests", python(WRITES.format(content)), tmp_path, 60)
    assert (result.state, result.reason) == ("failed", "1 failed")
    assert result.figures == {"failed": {"a": "b"}}


def test_after_a_failure_the_others_go_on_until_the_time_is_up(tmp_path):
    codes = {"plain": "import sys; sys.exit(1)", "nccl": WRITES.format(GOOD), "memory": ""}

    def chosen(stage, path):
        return [sys.executable, "-c", codes[stage], str(path)]

    seen = {}
    end = time.monotonic() + 600
    allowances = dict.fromkeys(codes, 60)
    run_stages(allowances, chosen, tmp_path, deadline=end, on_result=seen.__setitem__)
    assert [result.state for result in seen.values()] == ["failed", "done", "failed"]
    past = time.monotonic()
    run_stages({"memory": 60}, chosen, tmp_path, deadline=past, on_result=seen.__setitem__)
    assert seen["memory"] == StageResult("left out", 0.0, "no time was left")


def test_results_are_kept_as_json():
    results = {"plain": StageResult("failed", 1.5, "why", {"rate": 2.0})}
    assert from_json(json.loads(json.dumps(to_json(results)))) == results


# What the stages measure ----------------------------------------------------------------------


def test_files_with_tests_for_a_gpu_are_known():
    names = {path.name for path in stages.marked_files()}
    assert {"test_devices.py", "test_base.py", "test_gradcam.py"} <= names


def test_a_report_of_tests_is_counted():
    report = """<testsuites><testsuite>
    <testcase classname="a" name="one"/>
    <testcase classname="a" name="two"><skipped message="no GPU"/></testcase>
    <testcase classname="b" name="three"><failure message="assert 1 == 2&#10;more"/></testcase>
    <testcase classname="b" name="four"><error message="gone"/></testcase>
    <testcase classname="" name="tests.c"><error message="collection failure">x.py:1: in x
E   ModuleNotFoundError: No module named 'plotly'</error></testcase>
    </testsuite></testsuites>"""
    failed = {"b.three": "assert 1 == 2", "b.four": "gone"}
    counts = {"passed": 1, "skipped": 1, "failed": failed, "left_out": {"tests.c": "plotly"}}
    assert stages.read_report(report) == counts


@pytest.mark.parametrize(
    ("device", "case", "code", "reason"),
    [
        ("cuda", "", 0, ""),
        ("cpu", "<skipped/>", 0, ""),
        ("cuda", "<skipped/>", 0, "no test ran on the GPU"),
        ("cuda", None, 5, "pytest ended with exit code 5"),
        ("cpu", "", 3, "pytest ended with exit code 3"),
        ("cpu", '<failure message="no"/>', 1, "1 failed"),
    ],
)
def test_the_stage_of_tests_fails_where_none_ran(monkeypatch, device, case, code, reason):
    cases = "" if case is None else f'<testcase classname="a" name="b">{case}</testcase>'

    def run(command, **_):
        report = next(word for word in command if word.startswith("--junitxml=")).partition("=")[2]
        Path(report).write_text(f"<testsuite>{cases}</testsuite>")
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(subprocess, "run", run)
    size = replace(SIZES["small"], device=device)
    if reason:
        with pytest.raises(stages.Missed, match=reason):
            stages.gpu_tests(size)
    else:
        assert stages.gpu_tests(size)["failed"] == {}


def test_the_cheapest_stage_runs_on_the_cpu():
    figures = stages.evaluation(replace(SIZES["small"], evaluated=8, batch=4))
    assert figures["images_per_second"] > 0
    assert figures["memory_mib"] is None


def test_adafocals_share_is_that_of_the_epoch(monkeypatch):
    """256 images are 2 steps; an epoch of 0.5 s, an update of 0.125 s, 3 ms a step over 1 ms."""
    run = EngineRun(
        epochs_s=[1.0, 0.5], cost=None, update_s=0.125, evaluation_s=0.25, compiled=True
    )
    monkeypatch.setattr(stages, "loss_ms", lambda name, _: {"adafocal": 3.0, "ce": 1.0}[name])
    figures = stages.engine_figures(run, replace(SIZES["small"], images=256, validation=50))
    assert figures["images_per_second"] == 512
    assert figures["update_share"] == pytest.approx(0.2)
    assert figures["loss_share"] == pytest.approx(2 * 0.002 / 0.5)
    assert figures["evaluation_images_per_second"] == 200


# The page -----------------------------------------------------------------------------------------

LOOP = {
    "epochs_s": [9.0, 4.5], "memory_mib": 2048.0, "compiled": False,
    "update_share": 0.001, "loss_share": 0.002,
}  # fmt: skip
CONTENT: dict[str, Any] = {
    "seconds": 431.6,
    "stages": to_json(
        {
            "machine": StageResult(
                "done", 9.0, "", {"gpu": "GPU X", "memory_mib": 81559.4, "cores": 16,
                                  "python": "3.11.7", "torch": "2.15.0", "cuda": "13.2"}),
            "tests": StageResult(
                "failed", 40.0, "1 failed",
                {"passed": 5, "skipped": 0, "failed": {"t.a": "a | b"},
                 "left_out": {"t.b": "plotly"}}),
            "plain": StageResult(
                "done", 30.0, "",
                {"images_per_second": 5000.0, "epochs_s": [9.5, 9.0], "memory_mib": 4096.0,
                 "tf32": True}),
            "bfloat16": StageResult("done", 20.0, "", {"images_per_second": 15000.0, **LOOP}),
            "compiled": StageResult("failed", 105.0, "it was not done after 105 s"),
            "evaluation": StageResult(
                "done", 9.0, "", {"images_per_second": 40000.0, "memory_mib": 900.0}),
            "heatmaps": StageResult(
                "done", 9.0, "", {"films_per_second": 300.0, "films_per_second_of_all": 60.25,
                                  "memory_mib": 1500.0}),
            "nccl": StageResult("done", 9.0, "", {"backend": "nccl", "largest_difference": 0.0}),
            "memory": StageResult(
                "done", 9.0, "", {"state": "failed", "code": "DEVICE_MEMORY",
                                  "what": "The GPU's memory ran out", "remedy": "halve it"}),
        }
    ),
}  # fmt: skip


def test_the_page_holds_what_was_measured_and_what_failed():
    text = page(CONTENT)
    assert NOTHING not in text
    for line in (
        "GPU X (81,559 MiB); 16 cores; Python 3.11.7, torch 2.15.0, CUDA 13.2. "
        "All stages together took 432 s.",
        "| every test marked `gpu` | failed | 40 | 1 failed |",
        "| engine, bfloat16, compiled | failed | 105 | it was not done after 105 s |",
        "| public recipe, float32, read and augmented on the CPU | 5,000 | 1.00 | 9.50 | 9.00 "
        "| 4,096 | – | – |",
        "| engine, bfloat16 | 15,000 | 3.00 | 9.00 | 4.50 | 2,048 | 0.30 | no |",
        "| Grad-CAM, DenseNet-121, films of 224 x 224, 14 findings | 60.2 films/s | 1,500 |",
        "5 passed, 1 failed, 0 skipped.",
        "- `t.a`: a \\| b",
        "- `t.b`: plotly is not installed",
    ):
        assert f"{line}\n" in text
    assert "`DEVICE_MEMORY`: “The GPU's memory ran out”" in text
    assert failures(CONTENT) == ["tests: 1 failed", "compiled: it was not done after 105 s"]


def test_figures_without_the_plain_loop_have_no_ratio():
    stages_ = {key: value for key, value in CONTENT["stages"].items() if key == "bfloat16"}
    assert "| engine, bfloat16 | 15,000 | – | 9.00 |" in page({"seconds": 1.0, "stages": stages_})


def test_docs_hold_the_page_of_the_figures_that_there_are():
    content = command.read(ROOT / "docs")
    assert (ROOT / "docs" / "gpu.md").read_text("utf-8") == page(content)
    if content is None:
        assert NOTHING in page(content)
    else:
        assert content["stages"]["machine"]["figures"]["gpu"]


# All of it ----------------------------------------------------------------------------------------


def test_without_a_gpu_it_says_so_and_leaves_the_docs_alone(monkeypatch, tmp_path, capsys):
    """Which size is run and into which folder; stages and machine are lines of Python."""
    sizes = []

    def some(size):
        sizes.append(size)
        values = {"gpu": None, "backend": "gloo", "largest_difference": 0.0}
        figures = {"figures": values, "reason": ""}
        return python(WRITES.format(json.dumps(figures)))

    monkeypatch.setattr(command, "module_command", some)
    monkeypatch.setattr(command, "ALLOWANCES", {"machine": 60, "nccl": 60})
    content = command.measure(tmp_path / "build", tmp_path / "docs")
    assert sizes == ["full", "small"]
    assert list(content["stages"]) == ["machine", "nccl"]
    assert not (tmp_path / "docs").exists()
    assert (tmp_path / "build" / "gpu.md").exists()
    assert capsys.readouterr().out.startswith("There is no GPU here")


def test_with_a_gpu_the_page_is_written(monkeypatch, tmp_path):
    figures = {"figures": {"gpu": "GPU X", "memory_mib": 1.0}, "reason": ""}
    sizes = []

    def some(size):
        sizes.append(size)
        return python(WRITES.format(json.dumps(figures)))

    monkeypatch.setattr(command, "module_command", some)
    monkeypatch.setattr(command, "ALLOWANCES", {"machine": 60})
    content = command.measure(tmp_path / "build", tmp_path / "docs")
    assert sizes == ["full", "full"]
    assert command.read(tmp_path / "docs") == content
    assert "GPU X" in (tmp_path / "docs" / "gpu.md").read_text("utf-8")


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


@pytest.mark.nightly
@pytest.mark.usefixtures("without_packages")
@pytest.mark.parametrize(
    ("stage", "state", "reason"),
    [
        ("heatmaps", "left out", "pytorch_grad_cam is not installed"),
        ("bfloat16", "done", ""),
    ],
)
def test_a_stage_says_which_package_it_lacks(stage, state, reason, tmp_path):
    result = run_stage(stage, module_command("small"), tmp_path, 300)
    assert (result.state, result.reason) == (state, reason)
    assert bool(result.figures) == (state == "done")
    assert failures({"stages": to_json({stage: result})}) == []


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
