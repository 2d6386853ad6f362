"""Large predictions opened on the page by their path: memory, processor and time of each step.

Run from the project's folder: python -m tests.benchmarks.bench_large FOLDER [--size 20000x100]
[--forms npz safetensors]. Each form is opened in a real browser on a server of its own: read,
audited, opened again, and kept. FOLDER holds what is made, what the server writes and its library:
five times the logits (4 GB at 1,000,000 x 1,000), removed in the end. Seconds of the processor are
of the server and of the processes that it started; memory is anonymous, at its peak, every 0.1 s.
"""

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from playwright.sync_api import Page, sync_playwright

from core.readers.weights.named_tensors import TensorInfo, write_safetensors
from core.training.submission import IMPORT
from tests.benchmarks.bench_pages import Memory, watched
from tests.benchmarks.peers.data import Data, make_logits, shape_of
from tests.e2e.conftest import FLAGS, chromium, new_page, settled, start
from tests.e2e.test_audit import audit, drawn, keep

FIELDS = ("Or a server path", "Its labels, if separate")
SHARDS = 50
READER, WORKER = "core.readers.sandbox.child", "core.worker"
MODELS = "core.inference.worker"  # started with a visitor's first page; nothing here asks it


def npy(data: Data, folder: Path) -> tuple[Path, Path]:
    """Name the array that is there already, and its labels."""
    np.save(labels := folder / "labels.npy", data.labels)
    return Path(data.logits.filename), labels  # type: ignore[attr-defined]  # it is mapped


def npz(data: Data, folder: Path) -> tuple[Path]:
    """Store both arrays, uncompressed."""
    np.savez(path := folder / "stored.npz", logits=data.logits, labels=data.labels)
    return (path,)


def safetensors(data: Data, folder: Path) -> tuple[Path]:
    """Write both arrays; the library itself would hold the file in memory."""
    arrays = {"logits": data.logits, "labels": data.labels}
    names = {"logits": "F32", "labels": "I64"}
    infos = [TensorInfo(name, array.shape, names[name]) for name, array in arrays.items()]
    write_safetensors(path := folder / "run.safetensors", infos, arrays.__getitem__)
    return (path,)


def npy_shards(data: Data, folder: Path) -> tuple[Path]:
    """Write the rows in pieces."""
    (path := folder / "shards").mkdir()
    for i, rows in enumerate(_pieces(data)):
        np.save(path / f"logits-{i}.npy", data.logits[rows])
        np.save(path / f"labels-{i}.npy", data.labels[rows])
    return (path,)


def parquet_shards(data: Data, folder: Path) -> tuple[Path]:
    """Write the rows in pieces, a column of lists and one of labels."""
    (path := folder / "tables").mkdir()
    for i, rows in enumerate(_pieces(data)):
        flat = pa.array(data.logits[rows].reshape(-1))
        lists = pa.FixedSizeListArray.from_arrays(flat, data.logits.shape[1])
        table = pa.table({"logits": lists, "label": data.labels[rows]})
        pq.write_table(table, path / f"part-{i}.parquet")
    return (path,)


def parquet_columns(data: Data, folder: Path) -> tuple[Path]:
    """Write the rows in pieces, a column a class."""
    (path := folder / "columns").mkdir()
    for i, rows in enumerate(_pieces(data)):
        columns = {f"logit_{k}": column for k, column in enumerate(data.logits[rows].T)}
        table = pa.table(columns | {"label": data.labels[rows]})
        pq.write_table(table, path / f"part-{i}.parquet")
    return (path,)


def _pieces(data: Data) -> Iterator[slice]:
    cuts = np.linspace(0, len(data.labels), SHARDS + 1).astype(int).tolist()
    return (slice(*cut) for cut in pairwise(cuts))


FORMS: dict[str, Callable[[Data, Path], tuple[Path, ...]]] = {
    form.__name__: form
    for form in (npy, npz, safetensors, npy_shards, parquet_shards, parquet_columns)
}


def read(page: Page, paths: tuple[Path, ...]) -> None:
    """Read what lies at a path on the server, with a file of labels or without."""
    for label, path in zip(FIELDS, paths, strict=False):  # labels may lie in the same file
        page.get_by_role("textbox", name=label).fill(str(path))
    page.get_by_role("button", name="Read", exact=True).click()
    refusal = page.locator(".st-key-refusal")
    page.get_by_role("button", name="How it was read").or_(refusal).wait_for()
    if refusal.count():
        raise AssertionError(refusal.inner_text())


def again(page: Page) -> None:
    """Leave Reliability, and come back."""
    for name, path in (("Learn", "theory"), ("Audit", "reliability")):
        page.locator("[data-testid=stSidebar]").get_by_role("link", name=name).click()
        page.wait_for_url(f"**/{path}**")
        drawn(page)


def steps(page: Page, paths: tuple[Path, ...]) -> dict[str, Callable[[], None]]:
    """Return what is done on the page, one after the other."""
    return {
        "read": lambda: read(page, paths),
        "audit": lambda: audit(page),
        "Theory and back": lambda: again(page),
        "keep": lambda: keep(page, "large"),
    }


def measure(process: psutil.Process, act: Callable[[], None]) -> str:
    """Return the cells of a step."""
    before, began = process.cpu_times(), time.monotonic()
    with watched(process, MODELS) as memory:
        act()
    seconds, after = time.monotonic() - began, process.cpu_times()
    own = after.user + after.system - before.user - before.system
    others = sum(after[:4]) - sum(before[:4]) - own  # of processes that have ended
    return f"{seconds:.1f} s | {own:.1f} and {others:.1f} s | {mebibytes(memory)}"


def mebibytes(memory: Memory) -> str:
    """Return the cells of memory: of each process, of the first three at once, of the models'."""
    reader, worker, models = (memory.each.get(name, 0) for name in (READER, WORKER, MODELS))
    sizes = memory.server, reader, worker, memory.all, models
    *each, at_once, models = (f"{size / 2**20:.0f}" for size in sizes)
    return f"{', '.join(each)} MiB | {at_once} MiB | {models} MiB"


@contextmanager
def opened(folder: Path) -> Iterator[tuple[Page, psutil.Process]]:
    """Open the first page of a server in a browser."""
    server = start(folder / "home", folder / "log.txt")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            page = new_page(browser)
            page.goto(server.url)
            settled(page)
            yield page, psutil.Process(server.process.pid)
            browser.close()
    finally:
        server.stop()


def measure_form(name: str, data: Data, folder: Path) -> str:
    """Print what each step costs with one form; return the numbers that the page shows."""
    folder.mkdir()
    paths = FORMS[name](data, folder)
    with opened(folder) as (page, process):
        for step, act in steps(page, paths).items():
            print(f"| `{name}` | {step} | {measure(process, act)} |", flush=True)
        shown = page.locator(".c-strip").inner_text()
    shutil.rmtree(folder)
    return shown


def main() -> None:
    """Print a line for each step of each form."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", default="1000000x1000")
    parser.add_argument("--forms", nargs="+", choices=list(FORMS), default=list(FORMS))
    arguments = parser.parse_args()
    shape = shape_of(arguments.size)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as made:
        folder = Path(made)
        os.environ |= {IMPORT: made, "TMPDIR": made}
        logits = np.lib.format.open_memmap(folder / "logits.npy", "w+", np.float32, shape)
        data = make_logits(*shape, logits)
        print("| form | step | by the clock | processor, server and others ", end="")
        print("| memory: server, reader, worker | at once | process of models |")
        print("|---|---|---|---|---|---|---|", flush=True)
        shown = {name: measure_form(name, data, folder / name) for name in arguments.forms}
    assert len(set(shown.values())) == 1, shown
    print(f"\nOf every form the page shows: {' '.join(shown.popitem()[1].split())}")


if __name__ == "__main__":
    main()
