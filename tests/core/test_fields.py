"""Declared fields: what is refused and how it is said, JSON there and back, and old files."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, TypedDict

import pytest

from core import codec, fields
from core.errors import UsageError
from core.fields import Field


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Part:
    name: Annotated[str, Field(choices={"a": "A", "b": "B"})] = "a"
    share: Annotated[float, Field(low=0, high=1, open_low=True)] = 0.5


@dataclass(frozen=True)
class Record:
    n: Annotated[int, Field("Number", low=1, high=9)]
    title: Annotated[str, Field(length=5)]
    part: Part = field(default_factory=Part)
    parts: tuple[Part, ...] = ()
    size: Annotated[tuple[int, int], Field(remedy="give [height, width]")] = (1, 2)
    means: tuple[float, ...] = ()
    rate: Annotated[float, Field(low=0, high=1, open_high=True)] = 0.0
    most: Annotated[int | None, Field(low=1)] = None
    root: Annotated[str | None, Field(allows=str.isalpha, remedy="give letters, or null")] = None
    on: bool = False
    loose: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        fields.check(self)


LEAST = {"n": 3, "title": "x"}


def refusal(data: object) -> tuple[str, str]:
    with pytest.raises(UsageError) as caught:
        codec.read(Record, data)
    assert caught.value.code == "SETTING"
    return caught.value.what, caught.value.remedy


def test_what_is_left_out_has_its_default():
    assert codec.read(Record, LEAST) == Record(3, "x")


def test_json_gives_an_equal_record_back():
    data = {
        "n": 9,
        "title": "two",
        "part": {"name": "b", "share": 1},
        "parts": [{"name": "a", "share": 0.25}],
        "size": [3, 4],
        "means": [1.0, 0.5],
        "rate": 0.75,
        "most": 10**30,
        "root": "ab",
        "on": True,
        "loose": {"a": 1},
    }
    record = codec.read(Record, data)
    assert record.parts == (Part("a", 0.25),)
    assert (record.size, record.most, record.part.share) == ((3, 4), 10**30, 1)
    assert json.dumps(codec.to_json(record)) == json.dumps(data)


def test_whole_numbers_of_a_list_of_numbers_become_floats():
    record = codec.read(Record, LEAST | {"means": [0, 1]})
    assert json.dumps(record.means) == "[0.0, 1.0]"


@pytest.mark.parametrize(
    ("wrong", "what", "remedy"),
    [
        ({"n": 0}, "n is 0", "give 1 to 9"),
        ({"n": 10}, "n is 10", "give 1 to 9"),
        ({"n": 1.0}, "n is 1.0", "give a whole number"),
        ({"n": True}, "n is True", "give a whole number"),
        ({"title": "  "}, "title has 2 characters", "give 1 to 5 characters of ordinary text"),
        ({"title": "xxxxxx"}, "title has 6 characters", "give 1 to 5 characters of ordinary text"),
        ({"title": "\ud800"}, "title has 1 characters", "give 1 to 5 characters of ordinary text"),
        ({"part": None}, "part is None", "give an object"),
        ({"part": {"name": "c"}}, "part.name is 'c'", "use one of a, b"),
        ({"part": {"share": 0}}, "part.share is 0", "give above 0, at most 1"),
        ({"part": {"share": True}}, "part.share is True", "give a number"),
        ({"part": {"share": math.inf}}, "part.share is inf", "give a finite number"),
        ({"part": {"size": 1}}, "part has unknown key 'size'", "use name, share"),
        ({"parts": [{"size": 1}]}, "parts[0] has unknown key 'size'", "use name, share"),
        ({"parts": [3]}, "parts[0] is 3", "give an object"),
        ({"size": [1]}, "size is [1]", "give [height, width]"),
        ({"size": [1, 2.0]}, "size[1] is 2.0", "give [height, width]"),
        ({"size": 3}, "size is 3", "give a list"),
        ({"means": ["1"]}, "means[0] is '1'", "give a number"),
        ({"means": [math.nan]}, "means[0] is nan", "give a finite number"),
        ({"rate": 1}, "rate is 1", "give 0 or more, below 1"),
        ({"rate": -0.5}, "rate is -0.5", "give 0 or more, below 1"),
        ({"most": 0}, "most is 0", "give a whole number from 1, or null"),
        ({"most": "1"}, "most is '1'", "give a whole number or null"),
        ({"root": "1"}, "root is '1'", "give letters, or null"),
        ({"on": 1}, "on is 1", "give true or false"),
        ({"loose": []}, "loose is []", "give an object"),
        ({"m": 1}, "Config has unknown key 'm'", f"use {', '.join(fields.fields_of(Record))}"),
    ],
    ids=str,
)
def test_a_wrong_value_is_refused_by_key_value_and_remedy(
    wrong: dict[str, Any], what: str, remedy: str
) -> None:
    assert refusal(LEAST | wrong) == (what, remedy)


def test_numbers_that_no_float_holds_are_refused():
    what, remedy = refusal(LEAST | {"means": [10**400]})
    assert what.startswith("means[0] is 1000")
    assert remedy == "give a finite number"


@pytest.mark.parametrize("data", [None, [], "n", 3])
def test_what_is_no_object_is_refused(data: object) -> None:
    assert refusal(data) == (f"The config is a {type(data).__name__}", "give a JSON object")


def test_what_is_missing_is_named():
    assert refusal({"title": "x"}) == ("n is missing", "name n and title")
    assert refusal({}) == ("n, title is missing", "name n and title")


def test_a_long_key_or_value_is_cut():
    assert len(refusal({"k" * 5000: 1})[0]) < 100
    assert len(refusal(LEAST | {"part": {"name": "c" * 5000}})[0]) < 100


def test_fields_of_sections_are_declared_under_both_names():
    declared = fields.declared(Record)
    assert list(declared)[:4] == ["n", "title", "part.name", "part.share"]
    assert declared["part.share"].default == 0.5
    assert declared["n"].label == "Number"
    assert declared["n"].default is fields.REQUIRED
    assert declared["most"].optional
    assert not declared["n"].optional


class Range(TypedDict):
    low: float | None
    word: Annotated[str, Field(allows=str.isalpha)]


@dataclass(frozen=True)
class Stored:
    ranges: Mapping[str, Range]
    parts: Mapping[str, Part]
    loose: dict[str, Any] | None = None
    n: Annotated[int, Field(low=1)] = 1


STORED: dict[str, Any] = {
    "ranges": {"a": {"low": None, "word": "x"}},
    "parts": {"p": {"name": "a", "share": 0.5}},
    "loose": {"any": [1, {"b": None}]},
    "n": 3,
}


def test_records_in_objects_and_typed_dictionaries_come_back():
    stored = codec.read(Stored, STORED, stored=True)
    assert stored.ranges == {"a": {"low": None, "word": "x"}}
    assert stored.parts == {"p": Part("a", 0.5)}
    assert json.dumps(codec.to_json(stored)) == json.dumps(STORED)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"n": 0}, "n is 0"),
        ({"ranges": {"a": {"low": 1.0, "word": "1"}}}, "ranges.a.word is '1'"),
        ({"ranges": {"a": {"low": "1", "word": "x"}}}, "ranges.a.low is '1'"),
        ({"ranges": {"a": {"low": None}}}, "ranges.a.word is missing"),
        ({"ranges": {"a": []}}, "ranges.a is []"),
        ({"parts": {"p": {"name": "c", "share": 0.5}}}, "parts.p.name is 'c'"),
        ({"parts": {"p": {"name": "a"}}}, "parts.p.share is missing"),
        ({"loose": []}, "loose is []"),
    ],
    ids=str,
)
def test_what_is_stored_is_read_whole_and_in_range(change: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError) as caught:
        codec.read(Stored, STORED | change, stored=True)
    assert caught.value.what == what


def test_what_a_user_writes_may_leave_out_what_has_a_default():
    data = {key: STORED[key] for key in ("ranges", "parts")}
    assert codec.read(Stored, data).n == 1
    with pytest.raises(UsageError, match="loose, n is missing"):
        codec.read(Stored, data, stored=True)


class Base:
    last_: Part  # an annotation of a base class is no field


@dataclass(frozen=True)
class Painted(Base):
    colour: Colour
    other: Colour | None = None
    some: Annotated[Colour, Field(choices={Colour.RED: "Red"})] = Colour.RED


def test_words_become_members_of_their_enum_and_plain_text_again():
    painted = codec.read(Painted, {"colour": "blue", "other": None})
    assert painted.colour is Colour.BLUE
    assert codec.to_json(painted) == {"colour": "blue", "other": None, "some": "red"}
    assert {type(value) for value in codec.to_json(painted).values()} == {str, type(None)}


@pytest.mark.parametrize(
    ("wrong", "what", "remedy"),
    [
        ({"colour": "green"}, "colour is 'green'", "use one of red, blue"),
        ({"colour": ["red"]}, "colour is ['red']", "give text"),
        ({"other": "green"}, "other is 'green'", "use one of red, blue, or null"),
        ({"some": "blue"}, "some is 'blue'", "use one of red"),
    ],
)
@pytest.mark.parametrize("stored", [True, False])
def test_other_words_are_refused(
    wrong: dict[str, Any], what: str, remedy: str, *, stored: bool
) -> None:
    data = {"colour": "red", "other": None, "some": "red"} | wrong
    with pytest.raises(UsageError) as caught:
        codec.read(Painted, data, stored=stored)
    assert (caught.value.what, caught.value.remedy) == (what, remedy)


ONE_OF_BOTH = {"every": Field(choices={"epoch": "Epoch"}, low=1, high=9, kind=int | str)}


@pytest.mark.parametrize("value", ["epoch", 1, 9])
def test_a_word_may_stand_beside_a_range(value: object) -> None:
    assert codec.read_fields(ONE_OF_BOTH, {"every": value}, stored=True) == {"every": value}


@pytest.mark.parametrize("value", ["day", "1", 0, 10])
def test_another_word_or_a_number_off_the_range_is_refused(value: object) -> None:
    with pytest.raises(UsageError) as caught:
        codec.read_fields(ONE_OF_BOTH, {"every": value}, "loss", stored=True)
    assert caught.value.what == f"loss.every is {value!r}"
    assert caught.value.remedy == "use epoch, or 1 to 9"


def test_values_come_in_the_order_of_their_fields() -> None:
    known = {"a": Field(default="x"), "b": Field(kind=int), "c": Field(kind=int | None)}
    assert list(codec.read_fields(known, {"c": None, "b": 1}).items()) == [
        ("a", "x"), ("b", 1), ("c", None)
    ]  # fmt: skip
