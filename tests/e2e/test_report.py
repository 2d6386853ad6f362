"""A report made on its page, opened from disk with the network off, read by axe, and printed."""

import re

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from core.datasets.catalogue import FINDINGS
from core.library import SAMPLES, Library, RunSource, open_library
from core.predictions import Predictions, ScoreKind, Task
from core.reports import build
from core.reports.document import Edition
from tests.e2e.conftest import new_page

pytestmark = pytest.mark.e2e
A4_INSIDE = {"width": 680, "height": 1009}  # 210 x 297 mm without margins of 15 mm, at 96 dpi
A4 = b"/MediaBox [0 0 594.95996 841.91998]"
CUT = """() => [...document.querySelectorAll('main *')]
  .filter(e => e.getClientRects().length)
  .filter(e => { const box = e.getBoundingClientRect();
                 return box.right > innerWidth + 1 || box.left < -1; })
  .map(e => e.outerHTML.slice(0, 120))"""
TALL_CELLS = """() => [...document.querySelectorAll('td, th')]
  .map(e => { const inside = document.createRange(); inside.selectNodeContents(e);
              return [new Set([...inside.getClientRects()].map(r => Math.round(r.top))).size,
                      e.textContent]; })
  .filter(([lines]) => lines > 4)"""
BROKEN_NUMBERS = """() => [...document.querySelectorAll('td.number')]
  .filter(e => e.getClientRects().length && /^[^ ]+$/.test(e.textContent))
  .filter(e => { const inside = document.createRange(); inside.selectNodeContents(e);
                 return inside.getClientRects().length > 1; })
  .map(e => e.textContent)"""


@pytest.fixture
def offline(browser):
    """Return a page without network, and all that its console said."""
    page = new_page(browser)
    page.context.set_offline(True)
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: told.append(request.url))
    yield page, told
    page.context.close()


def check_file(page):
    """Assert that axe calls nothing of a file serious."""
    violations = Axe().run(page).response["violations"]
    serious = [v for v in violations if v["impact"] in {"serious", "critical"}]
    assert not serious, [(v["id"], v["nodes"][0]["html"][:200]) for v in serious]


def printed(page):
    """Return the PDF of a page, and assert that nothing would be cut on A4."""
    page.set_viewport_size(A4_INSIDE)
    page.emulate_media(media="print")
    assert page.evaluate(CUT) == []
    assert page.evaluate(BROKEN_NUMBERS) == []
    assert page.evaluate(TALL_CELLS) == []
    pdf = page.pdf(prefer_css_page_size=True)
    boxes = re.findall(rb"/MediaBox\s*\[[^\]]*\]", pdf)
    assert set(boxes) <= {A4}
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def test_a_report_from_its_page_opens_from_disk_and_prints(visit, offline, tmp_path):
    page = visit("/report?run=digits-overconfident")
    page.get_by_role("button", name="Make report").click()
    expect(page.get_by_text("Your report")).to_be_visible()
    preview = page.frame_locator('[data-testid="stIFrame"]')
    expect(preview.get_by_text("Over-confident by 8.2 points")).to_be_visible()
    preview.locator("body").evaluate("() => { window.print = () => document.title = 'printed' }")
    preview.get_by_role("button", name="Print").click()
    assert preview.locator("body").evaluate("() => document.title") == "printed"
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile("^HTML")).click()
    path = tmp_path / "report.html"
    download.value.save_as(path)
    own, told = offline
    own.goto(path.as_uri())
    expect(own.get_by_text("Over-confident by 8.2 points")).to_be_visible()
    assert told == [path.as_uri()]
    check_file(own)
    own.set_viewport_size({"width": 390, "height": 844})
    assert own.evaluate("() => document.documentElement.scrollWidth") == 390
    assert 2 <= printed(own) <= 10
    assert path.stat().st_size < 5_000_000


@pytest.mark.nightly
def test_a_clinical_board_says_in_its_headline_what_it_counts(visit, offline, server, tmp_path):
    rng = np.random.default_rng(2)  # one of the twelve looks off when it is looked at alone
    p = rng.uniform(0.05, 0.6, (400, 12))
    labels = (rng.random(p.shape) < p).astype(np.int64)  # calibrated, all of them
    names = FINDINGS[:12]
    rows = Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, p, labels, class_names=names)
    library = Library(server.home, SAMPLES)
    source = RunSource("ward.npz", "0" * 32)
    run = library.keep("Ward", {"test": rows}, source=source, summary={}).id
    page = visit(f"/report?run={run}&edition=board")
    page.get_by_role("button", name="Make report").click()
    expect(page.get_by_text("Your report")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile("^HTML")).click()
    path = tmp_path / "board.html"
    download.value.save_as(path)
    own, told = offline
    own.goto(path.as_uri())
    headline = "This model looks as if it expects"
    expect(own.locator(".sentence")).to_contain_text(headline)
    expect(own.locator("article.board")).to_contain_text("All 12 findings could be chance.")
    helps = re.compile("More films with known answers|Nothing here needs correcting")
    expect(own.locator("article.board")).to_contain_text(helps)
    assert told == [path.as_uri()]
    check_file(own)
    assert printed(own) == 1


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("edition", "run", "most"),
    [(Edition.BOARD, "digits-overconfident", 1), (Edition.TECHNICAL, "phantom-ce", 12)],
)
def test_other_editions_fit_their_paper(offline, tmp_path, edition, run, most):
    runs = (build.run_of_library(open_library(), run),)
    sections = build.default_sections(runs)
    request = build.ReportRequest(runs=runs, sections=sections, edition=edition)
    path = tmp_path / "report.html"
    path.write_text(build.report_files(request).html, encoding="utf-8")
    own, told = offline
    own.goto(path.as_uri())
    assert told == [path.as_uri()]
    check_file(own)
    assert printed(own) <= most
