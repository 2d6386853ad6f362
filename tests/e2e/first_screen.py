"""The words of a page that are seen before anything is scrolled, in a window of 1280 x 720."""

import re
from typing import Final

from playwright.sync_api import Page

WINDOW: Final = {"width": 1280, "height": 720}
OPEN, EMPTY = 120, 60  # words, docs/style.md rule 15
# Text in sight, without what is looked at or looked up (figures, rows of tables), without icons,
# navigation, and labels that only a screen reader has.
IN_SIGHT = """() => {
  const main = document.querySelector('[data-testid=stMain]'), texts = [];
  const unread = '[data-testid=stIconMaterial], .st-key-views';
  const left_out = `svg, .js-plotly-plot, tbody, style, ${unread}`;
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


def words_in_sight(page: Page) -> list[str]:
    """Return the words of a page's first screen; a number without a letter is none."""
    page.set_viewport_size(WINDOW)
    texts = page.evaluate(IN_SIGHT)
    return [word for text in texts for word in text.split() if re.search("[^\\W\\d_]", word)]
