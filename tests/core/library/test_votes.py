"""Votes are kept with a run, exported, and brought back."""

import json

import numpy as np
import pytest

from core.errors import LibraryError
from core.library.store import keep_result
from core.predictions import Predictions, ScoreKind, Task, Votes
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import read_source
from core.readers.predictions.names import VOTES_NAME
from core.readers.predictions.result import ReadOptions
from core.readers.sandbox import read as sandbox
from tests.core.library.builders import SOURCE

RNG = np.random.default_rng(4)
LOGITS = RNG.normal(size=(40, 3))
VOTES = RNG.multinomial(12, [0.5, 0.3, 0.2], 40)


def run(**changes) -> Predictions:
    given = {"scores": LOGITS, "labels": VOTES.argmax(axis=1), "class_names": ("a", "b", "c")}
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, **given | changes)


def test_a_run_keeps_its_votes_and_brings_them_back(library, home, tmp_path):
    voted = run(votes=Votes.of("v.csv", VOTES.astype(float)))
    kept = library.keep("a", {"val": voted, "test": voted}, source=SOURCE, summary={})
    assert library.get(kept.id).splits["test"].votes == "v.csv"
    stored = library.load(kept.id, "test")
    assert stored.votes.of_row.tolist() == VOTES.tolist()
    assert stored.digest == voted.digest != run().digest
    library.export(kept.id, tmp_path / "out.npz")
    source = FileBytes.of_bytes("out.npz", (tmp_path / "out.npz").read_bytes())
    result = read_source(source, None, ReadOptions())
    assert result.splits["val"].predictions().digest == voted.digest
    assert not any("votes" in notice.text for notice in result.notices)
    (tmp_path / "back.npz").write_bytes((tmp_path / "out.npz").read_bytes())
    again = keep_result(library, "b", "back.npz", sandbox.read(tmp_path / "back.npz"))
    assert library.load(again.id, "test").digest == voted.digest
    path = home / "runs" / kept.id / "manifest.json"
    path.write_text(path.read_text().replace('"v.csv"', '""'))
    with pytest.raises(LibraryError, match="differs from what was kept"):
        library.load(kept.id, "test")


def test_an_export_whose_votes_have_no_name_is_read_without_them(library, tmp_path):
    voted = run(votes=Votes.of("v.csv", VOTES.astype(float)))
    kept = library.keep("a", {"test": voted}, source=SOURCE, summary={})
    library.export(kept.id, tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as arrays:
        changed = dict(arrays) | {VOTES_NAME: np.empty(0, "U1")}
    np.savez(tmp_path / "nameless.npz", **changed)
    source = FileBytes.of_bytes("nameless.npz", (tmp_path / "nameless.npz").read_bytes())
    result = read_source(source, None, ReadOptions())
    assert result.splits["test"].predictions().votes is None


def test_a_run_of_schema_4_has_no_votes(library, home):
    kept = library.keep("a", {"test": run()}, source=SOURCE, summary={})
    path = home / "runs" / kept.id / "manifest.json"
    data = json.loads(path.read_text()) | {"schema_version": 4}
    del data["splits"]["test"]["votes"]
    path.write_text(json.dumps(data))
    assert library.load(kept.id, "test").votes is None
