"""What the verbs share: reading a file, printing safely, writing outputs."""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn
from unicodedata import category

from core import defaults
from core.configs import AuditConfig
from core.disk import FULL, replace_bytes
from core.errors import AuditError, UsageError, changed

Json = dict[str, Any]  # Any: plain JSON values
TABLES = {".csv", ".tsv", ".txt", ".parquet", ".gz"}
VOTE_FILES = {*TABLES, ".npz", ".npy", ".json", ".jsonl", ".safetensors", ".pt", ".zip"}
PLACE = "[FILE:]COLUMN"
UNITS = ["percent", "byte", "sum", "ln", "log2", "log10", "softmax_twice"]
READING: dict[str, Json] = {  # fields of `ReadOptions` that a user may set, as options
    "scores": {"choices": ["logits", "probabilities", "sigmoid", "confidence"]},
    "units": {"choices": UNITS, "help": "what scores count in"},
    "answers": {"choices": ["one", "many"], "help": "true classes of a row"},
    "pairs": {"choices": ["parts", "batches"], "help": "what a list of pairs holds"},
    "uncertain": {"choices": ["leave_out", "absent", "present"], "help": "labels blank or -1"},
    "classes": {"metavar": "A,B,..", "help": "what the columns stand for, in order"},
    "scores_key": {"metavar": "K"},
    "labels_key": {"metavar": "K"},
    "correct_key": {"metavar": "K", "help": "says whether the answer was right"},
    "prediction_key": {"metavar": "K", "help": "holds the answer given"},
    "records": {"metavar": "PATH", "help": "a list inside JSON, or a sheet"},
    "members": {"metavar": "mean|1|2..|none", "help": "of an ensemble: the mean, or one"},
    "epoch": {"metavar": "E", "help": "or setting, of the same rows at several"},
    "scale": {"metavar": "LOW=0.2,..", "help": "what words of confidence stand for"},
    "id_column": {"metavar": "C"},
    "group": {"metavar": PLACE, "help": "rows that belong together; or id-stem"},
    "weight": {"metavar": PLACE, "help": "how many rows each row stands for"},
    "in_order": {"action": "store_true", "help": "two files hold the same rows"},
}
GROUPS = ("group", "weight")
AUDIT: dict[str, Json] = {  # fields of `AuditConfig`, as options
    "smece": {"default": "exact", "choices": ["exact", "relplot"]},
    "smoother": {"default": defaults.SMOOTHER, "choices": defaults.SMOOTHERS},
    "nll_clip": {"type": float, "metavar": "EPS"},
    "bins": {"type": int, "default": defaults.N_BINS},
    "level": {"type": float, "default": defaults.LEVEL},
    "small_gap": {"type": float, "default": defaults.SMALL_GAP, "metavar": "SHARE"},
    "small_slope": {"type": float, "default": defaults.SMALL_SLOPE, "metavar": "SHARE"},
    "resamples": {"type": int, "default": defaults.N_RESAMPLES},
    "seed": {"type": int, "default": defaults.SEED},
    "metrics": {
        "type": lambda text: tuple(filter(None, text.split(","))),
        "metavar": "A,B",
        "default": "",
    },
}
COUNTS = {"bins": "n_bins", "resamples": "n_resamples"}  # fields that are called otherwise


class Parser(argparse.ArgumentParser):
    """Wrong usage ends with code 3, not argparse's 2, which here means a refused input."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of exiting, so that every error leaves by one door."""
        raise UsageError("USAGE", message, f"see {self.prog} --help")


def printable(text: str) -> str:
    """Return text that cannot steer a terminal: control and direction characters become spaces."""
    plain = "".join(" " if category(mark) in {"Cc", "Cf"} else mark for mark in text)
    return plain.encode("utf-8", "backslashreplace").decode()  # half a character as its code


def complain(error: AuditError, of: str = "") -> None:
    """Print an error, and the readings that it leaves open; `of` says of which of several files."""
    location = f" ({error.location})" if error.location else ""
    line = f"{of}{error.code}: {error.named()}{location}; {error.remedy}"
    print(printable(line), file=sys.stderr)
    told = error.to_json()
    for number, question in enumerate(told.get("questions", ()), 1):
        answers = " or ".join(
            f"{option} ({words})" for option, words in question["answers"].items()
        )
        print(printable(f"  question {number}: {question['what']}: {answers}"), file=sys.stderr)
    for candidate in told.get("candidates", ()):
        print(printable(f"  {candidate['option']}: {candidate['means']}"), file=sys.stderr)


def write(path: Path, text: str) -> None:
    """Write an output the user named: whole, or what was there stays.

    Half a character, of a name that is not UTF-8, is written as its code.

    Raises UsageError OUTPUT: the file cannot be written.
    """
    data, name = text.encode("utf-8", "backslashreplace"), path.name
    try:
        if str(path).startswith(("/dev/", "/proc/")) or (path.exists() and not path.is_file()):
            path.write_bytes(data)  # a pipe, a device, or what a shell has opened
            return
        path = path.resolve()  # a link stays one
        there = path.exists()
        try:
            replace_bytes(path, data, path.stat().st_mode if there else None)
        except OSError as error:
            if not there or error.errno in FULL:
                raise
            path.write_bytes(data)  # in a folder that is closed to us
    except OSError as error:
        raise UsageError(
            "OUTPUT", f"{name} cannot be written ({error.strerror})", "name another file"
        ) from error


def emit(target: str | None, value: Json | list[Json]) -> None:
    """Write JSON to a file, or to stdout for ``-``."""
    if target is None:
        return
    if target == "-":  # a terminal may read it: names must not steer it
        print(json.dumps(value, indent=1, allow_nan=False))
    else:
        text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
        write(Path(target), text + "\n")


def flag(name: str) -> str:
    """Return the option of a field."""
    return f"--{name.replace('_', '-')}"


def add_reading(verb: Parser, names: Iterable[str] = READING) -> None:
    """Add the options that say how a file is read: all, with that of its labels, or some."""
    if names is READING:
        verb.add_argument("--labels", type=Path, metavar="FILE")
    for name in names:
        verb.add_argument(flag(name), **READING[name])


def add_audit(verb: Parser, names: Iterable[str] = AUDIT) -> None:
    """Add the options of an audit, all or some."""
    for name in names:
        verb.add_argument(flag(name), **AUDIT[name])


def config_of(arguments: argparse.Namespace) -> AuditConfig:
    """Return the settings of an audit, defaults for those that are no options of the verb."""
    named = {name: value for name, value in vars(arguments).items() if name in AUDIT}
    return AuditConfig(**{COUNTS.get(name, name): value for name, value in named.items()})


def tables_of(arguments: argparse.Namespace) -> tuple[Json, dict[str, tuple[Path, str]]]:
    """Return the columns of groups and weights, and the tables in which they are.

    Raises UsageError FILE: there is no such table, or it cannot be opened.
    """
    columns: Json = {}
    tables = {}
    for option in GROUPS:
        text: str | None = getattr(arguments, option)
        columns[option] = text
        cuts = [i for i, letter in enumerate(text or "") if letter == ":"]
        for path, column in ((Path(text[:i]), text[i + 1 :]) for i in cuts if text):
            if path.suffix.lower() in TABLES or _is_file(path):
                need_file(path)
                columns[option], tables[option] = column, (path, path.name)
    return columns, tables


def add_votes(verb: Parser) -> None:
    """Add the options that say where the votes of people are."""
    verb.add_argument(
        "--votes",
        metavar="[FILE][:COLUMNS]",
        help="votes of people for each class: a file, or columns of this one or of another",
    )
    verb.add_argument("--votes-classes", metavar="A,B,..", help="classes of the votes, in order")


def with_votes(arguments: argparse.Namespace, result: Any, split: str) -> Any:  # noqa: ANN401
    """Return what was read with the votes that were named; itself where none were.

    Its digest is that of both files.

    Raises UsageError FILE: there is no such file, or it cannot be opened.
    """
    path, choice = votes_of(arguments)
    return result if path is None else voted(result, split, path, choice)


def votes_of(arguments: argparse.Namespace) -> tuple[Path | None, Any]:
    """Return the file of votes, None where none is named, and what is said of it.

    Raises UsageError FILE: there is no such file, or it cannot be opened.
    """
    from core.readers.tables.votes import VoteChoice

    if arguments.votes is None:
        return None, VoteChoice()
    # FILE, FILE:COLUMNS, or COLUMNS of the scores where no file is named
    text: str = arguments.votes
    cuts = [i for i, letter in enumerate(text) if letter == ":"]
    path: Path = arguments.file
    columns: str | None = text.lstrip(":")
    there = next((i for i in (len(text), *cuts) if i and _is_file(Path(text[:i]))), None)
    named = next((Path(text[:i]) for i in (*cuts, len(text)) if i), None)
    if there is not None:
        path, columns = Path(text[:there]), text[there + 1 :] or None
    elif named is not None and named.suffix.lower() in VOTE_FILES:
        path, columns = named, None
    need_file(path)
    return path, VoteChoice(columns, arguments.votes_classes, arguments.in_order)


def voted(  # Any: imported late
    result: Any,  # noqa: ANN401
    split: str,
    path: Path,
    choice: Any,  # noqa: ANN401
    timeout_s: float | None = None,
) -> Any:  # noqa: ANN401
    """Return what was read with the votes of a file; its digest is that of both files.

    Reading them may take `timeout_s`, or as long as usual.
    """
    from dataclasses import replace

    from core.arrays import digest
    from core.errors import about
    from core.readers.predictions.names import listed
    from core.readers.sandbox import read as sandbox
    from core.readers.tables.votes import attach_votes

    with about(path.name):
        file = sandbox.read_votes(path, name=path.name, timeout_s=timeout_s)
        matched = attach_votes(result.splits, split, file, choice)
    unused = f"not used: {listed(list(matched.used))}"
    kept = tuple(notice for notice in result.notices if notice.text != unused)
    notices = tuple(dict.fromkeys((*kept, *matched.notices)))
    both = digest(result.digest, file.digest)
    return replace(result, splits=matched.splits, notices=notices, digest=both)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # too long for a path: the name of a column
        return False


def need_file(path: Path, *, or_folder: bool = False) -> None:
    """Refuse a path that is no file, or none that can be opened.

    `or_folder` lets a folder pass, whose shards are opened later.

    Raises UsageError FILE: the path leads to no file, is too long, or may not be read.
    """
    try:
        if or_folder and path.is_dir():
            return
        if path.is_dir():
            what = f"{path.name} is a folder, and one file is read here"
            raise UsageError("FILE", what, "name the file")
        if not path.is_file():
            raise UsageError("FILE", f"There is no file {path.name}", "check the path")
        path.open("rb").close()
    except OSError as error:
        what = f"{path.name} cannot be opened ({error.strerror})"
        raise UsageError("FILE", what, "check the path, and that you may read it") from error


def read_options(arguments: argparse.Namespace, recipe: Json | None = None) -> tuple[Any, Json]:
    """Return how the file that was named is read, and the tables of its groups and weights.

    Raises UsageError FILE: it, its labels or a table is not there, or cannot be opened. SETTING:
    of an option.
    """
    from core.readers.predictions.result import ReadOptions

    need_file(arguments.file, or_folder=True)
    if arguments.labels is not None:
        need_file(arguments.labels)
    settings = {name: getattr(arguments, name) for name in READING}
    columns, tables = tables_of(arguments)
    return ReadOptions.from_json(settings | columns if recipe is None else recipe), tables


def read(arguments: argparse.Namespace, recipe: Json | None = None) -> Any:  # noqa: ANN401  ReadResult; imported late
    """Read the file that was named; by a recipe where there is one. Raises as `read_options`."""
    return read_file(arguments.file, arguments.labels, *read_options(arguments, recipe))


def read_file(
    path: Path,
    labels: Path | None,
    options: Any,  # noqa: ANN401  ReadOptions; imported late
    tables: Mapping[str, tuple[Path, str]],
    timeout_s: float | None = None,
) -> Any:  # noqa: ANN401  as above
    """Read a file, or a folder of shards, in a process of its own."""
    from core.readers.sandbox import read as sandbox

    return sandbox.read(
        path,
        name=path.name,
        labels=labels,
        labels_name=labels.name if labels else "",
        tables=tables,
        options=options,
        timeout_s=timeout_s,
        in_place=True,
    )


def refuse_changed(file: str, result: Any) -> None:  # noqa: ANN401  ReadResult
    """Refuse a file that somebody wrote to while its scores were read in place.

    Raises Refused CHANGED.
    """
    from core.arrays import was_written_to

    if any(was_written_to(predictions.scores) for predictions in result.splits.values()):
        raise changed(file)


def split_of(split: str | None, result: Any) -> str:  # noqa: ANN401
    """Return the split that was asked for, else the one the reader chose.

    Raises UsageError SPLIT: the file has no part of that name.
    """
    if split is None:
        return str(result.chosen_split)
    if split not in result.splits:
        raise UsageError(
            "SPLIT", f"No split {split!r}", f"the file holds {', '.join(result.splits)}"
        )
    return split


def number(value: float | None) -> str:
    """Return a number with four decimals, or a dash."""
    return "-" if value is None else f"{value:.4f}"
