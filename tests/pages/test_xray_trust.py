"""What maps are compared with, and what is saved with them."""

from dataclasses import replace

import numpy as np
import pytest

from core.inference.config import Preprocessing
from core.inference.film_model import FilmModel
from core.screens.xray import film as views
from core.screens.xray import saliency
from core.screens.xray.film import FilmScores
from core.screens.xray.words import TECHNICAL
from core.xray import heat
from core.xray.phantom import SIDE
from core.xray.picture import Saliency, SaliencyStyle
from pages.ui.xray import pictures, trust
from pages.ui.xray.films import FilmEntry, FilmScene
from pages.ui.xray.models import Model
from pages.ui.xray.pictures import PagePicture
from pages.ui.xray.shared import FilmResult, FilmStudy
from pages.ui.xray.trust import FindingCase, boxed

LEFT, RIGHT = (0.0, 0.0, 0.5, 0.5), (0.5, 0.5, 1.0, 1.0)
FINDINGS = ("Effusion", "Pleural_Thickening")


def film(digest="a", **boxes):
    pixels = np.zeros((20, 20), np.uint8)
    return FilmEntry(
        id=digest,
        title="Film",
        pixels=pixels,
        payload={"file": digest},
        digest=digest,
        notices=(),
        boxes=boxes,
    )


def test_a_finding_on_a_film_is_one_case_with_all_its_boxes():
    films = [
        film("a", Effusion=(LEFT, RIGHT), Mass=(LEFT,)),
        film("b", **{"Pleural_Thickening": (LEFT,), "pleural thickening": (RIGHT,)}),
        film("c", Effusion=(LEFT,), Pleural_Thickening=(RIGHT,)),
        film("d"),
        replace(film("e", Effusion=(LEFT,)), synthetic=True),
    ]
    found = boxed(films, FINDINGS)
    assert [(one.film, one.index, one.boxes) for one in found] == [
        ("a", 0, (LEFT, RIGHT)),
        ("b", 1, (LEFT, RIGHT)),
        ("c", 0, (LEFT,)),
        ("c", 1, (RIGHT,)),
    ]


def looked():
    how = Preprocessing((64, 64), (0.5,), (0.25,))
    network = FilmModel(
        model="densenet_small", n_outputs=2, channels=1, preprocessing=how, weights="w.safetensors"
    )
    model = Model(id="m", name="Net", film_model=network, findings=FINDINGS, synthetic=False)
    scored = FilmScores("Net", FINDINGS, (0.1, 0.2))
    return FilmResult(
        model=model,
        scored=scored,
        layers=("l",),
        maps={},
        frame=heat.WHOLE,
        layer="l",
        method="gradcam",
    )


def test_a_comparison_is_of_its_films_findings_and_boxes():
    seen = looked()
    cases = [
        [FindingCase(film="a", payload={}, index=0, boxes=(LEFT,))],
        [FindingCase(film="a", payload={}, index=0, boxes=(RIGHT,))],
        [FindingCase(film="b", payload={}, index=0, boxes=(LEFT,))],
        [FindingCase(film="a", payload={}, index=1, boxes=(LEFT,))],
        [FindingCase(film="a", payload={}, index=0, boxes=(LEFT, RIGHT))],
        None,
    ]
    keys = {trust._key(seen, "Effusion", one) for one in cases}
    assert len(keys) == len(cases)
    again = [FindingCase(film="a", payload={"file": "elsewhere"}, index=0, boxes=(LEFT,))]
    assert trust._key(seen, "Effusion", again) in keys
    assert trust._key(replace(seen, method="hirescam"), "Effusion", cases[0]) not in keys


def test_a_point_of_the_lungs_hits_by_the_share_of_them_in_the_box():
    lungs = np.zeros((2, SIDE, SIDE), bool)
    lungs[0, : SIDE // 2, : SIDE // 4] = True  # all of it in the left upper quarter
    lungs[1, :, :] = True  # a quarter of it
    cases = [
        FindingCase(film=str(k), payload={}, index=0, boxes=(LEFT,), lungs=one)
        for k, one in enumerate(lungs)
    ]
    boxes = [((0.0, 0.0, SIDE / 2, SIDE / 2),)] * 2
    (found,) = trust._lungs(cases, boxes).values()
    assert found.n == 2
    assert found.pointing.value == pytest.approx((1 + 0.25) / 2)
    assert found.iou.value == pytest.approx((0.5 + 0.25) / 2)


def test_every_row_of_a_table_says_where_scores_mean_nothing():
    fits = FilmStudy.of(film(), [looked()], FINDINGS[0], [None])
    assert "mean nothing" not in fits.note
    drawn = replace(film(), synthetic=True)
    strange = FilmStudy.of(drawn, [looked()], FINDINGS[0], [None])
    assert "Its score and heat would mean nothing here, so neither is shown." in strange.note
    unknown = replace(looked(), model=replace(looked().model, synthetic=None))
    doubtful = FilmStudy.of(drawn, [unknown], FINDINGS[0], [None])
    rows = views.findings_table(doubtful.summaries, TECHNICAL, doubtful.note).file.rows
    assert len(rows) == len(FINDINGS)
    assert all("mean nothing" in row[-1] for row in rows)


def test_a_sheet_of_several_models_says_that_scales_differ():
    study = FilmStudy.of(film(), [looked(), looked()], FINDINGS[0], [None, None])
    found = Saliency(np.ones((2, 2), np.float32), heat.WHOLE, 1.0)
    hot, bare = (
        FilmScene(
            key="",
            film=study.film.pixels,
            saliency=one,
            look=SaliencyStyle("overlay"),
            marks=(),
            tag="",
        )
        for one in (found, None)
    )
    for scenes, said in (((hot, hot), True), ((hot, bare), False)):
        drawn = [
            PagePicture(
                summary=study.main,
                result=study.results[0],
                scene=scene,
                scale=saliency.FINDINGS,
            )
            for scene in scenes
        ]
        assert (saliency.BESIDE in pictures.sheet(study, drawn).lines) == said
