"""A slider that the browser answers while it is dragged: an alarm's, and a finding's threshold."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.accessibility import check_axe
from tests.e2e.conftest import settled

pytestmark = pytest.mark.e2e
COUNT_SENT = """() => {
  const send = WebSocket.prototype.send;
  window.sent = 0;
  WebSocket.prototype.send = function (...given) {
    window.sent += 1;
    return send.apply(this, given);
  };
}"""


def shown(page: Page) -> list[str]:
    """Return all that a threshold moves: texts, counts, the words at its line, the ring."""
    settled(page)
    places = (
        page.locator("h1.c-sentence"),
        page.get_by_role("region", name="What the threshold does"),
        page.locator(".c-dragged output"),
    )
    texts = [place.inner_text() for place in places]
    texts.append(page.locator('[data-figure="density"] .annotation-text').text_content())
    ring = page.locator('[data-figure="roc"] .scatterlayer .point').last
    return [*texts, ring.get_attribute("transform")]


@pytest.mark.nightly
def test_a_drag_moves_the_page_in_the_browser_and_is_told_once_on_release(visit):
    page = visit("/ood?run=cifar10-ce&sets=folder-synthetic-chest-films")
    slider = page.get_by_role("slider", name="False alarms, at most")
    expect(page.locator('[data-figure="roc"] .scatterlayer .point')).to_be_visible()
    before = shown(page)
    page.evaluate(COUNT_SENT)
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    across, middle = box["width"], box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.1 * across, middle)
    page.mouse.down()
    for share in (0.3, 0.5, 0.8):
        page.mouse.move(box["x"] + share * across, middle)
    expect(page.locator('[data-figure="density"] .annotation-text')).not_to_have_text(before[-2])
    dragged = shown(page)
    assert all(now != then for now, then in zip(dragged, before, strict=True))
    assert page.evaluate("window.sent") == 0
    page.mouse.up()
    expect(page).to_have_url(re.compile("alarms="))
    assert shown(page) == dragged  # what Python draws at that step
    assert page.evaluate("window.sent") == 1
    for _ in range(5):  # while the server draws those before
        slider.press("ArrowRight", delay=150)
        page.wait_for_timeout(250)
    share = float(dragged[2].split()[0]) + 5 * 0.5
    expect(page).to_have_url(re.compile(f"alarms={share:g}(&|$)"))
    assert shown(page)[2] == f"{share:.1f}\u202f%"
    check_axe(page)
    page.go_back()  # to whichever step was told before the last
    expect(page).not_to_have_url(re.compile(f"alarms={share:g}(&|$)"))
    earlier = float(re.search(r"alarms=([\d.]+)", page.url)[1])
    expect(page.locator(".c-dragged output")).to_have_text(f"{earlier:.1f}\u202f%")


def test_a_threshold_of_a_finding_moves_its_films_and_the_list_of_them(visit):
    page = visit("/xray?show=finding&run=phantom-ce")
    slider = page.get_by_role("slider", name="Threshold", exact=True)
    slider.wait_for()
    settled(page)
    page.get_by_text("Which films").click()
    films = page.locator(".st-key-clinic-cases").get_by_test_id("stImageContainer")
    expect(films).to_have_count(12)
    settled(page)
    page.evaluate(COUNT_SENT)

    def counted() -> list[int]:
        kinds = ("caught", "missed", "alarm", "alone")
        boxes = [page.locator(f".c-icons.c-films > .{kind}").count() for kind in kinds]
        said = [int(page.locator(f".c-key.c-films b.{kind}").inner_text()) for kind in kinds]
        assert boxes == said
        assert sum(boxes) == 100
        return boxes

    before, sentence = counted(), page.locator(".st-key-clinic_use .c-second")
    listed, said = films.first.inner_text(), sentence.inner_text()
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.1 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], middle)
    expect(sentence).not_to_have_text(said)
    after = counted()
    assert page.evaluate("window.sent") == 0
    assert sum(after[:2]) == sum(before[:2])
    assert after[1] > before[1]
    assert after[2] < before[2]
    dragged = sentence.inner_text()
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"at=\d+"))
    expect(films.first).not_to_have_text(listed)
    assert sentence.inner_text() == dragged  # as Python draws it
    assert counted() == after
    check_axe(page)
