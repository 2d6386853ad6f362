"""From a checkpoint to a run, to what it says of images it never saw, in a real browser."""

import re
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Page, expect
from torch.nn import functional

from core.datasets.load import load
from core.inference.config import Preprocessing
from core.inference.evaluate import BatchPreprocessor
from core.models.build import build
from tests.e2e.accessibility import check_axe
from tests.e2e.conftest import check_no_sideways_scroll, check_no_torch, settled
from tests.pages.evaluate_cases import harmful

pytestmark = pytest.mark.e2e
HEADING = "h1.c-sentence"
DROP = '[data-testid="stFileUploaderDropzoneInput"]'
EPOCHS = 8


@pytest.fixture
def open_page(visit, one_slot):
    def opened(path: str = "/evaluate", **options) -> Page:
        return visit(path, url=one_slot.url, **options)

    return opened


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    """A small network that has learned digits, saved as training scripts do."""
    data = load("digits", root=None, split_seed=0)
    cpu = torch.device("cpu")
    prepare = BatchPreprocessor(Preprocessing((8, 8)), 1, data.mean, data.std, cpu)
    torch.manual_seed(0)
    net = build("small_cnn", n_outputs=10, channels=1, size=(8, 8))
    steps = torch.optim.Adam(net.parameters(), 3e-3)
    for _ in range(EPOCHS):
        batches = torch.randperm(len(data.train)).split(64)
        for rows, images in zip(batches, data.train.images(batches, cpu), strict=True):
            (crop,) = prepare(images)
            loss = functional.cross_entropy(net(crop), data.train.targets[rows])
            steps.zero_grad()
            loss.backward()
            steps.step()
    states = {f"module.{name}": one for name, one in net.state_dict().items()}
    path = tmp_path_factory.mktemp("weights") / "digits_net.pth.tar"
    torch.save({"epoch": EPOCHS, "state_dict": states, "optimizer": steps.state_dict()}, path)
    return path


def drop(page: Page, path: Path) -> None:
    page.locator(DROP).first.set_input_files(str(path))


def pick(page: Page, label: str, *options: str) -> None:
    """Pick options of a list; it closes itself after the first where only one can be picked."""
    box = page.get_by_role("combobox", name=label)
    for option in options:
        entry = page.get_by_role("option", name=option, exact=True)
        for _ in range(10):  # a page drawn again meanwhile closes the list
            if not entry.is_visible():
                box.click()
                page.wait_for_timeout(500)
        entry.click()
        settled(page)
    page.keyboard.press("Escape")
    settled(page)


def matched(page: Page) -> None:
    expect(page.get_by_text("All 11 tensors fit Small CNN with 10 outputs")).to_be_visible()
    settled(page)


@pytest.mark.nightly
def test_a_checkpoint_becomes_a_run_and_is_told_from_what_it_never_saw(open_page, checkpoint):
    page = open_page()
    drop(page, checkpoint)
    matched(page)
    expect(page.get_by_role("radio", name="Small CNN")).to_be_checked()
    expect(page.get_by_text("The prefix “module.” was removed")).to_be_visible()
    expect(page.get_by_role("combobox", name="Data")).to_have_value("Digits")
    pick(page, "Further sets", "Corrupted test images")
    for gone in ("Gaussian noise", "Defocus blur", "Contrast"):
        page.get_by_role("button", name=f"Remove {gone}").click()
        settled(page)
    severity = page.locator(".st-key-evaluate-severities")
    for level in ("1", "3"):
        severity.get_by_role("button", name=level, exact=True).click()
        settled(page)
    check_axe(page)
    page.get_by_role("button", name="Try on 64 images").click()
    expect(page.get_by_text(re.compile(r"Right on 9\d\.\d"))).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Evaluate", exact=True).click()
    expect(page.locator(HEADING)).to_contain_text("is right on 9")
    settled(page)
    table = page.get_by_role("region", name="Splits and sets")
    for row in ("Test part", "Validation part", "Fog, severity 5", "JPEG compression, severity 5"):
        expect(table).to_contain_text(row)
    expect(page.get_by_text("Guessing would be right on 10.0")).to_be_visible()
    check_axe(page)
    here = page.url
    assert "job=" in here
    expect(page).to_have_title(re.compile("^Evaluate · .*small_cnn on Digits.* · Candor$"))
    page.get_by_role("button", name="Open in Reliability").click()
    expect(page).to_have_url(re.compile("/reliability.*run="))
    expect(page.get_by_role("combobox", name="Run", exact=True)).to_have_value(
        "small_cnn on Digits"
    )
    page.goto(here)  # a fresh session: the link is enough
    page.get_by_role("button", name="Open in Out of distribution").click()
    expect(page).to_have_url(re.compile("/ood.*run="))
    expect(page.get_by_role("combobox", name="Run", exact=True)).to_have_value(
        "small_cnn on Digits"
    )
    settled(page)
    passes = page.get_by_text(re.compile("The threshold that passes"))
    before = passes.inner_text()
    slider = page.get_by_role("slider", name=re.compile("False alarms"))
    slider.focus()
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("alarms=25"))
    expect(passes).not_to_have_text(before)


@pytest.mark.nightly
def test_a_program_is_refused_in_words_and_nothing_is_lost(open_page, checkpoint, tmp_path):
    page = open_page()
    drop(page, harmful(tmp_path))
    refusal = page.locator(".st-key-refusal")
    expect(refusal).to_contain_text("posix.system")
    expect(refusal).to_contain_text("PICKLE_GLOBAL")
    expect(refusal).to_contain_text("convert_checkpoint.py")
    check_axe(page)
    drop(page, checkpoint)
    matched(page)
    expect(refusal).to_have_count(0)


@pytest.mark.nightly
@pytest.mark.parametrize("width", [1440, 390])
def test_the_page_never_scrolls_sideways(open_page, one_slot, checkpoint, width):
    page = open_page(viewport={"width": width, "height": 900})
    check_no_sideways_scroll(page)
    drop(page, checkpoint)
    matched(page)
    pick(page, "Further sets", "Corrupted test images")
    page.get_by_text("Input of the network").click()
    page.get_by_text("More settings").click()
    expect(page.get_by_role("spinbutton", name="Batch size")).to_be_visible()
    check_no_sideways_scroll(page)
    check_axe(page)
    check_no_torch(one_slot)
