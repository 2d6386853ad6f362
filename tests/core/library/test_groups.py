"""Groups and weights are kept with a run, and nothing that is made of its rows loses them."""

import json

import numpy as np
import pytest

from core.errors import LibraryError, Refused
from core.library.store import keep_result
from core.metrics.suite import label_predictions
from core.ood.scores import temperature_scaled
from core.predictions import Groups, Predictions, ScoreKind, Task, Weights
from core.readers.formats.contents import FileBytes as FileSource
from core.readers.predictions.interpret import read_source
from core.readers.predictions.result import ReadOptions
from core.readers.sandbox import read as sandbox
from core.studies.clinic import binary_rows
from core.studies.posthoc import STREAM, calibrated_splits, cut, cut_rows, fit
from tests.core.library.builders import SOURCE

RNG = np.random.default_rng(2)
N = 40
PATIENT = np.repeat([f"p{k}" for k in range(10)], 4)
WEIGHT = 1.0 + np.arange(N) % 3
LOGITS = RNG.normal(size=(N, 3))


def rows(**changes) -> Predictions:
    given = {
        "task": Task.MULTICLASS,
        "kind": ScoreKind.LOGITS,
        "scores": LOGITS,
        "labels": RNG.integers(0, 3, N),
        "groups": Groups.of("patient", PATIENT.tolist()),
        "weights": Weights.of("n", WEIGHT),
    }
    return Predictions(**given | changes)


def findings() -> Predictions:
    many = {"task": Task.MULTILABEL, "labels": (LOGITS > 0).astype(np.int64)}
    return rows(**many)


def same(found: Predictions, whole: Predictions) -> None:
    assert found.groups.name == whole.groups.name
    assert found.weights.name == whole.weights.name
    np.testing.assert_array_equal(found.groups.of_row, whole.groups.of_row)
    np.testing.assert_array_equal(found.weights.of_row, whole.weights.of_row)


def test_a_run_keeps_groups_and_weights(library):
    kept = library.keep("a", {"test": rows()}, source=SOURCE, summary={})
    found = library.load(kept.id, "test")
    same(found, rows())
    entry = library.get(kept.id).splits["test"]
    assert (entry.groups, entry.weights) == ("patient", "n")


def test_a_run_whose_manifest_lost_its_groups_is_damaged(library, home):
    kept = library.keep("a", {"test": rows()}, source=SOURCE, summary={})
    path = home / "runs" / kept.id / "manifest.json"
    path.write_text(path.read_text().replace('"patient"', '""'))
    with pytest.raises(LibraryError, match="differs from what was kept"):
        library.load(kept.id, "test")


def test_a_run_of_schema_3_reads_as_one_without_groups(library, home):
    kept = library.keep("a", {"test": rows(groups=None, weights=None)}, source=SOURCE, summary={})
    path = home / "runs" / kept.id / "manifest.json"
    data = json.loads(path.read_text()) | {"schema_version": 3}
    for key in ("groups", "weights"):
        del data["splits"]["test"][key]
    path.write_text(json.dumps(data))
    assert library.load(kept.id, "test").groups is None


def test_an_exported_run_brings_its_groups_and_weights_back(library, tmp_path):
    parts = {"val": rows(), "test": rows()}
    kept = library.keep("a", parts, source=SOURCE, summary={})
    library.export(kept.id, tmp_path / "out.npz")
    source = FileSource.of_bytes("out.npz", (tmp_path / "out.npz").read_bytes())
    found = read_source(source, None, ReadOptions())
    for name, whole in parts.items():
        same(found.splits[name].predictions(), whole)
        assert found.splits[name].predictions().digest == whole.digest
    assert not any("group" in notice.text for notice in found.notices)


def test_an_imported_file_keeps_them_on_its_way_to_every_view(library, tmp_path):
    two = LOGITS[:, :2]
    lines = ["patient,n,pred_a,pred_b,label_a,label_b"]
    for who, weight, (a, b) in zip(PATIENT, WEIGHT, two, strict=True):
        lines.append(f"{who},{weight:g},{a},{b},{int(a > 0)},{int(b > 0.3)}")
    (tmp_path / "x.csv").write_text("\n".join(lines))
    options = ReadOptions(group="patient", weight="n")
    result = sandbox.read(tmp_path / "x.csv", options=options)
    kept = keep_result(library, "a", "x.csv", result)
    found = library.load(kept.id, "test")
    same(found, rows())
    same(binary_rows(found, 1), rows())
    assert binary_rows(found, 1).outcomes(1).groups is not None
    assert library.get(kept.id).source.recipe["group"] == "patient"


MADE = {
    "a label of many": lambda whole: label_predictions(findings(), 1),
    "calibrated": lambda whole: calibrated_splits(fit("ts", whole).calibrator, {"": whole})[""],
    "at a temperature": lambda whole: temperature_scaled(whole, 2.0),
    "all of the rows": lambda whole: whole.take(np.arange(whole.n)),
}


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_of_rows_keeps_their_groups_and_weights(name):
    same(MADE[name](rows()), rows())


def test_a_cut_keeps_groups_whole_and_numbers_them_anew():
    whole = rows(row_ids=tuple(map(str, range(N))))
    both = cut(whole, 0.5, 0)
    assert [part.groups.count for part in both] == [5, 5]
    for part in both:
        at = np.array([int(name) for name in part.row_ids])
        assert np.unique(part.groups.of_row).tolist() == list(range(5))
        names = PATIENT[at]
        together = part.groups.of_row[:, None] == part.groups.of_row
        np.testing.assert_array_equal(together, names[:, None] == names)
        np.testing.assert_array_equal(part.weights.of_row, WEIGHT[at])
    assert not {*PATIENT[np.array(both[0].row_ids, int)]} & {
        *PATIENT[np.array(both[1].row_ids, int)]
    }


@pytest.mark.parametrize("kind", [ScoreKind.LOGITS, ScoreKind.PROBABILITIES])
def test_rows_that_are_the_same_are_not_cut_apart(kind):
    scores = np.random.default_rng(3).normal(size=(100, 3))
    if kind is ScoreKind.PROBABILITIES:
        scores = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        scores[:30] = [1.0, 0.0, 0.0]  # certain answers are alike without being copies
    again = np.random.default_rng(4).permutation(np.repeat(np.arange(100), 5))
    copied = Predictions(Task.MULTICLASS, kind, scores[again], again % 3)
    fitted, reported = cut_rows(copied, 0.5, 0)
    assert sorted([*fitted, *reported]) == list(range(500))
    first, second = (set(again[numbers]) for numbers in (fitted, reported))
    assert all(row < 30 for row in first & second)
    assert bool(first & second) == (kind is ScoreKind.PROBABILITIES)
    assert 150 < fitted.size < 350
    fitted, _ = cut_rows(rows(groups=None), 0.5, 0)  # no row comes twice: as it was
    order = np.random.default_rng([0, STREAM]).permutation(N)
    np.testing.assert_array_equal(fitted, np.sort(order[: N // 2]))


def test_equal_scores_of_a_calibrated_model_are_cut_without_regard_to_labels():
    """By labels too, the outcomes of one score of a tree would all lie on one side."""
    rng = np.random.default_rng(5)
    leaves = rng.random(150)
    risk = leaves[rng.integers(0, 150, 2_000)]
    labels = (rng.random(2_000) < risk).astype(int)
    tree = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, np.stack([1 - risk, risk], 1), labels)
    for seed in range(3):
        for numbers in cut_rows(tree, 0.5, seed):
            part_risk, part_labels = risk[numbers], labels[numbers]
            expected = np.array([part_risk[part_risk == p].sum() for p in np.unique(part_risk)])
            seen = np.array([part_labels[part_risk == p].sum() for p in np.unique(part_risk)])
            spread = np.array(
                [(part_risk * (1 - part_risk))[part_risk == p].sum() for p in np.unique(part_risk)]
            )
            squares = ((seen - expected) ** 2).sum() / spread.sum()
            assert squares < 1.6  # 1 by the binomial; 75 leaves: sd 0.17


def test_one_group_cannot_be_cut():
    alone = rows(groups=Groups("patient", np.zeros(N, np.int64)))
    with pytest.raises(Refused, match="One patient cannot be cut in two"):
        cut(alone, 0.5, 0)


def test_rows_of_weight_zero_may_be_taken_alone():
    weights = Weights.of("n", np.where(np.arange(N) < 4, 0.0, 2.0))
    assert rows(weights=weights).take(np.arange(4)).weights.of_row.tolist() == [0.0] * 4
