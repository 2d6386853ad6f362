"""The audit trail: who did what to which run or job, and when; rows are only ever added.

SQLite refuses to change or remove a row, by triggers, and nothing of ours offers it. Ids stand
for users, runs and jobs: no name, no address, no file name. What is written here is on the disk
before the act begins; what cannot be written is not done. It does not protect against somebody who
may write to the file itself. Imports sqlite3 and our errors.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.access import Act, Visitor
from core.disk import writing
from core.errors import LibraryError

FILE: Final = "trail.sqlite"
BUSY_S: Final = 20.0
MOST: Final = 1_000  # entries at a time
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS trail (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, user TEXT NOT NULL,
    act TEXT NOT NULL, subject TEXT NOT NULL, detail TEXT NOT NULL
);
CREATE TRIGGER IF NOT EXISTS unchanged BEFORE UPDATE ON trail
    BEGIN SELECT RAISE(ABORT, 'the audit trail is only ever added to'); END;
CREATE TRIGGER IF NOT EXISTS undeleted BEFORE DELETE ON trail
    BEGIN SELECT RAISE(ABORT, 'the audit trail is only ever added to'); END;
CREATE TRIGGER IF NOT EXISTS unreplaced BEFORE INSERT ON trail
    WHEN NEW.number IS NOT NULL AND EXISTS (SELECT 1 FROM trail WHERE number = NEW.number)
    BEGIN SELECT RAISE(ABORT, 'the audit trail is only ever added to'); END;
"""


@dataclass(frozen=True)
class TrailEntry:
    """One line: seconds since 1970, a user's id, the act, the run or job, and whom it concerns."""

    number: int
    at: float
    user: str
    act: str
    subject: str
    detail: str


def record(home: Path, visitor: Visitor, act: Act, subject: str, detail: str = "") -> None:
    """Write down what a visitor is about to do; nothing without login.

    Raises LibraryError LIBRARY_WRITE: then it must not be done.
    """
    if not visitor.recorded:
        return
    with writing(sqlite3.Error):
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = home / FILE
        if not path.exists():
            path.touch(mode=0o600)
        with _opened(path) as connection:
            connection.executescript(_TABLE)
            connection.execute(
                "INSERT INTO trail (at, user, act, subject, detail) VALUES (?, ?, ?, ?, ?)",
                (time.time(), visitor.user, act, subject, detail),
            )


def entries(home: Path, visitor: Visitor, *, before: int = 2**62) -> list[TrailEntry]:
    """Return the newest MOST entries with a smaller number, the last first.

    Raises LibraryError ROLE for whoever is no administrator; TRAIL where the file cannot be read.
    """
    visitor.require(Act.READ_TRAIL)
    if not (home / FILE).exists():
        return []
    text = "SELECT * FROM trail WHERE number < ? ORDER BY number DESC LIMIT ?"
    try:
        with _opened(home / FILE) as connection:
            return [TrailEntry(*row) for row in connection.execute(text, (before, MOST))]
    except sqlite3.Error as error:
        what = f"The audit trail cannot be read ({error})"
        raise LibraryError("TRAIL", what, f"restore {FILE} from a backup") from error


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        yield connection
