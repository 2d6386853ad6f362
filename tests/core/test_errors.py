"""Refusals: what they say elsewhere, and with another remedy."""

import pytest

from core.errors import LostWorker, Refused
from core.readers.predictions.questions import undecided


@pytest.mark.parametrize(
    "error", [Refused("A", "what", "do", "row 1"), LostWorker("A", "what", "do", "row 1")]
)
def test_a_refusal_says_the_same_of_another_place_or_with_another_remedy(error):
    before = error.to_json()
    assert error.with_location("row 2").to_json() == before | {"where": "row 2"}
    assert error.with_remedy("do not").to_json() == before | {"remedy": "do not"}
    assert error.to_json() == before


def test_a_question_that_is_moved_asks_nothing_any_more():
    question = undecided("either", location="column a")
    moved = question.with_location("column b")
    assert type(moved) is Refused
    assert (moved.code, moved.location) == ("UNDECIDED", "column b")


@pytest.mark.parametrize(
    ("remedy", "options"),
    [
        (
            "name one with --scores-key, and its labels with --labels-key",
            ("--scores-key", "--labels-key"),
        ),
        ("write 0 for -1, or say --classes=-1,1", ("--classes",)),
        ("name the column (--id-column)", ("--id-column",)),
        ("give one label for each row -- or none", ()),
        ("", ()),
    ],
)
def test_a_refusal_knows_the_options_that_its_remedy_names(remedy, options):
    assert Refused("AMBIGUOUS_KEYS", "which are the labels?", remedy).options == options
