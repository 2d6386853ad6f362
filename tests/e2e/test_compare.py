"""Comparing runs in a real browser: from ticked rows, with a draft, and from a link."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.e2e import files
from tests.e2e.conftest import settled, tick
from tests.e2e.test_audit import audit, drawn, drop

pytestmark = pytest.mark.e2e
PAIR = "/compare?runs=digits-fair,digits-overconfident"
ROWS = ".c-compare tbody tr"


def test_two_ticked_runs_are_compared_and_the_link_works_elsewhere(visit):
    page = visit("/")
    button = page.get_by_role("button", name=re.compile("^Compare"))
    expect(button).to_be_disabled()
    page.get_by_role("searchbox", name="Search").fill("digits")
    tick(page, 0, 1, of=8)
    expect(button).to_have_text("Compare 2")
    button.click()
    page.wait_for_url("**/compare?runs=*")
    drawn(page)
    expect(page.locator(ROWS)).to_have_count(2)
    link = page.url[page.url.index("/compare") :]
    other = visit(link)  # another session; test_audit has another server
    expect(other.locator(ROWS)).to_have_count(2)
    said = page.locator("h1.c-sentence").inner_text()
    expect(other.locator("h1.c-sentence")).to_have_text(said)


@pytest.mark.nightly
def test_figures_are_as_wide_as_the_table_in_a_smaller_window(visit):
    figures_are_as_wide_as_the_table(visit(PAIR, viewport={"width": 1280, "height": 1000}))


def figures_are_as_wide_as_the_table(page: Page) -> None:
    drawn(page)
    right = "all => Math.max(...all.map(one => one.getBoundingClientRect().right))"
    figures = page.locator(".st-key-figures .c-plot").evaluate_all(right)
    table = page.locator(".c-compare").first.evaluate_all(right)
    assert abs(figures - table) < 2


@pytest.mark.nightly
def test_another_reference_and_metric_turn_the_sentence_and_stay_in_the_link(visit):
    page = visit(PAIR)
    drawn(page)
    expect(page.locator("h1.c-sentence")).to_contain_text("has the smaller ECE")
    page.get_by_role("radio", name="Accuracy").or_(
        page.get_by_role("button", name="Accuracy")
    ).first.click()
    expect(page.locator("h1.c-sentence")).to_contain_text("has the higher accuracy")
    page.get_by_role("combobox", name="Against").click()
    page.get_by_role("option", name="Over-confident digits").click()
    expect(page.locator("tr.ref")).to_contain_text("Over-confident digits")
    expect(page).to_have_url(re.compile("metric=accuracy"))
    expect(page).to_have_url(re.compile("ref=digits-overconfident"))
    page.reload()
    expect(page.locator("tr.ref")).to_contain_text("Over-confident digits")


@pytest.mark.nightly
def test_a_draft_is_compared_and_stays_out_of_the_link(visit, tmp_path):
    page = visit("/")
    drop(page, files.npz_logits(tmp_path))
    audit(page)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Compare").click()
    expect(page).to_have_title(re.compile("^Compare"))
    expect(page.get_by_role("combobox", name="Runs")).to_have_count(
        1
    )  # not that of a script before
    settled(page)
    expect(page.locator("h1.c-sentence")).to_have_text("Compare “logits” with another run.")
    page.get_by_role("combobox", name="Runs").click()
    page.keyboard.type("Fair digits")  # the list is longer than what is drawn of it
    page.get_by_role("option", name="Fair digits", exact=True).click()
    page.keyboard.press("Escape")
    expect(page.locator(ROWS)).to_have_count(2)
    settled(page)
    expect(page.locator("h1.c-sentence")).to_contain_text("cannot be ranked")
    expect(page.locator(".c-chip")).to_contain_text("draft")
    assert "draft" not in parse_qs(urlsplit(page.url).query)["runs"][0]
