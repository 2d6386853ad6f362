"""The theory page through app.py: its parts, its sliders, and what a link restores."""

from functools import partial

import pytest

from core.metrics import METRICS
from pages.ui.theory import PARTS
from tests.pages.seen import fine, html, opened


@pytest.fixture
def page(home):
    return partial(opened, "theory")


SAID = {  # one thing that only this part says
    "map": "Sharpening",
    "temperature": "What remains",
    "classes": "Moves of both maps",
    "loss": "Isolines of the risk",
    "gradient": "Smallest γ with no larger gradient",
    "print": "The map can lower the top probability",
}
FIGURES = [part for part in PARTS if part != "words"]


@pytest.mark.parametrize(
    "part", ["map", *(pytest.param(p, marks=pytest.mark.slow) for p in FIGURES if p != "map")]
)
def test_every_part_draws_its_figures_with_their_source(page, part):
    test = fine(page(part=part))
    text = html(test)
    assert SAID[part] in text
    papers = ("Komisarenko 2024", "Mukhoti 2020", "Ghosh 2022", "FCL 2024")
    assert sum(map(text.count, papers)) >= 2


@pytest.mark.parametrize("link", [{"part": "words"}, {"plain": "true"}])
def test_the_glossary_says_what_words_and_metrics_mean(page, link):
    test = page(**link)
    (text,) = [box.value for box in test.markdown if "## Calibration" in box.value]
    assert "| noise floor | the calibration error that a perfectly" in text
    assert all(f"| {metric.label} | {metric.plain} |" in text for metric in METRICS.values())
    assert {line.count("|") for line in text.splitlines() if line.startswith("|")} == {3}
    assert "](" not in text  # a page of the docs is not served
    assert bool(test.slider) == ("plain" in link)


def test_a_link_restores_gamma_example_and_part(page):
    test = page(knob="4", share="0.9", part="gradient", p0="0.25")
    text = html(test)
    assert "With γ at 4" in text
    assert "the truth is 90.0\u202f%" in text
    assert "proved: 0.200 to 0.238" in text  # Komisarenko and Kull 2024, section 3.2
    assert test.slider(key="p0").value == 0.25
    assert SAID["gradient"] in text


@pytest.mark.parametrize("knob", ["-3", "nan", "%3Cscript%3E"])
def test_a_link_out_of_range_shows_the_page_all_the_same(page, knob):
    test = fine(page(knob=knob, part="nosuch", also="99"))
    assert "With γ at" in html(test)


def test_a_slider_changes_the_sentence_and_the_figures(page):
    test = page()
    assert "saying 62.7\u202f%" in html(test)  # 0.6266 in Komisarenko and Kull's example
    test.slider(key="knob").set_value(3.0).run()
    text = html(test)
    assert "With γ at 3" in text
    assert "γ = 3 between two temperatures" in text


@pytest.mark.slow
def test_lambda_moves_the_counter_example(page):
    test = page(part="print", weight="4.5", knob="5")
    assert "smallest at 76.2\u202f% where the truth is 80.0\u202f%" in html(test)


def test_plain_words_keep_to_one_setting(page):
    test = page(plain="true")
    text = html(test)
    assert "say 63 in 100 where it is right 80 times in 100" in text
    assert "What the strength does" in text
    assert "γ" not in text
