"""``python -m core report`` and ``verify``: a file to hand on, and whether it still holds."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.commands.shared import (
    Parser,
    add_audit,
    add_reading,
    add_votes,
    config_of,
    need_file,
    printable,
    read,
    split_of,
    with_votes,
    write,
)
from core.errors import LibraryError, Refused, UsageError

FORMATS = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json"}
SHOWN = 20  # differences; more are counted


def add_report(verb: Parser) -> None:
    """Add the options of ``report``."""
    verb.set_defaults(run=_report)
    verb.add_argument(
        "runs", nargs="+", metavar="RUN_OR_FILE", help="ids of the library, or files of scores"
    )
    add_reading(verb)
    add_votes(verb)
    verb.add_argument("--split", metavar="NAME")
    verb.add_argument("--out", type=Path, metavar="report.html", help="- or nothing: stdout")
    verb.add_argument(
        "--format", choices=["html", "markdown", "json"], help="default: by the name of --out"
    )
    verb.add_argument("--edition", default="technical", choices=["technical", "plain", "board"])
    verb.add_argument("--sections", metavar="A,B", help="default: all that fit")
    add_audit(verb, ("bins", "level", "resamples", "seed"))
    verb.add_argument(
        "--fail-if", action="append", default=[], metavar='"ece>0.05"', help="exit 1 if any run is"
    )


def _report(arguments: argparse.Namespace) -> int:
    from core.reports import build, html
    from core.reports.certificate import canonical
    from core.reports.document import Edition, document_markdown
    from core.reports.study_json import failures, gate

    suffix = "" if arguments.out is None else arguments.out.suffix.lower()
    form = arguments.format or FORMATS.get(suffix)
    if form is None:
        what = "The report has no format"
        raise UsageError("OUTPUT", what, "name a file ending in .html, .md or .json, or --format")
    gates = [gate(text) for text in arguments.fail_if]
    config = config_of(arguments)
    runs = tuple(run_or_file(name, arguments) for name in arguments.runs)
    chosen = tuple(key for key in (arguments.sections or "").split(",") if key)
    request = build.ReportRequest(
        runs=runs,
        sections=chosen or build.default_sections(runs),
        edition=Edition(arguments.edition),
        config=config,
    )
    content, document = build.report(request)
    text = {
        "html": lambda: html.document_html(document),
        "markdown": lambda: document_markdown(document),
        "json": lambda: canonical(content),
    }[form]()
    if arguments.out is None or str(arguments.out) == "-":
        sys.stdout.write(text)
    else:
        write(arguments.out, text)
        print(printable(f"{arguments.out.name}: {document.title}; certificate {document.digest}"))
    failed = [
        f"{run['name']}: {line}"
        for run in content["runs"]
        for line in failures(gates, run["audit"])
    ]
    for line in failed:
        print(printable(line), file=sys.stderr)
    return int(bool(failed))


def run_or_file(
    name: str, arguments: argparse.Namespace, recipe: dict[str, Any] | None = None
) -> Any:  # noqa: ANN401  ReportedRun; imported late
    """Return a file to be reported, or a run of the library where there is no such file.

    `name`: path, or id of a run; `arguments`: with the options of reading and of votes, and the
    split; `recipe`: how a file is read, in place of those options.

    Raises UsageError SETTING: votes were named for a run of the library that has none. As of
    `read`, `split_of` and `with_votes`.
    """
    from core.library import open_library
    from core.library.manifest import RUN_ID
    from core.reports.build import run_of_file, run_of_library

    path = Path(name)
    if not path.exists() and RUN_ID.fullmatch(name):
        run = run_of_library(open_library(), name, arguments.split)
        if arguments.votes is not None and run.split not in run.voted:
            what = f"--votes is for files, and {name} is a run of the library without votes"
            raise UsageError("SETTING", what, "import its file again: runs import FILE --votes")
        return run
    of_file = argparse.Namespace(**vars(arguments) | {"file": path})
    result = read(of_file, recipe)
    split = split_of(arguments.split, result)
    return run_of_file(path.name, with_votes(of_file, result, split), split)


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
    from core.reports import build, certificate

    need_file(arguments.report)
    try:
        stated = certificate.opened(arguments.report)
        files: list[str] = arguments.files
        if len(files) != len(stated.runs):
            what = f"Runs in the report: {len(stated.runs)}; files named: {len(files)}"
            raise UsageError("USAGE", what, "name each in the report's order")
        runs: list[Any] = []  # Any: ReportedRun, imported late
        for name, own in zip(files, stated.runs, strict=True):  # each read as the report says
            options = argparse.Namespace(**vars(arguments) | {"split": own.split})
            try:
                run = run_or_file(name, options, own.reading)
            except (Refused, LibraryError) as error:
                what = f"{name} cannot be read as it was: {error.what}"
                raise Refused("REPORT", what, "name the file that was reported") from error
            runs.append(replace(run, name=own.name, file=own.file))
        both = zip(runs, stated.runs, strict=True)
        lines = [line for run, own in both for line in own.differences(run)]
        if not lines:  # of other rows the numbers need no comparison
            request = build.ReportRequest(
                runs=tuple(runs),
                sections=stated.sections,
                edition=stated.edition,
                config=stated.config,
            )
            again, _ = build.report(request)
            lines = certificate.differences(stated.content, again)
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
