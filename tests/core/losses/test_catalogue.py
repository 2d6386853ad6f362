"""The catalogue of losses: complete, checked, true to the papers' tables, and free of torch."""

import csv
import json
import subprocess
import sys

import pytest

from core.errors import UsageError
from core.losses.catalogue import LOSSES, PRESETS, REDUCTIONS, checked
from core.predictions import Task
from tests.core.losses.test_golden import SHARED

NAMES = [
    *("ce", "ls", "brier", "mmce", "mmce_weighted", "focal", "flsd_53", "fla_53", "fla_532"),
    *("fls_532", "fls_531", "inverse_focal", "calfocal_1", "calfocal_2", "adafocal"),
    *("dual_focal", "fcl", "fcl_l1"),
]


def test_names_are_those_of_the_command_line():
    assert list(LOSSES) == NAMES


def test_catalogue_loads_without_torch():
    code = "import sys, core.losses.catalogue, core.losses.bins; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", NAMES)
def test_entries_say_all_that_a_form_needs(name):
    entry = LOSSES[name]
    assert entry.label
    assert entry.source
    assert entry.plain.endswith(".")
    for parameter in entry.parameters.values():
        assert parameter.help.endswith(".")
        assert parameter.label
    defaults = {key: parameter.default for key, parameter in entry.parameters.items()}
    assert checked({"name": name}) == defaults
    assert checked({"name": name} | dict(reversed(defaults.items()))) == defaults


@pytest.mark.parametrize("name", NAMES)
def test_presets_are_settings_of_their_loss(name):
    for preset in LOSSES[name].presets.values():
        assert preset.label
        assert preset.source
        settings = checked({"name": name, **preset.settings})
        assert preset.settings.items() <= settings.items()


def test_every_preset_belongs_to_a_loss():
    used = [entry.presets for entry in LOSSES.values()]
    assert [key for key, presets in PRESETS.items() if presets not in used] == []


def test_presets_are_the_published_ones():
    path = SHARED / "published" / "hyperparameters.csv"
    if not path.exists():
        pytest.skip("needs the published settings of the shared folder (CANDOR_SHARED)")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    def published(paper, method, setting, **where):
        found = {
            row["value"]
            for row in rows
            if (row["paper"], row["method"], row["setting"]) == (paper, method, setting)
            and all(row[key] == value for key, value in where.items())
        }
        assert len(found) == 1, (paper, method, setting)
        return found.pop()

    for key, preset in PRESETS["fcl"].items():
        data, _, model = key.partition("_")
        for known in ("tiny_imagenet", "ag_news"):
            if key.startswith(known):
                data, model = known, key.removeprefix(f"{known}_")
        for parameter, setting in (("gamma", "gamma"), ("lambda", "fcl_lambda")):
            wanted = published(
                "fcl2024", "fcl", setting, dataset=data, model=model, source="table 5"
            )
            assert preset.settings[parameter] == float(wanted)
    paper = PRESETS["adafocal"]["paper"].settings
    for parameter, setting in (
        *(("lambda", "adafocal_lambda"), ("gamma_max", "gamma_max"), ("gamma_min", "gamma_min")),
        *(("n_bins", "train_bins"),),
    ):
        assert paper[parameter] == float(published("adafocal2022", "adafocal", setting))
    assert paper["s_th"] == float(published("adafocal2022", "adafocal", "S_th", dataset="all"))
    early = published("adafocal2022", "adafocal", "S_th", dataset="imagenet")
    assert PRESETS["adafocal"]["imagenet_s_th"].settings["s_th"] == float(early)
    tried = published("adafocal2022", "adafocal", "train_bins_tried").split(";")
    assert set(tried) - {"15"} == {
        key.removeprefix("bins_") for key in PRESETS["adafocal"] if key.startswith("bins_")
    }
    for data, key in (("cifar10", "images"), ("20newsgroups", "text")):
        weight = float(published("mukhoti2020iclr", "mmce", "mmce_lambda", dataset=data))
        assert PRESETS["mmce"][key].settings["lambda"] == weight
        assert PRESETS["mmce_weighted"][key].settings["lambda"] == weight
    gammas = published("komisarenko2024", "focal", "gamma_train").split(";")
    assert [f"gamma_{gamma}" for gamma in gammas] == list(PRESETS["focal"])
    smoothing = published("adafocal2022", "ls_0.05", "label_smoothing")
    assert PRESETS["ls"]["paper"].settings["smoothing"] == float(smoothing)


REFUSED = [
    ({"name": "focl"}, "Loss 'focl' is unknown; use one of ce, ls"),
    ({}, "Loss None is unknown"),
    ({"name": ["ce"]}, "is unknown"),
    ({"name": "ce", "gamma": 2.0}, "loss has unknown key 'gamma'; use name"),
    (
        {"name": "fcl", "lamda": 2.0},
        "loss has unknown key 'lamda'; use name, gamma, lambda, two_sided",
    ),
    ({"name": "focal", "gamma": -1}, "loss.gamma is -1; give 0 to 100"),
    ({"name": "focal", "gamma": float("nan")}, "loss.gamma is nan; give a finite number"),
    ({"name": "focal", "gamma": "2"}, "loss.gamma is '2'; give a number"),
    ({"name": "focal", "gamma": None}, "loss.gamma is None; give a number"),
    ({"name": "focal", "gamma": True}, "loss.gamma is True; give a number"),
    ({"name": "ls", "smoothing": 1.0}, "loss.smoothing is 1.0; give 0 to 0.999"),
    ({"name": "adafocal", "lambda": 0}, "loss.lambda is 0; give above 0, at most 100"),
    ({"name": "adafocal", "n_bins": 2.5}, "loss.n_bins is 2.5; give a whole number"),
    (
        {"name": "adafocal", "gamma_max": float("inf")},
        "loss.gamma_max is inf; give a finite number",
    ),
    (
        {"name": "adafocal", "update_every": "day"},
        "loss.update_every is 'day'; use epoch, 1 to 1000000, or a schedule",
    ),
    (
        {"name": "adafocal", "update_every": 0},
        "loss.update_every is 0; use epoch, 1 to 1000000, or a schedule",
    ),
    (
        {"name": "mmce_weighted", "normalisation": "none"},
        "loss.normalisation is 'none'; use one of textbook, released",
    ),
    ({"name": "fcl", "two_sided": 1}, "loss.two_sided is 1; give true or false"),
]


@pytest.mark.parametrize(("config", "says"), REFUSED, ids=lambda value: str(value)[:40])
def test_unknown_names_and_values_out_of_range_are_refused(config, says):
    with pytest.raises(UsageError, match="SETTING: ") as caught:
        checked(config)
    assert says in str(caught.value)


def test_config_of_the_command_line_is_accepted():
    config = json.loads(
        '{"name": "adafocal", "n_bins": 15, "lambda": 1.0, "gamma_max": 20, "gamma_min": -2,'
        ' "s_th": 0.2, "update_every": "epoch"}'
    )
    assert {"name": "adafocal", **checked(config)} == config


# Building ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_settings_reach_the_loss_that_is_built(torch, name):
    """Each setting moved away from its default changes what the built loss holds."""
    from core.losses.build import MAKERS, build

    assert list(MAKERS) == NAMES

    def held(**settings):
        loss = build({"name": name, **settings}, 3, LOSSES[name].tasks[-1])
        parts = {key: kept for key, kept in vars(loss).items() if not key.startswith("_")}
        return str(parts) + str(dict(loss.named_buffers()))

    for key, parameter in LOSSES[name].parameters.items():
        if parameter.choices and parameter.low is None:
            other = next(word for word in parameter.choices if word != parameter.default)
        elif isinstance(parameter.default, bool):
            other = not parameter.default
        else:
            other = parameter.high if parameter.default != parameter.high else parameter.low
        assert held(**{key: other}) != held(), key


def test_build_refuses_tasks_classes_and_reductions_it_has_no_form_for(torch):
    from core.losses.build import build

    cases = [
        (("mmce", 3, Task.MULTILABEL), {}, "MMCE cannot train multilabel; use it for multiclass"),
        (("ce", 3, Task.TOP_LABEL), {}, "cannot train top_label"),
        (("ce", 1, Task.MULTICLASS), {}, "1 classes; give at least 2"),
        (("ce", 0, Task.MULTILABEL), {}, "0 classes; give at least 1"),
        (("ce", 3, Task.BINARY), {"reduction": "none"}, "'none'; use mean or sum"),
    ]
    for (name, n_classes, task), more, says in cases:
        with pytest.raises(UsageError, match="SETTING: ") as caught:
            build({"name": name}, n_classes, task, **more)
        assert says in str(caught.value)
    assert list(REDUCTIONS) == ["mean", "sum"]
