"""``python -m core verify``: recompute a report from its files, and say what differs."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.commands.report import run_or_file
from core.commands.shared import Parser, add_reading, add_votes, need_file, printable
from core.errors import LibraryError, Refused, UsageError

SHOWN = 20  # differences; more are counted


def add_verify(verb: Parser) -> None:
    """Add the options of ``verify``."""
    verb.set_defaults(run=_verify)
    verb.add_argument("report", type=Path, metavar="REPORT", help="the JSON of a report")
    verb.add_argument(
        "files", nargs="+", metavar="RUN_OR_FILE", help="what it reports, in its order"
    )
    add_reading(verb)
    add_votes(verb)


def _verify(arguments: argparse.Namespace) -> int:
    need_file(arguments.report)
    try:
        lines = _differences(arguments)
    except Refused as refused:
        lines = [f"{refused.code}: {refused.named()}; {refused.remedy}"]
    if not lines:
        print("The report agrees with its files: digests, settings and every number.")
        return 0
    for line in lines[:SHOWN]:
        print(printable(line))
    if len(lines) > SHOWN:
        print(f"and {len(lines) - SHOWN:,} more")
    return 1


def _differences(arguments: argparse.Namespace) -> list[str]:
    from core.reports import build, certificate

    stated = certificate.opened(arguments.report)
    files: list[str] = arguments.files
    if len(files) != len(stated.runs):
        what = f"Runs in the report: {len(stated.runs)}; files named: {len(files)}"
        raise UsageError("USAGE", what, "name each in the report's order")
    runs = tuple(_run(name, run, arguments) for name, run in zip(files, stated.runs, strict=True))
    lines = [line for run, own in zip(runs, stated.runs, strict=True) for line in own.beside(run)]
    if lines:  # other rows: their numbers need no comparison
        return lines
    request = build.ReportRequest(
        runs=runs, sections=stated.sections, edition=stated.edition, config=stated.config
    )
    again, _ = build.report(request)
    return certificate.differences(stated.content, again)


def _run(name: str, stated: Any, arguments: argparse.Namespace) -> Any:  # noqa: ANN401  imported late
    """Return what is reported, read as the report says it was."""
    options = argparse.Namespace(**vars(arguments) | {"split": stated.split})
    try:
        run = run_or_file(name, options, stated.reading)
    except (Refused, LibraryError) as error:
        what = f"{name} cannot be read as it was: {error.what}"
        raise Refused("REPORT", what, "name the file that was reported") from error
    return replace(run, name=stated.name, file=stated.file)
