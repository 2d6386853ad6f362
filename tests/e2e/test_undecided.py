"""A file that bears several readings: asked about, picked, audited, and not asked about again."""

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.e2e import files
from tests.e2e.accessibility import check_axe
from tests.e2e.conftest import check_no_sideways_scroll, settled

pytestmark = pytest.mark.e2e
DROP = '[data-testid="stFileUploaderDropzoneInput"]'


def percent_risks(folder: Path, seed: int, name: str = "risks.csv") -> Path:
    """A risk from 0 to 100 beside an outcome, as a hospital's sheet has it."""
    rng = np.random.default_rng(seed)
    risk = rng.beta(2, 3, files.N)
    outcome = rng.random(files.N) < risk
    rows = (f"{100 * r:.1f},{int(o)}" for r, o in zip(risk, outcome, strict=True))
    path = folder / name
    path.write_text("risk,outcome\n" + "\n".join(rows) + "\n")
    return path


def drop(page: Page, path: Path) -> None:
    page.locator(DROP).first.set_input_files(str(path))


def cards(page: Page):
    return page.locator('.st-key-import [data-testid="stColumn"]').filter(
        has=page.get_by_role("button", name="Read it this way")
    )


@pytest.mark.nightly
def test_an_undecided_file_is_asked_about_once(visit, tmp_path):
    page = visit("/")
    drop(page, percent_risks(tmp_path, 1))
    expect(page.locator(".st-key-question")).to_contain_text("more than one way")
    expect(page.locator(".st-key-question")).to_contain_text("UNDECIDED")
    expect(cards(page)).to_have_count(2)
    percent = cards(page).filter(has_text="Percent")
    expect(percent).to_contain_text(re.compile(r"Right in \d+\.\d % of rows"))
    expect(percent).to_contain_text("--units percent")
    percent.get_by_role("button", name="Read it this way").click()
    page.wait_for_url("**/reliability**")
    settled(page)
    page.goto(page.url.split("/reliability")[0] + "/")
    settled(page)
    drop(page, percent_risks(tmp_path, 2, "more risks.csv"))
    page.wait_for_url("**/reliability**")
    settled(page)
    expect(page.get_by_text("percent: divided by 100").first).to_be_visible()
    page.get_by_role("button", name="How it was read").click()
    expect(page.get_by_test_id("stPopoverBody")).to_contain_text("as chosen before")
    page.get_by_role("button", name="Read it another way").click()
    page.get_by_role("button", name="Forget that choice").click()
    expect(page.locator(".st-key-question")).to_be_visible()
    expect(cards(page)).to_have_count(2)


def test_the_question_fits_a_narrow_screen(visit, tmp_path):
    page = visit("/", viewport={"width": 390, "height": 844}, color_scheme="dark")
    drop(page, percent_risks(tmp_path, 3))
    expect(cards(page)).to_have_count(2)
    check_no_sideways_scroll(page)
    check_axe(page)
