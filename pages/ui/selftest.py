"""Start-up self-test: the server's settings are printed once, and a public address is refused."""

import logging
import sys
from functools import cache

import streamlit as st

from core import defaults
from core.errors import AuditError
from pages.ui import frame, login, server, visitor
from pages.ui.login import LOOPBACK

if sys.platform != "win32":
    import resource

EXPECTED: dict[str, object] = {
    "server.enableCORS": True,
    "server.enableXsrfProtection": True,
    "server.enableStaticServing": False,
    "server.enableAgentApi": False,
    "browser.gatherUsageStats": False,
    "client.showErrorDetails": "none",
    "client.showErrorLinks": False,
    "client.toolbarMode": "viewer",
    "client.allowedOrigins": [],
    "runner.magicEnabled": False,
    "server.fileWatcherType": "none",
    "server.maxUploadSize": defaults.UPLOAD_MB,
}
LEAST = {"RLIMIT_NPROC": ("ulimit -u", 64), "RLIMIT_AS": ("ulimit -v, in bytes,", 8 * 2**30)}
LOG = logging.getLogger("candor")


@cache
def problems() -> tuple[str, ...]:
    """Return what makes this server unsafe to use; printed once a process.

    A public address is accepted only with a login, or with ``--i-know`` after ``--`` on the command
    line, for servers that stand behind a proxy with its own.
    """
    reasons = []
    address = st.get_option("server.address")
    public = address not in LOOPBACK and "--i-know" not in sys.argv
    if public and not visitor.login_on():
        reasons.append(f"server.address is {address or 'every interface'}, and there is no login")
    for name, expected in EXPECTED.items():
        value = st.get_option(name)
        if value != expected:
            reasons.append(f"{name} is {value}, expected {expected}")
    hosts = st.get_option("server.allowedHosts")
    if not hosts or "*" in hosts:
        reasons.append("server.allowedHosts lets every host name in")
    if not server.guarded():
        reasons.append("uploads are not limited, because app.py runs inside another program")
    for limit, (name, least) in LEAST.items() if sys.platform != "win32" else ():
        most = resource.getrlimit(getattr(resource, limit))[0]
        if resource.RLIM_INFINITY != most < least:
            print(f"self-test: {name} = {most}, too little for several visitors: {least} or more")  # noqa: T201
    reasons += login.problems()
    summary = f"{len(EXPECTED) + 2} settings as shipped" if not reasons else "; ".join(reasons)
    print(f"self-test: {summary}, on {address or 'every interface'}")  # noqa: T201  for the console
    return tuple(reasons)


def guard() -> None:
    """Stop every session of a server whose settings would expose somebody's data."""
    reasons = problems()
    if reasons:
        frame.refusal(
            AuditError(
                "PUBLIC_ADDRESS",
                "This server refuses to run: " + "; ".join(reasons),
                "start app.py from the project folder, so that .streamlit/config.toml holds, "
                "or add -- --i-know when a proxy with a login stands before it",
            )
        )
        st.stop()


if __name__ == "__main__":
    sys.exit("; ".join(problems()) or 0)
