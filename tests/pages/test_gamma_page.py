"""The Gamma page through app.py: runs with gammas, epochs, bins, replays, and odd links."""

from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.library import SAMPLES, Library, Source
from tests.core.library.builders import small_bins
from tests.pages.test_pages import elements, html_of

ROOT = Path(__file__).parents[2]
SAMPLE = "digits-adafocal"


@pytest.fixture
def library(tmp_path, monkeypatch):
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sys.argv", ["app.py", "--i-know"])  # AppTest serves on no address
    return Library(tmp_path / "home", SAMPLES)


def opened(**query: str) -> AppTest:
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
    for name, value in query.items():
        test.query_params[name] = value
    test.switch_page("pages/gamma.py")
    return test.run()


def text_of(test: AppTest) -> str:
    return " ".join(body for body in html_of(test) if "<style>" not in body)


def test_without_a_run_a_button_opens_the_sample(library):
    test = opened()
    assert not test.exception
    test.button(key="gamma.open.digits-adafocal").click().run()
    assert not test.exception
    assert "At epoch 40 training holds bin" in text_of(test)
    assert test.query_params["run"] in (SAMPLE, [SAMPLE])


def test_the_numbers_are_those_of_the_run(library):
    bins = library.bins(SAMPLE)
    gamma = bins.gamma.reshape(40, 15)[11]
    test = opened(run=SAMPLE, epoch="12")
    assert not test.exception
    text = text_of(test)
    assert f"At epoch 12 training holds bin {gamma.argmax() + 1} back hardest" in text
    assert f">{gamma.max():.3f}<" in text
    assert f">{gamma.min():.3f}<" in text


def test_the_slider_moves_sentence_and_link(library):
    test = opened(run=SAMPLE)
    test.select_slider(key="widget.epoch").set_value(4).run()
    assert not test.exception
    assert "At epoch 5 training" in text_of(test)
    assert test.query_params["epoch"] in ("5", ["5"])
    test.select_slider(key="widget.epoch").set_value(39).run()
    assert "epoch" not in test.query_params  # the newest epoch is the default


def test_a_bin_is_chosen_and_its_update_written_out(library):
    test = opened(run=SAMPLE, epoch="2")
    test.selectbox(key="widget.bin").set_value(14).run()
    assert not test.exception
    assert "The update here, bin 15" in text_of(test)
    before, after = library.bins(SAMPLE).gamma.reshape(40, 15)[:2, 14]
    said = next(e.proto.body for e in elements(test) if "c-update" in getattr(e.proto, "body", ""))
    assert f"{before:.3f}"[:5] in said
    assert f"= {after:.3f}" in said


@pytest.mark.parametrize(
    ("epoch", "place"),
    [("0", "99"), ("-1", "0"), ("1e9", "x"), ("<script>", "²"), ("9" * 99, "16")],
)
def test_an_odd_link_shows_the_newest_epoch(library, epoch, place):
    test = opened(run=SAMPLE, epoch=epoch, bin=place)
    assert not test.exception
    assert not test.error
    assert "At epoch 40" in text_of(test)


def test_a_history_from_elsewhere_is_shown_and_says_what_is_not_known(library):
    kept = library.keep_history("gammas *of* <b>another", small_bins(), source=Source("g.csv", "1"))
    test = opened(run=kept.id, epoch="2")
    assert not test.exception
    assert not test.error
    text = text_of(test)
    assert "gammas *of* &lt;b&gt;another" in text
    assert "The rule is not known" in text
    assert np.isfinite(library.bins(kept.id).gamma).all()


def test_plain_words_have_no_terms(library):
    text = text_of(opened(run=SAMPLE, plain="true"))
    assert "In round 40 of training" in text
    for term in ("γ", "λ", "gamma", "Gamma ", "epoch", "bin "):
        assert term not in text
