"""The exported lines are run, with nothing but the standard library, and must agree."""

import ast
import builtins
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from core.calibrators import CALIBRATORS
from core.calibrators.stored import code, from_json, make
from core.errors import AuditError
from core.predictions import Task
from tests.core.calibrators.cases import drawn

METHODS = sorted(CALIBRATORS)
LONGEST = 20  # lines of all functions together
# Calibrators as files hold them, with the programs that commit 28e20864 exported of them.
EARLIER = json.loads((Path(__file__).parent / "exported_28e20864.json").read_text("utf-8"))
OF_MATRICES = {"matrix", "dirichlet"}


def executed(calibrator):
    """Run the produced source in an empty namespace and return what it defines."""
    found = {}
    exec(compile(code(calibrator), "exported", "exec"), found)
    return found


def odd_rows(n_classes):
    """Ties, saturation either way, a lone winner, a lone loser."""
    eye = np.eye(n_classes)
    tied = np.where(np.arange(n_classes) < n_classes - 1, 2.0, -3.0)
    return np.concatenate(
        [
            [np.zeros(n_classes), tied, np.linspace(-1e4, 1e4, n_classes)],
            eye[:2] * 1e4,
            eye[-1:] * -1e4,
            eye[:1] * 40.0,
            eye[:1] * 1e-9,
        ]
    )


def settings_of(name):
    """Settings worth a look, besides the default."""
    by_name = {
        "ts": [{"objective": "ece"}],
        "focal_map": [{"objective": "ece_em"}],
        "focal_ts": [{"objective": "ece"}, {"search": "paper"}],
        "ets": [{"objective": "brier"}],
        "histogram": [{"n_bins": 4}],
        "matrix": [{"penalty": 0.0}],
    }
    return [{}, *by_name.get(name, [])]


CASES = [(name, settings) for name in METHODS for settings in settings_of(name)]


@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3, 8])
def test_exported_lines_agree_with_the_calibrator(name, settings, n_classes):
    logits, labels = drawn(80, n_classes, scale=5.0, seed=n_classes)
    fitted = CALIBRATORS[name](**settings).fit(logits, labels)
    calibrate = executed(fitted)["calibrate"]
    for rows in (logits, odd_rows(n_classes), drawn(30, n_classes, scale=60.0, seed=1)[0]):
        found = [calibrate(row) for row in rows.tolist()]
        np.testing.assert_allclose(found, fitted.predict_proba(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("gamma", [-0.95, -0.3, 0.0, 0.7, 5.0, 10.0])
@pytest.mark.parametrize("temperature", [0.01, 1.0, 20.0])
def test_exported_focal_map_agrees_at_the_ends_of_its_range(gamma, temperature):
    fitted = CALIBRATORS["focal_ts"].from_parameters({"temperature": temperature, "gamma": gamma})
    calibrate = executed(fitted)["calibrate"]
    for n_classes in (2, 5):
        rows = np.concatenate([odd_rows(n_classes), drawn(40, n_classes, scale=9.0)[0]])
        found = [calibrate(row) for row in rows.tolist()]
        np.testing.assert_allclose(found, fitted.predict_proba(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_exported_lines_take_a_binary_logit_as_zero_and_itself(name):
    logits, labels = drawn(60, 2, scale=4.0)
    single = logits[:, 1] - logits[:, 0]
    fitted = CALIBRATORS[name]().fit(single, labels)
    calibrate = executed(fitted)["calibrate"]
    found = [calibrate([0.0, s]) for s in single.tolist()]
    np.testing.assert_allclose(found, fitted.predict_proba(single), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "name", [name for name in METHODS if Task.MULTILABEL in CALIBRATORS[name].tasks]
)
def test_exported_lines_of_many_labels_agree(name):
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(90, 3)) * 4.0
    labels = (rng.random((90, 3)) < 1.0 / (1.0 + np.exp(-logits / 2.0))).astype(np.int64)
    labels[:, 1] = 0  # is left as it is
    fitted = make(name, Task.MULTILABEL).fit(logits, labels)
    calibrate = executed(fitted)["calibrate_labels"]
    rows = np.concatenate([logits, odd_rows(3)])
    found = [calibrate(row) for row in rows.tolist()]
    np.testing.assert_allclose(found, fitted.predict_proba(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_exported_lines_are_few_short_and_need_nothing_installed(name):
    fitted = CALIBRATORS[name]().fit(*drawn(60, 3))
    source = code(fitted)
    tree = ast.parse(source)
    imported = {a.name for node in tree.body if isinstance(node, ast.Import) for a in node.names}
    assert imported <= {"math", "bisect"}
    assert imported <= sys.stdlib_module_names
    lines = [line for line in source.splitlines() if not line.startswith("PARAMETERS")]
    assert max(map(len, lines)) <= 100
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    bodies = sum(len(ast.unparse(node).splitlines()) for node in functions)
    assert bodies <= LONGEST
    assert ast.get_docstring(functions[-1]).startswith(fitted.label)


@pytest.mark.parametrize("task", [Task.MULTICLASS, Task.MULTILABEL])
def test_nothing_is_exported_before_the_fit(task):
    with pytest.raises(AuditError, match="NOT_FITTED"):
        code(make("ts", task))


@pytest.mark.parametrize("name", EARLIER)
def test_exported_programs_of_an_earlier_version_stay_valid(name):
    rows = np.concatenate([drawn(20, 3, scale=5.0, seed=3)[0], odd_rows(3)])
    earlier = {}
    exec(compile(EARLIER[name]["program"], "earlier", "exec"), earlier)
    restored = from_json(EARLIER[name]["calibrator"])
    today = executed(restored)
    parameters = today["PARAMETERS"]
    if name in ("vector", "matrix"):  # whether logits are centred is said since
        assert parameters[2] is False
        parameters = parameters[:2]
    assert parameters == earlier["PARAMETERS"]
    for program in (earlier, today):
        values = [program["calibrate"](row) for row in rows.tolist()]
        np.testing.assert_allclose(values, restored.predict_proba(rows), rtol=0, atol=1e-12)


def walked(source, row):
    """Return how many numbers the program's sums, maxima and slices pass, for one row."""
    passed = 0

    class Row(list):
        def __getitem__(self, key):
            nonlocal passed
            items = super().__getitem__(key)
            passed += len(items) if isinstance(key, slice) else 1
            return items

    def counted(function):
        def call(values, *rest):
            nonlocal passed
            values = list(values)
            passed += len(values)
            return function(values, *rest)

        return call

    def largest(*values):  # of two numbers, it walks over nothing
        return max(*values) if len(values) > 1 else counted(max)(*values)

    names = {"sum": counted(sum), "any": counted(any), "max": largest}
    program = {"__builtins__": vars(builtins) | names}
    exec(compile(source, "exported", "exec"), program)
    program["calibrate"](Row(row))
    return passed


@pytest.mark.parametrize("name", sorted(set(METHODS) - OF_MATRICES))
def test_exported_lines_walk_over_the_classes_a_fixed_number_of_times(name):
    passed = []
    for n_classes in (40, 80):
        logits, labels = drawn(200, n_classes, scale=5.0)
        passed.append(walked(code(CALIBRATORS[name]().fit(logits, labels)), logits[0].tolist()))
    assert 0 < passed[1] <= 2.5 * passed[0]
