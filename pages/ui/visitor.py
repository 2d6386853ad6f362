"""Who looks at the pages: a login's user, or anybody where this is a demo, and what they may do."""

import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache, partial, wraps
from pathlib import Path, PurePath
from typing import Any, Final, ParamSpec, TypeVar

import streamlit as st

from core.access import LOCAL, Act, UserRole, Visitor, group_id, user_id
from core.arrays import digest
from core.errors import LibraryError, UsageError
from core.jobs.local import LocalJobs
from core.library import SAMPLES, Library, home, logins, sharing, trail
from core.library.logins import Login
from pages.ui import server

DEMO: Final = "CANDOR_DEMO"
OFF_IN_DEMO: Final = {
    "upload": "This demo takes no files. Install Candor to audit your own.",
    "runs": "This demo renames, tags and deletes nothing.",
    "pages/train.py": "This demo trains nothing. Install Candor to train your own models.",
    "pages/evaluate.py": "This demo evaluates nothing. Install Candor to evaluate your own models.",
}


def is_demo() -> bool:
    """Return whether this server only shows the samples."""
    return os.environ.get(DEMO) == "1"


@cache
def enter_demo() -> None:
    """Once a process: look away from the user's own runs, to a library that holds none."""
    if is_demo():
        home = tempfile.mkdtemp(prefix="candor-demo-")
        os.environ["CANDOR_HOME"] = home
        server.at_end(partial(shutil.rmtree, home, ignore_errors=True))


# Users and roles.
ROLE_CLAIM, GROUP_CLAIM = "CANDOR_ROLE_CLAIM", "CANDOR_GROUP_CLAIM"  # dots lead into objects
HOURS: Final = "CANDOR_LOGIN_HOURS"
DEFAULT_HOURS: Final = 12.0
LOGIN: Final = "login"  # the one claim that a cookie holds: the key of a login
GROUP: Final = "visitor.group"  # in the session: the group that owns what is kept from now on
RUNS: Final = "visitor.runs"  # in the session: those that the page drawn last was made of
MADE_OF_DRAFTS: Final = "visitor.drafts"  # likewise, those that are not in the library
PREFIX: Final = "candor-"  # may stand before the name of a role
MAX_GROUPS: Final = 200
MOST_NAMED: Final = 3  # runs, in the name of a file
OFF: Final = {
    "upload": (Act.IMPORT, "Your role takes no files. Ask an administrator for the role auditor."),
    "pages/train.py": (
        Act.TRAIN,
        "Your role trains nothing. Ask an administrator for the role auditor.",
    ),
    "pages/evaluate.py": (
        Act.TRAIN,
        "Your role evaluates nothing. Ask an administrator for the role auditor.",
    ),
}
_BOUND: Final[ContextVar[Visitor | None]] = ContextVar("visitor", default=None)
Answer = TypeVar("Answer")
Given = ParamSpec("Given")
Claims = Mapping[str, Any]  # Any: whatever the provider says


@dataclass(frozen=True)
class Account:
    """A user who is logged in."""

    user: str  # as `user_id` names them
    visitor: Visitor | None  # none for a user without a role, who sees nothing

    @property
    def name(self) -> str:
        """What pages call them: never an address."""
        return sharing.name_of(home(), self.user) or _nameless(self.user)

    @property
    def groups(self) -> dict[str, str]:
        """What their groups are called, by id."""
        groups = () if self.visitor is None else self.visitor.groups
        return {group: sharing.name_of(home(), group) or f"Group {group[2:8]}" for group in groups}


def settings() -> Claims:
    """Return the settings of the login; empty where there is none."""
    if not st.secrets.load_if_toml_exists():
        return {}
    section: Claims = st.secrets.get("auth", {})
    return section


def login_on() -> bool:
    """Whether this server asks for a login."""
    return bool(settings())


def account() -> Account | None:
    """Return who is logged in; None where nobody is, or the login has ended or is too old."""
    login = login_of(_key())
    if login is None:
        return None
    role = login.known_role
    return Account(login.user, None if role is None else Visitor(login.user, role, login.groups))


def _key() -> str:
    """Return the key that this browser shows; "" without."""
    claims = st.user.to_dict()
    return str(claims.get(LOGIN) or "") if claims.get("is_logged_in") else ""


def login_of(key: str) -> Login | None:
    """Return the login of a key; None where there is none, or it has ended or is too old."""
    login = logins.read(home(), key) if key else None
    return None if login is None or expired(login) else login


def expired(login: Login) -> bool:
    """Whether a login is older than the administrator allows: roles may have changed since."""
    return time.time() - login.issued > lifetime_s()


def begin(claims: Claims) -> dict[str, str]:
    """Keep a login with what its claims mean; return what of it goes into the browser's cookie.

    Claims need ``sub``. Names of the user and of groups are kept with those of people.
    """
    login, names = of_claims(claims)
    if login.role:
        with suppress(LibraryError):  # a full disk keeps nobody out
            for person, name in names.items():
                sharing.remember(home(), person, name)
    return {LOGIN: logins.begin(home(), login, lifetime_s())}


def end(key: str = "") -> None:
    """End a login, by default that of this browser."""
    logins.end(home(), key or _key())


def lifetime_s() -> float:
    """Return how long a login is good for; what is no number above 0 would let in all or nobody."""
    text = os.environ.get(HOURS) or str(DEFAULT_HOURS)
    try:
        hours = float(text)
    except ValueError:
        hours = math.nan
    if not (hours > 0.0 and math.isfinite(hours)):
        remedy = "set it to a number of hours above 0"
        raise UsageError("SETTING", f"{HOURS} is {text[:40]!r}", remedy)
    return hours * 3600


def of_claims(claims: Claims) -> tuple[Login, dict[str, str]]:
    """Return the login that a provider's claims describe, and names of user and groups by id."""
    issuer, subject = str(claims.get("iss", "")), str(claims["sub"])
    user = user_id(issuer, subject)
    names = _texts(_claim(claims, os.environ.get(GROUP_CLAIM) or "groups"))[:MAX_GROUPS]
    groups = {group_id(issuer, name): name for name in names}
    roles = _texts(_claim(claims, os.environ.get(ROLE_CLAIM) or "roles"))
    known = {role.name.lower(): role for role in UserRole}
    bare = (role.lower().removeprefix(PREFIX) for role in roles)
    role = max((known[name] for name in bare if name in known), default=None)
    issued = claims.get("iat")
    # Without it, long ago; a clock that is ahead makes no login longer.
    at = float(min(issued, time.time())) if isinstance(issued, int | float) else 0.0
    login = Login(user, "" if role is None else role.name, tuple(groups), at)
    # What pages call the user; addresses are not names
    called = (claims.get(key) for key in ("name", "preferred_username", "nickname"))
    fit = [text.strip() for text in _texts([*called]) if text.strip() and "@" not in text]
    return login, {user: fit[0] if fit else _nameless(user), **groups}


def _claim(claims: Claims, path: str) -> object:
    """Return a claim; a dot leads into an object, unless the claim's own name has it."""
    if path in claims:
        return claims[path]
    value: object = claims
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [text for text in values if isinstance(text, str) and text]


def _nameless(user: str) -> str:
    return f"User {user[2:8]}"


def current() -> Visitor:
    """Return who looks at this page.

    Where a login is needed and nobody is logged in, the page ends here.
    """
    bound = _BOUND.get()
    if bound is not None:
        return bound
    if not login_on():
        return LOCAL
    user = account()
    if user is None or user.visitor is None:
        st.stop()
    group = st.session_state.get(GROUP) or ""
    return replace(user.visitor, group=group if group in user.visitor.groups else "")


def may(act: Act) -> bool:
    """Whether the visitor's role allows an act; what a role may not do is not drawn."""
    return current().may(act)


def off(what: str) -> str:
    """Return why a page or part of it is not drawn, in a demo or for a role; "" where it is."""
    if is_demo():
        return OFF_IN_DEMO.get(what, "")
    act, text = OFF.get(what, (None, ""))
    return "" if act is None or may(act) else text


def open_library() -> Library:
    """Return the library as the visitor sees it."""
    return Library(home(), SAMPLES, current())


def open_jobs() -> LocalJobs:
    """Return the jobs that the visitor sees."""
    return LocalJobs(home(), current())


def recipes_home() -> Path:
    """Return the folder below which the visitor's ways of reading files are remembered."""
    user = current()
    return home() / "users" / user.user if user.recorded else home()


def carried(call: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """Return a function that acts as the visitor in whichever thread it is called."""
    if not login_on():
        return call
    visitor = current()

    @wraps(call)
    def called(*args: Given.args, **named: Given.kwargs) -> Answer:
        token = _BOUND.set(visitor)
        try:
            return call(*args, **named)
        finally:
            _BOUND.reset(token)

    return called


def note(run_id: str) -> None:
    """Note that this page is made of a run of the library; the audit trail has it once a page."""
    visitor = current()
    runs: set[str] = st.session_state.setdefault(RUNS, set())
    if visitor.recorded and run_id not in runs and not (SAMPLES / run_id).is_dir():
        opened: set[str] = st.session_state.setdefault("visitor.opened", set())
        if run_id not in opened:
            trail.record(home(), visitor, Act.OPEN, run_id)
            opened.add(run_id)
    runs.add(run_id)


def note_draft(draft_id: str) -> None:
    """Note that this page is made of a draft, which nobody else can see: its exports name it."""
    st.session_state.setdefault(MADE_OF_DRAFTS, set()).add(draft_id)


def shows_draft() -> bool:
    """Whether this page is made of a draft."""
    return bool(st.session_state.get(MADE_OF_DRAFTS))


def forget() -> None:
    """Begin a page: it is made of no run and no draft yet."""
    st.session_state[RUNS] = set()
    st.session_state[MADE_OF_DRAFTS] = set()


def check() -> None:
    """Refuse to redraw a part of a page made of a run that the visitor may no longer see.

    Raises LibraryError RUN_UNKNOWN: it was deleted, or is no longer shared.
    """
    _refuse_lost(current(), st.session_state.get(RUNS, ()))


def _refuse_lost(visitor: Visitor, runs: Iterable[str]) -> None:
    if not visitor.sees_all:
        library = Library(home(), SAMPLES, visitor)
        for run_id in tuple(runs):
            library.get(run_id)


def file_name(name: str) -> str:
    """Return the name of a file to download, with the runs and drafts that this page is made of.

    Of more than `MOST_NAMED` they are counted, with a digest of their ids.
    """
    subjects = sorted({*st.session_state.get(RUNS, ()), *st.session_state.get(MADE_OF_DRAFTS, ())})
    if not subjects:
        return name
    tag = "_".join(subjects)
    if len(subjects) > MOST_NAMED:
        tag = f"{len(subjects)}-runs-{digest(*subjects)[:8]}"
    path = PurePath(name)
    return f"{path.stem}_{tag}{path.suffix}"


def exported(make: Callable[[], Answer], name: str, *, job: str = "") -> Callable[[], Answer]:
    """Return what makes a file to download, as the visitor, and tells the audit trail of it.

    The trail gets an entry for every run and draft that the page is made of, or one for the job
    that the file is of; one without a subject where there is none. Streamlit calls it outside the
    session, perhaps long after the page was drawn: runs that the visitor may no longer see are
    refused, as by `check`, and so is everything once the login has ended.
    """
    visitor = current()
    key = _key() if login_on() and _BOUND.get() is None else ""
    runs: set[str] = st.session_state.setdefault(RUNS, set())
    drafts: set[str] = st.session_state.setdefault(MADE_OF_DRAFTS, set())

    def made() -> Answer:
        if key and login_of(key) is None:
            raise LibraryError("LOGIN", "Your login has ended", "log in, then download it again")
        _refuse_lost(visitor, runs)
        for subject in [job] if job else sorted(runs | drafts) or [""]:
            trail.record(home(), visitor, Act.EXPORT, subject, name)
        return make()

    return carried(made)
