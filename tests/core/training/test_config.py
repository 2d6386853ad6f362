"""A training's config: strict JSON there and back, presets, learning rates by hand, refusals."""

import json
import math
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.datasets.catalogue import DATASETS, checked_data
from core.datasets.texts.words import TextConfig
from core.errors import UsageError
from core.losses.catalogue import LOSSES
from core.predictions import Task
from core.training.config import (
    COMPILE,
    KEEP,
    LAST_BATCH,
    RECIPES,
    OptimizerConfig,
    ScheduleConfig,
    TrainConfig,
    from_json,
)
from core.training.job import check_updates

ROOT = Path(__file__).parents[3]
LEAST = {"data": "digits", "model": "small_cnn", "loss": {"name": "ce"}}
# As the description of the command line prints it.
EXAMPLE = """
{"name": "adafocal on digits", "data": "digits", "data_root": null, "model": "small_cnn",
 "loss": {"name": "adafocal", "n_bins": 15, "lambda": 1.0, "gamma_max": 20, "gamma_min": -2,
          "s_th": 0.2, "update_every": "epoch"},
 "epochs": 40, "batch_size": 128,
 "optimizer": {"name": "sgd", "lr": 0.05, "momentum": 0.9, "weight_decay": 0.0005,
               "vectors_lr": null},
 "schedule": {"name": "step", "drops": [0.43, 0.71], "factor": 0.1, "patience": 5,
              "warmup": 0.0},
 "reduction": "mean",
 "clip_norm": null, "augment": true, "precision": "32", "seed": 0, "split_seed": 0,
 "device": "auto", "preset": null}
"""


def refusal(data: object) -> UsageError:
    with pytest.raises(UsageError) as caught:
        from_json(data)
    assert caught.value.code == "SETTING"
    assert caught.value.remedy
    return caught.value


# There and back ---------------------------------------------------------------------------------


def test_the_printed_example_is_read_and_comes_back():
    given_ = json.loads(EXAMPLE)
    config = from_json(given_)
    back = config.to_json()
    assert {key: back[key] for key in given_} == given_
    later = {"n_train", "devices", "deterministic", "pretrained", "keep", "text", "compile"}
    later |= {"test_curves", "last_batch", "checkpoint_every"}
    later |= {"sync_batch_norm", "changed_files"}
    assert set(back) - set(given_) == later
    assert from_json(json.loads(json.dumps(back))) == config


def test_what_the_example_says_are_the_defaults():
    config = from_json(LEAST | {"loss": {"name": "adafocal"}, "name": "adafocal on digits"})
    assert config == from_json(json.loads(EXAMPLE))
    assert from_json(LEAST).name == "Cross-entropy, small_cnn on digits"


def test_a_loss_that_is_not_the_default_one_is_named_with_its_settings():
    def name(**loss: object) -> str:
        return from_json(LEAST | {"loss": loss}).name

    assert name(name="focal", gamma=3.0) == "Focal, small_cnn on digits"
    assert name(name="focal", gamma=1.0) == "Focal (gamma = 1), small_cnn on digits"
    both = name(name="adafocal", n_bins=50, update_every=100)
    assert both == "AdaFocal (n_bins = 50, update_every = 100), small_cnn on digits"


OF_IMAGES = [key for key, recipe in RECIPES.items() if "text" not in recipe.settings]
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
shares = st.lists(st.floats(0.001, 0.999), unique=True, max_size=4).map(sorted)
seeds = st.integers(0, 2**63 - 1)


@st.composite
def losses(draw: st.DrawFn) -> dict[str, object]:
    """A loss for classes with some of its settings."""
    name = draw(st.sampled_from([k for k, e in LOSSES.items() if Task.MULTICLASS in e.tasks]))
    given_: dict[str, object] = {"name": name}
    for key, one in LOSSES[name].parameters.items():
        if not draw(st.booleans()):
            continue
        values = st.booleans() if one.kind is bool else st.nothing()
        if one.choices:
            values |= st.sampled_from(list(one.choices))
        if one.kind is float:
            values |= st.floats(one.low, one.high, exclude_min=one.open_low)
        elif one.low is not None:
            values |= st.integers(one.low, one.high)
        given_[key] = draw(values)
    return given_


configs = st.fixed_dictionaries(
    {
        "data": st.sampled_from([k for k, e in DATASETS.items() if e.task is Task.MULTICLASS]),
        "model": st.sampled_from(["small_cnn", "resnet50_cifar"]),
        "loss": losses(),
    },
    optional={
        "name": text,
        "data_root": st.none() | text.filter(lambda root: "\0" not in root),
        "n_train": st.none() | st.integers(1, 10**6),
        "epochs": st.integers(1, 10_000),
        "batch_size": st.integers(1, 65_536),
        "optimizer": st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["sgd", "adam", "adamw", "adagrad"]),
                "lr": st.floats(0, 1000, exclude_min=True) | st.integers(1, 1000),
                "momentum": st.floats(0, 1, exclude_max=True),
                "weight_decay": st.floats(0, 10),
                "vectors_lr": st.none() | st.floats(0, 1000, exclude_min=True),
            },
        ),
        "schedule": st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["step", "cosine", "plateau", "constant"]),
                "patience": st.integers(0, 10_000),
                "drops": shares,
                "factor": st.floats(0, 1, exclude_min=True),
            },
        ),
        "reduction": st.sampled_from(["mean", "sum"]),
        "clip_norm": st.none() | st.floats(0, 1e6, exclude_min=True),
        "augment": st.booleans(),
        "precision": st.sampled_from(["32", "tf32", "bf16", "16"]),
        "seed": seeds,
        "split_seed": seeds,
        "device": st.sampled_from(["auto", "cpu", "cuda"]),
        "devices": st.integers(1, 64),
        "deterministic": st.booleans(),
        "preset": st.none() | st.sampled_from(OF_IMAGES),
        "pretrained": st.just(value=False),
        "keep": st.sampled_from(list(KEEP)),
        "compile": st.sampled_from(list(COMPILE)),
        "last_batch": st.sampled_from(list(LAST_BATCH)),
        "checkpoint_every": st.integers(1, 10_000),
        "sync_batch_norm": st.booleans(),
    },
)


@given(configs.filter(lambda data: data.get("name", "x").strip() or data["name"] == ""))
def test_any_config_comes_back_from_json_with_all_that_was_given(data):
    config = from_json(data)
    back = json.loads(json.dumps(config.to_json(), allow_nan=False))
    again = from_json(back)
    assert again == config
    assert again.digest == config.digest
    recipe = RECIPES[data["preset"]].settings if data.get("preset") else {}
    for key, value in data.items():
        if isinstance(value, dict):
            for inner, setting in value.items():
                assert back[key][inner] == setting
            for inner in set(recipe.get(key, {})) - set(value):
                assert back[key][inner] == recipe[key][inner]
        elif (key, value) != ("name", ""):
            assert back[key] == value
    for key in set(recipe) - set(data):
        if isinstance(recipe[key], dict):
            assert back[key] == back[key] | recipe[key]
        else:
            assert back[key] == recipe[key]


# Refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "stranger", "known"),
    [
        ((), "epoch", "epochs"),
        ((), "lr", "optimizer"),
        ((), "optimizer.lr", "optimizer"),
        ((), "", "data"),
        (("optimizer",), "learning_rate", "lr"),
        (("optimizer",), "drops", "weight_decay"),
        (("schedule",), "milestones", "drops"),
        (("loss",), "gama", "gamma"),
        (("loss",), "n_bins", "gamma"),
    ],
)
def test_an_unknown_key_is_refused_and_the_known_ones_are_named(where, stranger, known):
    data = LEAST | {"loss": {"name": "focal"}, "optimizer": {}, "schedule": {}}
    inner = data
    for key in where:
        inner = inner[key]
    inner[stranger] = 1
    error = refusal(data)
    assert repr(stranger) in error.what
    assert known in error.remedy


A_NUMBER, A_WHOLE = "give a number", "give a whole number"
WRONG = [
    ("epochs", True, A_WHOLE),
    ("epochs", 15.0, A_WHOLE),
    ("epochs", "15", A_WHOLE),
    ("epochs", None, A_WHOLE),
    ("epochs", 0, "give 1 to 10000"),
    ("epochs", -(10**400), "give 1 to 10000"),
    ("batch_size", "128", A_WHOLE),
    ("batch_size", 0, "give 1 to 65536"),
    ("n_train", False, "give a whole number or null"),
    ("n_train", 1.5, "give a whole number or null"),
    ("n_train", 0, "give a whole number from 1, or null"),
    ("seed", -1, "give 0 to 9223372036854775807"),
    ("seed", 2**63, "give 0 to 9223372036854775807"),
    ("split_seed", 1e3, A_WHOLE),
    ("devices", 0, "give 1 to 64"),
    ("devices", 999, "give 1 to 64"),
    ("clip_norm", "2", "give a number or null"),
    ("clip_norm", 0, "give a number above 0, or null"),
    ("clip_norm", math.nan, "give a finite number"),
    ("clip_norm", math.inf, "give a finite number"),
    ("augment", 1, "give true or false"),
    ("augment", "yes", "give true or false"),
    ("deterministic", None, "give true or false"),
    ("precision", 32, "give text"),
    ("precision", "64", "use one of 32, tf32, bf16, 16"),
    ("reduction", "none", "use one of mean, sum"),
    ("device", "mps", "use one of auto, cpu, cuda"),
    ("name", 7, "give text"),
    ("name", None, "give text"),
    ("data_root", 7, "give text or null"),
    ("data_root", "a\0b", "give the path of a folder, or null"),
    ("data_root", "/data/\ud800", "give the path of a folder, or null"),
    ("data", ["digits"], "give text"),
    ("model", None, "give text"),
    ("loss", "ce", "give an object"),
    ("loss", [], "give an object"),
    ("optimizer", None, "give an object"),
    ("optimizer", "sgd", "give an object"),
    ("optimizer.name", "rmsprop", "use one of sgd, adam, adamw, adagrad"),
    ("optimizer.name", 1, "give text"),
    ("optimizer.lr", True, A_NUMBER),
    ("optimizer.lr", "0.1", A_NUMBER),
    ("optimizer.lr", math.nan, "give a finite number"),
    ("optimizer.lr", 0, "give above 0, to 1000"),
    ("optimizer.lr", -0.1, "give above 0, to 1000"),
    ("optimizer.lr", 1001, "give above 0, to 1000"),
    ("optimizer.momentum", 1.0, "give 0 or more, below 1"),
    ("optimizer.momentum", -0.5, "give 0 or more, below 1"),
    ("optimizer.weight_decay", -1e-9, "give 0 to 10"),
    ("optimizer.weight_decay", None, A_NUMBER),
    ("schedule", [0.4], "give an object"),
    ("schedule.name", "warm", "use one of step, cosine, plateau, linear, constant"),
    ("schedule.factor", 0.0, "give above 0, at most 1"),
    ("schedule.factor", 1.5, "give above 0, at most 1"),
    ("schedule.factor", False, A_NUMBER),
    ("schedule.drops", 0.5, "give a list"),
    ("schedule.drops", [0.5, 0.4], "give ascending numbers between 0 and 1"),
    ("schedule.drops", [0.5, 0.5], "give ascending numbers between 0 and 1"),
    ("schedule.drops", [0.0], "give ascending numbers between 0 and 1"),
    ("schedule.drops", [0.5, 1.0], "give ascending numbers between 0 and 1"),
    ("schedule.drops", [150, 250], "give ascending numbers between 0 and 1"),
    ("schedule.drops", [10**400], "give ascending numbers between 0 and 1"),
    ("schedule.drops", [math.nan], "give ascending numbers between 0 and 1"),
    ("schedule.drops", [None], "give ascending numbers between 0 and 1"),
    ("schedule.drops", [True], "give ascending numbers between 0 and 1"),
    ("schedule.drops", ["0.5"], "give ascending numbers between 0 and 1"),
    (
        "preset",
        "mnist",
        "use one of cifar, tiny_imagenet, imagenet, chexnet, chexnet_fcl, newsgroups, "
        "newsgroups_released, newsgroups_bert, finsen, ag_news, sst, or null",
    ),
    ("preset", [], "give text or null"),
    ("preset", {}, "give text or null"),
    ("loss.n_bins", True, "give a whole number"),
    ("loss.n_bins", "15", "give a whole number"),
    ("loss.n_bins", 15.0, "give a whole number"),
    ("loss.lambda", math.nan, "give a finite number"),
    ("loss.lambda", [1.0], "give a number"),
    ("loss.update_every", "batch", "or a schedule such as epoch, 100 from 25, 1 from 40"),
    ("loss.update_every", "1 from 5", "use epoch, 1 to 1000000"),
    ("loss.update_every", "epoch, 9 from 5, 1 from 5", "use epoch, 1 to 1000000"),
    ("loss.update_every", 0, "use epoch, 1 to 1000000"),
]


@pytest.mark.parametrize(("key", "value", "remedy"), WRONG)
def test_a_wrong_value_is_refused_by_key_value_and_remedy(key, value, remedy):
    data = LEAST | {"loss": {"name": "adafocal"}}
    outer, _, inner = key.partition(".")
    data[outer] = {**data.get(outer, {}), inner: value} if inner else value
    error = refusal(data)
    assert key in error.what
    shown = value[0] if isinstance(value, list) and value else value
    assert (f"{shown!r:.60}" if shown != "" else "''") in error.what
    assert remedy in error.remedy


@pytest.mark.parametrize("name", ["   ", "\t\n", "x" * 301, "lone \ud800 surrogate"])
def test_a_name_that_the_library_would_refuse_after_training_is_refused_before(name):
    error = refusal(LEAST | {"name": name})
    assert error.what == f"name has {len(name)} characters"
    assert "300" in error.remedy


def test_a_long_unknown_key_is_cut():
    assert len(refusal(LEAST | {"k" * 5000: 1}).what) < 100


@pytest.mark.parametrize("data", [None, [], "digits", 3, [["data", "digits"]]])
def test_what_is_no_object_is_refused(data):
    assert type(data).__name__ in refusal(data).what


@pytest.mark.parametrize("missing", ["data", "model", "loss"])
def test_data_model_and_loss_must_be_named(missing):
    error = refusal({key: value for key, value in LEAST.items() if key != missing})
    assert error.what == f"{missing} is missing"


@pytest.mark.parametrize(
    ("key", "value"), [("data", "mnist"), ("model", "resnet"), ("loss", {"name": "bce"})]
)
def test_an_unknown_data_set_network_or_loss_is_refused(key, value):
    error = refusal(LEAST | {key: value})
    assert repr(value["name"] if key == "loss" else value) in error.what


@pytest.mark.parametrize("loss", ["mmce", "mmce_weighted", "dual_focal"])
def test_a_loss_for_classes_cannot_train_labels_and_those_that_can_are_named(loss):
    error = refusal(LEAST | {"data": "chestxray14", "loss": {"name": loss}})
    assert "cannot train multilabel data such as chestxray14" in error.what
    named = error.remedy.split(": ")[1].split(", ")
    assert {"ce", "adafocal", "fcl"} <= set(named)
    assert not {"mmce", "mmce_weighted", "dual_focal"} & set(named)
    for name in named:
        from_json(LEAST | {"data": "chestxray14", "loss": {"name": name}})


# Recipes ----------------------------------------------------------------------------------------

# Mukhoti et al. 2020 app. C and D, Ghosh et al. 2022 app. D, Komisarenko and Kull 2024 sec. 5.1:
# epochs, batch size, epochs of the drops.
PRINTED = {"cifar": (350, 128, (150, 250)), "tiny_imagenet": (100, 64, (40, 60))}


@pytest.mark.parametrize("preset", PRINTED)
def test_a_recipe_trains_as_the_papers_print_it(preset):
    epochs, batch_size, (first, second) = PRINTED[preset]
    config = from_json(LEAST | {"preset": preset})
    assert (config.epochs, config.batch_size) == (epochs, batch_size)
    assert config.optimizer == OptimizerConfig("sgd", lr=0.1, momentum=0.9, weight_decay=5e-4)
    assert (config.reduction, config.clip_norm) == ("sum", 2.0)
    assert config.precision == "32"  # Titan X Pascal and V100, which have no TF32
    rates = [config.lr(epoch) for epoch in range(epochs)]
    by_hand = [0.1] * first + [0.01] * (second - first) + [0.001] * (epochs - second)
    assert rates == pytest.approx(by_hand, rel=1e-12)


def test_more_updates_than_a_history_holds_are_refused_before_a_training_begins():
    loss = {"name": "adafocal", "update_every": 1}
    config = from_json(LEAST | {"loss": loss, "epochs": 100, "batch_size": 64})
    check_updates(config, 1_333 * 64)  # 133,300 updates of 15 bins: 1,999,500 rows
    with pytest.raises(UsageError, match=r"133,400 updates of 15 bins exceed .* 2,000,000 rows"):
        check_updates(config, 1_333 * 64 + 2)  # a lone row would join the batch before
    check_updates(from_json(LEAST), 10**9)


def test_imagenet_is_trained_as_printed():
    config = from_json(LEAST | {"preset": "imagenet"})  # Ghosh et al. 2022, appendix D
    assert (config.epochs, config.batch_size) == (90, 128)
    assert config.optimizer == OptimizerConfig("sgd", lr=0.01, momentum=0.9, weight_decay=1e-4)
    assert (config.reduction, config.clip_norm, config.keep) == ("mean", None, "last")
    rates = [config.lr(epoch) for epoch in range(90)]
    assert rates == pytest.approx([0.01] * 30 + [0.001] * 30 + [0.0001] * 30, rel=1e-12)


def test_the_released_code_of_20_newsgroups_reads_the_last_words():
    given = {"preset": "newsgroups_released", "text": {"embeddings": "glove.6B.100d.txt"}}
    config = from_json(TEXT | given)  # NewsGroup/ng_loader.py and 20newsgroup_train.sh
    assert (config.epochs, config.batch_size, config.keep) == (50, 128, "val_error")
    assert (config.optimizer.name, config.optimizer.lr) == ("adam", 1e-3)
    assert config.text == TextConfig(
        vocabulary=19_999, length=1_000, taken="last", dimension=100, fixed=True, strip="headers",
        embeddings="glove.6B.100d.txt",
    )  # fmt: skip
    assert from_json(LEAST | given | {"text": {}}).text == TextConfig()  # of images


def test_focal_calibration_loss_trains_chexnet_as_printed():
    config = from_json(LEAST | {"preset": "chexnet_fcl"})  # section 5, "Experiment Setup"
    assert (config.epochs, config.batch_size, config.optimizer.lr) == (100, 32, 1e-4)
    assert (config.optimizer.name, config.schedule.name) == ("adam", "plateau")
    assert config.schedule.patience == 5


def test_chexnets_recipe_is_as_printed():
    config = from_json(LEAST | {"preset": "chexnet"})  # Rajpurkar et al. 2017
    assert (config.optimizer.name, config.optimizer.lr, config.batch_size) == ("adam", 0.001, 16)
    assert (config.schedule.name, config.schedule.factor, config.keep) == (
        "plateau",
        0.1,
        "val_loss",
    )


def test_only_networks_of_libraries_have_pretrained_weights():
    error = refusal(LEAST | {"pretrained": True})
    assert error.what == "small_cnn has no pretrained weights"


def test_what_is_given_comes_before_the_recipe_key_by_key():
    config = from_json(
        LEAST
        | {
            "preset": "cifar",
            "epochs": 7,
            "optimizer": {"lr": 0.02},
            "schedule": {"name": "cosine"},
            "clip_norm": None,
        }
    )
    assert config.optimizer == OptimizerConfig("sgd", lr=0.02, momentum=0.9, weight_decay=5e-4)
    assert config.schedule == ScheduleConfig("cosine", (150 / 350, 250 / 350), 0.1)
    assert (config.epochs, config.batch_size, config.clip_norm) == (7, 128, None)
    assert config.reduction == "sum"


def test_a_recipe_and_the_same_values_by_hand_are_the_same_training_but_for_its_name():
    by_name = from_json(LEAST | {"preset": "cifar"}).to_json()
    by_hand = from_json(LEAST | RECIPES["cifar"].settings).to_json()
    assert by_name | {"preset": None} == by_hand


# Learning rates ---------------------------------------------------------------------------------


def rates(epochs: int, **schedule: object) -> list[float]:
    config = from_json(LEAST | {"epochs": epochs, "optimizer": {"lr": 0.8}, "schedule": schedule})
    return [config.lr(epoch) for epoch in range(epochs)]


def test_steps_fall_at_their_shares_of_the_epochs():
    assert rates(10, drops=[0.3, 0.8], factor=0.5) == [0.8] * 3 + [0.4] * 5 + [0.2] * 2
    assert rates(3, drops=[]) == [0.8] * 3
    assert rates(40)[16:18] == pytest.approx([0.8, 0.08])  # 0.43 of 40 is 17.2
    assert rates(40)[27:29] == pytest.approx([0.08, 0.008])  # 0.71 of 40 is 28.4


def test_cosine_falls_to_nothing_and_constant_stays():
    by_hand = [0.8, 0.4 * (1 + math.sqrt(0.5)), 0.4, 0.4 * (1 - math.sqrt(0.5))]
    assert rates(4, name="cosine") == pytest.approx(by_hand, rel=1e-12)
    assert rates(3, name="constant") == [0.8] * 3


@given(
    name=st.sampled_from(["step", "cosine", "constant"]),
    epochs=st.integers(1, 500),
    drops=shares,
    factor=st.floats(0.1, 1),
)
def test_a_rate_begins_as_given_and_never_rises(name, epochs, drops, factor):
    schedule = ScheduleConfig(name, tuple(drops), factor)
    found = [schedule.share(epoch, epochs) for epoch in range(epochs)]
    assert found[0] == 1.0
    assert all(0 < b <= a for a, b in pairwise(found))


# Digest -----------------------------------------------------------------------------------------


def test_the_digest_knows_all_that_decides_the_numbers_and_no_more():
    plain = from_json(LEAST).digest
    same = {"name": "other", "data_root": "/elsewhere", "checkpoint_every": 9}
    same["changed_files"] = True
    assert from_json(LEAST | same).digest == plain
    others = [
        {"loss": {"name": "focal"}},
        {"loss": {"name": "focal", "gamma": 2.0}},
        {"n_train": 100},
        {"epochs": 41},
        {"optimizer": {"lr": 0.04}},
        {"schedule": {"drops": [0.43, 0.72]}},
        {"reduction": "sum"},
        {"clip_norm": 2.0},
        {"augment": False},
        {"precision": "bf16"},
        {"precision": "tf32"},
        {"last_batch": "drop"},
        {"sync_batch_norm": True},
        {"seed": 1},
        {"split_seed": 1},
        {"schedule": {"name": "plateau"}},
        {"schedule": {"name": "plateau", "patience": 4}},
        {"keep": "val_loss"},
        {"model": "timm:resnet18"},
        {"model": "timm:resnet18", "pretrained": True},
    ]
    found = {from_json(LEAST | change).digest for change in others}
    assert len(found | {plain}) == len(others) + 1


def test_a_config_is_checked_when_it_is_made_in_code_too():
    with pytest.raises(UsageError, match="epochs is 0; give 1 to 10000"):
        TrainConfig("digits", "small_cnn", {"name": "ce"}, epochs=0)


@pytest.mark.slow
def test_configs_are_checked_without_torch():
    code = "import sys, core.training.config; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


# Texts ------------------------------------------------------------------------------------------

TEXT = {"data": "20newsgroups", "model": "text_cnn", "loss": {"name": "ce"}}


def test_texts_at_their_defaults_leave_digests_as_they_were():
    config = from_json(LEAST)
    data = config.to_json()
    del data["text"]
    assert from_json(data).digest == config.digest
    assert from_json(TEXT | {"text": {"length": 400}}).digest == from_json(TEXT).digest
    assert from_json(TEXT | {"text": {"length": 300}}).digest != from_json(TEXT).digest


@pytest.mark.parametrize(
    ("section", "name", "other", "setting"),
    [
        ("schedule", "linear", "constant", {"warmup": 0.2}),
        ("optimizer", "adagrad", "adam", {"vectors_lr": 3.7}),
    ],
)
def test_what_another_schedule_or_optimizer_would_read_decides_nothing(
    section, name, other, setting
):
    def given(name, **settings):
        return from_json(TEXT | {section: {"name": name, **settings}})

    assert given(other, **setting).digest == given(other).digest
    assert given(name, **setting).digest != given(name).digest
    assert given(other, **setting).canonical() == given(other).canonical()
    assert given(name, **setting).canonical() != given(name).canonical()


def test_bert_is_trained_as_printed():
    given = {"model": "bert", "preset": "newsgroups_bert", "text": {"bert": "bert-base-uncased"}}
    config = from_json(TEXT | given)  # Ghosh et al. 2022, appendix D
    assert (config.epochs, config.batch_size, config.keep) == (10, 32, "val_error")
    assert config.optimizer == OptimizerConfig("adamw", lr=2e-5, weight_decay=0.01)
    assert (config.text.length, config.text.test_length) == (128, 512)
    n = config.n_batches(15_098)
    assert n == 472  # appendix I; warm-up is a fifth of it
    steps = [config.lr(step / n) for step in (0, 59, 94, 95, 472 * 10 - 1)]
    assert steps == pytest.approx(
        [0.0, 2e-5 * 59 / 94.4, 2e-5 * 94 / 94.4, 2e-5 * 4625 / 4625.6, 2e-5 / 4625.6]
    )


def test_settings_of_texts_come_back():
    text = {"length": 50, "left_out": ["sci.med", "sci.space"], "embeddings": "glove.txt"}
    config = from_json(TEXT | {"text": text})
    assert config.text.left_out == ("sci.med", "sci.space")
    assert from_json(json.loads(json.dumps(config.to_json()))) == config


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"model": "small_cnn"}, "'small_cnn' reads no texts"),
        ({"model": "timm:resnet18"}, "reads no texts"),
        ({"model": "tree_lstm"}, "tree_lstm reads trees, and 20newsgroups holds none"),
        ({"data": "digits"}, "text_cnn reads texts, and digits holds images"),
        (
            {"data": "digits", "model": "small_cnn", "text": {"length": 9}},
            "Settings of texts are given",
        ),
        ({"pretrained": True}, "text_cnn has no pretrained weights"),
        ({"text": {"length": 0}}, "text.length is 0"),
        ({"text": {"left_out": ["a", "a"]}}, "text.left_out is"),
        ({"text": {"left_out": [1]}}, "text.left_out"),
        ({"text": {"embeddings": "a\0b"}}, "text.embeddings is"),
        ({"text": {"strip": "none"}}, "text.strip is 'none'"),
        ({"text": {"bert": "/bert"}}, "the network is"),
        ({"model": "bert"}, "needs a folder"),
        (
            {"data": "sst_binary", "model": "bert", "text": {"bert": "/bert"}},
            "bert reads plain texts, and sst_binary holds trees",
        ),
        ({"data": "mnist"}, "No data set is called 'mnist'"),
    ],
)
def test_what_texts_cannot_be_trained_with_is_refused(changes, what):
    assert what in refusal(TEXT | changes).what


def test_evaluations_refuse_texts():
    with pytest.raises(UsageError, match="sst2 holds texts"):
        checked_data("sst2")
