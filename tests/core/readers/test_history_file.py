"""Histories of bins from elsewhere: three formats, the sealed process, and what is refused."""

import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import Refused
from core.histories import COLUMNS
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import read_source
from core.readers.predictions.result import ReadOptions
from core.readers.sandbox import read as sandbox
from core.readers.tables import strict_tables
from core.readers.tables.strict_tables import read_history
from tests import hostile_cases as made
from tests.core.library.builders import same_columns, small_bins

REQUIRED = [name for name in COLUMNS if name not in ("gap", "train_confidence")]


def columns_of(bins, names=COLUMNS) -> dict[str, list]:
    """Columns as plain numbers, None where there is no number."""
    return {
        name: [None if value != value else value for value in getattr(bins, name).tolist()]
        for name in names
    }


def rows_of(columns: dict[str, list]) -> list[dict]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def csv(columns: dict[str, list], sep: str = ",", decimal: str = ".") -> bytes:
    def cell(value) -> str:
        return "" if value is None else str(value).replace(".", decimal)

    rows = zip(*columns.values(), strict=True)
    return made.table(list(columns), [[cell(value) for value in row] for row in rows], sep)


WRITERS = {
    "h.csv": csv,
    "german.csv": lambda columns: csv(columns, ";", ","),
    "h.tsv": lambda columns: csv(columns, "\t"),
    "rows.json": lambda columns: json.dumps(rows_of(columns)).encode(),
    "columns.json": lambda columns: json.dumps(columns).encode(),
    "h.parquet": made.parquet,
}


def read(name: str, data: bytes) -> strict_tables.HistoryFile:
    return read_history(FileBytes.of_bytes(name, data))


@pytest.mark.parametrize("name", WRITERS)
def test_every_form_gives_the_same_numbers_bit_by_bit(name):
    bins = small_bins()
    assert same_columns(read(name, WRITERS[name](columns_of(bins))).bins, bins)


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(sorted(WRITERS)),
    n_epochs=st.integers(1, 5),
    n_bins=st.integers(1, 6),
    seed=st.integers(0, 999),
)
def test_what_was_written_is_read(name, n_epochs, n_bins, seed):
    bins = small_bins(n_epochs, n_bins, seed)
    assert same_columns(read(name, WRITERS[name](columns_of(bins))).bins, bins)


@pytest.mark.parametrize("name", WRITERS)
def test_the_gap_is_computed_and_train_confidence_is_unknown_where_they_are_not_given(name):
    bins = small_bins()
    found = read(name, WRITERS[name](columns_of(bins, REQUIRED))).bins
    np.testing.assert_array_equal(found.gap, bins.gap)
    assert np.isnan(found.train_confidence).all()
    assert found.gamma.tolist() == bins.gamma.tolist()


def test_a_gap_within_rounding_is_computed_anew():
    columns = columns_of(small_bins())
    columns["gap"] = [round(gap, 7) for gap in columns["gap"]]
    assert read("h.csv", csv(columns)).bins.gap.tolist() == small_bins().gap.tolist()


def test_a_gap_that_is_left_blank_in_some_rows_is_computed_there():
    columns = columns_of(small_bins())
    columns["gap"][::2] = [None] * len(columns["gap"][::2])
    assert read("h.csv", csv(columns)).bins.gap.tolist() == small_bins().gap.tolist()


def test_columns_in_another_order_case_and_company_are_known():
    columns = columns_of(small_bins())
    odd = {"run": ["x"] * 12} | {f" {n.title()} ": columns[n] for n in reversed(list(columns))}
    found = read("h.csv", csv(odd))
    assert same_columns(found.bins, small_bins())
    assert [(n.code, n.text) for n in found.notices] == [("KEYS_GUESSED", "not used: run")]


def test_what_is_stated_of_empty_bins_is_left_out_and_said():
    columns = columns_of(small_bins())
    for name in ("confidence", "accuracy"):
        columns[name] = [value or 0.0 for value in columns[name]]
    found = read("h.csv", csv(columns))
    assert same_columns(found.bins, small_bins())
    assert [notice.code for notice in found.notices] == ["EMPTY_BINS"]
    assert "3 empty bins" in found.notices[0].text


def test_words_for_what_is_missing_are_empty_cells():
    columns = columns_of(small_bins())
    text = csv(columns).decode().replace(",,", ",NA,").replace(",,", ",null,").encode()
    assert same_columns(read("h.csv", text).bins, small_bins())


def test_epochs_may_have_gaps_and_whole_numbers_a_point():
    columns = columns_of(small_bins())
    columns["epoch"] = [10.0 * epoch + 5 for epoch in columns["epoch"]]
    found = read("h.csv", csv(columns)).bins
    assert np.unique(found.epoch).tolist() == [5, 15, 25]
    assert found.epoch.dtype == np.int64


# Refusals ---------------------------------------------------------------------------------------


def edited(row: int = 0, drop: str = "", **values: object) -> dict[str, list]:
    columns = columns_of(small_bins(), [*REQUIRED, "gap"])
    for name, value in values.items():
        columns[name][row] = value
    columns.pop(drop, None)
    return columns


def numbered(columns: dict[str, list], **types: pa.DataType) -> bytes:
    """Parquet with some columns of a type of their own."""
    arrays = {n: pa.array(c, types.get(n)) for n, c in columns.items()}
    return made.parquet(arrays)


FULL = int(np.flatnonzero(small_bins().count[:4])[1])
EMPTY = int(np.flatnonzero(small_bins().count == 0)[0])
NESTED = {"bins": rows_of(edited())}
HOSTILE = {
    "nothing": ("h.csv", b"", "EMPTY_FILE", ""),
    "a header alone": ("h.csv", csv(edited()).splitlines()[0] + b"\n", "EMPTY", ""),
    "no rows in JSON": ("h.json", b"[]", "HISTORY_COLUMNS", ""),
    "no gamma": ("h.csv", csv(edited(drop="gamma")), "HISTORY_COLUMNS", ""),
    "no bin in JSON": ("h.json", json.dumps(edited(drop="bin")).encode(), "HISTORY_COLUMNS", ""),
    "no count in Parquet": ("h.parquet", made.parquet(edited(drop="count")), "HISTORY_COLUMNS", ""),
    "nested JSON": ("h.json", json.dumps(NESTED).encode(), "HISTORY_COLUMNS", ""),
    "a number for JSON": ("h.json", b"[3]", "HISTORY_COLUMNS", ""),
    "broken JSON": ("h.json", b'[{"epoch": 0,', "HEADER_PARSE", ""),
    "deep JSON": ("h.json", b"[" * 100_000, "HEADER_PARSE", ""),
    "a key twice": ("h.json", b'{"epoch": [0], "epoch": [1]}', "CSV_HEADER", ""),
    "a column twice": ("h.csv", csv(edited()).replace(b"lower", b"Epoch", 1), "CSV_HEADER", ""),
    "columns of two lengths": (
        "h.json", json.dumps(edited() | {"gamma": [1.0]}).encode(), "LENGTH_MISMATCH", "",
    ),
    "ragged rows": ("h.csv", csv(edited()) + b"1,2\n", "CSV_RAGGED", ""),
    "a word in CSV": ("h.csv", csv(edited(3, gamma="high")), "DTYPE", "row 3"),
    "a word in JSON": ("h.json", json.dumps(edited(3, gamma="2.5")).encode(), "DTYPE", "row 3"),
    "a truth value": ("h.json", json.dumps(edited(2, bin=True)).encode(), "DTYPE", "row 2"),
    "truth values in Parquet": (
        "h.parquet", made.parquet(edited() | {"gamma": [True] * 12}), "DTYPE", "row 0",
    ),
    "a list in a row": ("h.json", json.dumps(edited(1, gamma=[1])).encode(), "DTYPE", "row 1"),
    "dates in Parquet": (
        "h.parquet", numbered(edited() | {"epoch": [1] * 12}, epoch=pa.date32()), "DTYPE", "row 0",
    ),
    "half an epoch": ("h.csv", csv(edited(4, epoch=0.5)), "DTYPE", "row 4"),
    "an endless count": ("h.json", json.dumps(edited(4, count=1e300)).encode(), "DTYPE", "row 4"),
    "a number of 400 digits": (
        "h.json", json.dumps(edited(4, gamma=10**400)).encode(), "DTYPE", "",
    ),
    "no epoch in a row": ("h.csv", csv(edited(4, epoch=None)), "NONFINITE", "row 4"),
    "an object without a count": (
        "h.json",
        json.dumps([{k: v for k, v in row.items() if k != "count" or i} for i, row in
                    enumerate(rows_of(edited()))]).encode(),
        "NONFINITE", "row 0",
    ),
    "no gamma in a row": ("h.parquet", made.parquet(edited(FULL, gamma=None)), "NONFINITE", "bin"),
    "no edge": ("h.csv", csv(edited(5, lower=None)), "NONFINITE", "epoch 1, bin 1"),
    "no accuracy of answers": ("h.csv", csv(edited(FULL, accuracy=None)), "NONFINITE", "epoch 0"),
    "an infinite gamma": ("h.csv", csv(edited(FULL, gamma="inf")), "NONFINITE", "epoch 0"),
    "percent": ("h.csv", csv(edited(FULL, accuracy=93.5)), "HISTORY_RANGE", "epoch 0"),
    "a negative bin": ("h.csv", csv(edited(0, bin=-1)), "HISTORY_RANGE", "epoch 0"),
    "bins from one": (
        "h.csv", csv(edited() | {"bin": [b + 1 for b in edited()["bin"]]}), "HISTORY_BINS", "",
    ),
    "a bin twice": ("h.csv", csv(edited(2, bin=1)), "HISTORY_BINS", "epoch 0, bin 1"),
    "a bin missing": (
        "h.csv", csv({n: c[:-1] for n, c in edited().items()}), "HISTORY_BINS", "epoch 2",
    ),
    "edges that fall": ("h.csv", csv(edited(0, upper=1.0)), "HISTORY_BINS", "epoch 0, bin 1"),
    "a gap that is not": (
        "h.csv", csv(edited(FULL, gap=0.987)), "HISTORY_GAP", f"epoch 0, bin {FULL}",
    ),
    "a gap turned round": (
        "h.csv", csv(edited() | {"gap": [-gap for gap in edited()["gap"]]}), "HISTORY_GAP", "",
    ),
    "a gap of nothing": (
        "h.csv", csv(edited(EMPTY, gap=0.25)), "HISTORY_GAP", f"epoch 0, bin {EMPTY}",
    ),
    "arrays": ("h.npz", made.npz(epoch=np.arange(3)), "FORMAT_UNKNOWN", ""),
    "a pickle": ("h.pkl", made.pickled(made.Evil()), "FORMAT_UNKNOWN", ""),
    "another suffix": ("h.parquet", csv(edited()), "FORMAT_MISMATCH", ""),
    "half a Parquet file": ("h.parquet", made.parquet(edited())[:-20], "FORMAT_UNKNOWN", ""),
    "text columns of bytes": (
        "h.parquet", numbered(edited() | {"gamma": [b"1"] * 12}, gamma=pa.binary()), "DTYPE", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_no_history_is_refused_with_its_code_and_place(case):
    name, data, code, where = HOSTILE[case]
    with pytest.raises(Refused) as caught:
        read(name, data)
    assert caught.value.code == code
    assert where in caught.value.location
    assert caught.value.remedy


def test_a_history_that_is_too_long_is_refused_before_it_is_judged(monkeypatch):
    columns = {name: [0.5] * 200_001 for name in REQUIRED}
    with pytest.raises(Refused, match="200001 rows, at most 200000") as caught:
        read("h.parquet", made.parquet(columns))
    assert caught.value.code == "TABLE_SIZE"
    with pytest.raises(Refused, match="at most 67108864") as caught:
        read("h.csv", b" " * (64 * 2**20 + 1))
    assert caught.value.code == "TABLE_SIZE"


# Recognised -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WRITERS)
def test_a_history_is_not_mistaken_for_predictions(name):
    data = WRITERS[name](columns_of(small_bins()))
    with pytest.raises(Refused, match="runs import") as caught:
        read_source(FileBytes.of_bytes(name, data), None, ReadOptions())
    assert caught.value.code == "BIN_HISTORY"


def test_a_table_with_an_epoch_alone_is_still_predictions():
    columns = {"epoch": [1] * made.N} | {f"logit_{k}": made.LOGITS[:, k] for k in range(made.K)}
    data = made.parquet(columns | {"label": made.LABELS})
    found = read_source(FileBytes.of_bytes("h.parquet", data), None, ReadOptions())
    assert found.splits["test"].prepared.scores.shape == (made.N, made.K)


def test_a_history_crosses_over_from_the_sealed_process(tmp_path: Path):
    path = tmp_path / "stored"
    path.write_bytes(csv(columns_of(small_bins()) | {"run": ["x"] * 12}))
    found = sandbox.read_bin_history(path, name="h.csv")
    assert same_columns(found.bins, small_bins())
    assert [notice.code for notice in found.notices] == ["KEYS_GUESSED"]
    assert len(found.digest) == 32
    path.write_bytes(csv(edited(2, bin=1)))
    with pytest.raises(Refused) as caught:
        sandbox.read_bin_history(path, name="h.csv")
    assert (caught.value.code, caught.value.location) == ("HISTORY_BINS", "epoch 0, bin 1")


def test_the_library_s_own_file_is_read_back():
    out = io.BytesIO()
    table = {name: getattr(small_bins(), name) for name in COLUMNS}
    pq.write_table(pa.table(table), out)
    assert same_columns(read("bins.parquet", out.getvalue()).bins, small_bins())
