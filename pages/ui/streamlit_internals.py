"""All that is known of Streamlit beyond its public interface, in one place.

It was read in the version that `tests/pages/test_streamlit_internals.py` names. No other module
imports Streamlit's runtime, server, messages or elements, or reads a private attribute of theirs.
What the browser is given by Streamlit, test ids and classes that `assets/style.css` and
`assets/figure.js` go by, is held by the same test.

Importing it puts functions of ours in place of five of Streamlit's (below, Changed).
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import parse_qs, urlencode

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response
from streamlit import runtime
from streamlit.auth_util import is_authlib_installed
from streamlit.elements.arrow import DataframeState
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer
from streamlit.errors import FragmentStorageKeyError, StreamlitDuplicateElementKey
from streamlit.navigation.page import Page
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import memory_media_file_storage
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.fragment import Fragment, MemoryFragmentStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import RerunException, StopException, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.uploaded_file_manager import UploadedFile
from streamlit.web.server.starlette import starlette_auth_routes as auth
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

__all__ = [
    "USER_COOKIE_NAME",
    "AppSession",
    "DataframeState",
    "ExpanderContainer",
    "Page",
    "RerunException",
    "StopException",
    "StreamlitDuplicateElementKey",
    "UploadedFile",
    "is_authlib_installed",
    "is_host_allowed",
]

STATIC: Final = Path(st.__file__).parent / "static"
INDEX: Final = STATIC / "index.html"
# Its own copy of Plotly, which `assets/figure.js` draws with
PLOTLY: Final = next((STATIC / "static" / "js").glob("PlotlyChart.*.js")).name
# Else the browser looks for the server below a page's own path first, and is answered 404 twice.
SERVER_IS_HERE: Final = (
    "<script>window.__streamlit = {BACKEND_BASE_URL: new URL('.', location).href}</script>"
)
CALLBACK: Final = "/oauth2callback"  # where the provider of logins leads back to
LOGOUT: Final = "/auth/logout"
MEDIA: Final = "/media/"
UPLOADS: Final = "/_stcore/upload_file/"  # then the session, and the file
OWN_PATHS: Final = ("_", "auth/", "component/", "media/", "static/")  # that are no pages
KEPT_CLAIMS: Final = ("is_logged_in", "origin", "provider")  # that it looks at itself
OLD_COOKIES: Final = r"_streamlit_user(_tokens)?_[0-9]+"  # of versions that split long ones


# Sessions and their uploads -----------------------------------------------------------------------


def running() -> Any:  # noqa: ANN401  Runtime, or what stands for it in a test of a page
    """Return the runtime; None where nothing runs."""
    return runtime.get_instance() if runtime.exists() else None


def serves() -> bool:
    """Whether this is a server, and no test of a page."""
    return type(running()) is runtime.Runtime  # what poses has its class


def session_id() -> str:
    """Return the id of the session that this script runs for; "" without one."""
    context = get_script_run_ctx()
    return context.session_id if context is not None else ""


def drop_bytes(file: UploadedFile) -> None:
    """Take an upload's bytes out of Streamlit's memory, where they stay as long as the session."""
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)
    file.close()


def uploaded_bytes(session: str | None = None) -> int:
    """Return the bytes of uploads in memory, of one session or of all."""
    files = cast(MemoryUploadedFileManager, running().uploaded_file_mgr).file_storage
    sessions = [files.get(session, {})] if session is not None else list(files.values())
    return sum(len(file.data) for names in sessions for file in list(names.values()))


def live_sessions() -> dict[str, AppSession]:
    """Return the sessions that are connected, or were left not long ago, by id."""
    return {info.session.id: info.session for info in running()._session_mgr.list_sessions()}


def expired_sessions() -> dict[str, AppSession]:
    """Return the sessions that were left too long ago, which Streamlit forgets with this call."""
    storage = running()._session_mgr._session_storage
    return {name: left.session for name, left in storage._cache.expire()}


def close(session: AppSession) -> None:
    """Close a session and empty it: whatever still points at it keeps no upload alive."""
    session.shutdown()
    if session._scriptrunner is None:  # else a script reads its state until it ends
        session.session_state.clear()
        session._fragment_storage = MemoryFragmentStorage()


def claims_of(session: str) -> Mapping[str, Any] | None:
    """Return what is known of a session's user; None of a session that was left."""
    info = running()._session_mgr.get_active_session_info(session)
    return None if info is None else info.session._user_info


def sessions_with(claim: str, value: object) -> Iterable[AppSession]:
    """Return the active sessions whose user has a claim of a value."""
    active = running()._session_mgr.list_active_sessions()
    sessions = [info.session for info in active]
    return [session for session in sessions if session._user_info.get(claim) == value]


# Logins -------------------------------------------------------------------------------------------

Claims = dict[str, Any]  # Any: plain JSON values


def set_login_cookie_from(kept: Callable[[Claims], Awaitable[Claims]], longest: int) -> None:
    """From now on give browsers what a function makes of a user's claims, in a cookie.

    With it goes the provider's token, by which one logs out there, of at most `longest` characters.
    """
    set_cookie = auth._set_auth_cookie

    async def set_login(response: Response, user_info: Claims, tokens: Claims) -> None:
        own = {name: user_info[name] for name in KEPT_CLAIMS if name in user_info}
        token = tokens.get("id_token", "")
        of_provider = {"id_token": token} if 0 < len(token) <= longest else {}
        await set_cookie(response, own | await kept(user_info), of_provider)

    auth._set_auth_cookie = set_login


def signed_claims(request: Request) -> Mapping[str, Any]:
    """Return what a request's cookie holds of its user; empty without, or where it is not signed.

    Raises ValueError where it is no JSON.
    """
    cookie = auth._get_cookie_value_from_request(request, USER_COOKIE_NAME)
    claims: Mapping[str, Any] = json.loads(cookie) if cookie else {}
    return claims


def forget_cookies(response: Response, names: Iterable[str]) -> None:
    """Have a browser forget these cookies and those of its login."""
    for name in (*names, *auth._AUTH_COOKIE_NAMES):
        response.delete_cookie(name, path=auth._get_cookie_path())


# Messages and pages -------------------------------------------------------------------------------


def without_path(data: bytes) -> bytes:
    """Return a message to the browser without the folder of the program: it names apps by it."""
    forward = ForwardMsg.FromString(data)
    if forward.WhichOneof("type") != "new_session":
        return data
    forward.new_session.main_script_path = "app.py"
    message: bytes = forward.SerializeToString()
    return message


def use_router() -> None:
    """Have deep links served by the router of `app.py`.

    Else Streamlit serves the first one without it, and its errors in its own words.
    """
    PagesManager.uses_pages_directory = False


# Changed ------------------------------------------------------------------------------------------

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
