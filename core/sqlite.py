"""SQLite files that several processes write: opened, begun and replaced in one way.

Imports the standard library, and how files are written.
"""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from core.disk import PART, writing

RETRY_S: Final = 0.01


def reader(path: Path, busy_s: float) -> sqlite3.Connection:
    """Return a read-only connection to a file, which must be there."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    return sqlite3.connect(address, uri=True, timeout=busy_s)


def writer(
    path: Path,
    busy_s: float,
    prepare: Callable[[sqlite3.Connection], None],
    away: Callable[[], None] | None,
) -> sqlite3.Connection:
    """Return a connection inside BEGIN IMMEDIATE, in WAL mode.

    `path`: made where it is missing; `busy_s`: how long to wait for other processes; `prepare`:
    brings the tables up to date once the lock is held; `away`: as of `put_away`, where the file is
    no database; None refuses that.

    Raises
    ------
    sqlite3.OperationalError
        It is locked, full or read-only; the file may be sound.
    LibraryError
        LIBRARY_WRITE: a file that is no database cannot be put away.
    """
    torn = number(path)
    connection = sqlite3.connect(path, timeout=busy_s, isolation_level=None)
    # SQLite's own timeout does not cover the switch to WAL: of two processes that open a new file
    # at once, one is told at once that it is locked.
    deadline = time.monotonic() + busy_s
    try:
        while not connection.in_transaction:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                code: int = getattr(error, "sqlite_errorcode", 0)  # Python's own errors have none
                busy = code & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > deadline:
                    raise
                time.sleep(RETRY_S)
        prepare(connection)
    except sqlite3.DatabaseError as error:
        with closing(connection):
            if away is None or may_be_sound(error):
                raise
            put_away(path, torn, away)
        return writer(path, busy_s, prepare, None)
    except BaseException:
        connection.close()
        raise
    return connection


def may_be_sound(error: sqlite3.DatabaseError) -> bool:
    """Whether the file may be in order: it is locked or full, and holds no torn text."""
    return isinstance(error, sqlite3.OperationalError) and hasattr(error, "sqlite_errorcode")


def number(path: Path) -> int:
    """Return what tells the file at a path from any other that there is; 0 where there is none."""
    try:
        return path.stat().st_ino
    except OSError:  # what keeps SQLite from opening it, SQLite says
        return 0


def put_away(path: Path, torn: int, away: Callable[[], None]) -> None:
    """Make way for a new file, unless another process has done so since one was found torn.

    `torn`: its `number`. Who calls has it open, so that no later file is given the same. `away`:
    moves or removes it.

    Raises LibraryError LIBRARY_WRITE.
    """
    with writing(), path.with_name(f".{path.name}.lock{PART}").open("ab") as file:
        with suppress(ImportError):  # Windows, where nothing locks
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        if number(path) == torn:
            for end in ("-wal", "-shm"):  # before: afterwards they may be those of the next file
                path.with_name(path.name + end).unlink(missing_ok=True)
            away()


def version(connection: sqlite3.Connection) -> int:
    """Return the number that a table was stamped with; 0 for none."""
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return number
