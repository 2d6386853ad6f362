"""What of a page is seen before anything is scrolled, in a window of 1280 x 720.

`python -m tests.e2e.first_screen` prints its words and controls, a row a page of the browser tests;
`--only NAME` some of them.
"""

import argparse
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from playwright.sync_api import Page, sync_playwright

WINDOW: Final = {"width": 1280, "height": 720}
OPEN, EMPTY = 120, 60  # words, docs/style.md rule 15
WITH_FIGURES = 200  # words, those in figures and rows of tables with them
CONTROLS = 12
DRAWN_MS = 2_000  # after which what a page draws by itself is there
# Text in sight, without icons, navigation and labels that only a screen reader has; unless figures
# count, without what is looked at or looked up (figures, rows of tables) as well.
IN_SIGHT = """figures => {
  const main = document.querySelector('[data-testid=stMain]'), texts = [];
  const unread = '[data-testid=stIconMaterial], .st-key-views';
  const left_out = figures ? `style, ${unread}` : `svg, .js-plotly-plot, tbody, style, ${unread}`;
  const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement, range = document.createRange();
    if (parent.closest(left_out) || !parent.checkVisibility({visibilityProperty: true})) continue;
    let unseen = false;
    for (let e = parent; e !== main; e = e.parentElement)
      unseen ||= getComputedStyle(e).clipPath.startsWith('inset(50%');
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (!unseen && box.width > 0 && box.bottom > 0 && box.top < innerHeight) texts.push(node.data);
  }
  return texts;
}"""


# What a person can press, type into or move, each once: a group of radios, a strip of films, a list
# with what is chosen from it and a field with its steppers are one. Without navigation, helps, and
# the buttons of a figure that is pointed at.
CONTROLS_IN_SIGHT = """() => {
  const main = document.querySelector('[data-testid=stMain]'), controls = new Map();
  const any = 'button, a[href], input, select, textarea, summary, canvas[tabindex], [role=button]';
  const whole = ['Radio', 'ButtonGroup', 'MultiSelect', 'Selectbox', 'NumberInput', 'TextInput',
    'Slider', 'Checkbox', 'FileUploader', 'DataFrame', 'Pills', 'SegmentedControl'].map(
      name => `[data-testid=st${name}]`).join() + ', .st-key-xray_films';
  const views = '.st-key-views, .st-key-widget-show', help = '[data-testid=stTooltipIcon]';
  const left_out = `${views}, ${help}, .modebar, .js-plotly-plot`;
  for (const e of main.querySelectorAll(any)) {
    const control = e.closest(whole) ?? e, box = control.getBoundingClientRect();
    const seen = control.checkVisibility({visibilityProperty: true, opacityProperty: true});
    if (!seen || e.closest(left_out) || box.width < 2 || box.bottom <= 0) continue;
    if (box.top < innerHeight) controls.set(control, e.ariaLabel || control.innerText.slice(0, 40));
  }
  return [...controls.values()];
}"""


def words_in_sight(page: Page, *, figures: bool = False) -> list[str]:
    """Return the words of a page's first screen."""
    page.set_viewport_size(WINDOW)
    return words_of(texts_in_sight(page, figures=figures))


def texts_in_sight(page: Page, *, figures: bool) -> list[str]:
    """Return the texts in sight, those in figures and rows of tables only where `figures`."""
    texts: list[str] = page.evaluate(IN_SIGHT, figures)
    return [text.strip() for text in texts]


def words_of(texts: Iterable[str]) -> list[str]:
    """Return the words of texts; a number without a letter is none."""
    return [word for text in texts for word in text.split() if re.search("[^\\W\\d_]", word)]


def controls_in_sight(page: Page) -> list[str]:
    """Return what the controls of a page's first screen are called."""
    page.set_viewport_size(WINDOW)
    return page.evaluate(CONTROLS_IN_SIGHT)


def main() -> None:
    """Print a table: a page a row."""
    from tests.e2e.conftest import FLAGS, chromium, go, new_page, settled, start
    from tests.e2e.test_server import PAGES

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PAGES, action="append", metavar="NAME")
    only = parser.parse_args().only or PAGES
    print("| page | words | with figures and tables | controls |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        server = start(Path(name) / "home", Path(name) / "log.txt")
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            page = new_page(browser)
            for place in only:
                go(page, server.url + PAGES[place])
                page.wait_for_timeout(DRAWN_MS)
                settled(page)
                counts = [len(words_in_sight(page, figures=also)) for also in (False, True)]
                controls = controls_in_sight(page)
                print("|", place, *(f"| {n}" for n in (*counts, len(controls))), "|", flush=True)
                if len(controls) > CONTROLS:
                    print(f"<!-- {controls} -->")
        finally:
            browser.close()
            server.stop()


if __name__ == "__main__":
    main()
