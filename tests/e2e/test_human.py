"""Human truth through the page: votes of ten classes dropped, asked about, shown, kept."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from core.library import SAMPLES, Library
from core.library.manifest import RunSource
from core.predictions import Predictions, ScoreKind, Task
from tests.e2e.accessibility import check_axe
from tests.e2e.conftest import check_no_sideways_scroll, settled

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]
DROP = '[data-testid="stFileUploaderDropzoneInput"]'
NAMES = tuple(f"class {letter}" for letter in "ABCDEFGHIJ")
N = 200


@pytest.fixture(scope="module")
def pictures():
    """Scores of a model surer than the fifty people who looked at each picture, and their votes."""
    rng = np.random.default_rng(12)
    true = 1.5 * rng.normal(size=(N, 10))
    true[np.arange(N), rng.integers(0, 10, N)] += 3.0
    p = np.exp(true) / np.exp(true).sum(axis=1, keepdims=True)
    votes = np.array([rng.multinomial(50, row) for row in p])
    ids = [f"<img src=x>{k:03d}.png" for k in range(N)]
    return ids, 2.0 * true, votes


@pytest.fixture
def run_id(server, pictures) -> str:
    ids, logits, votes = pictures
    rows = Predictions(
        Task.MULTICLASS,
        ScoreKind.LOGITS,
        logits,
        votes.argmax(axis=1),
        class_names=NAMES,
        row_ids=tuple(ids),
    )
    library = Library(server.home, SAMPLES)
    source = RunSource("pictures.npz", "0" * 32)
    return library.keep("Pictures", {"test": rows}, source=source, summary={}).id


def drop(page: Page, path: Path) -> None:
    page.locator(DROP).first.set_input_files(str(path))


def test_votes_are_asked_about_shown_and_kept(visit, server, run_id, pictures, tmp_path):
    ids, _, votes = pictures
    page = visit(f"/reliability?run={run_id}")
    page.locator(".st-key-views").get_by_role("link", name="Human votes").click()
    expect(page.locator("h1")).to_have_text("No votes yet. Upload people’s answers for these rows.")
    check_axe(page)

    wrong = tmp_path / "notes.csv"
    wrong.write_text("picture,who\na,b\nc,d\n")
    drop(page, wrong)
    expect(page.locator(".st-key-refusal")).to_contain_text("notes.csv: No numbers in the file")
    expect(page.locator(".st-key-refusal")).to_contain_text("VOTES")

    foreign = tmp_path / "foreign.npz"
    np.savez(foreign, votes=votes, ids=np.array([f"<b>{k}" for k in range(N)]))
    drop(page, foreign)
    expect(page.locator(".st-key-refusal")).to_contain_text("No column of foreign.npz (ids) names")
    expect(page.locator(".st-key-refusal")).to_contain_text("or tick Rows in the same order")

    turned = tmp_path / "turned.npz"
    np.savez(turned, votes=votes[:, ::-1], ids=np.array(ids))
    drop(page, turned)
    expect(page.locator(".st-key-votes-question")).to_contain_text("in 100 of 100 rows")

    lines = [
        json.dumps({"uid": ids[k], "label_count": votes[k].tolist()}) for k in reversed(range(N))
    ]
    good = tmp_path / "votes.jsonl"
    good.write_text("\n".join(lines))
    drop(page, good)
    sentence = re.compile(
        r"Of 100 people asked, \d+ \(\d+ to \d+\) would agree with an answer that the model is"
    )
    expect(page.locator("h1")).to_have_text(sentence)
    settled(page)
    body = page.locator('[data-testid="stMain"]')
    expect(body).to_contain_text("More sure than people by")
    expect(body).to_contain_text("on 200 rows of 50 votes each")
    expect(body).to_contain_text("Fitted on votes (T = ")
    expect(body).to_contain_text("Judged on 100 rows, fitted on 100 others.")
    assert page.locator("img[src='x']").count() == 0

    page.get_by_role("button", name="Keep in the library").click()
    page.get_by_role("button", name="Keep", exact=True).click()
    page.wait_for_url("**run=**")
    settled(page)
    expect(page.locator("h1")).to_have_text(sentence)
    check_axe(page)
    kept = page.url.split("run=")[1].split("&")[0]
    library = Library(server.home, SAMPLES)
    assert library.load(kept, "test").votes.of_row.tolist() == votes.tolist()

    narrow = visit(
        f"/human?run={kept}",
        viewport={"width": 390, "height": 844},
        color_scheme="dark",
    )
    expect(narrow.locator("h1")).to_have_text(sentence)
    check_no_sideways_scroll(narrow)
