"""Pictures of the most ordinary rows: the run's own images, where the page may open them."""

import time
from html import unescape

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from core.datasets.shifts import OutsideSet
from core.inference.client import shared
from core.inference.config import EvaluationConfig, Preprocessing, WeightsSource
from core.library import SAMPLES, Library, RunSource
from core.predictions import Predictions, ScoreKind, Task
from tests.pages.seen import PATIENCE_S, html, opened, said

N_TEST, N_OUT = 500, 5
IDS = tuple(f"{number}.png" for number in range(N_OUT))


@pytest.fixture
def leaves(tmp_path):
    """A folder of pictures, each of one grey."""
    (tmp_path / "leaves").mkdir()
    for number in range(N_OUT):
        grey = np.full((20, 20, 3), 40 * number, np.uint8)
        Image.fromarray(grey).save(tmp_path / "leaves" / f"{number}.png")
    return tmp_path / "leaves"


@pytest.fixture
def run(home, leaves):
    """The id of an evaluation of digits whose most ordinary leaf is the fourth."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(N_TEST, 10)).astype(np.float32)
    outside = np.zeros((N_OUT, 10), np.float32)
    outside[:, 3] = [1, 2, 3, 9, 5]
    kinds = Task.MULTICLASS, ScoreKind.LOGITS
    config = EvaluationConfig(
        model="small_cnn", n_outputs=10, channels=1, weights=WeightsSource("net.pt", "00"),
        preprocessing=Preprocessing((8, 8)), data="digits", splits=("test",),
        sets=(OutsideSet("folder", root=str(leaves)),),
    )  # fmt: skip
    kept = Library(home, SAMPLES).keep(
        "digits and leaves",
        {
            "test": Predictions(*kinds, scores, rng.integers(0, 10, N_TEST)),
            "folder-leaves": Predictions(
                *kinds, outside, np.full(N_OUT, -1), row_ids=IDS, labelled=False
            ),
        },
        source=RunSource("net.pt", "00"), summary={}, kind="evaluate", config=config.to_json(),
        environment={}, run_id="pictured23",
    )  # fmt: skip
    yield kept.id
    shared().close()


def pictured(run: str) -> AppTest:
    test = opened("ood", run=run)
    deadline = time.monotonic() + PATIENCE_S
    while "Opening the pictures" in said(test) and time.monotonic() < deadline:
        time.sleep(0.5)
        test.run()
    return test


@pytest.mark.nightly
@pytest.mark.slow
def test_the_most_ordinary_rows_are_shown_with_what_the_model_says(run, leaves, monkeypatch):
    monkeypatch.setenv("CANDOR_IMPORT", str(leaves.parent))
    pictures = pictured(run).get("image")
    captions = [unescape(one.proto.imgs[0].caption) for one in pictures]
    assert len(captions) == N_OUT
    sure = np.exp(9) / (np.exp(9) + 9)
    assert captions[0] == f"3, {100 * sure:.1f}\u202f%"


def test_pictures_of_a_folder_that_the_page_may_not_read_are_not_pictured(run, leaves):
    test = pictured(run)
    assert not test.get("image")
    assert "No pictures: the server may not read their folder." in html(test)
    assert str(leaves) not in html(test)
