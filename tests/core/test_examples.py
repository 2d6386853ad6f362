"""The examples in docstrings of numbers are true; worked out by hand, as their comments say."""

import doctest
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

from core import calibrators, losses, metrics, ood
from core.metrics import METRICS

MODULES = [
    module.name
    for room in (metrics, calibrators, ood, losses)
    for module in walk_packages(room.__path__, f"{room.__name__}.")
    if not module.ispkg
]
WITHOUT = {"core.metrics.macro"}  # whose numbers take an audit of several classes
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name: str) -> None:
    tried = doctest.testmod(import_module(name))
    assert tried.failed == 0
    assert (tried.attempted > 0) == (name not in WITHOUT)


def test_no_example_stands_outside_the_modules_that_are_run() -> None:
    run = {ROOT / f"{name.replace('.', '/')}.py" for name in MODULES}
    files = [file for room in ("core", "pages") for file in (ROOT / room).rglob("*.py")]
    assert run < set(files)
    assert [file for file in files if file not in run and ">>> " in file.read_text("utf-8")] == []


@pytest.mark.parametrize("metric", METRICS)
def test_a_metric_has_an_example(metric: str) -> None:
    assert ">>> " in (METRICS[metric].function.__doc__ or "")
