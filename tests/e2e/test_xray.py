"""A film, a finding, its heat, a check of it and what is saved, in a real browser."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from core.inference.film_model import EXAMPLES, HELD_OUT
from core.screens.xray.film import COLUMNS
from core.xray import phantom
from tests.e2e.accessibility import check_axe
from tests.e2e.conftest import check_no_sideways_scroll, settled
from tests.e2e.test_evaluate import pick

pytestmark = pytest.mark.e2e
NAME = "DOE_JANE_19500101"
FINDING = "Cardiomegaly"
PICTURE = ".st-key-xray_left img"


@pytest.fixture(scope="module")
def film() -> phantom.Phantom:
    """The page's own film of a large heart, and nothing else."""
    drawn = phantom.draw(HELD_OUT, EXAMPLES[3])
    assert list(drawn.boxes) == [FINDING]
    return drawn


@pytest.fixture
def file(film, tmp_path) -> Path:
    path = tmp_path / f"{NAME}.png"
    Image.fromarray(film.pixels).resize((512, 512)).save(path)
    return path


def drop(page: Page, *paths: Path) -> None:
    """Drop films, as a person does: open the popover, choose the files."""
    page.get_by_role("button", name="Add films").click()
    box = page.get_by_role("group", name=re.compile("^Films:")).or_(
        page.locator('[data-testid="stPopoverBody"] [data-testid="stFileUploader"]')
    )
    box.first.locator("input[type=file]").set_input_files([str(path) for path in paths])


def looked_at(page: Page) -> None:
    expect(page.get_by_text("The findings of this film").first).to_be_visible()
    settled(page)
    page.keyboard.press("Escape")
    settled(page)


def shot(page: Page) -> np.ndarray:
    """Return the film as it is seen, (H, W, 3)."""
    settled(page)
    picture = page.locator(PICTURE).first
    expect(picture).to_be_visible()
    page.mouse.move(0, 0)
    page.wait_for_timeout(500)
    seen = Image.open(io.BytesIO(picture.screenshot())).convert("RGB")
    return np.asarray(seen, np.int16)


def show(page: Page, how: str) -> np.ndarray:
    group = page.get_by_role("radiogroup", name="Show")
    group.get_by_role("radio", name=how, exact=True).click()
    settled(page)
    return shot(page)


def saved(page: Page, label: str) -> bytes:
    with page.expect_download() as got:
        page.get_by_role("button", name=label).click()
    return Path(got.value.path()).read_bytes()


def nameless(page: Page) -> None:
    """The drop zone forgets its files a moment after they were taken."""
    page.wait_for_function("name => !document.documentElement.outerHTML.includes(name)", arg=NAME)


@pytest.mark.nightly
def test_a_film_is_looked_at_checked_and_saved(visit, film, file):
    page = visit("/xray")
    looked_at(page)
    expect(page.locator(".c-banner")).to_contain_text("Research use, not a medical device.")
    drop(page, file)
    expect(page.get_by_role("button", name="Film 1 shown", exact=True)).to_be_visible()
    expect(page.get_by_test_id("stPopoverBody")).to_be_hidden()  # it would hide the answer
    # Its models were trained on synthetic films: of another, neither score nor heat is shown.
    expect(page.locator("h1.c-sentence")).to_have_text("No score of this real film is shown.")
    expect(page.get_by_role("combobox", name="Finding")).to_have_count(0)
    expect(page.get_by_role("button", name="Picture, PNG")).to_have_count(0)
    assert (np.ptp(shot(page), axis=2) < 20).all()
    nameless(page)
    page.get_by_role("button", name="Synthetic 4", exact=True).click()
    looked_at(page)
    pick(
        page,
        "Finding",
        *[name for name in page_options(page, "Finding") if name.startswith(f"{FINDING},")],
    )
    expect(page.get_by_role("button", name="Synthetic 4 shown")).to_be_visible()
    check_heat(page, film)
    check_axe(page)
    page.get_by_role("button", name="Sanity check of this map").click()
    expect(page.get_by_text("as trained: 1.00")).to_be_visible()
    expect(page.get_by_text(re.compile("randomised, its similarity"))).to_be_visible()
    check_axe(page)
    check_saved(page)


def page_options(page: Page, label: str) -> list[str]:
    page.get_by_role("combobox", name=label).click()
    found = page.get_by_role("option").all_inner_texts()
    page.keyboard.press("Escape")
    settled(page)
    return found


def check_heat(page: Page, film: phantom.Phantom) -> None:
    """The overlay changes what is seen, inside the box of the finding more than outside."""
    bare, heated, lined = (show(page, how) for how in ("Film", "Overlay", "Contour"))
    assert bare.shape == heated.shape == lined.shape
    height, width, _ = bare.shape
    left, top, right, bottom = (side / phantom.SIDE for side in film.boxes[FINDING])
    inside = np.zeros((height, width), bool)
    inside[
        round(top * height) : round(bottom * height), round(left * width) : round(right * width)
    ] = True
    changed = np.abs(heated - bare).max(axis=2) > 12
    assert changed[inside].mean() > 0.3
    assert changed[inside].mean() > changed[~inside].mean()
    lines = np.abs(lined - bare).max(axis=2) > 12
    assert 0 < lines.mean() < changed.mean()
    assert (bare.max(axis=2) - bare.min(axis=2)).max() < 20  # the film itself is grey
    show(page, "Overlay")


def check_saved(page: Page) -> None:
    sheet = Image.open(io.BytesIO(saved(page, "Picture, PNG")))
    assert sheet.size[0] == 1_200
    assert sheet.info == {}
    colours = np.asarray(sheet.convert("RGB"), np.int16)
    assert (np.ptp(colours, axis=2) > 60).mean() > 0.01  # heat
    rows = list(csv.reader(io.StringIO(saved(page, "Table, CSV").decode())))
    assert rows[0] == [column.key for column in COLUMNS]
    assert {row[1] for row in rows[1:]} == set(phantom.FINDINGS)
    assert all("not a medical device" in row[-1] for row in rows[1:])
    assert NAME not in json.dumps(rows)


@pytest.mark.nightly
def test_a_bad_film_is_refused_in_words_and_the_good_one_stays(visit, file, tmp_path):
    page = visit("/xray")
    looked_at(page)
    bad = tmp_path / f"{NAME}_2.png"
    bad.write_bytes(file.read_bytes()[:3_000])
    drop(page, file, bad)
    refusal = page.locator(".st-key-refusal")
    expect(refusal).to_contain_text("cut short or damaged")
    expect(refusal).to_contain_text("Film 2 of 2: ")
    expect(page.get_by_role("button", name="Film 1 shown", exact=True)).to_be_visible()
    nameless(page)


@pytest.mark.nightly
def test_three_models_look_at_one_film(visit):
    page = visit("/xray?film=s4&models=phantom-ce,phantom-focal-3,phantom-fcl")
    picked = page.locator(".stMultiSelect [data-tag]")
    expect(picked).to_have_count(3)
    expect(picked.last).to_be_in_viewport(ratio=1)  # the picker is wide enough for three
    table = page.get_by_role("region", name="Cardiomegaly, model by model")
    expect(table.locator("tbody tr")).to_have_count(3)
    expect(table).to_contain_text("in the box")
    expect(page.locator("h1.c-sentence")).to_contain_text("with Focal γ = 3")
    settled(page)
    check_axe(page)
    page.set_viewport_size({"width": 390, "height": 900})
    check_no_sideways_scroll(page)
    names = ("Cross-entropy:", "Focal γ = 3:", "FCL:")
    tops = [page.locator("h2", has_text=one).first.bounding_box()["y"] for one in names]
    assert min(np.diff(tops)) > 300  # one below the other


@pytest.mark.nightly
def test_a_link_keeps_its_finding_while_models_answer(visit):
    page = visit("/xray?film=s4&finding=nodule&models=phantom-ce,phantom-focal-3,phantom-fcl")
    table = page.get_by_role("region", name="Nodule, model by model")
    expect(table.locator("tbody tr")).to_have_count(3)
    expect(page).to_have_url(re.compile("finding=nodule"))


@pytest.mark.nightly
def test_dates_of_a_dropped_file_are_subgroups(visit, tmp_path):
    chance = np.random.default_rng(1).random(600).round(3)
    days = [f"2024-{1 + k % 3:02}-15" for k in range(600)]
    rows = [
        f"{d},{p},{int(k % 7 < 7 * p)}" for k, (d, p) in enumerate(zip(days, chance, strict=True))
    ]
    path = tmp_path / "dated.csv"
    path.write_text("\n".join(["visit,prob,label", *rows]) + "\n")
    page = visit("/")
    page.locator('[data-testid="stFileUploaderDropzoneInput"]').first.set_input_files(str(path))
    page.wait_for_url("**/reliability**")
    settled(page)
    page.goto(page.url.replace("/reliability?", "/xray?show=finding&"))
    settled(page)
    box = page.get_by_role("combobox", name="Groups by")
    box.click()
    box.press("ArrowDown")
    box.press("Enter")
    expect(page.get_by_text("By the month of visit")).to_be_visible()
    expect(page.get_by_text("2024-03").first).to_be_visible()
    check_no_sideways_scroll(page)
