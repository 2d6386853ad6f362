"""Several models on one film, on the page Chest X-ray with a real warm process."""

import io
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from core.inference.config import Preprocessing
from core.inference.film_model import MODELS, FilmModel
from core.library import SAMPLES, Library
from core.reports.html import sheet_html
from core.screens.kit.marks import marks
from core.screens.xray import film as views
from core.screens.xray.film import DIFFER, FilmScores, SaliencyFocus
from core.screens.xray.finding import RISK
from core.screens.xray.saliency import ALONE, OWN
from core.screens.xray.words import TECHNICAL
from core.xray import heat, phantom, picture
from core.xray.picture import Saliency, SaliencyStyle
from pages.ui import task
from pages.ui.xray import pictures as save
from pages.ui.xray.films import FilmEntry, FilmScene
from pages.ui.xray.models import Model
from pages.ui.xray.pictures import PagePicture
from pages.ui.xray.shared import FilmResult, FilmStudy
from tests.core.screens.xray.test_xray_film import NAMES, known
from tests.pages import seen
from tests.pages.seen import fine, said, until
from tests.pages.test_xray_page import (  # noqa: F401  fixtures
    button,
    drop,
    film,
    labels,
    weights,
    with_model,
    xray,
)


def table(test: AppTest, label: str) -> list[list[str]]:
    """The rows of a table of scores as text; words under a number behind a bar."""
    rows = re.findall(r"<tr.*?</tr>", seen.table(test, label), re.DOTALL)
    told = [re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL) for row in rows]
    return [[re.sub("<small>", "|", cell) for cell in row] for row in told]


def saved(test: AppTest) -> set[str]:
    """What the page offers to save."""
    return {one.proto.label for one in test.get("download_button")}


def texts(row: list[str]) -> list[str]:
    return [re.sub("<[^>]*>", "", cell).strip() for cell in row]


FILM = FilmEntry(
    id="f1",
    title="Film 1",
    pixels=np.full((300, 300), 90, np.uint8),
    payload={},
    digest="d" * 32,
    notices=(),
    boxes={},
)
HOW = FilmModel(
    model="densenet_small",
    n_outputs=2,
    channels=1,
    preprocessing=Preprocessing((64, 64), (0.5,), (0.25,)),
    weights="w",
)
WHY = "Ours was trained on synthetic films alone."


def looked(name: str, synthetic: bool | None, score: float = 0.74, run: str = "") -> FilmResult:
    model = Model(
        id=f"own-{name}", name=name, film_model=HOW, findings=NAMES, synthetic=synthetic, run=run
    )
    return FilmResult(
        model=model,
        scored=FilmScores(name, NAMES, (score, 0.01)),
        layers=("relu",),
        maps={},
        frame=heat.WHOLE,
        layer="relu",
        method="gradcam",
    )


def study(*of: FilmResult, counted: bool = True) -> FilmStudy:
    """A film of a person; models that saw such films know 100 of them."""
    references = [known() if counted and not one.model.synthetic else None for one in of]
    return FilmStudy.of(FILM, of, NAMES[0], references)


def drawn(of: FilmStudy, scale: str = "findings", *, hot: tuple[bool, ...]) -> list[PagePicture]:
    """Pictures, some of them with heat that points into a box."""
    spot = Saliency(np.eye(4, dtype=np.float32), heat.WHOLE, 1.0)
    return [
        PagePicture(
            result=seen,
            scene=FilmScene(
                key="k",
                film=FILM.pixels,
                saliency=spot if warm else None,
                look=SaliencyStyle("overlay"),
                marks=(),
                tag="",
            ),
            scale=scale,
            summary=replace(summary, focus=SaliencyFocus(True, 0.625) if warm else None),
        )
        for seen, summary, warm in zip(of.results, of.summaries, hot, strict=True)
    ]


def test_what_is_saved_of_two_models_names_both_and_says_which_is_strange():
    of = study(looked("Theirs", None), looked("Other", None, 0.1), looked("Ours", True))
    pictures = drawn(of, hot=(True, True, False))
    page = save.page(of, pictures)
    assert [one.startswith(WHY) for one in page.paragraphs] == [True, False, False]
    assert page.paragraphs[1:] == (DIFFER, RISK)
    assert [card.title for card in page.cards] == [
        "Theirs: score against labels",
        "Other: score against labels",
    ]
    assert len({card.key for card in page.cards}) == 2
    told = unescape(re.sub("<[^>]*>", " ", sheet_html(page)))
    for words in (WHY, DIFFER, RISK, "Theirs: score against", "Other: score against"):
        assert words in told
    (models, findings) = page.tables
    assert [row[0] for row in models[1].rows] == ["Theirs", "Other", "Ours"]
    assert len(findings[1].rows) == len(NAMES)
    assert not any(isinstance(cell, float) for cell in models[1].rows[2])  # of the strange one
    sheet = save.sheet(of, pictures)
    aim = "the strongest place lies in the box, with 62.5\u202f% of the heat in it."
    assert [one for one in sheet.lines if one.endswith(aim)] == [f"Theirs: {aim}", f"Other: {aim}"]
    assert any(one.startswith(WHY) for one in sheet.lines)
    assert RISK in sheet.lines
    assert [one.title for one in sheet.panels] == ["Theirs: 74", "Other: 10", "Ours"]
    assert Image.open(io.BytesIO(picture.sheet(sheet))).width == picture.SHEET


def test_a_file_of_models_that_are_all_strange_says_why_and_warns_of_no_score():
    of = study(looked("Ours", True), looked("Mine", True))
    page = save.page(of, drawn(of, hot=(False, False)))
    assert [one.split(" was ")[0] for one in page.paragraphs] == ["Ours", "Mine"]
    assert of.strange
    assert of.stranges == page.paragraphs
    assert page.cards == ()
    assert "74" not in page.sentence.text
    assert study(looked("Ours", True), looked("Theirs", None)).strange is False


def test_what_models_without_a_test_set_score_is_said_to_be_no_frequency():
    of = study(looked("Theirs", None), looked("Other", None), counted=False)
    (care, risk) = save.page(of, drawn(of, hot=(False, False))).paragraphs
    assert care.startswith("A score is the model’s own number, not a frequency")
    assert risk == RISK
    assert views.care(study(looked("Theirs", None), looked("Ours", True)).summaries) == (DIFFER,)


@pytest.mark.parametrize("hot", [(True, False), (True,)])
def test_a_picture_with_its_own_scale_says_so_where_it_is_saved(hot):
    of = study(*(looked(name, None) for name in ("Theirs", "Other")[: len(hot)]))
    assert ALONE in save.sheet(of, drawn(of, OWN, hot=hot)).lines
    assert ALONE not in save.sheet(of, drawn(of, hot=hot)).lines


def test_a_model_has_the_badge_of_its_run_and_may_mean_nothing_where_that_is_not_known():
    of = study(looked("Theirs", None, run="run-1"), looked("Other", False))
    assert [one.mark for one in of.summaries] == list(marks(["run-1", "own-Other"]))
    drawn_film = FilmEntry(
        id="s1",
        title="Synthetic 1",
        pixels=FILM.pixels,
        payload={},
        digest="e" * 32,
        notices=(),
        boxes={},
        synthetic=True,
    )
    of = FilmStudy.of(drawn_film, of.results, NAMES[0], (None, None))
    found = views.sentence(of.summaries, TECHNICAL).text
    assert (
        "Other was trained on other films: no score is shown. The score of Theirs may mean" in found
    )


@pytest.mark.nightly
@pytest.mark.slow
def test_three_models_are_compared_and_the_one_picked_is_checked(xray):  # noqa: F811
    test = xray(film="s4", models="phantom-ce,phantom-focal-3,phantom-fcl")
    names = ["Cross-entropy", "Focal γ = 3", "FCL"]
    until(test, lambda: "FCL</span></th>" in said(test))
    fine(test)
    text = said(test)
    assert "For cardiomegaly this film scores" in text
    assert text.count("compare where the heat lies, not how strong") == 1
    assert text.count(DIFFER) == 1
    head, *models = map(texts, table(test, "Cardiomegaly, model by model"))
    assert head[-2:] == ["Strongest place", "Heat in the box"]
    assert [row[0][1:] for row in models] == names  # behind their badges
    assert all(row[2].endswith(("|reached", "|not reached")) for row in models)
    badges = [
        re.findall("c-run-[0-9]", "".join(row)) for row in table(test, "The findings of this film")
    ]
    assert len(badges[0]) == 3  # of the columns, as of the rows above
    assert badges[0] == [
        re.findall("c-run-[0-9]", row[0])[0]
        for row in table(test, "Cardiomegaly, model by model")[1:]
    ]
    head, *findings = map(texts, table(test, "The findings of this film"))
    assert [one[1:] for one in head[1:4]] == names
    assert len(findings) == len(phantom.FINDINGS)
    heart = next(row for row in findings if row[0] == "Cardiomegaly")
    assert [one.split("|")[0] for one in heart[1:4]] == [row[1] for row in models]
    check_one_of_three(test)


def check_one_of_three(test: AppTest) -> None:
    assert "Cross-entropy: does this map depend" in said(test)
    test.segmented_control(key="widget.closer").set_value("phantom-fcl")
    fine(test.run())
    assert test.query_params["closer"] == "phantom-fcl"
    assert "FCL: does this map depend" in said(test)
    assert "Cross-entropy: does this map depend" not in said(test)
    button(test, "Sanity check of this map").click()
    until(test.run(), lambda: "all weights randomised" in said(test))
    (question,) = [key for slot, key in test.session_state[task.WORKS] if slot == "xray.sanity"]
    assert "phantom-fcl/weights" in question


@pytest.mark.slow
def test_a_model_below_its_threshold_has_no_heat_and_nothing_to_check(xray):  # noqa: F811
    """The large heart of the film is no nodule, and the threshold is set beyond one model."""
    test = xray(film="s4", models="phantom-ce,phantom-fcl", finding="nodule")
    until(test, lambda: "FCL</span></th>" in said(test))
    rows = [texts(row) for row in table(test, "Nodule, model by model")[1:]]
    scores = [int(row[1]) for row in rows]
    assert len(rows[0]) == 6  # no box of a nodule is known
    (box,) = [one for one in test.number_input if "Hide heat" in one.label]
    box.set_value(sum(scores) / 2)
    fine(test.run())
    below, loud = np.argsort(scores)
    rows = [texts(row) for row in table(test, "Nodule, model by model")[1:]]
    assert rows[below][2].endswith("|not reached")
    assert rows[loud][2].endswith("|reached")
    assert said(test).count("No heatmap") == 1
    assert {"Findings, CSV", "Models, CSV", "This view, HTML"} <= saved(test)
    test.query_params["closer"] = ["phantom-ce", "phantom-fcl"][below]
    fine(test.run())
    assert "is shown, so there is none to check" in said(test)
    assert "Sanity check of this map" not in labels(test)
    test.session_state["plain"] = True
    assert "For a small spot this film scores" in said(fine(test.run()))
    assert "The threshold is the one set here." in said(test)
    test.session_state["plain"] = False
    fine(test.run())
    button(test, "Back to each model’s own").click()
    fine(test.run())
    assert "the one that was set" not in said(test)
    assert "The threshold is the finding’s frequency in" in said(test)
    assert "Back to each model’s own" not in labels(test)
    (box,) = [one for one in test.number_input if "Hide heat" in one.label]
    assert box.value < 50.0  # the finding's frequency in the first one's test set


@pytest.mark.slow
def test_an_assumed_threshold_is_called_one_and_what_was_set_is_taken_back(xray, weights):  # noqa: F811
    test = with_model(drop(xray(), ("a.png", film())), weights)
    assert "Back to the model’s own" not in labels(test)
    (box,) = [one for one in test.number_input if "Hide heat" in one.label]
    box.set_value(100.0)
    fine(test.run())
    assert "the threshold of this finding" in said(test)
    button(test, "Back to the model’s own").click()
    fine(test.run())
    assert "the threshold of this finding" not in said(test)
    (box,) = [one for one in test.number_input if "Hide heat" in one.label]
    assert box.value == 50.0
    (finding,) = [one for one in test.selectbox if one.label == "Finding"]
    lowest, score = finding.options[-1].rsplit(", ", 1)
    assert int(score) < 50
    test.query_params["finding"] = lowest.lower()
    assert "used because this model has no known threshold for such films" in said(fine(test.run()))
    (box,) = [one for one in test.number_input if "Hide heat" in one.label]
    box.set_value(0.0)
    test.query_params["scale"] = "own"
    text = said(fine(test.run()))
    assert "strongest in this picture alone" in text
    assert text.count(ALONE) == 2  # under the picture, and where the scale is chosen


@pytest.mark.slow
def test_a_model_is_removed_brought_back_and_forgotten(xray, weights):  # noqa: F811
    test = with_model(drop(xray(), ("a.png", film())), weights)
    ((own, model),) = test.session_state["xray.models"].items()
    button(test, "Remove this model").click()
    fine(test.run())
    assert not test.session_state["xray.models"]
    assert test.session_state["xray.chosen"] == ["phantom-ce"]
    assert "was removed from this session" in said(test)
    button(test, "Undo").click()
    until(test.run(), lambda: "The findings of this film" in said(test))
    assert test.session_state["xray.models"] == {own: model}
    assert test.session_state["xray.chosen"] == [own]
    button(test, "Remove this model").click()
    test.run()
    button(test, "Forget it now").click()
    fine(test.run())
    assert not Path(model.film_model.weights).exists()
    assert "Undo" not in labels(test)


def test_sample_models_are_called_as_their_runs_without_the_data():
    names = {run_id: Library(Path("unused"), SAMPLES).get(run_id).name for run_id in MODELS}
    assert names == {key: f"Phantom films, {name}" for key, name in MODELS.items()}
