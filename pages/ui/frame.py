"""What every page shares: the way in, the frame of a page, and errors shown once."""

import logging
import secrets
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from typing import ParamSpec

import streamlit as st

from core.codes import NoticeCode
from core.errors import AuditError, Notice, lacking, sentence
from core.screens.kit import words
from pages.ui import markup, session, site, visitor
from pages.ui.markup import esc
from pages.ui.streamlit_internals import (
    RerunException,
    StopException,
    StreamlitDuplicateElementKey,
)

LOGO = Path(__file__).parents[2] / "assets" / "logo.svg"
STYLE = Path(__file__).parents[2] / "assets" / "style.css"
READING = {  # how a file was taken, not what that means for a verdict
    *(NoticeCode.SCORES_GUESSED, NoticeCode.KEYS_GUESSED, NoticeCode.HEADER_GUESSED),
    *(NoticeCode.ENCODING_GUESSED, NoticeCode.INDEX_COLUMN, NoticeCode.DIALECT),
    *(NoticeCode.GROUPS_OFFERED, NoticeCode.TABLE_UNFIT, NoticeCode.SPLIT_CHOSEN),
    *(NoticeCode.ORIENTATION, NoticeCode.FILES_SKIPPED, NoticeCode.RENORMALISED),
}
LOG = logging.getLogger("candor")
DATA_SETS = "app.data"  # in the session: of the runs that the page speaks of
Given = ParamSpec("Given")


def enter() -> None:
    """Note that app.py runs in this session; only then may a page draw itself."""
    session.start_up()
    st.session_state["app.entered"] = True
    visitor.forget()
    st.html(STYLE)


@cache
def brand() -> str:
    """Return the mark and the name, for the top of the sidebar and of the login."""
    mark = b64encode(LOGO.read_bytes()).decode()
    image = f'<img alt="" width="26" height="26" src="data:image/svg+xml;base64,{mark}">'
    return f'<p class="c-brand">{image}Candor</p>'


def begin(script: str) -> None:
    """Begin a page: name what was just done.

    On a fresh server Streamlit serves a deep link from the `pages` folder directly, without the
    router: the page would come without its frame. To name the pages tells Streamlit of the router,
    which draws this one anew. What the page imports is there by now.
    """
    session.spare_modules(len(sys.modules))
    if not st.session_state.get("app.entered"):
        site.navigation()
        st.rerun()
    st.session_state["app.script"] = script
    set_row_noun()  # images, until a run of texts is opened
    title()
    said = st.session_state.pop("app.said", None)
    if said:
        st.toast(esc(said), icon=":material/check:")
    off = visitor.off(script)
    if off:
        st.html(f'<h1 class="c-sentence">{off}</h1>')
        st.stop()


def set_row_noun(*data_sets: str) -> None:
    """Name the data sets of the runs that this page speaks of, also where a part is drawn again."""
    st.session_state[DATA_SETS] = data_sets
    words.set_row_noun(*data_sets)


def title(run_name: str = "") -> None:
    """Name the browser's tab after the page, and the run that it shows."""
    script = st.session_state["app.script"]
    entry = next(entry for entry in site.entries() if entry.script == script)
    parts = [entry.title, run_name, "Candor"]
    st.set_page_config(page_title=" · ".join(part for part in parts if part))


def refusal(error: AuditError, name: str = "", *, titled: str = "", instead: str = "") -> None:
    """Show what was refused, where, why, and what to do.

    `name` is the page's for the file where the error has another; `titled` stands in the title
    above and is not said again; `instead` replaces a remedy that names options of the command line.
    """
    location = f" ({esc(error.location)})" if error.location else ""
    try:
        place = st.container(key="refusal")
    except StreamlitDuplicateElementKey:  # the second on this page
        place = st.container()
    remedy = instead if instead and error.options else error.remedy
    with place:
        st.error(
            f"**{esc(error.named(name, titled=titled))}**{location}  \n{esc(sentence(remedy))}  \n"
            f"`{error.code}`",
            icon=":material/block:",
        )


def notices(notice_list: tuple[Notice, ...]) -> None:
    """Show what was accepted but must be said, one line each; its code is a tooltip."""
    if not notice_list:
        return
    with st.container(key="notices"):
        markup.draw("notices", words.noticed(notice_list))


def verdict_notices(notice_list: tuple[Notice, ...]) -> None:
    """Show what changes how a verdict may be read; how its file was read is folded."""
    notices(tuple(notice for notice in notice_list if notice.code not in READING))


def read_notes(notice_list: tuple[Notice, ...]) -> None:
    """Fold what a reader took for granted, for below the numbers."""
    notes = tuple(notice for notice in notice_list if notice.code in READING)
    if notes:
        counted = "1 note" if len(notes) == 1 else f"{len(notes)} notes"
        with st.expander(f"How it was read ({counted})", key="read_notes"):
            markup.draw("notices", words.noticed(notes))


@contextmanager
def caught() -> Iterator[None]:
    """Show expected errors in words; log anything else under an id that the page names.

    A part of a page that is drawn again, in a thread of its own, speaks of the page's runs.
    """
    words.set_row_noun(*st.session_state.get(DATA_SETS, ()))
    try:
        yield
    except (RerunException, StopException):
        raise
    except AuditError as error:
        refusal(error)
        st.stop()
    except Exception as error:
        lack = lacking(error)
        if lack is not None:
            refusal(lack)
            st.stop()
        ticket = secrets.token_hex(4)
        LOG.exception("page error %s", ticket)
        refusal(
            AuditError(
                "INTERNAL",
                f"Something went wrong on our side (id {ticket})",
                "nothing was lost: go back and try again. The server log has the details",
            )
        )
        st.stop()


def fragment(draw: Callable[Given, None]) -> Callable[Given, None]:
    """Return a function that draws a part of a page, which runs again by itself.

    What is moved or opened in it draws nothing else anew; errors are shown as on the page.
    """

    @st.fragment
    @wraps(draw)
    def drawn(*args: Given.args, **named: Given.kwargs) -> None:
        try:
            with caught():
                visitor.check()
                draw(*args, **named)
        finally:
            session.leave_garbage()

    return drawn
