"""Human truth of runs of the library, through the page."""

from html import unescape

import numpy as np
from scipy.special import softmax

from core.__main__ import main
from core.library import SAMPLES, Library
from core.metrics.human import human_audit
from tests.pages.seen import html, opened


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
    assert not test.exception
    page = html(test)
    assert "Of 100 people asked, " in page
    assert "on 120 rows of 20 votes each" in page
    assert "Labels are what most people chose." in html(opened("reliability", run=run))


def test_a_run_without_votes_offers_a_sample_that_says_its_votes_are_simulated(home):
    test = opened("human", run="digits-fair")
    assert not test.exception
    assert "No votes yet." in html(test)
    (button,) = (button for button in test.button if button.key == "human.sample")
    assert unescape(button.label) == "Fair digits, simulated votes"
    test = button.click().run()
    assert not test.exception
    page = html(test)
    rows = Library(home, SAMPLES).load("digits-crowd", "test")
    p = softmax(rows.scores, axis=1)
    shares = rows.votes.of_row / rows.votes.of_row.sum(axis=1, keepdims=True)
    gap = 100.0 * (p.max(axis=1) - shares[np.arange(len(p)), p.argmax(axis=1)]).mean()
    own = human_audit(rows).direction
    span = f"{100.0 * own.low:.1f} to {100.0 * own.high:.1f}"
    assert f"More sure than people by {gap:.1f} ({span}) points" in page
    assert "The votes are simulated by small programs; no people were asked." in page
    assert "votes of 50 simulated voters" in page
    assert not [button for button in test.button if button.key == "human.sample"]
