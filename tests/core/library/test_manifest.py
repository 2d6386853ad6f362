"""The manifest's JSON is strict: what is written comes back equal, anything else is named."""

import json
import math
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.configs import AuditConfig
from core.errors import LibraryError, Notice
from core.library.files import describe
from core.library.history import Tables
from core.library.manifest import from_json, summarise
from core.metrics.records import Audit, Floor, Gap, Score, TargetAudit, Verdict
from core.metrics.suite import audit
from core.predictions import Predictions, ScoreKind, Task
from tests.core.library.builders import (
    SOURCE,
    headline,
    small,
    small_bins,
    small_history,
    unlabelled,
)

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9)
NOTICES = [Notice("TIES", "two rows tie")]


def _manifest(name: str = "a"):
    described = describe(
        name, {"val": small(1), "test": small()}, source=SOURCE, summary={"test": headline()},
        notices=NOTICES,
    )  # fmt: skip
    history = Tables(small_history(), small_bins()).entry()
    return replace(described, config={"epochs": 3}, environment={}, history=history)


def _gammas():
    """The manifest of a gamma history, as JSON."""
    bare = describe("gammas", {}, source=SOURCE, summary={})
    return replace(bare, kind="history", history=Tables(bins=small_bins()).entry()).to_json()


@given(NAMES.filter(str.strip))
def test_manifest_comes_back_equal_through_json_text(name):
    manifest = _manifest(name)
    assert from_json(json.loads(json.dumps(manifest.to_json()))) == manifest


def test_a_whole_number_is_a_number_that_the_index_can_hold():
    data = _manifest().to_json()
    data["metrics"]["test"]["accuracy"] = 10**30
    accuracy = from_json(data).metrics["test"]["accuracy"]
    assert type(accuracy) is float
    assert accuracy == 1e30


WRONG: dict[tuple[str, ...], list[object]] = {
    ("n_classes",): [0, -1, True, 2.0, "3", None, 2**63],
    ("created",): ["", "yesterday", "2026-13-45", "2026-01-02T03:04:05", 7],
    ("name",): ["", 7, None],
    ("id",): ["../x", "", 3],
    ("task",): ["regression", None],
    ("scores",): ["", 1],
    ("class_names",): ["cat", [1], None],
    ("splits",): [{}, [], {"../x": {}}, None],
    ("splits", "test", "n"): [0, "7", True, 10**30],
    ("splits", "test", "file"): ["predictions/val.safetensors", "/etc/passwd", 3],
    ("splits", "test", "renormalise"): [1, "yes"],
    ("splits", "test", "digest"): [None],
    ("source", "recipe"): ["x", []],
    ("notices",): [{}, ["x"], [{"code": "TIES"}]],
    ("tags",): ["x", [""], [3]],
    ("metrics",): [{"ood": headline()}, {"test": []}, []],
    ("metrics", "test", "accuracy"): ["0.9", True, math.inf, 10**400],
    ("metrics", "test", "verdict"): ["", "fine", None],
    ("metrics", "test", "ece", "value"): [[]],
    ("metrics", "test", "gap"): [None, 0.1],
    ("schema_version",): [None, "1"],
    ("config",): [[], "x", 3],
    ("environment",): [[], "x"],
    ("history",): [[], {}, "history.parquet"],
    ("history", "file"): ["../history.parquet", "bins.parquet", 3],
    ("history", "bins"): ["/etc/passwd", ""],
    ("history", "validation"): ["predictions/val.safetensors"],
    ("history", "epochs"): [0, None, "3", 2.0],
    ("history", "last"): [None, [], {"loss": "0.5"}, {"loss": True}, {"loss": -math.inf}],
}


@pytest.mark.parametrize(
    ("path", "value"), [(path, value) for path, values in WRONG.items() for value in values]
)
def test_wrong_value_in_any_place_is_refused(path, value):
    data = deepcopy(_manifest().to_json())
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(LibraryError) as excinfo:
        from_json(data)
    assert excinfo.value.code in {"MANIFEST", "RUN_UNKNOWN", "NAME", "TAGS", "SPLIT_NAME"}


@pytest.mark.parametrize(
    "path",
    [
        (),
        ("source",),
        ("splits", "test"),
        ("metrics", "test"),
        ("metrics", "test", "ece"),
        ("history",),
    ],
)
def test_unknown_and_missing_keys_are_named(path):
    for change in ("odd", None):
        data = deepcopy(_manifest().to_json())
        inner = data
        for key in path:
            inner = inner[key]
        name = change or next(key for key in inner if key != "schema_version")
        inner[name] = inner.pop(name, None) if change is None else 1
        if change is None:
            del inner[name]
        with pytest.raises(LibraryError, match=name):
            from_json(data)


def test_a_gamma_history_comes_back_equal():
    data = _gammas()
    assert from_json(data).to_json() == data


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "upload"},
        {"history": None},
        {"task": "multiclass"},
        {"scores": "logits"},
        {"n_classes": 3},
    ],
)
def test_only_a_gamma_history_has_no_splits_and_then_nothing_that_describes_them(change):
    with pytest.raises(LibraryError, match="MANIFEST"):
        from_json(_gammas() | change)


def test_a_gamma_history_without_bins_is_none():
    data = _gammas()
    data["history"] |= {"bins": None, "file": "history.parquet"}
    with pytest.raises(LibraryError, match="splits is empty"):
        from_json(data)


@pytest.mark.parametrize("key", ["config", "environment", "history"])
def test_only_the_first_schema_may_lack_what_came_with_the_second(key):
    data = _manifest().to_json()
    del data[key]
    assert getattr(from_json(data | {"schema_version": 1}), key) is None
    with pytest.raises(LibraryError, match=key):
        from_json(data)


def test_newer_schema_says_what_to_do():
    with pytest.raises(LibraryError, match="schema 8, this program reads 7") as excinfo:
        from_json(_manifest().to_json() | {"schema_version": 8})
    assert excinfo.value.code == "SCHEMA_VERSION"


@pytest.mark.parametrize("data", [None, [], "x", 3, {}])
def test_json_that_is_no_manifest_is_refused(data):
    with pytest.raises(LibraryError, match="MANIFEST"):
        from_json(data)


def _audit(metrics, floor):
    target = TargetAudit(
        name="answers",
        target=None,
        metrics=metrics,
        noise_floor=floor,
        direction=Gap(0.04, 0.03, 0.05),
        verdict=Verdict("over_confident", "."),
        bins=None,
    )
    return Audit("multiclass", "logits", 10, 3, (), {}, target)


def test_summary_takes_the_headline_numbers_of_an_audit():
    numbers = _audit(
        {
            "accuracy": Score(metric="accuracy", value=0.9, low=0.8, high=0.95, level=0.95, n=10),
            "ece": Score(metric="ece", value=0.0625, low=0.05, high=0.07, level=0.95, n=10),
        },
        {"ece": Floor(0.01, 0.02)},
    )
    assert summarise(numbers) == {
        "accuracy": 0.9,
        "ece": {"value": 0.0625, "low": 0.05, "high": 0.07},
        "floor_q95": 0.02,
        "gap": {"gap": 0.04, "low": 0.03, "high": 0.05},
        "verdict": "over_confident",
    }


def test_summary_of_two_columns_is_of_the_answers_as_their_page_is():
    rng = np.random.default_rng(8)
    p = rng.uniform(0.02, 0.98, 300).round(2)
    rows = np.stack([1.0 - p, p], axis=1)
    labels = (rng.random(300) < p**2).astype(np.int64)
    numbers = audit(
        Predictions(Task.BINARY, ScoreKind.PROBABILITIES, rows, labels), AuditConfig(n_resamples=30)
    )
    metrics = numbers.main.metrics
    assert metrics["ece"].value != metrics["ece_answer"].value
    assert summarise(numbers)["ece"]["value"] == metrics["ece_answer"].value
    assert summarise(numbers)["gap"]["gap"] == numbers.headline.direction.gap


def test_summary_of_an_audit_without_accuracy_or_ece_holds_none():
    found = summarise(_audit({}, {}))
    assert (found["accuracy"], found["ece"]["value"], found["floor_q95"]) == (None, None, None)


@pytest.mark.parametrize(
    ("task", "code"), [("binary", "overestimates"), ("multiclass", "over_confident")]
)
def test_verdicts_on_events_before_the_sixth_schema_get_words_of_events(task, code):
    data = _manifest().to_json() | {"task": task}
    assert data["metrics"]["test"]["verdict"] == "over_confident"
    assert from_json(data | {"schema_version": 5}).metrics["test"]["verdict"] == code
    assert from_json(data).metrics["test"]["verdict"] == "over_confident"  # of two answers


def test_splits_of_the_second_schema_get_the_role_that_their_name_says():
    data = _manifest().to_json() | {"schema_version": 2}
    for entry in data["splits"].values():
        del entry["role"]
    found = from_json(deepcopy(data))
    assert {name: entry.role for name, entry in found.splits.items()} == {
        "val": "val", "test": "test",
    }  # fmt: skip
    with pytest.raises(LibraryError, match="role"):
        from_json(data | {"schema_version": 3})


def test_only_labelled_splits_can_be_audited():
    parts = {"test": small(), "corrupted-fog-3": small(2), "svhn": unlabelled(3)}
    found = describe("a", parts, source=SOURCE, summary={})
    assert [entry.role for entry in found.splits.values()] == ["test", "shifted", "ood"]
    assert found.labelled == ("test", "corrupted-fog-3")
    assert found.headline == "test"
    assert describe("a", {"svhn": unlabelled()}, source=SOURCE, summary={}).headline == ""
    assert from_json(json.loads(json.dumps(found.to_json()))) == found
