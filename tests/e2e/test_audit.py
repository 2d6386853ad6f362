"""From a dropped file to an honest reliability page, in a real browser."""

import contextlib
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as Late

from tests.e2e import files
from tests.e2e.accessibility import check_axe, check_dark
from tests.e2e.conftest import settled, start, tick

pytestmark = pytest.mark.e2e
DROP = '[data-testid="stFileUploaderDropzoneInput"]'
DIAGRAM = '[data-testid="stPlotlyChart"]'


def drop(page: Page, *paths: Path) -> None:
    page.locator(DROP).first.set_input_files([str(path) for path in paths])


def audit(page: Page) -> None:
    """Wait for the verdict, which a file that is decided opens by itself."""
    page.wait_for_url("**/reliability**")
    drawn(page)


def drawn(page: Page) -> None:
    expect(page.locator(f"{DIAGRAM} .main-svg").first).to_be_visible()
    settled(page)


LAYOUTS = {
    "npz_logits": (files.npz_logits, "400 rows, 4 columns of logits"),
    "csv_probabilities": (files.csv_probabilities, "400 rows, 4 columns of probabilities"),
    "pickled_pairs": (files.pickled_pairs, "parts: val 400, test 400"),
    "parquet_top_label": (files.parquet_top_label, "confidences"),
    "npz_multilabel": (files.npz_multilabel, "sigmoid scores"),
    "json_binary": (files.json_binary, "400 rows"),
    "two_files": (files.two_files, "400 rows, 4 columns of logits"),
}


# The readers' own tests have every layout.
WHEN = {"csv_probabilities": (), "two_files": pytest.mark.nightly}


@pytest.mark.parametrize(
    "layout",
    [pytest.param(name, marks=WHEN.get(name, pytest.mark.soak)) for name in LAYOUTS],
)
def test_each_layout_goes_from_the_drop_zone_to_the_diagram(visit, tmp_path, layout):
    make, said = LAYOUTS[layout]
    made = make(tmp_path)
    page = visit("/")
    drop(page, *(made if isinstance(made, tuple) else (made,)))
    if layout == "npz_multilabel":  # of many labels, a table comes first
        expect(page.get_by_role("heading", name="Labels", level=2)).to_be_visible()
        settled(page)
    else:
        audit(page)
    page.get_by_role("button", name="How it was read").click()
    expect(page.get_by_test_id("stPopoverBody")).to_contain_text(said)
    expect(page.get_by_role("button", name="Read it another way")).to_be_visible()
    check_axe(page)
    page.keyboard.press("Escape")
    expect(page.locator("h1.c-sentence")).to_have_text(
        re.compile(
            "confident|estimate|too extreme|mixed|off by|sound|could be chance", re.IGNORECASE
        )
    )
    expect(page.locator(".c-strip")).to_contain_text("Noise floor")
    assert "run=" not in page.url  # a draft has no link
    if layout == "csv_probabilities":
        check_nobody_else_sees_it(page, visit, "probs")


def check_nobody_else_sees_it(mine: Page, visit, name: str) -> None:
    """A draft is there when its browser loads the page anew, and in no other browser."""
    mine.reload()
    drawn(mine)
    expect(mine.get_by_role("combobox", name="Run")).to_have_value(f"{name} (draft)")
    theirs = visit("/")
    assert name not in theirs.content()
    theirs.goto(mine.url)
    settled(theirs)
    expect(theirs.get_by_role("heading", name="Open another run.")).to_be_visible()
    assert name not in theirs.content()


@pytest.mark.nightly
def test_a_clicked_bin_shows_its_rows(visit):
    page = visit("/reliability?run=digits-overconfident&counts=linear")
    drawn(page)
    bars = page.locator(DIAGRAM).first.locator(".barlayer .point path")
    rows = page.locator(".st-key-bin_rows")
    for _ in range(10):  # a figure is drawn before it listens, and may take another size then
        box = bars.last.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.7)
        with contextlib.suppress(Late):
            rows.locator("h2").wait_for(timeout=15_000)
            break
    expect(rows.locator("h2")).to_contain_text("Images of this bin")
    expect(rows).to_contain_text(re.compile(r"Bin 0\.93 to 1\.00"))
    with page.expect_download() as saved:
        rows.get_by_role("button", name="All images of this bin, CSV").click()
    lines = Path(saved.value.path()).read_text(encoding="utf-8-sig").splitlines()
    said = int(re.search(r"([\d,]+) images", rows.inner_text())[1].replace(",", ""))
    assert lines[0].split(",")[:3] == ["id", "true", "predicted"]
    assert len(lines) == said + 1
    check_a_step_draws_nothing_else(page)
    expect(rows).to_contain_text("Bin 0.93 to 1.00")  # one step back


def test_a_bin_is_opened_by_the_keyboard_with_its_pictures(visit):
    page = visit("/reliability?run=digits-ce")
    drawn(page)
    diagram, rows = page.locator('[data-figure="reliability"]'), page.locator(".st-key-bin_rows")
    diagram.focus()
    diagram.press("ArrowLeft")
    expect(diagram.locator(".hoverlayer")).to_contain_text("Bin 0.93 to 1.00")
    expect(diagram.locator("[aria-live]")).to_contain_text("Bin 0.93 to 1.00: 471 images, says ")
    for closing in ("Enter", "Escape"):
        diagram.press("Enter")
        expect(rows).to_contain_text("Bin 0.93 to 1.00: 471 images")
        expect(rows.locator("h2")).to_be_in_viewport()
        settled(page)
        diagram.press(closing)
        expect(rows).to_have_count(0)
        settled(page)
    diagram.press("Enter")
    expect(rows).to_contain_text("Bin 0.93 to 1.00: 471 images")
    assert "bin_rows=15" in page.url
    pictures = rows.get_by_test_id("stImageContainer")
    expect(pictures).to_have_count(12)
    shares = [text.split(", ")[1] for text in pictures.all_inner_texts()]
    wrong = [text.split(", ")[0] != text.split(": ")[1] for text in pictures.all_inner_texts()]
    assert wrong == sorted(wrong, reverse=True), shares
    assert any(wrong)
    assert not rows.get_by_test_id("stDataFrame").count()
    rows.get_by_role("button", name="Show 12 more").press("Enter")
    expect(pictures).to_have_count(24)
    expect(rows.get_by_role("button", name="Show")).to_have_count(0)
    choice = page.get_by_role("combobox", name="Bin", exact=True)
    choice.press("ArrowDown")  # opens the list, at what is chosen
    choice.press("ArrowUp")
    choice.press("Enter")
    expect(rows).to_contain_text("Bin 0.87 to 0.93")
    assert "bin_rows=14" in page.url
    settled(page)
    expect(rows.get_by_text("Opening the pictures")).to_have_count(0)
    settled(page)
    rows.get_by_role("button", name="Close").press("Enter")
    expect(rows).to_have_count(0)
    expect(diagram).to_be_focused()
    settled(page)
    assert "bin_rows" not in page.url


def check_a_step_draws_nothing_else(page: Page):
    """Move the slider of bins: the link and the diagram follow, and every figure stays in place."""
    downloads = page.get_by_role("button", name="As table, downloads")
    before = downloads.count()
    page.evaluate(
        "() => document.querySelectorAll('.js-plotly-plot').forEach(e => e.dataset.stays = 'yes')"
    )
    page.get_by_role("slider").first.press("ArrowRight")
    expect(page.get_by_text(re.compile("16 equal-width bins"))).to_be_visible()
    settled(page)
    assert "bins=16" in page.url
    expect(page.locator(".st-key-bin_rows")).to_have_count(0)  # of 16 it is another bin
    expect(page.locator(".js-plotly-plot:not([data-stays=yes])")).to_have_count(0)
    expect(downloads).to_have_count(before)
    page.go_back()
    expect(page.get_by_text(re.compile("15 equal-width bins"))).to_be_visible()
    expect(page.get_by_role("slider").first).to_have_attribute("aria-valuetext", "15 bins")
    settled(page)
    assert "bins=" not in page.url


def test_a_bad_file_is_refused_with_what_where_and_remedy(visit, tmp_path):
    page = visit("/")
    drop(page, files.nan_logit(tmp_path))
    refusal = page.locator(".st-key-refusal")
    expect(refusal).to_contain_text("NaN")
    expect(refusal).to_contain_text("row 5")
    expect(refusal).to_contain_text("NONFINITE")
    assert str(tmp_path) not in page.content()
    check_axe(page)
    page.get_by_role("button", name="Discard").click()
    expect(page.locator(DROP).first).to_be_attached()


def keep(page: Page, name: str) -> None:
    page.get_by_role("button", name="Keep in the library").click()
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Keep", exact=True).click()
    page.wait_for_url("**/reliability?run=*")
    drawn(page)


@pytest.mark.nightly
def test_a_choice_is_kept_with_the_run_and_can_be_forgotten(visit, tmp_path):
    page = visit("/")
    path = files.ambiguous(tmp_path)
    drop(page, path)
    expect(page.locator(".st-key-question")).to_contain_text("UNDECIDED")
    reading = page.locator('.st-key-import [data-testid="stColumn"]')
    raw = reading.filter(has_text="--scores-key raw_logits")
    raw.get_by_role("button", name="Read it this way").click()
    audit(page)
    keep(page, "chosen")
    again = visit("/")
    drop(again, path)
    audit(again)
    again.get_by_role("button", name="How it was read").click()
    expect(again.get_by_test_id("stPopoverBody")).to_contain_text("chosen before")
    again.get_by_role("button", name="Read it another way").click()
    again.get_by_role("button", name="Forget that choice").click()
    expect(again.locator(".st-key-question")).to_contain_text("UNDECIDED")


@pytest.mark.nightly
def test_keep_gives_a_link_that_works_on_a_fresh_server(visit, tmp_path, server):
    page = visit("/")
    drop(page, files.npz_logits(tmp_path))
    audit(page)
    keep(page, "kept & linked")
    path = re.search(r"/reliability\?run=\w+", page.url)[0]
    fresh = start(server.home, tmp_path / "log.txt")
    try:
        other = visit(f"{path}&bins=20&rule=equal_mass", url=fresh.url)
        drawn(other)
        expect(other.locator('[data-testid="stSidebar"]')).to_contain_text("Plain words")
        expect(other.get_by_role("combobox", name="Run")).to_have_value("kept & linked")
        shown = other.locator(".c-caption", has_text="file digest").last
        expect(shown).to_contain_text("20 equal-mass bins")
    finally:
        fresh.stop()


@pytest.mark.nightly
@pytest.mark.parametrize("path", ["/", "/reliability?run=digits-overconfident"])
def test_the_dark_theme_is_dark(visit, path):
    """From the start; that a page turns dark is seen where axe looks at it."""
    check_dark(visit(path, color_scheme="dark"))


@pytest.mark.nightly
def test_hostile_names_stay_text(visit, tmp_path):
    page = visit("/", apart=True)  # it is listened to
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: asked.append("dialog"))
    drop(page, files.hostile_names(tmp_path))  # asked about: the names are in no order
    page.get_by_role("button", name="Read it this way").last.click()
    audit(page)
    keep(page, files.HOSTILE)
    page.goto(page.url.split("/reliability")[0])
    settled(page)
    assert not [url for url in asked if ":9/" in url or url == "dialog" or url.endswith("/x")]
    assert page.locator('img[src="x"]').count() == 0


@pytest.mark.nightly
def test_a_name_opens_its_run_and_rename_and_delete_can_be_undone(visit, tmp_path):
    page = visit("/")
    drop(page, files.json_binary(tmp_path))
    audit(page)
    keep(page, "short-lived")
    link = page.url
    page.get_by_test_id("stSidebar").get_by_role("link", name="Runs").click()
    page.get_by_role("searchbox", name="Search").fill("short-lived")
    expect(page.locator(".c-caption", has_text="1 run.")).to_be_visible()
    tick(page, 0, of=1)
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("New name").fill("other")
    page.get_by_role("button", name="Rename").last.click()
    expect(page.locator(".st-key-said")).to_contain_text("Renamed short-lived to other")
    expect(page.get_by_label("New name")).to_have_count(0)  # its popover is closed
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".st-key-said")).to_contain_text("Undone")
    expect(page.locator(".c-caption", has_text="1 run.")).to_be_visible()
    tick(page, 0, of=1)
    page.get_by_role("button", name="Delete").click()
    expect(page.locator(".st-key-said")).to_contain_text("Deleted short-lived")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".st-key-said")).to_contain_text("Undone")
    expect(page.locator(".c-caption", has_text="1 run.")).to_be_visible()
    tick(page, of=1)
    box = page.locator('[data-testid="stDataFrame"]').first.bounding_box()
    page.mouse.click(box["x"] + 80, box["y"] + 35 + 17)
    page.wait_for_url(link)
    drawn(page)
