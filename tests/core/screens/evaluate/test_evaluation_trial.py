"""A quick look: what is said of models that know, that guess, that are stuck or shuffled."""

import numpy as np
import pytest

from core.screens.evaluate import CHECK_ORDER, trial

NAMES = tuple("abcdefghij")
LABELS = np.arange(60) % 10


def scored(answers) -> np.ndarray:
    scores = np.zeros((len(answers), 10), np.float32)
    scores[np.arange(len(answers)), answers] = 4.0
    return scores


def test_a_model_that_knows_is_told_from_guessing():
    answers = LABELS.copy()
    answers[:6] = (answers[:6] + 1) % 10
    found = trial(scored(answers), LABELS, NAMES)
    assert (found.n, found.right, found.chance) == (60, pytest.approx(0.9), pytest.approx(0.1))
    assert not found.guessed
    assert found.text.startswith("Right on 90.0\u202f%")
    assert found.few == ""


def test_one_answer_for_all_points_at_what_it_is_shown():
    found = trial(scored(np.full(60, 7)), LABELS, NAMES)
    assert found.guessed
    assert found.advice.startswith("It answers “h” for 60 of 60. The mean and standard deviation")


def test_classes_in_another_order_are_noticed():
    found = trial(scored((LABELS + 3) % 10), LABELS, NAMES)
    assert found.guessed
    assert found.advice == CHECK_ORDER


def test_answers_at_random_say_nothing_more():
    answers = np.random.default_rng(1).integers(0, 10, 60)
    found = trial(scored(answers), LABELS, NAMES)
    assert found.guessed
    assert found.advice not in {"", CHECK_ORDER}
    assert "It answers" not in found.advice


def test_an_order_is_not_read_from_too_few_images_of_each_answer():
    names, labels = [str(k) for k in range(100)], np.arange(64)
    scores = np.zeros((64, 100))
    scores[np.arange(64), (labels + 1) % 100] = 1.0
    assert trial(scores, labels, names).advice != CHECK_ORDER


def test_images_of_few_classes_are_said():
    found = trial(scored(np.zeros(20, int)), np.zeros(20, int), NAMES)
    assert found.few == "The images cover 1 of 10 classes."
    assert "It answers" not in found.advice


def test_many_labels_are_measured_by_the_commoner_answer():
    labels = np.zeros((20, 2), int)
    labels[:5, 0] = 1  # one in four, and none: the commoner answer is right 7 times in 8
    found = trial(np.where(labels > 0, 1.0, -1.0), labels, ("x", "y"))
    assert found.chance == pytest.approx((0.75 + 1.0) / 2)
    assert (found.n, found.right) == (40, 1.0)
    half = trial(np.where(labels > 0, 0.6, 0.4), labels, ("x", "y"), even=0.5)
    assert half.right == 1.0
