"""What is touched of Streamlit's inside is as it was in the version that it was read in."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import streamlit as st

from pages.ui import streamlit_internals
from pages.ui.streamlit_internals import STATIC

VERSION = "1.67.0"
ROOT = Path(__file__).parents[2]
MODULE = ROOT / "pages/ui/streamlit_internals.py"
RAISED = (
    f"Streamlit is {st.__version__}; streamlit_internals.py was read in {VERSION}. Compare "
    "its imports with the new source, and the functions under Changed with those they replace. Run "
    "test_late_messages, test_session, test_downloads and test_login of tests/pages and make "
    "nightly, and look at what assets/style.css arranges. Then name the new version here."
)
ALLOWED = {"streamlit", "streamlit.delta_generator"}  # public; the latter for types
SELECTORS = re.compile(r"data-testid=\"(st\w+?)(?:-\w+)?\"|\.(st[A-Z]\w+)")


def test_streamlit_is_of_the_version_that_was_read() -> None:
    assert st.__version__ == VERSION, RAISED
    pinned = re.search(r"^streamlit==(\S+)$", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    assert pinned
    assert pinned[1] == VERSION, RAISED


def modules() -> list[Path]:
    paths = [ROOT / "app.py", *(p for top in ("core", "pages") for p in (ROOT / top).rglob("*.py"))]
    return [path for path in paths if path != MODULE]


def imported(tree: ast.AST) -> set[str]:
    """Modules of Streamlit that a module imports."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name for name in names if name.partition(".")[0] == "streamlit"}


def inside() -> set[str]:
    """Private attributes of Streamlit's objects that the module reads or sets."""
    nodes = ast.walk(ast.parse(MODULE.read_text("utf-8")))
    return {n.attr for n in nodes if isinstance(n, ast.Attribute) and re.match("_[a-zA-Z]", n.attr)}


def test_one_module_alone_touches_what_is_not_public() -> None:
    private = inside()
    assert {"_session_mgr", "_set_auth_cookie", "_scriptrunner"} <= private
    for path in modules():
        tree = ast.parse(path.read_text("utf-8"))
        assert imported(tree) <= ALLOWED, path
        read = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not read & private, path


def test_the_rule_sees_what_it_forbids() -> None:
    source = "from streamlit.runtime import Runtime\nimport streamlit.web.cli as cli\n"
    assert imported(ast.parse(source)) == {"streamlit.runtime", "streamlit.web.cli"}


@cache
def front_end() -> str:
    return "".join(path.read_text("utf-8") for path in STATIC.glob("static/js/*.js"))


@pytest.mark.parametrize("name", ["style.css", "figure.js", "dragged.js", "play.js"])
def test_the_browser_is_given_the_names_that_assets_go_by(name: str) -> None:
    text = (ROOT / "assets" / name).read_text("utf-8")
    names = {testid or css for testid, css in SELECTORS.findall(text)}
    assert {name for name in names if name not in front_end()} == set(), RAISED
    assert names or name in ("dragged.js", "play.js")


def test_its_page_and_its_copy_of_plotly_are_where_they_are_looked_for() -> None:
    assert "<head>" in streamlit_internals.INDEX.read_text("utf-8"), RAISED
    assert (STATIC / "static" / "js" / streamlit_internals.PLOTLY).is_file(), RAISED
    assert "BACKEND_BASE_URL" in front_end(), RAISED
