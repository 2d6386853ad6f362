"""Numbers of the papers: read as printed, and put beside corresponding runs only."""

import csv
import os
from collections import Counter
from dataclasses import astuple
from pathlib import Path
from typing import get_args

import pytest

from core.losses.catalogue import checked, losses_of, subject
from core.metrics import METRICS
from core.models.catalogue import MODELS, TEXT_MODELS
from core.published import (
    DEFINITIONS,
    FILE,
    PAPERS,
    UNITS,
    Doubt,
    PaperSetting,
    auroc_rows,
    compared,
    definition,
    published,
    rows,
    seeds_of,
    settings,
)
from core.published import MODELS as PAPER_MODELS

SHARED = Path(os.environ.get("CANDOR_SHARED", "/nowhere"))
RESNET110 = {"data": "cifar10", "model": "resnet110_released"}


KEY = ("paper", "table", "dataset", "model", "method", "posthoc", "metric", "ood_dataset")
AS_PRINTED = (*KEY, "std", "temperature", "gamma_ev")
TABLES = {"komisarenko2024": 108, "mukhoti2020iclr": 1114, "fcl2024": 1020, "adafocal2022": 616}


def test_every_row_is_read_once_and_lies_in_its_range():
    with FILE.open(newline="") as lines:
        raw = list(csv.DictReader(lines))
    assert len(rows()) == len(raw) == 2858
    assert Counter(row.paper for row in rows()) == TABLES
    assert len({tuple(getattr(row, key) for key in KEY) for row in rows()}) == 2858
    for row in rows():
        assert row.paper in PAPERS
        assert row.unit in UNITS
        assert row.doubt in get_args(Doubt)
        assert (row.doubt == "none") == (not row.why)
        assert definition(row.metric)
        assert (row.metric == "auroc") == bool(row.ood_dataset)
        assert 0.0 < row.value <= (4.0 if row.metric == "nll" else 1.0)
        assert not row.gamma_ev or row.posthoc == "focal_ts"
        assert not row.temperature or 0.0 < float(row.temperature) < 5.0


def test_units_stand_for_what_they_say():
    """Mukhoti et al. print 100 times the NLL that Komisarenko and Kull print in nats."""
    (scaled,) = published(
        paper="mukhoti2020iclr",
        metric="nll",
        dataset="cifar10",
        model="resnet50",
        method="ce",
        posthoc="ts",
    )
    (plain,) = published(
        paper="komisarenko2024",
        metric="nll",
        dataset="cifar10",
        model="resnet50",
        method="ce",
        posthoc="ts",
    )
    assert (scaled.unit, plain.unit) == ("nats_x100", "nats")
    assert abs(scaled.value - plain.value) < 0.1
    assert (scaled.digits, plain.digits) == (2, 0)
    (chest,) = published(metric="auroc_hernia", method="fcl")
    assert (chest.unit, chest.printed, chest.digits) == ("fraction", "0.9370", 2)
    assert chest.value == pytest.approx(0.937)


@pytest.mark.skipif(not (SHARED / "published").exists(), reason="needs the shared folder")
def test_every_number_is_that_of_the_transcription():
    with (SHARED / "published" / "results.csv").open(newline="") as lines:
        truth = {tuple(line[key] for key in KEY): line for line in csv.DictReader(lines)}
    assert len(truth) == len(rows())
    for row in rows():
        line = truth[tuple(getattr(row, key) for key in KEY)]
        assert row.printed == line["value"]
        assert tuple(getattr(row, key) for key in AS_PRINTED) == tuple(
            line[key] for key in AS_PRINTED
        )
        hundred = "nats x 100" in line["note"]
        assert (row.unit, line["unit"]) == (
            ("nats_x100", "percent") if hundred else (line["unit"],) * 2
        )
        doubt = (
            "suspect"
            if "SUSPECT" in line["note"]
            else "uncertain"
            if "UNCERTAIN" in line["note"]
            else "none"
        )
        assert row.doubt == doubt


# The one table of definitions, written out again.
SAME = {
    "ece_ew": "ece",
    "ece_em": "ada_ece",
    "ece_sweep_em": "ece_sweep",
    "ece_sweep_ew": "ece_sweep_ew",
    "ece_debias": "ece_debiased_l1",
    "ece_debias_30bins": "ece_debiased_l1",
    "smece": "smece",
    "classwise_ece": "classwise_ece",
    "mce": "mce",
    "nll": "nll",
    "error": "error",
    "accuracy": "accuracy",
    "s99_share": "s99_share",
    "s99_accuracy": "s99_accuracy",
}
NEVER = {"ece_unspecified", "auroc"}


def test_metrics_are_compared_on_the_same_definition_only():
    assert {key: DEFINITIONS[key].metric for key in DEFINITIONS if DEFINITIONS[key].metric} == SAME
    assert {key for key in DEFINITIONS if not DEFINITIONS[key].metric} == NEVER
    assert all(DEFINITIONS[key].remark for key in NEVER)
    assert set(SAME.values()) <= set(METRICS)
    assert {row.metric for row in rows() if not row.metric.startswith("auroc_")} == set(DEFINITIONS)
    assert not definition("auroc_hernia").metric
    assert {key: d.settings for key, d in DEFINITIONS.items() if d.settings} == {
        "smece": {"smece": "relplot"},
        "ece_debias_30bins": {"n_bins": 30},
    }
    # Of a model that is overconfident everywhere, l1 takes nothing off; l2 would be larger.
    for method, network in (("ce", "resnet110"), ("flsd_53", "resnet110")):
        place = {"paper": "adafocal2022", "dataset": "cifar10", "model": network, "method": method}
        debiased, sweep = (
            next(float(row.printed) for row in published(metric=metric, posthoc="none", **place))
            for metric in ("ece_debias", "ece_sweep_em")
        )
        assert debiased == pytest.approx(sweep, abs=0.011)


def test_numbers_as_the_papers_print_them():
    # AdaFocal, table 8: ResNet-110 on CIFAR-10, SVHN; cross-entropy before and after, AdaFocal
    found = auroc_rows(subject(RESNET110 | {"loss": {"name": "ce"}}), "svhn")
    assert [(r.paper, r.posthoc, r.value) for r in found if r.method == "ce"] == [
        ("adafocal2022", "none", pytest.approx(0.6171)),
        ("adafocal2022", "ts", pytest.approx(0.5966)),
    ]
    # FCL, table 4: weight decay, that is cross-entropy
    assert [(r.posthoc, r.value) for r in found if r.paper == "fcl2024"] == [
        ("none", pytest.approx(0.7756)),
        ("ts", pytest.approx(0.7611)),
    ]
    (ada,) = auroc_rows(subject(RESNET110 | {"loss": {"name": "adafocal"}}), "svhn")
    assert (ada.value, ada.source) == (pytest.approx(0.9609), "Ghosh et al. 2022, table 8")


def test_only_the_papers_corruption_has_a_counterpart():
    of = subject(RESNET110 | {"loss": {"name": "adafocal"}})
    assert auroc_rows(of, "cifar10c", "gaussian_noise", 5)
    assert auroc_rows(of, "cifar10c", "gaussian_noise", 4) == ()
    assert auroc_rows(of, "cifar10c", "shot_noise", 5) == ()
    assert auroc_rows(of, "corrupted", "gaussian_noise", 5) == ()
    assert auroc_rows(None, "svhn") == ()


@pytest.mark.parametrize(
    ("loss", "methods"),
    [
        ({"name": "focal", "gamma": 3.0}, ("focal_3",)),
        ({"name": "ls", "smoothing": 0.05}, ("ls_0.05",)),
        ({"name": "ls", "smoothing": 0.1}, None),
        ({"name": "inverse_focal", "gamma": 3.0}, None),
        ({"name": "mmce_weighted"}, ("mmce",)),
        ({"name": "mmce_weighted", "lambda": 8.0}, None),
        ({"name": "fls_532"}, ("fls_532",)),
        ({"name": "fls_531"}, ("fls_531",)),
        ({"name": "fla_532"}, ("fla_532",)),
        ({"name": "fcl", "gamma": 4.0, "lambda": 1.5}, ("fcl",)),
        ({"name": "fcl", "gamma": 2.0, "lambda": 0.5}, None),
        ({"name": "dual_focal", "gamma": 4.5}, ("dual_focal",)),
        ({"name": "dual_focal"}, None),
        ({"name": "adafocal", "n_bins": 50}, None),
        ({"name": "adafocal", "update_every": 100}, None),
        ("ce", None),
        (None, None),
    ],
)
def test_a_loss_with_other_settings_is_another_loss(loss, methods):
    found = subject(RESNET110 | {"loss": loss})
    assert (found.methods if found else None) == methods


def test_networks_and_bins_are_the_papers_only_where_they_are():
    ada = {"data": "cifar10", "model": "resnet50_cifar", "loss": {"name": "adafocal", "n_bins": 50}}
    assert subject(ada).methods == ("adafocal_bins_50",)
    assert subject(ada | {"data": "cifar100"}) is None
    tiny = {"data": "tiny_imagenet", "model": "resnet50_tiny_imagenet", "loss": {"name": "ce"}}
    assert subject(tiny) == PaperSetting("tiny_imagenet", "resnet50", ("ce", "ce_wd"))
    large = {"data": "imagenet", "model": "torchvision:resnet50", "loss": {"name": "flsd_53"}}
    assert subject(large) == PaperSetting("imagenet", "resnet50", ("flsd_53",))
    assert subject(large | {"data": "cifar10"}) is None
    assert subject(tiny | {"data": "cifar10"}) is None


def test_a_run_on_other_class_folders_is_no_imagenet():
    large = {"data": "imagenet", "model": "torchvision:resnet50", "loss": {"name": "flsd_53"}}
    names = ("n01440764", *(f"n02{i:06}" for i in range(998)), "n15075141")
    assert compared(large, names) == large
    for others in (names[:-1], ("ant", *names[1:]), ("ant", "bee"), ()):
        assert compared(large, others) == large | {"data": "folder"}
        assert subject(compared(large, others)) is None
    assert compared(RESNET110, ("ant", "bee")) == RESNET110
    assert compared(None, names) is None


def test_every_loss_of_the_papers_can_be_trained_or_is_not_stated():
    """FCL's values are those of its table 5, as the file of hyper-parameters has them."""
    lacking = set()
    for place in dict.fromkeys((row.method, row.dataset, row.model) for row in rows()):
        for loss in losses_of(*place):
            checked(loss)
        if not losses_of(*place):
            lacking.add(place[0])
    baselines = {"bce", "wang2017_baseline", "yao2017_baseline", "focal_unspecified"}
    assert lacking == baselines | {"fcl"}  # of chest films, whose settings FCL does not print
    printed = [of for of in settings() if of.source == "table 5" and of.setting == "gamma"]
    for of in printed:
        assert losses_of("fcl", of.dataset, of.model)[0]["gamma"] == float(of.value)


def test_other_networks_and_runs_without_a_config_correspond_to_nothing():
    texts = subject({"data": "20newsgroups", "model": "text_cnn", "loss": {"name": "adafocal"}})
    assert texts == PaperSetting("20newsgroups", "gp_cnn", ("adafocal",))
    released = {"data": "20newsgroups", "model": "text_cnn_released", "loss": {"name": "adafocal"}}
    assert subject(released) == texts
    assert subject({"data": "20newsgroups", "model": "text_mean", "loss": {"name": "ce"}}) is None
    assert subject(None) is None
    assert subject({"data": "cifar10", "model": "timm:resnet18", "loss": {"name": "ce"}}) is None
    assert (
        auroc_rows(
            subject({"data": "digits", "model": "resnet50_cifar", "loss": {"name": "ce"}}), "svhn"
        )
        == ()
    )


def test_the_names_exist_on_both_sides():
    assert set(PAPER_MODELS) <= {*MODELS, *TEXT_MODELS}
    assert set(PAPER_MODELS.values()) <= {row.model for row in rows()}
    assert published(metric="error", paper="mukhoti2020iclr", dataset="cifar10", model="resnet50")


FINDINGS = (
    *("atelectasis", "cardiomegaly", "effusion", "infiltration", "mass", "nodule", "pneumonia"),
    *("pneumothorax", "consolidation", "edema", "emphysema", "fibrosis", "pleural_thickening"),
    "hernia",
)
COLUMNS = {"wang2017_baseline": 0.742, "yao2017_baseline": 0.798, "bce": 0.8440, "fcl": 0.8527}
MEANS = {"wang2017_baseline": 0.7381, "yao2017_baseline": 0.8027, "bce": 0.8414, "fcl": 0.8528}


def chest(finding):
    found = published(dataset="chestxray14", metric=f"auroc_{finding}")
    assert [row.method for row in found] == list(COLUMNS)
    return found


def test_chest_findings_as_printed():
    assert [row.value for row in chest("effusion")] == pytest.approx([0.784, 0.859, 0.8638, 0.8862])
    assert chest("mass")[2].source == "Focal calibration loss 2024, table 9"
    assert len(published(dataset="chestxray14")) == 4 * (14 + 1) + 4  # ECE and MCE of two
    behind = [f for f in FINDINGS if chest(f)[3].value < chest(f)[2].value]
    assert behind == ["cardiomegaly", "infiltration", "pneumothorax", "pleural_thickening"]


@pytest.mark.parametrize("method", COLUMNS)
def test_printed_averages_of_chest_findings_are_not_those_of_the_columns(method):
    at = list(COLUMNS).index(method)
    mean = sum(chest(finding)[at].value for finding in FINDINGS) / 14
    assert mean == pytest.approx(MEANS[method], abs=5e-5)
    stated = chest("mean")[at]
    assert stated.value == pytest.approx(COLUMNS[method])
    assert (stated.doubt == "suspect") == (method != "fcl")
    if method != "fcl":
        assert stated.why.endswith(f"{mean:.4f}")


@pytest.mark.skipif(not (SHARED / "published").exists(), reason="needs the shared folder")
def test_every_hyperparameter_is_that_of_the_transcription():
    with (SHARED / "published" / "hyperparameters.csv").open(newline="") as lines:
        truth = [tuple(line.values()) for line in csv.DictReader(lines)]
    assert [astuple(row) for row in settings()] == truth


def test_a_table_has_as_many_seeds_as_its_paper_says():
    tables = {
        ("komisarenko2024", "1"): 5,
        ("adafocal2022", "1"): 5,
        ("adafocal2022", "3"): 1,  # stated of table 1 alone
        ("mukhoti2020iclr", "1"): 1,  # not stated
        ("fcl2024", "1"): 1,
    }
    for (paper, table), n in tables.items():
        rows = published(paper=paper, table=table)
        assert rows
        assert {len(seeds_of(row)) for row in rows} == {n}
    assert seeds_of(published(paper="fcl2024")[0]) == range(1, 2)


def test_there_are_254_hyperparameters_of_known_papers():
    papers = Counter(row.paper for row in settings())
    assert sum(papers.values()) == 254
    assert set(papers) == set(PAPERS)
