"""Stages one after the other, each in a process of its own and with its own time; no torch."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from core.jobs.failures import explain

ROOT: Final = Path(__file__).parents[3]
DONE, FAILED, LEFT_OUT = "done", "failed", "left out"
LAST_LINES: Final = 1_000


@dataclass(frozen=True)
class StageResult:
    """How a stage went.

    Attributes
    ----------
    state : str
        ``done``, ``failed`` or ``left out``.
    seconds : float
        Of its process.
    reason : str
        Why it failed or was left out.
    figures : dict
        Plain values, also of a stage that failed once it had them.
    """

    state: str
    seconds: float
    reason: str = ""
    figures: dict[str, Any] = field(default_factory=dict)


Command = Callable[[str, Path], list[str]]  # from a stage and the file for its figures


def module_command(size: str) -> Command:
    """Return what runs a stage at a size."""
    module = "tests.benchmarks.gpu.stages"
    return lambda stage, path: [sys.executable, "-m", module, stage, size, str(path)]


def run_stages(
    allowances: Mapping[str, float],
    command: Command,
    folder: Path,
    *,
    deadline: float,
    on_result: Callable[[str, StageResult], None],
) -> None:
    """Run stages until the time is up.

    Parameters
    ----------
    allowances : dict of str to float
        Seconds of each stage, in the order in which they run.
    command : callable
        See `module_command`.
    folder : Path
        Takes the output of each stage.
    deadline : float
        Of `time.monotonic`: no stage runs beyond it.
    on_result : callable
        Called with each stage and how it went.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for stage, allowance in allowances.items():
        left = deadline - time.monotonic()
        if left <= 0:
            on_result(stage, StageResult(LEFT_OUT, 0.0, "no time was left"))
        else:
            on_result(stage, run_stage(stage, command, folder, min(allowance, left)))


def run_stage(stage: str, command: Command, folder: Path, seconds: float) -> StageResult:
    """Run one stage, and end all its processes with it."""
    figures, log = folder / f"{stage}.json", folder / f"{stage}.log"
    figures.unlink(missing_ok=True)
    began = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command(stage, figures), cwd=ROOT, stdout=output, stderr=output, start_new_session=True
        )
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    spent = time.monotonic() - began
    if code is None:
        return StageResult(FAILED, spent, f"it was not done after {seconds:.0f} s")
    if code != 0 or not figures.exists():
        lines = log.read_text("utf-8", "replace").splitlines()[-LAST_LINES:]
        return StageResult(FAILED, spent, explain(code, None, lines, {}, 0, "stage").what)
    content = json.loads(figures.read_text("utf-8"))
    missed = LEFT_OUT if content.get("left_out") else FAILED
    state = missed if content["reason"] else DONE
    return StageResult(state, spent, content["reason"], content["figures"])


def to_json(results: Mapping[str, StageResult]) -> dict[str, Any]:
    """Return plain JSON."""
    return {stage: asdict(result) for stage, result in results.items()}


def from_json(content: Mapping[str, Any]) -> dict[str, StageResult]:
    """Return what `to_json` wrote."""
    return {stage: StageResult(**fields) for stage, fields in content.items()}
