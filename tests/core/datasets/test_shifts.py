"""Names, roles and plain JSON of outside sets."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from core import codec
from core.datasets.shifts import CORRUPTIONS, OFFICIAL, OWN, SEVERITIES, OutsideSet, parse_name
from core.errors import UsageError
from core.library.manifest import SPLIT_NAME

# The files of CIFAR-10-C.tar on zenodo.org/records/2535967, but labels.npy.
FILES = [
    *("brightness", "contrast", "defocus_blur", "elastic_transform"),
    *("fog", "frost", "gaussian_blur", "gaussian_noise"),
    *("glass_blur", "impulse_noise", "jpeg_compression", "motion_blur"),
    *("pixelate", "saturate", "shot_noise", "snow"),
    *("spatter", "speckle_noise", "zoom_blur"),
]
EVERY = [
    OutsideSet("svhn"),
    *(OutsideSet("cifar10c", corruption=name, severity=s) for name in OFFICIAL for s in SEVERITIES),
    *(OutsideSet("corrupted", corruption=name, severity=s) for name in OWN for s in SEVERITIES),
    OutsideSet("folder", root="textures"),
]


def test_the_nineteen_of_cifar10c_and_our_own_frost() -> None:
    assert sorted(OFFICIAL) == FILES
    assert set(CORRUPTIONS) - set(OFFICIAL) == {"frost_procedural"}
    assert set(CORRUPTIONS) - set(OWN) == {"frost"}
    assert CORRUPTIONS["frost_procedural"].label == "Frost (procedural)"
    assert {one.group for one in CORRUPTIONS.values()} == {"noise", "blur", "weather", "digital"}


def test_each_name_is_a_split_of_its_own_and_says_which_set_it_is() -> None:
    names = [one.name for one in EVERY]
    assert len(set(names)) == len(EVERY)
    assert all(SPLIT_NAME.fullmatch(name) for name in names)
    assert [parse_name(name) for name in names] == EVERY


@pytest.mark.parametrize(
    ("wanted", "name", "role", "label"),
    [
        (OutsideSet("svhn", root="/data"), "svhn", "ood", "SVHN"),
        (
            OutsideSet("cifar10c", "/c", "gaussian_noise", 5),
            "cifar10c-gaussian_noise-5",
            "shifted",
            "CIFAR-10-C: Gaussian noise, severity 5",
        ),
        (
            OutsideSet(
                kind="corrupted", root=None, corruption="frost_procedural", severity=3, seed=7
            ),
            "corrupted-frost_procedural-3",
            "shifted",
            "Frost (procedural), severity 3",
        ),
        (
            OutsideSet("folder", "/a/My textures/"),
            "folder-My-textures",
            "ood",
            "Images of My textures",
        ),
        (OutsideSet("folder", "/"), "folder-pictures", "ood", "Images of /"),
        (OutsideSet("folder", "x" * 90), f"folder-{'x' * 52}", "ood", f"Images of {'x' * 90}"),
    ],
)
def test_name_role_and_label(wanted: OutsideSet, name: str, role: str, label: str) -> None:
    assert (wanted.name, wanted.role, wanted.label) == (name, role, label)
    assert SPLIT_NAME.fullmatch(wanted.name)


@pytest.mark.parametrize(
    "name",
    [
        *("train", "val", "test", "svhn2", "folder", "folder-", "cifar10c", "corrupted-fog"),
        *("cifar10c-frost_procedural-1", "corrupted-frost-1", "corrupted-fog-6", "corrupted-fog-0"),
        *("cifar10c-rain-1", "corrupted-fog-1-2", "corrupted-fog-1\n"),
    ],
)
def test_other_splits_are_no_outside_sets(name: str) -> None:
    assert parse_name(name) is None


def test_plain_json_gives_an_equal_set_back() -> None:
    largest = OutsideSet("corrupted", "/r", corruption="fog", severity=2, seed=2**63 - 1)
    for wanted in (*EVERY, largest):
        assert codec.read(OutsideSet, codec.to_json(wanted), "sets") == wanted


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "svhn",
        {},
        {"kind": "lsun"},
        {"kind": ["svhn"]},
        {"kind": "svhn", "colour": 1},
        {"kind": "svhn", "corruption": "fog"},
        {"kind": "svhn", "severity": 1},
        {"kind": "svhn", "root": 3},
        {"kind": "folder"},
        {"kind": "folder", "root": ""},
        {"kind": "corrupted"},
        {"kind": "corrupted", "corruption": "fog"},
        {"kind": "corrupted", "corruption": "fog", "severity": 6},
        {"kind": "corrupted", "corruption": "fog", "severity": 1.0},
        {"kind": "corrupted", "corruption": "fog", "severity": True},
        {"kind": "corrupted", "corruption": "fog", "severity": 1, "seed": -1},
        {"kind": "corrupted", "corruption": "fog", "severity": 1, "seed": 2**63},
        {"kind": "corrupted", "corruption": "fog", "severity": 1, "seed": False},
        {"kind": "corrupted", "corruption": "frost", "severity": 1},
        {"kind": "cifar10c", "corruption": "frost_procedural", "severity": 1},
    ],
)
def test_values_that_are_none_are_refused(data: object) -> None:
    with pytest.raises(UsageError) as error:
        codec.read(OutsideSet, data, "sets")
    assert error.value.code == "SETTING"
    assert error.value.remedy


def test_names_and_corruptions_need_no_torch() -> None:
    code = (
        "import sys; import core.datasets.shifts, core.datasets.corruptions;"
        "print({'torch', 'pandas', 'plotly'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_every_corruption_has_its_row_in_the_docs() -> None:
    text = (Path(__file__).parents[3] / "docs" / "corruptions.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text, re.MULTILINE)
    assert rows == [(name, CORRUPTIONS[name].label) for name in OWN]
