"""Sorting by digits against numpy's sort, bit by bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.arrays import SORTED_BY_DIGITS, Float, ascending
from core.compiled.sorting import sort_keys, write_keys, write_values
from core.metrics.ranked import SortedOutcomes
from core.predictions import Outcomes

WHOLE = st.integers(0, 2**64 - 1)
NEAR = st.sampled_from((0, 1, 255, 256, 2**63 - 1, 2**63, 2**64 - 1))
MANY = SORTED_BY_DIGITS + 3


@given(st.lists(WHOLE | NEAR, min_size=1, max_size=300))
def test_keys_ascend_as_numpy_sorts_them(keys: list[int]) -> None:
    given_keys = np.array(keys, dtype=np.uint64)
    out = sort_keys(given_keys.copy(), np.empty_like(given_keys))
    assert out.tolist() == sorted(keys)


@pytest.mark.parametrize("n", [2, 64, 65, 300])
def test_keys_alike_in_their_upper_half_ascend_too(n: int) -> None:
    keys = np.random.default_rng(n).integers(0, 2**20, n, dtype=np.uint64)
    keys = np.concatenate([keys, keys + np.uint64(1 << 63), keys])
    assert sort_keys(keys.copy(), np.empty_like(keys)).tolist() == sorted(keys.tolist())


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=300))
def test_keys_of_floats_ascend_with_them_and_come_back_bit_for_bit(values: list[float]) -> None:
    numbers = np.array(values)
    keys = np.empty(numbers.size, dtype=np.uint64)
    write_keys(numbers, keys)
    back = np.empty(numbers.size)
    write_values(keys, back)
    assert back.tobytes() == numbers.tobytes()
    by_value = numbers[np.argsort(keys, kind="stable")]
    assert (np.diff(by_value[np.isfinite(by_value)]) >= 0.0).all()
    assert by_value.tolist() == sorted(values)


def many(kind: str) -> Float:
    """Return more numbers than are left to numpy."""
    rng = np.random.default_rng(7)
    drawn = {
        "confidences": rng.beta(9, 1, MANY),
        "both signs": rng.standard_normal(MANY) * 10.0 ** rng.integers(-300, 300, MANY),
        "equal": np.full(MANY, 0.7),
        "ties": rng.integers(0, 5, MANY) / 4.0,
        "near one": 1.0 - rng.integers(1, 2000, MANY) * 2.0**-53,  # alike in their upper half
        "infinite": np.where(rng.random(MANY) < 0.1, -np.inf, rng.random(MANY)),
    }
    return drawn[kind]


@pytest.mark.parametrize(
    "kind", ["confidences", "both signs", "equal", "ties", "near one", "infinite"]
)
def test_many_numbers_are_sorted_as_few_are(kind: str) -> None:
    values = many(kind)
    kept = values.copy()
    assert ascending(values).tobytes() == np.sort(values).tobytes()
    assert values.tobytes() == kept.tobytes()


@pytest.mark.parametrize("kind", ["confidences", "equal", "ties", "near one"])
def test_many_claims_are_ranked_as_few_are(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    confidence = many(kind)
    confidence[:9] = -0.0, 0.0, 1.0, 5e-324, 0.5, 0.5, 0.5, 1.0, -0.0
    correct = np.random.default_rng(3).random(MANY) < 0.5
    kept = confidence.copy(), correct.copy()
    claims = Outcomes(confidence, correct)
    many_ranked = SortedOutcomes.of(claims)
    monkeypatch.setattr("core.metrics.ranked.SORTED_BY_DIGITS", MANY + 1)
    few_ranked = SortedOutcomes.of(claims)
    for column in ("confidence", "correct", "sum_confidence", "sum_correct"):
        ours, plain = getattr(many_ranked, column), getattr(few_ranked, column)
        assert ours.dtype == plain.dtype
        assert ours.tobytes() == plain.tobytes()
        assert not ours.flags.writeable
    assert confidence.tobytes() == kept[0].tobytes()
    assert correct.tobytes() == kept[1].tobytes()


def test_numbers_that_cannot_be_ordered_come_at_the_ends() -> None:
    values = many("confidences")
    values[[5, 9]] = np.nan, -np.nan
    ends = ascending(values)[[0, -1]]
    assert np.isnan(ends).any()
    assert not np.isnan(np.delete(ascending(values), [0, -1])).any()
