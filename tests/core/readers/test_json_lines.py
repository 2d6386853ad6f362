"""JSON with a value a line, and records whose fields differ: a table, or refused by line."""

import json
import pickle

import numpy as np
import pytest

from core.errors import Refused
from core.readers.formats.contents import Contents, FileBytes
from core.readers.formats.parse import read_contents

ROWS = [
    {"id": "a", "probs": [0.1, 0.9], "y": 1, "by": {"cat": 0.1, "dog": 0.9}},
    {"id": "b", "probs": [0.7, 0.3], "y": 0, "by": {"cat": 0.7, "dog": 0.3}},
    {"y": 1, "id": "c", "probs": [0.2, 0.8], "by": {"cat": 0.2, "dog": 0.8}, "note": "late"},
]


def read(name: str, data: bytes | str) -> Contents:
    raw = data.encode() if isinstance(data, str) else data
    return read_contents(FileBytes.of_bytes(name, raw))


def refusal(name: str, data: bytes | str) -> Refused:
    with pytest.raises(Refused) as caught:
        read(name, data)
    return caught.value


def lines(rows: list[object], end: str = "\n") -> str:
    return end.join(json.dumps(row) for row in rows)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", lines(ROWS)),
        ("a.ndjson", lines(ROWS) + "\n"),
        ("a.json", lines(ROWS)),
        ("a.jsonl", lines(ROWS, "\r\n")),
        ("a.jsonl", "\n" + lines(ROWS, "\n\n") + "\n\n"),
        ("a.json", json.dumps(ROWS)),
        ("a.json", json.dumps(ROWS, indent=1)),
        ("a.jsonl", json.dumps(ROWS, indent=1)),
    ],
    ids=["jsonl", "ndjson", "json", "crlf", "blank", "list", "indented", "indented-lines"],
)
def test_records_are_the_rows_of_a_table(name: str, text: str) -> None:
    got = read(name, text)
    assert (got.table, got.printed, got.format) == (True, True, "json")
    assert list(got.entries) == ["id", "probs", "y", "by.cat", "by.dog"]
    assert got.entries["id"].tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(got.entries["probs"], [[0.1, 0.9], [0.7, 0.3], [0.2, 0.8]])
    assert got.entries["y"].dtype == np.int64
    np.testing.assert_array_equal(got.entries["by.dog"], [0.9, 0.3, 0.8])
    assert [n.code for n in got.notices] == ["KEYS_GUESSED"]
    assert "some rows lack note" in got.notices[0].text


def test_a_row_is_named_by_its_line_unless_lines_are_blank() -> None:
    assert read("a.jsonl", lines(ROWS)).row(1) == "row 1 (line 2)"
    assert read("a.jsonl", "\n\n" + lines(ROWS)).row(1) == "row 1 (line 4)"
    assert read("a.jsonl", lines(ROWS, "\n\n")).row(1) == "row 1"
    assert read("a.json", json.dumps(ROWS)).row(1) == "row 1"


def test_a_lone_line_is_a_row_and_a_mapping_of_arrays_is_none() -> None:
    one = read("a.jsonl", '{"p": 0.5, "probs": [0.5, 0.5], "y": 1}')
    assert one.table
    assert one.entries["probs"].shape == (1, 2)
    whole = read("a.jsonl", '{"probs": [[0.5, 0.5], [0.1, 0.9]], "y": [1, 0]}')
    assert not whole.table
    assert whole.entries["probs"].shape == (2, 2)


def test_lines_of_numbers_are_the_rows_of_an_array() -> None:
    got = read("a.jsonl", "[1, 2.5]\n[3, 4]\n")
    assert not got.table
    np.testing.assert_array_equal(got.entries["array"], [[1, 2.5], [3, 4]])


def test_fields_that_are_no_plain_values_are_named() -> None:
    rows = [{"p": 0.1, "odd": "x", "none": None}, {"p": 0.2, "odd": 3, "none": None}]
    got = read("a.jsonl", lines(rows))
    assert list(got.entries) == ["p"]
    assert "odd, none" in got.notices[0].text


def test_records_of_a_pickle_may_lack_fields_too() -> None:
    got = read("a.pkl", pickle.dumps(ROWS))
    assert list(got.entries) == ["id", "probs", "y", "by.cat", "by.dog"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-16-be"])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a"])
def test_json_with_a_mark_of_its_encoding_is_json(name: str, encoding: str) -> None:
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    got = read(name, mark + lines(ROWS).encode(encoding))
    assert got.entries["id"].tolist() == ["a", "b", "c"]


def test_an_object_that_begins_where_safetensors_would_is_json() -> None:
    text = '{"data":{"logits":[[1,2],[3,4]],"labels":[0,1]}}'
    assert text[8:10] == '{"'
    assert list(read("a.json", text).entries) == ["data.logits", "data.labels"]


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ('{"p": 1}\n\n{"p": }\n', "HEADER_PARSE", "line 3"),
        ('{"p": 1}\n{"p": 2\n', "HEADER_PARSE", "line 2"),
        ("{'p': 1}\n{'p': 2}\n", "HEADER_PARSE", "line 1"),
        ('{"p": 1}\n[2]\n', "HEADER_PARSE", "line 2"),
        ('{"p": 1}\n7\n', "HEADER_PARSE", "line 2"),
        ('{"p": 1}\n{"p": 2} {"p": 3}\n', "HEADER_PARSE", "line 2"),
        ('{"p": 1}\n{"p": 2, "p": 3}\n', "CSV_HEADER", "line 2"),
        ('{"p": 1}\n{"p": %s}\n' % ("9" * 5_000), "HEADER_PARSE", "line 2"),
        ('{"p": 1}\n%s\n' % ("[" * 100_000), "HEADER_PARSE", "line 2"),
        ('{"p": [1, 2]}\n{"p": [1]}\n', "PICKLE_SHAPE", "row 1, field p"),
        ('{"p": 1}\n{"q": 1}\n', "PICKLE_SHAPE", ""),
        ('{"a": {"b": 1}, "a.b": 2}\n{"a.b": 2}\n', "CSV_HEADER", "row 0"),
        ('{"epoch": 1, "bin": 0, "gamma": 1}\n{"epoch": 1}', "BIN_HISTORY", ""),
        ("[1, 2]\n[3]\n[4, 5]", "PICKLE_SHAPE", "row 1"),
    ],
)  # fmt: skip
def test_a_bad_line_is_refused_by_its_number(text: str, code: str, where: str) -> None:
    found = refusal("a.jsonl", text)
    assert (found.code, found.location) == (code, where)
    if text.startswith('{"p": 1}\n'):
        assert refusal("a.json", text).location == where


def test_text_after_an_object_on_its_line_is_no_json_lines() -> None:
    assert refusal("a.json", '{"p": [1, 2]} x').code == "HEADER_PARSE"


def test_a_field_count_is_bounded() -> None:
    row = json.dumps({f"c{i}": 1 for i in range(20_001)})
    assert refusal("a.jsonl", row + "\n" + row).code == "CSV_COLUMNS"


def test_a_key_that_occurs_twice_is_found_without_comparing_all() -> None:
    """Each key against each other would take minutes; the test would not end."""
    keys = [*range(200_000), 199_999]
    pairs = ",".join(f'"{key}":1' for key in keys)
    found = refusal("a.json", f"{{{pairs}}}")
    assert (found.code, found.what) == ("CSV_HEADER", "Key '199999' occurs twice")


def test_class_names_lie_beside_arrays() -> None:
    text = '{"probs": [[0.5, 0.5]], "labels": ["b"], "class_names": ["a", "b"]}'
    assert read("a.json", text).entries["class_names"].tolist() == ["a", "b"]
