"""The tour with the keyboard alone, from the first screen to the last step and back."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import settled

pytestmark = pytest.mark.e2e
STOPS = ("reliability", "posthoc", "xray")
TABS = 60  # more than lie before the first button of any page
FOCUSED = "() => document.activeElement.innerText"


@pytest.mark.nightly
def test_the_tour_is_walked_with_the_keyboard_alone(visit):
    page = visit("/")
    said = []
    for number in range(1, len(STOPS) + 1):
        press(page, "Next" if said else "Take the tour")
        said.append(stop(page, number))
    assert len(set(said)) == len(STOPS)
    expect(page.get_by_role("button", name="Skip tour")).to_have_count(0)
    for number in (2, 1):
        press(page, "Back")
        assert stop(page, number) == said[number - 1]
    expect(page.get_by_role("button", name="Back", exact=True)).to_be_disabled()
    for number in range(2, len(STOPS) + 1):
        press(page, "Next")
        stop(page, number)
    press(page, "Drop your own file")
    page.wait_for_url(re.compile(r"/(\?.*)?$"))
    expect(page.locator("h1.c-sentence")).to_contain_text("Drop logits")
    expect(page.get_by_role("switch", name="Plain words")).not_to_be_checked()
    press(page, "Take the tour")
    stop(page, 1)
    press(page, "Skip tour")
    page.wait_for_url(re.compile(r"/(\?.*)?$"))
    expect(page.get_by_role("button", name="Take the tour")).to_be_visible()
    settled(page)
    assert "tour=" not in page.url
    expect(page.get_by_role("switch", name="Plain words")).not_to_be_checked()


def press(page: Page, name: str) -> None:
    """Go from where the focus is to a button by Tab, and press Enter."""
    expect(page.get_by_role("button", name=name, exact=True)).to_be_enabled()
    for _ in range(TABS):
        if page.evaluate(FOCUSED).endswith(name):
            page.keyboard.press("Enter")
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {name}")


def stop(page: Page, number: int) -> str:
    """Wait for a step on its page, with the page's own sentence in sight; return what it says."""
    card = page.locator(".st-key-tour")
    expect(card).to_contain_text(f"step {number} of {len(STOPS)}")
    settled(page)
    expect(page).to_have_url(re.compile(f"/{STOPS[number - 1]}\\?.*tour={number}"))
    expect(card.locator("h2")).to_be_in_viewport()
    expect(page.locator("h1.c-sentence")).to_be_in_viewport()
    expect(page.locator(".st-key-refusal")).to_have_count(0)
    return card.locator("h2").inner_text()
