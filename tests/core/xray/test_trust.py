"""The shipped networks on films they never saw: their maps point at the lesions they score."""

import numpy as np
import pytest

from core.xray import phantom
from core.xray.localisation import localise, pointed
from tests.benchmarks.heatmaps import MODELS, answers, boxes, cases, falls, lung_hits, middle_hits

pytestmark = pytest.mark.nightly


ONE_HERE = [MODELS[0], *(pytest.param(name, marks=pytest.mark.soak) for name in MODELS[1:])]


@pytest.fixture(scope="module")
def held_out():
    return cases(200)


@pytest.mark.parametrize("sample", ONE_HERE)
def test_maps_point_at_lesions_beyond_chance_place_and_shuffled_weights(sample, held_out):
    at = boxes(held_out)
    found = localise(answers(sample, held_out)[0], at).pointing
    for seed in range(3):
        shuffled = localise(answers(sample, held_out, shuffled=seed)[0], at).pointing
        assert found.low > shuffled.high
    assert found.low > pointed(middle_hits(held_out)).high
    assert found.low > pointed(lung_hits(held_out)).high


@pytest.mark.parametrize("sample", ONE_HERE)
def test_probability_and_heat_fall_where_the_lesion_is_left_out(sample, held_out):
    there, gone, hot, cold = falls(sample, held_out)
    for before, after in ((there, gone), (hot, cold)):
        fall = before - after
        assert fall.mean() > 4 * fall.std() / np.sqrt(fall.size)
        assert (after < before).mean() > 0.8


def test_cases_are_small_lesions_anywhere_in_the_lungs(held_out):
    areas = [(right - left) * (bottom - top) for ((left, top, right, bottom),) in boxes(held_out)]
    assert max(areas) <= 0.04 * phantom.SIDE**2
    assert len(held_out) == 200
