"""Who trains, who validates, who tests: seeded splits of row numbers; numpy only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from core.arrays import Bool, Int, digest, frozen
from core.errors import Refused

SPLIT_NAMES: Final = ("train", "val", "test")
HELD_OUT: Final = 10  # every tenth row of what is cut; the papers hold 5,000 of 50,000 out
TESTED: Final = 5  # every fifth patient where there is no test list; Wang et al. 2017


@dataclass(frozen=True, eq=False)
class SplitRecord:
    """Which rows went where, and by which rule."""

    seed: int  # of the cut; the same seed makes the same cut
    rule: str  # one sentence
    # By part, (n,) int64: ascending numbers of the rows of train, val and test in the
    # source's order, in which the official training images come first, then the validation and test
    # images. No row is in two parts and none is left out
    rows: Mapping[str, Int]

    @property
    def n(self) -> dict[str, int]:
        """Rows of each part."""
        return {split: int(rows.size) for split, rows in self.rows.items()}

    @property
    def digest(self) -> str:
        """Digest of the row numbers of train, val and test."""
        return digest(*(self.rows[split] for split in SPLIT_NAMES))

    def to_json(self) -> dict[str, object]:
        """Return everything but the rows as plain JSON."""
        return {"seed": self.seed, "rule": self.rule, "n": self.n, "digest": self.digest}


def by_counts(n: int, n_val: int, n_test: int, seed: int) -> SplitRecord:
    """Cut `n` shuffled rows into validation and test parts of these sizes, the rest to train."""
    order = np.random.default_rng(seed).permutation(n)
    rule = f"{n_val:,} and {n_test:,} of {n:,} shuffled rows are validation and test part."
    return _record(seed, rule, order[n_val + n_test :], order[:n_val], order[n_val:][:n_test])


def held_out(n_train: int, n_test: int, seed: int) -> SplitRecord:
    """Take a tenth of the official training rows, not stratified, as validation part.

    Parameters
    ----------
    n_train, n_test : int
        Rows 0..n_train-1 are official training rows; the `n_test` after them are the test part.

    Notes
    -----
    Of 50,000 training rows that leaves the 45,000 and 5,000 of Mukhoti et al. 2020, section 5.
    """
    order = np.random.default_rng(seed).permutation(n_train)
    n_val = n_train // HELD_OUT
    rule = (
        f"{n_val:,} of the {n_train:,} training rows, shuffled and not stratified, are the "
        "validation part; the test part is the official one."
    )
    return _record(seed, rule, order[n_val:], order[:n_val], np.arange(n_train, n_train + n_test))


def halved(n_train: int, n_rest: int, seed: int) -> SplitRecord:
    """Keep the training rows, and cut the `n_rest` after them into validation and test part."""
    order = n_train + np.random.default_rng(seed).permutation(n_rest)
    n_val = n_rest // 2
    rule = (
        f"{n_val:,} of the {n_rest:,} official validation rows, shuffled and not stratified, are "
        "the validation part, the others the test part."
    )
    return _record(seed, rule, np.arange(n_train), order[:n_val], order[n_val:])


def as_given(n_train: int, n_val: int, n_test: int, seed: int) -> SplitRecord:
    """Keep three parts that follow one another as they are."""
    ends = np.cumsum([n_train, n_val])
    train, val, test = np.split(np.arange(n_train + n_val + n_test), ends)
    return _record(seed, "All three parts are the source's own.", train, val, test)


def all_tested(n: int, seed: int) -> SplitRecord:
    """Make every row a test row, of a model that was trained elsewhere."""
    none, every = frozen(np.arange(0)), frozen(np.arange(n))
    rows = {"train": none, "val": none, "test": every}
    return SplitRecord(seed, "There is one part, all of which is the test part.", rows)


def stratified(
    labels: Int, class_names: Sequence[str], seed: int, *, rows_are: str = "pictures"
) -> SplitRecord:
    """Cut each class into 80, 10 and 10 % (at least one row in each part).

    Parameters
    ----------
    labels : (N,) int64
    class_names : sequence of K str
    rows_are : str
        What a refusal calls the rows.

    Raises
    ------
    Refused
        EMPTY: a class has fewer than three rows.
    """
    rng = np.random.default_rng(seed)
    by_split: dict[str, list[Int]] = {split: [] for split in SPLIT_NAMES}
    for k, name in enumerate(class_names):
        rows = rng.permutation(np.flatnonzero(labels == k))
        if rows.size < 3:
            what = f"Class {name!r} has {rows.size} {rows_are}, which cannot be cut in three parts"
            remedy = "give each class at least 3, or make train, val and test yourself"
            raise Refused("EMPTY", what, remedy)
        # At least one row of each class in each part, or a class would never be judged.
        n = max(1, rows.size // HELD_OUT)
        by_split["val"].append(rows[:n])
        by_split["test"].append(rows[n : 2 * n])
        by_split["train"].append(rows[2 * n :])
    rule = "A tenth of each class is validation part, a tenth test part, by a seeded shuffle."
    return _record(seed, rule, *(np.concatenate(rows) for rows in by_split.values()))


def by_patient(patients: Sequence[str], in_test: Bool | None, seed: int) -> SplitRecord:
    """Cut films so that all films of a patient are in one part.

    Parameters
    ----------
    patients : sequence of N str
        Whose film each row is.
    in_test : (N,) bool or None
        The official test list; None cuts by the seed.

    Returns
    -------
    SplitRecord
        A tenth of the patients, shuffled, is the validation part and a fifth the test part, or
        all on the test list (Wang et al. 2017 give 70, 10 and 20 %).

    Raises
    ------
    Refused
        PATIENTS: the test list divides a patient; EMPTY: fewer than three patients.
    """
    ids, patient = np.unique(np.asarray(patients), return_inverse=True)
    # By patient, not by film; then every film gets the part of its patient.
    tested = np.zeros(ids.size, bool)
    if in_test is not None:
        tested[patient[in_test]] = True
        divided = np.flatnonzero(tested[patient] & ~in_test)
        if divided.size:
            what = f"Patient {patients[divided[0]]} has films inside and outside of the test list"
            raise Refused("PATIENTS", what, "list all films of a patient or none")
    order = np.random.default_rng(seed).permutation(np.flatnonzero(~tested))
    n_test = 0 if in_test is not None else max(1, ids.size // TESTED)
    n_val = max(1, ids.size // HELD_OUT)
    place = np.full(ids.size, 2)
    # 2 is test, 1 validation, 0 train: each line takes over what lies behind its cut.
    place[order[n_test:]] = 1
    place[order[n_test + n_val :]] = 0
    rule = (
        "All films of a patient are in one part: a tenth of the patients in the validation part, "
    ) + ("those of the test list in the test part." if n_test == 0 else "a fifth in the test part.")
    return _record(seed, rule, *(np.flatnonzero(place[patient] == split) for split in range(3)))


def _record(seed: int, rule: str, *splits: npt.NDArray[np.integer]) -> SplitRecord:
    """Return the record of train, val and test rows, sorted; none may be empty."""
    rows = {
        name: frozen(np.sort(split).astype(np.int64))
        for name, split in zip(SPLIT_NAMES, splits, strict=True)
    }
    for name, split in rows.items():
        if not split.size:
            what = f"The {name} part would have no rows"
            raise Refused("EMPTY", what, "give more data, so that all three parts have some")
    return SplitRecord(seed, rule, rows)
