import numpy as np
import pytest

from core.screens.xray import saliency
from core.screens.xray.film import SaliencyFocus
from core.xray import heat
from core.xray.heat import METHODS


def spot(row, column, side=10):
    found = np.zeros((side, side), np.float32)
    found[row, column] = 2.0
    return found


def test_the_alt_text_says_where_heat_is_and_how_much_lies_in_the_box():
    found = saliency.alt("Film 3", "Pleural_Thickening", spot(2, 7), heat.WHOLE, [(0.6, 0, 1, 0.5)])
    assert found.startswith("Film 3. 1 box where Pleural Thickening is.")
    column, row = (
        int(part.split("\u202f")[0].rsplit(" ", 1)[1]) for part in found.split(" from the ")[:2]
    )
    assert (column, row) == (pytest.approx(75, abs=2), pytest.approx(25, abs=2))
    assert "100.0\u202f% of it lies in the box" in found


def test_a_blank_map_and_none_are_said():
    for found in (None, np.zeros((3, 3), np.float32)):
        assert saliency.alt("Film 1", "Mass", found, heat.WHOLE, []) == "Film 1. No heat is shown."


def test_where_a_map_points_counts_overlapping_boxes_once():
    flat = np.ones((10, 10), np.float32)
    boxes = [(0.0, 0.0, 0.5, 0.5), (0.25, 0.0, 0.5, 0.5)]
    assert saliency.focus(flat, heat.WHOLE, boxes).energy == pytest.approx(0.25)
    hot = spot(2, 7)  # its cell is 70 to 80 % from the left and 20 to 30 % from the top
    assert saliency.focus(hot, heat.WHOLE, [(0.7, 0.2, 0.8, 0.3)]).hit
    assert saliency.focus(hot, heat.WHOLE, [(0.0, 0.0, 0.5, 1.0)]) == SaliencyFocus(False, 0.0)
    assert saliency.focus(hot, (0.0, 0.0, 0.5, 0.5), [(0.3, 0.0, 0.5, 0.2)]).hit  # of what was seen
    assert saliency.focus(np.zeros((9, 9), np.float32), heat.WHOLE, boxes) is None
    assert saliency.focus(hot, heat.WHOLE, []) is None


def test_every_scale_has_a_legend_and_only_one_warns():
    assert set(saliency.SCALES) == set(saliency.LEGENDS)
    assert "Do not compare" in saliency.ALONE


def test_what_is_hidden_names_score_and_threshold():
    assert "the score, 3, is below 12.4\u202f%" in saliency.hidden(0.03, 0.124)
    text = saliency.hidden(0.48, None)
    assert "48, is below 50.0\u202f%, used because this model has no known threshold for " in text
    assert "the threshold of this finding" not in text
    assert saliency.provenance("gradcam", "relu", 1.234) == (
        "Grad-CAM on the logit, layer relu, scale 0 to 1.23, in units of the logit."
    )


@pytest.mark.parametrize("method", METHODS)
def test_only_maps_in_units_of_the_logit_are_said_to_be(method):
    logit = method in {"gradcam", "hirescam", "xgradcam"}
    said = saliency.provenance(method, "relu", 2.0)
    assert ("in units of the logit" in said) == logit
    assert ("in arbitrary units" in said) != logit


def test_who_asks_for_minutes_is_told_before():
    for text in ("minutes", "Other requests", "wait"):
        assert text in saliency.slow("scorecam")
        assert text not in saliency.slow("eigencam")
