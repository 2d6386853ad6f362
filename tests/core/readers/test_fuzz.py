"""The short form of `python -m tests.core.readers.fuzz`: changed files, read many to a process."""

import pytest

from tests.core.readers.fuzz import SEEDS, fuzz, mutated, outcome, seeds

COUNT = 60


@pytest.mark.slow
@pytest.mark.parametrize("reader", SEEDS)
def test_a_changed_file_is_read_or_refused_and_no_process_dies(reader):
    outcomes, failures = fuzz(reader, COUNT, seed=1)
    assert failures == {}
    assert outcomes.total() == COUNT
    assert len(outcomes) > 1  # not one answer to all


@pytest.mark.parametrize("reader", [reader for reader in SEEDS if reader != "weights"])
def test_files_are_sound_before_they_are_changed_and_differ_after(reader):
    found = {name: outcome(reader, name, data) for name, data in seeds(reader).items()}
    assert set(found.values()) <= {"result", "UNDECIDED", "AMBIGUOUS_KEYS"}
    assert "result" in found.values()
    changed = {mutated(reader, number, 1) for number in range(20)}
    assert len(changed) > 10
    assert changed.isdisjoint(seeds(reader).items())
