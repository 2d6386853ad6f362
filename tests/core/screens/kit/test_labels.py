"""Labels of metrics and methods come from their registries; where pages differ stands here."""

from core.calibrators import CALIBRATORS
from core.metrics import METRICS
from core.screens.kit.differences import COLUMNS, HEADS
from core.screens.kit.methods import IN_SENTENCE
from core.screens.kit.words import LABELS


def test_pages_call_metrics_as_the_registry_does_but_for_these():
    own = {key: label for key, label in LABELS.items() if label != METRICS[key].label}
    assert own == {
        "nll": "Log-loss",
        "ece_em": "ECE equal mass",
        "smece": "Smooth ECE",
        "ada_ece": "AdaECE",
        "aurc": "Risk-coverage area",
    }


def test_heads_name_the_unit_of_shares():
    assert [HEADS[key] for key in COLUMNS] == [
        "Accuracy, %",
        "Log-loss",
        "Brier",
        "ECE, %",
        "ECE equal mass, %",
        "Classwise, %",
        "Smooth ECE, %",
    ]


def test_a_sentence_calls_a_method_as_the_registry_does_but_for_these():
    own = {k for k, words in IN_SENTENCE.items() if words != CALIBRATORS[k].label.lower()}
    assert own == {"focal_map", "dirichlet", "isotonic", "isotonic_ordered"}
    assert IN_SENTENCE["ets"] == "ensemble temperature scaling"
