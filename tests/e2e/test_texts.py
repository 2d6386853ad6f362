"""A folder of texts in a real browser: trained on, opened, and read behind a bin."""

import contextlib
import os
import re

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as Late

from core.jobs.local import LocalJobs
from tests.e2e.accessibility import check_axe
from tests.e2e.conftest import settled, start

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]
HEADING = "h1.c-sentence"
DIAGRAM = '[data-testid="stPlotlyChart"]'
N = 60
OPENED = "window.opened = true"


@pytest.fixture
def server_of_texts(tmp_path):
    """A server that may read a folder of texts, some with markup and addresses in them."""
    root = tmp_path / "mail"
    for name, word in (("ham", "meeting"), ("spam", "prize")):
        (root / name).mkdir(parents=True)
        for k in range(N):
            text = f"{word} number {k} <b>bold</b> <img src=x onerror='{OPENED}'> jo{k}@example.org"
            (root / name / f"{k:02}.txt").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CANDOR_DEVICES", "cpu")
        patch.setenv("CANDOR_IMPORT", str(root))
        running = start(tmp_path / "home", tmp_path / "log.txt")
        yield running, root
        running.stop()
        jobs = LocalJobs(running.home)
        for job in jobs.list():
            jobs.cancel(job.id)


def chosen(page: Page, box: str, option: str) -> None:
    """Choose an option of a box, and wait until the page has taken it."""
    page.get_by_role("combobox", name=box).first.click()
    page.get_by_role("option", name=option, exact=True).click()
    settled(page)


def test_texts_of_a_folder_are_trained_on_and_read_behind_a_bin(server_of_texts, visit):
    server, root = server_of_texts
    page = visit("/train", url=server.url, apart=True)
    chosen(page, "Data", "Texts")
    expect(page.get_by_role("combobox", name="Network")).to_have_value("Global-pooling CNN")
    chosen(page, "Network", "Bag of words")
    folder = page.get_by_role("textbox", name="Data folder")
    folder.fill(str(root))
    folder.press("Enter")
    settled(page)
    page.get_by_text("Loss, epochs, seeds and device").click()
    epochs = page.get_by_role("spinbutton", name="Epochs")
    epochs.fill("3")
    epochs.press("Enter")
    settled(page)
    check_axe(page)
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.locator(HEADING)).to_contain_text("Trained")
    settled(page)
    page.get_by_role("button", name="Open in Reliability").click()
    expect(page).to_have_url(re.compile("/reliability.*run="))
    settled(page)
    expect(page.locator(".c-tile", has_text="Texts")).to_be_visible()

    texts = page.locator(".c-texts")
    bars = page.locator(DIAGRAM).first.locator(".barlayer .point path")
    for _ in range(10):  # a figure is drawn before it listens
        box = bars.last.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.7)
        with contextlib.suppress(Late):
            page.locator(".st-key-bin_rows h2").wait_for(timeout=15_000)
            break
    expect(texts).to_be_visible()
    text = texts.locator("dd").first
    expect(text).to_have_text(
        re.compile(r"(meeting|prize) number \d+ <b>bold</b> <img src=x onerror='.*'> \[address\]")
    )
    assert texts.locator("b, img").count() == 0
    assert page.evaluate("() => window.opened") is None
    assert "example.org" not in page.content()
    if folder := os.environ.get("CANDOR_SHOTS"):
        page.screenshot(path=f"{folder}/texts.png", full_page=True)
