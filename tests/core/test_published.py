"""Numbers of the papers: read as printed, and put beside corresponding runs only."""

import csv

import pytest

from core.losses.catalogue import LOSSES
from core.models.catalogue import MODELS
from core.published import (
    FILE,
    METHODS,
    PAPERS,
    auroc_rows,
    published,
    rows,
    subject,
)
from core.published import MODELS as PAPER_MODELS

RESNET110 = {"data": "cifar10", "model": "resnet110_released"}


def test_every_row_is_read_and_has_a_source():
    with FILE.open(newline="") as lines:
        raw = list(csv.DictReader(lines))
    assert len(rows()) == len(raw) > 400
    named = {row.metric for row in rows() if row.dataset != "chestxray14"}
    assert named == {"auroc", "accuracy", "error"}
    for row, line in zip(rows(), raw, strict=True):
        assert f"{100 * row.value:.{row.digits}f}" == line["value"]
        assert row.paper in PAPERS
        assert 0.0 < row.value < 1.0
        assert (row.metric == "auroc") == bool(row.ood_dataset)


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
        ({"name": "mmce_weighted"}, None),
        ("ce", None),
        (None, None),
    ],
)
def test_a_loss_with_other_settings_is_another_loss(loss, methods):
    found = subject(RESNET110 | {"loss": loss})
    assert (found.methods if found else None) == methods


def test_other_networks_and_runs_without_a_config_correspond_to_nothing():
    assert subject(None) is None
    assert subject({"data": "cifar10", "model": "timm:resnet18", "loss": {"name": "ce"}}) is None
    assert (
        auroc_rows(
            subject({"data": "digits", "model": "resnet50_cifar", "loss": {"name": "ce"}}), "svhn"
        )
        == ()
    )


def test_the_names_exist_on_both_sides():
    assert set(METHODS) <= set(LOSSES)
    assert set(PAPER_MODELS) <= set(MODELS)
    assert set(PAPER_MODELS.values()) <= {row.model for row in rows()}
    known = {row.method for row in rows()}
    assert all(method in known for methods in METHODS.values() for method in methods)
    assert published(metric="error", paper="mukhoti2020iclr", dataset="cifar10", model="resnet50")


FINDINGS = (
    *("atelectasis", "cardiomegaly", "effusion", "infiltration", "mass", "nodule", "pneumonia"),
    *("pneumothorax", "consolidation", "edema", "emphysema", "fibrosis", "pleural_thickening"),
    "hernia",
)
COLUMNS = {"wang2017": 0.742, "yao2017": 0.798, "bce": 0.8440, "fcl": 0.8527}
MEANS = {"wang2017": 0.7381, "yao2017": 0.8027, "bce": 0.8414, "fcl": 0.8528}


def chest(finding):
    found = published(dataset="chestxray14", metric=f"auroc_{finding}")
    assert [row.method for row in found] == list(COLUMNS)
    return found


def test_chest_findings_as_printed():
    assert [row.value for row in chest("effusion")] == pytest.approx([0.784, 0.859, 0.8638, 0.8862])
    assert chest("mass")[2].source == "Focal calibration loss 2024, table 9"
    assert len(published(dataset="chestxray14")) == 4 * (14 + 1)
    behind = [f for f in FINDINGS if chest(f)[3].value < chest(f)[2].value]
    assert behind == ["cardiomegaly", "infiltration", "pneumothorax", "pleural_thickening"]


@pytest.mark.parametrize("method", COLUMNS)
def test_printed_averages_of_chest_findings_are_not_those_of_the_columns(method):
    at = list(COLUMNS).index(method)
    mean = sum(chest(finding)[at].value for finding in FINDINGS) / 14
    assert mean == pytest.approx(MEANS[method], abs=5e-5)
    stated = chest("mean")[at]
    assert stated.value == pytest.approx(COLUMNS[method])
    assert stated.note.endswith(f"{100 * mean:.2f}")
