"""The index is only a cache: deleted, torn, foreign or unwritable, the list stays the same."""

import json
import shutil
import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from unittest.mock import Mock

import numpy as np
import pytest

from core.access import UserRole, Visitor
from core.errors import LibraryError
from core.library import Library, index
from core.library.files import describe, read_manifest, write_manifest, write_run
from core.library.index import Index
from core.library.store import GONE
from tests.core.library.builders import SOURCE, headline, small
from tests.no_files import nothing_opened


@pytest.fixture
def three(keep, library):
    """Keep three runs and return the list of them."""
    for name, tags in (("a", ("x",)), ("b", ()), ("c", ("x", "y"))):
        keep(name, tags=tags)
    return library.rows()


def _delete(path):
    path.unlink()


def _not_a_database(path):
    path.write_bytes(b"this is no database" * 300)


def _tear(path):
    sqlite3.connect(path).execute("PRAGMA wal_checkpoint(TRUNCATE)").connection.close()
    data = bytearray(path.read_bytes())
    data[100:] = b"\xa5" * (len(data) - 100)
    path.write_bytes(data)


def _other_version(path):
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE runs")
        connection.execute("CREATE TABLE runs (id TEXT PRIMARY KEY, stamp TEXT)")
        connection.execute("PRAGMA user_version = 77")
    connection.close()


def _empty(path):
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM runs")
    connection.close()


def _stranger(path):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE runs SET id = 'ghost' WHERE name = 'a'")
    connection.close()


def _no_text(path):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE runs SET stamp = CAST(x'ff' AS TEXT)")
    connection.close()


HARM = (_delete, _not_a_database, _tear, _other_version, _empty, _stranger, _no_text)


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("rebuild", [True, False])
def test_list_is_the_same_after_the_index_was_harmed(harm, rebuild, three, library, home):
    for end in ("-wal", "-shm"):
        (home / f"index.sqlite{end}").unlink(missing_ok=True)
    harm(home / "index.sqlite")
    if rebuild:
        assert library.rebuild_index() == 3
    assert library.rows() == three
    with sqlite3.connect(home / "index.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (3,)
    connection.close()


@pytest.mark.parametrize("harm", ["tags = '{not json'", "row = CAST(x'ff' AS TEXT)"])
def test_content_that_is_torn_where_only_the_query_looks_is_read_again(harm, three, library, home):
    with sqlite3.connect(home / "index.sqlite") as connection:
        connection.execute(f"UPDATE runs SET {harm}")
    connection.close()
    assert [row.name for row in library.rows(tag="y")] == ["c"]


def test_rebuild_counts_runs_and_not_damaged_folders(three, library, home):
    (home / "runs" / "broken").mkdir()
    assert library.rebuild_index() == 3


def test_rebuild_of_nothing_is_an_empty_list(library):
    assert library.rebuild_index() == 0
    assert library.rows() == []


def test_index_that_cannot_be_written_still_gives_the_list(three, library, home):
    (home / "index.sqlite").unlink()
    (home / "index.sqlite").mkdir()
    assert library.rows() == three


def test_without_a_file_each_state_of_a_run_is_read_once(three, library, home, monkeypatch):
    (home / "index.sqlite").unlink()
    (home / "index.sqlite").mkdir()
    reads = Mock(wraps=read_manifest)
    monkeypatch.setattr(index, "read_manifest", reads)
    index._values.cache_clear()
    assert library.rows() == three
    assert library.rows(search="a")
    assert library.damaged() == []
    assert reads.call_count == len(three)
    run = home / "runs" / three[0].id
    write_manifest(run, replace(read_manifest(run), name="another"))
    assert {row.name for row in library.rows()} == {"another", *(row.name for row in three[1:])}
    assert reads.call_count == len(three) + 1


def test_list_is_read_without_writing_when_nothing_changed(three, library, home):
    before = (home / "index.sqlite").stat().st_mtime_ns
    blocker = sqlite3.connect(home / "index.sqlite", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")  # a writer that waited for this one would time out
    assert library.rows() == three
    blocker.close()
    assert (home / "index.sqlite").stat().st_mtime_ns == before


@pytest.mark.nightly
def test_two_thousand_runs_are_listed_found_and_ordered(home, library):
    predictions = small(0, n=1)
    base = describe("x", {"test": predictions}, source=SOURCE, summary={"test": headline()})
    first = replace(base, id="first")
    write_run(home / "runs", first, {"test": predictions})
    order = np.random.default_rng(0).permutation(2000)
    for i, ece in enumerate(order.tolist()):
        run = home / "runs" / f"run-{i}"
        (run / "predictions").mkdir(parents=True)
        (run / "predictions" / "test.safetensors").touch()
        manifest = replace(
            base,
            id=run.name,
            name=f"model {i}",
            tags=("even",) if i % 2 == 0 else (),
            metrics={"test": headline(ece / 2000)},
        )
        (run / "manifest.json").write_text(json.dumps(manifest.to_json()))
    shutil.rmtree(home / "runs" / "first")
    assert len(library.rows()) == 2000
    worst = [row.id for row in library.rows(sort="ece", limit=3)]
    assert worst == [f"run-{int(np.flatnonzero(order == e)[0])}" for e in (1999, 1998, 1997)]
    assert [row.name for row in library.rows(search="MODEL 1999")] == ["model 1999"]
    assert len(library.rows(tag="even")) == 1000


def test_a_change_stands_though_the_disk_is_full_at_its_end(three, library, monkeypatch):
    """What is committed then is only the lock, or a table that was made anew."""

    class Full(sqlite3.Connection):
        def execute(self, text, *values):
            if text == "COMMIT":
                raise sqlite3.OperationalError("database or disk is full")
            return super().execute(text, *values)

    library._index.path.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Full))
        library.tag(three[0].id, ("kept",))
    assert next(row for row in library.rows() if row.id == three[0].id).tags == ("kept",)


def test_index_is_in_write_ahead_mode_and_private(three, home):
    connection = sqlite3.connect(home / "index.sqlite")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_second_library_sees_a_rename_at_once(three, library, home, tmp_path):
    other = Library(home, tmp_path / "samples")
    assert other.rows() == three
    library.rename(three[0].id, "d")  # as long as before: the file's size stays the same
    assert other.rows()[0].name == "d"


def test_while_another_process_changes_runs_a_change_waits_and_then_says_so(
    three, library, home, monkeypatch
):
    monkeypatch.setattr(index, "BUSY_S", 0.05)
    other = sqlite3.connect(home / "index.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for act in (
        lambda: library.rename(three[0].id, "x"),
        lambda: library.tag(three[0].id, ["x"]),
        lambda: library.delete(three[0].id),
    ):
        with pytest.raises(LibraryError, match="locked") as excinfo:
            act()
        assert excinfo.value.code == "LIBRARY_WRITE"
    other.close()
    assert library.rows() == three


def test_many_that_open_a_new_index_at_once_all_wait_their_turn(home, tmp_path):
    home.mkdir()
    libraries = [Library(home, tmp_path / "samples") for _ in range(8)]
    gate = threading.Barrier(len(libraries))

    def first_change(library):
        gate.wait()
        with library._index.locked():
            return True

    for _ in range(20):
        with ThreadPoolExecutor(len(libraries)) as pool:
            assert all(pool.map(first_change, libraries))
        for end in ("", "-wal", "-shm"):
            (home / f"index.sqlite{end}").unlink(missing_ok=True)


def test_a_run_deleted_while_it_is_listed_and_then_restored_is_no_damaged_one(
    three, library, home, tmp_path, monkeypatch
):
    """Away and back, a folder has the stamp that it had: its absence must not be remembered."""
    run, other, writable = three[0].id, Library(home, tmp_path / "samples"), Index._writable

    def late(self):
        monkeypatch.undo()
        other.delete(run)
        return writable(self)

    monkeypatch.setattr(Index, "_writable", late)
    (home / "index.sqlite").unlink()
    assert {row.id for row in library.rows()} == {row.id for row in three[1:]}
    other.restore(run)
    assert library.damaged() == []
    assert {row.id for row in library.rows()} == {row.id for row in three}


def test_a_run_that_goes_while_it_is_read_is_not_remembered_as_damaged(
    three, library, home, monkeypatch
):
    run = home / "runs" / three[0].id

    def gone(folder):
        if folder == run:
            monkeypatch.undo()
            run.rename(home / "away")
        return read_manifest(folder)

    monkeypatch.setattr(index, "read_manifest", gone)
    index._values.cache_clear()
    (home / "index.sqlite").unlink()
    assert len(library.rows()) == 2
    (home / "away").rename(run)
    assert library.damaged() == []
    assert {row.id for row in library.rows()} == {row.id for row in three}


@pytest.mark.parametrize("name", ["manifest.json", "sharing.json"])
def test_what_cannot_be_read_for_want_of_a_file_is_read_again(
    name, three, library, home, monkeypatch
):
    run = home / "runs" / three[0].id
    library.share(run.name, f"u-{'0' * 32}")
    index._values.cache_clear()
    (home / "index.sqlite").unlink()
    with nothing_opened(monkeypatch, run / name):
        assert {row.id for row in library.rows()} == {row.id for row in three[1:]}
        assert [found.id for found in library.damaged()] == [run.name]
    assert library.rows() == three
    assert library.damaged() == []
    anna = Visitor(f"u-{'0' * 32}", UserRole.VIEWER)
    assert [row.id for row in Library(home, library.samples, anna).rows()] == [run.name]


def test_a_run_that_nobody_can_ever_read_is_looked_at_once(three, library, home, monkeypatch):
    manifest = home / "runs" / three[0].id / "manifest.json"
    manifest.unlink()
    manifest.symlink_to(manifest.name)
    assert [run.id for run in library.damaged()] == [three[0].id]
    monkeypatch.delattr(Index, "_refreshed")
    assert library.rows() == three[1:]


def test_an_index_is_not_thrown_away_while_somebody_changes_runs(three, library, home, monkeypatch):
    monkeypatch.setattr(index, "BUSY_S", 0.05)
    other = sqlite3.connect(home / "index.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LibraryError, match="locked"):
        library.rebuild_index()
    other.close()
    assert library.rebuild_index() == 3


def test_an_index_that_is_made_anew_is_the_file_that_others_have_locked(three, library, home):
    """With two files there would be two locks, and two that change runs at once."""
    before = (home / "index.sqlite").stat().st_ino
    assert library.rebuild_index() == 3
    assert (home / "index.sqlite").stat().st_ino == before


def test_a_torn_index_that_another_process_has_replaced_is_not_put_away_again(
    three, library, home, tmp_path, monkeypatch
):
    monkeypatch.setattr(index, "BUSY_S", 0.05)
    _tear(home / "index.sqlite")
    other = Library(home, tmp_path / "samples")
    with monkeypatch.context() as patch, ExitStack() as opened:

        class Late(sqlite3.Connection):
            def execute(self, text, *values):
                try:
                    return super().execute(text, *values)
                except sqlite3.DatabaseError:
                    patch.undo()
                    opened.enter_context(other._index.locked())
                    raise

        patch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Late))
        with pytest.raises(LibraryError, match="locked"):
            library.rename(three[0].id, "x")
    assert library.rows() == three


def _raising(error, when):
    class Raising(sqlite3.Connection):
        def execute(self, text, *values):
            if when(text):
                raise error
            return super().execute(text, *values)

    return partial(sqlite3.connect, factory=Raising)


def test_a_list_that_a_full_disk_keeps_from_being_made_anew_stays(
    three, library, home, monkeypatch
):
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    before = (home / "index.sqlite").stat().st_ino
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", _raising(full, lambda text: text.startswith("DROP")))
        with pytest.raises(LibraryError, match=r"^LIBRARY_WRITE.*disk is full"):
            library.rebuild_index()
    assert (home / "index.sqlite").stat().st_ino == before
    assert library.rows() == three


def test_on_a_full_disk_what_is_removed_makes_room_for_the_list(three, library, home, monkeypatch):
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    arrays = f"runs/.*{GONE}/predictions/*"
    with monkeypatch.context() as patch:
        drop = _raising(full, lambda text: text.startswith("DROP") and any(home.glob(arrays)))
        patch.setattr(sqlite3, "connect", drop)
        assert library.expire(-1) == 3
    assert not list(home.glob("runs/.*"))
    assert library.rows() == []


@pytest.mark.parametrize(
    ("text", "time"), [("PRAGMA user_version", 1), ("SELECT id, stamp FROM runs", 2)]
)
def test_who_is_interrupted_while_the_list_is_read_leaves_no_lock(
    text, time, three, library, home, monkeypatch
):
    monkeypatch.setattr(index, "BUSY_S", 0.05)
    (home / "index.sqlite").unlink()
    asked = []

    def now(query):
        asked.append(query == text)
        return sum(asked) == time

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", _raising(KeyboardInterrupt(), now))
        with pytest.raises(KeyboardInterrupt) as caught:
            library.rows()
    library.rename(three[0].id, "x")  # while the traceback still holds what was open
    assert caught.tb
