"""Two classes have two verdicts: one opens the page, the line below is of the other."""

import numpy as np
import pytest

from core.configs import AuditConfig
from core.metrics import suite
from core.metrics.ranked import SortedOutcomes
from core.predictions import Predictions, ScoreKind, Task
from core.screens.kit.labels import headline
from core.screens.reliability.plain import plain_view
from core.screens.reliability.view import Subject, audited_view, reliability_view

SCORE = np.repeat([0.02, 0.6], [1_500, 500])
LABELS = np.concatenate([np.arange(1_500) % 100 < 9, np.arange(500) % 100 < 67]) * 1
SUBJECT = Subject("r", "test", "d" * 8, ("bad", "good"))
CONFIG = AuditConfig(metrics=("accuracy", "ece", "ece_answer", "brier", "auroc"), n_resamples=200)


def rows(*, columns):
    scores = np.column_stack([1.0 - SCORE, SCORE]) if columns == 2 else SCORE
    return Predictions(Task.BINARY, ScoreKind.PROBABILITIES, scores, LABELS, ("bad", "good"))


def test_two_columns_open_with_the_answers_and_go_on_with_the_event():
    file = rows(columns=2)
    audit = suite.audit(file, CONFIG)
    view = audited_view(file, audit, SUBJECT)
    # .98 and .6 against .91 and .67, by 1,500 and 500 rows: 3.5 points too much
    assert view.sentence.text == (
        "Mixed by class: answers “bad” are over-confident by 7.0 points, “good” under-confident by "
        "7.0."
    )
    assert view.sentence.second.startswith("It underestimates “good” by 7.0 points (")
    assert view.numbers[0].label == "ECE of the answers"
    assert view.numbers[0].value == "7.0"
    assert [tile.label for tile in view.numbers[2:4]] == ["Accuracy", "Brier"]
    plain = plain_view(audit, headline(audit), SortedOutcomes.of(file.outcomes(None)), split="test")
    assert plain.sentence.text.startswith(
        "This model is too sure of its answers “bad” (says 98 in 100, right 91), and not sure "
        "enough of its answers “good” (says 60 in 100, right 67)."
    )
    assert plain.helps.text.startswith("Vector scaling, learned from other pictures, ")
    assert plain.sentence.second.startswith("This model expects “good” less often than it is there")


def test_one_score_opens_with_the_event_and_goes_on_with_the_answers():
    audit = suite.audit(rows(columns=1), CONFIG)
    view = reliability_view(audit, SUBJECT)
    assert view.sentence.text.startswith("Underestimates “good” by 7.0 points (")
    assert view.sentence.second.startswith(
        "Its answers “bad” are over-confident by 7.0 points, “good” under-confident by 7.0. "
    )
    assert view.numbers[0].label == "ECE of “good”"
    assert "confident" not in view.sentence.text
    plain = plain_view(
        audit, audit.main, SortedOutcomes.of(rows(columns=1).outcomes(1)), split="test"
    )
    assert plain.sentence.text.startswith("This model expects “good” less often than it is there.")
    assert (
        "When it only answers yes or no: this model is too sure of its answers “bad” (says 98 in "
        in plain.sentence.second
    )


@pytest.mark.parametrize("target", [0, 1])
def test_a_class_that_is_chosen_is_an_event(target):
    file = rows(columns=2)
    prepared = suite.prepare(file, target, n_resamples=200, seed=0)
    chosen = suite.diagram(prepared, n_bins=15, level=0.95)
    audit = suite.audit(file, CONFIG)
    view = reliability_view(audit, SUBJECT, chosen=chosen)
    word = ("Overestimates “bad”", "Underestimates “good”")[target]
    assert view.sentence.text.startswith(f"{word} by 7.0 points (")
    assert ("answers" in view.sentence.second) == (target == 1)
