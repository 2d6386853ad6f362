"""Lists in the cells of a table are a matrix; other ways in which spreadsheets write numbers."""

import decimal

import numpy as np
import pyarrow as pa
import pytest

from core import defaults
from core.errors import Refused
from core.readers.formats.contents import Contents, FileBytes, id_text, stacked, text_array
from core.readers.formats.parse import read_contents
from core.readers.formats.table_file import read_csv
from tests import hostile_cases as made

P = [[0.25, 0.75], [0.5, 0.5], [1e-05, 0.99999]]


def read(data: str | bytes, name: str = "a.csv") -> Contents:
    raw = data.encode() if isinstance(data, str) else data
    return read_contents(FileBytes.of_bytes(name, raw))


def cells(values: list[str], first: str = "x") -> str:
    return f"id,{first},y\n" + "".join(f'r{i},"{v}",{i % 2}\n' for i, v in enumerate(values))


def said(contents: Contents) -> list[tuple[str, str]]:
    return [(notice.code, notice.text) for notice in contents.notices]


PRINTED = {
    "python": ["[0.25, 0.75]", "[0.5, 0.5]", "[1e-05, 0.99999]"],
    "tight": ["[0.25,0.75]", "[0.5,0.5]", " [1e-05,0.99999] "],
    "tuple": ["(0.25, 0.75)", "(0.5, 0.5)", "(1e-05, 0.99999)"],
    "numpy": ["[0.25 0.75]", "[0.5 0.5]", "[1.0000e-05 9.9999e-01]"],
    "lines": ["[0.25\n 0.75]", "[0.5\n 0.5]", "[1e-05\n  0.99999]"],
    "row": ["[[0.25 0.75]]", "[[0.5 0.5]]", "[[1e-05 0.99999]]"],
    "tensor": ["tensor([0.25, 0.75])", "tensor([0.5000, 0.5000])", "tensor([1e-05, 0.99999])"],
    "device": [
        f"tensor({row}, device='cuda:0', grad_fn=<SoftmaxBackward0>)" for row in map(str, P)
    ],
    "array": [f"array({row}, dtype=float32)" for row in map(str, P)],
    "scalars": [f"[np.float64({a}), np.float64({b})]" for a, b in P],
}


@pytest.mark.parametrize("kind", PRINTED)
def test_lists_of_one_length_are_a_matrix(kind: str) -> None:
    got = read(cells(PRINTED[kind]))
    assert list(got.entries) == ["id", "x", "y"]
    assert got.table
    np.testing.assert_array_equal(got.entries["x"], P)
    assert said(got) == [("DIALECT", "lists in the cells of x were read as a matrix of 2 columns")]


def test_whole_numbers_in_lists_stay_whole() -> None:
    got = read(cells(["[0, 1, 0]", "[1, 0, 0]"]))
    np.testing.assert_array_equal(got.entries["x"], [[0, 1, 0], [1, 0, 0]])
    assert got.entries["x"].dtype == np.int64
    assert read(cells(["[0., 1.]", "[1., 0.]"])).entries["x"].dtype == np.float64
    one = read(cells(["(7,)", "(8,)"]))
    np.testing.assert_array_equal(one.entries["x"], [[7], [8]])
    huge = read(cells(["[9007199254740993]", "[1]"]))
    assert huge.entries["x"].dtype == np.float64


def test_gaps_and_infinities_in_lists_are_kept_to_be_judged() -> None:
    got = read(cells(["[nan, -inf]", "[0.5, 0.5]"]))
    np.testing.assert_array_equal(got.entries["x"], [[np.nan, -np.inf], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("values", "row"),
    [
        (["[0.1, 0.9]", "[0.1, 0.2, 0.7]"], 1),
        (["[0.1, 0.9]", "[0.5, 0.5]", "0.5"], 2),
        (["[0.1, 0.9]", "[0.5, x]"], 1),
        (["[0.1, 0.9]", "[]"], 1),
        (["[0.1, 0.9]", "[0.1, 0.9"], 1),
        (["[0.1, 0.9]", "[0.1, 0.9)"], 1),
        (["[0.1, 0.9]", "[0.1,, 0.9]"], 1),
        (["[0.1, 0.9]", "[1_0, 0.9]"], 1),
        (["[0.1, 0.9]", "[0.1, ٣]"], 1),
        (["[0.1, 0.9]", "[[0.1], 0.9]"], 1),
        (["[0.1, 0.9]", "[0.1, print(1)]"], 1),
        (["[0.1, 0.9]", "tensor([0.1, 0.9], x)"], 1),
    ],
)
def test_a_column_with_another_cell_stays_text_and_says_where(values: list[str], row: int) -> None:
    got = read(cells(values))
    assert got.entries["x"].tolist() == values
    ((code, text),) = said(got)
    assert code == "KEYS_GUESSED"
    assert text.startswith(f"row {row} (line {row + 2}) of x is not a list of 2 numbers")


@pytest.mark.parametrize("value", ["[]", "[a, b]", "cat", "(left)", "[...]", "tensor(0.5)", "not"])
def test_text_that_begins_with_no_list_stays_text(value: str) -> None:
    got = read(cells([value, "[0.1, 0.9]"]))
    assert got.entries["x"].tolist() == [value, "[0.1, 0.9]"]
    assert said(got) == []


def test_blocks_of_rows_make_one_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.readers.formats.table_file.LIST_BLOCK", 4)
    got = read(cells([f"[{i}, 1.5]" for i in range(7)]))
    np.testing.assert_array_equal(got.entries["x"][:, 0], range(7))
    bad = read(cells([*(f"[{i}, 1.5]" for i in range(7)), "[1, 1.5.5]", "[2, 2.5.5]"]))
    assert "row 7 " in said(bad)[0][1]


def test_the_length_of_a_list_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defaults, "MAX_COLUMNS", 3)
    assert read(cells(["[1, 2, 3]"])).entries["x"].ndim == 2
    assert read(cells(["[1, 2, 3, 4]"])).entries["x"].ndim == 1


def test_a_number_in_a_list_may_overflow_no_more_than_in_a_cell() -> None:
    with pytest.raises(Refused) as caught:
        read(cells(["[0.1, 0.9]", "[0.5, 1e400]"]))
    assert (caught.value.code, caught.value.location) == ("NONFINITE", "row 1, column x")


def test_a_table_that_is_to_stay_text_keeps_its_lists() -> None:
    source = FileBytes.of_bytes("a.csv", cells(PRINTED["python"]).encode())
    assert read_csv(source, text=True).entries["x"].tolist() == PRINTED["python"]


# Spreadsheets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;", "sep=;\r"])
def test_a_first_line_may_name_the_separator(first: str) -> None:
    got = read(f"{first}\nname;p,q;y\na,b,c;1;0\nd,e,f;2;1\n")
    assert list(got.entries) == ["name", "p,q", "y"]
    assert got.entries["name"].tolist() == ["a,b,c", "d,e,f"]
    assert got.row(0) == "row 0 (line 3)"
    assert "the first line names the separator" in said(got)[0][1]


def test_a_named_tab_separates_and_a_comment_may_follow() -> None:
    got = read("sep=\t\n# made by hand\na\tb\n1\t2\n")
    np.testing.assert_array_equal(got.entries["b"], [2])
    assert got.row(0) == "row 0 (line 4)"
    assert list(read("a,sep=;\n1,2\n").entries) == ["a", "sep=;"]


@pytest.mark.parametrize("cell", ["5,5E-02", "5,5e-02", "0,55E-1", "+0,055", "0,00055e+02"])
def test_decimal_commas_may_have_exponents(cell: str) -> None:
    got = read(f"p;y\n{cell};1\n{cell};0\n")
    np.testing.assert_allclose(got.entries["p"], [0.055, 0.055])


# Parquet ----------------------------------------------------------------------------------------


def parquet(**columns: object) -> Contents:
    return read(made.parquet(columns), "a.parquet")


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.list_(pa.float64(), 2), pa.large_list(pa.float16())]
)
def test_lists_of_parquet_are_a_matrix(kind: pa.DataType) -> None:
    values = [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]
    chunks = pa.chunked_array([values[:1], values[1:]], kind)
    got = parquet(p=chunks, y=[0, 1, 1])
    np.testing.assert_array_equal(got.entries["p"], values)
    assert got.entries["p"].dtype == kind.value_type.to_pandas_dtype()
    hot = parquet(y=pa.array([[True, False], [False, True]]), z=pa.array([[1], [2]]))
    assert hot.entries["y"].dtype == np.bool_
    np.testing.assert_array_equal(hot.entries["z"], [[1], [2]])


def test_lists_and_decimals_of_parquet_that_cannot_be_a_matrix_are_refused() -> None:
    cases = {
        "CSV_RAGGED": [[0.1, 0.9], [0.5]],
        "NONFINITE": [[0.1, 0.9], [0.5, None]],
        "DTYPE": [["a"], ["b"]],
    }
    for code, values in cases.items():
        with pytest.raises(Refused) as caught:
            parquet(p=values)
        assert caught.value.code == code
        assert "p" in caught.value.location
        assert code == "DTYPE" or "row 1" in caught.value.location
    for values, kind in (([[0.1], None], pa.list_(pa.float64())), ([[[0.1]]], None)):
        with pytest.raises(Refused) as caught:
            parquet(p=pa.array(values, kind))
        assert caught.value.code == ("DTYPE" if kind is None else "NONFINITE")


def test_values_of_lists_count_as_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defaults, "MAX_BYTES", 8 * 1_000)
    assert parquet(p=[[0.5] * 10] * 100).entries["p"].shape == (100, 10)
    with pytest.raises(Refused) as caught:
        parquet(p=[[0.5] * 11] * 100)
    assert caught.value.code == "TABLE_SIZE"


def test_decimals_of_parquet_are_numbers() -> None:
    values = [decimal.Decimal("0.25"), decimal.Decimal("-12.5")]
    for kind in (pa.decimal128(6, 3), pa.decimal256(40, 3)):
        got = parquet(p=pa.array(values, kind))
        np.testing.assert_array_equal(got.entries["p"], [0.25, -12.5])
        assert got.entries["p"].dtype == np.float64
    gap = parquet(p=pa.array([values[0], None])).entries["p"]  # text, as in a file of CSV
    assert gap.tolist() == ["0.25", ""]


# Columns beside matrices ------------------------------------------------------------------------


def test_matrices_among_columns_are_stacked_and_named() -> None:
    wide = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(stacked([np.array([0, 9]), wide]), [[0, 1, 2], [9, 3, 4]])
    assert stacked([wide[:0], wide[:0, 0]]).shape == (0, 3)
    assert id_text(wide.astype(int)).tolist() == ["[1, 2]", "[3, 4]"]
    assert id_text(np.array([[7.0], [8.0]])).tolist() == ["7", "8"]
    texts = text_array(["a", "b", "c", "d"]).reshape(2, 2)
    assert id_text(texts).tolist() == ["['a', 'b']", "['c', 'd']"]
