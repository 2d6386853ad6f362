"""What is said and offered while an upload is a draft: Keep, or discard."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NoReturn

import streamlit as st

from core.errors import LibraryError
from core.library import Manifest
from core.library.store import keep_result
from pages.ui import audits, frame, intake, open_runs, session, site, state, widgets
from pages.ui.markup import esc
from pages.ui.task import BackgroundTask, Work, in_process
from pages.ui.visitor import open_library

KEEPING: Final = "draft.keeping"  # and the draft's id: the task of a large one
KEPT: Final[dict[str, str]] = {}  # what drafts have become, until they are opened as runs
NEXT: Final = "draft.next"  # and the draft's id: what is begun with the run that it becomes


def bar(run: open_runs.Run, *, primary: bool = True) -> None:
    """Offer Keep, as the page's own aim where `primary`, and Discard for a draft; else nothing."""
    if not run.draft:
        return
    if run.id in KEPT:  # the page was drawn anew before it was opened, as by a second click
        _kept(run, KEPT[run.id])
    with st.container(horizontal=True, vertical_alignment="center", key="draft.bar"):
        st.markdown("Closing the page deletes this draft.", help="Only this browser shows it.")
        # Draw how a draft was read, folded, with the way to read it otherwise
        draft = session.drafts()[run.id]
        inspection = draft.result.inspection
        with st.popover("How it was read", key="draft.read"):
            widgets.title(draft.file_name, inspection.layout)
            intake.reading_kind(inspection)
            if draft.recalled:
                st.markdown(intake.RECALLED)
            intake.reading_preview(inspection, "draft.preview")
            if draft.again is not None and st.button("Read it another way", key="draft.again"):
                draft.again(draft)
                st.switch_page(site.HOME.script)
        with (
            st.popover(
                "Keep in the library", type="primary" if primary else "secondary", key="draft.keep"
            ),
            st.form("draft.form", border=False),
        ):
            name = st.text_input("Name", run.name, max_chars=300)
            tags = st.text_input("Tags", placeholder="separated by commas", max_chars=300)
            if st.form_submit_button("Keep", type="primary"):
                with frame.caught():
                    keep(run, name, [tag for tag in map(str.strip, tags.split(",")) if tag])
        st.button("Discard", key="draft.discard", on_click=_discard, args=(run.id,))
    # How far its keeping is, if that was begun
    task = st.session_state.get(_place(run.id))
    if task is None:
        return
    manifest = task.draw()
    if manifest is not None:
        KEPT[run.id] = manifest.id
        del st.session_state[_place(run.id)]
        task.forget()
        _kept(run, manifest.id)
    if not task.running:  # it was stopped, or failed
        session.disclaim(run.id)


def keep(
    run: open_runs.Run,
    name: str,
    tags: Sequence[str] = (),
    *,
    then: Callable[[open_runs.Run], None] | None = None,
) -> None:
    """Keep a draft, once however often that is asked: a large one in a process of its own.

    `then` begins what else is to be done with the run that it becomes.
    """
    begun = st.session_state.get(_place(run.id))
    if begun is not None and begun.running:
        if then is not None:  # asked for while the draft alone is being kept
            st.session_state[f"{NEXT}.{run.id}"] = then
        return
    draft, audited = session.claim(run.id), audits.known(run, run.split)
    st.session_state[f"{NEXT}.{run.id}"] = then
    put = partial(keep_result, tags=tags, audited=audited)
    given = open_library(), name, draft.file_name, draft.result
    if not any(audits.large(run, split) for split in run.splits):
        try:
            KEPT[run.id] = put(*given).id
        except BaseException:  # another tab may have more luck
            session.disclaim(run.id)
            raise
        _kept(run, KEPT[run.id])

    def start() -> Work[Manifest]:
        try:
            session.claim(run.id)  # once more where it is resumed: another tab may keep it by now
        except LibraryError as error:
            refused: Work[Manifest] = Work()
            refused.future.set_exception(error)
            return refused
        return in_process(put, *given)

    text = f"Keeping “{esc(name)}” in the library."
    task = st.session_state[_place(run.id)] = BackgroundTask(f"keep.{run.id}", run.id, text, start)
    task.begin()
    st.rerun()


def _place(draft_id: str) -> str:
    return f"{KEEPING}.{draft_id}"


def _kept(draft: open_runs.Run, run_id: str) -> NoReturn:
    """Open a draft as the run that it has become."""
    run = open_runs.find(run_id)
    audits.move_results(draft, run)
    # Before the draft is opened as the run: where this is interrupted, it is done again.
    then = st.session_state.get(f"{NEXT}.{draft.id}")
    if then is not None:
        then(run)
        del st.session_state[f"{NEXT}.{draft.id}"]
    state.open_run(run)
    forget(draft.id)
    state.say(f"Kept {run.name} in your runs.")
    st.rerun()


def forget(draft_id: str) -> None:
    """Discard a draft, and stop what runs for it."""
    task = st.session_state.pop(_place(draft_id), None)
    if task is not None:
        task.stop()
        task.forget()
    st.session_state.pop(f"{NEXT}.{draft_id}", None)
    audits.discard(draft_id)
    session.discard(draft_id)
    KEPT.pop(draft_id, None)


def _discard(draft_id: str) -> None:
    forget(draft_id)
    state.open_run(None)
    state.say("Draft deleted.")
