"""A demo shows the samples, and says of everything else that it is off."""

import pytest

from core.library import home as library_home
from core.library import open_library
from pages.ui import visitor
from tests.core.library.builders import small
from tests.pages.seen import fine, html, opened, said


@pytest.fixture
def _demo(home, monkeypatch):
    from core.library.manifest import RunSource

    source = RunSource("a.npz", "0" * 32)
    open_library().keep("private", {"test": small()}, source=source, summary={})
    monkeypatch.setenv("CANDOR_DEMO", "1")
    visitor.enter_demo.cache_clear()
    visitor.enter_demo()
    yield
    visitor.enter_demo.cache_clear()


@pytest.mark.usefixtures("_demo")
def test_only_samples_are_there_and_nothing_changes_them(home):
    assert library_home() != home
    assert {row.kind for row in open_library().rows()} == {"sample"}
    test = fine(opened())
    assert "This demo takes no files" in said(test)
    assert not test.file_uploader
    keys = {button.key for button in test.button}
    assert "tour.start" in keys
    assert "library.delete" not in keys


@pytest.mark.usefixtures("_demo")
@pytest.mark.parametrize("script", ["train", "evaluate"])
def test_pages_that_would_start_a_job_stop_with_a_line(script):
    test = fine(opened(script))
    assert "This demo" in html(test)
    assert not [button for button in test.button if "train" in (button.key or "")]


@pytest.mark.usefixtures("_demo")
def test_a_table_of_a_paper_is_not_trained():
    test = fine(opened("published"))
    assert "published.results" in {one.key for one in test.toggle}
    assert "published.submit" not in {button.key for button in test.button}
    assert not test.text_input


@pytest.mark.usefixtures("_demo")
def test_a_correction_is_not_kept():
    test = fine(opened("posthoc", run="digits-overconfident"))
    assert "Keep" not in [button.label for button in test.button]


@pytest.mark.usefixtures("_demo")
def test_votes_are_shown_by_a_sample_and_not_taken():
    test = fine(opened("human", run="digits-fair"))
    assert "This run has no votes." in html(test)
    assert "human.sample" in {button.key for button in test.button}
    assert not test.text_input
    assert "Upload" not in said(test) + html(test)
    test = fine(opened("human", run="digits-crowd"))
    assert not test.text_input
