import base64
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.predictions import Predictions, ScoreKind, Task, Weights
from core.reports.html import PageView, sheet_html
from core.reports.tables import csv_text
from core.screens.xray import film as views
from core.screens.xray.film import FilmScores, FindingSummary, Reference
from core.screens.xray.finding import BAND_KEY
from core.screens.xray.words import PLAIN, READINGS, TECHNICAL, ClinicSource
from core.xray import picture
from core.xray.phantom import FINDINGS

NAMES = ("Effusion", "Pleural_Thickening")
NOTE = "Research use, not a medical device."


def reference(p, y, synthetic=False):
    """A test set of one finding with these scores, beside one that is never there."""
    p, y = np.asarray(p, float), np.asarray(y)
    scores = np.stack([p, np.full(p.size, 0.01)], axis=1)
    labels = np.stack([y, np.zeros_like(y)], axis=1).astype(np.int64)
    rows = Predictions(
        task=Task.MULTILABEL,
        kind=ScoreKind.SIGMOID,
        scores=scores,
        labels=labels,
        class_names=NAMES,
    )
    return Reference.of(
        rows,
        ClinicSource(
            run="run", split="test", digest="d" * 32, findings=NAMES, n=p.size, synthetic=synthetic
        ),
    )


def test_films_count_by_weight():
    labels = np.array([[1, 0], [0, 0], [0, 0], [0, 0]])
    rows = Predictions(
        task=Task.MULTILABEL,
        kind=ScoreKind.SIGMOID,
        scores=np.full((4, 2), 0.2),
        labels=labels,
        class_names=NAMES,
        weights=Weights.of("w", np.array([3.0, 1.0, 1.0, 1.0])),
    )
    source = ClinicSource(run="run", split="test", digest="d" * 32, findings=NAMES, n=4)
    assert Reference.of(rows, source).prevalence == (0.5, 0.0)


def known():
    """48 films between 70 and 80, 29 of them labelled; 52 others at 5 %, none of them."""
    p = [0.75] * 48 + [0.05] * 52
    return reference(p, [1] * 29 + [0] * 71)


def film(score, other=0.01, known=None):
    scored = FilmScores("CheXNet", NAMES, (score, other))
    return FindingSummary(scored=scored, name="Effusion", known=known)


def test_the_sentence_counts_films_of_such_a_score():
    found = views.sentence([film(0.74, known=known())], TECHNICAL)
    # 29 of 48 are 60.4 %; Wilson's interval at 95 % is 46.3 to 73.0 %.
    assert found.text == (
        "Score 74. Of 100 films scored 70 to 80, "
        "about 60 (46 to 73) were labelled as showing an effusion."
    )
    assert "fluid around the lung" in views.sentence([film(0.74, known=known())], PLAIN).text


def test_without_a_test_set_no_number_is_given():
    assert views.findings_table([film(0.74)], TECHNICAL, NOTE).heads == ("Finding", "Score")
    assert film(0.74).limit is None
    assert film(0.74, known=known()).limit == pytest.approx(0.29)
    assert film(0.74, known=known()).of("pleural thickening").limit == 0.0
    lacking = film(0.74, known=known()).of("Nodule")  # of a model beside the reference's
    assert lacking.limit is None
    assert "is not known" in views.threshold_words(lacking)
    assert "29.0" in views.threshold_words(film(0.74, known=known()))


@given(st.floats(0, 1))
def test_a_score_lies_in_its_band(score):
    place = film(score, known=known()).band
    assert place.low <= score <= place.high
    assert score > place.low or place.low == 0.0


def test_scores_are_never_rounded_to_certainty():
    assert [views.score_words(p) for p in (0.0, 0.001, 0.005, 0.742, 0.996, 1.0)] == [
        "0", "under 1", "under 1", "74", "over 99", "100",
    ]  # fmt: skip


def test_scores_are_not_rounded_up_to_the_edge_of_their_band():
    for score, said in ((0.498, "49"), (0.5, "50"), (0.502, "50"), (0.0996, "9"), (0.448, "45")):
        assert views.score_words(score) == said
    assert views.score_words(float(np.float32(0.7))) == "70"  # one step of float32 below
    row = views.findings_table([film(0.498, known=known())], TECHNICAL, NOTE).written()[0]
    assert [cell.value for cell in row.cells[:2]] == ["49", "40 to 50"]


def tones(known):
    """Return how the figure marks each band."""
    draw = views.bands_card(film(0.5, known=known)).draw
    assert isinstance(draw, partial)
    return [dot.tone for dot in draw.args[0]]


def test_one_band_has_one_verdict_wherever_in_it_a_film_scores():
    # 2 of 400 are 0.5 %; Wilson's interval is 0.14 to 1.8 %; the band's mean of 5 % is above it.
    low = reference([0.05] * 400, [1] * 2 + [0] * 398)
    assert tones(low)[0] == "over"
    for score in (0.0005, 0.01, 0.05):  # below, within and above
        assert film(score, known=low).band.reading == "says more than it should"
        said = " ".join(views.care([film(score, known=low)]))
        assert "These films average 5: the model says more than it should." in said


def test_a_band_of_few_films_has_no_verdict_in_any_mark():
    few = reference([0.95] * 19, [0] * 19)  # far off, were there enough
    assert film(0.95, known=few).band.reading == "no verdict: too few at this score"
    assert tones(few)[-1] == "few"
    enough = reference([0.95] * 20, [0] * 20)
    assert film(0.95, known=enough).band.reading == "says more than it should"


def test_small_and_long_films_are_named():
    assert views.unusual(224, 560) == ""
    assert "fewer than 224 on a side" in views.unusual(223, 500)
    assert "two and a half times" in views.unusual(1000, 300)


def test_rows_are_sorted_by_score_and_the_chosen_one_is_shaded():
    found = views.findings_table([film(0.2, 0.9, known=known())], TECHNICAL, NOTE).written()
    assert [row.name for row in found] == ["Pleural Thickening", "Effusion"]
    assert [row.shaded for row in found] == [False, True]
    assert found[1].cells[4].value == "no verdict: too few at this score"  # no film of 10 to 20


def test_the_file_says_in_every_row_what_it_is_not_for():
    text = csv_text(views.findings_table([film(0.74, known=known())], TECHNICAL, NOTE).file)
    head, *lines = text.splitlines()
    assert head.startswith("model,finding,score,band_low,band_high,films,labelled,share")
    assert all(line.endswith(f'"{NOTE}"') for line in lines)
    assert "CheXNet,Effusion,0.74," in lines[0]
    assert ",0.7,0.8,48,29," in lines[0]
    low, high = map(float, lines[0].split(",")[8:10])
    assert (low, high) == pytest.approx((0.463, 0.730), abs=1e-3)
    empty = views.findings_table([film(0.74)], TECHNICAL, NOTE).file.rows[0]
    assert len(empty) == len(views.COLUMNS)
    assert empty[3:11] == (None,) * 8


def test_a_share_of_too_few_films_stands_in_the_file_alone():
    few = reference([0.75] * 3 + [0.05] * 97, [1] + [0] * 99)
    table = views.findings_table([film(0.74, known=few)], TECHNICAL, NOTE)
    labelled = table.written()[0].cells[2]
    assert (labelled.value, labelled.reason) == ("–", "too few films")
    assert table.file.rows[0][5:8] == (3, 1, pytest.approx(1 / 3))
    counted = views.findings_table([film(0.74, known=known())], TECHNICAL, NOTE).written()[0].cells
    assert (counted[2].value, counted[2].interval, counted[3].value) == ("60", "46 to 73", "48")


def test_the_key_of_the_bands_has_every_mark_that_they_can_have():
    """Of 2,000 films each: 200 labelled at 5 %, 10 at 5 %, 100 at 5 %; and 30 films too few."""
    tones = set()
    for labelled, n in ((200, 2000), (10, 2000), (100, 2000), (2, 30)):
        of = reference([0.05] * n, [1] * labelled + [0] * (n - labelled))
        tones.add(of.bands[0][0].tone)
    assert tones == {"over", "under", "sound", "few"}
    assert {swatch.tone for swatch in BAND_KEY} == tones
    (sound,) = [swatch for swatch in BAND_KEY if swatch.tone == "sound"]
    assert (sound.text, sound.shape) == (READINGS["sound"], "ring")


def test_models_and_films_of_different_kinds_say_that_it_means_nothing():
    for kind in (True, False):
        assert views.strange("A", model_synthetic=kind, film_synthetic=kind) == ""
    assert views.strange("A", model_synthetic=True, film_synthetic=False) == (
        "A was trained on synthetic films alone. Its score and heat would mean nothing here, so "
        "neither is shown."
    )
    assert views.strange("A", model_synthetic=None, film_synthetic=False) == ""
    found = views.strange("A", model_synthetic=None, film_synthetic=True)
    assert found.startswith("A: nothing is known of what this model was trained on.")
    found = views.strange("A", model_synthetic=False, film_synthetic=True)
    assert found.startswith("A was trained on no synthetic films. Its score and heat would mean")
    doubtful = replace(film(0.74), strange=found, doubtful=True)
    said = views.sentence([doubtful], TECHNICAL).text
    assert said == (
        "The model gives this film a score of 74 of 100 for effusion, which may mean nothing: "
        "nothing is known of what this model was trained on."
    )


@pytest.mark.parametrize("film_synthetic", [False, True])
def test_a_score_is_withheld_only_where_the_model_surely_saw_no_such_film(film_synthetic):
    kinds = (True, False, None)
    found = [views.withheld(kind, film_synthetic=film_synthetic) for kind in kinds]
    assert found == [not film_synthetic, film_synthetic, False]
    said = views.withheld_sentence(("A", "B"), film_synthetic=film_synthetic)
    assert not re.search("[0-9]", said.text + said.second)
    assert "A and B were trained on" in said.second


def test_findings_match_by_name_whatever_their_spelling():
    assert views.names_match(("Pleural_Thickening",), ("pleural thickening",))
    assert not views.names_match(("Effusion", "Mass"), ("Mass", "Effusion"))
    assert views.finding_index(FINDINGS, "effusion") == 2
    assert views.finding_index(FINDINGS, "Hernia") is None


def test_two_labels_of_one_spelling_keep_their_own_scores():
    labels = ("Mass", "mass", "Pleural_Thickening", "Pleural Thickening")
    scored = FilmScores("Net", labels, (0.1, 0.8, 0.3, 0.6))
    found = views.findings_table([FindingSummary(scored=scored, name="mass")], TECHNICAL, NOTE)
    keys = views.finding_keys(labels)
    assert [views.finding_index(labels, key) for key in keys] == [0, 1, 2, 3]  # each is its own
    assert views.finding_keys(NAMES) == ["effusion", "pleural thickening"]  # as other models share
    cells = [row.cells for row in found.rows]
    assert [(cell["finding"], cell["score"].text) for cell in cells] == [
        ("mass", "80"), ("Pleural Thickening", "60"), ("Pleural_Thickening", "30"), ("Mass", "10"),
    ]  # fmt: skip
    assert [row.shaded for row in found.rows] == [True, False, False, False]


def test_a_saved_film_is_one_file_with_its_picture_inside():
    drawn = picture.png(picture.coloured(np.full((40, 40), 90, np.uint8)))
    of = film(0.74, known=known())
    html = sheet_html(
        PageView(
            eyebrow="Chest X-ray",
            banners=(NOTE,),
            sentence=views.sentence([of], TECHNICAL),
            paragraphs=views.care([of]),
            cards=(views.bands_card(of),),
            tables=(("Findings", views.findings_table([of], TECHNICAL, NOTE).file),),
            caption="caption",
            pictures=(("<Film> 1", drawn),),
        )
    )
    (inline,) = re.findall(r'alt="&lt;Film&gt; 1" src="data:image/png;base64,([^"]+)"', html)
    assert base64.b64decode(inline) == drawn
    assert "img-src data:" in html
    assert html.count(f"<strong>{NOTE}</strong>") == 2
    assert "about 60 " in html
