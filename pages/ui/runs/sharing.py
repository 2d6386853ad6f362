"""With whom a run is shared, and the audit trail; on a server with a login only."""

from datetime import UTC, datetime
from functools import partial
from typing import Final

import streamlit as st

from core.access import LOCAL_OWNER, Act
from core.library import Library, RunRow, sharing, trail
from core.screens.kit.records import Column, Table
from pages.ui import frame, state, visitor, widgets
from pages.ui.escape import esc

TRAIL: Final = {
    "at": "When (UTC)",
    "name": "Who",
    "user": "User",
    "act": "Action",
    "subject": "Run or job",
    "detail": "Detail",
}


def draw(library: Library, row: RunRow) -> None:
    """List with whom a run is shared, each with Revoke, and offer more users and groups."""
    names = sharing.known(library.home)
    if row.owner != library.visitor.user:
        local = row.owner == LOCAL_OWNER
        st.caption(f"Belongs to {'this server' if local else esc(_called(row.owner, names))}")
    shared = library.shared_with(row.id)
    for person in shared:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(esc(_called(person, names)))
            st.button(
                f"Revoke *{esc(_called(person, names))}*",  # heard, not seen: the name is beside it
                key=f"revoke.{row.id}.{person}",
                type="tertiary",
                on_click=partial(_revoke, library, row.id, person),
            )
    # Users, and the visitor's groups, that do not see the run yet
    user, taken = library.visitor, {row.owner, library.visitor.user, *shared}
    others = {
        person: name
        for person, name in sorted(names.items(), key=lambda item: item[1].casefold())
        if person not in taken
        and (person.startswith("u-") or person in user.groups or user.sees_all)
    }
    if not others:
        st.markdown("Nobody else has logged in yet." if not shared else "Shared with everyone.")
        return
    with st.form(f"share.{row.id}", border=False):
        labels = state.distinct_names(others)
        chosen = st.selectbox(
            "Share with",
            list(labels),
            index=None,
            key=f"share.with.{row.id}",
            format_func=lambda choice: labels.get(choice, choice),
            placeholder="A user or group",
        )
        if st.form_submit_button("Share") and chosen is not None:
            with frame.caught():
                library.share(row.id, chosen)
                state.say(f"Shared {row.name} with {_called(chosen, names)}.")
                st.rerun()


def _revoke(library: Library, run_id: str, person: str) -> None:
    with frame.caught():
        library.revoke(run_id, person)


def _called(person: str, names: dict[str, str]) -> str:
    kind = "Group " if person.startswith("g-") else ""
    return kind + names.get(person, person)


def audit_trail(library: Library) -> None:
    """List who did what and when, for an administrator."""
    if not visitor.login_on() or not library.visitor.may(Act.READ_TRAIL):
        return
    opened = st.expander("Audit trail", key="library.trail", on_change="rerun")
    if not opened.open:
        return
    with opened:
        entries = trail.entries(library.home, library.visitor)
        names = sharing.known(library.home)
        table = Table(
            tuple(Column(key, head) for key, head in TRAIL.items()),
            tuple(
                (
                    datetime.fromtimestamp(entry.at, UTC).strftime("%Y-%m-%d %H:%M:%S"),
                    names.get(entry.user, ""),
                    entry.user,
                    entry.act,
                    entry.subject,
                    _called(entry.detail, names),
                )
                for entry in entries
            ),
        )
        widgets.caption(f"The last {len(entries)} entries. Nobody can change them here.")
        widgets.table(table, key="library.trail.table")
        widgets.save(table, "audit_trail")
