"""The list of runs: search, table, acts on ticked runs, undo, and with whom runs are shared."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import pandas as pd
import streamlit as st

from core.access import LOCAL_OWNER, Act
from core.arrays import digest
from core.errors import AuditError, LibraryError
from core.library import Library, RunRow, sharing, trail
from core.metrics.comparison import MOST_RUNS
from core.screens.kit.records import Column, Table
from core.screens.kit.theme import THEMES
from core.screens.runs import PLAIN, TECHNICAL, RunsWords, damaged_words, run_table
from pages.ui import frame, selected_runs, site, state, visitor, widgets
from pages.ui.markup import esc
from pages.ui.streamlit_internals import DataframeState
from pages.ui.visitor import open_library

TRAIL: Final = {
    "at": "When (UTC)",
    "name": "Who",
    "user": "User",
    "act": "Action",
    "subject": "Run or job",
    "detail": "Detail",
}


def share(library: Library, row: RunRow) -> None:
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


# The table.
LISTED = 250  # runs at a time
DONE = "library.done"  # what was done last, and what takes it back
OPENED = "library.name"  # the name that was clicked in the table
KINDS_OF_COLUMN: Final[Mapping[str, Callable[..., Any]]] = {
    "name": partial(
        st.column_config.ButtonColumn, type="tertiary", alignment="left", key=OPENED, pinned=True
    ),
    "n": partial(st.column_config.NumberColumn, format="localized"),
    "accuracy": partial(st.column_config.NumberColumn, format="%.1f"),
    "ece": partial(st.column_config.NumberColumn, format="%.1f"),
    "interval": partial(st.column_config.TextColumn, alignment="right"),
    "floor": partial(st.column_config.NumberColumn, format="%.1f"),
    "added": partial(st.column_config.DatetimeColumn, format="D MMM"),
}
WIDTHS: Final = {  # with the boxes to tick they fill a window of 1280 px
    "name": 190,
    "task": 84,
    "n": 58,
    "accuracy": 82,
    "ece": 56,
    "interval": 92,
    "floor": 50,
    "direction": 134,
    "tags": 126,
    "added": 58,
}
PLAIN_WIDTHS: Final = WIDTHS | {"n": 80, "accuracy": 100, "ece": 110, "direction": 220}
KINDS = {
    "all": "All",
    "sample": "Samples",
    "upload": "Uploaded",
    "train": "Trained",
    "history": "Histories",
}


def search() -> str:
    """Return what names and tags are searched for."""
    text = st.text_input(
        "Search",
        placeholder="Name or tag",
        key="library.search",
        type="search",
        live=True,
        label_visibility="collapsed",
    )
    return text or ""


def kind() -> str | None:
    """Return the kind of runs that are listed; None for all."""
    chosen = st.segmented_control(
        "Show",
        list(KINDS),
        default="all",
        required=True,
        format_func=KINDS.__getitem__,
        key="library.kind",
        label_visibility="collapsed",
    )
    return None if chosen == "all" else chosen


def draw(rows: list[RunRow]) -> list[RunRow]:
    """Draw the runs, page by page where there are many; return those that are ticked on it."""
    if not rows:
        st.markdown("No run matches. Clear the search, or drop a file above.")
        return []
    place, first = st.container(key="runs"), 0
    n_pages = -(-len(rows) // LISTED)
    if n_pages > 1:
        rows_digest = digest(*(row.id for row in rows))  # another search begins at its first page
        first = LISTED * (st.pagination(n_pages, key=f"library.page.{rows_digest}") - 1)
    shown = rows[first : first + LISTED]
    listing = run_table(shown, first=first, total=len(rows), words=words())
    with place:
        # How each column is drawn, by its head
        widths = PLAIN_WIDTHS if state.plain() else WIDTHS
        column_config = {
            head: KINDS_OF_COLUMN.get(name, st.column_config.TextColumn)(
                width=widths[name], help=words().helps.get(name)
            )
            for name, head in words().heads.items()
        }
        # The direction stands in the colour of its tone; the words carry it too
        heads, theme = words().heads, THEMES[widgets.side()]
        cells = {head: getattr(listing, name) for name, head in heads.items()}
        cells[heads["tags"]] = [", ".join(tags) for tags in listing.tags]
        colours = [f"color: {theme.word(tone)}" for tone in listing.tones]
        styler = pd.DataFrame(cells).style
        styler.set_uuid("runs")  # else a random one, and an equal table is sent again
        picked: DataframeState = st.dataframe(
            styler.apply(lambda _: colours, subset=[heads["direction"]]),
            hide_index=True,
            key=f"library.table.{first}.{state.generation()}",
            on_select="rerun",
            selection_mode="multi-row",
            height=min(35 * len(listing.ids) + 38, 520),
            row_height=35,
            column_config=column_config,
            placeholder="–",
            alt=f"{len(listing.ids)} runs with accuracy, calibration error and direction",
        )
    note = f" {visitor.OFF_IN_DEMO['runs']}" if visitor.is_demo() else ""
    widgets.caption(f"{listing.caption}{note}")
    clicked = st.session_state.get(OPENED)
    if clicked is not None and clicked["row"] < len(shown):
        open_run(shown[clicked["row"]])
    return [shown[i] for i in picked["selection"]["rows"] if i < len(shown)]


def words() -> RunsWords:
    """Return the words of the edition that is switched on."""
    return PLAIN if state.plain() else TECHNICAL


def open_run(row: RunRow | None) -> None:
    """Open a run, if any, on the page that shows it, or say why it cannot be."""
    if row is None:
        return
    if not row.splits:  # a history of gammas
        st.switch_page(site.GAMMA.script, query_params={"run": row.id})
    try:
        selected_runs.open_in_reliability(row.id)
    except LibraryError as refused:
        frame.refusal(refused)


def actions(library: Library, chosen: list[RunRow]) -> RunRow | None:
    """Draw what can be done with the chosen runs; return the one that is to be opened."""
    only_row = chosen[0] if len(chosen) == 1 else None
    own = [row for row in chosen if row.kind != "sample" and library.visitor.owns(row.owner)]
    opens = st.button(
        "Open",
        type="primary",
        disabled=only_row is None,
        key="library.open",
        help="Tick one run first",
    )
    opened = only_row if opens else None
    # Offer to compare the ticked runs
    several = 2 <= len(chosen) <= MOST_RUNS and all(row.splits for row in chosen)
    if st.button(
        f"Compare {len(chosen)}" if several else "Compare",
        disabled=not several,
        key="library.compare",
        help=f"Tick two to {MOST_RUNS} runs with predictions first",
    ):
        selected_runs.choose([row.id for row in chosen])
        st.switch_page(site.COMPARE.script, query_params={"runs": st.query_params["runs"]})
    if visitor.is_demo() or not library.visitor.may(Act.CHANGE):
        return opened
    # What changes runs of one's own; samples stay as they are
    with st.popover("Rename", disabled=only_row is None or not own, key=_closing("rename")):
        if only_row and own:
            with st.form(f"rename.{only_row.id}", border=False):
                name = st.text_input("New name", only_row.name, max_chars=300)
                if st.form_submit_button("Rename"):
                    with frame.caught():
                        library.rename(only_row.id, name)
                        _say(
                            f"Renamed {only_row.name} to {name}.",
                            partial(library.rename, only_row.id, only_row.name),
                        )
    with st.popover("Tag", disabled=not own or len(own) < len(chosen), key=_closing("tag")):
        if own:
            with st.form("tag", border=False):
                many = len(own) > 1
                before = "" if many else ", ".join(own[0].tags)
                text = st.text_input("Tags, separated by commas", before, max_chars=300)
                if st.form_submit_button("Add tags" if many else "Set tags"):
                    tags = [tag for tag in map(str.strip, text.split(",")) if tag]
                    with frame.caught():
                        for row in own:
                            library.tag(row.id, [*(row.tags if many else ()), *tags])
                        _say(f"Tagged {_names(own)}.", partial(_tag_again, library, own))
    if visitor.login_on():
        with st.popover("Share", disabled=only_row is None or not own, key="library.share"):
            if only_row and own:
                share(library, only_row)
    if st.button("Delete", disabled=not own or len(own) < len(chosen), key="library.delete"):
        for row in own:
            library.delete(row.id)
            _forget(row.id)
        _say(f"Deleted {_names(own)}.", partial(_restore, [row.id for row in own]))
    return opened


def _closing(name: str) -> str:
    """Return the key of a popover, which is another one, and closed, once something was done."""
    return f"library.{name}.{state.generation()}"


def _forget(run_id: str) -> None:
    """Close a run that was deleted."""
    if st.session_state.get("app.run") == run_id:
        state.open_run(None)


def _tag_again(library: Library, rows: list[RunRow]) -> None:
    for row in rows:
        library.tag(row.id, row.tags)


def _names(rows: list[RunRow]) -> str:
    return rows[0].name if len(rows) == 1 else f"{len(rows)} runs"


def _say(text: str, undo: Callable[[], object] | None = None) -> None:
    """Tell what was just done, over the page and where it was done, with the way back."""
    state.say(text)
    st.session_state[DONE] = (text, undo)
    state.next_generation()
    st.rerun()


def keep_undo(text: str, run_ids: list[str]) -> None:
    """Say over the table that runs were kept, with the way back."""
    st.session_state[DONE] = (text, partial(_delete, run_ids))


def _delete(run_ids: list[str]) -> None:
    library = open_library()
    for run_id in run_ids:
        library.delete(run_id)
        _forget(run_id)


def message() -> None:
    """Say over the table what was just done, with the way back."""
    text, undo = st.session_state.get(DONE, ("", None))
    if not text:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="said"):
        st.markdown(f":material/check: {esc(text)}")
        if undo is not None and st.button("Undo", key="library.undo"):
            with frame.caught():
                undo()
                _say("Undone.")
        if st.button("Dismiss", key="library.dismiss", type="tertiary"):
            del st.session_state[DONE]
            st.rerun()


def _restore(run_ids: list[str]) -> None:
    library = open_library()
    for run_id in run_ids:
        library.restore(run_id)


def damaged(library: Library) -> None:
    """Name the runs that cannot be opened, each with what can be done."""
    for run in library.damaged():
        title = run.name or run.id
        frame.refusal(AuditError("DAMAGED", *damaged_words(run)))
        if (
            run.own
            and library.visitor.may(Act.DELETE)
            and st.button(f"Delete {esc(title)}", key=f"damaged.{run.id}")
        ):
            with frame.caught():
                library.delete(run.id)
                _forget(run.id)
                _say(f"Deleted {title}.", partial(_restore, [run.id]))


def trash(library: Library) -> None:
    """List the deleted runs, with the way back."""
    deleted = library.trash()
    if not deleted or not library.visitor.may(Act.RESTORE):
        return
    with st.expander(f"Deleted runs ({len(deleted)})", key="library.trash"):
        st.caption("They are removed for good 30 days after deletion.")
        for entry in deleted[:50]:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(esc(entry.name))
                if st.button("Restore", key=f"restore.{entry.id}"):
                    _restore([entry.id])
                    _say(f"Restored {entry.name}.")
