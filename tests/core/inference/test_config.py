"""EvaluationConfig: strict JSON that gives an equal config back, and what is refused."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.datasets.catalogue import DATASETS
from core.datasets.shifts import OutsideSet
from core.errors import UsageError
from core.inference.config import (
    MOMENTS,
    EvaluationConfig,
    Preprocessing,
    WeightsSource,
    first_size,
    from_json,
    native_size,
)

MEAN, STD = MOMENTS["imagenet"]
BASE = EvaluationConfig(
    model="timm:resnet18",
    n_outputs=10,
    channels=3,
    weights=WeightsSource("net.pt", "0f" * 16, "state_dict", "abcabcabcabc"),
    preprocessing=Preprocessing((224, 224), MEAN, STD, 0.875, cover=True),
    data="cifar10",
)
SETS = st.lists(
    st.builds(
        OutsideSet,
        kind=st.just("corrupted"),
        corruption=st.sampled_from(["fog", "contrast", "frost_procedural"]),
        severity=st.integers(1, 5),
        seed=st.integers(0, 9),
    ),
    max_size=4,
    unique_by=lambda one: one.name,
)


@given(
    SETS,
    st.sampled_from(["", "my own"]),
    st.none() | st.integers(1, 10**6),
    st.permutations(["train", "val", "test"]).map(lambda names: tuple(names[:2])),
    st.sampled_from(["auto", "cpu", "cuda"]),
)
def test_json_text_gives_an_equal_config_back(sets, name, limit, splits, device):
    config = replace(BASE, sets=tuple(sets), name=name, limit=limit, splits=splits, device=device)
    assert from_json(json.loads(json.dumps(config.to_json()))) == config


WRONG = [
    {"model": "resnet"},
    {"data": "mnist"},
    {"data": "folder"},
    {"n_outputs": 0},
    {"channels": 5},
    {"channels": 1},  # three numbers of mean
    {"batch_size": 0},
    {"limit": 0},
    {"splits": []},
    {"splits": ["dev"]},
    {"splits": ["test", "test"]},
    {"splits": [1]},
    {"device": "tpu"},
    {"name": " "},
    {"data_root": "a\0b"},
    {"sets": [{"kind": "corrupted", "corruption": "fog", "severity": 1}] * 2},
    {"sets": [{"kind": "corrupted", "corruption": "frost", "severity": 1}]},
    {"weights": {"file": "a"}},
    {"weights": {"digest": "a", "path": "/etc/passwd"}},
    {"preprocessing": {}},
    {"batch_size": True},
    {"limit": "3"},
    {"stall": 3},
    {"temperature": 0},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_what_is_out_of_range_or_of_another_type_is_refused(wrong):
    with pytest.raises(UsageError, match="SETTING"):
        from_json(BASE.to_json() | wrong)


def test_the_name_of_the_weights_file_may_be_left_out():
    data = BASE.to_json() | {"weights": {"digest": "0f", "group": "ema"}}
    assert from_json(data).weights == WeightsSource("", "0f", "ema")


@pytest.mark.parametrize("missing", ["model", "weights", "preprocessing", "data", "n_outputs"])
def test_what_is_missing_is_named(missing):
    data = BASE.to_json()
    del data[missing]
    with pytest.raises(UsageError, match=missing):
        from_json(data)


def test_what_decides_the_numbers_is_in_the_digest_and_nothing_else():
    for same in ({"name": "x"}, {"batch_size": 3}, {"device": "cpu"}, {"data_root": "/a"},
                 {"keep_implausible": True}, {"changed_files": True}):  # fmt: skip
        assert replace(BASE, **same).digest == BASE.digest
    for other in (
        {"weights": replace(BASE.weights, digest="aa")},
        {"weights": replace(BASE.weights, group="ema")},
        {"preprocessing": replace(BASE.preprocessing, crop=1.0)},
        {"limit": 9},
        {"split_seed": 1},
        {"temperature": 1.5},
        {"sets": (OutsideSet("svhn"),)},
    ):
        assert replace(BASE, **other).digest != BASE.digest


OWN = (224, 224)
RESNET, VIT = "torchvision:resnet18", "timm:vit_base_patch16_224.augreg_in1k"


@pytest.mark.parametrize(
    ("model", "data", "more", "size"),
    [
        (RESNET, "cifar10", {}, (32, 32)),
        (RESNET, "tiny_imagenet", {}, (64, 64)),
        (RESNET, "folder", {}, OWN),
        (RESNET, "phantom", {}, OWN),
        (RESNET, "cifar10", {"stated": 96}, (96, 96)),
        (RESNET, "cifar10", {"trained_here": True}, OWN),
        (VIT, "cifar10", {}, OWN),
        (VIT, "cifar10", {"stated": 96}, OWN),
        ("resnet50_cifar", "cifar10", {}, (32, 32)),
        ("resnet50_cifar", "folder", {}, (32, 32)),
        ("resnet50_cifar", "folder", {"trained_here": True}, OWN),
        ("small_cnn", "folder", {}, OWN),
    ],
)
def test_images_are_first_shown_as_the_data_have_them_where_the_network_allows_it(
    model, data, more, size
):
    assert first_size(model, OWN, data, **more) == size


def test_every_data_set_has_a_size():
    assert native_size("digits") == (8, 8)
    assert native_size("cifar10") == (32, 32)
    assert all(native_size(name)[0] >= 8 for name in DATASETS)
