"""What the field's tools write: the shared folder of exports gets what its manifest states."""

import json
import os
import pickle
import re
import shlex
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

from core.commands.shared import READING, Parser, add_reading, complain
from core.configs import AuditConfig
from core.errors import Refused, UsageError
from core.metrics.suite import audit
from core.predictions import Predictions
from core.readers.formats import parse
from core.readers.formats.contents import FileBytes, id_text
from core.readers.predictions.interpret import InterpretedFile, read_source
from core.readers.predictions.result import NeedsChoice, ReadOptions, choose_split
from core.readers.sandbox import read as sandbox
from core.readers.tables import table_roles
from tests.field_exports import EXPORTS
from tests.hostile_cases import archive as packed_as

OPTION = re.compile(r"--[a-z-]+[ =](?:'[^']*'|[^\s;,]+(?:,[^\s;]+)*)|--[a-z-]+")
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


@absent
@pytest.mark.parametrize("case", CASES, ids=[c["file"] for c in CASES])
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


def test_all_that_is_open_is_asked_at_once(tmp_path, capsys):
    """Which list, which class and which unit; every reading that is offered answers all."""
    ab = ["ab"[int(y)] for y in TRUTH]
    rows = [
        {"score": round(100 * float(p)), "label": word} for p, word in zip(CHANCE, ab, strict=True)
    ]
    path = dump(tmp_path, {"one": rows, "two": rows})
    with pytest.raises(NeedsChoice) as asked:
        sandbox.read(path)
    seen = asked.value.inspection
    assert [q.what.split()[0] for q in seen.questions] == ["The", "The", "Values"]
    assert seen.questions[1].options == ("--classes a,b", "--classes b,a")
    assert len(seen.candidates) == 2 * 2 * 3
    right = next(c for c in seen.candidates if f"two: {N}" in c.title and "b; percent" in c.title)
    got = sandbox.read(path, options=right.options)
    np.testing.assert_allclose(got.splits["test"].scores, CHANCE.round(2))
    complain(asked.value)
    lines = capsys.readouterr().err.splitlines()
    assert [line[:13] for line in lines[1:4]] == [f"  question {k}:" for k in (1, 2, 3)]
    assert "--units percent (percent) or --units byte (" in lines[3]
    assert lines[3].endswith(" or --scores logits (logits)")


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


def test_bounds_of_an_interval_are_no_models(tmp_path):
    low, high = (CHANCE - 0.1).clip(0), (CHANCE + 0.1).clip(max=1)
    path = table(tmp_path, prob=CHANCE, prob_lower=low, prob_upper=high, label=TRUTH)
    same(read(path), CHANCE)


def test_sas_writes_from_and_into_beside_probabilities(tmp_path):
    into = (CHANCE > 0.3).astype(int)
    columns = {"F_died": TRUTH, "I_died": into, "P_died1": CHANCE, "P_died0": 1 - CHANCE}
    run = the_part(read(table(tmp_path, **columns, U_died=into)))
    right = np.array([name.endswith("1") for name in run.class_names])
    np.testing.assert_array_equal(right[run.labels], TRUTH == 1)
    np.testing.assert_allclose(run.scores[:, right][:, 0], CHANCE, atol=1e-9)


def test_a_frame_of_inspect_says_c_and_i(tmp_path):
    sure = np.maximum(CHANCE, 1 - CHANCE)
    scored = ["IC"[int((p > 0.5) == t)] for p, t in zip(CHANCE, TRUTH, strict=True)]
    path = table(tmp_path, id=range(N), score_choice=scored, metadata_confidence=sure)
    for given in ({"correct_key": "score_choice"}, {}):
        got = same(read(path, **given), sure)
        np.testing.assert_array_equal(the_part(got).rows.correct, (CHANCE > 0.5) == TRUTH)
    path = table(tmp_path, score=scored, target="A" * N, answer=words(CHANCE), confidence=sure)
    np.testing.assert_array_equal(the_part(read(path)).rows.correct, (CHANCE > 0.5) == TRUTH)


def test_all_right_is_right_unless_c_is_an_option(tmp_path):
    sure = np.maximum(CHANCE, 1 - CHANCE)
    run = the_part(read(table(tmp_path, confidence=sure, correct=["C"] * N)))
    assert run.rows.correct.all()
    letters = ["ABCD"[k % 4] for k in range(N)]
    got = read(table(tmp_path, answer=letters, confidence=sure, correct=["C"] * N))
    assert float(the_part(got).rows.correct.mean()) == letters.count("C") / N


def test_a_target_of_sas_whose_name_begins_another_keeps_its_own_scores(tmp_path):
    other = 1 - WORSE
    columns = {"F_die": TRUTH, "I_die": TRUTH, "P_die1": CHANCE, "P_die0": 1 - CHANCE}
    columns |= {"P_dieage": other, "P_died1": WORSE, "P_died0": other, "F_died": TRUTH}
    run = the_part(read(table(tmp_path, **columns)))
    np.testing.assert_allclose(np.sort(run.scores), np.sort(np.c_[CHANCE, 1 - CHANCE]), atol=1e-9)


def saved(folder: Path, name: str, tree: Any) -> Path:
    path = folder / name
    if name.endswith(".npz"):
        np.savez(path, **tree)
    elif name.endswith(".pkl"):
        path.write_bytes(pickle.dumps(tree))
    else:
        path.write_text(json.dumps(tree, default=lambda value: value.tolist()))
    return path


@pytest.mark.parametrize("name", ["x.json", "x.pkl"])
def test_cases_by_name_hold_scores_and_the_truth(tmp_path, name):
    cases = zip(SOFT[0], THREE, strict=True)
    tree = {f"case_{k}": {"probabilities": p, "gt": int(y)} for k, (p, y) in enumerate(cases)}
    run = the_part(same(read(saved(tmp_path, name, tree)), SOFT[0]))
    np.testing.assert_array_equal(run.labels, THREE)
    assert run.row_ids[:2] == ("case_0", "case_1")


@pytest.mark.parametrize("name", ["x.json", "x.pkl", "x.npz"])
@pytest.mark.parametrize("labels", ["y.csv", "y.json"])
def test_scores_by_name_take_labels_by_name(tmp_path, name, labels):
    scores = saved(tmp_path, name, {f"img {k}": p for k, p in enumerate(SOFT[0])})
    order = RNG.permutation(N)
    truth = {f"img {k}": int(THREE[k]) for k in order}
    path = saved(tmp_path, labels, truth)
    if labels.endswith("csv"):
        path.write_text("id,label\n" + "".join(f"{k},{y}\n" for k, y in truth.items()))
    np.testing.assert_array_equal(the_part(same(read(scores, path), SOFT[0])).labels, THREE)


def test_a_mapping_of_columns_is_not_of_rows(tmp_path):
    columns = {f"prob_{k}": SOFT[0][:, k] for k in range(3)} | {"label": THREE}
    same(read(saved(tmp_path, "x.pkl", columns)), SOFT[0])


@pytest.mark.parametrize("name", ["x.pkl", "x.npz"])
@pytest.mark.parametrize("called", ["class_{}", "{}", "w{}"])
def test_more_columns_than_rows_are_columns(tmp_path, name, called):
    scores = RNG.dirichlet(np.ones(100), 40)
    numbers = range(100) if called != "w{}" else [7 * k for k in range(100)]
    columns = {called.format(n): scores[:, k] for k, n in enumerate(numbers)}
    truth = scores.argmax(axis=1)
    run = the_part(same(read(saved(tmp_path, name, columns | {"label": truth})), scores))
    np.testing.assert_array_equal(run.labels, truth)
    refusal = read(saved(tmp_path, name, columns))
    assert isinstance(refusal, Refused)
    assert "class" not in called or "class_0" in refusal.what
    texts = {f"t{k}": np.array(["a", "b", "c"]) for k in range(30)}
    assert isinstance(read(saved(tmp_path, name, texts)), Refused)


def test_a_case_keeps_its_name(tmp_path):
    tree = {
        f"case {k}": {"id": 7, "p": p, "y": int(y)}
        for k, (p, y) in enumerate(zip(SOFT[0], THREE, strict=True))
    }
    run = the_part(same(read(saved(tmp_path, "x.json", tree)), SOFT[0]))
    assert run.row_ids[:2] == ("case 0", "case 1")


def test_folds_of_other_rows_are_joined_and_those_of_the_same_are_not(tmp_path):
    halves = [slice(0, 120), slice(120, N)]
    folds = {f"fold_{k}": {"p": SOFT[0][h], "y": THREE[h]} for k, h in enumerate(halves)}
    got = same(read(saved(tmp_path, "x.pkl", folds)), SOFT[0])
    assert any("rows of different folds" in notice.text for notice in got.notices)
    folds = {f"fold_{k}": {"p": p, "y": THREE} for k, p in enumerate(SOFT)}
    assert isinstance(read(saved(tmp_path, "x.pkl", folds)), Refused)


@pytest.mark.parametrize("name", ["ids", "test_idx"])
def test_folds_that_name_the_same_rows_are_models(tmp_path, name):
    orders = [RNG.permutation(N) for _ in range(3)]
    folds = {
        f"fold_{k}": {"p": SOFT[k][order], "y": THREE[order], name: order}
        for k, order in enumerate(orders)
    }
    assert isinstance(read(saved(tmp_path, "x.pkl", folds)), Refused)
    for k, fold in enumerate(folds.values()):
        fold[name] = fold[name] + N * k
    same(read(saved(tmp_path, "x.pkl", folds)), np.concatenate([f["p"] for f in folds.values()]))


def test_predictions_of_custom_vision_are_columns_by_tag(tmp_path):
    tags = ["cat", "dog", "fox"]
    rows = [
        {
            "id": f"i{k}",
            "predictions": [
                {"probability": p[j], "tagId": f"t{j}", "tagName": tags[j]} for j in np.argsort(-p)
            ],
            "tags": [{"tagId": f"t{y}", "tagName": tags[y]}],
        }
        for k, (p, y) in enumerate(zip(SOFT[0], THREE, strict=True))
    ]
    run = the_part(read(saved(tmp_path, "x.json", rows)))
    order = [run.class_names.index(tag) for tag in tags]
    np.testing.assert_allclose(run.scores[:, order], SOFT[0])
    assert run.rows.correct.mean() == (SOFT[0].argmax(axis=1) == THREE).mean()


@pytest.mark.parametrize("truth", ["name", "is_true"])
def test_rows_of_one_class_each_become_one(tmp_path, truth):
    names = np.array(["cat", "dog", "fox"])
    order = RNG.permutation(3 * N)  # rows of a name need not lie together
    column = {"name": np.repeat(names[THREE], 3), "is_true": np.eye(3, dtype=int)[THREE].ravel()}
    columns = {"row_id": np.repeat(np.arange(N), 3), "class": np.tile(names, N)}
    columns |= {truth.replace("name", "label"): column[truth], "prob": SOFT[0].ravel()}
    path = table(tmp_path, **{n: values[order] for n, values in columns.items()})
    run = the_part(read(path))
    rows = [int(name) for name in run.row_ids]
    places = [run.class_names.index(name) for name in names]
    np.testing.assert_allclose(run.scores[:, places], SOFT[0][rows])
    assert run.rows.correct.mean() == (SOFT[0].argmax(axis=1) == THREE).mean()


def test_matched_pairs_are_no_classes_of_one_row(tmp_path):
    pair = np.arange(N) // 2
    path = table(tmp_path, patient=pair, label=np.arange(N) % 2, prob=CHANCE)
    same(read(path), CHANCE)


PAIR = np.arange(N) // 2
EITHER = np.arange(N) % 2
SURE = np.maximum(CHANCE, 1 - CHANCE)
SUMS = np.where(EITHER == 1, CHANCE, 1 - np.roll(CHANCE, -1)).round(4)
PAIRS: dict[str, dict[str, Any]] = {
    "sex": {"label": EITHER, "sex": TRUTH, "prob": CHANCE},
    "prediction": {"label": EITHER, "prediction": CHANCE.round().astype(int), "confidence": SURE},
    "correct": {"label": EITHER, "correct": TRUTH, "confidence": SURE},
    "home": {"home": EITHER, "label": EITHER ^ np.repeat(TRUTH[::2], 2), "prob": SUMS},
    "y": {"y": EITHER, "prob": SUMS},
}


@pytest.mark.parametrize("columns", PAIRS.values(), ids=list(PAIRS))
def test_matched_pairs_stay_rows_of_their_own(tmp_path, columns):
    game = [f"g{k}" for k in PAIR]
    score = next(iter(columns.keys() & {"prob", "confidence"}))
    run = the_part(same(read(table(tmp_path, pair_id=game, **columns)), columns[score]))
    assert run.task == ("binary" if score == "prob" else "top_label")


def test_rows_of_a_name_that_may_be_others_are_not_put_together(tmp_path):
    subject = [f"s{k // 4}" for k in range(N)]
    columns = {"subject": subject, "category": list("abcd") * (N // 4), "label": TRUTH}
    assert isinstance(read(table(tmp_path, **columns, prob=CHANCE)), Refused)
    games = {"game": [f"g{k}" for k in PAIR], "class": EITHER, "prob": SUMS}
    assert isinstance(read(table(tmp_path, **games)), Refused)


@pytest.mark.parametrize("names", ["abc", "012", ["--5", "--1", "1"]])
def test_rows_of_one_label_each_have_the_true_one_beside_them(tmp_path, names):
    """As BigQuery's probabilities are unnested: the label in each row is what is scored."""
    columns = {"image": np.repeat(np.arange(N), 3), "label": list(names) * N}
    columns |= {"prob": SOFT[0].ravel(), "truth": np.array(list(names))[np.repeat(THREE, 3)]}
    run = the_part(same(read(table(tmp_path, **columns), labels_key="truth"), SOFT[0]))
    np.testing.assert_array_equal(run.labels, THREE)


def test_text_labels_of_several_are_a_row_of_many(tmp_path):
    columns = {"image": np.repeat(np.arange(N), 3), "label": list("abc") * N}
    columns |= {"truth": MANY_TRUE.ravel(), "prob": sigmoid(MANY_ODDS[0]).ravel()}
    run = the_part(same(read(table(tmp_path, **columns)), sigmoid(MANY_ODDS[0])))
    np.testing.assert_array_equal(run.labels, MANY_TRUE)


def test_what_cleanlab_says_of_a_label_is_no_confidence(tmp_path):
    quality = SOFT[0][np.arange(N), THREE]
    columns = {"is_label_issue": quality < 0.1, "label_quality": quality, "given_label": THREE}
    columns["predicted_label"] = SOFT[0].argmax(axis=1)
    refusal = read(table(tmp_path, **columns))
    assert isinstance(refusal, Refused)
    assert "Cleanlab" in refusal.what
    issue = {"label_score" if n == "label_quality" else n: v for n, v in columns.items()}
    assert isinstance(read(table(tmp_path, **issue)), Refused)
    sure = SOFT[0].max(axis=1)
    same(read(table(tmp_path, **columns, confidence=sure)), sure)


@pytest.mark.parametrize(
    "name",
    ["quality_label", "issue_label", "true_quality", "y_quality", "target_issue", "is_issue"],
)
def test_the_quality_of_a_thing_is_a_label(tmp_path, name):
    run = the_part(same(read(table(tmp_path, prob=CHANCE, **{name: TRUTH})), CHANCE))
    np.testing.assert_array_equal(run.labels, TRUTH)
    beside = {} if name == "is_issue" else {"is_scratch_issue": 1 - TRUTH}
    run = the_part(same(read(table(tmp_path, prob=CHANCE, **beside, **{name: TRUTH})), CHANCE))
    np.testing.assert_array_equal(run.labels, TRUTH)


@pytest.mark.parametrize(
    "column",
    [[["a", "b"]] * N, [{"a": 1}] * N, [list(range(k % 4 + 1)) for k in range(N)], [b"x"] * N],
    ids=["texts", "mappings", "ragged", "bytes"],
)
@pytest.mark.parametrize("called", ["tokens", "logits"])
def test_a_column_that_cannot_be_read_blocks_only_if_called_scores(tmp_path, column, called):
    columns = {f"prob_{k}": SOFT[0][:, k] for k in range(3)} | {"label": THREE, called: column}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    got = read(tmp_path / "x.parquet")
    if called == "logits":
        assert isinstance(got, Refused)
        assert called in got.location
    else:
        assert any(called in notice.text for notice in same(got, SOFT[0]).notices)


@pytest.mark.parametrize(
    ("called", "others"),
    [
        ("label", {"prob": CHANCE, "target": TRUTH}),
        ("correct", {"confidence": SURE, "answer": words(CHANCE), "label": words(TRUTH)}),
        ("prediction", {"confidence": SURE, "pred": words(CHANCE), "label": words(TRUTH)}),
        ("confidence", {"prob": CHANCE, "label": TRUTH}),
    ],
)
def test_no_other_column_stands_in_for_one_that_cannot_be_read(tmp_path, called, others):
    odd = [{"a": 1}] * N
    pyarrow.parquet.write_table(pa.table({**others, called: odd}), tmp_path / "x.parquet")
    lists = {n: np.asarray(values).tolist() for n, values in others.items()} | {
        called: [[["a"]]] * N
    }
    rows = [dict(zip(lists, cells, strict=True)) for cells in zip(*lists.values(), strict=True)]
    for path in (tmp_path / "x.parquet", saved(tmp_path, "x.json", rows)):
        got = read(path)
        assert isinstance(got, Refused)
        assert called in got.location


def test_lists_of_references_are_no_matter_where_answers_are_judged(tmp_path):
    judged = zip(SURE.tolist(), TRUTH.tolist(), strict=True)
    rows = [{"references": ["a", "b"], "confidence": p, "correct": t} for p, t in judged]
    same(read(saved(tmp_path, "x.json", rows)), SURE)


def test_a_column_that_is_missed_says_why_it_could_not_be_read(tmp_path):
    columns = {"label": THREE, "tokens": [["a"]] * N}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    refusal = read(tmp_path / "x.parquet")
    assert isinstance(refusal, Refused)
    assert (refusal.code, refusal.location) == ("DTYPE", "column tokens")


def test_a_set_of_scores_that_repeats_another_is_left_out(tmp_path):
    columns = {f"{word}_{k}": SOFT[0][:, k] for word in ("prob", "probability") for k in range(3)}
    same(read(table(tmp_path, target=THREE, label=THREE, **columns)), SOFT[0])


@pytest.mark.parametrize("ids", [True, False])
def test_the_same_rows_at_several_epochs_are_asked_for(tmp_path, ids):
    columns = {"epoch": np.repeat([1, 2, 3, 4], N), "label": np.tile(THREE, 4)}
    columns |= {f"prob_{k}": SOFT[:, :, k].ravel() for k in range(3)}
    columns |= {"sample_id": np.tile(np.arange(N), 4)} if ids else {}
    path = table(tmp_path, **columns)
    expected = ["--epoch 4", "--epoch 3", "--epoch 2", "--epoch 1"]
    assert options(read(path)) == expected + ["--group sample_id"] * ids
    same(read(path, epoch="2"), SOFT[1])
    assert isinstance(read(path, epoch="7"), Refused)
    first = table(tmp_path, **{n: values[:N] for n, values in columns.items()})
    same(read(first), SOFT[0])
    assert isinstance(read(first, epoch="1"), Refused)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"model": np.repeat(["cnn", "vit"], N), "case": np.tile(np.arange(N), 2)}, "cnn"),
        (
            {"id": [*range(N)] * 4, "model": np.repeat(["cnn", "vit"], 2 * N)}
            | {"seed": np.repeat([1, 2, 1, 2], N)},
            "'cnn 1'",
        ),
        ({".config": np.repeat(["m1", "m2"], N), "penalty": 0.1, ".row": [*range(N)] * 2}, "m1"),
        (
            {"rowIndex": [*range(N)] * 2, "mtry": np.repeat([2, 5], N), "rule": "gini"}
            | {"Resample": [f"Fold{k % 5}" for k in range(2 * N)], "obs": np.tile(words(TRUTH), 2)},
            "2",
        ),
        (
            {"rowIndex": [*range(N)] * 4, "mtry": np.repeat([2, 5, 2, 5], N), "Resample": "x"}
            | {"rule": np.repeat(["gini", "trees"], 2 * N), "obs": np.tile(words(TRUTH), 4)},
            "'2 gini'",
        ),
    ],
    ids=["models", "models and seeds", "tidymodels", "caret", "settings of caret"],
)
def test_the_same_rows_at_several_settings_are_asked_for(tmp_path, settings, named):
    n = len(next(iter(settings.values())))
    p = np.concatenate([CHANCE, WORSE, WORSE, WORSE])[:n]
    called = ("no", "yes") if "obs" in settings else ("prob_no", "prob_yes")
    columns = dict(zip(called, (1 - p, p), strict=True)) | settings
    columns |= {} if "obs" in settings else {"label": np.tile(words(TRUTH), n // N)}
    columns = {name: np.broadcast_to(values, n) for name, values in columns.items()}
    path = table(tmp_path, **columns)
    asked = read(path)
    assert options(asked)[0] == f"--epoch {named}"
    assert isinstance(asked, NeedsChoice)
    assert asked.inspection.models[0].model == named.strip("'")
    got = same(read(path, epoch=named.strip("'")), np.stack([1 - CHANCE, CHANCE], 1))
    assert named.strip("'") in got.inspection.epochs


def test_samples_of_a_prompt_and_pairs_are_no_settings(tmp_path):
    correct = (SOFT[0].argmax(1) == GOLD).astype(int)
    columns = {"confidence": SOFT[0].max(1), "correct": correct}
    fours = {"prompt": np.repeat(np.arange(N // 4), 4), "sample_id": np.tile(np.arange(4), N // 4)}
    same(read(table(tmp_path, **fours, **columns)), SOFT[0].max(1))
    options_of_one = {"id": fours["prompt"], "option_id": fours["sample_id"]}
    same(read(table(tmp_path, **options_of_one, **columns)), SOFT[0].max(1))
    pairs = {"id": np.repeat(np.arange(N // 2), 2), "sample": ["case", "control"] * (N // 2)}
    pairs |= {"prob": CHANCE, "label": [1, 0] * (N // 2)}
    same(read(table(tmp_path, **pairs)), CHANCE)
    readers = {"name": np.repeat(["Ann", "Bob"], N // 2), "case_id": [*range(N // 2)] * 2}
    same(read(table(tmp_path, **readers, **columns)), SOFT[0].max(1))
    runs = {"run": readers["name"], "sample": readers["case_id"]}  # no labels show the same rows
    refusal = read(table(tmp_path, **runs, **columns))
    assert isinstance(refusal, Refused)
    assert refusal.code == "AMBIGUOUS_KEYS"


def test_the_side_of_one_half_is_no_label(tmp_path):
    cured = {"cured": TRUTH, "PRE_1": CHANCE}
    side = (CHANCE > 0.5).astype(int)
    got = same(read(table(tmp_path, **cured, PGR_1=side)), CHANCE)
    np.testing.assert_array_equal(the_part(got).labels, TRUTH)
    asked = options(read(table(tmp_path, **cured, side=side)))
    assert asked == ["--labels-key cured", "--labels-key side"]
    same(read(table(tmp_path, ward=TRUTH[::-1], PRE_1=CHANCE, cured=TRUTH)), CHANCE)


GOLD = np.where(np.arange(N) % 4 == 0, (THREE + 1) % 3, THREE)  # SOFT errs in one of four


@pytest.mark.parametrize("gold", [GOLD, [f"LABEL_{k}" for k in GOLD]], ids=["numbers", "names"])
def test_a_pipeline_answers_label_2_where_the_class_is_2(tmp_path, gold):
    answers = SOFT[0].argmax(1)
    label = [f"LABEL_{k}" for k in answers]
    got = same(read(table(tmp_path, gold=gold, label=label, score=SOFT[0].max(1))), SOFT[0].max(1))
    np.testing.assert_array_equal(the_part(got).rows.correct, answers == GOLD)


@pytest.mark.parametrize(("low", "high"), [("no", "yes"), ("benign", "malignant")])
def test_the_truth_in_words_is_no_answer(tmp_path, low, high):
    """Both columns are the truth: the score is read as without the second, or asked about."""
    label = np.where(TRUTH == 1, high, low)
    got = same(read(table(tmp_path, target=TRUTH, label=label, score=CHANCE)), CHANCE)
    assert the_part(got).kind == "probabilities"
    three = {"target": THREE, "label": [f"class{k}" for k in THREE], "score": SOFT[0].max(1)}
    assert isinstance(read(table(tmp_path, **three)), Refused)
    sure = {"target": TRUTH, "label": label, "confidence": np.maximum(CHANCE, 1 - CHANCE)}
    got = read(table(tmp_path, **sure))
    assert isinstance(got, Refused) or not the_part(got).rows.correct.all()


def test_scores_are_never_made_text(tmp_path, monkeypatch):
    counted = Mock(side_effect=id_text)
    monkeypatch.setattr(table_roles, "id_text", counted)
    scores = np.tile(SOFT[0] / 20, 20)
    columns = {f"prob_{k}": scores[:, k] for k in range(60)}
    same(read(table(tmp_path, label=THREE, **columns)), scores)
    assert counted.call_count <= 2


def test_what_decodes_the_scores_is_no_label(tmp_path):
    top = SOFT[0].argmax(1)
    for labels in (GOLD, GOLD.astype(float)):
        got = same(read(saved(tmp_path, "x.pkl", (SOFT[0], labels, top))), SOFT[0])
        np.testing.assert_array_equal(the_part(got).labels, GOLD)
    assert isinstance(read(saved(tmp_path, "x.pkl", (SOFT[0], top, np.arange(N)))), InterpretedFile)
    group = RNG.integers(0, 3, N)
    for unsure in ((top, group), (group, top)):  # a perfect model, and something else
        refusal = read(saved(tmp_path, "x.pkl", (SOFT[0], *unsure)))
        assert isinstance(refusal, Refused)
        assert refusal.code == "AMBIGUOUS_KEYS"
    named = {"probs": SOFT[0], "cluster": group, "klass": top}
    assert isinstance(read(saved(tmp_path, "x.pkl", named)), Refused)


def test_label_0_is_no_class_of_labels_from_1(tmp_path):
    label = [f"LABEL_{k}" for k in RNG.integers(0, 3, N)]
    columns = {"prediction": label, "confidence": SOFT[0].max(1)}
    refusal = read(table(tmp_path, **columns, true=THREE + 1))
    assert isinstance(refusal, Refused)
    assert "have no name in common" in refusal.what


def test_pathologies_may_be_labels(tmp_path):
    scores = {f"p_{n}": SOFT[0][:, k] for k, n in enumerate("abc")}
    got = same(read(table(tmp_path, pathologies=["abc"[k] for k in THREE], **scores)), SOFT[0])
    np.testing.assert_array_equal(the_part(got).labels, THREE)


@pytest.mark.parametrize(
    ("low", "high"), [("TN", "T1"), ("no_control", "no_event"), ("not_absent", "not_present")]
)
def test_part_of_a_word_says_no_class(tmp_path, low, high):
    asked = read(table(tmp_path, prob=CHANCE, label=np.where(TRUTH == 1, high, low)))
    assert isinstance(asked, NeedsChoice)
    assert "nothing says whether of" in asked.what


def test_which_setting_is_meant_stays_a_question(tmp_path):
    """One of both cannot be read: that is no reason to take the other unasked."""
    yes = np.concatenate([CHANCE, np.minimum(1.0, CHANCE + 0.3)])
    columns = {"yes": yes, "no": np.tile(1 - CHANCE, 2), "obs": words(np.tile(TRUTH, 2))}
    columns |= {"rowIndex": [*range(N)] * 2, "mtry": np.repeat([2, 5], N), "Resample": "x"}
    columns = {name: np.broadcast_to(values, 2 * N) for name, values in columns.items()}
    assert "--epoch 2" in options(read(table(tmp_path, **columns)))


def test_a_batch_of_openai_has_an_answer_in_each_line(tmp_path):
    lines = []
    for k, row in enumerate(SOFT[0]):
        top = [{"token": "ABC"[j], "logprob": float(np.log(row[j]))} for j in np.argsort(-row)]
        choice = {"logprobs": {"content": [{**top[0], "top_logprobs": top}]}}
        lines.append({"custom_id": f"q{k}", "response": {"body": {"choices": [choice]}}})
    path, labels = tmp_path / "x.jsonl", tmp_path / "y.csv"
    path.write_text("\n".join(map(json.dumps, lines)))
    order = RNG.permutation(N)
    labels.write_text("custom_id,answer\n" + "".join(f"q{k},{'ABC'[THREE[k]]}\n" for k in order))
    run = the_part(read(path, labels))
    scores = run.scores[:, [run.class_names.index(name) for name in "ABC"]]
    np.testing.assert_allclose(scores, SOFT[0], atol=1e-9)
    assert [run.class_names[k] for k in run.labels] == ["ABC"[k] for k in THREE]
    truth = ["ABC"[(y + (k % 8 == 0)) % 3] for k, y in enumerate(THREE)]
    for k, line in enumerate(lines):  # an own field is the truth
        line |= {"answer": truth[k]}
        line["response"]["body"]["choices"] *= 2
    path.write_text("\n".join(map(json.dumps, lines)))
    got = read(path)
    assert "labels from answer" in str(got.notices)
    assert [the_part(got).class_names[k] for k in the_part(got).labels] == truth
    scores = the_part(got).scores[:, [the_part(got).class_names.index(name) for name in "ABC"]]
    np.testing.assert_allclose(scores, SOFT[0], atol=1e-9)
    assert "of several choices in a record the first was read" in str(got.notices)
    for k, line in enumerate(lines):  # what was sampled is not always the likeliest
        (content,) = line["response"]["body"]["choices"][0]["logprobs"]["content"]
        line["answer"] = content["token"] = truth[k]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert isinstance(read(path), Refused)
    for line in lines:  # a sentence has many tokens, and none of them is the answer
        line["response"]["body"]["choices"][0]["logprobs"]["content"] *= 2
    path.write_text("\n".join(map(json.dumps, lines)))
    assert isinstance(read(path, labels), Refused)


def test_an_answer_that_may_be_the_truth_is_asked_about(tmp_path):
    rows = [
        {"question": f"q{i}", "choices": [*"ABC"], "answer": "ABC"[(k + (i % 8 == 0)) % 3]}
        | {"logprobs": np.log(row).tolist()}
        for i, (row, k) in enumerate(zip(SOFT[0], THREE, strict=True))
    ]
    path = saved(tmp_path, "x.json", rows)
    asked = read(path)
    assert isinstance(asked, NeedsChoice)
    assert "may be the truth or what the model answered" in str(asked)
    assert "--labels-key answer" in asked.remedy
    same(read(path, labels_key="answer"), np.log(SOFT[0]))
    for row in rows:  # what the model answered, in every row
        row["answer"] = "ABC"[int(np.argmax(row["logprobs"]))]
    assert isinstance(read(saved(tmp_path, "y.json", rows)), Refused)


def test_probabilities_written_as_text_are_numbers(tmp_path):
    names = ["a", "b", "c"]
    rows = [
        {"probs": [{"label": n, "prob": str(p)} for n, p in zip(names, row, strict=True)]}
        | {"target": names[k]}
        for row, k in zip(SOFT[0], THREE, strict=True)
    ]
    same(read(saved(tmp_path, "x.json", rows)), SOFT[0])


NOTHING_TO_AUDIT: dict[str, tuple[dict[str, Any], str]] = {
    "decisions": ({"age": LOG_ODDS, "target": THREE, "outputs": GOLD}, "Decisions"),
    "decisions alone": ({"target": THREE, "outputs": SOFT[0].argmax(1)}, "Decisions"),
    "timm": (
        {"model": [f"net{k}" for k in range(N)], "img_size": 224, "top1": 100 * CHANCE}
        | {"top1_err": 100 - 100 * CHANCE, "top5": 99.0, "param_count": 25.6, "crop_pct": 0.9},
        "A table of metrics",
    ),
    "nnU-Net": (
        {"metrics.1.Dice": CHANCE, "metrics.1.IoU": WORSE}
        | {n: [f"{n}{k}" for k in range(N)] for n in ("prediction_file", "reference_file")},
        "Metrics of segmentations",
    ),
}


@pytest.mark.parametrize("name", NOTHING_TO_AUDIT)
def test_a_file_without_scores_is_named(tmp_path, name):
    columns, what = NOTHING_TO_AUDIT[name]
    got = read(table(tmp_path, **{n: np.broadcast_to(v, N) for n, v in columns.items()}))
    assert isinstance(got, Refused)
    assert (got.code, got.what.startswith(what)) == ("FORMAT_UNKNOWN", True), got


def test_refusals_of_labels_say_what_they_may_be(tmp_path):
    counts = np.stack([RNG.multinomial(50, row) for row in SOFT[0]])
    votes = read(arrays(tmp_path, probs=SOFT[0], labels=counts))
    assert isinstance(votes, Refused)
    assert (votes.code, "--votes" in votes.remedy) == ("LABEL_RANGE", True)
    several = read(table(tmp_path, prob=CHANCE, y=THREE))
    assert isinstance(several, Refused)
    assert (several.code, "--prediction-key" in several.remedy) == ("CLASSES", True)
    slips = read(table(tmp_path, prob=CHANCE, y=[*TRUTH[:90], 9, *TRUTH[90:-3], 9, 9]))
    assert isinstance(slips, Refused)
    assert (slips.code, slips.location) == ("LABEL_RANGE", "row 90 (line 92)")
    total = read(table(tmp_path, prob=CHANCE, y=[*TRUTH[:-1], TRUTH.sum()]))
    assert isinstance(total, Refused)
    assert (total.code, "row of totals" in total.remedy) == ("LABEL_RANGE", True)


def test_a_response_beside_a_confidence_is_the_answer(tmp_path):
    response, gold = (["ABC"[k] for k in some] for some in (SOFT[0].argmax(1), GOLD))
    columns = {"response": response, "confidence": SOFT[0].max(1), "reference": gold}
    got = same(read(table(tmp_path, **columns)), SOFT[0].max(1))
    assert float(the_part(got).rows.correct.mean()) == 0.75
    assert any(n.text == "answers from response" for n in got.notices)
    columns["response"][3:9] = ["I cannot say."] * 6
    got = same(read(table(tmp_path, **columns)), SOFT[0].max(1))
    assert "those that name no label count as wrong (6 rows)" in str(got.notices)
    columns["response"][::2] = [f"The answer is {word}" for word in response[::2]]
    assert isinstance(read(table(tmp_path, **columns)), Refused)
    outcome = {"response": words(WORSE), "confidence": CHANCE, "outcome": words(TRUTH)}
    got = same(read(table(tmp_path, **outcome)), CHANCE)  # of a patient
    assert the_part(got).kind == "probabilities"


def test_answers_that_are_all_wrong_are_read(tmp_path):
    answers = ["ABC"[k] for k in SOFT[0].argmax(1)]
    columns = {"answer": answers, "correct": [0] * N, "confidence": SOFT[0].max(1)}
    assert not the_part(read(table(tmp_path, **columns))).rows.correct.any()


def test_labels_of_fasttext_lose_their_mark(tmp_path):
    lines = [
        " ".join(f"__label__{'abc'[j]} {row[j]:.6f}" for j in np.argsort(-row)) for row in SOFT[0]
    ]
    (tmp_path / "x.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "y.txt").write_text("".join(f"__label__{'abc'[k]}\n" for k in THREE))
    got = read(tmp_path / "x.txt", tmp_path / "y.txt")
    np.testing.assert_array_equal(the_part(got).labels, THREE)


def test_the_event_of_two_numbered_columns_is_number_1(tmp_path):
    run = the_part(read(table(tmp_path, P_BAD1=CHANCE, P_BAD0=1 - CHANCE, label=TRUTH)))
    assert run.class_names == ("BAD0", "BAD1")
    np.testing.assert_allclose(run.scores[:, 1], CHANCE)


@pytest.mark.parametrize("truth", [np.sort(TRUTH), np.ones(N, int)], ids=["sorted", "constant"])
def test_labels_in_order_do_not_show_the_same_rows_again(tmp_path, truth):
    columns = {"step": np.repeat([1, 2], N), "label": np.tile(truth, 2)}
    scores = np.concatenate([CHANCE, WORSE])
    same(read(table(tmp_path, **columns, prob=scores)), scores)


def test_a_pickled_model_is_named_with_what_to_save(tmp_path):
    data = b"\x80\x04]\x94\x8c\x14sklearn.linear_model\x94\x8c\x12LogisticRegression\x94\x93\x94a."
    (tmp_path / "x.pkl").write_bytes(data)
    refusal = read(tmp_path / "x.pkl")
    assert isinstance(refusal, Refused)
    assert refusal.code == "PICKLE_GLOBAL"
    assert "predict_proba" in refusal.remedy


def test_overlap_of_a_segmentation_is_no_confidence(tmp_path):
    cases = [
        {"metrics": {"1": {"Dice": p, "FN": 3}}, "prediction_file": f"a{k}", "reference_file": "b"}
        for k, p in enumerate(CHANCE)
    ]
    assert isinstance(read(saved(tmp_path, "x.json", {"metric_per_case": cases})), Refused)


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
    unlike = 100 * (SOFT.argmax(axis=2) != SOFT.mean(axis=0).argmax(axis=1)).mean()
    (text,) = (n.text for n in got.notices if n.code == "MEMBERS_AVERAGED")
    assert text.startswith(f"the mean probabilities of the 4 members of {kind} are audited")
    assert f"in {unlike:.1f} % of rows" in text
    same(read(path, members="2"), members[1])
    for wrong in ("0", "5", "x"):
        assert isinstance(read(path, members=wrong), Refused)


EVENT_ODDS = LOG_ODDS + RNG.normal(size=(5, N))
MANY_TRUE = RNG.integers(0, 2, (N, 3))
MANY_ODDS = RNG.normal(size=(4, N, 3)) + 2.0 * MANY_TRUE - 1.0


def sigmoid(odds: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-odds))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind", ["probs", "logits"])
def test_members_with_many_labels_take_a_sigmoid_each(tmp_path, axis, kind):
    odds = np.moveaxis(MANY_ODDS, 0, axis)
    values = sigmoid(odds) if kind == "probs" else odds
    path = arrays(tmp_path, **{kind: values}, labels=MANY_TRUE)
    assert options(read(path)) == ["--members mean", "--members 1"]
    got = read(path, members="mean")
    assert isinstance(got, InterpretedFile)
    assert the_part(got).task == "multilabel"
    mean = sigmoid(MANY_ODDS).mean(axis=0)
    scores = the_part(got).scores
    np.testing.assert_allclose(sigmoid(scores) if kind == "logits" else scores, mean, atol=1e-9)
    unlike = 100 * ((MANY_ODDS > 0) != (mean > 0.5)).mean()
    assert any(f"in {unlike:.1f} % of answers" in n.text for n in got.notices)
    sole = arrays(tmp_path, **{kind: values[..., :1]}, labels=TRUTH)
    single = the_part(read(sole, members="mean")).scores
    np.testing.assert_allclose(sigmoid(single) if kind == "logits" else single, mean[:, 0])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind", ["probs", "logits"])
def test_members_that_score_one_event_are_no_classes(tmp_path, axis, kind):
    odds = np.moveaxis(EVENT_ODDS, 0, axis)
    values = sigmoid(odds) if kind == "probs" else odds
    path = arrays(tmp_path, **{kind: values}, labels=TRUTH)
    units = {} if kind == "logits" else {"units": "sum"}
    classes = "--members none --units sum" if units else "--members none"
    assert options(read(path)) == ["--members mean", "--members 1", classes]
    run = the_part(read(path, members="mean"))
    scores = sigmoid(run.scores) if kind == "logits" else run.scores
    np.testing.assert_allclose(scores, sigmoid(EVENT_ODDS).mean(axis=0), atol=1e-9)
    assert run.members is not None
    np.testing.assert_allclose(run.members.of_row[..., 0], values.T if axis == 0 else values)
    same(read(path, members="3"), values[2] if axis == 0 else values[:, 2])
    assert the_part(read(path, members="none", **units)).n_classes == 5


def test_classes_of_which_two_are_labelled_are_no_members(tmp_path):
    three = np.column_stack([-LOG_ODDS, LOG_ODDS, np.full(N, -9.0)])
    assert the_part(read(arrays(tmp_path, logits=three, labels=TRUTH))).n_classes == 3
    assert the_part(read(arrays(tmp_path, logits=EVENT_ODDS.T, labels=TRUTH + 3))).n_classes == 5
    few = arrays(tmp_path, logits=EVENT_ODDS.T[:15], labels=TRUTH[:15])
    assert the_part(read(few)).n_classes == 5
    probs = np.exp(EVENT_ODDS) / np.exp(EVENT_ODDS).sum(axis=0)
    assert the_part(read(arrays(tmp_path, probs=probs.T, labels=TRUTH))).n_classes == 5


def dump(folder: Path, tree: Any, name: str = "x.json") -> Path:
    path = folder / name
    lines = [json.dumps(row) for row in tree] if name.endswith("l") else [json.dumps(tree)]
    path.write_text("\n".join(lines))
    return path


ROWS = [{"prob": p, "label": t} for p, t in zip(CHANCE.tolist(), TRUTH.tolist(), strict=True)]


def test_records_lie_anywhere_inside_json(tmp_path):
    for tree in (
        {"results": ROWS},
        {"run": {"seeds": [1, 2], "name": "m"}, "data": {"items": ROWS}, "classes": ["a", "b"]},
    ):
        same(read(dump(tmp_path, tree)), CHANCE)
    several = dump(tmp_path, {"results": ROWS, "epochs": [{"epoch": k} for k in range(5)]})
    assert "--records results" in options(read(several))
    same(read(several, records="results"), CHANCE)
    assert isinstance(read(several, records="none"), Refused)
    parts = read(dump(tmp_path, {"val": ROWS[:50], "test": ROWS[50:]}))
    assert sorted(same(parts, CHANCE[50:]).splits) == ["test", "val"]


def pairs(row: int, names: tuple[str, str] = ("label", "score")) -> list[dict[str, Any]]:
    """What a pipeline says of a row: the labels in the order of their scores."""
    both = [(n, s) for n, s in zip("abc", SOFT[0][row].tolist(), strict=True)]
    return [dict(zip(names, pair, strict=True)) for pair in sorted(both, key=lambda p: -p[1])]


SCORED = {
    "transformers": lambda k: {"out": pairs(k)},
    "BigQuery": lambda k: {"predicted_y_probs": pairs(k, ("label", "prob"))},
    "Vertex": lambda k: {
        "prediction": {
            "displayNames": [p["label"] for p in pairs(k)],
            "confidences": [p["score"] for p in pairs(k)],
        }
    },
    "zero-shot": lambda k: {
        "sequence": f"text {k}",
        "labels": [p["label"] for p in pairs(k)],
        "scores": [p["score"] for p in pairs(k)],
    },
}


@pytest.mark.parametrize("tool", SCORED)
def test_lists_of_labels_and_scores_are_columns(tmp_path, tool):
    rows = [{**SCORED[tool](k), "truth": "abc"[THREE[k]]} for k in range(N)]
    got = read(dump(tmp_path, rows, "x.jsonl"))
    assert isinstance(got, InterpretedFile), str(got)
    run = the_part(got)
    order = [run.class_names.index(name) for name in "abc"]
    np.testing.assert_allclose(run.scores[:, order], SOFT[0], atol=1e-12)
    np.testing.assert_array_equal(run.labels, np.array(order)[THREE])


def test_classes_with_a_name_and_a_number_are_taken_by_name(tmp_path):
    """Ultralytics writes both beside each confidence; labels come in a second file."""
    rows = [
        {
            "path": f"v/{k}.jpg",
            "predictions": [
                {"name": n, "class": c, "confidence": float(SOFT[0][k, c])}
                for c, n in enumerate(["cat", "dog", "fox"])
            ],
        }
        for k in range(N)
    ]
    labels = tmp_path / "y.csv"
    lines = [f"v/{k}.jpg,{['cat', 'dog', 'fox'][THREE[k]]}" for k in range(N)]
    labels.write_text("\n".join(["path,label", *lines[::-1]]))
    same(read(dump(tmp_path, rows), labels), SOFT[0])


def logged(pair: dict[str, Any]) -> dict[str, Any]:
    return {"token": pair["label"], "logprob": float(np.log(pair["score"]))}


def test_the_first_label_of_each_row_is_an_answer(tmp_path):
    rows = [{"out": pairs(k)[:1], "truth": "abc"[THREE[k]]} for k in range(N)]
    got = same(read(dump(tmp_path, rows, "x.jsonl")), SOFT[0].max(axis=1))
    right = SOFT[0].argmax(axis=1) == THREE
    np.testing.assert_array_equal(the_part(got).rows.correct, right)
    tokens = [
        {"logprobs": [logged(pair) for pair in pairs(k)[: 1 + k % 2]], "truth": "abc"[THREE[k]]}
        for k in range(N)
    ]
    same(read(dump(tmp_path, tokens, "x.jsonl")), SOFT[0].max(axis=1))


@pytest.mark.parametrize("wrap", [lambda p, y: (p, y), lambda p, y: {"p": p, "y": y}])
def test_one_array_for_each_label_is_told_from_batches(tmp_path, wrap):
    truth = RNG.integers(0, 2, (40, 3))
    scores = [np.column_stack([1 - p, p]) for p in RNG.random((3, 40))]
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps(wrap(scores, truth)))
    got = same(read(path), np.column_stack([s[:, 1] for s in scores]))
    np.testing.assert_array_equal(the_part(got).labels, truth)
    path.write_bytes(pickle.dumps({"probs": scores, "labels": list(truth.T)}))
    assert same(read(path), np.concatenate(scores)).splits


def harness(k: int, target: Any, lengths: tuple[int, ...] = (1, 2, 3)) -> dict[str, Any]:
    values = np.log(SOFT[0][k]) - 5.0
    by_length = (values / lengths).argmax()  # without the space that parts them from the question
    return {
        "doc_id": k, "doc": {"q": "?"}, "target": target,
        "arguments": [["q", " " + "x" * n] for n in lengths],
        "filtered_resps": [[str(v), "False"] for v in values],
        "acc": float(values.argmax() == THREE[k]), "acc_norm": float(by_length == THREE[k]),
    }  # fmt: skip


def test_samples_of_multiple_choice_are_softmaxed(tmp_path):
    for target in (int, str, lambda t: "ABC"[t]):
        rows = [harness(k, target(int(THREE[k]))) for k in range(N)]
        got = read(dump(tmp_path, rows, "x.jsonl"))
        assert isinstance(got, InterpretedFile), str(got)
        run = the_part(got)
        np.testing.assert_allclose(np.exp(run.scores + 5.0), SOFT[0], atol=1e-12)
        np.testing.assert_array_equal(run.labels, THREE)
    by_length = same(
        read(tmp_path / "x.jsonl", scores_key="loglikelihood_per_character", scores="logits"),
        (np.log(SOFT[0]) - 5.0) / np.array([1, 2, 3]),
    )
    assert "acc_norm" in " ".join(n.text for n in by_length.notices)
    rows[0]["filtered_resps"] = rows[0]["filtered_resps"][:2]
    right = float(SOFT[0][0][0] > SOFT[0][0][1])
    rows[0] |= {"arguments": rows[0]["arguments"][:2], "target": "A", "acc": right}
    fewer = read(dump(tmp_path, rows, "x.jsonl"))
    assert isinstance(fewer, InterpretedFile)
    assert the_part(fewer).scores[0, 2] == -np.inf


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"target": "Z"}, "LABEL_RANGE"),
        ({"acc": 0.0}, "CLASSES"),
        ({"filtered_resps": ["forty-two"]}, "DTYPE"),
        ({"filtered_resps": [["-3", "True"]]}, "DTYPE"),
    ],
)
def test_samples_that_cannot_be_read_say_why(tmp_path, change, code):
    rows = [{**harness(k, int(THREE[k])), **change} for k in range(30)]
    got = read(dump(tmp_path, rows, "x.jsonl"))
    assert isinstance(got, Refused)
    assert got.code == code


def test_options_scored_again_without_the_question_are_left_out(tmp_path):
    rows = [harness(k, int(THREE[k])) for k in range(N)]
    for row in rows:
        row["arguments"] += [["", text] for _, text in row["arguments"]]
        row["filtered_resps"] += [["-0.1", "True"]] * 3
    same(read(dump(tmp_path, rows, "x.jsonl"), scores_key="logits"), np.log(SOFT[0]) - 5.0)


def test_a_length_that_acc_norm_denies_is_not_offered(tmp_path):
    rows = [{**harness(k, int(THREE[k]), (1, 9, 2)), "acc_norm": 0.5} for k in range(N)]
    for k, row in enumerate(rows):
        row["acc_norm"] = float(k % 2)
    got = read(dump(tmp_path, rows, "x.jsonl"), scores_key="loglikelihood_per_character")
    assert isinstance(got, Refused)


def test_options_that_are_numbers_are_not_mistaken_for_their_places(tmp_path):
    """Of the options 5, 1 and 0 the target "1" is the second by text and by number, "0" is not."""
    options = ("5", "1", "0")
    rows = [harness(k, options[THREE[k]]) for k in range(N)]
    for row in rows:
        row["arguments"] = [["q", f" {option}"] for option in options]
        del row["acc_norm"]
    np.testing.assert_array_equal(the_part(read(dump(tmp_path, rows, "x.jsonl"))).labels, THREE)
    turned = ("2", "0", "1")
    for k, row in enumerate(rows):
        row["arguments"] = [["q", f" {option}"] for option in turned]
        row["target"] = turned[THREE[k]]
    np.testing.assert_array_equal(the_part(read(dump(tmp_path, rows, "x.jsonl"))).labels, THREE)
    for row in rows:
        del row["acc"]
    asked = read(dump(tmp_path, rows, "x.jsonl"))
    assert isinstance(asked, Refused)
    assert "the number of one option and the text of another" in asked.what


def inspected(k: int, **scores: Any) -> dict[str, Any]:
    scored = {"match": {"value": "CI"[k % 3 == 0], "metadata": {"confidence": "0.75"}}}
    return {"id": k, "scores": scored | scores}


def test_where_scorers_of_a_log_differ_it_is_asked_whose_counts(tmp_path):
    """A scorer of the format is right of every sample, and it comes first."""
    form = {"form": {"value": "C", "metadata": {"confidence": 0.9}}}
    samples = [inspected(k) for k in range(N)]
    for sample in samples:
        sample["scores"] = form | sample["scores"]
    path = dump(tmp_path, {"eval": {}, "samples": samples})
    with pytest.raises(NeedsChoice) as asked:
        sandbox.read(path)
    assert [c.option for c in asked.value.inspection.candidates] == [
        "--records form",
        "--records match",
    ]
    got = sandbox.read(path, options=ReadOptions(records="match"))
    np.testing.assert_allclose(got.splits["test"].scores, 0.75)
    np.testing.assert_array_equal(got.splits["test"].rows.correct, np.arange(N) % 3 > 0)
    form["form"] = {"value": "C"}
    for sample in samples:
        sample["scores"] |= form
    alone = the_part(read(dump(tmp_path, {"eval": {}, "samples": samples})))
    np.testing.assert_array_equal(alone.rows.correct, np.arange(N) % 3 > 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"scores": {"match": {"value": "C"}}},
            "1 of 40 samples of Inspect state no confidence: 7",
        ),
        ({"scores": None, "error": "x"}, "1 of 40 samples"),
        ({"scores": {"match": {"value": "P", "metadata": {"confidence": 1}}}}, "scored 'P'"),
        ([1, 2], "no object"),
    ],
)
def test_a_log_with_an_odd_sample_is_refused_by_its_name(tmp_path, change, words):
    samples = [inspected(k) for k in range(40)]
    samples[7] = samples[7] | change if isinstance(change, dict) else change
    got = read(dump(tmp_path, {"eval": {}, "samples": samples}))
    assert isinstance(got, Refused)
    assert words in got.what


@pytest.mark.parametrize("packed", [False, True])
def test_a_log_of_inspect_is_read_by_its_stated_confidence(tmp_path, packed):
    sure = np.maximum(CHANCE, 1 - CHANCE)
    samples = [
        {"id": k, "epoch": 1, "target": "A", "messages": [{"role": "user"}],
         "scores": {"match": {"value": "CI"[k % 3 == 0], "answer": "A",
                              "metadata": {"confidence": float(sure[k])}}}}
        for k in range(N)
    ]  # fmt: skip
    path = dump(tmp_path, {"version": 2, "eval": {"task": "t"}, "samples": samples})
    if packed:
        path = tmp_path / "x.eval"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("header.json", "{}")
            for k, sample in enumerate(samples):
                archive.writestr(f"samples/{k:04}.json", json.dumps(sample))
    got = same(read(path), sure)
    np.testing.assert_array_equal(the_part(got).rows.correct, np.arange(N) % 3 > 0)
    for sample in samples:
        sample["scores"]["match"]["metadata"] = {}
    silent = read(dump(tmp_path, {"eval": {}, "samples": samples}))
    assert isinstance(silent, Refused)
    assert "state no confidence" in silent.what


def workbook(folder: Path, **sheets: list[list[Any]]) -> Path:
    """An .xlsx file with shared texts, as Excel writes it."""
    texts: list[str] = []

    def cell(value: Any, place: str) -> str:
        if isinstance(value, bool):
            return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
        if isinstance(value, str):
            texts.append(value)
            return f'<c r="{place}" t="s"><v>{len(texts) - 1}</v></c>'
        return "" if value is None else f'<c r="{place}"><v>{value!r}</v></c>'

    path = folder / "x.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        ids = {name: f"rId{k}" for k, name in enumerate(sheets, 1)}
        targets = {i: f"worksheets/{i}.xml" for i in ids.values()}
        links = "".join(f'<Relationship Id="{i}" Target="{t}"/>' for i, t in targets.items())
        archive.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{links}</Relationships>")
        space = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
        names = "".join(f'<sheet name="{name}" r:id="{i}"/>' for name, i in ids.items())
        book = f'<workbook xmlns:r="{space}"><sheets>{names}</sheets></workbook>'
        archive.writestr("xl/workbook.xml", book)
        for name, rows in sheets.items():
            body = "".join(
                f"<row>{''.join(cell(v, f'{chr(65 + c)}{r}') for c, v in enumerate(row))}</row>"
                for r, row in enumerate(rows, 1)
            )
            sheet = f"<worksheet><sheetData>{body}</sheetData></worksheet>"
            archive.writestr(f"xl/worksheets/{ids[name]}.xml", sheet)
        items = "".join(f"<si><t>{text}</t></si>" for text in texts)
        archive.writestr("xl/sharedStrings.xml", f"<sst>{items}</sst>")
    return path


def test_a_sheet_of_a_workbook_is_a_table(tmp_path):
    rows = [[f"r, {k}", float(CHANCE[k]), bool(TRUTH[k])] for k in range(N)]
    sheet = [["name", "probability", "label"], *rows]
    got = same(read(workbook(tmp_path, one=sheet, empty=[])), CHANCE)
    np.testing.assert_array_equal(the_part(got).labels, TRUTH)
    assert the_part(got).row_ids[:2] == ("r, 0", "r, 1")
    two = workbook(tmp_path, first=sheet, notes=[["a"], ["b"], ["c"]])
    with pytest.raises(NeedsChoice) as asked:
        sandbox.read(two)
    assert [c.option for c in asked.value.inspection.candidates] == ["--records first"]
    chosen = sandbox.read(two, options=ReadOptions(records="first"))
    np.testing.assert_allclose(chosen.splits["test"].scores, CHANCE)
    sheet[7][1] = None
    gap = read(workbook(tmp_path, one=sheet))
    assert isinstance(gap, Refused)
    assert "row 6 (line 8)" in gap.location


def test_titles_above_the_table_of_a_sheet_are_left_out(tmp_path):
    rows = [["Report of March"], ["All wards"], ["prob", "label"]]
    rows += [[float(p), int(y)] for p, y in zip(CHANCE, TRUTH, strict=True)]
    got = same(read(workbook(tmp_path, Scores=rows)), CHANCE)
    assert any("2 titles above" in n.text for n in got.notices)


def test_a_header_of_a_sheet_may_hold_a_line_end_or_begin_with_a_number_sign(tmp_path):
    rows = [[k, *SOFT[0][k].tolist(), "abc"[THREE[k]]] for k in range(N)]
    for first in ("#", "#\nof row"):
        sheet = [[first, "prob\nb", "prob\nc", "prob\na", "label"], *rows]
        run = the_part(read(workbook(tmp_path, one=sheet)))
        order = [run.class_names.index(name) for name in "bca"]
        np.testing.assert_allclose(run.scores[:, order], SOFT[0], atol=1e-12)


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ('<row><c r="XFD1"><v>1</v></c></row>' + "<row><c><v>1</v></c></row>" * 700, "TABLE_SIZE"),
        ('<row><c r="A1"><v>1</v></c><c r="A1"><v>2</v></c></row>' * 2, "FORMAT_UNKNOWN"),
        ('<row><c r="b1"><v>1</v></c></row><row><c r="a2"><v>1</v></c></row>', "FORMAT_UNKNOWN"),
        ('<row r="2"><c><v>1</v></c></row>' * 2, "FORMAT_UNKNOWN"),
        (f'<row><c t="s"><v>{"9" * 5_000}</v></c></row>', "FORMAT_UNKNOWN"),
        ("<row>" + '<row t="inlineStr">' * 9_000 + "</row>" * 9_000 + "</row>", "EMPTY"),
    ],
)
def test_a_sheet_that_no_program_writes_is_refused_at_once(tmp_path, rows, code):
    path = workbook(tmp_path, one=[["a"], ["b"]])
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["xl/worksheets/rId1.xml"] = f"<worksheet>{rows}</worksheet>".encode()
    path.write_bytes(packed_as(members))
    got = read(path)
    assert isinstance(got, Refused)
    assert got.code == code


def test_a_workbook_of_the_strict_kind_is_read_and_one_with_a_name_twice_refused(tmp_path):
    path = workbook(tmp_path, one=[["probability", "label"], *([p, int(y)] for p, y in
                    zip(CHANCE.tolist(), TRUTH, strict=True))])  # fmt: skip
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    book = members["xl/workbook.xml"]
    strict = b"http://purl.oclc.org/ooxml/officeDocument/relationships"
    usual = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    path.write_bytes(packed_as(members | {"xl/workbook.xml": book.replace(usual, strict)}))
    same(read(path), CHANCE)
    rows = members["xl/worksheets/rId1.xml"].replace(b"<row>", b'<row hidden="1">', 4)
    path.write_bytes(packed_as(members | {"xl/worksheets/rId1.xml": rows}))
    hidden = same(read(path), CHANCE)
    assert [n.text for n in hidden.notices if "hidden" in n.text] == [
        "4 hidden rows of the sheet counted too; a filter may hide rows"
    ]
    twice = book.replace(b"</sheets>", b'<sheet name="one" r:id="rId1"/></sheets>')
    path.write_bytes(packed_as(members | {"xl/workbook.xml": twice}))
    got = read(path)
    assert isinstance(got, Refused)
    assert "Two sheets" in got.what


@pytest.mark.parametrize("encoding", ["cp037", "shift_jis", "none"])
def test_a_workbook_in_letters_that_no_program_writes_is_refused(tmp_path, encoding):
    path = workbook(tmp_path, one=[["probability", "label"], [0.5, 1]])
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    text = f'<?xml version="1.0" encoding="{encoding}"?><sst/>'
    path.write_bytes(packed_as(members | {"xl/sharedStrings.xml": text.encode()}))
    got = read(path)
    assert isinstance(got, Refused)
    assert got.code == "FORMAT_UNKNOWN"


def test_a_text_that_stands_in_very_many_cells_is_refused_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr(parse, "MOST_LETTERS", 1_000)
    rows = [["probability", "label"], *([0.5, "x" * 100] for _ in range(12))]
    got = read(workbook(tmp_path, one=rows))
    assert isinstance(got, Refused)
    assert got.code == "TABLE_SIZE"


@pytest.mark.parametrize("name", ["logit_c", "logit_"])
def test_a_column_of_scores_without_any_is_no_class_less(tmp_path, name):
    """Formulas that nobody computed; the first two alone would be another network."""
    rows = [[*map(float, SOFT[0][k][:2]), None, "ab"[k % 2]] for k in range(N)]
    got = read(workbook(tmp_path, one=[["logit_a", "logit_b", name, "label"], *rows]))
    assert isinstance(got, Refused)
    assert (got.code, got.location) == ("NONFINITE", f"column {name}")
    sheet = [["logit_a", "logit_b", "note", "label"], *rows]
    assert the_part(read(workbook(tmp_path, one=sheet))).scores.shape == (N, 2)


def test_a_header_longer_than_any_sample_is_read_whole(tmp_path):
    """One that was cut named columns twice, and lines below it went unseen."""
    names = [f"logit_of_class_{k}" for k in range(5_000)]
    scores = np.arange(3.0)[:, None] + np.arange(5_000) % 7 / 10
    lines = [
        ",".join([*map(repr, row), name]) for row, name in zip(scores.tolist(), names, strict=False)
    ]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join([*names, "label"]), *lines]) + "\n")
    table = parse.read_contents(FileBytes.of_bytes("wide.csv", path.read_bytes()))
    assert list(table.entries) == [*names, "label"]
    assert table.entries[names[-1]].dtype == np.float64
    np.testing.assert_array_equal(table.entries[names[-1]], scores[:, -1])


def test_a_workbook_with_a_document_type_is_refused(tmp_path):
    path = workbook(tmp_path, one=[["probability", "label"], [0.5, 1]])
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["xl/sharedStrings.xml"] = b'<!DOCTYPE s [<!ENTITY a "b">]><sst>&a;</sst>'
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    got = read(path)
    assert isinstance(got, Refused)
    assert got.code == "FORMAT_UNKNOWN"


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_feather_and_streams_of_arrow_are_tables(tmp_path, compression):
    frame = pa.table({"probability": CHANCE, "label": TRUTH})
    path = tmp_path / "x.feather"
    pyarrow.feather.write_feather(frame, str(path), compression=compression)
    same(read(path), CHANCE)
    np.testing.assert_allclose(sandbox.read(path).splits["test"].scores, CHANCE)
    cut = tmp_path / "y.feather"
    cut.write_bytes(path.read_bytes()[:-30])
    got = read(cut)
    assert isinstance(got, Refused)
    assert got.code == "FORMAT_UNKNOWN"
    stream = tmp_path / "x.arrow"
    with pa.OSFile(str(stream), "wb") as file, pa.ipc.new_stream(file, frame.schema) as writer:
        writer.write_table(frame)
    same(read(stream), CHANCE)
    with pa.OSFile(str(stream), "wb") as file, pa.ipc.new_stream(file, frame.schema) as writer:
        writer.write_table(frame, max_chunksize=N // 4)
    whole = stream.read_bytes()
    same(read(stream), CHANCE)
    cuts = [at.start() for at in re.finditer(rb"\xff\xff\xff\xff", whole)][1:]
    assert len(cuts) == 5  # four batches and the end
    for data in (*(whole[:cut] for cut in cuts), whole + whole, whole + b"x"):
        stream.write_bytes(data)
        got = read(stream)
        assert isinstance(got, Refused)
        assert got.code == "TRAILING"
    words = pa.array([["no", "yes"][int(y)] for y in TRUTH], pa.string_view())  # as Polars writes
    frame = pa.table({"prob_no": 1 - CHANCE, "prob_yes": CHANCE, "label": words})
    pyarrow.feather.write_feather(frame, str(path), compression="uncompressed")
    np.testing.assert_array_equal(the_part(read(path)).labels, TRUTH)


BOX = [1.0, 2.0, 3.0, 4.0]
VALUES = RNG.normal(size=N) * 3
STRANGERS = {
    "Detections: COCO": [
        {"image_id": k // 3, "category_id": k % 2, "bbox": BOX, "score": float(CHANCE[k])}
        for k in range(N)
    ],
    "Detections: YOLO": [
        dict(zip(("xmin", "ymin", "xmax", "ymax"), BOX, strict=True))
        | {"confidence": float(CHANCE[k]), "class": k % 2, "name": "ab"[k % 2]}
        for k in range(N)
    ],
    "A table of metrics: epochs": [
        {"epoch": k, "train_loss": 1 / (k + 1), "val_acc": 0.5 + k / 100, "lr": 0.1}
        for k in range(30)
    ],
    "A table of metrics: models": [
        {"model": f"m{k}", "accuracy": 0.8 + k / 100, "f1": 0.7, "auroc": 0.9} for k in range(5)
    ],
    "A table of metrics: report": {
        name: {"precision": 0.8, "recall": 0.7, "f1-score": 0.75, "support": 40} for name in "abc"
    },
    "A regression: floats": [
        {"prediction": float(v), "target": float(v + e)}
        for v, e in zip(VALUES, RNG.normal(size=N), strict=True)
    ],
    "Scores of DeepEval: run": {
        "testCases": [
            {
                "name": f"t{k}",
                "success": bool(TRUTH[k]),
                "metricsData": [
                    {"name": "GEval", "score": float(CHANCE[k]), "success": bool(TRUTH[k])}
                ],
            }
            for k in range(N)
        ]
    },
    "Scores of RAGAS: frame": [
        {"user_input": f"q{k}", "response": "a", "reference": "b", "faithfulness": float(p)}
        for k, p in enumerate(CHANCE)
    ],
    "A record of OpenAI evals: events": [
        {
            "run_id": "r",
            "event_id": k,
            "sample_id": f"s.{k}",
            "type": "match",
            "data": {"correct": bool(y), "expected": "A", "picked": "AB"[int(y)]},
        }
        for k, y in enumerate(TRUTH)
    ],
    "A record of HELM: per_instance_stats": [
        {
            "instance_id": f"id{k}",
            "train_trial_index": 0,
            "stats": {"exact_match": float(y), "logprob": -3.2},
        }
        for k, y in enumerate(TRUTH)
    ],
    "A record of HELM: scenario_state": {
        "adapter_spec": {"method": "multiple_choice_joint"},
        "request_states": [
            {
                "instance": {"id": f"id{k}", "references": [{"tags": ["correct"]}]},
                "output_mapping": {"A": "cat", "B": "dog"},
                "result": {"success": True, "completions": [{"text": " A", "logprob": -0.1}]},
            }
            for k in range(N)
        ],
    },
    "A record of promptfoo: eval": {
        "evalId": "e",
        "results": {
            "results": [
                {
                    "promptIdx": 0,
                    "testIdx": k,
                    "vars": {"q": "q", "label": "ab"[int(y)]},
                    "score": float(y),
                    "success": bool(y),
                }
                for k, y in enumerate(TRUTH)
            ]
        },
    },
    "Answers of Prodigy: teach": [
        {
            "text": f"t{k}",
            "label": "INSULT",
            "score": float(p),
            "answer": ["accept", "reject", "ignore"][k % 3],
        }
        for k, p in enumerate(CHANCE)
    ],
    "Decisions: words": [
        {"prediction": a, "label": b} for a, b in zip(words(CHANCE), words(TRUTH), strict=True)
    ],
    "Decisions: numbers": [
        {"y_pred": int(a > 0.5), "y_true": int(b)} for a, b in zip(CHANCE, TRUTH, strict=True)
    ],
}


@pytest.mark.parametrize("case", STRANGERS)
def test_a_file_that_holds_no_predictions_is_named(tmp_path, case):
    got = read(dump(tmp_path, STRANGERS[case]))
    assert isinstance(got, Refused)
    assert got.what.startswith(case.partition(":")[0])


def test_arrays_that_are_no_predictions_are_named(tmp_path):
    pixels = RNG.random((4, 3, 8, 8))
    for word, entries in {
        "A segmentation": {"probs": pixels, "labels": np.zeros((4, 8, 8), int)},
        "Embeddings": {"embeddings": RNG.normal(size=(N, 80)), "labels": TRUTH},
    }.items():
        got = read(arrays(tmp_path, **entries))
        assert isinstance(got, Refused)
        assert got.what.startswith(word)
    for constant in (np.zeros(N), np.ones(N)):
        got = read(arrays(tmp_path, probability=constant, labels=TRUTH))
        assert isinstance(got, Refused)
        assert "decisions" in got.what


@pytest.mark.parametrize("header", ["PD %", "default_pct", "Ausfallrisiko in Prozent"])
@pytest.mark.parametrize("whole", [False, True])
def test_a_header_says_percent(tmp_path, header, whole):
    shown = (100 * CHANCE).round(0 if whole else 2)
    cells = shown.astype(int) if whole else shown
    path = table(tmp_path, loan=[f"L{k}" for k in range(N)], **{header: cells}, default=TRUTH)
    got = same(read(path), shown / 100)
    assert any(n.code == "UNITS" and header in n.text for n in got.notices)
    same(read(path, units="percent"), shown / 100)


def test_fractions_under_a_header_of_percent_are_asked_about(tmp_path):
    """At most 0.9 % defaults, or 90 %: only the values of a safe portfolio say which."""
    path = table(tmp_path, **{"PD %": 0.9 * CHANCE}, label=TRUTH)
    assert options(read(path)) == ["--units percent", "--scores probabilities"]
    same(read(path, units="percent"), 0.009 * CHANCE)
    same(read(path, scores="probabilities"), 0.9 * CHANCE)


def test_fractions_of_many_labels_that_say_percent_are_asked_about(tmp_path):
    chances = {f"prob_pct_{key}": (0.9 * RNG.random(N)).round(2) for key in "abc"}
    truth = {f"label_{key}": RNG.integers(0, 2, N) for key in "abc"}
    path, values = table(tmp_path, **chances, **truth), np.column_stack(list(chances.values()))
    first, second = options(read(path))
    assert first == "--units percent"
    same(read(path, units="percent"), values / 100)
    same(read(path, scores=second.removeprefix("--scores ")), values)


def test_a_rare_class_is_percent_where_another_is(tmp_path):
    """At most 0.9 % beside 55 % and more: one file has one unit."""
    rare = (0.9 * RNG.random(N)).round(2)
    many = {"prob_pct_a": (100 * CHANCE).round(1), "prob_pct_b": (90 * CHANCE).round(1)}
    truth = {f"label_{key}": RNG.integers(0, 2, N) for key in "abc"}
    got = the_part(read(table(tmp_path, **many, prob_pct_c=rare, **truth)))
    np.testing.assert_allclose(got.scores, np.column_stack([*many.values(), rare]) / 100)
    cat = ((100 - rare) * CHANCE).round(2)
    classes = {"cat %": cat, "dog %": (100 - rare - cat).round(2), "fish %": rare}
    names = np.where(TRUTH == 1, "cat", np.where(rare > 0.85, "fish", "dog"))
    got = the_part(read(table(tmp_path, **classes, label=names)))
    np.testing.assert_allclose(got.scores, np.column_stack(list(classes.values())) / 100)


def test_a_percent_under_another_name_changes_nothing(tmp_path):
    """Neither labels nor features that say percent become fractions that compete."""
    path = table(tmp_path, prob=CHANCE, spo2_percent=RNG.integers(80, 101, N), label=TRUTH)
    same(read(path), CHANCE)


@pytest.mark.parametrize("gap", ["", "NaN", "n/a"])
def test_a_blank_among_percent_signs_is_a_missing_score(tmp_path, gap):
    cells = [f"{100 * p:.2f}%" for p in CHANCE]
    cells[7] = gap
    got = read(table(tmp_path, id=range(N), prob=cells, label=TRUTH))
    assert isinstance(got, Refused)
    assert got.code == "NONFINITE"
    assert "row 7 (line 9), column prob" in got.location
    assert "fill in or remove the row" in got.remedy


def test_beside_whole_numbers_the_column_of_fractions_is_the_score(tmp_path):
    """SPSS's PRE_1 and PGR_1, and a number of each case: only one can be a probability."""
    answers = (CHANCE > 0.3).astype(int)
    got = same(read(table(tmp_path, Outcome=TRUTH, PRE_1=CHANCE, PGR_1=answers)), CHANCE)
    assert any("scores from PRE_1" in n.text for n in got.notices)
    numbers = RNG.permutation(N) + 500
    same(read(table(tmp_path, Nr=numbers, Risiko=CHANCE, Befund=words(TRUTH))), CHANCE)
    noise = RNG.random(N).round(3)
    assert isinstance(read(table(tmp_path, Nr=numbers, Risiko=noise, label=TRUTH)), Refused)


def test_percent_signs_are_hundredths_unless_only_some_cells_have_one(tmp_path):
    """Without the sign, and said to be percent, the numbers are the same."""
    texts = [f"{100 * p:.2f}%" for p in CHANCE]
    for choices in ({}, {"units": "percent"}):
        got = same(read(table(tmp_path, prob=texts, label=TRUTH), **choices), CHANCE)
        assert any(n.code == "UNITS" for n in got.notices)
    mixed = read(table(tmp_path, prob=["0.4", *texts[1:]], label=TRUTH))
    assert isinstance(mixed, Refused)
    assert "all of them with a percent sign" in mixed.remedy


@pytest.mark.parametrize("names", [("yes", "no"), ("True", "False"), ("1", "0")])
def test_of_two_columns_the_one_that_affirms_is_the_event(tmp_path, names):
    """RapidMiner and DataRobot write it first."""
    columns = {f"confidence({names[0]})": CHANCE, f"confidence({names[1]})": 1 - CHANCE}
    path = table(tmp_path, **columns, label=[names[1 - int(y)] for y in TRUTH])
    got = the_part(read(path))
    assert got.class_names == names[::-1]
    np.testing.assert_allclose(got.column(1), CHANCE)
    kept = the_part(read(path, scores_key="confidence"))
    assert kept.class_names == names


def test_classes_named_in_another_order_move_their_columns(tmp_path):
    names = ["cat", "dog", "fox"]
    columns = {f"prob_{n}": SOFT[0][:, k] for k, n in enumerate(names)}
    path = table(tmp_path, **columns, label=[names[k] for k in THREE])
    plain, turned = the_part(read(path)), the_part(read(path, classes="fox,cat,dog"))
    assert turned.class_names == ("fox", "cat", "dog")
    np.testing.assert_allclose(turned.scores, plain.scores[:, [2, 0, 1]])
    np.testing.assert_array_equal(turned.rows.correct, plain.rows.correct)


def test_numbers_that_arrow_holds_as_text_are_numbers(tmp_path):
    texts = [f"{p:.4E}" for p in CHANCE]
    frame = pa.table({"prob": texts, "label": TRUTH})
    pyarrow.feather.write_feather(frame, str(tmp_path / "x.feather"))
    same(read(tmp_path / "x.feather"), [float(text) for text in texts])


def test_a_last_column_of_fractions_is_the_score_of_a_batch(tmp_path):
    """Without a header, behind features: what a batch transform joins to its input."""
    rows = [
        f"{int(y)},{18 + k % 60},{k / 7:.3f},{p}"
        for k, (y, p) in enumerate(zip(TRUTH, CHANCE, strict=True))
    ]
    (tmp_path / "x.csv").write_text("\n".join(rows))
    got = same(read(tmp_path / "x.csv"), CHANCE)
    np.testing.assert_array_equal(the_part(got).labels, TRUTH)


def test_of_several_columns_of_names_the_one_without_repeats_names_the_rows(tmp_path):
    """Tidymodels has the resample in `id` and the row in `.row`."""
    folds = [f"Fold{k % 5}" for k in range(N)]
    path = table(tmp_path, id=folds, **{".row": np.arange(N)[::-1] + 7}, prob=CHANCE, label=TRUTH)
    got = read(path)
    assert the_part(got).row_ids[0] == str(N + 6)
    assert not any(n.code == "ROWS_REPEATED" for n in got.notices)


def test_state_of_a_calibration_error_is_confidence_and_correctness(tmp_path):
    """Torchmetrics keeps both as lists of batches."""
    import torch

    sure, right = (torch.tensor(v).reshape(-1, 50) for v in (np.maximum(CHANCE, 0.5), TRUTH * 1.0))
    torch.save({"confidences": list(sure), "accuracies": list(right)}, tmp_path / "state.pt")
    got = same(read(tmp_path / "state.pt", pairs="batches"), np.maximum(CHANCE, 0.5))
    np.testing.assert_array_equal(the_part(got).rows.correct, TRUTH == 1)


def test_what_deciders_name_beside_each_class_is_never_its_label(tmp_path):
    """The class that counts as positive is one for all rows."""
    path = table(tmp_path, prob=CHANCE, positive_class=[1] * N, truth_of=TRUTH)
    np.testing.assert_array_equal(the_part(read(path)).labels, TRUTH)


def commands(refusal: Refused) -> list[dict[str, Any]]:
    """The choices that a refusal offers, by candidates or in the words of its remedy."""
    inspection = getattr(refusal, "inspection", None)
    texts = [candidate.option for candidate in getattr(inspection, "candidates", ())]
    texts += OPTION.findall(refusal.remedy)
    out = []
    for text in texts:
        parser = Parser(prog="audit")
        add_reading(parser)
        try:
            given = vars(parser.parse_args(shlex.split(text)))
        except (UsageError, ValueError):  # an option without its value
            continue
        choices = {k: v for k, v in given.items() if k in READING and v not in (None, False)}
        out += [choices] if choices else []
    return out


def corpora(folder: Path) -> Iterator[tuple[list[Path], dict[str, Any]]]:
    """Files of every kind, with the choices that go with them."""
    for export in EXPORTS:
        (folder / export.name).mkdir(parents=True)
        yield export.write(folder / export.name), {}
    for name in ("exports", "readings"):
        manifest = SHARED / "hostile" / name / "manifest.json"
        for case in json.loads(manifest.read_text())["cases"] if manifest.exists() else ():
            args = case["args"] if "--" in "".join(case["args"]) else ["--labels", *case["args"]]
            args = [a for a in args if a != "--labels" or len(args) > 1]
            given = dict(zip(args[::2], args[1::2], strict=True))
            labels = given.pop("--labels", None)
            paths = [manifest.parent / case["file"]] + (
                [manifest.parent / labels] if labels else []
            )
            yield paths, {k.removeprefix("--").replace("-", "_"): v for k, v in given.items()}


def test_a_remedy_never_leads_to_the_same_refusal(tmp_path):
    tried = 0
    for paths, given in corpora(tmp_path):
        labels = paths[1] if len(paths) > 1 else None
        refusal = read(paths[0], labels, **given)
        for choices in commands(refusal) if isinstance(refusal, Refused) else ():
            tried += 1
            again = read(paths[0], labels, **(given | choices))
            same_again = isinstance(again, Refused) and again.what == refusal.what
            assert not same_again, (paths[0].name, choices, str(refusal))
    assert tried > 20


WAYS = ["--uncertain leave_out", "--uncertain absent", "--uncertain present"]


def findings(folder: Path) -> tuple[Path, np.ndarray, np.ndarray]:
    """Scores and labels of three findings, -1 where uncertain and NaN where blank."""
    scores = RNG.random((N, 3)).round(4)
    truth = (RNG.random((N, 3)) < scores).astype(float)
    truth[RNG.random((N, 3)) < 0.2] = np.nan
    truth[RNG.random((N, 3)) < 0.1] = -1.0
    columns = {f"pred_{n}": scores[:, k] for k, n in enumerate("abc")}
    cells = [["" if np.isnan(v) else v for v in truth[:, k].tolist()] for k in range(3)]
    columns |= {f"label_{n}": cells[k] for k, n in enumerate("abc")}
    return table(folder, name=[f"v{k}.jpg" for k in range(N)], **columns), scores, truth


def test_uncertain_labels_are_asked_for_and_counted(tmp_path):
    path, scores, truth = findings(tmp_path)
    assert options(read(path)) == WAYS
    for word, value in (("absent", 0), ("present", 1)):
        got = same(read(path, uncertain=word), scores)
        counts = np.where(np.isnan(truth), 0, np.where(truth == -1, value, truth))
        np.testing.assert_array_equal(the_part(got).labels, counts)
    keys = {"scores_key": "pred_b", "labels_key": "label_b", "uncertain": "leave_out"}
    kept = np.isin(truth[:, 1], (0, 1))
    got = same(read(path, **keys), scores[kept, 1])
    np.testing.assert_array_equal(the_part(got).labels, truth[kept, 1])
    assert the_part(got).row_ids == tuple(f"v{k}.jpg" for k in np.flatnonzero(kept))
    (notice,) = (n.text for n in got.notices if n.code == "UNCERTAIN")
    assert f"{int((~kept).sum())} rows of label_b left out" in notice


@pytest.mark.parametrize("form", ["npz", "label csv", "label npy", "parquet"])
def test_labels_that_are_unknown_are_left_out_by_finding(tmp_path, form):
    path, scores, truth = findings(tmp_path)
    labels = None
    if form == "npz":
        path = arrays(tmp_path, probs=scores, labels=truth)
    elif form == "parquet":
        columns = {f"pred_{n}": scores[:, k] for k, n in enumerate("abc")}
        columns |= {
            n: [None if np.isnan(v) else v for v in truth[:, k]] for k, n in enumerate("abc")
        }
        path = tmp_path / "x.parquet"
        pyarrow.parquet.write_table(pa.table(columns), path)
    else:
        path = arrays(tmp_path, probs=scores)
        labels = tmp_path / f"truth.{form[-3:]}"
        if form == "label npy":
            np.save(labels, truth)
        else:
            cells = np.where(np.isnan(truth), "", truth.astype(str))
            labels.write_text("a,b,c\n" + "\n".join(map(",".join, cells)) + "\n")
    assert options(read(path, labels)) == WAYS
    got = same(read(path, labels, uncertain="leave_out"), scores)
    np.testing.assert_array_equal(the_part(got).labels, np.nan_to_num(truth, nan=-1.0))
    (notice,) = (n.text for n in got.notices if n.code == "UNCERTAIN")
    n_blank, n_doubted = np.isnan(truth).sum(), (truth == -1).sum()
    assert notice.startswith(f"{n_blank} labels of {3 * N} blank, {n_doubted} uncertain (-1): each")


def test_a_finding_without_any_label_is_not_audited(tmp_path):
    path, scores, truth = findings(tmp_path)
    truth[:, 1] = np.nan
    cells = [["" if np.isnan(v) else v for v in truth[:, k].tolist()] for k in range(3)]
    columns = {f"pred_{n}": scores[:, k] for k, n in enumerate("abc")}
    path = table(tmp_path, **columns, **{f"label_{n}": cells[k] for k, n in enumerate("abc")})
    got = same(read(path, uncertain="leave_out"), scores[:, [0, 2]])
    assert the_part(got).class_names == ("a", "c")
    assert any("b without any label: 1 of 3 not audited" in n.text for n in got.notices)
    with pytest.raises(UsageError):
        read(path, uncertain="perhaps")


@pytest.mark.parametrize("form", ["parts", "weights"])
def test_a_finding_known_in_some_part_or_in_rows_of_no_weight_is_left_out(tmp_path, form):
    _, scores, truth = findings(tmp_path)
    half = np.arange(N) % 2 == 1
    truth[:, 2] = 1.0 * (scores[:, 2] > 0.5)
    truth[half, 1] = np.nan  # of the test part, or of the rows that count
    columns = {f"pred_{n}": scores[:, k] for k, n in enumerate("abc")}
    cells = [["" if np.isnan(v) else v for v in truth[:, k].tolist()] for k in range(3)]
    columns |= {f"label_{n}": cells[k] for k, n in enumerate("abc")}
    columns |= {"split": np.where(half, "test", "val"), "w": half.astype(int)}
    choices = {"uncertain": "leave_out"} | ({"weight": "w"} if form == "weights" else {})
    if form == "weights":
        del columns["split"]
    got = read(table(tmp_path, **columns), **choices)
    assert isinstance(got, InterpretedFile), str(got)
    for part in got.splits.values():
        assert part.class_names == ("a", "c")
        assert audit(part.predictions()).labels[1].name == "c"
    place = " in the test part" if form == "parts" else ""
    assert any(f"b without any label{place}: 1 of 3 not" in n.text for n in got.notices)
    truth[half, :] = np.nan
    cells = [["" if np.isnan(v) else v for v in truth[:, k].tolist()] for k in range(3)]
    columns |= {f"label_{n}": cells[k] for k, n in enumerate("abc")}
    none = read(table(tmp_path, **columns), **choices)
    assert isinstance(none, Refused)
    assert "No finding has a label" in none.what


@pytest.mark.parametrize("gap", ["", "-1", "nan"])
def test_uncertain_labels_of_one_finding_may_be_left_out(tmp_path, gap):
    labels = [gap if k % 7 == 0 else str(t) for k, t in enumerate(TRUTH.tolist())]
    path = table(tmp_path, prob=CHANCE, label=labels)
    assert "--uncertain leave_out" in options(read(path))
    kept = np.arange(N) % 7 > 0
    got = same(read(path, uncertain="leave_out"), CHANCE[kept])
    np.testing.assert_array_equal(the_part(got).labels, TRUTH[kept])
    got = same(read(path, uncertain="present"), CHANCE)
    counts = np.where(kept, TRUTH, 1 if gap == "-1" else 0)
    np.testing.assert_array_equal(the_part(got).labels, counts)


def test_arrays_of_two_models_are_asked_for(tmp_path):
    path = arrays(tmp_path, resnet_probs=SOFT[0], vit_probs=SOFT[1], labels=THREE)
    assert options(read(path)) == ["--scores-key resnet_probs", "--scores-key vit_probs"]
    same(read(path, scores_key="vit_probs"), SOFT[1])


def test_answers_to_one_question_are_votes(tmp_path):
    answers = [["a", "b", "a", "a"] if k % 2 else ["c", "c", "b", "c"] for k in range(N)]
    rows = [{"id": k, "answers": answers[k], "gold": "abc"[THREE[k]]} for k in range(N)]
    got = same(read(dump(tmp_path, rows, "x.jsonl")), np.full(N, 0.75))
    right = np.array(["a" if k % 2 else "c" for k in range(N)]) == np.array(list("abc"))[THREE]
    np.testing.assert_array_equal(the_part(got).rows.correct, right)
    assert any("votes" in n.text for n in got.notices)


def test_confidence_in_words_is_not_guessed(tmp_path):
    sure = ["high" if c > 0.5 else "low" for c in CHANCE]
    columns = {"answer": words(CHANCE), "confidence": sure, "gold": words(TRUTH)}
    path = table(tmp_path, **columns)
    got = read(path)
    assert isinstance(got, Refused)
    assert got.code == "UNDECIDED"
    assert "states words (high, low)" in got.what
    assert "--scale high=N,low=N" in got.remedy
    assert "no number for low" in str(read(path, scale="high=0.9"))
    same(read(path, scale="HIGH=0.9, low=0.6"), np.where(CHANCE > 0.5, 0.9, 0.6))


def harness_rows() -> list[dict[str, Any]]:
    """Each of 40 questions asked three times, as `repeats: 3` of lm-evaluation-harness writes."""
    rows = [harness(k % 40, int(THREE[k % 40])) for k in range(120)]
    return [{**row, "doc_id": k % 40} for k, row in enumerate(rows)]


def inspect_samples(**change: Any) -> list[dict[str, Any]]:
    """40 questions in three epochs; the answer of every tenth sample could not be parsed."""
    out = []
    for k in range(120):
        lost = k % 10 == 0
        metadata = {} if lost else {"confidence": round(0.5 + k / 300, 3)}
        score = {"value": "I" if lost or k % 3 else "C", "answer": "" if lost else "ABC"[k % 3]}
        scores = {"pick": {**score, "metadata": metadata | change}}
        out.append({"id": k % 40, "epoch": 1 + k // 40, "target": "A", "scores": scores})
    return out


def test_questions_that_were_asked_several_times_are_groups(tmp_path):
    got = read(dump(tmp_path, harness_rows(), "samples_arc.jsonl"))
    assert isinstance(got, InterpretedFile), str(got)
    groups = the_part(got).groups
    assert groups is not None
    assert (groups.name, groups.count) == ("question", 40)
    np.testing.assert_array_equal(groups.of_row[:40], groups.of_row[80:])
    log = {"version": 2, "eval": {"task": "t"}, "samples": inspect_samples(confidence=0.7)}
    got = same(read(dump(tmp_path, log)), np.full(120, 0.7))
    part = the_part(got)
    assert part.groups is not None
    assert (part.groups.name, part.groups.count) == ("question", 40)
    assert len(set(part.row_ids)) == 120
    assert not any(n.code == "ROWS_REPEATED" for n in got.notices)
    own = the_part(read(dump(tmp_path, log), group="epoch"))  # the user's choice rules
    assert own.groups is not None
    assert own.groups.count == 3


@pytest.mark.parametrize("form", ["log", "csv", "jsonl"])
def test_replies_without_answer_and_confidence_are_said_and_left_out(tmp_path, form):
    samples = inspect_samples()
    sure = [s["scores"]["pick"]["metadata"].get("confidence") for s in samples]
    told = np.array([value is not None for value in sure])
    if form == "log":
        path = dump(tmp_path, {"version": 2, "eval": {"task": "t"}, "samples": samples})
    else:
        answers = [s["scores"]["pick"]["answer"] or None for s in samples]
        gold = ["ABC"[k % 3] if k % 3 == 0 else "B" for k in range(120)]
        rows = [
            {"answer": a, "confidence": c, "gold": g}
            for a, c, g in zip(answers, sure, gold, strict=True)
        ]
        path = dump(tmp_path, rows, "x.jsonl")
        if form == "csv":
            cells = {k: ["" if r[k] is None else r[k] for r in rows] for k in rows[0]}
            path = table(tmp_path, **cells)
    got = same(read(path), [value for value in sure if value is not None])
    (notice,) = (n.text for n in got.notices if n.code == "UNANSWERED")
    assert notice.startswith("12 of 120 rows hold neither answer nor confidence")
    assert the_part(got).n == told.sum()


@pytest.mark.parametrize(
    ("name", "head", "what"),
    [
        ("x.rds", b"\x1f\x8b\x08\0\0", "an R file"),
        ("x.rdata", b"RDX3\nX\n", "an R file"),
        ("x.dta", b"<stata_dta><header>", "a Stata file"),
        ("y.dta", b"\x72\x02\x01\0\xff", "a Stata file"),
        ("x.mat", b"MATLAB 5.0 MAT-file", "a MATLAB file"),
        ("x.joblib", b"\x80\x04\x95\0", "a joblib file"),
    ],
)
def test_files_of_other_programs_are_named_with_what_exports_them(tmp_path, name, head, what):
    (tmp_path / name).write_bytes(head + bytes(600))
    got = read(tmp_path / name)
    assert isinstance(got, Refused)
    assert what in got.what
    assert "x.csv" in got.remedy or "x.npz" in got.remedy


def test_labels_far_apart_are_refused_at_once(tmp_path):
    """A list of all numbers between them would not fit into memory."""
    labels = [0, 1, 999_999_999] * (N // 3)
    got = read(arrays(tmp_path, prob=CHANCE[: len(labels)], label=np.array(labels)))
    assert isinstance(got, Refused)
    assert got.code == "CLASSES"


WORDS = np.array(["cat", "dog", "fox"])


@pytest.mark.parametrize("form", ["json", "python"])
def test_lists_of_labels_and_scores_in_cells_of_csv_are_columns(tmp_path, form):
    write = json.dumps if form == "json" else str
    lines = ["predicted_label,predicted_label_probs,label"]
    for k, row in enumerate(SOFT[0]):
        pairs = [{"label": str(WORDS[c]), "prob": float(row[c])} for c in np.argsort(-row)]
        cell = write(pairs).replace('"', '""')
        lines.append(f'{WORDS[row.argmax()]},"{cell}",{WORDS[THREE[k]]}')
    (tmp_path / "x.csv").write_text("\n".join(lines))
    rows = the_part(read(tmp_path / "x.csv"))
    order = [rows.class_names.index(name) for name in WORDS]
    np.testing.assert_allclose(rows.scores[:, order], SOFT[0])


def test_the_label_of_a_pipeline_is_its_answer_beside_the_truth(tmp_path):
    sure = np.maximum(CHANCE, 1 - CHANCE)
    path = table(tmp_path, label=words(CHANCE), score=sure, gold=words(TRUTH))
    for choices in ({}, {"labels_key": "gold"}):
        rows = the_part(same(read(path, **choices), sure))
        np.testing.assert_array_equal(rows.rows.correct, words(CHANCE) == np.array(words(TRUTH)))


def test_ranks_of_timm_are_an_answer_and_its_confidence(tmp_path):
    order = np.argsort(-SOFT[0], axis=1)[:, :2]
    columns = {"filename": [f"{k}.jpg" for k in range(N)]}
    columns |= {f"label_{r}": WORDS[order[:, r]] for r in (0, 1)}
    columns |= {f"prob_{r}": np.take_along_axis(SOFT[0], order, 1)[:, r] for r in (0, 1)}
    path = table(tmp_path, **columns)
    labels = tmp_path / "y.csv"
    labels.write_text(
        "filename,label\n" + "".join(f"{k}.jpg,{WORDS[t]}\n" for k, t in enumerate(THREE))
    )
    rows = the_part(same(read(path, labels), SOFT[0].max(axis=1)))
    np.testing.assert_array_equal(rows.rows.correct, SOFT[0].argmax(axis=1) == THREE)


def test_ranks_from_1_to_5_are_no_classes_and_no_scores(tmp_path):
    rank = RNG.integers(1, 6, N)
    got = same(read(table(tmp_path, rank=rank, p=CHANCE, y=TRUTH)), CHANCE)
    np.testing.assert_array_equal(the_part(got).labels, TRUTH)


def test_a_list_of_words_without_a_header_has_a_label_in_its_first_line(tmp_path):
    np.save(tmp_path / "p.npy", SOFT[0])
    (tmp_path / "y.txt").write_text("\n".join(WORDS[THREE]))
    rows = the_part(same(read(tmp_path / "p.npy", tmp_path / "y.txt"), SOFT[0]))
    np.testing.assert_array_equal(rows.labels, THREE)


def test_vectors_of_spark_are_asked_for_or_read(tmp_path):
    two = np.column_stack([1 - CHANCE, CHANCE])
    rows = [
        {"label": int(t), "probability": {"type": 1, "values": p}, "prediction": float(p[1] > 0.5)}
        for t, p in zip(TRUTH, two.tolist(), strict=True)
    ]
    same(read(dump(tmp_path, rows, "x.jsonl")), two)
    lines = ["label,rawPrediction,probability"]
    lines += [
        f'{t},"[{-z},{z}]","{p}"' for t, z, p in zip(TRUTH, LOG_ODDS, two.tolist(), strict=True)
    ]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    assert "--scores-key probability" in options(read(tmp_path / "x.csv"))
    same(read(tmp_path / "x.csv", scores_key="probability"), two)


@pytest.mark.parametrize(
    "tree",
    [
        {"results": {"arc": {"acc,none": 0.7, "acc_stderr,none": 0.01}}, "versions": {}},
        {"name": "m", "clean_acc": "95.1", "autoattack_acc": "59.5"},
    ],
)
def test_a_summary_of_metrics_is_named(tmp_path, tree):
    got = read(dump(tmp_path, tree))
    assert isinstance(got, Refused)
    assert got.what.startswith("A summary of metrics (")
