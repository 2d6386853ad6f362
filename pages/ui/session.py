"""What belongs to a browser and its sessions: a folder, drafts and running work.

A draft is an upload that is not in the library. Nobody but the browser that it came from sees it:
a cookie with a secret tells that browser when its page is loaded anew, and no link and no log
holds the secret. The bytes go with the browser's last session.
"""

import ctypes
import gc
import logging
import os
import secrets
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Event, Lock, Thread, Timer
from typing import Final, TypeVar

import streamlit as st

from core.access import LOCAL_OWNER, RETAINER, Quotas, refuse_over, retention
from core.errors import LibraryError
from core.jobs.local import LocalJobs, open_jobs
from core.library import SAMPLES, Library, home
from core.readers.predictions.result import ReadResult
from core.readers.sandbox import scratch
from pages.ui import caching, server, streamlit_internals, visitor
from pages.ui.caching import once
from pages.ui.streamlit_internals import UploadedFile, drop_bytes

EXPIRE_S: Final = 3_600.0  # how often it is looked for what is too old
JOBS_S: Final = 5.0  # how often jobs are looked after
COLLECT_S: Final = 1.0  # how often garbage is collected at most
LINGER_S: Final = 60.0  # how long drafts wait for their browser to come back
DRAFT: Final = "draft-"  # how ids of drafts begin
LOG: Final = logging.getLogger("candor")
_GARBAGE: Final = Event()  # set while there may be some
_CLOSED: Final = Event()  # set while sessions were closed whose memory may be given back
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Draft:
    """An upload that was read, and lives as long as its browser's sessions."""

    id: str
    name: str
    file_name: str
    result: ReadResult
    files: tuple[Path, ...] = ()  # what it was read from, in the browser's folder
    # Shows how it was read, given the draft, so that it can be read another way.
    again: "Callable[[Draft], None] | None" = None
    recalled: bool = False  # it was read as the user had chosen for such files before


@once
def _pool() -> ThreadPoolExecutor:
    """Threads that wait for reader processes; none of them touches Streamlit."""
    return ThreadPoolExecutor(max_workers=8, thread_name_prefix="reader")


@once
def start_up() -> None:
    """Once a process: remove what crashed servers left behind, and look after jobs from now on."""
    scratch.sweep()
    visitor.enter_demo()
    if streamlit_internals.serves():
        _begin(_look_after_jobs, "jobs")
        _begin(_collect_garbage, "garbage")
    server.at_end(_vacate_all)
    server.after_sessions(_give_back)


@cache
def _begin(task: Callable[[], None], name: str) -> None:
    """Begin a thread, once, also where the next could not begin and the visitor comes again."""
    Thread(target=task, name=name, daemon=True).start()


def spare_modules(n_modules: int) -> None:
    """Take what modules hold out of the garbage collector's rounds; once for each hundred of them.

    A collection goes through all objects. Those of imported modules live as long as the server;
    they are most of what there is. What sessions held at that moment is set aside with them, until
    it happens the next time.
    """
    _set_aside(n_modules // 100)


@cache
def _set_aside(n_hundreds: int) -> None:
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()
    gc.freeze()
    LOG.debug("what %d hundred modules hold is not collected", n_hundreds)


def leave_garbage() -> None:
    """Note that a run of a script or a session ends: what it leaves is collected a moment later.

    Streamlit would collect after every run (`runner.postScriptGC`), which is half of what fifty
    sessions at once take of the processor. One collection serves all that ended meanwhile.
    """
    _GARBAGE.set()


def _give_back() -> None:
    """Let go of what sessions held, and of what they shared once none is there."""
    if server.idle():
        caching.release()
    _CLOSED.set()
    leave_garbage()


def _collect_garbage() -> None:
    while True:
        _GARBAGE.wait()
        time.sleep(COLLECT_S)
        _GARBAGE.clear()
        closed = _CLOSED.is_set()
        if closed:
            _CLOSED.clear()
            gc.unfreeze()  # what a session held that has ended since
        gc.collect()
        if closed:
            gc.freeze()
            _trim()


def _trim() -> None:
    """Give free memory back to the system, where the C library can: it keeps what lies between."""
    with suppress(AttributeError, OSError, TypeError):  # TypeError: Windows, which names no library
        ctypes.CDLL(None).malloc_trim(0)


def _look_after_jobs() -> None:
    """Find jobs whose supervisor is gone and start what can start, also when no page is open."""
    expired = -EXPIRE_S
    while True:
        try:
            open_jobs().tick()
            if time.monotonic() - expired >= EXPIRE_S:
                expired = time.monotonic()
                remove_old()
        except Exception:  # whatever it is, jobs are looked after again
            LOG.exception("jobs could not be looked after")
        time.sleep(JOBS_S)


def remove_old() -> None:
    """Remove for good what was deleted long ago, and uploads older than the administrator allows.

    What audits in the background keep of such files goes with them.
    """
    library, days = Library(home(), SAMPLES, RETAINER), retention()
    with ExitStack() as steps:  # each is taken though another fails, which is said at the end
        steps.callback(library.purge)
        if days is not None:
            steps.callback(library.expire, days)
            steps.callback(library.forget_recipes, days)
            steps.callback(LocalJobs(home(), RETAINER).expire, days)


@dataclass(eq=False)
class BrowserRoom:
    """What the sessions of one browser share: a folder (mode 0700) and drafts."""

    secret: str  # in the browser's cookie: who has it sees the drafts, if they are the same user
    user: str  # whose they are; the browser may be shared
    folder: Path
    drafts: dict[str, Draft] = field(default_factory=dict)  # by id
    # n_sessions, n_moves: how many are there, and how often one came or went; a minute after the
    # last one left the folder goes
    n_sessions: int = 0
    n_moves: int = 0
    # Which session keeps a draft in the library, by its id.
    keepers: "dict[str, SessionResources]" = field(default_factory=dict)


@dataclass(frozen=True)
class SessionResources:
    """What a session holds outside its state: a browser's room, and the means to stop work."""

    browser: BrowserRoom
    works: set[Event]

    @property
    def folder(self) -> Path:
        """Where the bytes lie."""
        return self.browser.folder

    def stop_at_end(self, cancel: Event) -> Callable[[object], None]:
        """Set `cancel` when the session ends; return what a future calls that is done before."""
        works = self.works  # a future keeps what it calls: nothing that holds a result
        works.add(cancel)
        return lambda _: works.discard(cancel)

    def close(self) -> None:
        """Stop what is being read or computed; remove the bytes if no session is left."""
        for cancel in tuple(self.works):
            cancel.set()
        with _ROOMS_LOCK:
            self.browser.n_sessions -= 1
            self.browser.n_moves += 1
            left = self.browser, self.browser.n_moves
            keepers = self.browser.keepers
            for draft_id in [name for name, keeper in keepers.items() if keeper is self]:
                del keepers[draft_id]
        if self.browser.drafts:  # a page that is loaded anew closes its session first
            timer = Timer(LINGER_S, _vacate, left)
            timer.daemon = True
            timer.start()
        else:
            _vacate(*left)


def _vacate(browser: BrowserRoom, n_moves: int) -> None:
    """Remove the bytes of a browser, unless it is back, or was: then it is waited for anew."""
    with _ROOMS_LOCK:
        gone = browser.n_sessions == 0 and browser.n_moves == n_moves
        gone = gone and _ROOMS.pop(browser.secret, None) is not None
    if gone:
        scratch.remove(browser.folder)
        browser.drafts.clear()
        leave_garbage()


def _vacate_all() -> None:
    """Remove the bytes of browsers that are waited for when the server ends."""
    for browser in tuple(_ROOMS.values()):
        scratch.remove(browser.folder)


_ROOMS: Final[dict[str, BrowserRoom]] = {}
_ROOMS_LOCK: Final = Lock()


@st.cache_resource(scope="session", show_spinner=False, on_release=SessionResources.close)
def room() -> SessionResources:
    """Return what the session holds; Streamlit closes it at the end."""
    return entered(st.context.cookies.get(_cookie(), ""), visitor.current().user)


def entered(secret: str, user: str = LOCAL_OWNER) -> SessionResources:
    """Return what a new session of a user holds, of a browser whose cookie is that secret."""
    with _ROOMS_LOCK:
        browser = _ROOMS.get(secret)
        if browser is None or browser.user != user:  # what is not ours is never taken over
            browser = BrowserRoom(secrets.token_urlsafe(32), user, scratch.make("session"))
            _ROOMS[browser.secret] = browser
        browser.n_sessions += 1
        browser.n_moves += 1
    return SessionResources(browser, set())


def _cookie() -> str:
    """Return the name of the cookie: browsers do not tell ports of a host apart."""
    return f"candor_drafts_{st.get_option('server.port')}"


def remember() -> None:
    """Give the browser the secret of its drafts, if there are any, until it is closed."""
    if not drafts() or st.context.cookies.get(_cookie()) == room().browser.secret:
        return
    cookie = f"{_cookie()}={room().browser.secret}; path=/; SameSite=Strict"
    st.html(
        f"<script>document.cookie = '{cookie}'"
        " + (location.protocol === 'https:' ? '; Secure' : '')</script>",
        unsafe_allow_javascript=True,
    )


def store(file: UploadedFile) -> Path:
    """Write an upload's bytes below the session's folder; its name is never used as a path.

    Streamlit keeps them in memory until the session ends, whatever becomes of the widget. So they
    are taken from its store, and from the file, which has nothing to read after that.
    """
    check_room(room().browser.user, file.size)
    path = room().folder / secrets.token_hex(8)
    path.touch(mode=0o600)
    try:
        path.write_bytes(file.getvalue())  # a buffer would copy them
    except OSError:  # a full disk keeps what it took
        path.unlink()
        raise
    finally:
        drop_bytes(file)
    return path


def check_room(user: str, more: int) -> None:
    """Refuse bytes over the quota of a user's uploads, in whichever browser: OVER_QUOTA."""
    quota = Quotas.of_environment().drafts
    if quota is not None:
        with _ROOMS_LOCK:
            folders = [browser.folder for browser in _ROOMS.values() if browser.user == user]
        paths = (
            Path(top) / name for f in folders for top, _, names in os.walk(f) for name in names
        )
        used = 0
        for path in paths:
            with suppress(OSError):  # another tab has just discarded it
                used += path.stat().st_size
        refuse_over(
            quota, used, more, "Your uploads", "keep or discard one first, or close its page"
        )


def link(path: Path) -> Path:
    """Return a link to a whole path on the server: it goes with the session, the file stays."""
    name = room().folder / secrets.token_hex(8)
    name.symlink_to(path)
    return name


def in_thread(function: Callable[..., Answer], *arguments: object) -> "Future[Answer]":
    """Call a function that waits for a reader process and does not touch Streamlit."""
    return _pool().submit(function, *arguments)


def sealed() -> bool:
    """Whether reader processes run under memory and CPU limits, not only a time limit."""
    return sys.platform.startswith("linux")


def drafts() -> dict[str, Draft]:
    """Return this browser's drafts by id."""
    return room().browser.drafts


def add_draft(
    name: str,
    file_name: str,
    result: ReadResult,
    files: tuple[Path, ...] = (),
    again: Callable[[Draft], None] | None = None,
    *,
    recalled: bool = False,
) -> Draft:
    """Make what was read a draft of this browser."""
    draft_id = f"{DRAFT}{secrets.token_hex(4)}"
    draft = Draft(draft_id, name, file_name, result, files, again, recalled)
    drafts()[draft.id] = draft
    return draft


def claim(draft_id: str) -> Draft:
    """Return a draft that this session is to keep, and no other tab of the browser meanwhile.

    Raises LibraryError RUNNING: another tab keeps it. RUN_UNKNOWN: one has kept or discarded it.
    """
    mine = room()
    with _ROOMS_LOCK:
        draft = mine.browser.drafts.get(draft_id)
        if draft is None:
            what, remedy = "This draft is not here any more", "pick its run from your runs"
            raise LibraryError("RUN_UNKNOWN", what, remedy)
        if mine.browser.keepers.setdefault(draft_id, mine) is not mine:
            what = f"Another tab is keeping “{draft.name}”"
            raise LibraryError("RUNNING", what, "wait, then pick it from your runs")
    return draft


def disclaim(draft_id: str) -> None:
    """Let other tabs keep a draft that this one did not keep after all."""
    mine = room()
    with _ROOMS_LOCK:
        if mine.browser.keepers.get(draft_id) is mine:
            del mine.browser.keepers[draft_id]


def discard(draft_id: str) -> None:
    """Forget a draft, and remove the files that no other draft was read from."""
    mine = room()
    with _ROOMS_LOCK:  # both at once: between them another tab would claim it
        draft = mine.browser.drafts.pop(draft_id, None)
        if mine.browser.keepers.get(draft_id) is mine:
            del mine.browser.keepers[draft_id]
    for path in set(draft.files if draft else ()) - draft_files():
        path.unlink(missing_ok=True)


def draft_files() -> set[Path]:
    """Return the files that drafts of this browser were read from."""
    return {path for draft in drafts().values() for path in draft.files}
