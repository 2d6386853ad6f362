"""SQLite files that several processes write: opened, begun and replaced in one way.

Imports the standard library only.
"""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

RETRY_S: Final = 0.01


def reader(path: Path, busy_s: float) -> sqlite3.Connection:
    """Return a read-only connection to a file, which must be there."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    return sqlite3.connect(address, uri=True, timeout=busy_s)


def writer(
    path: Path,
    busy_s: float,
    prepare: Callable[[sqlite3.Connection], None],
    put_away: Callable[[], None],
) -> sqlite3.Connection:
    """Return a connection inside BEGIN IMMEDIATE, in WAL mode.

    Parameters
    ----------
    path : Path
        Made where it is missing.
    busy_s : float
        How long to wait for other processes.
    prepare : callable
        Brings the tables up to date once the lock is held.
    put_away : callable
        Makes way for a new file where this one is no database.

    Raises
    ------
    sqlite3.OperationalError
        It is locked, full or read-only; the file may be sound.
    """
    try:
        return _begun(path, busy_s, prepare)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        put_away()
        return _begun(path, busy_s, prepare)


def _begun(
    path: Path, busy_s: float, prepare: Callable[[sqlite3.Connection], None]
) -> sqlite3.Connection:
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
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > deadline:
                    raise
                time.sleep(RETRY_S)
        prepare(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def version(connection: sqlite3.Connection) -> int:
    """Return the number that a table was stamped with; 0 for none."""
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return number


def remove(path: Path, ends: tuple[str, ...] = ("", "-wal", "-shm")) -> None:
    """Remove a file with those that SQLite keeps beside it, or only the latter."""
    for end in ends:
        path.with_name(path.name + end).unlink(missing_ok=True)
