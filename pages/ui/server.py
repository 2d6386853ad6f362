"""What stands between the network and Streamlit: limits of uploads, headers, and the end.

Streamlit takes a file into memory from whoever has a session, whether a page asks for files or not.
Here an upload passes only to a session that was shown a drop zone, and only while what is in memory
stays below a limit for each session and one for all.
"""

import asyncio
import atexit
import ctypes
import logging
import re
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from html import escape
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, Final
from urllib.parse import unquote
from weakref import WeakSet

import streamlit as st
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from websockets.http11 import MAX_LINE_LENGTH

from core import defaults
from pages.ui import site, streamlit_internals
from pages.ui.streamlit_internals import (
    CALLBACK,
    LOGOUT,
    MEDIA,
    OLD_COOKIES,
    OWN_PATHS,
    UPLOADS,
    USER_COOKIE_NAME,
    AppSession,
    is_host_allowed,
)

LOG: Final = logging.getLogger("candor")
MIB: Final = 2**20
M_ARENA_MAX, M_MMAP_THRESHOLD, M_TRIM_THRESHOLD = -8, -3, -1  # of mallopt in malloc.h
GRACE_S: Final = 5.0  # for requests under way when the server is told to end
EXPIRE_S: Final = 5.0  # how often sessions that were left are looked for
ROOT: Final = str(Path(__file__).parents[2])
ELSEWHERE: Final = {"cross-site", "same-site"}  # Sec-Fetch-Site of what another site leads to
# Of a login, kept for its end. Proxies refuse more than 8 KiB of cookies.
MAX_TOKEN: Final = 2_000  # characters
PAGE: Final = re.compile(rf"/(?!{'|'.join(OWN_PATHS)})[^.]+")  # and nothing of Streamlit
UPLOAD: Final = re.compile(rf"{UPLOADS}(?P<session>[^/]+)/[^/]+/?\Z")
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
OLD_COOKIE: Final = re.compile(OLD_COOKIES)
_ASKING: Final[set[str]] = set()  # sessions that were shown a drop zone
_ARRIVING: Final[Counter[str]] = Counter()  # bytes of uploads under way, by session
_REQUESTS: Final[set["asyncio.Task[object]"]] = set()  # under way
_ENDED: Final[WeakSet["asyncio.Task[object]"]] = WeakSet()  # those that the end of the server cut
_GUARDS: Final[list["Guard"]] = []
_LAST: Final[list[Callable[[], object]]] = []
_AFTER: Final[list[Callable[[], object]]] = []
_SEEN: Final[dict[str, AppSession]] = {}  # sessions that were there at the last look, by id


# For pages ----------------------------------------------------------------------------------------


def drop_zone(label: str, *, key: str, **look: Any) -> Any:  # noqa: ANN401  as st.file_uploader
    """Draw `st.file_uploader`; from now on its session may upload."""
    session = streamlit_internals.session_id()
    if session:
        _ASKING.add(session)
    return st.file_uploader(label, key=key, **look)


def guarded() -> bool:
    """Whether uploads are limited; always where nothing is served, as in a test of a page."""
    return bool(_GUARDS) or not streamlit_internals.serves()


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
    document = streamlit_internals.INDEX.read_text("utf-8")
    document = document.replace("<head>", f"<head>{streamlit_internals.SERVER_IS_HERE}", 1)

    async def opened(_: Request) -> HTMLResponse:
        return HTMLResponse(document, headers={"cache-control": "no-cache"})

    return [Route(f"/{entry.name}", opened) for entry in site.entries() if entry is not site.HOME]


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Let sessions expire while the server runs, and tidy up when it ends."""
    configure_malloc()
    streamlit_internals.use_router()
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
    gone, there = streamlit_internals.expired_sessions(), streamlit_internals.live_sessions()
    gone |= {name: session for name, session in _SEEN.items() if name not in there}
    _SEEN.clear()
    _SEEN.update(there)
    for name, session in gone.items():
        _ASKING.discard(name)
        try:
            streamlit_internals.close(session)
        except Exception:  # whatever it is, the others are closed, now and later
            LOG.exception("a session that was left could not be closed")
    if gone:
        for function in _AFTER:
            function()


def held_bytes(session: str | None = None) -> int:
    """Return the bytes of uploads in memory, of one session or of all."""
    uploaded = streamlit_internals.uploaded_bytes(session)
    return uploaded + (_ARRIVING.total() if session is None else _ARRIVING[session])


def _check(session: str, size: int) -> None:
    """Refuse bytes that nobody asked for, or that have no room."""
    if session not in _ASKING:
        raise HTTPException(403, "This page takes no files.")
    if held_bytes(session) + size > defaults.UPLOADS_SESSION_MB * MIB:
        raise HTTPException(413, "Together these files are too large. Upload them one by one.")
    if held_bytes() + size > defaults.UPLOADS_MB * MIB:
        raise HTTPException(503, "The server is taking other files. Try again in a minute.")


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


async def _login_of_claims(user_info: dict[str, Any]) -> dict[str, Any]:
    """Return the key of a login, which the browser is given in place of all the provider says.

    A user may have hundreds of groups, more than proxies and browsers let through as cookies.
    """
    from pages.ui import visitor  # with NumPy, which the server loads once a page is opened

    return await asyncio.to_thread(visitor.begin, user_info)


streamlit_internals.set_login_cookie_from(_login_of_claims, MAX_TOKEN)


def login_in(request: Request) -> str:
    """Return the key that a request's cookie holds; "" without, or where it is not signed."""
    from pages.ui import visitor  # with NumPy, which the server loads once a page is opened

    try:
        claims = streamlit_internals.signed_claims(request)
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
    claims = streamlit_internals.claims_of(session)
    # Of a session that was left nobody shows that it is theirs.
    return claims is None or claims.get(visitor.LOGIN) != key


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
                for session in streamlit_internals.sessions_with(visitor.LOGIN, key):
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
            streamlit_internals.forget_cookies(forget, parts)
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
            message = {**message, "bytes": streamlit_internals.without_path(data)}
        await send(message)

    return sent
