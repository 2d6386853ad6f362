"""The catalogue of networks: complete, checked by form, and free of torch."""

import subprocess
import sys

import pytest

from core.errors import UsageError
from core.models.catalogue import MODELS, checked_model

NAMES = [
    *("resnet50_cifar", "resnet110_cifar", "resnet110_released", "resnet50_tiny_imagenet"),
    *("wrn_26_10_cifar", "densenet121_cifar"),
    "densenet_small",
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


@pytest.mark.parametrize(
    "name",
    ["timm:resnet50", "timm:vit_base_patch16_224.augreg_in1k", "torchvision:vit_b_16", "timm:none"],
)
def test_names_of_timm_and_torchvision_are_checked_by_form(name):
    assert checked_model(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", "small-cnn", "SMALL_CNN", "small_cnn ", None, 3, ["small_cnn"], "resnet50"),
        *(
            "timm:",
            "timm",
            "timm:hf-hub:timm/resnet50",
            "timm:../x",
            "timm:a.b.c",
            "timm:resnet50\n",
        ),
        *("torchvision:resnet50.tag", "torchvision:", "torch:resnet50", "xtimm:resnet50"),
    ],
)
def test_unknown_names_are_refused_with_the_known_ones(name):
    with pytest.raises(UsageError, match="SETTING: Model ") as caught:
        checked_model(name)
    assert caught.value.what == f"Model {name!r} is unknown"
    known = ", ".join([*NAMES, "timm:NAME", "torchvision:NAME"])
    assert caught.value.remedy == f"use one of {known}"
