"""What is touched of Streamlit's inside is as it was in the version that it was read in."""

import ast
import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import cast

import pytest
import streamlit as st
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.runtime import memory_media_file_storage
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.web.server.starlette import starlette_auth_routes as auth

from pages.ui import server, streamlit_internals
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
# Ids, variants and classes of the front end, and attributes but those of our own figures
SELECTORS = re.compile(
    r"data-(?:testid|variant)=\"(\w+?)(?:-\w+)?\"|\.(st[A-Z]\w+)|\[(data-(?!figure|testid|variant)\w+)"
)


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
    names = {name for match in SELECTORS.findall(text) for name in match if name}
    assert {name for name in names if name not in front_end()} == set(), RAISED
    assert names or name in ("dragged.js", "play.js")
    if name == "style.css":
        assert {"InputInstructions", "segmented_control", "stBaseButton", "data-tag"} <= names


def test_what_is_changed_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    record = UploadedFileRec(file_id="a", name="a.csv", type="text/csv", data=b"0.5")
    file = streamlit_internals.UploadedFile(record, FileURLs())
    assert deepcopy(file) is file
    ours = {
        MemoryFragmentStorage.lookup: streamlit_internals.lookup,
        AppSession.request_rerun: streamlit_internals.request_rerun,
        ScriptRunContext.reset: streamlit_internals.reset,
        memory_media_file_storage._calculate_file_id: streamlit_internals.file_id,
    }
    assert all(used is own for used, own in ours.items())
    assert auth._set_auth_cookie.__module__ == streamlit_internals.__name__  # by pages.ui.server

    async def begin_and_end() -> None:
        async with server.lifespan(cast(st.App, None)):
            assert PagesManager.uses_pages_directory is False

    for name in ("configure_malloc", "_end_requests_by_signal", "expire"):  # nothing is served
        monkeypatch.setattr(server, name, lambda: None)
    monkeypatch.setattr(PagesManager, "uses_pages_directory", None)
    with ThreadPoolExecutor(1) as pool:  # in this thread a browser may have its loop
        pool.submit(lambda: asyncio.run(begin_and_end())).result()


def test_its_page_and_its_copy_of_plotly_are_where_they_are_looked_for() -> None:
    assert "<head>" in streamlit_internals.INDEX.read_text("utf-8"), RAISED
    assert (STATIC / "static" / "js" / streamlit_internals.PLOTLY).is_file(), RAISED
    assert "BACKEND_BASE_URL" in front_end(), RAISED
