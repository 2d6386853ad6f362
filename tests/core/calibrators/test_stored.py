"""Stored calibrators: what is written, and that nothing else is read."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.arrays import softmax
from core.calibrators import CALIBRATORS
from core.calibrators.stored import from_json, make, to_json
from core.errors import Refused
from core.predictions import Task
from tests.core.calibrators.cases import drawn

METHODS = sorted(CALIBRATORS)
LOGITS, LABELS = drawn(60, 3, scale=4.0)
DOCUMENTS = {name: to_json(CALIBRATORS[name]().fit(LOGITS, LABELS)) for name in METHODS}
LABELLED = to_json(make("beta", Task.MULTILABEL).fit(LOGITS, np.eye(3, dtype=int)[LABELS]))


def document(name="ts", **changes):
    return {**DOCUMENTS[name], **changes}


def changed(name, **parameters):
    """A document with other parameters."""
    return document(name, parameters={**DOCUMENTS[name]["parameters"], **parameters})


def check_refused(stored):
    with pytest.raises(Refused) as caught:
        from_json(stored)
    assert caught.value.code == "CALIBRATOR"
    assert len(caught.value.what) < 300
    json.dumps(caught.value.to_json())


def test_document_is_what_it_was():
    """The form of the file: change it only together with its schema number."""
    right = np.eye(2)[np.arange(20) % 2]
    assert to_json(CALIBRATORS["ts"]().fit(right, np.arange(20) % 2)) == {
        "schema": 1,
        "method": "ts",
        "task": "multiclass",
        "settings": {"objective": "nll", "search": "exact"},
        "parameters": {"temperature": 0.01},
        "fitted_on": {},
    }
    stored = {
        "schema": 1,
        "method": "ets",
        "task": "multiclass",
        "settings": {"objective": "brier"},
        "parameters": {"temperature": 2.0, "weights": [0.5, 0.25, 0.25]},
        "fitted_on": {"split": "val"},
    }
    z = np.array([[1.0, 3.0, -2.0]])
    expected = 0.5 * softmax(z / 2.0) + 0.25 * softmax(z) + 0.25 / 3.0
    np.testing.assert_allclose(from_json(stored).predict_proba(z), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("histogram", {"n_bins": 4}),
        ("matrix", {"penalty": 2}),
        ("dirichlet", {"penalty": 0.5}),
        ("focal_ts", {"objective": "ece_em", "search": "grid"}),
        ("ts", {"objective": "ece", "search": "mukhoti"}),
    ],
)
def test_settings_travel_with_the_parameters(name, settings):
    fitted = CALIBRATORS[name](**settings).fit(LOGITS, LABELS)
    again = from_json(json.loads(json.dumps(to_json(fitted))))
    assert {key: again.settings()[key] for key in settings} == settings
    assert np.array_equal(again.predict_proba(LOGITS), fitted.predict_proba(LOGITS))


@pytest.mark.parametrize(
    ("method", "parameters", "search"),
    [
        ("ts", {"temperature": 7.3}, "mukhoti"),
        ("focal_ts", {"temperature": 2.5, "gamma": 0.05}, "komisarenko"),
    ],
)
@pytest.mark.parametrize("task", ["multiclass", "multilabel"])
def test_file_that_says_paper_is_read_by_the_paper_it_meant(method, parameters, search, task):
    held = parameters if task == "multiclass" else {"labels": [parameters]}
    settings = {"objective": "ada_ece", "search": "paper"}
    restored = from_json(document(method, settings=settings, parameters=held, task=task))
    assert restored.settings() == {"objective": "ada_ece", "search": search}
    assert restored.parameters() == held


HOSTILE = {
    "not an object": [DOCUMENTS["ts"]],
    "null": None,
    "text": "ts",
    "empty": {},
    "a key too many": document(extra=1),
    "a key too few": {k: v for k, v in DOCUMENTS["ts"].items() if k != "schema"},
    "another schema": document(schema=2),
    "schema as text": document(schema="1"),
    "schema as boolean": document(schema=True),
    "unknown method": document(method="platt"),
    "method is a list": document(method=["ts"]),
    "a long name": document(method="x" * 10**6),
    "unknown task": document(task="binary"),
    "no form for labels": document("matrix", task="multilabel"),
    "task is a list": document(task=["multiclass"]),
    "settings missing": document(settings={}),
    "settings as list": document(settings=["nll", "exact"]),
    "unknown setting": document(settings={"objective": "nll", "search": "exact", "eval": "1"}),
    "value of a setting": document(settings={"objective": "mse", "search": "exact"}),
    "list as setting": document(settings={"objective": ["nll"], "search": "exact"}),
    "negative penalty": document("matrix", settings={"penalty": -1.0}),
    "penalty as text": document("matrix", settings={"penalty": "1"}),
    "penalty as boolean": document("matrix", settings={"penalty": True}),
    "penalty not finite": document("matrix", settings={"penalty": float("inf")}),
    "half a bin": document("histogram", settings={"n_bins": 2.5}),
    "bins as boolean": document("histogram", settings={"n_bins": True}),
    "billions of bins": document("histogram", settings={"n_bins": 10**10}),
    "other bins than fitted": document("histogram", settings={"n_bins": 14}),
    "parameters as list": document(parameters=[1.0]),
    "parameters null": document(parameters=None),
    "unknown parameter": changed("ts", gamma=1.0),
    "missing parameter": document("focal_ts", parameters={"gamma": 1.0}),
    "number as text": changed("ts", temperature="2.0"),
    "number as boolean": changed("ts", temperature=True),
    "number as null": changed("ts", temperature=None),
    "number as object": changed("ts", temperature={"value": 2.0}),
    "number as list": changed("ts", temperature=[2.0]),
    "not a number": changed("ts", temperature=float("nan")),
    "infinite": changed("ts", temperature=float("inf")),
    "larger than any float": changed("ts", temperature=10**400),
    "temperature zero": changed("ts", temperature=0.0),
    "temperature below 0": changed("ts", temperature=-2.0),
    "temperature tiny": changed("ts", temperature=1e-310),
    "temperature beyond its range": changed("focal_ts", temperature=20.1),
    "gamma -1": changed("focal_map", gamma=-1.0),
    "gamma beyond its range": changed("focal_ts", gamma=11.0),
    "weights below 0": changed("ets", weights=[1.5, -0.5, 0.0]),
    "weights that sum to 2": changed("ets", weights=[1.0, 0.5, 0.5]),
    "two weights": changed("ets", weights=[0.5, 0.5]),
    "other number of biases": changed("vector", bias=[0.0, 0.0]),
    "one class": document("vector", parameters={"weights": [1.0], "bias": [0.0]}),
    "nested too deep": changed("vector", bias=[[0.0, 0.0, 0.0]]),
    "empty list": document("vector", parameters={"weights": [], "bias": []}),
    "huge weights": changed("vector", bias=[0.0, 0.0, 1e200]),
    "ragged matrix": changed("matrix", weights=[[1.0, 0.0, 0.0], [0.0, 1.0], [0.0]]),
    "matrix not square": changed("matrix", weights=[[1.0, 0.0, 0.0]] * 2),
    "one class in a matrix": document("dirichlet", parameters={"weights": [[1.0]], "bias": [0.0]}),
    "map falls": document("isotonic_ordered", parameters={"x": [0.1, 0.5], "y": [0.6, 0.2]}),
    "knots fall": document("isotonic_ordered", parameters={"x": [0.5, 0.1], "y": [0.2, 0.6]}),
    "map above 1": document("isotonic_ordered", parameters={"x": [0.1, 0.5], "y": [0.2, 1.6]}),
    "knots without values": document("isotonic_ordered", parameters={"x": [0.1, 0.5], "y": [0.2]}),
    "sizes beyond the knots": changed("isotonic", sizes=[5.0, 5.0, 1e9]),
    "sizes not whole": changed("isotonic", sizes=[1.5, 1.5, 1.0]),
    "sizes below 1": changed("isotonic", sizes=[-1.0, 2.0, 1.0]),
    "one of several maps falls": document(
        "isotonic",
        parameters={"x": [0.1, 0.2, 0.1, 0.2, 0.3], "y": [0, 1, 1, 0, 0], "sizes": [2, 2, 1]},
    ),
    "two maps": document("isotonic", parameters={"x": [0.1, 0.2], "y": [0, 1], "sizes": [1, 1]}),
    "frequency above 1": document("histogram", parameters={"frequencies": [[1.1] * 15] * 3}),
    "frequency below 0": document("histogram", parameters={"frequencies": [[-0.1] * 15] * 3}),
    "scores fall": changed("spline", scores=[0.5, 0.1], recalibrated=[0.5, 0.6]),
    "recalibrated above 1": changed("spline", scores=[0.1, 0.5], recalibrated=[0.5, 1.6]),
    "half a class": changed("spline", n_classes=2.5),
    "no class": changed("spline", n_classes=0),
    "negative slope": changed("beta", a=[1.0, -1.0, 1.0]),
    "slope beyond its range": changed("beta", b=[1.0, 1.0, 101.0]),
    "fewer slopes": changed("beta", c=[0.0]),
    "labels missing": {**LABELLED, "parameters": {}},
    "labels empty": {**LABELLED, "parameters": {"labels": []}},
    "labels no list": {**LABELLED, "parameters": {"labels": {"0": None}}},
    "a label is text": {**LABELLED, "parameters": {"labels": ["x", None]}},
    "no label fitted": {**LABELLED, "parameters": {"labels": [None, None]}},
    "a label of three classes": {
        **LABELLED,
        "parameters": {"labels": [DOCUMENTS["beta"]["parameters"]]},
    },
    "several classes as labels": document("beta", task="multilabel"),
    "labels as classes": {**LABELLED, "task": "multiclass"},
}


@pytest.mark.parametrize("stored", HOSTILE.values(), ids=HOSTILE.keys())
def test_document_that_nobody_saved_is_refused(stored):
    check_refused(stored)


@pytest.mark.parametrize("name", METHODS)
def test_settings_that_json_cannot_hold_never_become_attributes(name):
    check_refused(document(name, settings={**DOCUMENTS[name]["settings"], "fit": None}))
    check_refused(changed(name, __class__=[1.0]))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@given(st.sampled_from(METHODS), st.data())
@settings(max_examples=100)
def test_any_json_in_place_of_a_part_is_refused_or_predicts_distributions(name, data):
    stored = json.loads(json.dumps(DOCUMENTS[name]))
    places = [stored, stored["settings"], stored["parameters"]]
    place = data.draw(st.sampled_from([one for one in places if one]))
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(VALUES)
    try:
        p = from_json(stored).predict_proba(LOGITS)
    except Refused:  # and no other error
        return
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-9)
