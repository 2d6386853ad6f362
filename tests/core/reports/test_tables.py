import csv
import io

import pytest

from core.reports.tables import csv_text, guarded
from core.screens.kit.records import Column, Table


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "  =1", "\r=1", '=HYPERLINK("http://x")']
)
def test_text_that_a_spreadsheet_would_evaluate_is_quoted(text):
    assert guarded(text) == "'" + text


@pytest.mark.parametrize("text", ["cat", "", "a=b", "–", "<script>", "1,5"])
def test_plain_text_is_left_alone(text):
    assert guarded(text) == text


def test_csv_keeps_full_numbers_and_reads_back():
    columns = (Column("name", "Name"), Column("share", "Share", "share"), Column("n", "n", "count"))
    table = Table(columns, (('=a,"b"\n', 1 / 3, 7), ("x", None, -2)))
    rows = list(csv.reader(io.StringIO(csv_text(table))))
    assert rows[0] == ["name", "share", "n"]
    assert rows[1] == ['\'=a,"b"\n', repr(1 / 3), "7"]
    assert rows[2] == ["x", "", "-2"]
