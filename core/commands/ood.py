"""``python -m core ood``: how well scores separate unfamiliar inputs from the test set."""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.codes import NoticeCode
from core.commands.shared import (
    GROUPS,
    READING,
    UNITS,
    Json,
    Parser,
    add_reading,
    emit,
    flag,
    need_file,
    printable,
    read_file,
    refuse_changed,
    split_of,
    tables_of,
)
from core.errors import Notice, Refused, UsageError

Tables = Mapping[str, tuple[Path, str]]
FIT, NONE = "fit", "none"
OWN = ("scores", "units", *GROUPS)  # of the options of reading
LACKING = {"--labels", *(flag(name) for name in READING if name not in OWN)}
ALONE = "save the scores alone, by the name logits or probabilities"
LABELLED = (
    "save the in-distribution file with val_logits, val_labels, test_logits and test_labels, or "
    "give a number with --temperature"
)
BESIDE = "save scores and labels in one file, by the names logits and labels"


def add_ood(verb: Parser) -> None:
    """Add the options of ``ood``."""
    verb.set_defaults(run=_ood)
    verb.add_argument(
        "--in", dest="inside", type=Path, required=True, metavar="FILE", help="in-distribution"
    )
    verb.add_argument("--labels", type=Path, metavar="FILE", help="of the in-distribution file")
    verb.add_argument(
        "--out", nargs="+", action="extend", required=True, metavar="NAME=FILE", help="other inputs"
    )
    verb.add_argument("--score", default="entropy", help="entropy, msp, max_logit or energy")
    verb.add_argument(
        "--temperature",
        default=NONE,
        metavar="none|fit|T",
        help="fit: on the labelled validation part of the in-distribution file",
    )
    add_reading(verb, ["scores"])
    verb.add_argument("--units", choices=UNITS, help="what the scores of every file count in")
    add_reading(verb, GROUPS)
    verb.add_argument("--split", metavar="test", help="of the in-distribution file")
    verb.add_argument("--json", metavar="OUT|-")


def _ood(arguments: argparse.Namespace) -> int:
    from core.ood.scores import SCORES
    from core.reports.study_json import InDistribution, SetReport, ood_json, ood_lines
    from core.studies.ood import check, extent_notices, is_shifted, judge
    from core.studies.posthoc import fitted_temperature

    if arguments.score not in SCORES:
        what = f"There is no score {arguments.score!r}"
        raise UsageError("SETTING", what, f"use one of {', '.join(SCORES)}")
    files: dict[str, Path] = {}
    for text in arguments.out:
        name, sign, path = text.partition("=")
        if not (name and sign and path):
            raise UsageError("USAGE", f"{text!r} is not NAME=FILE", "write svhn=svhn.npz")
        if name in files:
            raise UsageError("USAGE", f"Two files are called {name}", "name each differently")
        files[name] = Path(path)
    fitting, temperature = arguments.temperature == FIT, None
    if arguments.temperature not in (NONE, FIT):
        try:
            temperature = float(arguments.temperature)
        except ValueError:
            what = f"The temperature is {arguments.temperature!r}"
            raise UsageError("SETTING", what, "use none, fit, or a number above 0") from None
    reading = {"scores": arguments.scores, "units": arguments.units}
    columns, tables = tables_of(arguments)
    unlabelled = not fitting and arguments.labels is None
    choices = {**reading, **columns, "unlabelled": unlabelled}
    own_file = _read(arguments.inside, choices, tables, arguments.labels)
    split = split_of(arguments.split, own_file)
    if fitting and split == "val":
        what = "The part val is reported, but a temperature would be fitted on it"
        remedy = "report a part test beside it, or give a number with --temperature"
        raise UsageError("SPLIT", what, remedy)
    if fitting and "val" not in own_file.splits:
        what = "There is no validation part to fit a temperature on"
        remedy = "give a file with parts val and test, or a number with --temperature"
        raise UsageError("SPLIT", what, remedy)
    if fitting:
        temperature = fitted_temperature(own_file.splits["val"])
    inside = own_file.splits[split]
    others = {
        part_name: part
        for part_name, part in own_file.splits.items()
        if part_name != split and not is_shifted(part_name)
    }
    sets = []
    for name, path in files.items():
        result = _set(path, {**reading, "unlabelled": True}, columns, tables)
        outside = result.splits[result.chosen_split]
        warnings = check(inside, outside, name, shifted=is_shifted(name), parts=others)
        as_read = judge(inside, outside, arguments.score)
        notices = (*result.notices, *warnings, *extent_notices(as_read, name))
        after = None
        if temperature is not None:
            after = judge(inside, outside, arguments.score, temperature)
        refuse_changed(path.name, result)
        sets.append(SetReport(name, as_read, after, notices))
    refuse_changed(arguments.inside.name, own_file)
    own = InDistribution(
        file=arguments.inside.name, digest=own_file.digest, split=split, notices=own_file.notices
    )
    report = ood_json(own, arguments.score, temperature, "val" if fitting else "", sets)
    emit(arguments.json, report)
    if arguments.json != "-":
        for line in ood_lines(report):
            print(printable(line))
    return 0


def _set(path: Path, choices: dict[str, object], columns: Json, tables: Tables) -> Any:  # noqa: ANN401  as above
    """Read another set, with the columns of groups and weights that it has, too."""
    result = _read(path, choices, {})
    own = {column.name for column in result.inspection.columns}
    named = {option: column for option, column in columns.items() if column is not None}
    here = {option: name for option, name in named.items() if name in own and option not in tables}
    if here:
        result = _read(path, {**choices, **here}, {})
    texts = [
        f"{path.name} has no {name} of its own: each of its rows counts as one"
        for option, name in named.items()
        if option not in here
    ]
    notices = tuple(Notice(NoticeCode.KEYS_GUESSED, text) for text in texts)
    return replace(result, notices=(*result.notices, *notices))


def _read(
    path: Path, choices: dict[str, object], tables: Tables, labels: Path | None = None
) -> Any:  # noqa: ANN401  as above
    """Read a file, or a folder of shards, in a process of its own; its labels may lie beside it.

    Raises
    ------
    UsageError
        FILE: it is not there, or cannot be opened.
    Refused
        What the readers refuse; it names no option that this verb does not have.
    """
    from core.readers.predictions.result import ReadOptions

    need_file(path, or_folder=True)
    if labels is not None:
        need_file(labels)
    options = ReadOptions.from_json(choices)
    try:
        return read_file(path, labels, options, tables)
    except Refused as refused:
        if LACKING.isdisjoint(refused.options):
            raise
        remedy = BESIDE if labels else ALONE if options.unlabelled else LABELLED
        raise refused.with_remedy(remedy) from refused
