"""Take the pictures of the README and the docs from the running app on the sample runs.

`--only compare --only theory` takes some of the pages that need no training, `--only curves` the
bins of cross-entropy and the gammas within epochs of two short trainings. `--vision
deuteranopia` takes them as someone would see them who cannot tell green from red; give it another
folder with `--to`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from sklearn.datasets import load_sample_image

from core.datasets.shifts import OWN, SEVERITIES
from core.jobs.local import LocalJobs
from core.training.config import from_json
from core.training.submission import FIRST
from tests.e2e.conftest import FLAGS, PATIENCE_S, ROOT, Server, chromium, settled, start

LOSSES = [f"cifar10-{loss}" for loss in ("ce", "focal-3", "flsd-53", "adafocal", "fcl", "brier")]
SHOTS = {
    "runs": ("/", 720),
    "reliability": ("/reliability?run=digits-overconfident", 1060),
    "posthoc": ("/posthoc?run=digits-overconfident&methods=ts,focal_map,focal_ts,isotonic", 1240),
    "theory": ("/theory", 900),
    "plain": ("/reliability?run=digits-overconfident&plain=true", 960),
    "gamma": ("/gamma?run=cifar10-adafocal", 1420),
    "gamma_plain": ("/gamma?run=cifar10-adafocal&plain=true", 1080),
    "published": ("/published", 1240),
    "report": ("/report?run=digits-overconfident", 720),
}
# Other processes look at a film or resample runs, and the numbers of the clinic take a while.
SLOW = {
    "compare": ("/compare?runs=" + ",".join(LOSSES), 1000),
    "xray": ("/xray", 1300),
    "xray_plain": ("/xray?plain=true", 1300),
    "xray_three": ("/xray?models=phantom-ce,phantom-focal-3,phantom-fcl", 1500),
    "xray_findings": ("/xray?show=findings&run=phantom-ce", 1240),
    "xray_finding": ("/xray?show=finding&run=phantom-ce", 1900),
}
SLOW_S = 30
FIRST_S = 2.5  # figures fade in
# Whether nothing waits for its numbers or its component: on a busy machine that takes a while.
DRAWN = """() => !document.querySelector('[data-testid="stSkeleton"]')
  && [...document.querySelectorAll('[data-testid="stPlotlyChart"]')].every(
    figure => figure.querySelector('.main-svg')
  )"""
VISIONS = ("none", "deuteranopia", "protanopia", "tritanopia", "achromatopsia")
# A training while it runs and once it has ended; jobs go on while the pictures are taken.
TRAINING = FIRST | {"device": "cpu"}
DURING_EPOCHS = 40
# Of many small batches, so that gammas are updated within epochs.
CURVES = {"data": "digits", "model": "small_cnn", "batch_size": 4, "epochs": 15, "device": "cpu"}
CURVED = ({"name": "ce"}, {"name": "adafocal", "update_every": "100"})
MORE_CURVES = ".st-key-job-more"
TEXTURES = "textures"


def take(
    browser: Browser,
    url: str,
    height: int,
    target: Path,
    *,
    wait_s: float = FIRST_S,
    vision: str = "none",
    opened: str = "",
) -> None:
    """Take a page in light and dark, as seen with a deficiency of VISIONS; or a fold, opened."""
    for scheme in ("light", "dark"):
        page = browser.new_page(viewport={"width": 1360, "height": height}, color_scheme=scheme)
        page.set_default_timeout(1000 * PATIENCE_S)
        page.context.new_cdp_session(page).send(
            "Emulation.setEmulatedVisionDeficiency", {"type": vision}
        )
        page.goto(url)
        settled(page)
        page.wait_for_function(DRAWN)
        page.wait_for_timeout(1000 * wait_s)
        path = target.with_name(f"{target.name}_{scheme}.png")
        if opened:
            fold = page.locator(opened)
            fold.locator("summary").first.click()
            page.wait_for_timeout(1000 * wait_s)
            box = fold.bounding_box()
            assert box is not None
            page.set_viewport_size({"width": 1360, "height": height + int(box["height"])})
            page.wait_for_function(DRAWN)
            page.wait_for_timeout(1000 * wait_s)
            fold.screenshot(path=path)
        else:
            page.screenshot(path=path)
        page.close()


def take_training(browser: Browser, server: Server, target: Path) -> str:
    """Take the Train page while something runs and waits, then its gammas live, then at the end.

    Return the id of a training that has ended.
    """
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
    return first.id


def take_curves(browser: Browser, server: Server, target: Path) -> None:
    """Take bins of cross-entropy by epoch, and gammas that were updated within epochs."""
    jobs = LocalJobs(server.home)
    plain, adafocal = jobs.submit([from_json(CURVES | {"loss": loss}) for loss in CURVED])
    wait_for(lambda: all(jobs.get(job.id).state.ended for job in (plain, adafocal)))
    url = f"{server.url}/train?job={plain.id}"
    take(browser, url, 1100, target / "train_curves", opened=MORE_CURVES)
    take(browser, f"{server.url}/gamma?run={adafocal.id}", 1420, target / "gamma_within")


def take_evaluation(browser: Browser, server: Server, training: str, target: Path) -> None:
    """Take what an evaluation of a training says of corrupted digits and of photographs."""
    take(browser, f"{server.url}/evaluate", 800, target / "evaluate")
    sets = [f"--set=corrupted-{one}-{severity}" for one in OWN for severity in SEVERITIES]
    command = [
        sys.executable,
        "-m",
        "core",
        "evaluate",
        training,
        "--data",
        "digits",
        "--json",
        "-",
    ]
    done = subprocess.run(
        [
            *command,
            "--name=AdaFocal on digits, evaluated",
            f"--set=folder={textures(server)}",
            *sets,
        ],
        cwd=ROOT,
        env=os.environ | {"CANDOR_HOME": str(server.home)},
        capture_output=True,
        check=True,
    )
    run = json.loads(done.stdout)["run"]
    take(browser, f"{server.url}/evaluate?job={run}", 900, target / "evaluate_after")
    take(browser, f"{server.url}/ood?run={run}", 2400, target / "ood", wait_s=20)
    take(browser, f"{server.url}/ood?run={run}&plain=true", 960, target / "ood_plain")


def textures(server: Server) -> Path:
    """Return a folder of pieces of the photographs that come with scikit-learn."""
    folder = server.home.parent / TEXTURES
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in ("china.jpg", "flower.jpg"):
        picture = Image.fromarray(load_sample_image(name))
        for number in range(100):
            left, top = rng.integers(0, 560), rng.integers(0, 350)
            piece = picture.crop((left, top, left + 70, top + 70))
            piece.save(folder / f"{name[:-4]}{number:02}.png")
    return folder


def wait_for(there: Callable[[], bool]) -> None:
    """Wait until something is there."""
    while not there():
        time.sleep(0.1)


def main() -> None:
    """Write <name>_<light|dark>.png into docs/screenshots or another folder."""
    pages = SHOTS | SLOW
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=[*pages, "curves"], action="append")
    parser.add_argument("--vision", choices=VISIONS, default="none")
    parser.add_argument("--to", type=Path, default=ROOT / "docs" / "screenshots")
    given = parser.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        os.environ["CANDOR_IMPORT"] = folder  # the page may open the pictures again
        server = start(Path(folder) / "home", Path(folder) / "log.txt")
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            for name in [name for name in given.only or pages if name != "curves"]:
                path, height = pages[name]
                wait_s = SLOW_S if name in SLOW else FIRST_S
                url, target = server.url + path, given.to / name
                take(browser, url, height, target, wait_s=wait_s, vision=given.vision)
            if not given.only or "curves" in given.only:
                take_curves(browser, server, given.to)
            if not given.only:
                training = take_training(browser, server, given.to)
                take_evaluation(browser, server, training, given.to)
        finally:
            browser.close()
            server.stop()


if __name__ == "__main__":
    main()
