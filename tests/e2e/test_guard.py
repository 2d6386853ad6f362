"""What a client that is no browser may do: upload, connect from elsewhere, and be forgotten."""

import asyncio
import http.client
import re
import secrets
import signal
import time
import urllib.request
from contextlib import AsyncExitStack

import numpy as np
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.benchmarks.visitor import HEAD, put, upload_headers, visiting
from tests.e2e.conftest import PATIENCE_S, ROOT, awaited, settled, start

pytestmark = pytest.mark.e2e
MIB = 2**20


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """A server that forgets who left after a second, and takes 3 MiB of each and 5 MiB of all."""
    folder = tmp_path_factory.mktemp("limited")
    running = start(
        folder / "home",
        folder / "log.txt",
        *("--server.disconnectedSessionTTL", "1"),
        app="tests/e2e/small_limits.py",
    )
    yield running
    running.stop()


def host(server):
    return server.url.removeprefix("http://")


def upload(server, session, size, *, chunked=False):
    """Send a file as Streamlit's page does, without a widget; return the status."""
    path = f"/_stcore/upload_file/{session}/{secrets.token_hex(8)}"
    return put(host(server), path, b"x" * size, chunked=chunked)


def held(server):
    """Return the bytes of uploads that Streamlit says it holds."""
    with urllib.request.urlopen(f"{server.url}/_stcore/metrics", timeout=PATIENCE_S) as answer:
        text = answer.read().decode()
    found = re.findall(r'cache_type="UploadedFileManager".*} (\d+)', text)
    return sum(map(int, found))


def holds(server, size):
    """Wait until so much is held; what Streamlit says is up to seconds old."""
    until = time.monotonic() + PATIENCE_S
    while held(server) != size and time.monotonic() < until:
        time.sleep(0.5)
    return held(server) == size


def test_nothing_is_taken_where_no_page_asks_for_a_file(limited):
    async def tried():
        async with visiting(limited.url) as visitor:
            await visitor.go("/theory")
            before = await asyncio.to_thread(upload, limited, visitor.session, MIB)
            await visitor.go("/")
            after = await asyncio.to_thread(upload, limited, visitor.session, MIB)
            return before, after, await asyncio.to_thread(holds, limited, MIB)

    assert awaited(tried()) == (403, 204, True)
    assert holds(limited, 0)


def test_nothing_is_taken_for_a_session_that_is_none(limited):
    assert upload(limited, "nobody", MIB) == 403
    assert holds(limited, 0)


@pytest.mark.parametrize("chunked", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_session_has_its_limit_and_all_have_theirs(limited, chunked):
    async def tried():
        statuses = []
        async with AsyncExitStack() as stack:
            for sizes in ((2 * MIB, 2 * MIB), (2 * MIB,), (2 * MIB, MIB // 2)):
                visitor = await stack.enter_async_context(visiting(limited.url))
                await visitor.go("/")
                for size in sizes:
                    status = await asyncio.to_thread(
                        upload, limited, visitor.session, size, chunked=chunked
                    )
                    statuses.append(status)
            return statuses, await asyncio.to_thread(holds, limited, 4.5 * MIB)

    statuses, exact = awaited(tried())
    assert statuses == [204, 413, 204, 503, 204]
    assert exact
    assert holds(limited, 0)


@pytest.mark.nightly
def test_rounds_of_dropped_files_leave_no_bytes_while_their_sessions_live(limited, visit, tmp_path):
    """Two of them together are more than a session may have in memory."""
    logits = np.random.default_rng(0).normal(size=(20_000, 20)).astype(np.float32)
    np.savez(path := tmp_path / "run.npz", logits=logits, labels=logits.argmax(axis=1))
    page = visit("/", url=limited.url)
    for _ in range(3):
        page.locator("input[type=file]").first.set_input_files(path)
        page.wait_for_url("**/reliability**")
        settled(page)
        assert holds(limited, 0)
        page.get_by_role("button", name="Discard").click()
        page.goto(limited.url)
        settled(page)


def test_other_origins_and_hosts_do_not_get_a_connection(limited):
    async def opened(**changed):
        address = f"ws://{host(limited)}/_stcore/stream"
        try:
            async with connect(address, subprotocols=["streamlit"], **changed):
                return True
        except InvalidStatus as error:
            return error.response.status_code

    def tried(**changed):
        return awaited(opened(**changed))

    assert tried(origin=limited.url) is True
    assert tried(origin="https://evil.example") == 403
    assert tried(origin="null") == 403
    assert tried(additional_headers={"Host": "evil.example"}, origin="http://evil.example") >= 400
    request = urllib.request.Request(
        f"{limited.url}/_stcore/health", headers={"Origin": "https://evil.example"}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        assert answer.headers["Access-Control-Allow-Origin"] != "https://evil.example"
        assert answer.headers["Access-Control-Allow-Origin"] != "*"
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["/", "/theory", "/_stcore/health", "/media/a.csv"])
def test_what_is_asked_of_another_name_is_refused(limited, path):
    def status(name):
        connection = http.client.HTTPConnection(host(limited), timeout=PATIENCE_S)
        connection.request("GET", path, headers={"Host": name})
        try:
            return connection.getresponse().status
        finally:
            connection.close()

    port = host(limited).split(":")[1]
    for name in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1.evil.example",
        "",
        "a@127.0.0.1",
    ):
        assert status(name) == 421
    for name in (host(limited), f"LOCALHOST:{port}"):
        assert status(name) in {200, 404}


def test_a_server_that_skips_the_limits_refuses_to_serve(tmp_path):
    running = start(tmp_path / "home", tmp_path / "log.txt", app="tests/e2e/unguarded.py")
    try:

        async def tried():
            async with visiting(running.url) as visitor:
                await visitor.go("/")
                return visitor.sent

        sent = awaited(tried())
        assert (sent["alert"], sent["file_uploader"]) == (1, 0)
    finally:
        running.stop()


@pytest.mark.nightly
def test_a_server_that_is_stopped_leaves_no_folder_of_a_session(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    running = start(tmp_path / "home", tmp_path / "log.txt")

    async def visited():
        async with visiting(running.url) as visitor:
            await visitor.go("/")
            sessions = list((tmp_path / "tmp").glob("candor-*-session-*"))
            running.process.send_signal(signal.SIGTERM)
            return len(sessions)

    assert awaited(visited()) == 1
    running.process.wait(PATIENCE_S)
    assert not list((tmp_path / "tmp").glob("candor-*-session-*"))


@pytest.mark.nightly
def test_a_server_that_is_stopped_waits_for_no_upload_that_has_stalled(tmp_path):
    running = start(tmp_path / "home", tmp_path / "log.txt")
    headers = upload_headers(host(running)) | {"Content-Length": str(MIB)}

    async def stalled():
        async with visiting(running.url) as visitor:
            await visitor.go("/")
            connection = http.client.HTTPConnection(host(running), timeout=PATIENCE_S)
            path = f"/_stcore/upload_file/{visitor.session}/{secrets.token_hex(8)}"
            connection.request("PUT", path, HEAD + b"x" * 1000, headers)
            await asyncio.sleep(1)
            running.process.send_signal(signal.SIGTERM)
            try:
                await asyncio.to_thread(running.process.wait, PATIENCE_S)
                return connection.getresponse().status
            finally:
                connection.close()

    assert awaited(stalled()) == 503
    assert running.process.returncode == -signal.SIGTERM
    assert "Traceback" not in running.log.read_text()


def test_no_message_says_where_the_program_lies(limited):
    """`new_session` is where Streamlit says it; pages are seen by the test of the proxy."""

    async def first():
        async with visiting(limited.url) as visitor:
            sizes = []
            taken = visitor.socket.recv

            async def recv():
                data = await taken()
                sizes.append(len(data))
                assert str(ROOT).encode() not in data
                return data

            visitor.socket.recv = recv
            await visitor.go("/reliability?run=digits-overconfident")
            return len(sizes)

    assert awaited(first()) > 5
