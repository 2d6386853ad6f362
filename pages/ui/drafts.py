"""What is said and offered while an upload is a draft: Keep, or discard."""

import streamlit as st

from core.library import open_library
from core.library.importing import keep_result
from pages.ui import cache, frame, session, state


def bar(run: cache.Run) -> None:
    """Offer Keep and Discard for a draft; say nothing otherwise."""
    if not run.draft:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="draft.bar"):
        st.markdown("Only you see this draft; it goes when you close the page.")
        with st.popover("Keep in the library", type="primary", key="draft.keep"):
            _form(run)
        st.button("Discard", key="draft.discard", on_click=_discard, args=(run.id,))


def _form(run: cache.Run) -> None:
    with st.form("draft.form", border=False):
        name = st.text_input("Name", run.name, max_chars=300)
        tags = st.text_input("Tags", placeholder="separated by commas", max_chars=300)
        if st.form_submit_button("Keep", type="primary"):
            with frame.caught():
                _keep(run, name, tags)


def _keep(run: cache.Run, name: str, tags: str) -> None:
    draft = session.drafts()[run.id]
    manifest = keep_result(
        open_library(),
        name,
        draft.file_name,
        draft.result,
        tags=[tag for tag in map(str.strip, tags.split(",")) if tag],
        audited=cache.audit(run, run.split),
    )
    session.discard(run.id)
    state.open_run(cache.find(manifest.id))
    st.rerun()


def _discard(draft_id: str) -> None:
    session.discard(draft_id)
    state.open_run(None)
    state.say("The draft and its bytes are gone.")
