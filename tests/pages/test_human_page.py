"""Human truth of runs of the library, through the page."""

from html import unescape

import numpy as np
import pytest
from scipy.special import softmax

from core.__main__ import main
from core.library import SAMPLES, Library, RunSource
from core.metrics.human import human_audit
from core.predictions import Predictions, ScoreKind, Task
from tests.pages.seen import fine, html, opened

MANY = "“conf” gives one yes or no for each label."


def test_a_run_imported_with_votes_opens_with_people(home, tmp_path, capsys):
    rng = np.random.default_rng(6)
    logits = 2.0 * rng.normal(size=(120, 3))
    p = np.exp(logits / 3.0) / np.exp(logits / 3.0).sum(axis=1, keepdims=True)
    votes = np.array([rng.multinomial(20, row) for row in p])
    np.savez(tmp_path / "run.npz", logits=logits, labels=votes.argmax(axis=1))
    np.save(tmp_path / "votes.npy", votes)
    assert main(["runs", "import", f"{tmp_path}/run.npz", "--votes", f"{tmp_path}/votes.npy"]) == 0
    run = capsys.readouterr().out.strip()
    test = opened("human", run=run)
    page = html(test)
    assert "Of 100 people asked, " in page
    assert "on 120 rows of 20 votes each" in page
    assert "Labels are what most people chose." in html(opened("reliability", run=run))


def test_a_run_without_votes_offers_a_sample_that_says_its_votes_are_simulated(home):
    test = opened("human", run="digits-fair")
    assert "No votes yet." in html(test)
    (button,) = (button for button in test.button if button.key == "human.sample")
    assert unescape(button.label) == "Fair digits, simulated votes"
    test = button.click().run()
    page = html(test)
    rows = Library(home, SAMPLES).load("digits-crowd", "test")
    p = softmax(rows.scores, axis=1)
    shares = rows.votes.of_row / rows.votes.of_row.sum(axis=1, keepdims=True)
    gap = 100.0 * (p.max(axis=1) - shares[np.arange(len(p)), p.argmax(axis=1)]).mean()
    own = human_audit(rows).direction
    span = f"{100.0 * own.low:.1f} to {100.0 * own.high:.1f}"
    assert f"More sure than people by {gap:.1f} points ({span})" in page
    assert "The votes are simulated by small programs; no people were asked." in page
    assert "votes of 50 simulated voters" in page
    assert not [button for button in test.button if button.key == "human.sample"]


@pytest.mark.parametrize(
    ("task", "scores", "labels", "heading"),
    [
        ("top_label", [0.9, 0.6], [1, 0], "“conf” states how sure each answer is, and no more."),
        ("multilabel", [[0.9, 0.2], [0.3, 0.6]], [[1, 0], [0, 1]], MANY),
    ],
)
def test_a_run_that_votes_cannot_be_held_against_says_why(home, task, scores, labels, heading):
    kind = ScoreKind.CONFIDENCE if task == "top_label" else ScoreKind.SIGMOID
    answers = np.array([1, 1]) if task == "top_label" else None
    rows = Predictions(
        Task(task),
        kind,
        np.array(scores * 20),
        np.array(labels * 20),
        predicted=None if answers is None else np.tile(answers, 20),
    )
    source = RunSource("a.npz", "0" * 64)
    run = Library(home, SAMPLES).keep("conf", {"test": rows}, source=source, summary={}).id
    test = fine(opened("human", run=run))
    assert f'<h1 class="c-sentence">{heading}</h1>' in unescape(html(test))
    assert "human.sample" in {button.key for button in test.button}
    if task == "multilabel":
        test = fine(opened("ood", run=run))
        assert f'<h1 class="c-sentence">{heading}</h1>' in unescape(html(test))
