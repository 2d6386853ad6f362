"""The tour: its steps in the link, its buttons, and its numbers from the samples' own arrays."""

import re
from html import unescape
from pathlib import Path

import numpy as np

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


def test_the_first_step_tells_what_the_sample_holds(home):
    says, right = answers(tour.SURE)
    seen = card(step(1))
    first = f"It says {round(100 * says.mean())} in 100 and is right {round(100 * right.mean())} "
    assert first in seen
    sure = (says >= 0.80) & (says < 0.95)
    wrong, expected = (round(100 * (1 - share[sure].mean())) for share in (right, says))
    second = f"row “80 to 95”: it expects {expected} in 100 to be wrong, {wrong} are."
    assert second in seen


def test_a_step_and_its_page_speak_of_the_same_correction(home):
    test = step(2)
    told = re.search(r"from (\d+\.\d) to (\d+\.\d) points", card(test)).groups()
    headline = re.sub(r"<.*?>", "", card(test).partition("<h1")[2].partition("</h1>")[0])
    assert re.search(r"off by (\S+) points .* brings that to (\d+\.\d)", headline).groups() == told
    samples = Library(Path("unused"), SAMPLES)
    n_fit = samples.load(tour.SURE, "val").n
    assert f"Learned from {n_fit:,} other pictures; holds only for such." in card(test)


def test_the_last_step_says_of_films_what_its_page_says_and_leads_to_ones_own_file(home):
    test = step(3)
    seen = card(test)
    low, high, share = re.search(r"films scoring (\d+) to (\d+) for .*, (\d+) show", seen).groups()
    headline = re.sub(r"<.*?>", "", seen.partition("<h1")[2].partition("</h1>")[0])
    assert f"{low} to {high}, about {share} " in headline
    assert f"Another model, “{Library(Path('unused'), SAMPLES).get(tour.FILMS).name}”" in seen
    assert test.button(key="tour.next").label == "Drop your own file"


def test_a_reload_keeps_the_step_and_another_page_has_left_the_tour(home):
    link = {"run": tour.SURE, "plain": "true", "tour": "1"}
    assert "step 1 of" in card(fine(opened("reliability", **link)))
    assert "step 1 of" not in card(fine(opened("posthoc", **link)))
    for number in ("0", "99", "x"):
        test = fine(opened("reliability", **(link | {"tour": number})))
        assert "Tour, step" not in card(test)
