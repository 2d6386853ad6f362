"""What each page costs the server and sends to the browser: at first, again, and on a move.

Run from the project's folder: python -m tests.benchmarks.bench_pages [--size S|M|L] [--runs N]
Seconds are of the processor, by the server and the processes that it started; kB are what the
server sent over the connection of the page (`sent`) and as files (`files`, with the number of
requests), counted in a real browser. With --compare N the page of N runs of 50,000 x 100 is
measured instead, and the largest anonymous memory of the server and of all its processes. Runs
have been studied, as they are a little after they were kept; with --fresh they have not, and what
the server studies in the background counts as well.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import numpy as np
import psutil
from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from core.configs import AuditConfig
from core.library import open_library
from core.library.manifest import RunSource, summarise
from core.metrics.comparison import MOST_RUNS
from core.metrics.suite import audit
from core.studies.background import newest
from core.studies.precomputed import keep_studies
from pages.ui.open_runs import HEADLINES
from tests.benchmarks.peers.data import SIZES, Data, make_logits, shape_of
from tests.e2e.conftest import FLAGS, chromium, new_page, settled, start

QUIET_MS = 1_500  # after the last frame a page is done
LOOK_S = 0.1  # how often memory is read
CROWD = (50_000, 100)  # rows and classes of each of many runs
Act = Callable[[Page], None]


def slide(page: Page) -> None:
    """Move the slider of bins by one."""
    page.get_by_role("slider").first.press("ArrowRight")


def switch(page: Page) -> None:
    """Turn plain words on, or off."""
    page.locator("[data-testid=stSidebar] input[type=checkbox]").evaluate("e => e.click()")


def unfold(page: Page) -> None:
    """Open the table behind the first figure."""
    page.get_by_role("button", name="As table, downloads").first.click()


def tick(page: Page) -> None:
    """Search for runs by a letter."""
    page.get_by_role("searchbox").or_(page.get_by_placeholder("Name or tag")).first.fill("run 1")


def find(page: Page) -> None:
    """Search for runs among those that are compared."""
    page.get_by_placeholder("Part of a name").fill("run 1")


MOVES: dict[str, tuple[str, Act]] = {
    "/": ("search", tick),
    "/reliability?run={0}": ("bins", slide),
    "/reliability?run={0}&plain=true": ("plain words", switch),
    "/compare?runs={0},{1},{2}": ("plain words", switch),
    "/posthoc?run={0}": ("table", unfold),
    "/ood?run={0}": ("plain words", switch),
    "/gamma?run=digits-adafocal": ("plain words", switch),
    "/theory": ("table", unfold),
    "/train": ("plain words", switch),
    "/xray?run=digits-traits&show=finding": ("plain words", switch),
}


@dataclass
class Traffic:
    """Bytes that reached a page."""

    sent: int = 0
    files: int = 0
    requests: int = 0
    at: list[float] = field(default_factory=list)

    def listen(self, session: CDPSession) -> None:
        """Count from now on."""
        session.send("Network.enable")
        session.on("Network.webSocketFrameReceived", self._frame)
        session.on("Network.loadingFinished", self._file)

    def _frame(self, event: dict) -> None:
        self.sent += len(event["response"]["payloadData"]) * 3 // 4  # base64

    def _file(self, event: dict) -> None:
        self.files += int(event["encodedDataLength"])
        self.requests += 1


def quiet(page: Page, traffic: Traffic) -> None:
    """Wait until nothing has come for a while."""
    while True:
        before = traffic.sent, traffic.files
        page.wait_for_timeout(QUIET_MS)
        settled(page)
        if (traffic.sent, traffic.files) == before:
            return


def measure(page: Page, process: psutil.Process, act: Callable[[], None]) -> str:
    """Return the cells of one step."""
    session, traffic = page.context.new_cdp_session(page), Traffic()
    traffic.listen(session)
    began = sum(process.cpu_times()[:4])  # with that of processes that have ended
    act()
    quiet(page, traffic)
    session.detach()
    took = sum(process.cpu_times()[:4]) - began
    files = f"{traffic.files / 1000:.0f} in {traffic.requests}" if traffic.requests else "0"
    return f"{took:.2f} s, {traffic.sent / 1000:.0f} kB, {files}"


def filled(home: Path, size: str, n_runs: int) -> list[str]:
    """Keep three runs of that size, and small ones up to that number; return the first ids."""
    os.environ["CANDOR_HOME"] = str(home)
    library, source = open_library(), RunSource("a.npz", "")
    data, ids = make_logits(*shape_of(size)), []
    for name, temperature in {"one": 1.0, "two": 1.5, "three": 2.5}.items():
        logits = data.logits / np.float32(temperature)
        run = Data(logits, data.labels).predictions()
        summary = {"test": summarise(audit(run, AuditConfig(metrics=HEADLINES)))}
        ids.append(library.keep(name, {"test": run}, source=source, summary=summary).id)
    small = make_logits(100, 10).predictions()
    summary = {"test": summarise(audit(small, AuditConfig()))}
    for n in range(n_runs):
        library.keep(f"run {n}", {"test": small}, source=source, summary=summary)
    return ids


def study(home: Path) -> None:
    """Study the newest runs, as a server does in the background."""
    os.environ["CANDOR_HOME"] = str(home)
    for run_id in newest(MOST_RUNS):
        keep_studies(open_library(), run_id)


def crowded(home: Path, n_runs: int) -> list[str]:
    """Keep runs of one test set, no two alike; return their ids."""
    os.environ["CANDOR_HOME"] = str(home)
    library, source, rng = open_library(), RunSource("a.npz", ""), np.random.default_rng(0)
    data, ids = make_logits(*CROWD), []
    for i in range(n_runs):
        noise = rng.normal(0.0, 0.5, CROWD).astype(np.float32)
        run = Data((data.logits + noise) / np.float32(1 + i / n_runs), data.labels).predictions()
        ids.append(library.keep(f"run {i}", {"test": run}, source=source, summary={}).id)
    return ids


@dataclass
class Memory:
    """The most anonymous memory that was read, in bytes.

    Attributes
    ----------
    aside : str
        A module: processes that run it are not counted in `all`.
    server : int
    all : int
        Of the server and its processes at one moment.
    each : dict
        Of one of its processes, by the module that it runs.
    """

    aside: str = ""
    server: int = 0
    all: int = 0
    each: dict[str, int] = field(default_factory=dict)

    def look(self, process: psutil.Process) -> None:
        """Read what a server and its processes have now."""
        now = [(module(child), anonymous(child)) for child in process.children()]
        now = [one for one in now if one[0] != module(process)]  # just forked: the server itself
        own = anonymous(process)
        self.server = max(self.server, own)
        self.all = max(self.all, own + sum(size for name, size in now if name != self.aside))
        for name, size in now:
            self.each[name] = max(self.each.get(name, 0), size)


@contextmanager
def watched(process: psutil.Process, aside: str = "") -> Iterator[Memory]:
    """Read the memory of a process and its children for as long as the body runs."""
    memory, end = Memory(aside), Event()

    def look() -> None:
        while not end.wait(LOOK_S):
            memory.look(process)

    thread = Thread(target=look)
    thread.start()
    try:
        yield memory
    finally:
        end.set()
        thread.join()


def module(process: psutil.Process) -> str:
    """Return the module that a Python process runs; none once it has ended."""
    with suppress(psutil.Error):
        command = process.cmdline()
        return command[command.index("-m") + 1] if "-m" in command else ""
    return ""


def anonymous(process: psutil.Process) -> int:
    """Return the anonymous memory of a process; 0 once it has ended."""
    with suppress(OSError):
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))
    return 0


def compare_many(url: str, page: Page, process: psutil.Process) -> None:
    """Print what a comparison of many runs costs: the first visit, a search, and coming back."""
    print("| step | processor, sent, files | by the clock | memory: server, with processes |")
    print("|---|---|---|---|")

    def visit() -> None:
        page.goto(url)
        page.wait_for_selector(".c-compare")

    for step, act in {"first visit": visit, "search": lambda: find(page), "again": visit}.items():
        began = time.monotonic()
        with watched(process) as memory:
            cells = measure(page, process, act)
        took = time.monotonic() - began - 2 * QUIET_MS / 1000
        mib = f"{memory.server / 2**20:.0f} MiB, {memory.all / 2**20:.0f} MiB"
        print(f"| {step} | {cells} | {took:.0f} s | {mib} |", flush=True)


def measure_pages(
    server_url: str, ids: list[str], browser: Browser, process: psutil.Process, only: str
) -> None:
    """Print what each page costs whose path holds `only`."""
    print("| page | first visit: server, sent, files | again | a control | moved |")
    print("|---|---|---|---|---|")
    for path, (name, act) in MOVES.items():
        if only not in path:
            continue
        url = server_url + path.format(*ids)
        page = new_page(browser)
        cells = [measure(page, process, lambda p=page, u=url: p.goto(u)) for _ in range(2)]
        cells += [name, measure(page, process, lambda p=page, a=act: a(p))]
        print(f"| `{path}` | {' | '.join(cells)} |", flush=True)
        page.context.close()


def main() -> None:
    """Print a line a page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=list(SIZES), default="L")
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--compare", type=int, default=0, metavar="N")
    parser.add_argument("--fresh", action="store_true", help="nobody has studied the runs yet")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder) / "home"
        many = arguments.compare
        ids = crowded(home, many) if many else filled(home, arguments.size, arguments.runs)
        if not arguments.fresh:
            study(home)
        server = start(home, Path(folder) / "log.txt")
        process = psutil.Process(server.process.pid)
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            if many:
                url = f"{server.url}/compare?runs={','.join(ids)}"
                compare_many(url, new_page(browser), process)
            else:
                measure_pages(server.url, ids, browser, process, arguments.only)
        finally:
            browser.close()
            server.stop()


if __name__ == "__main__":
    main()
