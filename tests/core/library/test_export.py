"""An exported run opens in plain NumPy and holds what was kept."""

import json

import numpy as np
import pytest

from core.errors import LibraryError, Refused
from core.predictions import Predictions, ScoreKind, Task
from core.readers.formats.contents import FileBytes as FileSource
from core.readers.predictions.interpret import read_source
from core.readers.predictions.result import ReadOptions, Uncertain
from core.readers.tables.strict_tables import read_history
from tests.core.library.builders import (
    SOURCE,
    keep_history,
    same_columns,
    small,
    small_bins,
    unlabelled,
)


def test_export_opens_in_numpy_with_every_array_of_every_split(library, tmp_path):
    val, test = small(1, n=4), small(2, n=6)
    kept = library.keep("a", {"val": val, "test": test}, source=SOURCE, summary={}, tags=["x"])
    library.export(kept.id, tmp_path / "out.npz")
    assert [path.name for path in tmp_path.glob("*out*")] == ["out.npz"]
    with np.load(tmp_path / "out.npz") as found:
        for split, predictions in (("val", val), ("test", test)):
            np.testing.assert_array_equal(found[f"{split}_logits"], predictions.scores)
            assert found[f"{split}_logits"].dtype == np.float32
            np.testing.assert_array_equal(found[f"{split}_labels"], predictions.labels)
            assert tuple(found[f"{split}_ids"]) == predictions.row_ids
        assert found["class_names"].tolist() == ["cat", "dog", "hen"]
        assert json.loads(str(found["manifest"]))["tags"] == ["x"]


def test_export_of_stated_answers_holds_them(library, tmp_path):
    stated = Predictions(
        Task.TOP_LABEL,
        ScoreKind.CONFIDENCE,
        np.array([0.5, 0.75]),
        np.array([0, 2]),
        predicted=np.array([1, 2]),
    )
    kept = library.keep("a", {"test": stated}, source=SOURCE, summary={})
    library.export(kept.id, tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as found:
        assert found["test_predicted"].tolist() == [1, 2]
        assert found["test_confidence"].tolist() == [0.5, 0.75]


def test_export_to_a_place_that_is_missing_says_so(keep, library, tmp_path):
    with pytest.raises(LibraryError, match=r"out\.npz cannot be written") as excinfo:
        library.export(keep("a"), tmp_path / "missing" / "out.npz")
    assert excinfo.value.code == "EXPORT"
    assert str(tmp_path) not in str(excinfo.value)


def test_an_export_is_called_what_it_is(keep, library, tmp_path):
    with pytest.raises(LibraryError, match=r"out\.csv says otherwise") as excinfo:
        library.export(keep("a"), tmp_path / "out.csv")
    assert excinfo.value.code == "EXPORT"
    assert list(tmp_path.glob("out*")) == []


def _softmax(n: int, k: int) -> np.ndarray:
    powers = np.exp(np.random.default_rng(0).standard_normal((n, k)))
    return powers / powers.sum(axis=1, keepdims=True)


LABELS = np.array([0, 2, 1, 1, 0, 2])
SIGMOIDS = np.random.default_rng(1).random((6, 2)).astype(np.float16)
TRAITS = np.array([[0, 1], [1, 1], [0, 0], [1, 0], [1, 1], [0, 1]])
KEPT = {
    "probabilities": (Task.MULTICLASS, ScoreKind.PROBABILITIES, _softmax(6, 3), LABELS),
    "two columns": (Task.BINARY, ScoreKind.PROBABILITIES, _softmax(6, 2), LABELS % 2),
    "one column": (Task.BINARY, ScoreKind.PROBABILITIES, _softmax(6, 2)[:, 1], LABELS % 2),
    "one logit": (Task.BINARY, ScoreKind.LOGITS, np.arange(-3.0, 3.0), LABELS % 2),
    "sigmoids": (Task.MULTILABEL, ScoreKind.SIGMOID, SIGMOIDS, TRAITS),
    "logits of labels": (Task.MULTILABEL, ScoreKind.LOGITS, SIGMOIDS * 8 - 4, TRAITS),
}


@pytest.mark.parametrize("case", [*KEPT, "stated"])
def test_export_is_read_back_as_what_was_kept(case, library, tmp_path):
    if case == "stated":
        predictions = Predictions(
            Task.TOP_LABEL,
            ScoreKind.CONFIDENCE,
            np.linspace(0.5, 1.0, 6),
            LABELS,
            predicted=LABELS[::-1].copy(),
        )
    else:
        predictions = Predictions(*KEPT[case])
    kept = library.keep("a", {"test": predictions}, source=SOURCE, summary={})
    library.export(kept.id, tmp_path / "out.npz")
    data = (tmp_path / "out.npz").read_bytes()
    found = read_source(FileSource.of_bytes("out.npz", data), None, ReadOptions())
    assert found.splits["test"].predictions().digest == predictions.digest


def test_unknown_labels_are_exported_as_blank_ones(library, tmp_path):
    """A label that was blank must not come back as uncertain, which may count as present."""
    labels = np.where(np.arange(12).reshape(6, 2) == 3, -1, TRAITS)
    predictions = Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, SIGMOIDS, labels)
    kept = library.keep("a", {"test": predictions}, source=SOURCE, summary={})
    library.export(kept.id, tmp_path / "out.npz")
    file = FileSource.of_bytes("out.npz", (tmp_path / "out.npz").read_bytes())
    with pytest.raises(Refused, match="1 label of 12 blank, 0 uncertain"):
        read_source(file, None, ReadOptions())
    found = read_source(file, None, ReadOptions(uncertain=Uncertain.LEAVE_OUT))
    assert found.splits["test"].predictions().digest == predictions.digest


def test_a_gamma_history_is_exported_as_the_table_that_import_reads(library, tmp_path):
    kept = keep_history(library, "gammas", small_bins())
    library.export(kept, tmp_path / "out.parquet")
    data = (tmp_path / "out.parquet").read_bytes()
    assert same_columns(read_history(FileSource.of_bytes("out.parquet", data)).bins, small_bins())
    assert [path.name for path in tmp_path.glob("*out*")] == ["out.parquet"]


def test_a_gamma_history_is_no_npz(library, tmp_path):
    kept = keep_history(library, "gammas", small_bins())
    with pytest.raises(LibraryError, match=r"out\.npz says otherwise") as excinfo:
        library.export(kept, tmp_path / "out.npz")
    assert excinfo.value.code == "EXPORT"
    assert list(tmp_path.glob("*out*")) == []


def test_sets_beside_the_parts_are_exported_and_passed_over_by_the_reader(library, tmp_path):
    parts = {"test": small(), "svhn": unlabelled(3), "corrupted-fog-1": small(4)}
    kept = library.keep("a", parts, source=SOURCE, summary={})
    assert library.load(kept.id, "svhn").digest == parts["svhn"].digest
    library.export(kept.id, tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as found:
        np.testing.assert_array_equal(found["sets/svhn_logits"], parts["svhn"].scores)
        assert "sets/svhn_labels" not in found
        assert "sets/corrupted-fog-1_labels" in found
    data = (tmp_path / "out.npz").read_bytes()
    again = read_source(FileSource.of_bytes("out.npz", data), None, ReadOptions())
    assert set(again.splits) == {"test"}
    np.testing.assert_array_equal(again.splits["test"].predictions().scores, parts["test"].scores)
