"""``python -m core train`` and ``samples build``: what trains models."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from core.commands.jobs import add_launcher, report, request_of, wait_for
from core.commands.shared import Parser, printable
from core.disk import JsonError, parse_json
from core.errors import UsageError


def add_train(verb: Parser) -> None:
    """Add the options of ``train``."""
    verb.set_defaults(run=_train)
    verb.add_argument("config", type=Path, metavar="CONFIG.json")
    verb.add_argument("--wait", action="store_true", help="return when training has ended")
    verb.add_argument("--time-limit", type=float, metavar="SECONDS", help="stop it after so long")
    verb.add_argument("--json", metavar="OUT|-")
    add_launcher(verb)


def add_samples(verb: Parser) -> None:
    """Add the acts of ``samples``."""
    acts = verb.add_subparsers(required=True, metavar="ACT", parser_class=Parser)
    build = acts.add_parser("build", help="train the models behind the sample runs")
    build.add_argument("--only", metavar="NAME")
    build.add_argument("--images", type=Path, metavar="DIR", help="CIFAR-10 as JPEGs in folders")
    build.add_argument(
        "--minutes", type=float, metavar="M", help="stop then; build again to continue"
    )
    study = acts.add_parser("study", help="recompute what pages show first")
    for name, act in (("build", build), ("study", study)):
        act.set_defaults(run=_samples, act=name)
        act.add_argument("--out", type=Path, help="default: the folder of the shipped samples")


def _samples(arguments: argparse.Namespace) -> int:
    from core.library import SAMPLES, Library, home
    from core.studies.precomputed import keep_studies

    library = Library(home(), arguments.out or SAMPLES)
    if arguments.act == "study":
        for name in sorted(folder.name for folder in library.samples.iterdir() if folder.is_dir()):
            keep_studies(library, name)
            print(f"{name}: studied")
        return 0
    from core.inference import film_samples
    from core.inference.film_examples import MODELS
    from core.training.samples import BUILT, build

    outcomes = build(
        library.samples,
        arguments.only,
        work=home() / "samples",
        images=arguments.images,
        minutes=arguments.minutes,
    )
    if arguments.only is None or arguments.only in MODELS:
        outcomes += film_samples.build(library.samples)
    for name, what in outcomes:
        if what == BUILT:
            keep_studies(library, name)
        print(f"{name}: {what}")
    return 0


def _train(arguments: argparse.Namespace) -> int:
    from core.jobs.local import open_jobs
    from core.training.config import advice, from_json

    request, path = request_of(arguments), arguments.config
    try:
        settings = parse_json(path.read_bytes())
    except OSError as error:
        raise UsageError("FILE", f"There is no file {path.name}", "check the path") from error
    except JsonError as error:
        remedy = "give a JSON object, each key once"
        raise UsageError("SETTING", f"{path.name} {error}", remedy) from error
    config = from_json(settings)
    for notice in advice(config):
        print(printable(f"{notice.code}: {notice.sentence}"), file=sys.stderr)
    if config.data_root:  # the trainer runs in another folder
        config = replace(config, data_root=str(Path(config.data_root).expanduser().absolute()))
    jobs = open_jobs()
    (job,) = jobs.submit([config], time_limit=arguments.time_limit, request=request)
    if arguments.wait:
        return wait_for(jobs, job, arguments.json)
    return report(job, arguments.json)
