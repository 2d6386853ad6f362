"""Training in a real browser: one click, watch, refresh, restart, stop, resume, one slot."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from core.jobs.local import LocalJobs
from core.jobs.records import Job, JobState
from core.training.submission import FIRST
from tests.e2e.accessibility import check_axe
from tests.e2e.conftest import (
    ONE_SLOT,
    ROOT,
    VIEWPORT,
    check_no_sideways_scroll,
    check_no_torch,
    settled,
    start,
)

pytestmark = pytest.mark.e2e
HEADING = "h1.c-sentence"
SHORT = FIRST | {"epochs": 3, "n_train": 100, "device": "cpu"}
LONG = SHORT | {"epochs": 9_000}


@pytest.fixture
def open_page(visit, one_slot):
    def opened(path: str = "/train", **options) -> Page:
        return visit(path, url=one_slot.url, **options)

    return opened


@pytest.fixture
def submit(one_slot, tmp_path):
    """Return a function that queues a config through the command line."""

    def queued(config: dict, name: str) -> Job:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(config | {"name": name}))
        run_cli(one_slot.home, "train", str(path))
        return newest(one_slot.home, name)

    return queued


def run_cli(home: Path, *words: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "core", *words],
        cwd=ROOT,
        env=os.environ | {"CANDOR_HOME": str(home)} | ONE_SLOT,
        check=True,
    )


def newest(home: Path, name: str) -> Job:
    return next(job for job in LocalJobs(home).list() if job.name == name)


def epochs(page: Page) -> int:
    """Return the number of epochs that the page shows."""
    tile = page.locator(".c-tile", has_text="Epochs").locator(".c-value")
    return int(tile.inner_text().replace(",", ""))


def beyond(page: Page, n: int) -> None:
    """Wait until the page shows more epochs than these."""
    page.wait_for_function(
        "n => { const t = [...document.querySelectorAll('.c-tile')]"
        ".find(e => e.innerText.startsWith('Epochs'));"
        " return t && Number(t.querySelector('.c-value').innerText.replace(/\\D/g, '')) > n }",
        arg=n,
    )


def stop(page: Page) -> None:
    # Streamlit has a Stop of its own in the header while a page is being built.
    button = page.get_by_test_id("stMain").get_by_role("button", name="Stop", exact=True)
    # A page that draws itself anew is hardly ever at rest on a busy machine: nobody waits for that
    button.evaluate("stop => stop.click()")
    expect(page.locator(HEADING)).to_contain_text("was stopped after epoch")
    settled(page)


def start_adafocal(page: Page) -> None:
    """Press the one button, and see that a reload loses nothing."""
    page.get_by_role("button", name="Train AdaFocal on digits").click()
    expect(page.locator(HEADING)).to_contain_text("Training “AdaFocal, small_cnn on digits”")
    expect(page.get_by_text(re.compile(r"Epoch \d+ of 150"))).to_be_visible()
    beyond(page, 1)
    page.reload()
    expect(page.locator(HEADING)).to_contain_text("AdaFocal, small_cnn on digits")


@pytest.mark.nightly
def test_the_form_fits_and_one_click_trains_adafocal_on_digits(open_page, one_slot):
    page = open_page()
    for fold, field in (
        ("Loss, epochs, seeds and device", "Epochs"),
        ("More settings", "Batch size"),
    ):
        page.get_by_text(fold).click()
        expect(page.get_by_role("spinbutton", name=field)).to_be_visible()
    check_axe(page)
    page.set_viewport_size({"width": 390, "height": 844})
    check_no_sideways_scroll(page)
    page.set_viewport_size(VIEWPORT)
    start_adafocal(page)
    stop(page)
    expect(page.locator("[data-testid=stPlotlyChart]").first).to_be_visible()
    check_no_torch(one_slot)


@pytest.mark.soak
def test_one_click_trains_adafocal_on_digits_to_its_end(open_page):
    page = open_page()
    start_adafocal(page)
    expect(page.locator(HEADING)).to_contain_text("Trained “AdaFocal, small_cnn on digits” in")
    settled(page)
    assert epochs(page) == FIRST["epochs"]


def downloaded(page: Page, button: str) -> bytes:
    """What a button gives; a click that meets the page while it is drawn anew is made again."""
    for seconds in (3, 6, 12, 24, 48, 96):
        try:
            with page.expect_download(timeout=1000 * seconds) as download:
                page.get_by_role("button", name=button).click()
            return Path(download.value.path()).read_bytes()
        except PlaywrightTimeout:
            settled(page)
    raise AssertionError(f"{button} gave no file")


@pytest.mark.nightly
def test_a_saved_config_runs_unchanged_and_its_run_opens_elsewhere(open_page, one_slot, tmp_path):
    page = open_page()
    page.get_by_text("Loss, epochs, seeds and device").click()
    page.get_by_role("spinbutton", name="Epochs").fill("3")
    page.get_by_role("spinbutton", name="Epochs").press("Enter")
    settled(page)
    saved = tmp_path / "saved.json"
    for _ in range(60):  # a page looks settled for a moment before it takes the number
        saved.write_bytes(downloaded(page, "Save config"))
        if json.loads(saved.read_text())["epochs"] == 3:
            break
        page.wait_for_timeout(1_000)
    assert json.loads(saved.read_text())["epochs"] == 3
    run_cli(one_slot.home, "train", str(saved), "--wait")
    (done, *_) = LocalJobs(one_slot.home).list()
    assert done.state is JobState.SUCCEEDED
    other = open_page()
    other.get_by_role("button", name="Load config").click()
    other.locator("input[type=file]").set_input_files(saved)
    expect(other.get_by_text("3 epochs, seed 0.")).to_be_visible()
    expect(other.get_by_text("Trained before with these settings")).to_be_visible()
    other.keyboard.press("Escape")
    link = other.locator(".st-key-train-known a")
    link.click()
    expect(other).to_have_url(re.compile(f"job={done.id}"))
    expect(other.locator(HEADING)).to_contain_text("Trained")
    expect(other.locator("[data-testid=stPlotlyChart]")).to_have_count(6 + 2 + 3)
    here = other.url
    other.get_by_role("button", name="Open in Gamma dynamics").click()
    expect(other).to_have_url(re.compile("/gamma.*run="))
    other.goto(here)
    other.get_by_role("button", name="Open in Reliability").click()
    expect(other).to_have_url(re.compile("/reliability.*run="))
    expect(other.locator(".c-eyebrow")).to_contain_text("AdaFocal, small_cnn on digits")


@pytest.mark.nightly
def test_stop_ends_a_training_and_resume_goes_on(open_page, submit):
    job = submit(LONG, "long one")
    page = open_page(f"/train?job={job.id}")
    beyond(page, 2)
    expect(page).to_have_title("Train · long one · Candor")
    check_axe(page)
    stop(page)
    before = epochs(page)
    assert before > 2
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("link", name=f"Continues job {job.id}")).to_be_visible()
    expect(page.locator(HEADING)).to_contain_text("Training “long one”")
    beyond(page, before)
    stop(page)


@pytest.mark.nightly
def test_a_restarted_server_loses_nothing(open_page, submit, one_slot, tmp_path, visit):
    job = submit(LONG, "outlives the server")
    page = open_page(f"/train?job={job.id}")
    beyond(page, 1)
    seen = epochs(page)
    one_slot.stop()
    again = start(one_slot.home, tmp_path / "again.txt", env=ONE_SLOT)
    try:
        other = visit(f"/train?job={job.id}", url=again.url)
        expect(other.locator(HEADING)).to_contain_text("Training “outlives the server”")
        beyond(other, seen)
        stop(other)
    finally:
        one_slot.url, one_slot.process, one_slot.log = again.url, again.process, again.log


@pytest.mark.nightly
def test_two_submissions_on_one_slot_run_one_after_the_other(open_page, submit, one_slot):
    first, second = submit(LONG, "the first"), submit(SHORT, "the second")
    page = open_page(f"/train?job={first.id}")
    beyond(page, 1)
    page.get_by_role("button", name="All trainings").click()
    row = page.locator(f".st-key-queue-group-{second.id}").first
    expect(row).to_contain_text("waiting, next in line")
    page.locator(f".st-key-queue-row-{first.id}").get_by_role("button", name="Stop").click()
    expect(row).to_contain_text("done after")
    jobs = LocalJobs(one_slot.home)
    one, two = jobs.get(first.id), jobs.get(second.id)
    assert one.state is JobState.CANCELLED
    assert two.state is JobState.SUCCEEDED
    assert one.ended <= two.started


@pytest.mark.nightly
def test_how_long_it_takes_is_measured(open_page):
    page = open_page()
    page.get_by_role("button", name="Estimate time").click()
    expect(page.get_by_text(re.compile("About .*images a second"))).to_be_visible()


@pytest.mark.nightly
def test_networks_of_other_packages_are_found_by_search(open_page):
    page = open_page()
    page.get_by_role("combobox", name="Network").click()
    page.get_by_role("option", name="Another, from timm or torchvision").click()
    search = page.get_by_role("combobox", name="Search")
    settled(page)
    expect(page.get_by_text("No network is picked")).to_be_visible()
    search.fill("torchvision:mobilenet_v2")
    page.get_by_role("option", name="torchvision:mobilenet_v2").click()
    settled(page)
    expect(page.get_by_text("No network is picked")).to_have_count(0)
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_enabled()
