"""``python -m core train`` and ``samples build``: what trains models."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.commands.jobs import add_launcher, report, request_of, wait_for, waited
from core.commands.shared import Json, Parser, complain, emit, printable
from core.disk import JsonError, parse_json
from core.errors import AuditError, UsageError

if TYPE_CHECKING:
    from core.jobs.local import LocalJobs
    from core.jobs.records import Job


def add_train(verb: Parser) -> None:
    """Add the options of ``train``."""
    verb.set_defaults(run=_train)
    verb.add_argument("config", type=Path, metavar="CONFIG.json")
    verb.add_argument(
        "--sweep",
        metavar="SETTING=A,B",
        action="append",
        default=[],
        help="train once for each value, as loss.gamma=1,2,3 or optimizer.lr=0.1,0.05; "
        "given twice, for every combination",
    )
    verb.add_argument(
        "--seeds", metavar="0,1,2", help="train once with each; default: the config's"
    )
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
    from core.inference.film_model import MODELS
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
    from core.training.config import TrainConfig, advice, from_json
    from core.training.submission import seeds, sweep, trainings

    request, path = request_of(arguments), arguments.config
    try:
        settings = parse_json(path.read_bytes())
    except OSError as error:
        raise UsageError("FILE", f"There is no file {path.name}", "check the path") from error
    except JsonError as error:
        remedy = "give a JSON object, each key once"
        raise UsageError("SETTING", f"{path.name} {error}", remedy) from error
    config = from_json(settings)
    embeddings, bert = _absolute(config.text.embeddings), _absolute(config.text.bert)
    text = replace(config.text, embeddings=embeddings, bert=bert)
    config = replace(config, data_root=_absolute(config.data_root), text=text)
    configs: tuple[TrainConfig, ...] = (config,)
    several = bool(arguments.sweep) or arguments.seeds is not None
    if several:
        values = sweep(";".join(arguments.sweep), str(config.loss["name"]))
        of = (config.seed,) if arguments.seeds is None else seeds(arguments.seeds)
        configs = trainings(config, config.name, (), of, values)
    notices = (f"{notice.code}: {notice.sentence}" for of in configs for notice in advice(of))
    for line in dict.fromkeys(notices):
        print(printable(line), file=sys.stderr)
    jobs = open_jobs()
    submitted = jobs.submit(configs, time_limit=arguments.time_limit, request=request)
    if several:
        return _report_several(jobs, submitted, arguments)
    if arguments.wait:
        return wait_for(jobs, submitted[0], arguments.json)
    return report(submitted[0], arguments.json)


def _absolute(path: str | None) -> str | None:
    """Return a path as it is elsewhere: the trainer runs in another folder."""
    return path and str(Path(path).expanduser().absolute())


def _report_several(
    jobs: "LocalJobs", submitted: Sequence["Job"], arguments: argparse.Namespace
) -> int:
    """Say what became of the jobs of one submission; the exit code is that of the first failure."""
    from core.metrics.comparison import MOST_RUNS

    failures: list[AuditError] = []
    try:
        for job in submitted if arguments.wait else ():
            try:
                waited(jobs, job)
            except AuditError as error:
                complain(error)
                failures.append(error)
    except KeyboardInterrupt:
        for job in submitted:
            jobs.cancel(job.id)
        raise
    ended = [jobs.get(job.id) for job in submitted]
    results: list[Json] = [
        jobs.folder(job.id).result() or {"job": job.id, "run": job.run, "state": job.state}
        for job in ended
    ]
    emit(arguments.json, results)
    if arguments.json != "-":
        for job in ended:
            print(printable(f"{job.id}  {job.state}  {job.name}"))
    runs = [job.run for job in ended if job.run]
    if 1 < len(runs) <= MOST_RUNS:
        link = f"/compare?runs={','.join(runs)}&way=sweep"
        print(f"Compare draws them by setting: {link}", file=sys.stderr)
    return failures[0].exit_code if failures else 0
