"""``python -m tests.core.readers.fuzz COUNT [SEED]``: changed files for every reader.

Each outcome must be a result that the parent takes, or a refusal. Files are read many to a process,
which has the memory of the sealed child and says the number of each before it reads it; so one
that crashes or takes more than `CPU_S` seconds of the processor is known, and the next process goes
on behind it. What fails is written to build/fuzz; its bytes belong into a test.
"""

import argparse
import io
import json
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from core.errors import AuditError
from core.readers.formats.contents import FileBytes
from core.readers.predictions.result import ReadOptions
from core.readers.sandbox.readers import FILE, READERS, SHARD
from core.readers.sandbox.wire import Exchange
from tests import hostile_cases as made
from tests.core.readers.test_boxes import NIH, PLAIN
from tests.core.readers.test_picture_zips import picture
from tests.core.readers.test_refusals import VALID

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "build" / "fuzz"
CPU_S = 20  # of one file of a few kilobytes
HANG_S = 900  # by the clock, on however busy a machine
MEMORY = 6 * 2**30
HISTORY = "epoch,bin,lower,upper,count,confidence,accuracy,gamma\n" + "".join(
    f"{epoch},{k},{k / 4},{(k + 1) / 4},{10 + k},{(k + 0.5) / 4},{(k + 0.4) / 4},{1 + k}\n"
    for epoch in range(3)
    for k in range(4)
)
ROWS = b"\n".join(made.CSV.splitlines()[:13])
RANKS = ".ranks.zip"  # a folder of shards: packed here, and unpacked before it is read


def _predictions() -> dict[str, bytes]:
    """Sound files of every layout: those that are read at once, logs, lists, ranks and words."""
    from tests.core.readers.test_tool_exports import inspected

    samples = [inspected(k) | {"epoch": k % 2 + 1} for k in range(12)]
    packed = {f"samples/{k}.json": json.dumps(s).encode() for k, s in enumerate(samples)}
    batches = [
        {"logits": z, "labels": y, "idx": np.arange(3 * k, 3 * k + 3)}
        for k, (z, y) in enumerate(
            zip(made.LOGITS.reshape(-1, 3, 4), made.LABELS.reshape(-1, 3), strict=True)
        )
    ]
    words = [f"{'abc'[k % 3]},{'high' if k % 2 else 'low'},{'abc'[k // 2 % 3]}" for k in range(12)]
    top = [f"{k}.png,{k % 4},0.{9 - k % 3},{(k + 1) % 4},0.0{k % 5}" for k in range(12)]
    rows = [(f"{k % 2 + 1}:{'ny'[k % 2]}", f"0.{9 - k % 4}", f"{k}%") for k in range(12)]
    weka = ["inst#  actual  predicted  error  prediction"]
    weka += [f"{k + 1}  {a}  1:n  {'+' if k % 2 else ' '}  {p}" for k, (a, p, _) in enumerate(rows)]
    orange = ["y\tT\tT (n)\tT (y)", "d\td\tc\tc", "class\tmeta\tmeta\tmeta"]
    orange += [f"{a[2]}\tn\t{p}\t{1 - float(p):.1f}" for a, p, _ in rows]
    words_of_top = ["filename,label_0,prob_0,label_1,prob_1", *top]
    return {name: data for name, data in VALID.items() if name != "file.npy"} | {
        "log.json": json.dumps({"version": 2, "eval": {}, "samples": samples}).encode(),
        "log.eval": made.archive({"header.json": b"{}", **packed}),
        "words.csv": "\n".join(["answer,confidence,gold", *words]).encode(),
        "ranked.csv": "\n".join(words_of_top).encode(),
        "weka.txt": "\n".join(weka).encode(),
        "orange.tab": "\n".join(orange).encode(),
        "percent.csv": "\n".join(["pred,conf,y", *(f"a,{c},a" for _, _, c in rows)]).encode(),
        "loaders.pt": _saved([batches[:4], batches[4:6]]),
        "loader.pt": _saved([batches[:4]]),
        f"shards{RANKS}": made.archive(
            {f"predictions_{rank}.pt": _saved([batches[rank::2][:3]]) for rank in range(2)}
        ),
    }


def _saved(tree: object) -> bytes:
    import torch

    def tensors(node: object) -> object:
        if isinstance(node, dict):
            return {key: tensors(value) for key, value in node.items()}
        return [tensors(item) for item in node] if isinstance(node, list) else torch.tensor(node)

    torch.save(tensors(tree), file := io.BytesIO())
    return file.getvalue()


def _weights() -> dict[str, bytes]:
    import torch
    from safetensors.torch import save

    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2)).bfloat16()
    value = {"state_dict": net.state_dict(), "args": argparse.Namespace(lr=0.1, model="x")}
    files = {"net.safetensors": save(net.state_dict())}
    for name, zipped in (("new.pt", True), ("old.pth", False)):
        torch.save(value, out := io.BytesIO(), _use_new_zipfile_serialization=zipped)
        files[name] = out.getvalue()
    return files


def _votes() -> dict[str, bytes]:
    from tests.core.readers import test_votes as votes

    columns = votes.columns(image=list(votes.IDS))
    lines = [{"id": name, "label": k % 3} for name in votes.IDS[:12] for k in range(4)]
    return {
        "votes.csv": votes.csv(**columns),
        "votes.npz": votes.npz(human=votes.VOTES, ids=np.array(votes.IDS)),
        "votes.parquet": votes.parquet(**columns),
        "judgements.jsonl": b"\n".join(json.dumps(line).encode() for line in lines),
    }


def _films() -> dict[str, bytes]:
    from PIL import Image

    from tests.film_files import dataset, written

    grey = np.arange(24 * 20, dtype=np.uint16).reshape(24, 20)
    files = {
        "film.dcm": written(dataset(grey, bits=12)),
        "bare.dcm": written(dataset(grey), bare=True),
    }
    for ending, options in (("png", {}), ("jpg", {"quality": 80})):
        picture = Image.fromarray((grey % 251).astype(np.uint8))
        picture.save(out := io.BytesIO(), {"jpg": "jpeg"}.get(ending, ending), **options)
        files[f"film.{ending}"] = out.getvalue()
    return files


SEEDS: dict[str, Callable[[], dict[str, bytes]]] = {
    "predictions": _predictions,
    "history": lambda: {"gammas.csv": HISTORY.encode()},
    "columns": lambda: {"groups.csv": ROWS, "g.tsv": b"a\tb\n1\t2\n"},
    "votes": _votes,
    "boxes": lambda: {"nih.csv": NIH, "plain.csv": PLAIN},
    "weights": _weights,
    "film": _films,
    "pictures": lambda: {"set.zip": made.archive({f"{k}/{k}.png": picture(k) for k in range(2)})},
}  # fmt: skip


@cache
def seeds(reader: str) -> dict[str, bytes]:
    """Return the sound files of a reader by name."""
    return SEEDS[reader]()


def changed(data: bytes, rng: np.random.Generator) -> bytes:
    """Flip, insert, remove or repeat a few bytes, mostly near the two ends."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        reach = len(out) if rng.random() < 0.5 else min(len(out), 200)
        at = (
            int(rng.integers(reach))
            if rng.random() < 0.7
            else len(out) - 1 - int(rng.integers(reach))
        )
        how = rng.integers(4)
        if how == 0:
            out[at] = int(rng.integers(256))
        elif how == 1:
            out[at:at] = rng.bytes(int(rng.integers(1, 9)))
        elif how == 2:
            del out[at : at + int(rng.integers(1, 9))]
        else:
            out[at:at] = out[at : at + 16]
        if not out:
            return b""
    return bytes(out)


def mutated(reader: str, number: int, seed: int) -> tuple[str, bytes]:
    """Return one changed file; of an archive half the time a member, packed again."""
    rng = np.random.default_rng([seed, number, *reader.encode()])
    names = list(seeds(reader))
    name = names[number % len(names)]
    data = seeds(reader)[name]
    if zipfile.is_zipfile(io.BytesIO(data)) and rng.random() < 0.5:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            parts = {member: packed.read(member) for member in packed.namelist()}
        member = list(parts)[int(rng.integers(len(parts)))]
        return name, made.archive(parts | {member: changed(parts[member] or b"0", rng)})
    return name, changed(data, rng)


def outcome(reader: str, name: str, data: bytes) -> str:
    """Return "result", the code of a refusal, or what else came out, behind an exclamation mark."""
    kind = READERS[reader]
    with tempfile.TemporaryDirectory() as folder:
        try:
            content = kind.read(_sources(name, data), ReadOptions())
            kind.write(Exchange(Path(folder)), content)
            result = kind.load(Exchange(Path(folder)))
            for part in result.splits.values() if reader == "predictions" else ():
                assert not np.isnan(part.scores).any()  # what is read is fit to be audited
                assert not np.isposinf(part.scores.astype(np.float64)).any()
        except AuditError as error:
            return error.code if error.exit_code != 4 else f"!{error}"
        except MemoryError:
            return "LIMIT_MEMORY"
        except Exception as error:  # noqa: BLE001  whatever it is, it is the finding
            return f"!{type(error).__name__}: {error}"
    return "result"


def _sources(name: str, data: bytes) -> dict[str, FileBytes]:
    """Return a file by its role; of packed ranks every file of the folder."""
    if not name.endswith(RANKS):
        return {FILE: FileBytes.of_bytes(name, data)}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            files = {member: packed.read(member) for member in packed.namelist()}
    except Exception:  # noqa: BLE001  the archive was hit, which is not what is tried here
        return {FILE: FileBytes.of_bytes("predictions_0.pt", data)}
    return {f"{SHARD}{k}": FileBytes.of_bytes(n, d) for k, (n, d) in enumerate(files.items())}


def child(reader: str, seed: int, first: int, count: int) -> None:
    """Read files, each behind a line with its number, and say how each ended."""
    import resource

    from core.readers.sandbox.child import import_early

    seeds(reader)
    import_early(reader)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in range(first, first + count):
        print(json.dumps([number, None]), flush=True)
        name, data = mutated(reader, number, seed)
        signal.setitimer(signal.ITIMER_PROF, CPU_S)  # either signal ends the process
        signal.alarm(HANG_S)
        ended = outcome(reader, name, data)
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps([number, ended]), flush=True)


def fuzz(reader: str, count: int, seed: int) -> tuple[Counter[str], dict[int, str]]:
    """Return how the changed files of a reader ended, and what failed by its number."""
    outcomes: Counter[str] = Counter()
    failures: dict[int, str] = {}
    first = 0
    while first < count:
        words = ["--child", reader, str(seed), str(first), str(count - first)]
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.core.readers.fuzz", *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        last = first
        with process:
            for line in process.stdout:
                last, ended = json.loads(line)
                if ended is None:
                    continue
                first = last + 1
                outcomes["failed" if ended.startswith("!") else ended] += 1
                if ended.startswith("!"):
                    failures[last] = ended
            code = process.wait()
        if first < count:
            assert code, f"{reader}: the process ended without a word at {last}"
            first = last + 1
            if (
                code == -signal.SIGABRT
            ):  # a decoder in C++ that gave up: the parent refuses the file
                outcomes["aborted"] += 1
                continue
            failures[last] = f"!ended by {signal.Signals(-code).name if code < 0 else code}"
            outcomes["failed"] += 1
    return outcomes, failures


def main(count: int, seed: int) -> int:
    """Share the count among the readers, print how each ended; return how many failed."""
    n_failed = 0
    for reader in SEEDS:
        began = time.monotonic()
        share = count // len(SEEDS)
        outcomes, failures = fuzz(reader, share, seed)
        seconds = time.monotonic() - began
        read = outcomes.pop("result", 0)
        print(
            f"| {reader} | {share:,} | {read:,} | {share - read - len(failures):,} "
            f"| {len(failures)} | {seconds:.0f} s |",
            flush=True,
        )
        for number, words in failures.items():
            KEPT.mkdir(parents=True, exist_ok=True)
            name, data = mutated(reader, number, seed)
            (KEPT / f"{reader}--{seed}-{number}-{name}").write_bytes(data)
            print(f"{reader} {number} ({name}): {words}", file=sys.stderr)
        n_failed += len(failures)
    return n_failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int, nargs="?", default=100_000)
    parser.add_argument("seed", type=int, nargs="?", default=int(time.time()))

    if "--child" in sys.argv:
        reader, *numbers = sys.argv[2:]
        child(reader, *map(int, numbers))
        sys.exit(0)
    given = parser.parse_args()
    print("| reader | changed files | read | refused | failed | time |\n|---|---|---|---|---|---|")
    sys.exit(min(1, main(given.count, given.seed)))
