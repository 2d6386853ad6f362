"""Login at a certified provider, and that nobody sees what is somebody else's.

The provider is npm's oidc-provider, installed below build/ when npm can.
"""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from core.access import user_id
from core.jobs.local import LocalJobs
from core.library import Library, sharing
from tests.e2e.conftest import PATIENCE_S, ROOT, Server, free_port, new_page, settled, start, tick
from tests.e2e.files import npz_logits
from tests.e2e.test_proxy import NAME, NGINX, in_front

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]
FOLDER = ROOT / "build" / "oidc"
LIBRARY = FOLDER / "node_modules" / "oidc-provider" / "lib" / "index.js"
PACKAGE = "oidc-provider@9.13.3"
INSTALL = ("install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(FOLDER))
ACCOUNTS: dict[str, dict[str, Any]] = {  # Any: claims of several types
    "anna": {"name": "Anna Bergmann", "roles": ["auditor"], "groups": ["ward 3"]},
    "bert": {"name": "Bert Ostwald", "roles": ["auditor"], "groups": []},
    "carl": {"name": "Carl Lindner", "roles": ["viewer"], "groups": []},
    "dora": {"name": "Dora Neumann", "roles": ["admin"], "groups": []},
    "egon": {"name": "Egon Albers", "roles": [], "groups": []},
}
EMAILS = {name: f"{name}.of@clinic.example" for name in ACCOUNTS}


@dataclass(frozen=True)
class Site:
    """The app and the provider that it sends people to."""

    server: Server
    issuer: str
    browser: Browser
    home: Path

    def enter(self, name: str, path: str = "/") -> Page:
        """Log somebody in, in a browser of their own, and open a link."""
        page = new_page(self.browser)
        log_in(page, name, self.server.url + path)
        return page

    def go(self, page: Page, path: str) -> None:
        page.goto(self.server.url + path)
        settled(page)

    def user(self, name: str) -> str:
        return user_id(self.issuer, name)


def log_in(page: Page, name: str, url: str) -> None:
    """Open a link and log in on the way."""
    page.goto(url)
    page.get_by_role("button", name="Log in", exact=True).click()
    page.locator("input[name=login]").fill(name)
    page.locator("input[name=password]").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(url)
    expect(page.get_by_role("button", name="Log out")).to_be_visible()


def provider_library() -> None:
    """Install the provider where it is not yet, or skip with the reason."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("npm and node are not installed")
    if not LIBRARY.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([npm, *INSTALL, PACKAGE], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"npm cannot install {PACKAGE}: {done.stderr.strip()[-300:]}")


@pytest.fixture(scope="module")
def site(tmp_path_factory, browser):
    provider_library()
    folder, port = tmp_path_factory.mktemp("login"), free_port()
    home = folder / "home"
    LocalJobs(home).pause()
    secrets = settings(folder, port, "http://127.0.0.1:{port}/oauth2callback")
    server = start(home, folder / "log.txt", "--secrets.files", str(secrets))
    with provider(folder, port, f"{server.url}/oauth2callback", ACCOUNTS):
        yield Site(server, f"http://127.0.0.1:{port}", browser, home)
    server.stop()


def settings(folder: Path, port: int, callback: str) -> Path:
    """Write the settings of a login at the provider on that port."""
    secrets, issuer = folder / "secrets.toml", f"http://127.0.0.1:{port}"
    secrets.write_text(
        "[auth]\n"
        f'redirect_uri = "{callback}"\n'
        f'cookie_secret = "{"0123456789abcdef" * 4}"\n'
        'client_id = "candor"\n'
        'client_secret = "only-on-loopback"\n'
        f'server_metadata_url = "{issuer}/.well-known/openid-configuration"\n'
        'client_kwargs = { prompt = "login" }\n'
    )
    return secrets


@contextmanager
def provider(
    folder: Path, port: int, callback: str, accounts: dict[str, dict[str, Any]]
) -> Iterator[None]:
    """Run the provider with these accounts."""
    known = {
        name: {**rest, "email": f"{name}.of@clinic.example"} for name, rest in accounts.items()
    }
    program = ("node", str(Path(__file__).parent / "provider.mjs"))
    with (folder / "provider.txt").open("w") as log:
        process = subprocess.Popen(
            [*program, LIBRARY.as_uri(), str(port), callback, json.dumps(known)],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    until = time.monotonic() + PATIENCE_S
    while "listening" not in (folder / "provider.txt").read_text():
        assert process.poll() is None, (folder / "provider.txt").read_text()
        assert time.monotonic() < until
        time.sleep(0.1)
    try:
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def test_without_a_login_nothing_is_served(site):
    page = new_page(site.browser)
    for path in ("/", "/reliability?run=digits-fair", "/train"):
        site.go(page, path)
        expect(page.get_by_text("Log in to see your runs.")).to_be_visible()
        expect(page.get_by_test_id("stFileUploaderDropzoneInput")).to_have_count(0)
        expect(page.get_by_test_id("stDataFrame")).to_have_count(0)
    page.context.close()


def test_a_login_leads_back_to_the_link_that_was_followed(site):
    page = site.enter("carl", "/compare?runs=digits-fair,digits-overconfident&metric=nll")
    expect(page.get_by_text("Fair digits").first).to_be_visible()
    kept = [one for one in page.context.cookies() if one["name"].startswith("candor_link")]
    assert kept == []  # it leads once
    page.context.close()


def test_two_users_do_not_see_what_is_the_others_unless_it_is_shared(site, tmp_path):
    anna, bert = site.enter("anna"), site.enter("bert")
    # A draft of Anna's.
    anna.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(npz_logits(tmp_path))
    anna.wait_for_url(re.compile("draft="))
    settled(anna)
    draft = anna.url.removeprefix(site.server.url)
    site.go(bert, draft)
    expect(bert.get_by_text("This draft is not here")).to_be_visible()
    # Kept as a run.
    anna.get_by_role("button", name="Keep in the library").click()
    anna.get_by_role("textbox", name="Name").fill("Night shift")
    anna.get_by_role("button", name="Keep", exact=True).click()
    anna.wait_for_url(re.compile("run="))
    settled(anna)
    run = re.search("run=([a-z0-9]+)", anna.url)[1]
    assert Library(site.home, tmp_path).get(run).owner == site.user("anna")
    anna.get_by_role("button", name="As table, downloads").first.click()
    with anna.expect_download() as download:  # made outside the session, as its visitor
        anna.get_by_role("button", name="CSV", exact=True).first.click()
    exported = re.fullmatch(rf"candor_(\w+)_{run}\.csv", download.value.suggested_filename)[1]
    for page in ("reliability?run=", "compare?runs="):  # tests/pages has the others
        site.go(bert, f"/{page}{run}")
        expect(bert.get_by_text(f"There is no run “{run}”").first).to_be_visible()
        expect(bert.locator("body")).not_to_contain_text("Night shift")
    site.go(bert, "/")
    expect(bert.locator("body")).not_to_contain_text("Night shift")
    # A job of Anna's waits.
    site.go(anna, "/train")
    anna.get_by_role("button", name="Train AdaFocal on digits").click()
    anna.wait_for_url(re.compile("job="))
    settled(anna)
    job = re.search("job=([a-z0-9]+)", anna.url)[1]
    site.go(bert, f"/train?job={job}")
    expect(bert.get_by_text(f"There is no job '{job}'")).to_be_visible()
    site.go(bert, "/train")
    expect(bert.get_by_text("None yet.")).to_be_visible()
    # Shared with Bert, and taken back.
    site.go(anna, "/")
    share(anna, "Bert Ostwald")
    site.go(bert, f"/reliability?run={run}")
    expect(bert.get_by_role("combobox", name="Run")).to_have_value("Night shift")
    site.go(anna, "/")
    choose_first(anna)
    anna.get_by_role("button", name="Share").click()
    anna.get_by_role("button", name="Revoke Bert Ostwald").click()
    expect(anna.get_by_role("button", name="Revoke Bert Ostwald")).to_have_count(0)
    site.go(bert, f"/reliability?run={run}")
    expect(bert.get_by_text(f"There is no run “{run}”").first).to_be_visible()
    # An administrator reads what was done.
    dora = site.enter("dora")
    dora.get_by_text("Audit trail").click()
    settled(dora)
    entries = trail_of(site, run)
    assert [entry[1:] for entry in entries] == [
        ("import", ""),
        ("open", ""),
        ("export", f"csv.{exported}"),
        ("share", site.user("bert")),
        ("open", ""),
        ("revoke", site.user("bert")),
    ]
    assert [entry[0] for entry in entries] == [
        site.user(name) for name in ("anna", "anna", "anna", "anna", "bert", "anna")
    ]
    expect(dora.get_by_text(f"The last {len(all_entries(site))} entries.")).to_be_visible()
    # Another user of the same browser has none of Anna's drafts.
    anna.get_by_role("button", name="Log out").click()
    for page in (anna, bert, dora):
        page.context.close()
    no_names_outside_people(site)


def share(page: Page, name: str) -> None:
    choose_first(page)
    page.get_by_role("button", name="Share").click()
    page.get_by_role("combobox", name="Share with").click()
    page.get_by_role("option", name=name).click()
    page.get_by_test_id("stFormSubmitButton").get_by_role("button", name="Share").click()
    expect(page.get_by_text(re.compile(f"Shared .* with {name}")).first).to_be_visible()


def choose_first(page: Page) -> None:
    """Tick the newest run."""
    table = page.locator('[data-testid="stDataFrame"]').first.locator("canvas table")
    expect(table).to_have_attribute("aria-rowcount", re.compile(r"\d+"))
    tick(page, 0, of=int(table.get_attribute("aria-rowcount")) - 1)


def all_entries(site: Site):
    from core.access import LOCAL
    from core.library import trail

    return trail.entries(site.home, LOCAL)[::-1]


def trail_of(site: Site, run: str) -> list[tuple[str, str, str]]:
    return [(e.user, e.act, e.detail) for e in all_entries(site) if e.subject == run]


def no_names_outside_people(site: Site) -> None:
    """No address is stored or logged, and names stand in the list of people alone."""
    addresses = [address.encode() for address in EMAILS.values()]
    names = [account["name"].encode() for account in ACCOUNTS.values()]
    assert site.user("anna") in sharing.known(site.home)
    for path in [site.server.log, *filter(Path.is_file, site.home.rglob("*"))]:
        data, place = path.read_bytes(), str(path)
        assert not [address for address in addresses if address in data], place
        if path.parent.name != sharing.FOLDER:
            assert not [name for name in names if name in data], place
        assert not [n for n in ACCOUNTS if n in str(path.relative_to(site.home.parent))], place


def test_log_out_ends_every_tab_and_a_copied_cookie_logs_nobody_in(site):
    first = site.enter("anna")
    copied = first.context.cookies()
    second = first.context.new_page()
    site.go(second, "/")
    expect(second.get_by_test_id("stFileUploaderDropzoneInput")).to_be_attached()
    first.get_by_role("button", name="Log out").click()
    expect(second.get_by_text("Log in to see your runs.")).to_be_visible()
    expect(second.get_by_test_id("stFileUploaderDropzoneInput")).to_have_count(0)
    thief = new_page(site.browser)
    thief.context.add_cookies(copied)
    site.go(thief, "/reliability?run=digits-fair")
    expect(thief.get_by_text("Log in to see your runs.")).to_be_visible()
    for page in (first, thief):
        page.context.close()


def test_no_other_site_ends_a_login(site):
    anna = site.enter("anna")
    ask = anna.request

    def status(path, method="GET", **headers):
        url = site.server.url + path
        return ask.fetch(url, method=method, headers=headers, max_redirects=0).status

    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    assert status("/auth/logout", **elsewhere) == 403
    assert status("/auth/logout", "HEAD", **{"Sec-Fetch-Site": "same-site"}) == 403
    assert status("/auth/logout", "POST") == 405
    assert status("/theory/auth/logout") == 200  # no page of that name
    assert status("/oauth2callback?code=a&state=b", **elsewhere) == 302  # as from the provider
    site.go(anna, "/")
    expect(anna.get_by_role("button", name="Log out")).to_be_visible()
    assert status("/auth/logout", **{"Sec-Fetch-Site": "same-origin"}) == 302
    expect(anna.get_by_text("Log in to see your runs.")).to_be_visible()
    anna.context.close()


def test_files_and_uploads_want_the_login_of_their_session(site, tmp_path):
    anna, bert, nobody = site.enter("anna"), site.enter("bert"), new_page(site.browser)

    def statuses(url, method="GET"):
        return [page.request.fetch(url, method=method).status for page in (anna, bert, nobody)]

    with anna.expect_response("**/media/*") as media:
        site.go(anna, "/xray")
    film = media.value.url
    assert statuses(film) == [200, 200, 403]  # nobody can guess it
    site.go(anna, "/")
    with anna.expect_request("**/upload_file/**") as put:
        anna.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(npz_logits(tmp_path))
    assert statuses(put.value.url, "DELETE")[1:] == [403, 403]
    assert statuses(put.value.url, "PUT")[1:] == [403, 403]
    anna.request.get(f"{site.server.url}/auth/logout", max_redirects=0)
    assert statuses(film)[0] == 403
    for page in (anna, bert, nobody):
        page.context.close()


MANY = [f"{i:08x}-0000-4000-8000-{i:012x}" for i in range(200)]  # as some providers name groups
SPLIT = 3_500  # characters, of the parts of cookies that versions before left in browsers


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed (apt-get install nginx)")
def test_a_user_with_two_hundred_groups_logs_in_through_nginx(tmp_path, browser):
    provider_library()
    provider_port, port, plain_port = (free_port() for _ in range(3))
    url = f"https://{NAME}:{port}"
    callback = f"{url}/oauth2callback"
    secrets = settings(tmp_path, provider_port, callback)
    app = start(
        tmp_path / "home",
        tmp_path / "log.txt",
        *("--server.address=127.0.0.1", f"--server.allowedHosts={NAME}"),
        *("--server.allowedHosts=127.0.0.1", "--secrets.files", str(secrets)),
    )
    gina = {"name": "Gina Huber", "roles": ["auditor"], "groups": MANY}
    page = new_page(browser, ignore_https_errors=True)
    with (
        closing(page.context),
        provider(tmp_path, provider_port, callback, {"gina": gina}),
        in_front(app, port, plain_port, tmp_path),
    ):
        page.context.add_cookies(
            [{"name": f"_streamlit_user_{i}", "value": "x" * SPLIT, "url": url} for i in (1, 2, 3)]
        )
        log_in(page, "gina", f"{url}/")
        held = page.context.cookies()
        assert sum(len(cookie["name"] + cookie["value"]) for cookie in held) < 4_096
        page.get_by_role("combobox", name="New runs belong to").click()
        page.keyboard.type(MANY[-1][:8])
        expect(page.get_by_role("option", name=MANY[-1])).to_be_visible()
    app.stop()


def test_a_viewer_reads_and_is_offered_nothing_else(site):
    carl = site.enter("carl")
    expect(carl.get_by_text("Your role takes no files.")).to_be_visible()
    expect(carl.get_by_test_id("stFileUploaderDropzoneInput")).to_have_count(0)
    for name in ("Rename", "Tag", "Delete", "Share"):
        expect(carl.get_by_role("button", name=name, exact=True)).to_have_count(0)
    expect(carl.get_by_text("Audit trail")).to_have_count(0)
    site.go(carl, "/train")
    expect(carl.get_by_text("Your role trains nothing.")).to_be_visible()
    site.go(carl, "/reliability?run=digits-fair")
    expect(carl.get_by_test_id("stFileUploaderDropzoneInput")).to_have_count(0)
    carl.context.close()


def test_an_account_without_a_role_sees_nothing(site):
    egon = site.enter("egon")
    expect(egon.get_by_text("Your account has no role here.")).to_be_visible()
    site.go(egon, "/reliability?run=digits-fair")
    expect(egon.get_by_text("Your account has no role here.")).to_be_visible()
    egon.context.close()
