"""The verbs `runs`, `backup` and `restore`: what the library keeps, listed, changed and copied."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import codec
from core.codes import RefusalCode
from core.commands.shared import (
    Parser,
    add_reading,
    add_votes,
    complain,
    emit,
    need_file,
    printable,
    read,
    with_votes,
)
from core.errors import AuditError, Refused, UsageError

if TYPE_CHECKING:
    from core.library.backup import BackupList
    from core.readers.predictions.result import ReadingCandidate


def add_runs(verb: Parser) -> None:
    """Add the options of `runs`."""
    acts = verb.add_subparsers(metavar="ACT", parser_class=Parser)
    verb.set_defaults(run=_list, json=None)

    def act(
        name: str,
        run: Callable[[argparse.Namespace], int],
        **words: Any,  # noqa: ANN401  its help, where there is any
    ) -> Parser:
        parser: Parser = acts.add_parser(name, **words)
        parser.set_defaults(run=run, act=name)
        return parser

    listed = act("list", _list, help="every run, newest first")
    shown = act("show", _show, help="one run's manifest")
    imports = "read files of predictions or gamma histories, and keep each as a run"
    imported = act("import", _import, help=imports)
    exported = act("export", _change, help="write a run to one file")
    renamed = act("rename", _change)
    tagged = act("tag", _change, help="replace a run's tags")
    moved = [act(name, _change) for name in ("delete", "restore")]
    purges = "remove uploads and audits in the background older than some days for good"
    purged = act("purge", _purge, help=purges)
    act("rebuild-index", _rebuild, help="restore the index from the run folders")
    for one_run in (shown, exported, renamed, tagged, *moved):
        one_run.add_argument("id")
    for either in (listed, shown):
        either.add_argument("--json", metavar="OUT|-")
    shown.add_argument("--files", action="store_true", help="with absolute paths")
    imported.add_argument("files", type=Path, nargs="+", metavar="file")
    imported.add_argument("--name", help="of the run; of one file")
    imported.add_argument("--tag", action="append", default=[], help="may be given several times")
    imported.add_argument(
        "--each-model", action="store_true", help="keep scores of several models as a run each"
    )
    add_reading(imported)
    add_votes(imported)
    exported.add_argument("--out", type=Path, required=True)
    renamed.add_argument("name")
    tagged.add_argument("tags", nargs="*")
    purged.add_argument("--older-than", type=float, required=True, metavar="DAYS")


def _library() -> Any:  # noqa: ANN401  Library; imported late to keep `audit` light
    from core.library import open_library

    return open_library()


def _list(arguments: argparse.Namespace) -> int:
    library = _library()
    rows, damaged = library.rows(), library.damaged()
    if arguments.json:
        sound = [codec.to_json(row) | {"damaged": None} for row in rows]
        emit(arguments.json, sound + [row.to_json() | {"damaged": row.what} for row in damaged])
        return 0
    for row in rows:
        print(printable(f"{row.id}  {row.kind:<8}  {row.task:<10}  {row.n:>8}  {row.name}"))
    for row in damaged:
        words = f"{row.name}: {row.what}" if row.name else row.what
        print(printable(f"{row.id}  damaged   {'-':<10}  {'-':>8}  {words}"))
    return 0


def _show(arguments: argparse.Namespace) -> int:
    library = _library()
    payload = library.get(arguments.id).to_json()
    if arguments.files:
        payload["files"] = library.files(arguments.id)
    emit(arguments.json or "-", payload)
    return 0


def _import(arguments: argparse.Namespace) -> int:
    """Keep each file as a run; one that is refused stops no other, and the exit code is 2 then."""
    from core.readers.predictions.result import NeedsChoice

    if arguments.name is not None and len(arguments.files) > 1:
        what = f"One --name for {len(arguments.files)} files"
        raise UsageError("NAME", what, "leave it out: each run is called like its file")
    code = 0
    each: list[tuple[str, argparse.Namespace]] = []
    for file in arguments.files:  # once, or once for each of its models, if that is asked
        own = argparse.Namespace(**vars(arguments) | {"file": file})
        models: tuple[ReadingCandidate, ...] = ()
        try:
            if arguments.each_model:
                read(own)
        except NeedsChoice as refusal:
            models = refusal.inspection.models
        except AuditError:  # told where it is imported
            pass
        for model in models:
            called = f"{arguments.name or file.stem} {model.model}"
            given = {"group": own.group, "weight": own.weight, "name": called}
            options = argparse.Namespace(**vars(own) | model.options.to_json() | given)
            each.append((f"{file.name} {model.model}", options))
        if not models:
            each.append((file.name, own))
    for name, own in each:
        if len(each) == 1:
            print(_imported(own).id)
            continue
        try:
            print(printable(f"{_imported(own).id}  {name}"))
        except AuditError as error:
            complain(error, of=f"{name}: ")
            code = max(code, error.exit_code)
    return code


def _imported(arguments: argparse.Namespace) -> Any:  # noqa: ANN401  Manifest
    from core.library.store import keep_bin_history, keep_result
    from core.readers.sandbox.read import read_bin_history

    file, tags = arguments.file, tuple(arguments.tag)
    name = arguments.name or file.stem
    try:
        result = read(arguments)
        result = with_votes(arguments, result, result.chosen_split)
    except Refused as refusal:
        if refusal.code != RefusalCode.BIN_HISTORY:
            raise
        history = read_bin_history(file)
        manifest = keep_bin_history(_library(), name, file.name, history)
        return _library().tag(manifest.id, tags) if tags else manifest
    return keep_result(_library(), name, file.name, result, tags=tags)


def _change(arguments: argparse.Namespace) -> int:
    """Rename, tag, export, delete or restore one run, and print what was done."""
    library, run = _library(), arguments.id
    match arguments.act:
        case "rename":
            library.rename(run, arguments.name)
            print("renamed")
        case "tag":
            library.tag(run, tuple(arguments.tags))
            print("tagged")
        case "export":
            library.export(run, arguments.out)
            print(arguments.out.name)
        case "delete":
            library.delete(run)
            print(f"deleted; python -m core runs restore {run} brings it back")
        case "restore":
            library.restore(run)
            print("restored")
    return 0


def _purge(arguments: argparse.Namespace) -> int:
    from core.jobs.local import open_jobs
    from core.library import sharing

    library = _library()
    removed: list[int] = []
    refusals: list[AuditError] = []
    for expire in (library.expire, lambda days: open_jobs().expire(days), library.forget_recipes):
        try:
            removed.append(expire(arguments.older_than))
        except AuditError as error:  # the other steps are taken all the same
            removed.append(0)
            refusals.append(error)
    n_uploads, n_audits, n_recipes = removed
    n_names = len(sharing.known(library.home))
    print(
        f"{n_uploads} uploads, {n_audits} audits in the background and {n_recipes} recipes for "
        "reading files removed for good"
    )
    if n_names:
        print(f"left in people/: names of users and groups, {n_names} in all")
    if refusals:
        raise refusals[0]
    return 0


def _rebuild(_: argparse.Namespace) -> int:
    library = _library()
    count, damaged = library.rebuild_index(), len(library.damaged())
    more = f", {damaged} damaged: see python -m core runs list" if damaged else ""
    print(f"{count} runs indexed{more}")
    return 0


def add_backup(verb: Parser) -> None:
    """Add the options of ``backup``."""
    verb.set_defaults(run=_backup)
    verb.add_argument("file", type=Path, metavar="FILE", help="to be written; may not exist yet")


def add_restore(verb: Parser) -> None:
    """Add the options of ``restore``."""
    verb.set_defaults(run=_restore)
    verb.add_argument("file", type=Path, metavar="FILE", help="what backup wrote")


def _backup(arguments: argparse.Namespace) -> int:
    from core.library import home
    from core.library.backup import backup

    result = backup(home(), arguments.file)
    print(printable(f"{arguments.file.name}: {_amount(result.contents)}"))
    for name, reason in result.left_out.items():
        print(printable(f"left out: {name} {reason}"))
    return 0


def _restore(arguments: argparse.Namespace) -> int:
    from core.library import home
    from core.library.backup import restore

    need_file(arguments.file)
    contents = restore(arguments.file, home())
    print(printable(f"restored {_amount(contents)}, of {contents.created}"))
    return 0


def _amount(contents: "BackupList") -> str:
    return f"{len(contents.files):,} files, {contents.size / 1e6:,.1f} MB"
