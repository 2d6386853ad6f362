"""A server without a further thread, or without memory for its modules: said on the page."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from streamlit.runtime.pages_manager import PagesManager

import pages.ui
from core.errors import lacking
from pages.ui import compute, selftest, server, session
from tests.pages.seen import opened

NO_THREAD = RuntimeError("can't start new thread")
NO_ROOM = ImportError("libarrow.so: failed to map segment from shared object")


class Unmapped:
    """A finder of modules without the memory to load one: of the frame, or of a page."""

    @staticmethod
    def find_spec(name, *_):
        if name in {"pages.ui.tour", "pages.ui.theory"}:
            raise NO_ROOM


@pytest.fixture
def routed(monkeypatch):
    """As the server does, but a test of a page has none."""

    async def begin_and_end():
        async with server.lifespan(None):
            pass

    class Routed(PagesManager):
        def __init__(self, *given, **named):
            PagesManager.uses_pages_directory = None  # as of a fresh server
            super().__init__(*given, **named)
            with ThreadPoolExecutor(1) as pool:  # in this one a browser may have its loop
                pool.submit(lambda: asyncio.run(begin_and_end())).result()

    for name in ("configure_malloc", "_end_requests_by_signal"):
        monkeypatch.setattr(server, name, lambda: None)
    monkeypatch.setattr(server, "_LAST", [])
    monkeypatch.setattr("streamlit.testing.v1.app_test.PagesManager", Routed)


@pytest.mark.parametrize("where", ["start", "end", "import", "import of a page"])
def test_what_is_lacking_is_said_on_the_page(where, monkeypatch, routed):
    def fail():
        raise NO_THREAD

    if where.startswith("import"):
        name = "tour" if where == "import" else "theory"
        monkeypatch.delattr(pages.ui, name, raising=False)
        monkeypatch.delitem(sys.modules, f"pages.ui.{name}", raising=False)
        monkeypatch.setattr(sys, "meta_path", [Unmapped, *sys.meta_path])
    else:
        place, name = {"start": (session, "start_up"), "end": (compute, "begin_studies")}[where]
        monkeypatch.setattr(place, name, fail)
    test = opened("theory" if where == "import of a page" else "")
    (error,) = test.error
    lack = lacking(NO_ROOM if where.startswith("import") else NO_THREAD)
    assert f"**{lack.what}**" in error.value
    assert "`LOST_WORKER`" in error.value


def test_a_thread_that_could_not_begin_is_begun_by_the_next_visitor(monkeypatch):
    began, full = [], [True]

    class Begun:
        def __init__(self, *, name, **_):
            self.name = name

        def start(self):
            if self.name == "second" and full[0]:
                raise NO_THREAD
            began.append(self.name)

    monkeypatch.setattr(session, "Thread", Begun)
    session._begin.cache_clear()
    session._begin(print, "first")
    with pytest.raises(RuntimeError):
        session._begin(print, "second")
    full[0] = False
    session._begin(print, "first")
    session._begin(print, "second")
    assert began == ["first", "second"]
    session._begin.cache_clear()


@pytest.mark.skipif(sys.platform == "win32", reason="no such limits")
@pytest.mark.parametrize(("most", "count"), [(-1, 0), (64, 1), (12, 2), (8 * 2**30, 0)])
def test_the_self_test_names_limits_that_are_too_low(most, count, monkeypatch, capsys):
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _: (most, most))
    selftest.problems.__wrapped__()
    assert capsys.readouterr().out.count("too little") == count
