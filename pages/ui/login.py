"""Login by OpenID Connect: the way in, and the account in the sidebar."""

from urllib.parse import urlparse

import streamlit as st

from pages.ui import frame, markup, server, state, visitor
from pages.ui.markup import esc
from pages.ui.streamlit_internals import is_authlib_installed

LOOPBACK = {"127.0.0.1", "localhost", "::1"}
MIN_SECRET = 32  # characters
FAILED = (
    "The login did not succeed. Try again. If it fails again, tell your administrator: the "
    "server’s log says why."
)
KEPT_S = 900  # in which a link that was opened waits for the login


def problems() -> list[str]:
    """Return what is wrong with the settings of the login; none without login."""
    settings = visitor.settings()
    if not settings:
        return []
    reasons = []
    if not is_authlib_installed():
        reasons.append("a login is configured and Authlib is not installed")
    if len(str(settings.get("cookie_secret", ""))) < MIN_SECRET:
        reasons.append(f"auth.cookie_secret has fewer than {MIN_SECRET} characters")
    for name in ("redirect_uri", "server_metadata_url"):
        address = urlparse(str(settings.get(name, "")).replace("{port}", "0"))
        if address.scheme != "https" and address.hostname not in LOOPBACK:
            reasons.append(f"auth.{name} does not begin with https://")
    return reasons


def guard() -> None:
    """Let nobody past who is not logged in or has no role, on a server with a login."""
    if not visitor.login_on():
        return
    user = visitor.account()
    if user is None:
        st.html(frame.brand())
        markup.draw("headline", "Log in to see your runs.")
        if st.context.cookies.get(server.failure_cookie()) == "1":
            st.markdown(FAILED)
        # The browser keeps the link that was opened; the server leads back to it after the login
        # (`server.Guard`). The provider's page is another site: a strict cookie would not come back
        link = "encodeURIComponent(location.pathname + location.search)"
        st.html(
            f"<script>document.cookie = '{server.link_cookie()}=' + {link}"
            f" + '; path=/; max-age={KEPT_S}; SameSite=Lax'"
            " + (location.protocol === 'https:' ? '; Secure' : '')</script>",
            unsafe_allow_javascript=True,
        )
        if st.button("Log in", type="primary", key="login.in"):
            st.login()
        st.stop()
    if user.visitor is None:
        st.html(frame.brand())
        markup.draw("headline", "Your account has no role here.")
        st.markdown(
            "Ask an administrator for the role viewer, auditor or admin, then log in again."
        )
        st.button("Log out", key="login.out", on_click=_leave)
        st.stop()


def panel() -> None:
    """Draw who is logged in, for whom they work, and the way out."""
    if not visitor.login_on():
        return
    user = visitor.account()
    if user is None or user.visitor is None:
        return
    st.html('<hr class="c-rule">')
    st.caption(f"{esc(user.name)}, {user.visitor.role.name.lower()}")
    if user.visitor.groups:
        names = state.distinct_names({"": "Me", **user.groups})
        st.selectbox(
            "New runs belong to",
            list(names),
            key=visitor.GROUP,
            persist_state="session",
            format_func=lambda group: names.get(group, group),
        )
    st.button("Log out", key="login.out", on_click=_leave)


def _leave() -> None:
    visitor.end()
    st.logout()
