"""Login: what its settings must be, what claims mean, and what a role is offered."""

import asyncio
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
import streamlit as st
from streamlit.runtime.secrets import Secrets
from streamlit.testing.v1 import AppTest

from core.access import DRAFTS, LOCAL, Act, UserRole, Visitor, group_id, user_id
from core.errors import LibraryError, UsageError
from core.library import SAMPLES, Library, sharing, trail
from core.library import home as library_home
from core.library.logins import Login
from pages.ui import login, selftest, server, session, streamlit_internals, visitor
from tests.core.library.builders import (
    SOURCE,
    headline,
    keep_history,
    small,
    small_bins,
    unlabelled,
)
from tests.pages.seen import APP, PATIENCE_S, fine, html, said

ISSUER = "https://login.example"
AUTH = {
    "redirect_uri": "https://candor.example/oauth2callback",
    "cookie_secret": "0123456789abcdef" * 2,
    "client_id": "candor",
    "client_secret": "any",
    "server_metadata_url": f"{ISSUER}/.well-known/openid-configuration",
}


def claims(name: str, *roles: str, **more: object) -> dict[str, object]:
    base = {"is_logged_in": True, "iss": ISSUER, "sub": name, "iat": time.time()}
    return base | {"name": name.title(), "email": f"{name}@clinic.example", "roles": roles} | more


def cookie(user: dict[str, object]) -> dict[str, object]:
    """Return what a browser holds after a login with these claims."""
    return {"is_logged_in": True, **visitor.begin(user)}


def entered(user: dict[str, object], script: str = "", **query: str) -> AppTest:
    """Open a page on a server with a login, as a user who has just logged in."""
    return shown(cookie(user) if "sub" in user else user, script, **query)


def shown(user: dict[str, object], script: str = "", **query: str) -> AppTest:
    """Open a page on a server with a login, in a browser with that cookie."""
    test = AppTest.from_file(str(APP), default_timeout=PATIENCE_S)
    test.secrets["auth"] = AUTH
    test.user = user
    for name, value in query.items():
        test.query_params[name] = value
    if script:
        test.switch_page(f"pages/{script}.py")
    return test.run()


def kept(name: str, user: str) -> str:
    library = Library(library_home(), SAMPLES, Visitor(user_id(ISSUER, user), UserRole.AUDITOR))
    summary = {"test": headline()}
    return library.keep(name, {"test": small()}, source=SOURCE, summary=summary).id


def problems_of(monkeypatch, **changed: str) -> list[str]:
    secrets = Secrets()
    secrets._secrets = {"auth": AUTH | changed}
    monkeypatch.setattr(st, "secrets", secrets)
    return login.problems()


# Settings ----------------------------------------------------------------------------------------


def test_sound_settings_have_no_problems_and_no_settings_none_either(monkeypatch):
    assert login.problems() == []
    assert problems_of(monkeypatch) == []
    assert problems_of(monkeypatch, redirect_uri="http://127.0.0.1:{port}/oauth2callback") == []


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"cookie_secret": "short"}, "auth.cookie_secret has fewer than 32 characters"),
        ({"redirect_uri": "http://candor.example/oauth2callback"}, "auth.redirect_uri does not"),
        ({"server_metadata_url": "http://login.example"}, "auth.server_metadata_url does not"),
    ],
)
def test_unsafe_settings_are_named(monkeypatch, changed, problem):
    (found,) = problems_of(monkeypatch, **changed)
    assert found.startswith(problem)


def test_a_public_address_needs_a_login(monkeypatch):
    option = st.get_option
    public = {"server.address": "0.0.0.0"}
    monkeypatch.setattr(st, "get_option", lambda name: public.get(name) or option(name))
    monkeypatch.setattr("sys.argv", ["app.py"])
    selftest.problems.cache_clear()
    assert any("there is no login" in problem for problem in selftest.problems())
    problems_of(monkeypatch)
    selftest.problems.cache_clear()
    assert not any("there is no login" in problem for problem in selftest.problems())
    selftest.problems.cache_clear()


# Claims ------------------------------------------------------------------------------------------


def test_claims_give_role_groups_and_a_name_that_is_no_address(monkeypatch):
    said = claims("anna", "staff", "candor-auditor", "Viewer", groups=["w"], iat=5.0)
    login, names = visitor.of_claims(said)
    anna, ward = user_id(ISSUER, "anna"), group_id(ISSUER, "w")
    assert login == Login(anna, "AUDITOR", (ward,), 5.0)
    assert login.known_role is UserRole.AUDITOR
    assert names == {anna: "Anna", ward: "w"}
    bert = user_id(ISSUER, "bert")
    _, nameless = visitor.of_claims(claims("bert", "admin") | {"name": "bert@clinic.example"})
    assert nameless == {bert: f"User {bert[2:8]}"}
    assert not visitor.of_claims(claims("carl", "staff"))[0].role
    assert not visitor.of_claims(claims("carl") | {"roles": {"admin": True}})[0].role
    half = visitor.of_claims(claims("half \ud800", "viewer", groups=["\udfff"]))[0]
    assert len({half.user, *half.groups, anna, ward}) == 4
    monkeypatch.setenv(visitor.ROLE_CLAIM, "realm_access.roles")
    nested = claims("dora", realm_access={"roles": ["admin"]})
    assert visitor.of_claims(nested)[0].known_role is UserRole.ADMIN


def test_a_login_ends_after_the_hours_that_are_set(monkeypatch):
    login, _ = visitor.of_claims(claims("anna", iat=time.time() - 3 * 3600))
    assert not visitor.expired(login)
    monkeypatch.setenv(visitor.HOURS, "2")
    assert visitor.expired(login)
    assert visitor.expired(visitor.of_claims(claims("anna", iat=None))[0])
    for ahead in (time.time() + 10**6, 10**400):  # a clock that is wrong, milliseconds
        assert visitor.of_claims(claims("anna", iat=ahead))[0].issued <= time.time()


@pytest.mark.parametrize("hours", ["soon", "nan", "inf", "0", "-1"])
def test_hours_that_would_let_in_all_or_nobody_are_refused(monkeypatch, hours):
    monkeypatch.setenv(visitor.HOURS, hours)
    with pytest.raises(UsageError, match=f"CANDOR_LOGIN_HOURS is '{hours}'"):
        visitor.lifetime_s()


# The link that a login began at -------------------------------------------------------------------


GIVEN = b"_streamlit_user=2|1:0; path=/"


def answered(path: str, told: list[tuple[bytes, bytes]], *headers: tuple[bytes, bytes]) -> Any:
    """Return the start of the guard's answer, and what Streamlit tells the browser behind it."""

    async def streamlit(scope, receive, send):
        await send({"type": "http.response.start", "status": 302, "headers": told})

    sent: list[dict[str, Any]] = []

    async def send(message):
        sent.append(message)

    headers = ((b"host", b"localhost"), *headers)
    scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
    guard = server.Guard(streamlit)
    server._GUARDS.remove(guard)  # a page that is tested elsewhere is served by nobody
    with ThreadPoolExecutor(1) as pool:  # browser tests may have left a loop in this thread
        pool.submit(asyncio.run, guard(scope, None, send)).result()
    return sent


def led_to(link: str, *, root: str = "/", path: str = "/oauth2callback") -> dict[bytes, bytes]:
    """Return where a browser with that cookie is led, and what becomes of the cookie."""
    cookie = f"other=1; {server.link_cookie()}={quote(link, safe='')}".encode()
    told = [(b"location", root.encode()), (b"set-cookie", GIVEN)]
    others = (GIVEN, server.failure_cookie().encode())
    return {
        name: value
        for name, value in answered(path, told, (b"cookie", cookie))[0]["headers"]
        if name in {b"location", b"set-cookie"} and not value.startswith(others)
    }


def test_a_login_leads_back_to_the_link_that_was_opened():
    link = "/compare?runs=a1,b2&metric=nll&search=%C3%BC%20x"
    headers = led_to(link)
    assert headers[b"location"] == link.encode()
    assert headers[b"set-cookie"].endswith(b"=; path=/; max-age=0")  # once
    assert led_to("/candor/train?job=a", root="/candor/")[b"location"] == b"/candor/train?job=a"
    assert led_to("/train", path="/other") == {b"location": b"/"}


@pytest.mark.parametrize(
    "link",
    ["", "//evil.example/train", "https://evil.example/", "/nothing", "/train\\evil",
     "/train?a=\r\nset-cookie: b=1", "/train?a=\u00fc", "/../train", "train"],
)  # fmt: skip
def test_a_login_leads_nowhere_but_to_a_page_of_this_site(link):
    assert led_to(link) == {b"location": b"/"}


@pytest.mark.parametrize(
    ("site", "status"),
    [(b"cross-site", 403), (b"same-site", 403), (b"same-origin", 302), (b"none", 302), (None, 302)],
)
@pytest.mark.parametrize("path", ["/auth/logout", "/candor/auth/logout"])
def test_no_other_site_logs_anybody_out(path, site, status):
    headers = [(b"sec-fetch-site", site)] if site else []
    assert answered(path, [], *headers)[0]["status"] == status
    assert answered("/theory", [], *headers)[0]["status"] == 302  # as what lies behind answers


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(("owner", "kept_out"), [("anna", False), ("bert", True), ("", True)])
def test_uploads_change_for_the_login_of_their_open_session_alone(monkeypatch, owner, kept_out):
    held = {name: cookie(claims(name, "auditor"))[visitor.LOGIN] for name in ("anna", "bert")}
    user = {visitor.LOGIN: held.get(owner)}
    info = SimpleNamespace(session=SimpleNamespace(_user_info=user)) if owner else None  # left
    manager = SimpleNamespace(get_active_session_info=lambda _: info)
    monkeypatch.setattr(
        streamlit_internals, "running", lambda: SimpleNamespace(_session_mgr=manager)
    )
    monkeypatch.setattr(server, "login_in", lambda _: held["anna"])
    monkeypatch.setattr(visitor, "login_on", lambda: True)
    scope = {"type": "http", "method": "DELETE", "path": "/_stcore/upload_file/a/b", "headers": []}
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(asyncio.run, server._is_kept_out(scope, "a")).result() is kept_out


@pytest.mark.parametrize(
    ("told", "lasts"),
    [
        ([], b"60"),  # the provider refused, or the answer came a second time
        ([(b"set-cookie", b'_streamlit_user=""; Max-Age=0; Path=/')], b"60"),  # its token failed
        ([(b"set-cookie", GIVEN)], b"0"),
    ],
)
def test_a_login_that_fails_is_noted_for_a_minute(told, lasts):
    headers = answered("/oauth2callback", [(b"location", b"/"), *told])[0]["headers"]
    (note,) = [value for _, value in headers if value.startswith(b"candor_failed_")]
    assert b"; max-age=" + lasts + b";" in note


@pytest.mark.usefixtures("home")
def test_after_a_login_that_failed_the_page_says_so(monkeypatch):
    assert "did not succeed" not in said(fine(shown({})))
    cookies = property(lambda _: {server.failure_cookie(): "1"})
    monkeypatch.setattr(type(st.context), "cookies", cookies)
    assert "The login did not succeed. Try again." in said(fine(shown({})))


def test_a_page_that_too_many_cookies_would_leave_blank_says_what_to_do():
    accept = (b"accept", b"text/html,*/*;q=0.8")
    few, many = ((b"cookie", b"theirs=" + n * b"x") for n in (8_000, 8_192))
    old = (b"cookie", many[1] + b"; _streamlit_user_1=x")  # is forgotten by the answer
    for passed in ((accept, few), (accept, old), (many,)):
        assert answered("/", [], *passed)[0]["status"] == 302
    start, body = answered("/", [], accept, many)
    assert start["status"] == 431
    assert b"Delete the cookies of this site" in body["body"]


# Pages -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("script", ["", "reliability", "train"])
def test_nobody_is_served_before_the_login(script):
    signed = claims("anna", "admin")  # as versions before wrote them into the cookie
    old = cookie(claims("anna", "admin", iat=time.time() - 10**6))
    for user in ({}, old, signed, signed | {visitor.LOGIN: "unknown"}):
        test = fine(shown(user, script))
        assert "Log in to see your runs." in html(test)
        assert f"'{server.link_cookie()}=' + encodeURIComponent(location.pathname" in html(test)
        assert [button.key for button in test.button] == ["login.in"]
        assert not test.file_uploader


@pytest.mark.usefixtures("home")
def test_a_user_without_a_role_is_told_so():
    test = fine(entered(claims("egon")))
    assert "Your account has no role here." in html(test)
    assert [button.key for button in test.button] == ["login.out"]


@pytest.mark.usefixtures("home")
def test_the_cookie_of_two_hundred_groups_is_a_key_and_they_are_all_there():
    groups = [f"{i:08x}-0000-4000-8000-{i:012x}" for i in range(200)]
    held = cookie(claims("anna", "auditor", groups=groups))
    assert len(json.dumps(held)) < 200
    test = fine(shown(held))
    (select,) = [box for box in test.selectbox if box.key == visitor.GROUP]
    assert set(groups) < set(select.options)
    texts = [path.read_text() for path in library_home().joinpath("logins").iterdir()]
    assert len(texts) == 1
    assert held[visitor.LOGIN] not in texts[0] + str([*library_home().rglob("*")])
    assert "Anna" not in texts[0]
    assert "clinic.example" not in texts[0]


@pytest.mark.usefixtures("home")
def test_log_out_ends_the_login_in_every_tab_and_a_copy_of_its_cookie_opens_nothing():
    run, held = kept("Night shift", "anna"), cookie(claims("anna", "auditor"))
    other = cookie(claims("anna", "auditor"))  # of another browser
    first, second = (fine(shown(held, "reliability", run=run)) for _ in range(2))
    assert "Night shift" in second.selectbox(key="app.picked").options
    for test in (first.button(key="login.out").click().run(), second.run()):
        assert not test.button  # a test draws the page alone here, without the router
        assert "Night shift" not in html(fine(test)) + said(test)
    for test in (shown(held), shown(held, "reliability", run=run)):
        assert "Log in to see your runs." in html(fine(test))
        assert [button.key for button in test.button] == ["login.in"]
    again = fine(shown(other, "reliability", run=run))
    assert "Night shift" in again.selectbox(key="app.picked").options


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("ends", ["logs out", "expires"])
def test_a_login_that_has_ended_downloads_nothing(monkeypatch, ends):
    makes: dict[str, Callable[[], object]] = {}

    def download_button(label, data, *rest, key, **look):
        makes[key] = data

    monkeypatch.setattr(st, "download_button", download_button)
    run = kept("Night shift", "anna")
    test = fine(entered(claims("anna", "auditor"), "compare", runs=f"{run},digits-fair"))
    name = next(key for key in makes if key.endswith("csv"))
    monkeypatch.setattr(visitor, "login_on", lambda: True)  # made outside the session
    assert makes[name]()
    if ends == "logs out":
        fine(test.button(key="login.out").click().run())
    else:
        monkeypatch.setenv(visitor.HOURS, "1e-9")
    with pytest.raises(LibraryError, match="LOGIN: Your login has ended"):
        makes[name]()
    assert acts_on(run).count(Act.EXPORT) == 1


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("script", ["reliability", "posthoc", "ood", "gamma"])
def test_a_link_to_a_run_of_somebody_else_opens_nothing(script):
    run = kept("Night shift", "anna")
    for name in (run, "zzzzzzzzzzzz"):
        test = entered(claims("bert", "auditor"), script, run=name)
        assert "Night shift" not in html(test) + said(test)
        assert f"There is no run “{name}”" in test.error[0].value


@pytest.mark.usefixtures("home")
def test_what_was_opened_is_in_the_trail_once():
    run = kept("Night shift", "anna")
    test = fine(entered(claims("anna", "auditor"), "reliability", run=run))
    fine(test.run())
    entries = trail.entries(library_home(), LOCAL)
    assert [entry.act for entry in entries if entry.subject == run] == [Act.OPEN, Act.IMPORT]
    assert sharing.known(library_home()) == {user_id(ISSUER, "anna"): "Anna"}


def history(user: str) -> str:
    library = Library(library_home(), SAMPLES, Visitor(user_id(ISSUER, user), UserRole.AUDITOR))
    return keep_history(library, "Night shift", small_bins())


def outside(user: str) -> str:
    library = Library(library_home(), SAMPLES, Visitor(user_id(ISSUER, user), UserRole.AUDITOR))
    return library.keep("Night shift", {"svhn": unlabelled(9)}, source=SOURCE, summary={}).id


def scores(user: str) -> str:
    return kept("Night shift", user)


def with_set(user: str, name: str = "Night shift") -> str:
    library = Library(library_home(), SAMPLES, Visitor(user_id(ISSUER, user), UserRole.AUDITOR))
    splits = {"test": small(), "svhn": unlabelled(9)}
    return library.keep(name, splits, source=SOURCE, summary={"test": headline()}).id


OPENED = {  # what is kept, the page, and its link for a user
    "a gamma history": (history, "gamma", lambda user, run: {"run": run}),
    "a history beside": (history, "gamma", lambda user, run: {"run": GAMMAS, "against": run}),
    "a set of another run": (
        outside,
        "ood",
        lambda user, run: {"run": kept("Day", user), "sets": f"{run}.svhn"},
    ),
    "a run beside": (
        with_set,
        "ood",
        lambda user, run: {"run": with_set(user, "Day"), "beside": run},
    ),
    "a run beside the papers": (scores, "published", lambda user, run: {"own": run}),
}
GAMMAS = "digits-adafocal"


def of_anna_seen_by(user: str, what: str) -> tuple[str, AppTest]:
    """Keep a run of Anna's and open its link as a user; return its id and the page."""
    keep, script, link = OPENED[what]
    run = keep("anna")
    test = entered(claims(user, "auditor"), script, **link(user, run))
    return run, test


def acts_on(run: str) -> list[Act]:
    """Return what the audit trail has of a run, the newest first."""
    return [e.act for e in trail.entries(library_home(), LOCAL) if e.subject == run]


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("what", OPENED)
def test_a_run_that_a_page_is_made_of_is_in_the_trail_and_checked_again(what):
    run, test = of_anna_seen_by("anna", what)
    assert acts_on(run) == [Act.OPEN, Act.IMPORT]
    # taken away while the page stays open: no part of it is drawn again
    runs = test.session_state[visitor.RUNS]
    assert run in runs
    bert = Visitor(user_id(ISSUER, "bert"), UserRole.VIEWER)
    with pytest.raises(LibraryError, match="RUN_UNKNOWN"):
        visitor._refuse_lost(bert, runs)


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("what", OPENED)
def test_what_is_somebody_elses_is_not_drawn_by_any_link(what):
    run, test = of_anna_seen_by("bert", what)
    assert "Night shift" not in html(test) + said(test)
    assert run not in test.session_state[visitor.RUNS]
    assert acts_on(run) == [Act.IMPORT]


@pytest.mark.usefixtures("home")
def test_an_export_names_every_run_that_is_in_the_file(monkeypatch):
    """A comparison names its runs, a job's config the job, and each file goes through the trail."""
    makes: dict[str, Callable[[], object]] = {}

    def download_button(label, data, *rest, key, **look):
        makes[key] = data

    monkeypatch.setattr(st, "download_button", download_button)
    first, second = kept("One", "anna"), kept("Two", "anna")
    fine(entered(claims("anna", "auditor"), "compare", runs=f"{first},{second}"))
    (name,) = [key for key in makes if key.endswith("csv")][:1]
    makes[name]()
    entries = trail.entries(library_home(), LOCAL)
    exported = [entry for entry in entries if entry.act == Act.EXPORT]
    assert {entry.subject for entry in exported} == {first, second}
    assert {entry.detail for entry in exported} == {name}


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("what", "name", "beside", "holds"),
    [
        ("a gamma history", "gamma.whole", "", "gamma"),
        ("a history beside", "gamma.whole", GAMMAS, "gamma"),
        ("a set of another run", "csv.ood", "Day", "auroc"),
        ("a set of another run", "csv.threshold", "Day", "Night shift"),
        ("a run beside", "csv.ood", "Day", "auroc"),
        ("a run beside the papers", "csv.published", "", "resnet50"),
        ("a run beside the papers", "csv.published_settings", "", "Optimizer"),
    ],
)
def test_a_file_of_a_page_is_in_the_trail_with_all_that_it_is_of(
    monkeypatch, what, name, beside, holds
):
    """Gamma dynamics, Out of distribution and Published: made when wanted, and entered first."""
    makes: dict[str, Callable[[], object]] = {}

    def download_button(label, data, *rest, key, **look):
        makes[key] = data

    monkeypatch.setattr(st, "download_button", download_button)
    run, _ = of_anna_seen_by("anna", what)
    before = trail.entries(library_home(), LOCAL)
    assert Act.EXPORT not in [entry.act for entry in before]
    text = makes[name]()
    assert holds in str(text)
    entries = trail.entries(library_home(), LOCAL)[: -len(before)]
    owner = user_id(ISSUER, "anna")
    rows = Library(library_home(), SAMPLES, LOCAL).rows()
    others = {row.id for row in rows if beside and beside in (row.id, row.name)}
    assert len(others) == bool(beside)
    assert {entry.subject for entry in entries} == {run} | others
    assert {(entry.act, entry.user, entry.detail) for entry in entries} == {
        (Act.EXPORT, owner, name)
    }


@pytest.mark.usefixtures("home")
def test_an_export_of_no_run_names_the_job_the_draft_or_nothing():
    token = visitor._BOUND.set(Visitor(user_id(ISSUER, "anna"), UserRole.AUDITOR))
    visitor.forget()
    visitor.exported(lambda: "", "nothing")()
    visitor.exported(lambda: "", "config", job="a1b2")()
    visitor.note_draft("draft-1")
    visitor.exported(lambda: "", "rows")()
    visitor._BOUND.reset(token)
    entries = trail.entries(library_home(), LOCAL)[::-1]
    assert [(entry.subject, entry.detail) for entry in entries] == [
        ("", "nothing"),
        ("a1b2", "config"),
        ("draft-1", "rows"),
    ]


@pytest.mark.usefixtures("home")
def test_a_page_that_stays_open_exports_no_run_that_was_revoked():
    run = kept("Night shift", "anna")
    anna = Visitor(user_id(ISSUER, "anna"), UserRole.AUDITOR)
    bert = Visitor(user_id(ISSUER, "bert"), UserRole.VIEWER)
    library = Library(library_home(), SAMPLES, anna)
    library.share(run, bert.user)
    token = visitor._BOUND.set(bert)
    visitor.forget()
    make = visitor.exported(lambda: "rows", "csv")
    visitor.note(run)  # a page may draw a download before the last run that it is made of
    visitor._BOUND.reset(token)
    assert make() == "rows"
    library.revoke(run, bert.user)
    with pytest.raises(LibraryError, match="RUN_UNKNOWN"):
        make()
    assert [entry.act for entry in trail.entries(library_home(), LOCAL)].count(Act.EXPORT) == 1


@pytest.mark.usefixtures("home")
def test_a_viewer_is_offered_no_act_that_is_refused():
    test = fine(entered(claims("carl", "viewer")))
    assert "Your role takes no files" in said(test)
    assert not test.file_uploader
    keys = {button.key for button in test.button}
    assert not keys & {"library.delete", "library.share"}
    assert "library.compare" in keys
    for script in ("train", "evaluate"):
        assert "Your role" in html(fine(entered(claims("carl", "viewer"), script)))
    test = fine(entered(claims("carl", "viewer"), "published"))
    assert "published.results" in {one.key for one in test.toggle}
    assert "published.submit" not in {button.key for button in test.button}


@pytest.mark.usefixtures("home")
def test_drafts_of_a_browser_are_not_the_next_users():
    anna, bert = user_id(ISSUER, "anna"), user_id(ISSUER, "bert")
    first = session.entered("", anna)
    assert session.entered(first.browser.secret, anna).browser is first.browser
    other = session.entered(first.browser.secret, bert).browser
    assert other is not first.browser
    assert other.secret != first.browser.secret


def test_uploads_over_the_quota_of_all_browsers_of_a_user_are_refused(monkeypatch):
    anna = user_id(ISSUER, "anna")
    for _ in range(2):
        resources = session.entered("", anna)
        (resources.folder / "file").write_bytes(bytes(400_000))
    session.check_room(anna, 10**12)
    monkeypatch.setenv(DRAFTS, "0.001")
    session.check_room(anna, 200_000)
    session.check_room(user_id(ISSUER, "bert"), 1_000_000)
    with pytest.raises(LibraryError, match="take 1 MB and this adds 0 MB; the quota is 1 MB"):
        session.check_room(anna, 200_001)


@pytest.mark.parametrize("time", [1, 2])
def test_an_upload_that_goes_while_uploads_are_counted_ends_nothing(time, monkeypatch):
    anna, seen, stat = user_id(ISSUER, "anna"), [], Path.stat
    file = session.entered("", anna).folder / "file"
    file.write_bytes(b"")

    def late(path, **options):
        seen.append(path == file)
        if sum(seen) == time:
            file.unlink(missing_ok=True)
        return stat(path, **options)

    monkeypatch.setenv(DRAFTS, "100")
    monkeypatch.setattr(Path, "stat", late)
    session.check_room(anna, 1)
    assert any(seen)
