"""What a test does with a page: open it through app.py, and read what it shows."""

import time
from collections.abc import Callable
from html import unescape
from pathlib import Path

from streamlit.testing.v1 import AppTest

APP = Path(__file__).parents[2] / "app.py"
PATIENCE_S = 600


def opened(script: str = "", **query: str | list[str]) -> AppTest:
    """Open the page of that name as its link does; the first page without a name."""
    test = AppTest.from_file(str(APP), default_timeout=PATIENCE_S)
    for name, value in query.items():
        test.query_params[name] = value
    if script:
        test.switch_page(f"pages/{script}.py")
    return test.run()


def until(test: AppTest, there: Callable[[], object]) -> AppTest:
    """Draw the page anew, as its fragments do, until something is there."""
    end = time.monotonic() + PATIENCE_S
    while not there():
        assert time.monotonic() < end
        time.sleep(0.2)
        test.run()
    return test


def unfolded(test: AppTest, figure: str) -> AppTest:
    """Open the table of a figure, which is drawn only then."""
    test.session_state[f"more.{figure}"] = True
    return fine(test.run())


def fine(test: AppTest) -> AppTest:
    """Return a page on which nothing is refused."""
    assert not test.error, test.error[0].value
    return test


def bodies(test: AppTest) -> list[str]:
    """Return the body of every st.html on the page, style sheets left out."""
    found = [one.proto.body for one in test.get("html")]
    return [body for body in found if not body.lstrip().startswith("<style")]


def html(test: AppTest) -> str:
    """Return what every st.html on the page holds."""
    return " ".join(bodies(test))


def table(test: AppTest, label: str) -> str:
    """Return the HTML of the table of that label."""
    return html(test).split(f'aria-label="{label}"')[1].split("</table>")[0]


def said(test: AppTest) -> str:
    """Return all that the page says in words."""
    texts = [one.value for kind in ("markdown", "error", "info") for one in getattr(test, kind)]
    return unescape(" ".join([html(test), *texts])).replace("\u2060", "")
