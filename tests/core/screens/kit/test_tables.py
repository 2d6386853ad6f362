"""One table of estimates: what its page shows, and what its file holds."""

import pytest

from core.metrics.paired import Difference
from core.metrics.records import Score
from core.screens.kit import records
from core.screens.kit.marks import marks
from core.screens.kit.numbers import FORMS
from core.screens.kit.records import (
    CellWords,
    Column,
    Estimate,
    ScoreTable,
    Table,
    TableRow,
)

BADGE = marks(["a"])[0]


def score(value, low=None, high=None, reason=""):
    return Score("ece", value, low, high, 0.95, 100, {}, reason)


def gap(value, low, high):
    return Difference(metric="ece", value=value, low=low, high=high, level=0.95, n=100)


TABLE = ScoreTable(
    "Run",
    (
        Column("n", "n", "count"),
        Column("gap", "Gap", "points"),
        Column("ece", "ECE, %", "unsigned_points"),
        Column("aside", "Aside", "number"),
    ),
    (
        Column("run", "run"),
        *(Column(f"ece{end}", "ece", "share") for end in ("", "_low", "_high")),
        Column("digest", "digest"),
        Column("gap", "gap", "share"),
    ),
    (
        TableRow(
            name="First",
            cells={
                "run": "first",
                "n": 12000,
                **records.with_ends("ece", records.estimate(score(0.04, 0.03, 0.05), note="low")),
                "gap": records.difference_cell(gap(0.02, 0.01, 0.03)),
                "aside": 0.5,
                "digest": "abc",
            },
            notes=("reference",),
            mark=BADGE,
            shaded=True,
        ),
        TableRow(
            name="Second",
            cells={
                "ece": records.estimate(None, "no bins"),
                "gap": records.difference_cell(gap(0.0, -0.01, 0.01)),
            },
        ),
        TableRow(name="Mean", cells={"ece": Estimate(0.05)}, in_file=False),
    ),
)


def test_the_page_has_columns_of_its_own_in_its_own_order():
    assert TABLE.heads == ("Run", "n", "Gap", "ECE, %", "Aside")
    first, second, mean = TABLE.written()
    assert [cell.value for cell in first.cells] == ["12,000", "+2.0", "4.0", "0.500"]
    assert first.cells[2].interval == "3.0 to 5.0; low"
    assert (first.name, first.notes, first.mark, first.shaded) == (
        "First",
        ("reference",),
        BADGE,
        True,
    )
    assert second.cells == (
        CellWords(""),
        CellWords("tie", "−1.0 to +1.0", mark="tie"),
        CellWords("–", reason="no bins"),
        CellWords(""),
    )
    assert (mean.name, mean.mark, mean.shaded) == ("Mean", None, False)


def test_marks_are_those_of_the_cells():
    first, second, mean = TABLE.written()
    assert (first.strong, first.ties) == ({1}, set())
    assert (second.strong, second.ties) == (set(), {1})
    assert not mean.strong | mean.ties


def test_the_file_holds_raw_values_under_its_own_columns():
    assert TABLE.file.columns == TABLE.columns
    assert TABLE.file.rows == (
        ("first", 0.04, 0.03, 0.05, "abc", 0.02),
        (None, None, None, None, None, 0.0),
    )


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (Estimate("energy"), CellWords("energy")),
        (Estimate(0.5, 0.4, 0.6, text="half"), CellWords("half", "40.0 to 60.0")),
        (Estimate(0.5, note="of 10"), CellWords("50.0", "of 10")),
        (Estimate(None, reason="too few"), CellWords("–", "", "too few")),
        (Estimate(text=""), CellWords("")),
    ],
)
def test_a_cell_says_its_text_its_interval_and_its_reason(cell, shown):
    assert records.column_words([cell], "unsigned_points") == [shown]


@pytest.mark.parametrize(
    ("kind", "values", "shown"),
    [
        ("unsigned_points", (0.0142, 0.0004, 0.5), ["1.42", "0.04", "50.00"]),
        ("points", (0.0142, -0.02, 0.0), ["+1.4", "−2.0", "0.0"]),
        ("number", (0.0123, 1.5), ["0.01", "1.50"]),
        ("percent", (0.0142, 0.0004), ["1.42\u202f%", "0.04\u202f%"]),
        ("three_alone", (0.257, 0.0123), ["0.257", "0.012"]),
        ("decimals", (1.0, 0.0123), ["1.000", "0.012"]),
        ("count", (12000, 5), ["12,000", "5"]),
    ],
)
def test_decimals_are_equal_down_a_column(kind, values, shown):
    cells = [Estimate(value) for value in values]
    assert [words.value for words in records.column_words(cells, kind)] == shown


def test_the_value_of_a_tie_which_is_not_shown_asks_for_no_decimals():
    tied = Difference(metric="ece", value=-0.00001, low=-0.037, high=0.035, level=0.95, n=9)
    (cell,) = records.column_words([records.difference_cell(tied)], "points")
    assert (cell.value, cell.interval) == ("tie", "−3.7 to +3.5")


def test_a_difference_without_an_interval_is_not_beyond_chance():
    assert records.difference_cell(gap(0.02, None, None)).mark == ""
    assert records.difference_cell(None) == Estimate(text="")


@pytest.mark.parametrize(
    ("kind", "value", "ends", "shown"),
    [
        ("count", 1234, (None, None), ("1,234", "")),
        ("weight", 12.5, (None, None), ("12.5", "")),
        ("share", 0.976, (0.97, 0.98), ("97.6\u202f%", "97.0 to 98.0")),
        ("unsigned_points", 0.04, (None, None), ("4.0", "")),
        ("percent", 0.04, (0.03, 0.05), ("4.0\u202f%", "3.0 to 5.0")),
        ("points", -0.147, (-0.152, -0.141), ("−14.7", "−15.2 to −14.1")),
        ("number", 0.0998, (0.09, 0.101), ("0.100", "0.090 to 0.101")),
        ("change", 0.12, (0.05, 0.25), ("+0.120", "+0.050 to +0.250")),
        ("change", -0.12, (None, None), ("−0.120", "")),
        ("decimals", 0.985, (0.97, 1.0), ("0.985", "0.970 to 1.000")),
        ("three_alone", 0.985, (0.97, 1.0), ("0.985", "")),
        ("decimals", 0.9995, (None, None), ("1.000", "")),
        ("decimals", -0.05, (-0.1, -0.0001), ("−0.050", "−0.100 to 0.000")),
        ("two", 0.99, (0.9, 1.08), ("0.99", "0.90 to 1.08")),
        ("two", 0.99, (None, None), ("–", "")),
        ("signed_two", 0.02, (-0.1, 0.14), ("+0.02", "−0.10 to +0.14")),
        ("hundred", 0.984, (0.97, 0.99), ("98", "97 to 99")),
        ("hundred_alone", 0.984, (0.97, 0.99), ("98", "")),
    ],
)
def test_numbers_are_written_with_their_intervals(kind, value, ends, shown):
    assert FORMS[kind](value, *ends) == shown


def test_columns_are_left_out_with_their_cells():
    full = Table((Column("a", "A"), Column("b", "B"), Column("c", "C")), ((1, 2, 3), (4, 5, 6)))
    assert full.without({"a", "c"}) == Table((Column("b", "B"),), ((2,), (5,)))
