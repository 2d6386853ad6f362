"""A real server and a real Chromium for the browser tests."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from core.jobs.local import LocalJobs

PATIENCE_S = 240  # no test may depend on speed
expect.set_options(timeout=1000 * PATIENCE_S)
ROOT = Path(__file__).parents[2]
Result = TypeVar("Result")
BUSY = '[data-testid="stApp"]:not([data-test-script-state="notRunning"])'
VIEWPORT = {"width": 1440, "height": 1000}
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"),
    "--js-flags=--no-opt --no-maglev --max-lazy",  # no page lives long enough to repay more
]


def chromium() -> str:
    """Return the path of the browser that make installed or the user named."""
    named = os.environ.get("CANDOR_CHROMIUM")
    found = named or next(
        (p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None
    )
    assert found, "no Chromium: run `make chromium`, or set CANDOR_CHROMIUM"
    return found


@dataclass
class Server:
    """A running app: where it answers, where it keeps runs, and its process."""

    url: str
    home: Path
    process: subprocess.Popen
    log: Path
    visited: set[str] = field(default_factory=set)  # paths that it has drawn

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)

    def comes_up(self) -> bool:
        """Wait until it answers, or ends because another program took its port meanwhile."""
        until = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < until:
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=10):
                    return True
            except OSError:
                time.sleep(0.2)
        self.process.kill()
        self.process.wait()
        return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(
    home: Path, log: Path, *options: str, app: str = "app.py", env: Mapping[str, str] | None = None
) -> Server:
    """Start the app with its own library and wait until it answers."""
    for _ in range(3):
        port = free_port()
        command = [sys.executable, "-m", "streamlit", "run", app, "--server.port", str(port)]
        with log.open("w") as out:  # the server has its own copy of the handle
            process = subprocess.Popen(
                [*command, *options],
                cwd=ROOT,
                env=os.environ | {"CANDOR_HOME": str(home)} | (env or {}),
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        server = Server(f"http://127.0.0.1:{port}", home, process, log)
        if server.comes_up():
            return server
    raise AssertionError(f"the server did not come up:\n{log.read_text()}")


def awaited(coroutine: Coroutine[None, None, Result]) -> Result:
    """Run it in a thread of its own: Playwright has a loop that runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    running = start(folder / "home", folder / "log.txt")
    yield running
    running.stop()


ONE_SLOT = {
    "CANDOR_DEVICES": "cpu"
}  # for one job at a time, as the command line has to be told too


@pytest.fixture(scope="session")
def one_slot(tmp_path_factory):
    """A server that trains and evaluates one job at a time, with a library of its own."""
    folder = tmp_path_factory.mktemp("one_slot")
    running = start(folder / "home", folder / "log.txt", env=ONE_SLOT)
    yield running
    running.stop()
    jobs = LocalJobs(running.home)
    for job in jobs.list():
        jobs.cancel(job.id)


def check_no_torch(server: Server) -> None:
    """A server that imported torch would hold hundreds of MB of it."""
    maps = Path(f"/proc/{server.process.pid}/maps").read_text()
    assert "numpy" in maps  # else these are not the maps of the server
    assert "libtorch" not in maps
    assert "sklearn" not in maps


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield launched
        launched.close()


def new_page(browser: Browser, **options: Any) -> Page:
    context = browser.new_context(viewport=VIEWPORT, color_scheme="light", **options)
    context.set_default_timeout(1000 * PATIENCE_S)
    page = context.new_page()
    # Nothing is clicked, typed or expected while a script runs: what it draws takes its place.
    page.add_locator_handler(page.locator(BUSY), lambda: None)
    return page


@pytest.fixture(scope="session")
def tab(browser: Browser):
    """Return a page that keeps the app's scripts compiled: to open it again costs a third."""
    page = new_page(browser)
    yield page
    page.context.close()


@pytest.fixture
def visit(browser: Browser, server: Server, tab: Page):
    """Return a function that opens a path, first in the tab that all tests share.

    A second page of a test, or one that is `apart`, has a browser context of its own.
    """
    pages: list[Page] = []

    def opened(
        path: str = "/",
        *,
        url: str | None = None,
        apart: bool = False,
        viewport=VIEWPORT,
        color_scheme: Literal["light", "dark"] = "light",
    ) -> Page:
        page = new_page(browser) if pages or apart else tab
        pages.append(page)
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=color_scheme)
        go(page, (url or server.url) + path)
        if url is None:
            server.visited.add(path)
        return page

    yield opened
    for page in pages:
        if page is tab:
            page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
            page.goto("about:blank")
            page.context.clear_cookies()
        else:
            page.context.close()


def go(page: Page, url: str) -> None:
    """Open a link as a new session in a page, and wait until it is drawn."""
    page.goto(url)
    settled(page)


def settled(page: Page) -> None:
    """Wait until the app has drawn and no script runs."""
    page.wait_for_selector("h1.c-sentence")
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')


def tick(page: Page, *rows: int, of: int) -> None:
    """Tick rows of the table once it has so many.

    It is drawn on a canvas: the table that screen readers get tells what is drawn by now.
    """
    frame = page.locator('[data-testid="stDataFrame"]').first
    table = frame.locator("canvas table")
    expect(table).to_have_attribute("aria-rowcount", str(of + 1))  # and the header
    for row in rows:
        settled(page)
        box = frame.bounding_box()
        page.mouse.click(box["x"] + 16, box["y"] + 35 + 35 * row + 17)
        expect(table.locator("tbody tr").nth(row)).to_have_attribute("aria-selected", "true")
    settled(page)


def check_no_sideways_scroll(page: Page) -> None:
    """Figures take their width a moment after they are drawn."""
    page.wait_for_function(
        "() => { const m = document.querySelector('[data-testid=stMain]');"
        " return m.scrollWidth - m.clientWidth <= 1"
        " && document.documentElement.scrollWidth <= window.innerWidth }"
    )
