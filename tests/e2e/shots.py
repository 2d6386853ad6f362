"""Take the pictures of the README and the docs from the running app on the sample runs."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from core.jobs.local import LocalJobs
from core.training.config import from_json
from core.training.submission import FIRST
from tests.e2e.conftest import FLAGS, ROOT, Server, chromium, settled, start

LOSSES = [f"cifar10-{loss}" for loss in ("ce", "focal-3", "flsd-53", "adafocal", "fcl", "brier")]
SHOTS = {
    "runs": ("/", 720),
    "reliability": ("/reliability?run=digits-overconfident", 1060),
    "posthoc": ("/posthoc?run=digits-overconfident&methods=ts,focal_map,focal_ts,isotonic", 1240),
    "compare": ("/compare?runs=" + ",".join(LOSSES), 1000),
    "theory": ("/theory", 900),
    "plain": ("/reliability?run=digits-overconfident&plain=true", 960),
    "gamma": ("/gamma?run=cifar10-adafocal", 1420),
    "gamma_plain": ("/gamma?run=cifar10-adafocal&plain=true", 1080),
}
# A training while it runs and once it has ended; jobs go on while the pictures are taken.
TRAINING = FIRST | {"device": "cpu"}
DURING_EPOCHS = 40


def take(browser: Browser, url: str, height: int, target: Path) -> None:
    """Take a page in light and dark."""
    for scheme in ("light", "dark"):
        page = browser.new_page(viewport={"width": 1360, "height": height}, color_scheme=scheme)
        page.goto(url)
        settled(page)
        page.wait_for_timeout(2500)  # figures fade in
        page.screenshot(path=target.with_name(f"{target.name}_{scheme}.png"))
        page.close()


def take_training(browser: Browser, server: Server, target: Path) -> None:
    """Take the Train page while something runs and waits, then its gammas live, then at the end."""
    jobs = LocalJobs(server.home)
    first, second = jobs.submit([from_json(TRAINING | {"seed": seed}) for seed in (0, 1)])
    wait_for(lambda: len(jobs.folder(first.id).lines()) >= DURING_EPOCHS)
    take(browser, f"{server.url}/train?job={first.id}", 1100, target / "train_during")
    take(browser, f"{server.url}/train", 1000, target / "train_queue")
    wait_for(lambda: len(jobs.folder(second.id).lines()) >= DURING_EPOCHS)
    take(browser, f"{server.url}/gamma?run={second.id}", 1420, target / "gamma_during")
    wait_for(lambda: jobs.get(second.id).state.ended)
    take(browser, f"{server.url}/train?job={first.id}", 1100, target / "train_after")
    take(browser, f"{server.url}/train?job={first.id}&plain=true", 700, target / "train_plain")
    take(browser, f"{server.url}/gamma?run={first.id}", 1420, target / "gamma_after")


def wait_for(there: Callable[[], bool]) -> None:
    """Wait until something is there."""
    while not there():
        time.sleep(0.1)


def main() -> None:
    """Write docs/screenshots/<name>_<light|dark>.png."""
    target = ROOT / "docs" / "screenshots"
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = start(Path(folder) / "home", Path(folder) / "log.txt")
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            for name, (path, height) in SHOTS.items():
                take(browser, server.url + path, height, target / name)
            take_training(browser, server, target)
        finally:
            browser.close()
            server.stop()


if __name__ == "__main__":
    main()
