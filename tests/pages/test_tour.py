"""The tour: its steps in the link, its buttons, and its numbers from the samples' own arrays."""

import re
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
    wrong = round(100 * (1 - right[sure].mean()))
    assert f"80 to 95 in 100 sure, {wrong} in 100 answers are wrong" in second
    assert f"These are {sure.sum():,} of {sure.size:,} answers" in second


def test_a_step_and_its_page_speak_of_the_same_correction(home):
    test = step(3)
    told = re.search(r"from (\d+\.\d) to (\d+\.\d) points", card(test)).groups()
    headline = re.sub(r"<.*?>", "", card(test).partition("<h1")[2].partition("</h1>")[0])
    assert re.search(r"off by (\S+) points .* brings that to (\d+\.\d)", headline).groups() == told


def test_the_last_steps_say_of_pictures_and_films_what_their_pages_say(home):
    for number, told, page_says in (
        (4, r"On (pictures .*), it says (\d+) in 100 and is right (\d+)", r"100 ({}) .* {} .* {}"),
        (5, r"films that score (\d+) to (\d+) for .*, (\d+) show it", r"{} and {}, about {} "),
    ):
        seen = card(step(number))
        found = re.search(told, seen).groups()
        headline = re.sub(r"<.*?>", "", seen.partition("<h1")[2].partition("</h1>")[0])
        ordered = (found[0], *found[:0:-1]) if number == 4 else found
        assert re.search(page_says.format(*ordered), headline), (found, headline)


def test_a_reload_keeps_the_step_and_another_page_has_left_the_tour(home):
    link = {"run": tour.SURE, "plain": "true", "tour": "2"}
    assert "step 2 of" in card(fine(opened("reliability", **link)))
    assert "step 2 of" not in card(fine(opened("posthoc", **link)))
    for number in ("0", "99", "x"):
        test = fine(opened("reliability", **(link | {"tour": number})))
        assert "Tour, step" not in card(test)


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
