"""A real server and a real Chromium for the browser tests."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

expect.set_options(timeout=60_000)  # no test may depend on speed
ROOT = Path(__file__).parents[2]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


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

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(home: Path, log: Path, *options: str) -> Server:
    """Start the app with its own library and wait until it answers."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    process = subprocess.Popen(
        [*command, *options],
        cwd=ROOT,
        env=os.environ | {"CANDOR_HOME": str(home)},
        stdout=(out := log.open("w")),
        stderr=subprocess.STDOUT,
    )
    out.close()  # the server has its own copy of the handle
    url = f"http://127.0.0.1:{port}"
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
                if answer.status == 200:
                    return Server(url, home, process, log)
        except OSError:
            time.sleep(0.2)
    process.kill()
    raise AssertionError(f"the server did not come up:\n{log.read_text()}")


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    running = start(folder / "home", folder / "log.txt")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def visit(browser: Browser, server: Server):
    """Return a function that opens a path in a browser context of its own."""
    contexts = []

    def opened(path: str = "/", *, url: str | None = None, **options) -> Page:
        settings = {"viewport": {"width": 1440, "height": 1000}, "accept_downloads": True}
        context = browser.new_context(**(settings | options))
        context.set_default_timeout(60_000)
        contexts.append(context)
        page = context.new_page()
        page.goto((url or server.url) + path)
        settled(page)
        return page

    yield opened
    for context in contexts:
        context.close()


def settled(page: Page) -> None:
    """Wait until the app has drawn and no script runs."""
    page.wait_for_selector("h1.c-sentence")
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
