"""Results of a draft stay in their session; those of the library are everybody's."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event

from streamlit.testing.v1 import AppTest

from core.predictions import Task
from pages.ui.cache import Run
from pages.ui.caching import Results
from pages.ui.compute import Rows


@dataclass(frozen=True)
class Owner:
    draft: bool


def script():
    import random

    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from pages.ui.caching import cached
    from tests.pages.test_caching import Owner

    @cached(4)
    def drawn(owner: Owner, most: int = 10, *, other: Owner | None = None) -> float:
        del owner, most, other
        return random.random()

    get_script_run_ctx().session_id = st.query_params["session"]  # AppTest gives all the same one
    draft, library = Owner(draft=True), Owner(draft=False)
    st.session_state["drawn"] = {
        "library": drawn(library),
        "its default spelled out": drawn(library, 10),
        "by name": drawn(library, most=10),
        "another argument": drawn(library, 11),
        "draft": drawn(draft),
        "draft again": drawn(draft, most=10),
        "with a draft": drawn(library, other=draft),
    }


def in_session(name: str) -> dict[str, float]:
    test = AppTest.from_function(script)
    test.query_params["session"] = name
    test.run()
    assert not test.exception
    return test.session_state["drawn"]


def test_a_result_is_kept_where_its_arguments_belong():
    first, second = in_session("first"), in_session("second")
    assert in_session("first") == first
    for each in (first, second):
        assert each["library"] == each["its default spelled out"] == each["by name"]
        assert each["another argument"] != each["library"]
        assert each["draft"] == each["draft again"]
        assert len({each["library"], each["draft"], each["with a draft"]}) == 3
    assert first["library"] == second["library"]
    assert first["draft"] != second["draft"]
    assert first["with a draft"] != second["with a draft"]


def results_script():
    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from pages.ui import caching

    name = get_script_run_ctx().session_id = st.query_params["session"]
    stores = {draft: caching.results("kind", draft=draft) for draft in (True, False)}
    st.session_state["seen"] = {draft: store.get("key") for draft, store in stores.items()}
    for store in stores.values():
        store.put("key", name)


def test_what_is_computed_from_a_draft_is_seen_by_its_session_alone():
    def seen(name: str) -> dict[bool, str | None]:
        test = AppTest.from_function(results_script)
        test.query_params["session"] = name
        assert not test.run().exception
        return test.session_state["seen"]

    assert seen("one")[True] is None
    assert seen("one") == {True: "one", False: "one"}
    assert seen("two") == {True: None, False: "one"}


def test_rows_are_told_by_run_split_and_digest_whatever_the_run_is_called():
    run = Run(
        id="a",
        name="name",
        kind="upload",
        splits=("test",),
        split="test",
        digests=("d1",),
        lengths=(2,),
        task=Task.MULTICLASS,
        file_digest="f",
        class_names=("cat", "dog"),
        notices=(),
    )
    rows = Rows(run, "test")
    assert rows == Rows(replace(run, name="other"), "test")
    for change in ({"id": "b"}, {"digests": ("d2",)}):
        assert Rows(replace(run, **change), "test") != rows


def test_what_is_wanted_at_the_same_time_is_computed_once():
    results: Results[str, int | None] = Results(2)
    begun, go, calls = Event(), Event(), []

    def compute() -> None:
        calls.append(1)
        begun.set()
        go.wait(60)

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(results.computed, "a", compute)
        begun.wait(60)
        second = threads.submit(results.computed, "a", compute)
        go.set()
        assert (first.result(), second.result()) == (None, None)
    assert results.computed("a", compute) is None  # nothing is a result, too
    assert len(calls) == 1


def test_what_was_looked_at_last_is_kept_and_what_is_dropped_goes():
    results: Results[str, int] = Results(2)
    results.put("a", 1)
    results.put("b", 2)
    assert results.get("a") == 1
    results.put("c", 3)
    assert (results.get("a"), results.get("b"), results.get("c")) == (1, None, 3)
    results.drop(lambda step: step == "a")
    assert (results.get("a"), results.get("c")) == (None, 3)
