"""What must hold of the server as a whole, and of every page."""

import re
import urllib.request

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from core.library import SAMPLES, Library, RunSource
from core.predictions import Predictions, ScoreKind, Task
from pages.ui.site import DESTINATIONS
from tests.e2e import files
from tests.e2e.accessibility import check_axe, check_dark
from tests.e2e.conftest import (
    VIEWPORT,
    check_no_sideways_scroll,
    check_no_torch,
    go,
    new_page,
    settled,
)
from tests.e2e.first_screen import (
    CONTROLS,
    EMPTY,
    OPEN,
    WITH_FIGURES,
    controls_in_sight,
    words_in_sight,
)
from tests.e2e.test_audit import audit, drawn, drop
from tests.e2e.test_compare import figures_are_as_wide_as_the_table
from tests.e2e.test_posthoc import ends_within_two_screens

pytestmark = pytest.mark.e2e
PAGES = {
    "runs": "/",
    "reliability": "/reliability?run=digits-overconfident",
    "label": "/reliability?run=digits-traits",
    "plain": "/reliability?run=digits-overconfident&plain=true",
    "a sample": "/reliability",
    "compare": "/compare?runs=digits-fair,digits-overconfident",
    "not ranked": "/compare?runs=digits-fair,digits-traits",
    "compare plain": "/compare?runs=digits-fair,digits-overconfident&plain=true",
    "post-hoc": "/posthoc",
    "post-hoc plain": "/posthoc?run=digits-overconfident&plain=true",
    "post-hoc of labels": "/posthoc?run=digits-traits",
    "gamma": "/gamma?run=digits-adafocal",
    "gamma beside": "/gamma?run=digits-adafocal&against=replay&lambda=3",
    "gamma plain": "/gamma?run=digits-adafocal&plain=true",
    "ood": "/ood",
    "ood plain": "/ood?plain=true",
    "ood plain of texts": "/ood?run=tickets-adafocal&plain=true",
    "evaluate": "/evaluate",
    "human votes": "/human",
    "no votes": "/human?run=digits-fair",
    "report": "/report?run=digits-overconfident",
    "a film": "/xray",
    "all findings": "/xray?run=digits-traits&show=findings",
    "one finding": "/xray?run=digits-traits&show=finding",
    "one finding in plain words": "/xray?run=digits-traits&show=finding&plain=true",
    "train": "/train",
    "published": "/published",
    "published with doubts": "/published?data=cifar10&network=densenet121&measure=smece",
    "nothing published": "/published?paper=komisarenko2024&moment=before",
    "theory": "/theory",
    "theory in three classes": "/theory?part=classes",
    "where print is wrong": "/theory?part=print",
    "theory plain": "/theory?plain=true",
    "theory's glossary": "/theory?part=words",
    "step 1 of the tour": "/reliability?run=digits-overconfident&plain=true&tour=1",
    "step 2 of the tour": "/posthoc?run=digits-overconfident&methods=focal_ts&plain=true&tour=2",
    "step 3 of the tour": "/xray?run=phantom-ce&plain=true&tour=3",
    "a link to nothing": "/reliability?run=nothing",
}
# What these draw is drawn by a page above as well, only more of it or less, or in plain words.
NIGHTLY = {
    "label",
    "plain",
    "a sample",
    "no votes",
    "all findings",
    "one finding in plain words",
    "not ranked",
    "post-hoc plain",
    "gamma plain",
    "ood plain",
    "one finding",
    "nothing published",
    "where print is wrong",
    "theory plain",
    "theory's glossary",
    "step 3 of the tour",
}
SIBLINGS = {
    "compare plain",
    "post-hoc of labels",
    "gamma beside",
    "ood plain of texts",
    "published with doubts",
    "theory in three classes",
    "step 1 of the tour",
    "step 2 of the tour",
}
WHEN = dict.fromkeys(NIGHTLY, pytest.mark.nightly) | dict.fromkeys(SIBLINGS, pytest.mark.soak)
# Nothing is open on these; their tabs name no run.
NOTHING_OPEN = {"runs", "evaluate", "nothing published", "a link to nothing"}
NO_RUN = NOTHING_OPEN | {name for name in PAGES if re.match("train|published|theory|where", name)}
TABS = 150  # more than lie before any link, also where a page is drawn again meanwhile
# Every page once with something to show.
ONE_EACH = {path.split("?")[0]: path for path in reversed(PAGES.values())}
# A telephone, and a window of 1280 x 720 with the browser's zoom at 200 %.
NARROW = ({"width": 390, "height": 844}, {"width": 640, "height": 360})
# Whether every interval of the headline has the headline's size and a caveat below it its colour.
AS_ITS_NUMBER = """() => {
  const look = e => getComputedStyle(e), first = look(document.querySelector('h1.c-sentence'));
  const same = (e, what) => look(e)[what] === first[what];
  return [...document.querySelectorAll('h1.c-sentence .c-range')].every(
    e => same(e, 'fontSize') && same(e, 'color')
  ) && [...document.querySelectorAll('h1.c-sentence ~ .c-second')].every(e => same(e, 'color'));
}"""
# Whether the table and downloads of every figure stand in the row of a title.
IN_TITLE_ROWS = """() => [...document.querySelectorAll('[class*=st-key-more-]')].every(
  e => e.closest('[class*=st-key-head-]')
)"""
FOCUSED = """() => {
  const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
  const ringed = style.outlineStyle !== 'none' || style.boxShadow !== 'none';
  return [e.innerText.split('\\n').at(-1), ringed && box.top >= 0 && box.bottom <= innerHeight];
}"""


def figures_are_named_and_unfold(page: Page) -> None:
    drawn(page)
    alt = page.locator('[data-testid="stPlotlyChart"]').first.evaluate(
        "e => (e.closest('[aria-label]') || e.querySelector('[aria-label]') || e).ariaLabel"
    )
    assert "says" in alt
    page.get_by_text("Every metric, with interval").click()
    expect(page.locator("h2", has_text="What this file cannot support")).to_be_visible()
    page.get_by_role("button", name="As table, downloads").first.click()
    check_axe(page)


def plain_words_speak_of_times_in_100(page: Page) -> None:
    expect(page.locator("h1.c-sentence")).to_contain_text("more sure than it should be")
    expect(page.locator(".c-icons").first).to_have_attribute("role", "img")
    words = page.get_by_test_id("stMain").inner_text()
    assert "in 100" in words
    assert not re.search(r"\bECE\b|\b1 in \d", words)


def plain_words_know_no_gamma(page: Page) -> None:
    expect(page.locator("h1.c-sentence")).to_contain_text("In round 40 of training")
    assert "γ" not in page.get_by_test_id("stMain").inner_text()


def the_picker_names_the_sample(page: Page) -> None:
    picker = page.locator(".st-key-bare-run").get_by_role("combobox", name="Run")
    expect(picker).to_have_value("CIFAR-10 (JPEG), Cross-entropy")


# What else must hold of these.
ALSO = {
    "reliability": figures_are_named_and_unfold,
    "plain": plain_words_speak_of_times_in_100,
    "gamma plain": plain_words_know_no_gamma,
    "a sample": the_picker_names_the_sample,
    "compare": figures_are_as_wide_as_the_table,
    "post-hoc": lambda page: ends_within_two_screens(page, ".st-key-figure-walk"),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=WHEN.get(name, ())) for name in PAGES])
def test_axe_finds_nothing_and_a_page_fits_its_window_in_width_and_in_words(visit, name):
    page = visit(PAGES[name])
    expect(page).to_have_title(
        re.compile(r"^.+ · Candor$" if name in NO_RUN else r" · .+ · Candor$")
    )
    check_axe(page)
    check_dark(page)
    words = words_in_sight(page)
    assert len(words) <= (EMPTY if name in NOTHING_OPEN else OPEN), words
    with_figures, controls = words_in_sight(page, figures=True), controls_in_sight(page)
    assert len(with_figures) <= WITH_FIGURES, with_figures
    assert len(controls) <= CONTROLS, controls
    assert page.evaluate(AS_ITS_NUMBER)
    assert page.evaluate(IN_TITLE_ROWS)
    for narrow in NARROW:
        page.set_viewport_size(narrow)
        check_no_sideways_scroll(page)
    if name in ALSO:
        page.set_viewport_size(VIEWPORT)
        ALSO[name](page)


def test_every_page_is_reached_with_the_keyboard_alone(visit):
    page = visit("/")
    links = page.get_by_test_id("stSidebar").get_by_role("link")
    expect(links).to_have_count(len(DESTINATIONS))
    names = [text.split("\n")[-1] for text in links.all_inner_texts()]
    assert names == ["Runs", "Audit", "Compare", "Clinic", "Models", "Learn"]
    titles = []
    for destination in (*DESTINATIONS[1:], DESTINATIONS[0]):
        for view in destination.entries:
            link = destination.title if view is destination.entries[0] else view.title
            for _ in range(TABS):
                page.keyboard.press("Tab")
                told, seen = page.evaluate(FOCUSED)
                if told == link:
                    break
            assert (told, seen) == (link, True)
            page.keyboard.press("Enter")
            expect(page).to_have_title(re.compile(f"^{view.title}"))
            settled(page)
            titles.append(view.title)
    assert len(set(titles)) == len(ONE_EACH)


@pytest.mark.nightly
def test_the_views_of_a_destination_keep_the_run_and_its_place_in_the_sidebar(visit):
    page = visit(PAGES["plain"])
    views = page.locator(".st-key-views").get_by_role("link")
    expect(views).to_have_text(["Reliability", "Fix", "Unfamiliar data", "Human votes", "Report"])
    views.filter(has_text="Report").click()
    expect(page).to_have_title(re.compile("^Report · Over-confident digits"))
    assert "run=digits-overconfident" in page.url
    expect(page.locator(".st-key-views-current")).to_have_text("Report")
    page.get_by_test_id("stSidebar").get_by_role("link", name="Audit").click()
    expect(page).to_have_title(re.compile("^Report · Over-confident digits"))


def test_every_tab_of_a_run_has_its_header_and_carries_its_split(visit):
    page = visit("/reliability?run=digits-overconfident&split=val")
    header, shown = page.locator(".st-key-bare-run"), set[str]()
    for view in ("Post-hoc", "Out of distribution", "Human votes", "Report", "Reliability"):
        page.locator(".st-key-views").get_by_role("link", name=view).click()
        expect(page).to_have_title(re.compile(f"^{view} · Over-confident digits"))
        settled(page)
        expect(header.get_by_role("radio", name="Validation")).to_be_checked()
        expect(header.get_by_role("combobox")).to_have_value("Over-confident digits")
        if view != "Reliability":  # which says its verdict itself
            said = header.locator(".c-verdict").inner_text()
            shown.add(said.replace(" against labels", ""))
            assert ("against labels" in said) == (view == "Human votes")
        if view == "Report":
            page.get_by_test_id("stSidebar").get_by_role("link", name="Audit").click()
            expect(page).to_have_title(re.compile("^Report · Over-confident digits"))
            settled(page)
    assert len(shown) == 1
    expect(header.locator(".c-verdict")).to_have_text("Sample")
    assert page.get_by_test_id("stSidebar").get_by_role("combobox").count() == 0
    header.get_by_role("link", name="Compare with …").click()
    expect(page.locator("h1")).to_have_text("Compare “Over-confident digits” with another run.")
    page.get_by_role("button", name="Fair digits", exact=True).click()
    expect(page.locator("h1")).to_contain_text("has the smaller ECE")


def test_a_page_that_is_not_there_is_said_in_our_words_with_a_way_back(browser, server):
    page = new_page(browser)
    for path in ("reliability/page", "nosuch<b>page"):
        answer = page.goto(f"{server.url}/{path}?run=x")
        assert answer.status == 404
        expect(page.get_by_role("heading")).to_have_text(f"There is no page “{path}” here.")
        home = page.get_by_role("link", name="Open your runs").evaluate("link => link.href")
        assert home == f"{server.url}/"
    page.get_by_role("link", name="Open your runs").click()
    settled(page)
    expect(page.locator("h1.c-sentence")).to_contain_text("Drop logits")
    page.context.close()


def test_a_link_to_a_page_asks_for_nothing_that_is_not_there(visit, server):
    page = visit("/")
    answers = []
    page.on("response", lambda answer: answers.append(answer))
    go(page, f"{server.url}/reliability?run=digits-crowd&votes=people")  # where it was once
    expect(page).to_have_title(re.compile("^Human votes · Fair digits, simulated votes"))
    expect(page.locator("h1")).to_contain_text("Of 100 people asked")
    assert answers
    assert [answer.url for answer in answers if answer.status >= 400] == []


def test_torch_is_not_in_the_server_after_all_pages(visit, server, tmp_path):
    page = visit("/")
    drop(page, files.npz_logits(tmp_path))
    audit(page)
    for path in ONE_EACH.values():
        if path not in server.visited:
            go(page, server.url + path)
    check_no_torch(server)


@pytest.mark.nightly
def test_the_server_answers_while_it_reads_a_large_file(visit, server, tmp_path):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(20_000, 200)).astype(np.float32)
    path = tmp_path / "large.csv"
    np.savetxt(path, np.column_stack([logits, rng.integers(0, 200, 20_000)]), "%.5g", ",")
    page = visit("/")
    drop(page, path)
    step = page.locator(".st-key-import")
    answered = 0
    while not step.is_visible() and answered < 1000:
        with urllib.request.urlopen(f"{server.url}/_stcore/health", timeout=60) as answer:
            assert answer.status == 200
        answered += 1
        page.wait_for_timeout(200)
    assert answered
    expect(step).to_be_visible()


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.nightly), 390])
def test_a_toast_covers_no_button(visit, server, width):
    library = Library(server.home, SAMPLES)
    rows = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, np.full(20, 0.5), np.arange(20) % 2)
    kept = library.keep("Short", {"test": rows}, source=RunSource("f", "0" * 32), summary={}).id
    page = visit("/reliability?run=digits-fair", viewport={"width": width, "height": 800})
    settled(page)
    library.delete(kept)
    page.get_by_role("combobox", name="Run", exact=True).click()
    page.get_by_role("option", name="Short", exact=True).click()
    toast = page.get_by_test_id("stToast")
    expect(toast).to_contain_text("It was deleted.")
    box = toast.bounding_box()
    reached = page.evaluate(
        """box => [...document.querySelectorAll('button, a, input')]
          .filter(e => !e.closest('[data-testid=stToast]'))
          .map(e => [e, e.getBoundingClientRect()])
          .filter(([, r]) => r.width && r.right > box.x && r.left < box.x + box.width
                             && r.bottom > box.y && r.top < box.y + box.height)
          .filter(([e, r]) => document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2)
                              ?.closest('[data-testid=stToast]'))
          .map(([e]) => e.outerHTML.slice(0, 100))""",
        box,
    )
    assert reached == []
