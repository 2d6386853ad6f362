"""Results of a draft stay in their session; those of the library are everybody's."""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event, Semaphore

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.library import StoredSplit
from core.predictions import Task
from pages.ui import published as published
from pages.ui.caching import Results, results
from pages.ui.compute import HEAVY_CELLS, Computation, Rows, step
from pages.ui.open_runs import Run


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
    def drawn(owner: Owner, most: int = 10, *, other: object = None) -> float:
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
        "with one among several": drawn(library, other=(library, draft)),
    }


def in_session(name: str) -> dict[str, float]:
    test = AppTest.from_function(script)
    test.query_params["session"] = name
    test.run()
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
    for name in ("with a draft", "with one among several"):
        assert first[name] != second[name]


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
        test.run()
        return test.session_state["seen"]

    assert seen("one")[True] is None
    assert seen("one") == {True: "one", False: "one"}
    assert seen("two") == {True: None, False: "one"}


RUN = Run(
    id="a",
    name="name",
    kind="upload",
    splits=("val", "test"),
    split="test",
    digests=("d1", "d2"),
    lengths=(3, 2),
    task=Task.MULTICLASS,
    file_digest="f",
    class_names=("cat", "dog"),
    notices=(),
)


def test_a_step_is_told_by_its_function_rows_and_settings_whatever_the_run_is_called():
    def of(run: Run, setting: int = 1) -> Computation:
        return step(divmod, Rows(run, "test"), setting, words=run.name)

    assert of(RUN) == of(replace(RUN, name="other"))
    others = [replace(RUN, id="b"), replace(RUN, digests=("d1", "d3"))]
    assert len({of(RUN), of(RUN, 2), *map(of, others)}) == 4
    assert step(len, Rows(RUN, "test"), 1, words="") != of(RUN)
    assert step(len, "a", words="") != step(len, "a", words="", version="made later")
    assert Rows(RUN, "val") != Rows(RUN, "test")


def test_a_step_belongs_to_the_session_of_its_draft_wherever_that_stands():
    both = tuple(Rows(RUN, split) for split in RUN.splits)
    draft = replace(RUN, id="own", kind="draft")
    assert not step(len, *both, both, words="").draft
    assert step(len, *both, Rows(draft, "test"), words="").draft
    mixed = step(len, (*both, Rows(draft, "test")), words="")
    assert mixed.draft
    assert mixed.key[:2] == ("a", "own")
    assert step(len, draft, words="").draft
    assert step(len, Rows(RUN, "test"), mixed, words="").draft
    assert not step(len, RUN, step(len, *both, words=""), words="").draft


def test_a_process_is_given_where_rows_lie_and_several_by_split():
    both = tuple(Rows(RUN, split) for split in RUN.splits)
    heavy = step(len, both[1], both, "nll", heavy=True, words="")
    places = [StoredSplit("a", "val", 6), StoredSplit("a", "test", 4)]
    assert heavy.arguments() == (places[1], {"val": places[0], "test": places[1]}, "nll")


def test_rows_of_many_runs_are_read_and_let_go():
    assert published._step(RUN, "nll", ()).arguments()[:2] == (
        StoredSplit("a", "test", 4), StoredSplit("a", "val", 6)
    )  # fmt: skip


def test_many_scores_are_heavy():
    many = replace(RUN, lengths=(HEAVY_CELLS // 4, HEAVY_CELLS // 4))
    one, other = Rows(many, "val"), Rows(many, "test")
    assert not step(len, (one, other), words="").heavy
    assert step(len, (one, other, Rows(RUN, "val")), words="").heavy
    assert not step(len, one, heavy=False, words="").heavy


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


def test_after_a_failure_the_next_in_line_computes_and_all_others_wait():
    results: Results[str, int] = Results(2)
    gates, calls = [Event(), Event()], []

    def compute() -> int:
        calls.append(1)
        call = len(calls)
        gates[call - 1].wait(60)
        if call == 1:
            raise ValueError("no result")
        return call

    with ThreadPoolExecutor(3) as threads:

        def begun(n: int) -> Future:
            """Return a call that waits with the others, n in all."""
            future = threads.submit(results.computed, "a", compute)
            while (call := results._under_way.get("a")) is None or call.n < n:
                assert not future.done()
                time.sleep(0.01)
            return future

        first, second = begun(1), begun(2)
        gates[0].set()
        with pytest.raises(ValueError, match="no result"):
            first.result(60)
        third = begun(2)
        gates[1].set()
        assert (second.result(60), third.result(60)) == (2, 2)
    assert not results._under_way


def test_whoever_waits_for_a_result_is_shown_so(monkeypatch):
    results: Results[str, bool] = Results(2)
    shown, go = Semaphore(0), Event()

    @contextmanager
    def spinner(text: str):
        assert text == "Reading"
        shown.release()
        yield

    monkeypatch.setattr(st, "spinner", spinner)

    def read() -> bool:
        return results.computed("a", lambda: go.wait(60), spinner="Reading")

    with ThreadPoolExecutor(2) as threads:
        sessions = [threads.submit(read), threads.submit(read)]
        assert all(shown.acquire(timeout=30) for _ in sessions)
        go.set()
    assert read()
    assert not shown.acquire(blocking=False)


def test_however_many_kinds_there_are_none_drives_out_another():
    for large in (False, True):
        stores = [results(f"kind {i}", draft=False, large=large) for i in range(100)]
        assert results("kind 0", draft=False, large=large) is stores[0]


def discard_script():
    from dataclasses import replace

    import streamlit as st

    from pages.ui import audits
    from pages.ui.caching import results
    from pages.ui.compute import Rows, step
    from pages.ui.ood.sources import OodQuestion, SplitSource
    from pages.ui.task import BackgroundTask, Work
    from tests.pages.test_caching import RUN

    draft, other = replace(RUN, id="own", kind="draft"), replace(RUN, id="other", kind="draft")

    def keys(run):
        rows = Rows(run, "test")
        yield from ((run.id, 1), (run, "test", 0), ((rows,), "nll"), (step(len, rows, words=""),))
        yield (OodQuestion(SplitSource(RUN, "test"), SplitSource(run, "val"), "energy"),)

    stores = [results("quick", draft=True), step(len, draft, words="", drafts=99).results]
    for store in stores:
        for key in (*keys(draft), *keys(other)):
            store.put(key, 1)
    for i in range(80):  # of a draft 64 are kept where nothing else is said
        stores[1].put(i, 1)
    tasks = [BackgroundTask("compare", (Rows(run, "val"),), "", Work) for run in (draft, other)]
    st.session_state["app.works"] = {(task.slot, task.key): Work() for task in tasks}

    def discarded() -> int:
        audits.discard("own")
        return 1

    late = stores[0].computed((draft, "late"), discarded)
    stores[0].put(("own", "later"), 1)
    st.session_state["seen"] = {
        "late": late,
        "gone": [store.get(key) for store in stores for key in keys(draft)]
        + [stores[0].get(key) for key in ((draft, "late"), ("own", "later"))],
        "kept": [store.get(key) for store in stores for key in keys(other)],
        "works": [task.work is not None for task in tasks],
    }


def test_with_a_draft_all_goes_that_its_session_made_of_it():
    test = AppTest.from_function(discard_script).run()
    seen = test.session_state["seen"]
    assert seen["late"] == 1
    assert seen["gone"] == [None] * 12
    assert seen["kept"] == [1] * 10
    assert seen["works"] == [False, True]


def test_what_was_looked_at_last_is_kept_and_what_is_dropped_goes():
    results: Results[str, int] = Results(2)
    results.put("a", 1)
    results.put("b", 2)
    assert results.get("a") == 1
    results.put("c", 3)
    assert (results.get("a"), results.get("b"), results.get("c")) == (1, None, 3)
    results.drop("a")
    assert (results.get("a"), results.get("c")) == (None, 3)
