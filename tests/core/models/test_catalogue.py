"""The catalogue of networks: complete, checked by form, and free of torch."""

import subprocess
import sys

import pytest

from core.errors import UsageError
from core.models.catalogue import MODELS, checked_model

NAMES = [
    *("resnet50_cifar", "resnet110_cifar", "wrn_26_10_cifar", "densenet121_cifar"),
    "small_cnn",
]


def test_names_are_those_of_the_command_line():
    assert list(MODELS) == NAMES


def test_catalogue_loads_without_torch():
    code = "import sys, core.models.catalogue; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", NAMES)
def test_entries_say_all_that_a_form_needs(name):
    entry = MODELS[name]
    assert entry.label
    assert entry.source
    assert entry.plain.endswith(".")
    assert checked_model(name) == name


@pytest.mark.parametrize("name", ["", "small-cnn", "SMALL_CNN", None, 3, ["small_cnn"]])
def test_unknown_names_are_refused_with_the_known_ones(name):
    with pytest.raises(UsageError, match=r"SETTING: model .* use one of .*small_cnn"):
        checked_model(name)
