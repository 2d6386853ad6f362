"""Measure what a GPU does: ``python -m tests.benchmarks.gpu``, or `make gpu`.

Writes docs/gpu.md with its raw figures beside it. Without a GPU it says so, runs the same stages
at small sizes on the CPU, and writes into build/gpu. ``--page`` writes the page anew from the
figures that are there.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.gpu.page import failures, page
from tests.benchmarks.gpu.runner import (
    ROOT,
    StageResult,
    module_command,
    run_stage,
    run_stages,
    to_json,
)
from tests.benchmarks.gpu.sizes import ALLOWANCES, SIZES, TOTAL_S

DOCS: Final = ROOT / "docs"
BUILD: Final = ROOT / "build" / "gpu"
NO_GPU: Final = (
    "There is no GPU here: the stages run on the CPU at small sizes, and docs/gpu.md stays."
)


def has_gpu(result: StageResult) -> bool:
    """Whether the first stage saw a GPU."""
    return bool(result.figures.get("gpu"))


def write(content: dict[str, Any] | None, folder: Path) -> None:
    """Write the page, and the figures beside it where there are any."""
    folder.mkdir(parents=True, exist_ok=True)
    if content is not None:
        text = json.dumps(content, indent=1) + "\n"
        (folder / "gpu.json").write_text(text, encoding="utf-8")
    (folder / "gpu.md").write_text(page(content), encoding="utf-8")


def read(folder: Path) -> dict[str, Any] | None:
    """Return the figures of a folder, or None."""
    path = folder / "gpu.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def measure(build: Path = BUILD, docs: Path = DOCS) -> dict[str, Any]:
    """Run every stage, and write what is known after each."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as logs:
        first = run_stage("machine", module_command("full"), Path(logs), ALLOWANCES["machine"])
    size, folder = ("full", docs) if has_gpu(first) else ("small", build)
    if size == "small":
        print(NO_GPU if not first.reason else f"No GPU can be used: {first.reason}", flush=True)
    results = {"machine": first}

    def keep(stage: str, result: StageResult) -> None:
        results[stage] = result
        print(f"{stage}: {result.state}, {result.seconds:.0f} s {result.reason}", flush=True)
        write({"seconds": time.monotonic() - began, "stages": to_json(results)}, folder)

    keep("machine", first)
    patience = SIZES[size].patience
    run_stages(
        {stage: patience * s for stage, s in ALLOWANCES.items() if stage != "machine"},
        module_command(size),
        build / "stages",
        deadline=began + patience * TOTAL_S,
        on_result=keep,
    )
    content = read(folder)
    assert content is not None
    return content


def main() -> int:
    """Measure, or write the page anew; 1 when a stage failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--page", action="store_true", help="write docs/gpu.md from its figures")
    if parser.parse_args().page:
        write(read(DOCS), DOCS)
        return 0
    missed = failures(measure())
    print("\n".join(missed) or "every stage is done")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
