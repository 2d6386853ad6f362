"""The tour: its steps in the link, its buttons, and its numbers from the samples' own arrays."""

from html import unescape
from pathlib import Path

import numpy as np
import pytest

from core.library import SAMPLES, Library
from pages.ui import tour
from tests.pages.seen import fine, html, opened


def card(test):
    return unescape(html(test)).replace("\u2009", " ")


def step(number):
    """Open the page of a step by its link."""
    shown = tour.steps()[number - 1]
    return fine(opened(shown.entry.name, **shown.query, plain="true", tour=str(number)))


def after(test, key):
    """Press a button of the card; return the step in the link."""
    fine(test.button(key=f"tour.{key}").click().run())
    return test.query_params.get("tour")


def answers(run_id):
    rows = Library(Path("unused"), SAMPLES).load(run_id, "test")
    logits = np.asarray(rows.scores, dtype=np.float64)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares = odds / odds.sum(axis=1, keepdims=True)
    return shares.max(axis=1), shares.argmax(axis=1) == rows.labels


def test_the_first_steps_tell_what_the_sample_holds(home):
    says, right = answers(tour.SURE)
    first = f"It says {round(100 * says.mean())} in 100 and is right {round(100 * right.mean())} "
    assert first in card(step(1))
    sure = (says >= 0.80) & (says < 0.95)
    second = card(step(2))
    assert f"sure answers, {round(100 * (1 - right[sure].mean()))} in 100 are wrong" in second
    assert f"These are {sure.sum()} answers" in second


def test_it_goes_on_back_and_to_its_beginning_and_is_left_as_one_came(home):
    test = opened()
    assert after(test, "start") == "1"
    assert test.session_state["plain"]
    assert step(1).button(key="tour.back").disabled
    assert after(step(1), "next") == "2"
    assert after(step(3), "back") == "2"
    assert after(step(3), "restart") == "1"
    test = step(2)
    assert after(test, "skip") is None
    assert not test.session_state["plain"]


def test_a_reload_keeps_the_step_and_another_page_has_left_the_tour(home):
    link = {"run": tour.SURE, "plain": "true", "tour": "2"}
    assert "step 2 of" in card(fine(opened("reliability", **link)))
    assert "step 2 of" not in card(fine(opened("posthoc", **link)))
    for number in ("0", "99", "x"):
        test = fine(opened("reliability", **(link | {"tour": number})))
        assert "Tour, step" not in card(test)


def test_the_correction_is_the_one_of_the_page_below_and_the_last_step_finishes(home):
    steps = len(tour.steps())
    test = step(3)
    (title,) = [part for part in card(test).split("<h2") if "One setting brings" in part]
    before, after = (word for word in title.split() if word.replace(".", "").isdecimal())
    assert f"off by {before} points on average; a correction brings that to {after}" in card(test)
    test = step(steps)
    assert f"step {steps} of {steps}" in card(test)
    assert test.button(key="tour.next").label == "Finish"


def test_a_damaged_part_of_a_sample_adds_its_step(home, monkeypatch):
    monkeypatch.setattr(tour, "role_of", lambda split, labelled: "shifted")
    monkeypatch.setattr(tour, "SHIFTED", (tour.SURE,))
    added = tour.steps()[-2]
    assert added.entry.name == "ood"
    assert added.query == {"run": tour.SURE, "sets": "val"}
    says, _ = answers(tour.SURE)
    assert f"On clean pictures it says {round(100 * says.mean())}" in added.read().text


@pytest.mark.parametrize(
    ("splits", "best"),
    [
        (("test", "corrupted-fog-3", "corrupted-noise-5", "corrupted-fog-5"), "corrupted-fog-5"),
        (("test", "corrupted-noise-3", "corrupted-noise-5"), "corrupted-noise-5"),
        (("test", "val"), ""),
    ],
)
def test_heavy_fog_is_shown_where_it_is_there(splits, best):
    assert tour.damaged(splits) == best
