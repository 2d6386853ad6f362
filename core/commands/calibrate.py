"""``python -m core calibrate`` and ``apply``: fit, judge, save and use calibrators."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import defaults
from core.commands.shared import (
    Json,
    Parser,
    add_reading,
    add_votes,
    emit,
    printable,
    read,
    refuse_changed,
    split_of,
    with_votes,
    write,
)
from core.configs import OTHER_NAMES, SEARCHES
from core.disk import JsonError, parse_json
from core.errors import Refused, UsageError
from core.predictions import Task
from core.published import PAPERS, FitProtocol, published

if TYPE_CHECKING:
    from core.studies.posthoc import Fit

OF_RAW_LOGITS = ("vector", "matrix")
LARGEST_CALIBRATOR = 2**28  # bytes; a matrix of 1,000 classes takes about 20 MB


def add_calibrate(verb: Parser) -> None:
    """Add the options of ``calibrate``."""
    verb.set_defaults(run=_calibrate)
    verb.add_argument("file", type=Path)
    add_reading(verb)
    add_votes(verb)
    verb.add_argument(
        "--methods",
        metavar="A,B",
        help="by default those of the Post-hoc page: ts,focal_map,focal_ts, and vector where "
        "classes differ; beta,vector,ts for two classes and labels",
    )
    verb.add_argument("--fit", metavar="val", help="a split, or cut: some rows of the test split")
    verb.add_argument("--test", metavar="test")
    verb.add_argument("--share", type=float, default=0.5, help="of the rows, with --fit cut")
    verb.add_argument("--seed", type=int, default=defaults.SEED, help="of the cut")
    verb.add_argument(
        "--by", choices=[*PAPERS], help="a paper, for its methods, search and objectives"
    )
    verb.add_argument(
        "--objective",
        choices=["nll", "ece", "ece_em", "ada_ece", "brier"],
        help="brier for ensemble temperature scaling, as released; others have no such fit",
    )
    verb.add_argument(
        "--search",
        choices=[*SEARCHES, *OTHER_NAMES],
        help="one for temperature and focal temperature alike; paper is komisarenko",
    )
    verb.add_argument("--json", metavar="OUT|-")
    verb.add_argument("--save", metavar="DIR", type=Path, help="a .json and a .py a method")


def add_apply(verb: Parser) -> None:
    """Add the options of ``apply``."""
    verb.set_defaults(run=_apply)
    verb.add_argument("calibrator", type=Path, metavar="CALIBRATOR.json")
    verb.add_argument("file", type=Path)
    add_reading(verb)
    verb.add_argument("--out", type=Path, required=True, metavar="FILE.npz")


def _calibrate(arguments: argparse.Namespace) -> int:
    from core.calibrators import CALIBRATORS
    from core.reports.study_json import calibrate_json, calibrate_lines, human_fits_json
    from core.screens.kit.methods import fitted_as
    from core.studies.human import METHODS, VOTES, fit_on_people, human_fits, human_rows
    from core.studies.posthoc import (
        CUT,
        NONE,
        default_methods,
        fit,
        fit_default,
        judge,
        parts,
        provenance,
    )
    from core.studies.published import protocol_of, protocols

    by, of_paper = arguments.by, protocols(published(paper=arguments.by or ""))
    objectives = [protocol.objective for protocol in of_paper.get("ts", ())]
    if by and (arguments.search or arguments.objective not in (None, *objectives)):
        what = f"--by {by} sets the search, and fits by {' or '.join(objectives)}"
        raise UsageError("SETTING", what, "leave out --search and any other --objective")
    objective = arguments.objective or next(iter(objectives), "nll")
    chosen = FitProtocol(objective, arguments.search or "exact")
    named = (arguments.methods or "").split(",")
    methods = list(dict.fromkeys(name for name in named if name))
    unknown = [name for name in methods if name not in CALIBRATORS]
    if unknown or (arguments.methods is not None and not methods):
        what = f"There is no method {', '.join(unknown) or 'named'}"
        raise UsageError("SETTING", what, f"use some of {','.join(CALIBRATORS)}")
    result = read(arguments)
    test = split_of(arguments.test, result)
    result = with_votes(arguments, result, test)
    fit_on = arguments.fit or fit_default(list(result.splits), test)
    rows = parts(result.splits, fit_on, test, share=arguments.share, seed=arguments.seed)
    if by and rows.test.task is Task.TOP_LABEL:
        what = f"{arguments.file.name} states confidences, and papers fit scores of every class"
        raise UsageError("SETTING", what, "leave out --by, or give the scores of every class")
    judged = {NONE: judge(rows.test, None, objective)}
    methods = (
        methods or [*of_paper] or list(default_methods(rows.test.task, judged[NONE].compared.audit))
    )
    able = [
        name for name, of in CALIBRATORS.items() if objective in of.choices.get("objective", ())
    ]
    if arguments.objective not in (None, "nll") and not set(able) & set(methods):
        what = f"No method of {','.join(methods)} can be fitted by {objective}"
        raise UsageError("SETTING", what, f"name some of {','.join(able)}, or leave it out")
    fitted_by = {name: protocol_of(by, name, objective) if by else chosen for name in methods}
    fits = [
        fit(name, rows.fit, objective=of.objective, search=of.search)
        for name, of in fitted_by.items()
    ]
    judged |= {
        method_fit.method: judge(rows.test, method_fit.calibrator, objective)
        for method_fit in fits
        if method_fit.calibrator is not None
    }
    refuse_changed(arguments.file.name, result)
    report = calibrate_json(rows, fits, judged, result.notices) | ({"by": by} if by else {})
    if arguments.save:
        _save(arguments.save, fits, provenance(rows))
    if result.splits[test].votes is not None:
        # What temperatures fitted on votes do, beside those on labels
        voted = {name: part for name, part in result.splits.items() if part.votes is not None}
        fit_on = arguments.fit if arguments.fit in {*voted, CUT} else None
        cut = {"share": arguments.share, "seed": arguments.seed}
        people = human_fits(voted, test, fit_on, **cut)
        if arguments.save and not people.refusal:
            rows = human_rows(voted, test, fit_on, **cut)
            soft = [fit_on_people(method, rows.fit, VOTES) for method in METHODS]
            _save(arguments.save, soft, provenance(rows) | {"target": VOTES}, ending="_votes")
        report["human"] = human_fits_json(people)
    emit(arguments.json, report)
    if arguments.json != "-":
        for line in calibrate_lines(report):
            print(printable(line))
        own = {name: (of,) for name, of in fitted_by.items() if name in of_paper}
        if by and own:
            print(printable(fitted_as(by, own)))
        for notice in report["notices"]:
            print(printable(f"{notice['code']}: {notice['text']}"))
    return 0


def _save(folder: Path, fits: Sequence["Fit"], fitted_on: Json, *, ending: str = "") -> None:
    from core.calibrators.stored import code, to_json

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"{folder.name} cannot be made ({error.strerror})"
        raise UsageError("OUTPUT", what, "name another folder") from error
    for calibrator in (fit.calibrator for fit in fits if fit.calibrator is not None):
        write(
            folder / f"{calibrator.name}{ending}.json",
            json.dumps(to_json(calibrator, fitted_on), allow_nan=False) + "\n",
        )
        write(folder / f"{calibrator.name}{ending}.py", code(calibrator))


def _apply(arguments: argparse.Namespace) -> int:
    from core.calibrators.stored import from_json
    from core.library.export import write_splits
    from core.studies.posthoc import calibrated_splits

    path = arguments.calibrator
    if not path.is_file():
        raise UsageError("FILE", f"There is no file {path.name}", "check the path")
    remedy = "give a .json that calibrate saved"
    if path.stat().st_size > LARGEST_CALIBRATOR:
        raise Refused("CALIBRATOR", f"{path.name} is too large to be a calibrator", remedy)
    try:
        stored: Any = parse_json(path.read_bytes())  # Any: plain JSON
    except JsonError as error:
        raise Refused("CALIBRATOR", f"{path.name} {error}", remedy) from error
    calibrator = from_json(stored)
    if arguments.out.suffix != ".npz":
        raise UsageError(
            "OUTPUT", f"{arguments.out.name} is not an .npz file", "name a file ending in .npz"
        )
    result = read(arguments)
    # A map of raw logits does not give the same answers for log-probabilities. Temperatures and the
    # like do not care: softmax ignores what separates the two.
    method, fitted = stored["method"], stored["fitted_on"].get("scores")
    kind = str(result.splits[result.chosen_split].kind)
    if method in OF_RAW_LOGITS and fitted and (fitted == "logits") != (kind == "logits"):
        what = f"{method} was fitted on {fitted}, the file holds {kind}"
        raise Refused("CALIBRATOR", what, "apply it to the scores it was fitted on")
    write_splits(arguments.out, calibrated_splits(calibrator, result.splits))
    for notice in result.notices:
        print(printable(f"{notice.code}: {notice.sentence}"))
    print(printable(arguments.out.name))
    return 0
