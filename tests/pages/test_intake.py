"""One way for all files to come in: sealed, watched, cancelled, refused, kept, by session."""

from html import unescape
from threading import Event

import pytest
from streamlit.testing.v1 import AppTest

from core.errors import Refused
from core.library import open_library
from core.readers.sandbox import read as sandbox
from pages.ui import history_import, intake, session
from tests.pages.seen import fine, opened, said, until

HISTORY = "\n".join(
    ["epoch,bin,lower,upper,count,confidence,accuracy,gamma"]
    + [
        f"{epoch},{k},{k / 2},{(k + 1) / 2},50,{0.4 + 0.4 * k},{0.3 + 0.4 * k},{1.5 + k}"
        for epoch in (1, 2)
        for k in (0, 1)
    ]
).encode()


@pytest.fixture(autouse=True)
def _at_once(home, monkeypatch):
    monkeypatch.setattr(intake, "FIRST_WAIT_S", 0.0)


@pytest.fixture
def endless(monkeypatch):
    """Let a history be read until that is cancelled; return what is read."""
    begun = []

    def read(path, *, name, cancel: Event):
        begun.append((path, name, cancel))
        cancel.wait()
        raise Refused("CANCELLED", "reading was cancelled", "read it again")

    monkeypatch.setattr(sandbox, "read_bin_history", read)
    return begun


def drop(test: AppTest, name: str, data: bytes) -> AppTest:
    (uploader,) = test.file_uploader
    return uploader.set_value((name, data, "text/csv")).run()


def button(test: AppTest, label: str):
    return next((one for one in test.button if one.label == label), None)


def names() -> list[str]:
    return [row.name for row in open_library().rows()]


def error(test: AppTest) -> str:
    (only,) = test.error
    return unescape(only.value)


def test_a_file_that_is_read_is_kept_and_its_bytes_go(home):
    test = opened("gamma")
    drop(test, "mine.csv", HISTORY)
    until(test, lambda: "mine" in names())
    until(fine(test), lambda: not test.session_state["gamma.reading"])
    assert test.query_params["run"]


def test_what_is_read_shows_its_name_and_can_be_cancelled(endless):
    test = fine(drop(opened("gamma"), "mine.csv", HISTORY))
    until(test, lambda: endless)
    assert "Reading **mine.csv**" in said(test)
    ((path, name, cancel),) = endless
    assert (name, path.read_bytes(), path.stat().st_mode & 0o777) == ("mine.csv", HISTORY, 0o600)
    fine(button(test, "Cancel").click().run())
    assert cancel.is_set()
    assert "Reading" not in said(test)
    until(test, lambda: not path.exists())
    assert not fine(test).error
    assert "mine" not in names()


def test_the_next_file_takes_the_place_of_the_one_before(endless):
    test = drop(opened("gamma"), "first.csv", HISTORY)
    drop(test, "second.csv", HISTORY)
    until(test, lambda: len(endless) == 2)
    (first, _, cancelled), (second, _, going) = endless
    assert cancelled.is_set()
    assert not going.is_set()
    until(test, lambda: not first.exists())
    assert second.exists()
    assert "Reading **second.csv**" in said(test)
    button(test, "Cancel").click().run()


def test_a_refusal_names_file_place_reason_and_remedy_until_it_is_closed():
    test = drop(opened("gamma"), "wrong.csv", b"epoch,bin\n1,2\n")
    until(test, lambda: test.error)
    text = error(test)
    for words in ("wrong.csv", "no column lower", "give columns epoch", "HISTORY_COLUMNS"):
        assert words in text
    assert not button(test, "Close").click().run().error
    drop(test, "wrong.csv", b"epoch,bin\n1,2\n")
    until(test, lambda: test.error)
    drop(test, "mine.csv", HISTORY)
    until(test, lambda: "mine" in names())
    assert not test.error


def test_two_sessions_read_beside_one_another(endless):
    mine, other = opened("gamma"), opened("gamma")
    drop(mine, "mine.csv", HISTORY)
    drop(other, "other.csv", HISTORY)
    until(mine, lambda: len(endless) == 2)
    assert "other.csv" not in said(mine)
    cancels = {name: cancel for _, name, cancel in endless}
    button(mine, "Cancel").click().run()
    assert cancels["mine.csv"].is_set()
    assert not cancels["other.csv"].is_set()
    assert "Reading **other.csv**" in said(other.run())
    button(other, "Cancel").click().run()


def test_a_full_disk_is_said_and_leaves_nothing(monkeypatch):
    def full(data):
        raise OSError(28, "No space left on device")

    test = opened("gamma")
    monkeypatch.setattr(session, "store", full)
    drop(test, "mine.csv", HISTORY)
    assert "No space left on device" in error(test)
    assert "LOST_WORKER" in error(test)
    assert not test.session_state["gamma.reading"]


def test_a_disk_that_is_full_when_it_is_kept_is_said(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(history_import, "keep_bin_history", full)
    test = drop(opened("gamma"), "mine.csv", HISTORY)
    until(test, lambda: test.error)
    assert "No space left on device" in error(test)
    assert "mine" not in names()


def test_the_end_of_a_session_stops_what_it_reads(endless, monkeypatch, tmp_path):
    (tmp_path / "room").mkdir()
    room = session.SessionResources(tmp_path / "room", set())
    monkeypatch.setattr(session, "room", lambda: room)
    test = drop(opened("gamma"), "mine.csv", HISTORY)
    until(test, lambda: endless)
    room.close()
    ((path, _, cancel),) = endless
    assert cancel.is_set()
    assert not path.exists()
