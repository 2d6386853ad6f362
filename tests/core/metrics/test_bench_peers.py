"""The benchmark beside other libraries: who is right, and what its tables say."""

from dataclasses import replace

import numpy as np
import pytest

from tests.benchmarks.peers import __main__ as command
from tests.benchmarks.peers import table
from tests.benchmarks.peers.data import Data, make_logits
from tests.benchmarks.peers.rounds import Rounds
from tests.benchmarks.peers.worker import Cost, Measurement, measure
from tests.benchmarks.peers.workloads import WORKLOADS

ROWS, CLASSES = 400, 5
INSTALLED = ("Candor", "scipy", "scikit-learn")  # what the application itself needs
TOOLS = [
    (name, tool)
    for name, workload in WORKLOADS.items()
    for tool in workload.tools
    if tool.startswith(INSTALLED)
]


def result(cpu_ms, *, wall_ms=None, right=True, again_ms=None):
    return Measurement(
        first=Cost(wall_ms or cpu_ms, cpu_ms),
        again=None if again_ms is None else Cost(again_ms, again_ms),
        extra_mib=3.0,
        values={"ece": 0.25 if right else 0.5},
        reference={"ece": 0.25},
        right=right,
    )


def rounds(*measurements, failure=""):
    return Rounds(list(measurements), failure)


@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_tools_that_are_always_installed_agree_with_candor(name, tool):
    workload = WORKLOADS[name]
    measured = measure(workload, tool, workload.make(ROWS, CLASSES), enough_s=0.0)
    assert measured.right, (measured.values, measured.reference)
    assert measured.values.keys() == measured.reference.keys()
    assert (measured.again is not None) == (tool in workload.candor and bool(workload.opened))


@pytest.mark.parametrize(("off", "right"), [(0.5e-4, True), (2e-4, False), (float("nan"), False)])
def test_a_peer_that_is_off_by_more_than_the_tolerance_is_wrong(off, right):
    ece = WORKLOADS["ece"]
    workload = replace(ece, peers={"shifted": lambda data: {"ece": exact(data) + off}})
    measured = measure(workload, "shifted", make_logits(ROWS, CLASSES), enough_s=0.0)
    assert measured.right is right


def exact(data):
    return WORKLOADS["ece"].candor["Candor"](data.exact().predictions())["ece"]


def test_the_reference_is_of_the_same_logits_in_float64():
    data = Data(np.array([[1.0, 0.0], [0.0, 3.0]], dtype=np.float32), np.array([0, 0]))
    p = [np.e / (1 + np.e), np.e**3 / (1 + np.e**3)]
    measured = measure(WORKLOADS["ece"], "Candor", data, enough_s=0.0)
    assert measured.reference["ece"] == pytest.approx(((1 - p[0]) + p[1]) / 2, abs=1e-15)


def test_the_ratio_is_to_the_best_peer_that_is_right():
    peers = {
        "wrong": rounds(result(1.0, right=False)),
        "once wrong": rounds(result(1.0), result(1.0, right=False)),
        "broken": rounds(failure="ImportError: no module"),
        "slower": rounds(result(30.0)),
        "best": rounds(result(12.0), result(35.0, wall_ms=10.0)),
    }
    assert table.best_peer(peers) == "best"
    (line,) = table.lines_of(WORKLOADS["ece"], {"Candor": rounds(result(4.0, again_ms=1))}, peers)
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1:8] == ["4 (4)", "1", "3", "best", "10 (12)", "3", "2.5"]
    assert cells[8] == (
        "wrong wrong on this data: ece 0.500000, not 0.250000; "
        "once wrong wrong on this data: ece 0.500000, not 0.250000; "
        "broken left out: ImportError: no module; slower 30 (30)"
    )


def test_there_is_no_ratio_without_a_right_peer_or_when_candor_is_wrong():
    wrong = rounds(result(1.0, right=False))
    (line,) = table.lines_of(WORKLOADS["ece"], {"Candor": rounds(result(4.0))}, {"a": wrong})
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[4:8] == ["none", "", "", ""]
    assert cells[8].startswith("a wrong on this data")
    (line,) = table.lines_of(WORKLOADS["ece"], {"Candor": wrong}, {"a": rounds(result(4.0))})
    assert "Candor wrong on this data" in line
    assert "4 (4)" not in line


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_slope_is_the_power(power):
    sizes = [100, 1_000, 10_000]
    assert table.slope(sizes, [3 * n**power for n in sizes]) == pytest.approx(power)


def test_the_page_of_measurements_has_the_markers():
    text = command.REPORT.read_text("utf-8")
    assert text.count(table.BEGIN) == text.count(table.END) == 1
    assert text.index(table.BEGIN) < text.index(table.END)
