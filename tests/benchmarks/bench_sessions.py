"""Ten browser sessions beside a training: how long a rerun takes in each, and without a training.

Run from the project's folder: python -m tests.benchmarks.bench_sessions [--rounds N]
Every session sits on an audit page and changes a setting, one after another or all in the same
moment, in one real browser on the same cores.
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from core.jobs.local import LocalJobs
from core.jobs.records import JobState
from core.training.config import from_json
from tests.e2e.conftest import FLAGS, chromium, settled, start

PATHS = (
    "/reliability?run=digits-overconfident",
    "/reliability?run=cifar10-ce",
    "/posthoc?run=digits-overconfident",
    "/compare?runs=digits-ce,digits-adafocal",
    "/reliability?run=digits-traits",
)
N_SESSIONS = 10
AWAKE = (  # a page that is not in front is as quick as the one that is
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
)
TRAINING = {
    "data": "digits",
    "model": "small_cnn",
    "loss": {"name": "adafocal"},
    "epochs": 10_000,
    "device": "cpu",
}
SWITCH = "[data-testid=stSidebar] input[type=checkbox]"
QUIET_MS = 1_500
# What a user waits for is the last change of the page; the wait for more is not counted.
WATCH = """() => {
  window.took = null;
  const began = performance.now();
  let last = began;
  const observer = new MutationObserver(() => { last = performance.now(); });
  observer.observe(document.querySelector('[data-testid=stMain]'),
                   {subtree: true, childList: true, characterData: true});
  const look = () => {
    if (last > began && performance.now() - last > QUIET) {
      observer.disconnect();
      window.took = last - began;
    } else { setTimeout(look, 50); }
  };
  look();
  document.querySelector('SWITCH').click();
}""".replace("SWITCH", SWITCH).replace("QUIET", str(QUIET_MS))


def measure(pages: list[Page], n_rounds: int, *, at_once: bool) -> list[float]:
    """Return the seconds of every rerun; each turns the Plain-words switch of its page."""
    found = []
    for _ in range(n_rounds):
        for group in [pages] if at_once else [[page] for page in pages]:
            for page in group:
                page.evaluate(WATCH)
            for page in group:
                page.wait_for_function("() => window.took !== null", polling=50, timeout=30_000)
                found.append(page.evaluate("window.took") / 1000)
    return found


def opened(browser: Browser, url: str) -> list[Page]:
    """Open the sessions, each with its own page."""
    pages = []
    for n in range(N_SESSIONS):
        page = browser.new_context().new_page()
        page.goto(url + PATHS[n % len(PATHS)])
        settled(page)
        page.wait_for_selector(SWITCH, state="attached")
        pages.append(page)
    return pages


def report(name: str, pages: list[Page], n_rounds: int) -> None:
    """Print the reruns one after another and all at once."""
    for words, at_once in (("one after another", False), ("all in the same moment", True)):
        found = measure(pages, n_rounds, at_once=at_once)
        print(f"| {name} | {words} | {statistics.median(found):.2f} s | {max(found):.2f} s |")


def main() -> None:
    """Print the reruns with and without a training beside them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=6)
    n_rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder) / "home"
        os.environ["CANDOR_HOME"] = str(home)
        server = start(home, Path(folder) / "log.txt")
        browser = playwright.chromium.launch(executable_path=chromium(), args=[*FLAGS, *AWAKE])
        jobs = LocalJobs(home)
        try:
            pages = opened(browser, server.url)
            measure(pages, 2, at_once=False)  # what is computed once is computed now
            print("| ten sessions | rerun | median | slowest |\n|---|---|---|---|")
            report("without a training", pages, n_rounds)
            (job,) = jobs.submit([from_json(TRAINING)])
            while jobs.progress(job.id) is None:
                time.sleep(0.2)
            report("beside a training", pages, n_rounds)
            progress = jobs.progress(job.id)
            assert progress is not None
            assert jobs.get(job.id).state is JobState.RUNNING
            print(f"\nThe training meanwhile: {progress.images_per_second:.0f} images/s")
            jobs.cancel(job.id)
            while not jobs.get(job.id).state.ended:
                time.sleep(0.2)
        finally:
            browser.close()
            server.stop()


if __name__ == "__main__":
    main()
