"""The shared folder of odd files gets the verdicts its manifest states; real files are read."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from core.errors import Refused
from core.metrics.notices import notices
from core.predictions import Predictions, ScoreKind, Task
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import read_source
from core.readers.predictions.result import ReadOptions
from core.readers.sandbox import read as sandbox

SHARED = Path(os.environ.get("CANDOR_SHARED", Path(__file__).parents[3].parent / "shared"))
MANIFEST = SHARED / "hostile" / "manifest.json"
CASES = json.loads(MANIFEST.read_text())["cases"] if MANIFEST.exists() else []
OWN = ("logits", "archive")
WALLED = ("evil", "bomb", "overlap", "bytearray", "torchscript", "1e12", "3gb", "markus93_p5")
absent = pytest.mark.skipif(not CASES, reason="needs the shared folder (CANDOR_SHARED)")


def walled(case: Mapping[str, object]) -> bool:
    """Whether a file is read in a child, because it could hurt; in this process otherwise."""
    return any(word in str(case["file"]) for word in WALLED)


def params(*, own: bool) -> list[object]:
    """The cases that are prediction files, or the others; a child for each is slow."""
    cases = [case for case in CASES if (case["kind"] in OWN) == own]
    marks = {True: [pytest.mark.slow], False: []}
    return [pytest.param(case, id=case["file"], marks=marks[walled(case)]) for case in cases]


def verdict(case: Mapping[str, object]) -> Predictions | Refused:
    name = str(case["file"])
    path = MANIFEST.parent / name
    try:
        if walled(case):
            return sandbox.read(path).splits["test"]
        source = FileBytes.of_bytes(name, path.read_bytes())
        found = read_source(source, None, ReadOptions())
    except Refused as refusal:
        return refusal
    got = found.splits["test"].predictions()
    if "notice" in case:
        codes = {n.code for n in (*found.notices, *notices(got))}
        assert case["notice"] in codes
    return got


@absent
@pytest.mark.parametrize("case", params(own=True))
def test_each_file_gets_its_verdict_and_its_numbers(
    case: Mapping[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    got = verdict(case)
    if case["expect"] == "refused":
        assert isinstance(got, Refused)
        assert got.code in str(case["reason_or_meaning"])
    else:
        assert isinstance(got, Predictions)
        check_numbers(got, case.get("check", {}))
    assert list(tmp_path.iterdir()) == []


def check_numbers(got: Predictions, expected: Mapping[str, float]) -> None:
    if not expected:
        return
    assert (got.n, got.n_classes) == (expected["n"], expected["k"])
    assert got.rows.correct.mean() == pytest.approx(expected["accuracy"], abs=1e-12)
    if "nll" in expected:
        assert -got.rows.log_p_true.mean() == pytest.approx(expected["nll"], abs=1e-6)


@absent
@pytest.mark.parametrize("case", params(own=False))
def test_checkpoints_and_pictures_are_refused_with_what_to_give(
    case: Mapping[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    got = verdict(case)
    assert isinstance(got, Refused)
    evil = case["kind"] == "checkpoint" and case["expect"] == "refused"
    wanted = "STATE_DICT" if case["kind"] == "checkpoint" else "IMAGE"
    if case["file"] == "phi.dcm":
        wanted = "PHI"
    assert got.code in str(case["reason_or_meaning"]) if evil else got.code == wanted
    assert evil or "logits or probabilities" in got.remedy
    assert list(tmp_path.iterdir()) == []


@absent
@pytest.mark.slow
def test_the_chest_predictions_join_their_labels_by_name() -> None:
    folder = SHARED / "data" / "predictions"
    scores, labels = (folder / f"chexnet_reproduction_{n}" for n in ("preds.csv", "labels.txt"))
    found = sandbox.read(scores, labels=labels)
    got = found.splits["test"]
    assert (got.task, got.kind, got.scores.shape) == (
        Task.MULTILABEL,
        ScoreKind.SIGMOID,
        (22_433, 14),
    )
    assert (got.class_names[0], got.class_names[-1]) == ("Atelectasis", "Hernia")
    lines = labels.read_text().splitlines()
    truth = {line.split()[0]: [int(v) for v in line.split()[1:]] for line in lines}
    np.testing.assert_array_equal(got.labels, [truth[name] for name in got.row_ids])


@absent
@pytest.mark.slow
def test_the_chest_labels_may_come_in_any_order() -> None:
    folder = SHARED / "data" / "predictions"
    lines = (folder / "chexnet_reproduction_labels.txt").read_bytes().splitlines()
    scores = (folder / "chexnet_reproduction_preds.csv").read_bytes()

    def labels(order: list[bytes]) -> np.ndarray:
        second = FileBytes.of_bytes("y.txt", b"\n".join(order))
        found = read_source(FileBytes.of_bytes("x.csv", scores), second, ReadOptions())
        return found.splits["test"].labels

    np.testing.assert_array_equal(labels(lines[::-1]), labels(lines))


@absent
@pytest.mark.slow
def test_the_pickled_pair_of_probabilities_is_read() -> None:
    found = sandbox.read(SHARED / "data" / "predictions" / "cifar10_vgg16_probs.dat")
    got = found.splits["test"]
    assert (got.task, got.kind, got.scores.shape) == (
        Task.MULTICLASS, ScoreKind.PROBABILITIES, (10_000, 10),
    )  # fmt: skip
    assert [n.code for n in found.notices] == ["SCORES_GUESSED"]
