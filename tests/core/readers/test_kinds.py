"""What the scores are: the written rule, tolerances by dtype and digits, notices that say it."""

import json

import numpy as np
import pytest

from core import codec
from core.arrays import row_chunks
from core.errors import Refused, UsageError
from core.predictions import ScoreKind
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import InterpretedFile, read_source
from core.readers.predictions.result import Inspection, ReadOptions, Units
from tests import hostile_cases as made

z, p, y = made.LOGITS, made.PROBABILITIES, made.LABELS


def read(scores: np.ndarray, key: str = "scores", kind: ScoreKind | None = None) -> InterpretedFile:
    data = made.npz(**{key: scores, "labels": y})
    return read_source(FileBytes.of_bytes("x.npz", data), None, ReadOptions(kind))


def outcome(scores: np.ndarray, key: str = "scores", kind: ScoreKind | None = None) -> str:
    """The kind and the codes of the notices, or the code of the refusal."""
    try:
        found = read(scores, key, kind)
    except Refused as refusal:
        return refusal.code
    ready = found.splits["test"]
    return " ".join([str(ready.verdict.kind), *(n.code for n in found.notices)])


def off(by: float) -> np.ndarray:
    """Probabilities whose last row sums to one plus `by`."""
    out = p.copy()
    out[-1] *= 1 + by
    return out


@pytest.mark.parametrize(
    ("scores", "key", "expected"),
    [
        (z, "scores", "logits"),
        (z, "logits", "logits"),
        (z - z.min() + 1.5, "scores", "logits SCORES_GUESSED"),
        (np.abs(z) + 1.5, "scores", "UNDECIDED"),
        (p, "scores", "probabilities SCORES_GUESSED"),
        (p, "probs", "probabilities"),
        (p, "softmax", "probabilities"),
        (p, "logits", "probabilities SCORES_GUESSED"),
        (np.log(p), "log_probs", "logits"),
        (p / 2, "scores", "PROB_SUM"),
        (p / 2, "logits", "logits"),
        (z, "probs", "PROB_RANGE"),
        (np.eye(made.K)[y], "scores", "DTYPE"),
        (
            p - 1e-6 * (p == p.min()) * (p.min() + 1) - p.min() * (p == p.min()),
            "scores",
            "PROB_RANGE",
        ),
    ],
)
def test_the_rule_when_nobody_says(scores: np.ndarray, key: str, expected: str) -> None:
    assert outcome(scores, key) == expected


@pytest.mark.parametrize(
    ("dtype", "by", "expected"),
    [
        ("f8", 0.0, "probabilities"),
        ("f8", 1e-7, "probabilities"),
        ("f8", 1e-5, "probabilities RENORMALISED"),
        ("f8", 1e-3, "PROB_SUM"),
        ("f4", 1e-6, "probabilities"),
        ("f4", 1e-4, "probabilities RENORMALISED"),
        ("f4", 5e-3, "PROB_SUM"),
        ("f2", 2e-3, "probabilities RENORMALISED"),
        ("f2", 3e-2, "PROB_SUM"),
    ],
)
def test_sums_may_miss_one_by_the_rounding_of_their_dtype(
    dtype: str, by: float, expected: str
) -> None:
    assert outcome(off(by).astype(dtype), "probs") == expected


@pytest.mark.parametrize(
    ("dtype", "notices"), [("f4", []), ("f8", ["RENORMALISED"])], ids=["float32", "float64"]
)
def test_a_sum_that_float32_explains_is_news_in_float64(dtype: str, notices: list[str]) -> None:
    found = read(off(4e-6).astype(dtype), "probs")
    assert [n.code for n in found.notices] == notices
    assert found.splits["test"].predictions().renormalise == bool(notices)


@pytest.mark.parametrize("digits", [2, 3, 4])
def test_sums_may_miss_one_by_the_digits_that_were_kept(digits: int) -> None:
    rounded = np.round(p, digits)
    worst = np.abs(rounded.sum(axis=1) - 1).max()
    found = read(rounded, "probs")
    said = next(n for n in found.notices if n.code == "RENORMALISED")
    assert f"{worst:.2g}" in said.text
    got = found.splits["test"].predictions()
    assert got.renormalise
    np.testing.assert_allclose(got.probabilities().sum(axis=1), 1.0, rtol=1e-15)
    np.testing.assert_array_equal(got.scores, rounded)


def test_places_are_right_beyond_the_first_block_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    many = 300
    monkeypatch.setattr(row_chunks, "__defaults__", (8 * made.K * 70,))  # 70 rows a block
    scores = np.full((many, made.K), 0.25)
    labels = np.zeros(many, np.int8)

    def where(row: int, value: float) -> tuple[str, str]:
        changed = scores.copy()
        changed[row, 2] = value
        data = made.npz(probs=changed, labels=labels)
        with pytest.raises(Refused) as caught:
            read_source(FileBytes.of_bytes("x.npz", data), None, ReadOptions())
        return caught.value.code, caught.value.location

    assert where(many - 1, np.nan) == ("NONFINITE", f"row {many - 1} col 2")
    assert where(many - 1, -0.1) == ("PROB_RANGE", f"row {many - 1} col 2")
    assert where(3, 1.75) == ("PROB_RANGE", "row 3 col 2")
    assert where(3, 0.75) == ("PROB_SUM", "row 3")
    assert where(3, 0.0) == ("PROB_SUM", "row 3")


def test_confidence_a_hair_above_one_is_rounding_and_said() -> None:
    scores = np.eye(made.K)[y] * (1 + 1e-7)
    assert outcome(scores, "probs") == "probabilities RENORMALISED"
    assert read(scores, "probs").splits["test"].predictions().probabilities().max() == 1.0


def test_readings_state_the_consequences_of_each_kind() -> None:
    readings = {r.kind: r for r in read(p).inspection.readings}
    right = np.mean(p.argmax(axis=1) == y)
    as_logits = np.exp(p) / np.exp(p).sum(axis=1, keepdims=True)
    for kind, wanted in (("probabilities", p), ("logits", as_logits)):
        assert readings[ScoreKind(kind)].accuracy == pytest.approx(right)
        assert readings[ScoreKind(kind)].mean_confidence == pytest.approx(wanted.max(axis=1).mean())
    assert not readings[ScoreKind.SIGMOID].possible
    assert readings[ScoreKind.SIGMOID].why_not


def test_readings_of_binary_and_multilabel_scores() -> None:
    data = made.npz(scores=p[:, 0], labels=y == 0)
    binary = read_source(FileBytes.of_bytes("x.npz", data), None, ReadOptions()).inspection
    found = {r.kind: r for r in binary.readings}[ScoreKind.PROBABILITIES]
    assert found.accuracy == pytest.approx(np.mean((p[:, 0] >= 0.5) == (y == 0)))
    data = made.npz(scores=made.SIGMOID, labels=made.FINDINGS)
    labels = read_source(FileBytes.of_bytes("x.npz", data), None, ReadOptions()).inspection
    found = {r.kind: r for r in labels.readings}[ScoreKind.SIGMOID]
    assert found.accuracy == pytest.approx(np.mean((made.SIGMOID >= 0.5) == made.FINDINGS))
    sure = np.maximum(made.SIGMOID, 1 - made.SIGMOID).mean()
    assert found.mean_confidence == pytest.approx(sure)


def test_an_inspection_survives_json() -> None:
    seen = read(p).inspection
    text = json.dumps(codec.to_json(seen))
    assert codec.read(Inspection, json.loads(text), stored=True) == seen
    assert seen.layout == "60 rows, 4 columns of probabilities, labels 0..3"


def test_a_fingerprint_is_that_of_the_form_and_not_of_the_numbers() -> None:
    first, second = read(p).inspection, read(p[::-1]).inspection
    assert first.fingerprint == second.fingerprint
    assert read(p, "probs").inspection.fingerprint != first.fingerprint


def test_options_survive_json_and_refuse_what_they_do_not_know() -> None:
    options = ReadOptions(
        scores=ScoreKind.SIGMOID, units=Units.BYTE, classes="a,b", scores_key="c", in_order=True
    )
    assert ReadOptions.from_json(options.to_json()) == options
    assert ReadOptions.from_json({"scores": None, "units": None}) == ReadOptions()
    wrongs = ({"kind": "logits"}, {"scores": "odds"}, {"id_column": 3}, {"in_order": "yes"})
    for wrong in wrongs:
        with pytest.raises(UsageError):
            ReadOptions.from_json(wrong)
