"""Human truth of runs of the library, through the page."""

import numpy as np

from core.__main__ import main
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
    test = opened("reliability", run=run, votes="people")
    assert not test.exception
    page = html(test)
    assert "Of 100 people asked, " in page
    assert "on 120 rows of 20 votes each" in page
