"""Codes of verdicts are the strings that libraries and reports hold."""

import copy
import json
import pickle

import pytest

from core.metrics.records import DETECTED, MixedReading, VerdictCode, VerdictSubject

STORED = {
    "over_confident": "over-confident",
    "under_confident": "under-confident",
    "overestimates": "overestimated",
    "underestimates": "underestimated",
    "too_extreme": "too extreme",
    "too_moderate": "too moderate",
    "mixed": "mixed",
    "off_but_small": "off by little",
    "sound": "sound",
    "could_be_chance": "could be chance",
}


def test_codes_are_the_stored_strings_in_the_order_in_which_labels_are_counted():
    assert list(VerdictCode) == list(STORED)
    assert [code.words for code in VerdictCode] == list(STORED.values())
    assert json.dumps(list(VerdictCode)) == json.dumps(list(STORED))
    assert [f"{code}" for code in VerdictCode] == list(STORED)


@pytest.mark.parametrize("code", [*VerdictCode, *MixedReading, *VerdictSubject])
def test_a_code_comes_back_as_itself(code):
    assert pickle.loads(pickle.dumps(code)) is code
    assert copy.deepcopy(code) is code
    assert type(code)(str(code)) is code


def test_detected_are_the_codes_of_a_test_that_says_something_is_off():
    assert set(STORED) - {"off_but_small", "sound", "could_be_chance"} == DETECTED
