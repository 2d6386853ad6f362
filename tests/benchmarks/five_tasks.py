"""Five tasks as a new user would do them: clicks, seconds and words on the way.

Run from the project's folder: python -m tests.benchmarks.five_tasks
A fresh home, a window of 1280 x 720, beginning on the Runs page once it is drawn. A click is a
click, a file that is chosen, or a word that is typed. Words are those on the screen that had not
been there before, at the beginning, before each click, and at the answer; what is drawn on a canvas
(the list of runs) and the sidebar are not counted. Seconds are by the clock, by a hand that does
not wait: what the app needs, and nobody's time to read.
"""

import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from core.xray import phantom
from tests.e2e import files
from tests.e2e.conftest import FLAGS, PATIENCE_S, chromium, settled, start

WINDOW = {"width": 1280, "height": 720}
FILE_INPUT = '[data-testid="stFileUploaderDropzoneInput"]'
ROW_PX, TICK_X, NAME_X = 35, 16, 60  # of the list of runs
ON_SCREEN = """() => {
  const texts = [];
  const walker = document.createTreeWalker(document.querySelector('[data-testid=stMain]'),
                                           NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    const box = range.getBoundingClientRect(), parent = walker.currentNode.parentElement;
    const inside = box.width > 1 && box.height > 1 && box.top < innerHeight && box.bottom > 0;
    if (inside && parent.checkVisibility({opacityProperty: true, visibilityProperty: true}))
      texts.push(walker.currentNode.textContent.trim());
  }
  return texts.filter(text => text);
}"""


@dataclass
class Walk:
    """One task under way.

    Attributes
    ----------
    page : Page
    folder : Path
        For files that are dropped.
    clicks, words : int
        So far.
    """

    page: Page
    folder: Path
    clicks: int = 0
    words: int = 0
    _texts: set[str] = field(default_factory=set)

    def read(self) -> None:
        """Count the words on the screen that were not there before."""
        settled(self.page)
        fresh = set(self.page.evaluate(ON_SCREEN)) - self._texts
        self._texts |= fresh
        self.words += sum(len(text.split()) for text in fresh)

    def click(self, target: Locator) -> None:
        """Read, then click."""
        self.read()
        target.click()
        self.clicks += 1

    def button(self, name: str) -> None:
        """Read, then click a button whose name begins so."""
        self.click(self.page.get_by_role("button", name=re.compile(f"^{name}")).first)

    def choose(self, target: Locator, path: Path) -> None:
        """Read, then choose a file."""
        self.read()
        target.set_input_files(str(path))
        self.clicks += 1

    def find_runs(self, text: str, n: int) -> None:
        """Read, then type into the search over the list of runs, until it lists n."""
        self.read()
        self.page.get_by_role("searchbox", name="Search").fill(text)
        self.clicks += 1
        table = self.page.locator('[data-testid="stDataFrame"] canvas table').first
        expect(table).to_have_attribute("aria-rowcount", str(n + 1))
        settled(self.page)

    def row(self, row: int, x: int = TICK_X) -> None:
        """Read, then click a row of the list of runs."""
        self.read()
        box = self.page.locator('[data-testid="stDataFrame"]').first.bounding_box()
        assert box is not None
        y = box["y"] + ROW_PX * (row + 1.5)
        self.page.mouse.click(box["x"] + x, y)
        self.clicks += 1
        settled(self.page)

    def answered(self, answer: Locator) -> None:
        """Wait for the answer and read it."""
        expect(answer.first).to_be_visible()
        self.read()


def audit_a_file(walk: Walk) -> None:
    """Is this model over-confident? From a file of logits to the sentence and the diagram."""
    walk.choose(walk.page.locator(FILE_INPUT).first, files.npz_logits(walk.folder))
    walk.page.wait_for_url("**/reliability**")
    walk.answered(walk.page.locator('[data-testid="stPlotlyChart"] .main-svg'))


def find_the_worst_label(walk: Walk) -> None:
    """Which of the labels of a run is furthest off?"""
    walk.find_runs("traits", 1)
    walk.row(0, NAME_X)
    walk.page.wait_for_url("**/reliability**")
    walk.answered(walk.page.locator("h2", has_text="Labels"))


def compare_three_runs(walk: Walk) -> None:
    """Which of three runs has the smallest ECE, and is that more than chance?"""
    walk.find_runs("digits", 7)
    for row in range(3):
        walk.row(row)
    walk.button("Compare 3")
    walk.page.wait_for_url("**/compare?runs=*")
    walk.answered(walk.page.locator(".c-compare tbody tr"))


def explain_a_film(walk: Walk) -> None:
    """What does a model say of this film, what is that worth, and where does it come from?"""
    path = walk.folder / "film.png"
    Image.fromarray(phantom.draw(2, 0).pixels).resize((512, 512)).save(path)
    walk.click(walk.page.get_by_role("link", name="Clinic"))
    walk.page.wait_for_url("**/xray**")
    walk.button("Add films")
    zone = walk.page.locator('[data-testid="stPopoverBody"] input[type=file]')
    walk.choose(zone.first, path)
    expect(walk.page.locator(".c-eyebrow")).to_contain_text("Film 1")
    expect(walk.page.locator("h1.c-sentence")).to_have_text(re.compile("scores|means nothing"))
    if walk.page.get_by_test_id("stPopoverBody").is_visible():  # it hides the answer
        walk.page.keyboard.press("Escape")
        walk.clicks += 1
    walk.answered(walk.page.get_by_text("The findings of this film"))


def hand_on_a_report(walk: Walk) -> None:
    """From a run in the list to one file to send."""
    walk.find_runs("over", 1)
    walk.row(0, NAME_X)
    walk.page.wait_for_url("**/reliability**")
    settled(walk.page)
    walk.click(walk.page.get_by_role("link", name="Report"))
    walk.page.wait_for_url("**/report**")
    walk.button("Make report")
    html = walk.page.get_by_role("button", name=re.compile("^HTML"))
    expect(html).to_be_visible()
    with walk.page.expect_download() as download:
        walk.click(html)
    assert download.value.path().stat().st_size


TASKS: dict[str, Callable[[Walk], None]] = {
    "audit a file": audit_a_file,
    "find the worst label": find_the_worst_label,
    "compare three runs": compare_three_runs,
    "explain a film": explain_a_film,
    "hand on a report": hand_on_a_report,
}


def walked(browser: Browser, url: str, task: Callable[[Walk], None], folder: Path) -> str:
    """Do a task in a session of its own; return clicks, seconds and words as cells."""
    context = browser.new_context(viewport=WINDOW, color_scheme="light")  # type: ignore[arg-type]
    context.set_default_timeout(1000 * PATIENCE_S)
    page = context.new_page()
    page.goto(url)
    settled(page)
    walk = Walk(page, folder)
    began = time.monotonic()
    task(walk)
    seconds = time.monotonic() - began
    context.close()
    return f"{walk.clicks} | {seconds:.0f} | {walk.words}"


def main() -> None:
    """Print a table: a task a row."""
    print("| task | clicks | seconds | words |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        server = start(folder / "home", folder / "log.txt")
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            for task, steps in TASKS.items():
                print(f"| {task} | {walked(browser, server.url, steps, folder)} |", flush=True)
        finally:
            browser.close()
            server.stop()


if __name__ == "__main__":
    main()
