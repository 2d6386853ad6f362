"""A session of the app without a browser: it speaks Streamlit's protocol and draws nothing."""

import asyncio
import http.client
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

PATIENCE_S = 600
EDGE = "edge"  # between the parts of an upload
HEAD = f'--{EDGE}\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'.encode()
KEPT_RUNS = 2  # as the browser: what was not drawn for so many runs is forgotten
MORE_TO_COME = ForwardMsg.FINISHED_EARLY_FOR_RERUN
WIDGETS = ("slider", "checkbox", "button_group", "selectbox", "button", "file_uploader")


@dataclass(frozen=True)
class Step:
    """What it took until a page stood still.

    Attributes
    ----------
    seconds : float
        Until the last script had finished.
    n_bytes : int
        That came over the connection.
    n_scripts : int
        That ran: of the page and of parts of it.
    """

    seconds: float = 0.0
    n_bytes: int = 0
    n_scripts: int = 0


class Failed(AssertionError):
    """The page showed an error."""


@dataclass(eq=False)
class Visitor:
    """One session: what a browser would remember of it.

    Attributes
    ----------
    socket : ClientConnection
    widgets : dict
        Ids of what can be moved, by label.
    headline : str
        The sentence of the page, as HTML.
    sent : Counter
        Kinds of elements that came with the last step, and were not known before.
    session : str
        Its id.
    """

    socket: ClientConnection
    widgets: dict[str, str] = field(default_factory=dict)
    headline: str = ""
    sent: Counter[str] = field(default_factory=Counter)
    session: str = ""
    _pages: dict[str, str] = field(default_factory=dict)  # hashes of scripts by path
    _page: str = ""
    _query: str = ""
    _seen: dict[str, int] = field(default_factory=dict)  # run in which a message came last
    _n_runs: int = 0
    _running: bool = False
    _repeats: dict[str, tuple[float, float]] = field(default_factory=dict)  # every, and when next

    @property
    def link(self) -> str:
        """What the address bar shows, but for the server."""
        path = next((path for path, script in self._pages.items() if script == self._page), "")
        return f"/{path}?{self._query}"

    async def go(self, link: str) -> Step:
        """Open a page by its path and query, as a link of the sidebar does."""
        path, _, self._query = link.lstrip("/").partition("?")
        self.headline = ""
        message = BackMsg()
        if self._pages:
            self._page = self._pages[path]
        else:
            message.rerun_script.page_name = path
        step = await self._send(message)
        if not self.headline:
            raise Failed(f"{link} has no headline")
        return step

    async def slide(self, label: str, value: float) -> Step:
        """Move a slider."""
        state = WidgetState(id=self.widgets[label])
        state.double_array_value.data.append(value)
        return await self._move(state)

    async def switch(self, label: str, value: bool) -> Step:
        """Turn a switch."""
        return await self._move(WidgetState(id=self.widgets[label], bool_value=value))

    async def press(self, label: str) -> Step:
        """Press a button."""
        return await self._move(WidgetState(id=self.widgets[label], trigger_value=True))

    async def drop(self, label: str, path: Path) -> Step:
        """Drop a file on a drop zone: its bytes go up first, as from a browser."""
        request = BackMsg()
        request.file_urls_request.request_id = secrets.token_hex(4)
        request.file_urls_request.file_names.append(path.name)
        request.file_urls_request.session_id = self.session
        await self.socket.send(request.SerializeToString())
        answer = ForwardMsg()
        while not answer.HasField("file_urls_response"):
            self._take(answer)
            data = await asyncio.wait_for(self.socket.recv(), PATIENCE_S)
            answer = ForwardMsg.FromString(bytes(data))
        (urls,) = answer.file_urls_response.file_urls
        host = f"{self.socket.remote_address[0]}:{self.socket.remote_address[1]}"
        status = await asyncio.to_thread(put, host, urls.upload_url, path)
        if status != http.HTTPStatus.NO_CONTENT:
            raise Failed(f"{path.name} was answered {status}")
        state = WidgetState(id=self.widgets[label])
        state.file_uploader_state_value.uploaded_file_info.add(
            name=path.name,
            size=path.stat().st_size,
            file_id=urls.file_id,
            file_urls=urls,
        )
        return await self._move(state)

    async def _move(self, state: WidgetState) -> Step:
        message = BackMsg()
        message.rerun_script.widget_states.widgets.append(state)
        return await self._send(message)

    async def _send(self, message: BackMsg) -> Step:
        """Ask for a run, and wait until the page stands still."""
        began = time.perf_counter()
        self.sent.clear()
        await self._ask(message)
        step = Step()
        while self._running or self._repeats:
            try:
                data = await asyncio.wait_for(self.socket.recv(), self._wait_s())
            except TimeoutError:
                await self._repeat()
                continue
            step = replace(step, n_bytes=step.n_bytes + len(data))
            if self._take(ForwardMsg.FromString(bytes(data))):
                step = replace(
                    step, seconds=time.perf_counter() - began, n_scripts=step.n_scripts + 1
                )
        return step

    async def _ask(self, message: BackMsg) -> None:
        state = message.rerun_script
        state.query_string, state.page_script_hash = self._query, self._page
        state.cached_message_hashes.extend(self._seen)
        state.context_info.color_scheme = "light"
        self._running = True
        await self.socket.send(message.SerializeToString())

    def _wait_s(self) -> float:
        if self._running:
            return PATIENCE_S
        return max(0.0, min(at for _, at in self._repeats.values()) - time.monotonic())

    async def _repeat(self) -> None:
        """Ask for the part of the page that is due to be drawn anew."""
        if self._running:
            raise Failed(f"nothing came for {PATIENCE_S} s")
        part = min(self._repeats, key=lambda name: self._repeats[name][1])
        every, _ = self._repeats[part]
        self._repeats[part] = every, time.monotonic() + every
        message = BackMsg()
        message.rerun_script.fragment_id, message.rerun_script.is_auto_rerun = part, True
        await self._ask(message)

    def _take(self, message: ForwardMsg) -> bool:
        """Remember what a message says; return whether a script has ended with it."""
        if message.metadata.cacheable or message.ref_hash:
            self._seen[message.ref_hash or message.hash] = self._n_runs
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._begin(message)
        elif kind == "navigation":
            self._page = message.navigation.page_script_hash
            pages = message.navigation.app_pages
            self._pages = {
                "" if page.is_default else page.url_pathname: page.page_script_hash
                for page in pages
            }
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "auto_rerun":
            every = message.auto_rerun.interval
            self._repeats[message.auto_rerun.fragment_id] = every, time.monotonic() + every
        elif kind == "stop_auto_rerun":
            for part in message.stop_auto_rerun.fragment_ids:
                self._repeats.pop(part, None)
        elif kind == "delta":
            self._draw(message.delta.new_element)
        elif kind == "script_finished":
            self._running = message.script_finished == MORE_TO_COME
            return True
        return False

    def _begin(self, message: ForwardMsg) -> None:
        """Forget what belongs to the page that is drawn anew."""
        self.session = message.new_session.initialize.session_id or self.session
        if not message.metadata.run.fragment_ids:
            self._repeats.clear()
            self._n_runs += 1
            oldest = self._n_runs - KEPT_RUNS
            self._seen = {name: run for name, run in self._seen.items() if run >= oldest}

    def _draw(self, element: Element) -> None:
        kind = element.WhichOneof("type")
        self.sent[str(kind)] += 1
        if kind in WIDGETS:
            widget = getattr(element, kind)
            self.widgets[widget.label] = widget.id
        elif kind == "html" and "c-sentence" in element.html.body:
            self.headline = element.html.body
        elif kind == "exception":
            raise Failed(element.exception.message)
        elif kind == "alert" and "`INTERNAL`" in element.alert.body:
            raise Failed(element.alert.body)


def upload_headers(host: str) -> dict[str, str]:
    """Return the headers of an upload, with the token that the server gives a page."""
    connection = http.client.HTTPConnection(host, timeout=PATIENCE_S)
    connection.request("GET", "/_stcore/health")
    response = connection.getresponse()
    response.read()
    connection.close()
    cookie = response.headers["Set-Cookie"].split(";")[0]
    return {
        "Cookie": cookie,
        "X-Xsrftoken": cookie.split("=", 1)[1].strip('"'),
        "Content-Type": f"multipart/form-data; boundary={EDGE}",
    }


def put(host: str, path: str, file: Path | bytes, *, chunked: bool = False) -> int:
    """Send a file up as Streamlit's page does; return the status."""
    data = file if isinstance(file, bytes) else file.read_bytes()
    body = HEAD + data + f"\r\n--{EDGE}--\r\n".encode()
    pieces = (body[at : at + 2**16] for at in range(0, len(body), 2**16)) if chunked else body
    headers = upload_headers(host)
    connection = http.client.HTTPConnection(host, timeout=PATIENCE_S)
    with suppress(BrokenPipeError, ConnectionResetError):  # refused before all of it was sent
        connection.request("PUT", path, pieces, headers, encode_chunked=chunked)
    try:
        with connection.getresponse() as answer:
            return answer.status
    finally:
        connection.close()


@asynccontextmanager
async def visiting(url: str) -> AsyncIterator[Visitor]:
    """Connect as a browser tab does; leaving closes it."""
    address = url.replace("http://", "ws://") + "/_stcore/stream"
    async with connect(
        address,
        subprotocols=["streamlit"],
        compression=None,
        max_size=None,
        open_timeout=PATIENCE_S,
    ) as socket:
        yield Visitor(socket)
