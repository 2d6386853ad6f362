"""The verbs `backup` and `restore`: CANDOR_HOME as one file, and back."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from core.commands.shared import Parser, need_file, printable

if TYPE_CHECKING:
    from core.library.backup import BackupList


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
    for link in result.links:
        print(printable(f"left out: {link} is a link; back up what it leads to by itself"))
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
