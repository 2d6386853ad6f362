"""Texts behind a bin of Reliability: escaped, cut, without addresses, or why there are none."""

import re
import time
from html import unescape

import numpy as np
import pytest

from core.datasets.texts.corpus import tickets
from core.inference.client import shared
from core.library import SAMPLES, Library
from core.predictions import Predictions, ScoreKind, Task
from core.training.config import from_json
from tests.core.library.builders import keep_trained
from tests.pages.seen import PATIENCE_S, html, opened, said

N = 12


@pytest.fixture
def run(home, tmp_path):
    """The id of a training whose answers all are as sure, and wrong of the first text."""
    root = tmp_path / "texts"
    for k in range(N):
        path = root / "ab"[k % 2] / f"{k:02}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text {k} <b>bold</b> jo@example.org")
    ids = tuple(f"{'ab'[k % 2]}/{k:02}.txt" for k in range(N))
    labels = np.arange(N) % 2
    scores = np.where(labels[:, None] == np.arange(2), 2.0, 0.0)
    scores[0] = scores[0, ::-1]
    part = Predictions(
        Task.MULTICLASS, ScoreKind.LOGITS, scores, labels, class_names=("a", "b"), row_ids=ids
    )
    config = from_json(
        {"data": "texts", "model": "text_mean", "loss": {"name": "ce"}, "data_root": str(root)}
    )
    library = Library(home, SAMPLES)
    yield keep_trained(library, "texts23", {"test": part}, config=config.to_json(), bins=None)
    shared().close()


def page(run):
    """The page with the bin opened that holds every answer: 88 % of 15 bins is the 14th."""
    test = opened("reliability", run=run, bin_rows="14")
    deadline = time.monotonic() + PATIENCE_S
    while "Reading the texts" in said(test) and time.monotonic() < deadline:
        time.sleep(0.5)
        test.run()
    return test


def listed(test):
    """The heads of the tables that are drawn."""
    return {column for table in test.dataframe for column in table.value}


@pytest.mark.nightly
@pytest.mark.slow
def test_the_texts_of_a_bin_are_shown_with_what_the_model_says(run, tmp_path, monkeypatch):
    monkeypatch.setenv("CANDOR_IMPORT", str(tmp_path))
    test = page(run)
    drawn = html(test)
    assert "Most often" not in drawn  # one is wrong, once
    assert "predicted" not in listed(test)
    assert "text 0 &lt;b&gt;bold&lt;/b&gt; [address]" in drawn
    assert "jo@example.org" not in drawn
    assert "b, 88.1" in unescape(drawn)
    assert "true: a" in drawn


def test_texts_of_a_folder_that_the_page_may_not_read_are_a_table_of_rows(run, tmp_path):
    test = page(run)
    assert "predicted" in listed(test)
    drawn = html(test)
    assert "No texts: the server may not read their folder." in drawn
    assert "text 0" not in drawn
    assert str(tmp_path) not in drawn


@pytest.mark.nightly
def test_a_sample_shows_its_texts_where_nothing_else_was_installed(home):
    try:
        drawn = html(page("tickets-ce"))
    finally:
        shared().close()
    told = {" ".join(row.text.split()): row.label for row in tickets()}
    listed = drawn.partition('<dl class="c-texts">')[2].partition("</dl>")[0]
    texts = [unescape(text) for text in re.findall(r"<dd>(.*?)</dd>", listed)]
    captions = [unescape(text) for text in re.findall(r"<dt>(.*?)</dt>", listed)]
    assert len(texts) == 12
    for text, caption in zip(texts, captions, strict=True):
        assert f"true: {told[text]}" in caption or caption.startswith(told[text])


def test_images_of_a_run_that_names_no_folder_are_a_table_without_a_word(home):
    test = opened("reliability", run="cifar10-ce", bin_rows="15")
    assert "predicted" in listed(test)
    assert "No pictures" not in said(test) + html(test)
    assert "Opening the pictures" not in said(test)
