"""Uploads that are too old are removed for good: no byte of them is left below the home."""

import errno
import json
import os
import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.__main__ import main
from core.access import RETAINER, UserRole, Visitor, user_id
from core.errors import LibraryError
from core.library import Library, RunSource, recipes, sharing, trail
from core.library.files import MANIFEST
from tests.core.library.builders import headline, keep_history, small, small_bins

CANARY = "DOE^JANE-ID-12345"
ANNA = Visitor(user_id("https://login.example", "anna"), UserRole.AUDITOR)
BOSS = Visitor(user_id("https://login.example", "boss"), UserRole.ADMIN)


@pytest.fixture
def of(home, tmp_path):
    return lambda visitor: Library(home, tmp_path / "samples", visitor)


def holding(home: Path) -> list[str]:
    """Return the files below a home that hold the canary in their bytes or names."""
    files = [path for path in home.rglob("*") if path.is_file()]
    return [str(path) for path in files if CANARY.encode() in path.read_bytes() + bytes(path)]


def kept(library: Library) -> str:
    part = small()
    part = replace(part, row_ids=tuple(f"{CANARY}-{i}" for i in range(part.n)))
    source = RunSource(f"{CANARY}.csv", "0f" * 16, {"column": CANARY})
    summary = {"test": headline()}
    kept = library.keep(CANARY, {"test": part}, source=source, summary=summary, tags=[CANARY])
    return kept.id


def age(home: Path, run: str, days: float) -> None:
    """Let a run have been kept so many days ago."""
    path = home / "runs" / run / MANIFEST
    created = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"created": created}))


def test_no_byte_of_an_old_upload_is_left(of, home):
    run, deleted = kept(of(ANNA)), kept(of(ANNA))
    of(ANNA).rename(run, f"{CANARY} again")
    assert len(of(ANNA).rows()) == 2  # its name is in the index
    for name in (run, deleted):
        age(home, name, 31)
    of(ANNA).delete(deleted)
    assert {Path(path).name for path in holding(home)} >= {MANIFEST, "test.safetensors"}
    assert of(RETAINER).expire(30) == 2
    assert not holding(home)
    assert not of(ANNA).rows()
    assert not of(ANNA).trash()
    entries = trail.entries(home, BOSS)[:2]
    assert {(entry.user, entry.act, entry.subject) for entry in entries} == {
        ("retention", "purge", run),
        ("retention", "purge", deleted),
    }


def test_no_byte_of_a_deleted_run_is_left_once_it_is_purged(of, home):
    run = kept(of(ANNA))
    with closing(sqlite3.connect(home / "index.sqlite")) as reader:  # as another process has it
        assert of(ANNA).rows()
        reader.execute("SELECT row FROM runs").fetchall()
        of(ANNA).delete(run)
        assert not of(ANNA).rows()
        (path,) = (home / "trash").glob(f"{run}@*")
        path.rename(home / "trash" / f"{run}@20200101T000000Z")
        assert of(BOSS).purge() == 1
        assert not holding(home)
    entry = trail.entries(home, BOSS)[0]
    assert (entry.user, entry.act, entry.subject) == ("retention", "purge", run)


@pytest.mark.parametrize("way", ["expire", "purge"])
def test_a_removal_that_dies_leaves_the_rest_to_the_next(of, home, monkeypatch, way):
    runs = [kept(of(ANNA)) for _ in range(2)]
    for run in runs:
        age(home, run, 31)
        if way == "purge":
            of(ANNA).delete(run)
            (path,) = (home / "trash").glob(f"{run}@*")
            path.rename(home / "trash" / f"{run}@20200101T000000Z")
    remove = of(RETAINER).purge if way == "purge" else lambda: of(RETAINER).expire(30)

    def die(folder, **_):
        (folder / MANIFEST).unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", die)
        with pytest.raises(KeyboardInterrupt):
            remove()
    assert [of(BOSS).rows(), of(BOSS).damaged(), of(BOSS).trash()] == [[], [], []]
    remove()
    assert not holding(home)


def test_what_another_removal_has_is_neither_counted_nor_called_left(of, home, monkeypatch):
    first, second = sorted(kept(of(ANNA)) for _ in range(2))
    for run in (first, second):
        age(home, run, 31)
    glob, remove = Path.glob, shutil.rmtree

    def listed(folder, pattern):
        found = sorted(glob(folder, pattern))
        if pattern == "[!.]*":  # another removal takes one once both are listed
            (home / "runs" / second).rename(home / "runs" / f".{second}.gone.part")
        return iter(found)

    def removed(folder, **options):
        remove(folder, **options)
        (home / "runs" / ".other.gone.part").mkdir(exist_ok=True)  # and is at the next by now

    monkeypatch.setattr(Path, "glob", listed)
    monkeypatch.setattr("core.library.files.is_upload_before", lambda *_: True)
    monkeypatch.setattr("shutil.rmtree", removed)
    assert of(RETAINER).expire(30) == 1
    assert [e.subject for e in trail.entries(home, BOSS) if e.act == "purge"] == [first]


@pytest.mark.parametrize("refused", ["rename", "rmtree"])
def test_an_upload_that_cannot_be_removed_is_said_and_the_others_go(of, home, monkeypatch, refused):
    first, second = sorted(kept(of(ANNA)) for _ in range(2))
    for run in (first, second):
        age(home, run, 31)
    rename, rmtree = Path.rename, shutil.rmtree

    def renamed(path, target):
        if refused == "rename" and path.name == first:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return rename(path, target)

    def removed(folder, **options):
        if first not in folder.name:
            rmtree(folder, **options)

    monkeypatch.setattr(Path, "rename", renamed)
    monkeypatch.setattr("shutil.rmtree", removed)
    for _ in range(2):
        with pytest.raises(LibraryError, match="cannot be removed from the disk"):
            of(RETAINER).expire(30)
    assert [row.id for row in of(ANNA).rows()] == ([first] if refused == "rename" else [])
    monkeypatch.undo()
    of(RETAINER).expire(30)
    assert not holding(home)


def test_what_is_young_or_was_trained_here_or_is_somebody_elses_stays(of, home, library):
    young, theirs = kept(of(ANNA)), kept(of(BOSS))
    history = keep_history(of(ANNA), "h", small_bins(), RunSource("h.csv", "0f" * 16))
    trained = library.keep(
        "trained",
        {"test": small()},
        source=RunSource("net.pt", "0f" * 16),
        summary={},
        config={},
        kind="evaluate",
        environment={},
        run_id="trained1",
    ).id
    for run in (theirs, history, trained):
        age(home, run, 31)
    age(home, young, 29)
    assert of(ANNA).expire(30) == 1
    assert {row.id for row in of(BOSS).rows()} == {young, theirs, trained}


def test_recipes_that_are_too_old_go_though_an_upload_cannot_be_removed(
    of, home, capsys, monkeypatch
):
    def refused(path: Path, target: Path) -> Path:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setenv("CANDOR_HOME", str(home))
    age(home, kept(of(ANNA)), 31)
    recipes.save_recipe(home, "0a" * 8, {})
    os.utime(home / "recipes" / f"{'0a' * 8}.json", (0, 0))
    monkeypatch.setattr(Path, "rename", refused)
    assert main(["runs", "purge", "--older-than", "30"]) == 2
    assert "Some uploads cannot be removed" in capsys.readouterr().err
    assert recipes.load_recipe(home, "0a" * 8) is None


def test_recipes_that_are_too_old_go_and_names_of_people_are_counted(of, home, capsys, monkeypatch):
    monkeypatch.setenv("CANDOR_HOME", str(home))
    folders = (home, home / "users" / ANNA.user)
    for folder in folders:
        for fingerprint in ("0a" * 8, "0b" * 8):
            recipes.save_recipe(folder, fingerprint, {"labels_key": CANARY})
        old = folder / "recipes" / f"{'0a' * 8}.json"
        then = time.time() - 31 * 86_400
        os.utime(old, (then, then))
    sharing.remember(home, ANNA.user, "Anna")
    assert of(ANNA).forget_recipes(30) == 0  # they are not hers alone
    assert main(["runs", "purge", "--older-than", "30"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "0 uploads, 0 audits in the background and 2 recipes for reading files removed for good",
        "left in people/: names of users and groups, 1 in all",
    ]
    for folder in folders:
        assert recipes.load_recipe(folder, "0a" * 8) is None
        assert recipes.load_recipe(folder, "0b" * 8) == {"labels_key": CANARY}
    assert main(["runs", "purge", "--older-than", "0"]) == 0
    assert not holding(home)
    assert sharing.known(home) == {ANNA.user: "Anna"}
