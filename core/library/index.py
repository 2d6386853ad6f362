"""The list of runs in SQLite: a cache of the folders that may be deleted at any time.

Every call compares the folders with what is listed (three stats a run) and takes in what changed,
so a run written by another process, or by one that died right after, is never missed. One
connection a call, WAL, BEGIN IMMEDIATE for writes, read-only for reads. Imports sqlite3 and our
files only.
"""

import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from core import codec, sqlite
from core.codes import RefusalCode
from core.disk import may_pass
from core.errors import LibraryError, UsageError
from core.library import sharing
from core.library.files import ARRAYS, MANIFEST, name_of, read_manifest
from core.library.manifest import Manifest, Summary

VERSION: Final = 3  # of the table; another one is thrown away and built anew
BUSY_S: Final = 20.0
KEPT: Final = 4096  # states of runs, what is listed of them
_PASSING: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)  # no tear
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY, stamp TEXT NOT NULL, damage TEXT NOT NULL, row TEXT NOT NULL,
    name TEXT, kind TEXT, task TEXT, created TEXT, n INTEGER, n_classes INTEGER,
    accuracy REAL, ece REAL, gap REAL, tags TEXT, needle TEXT, owners TEXT
) WITHOUT ROWID
"""
_COLUMNS: Final = (
    *("id", "stamp", "damage", "row", "name", "kind", "task", "created", "n", "n_classes"),
    *("accuracy", "ece", "gap", "tags", "needle", "owners"),
)
_INSERT: Final = f"INSERT OR REPLACE INTO runs VALUES (:{', :'.join(_COLUMNS)})"  # noqa: S608  ours
_SELECT: Final = """
SELECT row FROM runs
WHERE damage = '' AND instr(needle, :search) > 0 AND (:kind IS NULL OR kind = :kind)
    AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = :tag))
    AND (:names IS NULL OR stamp LIKE '0:%' OR EXISTS (
        SELECT 1 FROM json_each(owners) AS o JOIN json_each(:names) AS n ON o.value = n.value))
ORDER BY {column} {direction} NULLS LAST, created DESC, id LIMIT :limit
"""
SORTS: Final = {
    "name": "name COLLATE NOCASE",
    "kind": "kind",
    "task": "task",
    "created": "created",
    "n": "n",
    "n_classes": "n_classes",
    "accuracy": "accuracy",
    "ece": "ece",
    "gap": "gap",
}


@dataclass(frozen=True)
class RunRow:
    """One line of the list; `n`, `metrics` of `split`, the headline one, "" in a gamma history."""

    id: str
    name: str
    kind: str
    owner: str
    created: str
    task: str
    n: int
    n_classes: int
    split: str
    splits: tuple[str, ...]
    tags: tuple[str, ...]
    metrics: Summary | None


@dataclass(frozen=True, kw_only=True)
class Query:
    """What to list."""

    search: str = ""  # text found in the name or a tag, in any case
    # kind, tag: only this kind; only runs that carry this tag
    kind: str | None = None
    tag: str | None = None
    sort: str = "created"  # a key of `SORTS`; runs without a value come last
    descending: bool = True  # largest or newest first
    limit: int | None = None  # at most this many
    # Only samples, and runs that one of these users and groups owns or was given to see
    names: Collection[str] | None = None


@dataclass(frozen=True)
class DamagedRun:
    """A folder that is no readable run."""

    # id, name: of the folder, and of the run where its manifest still says it, else ""
    id: str
    name: str
    what: str  # what is wrong with it
    # Whether it can be deleted and restored as runs are: not a sample, and its name is an id
    own: bool = False

    def to_json(self) -> dict[str, Any]:  # Any: plain JSON values of several types
        """Return the keys of a `RunRow`, null where nothing is known."""
        row: dict[str, Any] = dict.fromkeys(field.name for field in fields(RunRow))
        row |= {"id": self.id, "name": self.name or None, "splits": [], "tags": []}
        return row


class Index:
    """The table of runs below some folders.

    `path`: where the SQLite file lies; made, or made anew, when needed; `roots`: folders of run
    folders; the first one that holds an id wins.
    """

    def __init__(self, path: Path, roots: Iterable[Path]) -> None:
        self.path = path
        self.roots = tuple(roots)

    def rows(self, query: Query) -> list[RunRow]:
        """Return the runs that match, in order.

        Raises UsageError SORT for a key that is not in `SORTS`.
        """
        if query.sort not in SORTS:
            raise UsageError("SORT", f"Sort is {query.sort!r}", f"use one of {', '.join(SORTS)}")
        values = {
            "search": query.search.strip().casefold(),
            "kind": query.kind,
            "tag": query.tag,
            "limit": -1 if query.limit is None else query.limit,
            "names": None if query.names is None else json.dumps(sorted(query.names)),
        }
        direction = "DESC" if query.descending else "ASC"
        text = _SELECT.format(column=SORTS[query.sort], direction=direction)
        rows = [json.loads(row) for (row,) in self._ask(text, values)]
        lists = ("splits", "tags")
        return [RunRow(**row | {key: tuple(row[key]) for key in lists}) for row in rows]

    def damaged(self) -> list[DamagedRun]:
        """Return the folders that are no readable runs."""
        text = "SELECT id, name, damage FROM runs WHERE damage <> '' ORDER BY id"
        return [DamagedRun(*row) for row in self._ask(text, {})]

    def rebuild(self) -> int:
        """Throw the table away, read every folder again, return how many runs are listed."""
        self._renew()
        n_runs: int = self._ask("SELECT count(*) FROM runs WHERE damage = ''", {})[0][0]
        return n_runs

    def _renew(self) -> None:
        """Throw the table away and read every folder again.

        No byte of what was listed stays in the file, unless somebody reads it for over BUSY_S
        seconds. Other processes may have it open: it is emptied, not removed, as their locks are
        on it. One that is torn makes way for a new one.
        """
        torn = sqlite.number(self.path)
        with self.locked() as connection:
            try:
                connection.execute("PRAGMA secure_delete = ON")
                connection.execute("DROP TABLE runs")
                connection.execute(_TABLE)
                self._take_in(connection)
                connection.execute("COMMIT")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.OperationalError as error:
                raise _unwritable(error) from error
            except sqlite3.DatabaseError:
                sqlite.put_away(self.path, torn, self._discard)

    @contextmanager
    def locked(self) -> Iterator[sqlite3.Connection]:
        """Keep other processes from changing runs meanwhile: BEGIN IMMEDIATE on the file."""
        try:
            connection = self._writable()
        except sqlite3.Error as error:
            raise _unwritable(error) from error
        with closing(connection):
            yield connection
            with suppress(sqlite3.Error):  # a full disk: the folders have the change already
                connection.execute("COMMIT")

    def _ask(self, text: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """Return what a query finds; a file that turns out to be torn is rebuilt once."""
        try:
            with self._fresh() as connection:
                return connection.execute(text, values).fetchall()
        except sqlite3.DatabaseError as error:
            code: int = getattr(error, "sqlite_errorcode", 0)  # Python's own errors have none
            if code & 0xFF not in _PASSING:
                with suppress(LibraryError):  # full disk: it is answered from memory
                    self._renew()
            with self._fresh() as connection:
                return connection.execute(text, values).fetchall()

    @contextmanager
    def _fresh(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection to a table that agrees with the folders."""
        connection = self._up_to_date(self._stamps()) or self._refreshed()
        with closing(connection):
            yield connection

    def _up_to_date(self, present: Mapping[str, str]) -> sqlite3.Connection | None:
        """Return a read-only connection, or None when something changed or cannot be read."""
        try:
            connection = sqlite.reader(self.path, BUSY_S)
        except sqlite3.Error:
            return None
        try:
            if sqlite.version(connection) == VERSION and _listed(connection) == present:
                return connection
        except sqlite3.Error:  # not a database, or torn: it is only a cache
            pass
        connection.close()
        return None

    def _refreshed(self) -> sqlite3.Connection:
        """Return a connection to a table brought up to date, in memory where no file can be."""
        try:
            connection = self._writable()
        except (sqlite3.Error, LibraryError):  # full or read-only disk: the list is still shown
            return self._in_memory()
        try:
            self._take_in(connection)
            connection.execute("COMMIT")
        except sqlite3.Error:
            connection.close()
            return self._in_memory()
        except BaseException:  # nobody waits for the lock of a list that is not made
            connection.close()
            raise
        return connection

    def _in_memory(self) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.execute(_TABLE)
        self._take_in(connection)
        return connection

    def _writable(self) -> sqlite3.Connection:
        """Return a connection inside BEGIN IMMEDIATE; a file that is broken is replaced."""
        return sqlite.writer(self.path, BUSY_S, self._prepare, self._discard)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if sqlite.version(connection) != VERSION:
            connection.execute("DROP TABLE IF EXISTS runs")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute(_TABLE)
        _listed(connection)

    def _take_in(self, connection: sqlite3.Connection) -> None:
        """Write what the folders hold now: a run that was moved away and back looks the same."""
        present, listed = self._stamps(), _listed(connection)
        gone = [(run_id,) for run_id in listed.keys() - present.keys()]
        connection.executemany("DELETE FROM runs WHERE id = ?", gone)
        for run_id, stamp in present.items():
            if listed.get(run_id) != stamp:
                with suppress(LibraryError):  # it has just gone
                    connection.execute(_INSERT, self._values(run_id, stamp))

    def _stamps(self) -> dict[str, str]:
        """Return by run what changes whenever a file of it is replaced, removed or put back."""
        stamps: dict[str, str] = {}
        for number, root in enumerate(self.roots):
            if not root.is_dir():
                continue
            with os.scandir(root) as entries:  # a dot marks what is not finished
                names = [e.name for e in entries if not e.name.startswith(".") and e.is_dir()]
            for run in (root / name for name in names if name not in stamps):
                states = (_state(path) for path in (run / MANIFEST, run, run / ARRAYS))
                stamps[run.name] = f"{number}:{'/'.join(states)}"
        return stamps

    def _values(self, run_id: str, stamp: str) -> Mapping[str, object]:
        """Return what is listed of a run, damaged or not; RUN_UNKNOWN where it has just gone."""
        run = self.roots[int(stamp.split(":")[0])] / run_id
        try:
            return _values(run, stamp)
        except LibraryError as error:
            if not run.is_dir():
                raise
            named = error.code == RefusalCode.DAMAGED
            what = error.what if named else f"Run {run.name} is damaged: {error.what}"
            state = "" if may_pass(error.__cause__) else stamp  # in no state: it is read again
            known = {"id": run.name, "stamp": state, "damage": what, "row": ""}
            return dict.fromkeys(_COLUMNS) | known | {"name": name_of(run)}

    def _discard(self) -> None:
        _values.cache_clear()
        self.path.unlink(missing_ok=True)


@lru_cache(KEPT)  # for where no file can be, as before the first run is kept: else read each time
def _values(run: Path, stamp: str) -> Mapping[str, object]:
    """Return what is listed of a run in one state."""
    row, shared_with = row_of(read_manifest(run)), sharing.read(run)
    metrics = row.metrics
    return {
        "id": row.id,
        "stamp": stamp,
        "damage": "",
        "row": json.dumps(codec.to_json(row)),
        **{key: getattr(row, key) for key in ("name", "kind", "task", "created", "n", "n_classes")},
        "accuracy": metrics and metrics["accuracy"],
        "ece": metrics and metrics["ece"]["value"],
        "gap": metrics and metrics["gap"]["gap"],
        "tags": json.dumps(row.tags),
        "needle": "\n".join((row.name, *row.tags)).casefold(),
        "owners": json.dumps([row.owner, *shared_with]),
    }


def row_of(manifest: Manifest) -> RunRow:
    """Return the line that a manifest gets in the list."""
    split = manifest.headline
    return RunRow(
        id=manifest.id,
        name=manifest.name,
        kind=manifest.kind,
        owner=manifest.owner,
        created=manifest.created,
        task=manifest.task,
        n=manifest.splits[split].n if split else 0,
        n_classes=manifest.n_classes,
        split=split,
        splits=manifest.labelled,
        tags=manifest.tags,
        metrics=manifest.metrics.get(split),
    )


def _listed(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT id, stamp FROM runs"))


def _state(path: Path) -> str:
    """Return what tells one state of a file or folder from another; empty when there is none."""
    try:
        stat = path.stat()
    except OSError:
        return ""
    return f"{stat.st_mtime_ns}:{stat.st_size}:{stat.st_ino}"


def _unwritable(error: sqlite3.Error) -> LibraryError:
    return LibraryError(
        "LIBRARY_WRITE",
        f"The library cannot be changed now ({error}); nothing was changed",
        "free some space, set CANDOR_HOME to a folder you may write to, or try again",
    )
