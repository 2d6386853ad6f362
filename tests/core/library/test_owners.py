"""Whose runs are whose: what a visitor sees, shares, may change, and what the trail says of it."""

import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial

import pytest

from core.access import DISK, OWNER, UserRole, Visitor, group_id, of_process, user_id
from core.errors import LibraryError
from core.library import Library, sharing, trail
from core.library.sharing import SHARING
from tests.core.library.builders import SOURCE, headline, small
from tests.no_files import no_file_left, nothing_opened

ISSUER = "https://login.example"
WARD = group_id(ISSUER, "ward")
ANNA = Visitor(user_id(ISSUER, "anna"), UserRole.AUDITOR, (WARD,))
BERT = Visitor(user_id(ISSUER, "bert"), UserRole.AUDITOR)
CARL = Visitor(user_id(ISSUER, "carl"), UserRole.VIEWER, (WARD,))
BOSS = Visitor(user_id(ISSUER, "boss"), UserRole.ADMIN)
ACTS: dict[str, Callable[[Library, str], object]] = {
    "get": Library.get,
    "load": lambda library, run: library.load(run, "test"),
    "files": Library.files,
    "history": Library.history,
    "bins": Library.bins,
    "logits": Library.validation_logits,
    "rename": lambda library, run: library.rename(run, "mine"),
    "tag": lambda library, run: library.tag(run, ["mine"]),
    "delete": Library.delete,
    "export": lambda library, run: library.export(run, library.home / "out.npz"),
    "share": lambda library, run: library.share(run, BERT.user),
    "revoke": lambda library, run: library.revoke(run, BERT.user),
    "shared_with": Library.shared_with,
    "owns": Library.owns,
}


@pytest.fixture
def of(home, tmp_path):
    """Open the library for a visitor."""
    return lambda visitor: Library(home, tmp_path / "samples", visitor)


def kept(library: Library, name: str = "a run") -> str:
    summary = {"test": headline()}
    return library.keep(name, {"test": small()}, source=SOURCE, summary=summary).id


def refusal(act: Callable[[], object]) -> LibraryError:
    with pytest.raises(LibraryError) as caught:
        act()
    return caught.value


def ids(library: Library) -> set[str]:
    return {row.id for row in library.rows()}


@pytest.mark.parametrize("act", ACTS)
def test_a_run_of_somebody_else_is_refused_as_one_that_does_not_exist(of, act):
    run, nobody = kept(of(ANNA)), "zzzzzzzzzzzz"
    foreign = refusal(lambda: ACTS[act](of(BERT), run))
    missing = refusal(lambda: ACTS[act](of(BERT), nobody))
    assert foreign.code == missing.code == "RUN_UNKNOWN"
    assert [text.replace(run, "ID") for text in foreign.fields] == [
        text.replace(nobody, "ID") for text in missing.fields
    ]
    assert of(ANNA).get(run).name == "a run"


def test_the_list_shows_own_runs_those_of_a_group_and_those_that_are_shared(of, home):
    own, theirs = kept(of(ANNA)), kept(of(BERT))
    group = kept(of(Visitor(ANNA.user, ANNA.role, ANNA.groups, WARD)))
    assert of(ANNA).get(group).owner == WARD
    assert ids(of(ANNA)) == {own, group}
    assert ids(of(BERT)) == {theirs}
    assert ids(of(CARL)) == {group}
    assert ids(of(BOSS)) == {own, theirs, group}
    of(ANNA).share(own, BERT.user)
    of(BERT).share(theirs, WARD)
    assert ids(of(BERT)) == {own, theirs}
    assert ids(of(CARL)) == {group, theirs}
    (home / "index.sqlite").unlink()
    assert of(BOSS).rebuild_index() == 3
    assert ids(of(BERT)) == {own, theirs}
    of(ANNA).revoke(own, BERT.user)
    assert ids(of(BERT)) == {theirs}
    assert refusal(lambda: of(BERT).load(own, "test")).code == "RUN_UNKNOWN"


def test_who_is_shared_a_run_reads_it_and_changes_nothing(of, home):
    run = kept(of(ANNA))
    of(ANNA).share(run, BERT.user)
    assert of(BERT).load(run, "test").n == 7
    assert not of(BERT).owns(run)
    for act in ("rename", "tag", "delete", "share", "revoke"):
        assert refusal(lambda act=act: ACTS[act](of(BERT), run)).code == "ROLE"
    of(BERT).export(run, home / "out.npz")
    assert json.loads((home / "runs" / run / SHARING).read_text())["shared_with"] == [BERT.user]


def test_a_viewer_of_the_owning_group_changes_nothing(of):
    run = kept(of(Visitor(ANNA.user, ANNA.role, ANNA.groups, WARD)))
    for act in ("rename", "tag", "delete", "share"):
        assert refusal(lambda act=act: ACTS[act](of(CARL), run)).code == "ROLE"
    assert refusal(lambda: kept(of(CARL))).code == "ROLE"
    assert ids(of(BOSS)) == {run}


def test_deleted_and_damaged_runs_are_their_owners(of, home):
    run, damaged = kept(of(ANNA)), kept(of(ANNA), "damaged")
    of(ANNA).delete(run)
    (home / "runs" / damaged / "predictions" / "test.safetensors").unlink()
    assert not of(BERT).trash()
    assert not of(BERT).damaged()
    assert [deleted.id for deleted in of(ANNA).trash()] == [run]
    assert [found.id for found in of(ANNA).damaged()] == [damaged]
    assert refusal(lambda: of(BERT).restore(run)).code == "RUN_UNKNOWN"
    of(ANNA).restore(run)
    assert ids(of(ANNA)) == {run}


def test_runs_kept_without_login_are_the_administrators_to_give(library, of):
    run = kept(library)
    assert not ids(of(ANNA))
    of(BOSS).share(run, ANNA.user)
    assert ids(of(ANNA)) == {run}


@pytest.mark.parametrize(
    "text", ["not JSON", "[]", '{"shared_with": "u-1"}', '{"shared_with": [1]}']
)
def test_a_run_whose_sharing_cannot_be_read_is_shared_with_nobody(of, home, text):
    run = kept(of(ANNA))
    (home / "runs" / run / SHARING).write_text(text)
    assert not of(ANNA).shared_with(run)
    assert not ids(of(BERT))


def test_an_owner_who_could_not_be_read_is_read_the_next_time(of):
    run = kept(of(ANNA))
    path = of(ANNA).folder(run)
    sharing._owner.cache_clear()
    with no_file_left():
        assert sharing.owner_of(path) == ""
    assert of(ANNA).owns(run)


def test_who_a_run_is_shared_with_is_not_forgotten_for_want_of_a_file(of, home, monkeypatch):
    run = kept(of(ANNA))
    of(ANNA).share(run, BERT.user)
    with nothing_opened(monkeypatch, home / "runs" / run / SHARING):
        assert refusal(lambda: of(ANNA).share(run, WARD)).code == "DAMAGED"
    assert of(ANNA).shared_with(run) == (BERT.user,)


def test_a_run_is_shared_with_users_and_groups_alone(of):
    run = kept(of(ANNA))
    assert refusal(lambda: of(ANNA).share(run, "bert@example.org")).code == "PERSON_UNKNOWN"


def test_the_disk_quota_counts_what_an_owner_keeps_and_has_deleted(of, monkeypatch):
    run = kept(of(ANNA))
    used = of(ANNA).used()
    of(ANNA).delete(run)
    assert of(ANNA).used() == used > 0
    monkeypatch.setenv(DISK, f"{used / 10**9:.9f}")
    assert refusal(lambda: kept(of(ANNA))).code == "OVER_QUOTA"
    assert not ids(of(ANNA))
    assert kept(of(BERT))


@pytest.mark.parametrize(
    ("kind", "run_id"), [("upload", None), ("upload", "abcdefghijkm"), ("evaluate", "abcdefghijkm")]
)
def test_what_a_job_computed_is_kept_beyond_the_quota_and_no_upload(kind, run_id, of, monkeypatch):
    """An upload has an id of its own where a job in the background has read it."""
    monkeypatch.setenv(DISK, "0.000000001")
    keep = partial(
        of(ANNA).keep, "kept", {"test": small()}, source=SOURCE, summary={"test": headline()},
        kind=kind, run_id=run_id,
    )  # fmt: skip
    if kind == "upload":
        assert refusal(keep).code == "OVER_QUOTA"
        assert not ids(of(ANNA))
    else:
        assert keep().id == run_id


def test_the_trail_has_every_act_of_a_user_and_none_without_login(of, library, home):
    kept(library)
    assert not (home / trail.FILE).exists()
    began = time.time()
    run = kept(of(ANNA))
    of(ANNA).share(run, BERT.user)
    of(BERT).export(run, home / "out.npz")
    of(ANNA).revoke(run, BERT.user)
    of(ANNA).delete(run)
    of(ANNA).restore(run)
    entries = trail.entries(home, BOSS)[::-1]
    assert [(entry.user, entry.act, entry.detail) for entry in entries] == [
        (ANNA.user, "import", ""),
        (ANNA.user, "share", BERT.user),
        (BERT.user, "export", ""),
        (ANNA.user, "revoke", BERT.user),
        (ANNA.user, "delete", ""),
        (ANNA.user, "restore", ""),
    ]
    assert {entry.subject for entry in entries} == {run}
    assert all(began <= entry.at <= time.time() for entry in entries)
    assert refusal(lambda: trail.entries(home, ANNA)).code == "ROLE"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE trail SET act = 'open'",
        "DELETE FROM trail",
        "INSERT OR REPLACE INTO trail VALUES (1, 0, 'x', 'open', '', '')",
    ],
)
def test_no_statement_changes_an_entry_of_the_trail(of, home, change):
    kept(of(ANNA))
    before = trail.entries(home, BOSS)
    with closing(sqlite3.connect(home / trail.FILE)) as connection:
        with pytest.raises(sqlite3.IntegrityError, match="only ever added to"):
            connection.execute(change)
        connection.commit()
    assert trail.entries(home, BOSS) == before


def test_what_the_trail_cannot_take_is_not_done(of, home):
    run = kept(of(ANNA))
    (home / trail.FILE).unlink()
    (home / trail.FILE).mkdir()
    assert refusal(lambda: of(ANNA).delete(run)).code == "LIBRARY_WRITE"
    assert ids(of(ANNA)) == {run}


def test_names_of_people_are_remembered_by_id(home):
    sharing.remember(home, ANNA.user, "Anna")
    sharing.remember(home, WARD, "Ward 3")
    sharing.remember(home, ANNA.user, "Anna B.")
    assert sharing.known(home) == {ANNA.user: "Anna B.", WARD: "Ward 3"}
    with pytest.raises(LibraryError):
        sharing.remember(home, "../x", "evil")


def test_what_a_job_keeps_is_its_owners_and_in_the_trail_as_the_job_alone(of, home, monkeypatch):
    """A node of a cluster opens no table, whose locks the disk that it shares may not keep."""
    monkeypatch.setenv(OWNER, WARD)
    manifest = of(of_process()).keep(
        "kept",
        {"test": small()},
        source=SOURCE,
        summary={"test": headline()},
        config={},
        kind="evaluate",
        environment={},
        run_id="abcdefghijkm",
    )
    assert manifest.owner == WARD
    assert not list(home.glob("*.sqlite"))
