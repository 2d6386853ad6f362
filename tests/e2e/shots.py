"""Take the pictures of the README and the docs from the running app on the sample runs."""

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.e2e.conftest import FLAGS, ROOT, chromium, settled, start

LOSSES = [f"cifar10-{loss}" for loss in ("ce", "focal-3", "flsd-53", "adafocal", "fcl", "brier")]
SHOTS = {
    "runs": ("/", 720),
    "reliability": ("/reliability?run=digits-overconfident", 1060),
    "posthoc": ("/posthoc?run=digits-overconfident&methods=ts,focal_map,focal_ts,isotonic", 1240),
    "compare": ("/compare?runs=" + ",".join(LOSSES), 1000),
    "theory": ("/theory", 900),
    "plain": ("/reliability?run=digits-overconfident&plain=true", 960),
}


def main() -> None:
    """Write docs/screenshots/<name>_<light|dark>.png."""
    target = ROOT / "docs" / "screenshots"
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = start(Path(folder) / "home", Path(folder) / "log.txt")
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            for name, (path, height) in SHOTS.items():
                for scheme in ("light", "dark"):
                    page = browser.new_page(
                        viewport={"width": 1360, "height": height}, color_scheme=scheme
                    )
                    page.goto(server.url + path)
                    settled(page)
                    page.wait_for_timeout(2500)  # figures fade in
                    page.screenshot(path=target / f"{name}_{scheme}.png")
                    page.close()
        finally:
            browser.close()
            server.stop()


if __name__ == "__main__":
    main()
