"""Splits: disjoint, complete, seeded, of the promised sizes; no patient in two parts; no torch."""

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.datasets import splits
from core.datasets.catalogue import DATASETS, checked_data
from core.datasets.splits import SplitRecord
from core.errors import Refused, UsageError
from core.predictions import Task

LABELS = np.repeat([0, 1, 2], [40, 25, 3])
NAMES = ("a", "b", "c")
PATIENTS = [f"{row // 3:08}" for row in range(90)]
CUTS: dict[str, tuple[int, Callable[[int], SplitRecord]]] = {
    "by_counts": (60, lambda seed: splits.by_counts(60, 10, 20, seed)),
    "held_out": (60, lambda seed: splits.held_out(50, 10, seed)),
    "stratified": (68, lambda seed: splits.stratified(LABELS, NAMES, seed)),
    "by_patient": (90, lambda seed: splits.by_patient(PATIENTS, None, seed)),
    "by_patient_test_list": (
        90,
        lambda seed: splits.by_patient(PATIENTS, np.arange(90) >= 60, seed),
    ),
}
every_cut = pytest.mark.parametrize("name", CUTS)


@every_cut
def test_each_row_is_in_exactly_one_part_and_parts_are_sorted(name: str) -> None:
    n, cut = CUTS[name]
    record = cut(3)
    assert list(record.rows) == ["train", "val", "test"]
    np.testing.assert_array_equal(np.sort(np.concatenate(list(record.rows.values()))), np.arange(n))
    for rows in record.rows.values():
        assert rows.dtype == np.int64
        assert np.all(np.diff(rows) > 0)
    assert record.n == {part: len(rows) for part, rows in record.rows.items()}


@every_cut
def test_a_seed_gives_the_same_parts_each_time_and_another_seed_others(name: str) -> None:
    _, cut = CUTS[name]
    once, again, other = cut(3), cut(3), cut(4)
    assert once.digest == again.digest
    assert once.digest != other.digest
    assert once.rows["train"].tolist() == again.rows["train"].tolist()
    assert once.rows["train"].tolist() != other.rows["train"].tolist()


def test_rows_cannot_be_changed_afterwards() -> None:
    with pytest.raises(ValueError, match="read-only"):
        splits.held_out(50, 10, 0).rows["val"][0] = 1


def test_record_as_json_is_all_but_the_rows() -> None:
    record = splits.held_out(50, 10, 7)
    assert record.to_json() == {
        "seed": 7,
        "rule": "5 of the 50 training rows, shuffled and not stratified, are the validation part; "
        "the test part is the official one.",
        "n": {"train": 45, "val": 5, "test": 10},
        "digest": record.digest,
    }


def test_digest_tells_parts_apart_that_hold_the_same_rows() -> None:
    one, two = np.array([0, 1]), np.array([2, 3])
    rows = {"train": one, "val": two, "test": np.array([4])}
    swapped = {"train": two, "val": one, "test": np.array([4])}
    assert SplitRecord(0, "", rows).digest != SplitRecord(0, "", swapped).digest


def test_fifty_thousand_training_rows_are_cut_as_in_the_papers() -> None:
    record = splits.held_out(50_000, 10_000, 0)
    assert record.n == {"train": 45_000, "val": 5_000, "test": 10_000}
    assert record.rows["test"].tolist() == list(range(50_000, 60_000))
    assert abs(record.rows["val"].mean() - 25_000) < 1_000  # from everywhere: 5 standard errors


def test_given_parts_stay_as_they_are() -> None:
    record = splits.as_given(3, 1, 2, 0)
    assert [rows.tolist() for rows in record.rows.values()] == [[0, 1, 2], [3], [4, 5]]


def test_stratified_parts_hold_a_tenth_of_each_class_and_at_least_one() -> None:
    record = splits.stratified(LABELS, NAMES, 0)
    counts = {part: np.bincount(LABELS[rows]).tolist() for part, rows in record.rows.items()}
    assert counts == {"train": [32, 21, 1], "val": [4, 2, 1], "test": [4, 2, 1]}


def test_a_class_of_two_cannot_be_cut_in_three() -> None:
    with pytest.raises(Refused, match="Class 'b' has 2 pictures") as excinfo:
        splits.stratified(np.array([0, 0, 0, 1, 1]), ("a", "b"), 0)
    assert excinfo.value.code == "EMPTY"


def test_a_part_without_rows_is_refused() -> None:
    with pytest.raises(Refused, match="The val part would have no rows"):
        splits.held_out(9, 3, 0)


# Patients ---------------------------------------------------------------------------------------


@st.composite
def films(draw: st.DrawFn) -> list[str]:
    """Patients of films in any order, one to nine films each."""
    counts = draw(st.lists(st.integers(1, 9), min_size=4, max_size=40))
    rows = [f"{patient:08}" for patient, count in enumerate(counts) for _ in range(count)]
    return draw(st.permutations(rows))


@given(films(), st.integers(0, 2**32), st.booleans())
def test_no_patient_is_in_two_parts(patients: list[str], seed: int, official: bool) -> None:
    listed = np.array([int(patient) % 4 == 0 for patient in patients]) if official else None
    record = splits.by_patient(patients, listed, seed)
    who = [{patients[row] for row in rows} for rows in record.rows.values()]
    assert sum(map(len, who)) == len(set(patients)) == len(set.union(*who))
    if listed is not None:
        assert record.rows["test"].tolist() == np.flatnonzero(listed).tolist()


def test_a_tenth_and_a_fifth_of_the_patients_are_held_out() -> None:
    """30 patients of 3 films; with 10 of them on the test list, a tenth is still 3."""
    assert splits.by_patient(PATIENTS, None, 0).n == {"train": 63, "val": 9, "test": 18}
    listed = np.arange(90) >= 60
    assert splits.by_patient(PATIENTS, listed, 0).n == {"train": 51, "val": 9, "test": 30}


def test_three_patients_are_one_for_each_part_and_two_are_too_few() -> None:
    assert splits.by_patient(["a", "b", "b", "c"], None, 0).n.keys() == {"train", "val", "test"}
    with pytest.raises(Refused, match="part would have no rows"):
        splits.by_patient(["a", "b", "b"], None, 0)


def test_a_test_list_that_divides_a_patient_is_refused() -> None:
    with pytest.raises(Refused, match="Patient 00000001 has films inside and outside") as excinfo:
        splits.by_patient(PATIENTS, np.arange(90) >= 4, 0)
    assert excinfo.value.code == "PATIENTS"


# Catalogue --------------------------------------------------------------------------------------


def test_catalogue_and_splits_open_without_torch() -> None:
    code = (
        "import sys, core.datasets.catalogue, core.datasets.splits; print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout.strip() == "False"


def test_names_are_checked() -> None:
    assert checked_data("cifar10") == "cifar10"
    with pytest.raises(UsageError, match="'mnist'; use digits, cifar10") as excinfo:
        checked_data("mnist")
    assert excinfo.value.code == "SETTING"


def test_films_are_multilabel_and_only_folders_must_be_named() -> None:
    tasks = {name: entry.task for name, entry in DATASETS.items()}
    films = [name for name, task in tasks.items() if task is Task.MULTILABEL]
    assert films == ["chestxray14", "phantom"]
    assert [name for name, entry in DATASETS.items() if entry.needs_root] == [
        "tiny_imagenet",
        "imagenet",
        "folder",
        "chestxray14",
    ]
    assert not DATASETS["digits"].flip
    assert not DATASETS["svhn"].flip
