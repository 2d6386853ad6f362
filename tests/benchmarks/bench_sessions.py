"""What sessions cost the server: a cold start, fifty at once, what pages send, and what stays.

Run from the project's folder: python -m tests.benchmarks.bench_sessions [PART ...]
Sessions speak Streamlit's protocol over real websockets and draw nothing, so that two cores are
left to the server. Seconds of the processor are of the server's own process. Each part has servers
of its own, with a library of their own.
"""

import argparse
import asyncio
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import cycle, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil
from playwright.sync_api import sync_playwright
from websockets.exceptions import ConnectionClosed

from core.jobs.local import LocalJobs
from core.jobs.records import JobState
from core.library import SAMPLES, Library
from core.library.manifest import RunSource
from core.training.config import from_json
from tests.benchmarks.bench_pages import watched
from tests.benchmarks.peers.data import make_logits, shape_of
from tests.benchmarks.visitor import Failed, Step, Visitor, visiting
from tests.e2e.conftest import FLAGS, ROOT, Server, chromium, new_page, settled, start

LINKS = {
    "Runs": "/",
    "Reliability": "/reliability?run=digits-overconfident",
    "Reliability in plain words": "/reliability?run=digits-overconfident&plain=true",
    "Post-hoc": "/posthoc?run=digits-overconfident",
    "Out of distribution": "/ood?run=digits-overconfident",
    "Compare": "/compare?runs=digits-fair,digits-overconfident",
    "A film": "/xray",
    "All findings": "/xray?run=digits-traits&show=findings",
    "One finding": "/xray?run=digits-traits&show=finding",
    "Evaluate": "/evaluate",
    "Train": "/train",
    "Gamma dynamics": "/gamma?run=digits-adafocal",
    "Theory": "/theory",
}
FIRST, BINS, PLAIN = "/", "Number of bins", "Plain words"
EMPTY = "import streamlit as st\nst.html('<h1 class=\"c-sentence\">Nothing.</h1>')\n"
MOVERS = 10
PAUSE_S = 1.0  # of a user between two moves
AT_ONCE = 4  # sessions that open a page in the same moment, of those that wander
TTL_S = 1  # of a session that was left; two minutes by default
ZONE = "Files of logits or probabilities with labels; label files may come with them"
SHORT_STAYS = "tests/e2e/short_stays.py"
LEFT_SOON = ("--server.disconnectedSessionTTL", str(TTL_S))
REST_S = 10.0  # after which what was left is given back: looks at sessions and a collection
MOST_GROWTH = 1.1
TRAINING = {
    "data": "digits",
    "model": "small_cnn",
    "loss": {"name": "adafocal"},
    "epochs": 10_000,
    "device": "cpu",
}
# Grad-CAM of films without end, in a process that steps back as the one behind the page does.
HEAT_S = 15  # until it has begun
HEAT = """
import os
from core.jobs.processes import step_back
from tests.benchmarks import heatmaps
step_back(os.getpid())
while True:
    heatmaps.answers("phantom-ce", heatmaps.cases(20))
"""


def cpu_s(server: Server) -> float:
    """Return the seconds of the processor that the server took so far, without its children."""
    times = psutil.Process(server.process.pid).cpu_times()
    return times.user + times.system


def resident_mib(server: Server) -> float:
    """Return the resident memory of the server, without its children."""
    return psutil.Process(server.process.pid).memory_info().rss / 2**20


@asynccontextmanager
async def serving(*options: str, app: str = "app.py") -> AsyncIterator[Server]:
    """Start an app with a library of its own; stop it in the end."""
    with tempfile.TemporaryDirectory() as folder:
        server = start(Path(folder) / "home", Path(folder) / "log.txt", *options, app=app)
        try:
            yield server
        finally:
            server.stop()


async def first_page(server: Server, link: str = FIRST) -> Step:
    """Return what the first page of one new session took."""
    async with visiting(server.url) as visitor:
        return await visitor.go(link)


# A cold start -------------------------------------------------------------------------------------


def painted(server: Server, link: str = FIRST) -> float:
    """Open a page in a browser, and return the seconds until it is drawn, once it is at rest."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = new_page(browser)
        began = time.perf_counter()
        page.goto(server.url + link)
        settled(page)
        seconds = time.perf_counter() - began
        page.wait_for_load_state("networkidle")
        browser.close()
    return seconds


async def cold(n_rounds: int) -> None:
    """Print the processor's seconds of a server up to its first page, beside an empty app's."""
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.py"
        empty.write_text(EMPTY)
        apps, took = {"Candor": "app.py", "an empty app": str(empty)}, {}
        for _ in range(n_rounds):
            for name, app in apps.items():
                async with serving(app=app) as server:
                    up = cpu_s(server)
                    await first_page(server)
                    took.setdefault(name, []).append((up, cpu_s(server)))
                async with serving(app=app) as server:
                    await asyncio.to_thread(painted, server)
                    took[name][-1] += (cpu_s(server),)
    print("| server CPU | answers | first script has finished | painted in a browser |")
    print("|---|---|---|---|")
    for name, rounds in took.items():
        cells = [f"{statistics.median(column):.2f} s" for column in zip(*rounds, strict=True)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


# Uploads ------------------------------------------------------------------------------------------


def held_mib(server: Server) -> float:
    """Return the uploads that Streamlit says it holds; its word is up to seconds old."""
    time.sleep(6)
    with urllib.request.urlopen(f"{server.url}/_stcore/metrics", timeout=60) as answer:
        sizes = re.findall(r'cache_type="UploadedFileManager".*} (\d+)', answer.read().decode())
    return sum(map(int, sizes)) / 2**20


def memory_cells(server: Server) -> str:
    """Return the server's anonymous memory, and all that is resident with the files it maps."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    sizes = dict(re.findall(r"(RssAnon|VmRSS):\s+(\d+) kB", status))
    return f"{int(sizes['RssAnon']) / 1024:.0f} MiB | {int(sizes['VmRSS']) / 1024:.0f} MiB"


def drop_often(server: Server, file: Path, n_rounds: int, waits: list[float]) -> None:
    """Drop a file in one browser, again and again, and print what stays of it in the server.

    Another session moves a slider meanwhile: `waits` are its seconds.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = new_page(browser)
        for number in range(1, n_rounds + 1):
            page.goto(server.url)
            settled(page)
            waits.clear()
            with watched(psutil.Process(server.process.pid)) as memory:
                page.locator("input[type=file]").first.set_input_files(file)
                page.get_by_role("button", name="How it was read").wait_for()
                settled(page)
            others = f"{statistics.median(waits):.2f} s | {max(waits):.2f} s"
            held = f"{held_mib(server):.0f} MiB | {memory_cells(server)}"
            most = f"{memory.server / 2**20:.0f} MiB"
            print(f"| {number} | {held} | {most} | {others} |", flush=True)
        browser.close()


def anonymous_mib(server: Server) -> float:
    """Return the memory of the server that no file stands for."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 1024


class Leaver(NamedTuple):
    """What a session does before it is left, and how it is left.

    Attributes
    ----------
    acts : str
        "dropped", which opens its verdict, or "kept".
    cut : bool
        Its connection breaks: nothing says that the tab was closed.
    """

    acts: str
    cut: bool = False

    async def visit(self, server: Server, file: Path) -> None:
        """Drop a file in a session of its own, and leave."""
        async with visiting(server.url) as visitor:
            await visitor.go(FIRST)
            await visitor.drop(ZONE, file)
            if self.acts == "kept":
                await visitor.press("Keep")
            if self.cut:
                visitor.socket.transport.abort()


def scores_file(file: Path, megabytes: float, seed: int) -> Path:
    """Write scores of 100 classes that differ by their seed."""
    rng = np.random.default_rng(seed)
    logits = rng.standard_normal((int(megabytes * 2500), 100), dtype=np.float32)
    np.savez(file, logits=logits, labels=rng.integers(0, 100, len(logits)))
    return file


async def given_back(server: Server, most: float, patience_s: float) -> float:
    """Return the anonymous memory as soon as it is below a limit, or is not after so long.

    Nobody visits meanwhile: whoever draws a page would have garbage collected.
    """
    until = time.monotonic() + patience_s
    while anonymous_mib(server) > most and time.monotonic() < until:
        await asyncio.sleep(0.5)
    return anonymous_mib(server)


async def left(
    server: Server,
    leaver: Leaver,
    megabytes: float,
    n_rounds: int,
    patience_s: float,
    *,
    n_before: int = 4,
    room_mib: float = 0.0,
) -> tuple[float, float, float]:
    """Return the anonymous memory before rounds of sessions, after the last, and at rest again.

    Before is the most at rest after any of a few sessions that did the same: they compile and
    import what is needed, and at rest the allocator keeps now more, now less; with fewer of them
    it is given more room.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "left.npz"
        before = 0.0
        for seed in range(1, 1 + n_before):
            await leaver.visit(server, scores_file(file, megabytes, n_rounds + seed))
            await given_back(server, 0.0, REST_S)
            before = max(before, anonymous_mib(server))
        for seed in range(1, n_rounds + 1):
            await leaver.visit(server, scores_file(file, megabytes, seed))
        most = anonymous_mib(server)
        limit = MOST_GROWTH * before + room_mib
        return before, most, await given_back(server, limit, patience_s)


async def leaving(n_rounds: int, sizes: Sequence[float], only: str) -> None:
    """Print what sessions leave in the server's memory that drop a file and go, and nobody comes.

    Files below 64 MiB are read into memory; larger ones stay in files, which show nothing here.
    `only` is part of the names of the rows to measure, as "50 MB | kept".
    """
    print("| file | session | tab | before | after the last | at rest | growth |")
    print("|---|---|---|---|---|---|---|")
    for size, acts, cut in product(sizes, ("dropped", "kept"), (False, True)):
        row = f"{size:g} MB | {acts} and left | {'cut off' if cut else 'closed'}"
        if only not in row:
            continue
        async with serving(*LEFT_SOON, app=SHORT_STAYS) as server:
            before, most, rest = await left(server, Leaver(acts, cut), size, n_rounds, REST_S)
            cells = f"{before:.0f} MiB | {most:.0f} MiB | {rest:.0f} MiB | {rest / before - 1:+.1%}"
            print(f"| {row} | {cells} |", flush=True)


async def uploads(n_rounds: int, megabytes: int) -> None:
    """Print what rounds of an upload leave in the server's memory, and who waits for them.

    The other session has garbage collected all the while. The last row is after all have left and
    nobody comes; `leaving` has more of these.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = scores_file(Path(folder) / "large.npz", megabytes, 0)
        async with serving("--server.disconnectedSessionTTL", str(TTL_S)) as server:
            print(
                "| round | uploads in memory | anonymous | resident | most anonymous meanwhile ",
                end="",
            )
            print("| another session waits | at most |\n|---|---|---|---|---|---|---|")
            async with visiting(server.url) as other:
                await other.go(LINKS["Reliability"])
                waits = list[float]()
                await move(other, [6 + n for n in range(20)], PAUSE_S / 5, 0.0, waits)
                alone = f"{statistics.median(waits):.2f} s | {max(waits):.2f} s"
                print(f"| before | 0 MiB | {memory_cells(server)} | | {alone} |", flush=True)
                going = asyncio.create_task(
                    move(other, cycle(range(6, 50)), PAUSE_S / 5, 0.0, waits)
                )
                await asyncio.to_thread(drop_often, server, file, n_rounds, waits)
                going.cancel()
            await asyncio.sleep(REST_S)
            held = await asyncio.to_thread(held_mib, server)
            print(f"| all left | {held:.0f} MiB | {memory_cells(server)} | | | |", flush=True)


# Many at once -------------------------------------------------------------------------------------


async def crowd(n_sessions: int) -> None:
    """Print how long the first page takes when so many sessions and a browser come at once.

    All stay connected until the last is through; those count as alive that answer then.
    """
    print(f"| {n_sessions} sessions at once | median | slowest | alive | Chromium | server CPU |")
    print("|---|---|---|---|---|---|")
    for name, link in (("Runs", FIRST), ("Reliability", LINKS["Reliability"])):
        async with serving() as server:
            for state in ("cold", "warm"):
                cells = await crowded(server, n_sessions, link)
                print(f"| {name}, {state} server | {cells} |", flush=True)


async def crowded(server: Server, n_sessions: int, link: str) -> str:
    """Return the cells of a page that so many sessions and a browser open at once."""
    began = cpu_s(server)
    browser = asyncio.create_task(asyncio.to_thread(painted, server, link))
    async with AsyncExitStack() as stack:
        visits = (stack.enter_async_context(visiting(server.url)) for _ in range(n_sessions))
        visitors = [await visit for visit in visits]
        steps = await asyncio.gather(*(visitor.go(link) for visitor in visitors))
        painted_s, took = await browser, cpu_s(server) - began
        n_alive = sum(await asyncio.gather(*map(is_alive, visitors)))
    seconds = [step.seconds for step in steps]
    return (
        f"{statistics.median(seconds):.2f} s | {max(seconds):.2f} s | {n_alive} "
        f"| {painted_s:.2f} s | {took:.2f} s"
    )


async def is_alive(visitor: Visitor) -> bool:
    """Whether the server still draws for a session."""
    try:
        return (await visitor.go(visitor.link)).n_scripts > 0
    except (ConnectionClosed, Failed):
        return False


# What is sent -------------------------------------------------------------------------------------


async def sent(links: dict[str, str]) -> None:
    """Print what each page sends at first, again and on a move, and how many scripts ran."""
    print("| page | first visit | again | plain words | and back |\n|---|---|---|---|---|")
    async with serving() as server:
        for name, link in links.items():
            async with visiting(server.url) as visitor:
                plain = "plain=true" in link
                acts: list[Callable[[], object]] = [
                    lambda v=visitor, to=link: v.go(to),
                    lambda v=visitor: v.go(v.link),
                    lambda v=visitor, on=not plain: v.switch(PLAIN, on),
                    lambda v=visitor, on=plain: v.switch(PLAIN, on),
                ]
                cells = [await traffic(server, act) for act in acts]
                print(f"| {name} | {' | '.join(cells)} |", flush=True)


async def traffic(server: Server, act: Callable[[], object]) -> str:
    """Return the cell of one step."""
    began = cpu_s(server)
    step: Step = await act()
    return f"{cpu_s(server) - began:.2f} s, {step.n_bytes / 1000:.0f} kB in {step.n_scripts}"


# What stays ---------------------------------------------------------------------------------------


async def wander(visitor: Visitor, links: Sequence[str], turn: asyncio.Semaphore) -> None:
    """Open every page, one after another."""
    for link in links:
        async with turn:
            await visitor.go(link)


async def everybody(server: Server, n_sessions: int, links: Sequence[str]) -> None:
    """Let so many sessions open every page, all connected until the last is through; they leave."""
    turn = asyncio.Semaphore(AT_ONCE)
    async with AsyncExitStack() as stack:
        visitors = [
            await stack.enter_async_context(visiting(server.url)) for _ in range(n_sessions)
        ]
        await asyncio.gather(*(wander(visitor, links, turn) for visitor in visitors))
    for _ in range(3):  # one drops what is over, the next ones collect it
        await asyncio.sleep(2 * TTL_S)
        await first_page(server)


async def memory(n_sessions: int, n_rounds: int, links: Sequence[str]) -> list[float]:
    """Print the resident memory after every round of sessions; return it, from one session on."""
    print("| sessions that opened every page and left | resident |\n|---|---|")
    sizes = []
    async with serving("--server.disconnectedSessionTTL", str(TTL_S)) as server:
        for n_round in range(n_rounds + 1):
            n_now = n_sessions if n_round else 1
            await everybody(server, n_now, links)
            sizes.append(resident_mib(server))
            print(f"| {n_now} | {sizes[-1]:.0f} MiB |", flush=True)
    return sizes


# Moves beside a training --------------------------------------------------------------------------


def kept(home: Path, size: str) -> str:
    """Keep a run of that size in a library; return its id."""
    run, source = make_logits(*shape_of(size)).predictions(), RunSource("a.npz", "")
    return Library(home, SAMPLES).keep(size, {"test": run}, source=source, summary={}).id


async def moves(size: str, n_rounds: int) -> None:
    """Print how long users wait who move the slider of bins, with and without a training."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        run = kept(home, size)
        server = start(home, Path(folder) / "log.txt")
        jobs = LocalJobs(home)
        try:
            async with AsyncExitStack() as stack:
                visitors = [
                    await stack.enter_async_context(visiting(server.url)) for _ in range(MOVERS)
                ]
                for visitor in visitors:
                    await visitor.go(f"/reliability?run={run}")
                print(f"| {MOVERS} users at {size} | median | slowest | server CPU a move |")
                print("|---|---|---|---|")
                await report("without a training", server, visitors, n_rounds)
                (job,) = jobs.submit([from_json(TRAINING)])
                while (progress := jobs.progress(job.id)) is None:
                    await asyncio.sleep(0.2)
                await report("beside a training", server, visitors, n_rounds)
                heat = subprocess.Popen([sys.executable, "-c", HEAT], cwd=ROOT)
                await asyncio.sleep(HEAT_S)
                try:
                    await report("beside a training and Grad-CAM", server, visitors, n_rounds)
                    assert heat.poll() is None
                finally:
                    heat.kill()
                    heat.wait()
                progress = jobs.progress(job.id)
                assert progress is not None
                assert jobs.get(job.id).state is JobState.RUNNING
                print(f"\nThe training meanwhile: {progress.images_per_second:.0f} images/s")
                jobs.cancel(job.id)
                while not jobs.get(job.id).state.ended:
                    await asyncio.sleep(0.2)
        finally:
            server.stop()


async def report(name: str, server: Server, visitors: Sequence[Visitor], n_rounds: int) -> None:
    """Print the waits of users who move at their own pace, and all in the same moment."""
    n_bins = iter(range(6, 10_000))
    for words, pause_s in (("at their own pace", PAUSE_S), ("in the same moment", 0.0)):
        began, seconds = cpu_s(server), list[float]()
        rounds = [[6 + (next(n_bins) * 7) % 44 for _ in range(n_rounds)] for _ in visitors]
        await asyncio.gather(
            *(
                move(visitor, values, pause_s, offset / len(visitors), seconds)
                for offset, (visitor, values) in enumerate(zip(visitors, rounds, strict=True))
            )
        )
        each = (cpu_s(server) - began) / len(seconds)
        print(
            f"| {name}, {words} | {statistics.median(seconds):.2f} s | {max(seconds):.2f} s "
            f"| {each:.2f} s |",
            flush=True,
        )


async def move(
    visitor: Visitor, values: Iterable[int], pause_s: float, offset: float, seconds: list[float]
) -> None:
    """Move the slider of bins to each value, after a pause."""
    await asyncio.sleep(pause_s * offset)
    for value in values:
        await asyncio.sleep(pause_s)
        seconds.append((await visitor.slide(BINS, value)).seconds)


def main() -> None:
    """Run the parts that are named, or all."""
    parts: dict[str, Callable[[argparse.Namespace], object]] = {
        "cold": lambda a: cold(a.rounds),
        "uploads": lambda a: uploads(a.rounds, a.megabytes),
        "leaving": lambda a: leaving(a.rounds, a.sizes, a.only),
        "crowd": lambda a: crowd(a.sessions),
        "sent": lambda a: sent({k: v for k, v in LINKS.items() if a.only in k}),
        "memory": lambda a: memory(a.sessions, a.rounds, list(LINKS.values())),
        "moves": lambda a: moves(a.size, a.rounds),
    }
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "parts", nargs="*", default=list(parts), help=f"any of {', '.join(parts)}; all by default"
    )
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", default="L")
    parser.add_argument("--megabytes", type=int, default=50, help="of an upload")
    parser.add_argument("--sizes", type=float, nargs="+", default=[1, 50, 500], help="in MB")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    for part in arguments.parts:
        print(f"\n{part}\n")
        asyncio.run(parts[part](arguments))


if __name__ == "__main__":
    main()
