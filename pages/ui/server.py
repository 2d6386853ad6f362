"""What stands between the network and Streamlit: limits of uploads, headers, and the end.

Streamlit takes a file into memory from whoever has a session, whether a page asks for files or not.
Here an upload passes only to a session that was shown a drop zone, and only while what is in memory
stays below a limit for each session and one for all. All that is known of Streamlit's inside, of
uploads and of sessions, is in this module.
"""

import asyncio
import atexit
import ctypes
import json
import logging
import re
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from hashlib import blake2b
from html import escape
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, Final, cast
from urllib.parse import parse_qs, unquote, urlencode
from weakref import WeakSet

import streamlit as st
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.errors import FragmentStorageKeyError
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import memory_media_file_storage
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.fragment import Fragment, MemoryFragmentStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.uploaded_file_manager import UploadedFile
from streamlit.web.server.starlette import starlette_auth_routes as auth
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed
from websockets.http11 import MAX_LINE_LENGTH

from core import defaults
from pages.ui import site

LOG: Final = logging.getLogger("candor")
MIB: Final = 2**20
M_ARENA_MAX, M_MMAP_THRESHOLD, M_TRIM_THRESHOLD = -8, -3, -1  # of mallopt in malloc.h
GRACE_S: Final = 5.0  # for requests under way when the server is told to end
EXPIRE_S: Final = 5.0  # how often sessions that were left are looked for
ROOT: Final = str(Path(__file__).parents[2])
CALLBACK: Final = "/oauth2callback"  # of Streamlit, where the provider leads back to
LOGOUT: Final = "/auth/logout"
ELSEWHERE: Final = {"cross-site", "same-site"}  # Sec-Fetch-Site of what another site leads to
MEDIA: Final = "/media/"
# Of a login, kept for its end. Proxies refuse more than 8 KiB of cookies.
MAX_TOKEN: Final = 2_000  # characters
PAGE: Final = re.compile(r"/(?!_|auth/|component/|media/|static/)[^.]+")  # and nothing of Streamlit
UPLOAD: Final = re.compile(r"/_stcore/upload_file/(?P<session>[^/]+)/[^/]+/?\Z")
# Streamlit's page needs inline styles and scripts, code from strings for its components, and blobs
# for downloads. Nothing comes from another server or goes to one, and nobody may frame the page.
POLICY: Final = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
ENDS: Final = {"connection": "close"}
INDEX: Final = Path(st.__file__).parent / "static" / "index.html"
# Else the browser looks for the server below a page's own path first, and is answered 404 twice.
SERVER_IS_HERE: Final = (
    "<script>window.__streamlit = {BACKEND_BASE_URL: new URL('.', location).href}</script>"
)
KEPT_CLAIMS: Final = ("is_logged_in", "origin", "provider")  # that Streamlit itself looks at
TOO_MANY_COOKIES: Final = (
    "Your browser sends so many cookies here that no page could be shown. Most are of other "
    "programs at this address. Delete the cookies of this site, then open it again. If they come "
    "back, ask the administrator to give Candor a host name of its own."
)
NO_PAGE: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>No such page · Candor'
    '</title><meta name="viewport" content="width=device-width"><meta name="color-scheme" '
    'content="light dark"></head><body style="font: 17px/1.5 sans-serif; margin: 12vh 8vw">'
    "<h1>There is no page “{}” here.</h1><p>The link may be mistyped, or from another version. "
    '<a href="{}">Open your runs</a>.</p></body></html>'
)
OLD_COOKIE: Final = re.compile(r"_streamlit_user(_tokens)?_[0-9]+")
_ASKING: Final[set[str]] = set()  # sessions that were shown a drop zone
_ARRIVING: Final[Counter[str]] = Counter()  # bytes of uploads under way, by session
_REQUESTS: Final[set["asyncio.Task[object]"]] = set()  # under way
_ENDED: Final[WeakSet["asyncio.Task[object]"]] = WeakSet()  # those that the end of the server cut
_GUARDS: Final[list["Guard"]] = []
_LAST: Final[list[Callable[[], object]]] = []
_AFTER: Final[list[Callable[[], object]]] = []
_SEEN: Final[dict[str, Any]] = {}  # sessions that were there at the last look, by id


# For pages ----------------------------------------------------------------------------------------


# Streamlit gives a script a deep copy of what a widget holds: of a file as many bytes again, and
# as long as that takes no other session runs.
UploadedFile.__deepcopy__ = lambda file, _: file  # type: ignore[attr-defined]


def file_id(data: bytes, mimetype: str, filename: str | None = None) -> str:
    """Return the id of a file to download, by which a browser is given it.

    Streamlit hashes samples of what is larger than 1 MiB: files that differ elsewhere would be one,
    and the second browser would be given the first one's.
    """
    state = blake2b(data, digest_size=28)
    state.update(json.dumps([mimetype, filename]).encode())
    return state.hexdigest()


memory_media_file_storage._calculate_file_id = file_id


_request_rerun = AppSession.request_rerun


def request_rerun(session: AppSession, client_state: ClientState | None) -> None:
    """Let a session run; what a part of a page asks for that was left meanwhile comes too late."""
    here = session._pages_manager.current_page_script_hash
    sent = client_state.page_script_hash if client_state and client_state.fragment_id else ""
    if not sent or sent == here:
        _request_rerun(session, client_state)


AppSession.request_rerun = request_rerun  # type: ignore[method-assign, assignment]
_reset = ScriptRunContext.reset


def reset(
    context: ScriptRunContext,
    query_string: str = "",
    page_script_hash: str = "",
    fragment_ids_this_run: list[str] | None = None,
    **named: Any,  # noqa: ANN401  as of `ScriptRunContext.reset`
) -> None:
    """Begin a run; one of a part of a page goes by the link that was last written here.

    The browser sends the link that it shows. A part that is drawn again every second is asked for
    before the browser has heard of a choice that was just made, and would undo it; of a page that
    is just being left it would lead back there. What is bound to a widget the browser writes.
    """
    if fragment_ids_this_run and page_script_hash != context.page_script_hash:
        page_script_hash, query_string = context.page_script_hash, context.query_string
    elif fragment_ids_this_run:
        with context.session_state.query_params() as link:
            sent = parse_qs(query_string, keep_blank_values=True)
            here = {k: v for k, v in link._query_params.items() if not link.is_bound(k)}
            here |= {k: v for k, v in sent.items() if link.is_bound(k)}
            query_string = urlencode(here, doseq=True)
    _reset(context, query_string, page_script_hash, fragment_ids_this_run, **named)


ScriptRunContext.reset = reset  # type: ignore[method-assign, assignment]
_lookup = MemoryFragmentStorage.lookup


def lookup(storage: MemoryFragmentStorage, key: str) -> Fragment:
    """Return a part of a page; where it is gone, and no other is asked for, draw the page anew.

    The browser would go on showing what was left out.
    """
    try:
        return _lookup(storage, key)
    except FragmentStorageKeyError:
        context = get_script_run_ctx()
        requested = context.fragment_ids_this_run or () if context else ()
        if any(storage.contains(part) for part in requested):  # perhaps by a click
            raise
        st.rerun()


MemoryFragmentStorage.lookup = lookup  # type: ignore[method-assign, assignment]


def drop_zone(label: str, *, key: str, **look: Any) -> Any:  # noqa: ANN401  as st.file_uploader
    """Draw `st.file_uploader`; from now on its session may upload."""
    context = get_script_run_ctx()
    if context is not None:
        _ASKING.add(context.session_id)
    return st.file_uploader(label, key=key, **look)


def drop_bytes(file: UploadedFile) -> None:
    """Take an upload's bytes out of Streamlit's memory, where they stay as long as the session."""
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)
    file.close()


def guarded() -> bool:
    """Whether uploads are limited; always where nothing is served, as in a test of a page."""
    return bool(_GUARDS) or not serves()


def at_end(function: Callable[[], object]) -> None:
    """Call a function when the server ends, by a signal or otherwise; it may be called twice."""
    _LAST.append(function)
    atexit.register(function)  # uvicorn ends itself by the signal again, and nothing at exit runs


def after_sessions(function: Callable[[], object]) -> None:
    """Call a function each time sessions were closed: what they held is garbage now."""
    _AFTER.append(function)


def idle() -> bool:
    """Whether no session was there at the last look."""
    return not _SEEN


# For app.py ---------------------------------------------------------------------------------------


class Guard:
    """ASGI middleware around Streamlit: limits, headers, and the link that a login began at."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        _GUARDS.append(self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or connection."""
        if scope["type"] == "websocket":
            await self._app(scope, receive, _without_paths(send))
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        task, answered = asyncio.current_task(), False
        assert task is not None

        async def answer(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        _REQUESTS.add(task)
        try:
            await self._request(scope, receive, _with_headers(answer))
        except asyncio.CancelledError:
            if task not in _ENDED or answered:
                raise
            closed = PlainTextResponse("The server is being stopped.", 503, ENDS)
            await closed(scope, receive, _with_headers(send))
        finally:
            _REQUESTS.discard(task)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_host_allowed(Headers(scope=scope).get("host")):  # Streamlit asks it of sockets
            stranger = PlainTextResponse("This server has another name.", 421, ENDS)
            await stranger(scope, receive, send)
            return
        # With more cookies no websocket would come about; old ones go with the answer
        line = f"Cookie: {(headers := Headers(scope=scope)).get('cookie', '')}\r\n"
        opens = "text/html" in headers.get("accept", "")
        if opens and len(line) > MAX_LINE_LENGTH and not OLD_COOKIE.search(line):
            await PlainTextResponse(TOO_MANY_COOKIES, 431, ENDS)(scope, receive, send)
            return
        upload = UPLOAD.search(scope["path"])
        send = _without_old_cookies(scope, send)
        if scope["path"].endswith(CALLBACK):
            send = _noting_failure(_to_link(scope, send))
        if scope["path"].endswith((CALLBACK, LOGOUT)):
            send = _ending_login(scope, send)
        if await _is_kept_out(scope, upload["session"] if upload else ""):
            await PlainTextResponse("Not from here.", 403, ENDS)(scope, receive, send)
        elif upload and scope["method"] == "PUT":
            await self._upload(upload["session"], scope, receive, send)
        elif _leads_nowhere(scope):
            path, up = escape(scope["path"].strip("/")[:80]), "../" * (scope["path"].count("/") - 1)
            await HTMLResponse(NO_PAGE.format(path, up or "./"), 404)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _upload(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Let an upload through that has a drop zone and room; its bytes are counted as they come.

        Its length is held against the limits before the first of them is read.
        """
        length = dict(scope["headers"]).get(b"content-length", b"0")
        try:
            _check(session, int(length) if length.isdigit() else 0)
        except HTTPException as refusal:
            response = PlainTextResponse(refusal.detail, refusal.status_code, headers=ENDS)
            await response(scope, receive, send)
            return
        arrived = 0

        async def counted() -> Message:
            nonlocal arrived
            message = await receive()
            size = len(message.get("body", b""))
            _check(session, size)
            _ARRIVING[session] += size
            arrived += size
            return message

        try:
            await self._app(scope, counted, send)
        finally:
            _ARRIVING[session] -= arrived
            if not _ARRIVING[session]:
                del _ARRIVING[session]


def _leads_nowhere(scope: Scope) -> bool:
    """Whether a person opens a page that there is not, of which Streamlit has words of its own."""
    path = scope["path"].removesuffix("/")
    names = (f"/{entry.name}" for entry in site.entries() if entry is not site.HOME)
    pages = {"", CALLBACK, *names}
    opened = scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")
    below = st.get_option("server.baseUrlPath")  # where Candor does not stand at the top
    return opened and not below and bool(PAGE.fullmatch(path)) and path not in pages


def links() -> list[Route]:
    """Return a route for each page but the first: its document, told where the server is."""
    document = INDEX.read_text("utf-8").replace("<head>", f"<head>{SERVER_IS_HERE}", 1)

    async def opened(_: Request) -> HTMLResponse:
        return HTMLResponse(document, headers={"cache-control": "no-cache"})

    return [Route(f"/{entry.name}", opened) for entry in site.entries() if entry is not site.HOME]


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Let sessions expire while the server runs, and tidy up when it ends."""
    configure_malloc()
    # Else Streamlit serves the first deep link without the router, and its errors in its own words.
    PagesManager.uses_pages_directory = False
    task = asyncio.create_task(_expire_for_ever())
    _end_requests_by_signal()
    try:
        yield
    finally:
        task.cancel()
        for function in _LAST:
            function()


def configure_malloc() -> None:
    """Let the C library give back what sessions leave.

    All threads take memory from two arenas: each keeps what lies between, some MB; by default there
    are eight for each processor, and what sessions leave grows until every thread has one. Arrays
    of 2 MiB and more are always mapped by themselves: by default the first large one that is freed
    raises that bound up to 32 MiB, those after it lie in an arena, and small objects between them
    keep their pages. To be set before a second thread has an arena of its own.
    """
    with suppress(AttributeError, OSError, TypeError):  # macOS and Windows have none
        malloc = ctypes.CDLL(None)
        malloc.mallopt(M_ARENA_MAX, 2)
        malloc.mallopt(M_MMAP_THRESHOLD, 2 * MIB)
        malloc.mallopt(M_TRIM_THRESHOLD, 8 * MIB)  # as the bound above is set, it no longer moves


def _end_requests_by_signal() -> None:
    """Give requests a moment once the server is told to end: it waits for them without a limit.

    So an upload that has stalled would keep it alive.
    """
    if current_thread() is not main_thread():  # where no signals arrive
        return
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)
        if callable(before):
            signal.signal(number, partial(_told_to_end, loop, before))


def _told_to_end(
    loop: asyncio.AbstractEventLoop,
    before: Callable[[int, FrameType | None], object],
    number: int,
    frame: FrameType | None,
) -> None:
    loop.call_soon_threadsafe(loop.call_later, GRACE_S, _end_requests)
    before(number, frame)


def _end_requests() -> None:
    for task in tuple(_REQUESTS):
        _ENDED.add(task)
        task.cancel()


async def _expire_for_ever() -> None:
    while True:
        await asyncio.sleep(EXPIRE_S)
        expire()


def expire() -> None:
    """Close sessions that were left longer ago than `server.disconnectedSessionTTL`.

    Streamlit does it when the next session is left, which may be never; it also drops some by
    itself, whose end nobody would hear of.
    """
    manager = _running()._session_mgr
    gone = {name: left.session for name, left in manager._session_storage._cache.expire()}
    there = {info.session.id: info.session for info in manager.list_sessions()}
    gone |= {name: session for name, session in _SEEN.items() if name not in there}
    _SEEN.clear()
    _SEEN.update(there)
    for name, session in gone.items():
        _ASKING.discard(name)
        try:
            # Close a session and empty it: whatever still points at it keeps no upload alive
            session.shutdown()
            if session._scriptrunner is None:  # else a script reads its state until it ends
                session.session_state.clear()
                session._fragment_storage = MemoryFragmentStorage()
        except Exception:  # whatever it is, the others are closed, now and later
            LOG.exception("a session that was left could not be closed")
    if gone:
        for function in _AFTER:
            function()


def held_bytes(session: str | None = None) -> int:
    """Return the bytes of uploads in memory, of one session or of all."""
    files = cast(MemoryUploadedFileManager, _running().uploaded_file_mgr).file_storage
    sessions = [files.get(session, {})] if session is not None else list(files.values())
    held = sum(len(file.data) for names in sessions for file in list(names.values()))
    return held + (_ARRIVING.total() if session is None else _ARRIVING[session])


def _check(session: str, size: int) -> None:
    """Refuse bytes that nobody asked for, or that have no room."""
    if session not in _ASKING:
        raise HTTPException(403, "This page takes no files.")
    if held_bytes(session) + size > defaults.UPLOADS_SESSION_MB * MIB:
        raise HTTPException(413, "Together these files are too large. Upload them one by one.")
    if held_bytes() + size > defaults.UPLOADS_MB * MIB:
        raise HTTPException(503, "The server is taking other files. Try again in a minute.")


def serves() -> bool:
    """Whether this is a server, and no test of a page."""
    return type(_running()) is runtime.Runtime  # what poses has its class


def _running() -> Any:  # noqa: ANN401  Runtime, or what stands for it in a test of a page
    return runtime.get_instance() if runtime.exists() else None


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
        await send(message)

    return sent


def link_cookie() -> str:
    """Return the name of the cookie that holds the link a login began at, of this port."""
    return f"candor_link_{st.get_option('server.port')}"


def _to_link(scope: Scope, send: Send) -> Send:
    """Lead the browser from the login to the link that it began at; Streamlit leads to the root."""
    kept = unquote(Request(scope).cookies.get(link_cookie(), ""))
    path, _, query = kept.partition("?")
    pages = {"", *(entry.name for entry in site.entries())}  # of this site; nothing beyond it
    plain = all("!" <= letter <= "~" for letter in query)

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = dict(message.get("headers", ()))
            root = headers.get(b"location", b"").decode("latin-1")
            if root.endswith("/") and plain and path in {root + page for page in pages}:
                others = [pair for pair in message["headers"] if pair[0] != b"location"]
                used = f"{link_cookie()}=; path=/; max-age=0"  # the next login has its own
                leading = ((b"location", kept.encode()), (b"set-cookie", used.encode()))
                message = {**message, "headers": [*others, *leading]}
        await send(message)

    return sent


# Logins -------------------------------------------------------------------------------------------


_set_auth_cookie = auth._set_auth_cookie


async def _set_login(response: Response, user_info: dict[str, Any], tokens: dict[str, Any]) -> None:
    """Give the browser the key of a login, in place of all that the provider says.

    A user may have hundreds of groups, more than proxies and browsers let through as cookies.
    """
    from pages.ui import visitor  # with NumPy, which the server loads once a page is opened

    kept: dict[str, Any] = {name: user_info[name] for name in KEPT_CLAIMS if name in user_info}
    kept |= await asyncio.to_thread(visitor.begin, user_info)
    token = tokens.get("id_token", "")
    of_provider = {"id_token": token} if 0 < len(token) <= MAX_TOKEN else {}
    await _set_auth_cookie(response, kept, of_provider)


auth._set_auth_cookie = _set_login


def login_in(request: Request) -> str:
    """Return the key that a request's cookie holds; "" without, or where it is not signed."""
    from pages.ui import visitor  # with NumPy, which the server loads once a page is opened

    try:
        cookie = auth._get_cookie_value_from_request(request, USER_COOKIE_NAME)
        claims = json.loads(cookie) if cookie else {}
    except ValueError:
        return ""
    return str(claims.get(visitor.LOGIN) or "")


async def _is_kept_out(scope: Scope, session: str) -> bool:
    """Whether a login is missing that a file or an upload needs, or another site logs one out.

    Parameters
    ----------
    scope : Scope
    session : str
        Whose uploads are to change; "" for none.
    """
    if scope["path"].endswith(LOGOUT):
        return Headers(scope=scope).get("sec-fetch-site") in ELSEWHERE
    if not session and MEDIA not in scope["path"]:
        return False
    from pages.ui import visitor  # with NumPy, which the server loads once a page is opened

    if not visitor.login_on() or scope["method"] == "OPTIONS":
        return False
    key = login_in(Request(scope))
    if await asyncio.to_thread(visitor.login_of, key) is None:
        return True
    if not session:
        return False
    info = _running()._session_mgr.get_active_session_info(session)
    # Of a session that was left nobody shows that it is theirs.
    return info is None or info.session._user_info.get(visitor.LOGIN) != key


def _ending_login(scope: Scope, send: Send) -> Send:
    """End the login that a browser held once it is given another, or told to forget it.

    Not before: any site can lead a browser to the addresses where that may happen.
    """
    told = f"{USER_COOKIE_NAME}=".encode()

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start" and any(
            name == b"set-cookie" and value.startswith(told) for name, value in message["headers"]
        ):
            from pages.ui import visitor  # with NumPy, which the server loads once a page is opened

            key = login_in(Request(scope)) if visitor.login_on() else ""
            if key:
                await asyncio.to_thread(visitor.end, key)
                # In all tabs of the browser
                sessions = _running()._session_mgr.list_active_sessions()
                for session in [info.session for info in sessions]:
                    if session._user_info.get(visitor.LOGIN) == key:
                        _ASKING.discard(session.id)
                        session.request_rerun(None)  # and is led to the login
        await send(message)

    return sent


def failure_cookie() -> str:
    """Return the name of the cookie that says a login has just failed, of this port."""
    return f"candor_failed_{st.get_option('server.port')}"


def _noting_failure(send: Send) -> Send:
    """Let the browser know for a minute that a login failed: Streamlit leads back without a word.

    So it does where the provider refuses, or its token is larger than joserfc takes.
    """
    told = f"{USER_COOKIE_NAME}=".encode()

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = [
                value[len(told) :] for _, value in message["headers"] if value[: len(told)] == told
            ]
            begun = any(not value.startswith((b";", b'""')) for value in given)
            note = "=; max-age=0" if begun else "=1; max-age=60; HttpOnly; SameSite=Lax"
            noted = (b"set-cookie", f"{failure_cookie()}{note}; path=/".encode())
            message = {**message, "headers": [*message["headers"], noted]}
        await send(message)

    return sent


def _without_old_cookies(scope: Scope, send: Send) -> Send:
    """Have the browser forget parts of cookies: versions before split what is too long for one.

    With them no websocket comes about: the page would stay blank for 30 days.
    """
    cookies = Request(scope).cookies
    parts = [name for name in cookies if OLD_COOKIE.fullmatch(name)]
    if not parts:
        return send

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            forget = Response()
            for name in (*parts, *auth._AUTH_COOKIE_NAMES):
                forget.delete_cookie(name, path=auth._get_cookie_path())
            kept = message.get("headers", ())
            gone = [pair for pair in forget.raw_headers if pair[0] == b"set-cookie"]
            # A login that begins has the last word
            message = {**message, "headers": [*gone, *kept]}
        await send(message)

    return sent


def _without_paths(send: Send) -> Send:
    """Keep from the browser in which folder the program lies; it tells apps apart by it."""

    async def sent(message: Message) -> None:
        data = message.get("bytes") or b""
        if ROOT.encode() in data:
            forward = ForwardMsg.FromString(data)
            if forward.WhichOneof("type") == "new_session":
                forward.new_session.main_script_path = "app.py"
                message = {**message, "bytes": forward.SerializeToString()}
        await send(message)

    return sent
