"""``python -m core train``, ``jobs resume`` and ``samples build``: train, and wait for it."""

import argparse
import secrets
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.commands.shared import Json, Parser, emit, printable
from core.errors import AuditError, LostWorker, UsageError

ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


def add_train(verb: Parser) -> None:
    """Add the options of ``train``."""
    verb.set_defaults(run=_train)
    verb.add_argument("config", type=Path, metavar="CONFIG.json")
    verb.add_argument("--wait", action="store_true", help="return when training has ended")
    verb.add_argument("--json", metavar="OUT|-")


def add_jobs(verb: Parser) -> None:
    """Add the acts of ``jobs``."""
    acts = verb.add_subparsers(required=True, metavar="ACT", parser_class=Parser)
    resumed = acts.add_parser("resume", help="go on from the last checkpoint, and wait")
    resumed.set_defaults(run=_resume)
    resumed.add_argument("id")
    resumed.add_argument("--json", metavar="OUT|-")


def add_samples(verb: Parser) -> None:
    """Add the acts of ``samples``."""
    acts = verb.add_subparsers(required=True, metavar="ACT", parser_class=Parser)
    build = acts.add_parser("build", help="train the models behind the sample runs")
    build.set_defaults(run=_samples_build)
    build.add_argument("--only", metavar="NAME")
    build.add_argument("--images", type=Path, metavar="DIR", help="CIFAR-10 as JPEGs in folders")
    build.add_argument("--minutes", type=float, metavar="M", help="stop then; build again to go on")
    build.add_argument("--out", type=Path, help="default: the folder of the shipped samples")


def _samples_build(arguments: argparse.Namespace) -> int:
    from core.library import SAMPLES, home
    from core.training.samples import build

    said = build(
        arguments.out or SAMPLES,
        arguments.only,
        work=home() / "samples",
        images=arguments.images,
        minutes=arguments.minutes,
    )
    for name, what in said:
        print(f"{name}: {what}")
    return 0


def _train(arguments: argparse.Namespace) -> int:
    from core.library import home
    from core.training.config import from_json
    from core.training.folder import JobFolder

    config = from_json(_read(arguments.config))
    if config.data_root:  # the trainer runs in another folder
        config = replace(config, data_root=str(Path(config.data_root).expanduser().absolute()))
    job = "".join(secrets.choice(ALPHABET) for _ in range(12))
    folder = JobFolder.make(home() / "jobs" / job, config)
    return _wait(folder, arguments.json)


def _resume(arguments: argparse.Namespace) -> int:
    from core.library import home
    from core.library.manifest import RUN_ID
    from core.training.folder import JobFolder

    if not RUN_ID.fullmatch(arguments.id):  # nothing else may touch a path
        raise UsageError(
            "JOB",
            f"{arguments.id[:60]!r} is not the id of a job",
            "give the one that train printed",
        )
    folder = JobFolder(home() / "jobs" / arguments.id)
    folder.config()  # refused here when there is no such job
    done = folder.result()
    if done is not None and done["state"] == "succeeded":
        raise UsageError(
            "JOB", f"job {arguments.id} has ended, its run is {done['run']}", "start another"
        )
    return _wait(folder, arguments.json)


def _read(path: Path) -> object:
    from core.disk import parse_json

    try:
        return parse_json(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError("FILE", f"there is no file {path.name}", "check the path") from error
    except ValueError as error:
        raise UsageError("SETTING", f"{path.name} is not JSON", "give a JSON object") from error


def _wait(folder: Any, target: str | None) -> int:  # noqa: ANN401  JobFolder; imported late
    """Train a job in a process of its own and say how it went."""
    folder.lock().close()  # refused here when it is running
    print(f"job {folder.path.name}", file=sys.stderr)
    done = subprocess.run(
        [sys.executable, "-m", "core.training", str(folder.path)],
        stdout=sys.stderr,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    result: Json | None = folder.result()
    resume = f"python -m core jobs resume {folder.path.name} goes on from the last checkpoint"
    if result is None or (done.returncode and result["state"] == "succeeded"):
        raise LostWorker("LOST", f"training ended with exit code {done.returncode}", resume)
    if result["state"] == "failed":
        error = AuditError(**result["error"])
        error.exit_code = result["exit_code"]
        raise error
    emit(target, result)
    if target != "-":
        print(printable(f"run {result['run']}, {result['seconds']:.0f} s"))
    return 0
