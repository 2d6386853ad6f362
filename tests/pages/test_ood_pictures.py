"""Pictures of the most ordinary rows: the run's own images, where the page may open them."""

import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from core.datasets.shifts import OutsideSet
from core.inference.client import shared
from core.inference.config import EvaluationConfig, Weights
from core.inference.preprocessing import Preprocessing
from core.library import SAMPLES, Library, Source
from core.predictions import Predictions, ScoreKind, Task

ROOT = Path(__file__).parents[2]
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
def run(tmp_path, monkeypatch, leaves):
    """The id of an evaluation of digits whose most ordinary leaf is the fourth."""
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sys.argv", ["app.py", "--i-know"])
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(N_TEST, 10)).astype(np.float32)
    outside = np.zeros((N_OUT, 10), np.float32)
    outside[:, 3] = [1, 2, 3, 9, 5]
    kinds = Task.MULTICLASS, ScoreKind.LOGITS
    config = EvaluationConfig(
        model="small_cnn", n_outputs=10, channels=1, weights=Weights("net.pt", "00"),
        preprocessing=Preprocessing((8, 8)), data="digits", splits=("test",),
        sets=(OutsideSet("folder", root=str(leaves)),),
    )  # fmt: skip
    kept = Library(tmp_path / "home", SAMPLES).keep_evaluated(
        "digits and leaves",
        {
            "test": Predictions(*kinds, scores, rng.integers(0, 10, N_TEST)),
            "folder-leaves": Predictions(
                *kinds, outside, np.full(N_OUT, -1), row_ids=IDS, labelled=False
            ),
        },
        source=Source("net.pt", "00"), summary={}, config=config.to_json(), environment={},
        run_id="pictured23",
    )  # fmt: skip
    yield kept.id
    shared().close()


def opened(run: str) -> AppTest:
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
    test.query_params["run"] = run
    test.switch_page("pages/ood.py").run()
    deadline = time.monotonic() + 300
    while "Opening the pictures" in said(test) and time.monotonic() < deadline:
        time.sleep(0.5)
        test.run()
    assert not test.exception
    return test


def said(test: AppTest) -> str:
    return " ".join(one.proto.body for one in test.get("html"))


@pytest.mark.slow
def test_the_most_ordinary_rows_are_shown_with_what_the_model_says(run, leaves, monkeypatch):
    monkeypatch.setenv("CANDOR_IMPORT", str(leaves.parent))
    pictures = opened(run).get("image")
    captions = [one.proto.imgs[0].caption for one in pictures]
    assert len(captions) == N_OUT
    sure = np.exp(9) / (np.exp(9) + 9)
    assert captions[0] == f"3, {100 * sure:.1f}\u202f%"


def test_pictures_of_a_folder_that_the_page_may_not_read_are_not_opened(run, leaves):
    test = opened(run)
    assert not test.get("image")
    assert "No pictures: this page may not read the folder" in said(test)
    assert str(leaves) not in said(test)
