"""The benchmark beside other libraries: who is right, who counts, in what order; no speed."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.benchmarks.peers import __main__ as command
from tests.benchmarks.peers import table
from tests.benchmarks.peers.data import Data, make_logits
from tests.benchmarks.peers.rounds import Job, Rounds, in_process, in_turn
from tests.benchmarks.peers.worker import Cost, Measurement, from_json, measure, to_json
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


# Whose numbers are right --------------------------------------------------------------------------


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


# One process a measurement ------------------------------------------------------------------------


@pytest.mark.nightly
def test_a_process_measures_what_it_is_given():
    measured = in_process(sys.executable)(Job("ood", "60x2", "Candor"))
    assert measured.right
    assert measured == from_json(to_json(measured))


@pytest.mark.parametrize(
    ("printed", "reason"),
    [("Traceback\nImportError: no module", "ImportError: no module"), ("", "ended with 3")],
)
def test_a_tool_that_cannot_run_is_left_out_with_the_reason(tmp_path, printed, reason):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nprintf '{printed}' >&2\nexit 3\n")
    python.chmod(0o755)
    assert in_process(str(python))(Job("ood", "60x2", "absent")) == reason


def test_a_tool_that_exceeds_its_time_is_left_out(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nkill -XCPU $$\n")
    python.chmod(0o755)
    assert in_process(str(python))(Job("ood", "60x2", "slow")) == "over 150 s"


# Rounds -------------------------------------------------------------------------------------------


def recorded(outcomes):
    """A function that notes the jobs it is given and answers from a table."""
    calls = []

    def run(job):
        calls.append(job.tool)
        return outcomes.get(job.tool, result(1.0))

    return calls, run


def jobs(*tools):
    return [Job("ece", "S", tool) for tool in tools]


def test_tools_take_turns():
    calls, run = recorded({})
    results = in_turn([jobs("Candor", "a", "b")], run, most_rounds=2, seconds=60)
    assert calls == ["Candor", "a", "b", "Candor", "a", "b"]
    assert [len(r.measurements) for r in results.values()] == [2, 2, 2]


def test_slow_tools_and_failures_are_not_repeated():
    calls, run = recorded({"slow": result(121e3), "broken": "ImportError: no module"})
    results = in_turn([jobs("Candor", "slow", "broken")], run, most_rounds=3, seconds=60)
    assert calls == ["Candor", "slow", "broken", "Candor", "Candor"]
    assert results[Job("ece", "S", "broken")].failure == "ImportError: no module"


def test_the_last_group_is_repeated_first():
    calls, run = recorded({})
    in_turn([jobs("small"), jobs("large")], run, most_rounds=2, seconds=60)
    assert calls == ["small", "large", "large", "small"]


def test_a_group_is_repeated_whole_or_not_at_all():
    calls, run = recorded({})
    in_turn([jobs("Candor", "a")], run, most_rounds=3, seconds=0)
    assert calls == ["Candor", "a"]


# Tables -------------------------------------------------------------------------------------------


def test_the_least_of_all_rounds_counts():
    several = rounds(result(5.0, wall_ms=9.0, again_ms=2.0), result(6.0, wall_ms=7.0, again_ms=1.0))
    assert (several.cpu_ms, several.wall_ms, several.again_ms) == (5.0, 7.0, 1.0)


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
    assert "| none | | | | a wrong on this data" in line.replace("|  |", "| |").replace(
        "|  |", "| |"
    )
    (line,) = table.lines_of(WORKLOADS["ece"], {"Candor": wrong}, {"a": rounds(result(4.0))})
    assert "Candor wrong on this data" in line
    assert "4 (4)" not in line


def test_a_call_that_takes_long_is_marked():
    assert table.times(rounds(result(130e3))) == "130,000 (130,000, once)"


def test_every_line_has_the_cells_of_the_header():
    tools = WORKLOADS["ece"].tools
    results = {Job("ece", "S", tool): rounds(result(2.0)) for tool in tools}
    header, rule, *lines = table.size_table(results, "S")[2:-1]
    assert len(lines) == 1
    assert {line.count("|") for line in (header, rule, *lines)} == {10}


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_slope_is_the_power(power):
    sizes = [100, 1_000, 10_000]
    assert table.slope(sizes, [3 * n**power for n in sizes]) == pytest.approx(power)


def test_slopes_are_of_rows_and_of_classes():
    costs = {"100x10": 1.0, "200x10": 2.0, "400x10": 4.0, "100x40": 2.0}
    results = {Job("ece", size, "Candor"): rounds(result(ms)) for size, ms in costs.items()}
    in_rows = table.slope_line(results, "ece", 0, ["100x10", "200x10", "400x10"])
    assert "N at K = 10: 1.00 (ms at 100: 1, 200: 2, 400: 4)" in in_rows
    in_classes = table.slope_line(results, "ece", 1, ["100x10", "100x40"])
    assert "K at N = 100: 0.50 (ms at 10: 1, 40: 2)" in in_classes


def test_only_what_lies_between_the_markers_is_written(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(f"# Before\n\n{table.BEGIN}\nold\n{table.END}\n\nAfter\n")
    for _ in range(2):
        table.write_between(path, ["new", ""])
        assert path.read_text() == f"# Before\n\n{table.BEGIN}\n\nnew\n\n{table.END}\n\nAfter\n"
    path.write_text("no markers")
    with pytest.raises(SystemExit):
        table.write_between(path, ["new"])


def test_the_page_of_measurements_has_the_markers():
    text = command.REPORT.read_text("utf-8")
    assert text.count(table.BEGIN) == text.count(table.END) == 1
    assert text.index(table.BEGIN) < text.index(table.END)


def test_the_plan_has_every_tool_beside_candor():
    (ece, slopes, _) = command.plan(["S"], ["ece"], slopes=True)
    assert [job.tool for job in ece] == list(WORKLOADS["ece"].tools)
    assert {job.tool for job in slopes} == {"Candor"}
    assert {job.size for job in slopes} == {*command.IN_ROWS, *command.IN_CLASSES}


def test_a_workload_is_planned_at_its_sizes_only():
    groups = command.plan(["M", "XL"], ["grid", "ood"], slopes=False)
    assert [(group[0].workload, group[0].size) for group in groups] == [
        ("grid", "M"),
        ("ood", "XL"),
    ]
