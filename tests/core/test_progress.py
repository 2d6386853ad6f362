"""How far long work is: told by loops, heard by whoever listens, and by nobody else."""

import pytest

from core import progress
from core.arrays import row_chunks
from core.library import StoredSplit
from core.progress import Stage, stage
from core.studies import comparison


@pytest.fixture
def heard(monkeypatch) -> list[tuple[float, str]]:
    monkeypatch.setattr(Stage, "listener", None)
    told: list[tuple[float, str]] = []
    progress.on_progress(lambda share, words: told.append((share, words)))
    return told


def test_loops_over_rows_tell_how_far_they_are(heard):
    with stage("Reading", 0.5, 1.0, 8 * 4):
        for _ in row_chunks(8, 4, 2 * 4 * 8):  # two rows of four float64 at a time
            pass
    assert heard == [(share, "Reading") for share in (0.5, 0.625, 0.75, 0.875, 1.0)]


def test_more_than_was_expected_is_no_more_than_all(heard):
    with stage("Reading", 0.0, 0.25, 10):
        progress.advance(25)
    assert heard[-1] == (0.25, "Reading")


def test_a_part_within_another_speaks_for_itself(heard):
    with stage("Outer", 0.0, 1.0, 4):
        progress.advance(1)
        with stage("Inner", 0.3, 0.4, 1):
            progress.advance(1)
        progress.advance(1)
    assert heard == [
        (0.0, "Outer"),
        (0.25, "Outer"),
        (0.3, "Inner"),
        (0.4, "Inner"),
        (0.5, "Outer"),
    ]


def test_nothing_is_told_outside_of_parts(heard):
    for _ in row_chunks(8, 4):
        progress.advance(1)
    assert not heard


def test_runs_that_are_compared_are_counted(heard, monkeypatch):
    monkeypatch.setattr(comparison, "compared", lambda rows: rows.n)
    sources = [StoredSplit("digits-fair", split, 0) for split in ("test", "val")]
    assert comparison.of_sources(sources) == [899, 299]
    assert dict.fromkeys(share for share, _ in heard) == {0.0: None, 0.5: None}
