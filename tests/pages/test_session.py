"""What a server does once, not once a run."""

import gc
import sys
import time
import weakref

import pytest

from core.access import RETENTION
from core.library import Library
from pages.ui import session, visitor
from tests.core.library.test_expire import age, kept
from tests.pages.seen import fine, opened


@pytest.fixture
def thawed():
    gc.unfreeze()
    session._set_aside.cache_clear()
    yield
    session._set_aside.cache_clear()
    gc.freeze()  # as the suite keeps it


def test_modules_are_spared_once_for_each_hundred_of_them(thawed):
    n = len(sys.modules) // 100 * 100
    gc.collect()
    session.spare_modules(n)
    spared = gc.get_freeze_count()
    assert spared > 50_000
    later = [[k] for k in range(1000)]
    session.spare_modules(n + 99)
    assert gc.get_freeze_count() <= spared
    session.spare_modules(n + 100)
    assert gc.get_freeze_count() > spared
    assert later


class Leftover:
    """Held by nothing but itself."""

    def __init__(self):
        self.itself = self


def test_what_a_session_leaves_behind_is_collected_at_the_next_hundred(thawed):
    leftover = Leftover()
    seen = weakref.ref(leftover)
    session.spare_modules(len(sys.modules))
    del leftover
    gc.collect()
    assert seen() is not None  # set aside with the modules
    session.spare_modules(len(sys.modules) + 100)
    assert seen() is None


def test_the_first_freeze_collects_nothing_for_streamlit_has_just_begun(thawed):
    collected = []
    gc.callbacks.append(lambda phase, info: collected.append(info["generation"]))
    try:
        session.spare_modules(len(sys.modules))
        assert 2 not in collected
        session.spare_modules(len(sys.modules) + 100)
        assert 2 in collected
    finally:
        gc.callbacks.pop()


def test_a_page_that_is_drawn_has_its_modules_spared(thawed, home):
    fine(opened())
    assert gc.get_freeze_count() > 50_000


class Ended(Exception):
    """Of a loop without an end."""


def test_runs_that_end_within_a_moment_leave_their_garbage_to_one_collection(monkeypatch):
    collected = []

    def pause(seconds):
        assert seconds == session.COLLECT_S
        session.leave_garbage()  # another run ends meanwhile

    def collect():
        collected.append(session._GARBAGE.is_set())
        if len(collected) == 2:
            raise Ended
        session.leave_garbage()

    monkeypatch.setattr(time, "sleep", pause)
    monkeypatch.setattr(gc, "collect", collect)
    session.leave_garbage()
    with pytest.raises(Ended):
        session._collect_garbage()
    assert collected == [False, False]


def test_a_page_and_each_part_of_it_leave_their_garbage(home, monkeypatch):
    left = []
    monkeypatch.setattr(session, "leave_garbage", lambda: left.append(1))
    parts = []
    monkeypatch.setattr(visitor, "check", lambda: parts.append(1))
    fine(opened("theory"))
    assert parts
    assert len(left) == 1 + len(parts)


@pytest.mark.parametrize("days", ["", "30"])
def test_the_server_removes_what_is_too_old_though_nobody_opens_a_page(days, home, monkeypatch):
    monkeypatch.setenv(RETENTION, days)
    library = Library(home, home / "none")
    old, deleted = kept(library), kept(library)
    age(home, old, 31)
    library.delete(deleted)
    (path,) = (home / "trash").glob(f"{deleted}@*")
    path.rename(home / "trash" / f"{deleted}@20200101T000000Z")
    session.remove_old()
    assert not library.trash()
    assert [row.id for row in library.rows()] == ([] if days else [old])
