"""Trained runs and gamma histories on the pages: listed, opened, or refused in one sentence."""

from html import unescape

import numpy as np
import pytest

from core.library import SAMPLES, RunSource
from tests.core.library.builders import (
    answers,
    keep_history,
    keep_trained,
    small_bins,
)
from tests.pages.seen import fine, opened

SOURCE = RunSource("digits", "0" * 32)


@pytest.fixture
def history(library):
    return keep_history(library, "gammas *of* another", small_bins())


@pytest.fixture
def trained(library):
    return keep_trained(library, "trained", {"test": answers()}, name="adafocal, seed 0")


def test_the_runs_page_lists_both_beside_the_samples(trained, history):
    test = opened()
    shown = test.dataframe[0].value.set_index("Run")
    assert shown.loc["adafocal, seed 0", "n"] == 90
    assert shown.loc["gammas *of* another", "Task"] == "gammas"
    assert np.isnan(shown.loc["gammas *of* another", "n"])
    assert len(shown) == 2 + len(list(SAMPLES.iterdir()))


def test_kinds_are_told_apart(trained, history):
    test = opened()
    for kind, name in (("train", "adafocal, seed 0"), ("history", "gammas *of* another")):
        test.segmented_control(key="library.kind").set_value(kind).run()
        assert test.dataframe[0].value["Run"].tolist() == [name]


@pytest.mark.parametrize(
    ("script", "key"),
    [("reliability", "run"), ("posthoc", "run"), ("compare", "runs")],
)
def test_a_page_that_needs_predictions_says_so_in_one_sentence(history, script, key):
    test = opened(script, **{key: history})
    (said,) = [error.value for error in test.error]
    assert "*of*" not in said
    sentence = "gammas *of* another is a gamma history and holds no predictions"
    assert sentence in unescape(said)


@pytest.mark.parametrize("run", ["history", "nosuchrun"])
def test_compare_goes_on_without_a_run_that_it_cannot_show(run, history):
    test = opened("compare", runs=f"{history if run == 'history' else run},cifar10-ce")
    assert len(test.error) == 1
    test.button(key="compare.samples").click().run()
    assert not test.error


def test_a_gamma_history_is_not_offered_where_predictions_are_needed(trained, history):
    test = opened("reliability")
    names = test.selectbox(key="app.picked").options
    assert "adafocal, seed 0" in names
    assert "gammas *of* another" not in names


def test_a_trained_run_opens_like_an_uploaded_one(trained):
    test = fine(opened("reliability", run=trained))
    assert test.selectbox(key="app.picked").value == trained
