"""Labels of metrics and methods come from their registries; sentences alone inflect them."""

from core.calibrators import CALIBRATORS
from core.metrics import METRICS
from core.metrics.paired import PAIRED
from core.screens.kit.differences import HEADS, name
from core.screens.kit.methods import IN_SENTENCE
from core.screens.kit.words import LABELS
from core.screens.posthoc.words import OBJECTIVES
from core.screens.xray.finding import NUMBER_LABELS


def test_pages_call_metrics_as_the_registry_does():
    assert {key: metric.label for key, metric in METRICS.items()} == LABELS
    assert {key: HEADS[key].removesuffix(", %") for key in LABELS} == LABELS
    assert {key: NUMBER_LABELS[key] for key in LABELS} == LABELS
    assert {key: OBJECTIVES[key] for key in OBJECTIVES} == {key: LABELS[key] for key in OBJECTIVES}


def test_no_two_metrics_have_one_label():
    assert len(set(LABELS.values())) == len(LABELS)


def test_a_sentence_calls_a_metric_as_the_registry_does_in_small_letters():
    own = {key: name(key) for key in LABELS if name(key) != LABELS[key]}
    assert own == {
        "accuracy": "accuracy",
        "brier": "Brier score",
        "classwise_ece": "classwise ECE",
        "ece_em": "equal-mass ECE",
    }


def test_heads_name_the_unit_of_shares():
    assert [HEADS[key] for key in PAIRED] == [
        "Accuracy, %",
        "NLL",
        "Brier",
        "ECE, %",
        "Equal-mass ECE, %",
        "Classwise ECE, %",
        "smECE, %",
    ]


def test_a_sentence_calls_a_method_as_the_registry_does_but_for_these():
    own = {k for k, words in IN_SENTENCE.items() if words != CALIBRATORS[k].label.lower()}
    assert own == {"focal_map", "dirichlet", "isotonic", "isotonic_ordered"}
    assert IN_SENTENCE["ets"] == "ensemble temperature scaling"
