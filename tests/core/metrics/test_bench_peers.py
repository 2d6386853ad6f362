"""The benchmark beside other libraries: who is right."""

from dataclasses import replace

import numpy as np
import pytest

from tests.benchmarks.peers import __main__ as command
from tests.benchmarks.peers import table
from tests.benchmarks.peers.data import Data, make_logits
from tests.benchmarks.peers.worker import measure
from tests.benchmarks.peers.workloads import WORKLOADS

ROWS, CLASSES = 400, 5
INSTALLED = ("Candor", "scipy", "scikit-learn")  # what the application itself needs
TOOLS = [
    (name, tool)
    for name, workload in WORKLOADS.items()
    for tool in workload.tools
    if tool.startswith(INSTALLED)
]


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


def test_the_page_of_measurements_has_the_markers():
    text = command.REPORT.read_text("utf-8")
    assert text.count(table.BEGIN) == text.count(table.END) == 1
    assert text.index(table.BEGIN) < text.index(table.END)
