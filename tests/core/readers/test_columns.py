"""Columns for subgroups: text as it stands, and rows matched by name or in order."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import Refused
from core.readers.formats.contents import FileBytes
from core.readers.sandbox import read as sandbox
from core.readers.tables.strict_tables import TextColumns, match, read_columns_file
from tests import hostile_cases as made

NIH = (
    b"Image Index,Finding Labels,Follow-up #,Patient ID,Patient Age,Patient Gender,View Position,"
    b"OriginalImage[Width,Height],OriginalImagePixelSpacing[x,y],\n"
    b"00000001_000.png,Cardiomegaly,0,00001,058Y,M,PA,2682,2749,0.143,0.143,\n"
    b"00000001_001.png,Cardiomegaly|Emphysema,1,00001,058Y,M,AP,2894,2729,0.1430,0.143,\n"
)


def read(data: bytes) -> TextColumns:
    return read_columns_file(FileBytes.of_bytes("table 1", data))


def refusal(data: bytes) -> str:
    with pytest.raises(Refused) as caught:
        read(data)
    return caught.value.code


def table(**columns: str) -> TextColumns:
    return TextColumns({name: tuple(cells.split()) for name, cells in columns.items()})


def test_cells_stay_text_as_they_stand() -> None:
    found = read(NIH)
    assert list(found.columns)[:3] == ["Image Index", "Finding Labels", "Follow-up #"]
    assert len(found.columns) == 11
    assert found.ids == ("00000001_000.png", "00000001_001.png")
    assert found.columns["Patient ID"] == ("00001", "00001")
    assert found.columns["OriginalImagePixelSpacing[x"] == ("0.143", "0.1430")
    assert found.columns["View Position"] == ("PA", "AP")


@pytest.mark.parametrize("mark", [b"\t", b";", b"|"])
def test_other_separators_and_encodings_are_read(mark: bytes) -> None:
    data = b"id,age\na,1\nb,02\n".replace(b",", mark)
    assert read(data).columns == {"id": ("a", "b"), "age": ("1", "02")}
    assert read(data.decode().encode("utf-16")).columns["age"] == ("1", "02")


def test_what_is_no_table_is_refused() -> None:
    assert refusal(b"1,2\n3,4\n") == "CSV_HEADER"
    assert refusal(made.npz(logits=made.LOGITS, labels=made.LABELS)) == "FORMAT_UNKNOWN"
    assert refusal(b"\x89PNG\r\n\x1a\n") == "IMAGE"
    assert refusal(bytes(128) + b"DICM") == "PHI"
    assert refusal(b"id,age\n") == "EMPTY"
    assert refusal(b"id,age\n1,2,3\n") == "CSV_RAGGED"


@pytest.mark.slow
def test_a_table_that_is_too_long_is_refused() -> None:
    assert refusal(b"a,b\n" + 2_500_001 * b"x,y\n") == "TABLE_SIZE"


def test_rows_are_found_by_the_column_that_holds_their_names() -> None:
    source = table(number="1 2 3", film="c.png a.png b.png", sex="F M F")
    found = match(source, ["a.png", "b.png"], 2)
    assert (found.columns, found.id_column) == ({"number": ("2", "3"), "sex": ("M", "F")}, "film")
    assert "all 2 rows" in found.description
    assert "1 more row" in found.description


@pytest.mark.parametrize(
    "names", [["a.png", "b.png"], ["/films/a.png", "x\\b.png"], ["a.jpg", "b.jpg"], ["a", "y/b"]]
)
def test_names_fit_without_folders_and_suffixes(names: list[str]) -> None:
    found = match(table(film="b.png a.png", sex="F M"), names, 2)
    assert found.columns == {"sex": ("M", "F")}


def test_names_are_not_cut_where_that_makes_two_rows_one() -> None:
    source = table(film="a.png b.png", sex="F M")
    with pytest.raises(Refused, match="None of 2 rows"):
        match(source, ["one/a.png", "two/a.png"], 2)


def test_a_row_without_a_partner_or_with_two_is_refused_with_its_name() -> None:
    with pytest.raises(Refused) as caught:
        match(table(film="a b c", sex="F M F"), ["a", "x", "c"], 3)
    assert caught.value.code == "LENGTH_MISMATCH"
    assert caught.value.what == "1 of 3 rows are not in column 'film': x"
    with pytest.raises(Refused, match="more than once in 'film': a"):
        match(table(film="a b a", sex="F M F"), ["a", "b"], 2)
    assert match(table(film="a b c c", sex="F M F F"), ["a", "b"], 2).id_column == "film"


def test_rows_without_names_are_taken_in_order_and_must_be_as_many() -> None:
    source = table(age="30 40", sex="F M")
    assert match(source, [], 2).columns == source.columns
    assert match(source, ["a", "b"], 2, in_order=True).id_column is None
    with pytest.raises(Refused, match="The table has 2 rows, the run 3"):
        match(source, [], 3)


@given(st.permutations(range(9)), st.sets(st.integers(0, 8), min_size=1))
def test_any_order_gives_each_row_its_own_values(order: list[int], kept: set[int]) -> None:
    source = TextColumns(
        {"film": tuple(f"{i}.png" for i in order), "value": tuple(f"v{i}" for i in order)}
    )
    names = sorted(kept)
    found = match(source, [f"{i}.png" for i in names], len(names))
    assert found.columns["value"] == tuple(f"v{i}" for i in names)


def test_columns_cross_over(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(NIH)
    found = sandbox.read_columns(path, name="table 1")
    assert found.columns == read(NIH).columns
    assert len(found.digest) == 32
    path.write_bytes(b"1,2\n3,4\n")
    with pytest.raises(Refused, match="CSV_HEADER"):
        sandbox.read_columns(path, name="table 1")
