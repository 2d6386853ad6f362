"""What is stored of the synthetic films is what the models say, and tells what is promised."""

import numpy as np
import pytest

from core import codec
from core.inference.film_model import EXAMPLES, MODELS, example, film_model, stored_answer
from core.inference.films import film_saliency
from core.library import SAMPLES, open_library
from core.library.files import read_manifest
from core.metrics.clinical import bands
from core.xray import phantom
from core.xray.heat import DEFAULT


@pytest.mark.parametrize("model_id", MODELS)
def test_a_stored_answer_is_a_fresh_one(model_id):
    model = codec.to_json(film_model(read_manifest(SAMPLES / model_id)))
    plain = {"model": model, "findings": None, "method": DEFAULT, "layer": None}
    for place in range(len(EXAMPLES)):
        values, arrays = film_saliency({**plain, "film": example(place)})
        stored = stored_answer(model_id, example(place))
        assert stored is not None
        assert stored.values == values
        np.testing.assert_allclose(
            stored.arrays["probabilities"], arrays["probabilities"], atol=1e-3
        )
        scale = arrays["maps"].max()
        np.testing.assert_allclose(stored.arrays["maps"], arrays["maps"], atol=1e-3 * scale)


def test_only_the_examples_and_models_that_come_with_candor_are_stored():
    assert stored_answer("phantom-hospital", example(0)) is None
    assert stored_answer("phantom-ce", {"phantom": [1, 10_000]}) is None
    assert stored_answer("phantom-ce", {**example(0), "without": "Nodule"}) is None


def test_the_first_film_has_the_score_most_at_odds_with_its_worth():
    answer = stored_answer("phantom-ce", example(0))
    scores = answer.arrays["probabilities"]
    rows = open_library().load("phantom-ce", "test")
    missed = {}
    for k in range(rows.n_classes):
        outcomes = rows.outcomes(k)
        found = bands(outcomes.confidence, outcomes.correct, looks=rows.n_classes)
        for i in np.flatnonzero((found.count >= 20) & (found.mean > found.most)):
            missed[k, int(i)] = found.mean[i] - found.ci_high[i]  # overstated, beyond its interval
    finding, band = max(missed, key=missed.get)
    assert finding == scores.argmax() == phantom.FINDINGS.index("Nodule")
    assert band == int(10 * scores[finding])
    assert not phantom.draw(*example(0)["phantom"]).present["Nodule"]
