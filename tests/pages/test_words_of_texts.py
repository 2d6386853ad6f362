"""A run of texts is spoken of in texts, on every page and in its report; images stay images."""

import re
from threading import Thread

import numpy as np
import pytest

from core.library import SAMPLES, Library
from core.metrics.suite import audit
from core.predictions import Predictions, ScoreKind, Task
from core.reports.build import ReportRequest, report_files, run_of_library
from core.screens.kit.sentences import plain_sentence, verdict_sentence
from core.screens.kit.theme import THEMES
from core.screens.kit.words import FILM_DATA, speaking_of, with_row_noun
from core.training.config import from_json
from pages.ui import frame, widgets
from tests.core.library.builders import keep_trained
from tests.pages.seen import fine, opened, said

WRONG = re.compile(r"\b(images?|pictures?|films?)\b", re.IGNORECASE)
# The figure's own file, the switch of the whole app, and a page of the site.
ALLOWED = ("data:image", "Chest X-ray")


@pytest.fixture
def run(home):
    """The id of a training on texts with a part of left-out classes; half of it over-confident."""
    rng = np.random.default_rng(0)

    def part(n, labelled=True):
        labels = rng.integers(0, 3, n)
        logits = rng.normal(0, 1, (n, 3))
        logits[np.arange(n), labels] += 1.0 if labelled else 0.0
        return Predictions(
            Task.MULTICLASS,
            ScoreKind.LOGITS,
            3.0 * logits,
            labels if labelled else np.full(n, -1),
            class_names=("atheism", "graphics", "space"),
            row_ids=tuple(f"a/{k}" for k in range(n)),
            labelled=labelled,
        )

    splits = {"val": part(300), "test": part(400), "left-out": part(200, labelled=False)}
    for number in (1, 2):
        config = from_json(
            {
                "data": "20newsgroups",
                "model": "text_cnn",
                "loss": {"name": "ce"},
                "data_root": "/nowhere",
                "seed": number,
                "text": {"left_out": ["sci.med"]},
            }
        )
        made = {"name": f"newsgroups {number}", "config": config.to_json(), "bins": None}
        keep_trained(Library(home, SAMPLES), f"texts{number}", splits, **made)
    return "texts1"


@pytest.fixture
def figures(monkeypatch):
    """What figures, their tables and alternatives say, as they are drawn."""
    told, draw = [], widgets.figure

    def watched(card, **settings):
        columns = [column.label for column in card.table.columns] if card.table else []
        drawn = card.draw(THEMES["dark"]).to_json()
        told.extend([card.title, card.explanation, card.alt, card.caption, *columns, drawn])
        return draw(card, **settings)

    monkeypatch.setattr(widgets, "figure", watched)
    return told


def wrong(test, figures):
    """What the page calls images: with the words around it."""
    labels = [
        str(text)
        for kind in ("button", "selectbox", "radio", "checkbox", "slider", "multiselect", "caption")
        for one in test.get(kind)
        for text in (getattr(one, "label", ""), getattr(one, "help", ""), getattr(one, "value", ""))
    ]
    text = " ".join([said(test), *labels, *figures])
    for allowed in ALLOWED:
        text = text.replace(allowed, "")
    return [text[max(0, m.start() - 60) : m.end() + 60] for m in WRONG.finditer(text)]


@pytest.mark.parametrize("plain", [False, True], ids=["full", "plain"])
@pytest.mark.parametrize("script", ["reliability", "posthoc", "ood", "published"])
def test_a_page_of_a_run_of_texts_speaks_of_texts(run, figures, script, plain):
    test = fine(opened(script, run=run, **({"plain": "true"} if plain else {})))
    assert not wrong(test, figures)
    if script != "published":
        assert re.search(r"\btexts\b", said(test))


def test_runs_of_texts_beside_each_other_are_compared_on_texts(run, figures):
    test = fine(opened("compare", runs="texts1,texts2"))
    assert not wrong(test, figures)
    assert "the same 400 texts" in said(test).replace("\u202f", " ")


def test_a_run_of_images_opened_after_it_speaks_of_images(run):
    fine(opened("reliability", run=run))
    test = fine(opened("reliability", run="digits-fair"))
    assert "images" in said(test)


def test_runs_of_texts_and_of_images_beside_each_other_are_compared_on_rows():
    with speaking_of("20newsgroups", "cifar10"):
        assert with_row_noun("Images") == "Rows"
    with speaking_of("20newsgroups", "tickets"):
        assert with_row_noun("Images") == "Texts"


def test_a_part_of_a_page_that_is_drawn_again_speaks_of_the_pages_runs():
    told = []

    def again():
        with frame.caught():
            told.append(with_row_noun("images"))

    for data in ("tickets", "digits"):
        frame.set_row_noun(data)
        thread = Thread(target=again)  # Streamlit runs a fragment in a thread of its own
        thread.start()
        thread.join()
    frame.set_row_noun()
    assert told == ["texts", "images"]


def test_words_of_ours_are_told_of_texts():
    ours = "Images count: an image, a picture, one image and two Pictures of no imagery."
    told = "Texts count: a text, a text, one text and two Texts of no imagery."
    assert with_row_noun(ours) == ours
    with speaking_of("20newsgroups"):
        assert with_row_noun(ours) == told
        with speaking_of("cifar10"):
            assert with_row_noun(ours) == ours
        assert with_row_noun("An image") == "A text"
    assert with_row_noun(ours) == ours


@pytest.mark.parametrize("n", [12, 900])
def test_sentences_of_an_event_in_few_and_in_many_texts_speak_of_texts(n):
    rng = np.random.default_rng(1)
    p = rng.uniform(0.2, 0.8, n)
    labels = (rng.random(n) < p).astype(int)
    rows = Predictions(
        Task.BINARY, ScoreKind.PROBABILITIES, np.stack([1 - p, p], 1), labels, ("none", "picture")
    )
    main = audit(rows).main
    with speaking_of("tickets"):
        for sentence in (plain_sentence(main), verdict_sentence(main)):
            told = f"{sentence.text} {sentence.second}"
            assert not WRONG.search(told.replace("“picture”", ""))
            assert "text" in told
    assert "picture" in plain_sentence(main).text.replace("“picture”", "")


def test_a_report_of_a_run_of_texts_speaks_of_texts(run, home):
    library = Library(home, SAMPLES)
    for edition in ("technical", "plain"):
        report = report_files(ReportRequest(runs=(run_of_library(library, run),), edition=edition))
        assert not WRONG.search(report.markdown)
        assert "texts" in report.markdown


@pytest.mark.parametrize("plain", ["false", "true"])
def test_a_page_of_films_calls_its_rows_films(plain):
    for show in ("findings", "finding"):
        test = fine(opened("xray", run="phantom-hospital", show=show, plain=plain))
        text = said(test)
        assert re.search(r"\bfilms\b", text)
        assert not re.search(r"\b(images|pictures)\b", text)
    assert "films" in said(fine(opened("reliability", run="phantom-hospital", of="1")))


def test_rows_of_data_that_nothing_names_are_rows_and_examples_in_plain_words():
    with speaking_of(""):
        assert with_row_noun("An image, 3 Images and a picture") == "A row, 3 Rows and an example"


def test_films_are_told_by_their_data_and_not_beside_images():
    for data in FILM_DATA:
        with speaking_of(data):
            assert with_row_noun("An image, 3 Images and a picture") == "A film, 3 Films and a film"
    with speaking_of("phantom", "cifar10"):
        assert with_row_noun("images") == "images"
