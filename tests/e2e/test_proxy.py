"""The recipe for nginx, run: a page through TLS, its headers, its websocket, and what is closed."""

import os
import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e import files
from tests.e2e.conftest import PATIENCE_S, ROOT, free_port, go, start
from tests.e2e.test_audit import drop
from tests.e2e.test_server import ONE_EACH

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed (apt-get install nginx)"),
]
TEMPLATE = ROOT / "deploy" / "nginx.conf.template"
NAME = "localhost"
CLIENT = ssl.create_default_context()
CLIENT.check_hostname, CLIENT.verify_mode = False, ssl.CERT_NONE  # the certificate is our own
MAIN = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    include /etc/nginx/mime.types;
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


def site(app: str, port: int, plain_port: int, folder: Path) -> str:
    """Return the recipe with the names of this test, and nothing else changed."""
    text = TEMPLATE.read_text()
    for old, new in (
        ("${CANDOR_HOST}", NAME),
        ("${CANDOR_APP}", app),
        ("listen 8443 ", f"listen 127.0.0.1:{port} "),
        ("listen 8080 default_server;", f"listen 127.0.0.1:{plain_port} default_server;"),
        ("listen 8080;", f"listen 127.0.0.1:{plain_port};"),
        ("/etc/nginx/tls/", f"{folder}/"),
        ("/var/log/nginx/", f"{folder}/"),
    ):
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    """The app as it is started behind nginx, and nginx with a certificate of its own."""
    folder = tmp_path_factory.mktemp("proxy")
    app = start(
        folder / "home",
        folder / "log.txt",
        *("--server.address=127.0.0.1", f"--server.allowedHosts={NAME}"),
        *("--server.allowedHosts=127.0.0.1", "--", "--i-know"),
    )
    port, plain_port = free_port(), free_port()
    with in_front(app, port, plain_port, folder):
        yield f"https://{NAME}:{port}", f"http://{NAME}:{plain_port}", folder
    app.stop()


@contextmanager
def in_front(app, port, plain_port, folder):
    """Run nginx by the recipe in front of the app."""
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    names = ["-keyout", folder / "key.pem", "-out", folder / "fullchain.pem"]
    subprocess.run(
        [*make, "-nodes", "-days", "2", "-subj", f"/CN={NAME}", *names],
        check=True,
        capture_output=True,
    )
    (folder / "site.conf").write_text(
        site(app.url.removeprefix("http://"), port, plain_port, folder)
    )
    (folder / "nginx.conf").write_text(MAIN.format(folder=folder))
    nginx = subprocess.Popen([NGINX, "-c", folder / "nginx.conf"], env=os.environ)
    url = f"https://{NAME}:{port}"
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and nginx.poll() is None:
        try:
            answer(f"{url}/_stcore/health")
            break
        except OSError:
            time.sleep(0.2)
    assert nginx.poll() is None, (folder / "error.log").read_text()
    try:
        yield
    finally:
        nginx.terminate()
        nginx.wait(PATIENCE_S)


def answer(url, **request):
    """Return status, headers and body, whatever the status."""
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, **request), context=CLIENT, timeout=PATIENCE_S
        ) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def moved(url):
    """Return where an address leads to for good, without going there."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None

    with pytest.raises(urllib.error.HTTPError) as redirected:
        urllib.request.build_opener(Stay).open(url, timeout=PATIENCE_S)
    with redirected.value as response:
        assert response.code == 301
        return response.headers["Location"]


def test_headers_and_what_is_closed(proxy):
    url, plain, _ = proxy
    status, headers, body = answer(url)
    assert status == 200
    assert b"<title>" in body
    assert headers["Strict-Transport-Security"] == "max-age=31536000"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "/" not in headers["Server"]  # no version
    assert answer(f"{url}/_stcore/metrics")[0] == 404
    assert answer(f"{url}/reliability/_stcore/metrics")[0] == 404
    assert moved(f"{plain}/theory?a=1") == f"https://{NAME}/theory?a=1"


def test_the_logs_hold_neither_addresses_nor_what_follows_the_path(proxy):
    url, plain, folder = proxy
    said = {"Referer": f"{url}/?run=Jane-Doe", "User-Agent": "Jane-Doe"}
    answer(f"{url}/theory?run=Jane-Doe", headers=said)
    moved(f"{plain}/theory?run=Jane-Doe")
    too_large = said | {"Content-Length": str(2 * 2**20)}
    answer(f"{url}/theory?run=Jane-Doe", data=b"", headers=too_large, method="PUT")
    said_in_log = (" GET /theory 200 ", " GET /theory 301 ", " PUT /theory 413 ")
    until = time.monotonic() + PATIENCE_S
    while not all(line in (lines := (folder / "access.log").read_text()) for line in said_in_log):
        assert time.monotonic() < until, lines  # a line is written once its answer was sent
        time.sleep(0.1)
    for text in (lines, (folder / "error.log").read_text()):
        assert "Jane" not in text
        assert "127.0.0.1" not in text


def test_another_name_is_led_nowhere(proxy):
    url, plain, folder = proxy
    stranger = {"Host": "evil.example"}
    status, headers, _ = answer(f"{plain}/theory", headers=stranger)
    assert (status, headers["Location"]) == (421, None)
    assert answer(f"{url}/theory", headers=stranger)[0] == 421
    assert "evil" not in (folder / "access.log").read_text()


def test_the_logs_hold_no_address_of_a_file_and_no_session(proxy):
    url, _, folder = proxy
    for path in (
        "/media/secret.csv",
        "/theory/media/secret.csv",
        "/_stcore/upload_file/secret/secret",
    ):
        answer(f"{url}{path}")
    places = [f" GET {path} " for path in ("/media/", "/theory/media/", "/_stcore/upload_file/")]
    over = time.monotonic() + 60
    lines = ""
    while not all(place in lines for place in places) and time.monotonic() < over:
        time.sleep(0.1)  # a line is written after its answer is sent
        lines = (folder / "access.log").read_text()
    assert "secret" not in lines
    for place in places:
        assert place in lines


@pytest.mark.parametrize(
    ("path", "size"), [("/", 2 * 2**20), ("/_stcore/upload_file/a/b", 1026 * 2**20)]
)
def test_a_body_over_the_limit_is_refused_before_it_is_sent(proxy, path, size):
    headers = {"Content-Length": str(size)}
    assert answer(proxy[0] + path, data=b"", headers=headers, method="PUT")[0] == 413


@pytest.mark.parametrize(
    "paths",
    [
        pytest.param(("/theory",), id="theory"),
        pytest.param((*ONE_EACH.values(),), id="all", marks=pytest.mark.nightly),
    ],
)
def test_every_page_works_below_the_policy_and_is_not_told_where_the_program_lies(
    proxy, browser, tmp_path, paths
):
    context = browser.new_context(ignore_https_errors=True)
    context.set_default_timeout(1000 * PATIENCE_S)
    page = context.new_page()
    complaints, leaks, sockets = [], [], []

    def heard(message):
        if "Content Security Policy" in message.text or "Refused to" in message.text:
            complaints.append((page.url, message.text))

    def opened(socket):
        sockets.append(socket)
        socket.on("framereceived", lambda data: leaks.extend([page.url] * (secret in raw(data))))

    def raw(data):
        return data if isinstance(data, bytes) else data.encode()

    secret = str(ROOT).encode()
    page.on("console", heard)
    page.on("websocket", opened)
    for path in paths:
        go(page, proxy[0] + path)
    page.wait_for_load_state("networkidle")
    if len(paths) > 1:
        go(page, proxy[0])
        drop(page, files.npz_logits(tmp_path))
        page.wait_for_selector(".st-key-import, .js-plotly-plot")
    assert complaints == []
    assert leaks == []
    page.evaluate("() => fetch('https://elsewhere.example/').catch(() => null)")
    assert complaints  # so one would have been heard
    assert all(socket.url.startswith("wss://") for socket in sockets)
    assert len(sockets) >= len(paths)
    assert not sockets[-1].is_closed()
    context.close()
