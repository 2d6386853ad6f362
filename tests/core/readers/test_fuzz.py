"""The short form of `python -m tests.core.readers.fuzz`: changed files, read many to a process."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from core.readers.sandbox.readers import READERS
from tests.core.readers.fuzz import SEEDS, fuzz, mutated, outcome, seeds

COUNT = 60
ROUNDS = {"predictions": 2_000, "weights": 600}  # read in this process


@pytest.mark.slow
@pytest.mark.parametrize(
    "reader",
    [pytest.param(name, marks=[pytest.mark.nightly] * (name != "predictions")) for name in SEEDS],
)
def test_a_changed_file_is_read_or_refused_and_no_process_dies(reader):
    outcomes, failures = fuzz(reader, COUNT, seed=1)
    assert failures == {}
    assert outcomes.total() == COUNT
    assert len(outcomes) > 1  # not one answer to all


def test_every_reader_is_given_changed_files():
    assert SEEDS.keys() == READERS.keys()


@pytest.mark.parametrize("reader", SEEDS)
def test_files_are_sound_before_they_are_changed_and_read_or_refused_after(reader):
    if reader in ("predictions", "weights"):
        pytest.importorskip("torch")
    found = {name: outcome(reader, name, data) for name, data in seeds(reader).items()}
    assert set(found.values()) <= {"result", "UNDECIDED", "AMBIGUOUS_KEYS"}
    assert "result" in found.values()
    changed = {mutated(reader, number, 1) for number in range(ROUNDS.get(reader, 20))}
    assert len(changed - set(seeds(reader).items())) > 10
    ends = [(name, outcome(reader, name, data)) for name, data in sorted(changed)]
    assert [(name, end) for name, end in ends if end.startswith("!")] == []
    assert any(end != "result" for _, end in ends)


# Found by changed files --------------------------------------------------------------------------


def npz_of_no_characters() -> bytes:
    names = np.array([f"row {k}" for k in range(12)])
    names.view(np.uint32)[3] = 2**31 - 1
    np.savez(file := io.BytesIO(), human=np.full((12, 3), 4), ids=names)
    return file.getvalue()


def parquet_of_no_utf8() -> bytes:
    sizes = pa.py_buffer(np.arange(13, dtype=np.int32).tobytes())
    names = pa.Array.from_buffers(pa.string(), 12, [None, sizes, pa.py_buffer(b"abc\xfcefghijkl")])
    columns = {"image": names, "cat": [4] * 12, "dog": [8] * 12}
    pyarrow.parquet.write_table(pa.table(columns), file := io.BytesIO())
    return file.getvalue()


@pytest.mark.parametrize("reader", ["predictions", "votes", "columns"])
def test_text_that_is_none_is_a_result_or_a_refusal(reader):
    assert not outcome(reader, "rows.npz", npz_of_no_characters()).startswith("!")
    assert outcome(reader, "rows.parquet", parquet_of_no_utf8()) == "FORMAT_UNKNOWN"
