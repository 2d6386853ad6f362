"""The examples in docstrings of numbers are true; worked out by hand, as their comments say."""

import doctest
from importlib import import_module
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


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name: str) -> None:
    tried = doctest.testmod(import_module(name))
    assert tried.failed == 0
    assert (tried.attempted > 0) == (name not in WITHOUT)


@pytest.mark.parametrize("metric", METRICS)
def test_a_metric_has_an_example(metric: str) -> None:
    assert ">>> " in (METRICS[metric].function.__doc__ or "")
