"""The sanity line and the table of an evaluation, on hand-made predictions."""

import math
from dataclasses import replace

import numpy as np
import pytest

from core.inference.config import EvaluationConfig, Preprocessing, WeightsSource
from core.metrics.suite import audit
from core.predictions import Predictions, ScoreKind, Task
from core.screens import evaluate as evaluation

CONFIG = EvaluationConfig(
    model="resnet50_cifar",
    n_outputs=10,
    channels=3,
    weights=WeightsSource("a.pt", "w" * 32),
    preprocessing=Preprocessing((32, 32)),
    data="cifar10",
)


def predictions(n: int, n_right: int, confidence: float = 0.9, *, labelled: bool = True):
    """Return n rows of 10 classes that say the same, of which the first ones are right."""
    others = (1 - confidence) / 9
    scores = np.full((n, 10), others)
    scores[:, 3] = confidence
    labels = np.where(np.arange(n) < n_right, 3, 4)
    return Predictions(
        Task.MULTICLASS,
        ScoreKind.PROBABILITIES,
        scores,
        labels if labelled else np.full(n, -1),
        labelled=labelled,
    )


def lines(n_right: int, n: int = 1000):
    return (evaluation.line("test", "test", predictions(n, n_right)),)


def test_a_part_of_the_data_has_the_numbers_of_its_audit():
    data = predictions(400, 300)
    found = evaluation.line("test", "test", data)
    told = audit(data).main.metrics
    assert found.score == told["accuracy"]
    assert found.ece == told["ece"]
    assert found.score.value == 0.75
    assert found.ece.value == pytest.approx(0.15)
    assert found.confidence == pytest.approx(0.9)


def test_a_shifted_set_has_the_same_numbers_with_wilsons_interval():
    data = predictions(400, 300)
    found, whole = (evaluation.line("corrupted-fog-3", role, data) for role in ("shifted", "test"))
    assert (found.score.value, found.ece.value) == (whole.score.value, whole.ece.value)
    z = 1.959963984540054  # by hand: Wilson's interval of 300 in 400
    middle = (0.75 + z * z / 800) / (1 + z * z / 400)
    half = z * math.sqrt(0.75 * 0.25 / 400 + z * z / (4 * 400**2)) / (1 + z * z / 400)
    assert found.score.low == pytest.approx(middle - half, abs=1e-12)
    assert found.score.high == pytest.approx(middle + half, abs=1e-12)
    assert found.label(evaluation.TECHNICAL) == "Fog, severity 3"


def test_a_set_without_labels_has_its_certainty_only():
    found = evaluation.line("svhn", "ood", predictions(50, 0, 0.7, labelled=False))
    assert found.score.value is None
    assert found.ece.value is None
    assert found.confidence == pytest.approx(0.7)
    (row,) = evaluation.table((found,), evaluation.TECHNICAL).written()
    assert [cell.value for cell in row.cells] == ["50", "–", "–", "70.0\u202f%"]
    assert not row.shaded


def test_many_labels_have_a_mean_auroc():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, (300, 3))
    scores = np.clip(0.5 + 0.3 * (labels - 0.5) + rng.normal(0, 0.2, (300, 3)), 0.01, 0.99)
    data = Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, scores, labels)
    found = evaluation.line("test", "test", data)
    assert found.score == audit(data).main.metrics["auroc"]
    assert found.confidence is None
    table = evaluation.table((found,), evaluation.TECHNICAL)
    assert "AUROC" in table.heads[2]
    assert table.written()[0].cells[1].value == f"{found.score.value:.3f}"
    assert table.file.rows[0][3:5] == (None, found.score.value)
    config = replace(CONFIG, data="chestxray14", data_root="/x", n_outputs=3)
    judged = evaluation.judged(config, (found,), evaluation.TECHNICAL)
    assert judged is not None
    assert judged.against == "Guessing has 0.5."


def test_guessing_is_told_from_knowing():
    judged = evaluation.judged(CONFIG, lines(940), evaluation.TECHNICAL)
    assert judged is not None
    assert not judged.guessed
    assert judged.against == "Guessing would be right on 10.0\u202f%."
    poor = evaluation.judged(CONFIG, lines(105), evaluation.TECHNICAL)
    assert poor is not None
    assert poor.guessed
    assert "no better than guessing (10.0\u202f%)" in poor.against


def test_few_images_leave_open_whether_it_guesses():
    found, *_ = lines(105)
    for value, low, high in ((0.3, 0.07, 0.65), (0.08, 0.01, 0.4)):
        few = replace(found, score=replace(found.score, value=value, low=low, high=high))
        judged = evaluation.judged(CONFIG, (few,), evaluation.TECHNICAL)
        assert judged is not None
        assert judged.guessed
        assert judged.against == "On so few images that could be guessing (10.0\u202f%)."
    unknown = replace(found, score=replace(found.score, value=0.9, low=None, high=None))
    judged = evaluation.judged(CONFIG, (unknown,), evaluation.TECHNICAL)
    assert judged is not None
    assert not judged.guessed


def test_the_papers_numbers_stand_beside_whole_test_parts_only():
    judged = evaluation.judged(CONFIG, lines(950), evaluation.TECHNICAL)
    assert judged is not None
    # Error in percent, CIFAR-10, ResNet-50: lowest 4.56 (FCL 2024, table 2), highest 5.70 (same).
    assert "Its error is 5.0\u202f%; papers report 4.6\u202f% to 5.7\u202f%" in judged.papers
    assert "over all losses" in judged.papers
    trained = {"data": "cifar10", "model": "resnet50_cifar", "loss": {"name": "flsd_53"}}
    same = evaluation.judged(CONFIG, lines(950), evaluation.TECHNICAL, trained)
    assert same is not None
    # FLSD-53: 4.98 (Mukhoti et al. 2020 and Ghosh et al. 2022) and 4.94 (FCL 2024).
    assert "papers report 4.9\u202f% to 5.0\u202f% for this network, data and loss" in same.papers
    for other in (
        replace(CONFIG, limit=1000),
        replace(CONFIG, model="small_cnn"),
        replace(CONFIG, data="svhn"),
    ):
        judged = evaluation.judged(other, lines(950), evaluation.TECHNICAL)
        assert judged is not None
        assert judged.papers == ""


@pytest.mark.parametrize("real", [True, False])
def test_numbers_of_imagenet_stand_beside_its_own_classes_only(real):
    """Class folders of any kind could once be evaluated as ImageNet."""
    names = ("n01440764", *(str(i) for i in range(998 * real)), "n15075141")
    own = {"model": "torchvision:resnet50", "n_outputs": len(names)}
    config = replace(CONFIG, **own, data="imagenet", data_root="/images")
    judged = evaluation.judged(config, lines(770), evaluation.TECHNICAL, None, names)
    assert judged is not None
    assert ("Its error is 23.0\u202f%; papers report" in judged.papers) is real


def test_the_sanity_line_speaks_of_the_test_part_before_others():
    val = evaluation.line("val", "val", predictions(100, 50))
    shifted = evaluation.line("corrupted-fog-3", "shifted", predictions(100, 10))
    judged = evaluation.judged(CONFIG, (shifted, val, *lines(90, 100)), evaluation.TECHNICAL)
    assert judged is not None
    assert judged.line.split == "test"
    only = evaluation.judged(CONFIG, (shifted, val), evaluation.TECHNICAL)
    assert only is not None
    assert only.line.split == "val"
    assert evaluation.judged(CONFIG, (shifted,), evaluation.TECHNICAL) is None
