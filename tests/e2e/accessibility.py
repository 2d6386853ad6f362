"""What axe says of a page, in both colour schemes of one visit."""

import json

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from tests.e2e.conftest import settled

# Streamlit's drop zone can take the focus, whatever its role.
DROP_ZONE = ("presentation-role-conflict", "stFileUploaderDropzone")
WITH_TARGETS = {"rules": {"target-size": {"enabled": True}}}  # of WCAG 2.2, off unless asked for
# Without the nodes of all rules that pass, which are megabytes; stylesheets are not fetched again.
SHORT = {"resultTypes": ["violations"], "preload": False}
FIND = """options => axe.run(options).then(found => found.violations.flatMap(
  rule => rule.nodes.map(node => [rule.id, node.html.slice(0, 200)])
))"""


def check_axe(page: Page) -> None:
    """Assert that axe finds nothing on the page, light or dark.

    The schemes differ in colours alone, so the second is asked about nothing else; it stays.
    """
    colours = {"runOnly": ["color-contrast", "link-in-text-block"]}
    for scheme, options in (("light", WITH_TARGETS), ("dark", colours)):
        page.emulate_media(color_scheme=scheme)
        violations = _found(page, options | SHORT)
        assert not violations, f"{scheme}: {json.dumps(violations, indent=1)}"


def check_dark(page: Page) -> None:
    """Assert that the page is drawn in the dark scheme's colours."""
    colours = page.evaluate(
        "() => [getComputedStyle(document.querySelector('.stApp')).backgroundColor,"
        " getComputedStyle(document.querySelector('h1.c-sentence')).color]"
    )
    assert colours == ["rgb(15, 19, 24)", "rgb(232, 234, 237)"]


def _found(page: Page, options: dict) -> list:
    """Return what axe finds, unless it passes with a redraw."""
    for _ in range(5):
        settled(page)
        if not page.evaluate("'axe' in window"):
            page.evaluate(AXE_SCRIPT)
        found = [
            (rule, html)
            for rule, html in page.evaluate(FIND, options)
            if rule != DROP_ZONE[0] or DROP_ZONE[1] not in html
        ]
        if not found:
            break
        page.wait_for_timeout(1000)
    return found
