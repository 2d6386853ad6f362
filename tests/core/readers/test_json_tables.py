"""Tables in JSON, as pandas, MLflow and Weights & Biases write them, are tables."""

import json

import numpy as np
import pytest

from core import defaults
from core.errors import Refused
from core.readers.formats.contents import Contents, FileBytes
from core.readers.formats.parse import read_contents
from core.readers.predictions.interpret import read_source
from core.readers.predictions.result import ReadOptions

NAMES = ["cat", "dog", "label"]
ROWS = [[0.1, 0.9, "dog"], [0.7, 0.3, "cat"], [0.4, 0.6, "cat"], [0.2, 0.8, "dog"]]
BY_ROW = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
IMAGES = ["a.png", "b.png", "c.png", "d.png"]
FIELDS = [{"name": "index", "type": "integer"}, *({"name": n, "type": "x"} for n in NAMES)]


def read(tree: object) -> Contents:
    return read_contents(FileBytes.of_bytes("a.json", json.dumps(tree).encode()))


def refusal(tree: object) -> Refused:
    with pytest.raises(Refused) as caught:
        read(tree)
    return caught.value


def by_column(index: list[object]) -> dict[str, object]:
    return {
        name: {str(i): row[at] for i, row in zip(index, ROWS, strict=True)}
        for at, name in enumerate(NAMES)
    }


def by_row(index: list[object]) -> dict[str, object]:
    return {str(i): row for i, row in zip(index, BY_ROW, strict=True)}


def with_schema(index: list[object]) -> dict[str, object]:
    rows = [{"index": i, **row} for i, row in zip(index, BY_ROW, strict=True)]
    return {"schema": {"fields": FIELDS, "primaryKey": ["index"]}, "data": rows}


def split(index: list[object]) -> dict[str, object]:
    return {"columns": NAMES, "index": index, "data": ROWS}


def check(got: Contents) -> None:
    assert (got.table, got.printed, got.format) == (True, True, "json")
    np.testing.assert_array_equal(got.entries["cat"], [0.1, 0.7, 0.4, 0.2])
    np.testing.assert_array_equal(got.entries["dog"], [0.9, 0.3, 0.6, 0.8])
    assert got.entries["label"].tolist() == ["dog", "cat", "cat", "dog"]


TABLES = {
    "wandb": {"columns": NAMES, "data": ROWS},
    "wandb-typed": {
        "_type": "table", "column_types": {"params": {}}, "columns": NAMES, "data": ROWS,
        "ncols": 3, "nrows": 4,
    },
    "split": split([0, 1, 2, 3]),
    "columns": by_column([0, 1, 2, 3]),
    "index": by_row([0, 1, 2, 3]),
    "records": BY_ROW,
    "schema": with_schema([0, 1, 2, 3]),
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
def test_every_orient_gives_the_columns_in_the_order_of_the_file(kind: str) -> None:
    got = read(TABLES[kind])
    assert list(got.entries) == NAMES
    assert got.notices == ()
    check(got)


@pytest.mark.parametrize("orient", [split, by_column, by_row, with_schema])
@pytest.mark.parametrize(
    ("index", "expected"),
    [(IMAGES, IMAGES), ([9, 4, 7, 1], [9, 4, 7, 1]), (["01", "02", "03", "04"], None)],
    ids=["names", "numbers", "padded"],
)
def test_names_of_rows_are_a_column(
    orient: object, index: list[object], expected: list[object] | None
) -> None:
    got = read(orient(index))
    assert list(got.entries) == ["index", *NAMES]
    assert got.entries["index"].tolist() == (expected or index)
    check(got)


def test_lists_in_cells_are_matrices_and_media_lie_aside() -> None:
    media = {"_type": "image-file", "path": "media/a.png", "width": 32}
    rows = [[media, [0.1, 0.9], 1], [media, [0.7, 0.3], 0]]
    got = read({"columns": ["image", "probs", "y"], "data": rows})
    assert list(got.entries) == ["probs", "y"]
    np.testing.assert_array_equal(got.entries["probs"], [[0.1, 0.9], [0.7, 0.3]])
    assert "image" in got.notices[0].text
    listed = read({"probs": {"0": [0.1, 0.9], "1": [0.7, 0.3]}, "y": {"0": 1, "1": 0}})
    np.testing.assert_array_equal(listed.entries["probs"], [[0.1, 0.9], [0.7, 0.3]])


def test_columns_are_told_from_rows_by_their_kinds_and_else_by_number() -> None:
    numbers = {name: {"cat": 0.1 * at, "dog": 0.5} for at, name in enumerate(IMAGES)}
    got = read(numbers)
    assert list(got.entries) == ["index", "cat", "dog"]
    assert got.entries["index"].tolist() == IMAGES
    assert [n.code for n in got.notices] == ["KEYS_GUESSED"]
    turned = {k: {i: numbers[i][k] for i in IMAGES} for k in ("cat", "dog")}
    again = read(turned)
    for name in got.entries:
        np.testing.assert_array_equal(again.entries[name], got.entries[name])
    counted = read({str(k): {str(i): 0.5 for i in range(4)} for k in range(2)})
    assert {name: len(entry) for name, entry in counted.entries.items()} == {"0": 4, "1": 4}


def test_rows_by_name_may_lack_fields() -> None:
    tree = {"a.png": {"p": 0.1, "y": 1}, "b.png": {"p": 0.2, "y": 0, "note": "x"}}
    got = read(tree)
    assert list(got.entries) == ["index", "p", "y"]
    assert "some rows lack note" in got.notices[0].text


def test_parts_of_arrays_are_no_table() -> None:
    part = {"logits": [[1.0, 2.0], [2.0, 1.0]], "labels": [0, 1]}
    assert list(read({"val": part, "test": part}).entries)[:2] == ["val.logits", "val.labels"]
    folds = read({"0": part, "1": part})
    assert list(folds.entries)[:2] == ["0.logits", "0.labels"]
    one = {"probs": [0.1, 0.9], "labels": [0, 1]}
    assert not read({"0": one, "1": one}).table
    flat = {"confidence": [0.5, 0.6], "labels": [0, 1], "accuracy": 0.5}
    got = read({"val": flat, "test": flat})
    assert (got.table, len(got.entries)) == (False, 4)
    with_data = read({"columns": ["a", "b"], "data": {"logits": [[1.0, 2.0]], "labels": [0]}})
    assert not with_data.table


@pytest.mark.parametrize(
    ("tree", "code", "where"),
    [
        ({"columns": ["a", "a"], "data": [[1, 2]]}, "CSV_HEADER", ""),
        ({"columns": ["a", "b"], "data": [[1, 2], [1]]}, "CSV_RAGGED", "row 1"),
        ({"columns": ["a", "b"], "data": []}, "EMPTY", ""),
        ({"schema": {}, "data": []}, "EMPTY", ""),
        ({"columns": ["a"], "data": [[[1, 2]], [[1]]]}, "PICKLE_SHAPE", "row 1, field a"),
        ({"columns": ["epoch", "bin", "gamma"], "data": [[1, 2, 3]]}, "BIN_HISTORY", ""),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(tree: object, code: str, where: str) -> None:
    found = refusal(tree)
    assert (found.code, found.location) == (code, where)


def test_the_depth_of_a_row_is_bounded() -> None:
    cell: object = 1
    for _ in range(900):
        cell = {"a": cell}
    assert refusal({"schema": {}, "data": [{"b": cell}]}).code == "PICKLE_SHAPE"
    assert refusal([{"b": cell}]).code == "PICKLE_SHAPE"
    assert refusal({"a": {"b": cell}}).code == "PICKLE_SHAPE"
    assert refusal({"columns": ["a"], "data": [[cell]]}).code == "PICKLE_SHAPE"


def test_columns_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defaults, "MAX_COLUMNS", 2)
    assert refusal(TABLES["split"]).code == "CSV_COLUMNS"


def test_halves_of_characters_keep_names_apart() -> None:
    """A question mark for each would make one name of two."""
    rows = [
        {"id": f"a{half}", "label": k % 2, "logits": [0.1 * k, 0.2]}
        for k, half in enumerate(("\ud800", "\ud801", "\udc00", "\U0001f600"))
    ]
    text = json.dumps(rows).encode()
    got = read_source(FileBytes.of_bytes("a.json", text), None, ReadOptions())
    (part,) = got.splits.values()
    assert part.predictions().row_ids == ("a\\ud800", "a\\ud801", "a\\udc00", "a\U0001f600")
