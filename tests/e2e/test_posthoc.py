"""Calibrating a run in a real browser: splits, methods, downloads, and links."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from core.__main__ import main
from core.datasets.shifts import OWN, SEVERITIES
from core.library import SAMPLES, Library
from core.library.manifest import RunSource
from core.predictions import Predictions, ScoreKind, Task
from tests.e2e import files
from tests.e2e.accessibility import check_axe
from tests.e2e.conftest import settled
from tests.e2e.first_screen import WINDOW
from tests.e2e.test_audit import audit, drawn, drop
from tests.e2e.test_dragged import COUNT_SENT

pytestmark = pytest.mark.e2e
OVER = "/posthoc?run=digits-overconfident"
# What stands under the handles after T was let go elsewhere, and after γ was moved at once.
MOVE_BOTH = """() => {
  const said = document.querySelector('.st-key-walk .c-second');
  const [t, gamma] = ['Temperature T', 'Focal map γ'].map(
    name => document.querySelector(`input[aria-label="${name}"]`));
  return [[t, 3], [gamma, 1]].map(([slider, step]) => {
    slider.value = step;
    for (const event of ['input', 'change']) slider.dispatchEvent(new Event(event));
    return said.innerText;
  });
}"""
ROWS = '[aria-label="Scores of the methods"] tbody tr'


def saved(page: Page, button: str) -> Path:
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    return Path(download.value.path())


def segment(page: Page, group: str, option: str) -> None:
    page.locator(f".st-key-widget-{group}").get_by_text(option, exact=True).click()
    settled(page)


@pytest.mark.nightly
def test_fitted_parameters_give_the_same_numbers_through_the_command_line(visit, tmp_path, capsys):
    page = visit("/")
    path = files.pickled_pairs(tmp_path)  # a validation and a test part of 400 rows each
    drop(page, path)
    audit(page)
    page.get_by_test_id("stMain").get_by_role("link", name="Post-hoc").click()
    drawn(page)
    expect(page.locator(ROWS)).to_have_count(4)
    expect(page.locator("h1.c-sentence")).to_contain_text("takes the calibration error from")
    assert "run=" not in page.url  # a draft has no link
    page.get_by_role("combobox", name="Methods").click()
    page.get_by_role("option", name=re.compile("^Vector")).click()
    page.keyboard.press("Escape")
    settled(page)
    expect(page.locator(ROWS)).to_have_count(5)
    with saved(page, "All numbers, CSV").open(encoding="utf-8-sig") as file:
        told = {row["method"]: row for row in csv.DictReader(file)}
    page.get_by_role("button", name="Export a fit").click()
    expect(page.locator(".st-key-take")).to_contain_text("Vector")
    page.locator(".st-key-take").get_by_text("Focal temperature", exact=True).click()
    expect(
        page.get_by_text(re.compile("Focal temperature: T = .* fitted on 400 rows"))
    ).to_be_visible()
    settled(page)
    stored = tmp_path / "focal_ts.json"
    stored.write_bytes(saved(page, "Parameters, JSON").read_bytes())
    assert json.loads(stored.read_text())["method"] == "focal_ts"
    out = tmp_path / "calibrated.npz"
    assert main(["apply", str(stored), str(path), "--out", str(out)]) == 0
    capsys.readouterr()
    assert main(["audit", str(out), "--json", "-"]) == 0
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    for key in ("accuracy", "nll", "brier", "ece", "ece_em", "classwise_ece", "smece"):
        assert metrics[key]["value"] == pytest.approx(float(told["focal_ts"][key]), abs=1e-12)
    downloaded = saved(page, "Calibrated predictions, NPZ")
    with np.load(downloaded) as mine, np.load(out) as theirs:
        each = [arrays["test_probabilities"] for arrays in (mine, theirs)]
    np.testing.assert_allclose(*each, atol=1e-12)
    names: dict = {}
    exec(saved(page, "Code, Python").read_text(), names)
    logits, _ = files.classes(3)
    expected = each[1][0]
    np.testing.assert_allclose(names["calibrate"](logits[0].tolist()), expected, atol=1e-12)


@pytest.mark.nightly
def test_choices_are_kept_by_the_link(visit):
    page = visit(OVER)
    drawn(page)
    page.get_by_role("button", name="Fit settings").click()
    segment(page, "fit", "Part of the test set")
    expect(page.locator(".c-eyebrow")).to_contain_text("(seed 0)")
    segment(page, "objective", "ECE")
    page.keyboard.press("Escape")
    page.get_by_role("combobox", name="Methods").click()
    page.get_by_role("option", name=re.compile("^Isotonic, ordered")).click()
    page.keyboard.press("Escape")
    settled(page)
    drawn(page)
    expect(page.locator(ROWS)).to_have_count(5)
    expect(page).to_have_url(re.compile("fit=cut"))
    expect(page).to_have_url(re.compile("objective=ece"))
    said = page.locator("h1.c-sentence").inner_text()
    other = visit(page.url[page.url.index("/posthoc") :])
    drawn(other)
    expect(other.locator(ROWS)).to_have_count(5)
    expect(other.locator(".c-eyebrow")).to_contain_text("(seed 0)")
    expect(other.locator("h1.c-sentence")).to_have_text(said)


def test_temperature_and_gamma_are_dragged_and_the_figure_is_saved(visit):
    page = visit(OVER)
    slider = page.get_by_role("slider", name="Temperature T")
    dot = page.locator('[data-figure="walk"] .scatterlayer .trace').last.locator(".point").first
    expect(dot).to_be_visible()
    settled(page)
    sentence = page.locator(".st-key-walk .c-second")
    before = sentence.inner_text(), dot.get_attribute("transform")
    page.evaluate(COUNT_SENT)
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.95 * box["width"], box["y"] + box["height"] / 2)
    expect(sentence).not_to_have_text(before[0])
    expect(dot).not_to_have_attribute("transform", before[1])
    assert page.evaluate("window.sent") == 0
    dragged = sentence.inner_text()
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"[?&]t=\d"))
    settled(page)
    assert sentence.inner_text() == dragged  # what Python draws there
    ticks = slider.locator("xpath=following-sibling::datalist").locator("option")
    assert ticks.count() >= 2  # fitted by NLL and by ECE
    gamma = page.get_by_role("slider", name="Focal map γ")
    at_old_step, shown = page.evaluate(MOVE_BOTH)
    assert at_old_step == shown  # γ was sent ahead for the temperature before: it waits
    expect(page).to_have_url(re.compile(r"[?&]g=-?\d"))
    settled(page)
    expect(sentence).not_to_have_text(shown)
    both = re.compile(re.escape(sentence.inner_text()) + "$")
    expect(gamma).to_have_attribute("aria-valuetext", both)
    dragged = sentence.inner_text()
    page.evaluate(COUNT_SENT)
    gamma.focus()
    page.keyboard.down("ArrowRight")
    expect(sentence).not_to_have_text(dragged)
    assert page.evaluate("window.sent") == 0
    moved, link = sentence.inner_text(), page.url
    page.keyboard.up("ArrowRight")
    expect(page).not_to_have_url(link)
    settled(page)
    assert sentence.inner_text() == moved
    page.locator('[data-figure="walk"]').hover()
    for form, begins in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        with page.expect_download() as download:
            page.locator(f'[data-figure="walk"] [data-title="Save as {form}"]').click()
        assert download.value.suggested_filename == f"candor_walk.{form.lower()}"
        assert Path(download.value.path()).read_bytes().startswith(begins)


@pytest.mark.nightly
def test_a_correction_is_kept_and_compared(visit):
    page = visit(OVER)
    drawn(page)
    page.get_by_role("button", name="Keep as a run").click()
    page.get_by_role("textbox", name="Name").fill("Mended")
    page.get_by_role("button", name="Keep", exact=True).click()
    expect(page).to_have_url(re.compile(r"/compare\?.*runs=digits-overconfident"))
    expect(page.locator("h1.c-sentence")).to_contain_text("Mended")
    check_axe(page)


@pytest.mark.nightly
def test_fitting_on_the_reported_rows_is_warned_of(visit):
    page = visit(OVER + "&fit=test")
    drawn(page)
    expect(page.locator(".st-key-notices")).to_contain_text("the same images that are reported")


@pytest.fixture(scope="module")
def corrupted(server):
    """Return the page of a run that was shown 19 corruptions and images of other classes."""

    def rows(n, labelled=True):
        logits = 2 * np.random.default_rng(n).normal(size=(n, 4))
        labels = logits.argmax(axis=1) * (np.arange(n) % 3 > 0) if labelled else np.full(n, -1)
        return Predictions(
            Task.MULTICLASS, ScoreKind.LOGITS, logits, labels, tuple("abcd"), labelled=labelled
        )

    sets = {
        f"corrupted-{name}-{severity}": rows(60 + k)
        for k, name in enumerate(OWN)
        for severity in SEVERITIES
    }
    splits = {"val": rows(98), "test": rows(99), "svhn": rows(90, labelled=False)} | sets
    source = RunSource("corrupted.npz", "0" * 64, None)
    library = Library(server.home, SAMPLES)
    return f"/ood?run={library.keep('Corrupted', splits, source=source, summary={}).id}"


@pytest.mark.nightly
def test_many_corruptions_stand_within_two_screens(visit, corrupted):
    last = ".st-key-map-corrupted_auroc"
    page = ends_within_two_screens(visit(corrupted, viewport=WINDOW), last)
    page.get_by_text("All 19 corruptions").click()
    expect(page.locator(last).get_by_text("Impulse noise")).to_be_visible()


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("path", "last"),
    [("/posthoc", ".st-key-figure-walk"), ("/ood", ".st-key-map-corrupted_auroc")],
)
def test_nothing_important_stands_below_two_screens(visit, path, last):
    ends_within_two_screens(visit(path, viewport=WINDOW), last)


def ends_within_two_screens(page: Page, last: str) -> Page:
    """Check where the last figure of a page ends, and that no fold stands open."""
    page.set_viewport_size(WINDOW)
    figure = page.locator(last).locator("svg.main-svg").first
    expect(figure).to_be_visible()
    settled(page)
    below = page.wait_for_function(
        """element => {
          const main = document.querySelector('[data-testid=stMain]');
          const bottom = element.getBoundingClientRect().bottom + main.scrollTop;
          return bottom <= 2 * innerHeight && bottom;
        }""",
        arg=figure.element_handle(),
    )
    assert below.json_value() > WINDOW["height"]  # it was drawn in its place
    folds = page.get_by_test_id("stMain").get_by_test_id("stExpander")
    expect(folds.locator("details[open]")).to_have_count(0)
    return page
