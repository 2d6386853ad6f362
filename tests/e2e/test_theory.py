"""The theory page in a browser: a slider, a part, a link, a download."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.test_audit import drawn

pytestmark = pytest.mark.e2e


def test_gamma_moves_sentence_and_link_and_the_link_restores_it(visit):
    page = visit("/theory")
    drawn(page)
    expect(page.locator("h1.c-sentence")).to_contain_text("62.7")
    knob = page.get_by_role("slider").first
    knob.focus()
    for _ in range(4):
        knob.press("ArrowRight")
    expect(page.locator("h1.c-sentence")).to_contain_text("γ at 2.2")
    expect(page).to_have_url(re.compile(r"knob=2\.2"))
    page.get_by_role("radio", name="Three classes").or_(
        page.get_by_role("button", name="Three classes")
    ).first.click()
    expect(page.get_by_text("Moves of both maps")).to_be_visible()
    expect(page).to_have_url(re.compile("part=classes"))
    again = visit("/theory" + page.url.partition("/theory")[2])
    expect(again.locator("h1.c-sentence")).to_contain_text("γ at 2.2")
    expect(again.get_by_text("Moves of both maps")).to_be_visible()


@pytest.mark.nightly
def test_a_figure_is_saved_as_a_table(visit):
    page = visit("/theory?part=gradient")
    drawn(page)
    page.get_by_role("button", name="As table, downloads").first.click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV", exact=True).first.click()
    lines = Path(saved.value.path()).read_text(encoding="utf-8-sig").splitlines()
    assert lines[0] == "curve,p,factor"
    assert len(lines) > 200
