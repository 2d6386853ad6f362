"""What a busy browser sends late of a part of a page undoes nothing, and what is gone goes."""

from threading import current_thread
from types import SimpleNamespace

import pytest
from streamlit.errors import FragmentStorageKeyError
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests, ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.scriptrunner_utils.script_run_context_attr import (
    SCRIPT_RUN_CONTEXT_ATTR_NAME,
)
from streamlit.runtime.state import SafeSessionState, SessionState
from streamlit.testing.v1 import AppTest

from pages.ui import streamlit_internals

PAGE, LINK = "5f", "run=a&bins=15&side=left"


@pytest.fixture
def context():
    """A session of Streamlit's whose page was drawn from a link once."""
    assert ScriptRunContext.reset is streamlit_internals.reset
    made = ScriptRunContext(
        session_id="one",
        _enqueue=lambda message: None,
        query_string="",
        session_state=SafeSessionState(SessionState(), lambda: None),
        uploaded_file_mgr=MemoryUploadedFileManager("/upload"),
        main_script_path="app.py",
        user_info={},
        fragment_storage=MemoryFragmentStorage(),
        pages_manager=PagesManager("app.py"),
        script_requests=ScriptRequests(),
    )
    made.pages_manager.set_current_page_script_hash(PAGE)
    made.reset(LINK, PAGE)
    return made


def test_a_part_of_a_page_goes_by_the_link_that_the_server_wrote_last(context):
    with context.session_state.query_params() as link:
        link.set_with_no_forward_msg("bin_rows", "15")
        link.set_with_no_forward_msg("bins", "20")
        link.bind_widget("side", "widget", "string_value", PAGE)
    context.reset("run=a&bins=15&side=right", PAGE, ["part"])  # as sent before it heard of that
    assert context.query_string == "run=a&bins=20&bin_rows=15&side=right"
    with context.session_state.query_params() as link:
        assert link.to_dict() == {"run": "a", "bins": "20", "bin_rows": "15", "side": "right"}


def test_a_page_goes_by_the_link_of_the_browser_as_its_back_button_does(context):
    with context.session_state.query_params() as link:
        link.set_with_no_forward_msg("bin_rows", "15")
    context.reset("run=a", PAGE)
    assert context.query_string == "run=a"
    context.reset("run=b", "6a")
    assert (context.query_string, context.page_script_hash) == ("run=b", "6a")


def test_a_part_of_the_page_before_leads_back_to_no_page(context):
    """It is asked for after the other page; what is missing there is that one, drawn anew."""
    with context.session_state.query_params() as link:
        link.populate_from_query_string("run=b")  # as Streamlit does for a page that changes
    context.reset("run=b&film=2", "6a", ["part"])
    assert (context.query_string, context.page_script_hash) == (LINK, PAGE)
    with context.session_state.query_params() as link:
        assert link.to_dict() == {"run": "a", "bins": "15", "side": "left"}


@pytest.mark.parametrize(
    ("part", "page", "runs"),
    [("part", PAGE, True), ("part", "6a", False), ("", "6a", True), ("part", "", True)],
)
def test_what_a_part_of_the_page_before_asks_for_is_dropped(context, monkeypatch, part, page, runs):
    asked = []
    monkeypatch.setattr(
        streamlit_internals, "_request_rerun", lambda session, state: asked.append(state)
    )
    state = ClientState(fragment_id=part, page_script_hash=page)
    AppSession.request_rerun(SimpleNamespace(_pages_manager=context.pages_manager), state)
    assert asked == ([state] if runs else [])


@pytest.fixture
def here(context, monkeypatch):
    """The session, as that of this thread while the test runs."""
    monkeypatch.setattr(current_thread(), SCRIPT_RUN_CONTEXT_ATTR_NAME, context, raising=False)
    return context


def test_a_part_that_is_gone_leaves_another_that_is_asked_for_in_peace(here):
    here.fragment_storage.register("there", lambda: 1)
    here.reset(LINK, PAGE, ["gone", "there"])
    with pytest.raises(FragmentStorageKeyError):
        here.fragment_storage.lookup("gone")


def test_a_page_is_drawn_anew_where_the_part_that_is_asked_for_was_left_out(here):
    here.fragment_storage.register("there", lambda: 1)
    assert here.fragment_storage.lookup("there")() == 1
    here.fragment_storage.lookup("gone")
    asked = here.script_requests.on_scriptrunner_ready()
    assert asked.type is ScriptRequestType.RERUN
    assert (asked.rerun_data.query_string, asked.rerun_data.page_script_hash) == (LINK, PAGE)
    assert not asked.rerun_data.fragment_id_queue


def choosing():
    import streamlit as st

    from pages.ui import state, widgets

    chosen = widgets.select("Bin", "bin_rows", {"": "None", "14": "Bin 14", "15": "Bin 15"}, "")
    st.markdown(f"chosen {chosen}")

    def close():
        state.remember("bin_rows", "", "")
        state.mount_anew("bin_rows")
        state.pick("bin_rows", "", "widget.bin_rows")  # with what it showed, as chosen

    st.button("Close", on_click=close)


def test_a_list_that_is_gone_chooses_nothing():
    test = AppTest.from_function(choosing).run()
    test.selectbox[0].set_value("15").run()
    assert test.markdown[0].value == "chosen 15"
    test.button[0].click().run()
    assert test.markdown[0].value == "chosen"
    assert "bin_rows" not in test.query_params
    test.selectbox[0].set_value("14").run()
    assert test.markdown[0].value == "chosen 14"
