"""``python -m core report``: runs and files as one HTML, Markdown or JSON file to hand on."""

import argparse
import sys
from pathlib import Path
from typing import Any

from core import defaults
from core.commands.shared import (
    Parser,
    add_reading,
    add_votes,
    printable,
    read,
    split_of,
    with_votes,
    write,
)
from core.errors import UsageError

FORMATS = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json"}


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
    verb.add_argument("--bins", type=int, default=defaults.N_BINS)
    verb.add_argument("--level", type=float, default=defaults.LEVEL)
    verb.add_argument("--resamples", type=int, default=defaults.N_RESAMPLES)
    verb.add_argument("--seed", type=int, default=defaults.SEED)
    verb.add_argument(
        "--fail-if", action="append", default=[], metavar='"ece>0.05"', help="exit 1 if any run is"
    )


def _report(arguments: argparse.Namespace) -> int:
    from core.configs import AuditConfig
    from core.reports import build, canonical, html, markdown
    from core.reports.document import Edition
    from core.reports.gates import failures, gate

    form = _format(arguments)
    gates = [gate(text) for text in arguments.fail_if]
    config = AuditConfig(
        n_bins=arguments.bins,
        level=arguments.level,
        n_resamples=arguments.resamples,
        seed=arguments.seed,
    )
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
        "markdown": lambda: markdown.document_markdown(document),
        "json": lambda: canonical.canonical(content),
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


def _format(arguments: argparse.Namespace) -> str:
    """Return the form that was asked for, or that the name of the output says.

    Raises
    ------
    UsageError
        OUTPUT: the name says none.
    """
    if arguments.format:
        return str(arguments.format)
    suffix = "" if arguments.out is None else arguments.out.suffix.lower()
    if suffix not in FORMATS:
        what = "The report has no format"
        raise UsageError("OUTPUT", what, "name a file ending in .html, .md or .json, or --format")
    return FORMATS[suffix]


def run_or_file(
    name: str, arguments: argparse.Namespace, recipe: dict[str, Any] | None = None
) -> Any:  # noqa: ANN401  ReportedRun; imported late
    """Return a file to be reported, or a run of the library where there is no such file.

    Parameters
    ----------
    name : str
        Path, or id of a run.
    arguments : Namespace
        With the options of reading and of votes, and the split.
    recipe : dict, optional
        How a file is read, in place of those options.

    Raises
    ------
    UsageError
        SETTING: votes were named for a run of the library that has none. As of `read`, `split_of`
        and `with_votes`.
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
