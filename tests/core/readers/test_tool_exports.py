"""What the field's tools write: the shared folder of exports gets what its manifest states."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.configs import AuditConfig
from core.errors import Refused
from core.metrics.suite import audit
from core.predictions import Predictions
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import InterpretedFile, read_source
from core.readers.predictions.options import ReadOptions
from core.readers.predictions.result import NeedsChoice, choose_split

SHARED = Path(os.environ.get("CANDOR_SHARED", Path(__file__).parents[3].parent / "shared"))
MANIFEST = SHARED / "hostile" / "exports" / "manifest.json"
CASES = json.loads(MANIFEST.read_text())["cases"] if MANIFEST.exists() else []
absent = pytest.mark.skipif(not CASES, reason="needs the shared folder (CANDOR_SHARED)")


def read(path: Path, labels: Path | None = None, **choices: Any) -> InterpretedFile | Refused:
    sources = [FileBytes.of_bytes(p.name, p.read_bytes()) for p in (path, labels) if p]
    try:
        return read_source(
            sources[0], sources[1] if labels else None, ReadOptions.from_json(choices)
        )
    except Refused as refusal:
        return refusal


def the_part(found: InterpretedFile) -> Predictions:
    return found.splits[choose_split(found.splits)].predictions()


def outcome(case: dict[str, Any]) -> InterpretedFile | Refused:
    """What the reader makes of a case with its arguments."""
    args = dict(zip(case["args"][::2], case["args"][1::2], strict=True))
    labels = args.pop("--labels", None)
    choices = {name.removeprefix("--").replace("-", "_"): value for name, value in args.items()}
    folder = MANIFEST.parent
    return read(folder / case["file"], folder / labels if labels else None, **choices)


PENDING = {
    "f09_nested.json", "b11_samples_arc.jsonl", "b15_chexpert.csv", "b22_hf_pipeline.jsonl",
    "b13_list.pkl", "e07.xlsx",
}  # fmt: skip
MARKS = {name: pytest.mark.xfail(strict=True, reason="not read yet") for name in PENDING}


@absent
@pytest.mark.parametrize(
    "case", [pytest.param(c, id=c["file"], marks=MARKS.get(c["file"], ())) for c in CASES]
)
def test_an_export_gets_what_the_manifest_states(case: dict[str, Any]) -> None:
    got, check = outcome(case), case["check"]
    if case["expect"] == "ask":
        assert isinstance(got, NeedsChoice)
        assert got.code == "UNDECIDED"
        assert got.inspection.candidates
        return
    if case["expect"] == "refuse":
        assert isinstance(got, Refused)
        assert got.code != "UNDECIDED"
        return
    assert isinstance(got, InterpretedFile), str(got)
    run = the_part(got)
    scores = {
        key: s.value for key, s in audit(run, AuditConfig(n_resamples=60)).main.metrics.items()
    }
    for name in {"accuracy", "ece"} & check.keys():
        assert scores[name] == pytest.approx(check[name], abs=6e-5)
    if "direction" in check:
        stated = run.rows
        assert (stated.confidence.mean() > stated.correct.mean()) == (check["direction"] == "over")
    if "splits" in check:
        assert sorted(got.splits) == sorted(check["splits"])
    if "labels" in check:
        assert run.labels.shape[1] == check["labels"]
    if "scores_key" in check:
        used = [c.name for c in got.inspection.columns if c.role == "scores"]
        assert used == [check["scores_key"]]


N = 200
RNG = np.random.default_rng(5)
TRUTH = RNG.integers(0, 2, N)
LOG_ODDS = RNG.normal(size=N) + 2.0 * TRUTH - 1.0
CHANCE = (1.0 / (1.0 + np.exp(-LOG_ODDS))).round(4)
WORSE = (1.0 / (1.0 + np.exp(-LOG_ODDS - RNG.normal(size=N)))).round(4)
THREE = RNG.integers(0, 3, N)
SOFT = RNG.dirichlet([1, 1, 1], (4, N)) + np.eye(3)[THREE]
SOFT = SOFT / SOFT.sum(axis=-1, keepdims=True)


def table(folder: Path, **columns: Any) -> Path:
    lines = [",".join(columns)]
    lines += [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    path = folder / "x.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def arrays(folder: Path, **entries: Any) -> Path:
    np.savez(folder / "x.npz", **entries)
    return folder / "x.npz"


def options(got: InterpretedFile | Refused) -> list[str]:
    assert isinstance(got, NeedsChoice), str(got)
    return [candidate.option for candidate in got.inspection.candidates]


def same(got: InterpretedFile | Refused, scores: Any) -> InterpretedFile:
    assert isinstance(got, InterpretedFile), str(got)
    np.testing.assert_allclose(the_part(got).scores, scores, atol=1e-9)
    return got


def words(values: Any) -> list[str]:
    return np.where(np.asarray(values) > 0.5, "yes", "no").tolist()


def test_what_the_user_names_rules(tmp_path):
    odd = ["high" if k % 3 else "" for k in range(N)]
    path = table(tmp_path, p=CHANCE, confidence=odd, msp=WORSE, pred=words(WORSE), label=TRUTH)
    got = same(read(path, scores_key="p", labels_key="label"), CHANCE)
    np.testing.assert_array_equal(the_part(got).labels, TRUTH)


def test_an_empty_answer_counts_as_wrong_or_not_at_all(tmp_path):
    sure = np.maximum(CHANCE, 1 - CHANCE)
    answers = words(CHANCE)
    answers[3], answers[8] = "", ""
    right = np.asarray(answers) == np.asarray(words(TRUTH))
    path = table(tmp_path, answer=answers, confidence=sure, gold=words(TRUTH))
    got = same(read(path), sure)
    np.testing.assert_array_equal(the_part(got).rows.correct, right)
    assert [n.text for n in got.notices if n.code == "UNANSWERED"] == [
        "2 answers of 200 empty: counted as wrong"
    ]
    path = table(tmp_path, answer=answers, confidence=sure, correct=right.astype(int))
    got = same(read(path, scores_key="confidence", correct_key="correct"), sure)
    np.testing.assert_array_equal(the_part(got).rows.correct, right)


def test_a_score_is_never_paired_with_the_answers_of_another_model(tmp_path):
    first, second = np.maximum(CHANCE, 1 - CHANCE), np.maximum(WORSE, 1 - WORSE)
    lone = {"XGBoost_Confidence": first, "Random_Forest_Pred": words(WORSE), "label": words(TRUTH)}
    got = read(table(tmp_path, **lone))
    assert isinstance(got, Refused)
    assert "--prediction-key" in got.options
    both = {**lone, "XGBoost_Pred": words(CHANCE), "Random_Forest_Confidence": second}
    path = table(tmp_path, **both)
    assert options(read(path)) == [
        "--scores-key XGBoost_Confidence --prediction-key XGBoost_Pred",
        "--scores-key Random_Forest_Confidence --prediction-key Random_Forest_Pred",
    ]
    keys = {"scores_key": "XGBoost_Confidence", "prediction_key": "XGBoost_Pred"}
    got = same(read(path, **keys), first)
    right = (CHANCE > 0.5) == (TRUTH == 1)
    np.testing.assert_array_equal(the_part(got).rows.correct, right)
    assert isinstance(read(table(tmp_path, **both | {"XGBoost_Pred": [1] * N}), **keys), Refused)


def test_units_silence_no_other_question(tmp_path):
    names = {"prediction": words(CHANCE), "label": words(TRUTH)}
    asked = options(read(table(tmp_path, confidence=CHANCE, **names)))
    percent = table(tmp_path, confidence=(100 * CHANCE).round(2), **names)
    assert options(read(percent, units="percent")) == asked
    assert options(read(percent))[-2:] == [f"--units percent {option}" for option in asked]
    got = same(read(percent, units="percent", scores="probabilities"), CHANCE)
    np.testing.assert_array_equal(the_part(got).labels, TRUTH)


@pytest.mark.parametrize("name", ["probs", "scores", "confidence"])
def test_parts_of_equal_length_are_parts(tmp_path, name):
    entries = {f"val_{name}": WORSE, "val_labels": TRUTH}
    entries |= {f"test_{name}": CHANCE, "test_labels": TRUTH}
    if name == "confidence":
        entries |= {f"{part}_pred": (CHANCE > 0.5).astype(int) for part in ("val", "test")}
        entries |= {f"{part}_confidence": CHANCE / 2 + 0.5 for part in ("val", "test")}
    got = read(arrays(tmp_path, **entries))
    assert isinstance(got, InterpretedFile), str(got)
    assert sorted(got.splits) == ["test", "val"]


@pytest.mark.parametrize("names", [("no", "yes"), ("p0", "p1"), ("a", "b", "c")])
@pytest.mark.parametrize("form", ["cal_{}", "raw.{}", "tuned {}"])
def test_a_second_set_of_the_same_classes_is_a_second_model(tmp_path, names, form):
    truth = THREE % len(names)
    first, second = (m[:, : len(names)] for m in SOFT[:2])
    first, second = (m / m.sum(axis=1, keepdims=True) for m in (first, second))
    own = {n: first[:, k] for k, n in enumerate(names)}
    other = {form.format(n): second[:, k] for k, n in enumerate(names)}
    got = read(table(tmp_path, **own, **other, actual=[names[k] for k in truth]))
    assert len(options(got)) == 2


def test_a_model_may_be_called_std(tmp_path):
    columns = {"std_probability": CHANCE, "tta_probability": WORSE, "label": TRUTH}
    assert len(options(read(table(tmp_path, **columns)))) == 2
    spread = columns | {"std_probability": CHANCE / 4, "tta_probability": CHANCE}
    same(read(table(tmp_path, **spread)), CHANCE)


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d/%m/%Y", "%Y-%m-%dT%H:%M"])
def test_days_are_time_and_no_groups(tmp_path, form):
    days = np.datetime64("2025-01-01") + np.arange(N)
    dates = [day.strftime(form) for day in days.tolist()]
    got = same(read(table(tmp_path, date=dates, probability=CHANCE, outcome=TRUTH)), CHANCE)
    assert not {"GROUPS_OFFERED", "ROWS_REPEATED"} & {n.code for n in got.notices}
    assert the_part(got).row_ids == tuple(dates)


def test_options_that_leave_some_mass_out_are_asked(tmp_path):
    rest = SOFT[0] * RNG.uniform(0.5, 0.98, (N, 1))
    columns = {f"prob_{n}": rest[:, k] for k, n in enumerate("ABC")}
    path = table(tmp_path, **columns, target=["ABC"[k] for k in THREE])
    assert options(read(path))[0] == "--units sum"
    same(read(path, units="sum"), SOFT[0])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind", ["probs", "logits"])
def test_members_of_an_ensemble_are_asked_for(tmp_path, axis, kind):
    members = SOFT if kind == "probs" else np.log(SOFT) + 3.0
    path = arrays(tmp_path, **{kind: np.moveaxis(members, 0, axis)}, labels=THREE)
    assert options(read(path)) == ["--members mean", "--members 1"]
    got = read(path, members="mean")
    assert isinstance(got, InterpretedFile)
    mean = np.exp(the_part(got).scores) if kind == "logits" else the_part(got).scores
    np.testing.assert_allclose(mean, SOFT.mean(axis=0), atol=1e-9)
    assert "MEMBERS_AVERAGED" in {n.code for n in got.notices}
    same(read(path, members="2"), members[1])
    for wrong in ("0", "5", "x"):
        assert isinstance(read(path, members=wrong), Refused)
