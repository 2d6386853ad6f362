"""The headless twin of the pages: ``python -m core``.

Exit codes: 0 done; 1 a gate failed (``--fail-if``); 2 the input was refused; 3 wrong usage;
4 an internal error or a lost worker; 130 interrupted; 141 nobody read what it printed.
"""

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from core import defaults
from core.commands import calibrate, evaluate, gradcam, jobs, ood, report, runs, train, wants_json
from core.commands.shared import (
    Json,
    Parser,
    add_audit,
    add_reading,
    add_votes,
    complain,
    config_of,
    emit,
    number,
    printable,
    read,
    refuse_changed,
    split_of,
    with_votes,
    write,
)
from core.errors import AuditError, LostWorker, UsageError, lacking, sentence

if TYPE_CHECKING:
    from core.configs import AuditConfig

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy, which commands import late


HUMAN: Final = ("tvd", "entropy_gap", "entropy_gap_signed", "rank", "ece_votes", "soft_nll")
UNREAD: Final = 141  # 128 + SIGPIPE, which ends other programs then


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        try:
            return _run(argv)
        finally:
            print(end="", flush=True)  # what the buffer holds finds a closed pipe here, not later
    except BrokenPipeError:
        # What cannot be written goes nowhere: Python tries again as it ends, and would complain
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BrokenPipeError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return UNREAD


def _run(argv: Sequence[str] | None) -> int:
    from core.readers.sandbox import scratch

    argv = list(sys.argv[1:] if argv is None else argv)
    as_json = wants_json(argv)
    try:
        arguments = _parser().parse_args(argv)
        scratch.sweep()  # what a command that was killed left of a user's data
        code: int = arguments.run(arguments)
    except AuditError as error:
        return _fail(error, as_json=as_json)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # nobody reads any more, so there is nobody to tell
        raise
    except Exception as error:  # the command's outermost door: one line, the log has the rest
        lack = lacking(error)
        if lack is not None:
            return _fail(lack, as_json=as_json)
        logging.getLogger("candor").debug("internal error", exc_info=True)
        lost = AuditError(
            "INTERNAL", f"{type(error).__name__}: {error}", "report this with the kind of file"
        )
        lost.exit_code = 4
        return _fail(lost, as_json=as_json)
    return code


def _fail(error: AuditError, *, as_json: bool) -> int:
    complain(error)
    if as_json:
        print(json.dumps({"error": error.to_json()}))
    return error.exit_code


def _parser() -> Parser:
    parser = Parser(prog="python -m core", description="Audit the calibration of a classifier.")
    verbs = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    _add_audit(verbs.add_parser("audit", help="audit a file of scores and labels"))
    _add_compare(verbs.add_parser("compare", help="compare files on the same labelled rows"))
    calibrate.add_calibrate(verbs.add_parser("calibrate", help="fit calibrators and judge them"))
    calibrate.add_apply(verbs.add_parser("apply", help="apply a saved calibrator to a file"))
    ood.add_ood(verbs.add_parser("ood", help="measure how well scores detect unfamiliar inputs"))
    report.add_report(verbs.add_parser("report", help="write a report of runs or files"))
    report.add_verify(verbs.add_parser("verify", help="check a report against its files"))
    runs.add_runs(verbs.add_parser("runs", help="list and keep runs of the library"))
    train.add_train(verbs.add_parser("train", help="train a model in the background"))
    evaluate.add_evaluate(verbs.add_parser("evaluate", help="run a checkpoint on images"))
    gradcam.add_gradcam(verbs.add_parser("gradcam", help="draw where on a film a score comes from"))
    jobs.add_jobs(verbs.add_parser("jobs", help="list, stop and resume trainings"))
    runs.add_backup(verbs.add_parser("backup", help="write all that is kept to one file"))
    runs.add_restore(verbs.add_parser("restore", help="fill an empty CANDOR_HOME from a backup"))
    train.add_samples(verbs.add_parser("samples", help="build the sample runs"))
    return parser


def _add_audit(verb: Parser) -> None:
    verb.set_defaults(run=_audit)
    verb.add_argument("file", type=Path)
    add_reading(verb)
    add_votes(verb)
    verb.add_argument("--split", metavar="NAME")
    add_audit(verb)
    verb.add_argument("--json", metavar="OUT|-")
    verb.add_argument("--html", metavar="OUT", type=Path)
    verb.add_argument("--by-date", action="store_true", help="also by month, quarter or year")
    verb.add_argument("--fail-if", action="append", default=[], metavar='"ece>0.05"')
    jobs.add_launcher(verb, default=None)


def _audit(arguments: argparse.Namespace) -> int:
    from core.reports.study_json import failures, gate

    config = config_of(arguments)
    gates = [gate(text) for text in arguments.fail_if]
    if arguments.launcher is not None and arguments.by_date:
        raise UsageError("USAGE", "--by-date goes with no --launcher", "drop one of them")
    if arguments.launcher is not None:
        report = jobs.audit_by_job(arguments, config)
    else:
        jobs.request_of(arguments)  # refuses options of a cluster
        from core.metrics.human import human_audit
        from core.metrics.suite import audit
        from core.reports.study_json import audit_json, human_json

        result, name = read(arguments), arguments.file.name
        split = split_of(arguments.split, result)
        result = replace(with_votes(arguments, result, split), digest=result.digest)
        audited = audit(result.splits[split], config)
        refuse_changed(name, result)
        rows = {part_name: part.n for part_name, part in result.splits.items()}
        report = audit_json(name, result.digest, rows, split, result.notices, audited)
        if result.splits[split].votes is not None:
            report["human"] = human_json(human_audit(result.splits[split], config))
        if arguments.by_date:
            report["by_date"] = _by_date(result.splits[split], config)
        if arguments.html:
            from core.reports.html import audit_html

            write(arguments.html, audit_html(name, result, split, audited))
    emit(arguments.json, report)
    if arguments.json != "-":
        _print_audit(report)
    failed = failures(gates, report)
    for line in failed:
        print(line, file=sys.stderr)
    return int(bool(failed))


def _by_date(part: Any, config: "AuditConfig") -> Json:  # noqa: ANN401  Predictions; imported late
    """Return the calibration of each period: of the event, of each label, or of the answers."""
    from core.metrics.clinical.groups import by_date, subgroups
    from core.metrics.null_test import holm
    from core.predictions import Task

    if part.dates is None:
        remedy = "give a column of days, as 2021-03-31"
        raise UsageError("SETTING", "The file has no dates that can be read", remedy)
    many = part.task is Task.MULTILABEL
    targets = range(part.n_classes) if many else [1 if part.task is Task.BINARY else None]
    periods: list[Json] = []
    for target in targets:
        known = part.labelled_rows(target) if many else None
        dates = part.dates if known is None else part.dates.take(known)
        outcomes, groups = part.outcomes(target), by_date(dates.of_row)
        found = subgroups(
            outcomes.confidence, outcomes.correct, groups, config.level,
            n_resamples=config.n_resamples, sampling=outcomes.sampling,
        )  # fmt: skip
        name = "answers" if target is None else part.class_names[target]
        periods += [
            {
                "period": group.name, "of": name, "n": group.fit.n, "ece": group.ece.value,
                "low": group.ece.low, "high": group.ece.high, "floor": group.floor.q95,
                "p_value": group.p_value,
            }
            for group in found
        ]  # fmt: skip
    for period, p_value in zip(periods, holm([p["p_value"] for p in periods]), strict=True):
        period["beyond_chance"] = bool(p_value < 1.0 - config.level)
    return {"column": part.dates.name, "level": config.level, "groups": periods}


def _beside_votes(report: Json) -> tuple[str, str]:
    """Return what the verdict is held against, and where votes show the opposite."""
    from core.metrics.records import Gap
    from core.screens.reliability.human import opposite_words, yardstick

    def gap(part: Json) -> Gap:
        ends = (part["direction"][key] for key in ("gap", "low", "high"))
        return Gap(*(float("nan") if end is None else end for end in ends))

    opposite = opposite_words(gap(report.get("answers", report)), gap(report["human"]))
    against = yardstick(by_majority=report["human"]["by_majority"])
    return f", {against}", f" {opposite}".rstrip()


def _print_audit(report: Json) -> None:
    against, opposite = _beside_votes(report) if "human" in report else ("", "")
    split = f"{report['split']} split{against}"
    print(printable(f"{report['file']}, {split}: {report['verdict']['text']}{opposite}"))
    for other in ("event_audit", "answers"):
        if other in report:
            print(printable(f"{other.partition('_')[0]}: {report[other]['verdict']['text']}"))
    kinds = "labels" if report["task"] == "multilabel" else "classes"
    known = f"{report['n_classes']:,} {kinds}, " * (report["task"] != "top_label")
    rows = "1 row" if report["n"] == 1 else f"{report['n']:,} rows"
    print(f"{rows}, {known}read as {report['scores']}")
    for name, score in report["metrics"].items():
        print(f"  {name:<14} {number(score['value']):>10}  {_interval(score)}")
    for name, reason in report["unavailable"].items():
        print(f"  {name:<14} {'-':>10}  {reason}")
    if "human" in report:
        human: Json = report["human"]
        asked = human["votes_per_row"]
        by = "shares of votes" if asked is None else f"{asked:g} votes a row"
        print(printable(f"Compared with people on {human['n']:,} rows, {by}: {human['text']}"))
        for name in HUMAN:
            score, floor = human[name], human[name]["floor"]
            beside = "" if floor is None else f", floor {floor:.4f}"
            print(f"  {name:<18} {number(score['value']):>10}  {_interval(score)}{beside}")
    if "by_date" in report:
        listed = len(report["by_date"]["groups"])
        beyond = f"; off beyond chance: corrected for {listed} looks (Holm)"
        print(printable(f"By {report['by_date']['column']}: ECE, up to what chance shows{beyond}"))
        quote = ("", "") if report["task"] == "multiclass" else ("“", "”")
        for group in report["by_date"]["groups"]:
            once = f", beyond chance in one look, not in {listed}"
            off = once if group["ece"] > group["floor"] else ""
            off = ", off beyond chance" if group["beyond_chance"] else off
            what = f"  {group['period']:<12} {group['of'].join(quote)}, {group['n']:,} rows"
            interval = f"{number(group['low'])} to {number(group['high'])}"
            ece = f"{number(group['ece'])} ({interval}), up to {group['floor']:.4f}"
            print(printable(f"{what}: {ece}{off}"))
    for notice in report["notices"]:
        print(printable(f"{notice['code']}: {sentence(notice['text'])}"))
    if "run" in report:
        print(f"run {report['run']}")


def _add_compare(verb: Parser) -> None:
    verb.set_defaults(run=_compare)
    verb.add_argument(
        "files", type=Path, nargs="+", metavar="FILE", help="the best of them is the reference"
    )
    add_reading(verb)
    add_votes(verb)
    verb.add_argument("--metric", default="ece", metavar="ece")
    verb.add_argument(
        "--threshold",
        type=float,
        default=defaults.ACTS_AT,
        metavar="RISK",
        help="from which net benefit acts, of two classes",
    )
    verb.add_argument("--json", metavar="OUT|-")
    verb.add_argument(
        "--format",
        choices=("text", "csv", "markdown", "latex"),
        default="text",
        help="of the table",
    )


def _compare(arguments: argparse.Namespace) -> int:
    from core.metrics.comparison import MOST_RUNS, best, compare_all, compared, why_not
    from core.metrics.paired import PAIRED
    from core.metrics.votes import DISTANCE
    from core.predictions import Task
    from core.reports.study_json import compare_json
    from core.reports.tables import FORMATS, letters
    from core.screens.compare.view import compare_view
    from core.screens.kit.differences import NamedRun
    from core.screens.kit.words import speaking_of
    from core.studies.comparison import AUROC, with_risks

    files: list[Path] = arguments.files
    if not 2 <= len(files) <= MOST_RUNS:
        given = "1 file is given" if len(files) == 1 else f"{len(files)} files are given"
        raise UsageError("USAGE", given, f"name 2 to {MOST_RUNS}")
    if arguments.metric not in (*PAIRED, AUROC, DISTANCE):
        what = f"Metric {arguments.metric!r} cannot be compared"
        raise UsageError("SETTING", what, f"use one of {', '.join((*PAIRED, AUROC, DISTANCE))}")
    if not 0.0 < arguments.threshold < 1.0:
        what = f"The threshold of net benefit is {arguments.threshold:g}"
        raise UsageError("SETTING", what, "use a risk between 0 and 1, such as 0.1")
    short = [file.name for file in files]
    names = short if len(set(short)) == len(short) else [str(file) for file in files]
    runs, rows, named = [], [], []
    for name, file in zip(names, files, strict=True):
        of_file = argparse.Namespace(**vars(arguments) | {"file": file})
        result = read(of_file)
        result = with_votes(of_file, result, result.chosen_split)
        part = result.splits[result.chosen_split]
        runs.append(compared(part))
        if part.task is Task.BINARY:  # scores of many classes would not all fit in memory
            rows.append(part)
        refuse_changed(file.name, result)
        named.append(NamedRun(name, name, result.chosen_split, result.digest))
    if arguments.metric == DISTANCE and not any(run.distance for run in runs):
        what = f"No file has votes to compare by {DISTANCE}"
        raise UsageError("SETTING", what, "name them with --votes")
    two_classes = len(rows) == len(runs)
    if arguments.metric == AUROC and not two_classes:
        what = "Files can be compared by auroc only where all are of two classes"
        raise UsageError("SETTING", what, f"use one of {', '.join(PAIRED)}")
    unranked = why_not([run.rows for run in runs], names)
    comparison = compare_all(runs, names, 0 if unranked else best(runs, arguments.metric))
    if two_classes:
        runs, comparison = with_risks(runs, comparison, rows, arguments.threshold)
    with speaking_of(""):  # nothing says what the rows of a file are
        view = compare_view(named, runs, comparison, arguments.metric)
    badges = letters(view, names)
    emit(arguments.json, compare_json(names, badges, runs, comparison, arguments.metric))
    if arguments.json != "-":
        text = FORMATS[arguments.format](view)
        print("\n".join(printable(line) for line in text.splitlines()))
    return 0


def _interval(score: Json) -> str:
    if score["low"] is None:
        return str(score.get("reason", ""))
    return f"{score['low']:.4f} to {score['high']:.4f} ({100 * score['level']:g} %)"


if __name__ == "__main__":
    exit_code = main()
    if exit_code == LostWorker.exit_code:
        # Libraries loaded by half, for want of memory, crash as the interpreter ends: leave at once
        with suppress(OSError):
            sys.stderr.flush()
        os._exit(exit_code)
    sys.exit(exit_code)
