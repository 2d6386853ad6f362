"""Five tasks as a new user would do them: clicks, seconds and words on the way.

Run from the project's folder: python -m tests.benchmarks.five_tasks
A fresh home, a window of 1280 x 720, beginning on the Runs page once it is drawn. A click is a
click, files that are chosen together, or a word that is typed. Words are those of
`tests.e2e.first_screen`, figures and tables with them, that had not been there before: in sight at
the beginning, before each click, and at the answer. Navigation and what is drawn on a canvas (the
list of runs) are not counted. Seconds are by the clock, without looks at a page until it is still:
what the app needs, and nobody's time to read.
"""

import argparse
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.e2e import files
from tests.e2e.conftest import FLAGS, PATIENCE_S, chromium, settled, start
from tests.e2e.first_screen import WINDOW, texts_in_sight, words_of

FILE_INPUT = '[data-testid="stFileUploaderDropzoneInput"]'
ROW_PX, NAME_X = 35, 60  # of the list of runs
STILL_MS = 500  # between two looks at a page that are alike before it is read


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
    looks_s : float
        Spent on looking whether the page is still.
    """

    page: Page
    folder: Path
    clicks: int = 0
    words: int = 0
    looks_s: float = 0.0
    _texts: set[str] = field(default_factory=set)

    def read(self) -> None:
        """Count the words on the screen that were not there before."""
        settled(self.page)
        texts, before = texts_in_sight(self.page, figures=True), None
        while texts != before:
            self.page.wait_for_timeout(STILL_MS)
            self.looks_s += STILL_MS / 1000
            settled(self.page)
            texts, before = texts_in_sight(self.page, figures=True), texts
        fresh = set(texts) - self._texts
        self._texts |= fresh
        self.words += len(words_of(fresh))

    def click(self, target: Locator) -> None:
        """Read, then click."""
        self.read()
        target.click()
        self.clicks += 1

    def button(self, name: str) -> None:
        """Read, then click a button whose name begins so."""
        self.click(self.page.get_by_role("button", name=re.compile(f"^{name}")).first)

    def choose(self, target: Locator, *paths: Path) -> None:
        """Read, then choose files, all in one go."""
        self.read()
        target.set_input_files([str(path) for path in paths])
        self.clicks += 1

    def find_runs(self, text: str, n: int) -> None:
        """Read, then type into the search over the list of runs, until it lists n."""
        self.read()
        self.page.get_by_role("searchbox", name="Search").fill(text)
        self.clicks += 1
        table = self.page.locator('[data-testid="stDataFrame"] canvas table').first
        expect(table).to_have_attribute("aria-rowcount", str(n + 1))
        settled(self.page)

    def open_row(self, row: int) -> None:
        """Read, then click the name of a run in the list."""
        self.read()
        box = self.page.locator('[data-testid="stDataFrame"]').first.bounding_box()
        assert box is not None
        y = box["y"] + ROW_PX * (row + 1.5)
        self.page.mouse.click(box["x"] + NAME_X, y)
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


def mend_it_and_keep_it(walk: Walk) -> None:
    """What corrects this model, and can it be kept beside the model as it was?"""
    parts = [files.classes(seed) for seed in (0, 1)]
    arrays = {
        f"{part}_{kind}": array
        for part, both in zip(("val", "test"), parts, strict=True)
        for kind, array in zip(("logits", "labels"), both, strict=True)
    }
    np.savez(path := walk.folder / "two_parts.npz", **arrays)
    walk.choose(walk.page.locator(FILE_INPUT).first, path)
    walk.page.wait_for_url("**/reliability**")
    walk.click(walk.page.get_by_role("link", name="Post-hoc"))
    walk.page.wait_for_url("**/posthoc**")
    walk.button("Keep as a run")
    walk.button("Keep both")
    walk.page.wait_for_url("**/compare?runs=*")
    walk.answered(walk.page.locator(".c-compare tbody tr"))


def compare_eight_files(walk: Walk) -> None:
    """Which of eight files has the smallest ECE, and is that more than chance?"""
    paths = []
    for seed in range(8):
        logits, _ = files.classes(seed)
        _, labels = files.classes()
        np.savez(path := walk.folder / f"seed{seed}.npz", logits=logits, labels=labels)
        paths.append(path)
    walk.choose(walk.page.locator(FILE_INPUT).first, *paths)
    walk.button("Keep all and compare")
    walk.page.wait_for_url("**/compare?runs=*")
    walk.answered(walk.page.locator(".c-compare tbody tr"))


def explain_a_film(walk: Walk) -> None:
    """What does a model say of a film, what is that worth, and a page of it for a colleague."""
    walk.click(walk.page.get_by_role("link", name="Clinic"))
    walk.page.wait_for_url("**/xray**")
    settled(walk.page)
    walk.button("Synthetic 2")
    expect(walk.page.get_by_role("button", name="Synthetic 2 shown")).to_be_visible()
    walk.answered(walk.page.get_by_text("The findings of this film"))
    with walk.page.expect_download() as download:
        walk.button("This view, HTML")
    assert download.value.path().stat().st_size


def hand_on_a_report(walk: Walk) -> None:
    """From a run in the list to one file to send."""
    walk.find_runs("over", 1)
    walk.open_row(0)
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
    "mend it and keep the mended run": mend_it_and_keep_it,
    "compare eight files": compare_eight_files,
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
    expect(page.get_by_role("button", name="Over-confident digits")).to_be_visible()
    walk = Walk(page, folder)
    began = time.monotonic()
    task(walk)
    seconds = time.monotonic() - began - walk.looks_s
    context.close()
    return f"{walk.clicks} | {seconds:.0f} | {walk.words}"


def main() -> None:
    """Print a table: a task a row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=TASKS, action="append")
    only = parser.parse_args().only or TASKS
    print("| task | clicks | seconds | words |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        server = start(folder / "home", folder / "log.txt")
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            for task in only:
                cells = walked(browser, server.url, TASKS[task], folder)
                print(f"| {task} | {cells} |", flush=True)
        finally:
            browser.close()
            server.stop()


if __name__ == "__main__":
    main()
