"""The Gamma page in a browser: scrub, pick, overlay, drop a history, plain words."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from core.histories import COLUMNS
from core.jobs.local import LocalJobs
from core.losses.bins import AdaFocalRule, ValidationBins
from core.readers.sandbox.read import read_bin_history
from core.training.config import from_json
from tests.e2e.conftest import settled
from tests.e2e.test_audit import DROP
from tests.e2e.test_dragged import COUNT_SENT

pytestmark = pytest.mark.e2e
SAMPLE = "/gamma?run=digits-adafocal"
KNOB = 16  # px, of a slider in Chromium
DRAWN = """() => document.querySelector('[data-figure=gamma_epoch] > div')._fullData.map(
  trace => [trace.x, trace.y, trace.marker?.size].map(column => Array.from(column ?? [], Number))
)"""


def slider(page: Page):
    return page.locator(".st-key-gamma_scrub").get_by_role("slider")


def maps_drawn(page: Page) -> None:
    expect(page.locator(".st-key-gamma_maps .main-svg").first).to_be_visible()
    settled(page)


def shown(page: Page, epoch: int) -> list[list[float]]:
    """Check what is written of an epoch; return the dots of its diagram."""
    expect(page.locator("h1.c-sentence")).to_contain_text(f"Over {epoch} epochs gamma")
    expect(page.locator(".st-key-gamma_right h2").first).to_contain_text(f"epoch {epoch} ")
    expect(page.locator(".c-strip .c-value").first).to_have_text(str(epoch))
    expect(slider(page)).to_have_value(str(epoch - 1))
    return [column for trace in page.evaluate(DRAWN)[2:] for column in trace]


def box(page: Page, selector: str) -> dict:
    return page.locator(selector).first.bounding_box()


def history(path: Path) -> Path:
    """A file of an AdaFocal training elsewhere: 12 epochs of 5 bins with lambda 2."""
    rng = np.random.default_rng(5)
    gamma, lines = np.ones(5), ["epoch,bin,lower,upper,count,confidence,accuracy,gamma"]
    edges = np.linspace(0.2, 1.0, 6)
    says = (edges[1:] + edges[:-1]) / 2
    for epoch in range(12):
        right = np.clip(says - rng.normal(0.02, 0.1, 5), 0, 1)
        bins = ValidationBins(edges, np.full(5, 60), says, right)
        gamma = AdaFocalRule(rate=2.0).update(gamma, bins).gamma
        for b in range(5):
            numbers = (edges[b], edges[b + 1], 60.0, says[b], right[b], gamma[b])
            lines.append(",".join([str(epoch), str(b), *(repr(float(n)) for n in numbers)]))
    path.write_text("\n".join(lines))
    return path


def test_the_first_visit_opens_the_sample_and_the_slider_scrubs(visit):
    page = visit("/gamma")
    maps_drawn(page)
    said = page.locator("h1.c-sentence")
    expect(said).to_contain_text("Over 30 epochs gamma")
    slider(page).focus()
    for epoch in (29, 28, 27):
        settled(page)  # the script of the step before would put the slider back
        slider(page).press("ArrowLeft")
        expect(said).to_contain_text(f"Over {epoch} epochs gamma")
    expect(page).to_have_url(re.compile("epoch=27"))
    expect(page.locator(".st-key-gamma_right h2").first).to_contain_text("after epoch 27")
    page.reload()
    settled(page)
    expect(said).to_contain_text("Over 27 epochs gamma")
    slider(page).focus()
    slider(page).press("End")
    expect(page).not_to_have_url(re.compile("epoch="))  # the newest is followed


@pytest.mark.nightly
def test_slider_and_box_share_a_column_and_a_cell_of_a_map_picks_its_epoch_and_bin(visit):
    page = visit(SAMPLE + "&epoch=10")
    maps_drawn(page)
    check_slider_and_box_share_a_column(page, 9)
    plot = box(page, ".st-key-gamma_maps .heatmaplayer image")
    x = plot["x"] + plot["width"] * (4.5 / 40)
    for bin_ in (3, 12):
        y = plot["y"] + plot["height"] * (1 - (bin_ - 0.5) / 15)
        page.mouse.move(x - 3, y)
        page.mouse.move(x, y)
        page.mouse.click(x, y)
        expect(page.locator("h1.c-sentence")).to_contain_text("Over 5 epochs gamma")
        expect(page.locator(".st-key-gamma_right")).to_contain_text(f"The update here, bin {bin_}")
        settled(page)
    expect(page).to_have_url(re.compile("epoch=5.*bin=12|bin=12.*epoch=5"))


def check_slider_and_box_share_a_column(page: Page, place: int) -> None:
    plot = box(page, ".st-key-gamma_maps .heatmaplayer image")
    cell = plot["width"] / 40
    column = plot["x"] + place * cell
    frame = box(page, ".c-epoch")
    assert abs(frame["x"] - column) < 2
    assert abs(frame["width"] - cell) < 2
    knob = box(page, ".st-key-gamma_scrub input")
    centre = knob["x"] + KNOB / 2 + place / 39 * (knob["width"] - KNOB)
    assert abs(centre - (column + cell / 2)) < 3


@pytest.mark.nightly
def test_play_goes_through_the_epochs_in_the_browser_and_by_one_where_motion_is_unwanted(visit):
    page = visit(SAMPLE + "&epoch=3")
    maps_drawn(page)
    plots = page.locator(".js-plotly-plot")
    plots.evaluate_all("all => all.forEach(plot => plot.dataset.stays = 'yes')")
    # seconds pass as the test has it
    page.evaluate("""() => {
        const [begin, end] = [window.setInterval, window.clearInterval];
        window.setInterval = (call, ms) =>
            ms === 1000 ? ((window.second = call), -1) : begin(call, ms);
        window.clearInterval = (id) => id === -1 ? (window.second = () => {}) : end(id);
    }""")
    page.evaluate(COUNT_SENT)
    steps, frames = page.evaluate("history.length"), []
    play = page.get_by_role("button", name="Play", exact=True)
    play.press("Enter")
    for epoch in (4, 5, 6):
        page.evaluate("() => new Promise(requestAnimationFrame)")
        frames.append(shown(page, epoch))
        if epoch < 6:
            page.evaluate("window.second()")
    assert all(now != then for now, then in pairwise(frames))
    assert page.evaluate("window.sent") == 0
    assert "epoch=3" in page.url  # passed on the way
    page.keyboard.press("Enter")  # the button is Pause now, and has the focus
    expect(play).to_be_visible()
    expect(page).to_have_url(re.compile("epoch=6"))
    expect(page.locator('[data-figure="gamma_epoch"]')).to_have_attribute(
        "aria-label", re.compile("epoch 6\\b")
    )
    settled(page)
    assert page.evaluate("window.sent") == 1
    assert page.evaluate("history.length") == steps + 1
    for drawn, sent in zip(shown(page, 6), frames[-1], strict=True):  # as Python draws it
        np.testing.assert_allclose(drawn, sent, atol=1e-3)
    stopped = 6
    page.evaluate("window.second()")
    settled(page)
    assert "epoch=6" in page.url
    shown(page, stopped)
    expect(page.locator(".js-plotly-plot:not([data-stays=yes])")).to_have_count(0)
    page.emulate_media(reduced_motion="reduce")
    page.reload()
    settled(page)
    one = page.get_by_role("button", name="Next epoch", exact=True)
    one.press("Enter")
    expect(page).to_have_url(re.compile(f"epoch={stopped + 1}"))
    page.wait_for_timeout(2500)
    assert f"epoch={stopped + 1}" in page.url
    page.emulate_media(reduced_motion="no-preference")


@pytest.mark.nightly
def test_a_replay_with_another_lambda_is_laid_over_the_panels(visit):
    page = visit(SAMPLE)
    maps_drawn(page)
    page.get_by_role("combobox", name="Compare with").click()
    page.get_by_role("option", name="A replay of this run").click()
    beside = page.locator(".c-beside")
    expect(beside).to_contain_text("the same γ in every bin")
    expect(beside).to_contain_text("Nothing was trained with it")
    rate = page.get_by_label("λ", exact=True)
    rate.fill("3")
    rate.press("Enter")
    expect(beside).to_contain_text("(replay, AdaFocal, λ = 3): γ from")
    settled(page)
    expect(page).to_have_url(re.compile("against=replay"))
    other = visit(page.url[page.url.index("/gamma") :])
    maps_drawn(other)
    expect(other.locator(".c-beside")).to_have_text(beside.inner_text())


@pytest.mark.nightly
def test_a_dropped_history_is_kept_opened_and_comes_out_as_it_went_in(visit, tmp_path):
    page = visit(SAMPLE)
    maps_drawn(page)
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("epoch,bin\n1,2\n")
    page.locator(DROP).set_input_files(str(wrong))
    expect(page.locator(".st-key-refusal")).to_contain_text("HISTORY_COLUMNS")
    settled(page)
    page.locator(DROP).set_input_files(str(history(tmp_path / "elsewhere.csv")))
    expect(page.locator(".c-eyebrow")).to_contain_text("elsewhere")
    maps_drawn(page)
    expect(page.locator(".st-key-refusal")).to_have_count(0)
    expect(page.locator("h1.c-sentence")).to_contain_text("Over 12 epochs gamma")
    expect(page.locator(".c-strip")).to_contain_text("inferred from the numbers")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Whole history, CSV").click()
    mine = read_bin_history(Path(saved.value.path()), name="back.csv").bins
    given = read_bin_history(tmp_path / "elsewhere.csv").bins
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(mine, name), getattr(given, name))


@pytest.mark.nightly
def test_a_history_dropped_among_predictions_finds_its_way(visit, tmp_path):
    page = visit("/")
    page.locator(DROP).first.set_input_files(str(history(tmp_path / "astray.csv")))
    page.get_by_role("button", name="Open it in Gamma dynamics").click()
    page.wait_for_url("**/gamma**")
    maps_drawn(page)
    expect(page.locator(".c-eyebrow")).to_contain_text("astray")


@pytest.mark.nightly
def test_a_training_is_followed_until_it_ends_and_then_is_a_run(visit, server, monkeypatch):
    monkeypatch.setenv("CANDOR_HOME", str(server.home))  # where its process keeps the run
    config = from_json(
        {
            "data": "digits",
            "model": "small_cnn",
            "loss": {"name": "adafocal", "lambda": 2.0},
            "epochs": 8,
            "device": "cpu",
            "name": "followed",
        }
    )
    (job,) = LocalJobs(server.home).submit([config], wants="cpu")
    page = visit(f"/gamma?run={job.id}")
    expect(page.locator("h1.c-sentence")).to_contain_text(
        re.compile("No epoch has finished|In the first epoch|Over")
    )
    expect(page.locator("h1.c-sentence")).to_contain_text("Over 8 epochs gamma")
    expect(page.locator(".c-eyebrow")).not_to_contain_text("Training now")
    maps_drawn(page)
    expect(page.locator(".c-eyebrow")).to_contain_text("followed · AdaFocal, λ = 2")
    expect(page.locator(".st-key-widget-look")).to_be_visible()  # its logits were kept
    slider(page).focus()
    slider(page).press("ArrowLeft")
    expect(page.locator("h1.c-sentence")).to_contain_text("Over 7 epochs gamma")
