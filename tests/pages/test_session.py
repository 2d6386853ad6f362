"""What a server does once, not once a run."""

import ctypes
import errno
import gc
import os
import platform
import subprocess
import sys
import time
import weakref
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from threading import Barrier, Thread
from types import SimpleNamespace as Namespace

import pytest

from core.access import RETENTION
from core.errors import LibraryError
from core.library import Library
from core.library.recipes import load_recipe, save_recipe
from core.readers.sandbox import scratch
from pages.ui import server, session, streamlit_internals, visitor
from pages.ui.caching import once
from tests.core.library.test_expire import age, kept
from tests.pages.seen import fine, opened


@pytest.fixture
def thawed():
    gc.unfreeze()
    session._set_aside.cache_clear()
    yield
    session._set_aside.cache_clear()
    gc.freeze()  # as the suite keeps it


@pytest.mark.nightly
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


class Ended(Exception):
    """Of a loop without an end."""


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


def test_what_was_set_aside_is_collected_once_sessions_are_closed(thawed, monkeypatch):
    """A session that was there as modules were set aside held 120 MiB until the server ended."""
    leftover = Leftover()
    seen = weakref.ref(leftover)
    session.spare_modules(len(sys.modules))
    del leftover
    trimmed = []

    def trim():
        trimmed.append(gc.get_freeze_count())
        raise Ended

    monkeypatch.setattr(session, "COLLECT_S", 0.0)
    monkeypatch.setattr(session, "_trim", trim)
    session._give_back()
    with pytest.raises(Ended):
        session._collect_garbage()
    assert seen() is None
    assert trimmed[0] > 50_000  # modules are spared as before


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


@pytest.mark.parametrize(("chosen", "expected"), [(None, "1"), ("2", "2")])
def test_the_server_computes_in_one_thread_unless_told_otherwise(chosen, expected):
    code = (
        "import os, sys, pages.ui\n"
        "print('numpy' in sys.modules, os.environ['OPENBLAS_NUM_THREADS'])\n"
        "import pages.ui.server"
    )
    others = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    env = others | ({"OPENBLAS_NUM_THREADS": chosen} if chosen else {})
    output = subprocess.check_output([sys.executable, "-c", code], text=True, env=env)
    assert output.split() == ["False", expected]  # numpy, which looks once, comes later


class Left:
    """A session that was left."""

    def __init__(self, closed, session_id, error=None):
        self.closed, self.id, self.error = closed, session_id, error
        self.session_state, self._scriptrunner = {"read": b"bytes"}, None

    def shutdown(self):
        if self.error:
            raise self.error
        self.closed.append(self.id)


@pytest.fixture
def streamlit(monkeypatch):
    """Stand for Streamlit's sessions: those that are there, and those that its clock lets go of."""
    streamlit = Namespace(there=[], expired=[], closed=[], told=[])

    def expire():
        left, streamlit.expired = streamlit.expired, []
        return [(session.id, Namespace(session=session)) for session in left]

    storage = Namespace(_cache=Namespace(expire=expire))
    infos = lambda: [Namespace(session=session) for session in streamlit.there]  # noqa: E731
    manager = Namespace(_session_storage=storage, list_sessions=infos)
    monkeypatch.setattr(streamlit_internals, "running", lambda: Namespace(_session_mgr=manager))
    monkeypatch.setattr(server, "_AFTER", [lambda: streamlit.told.append(list(streamlit.closed))])
    monkeypatch.setattr(server, "_SEEN", {})
    return streamlit


def test_a_session_that_cannot_be_closed_does_not_keep_the_others(monkeypatch, streamlit):
    errors = {"a": None, "b": OSError("gone"), "c": None}
    streamlit.expired = [Left(streamlit.closed, name, error) for name, error in errors.items()]
    asking = {"a", "b", "d"}
    monkeypatch.setattr(server, "_ASKING", asking)
    server.expire()
    assert streamlit.closed == ["a", "c"]
    assert asking == {"d"}


def test_what_sessions_held_is_garbage_as_soon_as_they_are_closed(streamlit):
    """Also of one that Streamlit dropped by itself, which its clock does not name."""
    dropped, works = Left(streamlit.closed, "dropped"), Left(streamlit.closed, "at work")
    works._scriptrunner = object()
    streamlit.there = [dropped, works]
    server.expire()
    assert not streamlit.told
    streamlit.there, streamlit.expired = [], [works]
    server.expire()
    assert streamlit.told == [["at work", "dropped"]]
    assert not dropped.session_state
    assert works.session_state  # until its script ends
    server.expire()
    assert len(streamlit.told) == 1


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


def together(function, count=8):
    """Call a function in as many threads, none of which is through before all have begun."""
    barrier, results = Barrier(count), []

    def call():
        barrier.wait()
        results.append(function())

    threads = [Thread(target=call) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_what_is_done_once_is_done_once_by_sessions_of_the_same_moment():
    made = []

    @once
    def pool():
        time.sleep(0.05)
        made.append(object())
        return made[-1]

    assert set(together(pool)) == {made[0]}
    assert len(made) == 1
    assert pool() is made[0]


def test_what_failed_is_tried_by_the_next_one():
    tried = []

    @once
    def pool():
        tried.append(1)
        if len(tried) == 1:
            raise Ended
        return "pool"

    with pytest.raises(Ended):
        pool()
    assert pool() == "pool"


def test_a_server_is_started_up_once_by_sessions_of_the_same_moment(monkeypatch):
    spec = find_spec(session.__name__)
    fresh = module_from_spec(spec)  # in which nothing was started yet
    spec.loader.exec_module(fresh)
    began = []

    class Begun:
        def __init__(self, *, name, **_):
            began.append(name)

        def start(self):
            """Not here."""

    monkeypatch.setattr(fresh, "Thread", Begun)
    monkeypatch.setattr(streamlit_internals, "serves", lambda: True)
    monkeypatch.setattr(server, "at_end", lambda _: None)
    monkeypatch.setattr(scratch, "sweep", lambda: time.sleep(0.05))
    together(fresh.start_up)
    assert sorted(began) == ["garbage", "jobs"]


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


def test_what_is_too_old_goes_though_an_upload_cannot_be_removed(home, monkeypatch):
    def refused(path, target):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setenv(RETENTION, "30")
    library = Library(home, home / "none")
    age(home, kept(library), 31)
    save_recipe(library.home, "0123abcd", {})
    os.utime(home / "recipes" / "0123abcd.json", (0, 0))
    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(LibraryError, match="uploads cannot be removed"):
        session.remove_old()
    assert load_recipe(library.home, "0123abcd") is None


ARENAS = """
import ctypes, sys
from pathlib import Path
from threading import Barrier, Thread
from pages.ui import server
libc = ctypes.CDLL(None)
libc.fopen.restype = libc.malloc.restype = ctypes.c_void_p
server.configure_malloc()
together = Barrier(12)
def hold():
    together.wait()
    libc.malloc(100)
    together.wait()
threads = [Thread(target=hold) for _ in range(12)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
print(Path(sys.argv[1]).read_text().count("<heap nr="))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="arenas are of glibc")
def test_threads_share_two_arenas(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", ARENAS, str(tmp_path / "arenas.xml")],
        cwd=server.ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(done.stdout) <= 2


MAPPED = """
import ctypes, sys
from pages.ui import server
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
class Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena chunks fast mapped rest".split()]
    _fields_ += [("more", ctypes.c_size_t * 5)]
libc.mallinfo2.restype = Counts
server.configure_malloc()
libc.free(libc.malloc(24 << 20))
before = libc.mallinfo2().mapped
libc.malloc(3 << 20)
print(libc.mallinfo2().mapped - before)
"""


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="the bound is of glibc, 2.33 or newer"
)
def test_a_large_array_goes_back_whole_however_large_one_before_was():
    """By default the second would lie in an arena, and small objects behind it would keep it."""
    done = subprocess.run(
        [sys.executable, "-c", MAPPED], cwd=server.ROOT, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == 1
